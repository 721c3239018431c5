"""Runs works in the background, or for a command that waits: one thread with its own asyncio loop."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from sqlalchemy.exc import OperationalError

from agents.jobs.control import Control
from agents.jobs.events import ENDED, JobEnded, JobEvent, JobProgressed, JobStarted, JobState
from agents.jobs.job import JobRequest
from agents.jobs.limits import Limits, LimitSettings
from agents.jobs.loop_thread import LoopThread
from agents.jobs.pause_gate import Halted
from agents.jobs.report import JobReport
from agents.jobs.run_record import stop_interrupted_runs
from agents.jobs.work import (
    MOST_SAID,
    Work,
    WorkSettings,
    carried_out,
    description_of,
    open_work,
    work_part,
)
from agents.jobs.work_record import WorkRecord, stop_interrupted_works
from agents.settings import JobSettings
from store.errors import WorkbenchError, not_written
from store.policy.refusal import refuse_packet
from store.processes import tuned_for_throughput
from store.queries.works import unfinished_work, work_row
from store.tables.runs import described

if TYPE_CHECKING:
    from agents.jobs.budget import Budget
    from agents.jobs.errors import BudgetReached
    from store.tables.runs import WorkRow
    from store.workspace.duckdb import Workspace

Emit = Callable[[JobEvent], None]
CLOSE_SECONDS = 2.0
CUT_SECONDS = 60.0
"""Seconds in which works may end once they are cut off, to close and write what is theirs. A work that takes
longer does not keep the program from ending."""
FRAMES = 8
"""Lines of a traceback in the log, the last ones."""
MOST_AT_ONCE = 8
"""Works at the same time."""


class Job:
    """A work that was started; its methods can be called from any thread.

    Attributes:
        number: Tells jobs of one runner apart; events carry it.
        progress: Its latest progress; None before its first item.
        bug: The exception that ended it, where that was a mistake of the program.
        title: What it is, for people: "agents" or the title of its part.
        said: What came of it, in a sentence; empty before its end, and for a run of the agents.
        record: Its row, where it is no run.
    """

    def __init__(
        self,
        number: int,
        job: Work,
        *,
        name: str,
        title: str,
        control: Callable[[Emit], Control],
        record: WorkRecord | None,
        emit: Emit,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.number = number
        self.job = job
        self.name = name
        self.title = title
        self.record = record
        self.progress: JobProgressed | None = None
        self.bug: Exception | None = None
        self.said = ""
        self._emit = emit
        self._loop = loop
        self._ended = threading.Event()
        self._control = control(self._tell)

    @property
    def state(self) -> JobState:
        """Its state."""
        return self._control.state

    @property
    def error(self) -> WorkbenchError | None:
        """Why it failed."""
        return self._control.error

    @property
    def run_id(self) -> UUID | None:
        """The run it works on; None until that is known, and for other works."""
        return self._control.run_id

    @property
    def work_id(self) -> UUID | None:
        """The key of its row, where it is no run."""
        return None if self.record is None else self.record.id

    @property
    def kept(self) -> Mapping[str, Any]:
        """The values that it kept last; empty for a run of the agents."""
        return self._control.kept

    @property
    def budget(self) -> Budget:
        """Its budget."""
        return self._control.budget.budget

    @property
    def used_up(self) -> BudgetReached | None:
        """The budget at which it paused or stopped; None while there is something left to spend."""
        return self._control.used_up

    def pause(self) -> None:
        """Take up no further turn until it is resumed."""
        self._call(self._control.pause)

    def resume(self, budget: Budget | None = None) -> None:
        """Go on after a pause.

        Args:
            budget: The budget from now on; None to leave that as it is. A job that paused since it had
                spent what it may pauses again otherwise.
        """
        self._call(lambda: self._control.resume(budget))

    def stop(self, seconds: float | None = None) -> None:
        """Begin no further turn; the same work can be started again and goes on where it stopped.

        Args:
            seconds: How long turns under way may take to end before they are cut off; None for what the
                settings say. A second call can shorten it.
        """
        self._call(lambda: self._control.stop(self._control.stop_seconds if seconds is None else seconds))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for its end, outside the jobs' thread; return whether it came in `timeout` seconds."""
        return self._ended.wait(timeout)

    def result(self) -> Any:
        """Return the result of an ended job; of a run of the agents a `JobReport`.

        Raises:
            WorkbenchError: It could not begin.
        """
        if not self._ended.is_set():
            raise RuntimeError("the job has not ended")
        if self.bug is not None:
            raise self.bug
        if self._control.result is None:
            raise self._control.error or RuntimeError("the job ended without a report")
        return self._control.result

    async def drive(self) -> None:
        """Do the work, in the jobs' loop, and emit its end whatever happens."""
        control = self._control
        state: Literal["done", "stopped", "failed"] = "failed"
        try:
            self.said = await self._work()
            state = "failed" if control.error is not None else "done"
        except Halted:
            state = "failed" if control.error is not None else "stopped"
        except WorkbenchError as error:
            control.error = error
        except OperationalError as error:
            control.error = not_written(error.orig)
        except Exception as bug:  # noqa: BLE001 - it must reach the one who waits, not die in a thread
            self.bug = bug
            control.error = WorkbenchError(
                "The job broke",
                f"A mistake in the code ended it: {type(bug).__name__}: {bug}".rstrip(".") + ".",
                "What it recorded is kept. Please report this with the job's log.",
            )
            # A frame a line: a long line is cut.
            for frame in traceback.extract_tb(bug.__traceback__)[-FRAMES:]:
                control.log("error", f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}")
            control.log("error", f"Traceback ends: {type(bug).__name__}: {bug}")
        finally:
            # From here on nothing pauses it, and a thread that is left behind keeps nothing.
            control.state = state
            if self.record is not None:
                await self._write_end(self.record, state)
            why = control.error or control.used_up
            try:
                self._tell(JobEnded(self.number, state, self.run_id, why, self.said))
            finally:
                self._ended.set()

    async def _write_end(self, record: WorkRecord, state: str) -> None:
        """Write how it ended; what cannot be written is said by the one who writes."""
        control = self._control
        with suppress(Exception):
            control.write_kept()
        said = self.said or ("" if control.error is None else str(control.error))
        with suppress(Exception):
            await record.end(state, said[:MOST_SAID], control.done)

    async def _work(self) -> str:
        """Do the work; it ends as stopped where it is broken off."""
        control, record = self._control, self.record
        if record is None:
            return await carried_out(self.job, control)
        await record.begin()
        control.changed = record.note
        work = asyncio.ensure_future(carried_out(self.job, control))

        def cut() -> None:
            work.cancel()

        control.cut = cut
        self._tell(JobStarted(self.number, None, self.name))
        control.begun()
        telling = asyncio.create_task(control.tell_as_it_gets_on())
        try:
            return await work
        except asyncio.CancelledError:
            raise Halted from None
        finally:
            telling.cancel()
            with suppress(Exception):
                control.tell_last()

    def _tell(self, event: JobEvent) -> None:
        if isinstance(event, JobProgressed):
            self.progress = event
        self._emit(event)

    def _call(self, action: Callable[[], None]) -> None:
        # The loop is closed when the runner is; then there is nothing left to steer.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(action)


