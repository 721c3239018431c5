"""The command line as a whole: what opens what, how errors look, how little is imported."""

import json
import os
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
import typer

from store.errors import WorkbenchError
from workbench.cli.options import Answer, command
from workbench.cli.program import COMMANDS, program
from workbench.output import say
from workbench.start import COMMANDS as KNOWN
from workbench.start import in_terminal, open_app

HEAVY = (
    "torch",
    "openai",
    "anthropic",
    "docker",
    "numpy",
    "pyarrow",
    "krippendorff",
    "textual",
    "duckdb",
    "sqlalchemy",
)


def test_importing_the_command_line_imports_nothing_heavy():
    code = "import json, sys, workbench.cli, workbench.cli.program; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = {name.split(".")[0] for name in json.loads(done.stdout)}
    assert not loaded & set(HEAVY)


@pytest.mark.parametrize("command", [(), ("--version",), ("-V",), ("items", "--help"), ("--help",)])
def test_help_and_version_import_nothing_heavy(command):
    code = (
        "import sys, atexit\n"
        f"heavy = {HEAVY!r}\n"
        "atexit.register(lambda: sys.stderr.write('LOADED' if set(heavy) & set(sys.modules) else 'LIGHT'))\n"
        "from workbench.cli import main\n"
        f"main({[*command] or ['--help']!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stderr.endswith("LIGHT")


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "--version"], capture_output=True, check=True, text=True
    )
    assert done.stdout.startswith("workbench 0.")


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version_is_printed_without_the_command_line_library(option):
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: sys.stderr.write('SLOW' if 'typer' in sys.modules else 'QUICK'))\n"
        f"from workbench.cli import main\nmain([{option!r}])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert (done.stdout.split()[0], done.stderr) == ("workbench", "QUICK")


def completed(line: str, folder: Path) -> list[str]:
    """What a shell is told of how a command line can go on at its end."""
    variables = {
        "_WORKBENCH_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    done = subprocess.run(
        [sys.executable, "-m", "workbench"],
        capture_output=True, check=True, text=True, cwd=folder, env={**os.environ, **variables},
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split()


def test_a_shell_completes_commands_options_and_files(tmp_path):
    for name in ("study.duckdb", "stuff.csv", "other.csv", "st of blanks.csv"):
        (tmp_path / name).touch()
    assert sorted(completed("workbench ", tmp_path)) == sorted([*KNOWN, "study.duckdb"])
    # What can be a command or a workspace is completed to both.
    assert completed("workbench st", tmp_path) == ["study", "study.duckdb", "stuff.csv"]
    # Where only a file can come, the shell completes that by itself.
    for line in ("workbench oth", "workbench items st", "workbench import study.duckdb st"):
        assert completed(line, tmp_path) == []
    assert {"--version", "--rater", "--install-completion"} <= {*completed("workbench --", tmp_path)}
    assert completed("workbench items study.duckdb --st", tmp_path) == ["--status", "--stratify", "--study"]
    assert "skipped" in completed("workbench items study.duckdb --status ", tmp_path)
    assert "freeze" in completed("workbench study ", tmp_path)
    # The workspace in place of a command takes the options of opening it, and nothing else.
    assert completed("workbench study.duckdb --st", tmp_path) == ["--start", "--study"]
    assert completed("workbench study.duckdb x", tmp_path) == []
    # Nothing was opened or made.
    assert len(list(tmp_path.iterdir())) == 4
    assert (tmp_path / "study.duckdb").stat().st_size == 0


def test_completion_is_installed_for_the_shell_that_asks(tmp_path):
    (tmp_path / "study.duckdb").touch()
    program = tmp_path / "workbench"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m workbench "$@"\n')
    program.chmod(0o700)
    script = (
        "./workbench --install-completion\n"
        ". ~/.bashrc\n"
        "COMP_WORDS=(workbench stu) COMP_CWORD=1\n"
        "_workbench_completion ./workbench\n"
        'echo "${COMPREPLY[@]}"\n'
        "complete -p workbench\n"
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True, check=True, text=True, cwd=tmp_path, env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    told = done.stdout.splitlines()
    assert told[0].startswith("bash completion installed in ")
    assert told[-2:] == ["study study.duckdb", "complete -o default -F _workbench_completion workbench"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_is_written_for_other_shells(shell, tmp_path):
    variables = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "workbench", "--install-completion", shell],
        capture_output=True, check=True, text=True, cwd=tmp_path, env={**os.environ, **variables},
    )  # fmt: skip
    written = Path(done.stdout.splitlines()[0].rpartition(" in ")[2]).read_text(encoding="utf-8")
    assert f"_WORKBENCH_COMPLETE=complete_{shell}" in written
    asked = {"_WORKBENCH_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "workbench stu"}
    asked["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    told = subprocess.run(
        [sys.executable, "-m", "workbench"],
        capture_output=True, check=True, text=True, cwd=tmp_path, env={**os.environ, **asked},
    )  # fmt: skip
    assert "study" in told.stdout
    assert "Make and run studies of several experts." in told.stdout


def test_every_command_is_known_to_the_one_that_suggests_them():
    assert tuple(name for commands in COMMANDS.values() for name, _, _ in commands) == KNOWN


def test_the_help_lists_every_command_in_one_group_in_80_columns(workbench, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    told = workbench("--help").out
    listed = [line.split()[0] for line in told.partition("Data:")[2].splitlines() if line.startswith("  ")]
    commands = typer.main.get_command(program).commands.items()
    assert sorted(listed) == sorted(name for name, command in commands if not command.hidden)
    assert [line[:-1] for line in told.splitlines() if line[:-1] in COMMANDS] == [*COMMANDS]
    assert all(len(line) <= 80 and not line.endswith("...") for line in told.splitlines())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("itms", "study.duckdb"), "There is no command 'itms'; did you mean items?"),
        (("study.duckdb", "items"), "The command comes first: workbench items study.duckdb"),
        (("one.duckdb", "two.duckdb"), "There is no command 'one.duckdb'."),
    ],
)
def test_what_cannot_be_a_workspace_to_open_is_told_to_be_no_command(workbench, arguments, said):
    done = workbench(*arguments)
    assert done.code == 2
    assert done.says(said)
    assert "open" not in done.err


