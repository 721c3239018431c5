"""The record of a run: opens it, writes steps and outcomes, and reads earlier steps.

Everything is written through the workspace's lane, as batches that a person's judgment overtakes, and is
on disk when the call returns. A call that is cancelled leaves its write queued, so that a reply that was
paid for is kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Connection, insert, select, update

from agents.jobs.outcome import Outcome, Revision, Verdict
from agents.jobs.outcome import Response as MadeResponse
from agents.jobs.outcome import Score as MadeScore
from agents.jobs.row_batches import RowBatcher, Rows
from store.errors import UnknownName, WorkbenchError
from store.kinds.spec import task_kinds
from store.queries.runs import StoredExecution, executions_of, find_run, steps_of
from store.record.ids import now
from store.record.raters import kind_question_numbers, rater_row, response_ref_number
from store.record.response_names import ResponseName
from store.record.revisions import REVISION, mended_by_people, refused_text
from store.tables.columns import table_of
from store.tables.record import MarkRow
from store.tables.responses import Response, Score
from store.tables.runs import (
    Execution,
    ExecutionRow,
    Reply,
    ReplyRow,
    Run,
    Step,
    StepRow,
    TestOutcomeRow,
    VerdictRow,
)
from store.workspace.duckdb import Workspace

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RecordedSteps:
    """The recorded steps of a run on one item, in order, with the executions that they made."""

    steps: tuple[Step, ...] = ()
    executions: Mapping[UUID, StoredExecution] | None = None

    def execution_of(self, step: Step) -> StoredExecution | None:
        """Return the execution that a step made; None where there is none."""
        return (self.executions or {}).get(step.id)


async def committed(future: Future[T]) -> T:
    """Wait until a write is on disk. Cancelling the wait does not cancel the write."""
    return await asyncio.shield(asyncio.wrap_future(future))


class RunRecord:
    """One run of a pipeline in the workspace."""

    def __init__(
        self, workspace: Workspace, run: Run, question_ids: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        self._workspace = workspace
        self._batcher = RowBatcher(workspace.lane, replaced=(ReplyRow,))
        self.run = run
        self._question_ids = question_ids

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
        own_prompts: str = "",
        fullness: int = 0,
        only: UUID | None = None,
        begin: bool = True,
        claim: Callable[[UUID], None] = lambda _: None,
    ) -> RunRecord:
        """Go on with the run of this configuration, or begin it.

        Args:
            workspace: The open workspace.
            kind: The task kind of the items.
            pipeline: The pipeline's name.
            model: The model's name.
            configuration: The values that identify the run, as JSON. Its hash names the run.
            own_prompts: The user's own prompts, which end the name of the run; empty without any.
            fullness: The place of the configuration among those of the kind, from 1, the fullest last.
            only: The run that it has to be; None for any.
            begin: Whether it may be begun.
            claim: Called with the run before anything of it is changed; refuses one that is at work.

        Returns:
            The run, in the state "running".

        Raises:
            JudgmentRefused: A person has the name that the run's rater would get.
            WorkbenchError: It is another run than it has to be, or one that is not there may not be begun.
        """
        text = json.dumps(configuration, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        name = f"{pipeline}/{model}/{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        name += f"/{own_prompts}" if own_prompts else ""

        def write(connection: Connection) -> tuple[Run, dict[str, int]]:
            questions = kind_question_numbers(connection, kind)
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
                claim(known.id)
                known.state, known.ended_at, known.fullness = "running", None, fullness
                again = update(table).where(table.c.id == known.id)
                connection.execute(again.values(state=known.state, ended_at=None, fullness=fullness))
                return known, questions
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
                fullness=fullness,
            )
            connection.execute(insert(table).values(**run.model_dump()))
            claim(run.id)
            return run, questions

        return cls(workspace, *await committed(workspace.lane.submit(write)))

    async def set_state(self, state: str, *, total: int | None = None) -> None:
        """Set the state of the run.

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
        await self._batcher.add(
            (StepRow, [step]), (ReplyRow, replies), (ExecutionRow, executions), (TestOutcomeRow, outcomes)
        )

    async def outcome_rows(
        self, item_id: int, outcomes: Sequence[Outcome], step_id: UUID | None
    ) -> tuple[Rows, ...]:
        """Turn the outcomes of an item into rows, by table.

        Args:
            item_id: The item.
            outcomes: The outcomes of the pipeline.
            step_id: The last step on the item; None where the pipeline took none.

        Raises:
            ValueError: There is no outcome, so that the item would never be done.
            UnknownName: A question is none of the kind's.
            WorkbenchError: The item has a response of that name already, or a text cannot be rewritten so.
        """
        if not outcomes:
            raise ValueError(f"the pipeline of {self.run.name} yielded nothing for item {item_id}")
        refs = await self._response_refs(item_id, outcomes)
        if any(isinstance(one, Revision) for one in outcomes):
            await asyncio.to_thread(self._refuse_over_people, item_id)
        verdicts: list[VerdictRow] = []
        responses: list[Response] = []
        scores: list[Score] = []
        marks: list[MarkRow] = []
        for outcome in outcomes:
            match outcome:
                case Verdict():
                    row = VerdictRow(
                        id=self.next_id(),
                        run_id=self.id,
                        item_id=item_id,
                        value=float(outcome.value),
                        path=outcome.path,
                        reason=outcome.reason,
                        execution_id=outcome.execution_id,
                        question_id=self._question(outcome.question),
                        response_ref_id=None if outcome.response is None else refs[outcome.response],
                        created_at=now(),
                    )
                    verdicts.append(row)
                case MadeResponse(name, text):
                    responses.append(Response(id=refs[name], text=text, run_id=self.id, step_id=step_id))
                case MadeScore(name, question, value, reason):
                    self._question(question)
                    score = Score(
                        id=self.next_id(),
                        response_ref_id=refs[name],
                        judge=self.run.name,
                        measure=question.rpartition(".")[2],
                        value=float(value),
                        reason=reason,
                        created_at=now(),
                        run_id=self.id,
                        step_id=step_id,
                    )
                    scores.append(score)
                case Revision(part, text):
                    if why := refused_text(task_kinds()[self.run.kind], part, text):
                        hint = "Another model may write what can be kept."
                        raise WorkbenchError("Not rewritten", why, hint)
                    key = self.next_id()
                    mark = MarkRow(
                        id=key,
                        action=key,
                        item_id=item_id,
                        rater_id=self.run.rater_id,
                        kind=f"{REVISION}{part}",
                        text=text,
                        created_at=now(),
                    )
                    marks.append(mark)

        return ((VerdictRow, verdicts), (Response, responses), (Score, scores), (MarkRow, marks))

    def _refuse_over_people(self, item_id: int) -> None:
        """Refuse to write over a text of a person, who may have written it since the item was read.

        Raises:
            WorkbenchError: A person wrote a current text of the item.
        """
        with self._workspace.reading() as connection:
            if mended_by_people(connection, [item_id]):
                raise WorkbenchError(
                    "Rewritten by hand",
                    "A person rewrote a text of the item while the agents worked on it.",
                    "That text stays. Nothing is to be done.",
                )

    async def add_outcomes(self, rows: Sequence[Rows], after: asyncio.Task[None] | None) -> None:
        """Write `outcome_rows`, all or none, and not without the step that the task `after` records."""
        await self._batcher.add(*rows, after=after)

    def _question(self, name: str) -> int:
        """Return the key of a question of the kind; of the first one for an empty name."""
        known = self._question_ids
        if name and name not in known:
            raise UnknownName(
                "Unknown question",
                f"The pipeline of {self.run.name} answers {name!r}, which items of the kind {self.run.kind} "
                "are not asked.",
                f"Questions: {', '.join(known)}.",
            )
        return known[name or next(iter(known))]

    async def _response_refs(self, item_id: int, outcomes: Sequence[Outcome]) -> dict[ResponseName, int]:
        """Return the keys of the responses that outcomes name, made where they are new."""
        made = {one.name for one in outcomes if isinstance(one, MadeResponse)}
        names = made | {
            one.response
            for one in outcomes
            if isinstance(one, Verdict | MadeScore) and one.response is not None
        }
        if not names:
            return {}

        def write(connection: Connection) -> dict[ResponseName, int]:
            refs = {name: response_ref_number(connection, item_id, name) for name in sorted(names)}
            table = table_of(Response)
            known = select(table.c.id).where(table.c.id.in_([refs[name] for name in made]))
            if connection.execute(known).first() is not None:
                raise WorkbenchError(
                    "Response exists",
                    f"The item has a response called {', '.join(map(str, sorted(made)))} already.",
                    "Give the pipeline's responses another model name, setting or trial.",
                )
            return refs

        return await committed(self._workspace.lane.submit(write))

    async def written(self) -> None:
        """Wait until all records are on disk, also those whose caller was cancelled."""
        await self._batcher.written()

    def next_id(self) -> UUID:
        """Return a key for a record, higher than every one before it."""
        return self._workspace.ids.next()

    def earlier(self, connection: Connection, item_ids: Sequence[int]) -> dict[int, RecordedSteps]:
        """Return the recorded steps of some items, by item; items without steps are left out."""
        steps = steps_of(connection, self.id, item_ids)
        executions = executions_of(connection, [step.id for taken in steps.values() for step in taken])
        return {item_id: RecordedSteps(tuple(taken), executions) for item_id, taken in steps.items()}


def stop_interrupted_runs(workspace: Workspace) -> Future[int]:
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
