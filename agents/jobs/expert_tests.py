"""Runs the tests of experts in the background, and records their executions as the expert's.

A test runs against the item's code as the agents' did: in a sandbox, with the same limits, and with the
same checks of how far it can be trusted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from agents.jobs.loop_thread import LoopThread
from agents.jobs.recorded_reports import action_of, repair_of, rows_of
from agents.jobs.run_record import committed
from agents.jobs.step_recorder import RecordedExecution
from agents.sandbox.errors import SandboxError
from agents.sandbox.protocol import TestProgram
from agents.sandbox.registry import RESTRICTED, choose_sandbox
from agents.sandbox.repair import RepairAction, SnapshotMissing
from agents.sandbox.trust import with_trust_checks
from store.analysis.pair_runs import pair_texts
from store.errors import UnknownName, WorkbenchError
from store.queries.expert_runs import agents_tests, place_of, repairs_of
from store.record.expert_runs import record_expert_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.sandbox.protocol import ExecutionReport, Sandbox
    from agents.settings import ExpertRunSettings
    from store.record.rater_ref import RaterRef
    from store.tables.runs import Step
    from store.workspace.duckdb import Workspace

AT_ONCE = 2
"""How many tests of an expert run at the same time; further ones wait."""


@dataclass(frozen=True, slots=True)
class ExpertRun:
    """A test that an expert wants to be run.

    Attributes:
        item_id: The item whose code is tested.
        test: The test program, exactly.
        like: The execution in whose environment it runs; None where there is none.
        assignment_id: The expert's assignment of the item; None outside a study.
        own: Whether the agents' tests are hidden from the expert, so that this one is no agent's.
        editing_ms: How long it was edited, in milliseconds.
    """

    item_id: int
    rater: RaterRef
    test: str
    like: UUID | None = None
    assignment_id: UUID | None = None
    own: bool = False
    editing_ms: int = 0


class ExpertTests:
    """Runs the tests of experts in a thread of its own; closed before the workspace is.

    Args:
        workspace: The open workspace.
        settings: Says where tests run; called in another thread than the caller's, for each run.
    """

    def __init__(self, workspace: Workspace, settings: Callable[[], ExpertRunSettings]) -> None:
        self._workspace = workspace
        self._settings = settings
        self._thread = LoopThread("expert-runs")
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._closed = False

    def start(self, run: ExpertRun) -> Future[RecordedExecution]:
        """Run a test.

        Returns:
            A future of the execution as it is on disk. Cancelling it ends the program, and nothing is
            recorded.

        Raises:
            SandboxError: (from the future) No sandbox takes the test, or the sandbox broke; nothing was
                recorded.
            WorkbenchError: No further test is run, since the program ends.
        """
        if self._closed:
            raise WorkbenchError("Not run", "The program is about to end.", "")
        return self._thread.submit(self._run(run))

    def close(self) -> None:
        """End what is running, of which nothing is recorded; closing twice is harmless."""
        self._closed = True
        self._thread.close()

    async def _run(self, run: ExpertRun) -> RecordedExecution:
        async with self._slots:
            program, rather = await asyncio.to_thread(self._program, run)
            settings = await asyncio.to_thread(self._settings)
            program, report = await self._execute(run.item_id, program, rather, settings)
        key = self._workspace.ids.next()
        execution, outcomes = rows_of(
            report,
            program,
            key,
            item_id=run.item_id,
            rater_id=run.rater.id,
            assignment_id=run.assignment_id,
            editing_ms=run.editing_ms,
        )
        await committed(record_expert_run(self._workspace, run.rater, execution, outcomes))
        return RecordedExecution(execution.id, report)

    def _program(self, run: ExpertRun) -> tuple[TestProgram, str]:
        """Return the program to run, and the sandbox to try first.

        The test is an edited one unless an agent wrote just this.
        """
        with self._workspace.reading() as connection:
            texts = pair_texts(connection, [run.item_id])
            written = frozenset[str]() if run.own else agents_tests(connection, run.item_id)
            sandbox, snapshot = ("", "") if run.like is None else place_of(connection, run.like)
        if not texts:
            raise UnknownName(
                "Unknown item", f"There is no pair {run.item_id}.", "List them: workbench items WORKSPACE"
            )
        edited = run.test not in written
        program = TestProgram(candidate=texts[0].code, test=run.test, edited=edited, snapshot=snapshot)
        return program, sandbox

    async def _execute(
        self, item_id: int, program: TestProgram, rather: str, settings: ExpertRunSettings
    ) -> tuple[TestProgram, ExecutionReport]:
        asked = settings.sandbox
        if program.edited and asked == RESTRICTED:
            # What isolates nothing was asked for the agents' programs, and takes no edited one.
            asked = None
        sandbox = await choose_sandbox(settings.sandboxes, asked, settings.allowed, rather=rather)
        try:
            box = with_trust_checks(sandbox, settings.sandboxes)
            try:
                report = await box.run(program)
            except SnapshotMissing:
                steps = await asyncio.to_thread(self._repairs_of, item_id)
                program = replace(program, snapshot=await rebuild_snapshot(program.snapshot, steps, box))
                report = await box.run(program)
        finally:
            await sandbox.close()
        if report.exit_reason == "infrastructure":
            raise SandboxError(
                "The sandbox broke",
                f"{sandbox.name} did not run the test: {report.error or 'it does not say why'}.",
                "Nothing was recorded. See: workbench doctor.",
            )
        return program, report

    def _repairs_of(self, item_id: int) -> list[Step]:
        with self._workspace.reading() as connection:
            return repairs_of(connection, item_id)


def _repairs_behind(snapshot: str, steps: Sequence[Step]) -> list[RepairAction]:
    """Return the repairs that made a snapshot.

    Args:
        snapshot: Its name.
        steps: The repairs recorded for its item; each is named by what it did and what it began with.

    Returns:
        The actions, in order; none when the record is incomplete.
    """
    reports = [(repair_of(action_of(step), step), step.request_hash) for step in steps]
    known = {report.snapshot: (report.action, name) for report, name in reports if report.outcome == "done"}
    found: list[RepairAction] = []
    wanted = snapshot
    while wanted:
        if wanted not in known or len(found) > len(known):
            return []
        action, name = known[wanted]
        before = [each for each in ("", *known) if action.snapshot(each) == name]
        if not before:
            return []
        found.insert(0, action)
        wanted = before[0]
    return found


async def rebuild_snapshot(snapshot: str, steps: Sequence[Step], sandbox: Sandbox) -> str:
    """Repeat the repairs behind a snapshot.

    Returns:
        The name of what was made; the same one, unless the sandbox's own environment is another one by now.

    Raises:
        SnapshotMissing: The record does not contain its repairs, or they failed.
        SandboxError: A repair could not begin.
    """
    actions = _repairs_behind(snapshot, steps)
    if not actions:
        raise SnapshotMissing(snapshot)
    made = ""
    for action in actions:
        report = await sandbox.repair(action, made)
        if report.outcome != "done":
            raise SnapshotMissing(snapshot, f"To make it again failed: {report.error}")
        made = report.snapshot
    return made
