"""Algorithm 1 over small workspaces: every path, what is recorded, failures, and going on after them."""

import json

import pytest
from scopes import scope
from small_workspace import (
    GOOD,
    LACKING,
    TEST,
    WRONG,
    Told,
    clear,
    executions,
    pairs_workspace,
    rows,
    script_file,
    the_run,
    through_test,
    turns_of,
    verdicts,
)

from agents.jobs.events import ItemEnded, JobEnded, JobLog, JobProgressed, JobStarted
from agents.jobs.runner import run_job
from agents.llm.errors import ModelError
from agents.llm.settings import ModelSettings
from agents.pipelines.pair_annotation.arbiter import structured_report
from agents.pipelines.pair_annotation.pipeline import PairPipeline
from agents.sandbox.process import ProcessSandbox
from agents.sandbox.protocol import ExecutionReport, TestOutcome, TestProgram
from agents.sandbox.settings import SandboxSettings
from agents.settings import JobSettings
from screens.items.pair import load
from store.cuts import Cut
from store.errors import UnknownName, WorkbenchError
from store.queries.queue import queue_ids, queue_rows
from store.queries.rows import WAITING_PATH, QueueFilter
from store.queries.run_figures import run_figures
from store.queries.runs import all_runs
from store.record.ids import now
from store.tables.people import Rater
from store.tables.runs import StepRow, TestOutcomeRow, VerdictRow

SHORT = ModelSettings(max_output_tokens=99)
QUERY = "python double a number"
PAIRS = [
    ("sure", QUERY, GOOD),
    ("never", QUERY, "def hello():\n    return 'hello'\n"),
    ("passes", QUERY, GOOD + "\n# one more\n"),
    ("fails", QUERY, WRONG),
    ("lacks", QUERY, LACKING),
    ("declined", "python twice", GOOD),
]
REPLIES = [
    clear("sure"),
    clear("never", "clear_nonmatch"),
    *through_test("passes", 1),
    *through_test("fails", 0),
    *through_test("lacks", 1),
    *through_test("declined", 1)[:2],
    ("arbiter", "declined", "!refused"),
]


@pytest.fixture
def workspace(tmp_path):
    with pairs_workspace(tmp_path, PAIRS) as opened:
        yield opened


def annotate(workspace, model, told=None, **settings):
    settings = {"sandbox": "process", "concurrency": 3, **settings}
    return run_job(workspace, JobSettings(model, **settings), told or Told())


def test_every_path_is_taken_and_counted(workspace, tmp_path):
    told = Told()
    report = annotate(workspace, script_file(tmp_path, REPLIES), told)

    assert verdicts(workspace) == {
        1: (1.0, "screened"),
        2: (0.0, "screened"),
        3: (1.0, "tested"),
        4: (0.0, "tested"),
        5: (1.0, "untested"),
    }
    assert (report.state, report.done, report.failed, report.error) == ("done", 5, 1, None)
    counts = report.to_dict()
    assert {name: counts[name] for name in ("items", "clear_match", "clear_nonmatch", "unclear")} == {
        "items": 6,
        "clear_match": 1,
        "clear_nonmatch": 1,
        "unclear": 4,
    }
    assert (counts["executed"], counts["executable"], counts["executable_rate"]) == (4, 3, 0.75)
    assert (counts["labelled"], counts["labels"]) == (5, {"0": 2, "1": 3})
    assert (counts["failed"], counts["reasons"]) == (1, {"Model declined": 1})
    assert (counts["requests"], counts["tokens_in"], counts["tokens_out"]) == (
        15,
        150,
        30,
    )  # the refusal was asked again
    assert json.loads(json.dumps(counts)) == counts

    with workspace.reading() as connection:
        assert run_figures(connection, report.run_id) == report.counts
        (run,) = all_runs(connection)
    assert (run.state, run.total, run.name) == ("done", 6, report.run_name)
    assert run.ended_at is not None


