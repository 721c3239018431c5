"""A run's place in the workspace: opens it, writes what agents do, reads what they did before.

Everything is written through the workspace's lane, as batches that a person's judgment overtakes, and is
on disk when the call returns. A call that is cancelled leaves its write queued, so that a reply that was
paid for is kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Connection, insert, update

from agents.gathering import Gathering
from store.errors import WorkbenchError
from store.ids import now
from store.queries.runs import StoredExecution, executions_of, find_run, steps_of
from store.raters import label_question_number, rater_row
from store.tables.columns import table_of
from store.tables.runs import (
    Execution,
    ExecutionRow,
    Reply,
    ReplyRow,
    Run,
    Step,
    StepRow,
    TestOutcomeRow,
    Verdict,
    VerdictRow,
)
from store.workspace import Workspace

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a run did with one item before: steps in order, and the execution that a step made."""

    steps: tuple[Step, ...] = ()
    executions: Mapping[UUID, StoredExecution] | None = None

    def execution_of(self, step: Step) -> StoredExecution | None:
        """Return the execution that a step made; None where there is none."""
        return (self.executions or {}).get(step.id)


async def committed(future: Future[T]) -> T:
    """Wait until a write is on disk. Cancelling the wait does not cancel the write."""
    return await asyncio.shield(asyncio.wrap_future(future))


class RunRecord:
    """One run of a pipeline, as it stands in the workspace."""

    def __init__(self, workspace: Workspace, run: Run, question_id: int) -> None:
        self._workspace = workspace
        self._gathering = Gathering(workspace.lane, replaced=(ReplyRow,))
        self.run = run
        self.question_id = question_id
        """The question that its verdicts answer: the first one of the kind."""

    @property
    def id(self) -> UUID:
        """The run's key, which its steps and verdicts carry."""
        return self.run.id

    @classmethod
    async def open(
        cls,
        workspace: Workspace,
        *,
        kind: str,
        pipeline: str,
        model: str,
        configuration: Mapping[str, Any],
        only: UUID | None = None,
        begin: bool = True,
    ) -> RunRecord:
        """Go on with the run of this configuration, or begin it.

        Args:
            workspace: The open workspace.
            kind: The task kind of the items.
            pipeline: The pipeline's name.
            model: The model's name.
            configuration: What tells this run from others, as JSON values. Its hash names the run.
            only: The run that it has to be; None for any.
            begin: Whether it may be begun.

        Returns:
            The run, in the state "running".

        Raises:
            JudgmentRefused: A person has the name that the run's rater would get.
            WorkbenchError: It is another run than it has to be, or one that is not there may not be begun.
        """
        text = json.dumps(configuration, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        name = f"{pipeline}/{model}/{hashlib.sha256(text.encode()).hexdigest()[:8]}"

        def write(connection: Connection) -> tuple[Run, int]:
            question = label_question_number(connection, kind)
            table = table_of(Run)
            known = find_run(connection, text)
            if only is not None and (known is None or known.id != only):
                raise WorkbenchError(
                    "Not this run's settings",
                    f"The present settings make the run {name}, and another one was to go on.",
                    "Nothing was begun. Set the model and the agents that the run was made with.",
                )
            if known is None and not begin:
                raise WorkbenchError(
                    "No such run yet",
                    f"The run {name} has not been begun, so nothing failed in it.",
                    "Leave --retry-failed out to begin it, or give the options and settings of the run that "
                    "is meant: workbench report WORKSPACE pipeline lists them.",
                )
            if known is not None:
                known.state, known.ended_at = "running", None
                again = update(table).where(table.c.id == known.id)
                connection.execute(again.values(state=known.state, ended_at=None))
                return known, question
            run = Run(
                id=workspace.ids.next(),
                kind=kind,
                name=name,
                configuration=text,
                model=model,
                rater_id=rater_row(connection, name, "agent").id,
                state="running",
                total=0,
                started_at=now(),
            )
            connection.execute(insert(table).values(**run.model_dump()))
            return run, question

        return cls(workspace, *await committed(workspace.lane.submit(write)))

    async def set_state(self, state: str, *, total: int | None = None) -> None:
        """Say how the run stands.

        Args:
            state: One of `store.tables.runs.RUN_STATES`; with an ended one, the moment is kept.
            total: How many items it is to cover; None to leave that as it is.
        """
        table = table_of(Run)
        values: dict[str, Any] = {
            "state": state,
            "ended_at": None if state in ("running", "paused") else now(),
        }
        if total is not None:
            values["total"] = total
        change = update(table).where(table.c.id == self.id).values(**values)

        def write(connection: Connection) -> None:
            connection.execute(change)

        await committed(self._workspace.lane.submit(write))

    async def add_step(
        self,
        step: Step,
        execution: Execution | None = None,
        outcomes: Sequence[TestOutcomeRow] = (),
        *,
        reply: Reply | None = None,
    ) -> None:
        """Record an agent's turn, and the execution that it made or the reply that it paid for, together.

        A reply to the same question takes the place of the one before.
        """
        executions = [] if execution is None else [execution]
        replies = [] if reply is None else [reply]
        await self._gathering.add(
            (StepRow, [step]), (ReplyRow, replies), (ExecutionRow, executions), (TestOutcomeRow, outcomes)
        )

    async def add_verdict(self, verdict: Verdict, after: asyncio.Task[None] | None) -> None:
        """Record the final word on an item, and not without the turn that `after` records."""
        await self._gathering.add((VerdictRow, [verdict]), after=after)

    async def written(self) -> None:
        """Wait until all that was recorded is on disk, also what nobody waits for any more."""
        await self._gathering.written()

    def next_id(self) -> UUID:
        """Return a key for a record, higher than every one before it."""
        return self._workspace.ids.next()

    def earlier(self, connection: Connection, item_ids: Sequence[int]) -> dict[int, Earlier]:
        """Return what this run did with some items before, by item; items it never touched are left out."""
        steps = steps_of(connection, self.id, item_ids)
        executions = executions_of(connection, [step.id for taken in steps.values() for step in taken])
        return {item_id: Earlier(tuple(taken), executions) for item_id, taken in steps.items()}


def settle_interrupted(workspace: Workspace) -> Future[int]:
    """Mark runs as stopped that were at work when a process died; a future of how many there were.

    A workspace has one owner, so whoever opens it knows that nobody else is at work in it.
    """
    table = table_of(Run)
    change = (
        update(table).where(table.c.state.in_(("running", "paused"))).values(state="stopped", ended_at=now())
    )

    def write(connection: Connection) -> int:
        return connection.execute(change).rowcount

    return workspace.lane.submit(write)
