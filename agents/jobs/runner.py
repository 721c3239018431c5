"""Runs jobs in the background, or for a command that waits: one thread with its own asyncio loop."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlalchemy.exc import OperationalError

from agents.jobs.events import ENDED, JobEnded, JobEvent, JobLog, JobProgressed, JobState
from agents.jobs.job import PipelineJob
from agents.jobs.loop_thread import LoopThread
from agents.jobs.report import JobReport
from agents.jobs.run_record import stop_interrupted_runs
from agents.settings import JobSettings
from store.errors import WorkbenchError, not_written
from store.processes import tuned_for_throughput
from store.workspace.packet_fact import refuse_packet

if TYPE_CHECKING:
    from uuid import UUID

    from agents.jobs.budget import Budget
    from agents.jobs.errors import BudgetReached
    from store.workspace.duckdb import Workspace

Emit = Callable[[JobEvent], None]
CLOSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job to be done.

    Attributes:
        settings: The settings of the job.
        when_failing: After many failures in a row: pause, for somebody to look, or end.
    """

    settings: JobSettings
    when_failing: Literal["pause", "end"] = "pause"


class Job:
    """A job that was started; its methods can be called from any thread.

    Attributes:
        number: Tells jobs of one runner apart; events carry it.
        job: The request.
        progress: Its latest progress; None before its first item.
        bug: The exception that ended it, where that was a mistake of the program.
    """

    def __init__(
        self,
        number: int,
        job: JobRequest,
        workspace: Workspace,
        emit: Emit,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.number = number
        self.job = job
        self.progress: JobProgressed | None = None
        self.bug: Exception | None = None
        self._emit = emit
        self._loop = loop
        self._ended = threading.Event()
        self._work = PipelineJob(number, job.settings, workspace, self._tell, when_failing=job.when_failing)

    @property
    def state(self) -> JobState:
        """Its state."""
        return self._work.state

    @property
    def error(self) -> WorkbenchError | None:
        """Why it failed."""
        return self._work.error

    @property
    def run_id(self) -> UUID | None:
        """The run it works on; None until that is known."""
        return None if self._work.record is None else self._work.record.id

    @property
    def budget(self) -> Budget:
        """The budget of its run."""
        return self._work.budget

    @property
    def used_up(self) -> BudgetReached | None:
        """The budget at which it paused or stopped; None while there is something left to spend."""
        return self._work.used_up

    def pause(self) -> None:
        """Take up no further turn until it is resumed."""
        self._call(self._work.pause)

    def resume(self, budget: Budget | None = None) -> None:
        """Go on after a pause.

        Args:
            budget: The budget of the run from now on; None to leave that as it is. A job that paused since
                it had spent what it may pauses again otherwise.
        """
        self._call(lambda: self._work.resume(budget))

    def stop(self, seconds: float | None = None) -> None:
        """Begin no further turn; the job can be started again and goes on where it stopped.

        Args:
            seconds: How long turns under way may take to end before they are cut off; None for what the
                settings say. A second call can shorten it.
        """
        wait = self.job.settings.stop_seconds if seconds is None else seconds
        self._call(lambda: self._work.stop(wait))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for its end, outside the jobs' thread; return whether it came in `timeout` seconds."""
        return self._ended.wait(timeout)

    def result(self) -> JobReport:
        """Return the report of an ended job.

        Raises:
            WorkbenchError: It could not begin.
        """
        if not self._ended.is_set():
            raise RuntimeError("the job has not ended")
        if self.bug is not None:
            raise self.bug
        if self._work.report is None:
            raise self._work.error or RuntimeError("the job ended without a report")
        return self._work.report

    async def drive(self) -> None:
        """Do the work, in the jobs' loop, and emit its end whatever happens."""
        state: Literal["done", "stopped", "failed"] = "failed"
        try:
            state = await self._work.run()
        except WorkbenchError as error:
            self._work.error = error
        except OperationalError as error:
            self._work.error = not_written(error.orig)
        except Exception as bug:  # noqa: BLE001 - it must reach the one who waits, not die in a thread
            self.bug = bug
            self._work.error = WorkbenchError(
                "The job broke",
                f"A mistake in the program ended it: {type(bug).__name__}: {bug}",
                "What it recorded is kept. Please report this with the job's log.",
            )
            self._tell(JobLog(self.number, "error", traceback.format_exc()))
        finally:
            self._work.state = state
            try:
                self._tell(JobEnded(self.number, state, self.run_id, self._work.error or self._work.used_up))
            finally:
                self._ended.set()

    def _tell(self, event: JobEvent) -> None:
        if isinstance(event, JobProgressed):
            self.progress = event
        self._emit(event)

    def _call(self, action: Callable[[], None]) -> None:
        # The loop is closed when the runner is; then there is nothing left to steer.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(action)


class JobRunner:
    """Starts jobs and ends them; made by whoever opened the workspace, and closed before it.

    Runs that an earlier process left at work are marked as stopped.

    Args:
        workspace: The open workspace.
        emit: Called with every event, from the jobs' thread; it must not block.
    """

    def __init__(self, workspace: Workspace, emit: Emit) -> None:
        self.jobs: list[Job] = []
        self._workspace = workspace
        self._emit = emit
        self._thread = LoopThread("agents-jobs")
        self._closed = False
        stop_interrupted_runs(workspace)

    @property
    def running(self) -> Job | None:
        """The job that has not ended; None when all have."""
        return next((job for job in self.jobs if job.state not in ENDED), None)

    def start(self, job: JobRequest) -> Job:
        """Start a job; one at a time.

        Args:
            job: The request.

        Returns:
            The job at work. That its model is unknown, or another error of this kind, comes with its end.

        Raises:
            WorkbenchError: Another job is at work, or the workspace is a packet.
        """
        if self._closed:
            raise RuntimeError("the job runner is closed")
        refuse_packet(self._workspace, "Agents run")
        if (busy := self.running) is not None:
            raise WorkbenchError(
                "A job is running",
                f"Job {busy.number} is {busy.state}; one job works at a time.",
                "Stop it, or wait for its end.",
            )
        started = Job(len(self.jobs) + 1, job, self._workspace, self._emit, self._thread.loop)
        self.jobs.append(started)
        self._thread.submit(started.drive())
        return started

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
        for job in self.jobs:
            job.wait()
        self._thread.close()

    def __enter__(self) -> JobRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run_job(
    workspace: Workspace, settings: JobSettings, emit: Emit, check: Callable[[], object] = lambda: None
) -> JobReport:
    """Annotate and wait for the end, for a command.

    Ctrl-C stops the job and lets turns under way end; a second one cuts them off. Either way the report
    comes, with the state "stopped", and the same call goes on where this one stopped.

    Args:
        workspace: The open workspace.
        settings: The settings of the job.
        emit: Called with every event, from another thread.
        check: Called once the job has begun; raises `KeyboardInterrupt` where its end was asked for before,
            since what a signal raises while the workspace is opened can get lost.

    Returns:
        What the job came to; a job that gave up says why in `error`.

    Raises:
        WorkbenchError: The job could not begin: no such model or sandbox, no key.
    """
    with tuned_for_throughput(), JobRunner(workspace, emit) as runner:
        job = runner.start(JobRequest(settings, when_failing="end"))
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
                return job.result()
