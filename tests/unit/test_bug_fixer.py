"""The bug fixer's loop in bubblewrap, without the package index: its bound, going on, and what it leaves alone."""

import json
import shutil
from datetime import UTC, datetime

import pytest
from small_workspace import (
    Told,
    executions,
    pairs_workspace,
    rows,
    script_file,
    through_test,
    turns_of,
    verdicts,
)

from agents.jobs.runner import run_job
from agents.pipelines.pair_annotation.distributions import distribution_of
from agents.pipelines.pair_annotation.environment_errors import may_be_repaired, missing_distribution
from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.package_index import allowed_settings
from agents.sandbox.protocol import ExecutionReport
from agents.sandbox.settings import SandboxSettings
from agents.settings import JobSettings
from store.tables.runs import StepRow

# Not a missing module, so that nothing is installed directly.
LACKING = "open('/opt/repaired/data').close()\n\n\ndef double(x):\n    return 2 * x\n"
IN_VAIN = ("bug_fixer", "lacks", {"explanation": "It may help.", "commands": ["true"]})
HELPS = ("bug_fixer", "lacks", {"explanation": "The file.", "commands": ["touch /opt/repaired/data"]})
BREAKS = ("bug_fixer", "lacks", {"explanation": "Two.", "commands": ["touch /opt/repaired/data", "exit 3"]})
NOTHING = ("bug_fixer", "lacks", {"explanation": "It needs hardware.", "commands": []})
REFUSED = ("bug_fixer", "lacks", "!refused")
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
    assert (verdicts(workspace), report.pipeline.numbers["executable"]) == ({1: (1.0, "tested")}, 0)


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
    workspace, report = annotate([STEPWISE, REFUSED])
    assert (report.failed, len(repaired)) == (1, 1)
    # What the first try left is gone, as after a move to another machine.
    shutil.rmtree(tmp_path / "snapshots")
    workspace, report = annotate([STEPWISE, REFUSED])
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


def report(error, reason="error"):
    return ExecutionReport(reason, 1, "", "", (), error, 0.1, "s", "e", 0, datetime.now(UTC))


@pytest.mark.parametrize(
    ("error", "repaired", "installed"),
    [
        ("ModuleNotFoundError: No module named 'yaml'", True, "PyYAML"),
        ("ModuleNotFoundError: No module named 'google.cloud.storage'", True, "google-cloud-storage"),
        ("ModuleNotFoundError: No module named 'requests.adapters'", True, "requests"),
        ("ModuleNotFoundError: No module named 'urllib2'", True, ""),
        ("ModuleNotFoundError: No module named 'candidate.inner'; 'candidate' is not a package", True, ""),
        ("ModuleNotFoundError: No module named '--index-url=x'", True, ""),
        ("ImportError: libGL.so.1: cannot open shared object file", True, ""),
        ("NameError: name 'Config' is not defined", False, ""),
        ("SyntaxError: Missing parentheses in call to 'print' (candidate.py, line 3)", False, ""),
        ("SyntaxError: invalid syntax (old.py, line 3)", True, ""),
        ("", False, ""),
    ],
)
def test_what_a_repair_can_mend_and_what_is_installed_for_it(error, repaired, installed):
    assert (may_be_repaired(report(error)), missing_distribution(report(error))) == (repaired, installed)


def test_a_limit_is_not_mended_and_a_finding_needs_no_repair():
    assert not may_be_repaired(report("Timeout: not done after 10 s", "timeout"))
    assert not may_be_repaired(report("", "assertion"))
    assert distribution_of("numpy.linalg") == "numpy"


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
