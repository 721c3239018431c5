"""The loop of Algorithm 1 in bubblewrap: its bound, its turns, going on, and what it leaves alone.

Models are scripted or a service on the loopback interface, which also is the package index.
"""

import json
import multiprocessing
import os
import shutil
import signal
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from loopback_index import package_index_here
from loopback_models import LoopbackModels, Refusal, Truncated
from small_workspace import (
    GOOD,
    TEST,
    Told,
    executions,
    pairs_workspace,
    rows,
    script_file,
    through_test,
    turns_of,
    verdicts,
)

from agents.jobs.budget import Budget
from agents.jobs.runner import run_job
from agents.pipelines.pair_annotation.distributions import distribution_of
from agents.pipelines.pair_annotation.environment_errors import (
    errors_of_environment,
    is_import,
    is_slip,
    missing_distribution,
)
from agents.pipelines.pair_annotation.reasons import reason_of
from agents.pipelines.pair_annotation.repair_loop import _refused
from agents.reports.pipeline import read_reports
from agents.sandbox import package_index
from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.package_index import PackageSource, allowed_settings, pip_settings
from agents.sandbox.protocol import ExecutionReport, TestOutcome
from agents.sandbox.settings import SandboxSettings
from agents.settings import JobSettings
from store.tables.runs import Run, StepRow, TestOutcomeRow
from store.workspace.duckdb import Workspace

# Not a missing module, so that nothing is installed directly.
LACKING = "open('/opt/repaired/data').close()\n\n\ndef double(x):\n    return 2 * x\n"
IN_VAIN = ("bug_fixer", "lacks", {"explanation": "It may help.", "commands": ["true"]})
HELPS = ("bug_fixer", "lacks", {"explanation": "The file.", "commands": ["touch /opt/repaired/data"]})
BREAKS = ("bug_fixer", "lacks", {"explanation": "Two.", "commands": ["touch /opt/repaired/data", "exit 3"]})
NOTHING = ("bug_fixer", "lacks", {"explanation": "It needs hardware.", "commands": []})
LOST = ("bug_fixer", "lacks", "!unavailable")
# Helps when it is done for the second time.
TWICE = "test -e /opt/repaired/once && touch /opt/repaired/data; touch /opt/repaired/once"
STEPWISE = ("bug_fixer", "lacks", {"explanation": "Step by step.", "commands": [TWICE]})
ASKED = through_test("lacks", 1)


@pytest.fixture
def annotate(tmp_path):
    """A function that lets the agents work on the one pair with some replies: (workspace, report)."""
    with pairs_workspace(tmp_path, [("lacks", "query", LACKING)]) as workspace:

        def work(replies, **settings):
            sandboxes = SandboxSettings(snapshots=str(tmp_path / "snapshots"), trust_checks=False, **settings)
            model = script_file(tmp_path, [*ASKED, *replies])
            job = JobSettings(model, sandbox="bubblewrap", sandboxes=sandboxes)
            return workspace, run_job(workspace, job, Told())

        yield work


def roles(workspace):
    return [role for role, _, _ in turns_of(workspace, 1)][2:]


@pytest.mark.parametrize("tries", [0, 2])
def test_there_are_at_most_one_repair_and_two_executions_more_than_the_tries(annotate, tries):
    workspace, report = annotate([IN_VAIN], max_try_time=tries)
    assert roles(workspace) == ["executor", *["bug_fixer", "repair", "executor"] * (tries + 1), "arbiter"]
    assert len(executions(workspace)) == tries + 2
    assert (verdicts(workspace), report.pipeline.numbers["executable"]) == ({1: (1.0, "untested")}, 0)


def test_the_last_try_may_help(annotate):
    workspace, report = annotate([IN_VAIN, HELPS], max_try_time=1)
    first, second, third = executions(workspace)
    assert [one["executable"] for one in (first, second, third)] == [False, False, True]
    assert (first["snapshot"], len({second["snapshot"], third["snapshot"], ""})) == ("", 3)
    assert third["environment"] not in (first["environment"], second["environment"])
    assert (verdicts(workspace), report.pipeline.numbers["executable"]) == ({1: (1.0, "repaired")}, 1)


