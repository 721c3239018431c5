"""Works: several at once, their shares and budgets, what they keep, and the search for candidates among them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from loopback_models import LoopbackModels, Seen
from small_workspace import GOOD, TEST, Told, import_of, pairs_workspace, rows
from sqlalchemy import update

from agents.jobs import work
from agents.jobs.budget import Budget
from agents.jobs.control import Control
from agents.jobs.events import JobLog, JobPaused, JobProgressed, JobStarted
from agents.jobs.job import JobRequest
from agents.jobs.limits import LimitSettings
from agents.jobs.pause_gate import Halted
from agents.jobs.runner import MOST_AT_ONCE, JobRunner
from agents.jobs.work import WorkPart, WorkSettings, aside
from agents.jobs.work_progress import Pace, ReportWork, WorkProgress
from agents.llm.settings import ModelSettings
from agents.retrieval.candidate_request import CandidateRequest
from agents.retrieval.candidate_search import CandidateSearch
from agents.retrieval.settings import RetrievalSettings
from agents.sandbox.process import ProcessSandbox
from agents.settings import JobSettings
from store.errors import WorkbenchError
from store.ingest.importing import import_files
from store.tables.columns import table_of
from store.tables.runs import Run, VerdictRow, WorkRow
from store.workspace.duckdb import Workspace

WORK_PARTS = work.work_parts

UNCLEAR = {
    "ScreenerReply": {"assessment": "unclear", "justification": "run it"},
    "TestWriterReply": {"interpretation": "twice", "test_program": TEST},
    "ArbiterReply": {"label": 1, "reason": "it doubles"},
}


@dataclass(frozen=True)
class Counting:
    """Counts up to a number; each step may be waited for."""

    to: int
    kind: str = "counting"
    turn: threading.Semaphore | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        return f"up to {self.to}"

    def description(self) -> Mapping[str, Any]:
        return {"to": self.to}

    async def run(self, control: Control) -> str:
        return await aside(control, partial(self.count, control))

    def count(self, control: Control, report: ReportWork) -> str:
        done = control.kept.get("done", 0)
        pace = Pace("counting", self.to, report, done=done)
        while done < self.to:
            if self.turn is not None:
                while not self.turn.acquire(timeout=0.01):
                    pace.add(0)
            done += 1
            control.keep({"done": done})
            pace.add(1)
        return f"counted to {done}"


@pytest.fixture(autouse=True)
def _counting(monkeypatch: pytest.MonkeyPatch) -> None:
    part = WorkPart("counting", "count", "Counts.", lambda given, _: Counting(given["to"]))
    search = WorkPart("candidates", "candidate search", "Finds.", lambda *_: None, asks=True)  # type: ignore[arg-type,return-value]
    monkeypatch.setattr("agents.jobs.work.work_parts", lambda: {"counting": part, "candidates": search})


@pytest.fixture
def workspace(tmp_path: Path) -> Any:
    pairs = [(f"pair/{number}", "double", f"{GOOD}# {number}\n") for number in range(1, 9)]
    with pairs_workspace(tmp_path, pairs) as opened:
        yield opened


def settings(server: LoopbackModels, **others: Any) -> JobSettings:
    fields = {"sandbox": "process", "concurrency": 4, "models": server.settings(max_retries=0), **others}
    return JobSettings("openai:gpt-test", **fields)


def row(workspace: Workspace) -> dict[str, Any]:
    (found,) = rows(workspace, WorkRow)
    return found


def test_a_work_is_paused_stopped_and_goes_on_from_what_it_kept(workspace: Workspace) -> None:
    turn, told = threading.Semaphore(0), Told()
    with JobRunner(workspace, told) as runner:
        job = runner.start(Counting(10, turn=turn))
        turn.release(4)
        told.until(lambda event: isinstance(event, JobProgressed) and event.done == 4)
        assert (row(workspace)["state"], row(workspace)["description"]) == ("running", '{"to": 10}')
        job.pause()
        told.until(lambda event: isinstance(event, JobPaused))
        turn.release(6)
        time.sleep(0.1)
        assert job.progress is not None
        assert job.progress.done <= 5  # one may have been on its way
        job.resume()
        told.until(lambda event: isinstance(event, JobProgressed) and event.done == 10)
        assert job.wait(60)
        assert (job.state, job.said) == ("done", "counted to 10")
        ended = row(workspace)
        assert (ended["state"], ended["said"], json.loads(ended["kept"])) == (
            "done",
            "counted to 10",
            {"done": 10},
        )
        # The same again is another work; stopped, it goes on.
        second = runner.start(Counting(10, turn=turn))
        turn.release(3)
        told.until(
            lambda event: isinstance(event, JobProgressed) and (event.job, event.done) == (second.number, 3)
        )
        with pytest.raises(WorkbenchError, match="up to 10 is"):
            runner.start(Counting(10))
        second.stop()
        assert second.wait(60)
        stopped = WorkRow(**rows(workspace, WorkRow)[1])
        assert (stopped.state, json.loads(stopped.kept)) == ("stopped", {"done": 3})
        third = runner.go_on(stopped, WorkSettings(ModelSettings(), RetrievalSettings()))
        assert third.wait(60)
        assert (third.state, len(rows(workspace, WorkRow))) == ("done", 2)
        first_told = next(event for event in told.of(JobProgressed) if event.job == third.number)
        assert first_told.done == 3


def test_what_fails_says_why_and_a_bug_ends_one_work_alone(workspace: Workspace) -> None:
    @dataclass(frozen=True)
    class Failing(Counting):
        error: Exception = field(default_factory=ValueError)

        def count(self, control: Control, report: ReportWork) -> str:
            raise self.error

    with JobRunner(workspace, Told()) as runner:
        wrong = runner.start(Failing(1, error=WorkbenchError("No", "It cannot.", "Do that.")))
        broken = runner.start(Failing(2, error=ZeroDivisionError("by nothing")))
        fine = runner.start(Counting(3))
        assert wrong.wait(60)
        assert broken.wait(60)
        assert fine.wait(60)
        assert (wrong.state, str(wrong.error.title if wrong.error else "")) == ("failed", "No")
        assert broken.error is not None
        assert "ZeroDivisionError: by nothing" in broken.error.message
        assert fine.state == "done"
    said = {one["name"]: (one["state"], one["said"]) for one in rows(workspace, WorkRow)}
    assert said["up to 3"] == ("done", "counted to 3")
    assert said["up to 1"][0] == said["up to 2"][0] == "failed"
    assert "It cannot." in said["up to 1"][1]


def test_no_more_than_so_many_at_once(workspace: Workspace) -> None:
    turn = threading.Semaphore(0)
    with JobRunner(workspace, Told()) as runner:
        for number in range(MOST_AT_ONCE):
            runner.start(Counting(number + 1, turn=turn))
        with pytest.raises(WorkbenchError, match=f"{MOST_AT_ONCE} work already"):
            runner.start(Counting(100))
        turn.release(1000)


def test_two_runs_and_a_search_at_once_one_out_of_budget(tmp_path: Path, workspace: Workspace) -> None:
    texts = "\n".join(f"how to double {number}" for number in range(5))
    import_files(workspace, [import_of(tmp_path, texts, "queries.txt")], format="queries")
    told = Told()
    services = WorkSettings(ModelSettings(), RetrievalSettings())
    search = CandidateSearch(CandidateRequest(("bm25",), 2), services)
    with LoopbackModels(replies=UNCLEAR) as server, JobRunner(workspace, told) as runner:
        first = runner.start(JobRequest(settings(server)))
        second = runner.start(
            JobRequest(
                settings(server, agents="ps-fa", budget=Budget(requests=3), concurrency=1, cache=False)
            )
        )
        third = runner.start(search)
        told.until(lambda event: isinstance(event, JobPaused) and event.job == second.number)
        assert second.used_up is not None
        assert second.used_up.what == "requests"
        assert first.wait(60)
        assert third.wait(60)
        assert (first.state, second.state, third.state) == ("done", "paused", "done"), (
            first.error,
            third.error,
        )
        second.resume(Budget())
        assert second.wait(60)
        assert second.state == "done"
    # A run has the items that are there when it begins, and the search may have added some by then.
    runs = rows(workspace, Run)
    assert {one["state"] for one in runs} == {"done"}
    assert len(rows(workspace, VerdictRow)) == sum(one["total"] for one in runs) >= 16
    assert row(workspace)["said"].startswith(f"{third.result().added} pairs added")


def test_a_limit_on_sandboxes_holds_for_two_runs_together(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once: list[int] = []
    flying: set[int] = set()
    run = ProcessSandbox.run

    async def watched(sandbox: ProcessSandbox, program: Any, limits: Any) -> Any:
        flying.add(key := id(asyncio.current_task()))
        at_once.append(len(flying))
        await asyncio.sleep(0.02)
        try:
            return await run(sandbox, program, limits)
        finally:
            flying.discard(key)

    monkeypatch.setattr(ProcessSandbox, "run", watched)

    def most(limits: LimitSettings, seed: int) -> int:
        at_once.clear()
        with LoopbackModels(replies=UNCLEAR) as server, JobRunner(workspace, Told(), limits) as runner:
            models = server.settings(max_retries=0, seed=seed)
            other = server.settings(max_retries=0, seed=seed + 1)
            jobs = [
                runner.start(JobRequest(settings(server, models=each, cache=False)))
                for each in (models, other)
            ]
            assert all(job.wait(120) for job in jobs)
            assert [job.state for job in jobs] == ["done", "done"]
        assert len(at_once) >= 16
        return max(at_once)

    assert most(LimitSettings(sandboxes=1), 1) == 1
    assert most(LimitSettings(), 3) > 1


def test_one_search_computes_at_a_time(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_work: list[str] = []
    begun, go = threading.Event(), threading.Event()

    def search(one: CandidateSearch, control: Control, report: ReportWork) -> Any:
        at_work.append(one.name)
        begun.set()
        assert go.wait(60)
        raise WorkbenchError("No", "none", "")

    monkeypatch.setattr(CandidateSearch, "_search", search)
    told, services = Told(), WorkSettings(ModelSettings(), RetrievalSettings())
    with JobRunner(workspace, told) as runner:
        for model in ("minilm", "codebert"):
            runner.start(CandidateSearch(CandidateRequest((model,)), services))
        waiting = told.until(
            lambda event: (
                isinstance(event, JobProgressed) and event.stage == "waiting for another work to end"
            )
        )
        assert isinstance(waiting, JobProgressed)
        # Either may be the first, and the other one says that it waits before that one has begun.
        assert begun.wait(60)
        assert len(at_work) == 1
        go.set()
        assert all(job.wait(60) for job in runner.jobs)
    assert len(at_work) == 2


KILLED = """
import sys, threading
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from agents.jobs.runner import JobRunner
from store.workspace.duckdb import Workspace
import test_works
test_works.register()

