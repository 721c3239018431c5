"""A session in a real terminal: accept, override, undo, filter, quit, reopen; and a cut connection."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kinds import json_lines
from review_bench import Case, Ran, bench
from tmux_terminal import TmuxTerminal, wait_until_gone

pytestmark = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]

WORKBENCH = [sys.executable, "-m", "workbench"]
RATER = "dana"


DOUBLES = Case(
    "doubles",
    "python double a number",
    code="def double(x):\n    return 2 * x\n",
    assessment="unclear",
    test="from candidate import double\n\n\ndef test_two():\n    assert double(2) == 4\n",
    ran=Ran([("test_two", "passed", "")]),
    label=1,
)


def run(*arguments: str | Path) -> str:
    done = subprocess.run(
        [*WORKBENCH, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def annotated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's workspace, annotated once by the real pipeline."""
    path = tmp_path_factory.mktemp("demo") / "demo.duckdb"
    run("demo", "--headless", "--at", path, "--json")
    return path


@pytest.fixture
def workspace(annotated: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "demo.duckdb"
    shutil.copy2(annotated, copy)
    return copy


@pytest.fixture
def open_terminal(tmp_path: Path) -> Iterator[object]:
    opened: list[TmuxTerminal] = []

    def start(path: Path, size: tuple[int, int] = (120, 40)) -> TmuxTerminal:
        config = tmp_path / "config.toml"
        config.touch()
        env = {"WORKBENCH_CONFIG": str(config)}
        terminal = TmuxTerminal([*WORKBENCH, str(path), "--rater", RATER], size=size, env=env)
        opened.append(terminal)
        return terminal

    yield start
    for terminal in opened:
        terminal.close()


def judgments(path: Path) -> list[tuple[object, ...]]:
    """Every human judgment of the workspace, oldest first: (item, value, origin, reason)."""
    import duckdb

    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute(
            "SELECT external_id, value, origin, reason FROM judgment JOIN item ON item.id = item_id "
            "JOIN rater ON rater.id = rater_id WHERE rater.name = ? ORDER BY judgment.id",
            [RATER],
        ).fetchall()


def verdicts(path: Path) -> dict[str, float]:
    import duckdb

    with duckdb.connect(str(path), read_only=True) as connection:
        return dict(
            connection.execute(
                "SELECT external_id, arg_max(value, verdict.id) FROM verdict JOIN item ON item.id = item_id GROUP BY 1"
            ).fetchall()
        )


def into_review(terminal: TmuxTerminal, position: str = "1 of 123") -> None:
    terminal.wait_for("rater: dana")
    terminal.settle()
    terminal.press("Tab")
    terminal.wait_for("all items")
    terminal.settle()
    terminal.press("Enter")
    terminal.wait_for(position)
    # The first line comes before the item does; this sign stands for the item's own label.
    terminal.wait_for(lambda screen: "○" in screen or "●" in screen)


def test_the_app_is_drawn_in_the_terminal_also_when_errors_go_to_a_file(
    workspace: Path, tmp_path: Path
) -> None:
    log = tmp_path / "errors.log"
    (tmp_path / "config.toml").touch()
    line = f"{shlex.join([*WORKBENCH, str(workspace), '--rater', RATER])} 2> {shlex.quote(str(log))}"
    terminal = TmuxTerminal(["sh", "-c", line], env={"WORKBENCH_CONFIG": str(tmp_path / "config.toml")})
    try:
        terminal.wait_for("rater: dana")
        terminal.settle()
        terminal.press("C-q")
        terminal.wait_for("ended with 0")
    finally:
        terminal.close()
    assert log.read_bytes() == b""


def test_accept_override_undo_filter_quit_reopen(workspace: Path, open_terminal) -> None:
    claims = verdicts(workspace)
    terminal = open_terminal(workspace)
    into_review(terminal)
    terminal.press_at_item("a", "accepts ◆")
    terminal.wait_for("2 of 123")
    other = "0" if claims["empty-file/2"] == 1 else "1"
    terminal.press_at_item(other, "overrides ◆")
    terminal.wait_for("3 of 123")
    terminal.press_at_item("b", "boundary case")
    terminal.press_at_item("f", "flagged")
    terminal.press_at_item("u", "Undone")
    terminal.press("q")
    terminal.wait_for("all items")
    terminal.settle()
    terminal.press("/")
    terminal.type("median")
    terminal.press("Enter")
    terminal.wait_for(lambda screen: "median" in screen and "of 123" in screen and "118 of 123" not in screen)
    terminal.press("C-q")
    terminal.wait_for("ended with 0")

    rows = judgments(workspace)
    assert rows[0] == ("empty-file/1", claims["empty-file/1"], "accept", "")
    assert rows[1][:3] == ("empty-file/2", float(other), "override")
    assert rows[2] == ("empty-file/2", float(other), "override", "boundary case")
    assert len(rows) == 3

    again = open_terminal(workspace)
    # The queue is as it was left, and what is taken back stands outside of it.
    into_review(again, "of 7 · contains “median”")
    again.press_at_item("u", "Undone")
    again.wait_for("empty-file/2")
    again.press("C-q")
    again.wait_for("ended with 0")
    after = judgments(workspace)
    assert after[:3] == rows
    assert after[3][:3] == ("empty-file/2", None, "undo")


@pytest.mark.parametrize("how", ["hang-up", "SIGTERM", "SIGINT"])
def test_a_cut_connection_loses_nothing(workspace: Path, open_terminal, how: str) -> None:
    claims = verdicts(workspace)
    terminal = open_terminal(workspace)
    into_review(terminal)
    for number in range(1, 6):
        terminal.press_at_item("a", f"{number + 1} of 123")
    terminal.press_at_item("m", "Comment on ")
    terminal.type("half a thought")
    terminal.wait_for("half a thought")
    program = terminal.program
    if how == "hang-up":
        assert terminal.hang_up() == program
    else:
        os.kill(program, signal.Signals[how])
    wait_until_gone(program)

    rows = judgments(workspace)
    assert [row[:3] for row in rows] == [
        (f"empty-file/{n}", claims[f"empty-file/{n}"], "accept") for n in range(1, 6)
    ]
    journal = [json.loads(line) for line in Path(f"{workspace}.journal.jsonl").read_text().splitlines()]
    assert [line["item"] for line in journal] == [row[0] for row in rows]

    again = open_terminal(workspace)
    again.wait_for("rater: dana")
    again.settle()
    again.press("Enter")
    again.wait_for("6 of 123")
    again.press_at_item("m", "half a thought")


def test_ctrl_c_cancels_first_and_quits_at_the_second_press(workspace: Path, open_terminal) -> None:
    terminal = open_terminal(workspace)
    into_review(terminal)
    terminal.press_at_item("m", "Comment on ")
    terminal.type("half a thought")
    terminal.wait_for("half a thought")
    terminal.press("C-c")
    terminal.wait_for("Draft kept")
    terminal.settle()
    terminal.press("C-c")
    terminal.wait_for("once more to quit")
    terminal.press("C-c")
    terminal.wait_for("ended with 0")


def test_the_app_is_suspended_and_comes_back_to_the_same_screen(workspace: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.touch()
    terminal = TmuxTerminal(
        ["bash", "--norc", "--noprofile", "-i"], env={"WORKBENCH_CONFIG": str(config), "PS1": "shell> "}
    )

    def bring_back() -> None:
        terminal.type("fg")
        terminal.press("Enter")

    try:
        terminal.wait_for("shell>")
        terminal.type(shlex.join([*WORKBENCH, str(workspace), "--rater", RATER]))
        terminal.press("Enter")
        into_review(terminal)
        terminal.press_at_item("n", "2 of 123")
        shown = terminal.settle()
        program = terminal.program

        terminal.press("C-z")
        away = terminal.wait_for("Stopped")
        assert "2 of 123" not in away
        # In the background it stays stopped, and what is typed to the shell judges nothing.
        terminal.type("bg")
        terminal.press("Enter")
        terminal.wait_for(f"{RATER} &\n")
        terminal.wait_for(lambda _: is_stopped(program))
        done = subprocess.run(
            [*WORKBENCH, "items", str(workspace)], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 2
        assert "suspended" in done.stderr
        terminal.type("sleep 3; echo slept")
        terminal.press("Enter")
        terminal.wait_for(lambda screen: "\nslept" in screen)
        bring_back()
        terminal.type("1")
        terminal.wait_for("2 of 123")
        terminal.settle()
        assert shown.splitlines()[:20] == terminal.screen.splitlines()[:20]
        assert terminal.program == program

        # Keys work: one undoes what is typed, one judges.
        terminal.press_at_item("m", "Comment on ")
        terminal.type("half a thought")
        terminal.wait_for("half a thought")
        terminal.press("C-z")
        terminal.wait_for(lambda screen: "half a" in screen and "thought" not in screen)
        terminal.press("Escape")
        terminal.wait_for("Draft kept")
        terminal.press_at_item("1", "3 of 123")

        # A stop that nobody announced leaves a terminal that works, too.
        os.kill(program, signal.SIGSTOP)
        terminal.wait_for(lambda _: is_stopped(program))
        terminal.settle()
        bring_back()
        terminal.wait_for("3 of 123")
        terminal.press_at_item("1", "4 of 123")
        terminal.press("C-q")
        wait_until_gone(program)
    finally:
        terminal.close()
    import duckdb

    with duckdb.connect(str(workspace), read_only=True) as connection:
        rows = connection.execute(
            "SELECT external_id, elapsed_ms, active_ms FROM judgment JOIN item ON item.id = item_id "
            "JOIN rater ON rater.id = rater_id WHERE rater.name = ? ORDER BY judgment.id",
            [RATER],
        ).fetchall()
    assert [item for item, _, _ in rows] == ["empty-file/2", "empty-file/3"]
    # The time in the shell is no time of work.
    assert rows[0][1] - rows[0][2] >= 3000


def is_stopped(process: int) -> bool:
    """Whether a process waits for a signal to go on."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_a_suspended_app_ends_with_its_terminal(workspace: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.touch()
    terminal = TmuxTerminal(
        ["bash", "--norc", "--noprofile", "-i"], env={"WORKBENCH_CONFIG": str(config), "PS1": "shell> "}
    )
    try:
        terminal.wait_for("shell>")
        terminal.type(shlex.join([*WORKBENCH, str(workspace), "--rater", RATER]))
        terminal.press("Enter")
        into_review(terminal)
        terminal.press_at_item("1", "2 of 123")
        program = terminal.program
        terminal.press("C-z")
        terminal.wait_for("Stopped")
        assert [row[0] for row in judgments_in_journal(workspace)] == ["empty-file/1"]
    finally:
        terminal.close()
    wait_until_gone(program)
    assert [row[0] for row in judgments(workspace)] == ["empty-file/1"]


def judgments_in_journal(path: Path) -> list[tuple[str]]:
    """The items of the records in the journal, which can be read while the app is stopped."""
    lines = Path(f"{path}.journal.jsonl").read_text().splitlines()
    return [(json.loads(line)["item"],) for line in lines]


def test_a_terminal_without_a_shell_is_not_given_away(workspace: Path, open_terminal) -> None:
    terminal = open_terminal(workspace)
    terminal.wait_for("dana")
    terminal.settle()
    terminal.press("C-z")
    terminal.wait_for("No shell with job control")
    terminal.press("C-q")
    terminal.wait_for("ended with 0")


def test_the_terminal_is_restored(workspace: Path, open_terminal) -> None:
    terminal = open_terminal(workspace)
    terminal.wait_for("dana")
    os.kill(terminal.program, signal.SIGTERM)
    screen = terminal.wait_for("ended with 143")
    assert "dana" not in screen


def test_the_second_opener_is_told_who_holds_the_workspace(workspace: Path, open_terminal) -> None:
    terminal = open_terminal(workspace)
    terminal.wait_for("dana")
    done = subprocess.run(
        [*WORKBENCH, "judge", str(workspace), "empty-file/1", "match"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert str(terminal.program) in done.stderr


def test_commands_that_read_are_answered_beside_the_app(workspace: Path, open_terminal) -> None:
    """As its rater; and when it is killed, the next one finds no trace of it."""
    alone = run("report", workspace, "agreement", "--json")
    socket = workspace.with_name(f"{workspace.name}.sock")
    terminal = open_terminal(workspace)
    into_review(terminal)
    terminal.wait_for(lambda _: socket.exists())
    assert run("report", workspace, "agreement", "--json") == alone
    terminal.press_at_item("1", "2 of 123")
    (judged,) = json.loads(run("items", workspace, "--status", "judged", "--json"))["items"]
    assert (judged["item"], judged["label"]) == ("empty-file/1", 1.0)
    program = terminal.program
    os.kill(program, signal.SIGKILL)
    wait_until_gone(program)
    assert socket.is_socket()
    assert json.loads(run("items", workspace, "--rater", RATER, "--status", "judged", "--json"))["items"]
    again = open_terminal(workspace)
    into_review(again, "of 123")
    again.press("C-q")
    again.wait_for("ended with 0")
    assert not socket.exists()


def test_torn_sequences_and_pastes_do_not_judge(workspace: Path, open_terminal) -> None:
    terminal = open_terminal(workspace)
    into_review(terminal)
    terminal.paste("1\n0\na")
    terminal.type("[A")
    # A key that comes in one read with others is taken for pasted text.
    terminal.settle()
    terminal.press("n")
    terminal.wait_for("2 of 123")
    terminal.press("C-q")
    terminal.wait_for("ended with 0")
    assert judgments(workspace) == []


def test_a_test_is_edited_in_an_editor_of_the_environment_and_run(tmp_path: Path) -> None:
    with bench(tmp_path, [DOUBLES]) as made:
        path = made.path
    steps, seen, editor = tmp_path / "steps", tmp_path / "seen", tmp_path / "an editor"
    editor.write_text(f'#!/bin/sh\nstat -c %a "$1" "$(dirname "$1")" >> {seen}\n. {steps}\n')
    editor.chmod(0o700)
    config = tmp_path / "config.toml"
    config.touch()
    terminal = TmuxTerminal(
        [*WORKBENCH, str(path), "--rater", RATER],
        # What is no UTF-8 is kept in the folder for such files.
        env={"WORKBENCH_CONFIG": str(config), "VISUAL": shlex.quote(str(editor)), "TMPDIR": str(tmp_path)},
    )
    try:
        into_review(terminal, "1 of 1")
        for does, said in (
            ("sed -i 's/== 4/== 5/' \"$1\"", "Test of doubles: 0 of 1 passed"),
            ("printf '\\351' >> \"$1\"", "is not UTF-8 (byte "),
            ("echo '# more' >> \"$1\"; exit 3", "status 3; nothing was run. · A draft is kept"),
            # As Ctrl-C does in an editor: it reaches the program that waits for it, too.
            ("kill -INT $PPID; sed -i 's/== 5/== 4/' \"$1\"", "Test of doubles: 1 of 1 passed"),
        ):
            steps.write_text(f"{does}\n")
            terminal.press_at_item("E", said)
        steps.write_text("echo '# in place' >> \"$1\"; exit 4\n")
        terminal.settle()
        terminal.press("e")
        terminal.settle()
        terminal.press("C-o")
        terminal.wait_for("status 4; nothing was run.")
        assert "# in place" in terminal.screen
        terminal.press("Escape")
        terminal.wait_for("Draft kept")
        editor.chmod(0o600)
        terminal.press_at_item("E", "an editor did not start: Permission denied")
        terminal.settle()
        terminal.press("C-q")
        terminal.wait_for("ended with 0")
    finally:
        terminal.close()
    assert set(seen.read_text().split()) == {"600", "700"}
    import duckdb

    with duckdb.connect(str(path), read_only=True) as connection:
        programs = connection.execute(
            "SELECT program FROM execution WHERE rater_id IS NOT NULL ORDER BY id"
        ).fetchall()
    wrong = DOUBLES.test.replace("== 4", "== 5")
    assert programs == [(wrong,), (f"{DOUBLES.test}# more\n",)]


def test_a_reference_answer_is_rewritten_in_an_editor_of_the_environment(tmp_path: Path) -> None:
    question = {"id": "q-1", "question": "Where?", "answer": "Here."}
    path, steps, editor = tmp_path / "study.duckdb", tmp_path / "steps", tmp_path / "editor"
    run("import", path, json_lines(tmp_path / "questions.jsonl", [question]))
    editor.write_text(f"#!/bin/sh\n. {steps}\n")
    editor.chmod(0o700)
    config = tmp_path / "config.toml"
    config.touch()
    terminal = TmuxTerminal(
        [*WORKBENCH, str(path), "--rater", RATER],
        env={"WORKBENCH_CONFIG": str(config), "VISUAL": str(editor)},
    )
    try:
        into_review(terminal, "1 of 1")
        for does, said in (
            (
                "case $1 in *.md) echo There. > $1; exit 3;; esac",
                "status 3; nothing was recorded. · A draft is",
            ),
            # The draft is handed over, and an editor ends the last line of what had no line feed there.
            ("sed -i 's/There/Over there/' $1", "reference answer revised"),
            ("echo >> $1", "The reference answer is unchanged"),
        ):
            steps.write_text(f"{does}\n")
            terminal.press_at_item("E", "Edit which text?")
            terminal.settle()
            terminal.press("r")
            terminal.wait_for(said)
        terminal.settle()
        assert "Over there." in terminal.screen
        terminal.press("C-q")
        terminal.wait_for("ended with 0")
    finally:
        terminal.close()
    import duckdb

    with duckdb.connect(str(path), read_only=True) as connection:
        assert connection.execute("SELECT text FROM mark").fetchall() == [("Over there.",)]