def test_nothing_is_kept_of_a_repair_that_failed(annotate):
    workspace, _ = annotate([BREAKS, NOTHING])
    assert roles(workspace) == ["executor", "bug_fixer", "repair", "bug_fixer", "arbiter"]
    (repair,) = rows(workspace, StepRow, role="repair")
    told = json.loads(repair["reply"])
    assert (repair["outcome"], told["outcome"], told["exit_code"], told["snapshot"]) == (
        "ok",
        "failed",
        3,
        "",
    )
    assert told["output"].splitlines() == ["$ touch /opt/repaired/data", "$ exit 3", "(exit status 3)"]
    assert "exit status 3" in repair["error"]


def test_without_the_bug_fixer_nothing_is_repaired(annotate):
    workspace, _ = annotate([], repairs=False)
    assert roles(workspace) == ["executor", "arbiter"]


def test_an_interrupted_repair_goes_on_at_the_right_try_and_pays_nothing_twice(
    annotate, tmp_path, monkeypatch
):
    repaired = []
    repair = BubblewrapSandbox.repair

    async def counted(self, action, after=""):
        repaired.append(after)
        return await repair(self, action, after)

    monkeypatch.setattr(BubblewrapSandbox, "repair", counted)
    # The second question fails, and the item with it; the next job's model answers from its first line again.
    workspace, report = annotate([STEPWISE, LOST])
    assert (report.failed, len(repaired)) == (1, 1)
    # What the first try left is gone, as after a move to another machine.
    shutil.rmtree(tmp_path / "snapshots")
    workspace, report = annotate([STEPWISE, LOST])
    assert (report.done, report.failed) == (1, 0)
    assert verdicts(workspace) == {1: (1.0, "repaired")}
    # The first try's reply was not asked for again; its repair was made again, since its result was gone.
    assert [step["outcome"] for step in rows(workspace, StepRow, role="bug_fixer")] == ["ok", "failed", "ok"]
    first, again, _ = [
        json.loads(step["reply"] or "{}")
        for step in rows(workspace, StepRow, role="repair")
        if step["outcome"] == "ok"
    ]
    assert first["snapshot"] == again["snapshot"]
    assert repaired == ["", first["snapshot"], "", first["snapshot"]]
    assert len(executions(workspace)) == 3


def report(error, reason="error", tests=()):
    return ExecutionReport(reason, 1, "", "", tests, error, 0.1, "s", "e", 0, datetime.now(UTC))


@pytest.mark.parametrize(
    ("error", "slip", "installed"),
    [
        ("ModuleNotFoundError: No module named 'yaml'", False, "PyYAML"),
        ("ModuleNotFoundError: No module named 'google.cloud.storage'", False, "google-cloud-storage"),
        ("ModuleNotFoundError: No module named 'google.appengine'", True, ""),
        ("ModuleNotFoundError: No module named 'requests.adapters'", False, "requests"),
        ("ModuleNotFoundError: No module named 'urllib2'", True, ""),
        ("ModuleNotFoundError: No module named 'utils'", True, ""),
        ("ModuleNotFoundError: No module named 'Helpers.text'", True, ""),
        ("ModuleNotFoundError: No module named '_speedups'", True, ""),
        ("ModuleNotFoundError: No module named 'candidate.inner'; 'candidate' is not a package", True, ""),
        ("ModuleNotFoundError: No module named '--index-url=x'", False, ""),
        ("ImportError: attempted relative import with no known parent package", True, ""),
        ("ImportError: cannot import name 'f' from 'candidate' (/sandbox/candidate.py)", True, ""),
        # A scaffold that imports from the candidate.
        ("ImportError: cannot import name 'f' from partially initialized module 'candidate' (most", True, ""),
        ("AttributeError: partially initialized module 'candidate' has no attribute 'f'", True, ""),
        ("ImportError: cannot import name 'f' from partially initialized module 'numpy' (most", False, ""),
        ("ImportError: cannot import name 'f' from 'numpy' (/x.py)", False, ""),
        ("ImportError: libGL.so.1: cannot open shared object file", False, ""),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/data'", False, ""),
        ("NameError: name 'Config' is not defined", True, ""),
        ("SyntaxError: invalid syntax (test_candidate.py, line 3)", True, ""),
        ("SyntaxError: invalid syntax (scaffold.py, line 3)", True, ""),
        ("SyntaxError: invalid syntax (old.py, line 3)", False, ""),
        ("ValueError: at its first line", False, ""),
        ("NotRun: nothing that is run calls it", True, ""),
        ("SetUpFailed: ValueError: x", True, ""),
        ("SkipTest", True, ""),
        ("SkipTest: not now", True, ""),
    ],
)
def test_what_an_error_calls_for(error, slip, installed):
    assert errors_of_environment(report(error)) == (error,)
    assert (is_slip(error), missing_distribution(error)) == (slip, installed)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("pip install numpy utils==1", "utils"),
        ("pip install \"utils; python_version > '3'\"", "utils"),
        ("pip --timeout 5 install 'Helpers[all]'", "Helpers"),
        ("pip install \\\n utils", "utils"),
        ("apt list && (python3 -m pip -q install utils)", "utils"),
        ("pip install src install", "src"),
        ("pip install python-utils  # not utils", ""),
        ("pip show utils; pip install numpy", ""),
        ("apt-get install -y tools", ""),
    ],
)
def test_commands_that_would_install_a_module_of_the_project_are_refused(command, name):
    told = _refused(("true", command))
    assert told.partition(" is")[0] == (f"Refused: {name!r}" if name else "")