def test_without_a_terminal_the_app_is_refused_and_nothing_is_made(workbench, in_folder):
    for arguments in [
        (),
        ("study.duckdb",),
        ("--rater", "dana", "study.duckdb"),
        ("study.duckdb", "--rater", "dana"),
    ]:
        done = workbench(*arguments)
        assert done.code == 2
        assert done.says("No terminal")
        assert done.out == ""
    assert list(in_folder.iterdir()) == []


def test_the_app_does_not_start_for_a_rater_who_cannot_judge(workbench, in_folder, monkeypatch):
    monkeypatch.setattr("workbench.start.in_terminal", lambda: True)
    done = workbench("new.duckdb", "--rater", " ")
    assert done.code == 2
    assert done.says("No rater")
    assert list(in_folder.iterdir()) == []
    (in_folder / "p.csv").write_text("id,query,code,label\n1,add,x + 1,1\n", encoding="utf-8")
    assert workbench("import", "study.duckdb", "p.csv", "--label-as", "ana").code == 0
    done = workbench("study.duckdb", "--rater", "ana")
    assert done.code == 2
    assert done.says("Name taken")
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("redirected", "terminal", "named"),
    [
        ((), True, ""),
        (("stderr",), True, ""),
        (("stdin",), False, "what it reads from is none"),
        (("stdout", "stderr"), False, "what it writes to is none"),
        (("stdin", "stdout"), False, "what it reads from and what it writes to are none"),
    ],
)
def test_there_is_a_terminal_when_keys_come_from_one_and_output_goes_to_one(
    monkeypatch, tmp_path, redirected, terminal, named
):
    for name in ("stdin", "stdout", "stderr"):
        stream = StringIO()
        stream.isatty = lambda name=name: name not in redirected
        monkeypatch.setattr(sys, name, stream)
    assert in_terminal() == terminal
    if not terminal:
        with pytest.raises(WorkbenchError, match=named):
            open_app(tmp_path / "w.duckdb", "dana", None)


def test_a_slip_of_the_hand_makes_no_workspace(workbench, in_folder):
    done = workbench("improt")
    assert done.code == 2
    assert done.says("Did you mean `workbench import`?")
    assert done.says("improt.duckdb")
    assert list(in_folder.iterdir()) == []


