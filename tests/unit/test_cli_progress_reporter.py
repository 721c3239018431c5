"""What annotate tells on stderr while it is at work: not a line for each of many thousands of failures."""

import uuid

import pytest

from agents.jobs.events import ItemEnded, JobEnded, JobLog, JobProgressed, Spent
from agents.jobs.outcome import Verdict
from agents.jobs.work_progress import WorkProgress
from agents.llm.errors import ModelError
from agents.sandbox.errors import NeedsSandbox
from workbench.cli import progress_reporter
from workbench.cli.progress_reporter import TOLD_IN_FULL, MethodProgress, ProgressReporter
from workbench.output import Bar

RUN = uuid.uuid4()


@pytest.fixture
def teller():
    return ProgressReporter(Bar("annotating"))


def fail(teller, number, failure):
    """What a job tells of an item that failed: the item, then a line for its log."""
    name = f"q{number}"
    teller(ItemEnded(1, RUN, number, name, (), failure))
    if not isinstance(failure, NeedsSandbox):
        teller(JobLog(1, "warning", f"{name}: {failure}"))


def progressed(ended):
    spent, labelled = Spent(requests=1_000, tokens=1_200, money=0.62, unpriced=1), ended - 2
    return JobProgressed(1, RUN, ended - 2, 2, 412_080, 60.0, 500.0, "q9", spent, labelled, 30)


def test_failures_of_a_kind_are_told_a_few_times(teller, capsys):
    for number in range(500):
        fail(teller, number, ModelError("refused", "Model declined", f"It declined {number}."))
    fail(teller, 500, ModelError("timeout", "No answer", "It said nothing."))
    teller(JobEnded(1, "done", RUN))
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == [f"warning: q{at}: Model declined: It declined {at}." for at in range(2)]
    assert "More failures of the kind “Model declined” are counted" in lines[TOLD_IN_FULL]
    assert lines[TOLD_IN_FULL + 1 :] == ["warning: q500: No answer: It said nothing."]


def test_equal_failures_are_told_once_and_counted(teller, capsys):
    silent = ModelError("timeout", "No answer", "It said nothing.")
    fail(teller, 1, silent)
    teller(ItemEnded(1, RUN, 2, "q2", (Verdict(1.0, "screened", "a word"),)))
    assert capsys.readouterr().err.splitlines() == ["warning: q1: No answer: It said nothing."]
    for number in (3, 4):
        fail(teller, number, silent)
    fail(teller, 5, ModelError("timeout", "No answer", "It hung up."))
    teller(JobEnded(1, "done", RUN))
    lines = capsys.readouterr().err.splitlines()
    assert "More failures of the kind “No answer” are counted" in lines[0]
    assert lines[1:] == ["warning: q5: No answer: It hung up."]


def test_the_error_that_ends_a_job_is_left_to_the_command(teller, capsys):
    wrong_key = ModelError("unauthorised", "Key not accepted", "The service said (401).")
    for number in (1, 2):
        fail(teller, number, wrong_key)
    teller(JobEnded(1, "failed", RUN, wrong_key))
    assert capsys.readouterr().err == ""


def test_warnings_of_the_job_are_told_and_items_that_wait_are_not(teller, capsys):
    fail(teller, 1, NeedsSandbox("Nothing isolates here."))
    teller(JobLog(1, "info", "nothing of note"))
    teller(JobLog(1, "warning", "No isolating sandbox works here."))
    assert capsys.readouterr().err == "warning: No isolating sandbox works here.\n"


def test_without_a_terminal_a_line_a_minute_tells_how_far_it_is(teller, capsys, monkeypatch):
    teller(progressed(1000))
    assert capsys.readouterr().err == ""
    due = teller._line_at
    monkeypatch.setattr(progress_reporter.time, "monotonic", lambda: due)
    teller(progressed(2000))
    teller(progressed(2001))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(
        "2,030 of 412,080 · 2 failed · 30 need a sandbox · 13 h 40 min left · 500/min · $0.6200 · 1,200 tokens"
    )


def test_steps_of_several_methods_have_the_name_of_the_method():
    shown = []
    progress = MethodProgress(3, shown.append)
    progress.begin("bm25")
    progress.begin("minilm")
    progress.step(WorkProgress("encoding codes by minilm", 1024, 3213, 35.0))
    progress.step(WorkProgress("comparing", 1, 4))
    progress.begin("one+other")
    progress.step(WorkProgress("encoding codes by one", 0, 5))
    assert shown == [
        WorkProgress("bm25", 0, 3),
        WorkProgress("minilm", 1, 3),
        WorkProgress("2/3 encoding codes by minilm", 1024, 3213, 35.0),
        WorkProgress("2/3 minilm: comparing", 1, 4),
        WorkProgress("one+other", 2, 3),
        WorkProgress("3/3 one+other: encoding codes by one", 0, 5),
    ]
    shown.clear()
    alone = MethodProgress(1, shown.append)
    alone.begin("minilm")
    alone.step(WorkProgress("encoding codes by minilm", 0, 5))
    assert shown[-1].stage == "encoding codes by minilm"


def test_in_a_terminal_the_bar_tells_it(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress_reporter, "LINE_SECONDS", 0.0)
    ProgressReporter(Bar("annotating"))(progressed(2000))
    assert "2,030 of" not in capsys.readouterr().err