def test_what_no_repair_can_mend_enters_no_loop():
    assert errors_of_environment(report("Timeout: not done after 10 s", "timeout")) == ()
    assert errors_of_environment(report("", "assertion")) == ()
    assert errors_of_environment(report("IndentationError: unexpected indent (candidate.py, line 2)")) == ()
    assert errors_of_environment(report("EndedEarly: the program ended itself (exit code 0)")) == ()
    assert distribution_of("numpy.linalg") == "numpy"
    assert is_import("ImportError: cannot import name 'f' from 'numpy'")
    assert not is_import("ImportError: libGL.so.1: cannot open shared object file: No such file or directory")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("NotRun: nothing that is run calls it", "tests not run"),
        ("SkipTest", "skipped tests"),
        ("Skipped: not now", "skipped tests"),
        ("SkippedError: x", "other error: SkippedError"),
        ("SetUpFailed: ValueError: x", "failed set-up"),
        ("LookupError: none of the tests was defined when the module had been loaded", "no tests"),
    ],
)
def test_why_no_test_came_to_a_result(error, reason):
    assert str(reason_of("error", error, "")) == reason


def test_every_test_without_a_result_counts_and_no_finding_does():
    tests = (
        TestOutcome("test_a", "passed", "", 0.1),
        TestOutcome("test_b", "error", "NameError: name 'x' is not defined", 0.1, obstacle="environment"),
        TestOutcome("test_c", "error", "ValueError: a finding", 0.1),
        TestOutcome("test_d", "error", "NameError: name 'x' is not defined", 0.1, obstacle="environment"),
        TestOutcome("test_e", "error", "ImportError: y", 0.1, obstacle="environment"),
        TestOutcome("test_f", "error", "MemoryError", 0.1, obstacle="limit"),
        TestOutcome("test_g", "error", "SkipTest: not now", 0.1, obstacle="test"),
    )
    found = report("NameError: name 'x' is not defined", tests=tests)
    assert found.executable
    assert errors_of_environment(found) == (
        "NameError: name 'x' is not defined",
        "ImportError: y",
        "SkipTest: not now",
    )
    assert not report("MemoryError", "memory", tests[-2:]).executable


def test_no_key_and_no_file_of_this_machine_goes_into_a_repair():
    listed = "\n".join(
        [
            "global.index-url='https://name:secret@index.example/simple'",
            "global.extra-index-url='https://plain.example/simple file:///srv/wheels https://token@other.example/'",
            "global.find-links='/srv/wheels'",
            "global.cert='/srv/ca.pem'",
            "user.trusted-host='never.example'",
            "global.trusted-host='plain.example'",
            ":env:.keyring-provider='import'",
        ]
    )
    assert allowed_settings(listed) == (
        "[global]\nextra-index-url = https://plain.example/simple\ntrusted-host = plain.example\n"
    )
    assert allowed_settings("") == ""