def test_each_turn_is_recorded_with_its_cost_and_its_reply(workspace, tmp_path):
    annotate(workspace, script_file(tmp_path, REPLIES))
    assert turns_of(workspace, 1) == [("screener", 0, "ok")]
    assert turns_of(workspace, 4) == [
        ("screener", 0, "ok"),
        ("test_writer", 0, "ok"),
        ("executor", 0, "ok"),
        ("arbiter", 0, "ok"),
    ]
    screener, writer, executor, arbiter = rows(workspace, StepRow, item_id=4)
    assert json.loads(screener["reply"])["assessment"] == "unclear"
    assert json.loads(writer["reply"]) == {"interpretation": "twice the number", "test_program": TEST}
    assert json.loads(arbiter["reply"]) == {"label": 0, "reason": "the tests say 0"}
    for step in (screener, writer, arbiter):
        assert (step["tokens_in"], step["tokens_out"], step["requests"]) == (10, 2, 1)
        assert len(step["request_hash"]) == 64
        assert step["model"].startswith("scripted:replies.jsonl@")
    assert executor["model"] == "process"
    assert executor["request_hash"] == TestProgram(WRONG, TEST).digest

    (execution,) = [row for row in executions(workspace) if row["item_id"] == 4]
    assert execution["step_id"] == executor["id"]
    assert json.loads(executor["reply"])["execution"] == str(execution["id"])
    assert (execution["program"], execution["exit_reason"]) == (TEST, "assertion")
    assert execution["executable"] is True
    assert "five" in execution["stdout"]
    tests = rows(workspace, TestOutcomeRow, execution_id=execution["id"])
    assert [(test["name"], test["outcome"]) for test in tests] == [
        ("test_two", "passed"),
        ("test_five", "failed"),
        ("test_zero", "failed"),
    ]
    assert "not doubled" in tests[1]["message"]
    assert [(test["discriminates"], test["flaky"]) for test in tests] == [
        (True, False),
        (None, False),
        (None, False),
    ]
    (verdict,) = rows(workspace, VerdictRow, item_id=4)
    assert verdict["execution_id"] == execution["id"]
    assert verdict["reason"] == "the tests say 0"
    (screened,) = rows(workspace, VerdictRow, item_id=1)
    assert (screened["reason"], screened["execution_id"]) == ("sure is plain", None)


def test_a_program_that_cannot_be_executed_is_ruled_on_all_the_same(workspace, tmp_path):
    annotate(workspace, script_file(tmp_path, REPLIES))
    (execution,) = [row for row in executions(workspace) if row["item_id"] == 5]
    assert (execution["exit_reason"], execution["executable"]) == ("error", False)
    assert "no_such_package_anywhere" in execution["error"]
    assert verdicts(workspace)[5] == (1.0, "untested")


def test_a_failed_item_has_its_reason_and_is_tried_again_from_where_it_failed(workspace, tmp_path):
    told = Told()
    annotate(workspace, script_file(tmp_path, REPLIES), told)
    failed = [event for event in told.of(ItemEnded) if event.failure]
    assert [(event.shown_id, event.outcomes, event.failure.title) for event in failed] == [
        ("declined", (), "Model declined")
    ]
    (step,) = [step for step in rows(workspace, StepRow, item_id=6) if step["outcome"] == "failed"]
    assert step["role"] == "arbiter"
    assert step["error"].startswith("Model declined: ")
    assert (step["requests"], step["tokens_in"]) == (2, 20)

    again = annotate(workspace, f"scripted:{tmp_path / 'replies.jsonl'}")
    assert (again.done, again.failed) == (0, 1)
    assert turns_of(workspace, 6) == [
        ("screener", 0, "ok"),
        ("test_writer", 0, "ok"),
        ("executor", 0, "ok"),
        ("arbiter", 0, "failed"),
        ("arbiter", 1, "failed"),
    ]
    assert len(executions(workspace)) == 4
    assert the_run(workspace)["state"] == "done"


