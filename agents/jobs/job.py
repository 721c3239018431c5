"""A job: opens models and sandbox, runs the pipeline on item after item, and ends, pauses or gives up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Literal

from agents.jobs.budget import Budget, Spending
from agents.jobs.errors import BudgetReached
from agents.jobs.events import (
    ItemEnded,
    JobEvent,
    JobFormWeakened,
    JobLog,
    JobPaused,
    JobResumed,
    JobStarted,
    JobState,
    JobWaits,
)
from agents.jobs.failure_policy import FailurePolicy
from agents.jobs.job_progress import JobProgress
from agents.jobs.pause_gate import Halted, IdleWorkers, PauseGate
from agents.jobs.reply_cache import ReplyCache
from agents.jobs.report import JobReport
from agents.jobs.role_models import RoleModels
from agents.jobs.run_configuration import run_configuration
from agents.jobs.run_record import RunRecord
from agents.jobs.step_recorder import StepRecorder
from agents.jobs.work_queue import WorkQueue
from agents.llm.notices import Notice, WeakerForm, report_notices
from agents.pipelines.registry import agents_part, pipeline_counts
from agents.sandbox.errors import NeedsSandbox
from agents.sandbox.registry import RESTRICTED, choose_sandbox
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.queries.run_figures import run_figures

if TYPE_CHECKING:
    from agents.jobs.outcome import Outcome
    from agents.pipelines.spec import Configuration, Pipeline, PipelineFigures
    from agents.sandbox.protocol import Sandbox
    from agents.settings import JobSettings
    from store.queries.run_figures import RunFigures
    from store.workspace.duckdb import Workspace

# So many items for each that is worked on may still have to be written.
_WRITTEN_BEHIND = 4


class PipelineJob:
    """Works through items in one asyncio loop; all its methods belong to that loop.

    Args:
        number: The job's number, for its events.
        settings: The settings of the job.
        workspace: The open workspace.
        emit: Called with every event.
        when_failing: After many failures in a row: pause, or end the job.
    """

    def __init__(
        self,
        number: int,
        settings: JobSettings,
        workspace: Workspace,
        emit: Callable[[JobEvent], None],
        *,
        when_failing: Literal["pause", "end"] = "pause",
    ) -> None:
        self.state: JobState = "starting"
        self.error: WorkbenchError | None = None
        self.record: RunRecord | None = None
        self.report: JobReport | None = None
        self._number = number
        self._settings = settings
        self._workspace = workspace
        self._emit = emit
        self._when_failing = when_failing
        self._pause_gate = PauseGate()
        self._idle: IdleWorkers | None = None
        self._spending = Spending(settings.budget, settings.models.prices)
        self._reply_cache = ReplyCache(workspace, self._spending, fresh=not settings.cache)
        self.used_up: BudgetReached | None = None
        self._progress: JobProgress | None = None
        self._workers: list[asyncio.Task[None]] = []
        self._notes: set[asyncio.Task[None]] = set()
        self._failure_policy = FailurePolicy(settings.failures_in_a_row)

    async def run(self) -> Literal["done", "stopped", "failed"]:
        """Do the work.

        Returns:
            How it ended; the run's row says the same.

        Raises:
            WorkbenchError: The job could not begin: no such model or sandbox, no key, a name that is taken.
        """
        settings = self._settings
        part = agents_part(settings.kind)
        configuration = settings.configuration()
        models = RoleModels.open(settings.role_choices(), settings.models)
        sandbox: Sandbox | None = None
        try:
            self._spending.require_prices(models.names)
            if configuration.executes:
                sandbox = await choose_sandbox(settings.sandboxes, settings.sandbox, settings.allowed)
                self._warn_of(sandbox)
            where = "" if sandbox is None else sandbox.name
            record = self.record = await self._open_run(configuration, models)
            before = await self._balance(record)
            queue = WorkQueue(self._workspace, record, part, settings)
            total, ruled = await queue.count()
            await record.set_state("running", total=total + ruled)
            progress = self._progress = JobProgress(self._number, record.id, total, before, self._emit)
            self._emit(JobStarted(self._number, record.id, record.run.name, models.name, where, total, ruled))
            self._began()
            if sandbox is not None:
                await sandbox.open(min(settings.concurrency, max(total, 1)))
            pipeline = part.make_pipeline(configuration, sandbox, settings.sandboxes)
            with report_notices(self._service_noted):
                await self._work(queue, pipeline, record, models, progress)
        finally:
            try:
                await models.close()
            finally:
                if sandbox is not None:
                    await sandbox.close()
        state = self._outcome(progress)
        await asyncio.gather(*self._notes)
        await record.set_state(state)
        progress.emit()
        counts, pipeline_figures = await asyncio.to_thread(self._figures, record)
        self.report = JobReport(
            run_id=record.id,
            run_name=record.run.name,
            configuration=settings.asked or settings.agents,
            model=models.name,
            sandbox=where,
            state=state,
            done=progress.done,
            failed=progress.failed,
            waiting=progress.waiting,
            counts=counts,
            pipeline=pipeline_figures,
            seconds=progress.seconds,
            error=self.error,
            used_up=self.used_up,
        )
        return state

    @property
    def budget(self) -> Budget:
        """The budget of the run."""
        return self._spending.budget

    def pause(self, reason: WorkbenchError | None = None) -> None:
        """Start no further turn; turns under way end, and are recorded."""
        if self.state not in ("starting", "running"):
            return
        self._pause_gate.close()
        if self.state == "starting":
            return  # it pauses as soon as it has begun
        self.state = "paused"
        if self._progress is not None:
            self._progress.pause()
        self._note("paused")
        self._emit(JobPaused(self._number, reason))

    def resume(self, budget: Budget | None = None) -> None:
        """Go on after a pause.

        Args:
            budget: The budget of the run from now on; None to leave that as it is.
        """
        if budget is not None:
            self._spending.budget = budget
        if self.state == "starting":
            self._pause_gate.open()
        if self.state != "paused":
            return
        self.state = "running"
        self.used_up = None
        self._failure_policy.stopped()
        if self._progress is not None:
            self._progress.resume()
        self._note("running")
        self._emit(JobResumed(self._number))
        self._pause_gate.open()
        self._call_back()

    def stop(self, seconds: float) -> None:
        """Start no further turn, and cancel those that are still under way after so many seconds."""
        if self.state in ("done", "stopped", "failed"):
            return
        self.state = "stopping"
        self._pause_gate.stop()
        self._call_back()
        asyncio.get_running_loop().call_later(seconds, self._cut)

    def _began(self) -> None:
        if self.state != "starting":
            return
        self.state = "running"
        if self._pause_gate.paused:
            self.pause()

    def _call_back(self) -> None:
        """Wake the workers that wait since the budget of pairs is used up."""
        if self._idle is not None:
            self._idle.open()

    def _cut(self) -> None:
        for worker in self._workers:
            worker.cancel()

    async def _open_run(self, configuration: Configuration, models: RoleModels) -> RunRecord:
        return await RunRecord.open(
            self._workspace,
            kind=self._settings.kind,
            pipeline=configuration.pipeline,
            model=models.name,
            configuration=run_configuration(configuration, models, self._settings),
            own_prompts=configuration.own_prompts,
            fullness=agents_part(self._settings.kind).fullness(self._settings.agents),
            only=self._settings.run_id,
            begin=not self._settings.retry_failed,
        )

    async def _work(
        self,
        queue: WorkQueue,
        pipeline: Pipeline,
        record: RunRecord,
        models: RoleModels,
        progress: JobProgress,
    ) -> None:
        """Run the workers to their end; the first bug in one of them ends all and is raised."""

        async def one_after_another() -> None:
            try:
                await annotate_all()
            finally:
                room.leave()

        async def annotate_all() -> None:
            while (work := await queue.next()) is not None:
                recorder = StepRecorder(
                    record,
                    work.item.item_id,
                    work.item.external_id,
                    work.earlier,
                    models=models,
                    settings=self._settings.models,
                    replies=self._reply_cache,
                    passing=self._pause_gate.passing,
                    paying=self._paying,
                    on_step=self._count_step,
                )
                try:
                    await self._begin_pair(room)
                except Halted:
                    return
                outcomes: Sequence[Outcome] = ()
                failure: WorkbenchError | None = None
                try:
                    outcomes = await pipeline.run(work.item, recorder)
                    await recorder.conclude(outcomes)
                except Halted:
                    self._spending.release_pair()
                    return
                except WorkbenchError as error:
                    outcomes, failure = (), error
                event = ItemEnded(
                    self._number,
                    record.id,
                    work.item.item_id,
                    getattr(work.item, "shown_id", work.item.external_id),
                    tuple(outcomes),
                    failure,
                )
                ending = asyncio.create_task(self._end(event, recorder, progress))
                endings.add(ending)
                ending.add_done_callback(ended)
                if failure is not None or len(endings) > _WRITTEN_BEHIND * count:
                    await asyncio.wait({ending})

        def ended(task: asyncio.Task[None]) -> None:
            if task.exception() is None:
                endings.discard(task)
            else:
                self._cut()

        count = min(self._settings.concurrency, max(progress.total, 1))
        room = self._idle = IdleWorkers(count, self._end_of_pairs)
        endings: set[asyncio.Task[None]] = set()
        self._workers = [asyncio.create_task(one_after_another()) for _ in range(count)]
        done, _ = await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
        if any(not worker.cancelled() and worker.exception() for worker in done):
            self._cut()
        await asyncio.wait(self._workers)
        if endings:
            await asyncio.wait(endings)
        await record.written()
        tasks = (*self._workers, *endings)
        bugs = [task.exception() for task in tasks if not task.cancelled()]
        for bug in bugs:
            if bug is not None:
                raise bug

    async def _end(self, event: ItemEnded, recorder: StepRecorder, progress: JobProgress) -> None:
        """Count an item when all of it is on disk."""
        await recorder.written()
        if event.failure is not None:
            self._spending.release_pair()
            self._call_back()
        self._item_ended(event, progress)

    async def _balance(self, record: RunRecord) -> RunFigures:
        """Add the spending of the run's earlier jobs, and return their figures."""
        counts = await asyncio.to_thread(self._counts, record)
        self._spending.begin(counts)
        if self._settings.budget.money is not None and counts.unpriced:
            self._emit(
                JobLog(
                    self._number,
                    "warning",
                    f"What {pluralize(counts.unpriced, 'step')} of this run cost is not known: the budget in "
                    "money does not count them.",
                )
            )
        return counts

    async def _begin_pair(self, room: IdleWorkers) -> None:
        """Wait until a further pair may be begun; of those at work, one that gets no label makes room.

        Raises:
            Halted: None may be begun any more.
        """
        await self._pause_gate.passing()
        while self._spending.pairs_reached() is not None:
            await room.wait()
            await self._pause_gate.passing()
        self._spending.begin_pair()

    def _end_of_pairs(self) -> None:
        """The budget of pairs is used up: all that were begun have ended, and others wait."""
        reached = self._spending.pairs_reached()
        if reached is not None and self.state == "running":
            self._end_of_budget(reached)

    async def _paying(self) -> None:
        """Wait until the job may go on and has something left to spend.

        Raises:
            Halted: It may not any more.
        """
        while True:
            if self._spending.unreported is not None:
                self._give_up(self._spending.unreported)
            await self._pause_gate.passing()
            reached = self._spending.reached()
            if reached is None:
                return
            self._end_of_budget(reached)

    def _end_of_budget(self, reached: BudgetReached) -> None:
        """Pause, or end where nobody can raise the budget; what is under way ends by itself."""
        self.used_up = reached
        if self._when_failing == "pause":
            self.pause(reached)  # of several turns that find it so, the first
        elif self.state != "stopping":
            self.state = "stopping"
            self._pause_gate.stop()
            self._call_back()

    def _service_noted(self, notice: Notice) -> None:
        if isinstance(notice, WeakerForm):
            self._emit(JobFormWeakened(self._number, f"{notice.model} is asked for {notice.used}"))
            self._emit(JobLog(self._number, "warning", notice.text))
            return
        self._emit(JobWaits(self._number, notice.until))
        if not notice.longer:
            until = f"{notice.until.astimezone():%H:%M:%S}"
            text = f"The service's limits are used up: it is asked again at {until}."
            self._emit(JobLog(self._number, "warning", text))

    def _count_step(self, step: Any) -> None:
        if self._spending.unreported is not None:
            self._give_up(self._spending.unreported)
        if step.outcome == "ok":
            self._failure_policy.answered()
        if self._progress is not None:
            self._progress.step(step)

    def _item_ended(self, event: ItemEnded, progress: JobProgress) -> None:
        progress.ended(event)
        self._emit(event)
        failure = event.failure
        if failure is None:
            self._failure_policy.stopped()
            return
        if isinstance(failure, NeedsSandbox):
            return  # the item waits; screening goes on without a sandbox, and there was one warning
        self._emit(JobLog(self._number, "warning", f"{event.shown_id}: {failure}"))
        if self._failure_policy.affects_all_items(failure, progress.total):
            self._give_up(failure)
            return
        self._failure_policy.count()
        reason = self._failure_policy.too_many(failure) if self.state == "running" else None
        if reason is not None and self._when_failing == "pause":
            self.pause(reason)
        elif reason is not None:
            self._give_up(reason)

    def _give_up(self, error: WorkbenchError) -> None:
        if self.error is None:
            self.error = error
            self.stop(self._settings.stop_seconds)

    def _warn_of(self, sandbox: Sandbox) -> None:
        if self._settings.sandbox is not None or sandbox.name != RESTRICTED:
            return
        self._emit(
            JobLog(
                self._number,
                "warning",
                "No isolating sandbox works here: only the shipped sample programs are run, none of them is "
                "repaired, and other unclear items wait. See: workbench sandbox check",
            )
        )

    def _outcome(self, progress: JobProgress) -> Literal["done", "stopped", "failed"]:
        if self.used_up is not None and self.used_up.what == "pairs":
            # Pairs that were at work then may have got no label since.
            self.used_up = self._spending.pairs_reached()
        if self.error is not None:
            return "failed"
        cut_short = (
            self._pause_gate.stopping or self.used_up is not None
        ) and progress.ended_items < progress.total
        return "stopped" if cut_short else "done"

    def _note(self, state: str) -> None:
        """Write the run's state without waiting for it; such writes keep their order."""
        if self.record is not None:
            self._soon(self.record.set_state(state))

    def _soon(self, writing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(writing)
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)

    def _counts(self, record: RunRecord) -> RunFigures:
        with self._workspace.reading() as connection:
            return run_figures(connection, record.id)

    def _figures(self, record: RunRecord) -> tuple[RunFigures, PipelineFigures]:
        with self._workspace.reading() as connection:
            counts = run_figures(connection, record.id)
            return counts, pipeline_counts(connection, record.run, counts)