def test_a_folder_of_wheels_is_found_besides_the_index_or_without_it(tmp_path, monkeypatch):
    listed = (
        "global.find-links='https://plain.example/wheels'\nglobal.index-url='https://plain.example/simple'"
    )
    monkeypatch.setattr(package_index, "listed_settings", lambda: listed)
    (tmp_path / "a-1.0-py3-none-any.whl").write_bytes(b"a")
    besides = PackageSource.of(SandboxSettings(wheels=str(tmp_path)))
    assert pip_settings(besides).decode() == (
        "[global]\nfind-links = https://plain.example/wheels\n    /opt/wheels\n"
        "index-url = https://plain.example/simple\n"
    )
    alone = PackageSource.of(SandboxSettings(wheels=str(tmp_path), repair_network="none"))
    assert pip_settings(alone).decode() == "[global]\nfind-links = /opt/wheels\nno-index = true\n"
    nothing = PackageSource.of(SandboxSettings(repair_network="none"))
    assert pip_settings(nothing).decode() == "[global]\nno-index = true\n"
    index = PackageSource.of(SandboxSettings())
    assert index.key == ""
    assert len({index.key, besides.key, alone.key, nothing.key}) == 4
    before = besides.key
    (tmp_path / "b-1.0-py3-none-any.whl").write_bytes(b"b")
    assert besides.key != before


# What follows asks a model on the loopback interface.
NEEDS_MATH = "def root(x):\n    return math.sqrt(x)\n"
SLIPPED = "from candidate import root\n\n\ndef test_root():\n    assert root(9) == 3\n"
CORRECTED = "# %% scaffold\nimport math\n# %% tests\n" + SLIPPED
READS = "import workbench_greeting\n\n\ndef greet():\n    return workbench_greeting.WORD\n"
GREETS = "from candidate import greet\n\n\ndef test_greeting():\n    assert greet() == 'hello'\n"
PARTLY = "from candidate import root\n\n\ndef test_shape():\n    assert callable(root)\n\n\n" + SLIPPED
EXPLAINED = {"explanation": "A name was missing."}
CORRECTS = EXPLAINED | {"test_program": CORRECTED}
GIVES_UP = {"explanation": "Nothing can be installed.", "commands": []}


@pytest.fixture
def index(monkeypatch):
    """A package index on the loopback interface: the paths that were asked for."""
    with package_index_here(monkeypatch) as asked:
        yield asked


def service(test, *, fixes=(), corrects=None):
    """A model that finds a pair unclear, writes a test, and answers the repairers; the last reply stays."""
    rest = list(fixes)
    tests = [test] if isinstance(test, str) else test

    def written(_):
        return {"interpretation": "as it says", "test_program": tests.pop(0) if len(tests) > 1 else tests[0]}

    return LoopbackModels(
        replies={
            "ScreenerReply": {"assessment": "unclear", "justification": "a doubt"},
            "TestWriterReply": written,
            "BugFixerReply": lambda _: rest.pop(0) if len(rest) > 1 else rest[0],
            **({"TestCorrectionReply": corrects} if corrects is not None else {}),
            "ArbiterReply": {"label": 1, "reason": "the tests say it"},
        }
    )


@contextmanager
def annotated(tmp_path, code, server, agents="full", **settings):
    """Let agents work on one pair in bubblewrap: (workspace, report, the function that does it again)."""
    sandboxes = SandboxSettings(snapshots=str(tmp_path / "snapshots"), trust_checks=False, max_try_time=1)
    with server, pairs_workspace(tmp_path, [("lacks", "query", code)]) as workspace:

        def work(**others):
            job = JobSettings(
                "openai:m", agents=agents, sandbox="bubblewrap", sandboxes=sandboxes, models=server.settings(),
                **(settings | others),
            )  # fmt: skip
            return run_job(workspace, job, Told())

        yield workspace, work(), work


def turns(workspace):
    """The turns after the test writer's, those that failed marked."""
    return [role + " !" * (outcome == "failed") for role, _, outcome in turns_of(workspace, 1)][2:]


