"""A run of the agents: opens models and sandbox, and works on item after item with the pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from agents.jobs.budget import Spending
from agents.jobs.events import (
    ItemEnded,
    JobFormWeakened,
    JobLog,
    JobStarted,
    JobState,
    JobWaits,
)
from agents.jobs.failure_policy import FailurePolicy
from agents.jobs.job_progress import JobProgress
from agents.jobs.limits import held
from agents.jobs.pause_gate import Halted, IdleWorkers
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
    from sqlalchemy import Connection

    from agents.jobs.control import Control
    from agents.jobs.outcome import Outcome
    from agents.pipelines.spec import Configuration, Pipeline, PipelineFigures
    from agents.sandbox.protocol import Sandbox
    from agents.settings import JobSettings
    from store.queries.run_figures import RunFigures

# So many items for each that is worked on may still have to be written.
_WRITTEN_BEHIND = 4


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A run of the agents over items, as a work (`agents.jobs.work.Work`).

    Attributes:
        when_failing: After many failures in a row, and at the end of the budget: pause, for somebody to
            look, or end.
    """

    settings: JobSettings
    when_failing: Literal["pause", "end"] = "pause"

    @property
    def kind(self) -> str:
        """The kind of the items."""
        return self.settings.kind

    @property
    def name(self) -> str:
        """The name of the configuration; the run has one of its own."""
        return self.settings.asked or self.settings.agents

    def description(self) -> Mapping[str, Any] | None:
        """Return nothing: the run has a record of its own."""
        return None

    async def run(self, control: Control) -> str:
        """Go on with the run of these settings, or begin it; its report is the result.

        Raises:
            Halted: It was stopped, or its budget is used up.
            WorkbenchError: It could not begin: no such model or sandbox, no key, a name that is taken.
        """
        control.pauses = self.when_failing == "pause"
        control.stop_seconds = self.settings.stop_seconds
        control.budget = Spending(self.settings.budget, self.settings.models.prices)
        if await PipelineJob(self.settings, control).run() == "stopped":
            raise Halted
        return ""