def test_usage_errors_have_the_same_exit_code(workbench, in_folder):
    assert workbench("items").code == 2
    assert workbench("items", "--nonsense", "x").code == 2
    assert workbench("study.duckdb", "extra").code == 2


@pytest.mark.parametrize(
    ("arguments", "says", "hint"),
    [
        (("items", "--json"), "Missing argument", "workbench items --help"),
        (("items", "x", "--nonsense", "--json"), "--nonsense", "workbench items --help"),
        (("items", "x", "--json", "--status", "perhaps"), "perhaps", "workbench items --help"),
        (("items", "x", "--limit", "0", "--json"), "--limit", "workbench items --help"),
        (("export", "x", "y", "--json"), "--format", "workbench export --help"),
        (("report", "x", "nonsense", "--json"), "nonsense", "workbench report --help"),
        (("--nonsense", "--json"), "--nonsense", "workbench --help"),
        (("items", "\udcff", "--json"), "not UTF-8", "workbench --help"),
    ],
)
def test_a_usage_error_is_json_where_json_was_asked_for(workbench, in_folder, arguments, says, hint):
    done = workbench(*arguments)
    assert done.code == 2
    assert set(done.json()["error"]) == {"title", "message", "hint"}
    assert says in done.json()["error"]["message"]
    assert hint in done.json()["error"]["hint"]
    assert done.err == ""
    plain = workbench(*(each for each in arguments if each != "--json"))
    assert (plain.code, plain.out) == (2, "")
    assert plain.says(says)
    assert workbench(*(each for each in arguments if each != "--json")).out == ""


def test_an_argument_that_only_looks_like_the_option_asks_for_no_json(workbench, in_folder):
    assert workbench("items", "x", "--nonsense", "--", "--json").out == ""


def test_an_error_is_a_panel_and_json_where_json_was_asked_for(workbench, in_folder):
    plain = workbench("items", "none.duckdb")
    assert (plain.code, plain.out) == (2, "")
    assert plain.says("There is no file none.duckdb")
    assert plain.says("workbench import")
    done = workbench("items", "none.duckdb", "--json")
    assert done.code == 2
    assert done.json()["error"]["title"] == "No workspace"
    assert set(done.json()["error"]) == {"title", "message", "hint"}
    assert done.err == ""


def test_a_wrong_configuration_is_said_by_every_command(workbench, in_folder):
    (in_folder / "wrong.toml").write_text("ratr = 1\n", encoding="utf-8")
    for arguments in [
        ("--config", "wrong.toml", "items", "x.duckdb"),
        ("items", "x.duckdb", "--config", "wrong.toml"),
    ]:
        done = workbench(*arguments)
        assert done.code == 2
        assert done.says("wrong.toml, line 1: ratr")


def test_what_is_printed_cannot_command_a_terminal(workbench, in_folder):
    done = workbench("items", "\x1b]0;title\x07[red]\u202e.duckdb")
    assert done.code == 2
    assert done.says("[red]")
    assert not {"\x1b", "\x07", "\u202e"} & set(done.err)


def test_a_job_that_fails_says_so_once(workbench, in_folder):
    pairs = in_folder / "pairs.jsonl"
    pairs.write_text('{"id": "a", "query": "q", "code": "def f(): pass"}\n', encoding="utf-8")
    assert workbench("import", "study.duckdb", pairs).code == 0
    done = workbench("annotate", "study.duckdb", "--model", "scripted:none.jsonl", "--json")
    assert done.code == 2
    assert done.json()["error"]["title"]
    assert "╭" not in done.err


@pytest.mark.parametrize(
    ("options", "printed"), [((), "two lines\nof it\ndrawn\n"), (("--json",), '{\n  "lines": 2\n}\n')]
)
def test_what_a_command_answers_is_printed_as_text_or_as_json(capsys, options, printed):
    @command
    def told(number: int = 2) -> Answer:
        return Answer({"lines": number}, "two lines\nof it", lambda: say("drawn"), code=3)

    single = typer.Typer()
    single.command()(told)
    with pytest.raises(SystemExit) as ended:
        single(args=[*options], prog_name="told")
    assert (capsys.readouterr().out, ended.value.code) == (printed, 3)