def repairs(workspace, run_id):
    """What the report says of the repairs of a run."""
    (run,) = [run for run in rows(workspace, Run) if run["id"] == run_id]
    with workspace.reading() as connection:
        return read_reports(connection, [Run(**run)])[0].to_dict(blind=False)["repairs"]


def asked(server):
    return [seen.schema_name for seen in server.requests]


@pytest.mark.parametrize("agents", ["paper", "full"])
def test_a_missing_module_is_installed_and_no_model_is_asked(tmp_path, index, agents):
    server = service(GREETS)
    with annotated(tmp_path, READS, server, agents) as (workspace, report, _):
        assert turns(workspace) == ["executor", "repair", "executor", "arbiter"]
        assert verdicts(workspace) == {1: (1.0, "repaired")}
        first, second = executions(workspace)
        assert (first["executable"], first["error"]) == (
            False,
            "ModuleNotFoundError: No module named 'workbench_greeting'",
        )
        assert (second["executable"], second["packages"]) == (True, "workbench_greeting==1.0")
        assert "BugFixerReply" not in asked(server)
        assert (repairs(workspace, report.run_id)["installed"], len(index) > 1) == (1, True)


@pytest.mark.parametrize("agents", ["paper", "full"])
def test_the_bug_fixer_repairs_by_command(tmp_path, agents):
    server = service(TEST, fixes=[HELPS[-1]])
    with annotated(tmp_path, LACKING, server, agents) as (workspace, report, work):
        assert turns(workspace) == ["executor", "bug_fixer", "repair", "executor", "arbiter"]
        assert verdicts(workspace) == {1: (1.0, "repaired")}
        (repair,) = rows(workspace, StepRow, role="repair")
        assert json.loads(repair["reply"])["output"].splitlines() == ["$ touch /opt/repaired/data"]
        first, second = executions(workspace)
        assert (first["executable"], second["executable"], second["snapshot"] != "") == (False, True, True)
        told = repairs(workspace, report.run_id)
        assert (told["by_model"], told["commands"]) == (1, {"made": 1, "worked": 1})
        assert (work().counts.requests, asked(server).count("BugFixerReply")) == (4, 1)


def test_a_slip_is_corrected_by_the_test_writer_once(tmp_path):
    server = service(SLIPPED, corrects=CORRECTS)
    with annotated(tmp_path, NEEDS_MATH, server) as (workspace, report, _):
        assert turns(workspace) == ["executor", "test_correction", "executor", "arbiter"]
        assert verdicts(workspace) == {1: (1.0, "corrected")}
        first, second = executions(workspace)
        assert [(one["program"], one["executable"]) for one in (first, second)] == [
            (SLIPPED, False),
            (CORRECTED, True),
        ]
        # The writer is told what was wrong, and the arbiter of the program that was run.
        told, ruled = (seen.body["messages"][-1]["content"] for seen in server.requests[2:])
        assert "NameError: name 'math' is not defined" in told
        assert "\nmath\n" in told
        assert "# %% scaffold" in ruled
        assert repairs(workspace, report.run_id) == {
            **{"programs": 1, "installed": 0, "by_model": 0, "corrected": 1, "given_up": 0, "unfinished": 0},
            "installations": {"made": 0, "worked": 0},
            "commands": {"made": 0, "worked": 0},
            "corrections": {"made": 1, "worked": 1},
        }
        assert [row["obstacle"] for row in rows(workspace, TestOutcomeRow)] == ["environment", ""]


UNRUN = "from candidate import double\n\n\ndef test_two(tmp_path):\n    assert double(2) == 4\n"
RUN = UNRUN.replace("tmp_path", "")


def test_a_program_of_another_form_is_asked_for_again_with_the_reason(tmp_path):
    server = service([UNRUN, RUN])
    with annotated(tmp_path, GOOD, server) as (workspace, report, _):
        assert turns(workspace) == ["executor", "arbiter"]
        assert verdicts(workspace) == {1: (1.0, "tested")}
        assert [one["program"] for one in executions(workspace)] == [RUN]
        assert asked(server) == ["ScreenerReply", "TestWriterReply", "TestWriterReply", "ArbiterReply"]
        assert report.counts.requests == 4
        told = server.requests[2].body["messages"]
        assert json.loads(told[-2]["content"])["test_program"] == UNRUN
        assert "test_two takes the argument tmp_path" in told[-1]["content"]


