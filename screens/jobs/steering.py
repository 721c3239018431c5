"""The part of the jobs screen that reads the runs, and that the keys steer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast
from uuid import UUID

from textual import work

from agents.kinds import kinds_with_agents
from screens.commands import Command
from screens.covering import CoveredScreen
from screens.help import first_key
from screens.jobs.paced import Paced
from screens.widgets.text.sanitize import one_line
from store.errors import WorkbenchError
from store.ids import now
from store.queries.run_counts import RunCounts, run_counts
from store.queries.run_failures import (
    FailedTurns,
    FailureCause,
    ItemGroup,
    failed_turns,
    failure_causes,
    run_items,
)
from store.queries.run_list import ListedRun, listed_runs
from store.queries.run_stages import StageCounts, stage_counts
from store.queries.runs import kind_for_agents

if TYPE_CHECKING:
    from agents.account import Budget
    from agents.errors import BudgetReached
    from agents.jobs import Job
    from screens.app import WorkbenchApp

TOLD_SECONDS = 0.2
"""How long the jobs' own thread has to take note of a key."""

MOVE_SECONDS = 0.15
"""How long the cursor rests on a run before it is added up."""

TURNS_SHOWN = 200

Failures = tuple[tuple[FailureCause, ...], list[FailedTurns]]


