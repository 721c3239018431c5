"""One annotation job at work: opens model and sandbox, works through the items, knows when to give up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal

from agents.account import Account, Budget
from agents.errors import BudgetReached
from agents.events import (
    ItemAnnotated,
    JobEvent,
    JobLog,
    JobPaused,
    JobResumed,
    JobStarted,
    JobState,
    JobWaits,
)
from agents.failing import Failing
from agents.feed import Feed
from agents.gate import Gate, Halted, WaitingRoom
from agents.kinds import agents_part
from agents.llm.pacing import Pause, hearing
from agents.progress import Progress
from agents.records import RunRecord
from agents.replies import Replies
from agents.report import AnnotationReport
from agents.role_models import RoleModels
from agents.run_configuration import run_configuration
from agents.sandbox.errors import NeedsSandbox
from agents.sandbox.registry import RESTRICTED, choose_sandbox
from agents.turns import Turns
from store.counted import counted
from store.errors import WorkbenchError
from store.queries.run_counts import run_counts

if TYPE_CHECKING:
    from agents.kinds import Annotation, Annotator, Configuration, WorkItem
    from agents.sandbox.protocol import Sandbox
    from agents.settings import AnnotationSettings
    from store.queries.run_counts import RunCounts
    from store.workspace import Workspace

# So many items for each that is worked on may still have to be written.
_WRITTEN_BEHIND = 4


class AnnotationWork:
    """Works through items in one asyncio loop; all its methods belong to that loop.

    Args:
        number: The job's number, for its events.
        settings: What it is told.
        workspace: The open workspace.
        emit: Told of every event.
        when_failing: What comes after many failures in a row: a pause for somebody to look, or the end.
    """

    def __init__(
        self,
        number: int,
        settings: AnnotationSettings,
        workspace: Workspace,
        emit: Callable[[JobEvent], None],
        *,
        when_failing: Literal["pause", "end"] = "pause",
    ) -> None:
        self.state: JobState = "starting"
        self.error: WorkbenchError | None = None
        self.record: RunRecord | None = None
        self.report: AnnotationReport | None = None
        self._number = number
        self._settings = settings
        self._workspace = workspace
        self._emit = emit
        self._when_failing = when_failing
        self._gate = Gate()
        self._room: WaitingRoom | None = None
        self._account = Account(settings.budget, settings.models.prices)
        self._replies = Replies(workspace, self._account, fresh=not settings.cache)
        self.used_up: BudgetReached | None = None
        self._progress: Progress | None = None
        self._workers: list[asyncio.Task[None]] = []
        self._notes: set[asyncio.Task[None]] = set()
        self._failing = Failing(settings.failures_in_a_row)

    async def run(self) -> Literal["done", "stopped", "failed"]:
        """Do the work.

        Returns:
            How it ended; the run's row says the same.

        Raises:
            WorkbenchError: The job could not begin: no such model or sandbox, no key, a name that is taken.
        """
        settings = self._settings
        part = agents_part(settings.kind)
        configuration = part.configuration(settings.agents)
        models = RoleModels.open(settings, configuration.roles(repairs=settings.sandboxes.repairs))
        sandbox: Sandbox | None = None
        try:
            self._account.require_prices(models.names)
            if configuration.executes:
                sandbox = await choose_sandbox(settings.sandboxes, settings.sandbox, settings.allowed)
                self._warn_of(sandbox)
            where = "" if sandbox is None else sandbox.name
            record = self.record = await self._open_run(configuration, models)
            before = await self._balance(record)
            feed = Feed(self._workspace, record, part, settings)
            total, ruled = await feed.count()
            await record.set_state("running", total=total + ruled)
            progress = self._progress = Progress(self._number, record.id, total, before, self._emit)
            self._emit(JobStarted(self._number, record.id, record.run.name, models.name, where, total, ruled))
            self._began()
            if sandbox is not None:
                await sandbox.open(min(settings.concurrency, max(total, 1)))
            annotator = part.make_annotator(configuration, sandbox, settings.sandboxes)
            with hearing(self._service_waits):
                await self._work(feed, annotator, record, models, progress)
        finally:
            try:
                await models.close()
            finally:
                if sandbox is not None:
                    await sandbox.close()
        state = self._outcome(progress)
        await asyncio.gather(*self._notes)
        await record.set_state(state)
        progress.tell()
        self.report = AnnotationReport(
            run_id=record.id,
            run_name=record.run.name,
            configuration=settings.asked or settings.agents,
            model=models.name,
            sandbox=where,
            state=state,
            done=progress.done,
            failed=progress.failed,
            waiting=progress.waiting,
            counts=await asyncio.to_thread(self._counts, record),
            seconds=progress.seconds,
            error=self.error,
            used_up=self.used_up,
        )
        return state

    @property
    def budget(self) -> Budget:
        """What the run may spend."""
        return self._account.budget

    def pause(self, reason: WorkbenchError | None = None) -> None:
        """Take up no further turn; turns under way end, and are recorded."""
        if self.state not in ("starting", "running"):
            return
        self._gate.close()
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
            budget: What the run may spend from now on; None to leave that as it is.
        """
        if budget is not None:
            self._account.budget = budget
        if self.state == "starting":
            self._gate.open()
        if self.state != "paused":
            return
        self.state = "running"
        self.used_up = None
        self._failing.stopped()
        if self._progress is not None:
            self._progress.resume()
        self._note("running")
        self._emit(JobResumed(self._number))
        self._gate.open()
        self._call_back()

    def stop(self, seconds: float) -> None:
        """Begin no further turn, and cut off those that are still under way after so many seconds."""
        if self.state in ("done", "stopped", "failed"):
            return
        self.state = "stopping"
        self._gate.stop()
        self._call_back()
        asyncio.get_running_loop().call_later(seconds, self._cut)

    def _began(self) -> None:
        if self.state != "starting":
            return
        self.state = "running"
        if self._gate.paused:
            self.pause()

    def _call_back(self) -> None:
        """Let those look again who found the budget of pairs used up."""
        if self._room is not None:
            self._room.open()

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
            only=self._settings.run_id,
            begin=not self._settings.retry_failed,
        )

    async def _work(
        self, feed: Feed, annotator: Annotator, record: RunRecord, models: RoleModels, progress: Progress
    ) -> None:
        """Run the workers to their end; the first bug in one of them ends all and is raised."""

        async def one_after_another() -> None:
            try:
                await annotate_all()
            finally:
                room.leave()

        async def annotate_all() -> None:
            while (work := await feed.next()) is not None:
                turns = Turns(
                    record,
                    work.item,
                    work.earlier,
                    models=models,
                    settings=self._settings.models,
                    replies=self._replies,
                    passing=self._gate.passing,
                    paying=self._paying,
                    on_step=self._count_step,
                )
                try:
                    await self._begin_pair(room)
                except Halted:
                    return
                try:
                    annotation = await annotator.annotate(work.item, turns)
                except Halted:
                    self._account.give_pair_back()
                    return
                ending = asyncio.create_task(self._end(work.item, annotation, turns, record, progress))
                endings.add(ending)
                ending.add_done_callback(ended)
                if annotation.verdict is None or len(endings) > _WRITTEN_BEHIND * count:
                    await asyncio.wait({ending})

        def ended(task: asyncio.Task[None]) -> None:
            if task.exception() is None:
                endings.discard(task)
            else:
                self._cut()

        count = min(self._settings.concurrency, max(progress.total, 1))
        room = self._room = WaitingRoom(count, self._end_of_pairs)
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

    async def _end(
        self, item: WorkItem, annotation: Annotation, turns: Turns, record: RunRecord, progress: Progress
    ) -> None:
        """Count an item when all of it is on disk."""
        await turns.written()
        if annotation.verdict is None:
            self._account.give_pair_back()
            self._call_back()
        self._item_ended(item, annotation, record, progress)

    async def _balance(self, record: RunRecord) -> RunCounts:
        """Begin where the run's earlier jobs stopped spending, and return what they came to."""
        counts = await asyncio.to_thread(self._counts, record)
        self._account.begin(counts)
        if self._settings.budget.money is not None and counts.unpriced:
            self._emit(
                JobLog(
                    self._number,
                    "warning",
                    f"What {counted(counts.unpriced, 'step')} of this run cost is not known: the budget in "
                    "money does not count them.",
                )
            )
        return counts

    async def _begin_pair(self, room: WaitingRoom) -> None:
        """Wait until a further pair may be begun; of those at work, one that gets no label makes room.

        Raises:
            Halted: None may be begun any more.
        """
        await self._gate.passing()
        while self._account.pairs_reached() is not None:
            await room.wait()
            await self._gate.passing()
        self._account.begin_pair()

    def _end_of_pairs(self) -> None:
        """The budget of pairs is used up: all that were begun have ended, and others wait."""
        reached = self._account.pairs_reached()
        if reached is not None and self.state == "running":
            self._end_of_budget(reached)

    async def _paying(self) -> None:
        """Wait until the job may go on and has something left to spend.

        Raises:
            Halted: It may not any more.
        """
        while True:
            if self._account.untold is not None:
                self._give_up(self._account.untold)
            await self._gate.passing()
            reached = self._account.reached()
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
            self._gate.stop()
            self._call_back()

    def _service_waits(self, pause: Pause) -> None:
        self._emit(JobWaits(self._number, pause.until))
        if not pause.longer:
            said = (
                f"The service's limits are used up: it is asked again at {pause.until.astimezone():%H:%M:%S}."
            )
            self._emit(JobLog(self._number, "warning", said))

    def _count_step(self, step: Any) -> None:
        if self._account.untold is not None:
            self._give_up(self._account.untold)
        if step.outcome == "ok":
            self._failing.answered()
        if self._progress is not None:
            self._progress.step(step)

    def _item_ended(
        self, item: WorkItem, annotation: Annotation, record: RunRecord, progress: Progress
    ) -> None:
        verdict, failure = annotation.verdict, annotation.failure
        progress.ended(item.external_id, annotation)
        self._emit(
            ItemAnnotated(
                self._number,
                record.id,
                item.item_id,
                item.external_id,
                None if verdict is None else verdict.value,
                "" if verdict is None else verdict.path,
                failure,
            )
        )
        if failure is None:
            self._failing.stopped()
            return
        if isinstance(failure, NeedsSandbox):
            return  # the item waits; screening goes on without a sandbox, and one warning told of it
        self._emit(JobLog(self._number, "warning", f"{item.external_id}: {failure}"))
        if self._failing.concerns_all(failure, progress.total):
            self._give_up(failure)
            return
        self._failing.count()
        reason = self._failing.too_many(failure) if self.state == "running" else None
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
                "No isolating sandbox works here: only the shipped sample programs are run, and other "
                "unclear items wait. See: workbench sandbox check",
            )
        )

    def _outcome(self, progress: Progress) -> Literal["done", "stopped", "failed"]:
        if self.used_up is not None and self.used_up.what == "pairs":
            # Pairs that were at work then may have got no label since.
            self.used_up = self._account.pairs_reached()
        if self.error is not None:
            return "failed"
        cut_short = (
            self._gate.stopping or self.used_up is not None
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

    def _counts(self, record: RunRecord) -> RunCounts:
        with self._workspace.reading() as connection:
            return run_counts(connection, record.id)