@pytest.mark.parametrize("agents", ["paper", "full"])
def test_a_test_that_is_still_not_run_is_corrected_and_no_command_is_tried(tmp_path, agents):
    server = service(UNRUN, fixes=[GIVES_UP], corrects=EXPLAINED | {"test_program": RUN})
    with annotated(tmp_path, GOOD, server, agents) as (workspace, _, _):
        corrected = agents == "full"
        assert turns(workspace) == [
            "executor",
            *["test_correction", "executor"] * corrected,
            "arbiter",
        ]
        first, *further = executions(workspace)
        assert (first["executable"], first["exit_reason"]) == (False, "error")
        assert first["error"].startswith("NotRun: test_two() missing 1 required positional argument")
        assert [one["executable"] for one in further] == [True] * corrected
        assert verdicts(workspace) == {1: (1.0, "corrected" if corrected else "untested")}
        assert "BugFixerReply" not in asked(server)
        assert asked(server).count("TestWriterReply") == 2
        with workspace.reading() as connection:
            reasons = read_reports(connection, [Run(**run) for run in rows(workspace, Run)])[0]
        not_executable = reasons.to_dict(blind=False)["not_executable"]
        assert not_executable == [{"reason": "tests not run", "detail": "", "count": 1}] * (not corrected)


def test_paper_repairs_the_environment_only(tmp_path):
    server = service(SLIPPED, fixes=[GIVES_UP], corrects=CORRECTS)
    with annotated(tmp_path, NEEDS_MATH, server, "paper") as (workspace, report, _):
        assert turns(workspace) == ["executor", "bug_fixer", "arbiter"]
        assert verdicts(workspace) == {1: (1.0, "untested")}
        assert repairs(workspace, report.run_id)["given_up"] == 1


def test_a_correction_that_changes_nothing_leaves_the_program_to_the_bug_fixer(tmp_path):
    server = service(SLIPPED, fixes=[GIVES_UP], corrects=EXPLAINED | {"test_program": SLIPPED})
    with annotated(tmp_path, NEEDS_MATH, server) as (workspace, _, _):
        assert turns(workspace) == ["executor", "test_correction", "bug_fixer", "arbiter"]
        assert verdicts(workspace) == {1: (1.0, "untested")}


def test_a_corrected_program_may_lack_what_can_be_installed(tmp_path, index):
    program = (
        "# %% scaffold\nimport workbench_greeting as math\nmath.sqrt = lambda x: 3\n# %% tests\n" + SLIPPED
    )
    server = service(SLIPPED, corrects=EXPLAINED | {"test_program": program})
    with annotated(tmp_path, NEEDS_MATH, server) as (workspace, _, _):
        assert turns(workspace) == [
            *("executor", "test_correction", "executor", "repair", "executor", "arbiter"),
        ]
        assert verdicts(workspace) == {1: (1.0, "corrected")}


def test_one_test_without_a_result_enters_the_loop_and_the_program_is_executable_all_the_same(tmp_path):
    server = service(PARTLY, fixes=[GIVES_UP])
    with annotated(tmp_path, NEEDS_MATH, server, "paper") as (workspace, report, _):
        assert turns(workspace) == ["executor", "bug_fixer", "arbiter"]
        (execution,) = executions(workspace)
        assert (execution["executable"], execution["error"]) == (
            True,
            "NameError: name 'math' is not defined",
        )
        assert [row["obstacle"] for row in rows(workspace, TestOutcomeRow)] == ["", "environment"]
        assert report.pipeline.numbers["executable_rate"] == 1.0
        assert verdicts(workspace) == {1: (1.0, "tested")}