class Steering(CoveredScreen):
    """Reads in threads, each part at its own pace, and hands the keys to the job.

    Attributes:
        runs: The runs, the one begun last first; None before they are read.
        failure: Why they could not be read.
        stages: What the roles of the run under the cursor did; None before that is added up, as the next.
        causes: What it failed on.
        failed_turns: Its failed turns, each message once.
        counts: All that it adds up to.
    """

    # What the other part of the screen gives to this one.
    _lay_out: Callable[[], None]
    _one_at_a_time: Callable[[], bool]

    def __init__(self) -> None:
        super().__init__()
        self.runs: Sequence[ListedRun] | None = None
        self.failure: Exception | None = None
        self._run_id: UUID | None = None
        self._at_once = False
        # Whether there are items on which agents can work; nobody knows before the runs are read.
        self._has_items = True
        self._forget()
        self._runs = Paced[None, tuple[ListedRun, ...]](self, self._read_runs, self._runs_read)
        self._stages = Paced(self, self._read_stages, self._stages_read)
        self._failures = Paced(self, self._read_failures, self._failures_read)
        self._counts = Paced(self, self._read_counts, self._counts_read)

    @property
    def workbench(self) -> WorkbenchApp:
        """The app, as what it is."""
        return cast("WorkbenchApp", self.app)

    # -- reading ----------------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Forget what belongs to the run under the cursor."""
        self.stages: tuple[StageCounts, ...] | None = None
        self.causes: tuple[FailureCause, ...] | None = None
        self.failed_turns: list[FailedTurns] | None = None
        self.counts: RunCounts | None = None

    @property
    def run_shown(self) -> ListedRun | None:
        """The run under the cursor: the one begun last before one has moved."""
        runs = self.runs or ()
        return next((each for each in runs if each.run.id == self._run_id), runs[0] if runs else None)

    @property
    def is_read(self) -> bool:
        """Whether everything about the run under the cursor has been read."""
        parts = (self.stages, self.causes, self.counts)
        return self.runs is not None and (not self.runs or None not in parts)

    def _read_soon(self, *, at_once: bool = False) -> None:
        """Read the runs and what the one under the cursor adds up to."""
        if not self.is_current:
            return
        self._runs.ask(None, at_once=at_once)
        self._read_parts(at_once=at_once)

    def _read_parts(self, *, at_once: bool = False) -> None:
        """Read the parts, the quickest first; each begins the next one."""
        shown = self.run_shown
        if shown is not None:
            self._at_once = self._at_once or at_once
            self._stages.ask(shown.run.id, at_once=at_once)

    def _read_runs(self, _: None) -> tuple[ListedRun, ...]:
        with self.workbench.context.workspace.reading() as connection:
            self._has_items = kind_for_agents(connection, kinds_with_agents()) is not None
            return listed_runs(connection)

    def _read_stages(self, run_id: UUID) -> tuple[StageCounts, ...]:
        with self.workbench.context.workspace.reading() as connection:
            stages = stage_counts(connection, run_id, now())
        return (StageCounts.together(stages),) if stages and self.workbench.context.settings.blind else stages

    def _read_failures(self, run_id: UUID) -> Failures:
        with self.workbench.context.workspace.reading() as connection:
            return failure_causes(connection, run_id), failed_turns(connection, run_id, TURNS_SHOWN)

    def _read_counts(self, run_id: UUID) -> RunCounts:
        with self.workbench.context.workspace.reading() as connection:
            return run_counts(connection, run_id)

    def _runs_read(self, _: None, runs: tuple[ListedRun, ...] | None, failure: WorkbenchError | None) -> None:
        before = self.run_shown
        self.failure = failure
        self.runs = self.runs if runs is None else runs
        if before is None:
            self._read_parts()
        self._lay_out()

    def _stages_read(
        self, run_id: UUID, stages: tuple[StageCounts, ...] | None, failure: WorkbenchError | None
    ) -> None:
        if self._take(run_id, failure):
            self.stages = self.stages if stages is None else stages
            self._failures.ask(run_id, at_once=self._at_once)
            self._lay_out()

    def _failures_read(self, run_id: UUID, found: Failures | None, failure: WorkbenchError | None) -> None:
        if self._take(run_id, failure) and found is not None:
            self.causes, self.failed_turns = found
            self._counts.ask(run_id, at_once=self._at_once)
            self._at_once = False
            self._lay_out()

    def _counts_read(self, run_id: UUID, counts: RunCounts | None, failure: WorkbenchError | None) -> None:
        if self._take(run_id, failure):
            self.counts = self.counts if counts is None else counts
            self._lay_out()

    def _take(self, run_id: UUID, failure: WorkbenchError | None) -> bool:
        """Return whether what was read is of the run under the cursor."""
        self.failure = failure or self.failure
        shown = self.run_shown
        return shown is not None and shown.run.id == run_id

    # -- keys -------------------------------------------------------------------------------------------

    def _key(self, verb: str) -> str:
        return first_key(self.workbench.context.settings, f"jobs.{verb}")

    def _problem(self) -> list[str]:
        """Return why no run can be started, nothing when one can."""
        context = self.workbench.context
        if context.plan.annotation is not None or self.workbench.running is not None:
            return []
        return [f"! No run can be started: {one_line(context.plan.problem, 400)}"]

    @property
    def _failed(self) -> int:
        return sum(cause.items for cause in self.causes or () if not cause.waits)

    def offers(self, command: Command) -> bool:
        """Offer pause and stop while a job runs, start and retry while none does and one can."""
        app, shown = self.workbench, self.run_shown
        job, startable = app.running, app.context.plan.annotation is not None
        # What a job is told belongs to its own run alone.
        here = job is not None and (shown is None or job.run_id in (None, shown.run.id))
        offered = {
            "jobs.pause": here and job is not None and job.state != "stopping",
            "jobs.stop": here,
            "jobs.start": job is None and startable and self._has_items,
            "jobs.retry": job is None and startable and self._failed > 0,
            "jobs.items": shown is not None,
            "jobs.part": shown is not None and self._one_at_a_time(),
        }
        return offered.get(command.id, True)

    def label_now(self, command: Command) -> str:
        """Say what the key that pauses does after a pause, and that the one that stops then cuts off."""
        job = self.workbench.running
        on = "more budget" if job is not None and job.used_up is not None else "go on"
        now = {("paused", "jobs.pause"): on, ("stopping", "jobs.stop"): "stop at once"}
        if command.id == "jobs.start" and self.workbench.jobs:
            return "go on" if self.workbench.jobs[-1].state in ("stopped", "failed") else command.label
        return now.get((job.state if job is not None else "", command.id), command.label)

    def _at_work(self) -> Job | None:
        """Return the job that works on the run under the cursor; say so when none does."""
        job, shown = self.workbench.running, self.run_shown
        if job is None:
            self.workbench.tell("No job runs", "There is nothing to pause or to stop.")
        elif shown is not None and job.run_id not in (None, shown.run.id):
            self.workbench.tell("Not this run", "The agents are at work on another run; go to it first.")
            return None
        return job

    def action_start(self) -> None:
        """Show what the configured run will take, and start it, or go on with it."""
        if self.workbench.running is not None:
            self.workbench.tell("A job is at work", "One runs at a time.")
        else:
            self.workbench.start_annotation(then=self._lay_out)

    def action_pause(self) -> None:
        """Let the agents wait, or go on."""
        job = self._at_work()
        if job is not None:
            if job.state == "stopping":
                self.workbench.tell("The job is stopping", "It cannot wait any more.")
            elif job.state == "paused" and job.used_up is not None:
                self._ask_for_more(job, job.used_up)
            elif job.state == "paused":
                job.resume()
            else:
                job.pause()

    def _ask_for_more(self, job: Job, used_up: BudgetReached) -> None:
        from screens.jobs.budget import BudgetScreen

        def give(budget: Budget | None) -> None:
            if budget is not None:
                job.resume(budget)

        self.app.push_screen(BudgetScreen(job.budget, used_up, job.progress), give)

    def action_stop(self) -> None:
        """Stop the run; a second time, cut off the turns under way."""
        job = self._at_work()
        if job is not None:
            job.stop(0.0 if job.state == "stopping" else None)
            # The jobs' own thread takes note of it a moment later, and no event tells so.
            self.set_timer(TOLD_SECONDS, self._lay_out)

    def action_retry(self) -> None:
        """Let the agents try again what the run under the cursor failed on."""
        shown = self.run_shown
        if self.workbench.running is not None:
            self.workbench.tell("A job is at work", "What failed can be tried again when it has ended.")
        elif shown is None or (self.causes is not None and not self._failed):
            self.workbench.tell("Nothing failed", "There is nothing to try again.")
        else:
            self._retry(shown.run.id)

    @work(thread=True, exclusive=True, group="retry")
    def _retry(self, run_id: UUID) -> None:
        try:
            items = run_items(self.workbench.context.workspace, run_id, ItemGroup())
        except WorkbenchError as error:
            self.call_later(self.workbench.report_error, error)
        else:
            self.call_later(self._try_again, run_id, items.tolist())

    def _try_again(self, run_id: UUID, item_ids: list[int]) -> None:
        if self.workbench.start_annotation((run_id, item_ids)):
            self._lay_out()

    def action_items(self) -> None:
        """List what the run under the cursor failed on, and what it finished."""
        from screens.jobs.outcomes import OutcomesScreen

        shown = self.run_shown
        if shown is None:
            self.workbench.tell("No run", "There are no items of a run to list.")
        else:
            self.app.push_screen(OutcomesScreen(shown.run))

    def action_move(self, lines: int) -> None:
        """Go to another run."""
        if not self.runs:
            return
        shown = self.run_shown
        at = self.runs.index(shown) if shown is not None else 0
        wanted = self.runs[min(max(0, at + lines), len(self.runs) - 1)]
        if wanted is not shown:
            self._run_id = wanted.run.id
            self._forget()
            self.set_timer(MOVE_SECONDS, self._read_parts)
            self._lay_out()

    def action_back(self) -> None:
        """Go back to where one was."""
        self.app.pop_screen()