def test_how_far_tests_can_be_trusted_is_found_once_and_told_to_the_arbiter(workspace, tmp_path, monkeypatch):
    ran = []
    run, rule = ProcessSandbox.run, PairPipeline.rule
    ruled_on = []

    async def counted(self, program, limits=None):
        ran.append((program.stub, program.hash_seed))
        return await run(self, program, limits)

    async def told(self, pair, test, report, turns):
        ruled_on.append(report)
        return await rule(self, pair, test, report, turns)

    monkeypatch.setattr(ProcessSandbox, "run", counted)
    monkeypatch.setattr(PairPipeline, "rule", told)
    replies = [*through_test("passes", 1)[:2], ("arbiter", "passes", "!refused")]
    annotate(workspace, script_file(tmp_path, replies), item_ids=(3,))
    everything = [(None, 0), (None, 1), ("none", 0), ("input", 0)]
    assert ran == everything
    annotate(workspace, f"scripted:{tmp_path / 'replies.jsonl'}", item_ids=(3,))
    assert ran == everything

    first, from_the_record = ruled_on
    assert from_the_record == first
    facts = json.loads(structured_report(first))
    assert (facts["passed"], facts["not_discriminating"], facts["flaky"]) == (3, 1, 0)
    assert [(one["name"], one["discriminates"], one["flaky"]) for one in facts["tests"]] == [
        ("test_two", True, False),
        ("test_five", True, False),
        ("test_zero", False, False),
    ]
    (executor,) = [step for step in rows(workspace, StepRow, item_id=3) if step["role"] == "executor"]
    (execution,) = executions(workspace)
    assert executor["seconds"] > execution["seconds"]
    assert json.loads(executor["reply"])["not_discriminating"] == 1


def test_everything_of_a_report_is_kept_and_the_arbiter_is_told_of_it(workspace, tmp_path, monkeypatch):
    tests = (
        TestOutcome("test_a", "passed", "", 0.5, discriminates=False, flaky=True),
        TestOutcome(
            "test_b", "error", "KeyError: 1", 0.25, trace="Traceback\n" + "in test_b\n" * 1000 + "KeyError: 1"
        ),
    )
    made = ExecutionReport(
        exit_reason="error",
        exit_code=1,
        stdout="head\n" * 400 + "tail\n" * 400,
        stderr="é" * 4000,
        outcomes=tests,
        error="",
        seconds=1.5,
        sandbox="process",
        environment="ab12",
        output_dropped=5000,
        started_at=now(),
        trace="Traceback of the program",
        image="sha256:12",
        packages=tuple(f"package{number:02}==1.{number}" for number in range(50)),
        stdout_cut=Cut(2000, 5000, 1000),
    )

    async def run(self, program, limits=None):
        return made

    ruled_on = []

    async def told(self, pair, test, report, turns):
        ruled_on.append(report)
        raise ModelError("refused", "Model declined", "no")

    monkeypatch.setattr(ProcessSandbox, "run", run)
    monkeypatch.setattr(PairPipeline, "rule", told)
    model = script_file(tmp_path, through_test("passes", 1)[:2])
    for _ in range(2):
        annotate(workspace, model, item_ids=(3,), sandboxes=SandboxSettings(trust_checks=False))
    assert ruled_on == [made, made]

    facts = json.loads(structured_report(ruled_on[1]))
    assert (facts["trace"], facts["image"], facts["not_discriminating"]) == (made.trace, "sha256:12", 1)
    assert (facts["packages"], facts["packages_left_out"]) == (list(made.packages[:40]), 10)
    assert facts["stdout"] == {
        "head": "head\n" * 300,
        "left_out": {"bytes": 6000, "lines": 1200},
        "tail": "tail\n" * 300,
    }
    assert facts["stderr"]["left_out"] == {"bytes": 2000, "lines": 0}
    trace = facts["tests"][1]["trace"]
    assert trace["head"].startswith("Traceback\nin test_b\n")
    assert trace["tail"].endswith("KeyError: 1")
    assert facts["tests"][0]["trace"] == ""


def test_without_trust_checks_a_program_runs_once(workspace, tmp_path, monkeypatch):
    ran = []
    run = ProcessSandbox.run

    async def counted(self, program, limits=None):
        ran.append(program)
        return await run(self, program, limits)

    monkeypatch.setattr(ProcessSandbox, "run", counted)
    model = script_file(tmp_path, through_test("passes", 1))
    off = annotate(workspace, model, item_ids=(3,), sandboxes=SandboxSettings(trust_checks=False))
    assert len(ran) == 1
    assert {(test["discriminates"], test["flaky"]) for test in rows(workspace, TestOutcomeRow)} == {
        (None, None)
    }
    on = annotate(workspace, model, item_ids=(3,))
    assert on.run_id != off.run_id