@pytest.mark.parametrize(
    ("unusable", "cause"),
    [("no JSON at all", "malformed"), (Truncated('{"explanation": "'), "truncated"), (Refusal(), "refused")],
)
def test_an_agent_whose_reply_cannot_be_used_gives_up_and_the_arbiter_rules(tmp_path, unusable, cause):
    server = service(SLIPPED, fixes=[unusable], corrects=lambda _: unusable)
    with annotated(tmp_path, NEEDS_MATH, server) as (workspace, report, _):
        assert (report.done, report.failed) == (1, 0)
        assert turns(workspace) == ["executor", "test_correction !", "bug_fixer !", "arbiter"]
        failed = [step for step in rows(workspace, StepRow) if step["outcome"] == "failed"]
        assert [step["cause"] for step in failed] == [cause, cause]
        assert verdicts(workspace) == {1: (1.0, "untested")}
        assert repairs(workspace, report.run_id)["given_up"] == 1


def test_a_package_of_the_name_of_an_own_module_is_not_installed_by_command(tmp_path):
    wrong = {
        "explanation": "It is on the index.",
        "commands": ["apt list", "python -m pip install -q 'Utils>=1'"],
    }
    server = service(GREETS, fixes=[wrong, GIVES_UP], corrects=EXPLAINED | {"test_program": GREETS})
    with annotated(tmp_path, "import utils\n\n\ndef greet():\n    return utils.greet()\n", server) as (
        workspace,
        _,
        _,
    ):
        assert turns(workspace) == [
            "executor",
            "test_correction",
            "bug_fixer",
            "repair",
            "bug_fixer",
            "arbiter",
        ]
        (repair,) = rows(workspace, StepRow, role="repair")
        assert (json.loads(repair["reply"])["outcome"], repair["error"][:16]) == (
            "failed",
            "Refused: 'Utils'",
        )
        assert "Refused: 'Utils'" in server.requests[4].body["messages"][-1]["content"]


def test_a_budget_that_is_spent_in_the_loop_is_kept_and_the_work_goes_on_there(tmp_path):
    server = service(SLIPPED, corrects=CORRECTS)
    with annotated(tmp_path, NEEDS_MATH, server, budget=Budget(requests=2)) as (workspace, report, work):
        assert (report.done, turns(workspace)) == (0, ["executor"])
        again = work(budget=Budget(requests=3))
        assert (again.done, turns(workspace)) == (0, ["executor", "test_correction", "executor"])
        last = work(budget=Budget(requests=4))
        assert (last.done, turns(workspace)) == (1, ["executor", "test_correction", "executor", "arbiter"])
        assert (len(server.requests), verdicts(workspace)) == (4, {1: (1.0, "corrected")})


def annotate_elsewhere(path, job):
    """Work in a process of its own, which is killed."""
    with Workspace.open(path) as workspace:
        run_job(workspace, job, Told())


@pytest.mark.parametrize("at", ["TestCorrectionReply", "BugFixerReply", "ArbiterReply"])
def test_after_a_kill_it_goes_on_at_the_step_that_was_cut_off(tmp_path, at):
    children = []
    server = service(SLIPPED, fixes=[GIVES_UP], corrects=EXPLAINED | {"test_program": SLIPPED + "# again\n"})
    replies = dict(server.replies)

    def script(seen, _):
        if seen.schema_name == at and children:
            os.kill(children.pop(), signal.SIGKILL)

    server.script = script
    sandboxes = SandboxSettings(snapshots=str(tmp_path / "snapshots"), trust_checks=False)
    with server:
        job = JobSettings("openai:m", sandbox="bubblewrap", sandboxes=sandboxes, models=server.settings())
        with pairs_workspace(tmp_path, [("lacks", "query", NEEDS_MATH)]) as workspace:
            path = workspace.path
        child = multiprocessing.get_context("spawn").Process(target=annotate_elsewhere, args=(path, job))
        children.append(None)
        child.start()
        children[0] = child.pid
        child.join(500)  # on a machine under load it takes long to start
        assert child.exitcode == -signal.SIGKILL
        with Workspace.open(path) as workspace:
            report = run_job(workspace, job, Told())
            assert report.done == 1
            assert turns(workspace) == ["executor", "test_correction", "executor", "bug_fixer", "arbiter"]
            assert verdicts(workspace) == {1: (1.0, "untested")}
            # What was on disk is not asked for again; what was cut off is.
            counts = {name: asked(server).count(name) for name in replies}
            assert counts == {name: 2 if name == at else 1 for name in replies}