class JobRunner:
    """Starts works and ends them; made by whoever opened the workspace, and closed before it.

    Works that an earlier process left unfinished are marked as stopped.

    Args:
        workspace: The open workspace.
        emit: Called with every event, from any thread; it must not block.
        limits: What works share.
    """

    def __init__(self, workspace: Workspace, emit: Emit, limits: LimitSettings | None = None) -> None:
        self.jobs: list[Job] = []
        self._workspace = workspace
        self._emit = emit
        self._limits = Limits(limits or LimitSettings())
        self._thread = LoopThread("agents-jobs")
        self._claimed: dict[UUID, int] = {}
        self._closed = False
        stop_interrupted_runs(workspace)
        stop_interrupted_works(workspace)

    @property
    def at_work(self) -> list[Job]:
        """The jobs that have not ended, in the order in which they were started."""
        return [job for job in self.jobs if job.state not in ENDED]

    @property
    def running(self) -> Job | None:
        """The job of these that was started last; None when all have ended."""
        return next(reversed(self.at_work), None)

    def start(self, job: Work, again: WorkRow | None = None) -> Job:
        """Start a work; several can be at work at once.

        Args:
            job: The work.
            again: The row of the same work, which goes on; None to begin it.

        Returns:
            The job at work. That its model is unknown, or another error of this kind, comes with its end.

        Raises:
            WorkbenchError: The same is at work already, too many are, or the workspace is a packet.
        """
        if self._closed:
            raise RuntimeError("the job runner is closed")
        refuse_packet(self._workspace, "Agents run")
        kind, name, description = description_of(job)
        at_work = self.at_work
        if len(at_work) >= MOST_AT_ONCE:
            raise WorkbenchError(
                "Too many works", f"{MOST_AT_ONCE} work already.", "Stop one, or wait for the end of one."
            )
        record, title = None, "agents"
        if description is not None:
            for one in at_work:
                if one.record is not None and one.record.is_of(kind, description):
                    raise WorkbenchError(
                        "At work already", f"{name} is {one.state}.", "Stop it, or wait for its end."
                    )
            title = work_part(kind).title
            if again is None:
                record = WorkRecord.new(self._workspace, kind, name, description)
            else:
                record = WorkRecord(self._workspace, again)
        number = len(self.jobs) + 1
        control = partial(
            Control,
            number,
            self._workspace,
            limits=self._limits,
            claim=partial(self._claim, number),
            kept=record.kept if record is not None else None,
            keep=record.keep if record is not None else lambda _kept, _done: None,
        )
        started = Job(
            number,
            job,
            name=name,
            title=title,
            control=control,
            record=record,
            emit=self._emit,
            loop=self._thread.loop,
        )
        self.jobs.append(started)
        self._thread.submit(started.drive())
        return started

    def go_on(self, row: WorkRow, settings: WorkSettings) -> Job:
        """Go on with a work that was stopped or failed.

        Raises:
            WorkbenchError: No package has works of its kind any more, or as for `start`.
        """
        with self._workspace.reading() as connection:
            again = work_row(connection, row.id) or row
        return self.start(open_work(again.kind, described(again), settings), again)

    def _claim(self, number: int, run_id: UUID) -> None:
        """Take a run for a job; called in the lane, one call at a time.

        Raises:
            WorkbenchError: Another job works on it.
        """
        other = self._claimed.get(run_id)
        # Its own where the lane writes again what failed before.
        if other not in (None, number) and self.jobs[other - 1].state not in ENDED:
            raise WorkbenchError(
                "At work already",
                f"Job {other} works on this run, and is {self.jobs[other - 1].state}.",
                "Choose other agents or another model, stop it, or wait for its end.",
            )
        self._claimed[run_id] = number

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Stop every job and end the thread; closing twice is harmless.

        Args:
            seconds: How long turns under way may take to end before they are cut off.
        """
        if self._closed:
            return
        self._closed = True
        for job in self.jobs:
            job.stop(seconds)
        until = monotonic() + seconds + CUT_SECONDS
        for job in self.jobs:
            job.wait(max(0.0, until - monotonic()))
        self._thread.close(max(1.0, until - monotonic()))

    def __enter__(self) -> JobRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run_job(
    workspace: Workspace,
    settings: JobSettings,
    emit: Emit,
    check: Callable[[], object] = lambda: None,
    limits: LimitSettings | None = None,
) -> JobReport:
    """Annotate and wait for the end, for a command: see `run_work`.

    Returns:
        What the job came to; a job that gave up says why in `error`.

    Raises:
        WorkbenchError: The job could not begin: no such model or sandbox, no key.
    """
    job = run_work(workspace, JobRequest(settings, when_failing="end"), emit, check, limits)
    report: JobReport = job.result()
    return report


def run_work(
    workspace: Workspace,
    work: Work,
    emit: Emit,
    check: Callable[[], object] = lambda: None,
    limits: LimitSettings | None = None,
) -> Job:
    """Do a work and wait for its end, for a command.

    Ctrl-C stops it and lets turns under way end; a second one cuts them off. Either way its result comes,
    with the state "stopped", and the same call goes on where this one stopped.

    Args:
        workspace: The open workspace.
        work: The work, which ends where it cannot go on.
        emit: Called with every event, from another thread.
        check: Called once the job has begun; raises `KeyboardInterrupt` where its end was asked for before,
            since what a signal raises while the workspace is opened can get lost.
        limits: What its items share.

    Returns:
        The job, which has ended.

    Raises:
        WorkbenchError: The workspace is a packet.
    """
    with tuned_for_throughput(), JobRunner(workspace, emit, limits) as runner:
        kind, _, description = description_of(work)
        again = None
        if description is not None:
            with workspace.reading() as connection:
                again = unfinished_work(connection, kind, description)
        job = runner.start(work, again)
        patience: float | None = None
        checks = [check]
        while True:
            try:
                if checks:
                    checks.pop()()
                job.wait()
            except KeyboardInterrupt:
                job.stop(patience)
                patience = 0.0
            else:
                return job