def test_another_configuration_is_another_run_with_another_rater(workspace, tmp_path):
    first = annotate(workspace, script_file(tmp_path, REPLIES))
    second = annotate(workspace, script_file(tmp_path, REPLIES[:1], "other.jsonl"))
    assert first.run_id != second.run_id
    agents = rows(workspace, Rater, kind="agent")
    assert [rater["name"] for rater in agents] == [first.run_name, second.run_name]
    pipeline, model, digest = first.run_name.rsplit("/", 2)
    assert pipeline == "ps-tpg-te-bf-tc-fa"
    assert model.startswith("scripted:replies.jsonl@")
    assert len(digest) == 8
    limited = annotate(workspace, f"scripted:{tmp_path / 'replies.jsonl'}", models=SHORT)
    assert limited.run_id not in (first.run_id, second.run_id)


def test_data_may_hold_anything(tmp_path):
    hostile = "x = '[red] a[/]b \x1b[2J \u202e \x00 {query} [[code]]'\n" + GOOD
    replies = [
        ("screener", "a/{x}", {"assessment": "unclear", "justification": "\x00\x1b[31m ]] }} \U0001f40d"}),
        (
            "test_writer",
            "a/{x}",
            {"interpretation": "[[query]]", "test_program": TEST + "\nprint('\\0\\033[1m')\n"},
        ),
        ("arbiter", "a/{x}", {"label": 1, "reason": "\u202e[/red]"}),
    ]
    with pairs_workspace(tmp_path, [("a/{x}", "[[code]] {0} \x07", hostile)]) as workspace:
        report = annotate(workspace, script_file(tmp_path, replies))
        assert report.done == 1, report.counts.reasons
        (verdict,) = rows(workspace, VerdictRow)
        assert verdict["reason"] == "\u202e[/red]"
        # A candidate with a NUL byte is no Python; the log says so, and holds what it holds.
        (execution,) = executions(workspace)
        assert execution["executable"] is False
        assert execution["program_digest"] == TestProgram(hostile, execution["program"]).digest


def test_without_a_sandbox_for_it_a_program_waits(workspace, tmp_path):
    told = Told()
    settings = {"sandbox": None, "sandboxes": _no_bubblewrap()}
    report = annotate(workspace, script_file(tmp_path, REPLIES), told, failures_in_a_row=2, **settings)
    assert report.sandbox == "process"
    assert report.state == "done"
    assert (report.waiting, report.failed, report.counts.needs_sandbox, report.counts.reasons) == (
        4,
        0,
        4,
        {},
    )
    assert told.of(JobProgressed)[-1].waiting == 4
    assert list(queue_ids(workspace, scope(1), QueueFilter(path=WAITING_PATH))) == [3, 4, 5, 6]
    assert paths_in_rows(workspace) == ["screened", "screened", *[WAITING_PATH] * 4]
    assert paths_in_rows(workspace, blind=True) == [None] * 6
    with workspace.reading() as connection:
        (verdict, *_) = load(connection, scope(1), 3).case
    assert verdict.text.startswith("No verdict: the test waits for a sandbox.")
    assert "apt-get install bubblewrap" in verdict.text
    assert verdicts(workspace).keys() == {1, 2}
    assert executions(workspace) == []
    step = rows(workspace, StepRow, item_id=3)[-1]
    assert (step["role"], step["outcome"]) == ("executor", "failed")
    assert "--sandbox process" in step["error"]
    assert any("No isolating sandbox" in log.text for log in told.of(JobLog))

    # With leave for one program, that one goes on; nothing that was paid for is paid for again.
    allowed = frozenset({TestProgram(WRONG, TEST).digest})
    again = annotate(workspace, f"scripted:{tmp_path / 'replies.jsonl'}", allowed=allowed, **settings)
    assert again.run_id == report.run_id
    assert verdicts(workspace)[4] == (0.0, "tested")
    assert turns_of(workspace, 4) == [
        ("screener", 0, "ok"),
        ("test_writer", 0, "ok"),
        ("executor", 0, "failed"),
        ("executor", 1, "ok"),
        ("arbiter", 0, "ok"),
    ]
    assert again.counts.needs_sandbox == 3
    assert list(queue_ids(workspace, scope(1), QueueFilter(path=WAITING_PATH))) == [3, 5, 6]
    assert paths_in_rows(workspace)[2:] == [WAITING_PATH, "tested", WAITING_PATH, WAITING_PATH]
    # Only what is asked for is looked at.
    assert [row.needs_sandbox for row in queue_rows(workspace, scope(1), [4, 5])] == [False, True]