with Workspace.open(Path(sys.argv[1])) as workspace:
    turn = threading.Semaphore(0)
    with JobRunner(workspace, lambda event: print(type(event).__name__, getattr(event, "done", ""), flush=True)) as runner:
        job = runner.start(test_works.Counting(200, turn=turn))
        while True:
            turn.release(1)
            threading.Event().wait(0.02)
"""


def register() -> None:
    """Register the work of these tests, in another process."""
    import agents.jobs.runner as runner
    import agents.jobs.work as work

    part = WorkPart("counting", "count", "Counts.", lambda given, _: Counting(given["to"]))
    work.work_parts = lambda: {"counting": part}  # type: ignore[assignment]
    runner.work_part = lambda _kind: part


def test_killed_it_goes_on_from_what_it_kept(tmp_path: Path) -> None:
    with pairs_workspace(tmp_path, [("p1", "double", GOOD)]) as made:
        path = made.path
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    process = subprocess.Popen(
        [sys.executable, str(script), str(path), str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), str(Path(__file__).parents[1])]),
        },
    )
    assert process.stdout is not None
    for line in process.stdout:
        # More than a second of work: what it kept is on disk.
        if line.split()[:1] == ["JobProgressed"] and int(line.split()[1]) >= 100:
            break
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    with Workspace.open(path) as workspace, JobRunner(workspace, Told()) as runner:
        workspace.lane.drain(60)
        left = WorkRow(**row(workspace))
        assert left.state == "stopped"
        done = json.loads(left.kept)["done"]
        assert done > 0
        told = runner.go_on(left, WorkSettings(ModelSettings(), RetrievalSettings()))
        assert told.wait(60)
        assert (told.state, told.said) == ("done", "counted to 200")
    with Workspace.open(path) as workspace:
        assert row(workspace)["state"] == "done"


def test_works_of_before_and_of_packages_that_are_gone_are_listed_and_refused(workspace: Workspace) -> None:
    with JobRunner(workspace, Told()) as runner:
        job = runner.start(Counting(1))
        assert job.wait(60)
        table = table_of(WorkRow)
        workspace.lane.submit(
            lambda connection: connection.execute(update(table).values(kind="gone", state="running"))
        ).result()
    with JobRunner(workspace, Told()) as runner:
        workspace.lane.drain(60)
        left = WorkRow(**row(workspace))
        assert left.state == "stopped"
        with pytest.raises(WorkbenchError, match="No package adds the work 'gone'"):
            runner.go_on(left, WorkSettings(ModelSettings(), RetrievalSettings()))


@dataclass(frozen=True)
class Ending(Counting):
    """Ends in its own way, in a thread or in the loop."""

    end: BaseException = field(default_factory=ValueError)
    in_loop: bool = False

    async def run(self, control: Control) -> str:
        if self.in_loop:
            raise self.end
        return await aside(control, partial(self.count, control))

    def count(self, control: Control, report: ReportWork) -> str:
        raise self.end


@pytest.mark.parametrize("in_loop", [False, True])
@pytest.mark.parametrize("end", [SystemExit(3), KeyboardInterrupt(), StopIteration("out")])
def test_what_ends_in_an_unusual_way_ends_no_other_work(
    workspace: Workspace, end: BaseException, in_loop: bool
) -> None:
    with JobRunner(workspace, Told()) as runner:
        broken = runner.start(Ending(1, end=end, in_loop=in_loop))
        assert broken.wait(60)
        assert broken.state == "failed"
        assert broken.error is not None
        assert type(end).__name__ in broken.error.message
        fine = runner.start(Counting(3))
        assert fine.wait(60)
        assert fine.state == "done"
    assert {one["name"]: one["state"] for one in rows(workspace, WorkRow)} == {
        "up to 1": "failed",
        "up to 3": "done",
    }


@dataclass(frozen=True)
class Keeping(Counting):
    """Keeps something."""

    value: Any = None

    def description(self) -> Mapping[str, Any]:
        return {"to": self.to, "value": self.value}

    def count(self, control: Control, report: ReportWork) -> str:
        control.keep({"value": object() if self.value is None else self.value})
        return "kept"


def test_what_cannot_be_kept_or_is_no_description_is_said(workspace: Workspace) -> None:
    with JobRunner(workspace, Told()) as runner:
        for value, title in ((None, "Cannot be kept"), ("x" * 1_000_001, "Too much to keep")):
            job = runner.start(Keeping(1, value=value))
            assert job.wait(60)
            assert job.error is not None
            assert (job.state, job.error.title) == ("failed", title)
        with pytest.raises(WorkbenchError, match="The work says not what it is: TypeError"):
            runner.start(Keeping(1, value=object()))
    assert {one["state"] for one in rows(workspace, WorkRow)} == {"failed"}
    assert all(one["ended_at"] is not None and one["said"] for one in rows(workspace, WorkRow))


def test_a_thread_that_is_left_behind_keeps_and_says_nothing(workspace: Workspace) -> None:
    begun, go, gone, left = threading.Event(), threading.Event(), threading.Event(), []

    @dataclass(frozen=True)
    class Deaf(Counting):
        def count(self, control: Control, report: ReportWork) -> str:
            control.keep({"done": 1})
            begun.set()
            assert go.wait(60)
            control.log("info", "still here")
            for each in (lambda: control.keep({"done": 2}), lambda: report(WorkProgress("late", 1, 2))):
                try:
                    each()
                except Halted:
                    left.append("halted")
            gone.set()
            return "late"

    told = Told()
    with JobRunner(workspace, told) as runner:
        job = runner.start(Deaf(1))
        told.until(lambda event: isinstance(event, JobStarted))
        # Stopped before it has begun, the thread would end where it keeps something.
        assert begun.wait(60)
        job.stop(0.0)
        assert job.wait(60)
        go.set()
        assert gone.wait(60)
    assert (job.state, json.loads(row(workspace)["kept"]), left) == ("stopped", {"done": 1}, ["halted"] * 2)
    assert not any(isinstance(event, JobLog) and event.text == "still here" for event in told.events)


def test_two_runs_pay_once_for_the_same_question(workspace: Workspace) -> None:
    asked = threading.Semaphore(0)

    def screened(_: Seen) -> Any:
        asked.acquire(timeout=0.3)
        return UNCLEAR["ScreenerReply"]

    told = Told()
    with LoopbackModels(replies={**UNCLEAR, "ScreenerReply": screened}) as server:
        with JobRunner(workspace, told) as runner:
            jobs = [
                runner.start(JobRequest(settings(server, agents=agents)))
                for agents in ("ps-fa", "ps-tpg-te-fa")
            ]
            told.until(lambda event: isinstance(event, JobStarted) and event.job == 2)
            asked.release(100)
            assert all(job.wait(60) for job in jobs)
            assert [job.state for job in jobs] == ["done", "done"], [job.error for job in jobs]
        screenings = [one for one in server.requests if one.schema_name == "ScreenerReply"]
    assert len(screenings) == 8


def test_a_run_that_waits_for_the_reply_of_a_paused_one_gets_its_own(workspace: Workspace) -> None:
    """The second asks what the first was about to ask, and may not while it is paused at its budget."""
    told = Told()
    with LoopbackModels(replies=UNCLEAR) as server, JobRunner(workspace, told) as runner:
        first = runner.start(JobRequest(settings(server, agents="ps-fa", budget=Budget(requests=1))))
        told.until(lambda event: isinstance(event, JobPaused))
        second = runner.start(JobRequest(settings(server, agents="ps-tpg-te-fa")))
        assert second.wait(60)
        assert (second.state, first.state) == ("done", "paused")
        first.stop()
        assert first.wait(60)


def test_a_share_is_waited_for_until_the_work_is_stopped(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()

    def search(one: CandidateSearch, control: Control, report: ReportWork) -> Any:
        assert go.wait(60)
        raise WorkbenchError("No", "none", "")

    monkeypatch.setattr(CandidateSearch, "_search", search)
    services = WorkSettings(ModelSettings(), RetrievalSettings())
    with JobRunner(workspace, Told()) as runner:
        first, second = (
            runner.start(CandidateSearch(CandidateRequest((model,)), services))
            for model in ("minilm", "codebert")
        )
        second.stop()
        assert second.wait(60)
        assert (first.state, second.state) == ("running", "stopped")
        go.set()
        assert first.wait(60)


def test_a_broken_package_hides_no_other_work(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    good = EntryPoint("candidates", "agents.retrieval.candidate_search:PART", work.GROUP)
    broken = EntryPoint("broken", "no_such_module:PART", work.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [broken, good])
    monkeypatch.setattr(work, "work_parts", WORK_PARTS.__wrapped__)
    assert work.work_part("candidates").title == "candidate search"
    with pytest.raises(WorkbenchError, match="No module named 'no_such_module'"):
        work.work_part("broken")


def test_a_work_that_cannot_be_opened_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*_: object) -> Any:
        raise RuntimeError("no such luck")

    part = WorkPart("counting", "count", "Counts.", opened)
    monkeypatch.setattr("agents.jobs.work.work_parts", lambda: {"counting": part})
    with pytest.raises(WorkbenchError, match="RuntimeError: no such luck"):
        work.open_work("counting", {}, WorkSettings(ModelSettings(), RetrievalSettings()))