class PipelineJob:
    """Works through items in one asyncio loop; all its methods belong to that loop."""

    def __init__(self, settings: JobSettings, control: Control) -> None:
        self._control = control
        self._number = control.number
        self._settings = settings
        self._workspace = control.workspace
        self._emit = control.tell
        self._pause_gate = control.gate
        self._spending = control.budget
        self._record: RunRecord | None = None
        self._idle: IdleWorkers | None = None
        self._reply_cache = ReplyCache(control, fresh=not settings.cache)
        self._progress: JobProgress | None = None
        self._workers: list[asyncio.Task[None]] = []
        self._notes: set[asyncio.Task[None]] = set()
        self._failure_policy = FailurePolicy(settings.failures_in_a_row)
        control.changed = self._changed
        control.cut = self._cut

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
        if part.check is not None:
            await asyncio.to_thread(self._check, part.check, configuration)
        models = RoleModels.open(settings.role_choices(), settings.models)
        sandbox: Sandbox | None = None
        try:
            self._spending.require_prices(models.names)
            if configuration.executes:
                sandbox = await choose_sandbox(settings.sandboxes, settings.sandbox, settings.allowed)
                self._warn_of(sandbox)
            where = "" if sandbox is None else sandbox.name
            record = self._record = await self._open_run(configuration, models)
            self._control.run_id = record.id
            before = await self._balance(record)
            queue = WorkQueue(self._workspace, record, part, settings)
            total, ruled = await queue.count()
            await record.set_state("running", total=total + ruled)
            progress = self._progress = JobProgress(self._number, record.id, total, before, self._emit)
            self._emit(JobStarted(self._number, record.id, record.run.name, models.name, where, total))
            self._control.begun()
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
        self._control.result = JobReport(
            run_id=record.id,
            run_name=record.run.name,
            kind=settings.kind,
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
            error=self._control.error,
            used_up=self._control.used_up,
        )
        return state

    def _changed(self, state: JobState) -> None:
        """Follow the state of the job."""
        if state == "paused":
            if self._progress is not None:
                self._progress.pause()
            self._note("paused")
            return
        if state == "running":
            self._failure_policy.stopped()
            if self._progress is not None:
                self._progress.resume()
            self._note("running")
        # Those who wait find out what is new at the gate.
        self._call_back()

    def _call_back(self) -> None:
        """Wake the workers that wait since the budget of items is used up."""
        if self._idle is not None:
            self._idle.open()

    def _cut(self) -> None:
        for worker in self._workers:
            worker.cancel()

    async def _open_run(self, configuration: Configuration, models: RoleModels) -> RunRecord:
        return await RunRecord.open(
            self._workspace,
            kind=self._settings.kind,
            pipeline=configuration.name_of_runs,
            model=models.name,
            configuration=run_configuration(configuration, models, self._settings),
            own_prompts=configuration.own_prompts,
            fullness=agents_part(self._settings.kind).fullness(self._settings.agents),
            only=self._settings.run_id,
            begin=not self._settings.retry_failed,
            claim=self._control.claim,
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
        executing = partial(held, self._control.limits.sandboxes, self._pause_gate)

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
                    executing=executing,
                    on_step=self._count_step,
                )
                try:
                    await self._begin_item(room)
                except Halted:
                    return
                outcomes: Sequence[Outcome] = ()
                failure: WorkbenchError | None = None
                try:
                    outcomes = await pipeline.run(work.item, recorder)
                    await recorder.conclude(outcomes)
                except Halted:
                    self._spending.release_item()
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
        room = self._idle = IdleWorkers(count, self._end_of_items)
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
            self._spending.release_item()
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

    async def _begin_item(self, room: IdleWorkers) -> None:
        """Wait until a further item may be begun; of those at work, one that gets no label makes room.

        Raises:
            Halted: None may be begun any more.
        """
        await self._pause_gate.passing()
        while self._spending.items_reached() is not None:
            await room.wait()
            await self._pause_gate.passing()
        self._spending.begin_item()

    def _end_of_items(self) -> None:
        """The budget of items is used up: all that were begun have ended, and others wait."""
        reached = self._spending.items_reached()
        if reached is not None and self._control.state == "running":
            self._control.end_of_budget(reached)

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
            self._control.give_up(self._spending.unreported)
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
            self._control.give_up(failure)
            return
        self._failure_policy.count()
        reason = self._failure_policy.too_many(failure) if self._control.state == "running" else None
        if reason is not None and self._control.pauses:
            self._control.pause(reason)
        elif reason is not None:
            self._control.give_up(reason)

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
        control = self._control
        if control.used_up is not None and control.used_up.what == "items":
            # Items that were at work then may have got no label since.
            control.used_up = self._spending.items_reached()
        if control.error is not None:
            return "failed"
        cut_short = (
            self._pause_gate.stopping or control.used_up is not None
        ) and progress.ended_items < progress.total
        return "stopped" if cut_short else "done"

    def _note(self, state: str) -> None:
        """Write the run's state without waiting for it; such writes keep their order."""
        if self._record is not None:
            self._soon(self._record.set_state(state))

    def _soon(self, writing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(writing)
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)

    def _check(
        self, check: Callable[[Connection, Configuration], object], configuration: Configuration
    ) -> None:
        with self._workspace.reading() as connection:
            check(connection, configuration)

    def _counts(self, record: RunRecord) -> RunFigures:
        with self._workspace.reading() as connection:
            return run_figures(connection, record.id)

    def _figures(self, record: RunRecord) -> tuple[RunFigures, PipelineFigures]:
        with self._workspace.reading() as connection:
            counts = run_figures(connection, record.id)
            return counts, pipeline_counts(connection, record.run, counts)