def paths_in_rows(workspace, **how):
    return [row.agent_path for row in queue_rows(workspace, scope(1, **how), range(1, 7))]


def test_a_sandbox_that_breaks_is_a_failure_and_no_finding(workspace, tmp_path):
    # It prints and ends: a Python that never comes to the harness.
    fake = tmp_path / "python3"
    fake.write_text("#!/bin/sh\necho broken >&2\nexit 3\n")
    fake.chmod(0o755)
    settings = JobSettings(
        script_file(tmp_path, REPLIES),
        allowed=_every_digest(),
        sandboxes=SandboxSettings(python=str(fake), bwrap="no-such-bubblewrap"),
    )
    report = run_job(workspace, settings, Told())
    assert report.counts.reasons == {"The sandbox broke": 4}
    assert report.pipeline.numbers["executed"] == 0
    assert {row["exit_reason"] for row in executions(workspace)} == {"infrastructure"}
    assert verdicts(workspace).keys() == {1, 2}


def test_a_limit_and_chosen_items_are_kept_to(workspace, tmp_path):
    model = script_file(tmp_path, [clear(name) for name, _, _ in PAIRS])
    told = Told()
    report = annotate(workspace, model, told, limit=2, concurrency=1)
    assert (report.done, report.counts.items) == (2, 2)
    assert verdicts(workspace).keys() == {1, 2}
    assert the_run(workspace)["total"] == 2

    report = annotate(workspace, model, told, item_ids=(6, 2, 4, 99), concurrency=1)
    assert report.done == 2
    assert [event.item_id for event in told.of(ItemEnded)] == [1, 2, 6, 4]
    starts = told.of(JobStarted)
    assert [start.total for start in starts] == [2, 2]

    report = annotate(workspace, model, told)
    assert report.done == 2
    assert verdicts(workspace).keys() == {1, 2, 3, 4, 5, 6}
    report = annotate(workspace, model, told)
    assert (report.state, report.done, report.counts.requests) == ("done", 0, 6)


def test_progress_is_told_and_the_last_state_always_comes(workspace, tmp_path):
    told = Told()
    report = annotate(workspace, script_file(tmp_path, REPLIES), told)
    assert isinstance(told.events[0], JobStarted)
    assert isinstance(told.events[-1], JobEnded)
    last = told.of(JobProgressed)[-1]
    assert (last.done, last.failed, last.total) == (5, 1, 6)
    assert (last.spent.requests, last.spent.tokens) == (15, 180)
    assert last.seconds_left == 0
    assert report.to_dict()["labels"] == {"0": 2, "1": 3}
    assert len(told.of(JobProgressed)) <= last.seconds / 0.1 + 3


@pytest.mark.parametrize(
    ("model", "error", "title"),
    [
        ("nobody:x", UnknownName, "Unknown model provider"),
        ("openai", WorkbenchError, "Model name incomplete"),
        ("scripted:nowhere.jsonl", WorkbenchError, "Scripted replies cannot be read"),
    ],
)
def test_a_job_that_cannot_begin_says_why_and_leaves_nothing(workspace, model, error, title):
    told = Told()
    with pytest.raises(error) as caught:
        annotate(workspace, model, told)
    assert caught.value.title == title
    assert [event.state for event in told.of(JobEnded)] == ["failed"]
    with workspace.reading() as connection:
        assert all_runs(connection) == []


def _no_bubblewrap():
    return SandboxSettings(bwrap="no-such-bubblewrap")


def _every_digest():
    return frozenset(TestProgram(code, TEST).digest for _, _, code in PAIRS)
