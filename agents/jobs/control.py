"""Steers a work, and takes its progress, its log and what it keeps."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from agents.jobs.budget import Budget, Spending
from agents.jobs.events import (
    ENDED,
    JobEvent,
    JobLog,
    JobPaused,
    JobProgressed,
    JobResumed,
    JobState,
    Spent,
)
from agents.jobs.pause_gate import Halted, PauseGate
from store.formatting import format_duration

if TYPE_CHECKING:
    from uuid import UUID

    from agents.jobs.errors import BudgetReached
    from agents.jobs.limits import Limits
    from agents.jobs.work_progress import WorkProgress
    from store.errors import WorkbenchError
    from store.workspace.duckdb import Workspace

TELL_SECONDS = 0.1
"""Seconds between two events of progress."""
LINE = 2_000
"""Characters of a line of the log."""
KEEP_SECONDS = 1.0
"""Seconds between two writes of what a work keeps."""


class Control:
    """The steering of a work. It belongs to the jobs' loop, but for what says otherwise.

    Args:
        number: The job's number, for its events.
        workspace: The open workspace.
        emit: Called with every event, from any thread.
        limits: What works share.
        claim: Called with the run of the agents that the work is about to go on with, in the lane; refuses
            one that another job works on.
        kept: What the same work kept before.
        keep: Writes what it keeps, and how much is done; called from any thread.

    Attributes:
        error: Why it failed.
        used_up: The budget at which it paused or stopped; None while there is something left to spend.
        gate: Lets it wait while it is paused, and end.
        budget: Counts what it spends.
        run_id: The run of the agents; None until it is known, and for other works.
        result: What came of it, for those who wait.
        stop_seconds: How long turns under way may take to end once it is stopped.
        pauses: Whether it pauses after many failures and at the end of its budget, for somebody to look;
            otherwise it ends.
        changed: Called when it pauses, goes on or is to stop, with the new state.
        cut: Called to break off what is under way.
    """

    def __init__(
        self,
        number: int,
        workspace: Workspace,
        emit: Callable[[JobEvent], None],
        limits: Limits,
        *,
        claim: Callable[[UUID], None] = lambda _: None,
        kept: Mapping[str, Any] | None = None,
        keep: Callable[[Mapping[str, Any], tuple[int, int]], object] = lambda _kept, _done: None,
    ) -> None:
        self.number = number
        self.workspace = workspace
        self.tell = emit
        self.limits = limits
        self.claim = claim
        self.state: JobState = "starting"
        self.error: WorkbenchError | None = None
        self.used_up: BudgetReached | None = None
        self.gate = PauseGate()
        self.budget = Spending(Budget(), {})
        self.run_id: UUID | None = None
        self.result: Any = None
        self.pauses = True
        self.stop_seconds = math.inf
        self.changed: Callable[[JobState], None] = lambda _: None
        self.cut: Callable[[], None] = lambda: None
        self._kept = dict(kept or {})
        self._keep = keep
        self._step: WorkProgress | None = None
        self._told: WorkProgress | None = None
        self._began = self._step_began = monotonic()
        self._written = -math.inf

    # -- steering, in the jobs' loop --------------------------------------------------------------------

    def begun(self) -> None:
        """Say that it works now; it pauses at once where that was asked for before."""
        if self.state != "starting":
            return
        self.state = "running"
        if self.gate.paused:
            self.pause()

    def pause(self, reason: WorkbenchError | None = None) -> None:
        """Start no further turn; turns under way end, and are recorded."""
        if self.state not in ("starting", "running"):
            return
        self.gate.close()
        if self.state == "starting":
            return  # it pauses as soon as it has begun
        self.state = "paused"
        self.changed("paused")
        self.tell(JobPaused(self.number, reason))

    def resume(self, budget: Budget | None = None) -> None:
        """Go on after a pause.

        Args:
            budget: The budget from now on; None to leave that as it is.
        """
        if budget is not None:
            self.budget.budget = budget
        if self.state == "starting":
            self.gate.open()
        if self.state != "paused":
            return
        self.state = "running"
        self.used_up = None
        self.changed("running")
        self.tell(JobResumed(self.number))
        self.gate.open()

    def stop(self, seconds: float) -> None:
        """Start no further turn, and break off those that are still under way after so many seconds.

        A thread cannot be broken off: it is left behind, and ends where it reports its progress.
        """
        if self.state in ENDED:
            return
        self._stop()
        if seconds < math.inf:
            asyncio.get_running_loop().call_later(seconds, self._cut)

    def _cut(self) -> None:
        # What it calls may be another thing by then.
        self.cut()

    def _stop(self) -> None:
        self.state = "stopping"
        self.gate.stop()
        self.changed("stopping")

    def give_up(self, error: WorkbenchError) -> None:
        """Stop, since going on is of no use."""
        if self.error is None:
            self.error = error
            self.stop(self.stop_seconds)

    def end_of_budget(self, reached: BudgetReached) -> None:
        """Pause, or end where nobody can raise the budget; what is under way ends by itself."""
        self.used_up = reached
        if self.pauses:
            self.pause(reached)  # of several turns that find it so, the first
        elif self.state != "stopping":
            self._stop()

    async def paying(self) -> None:
        """Wait until it may go on and has something left to spend.

        Raises:
            Halted: It may not any more.
        """
        while True:
            if self.budget.unreported is not None:
                self.give_up(self.budget.unreported)
            await self.gate.passing()
            reached = self.budget.reached()
            if reached is None:
                return
            self.end_of_budget(reached)

    # -- what watches its requests (`agents.llm.request_watch.RequestWatch`) ------------------------------

    def may_begin(self) -> bool:
        """Tell whether the first request for a reply may be sent."""
        return self.gate.is_open and self.budget.unreported is None and self.may_send()

    def may_send(self) -> bool:
        """Tell whether a further request for a reply may be sent."""
        return self.budget.reached() is None

    def sent(self) -> None:
        """Count a request that leaves."""
        self.budget.sent()

    # -- what the work says, from any thread ------------------------------------------------------------

    def log(self, level: Literal["info", "warning", "error"], text: str) -> None:
        """Write a line of the log; what a thread says that was left behind is dropped."""
        if self.state not in ENDED:
            self.tell(JobLog(self.number, level, str(text)[:LINE]))

    def keep(self, values: Mapping[str, Any]) -> None:
        """Keep values, as JSON, from which the same work goes on after it was stopped or killed.

        They are written once a second at most, and when the work ends.

        Raises:
            Halted: The work was ended without this thread.
            WorkbenchError: It is too much, or no JSON.
        """
        if self.state in ENDED:
            raise Halted
        self._kept = dict(values)
        if monotonic() - self._written >= KEEP_SECONDS:
            self.write_kept()

    @property
    def kept(self) -> Mapping[str, Any]:
        """What it kept last, in an earlier job, too."""
        return self._kept

    def write_kept(self) -> None:
        """Write what is kept."""
        self._written = monotonic()
        self._keep(self._kept, self.done)

    def report(self, progress: WorkProgress) -> None:
        """Take note of the progress of a step, and wait while paused; in a thread beside the loop.

        Raises:
            Halted: It was stopped.
        """
        self.note(progress)
        at = monotonic()
        self.gate.pass_by()
        waited = monotonic() - at
        self._step_began += waited
        self._began += waited

    def note(self, progress: WorkProgress) -> None:
        """Take note of the progress of a step, and wait for nothing."""
        before, at = self._step, monotonic()
        begins = before is None or before.stage != progress.stage
        if begins:
            if before is not None and before.total:
                self.log("info", _ended(before, at - self._step_began))
            self._step_began = at
        self._step = progress
        whole = progress.done == progress.total
        if begins or (whole and self._told is not None and self._told.done != progress.done):
            self._told = progress
            self.tell_progress(progress)

    @property
    def done(self) -> tuple[int, int]:
        """The numbers of parts of the last step: done, and in all."""
        return (0, 0) if self._step is None else (self._step.done, self._step.total)

    def tell_last(self) -> None:
        """Emit the last progress, and log its step where all of it is done."""
        step = self._step
        if step is None:
            return
        if step is not self._told:
            self.tell_progress(step)
        if step.total and step.done == step.total:
            self.log("info", _ended(step, monotonic() - self._step_began))

    async def tell_as_it_gets_on(self) -> None:
        """Emit the progress that was reported since, until this is cancelled; in the jobs' loop."""
        while True:
            await asyncio.sleep(TELL_SECONDS)
            step = self._step
            if step is not None and step is not self._told:
                self._told = step
                self.tell_progress(step)

    def tell_progress(self, progress: WorkProgress) -> None:
        """Emit the progress of a step."""
        self.tell(
            JobProgressed(
                job=self.number,
                run_id=None,
                done=progress.done,
                failed=0,
                total=progress.total,
                seconds=monotonic() - self._began,
                per_minute=60 * (progress.per_second or 0.0),
                latest="",
                spent=Spent(self.budget.requests, self.budget.tokens, self.budget.money or None),
                labelled=0,
                stage=progress.stage,
                of_step=progress.seconds_left,
            )
        )


def _ended(step: WorkProgress, seconds: float) -> str:
    kept = f", {step.kept:,} of them kept from before" if step.kept else ""
    return f"{step.stage}: {step.done:,} in {format_duration(seconds)}{kept}"
