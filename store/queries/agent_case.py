"""The agents' case of one item: the verdict of one run, with the steps and executions that it rests on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, RowMapping, select

from store.queries.current import on_label, shown_runs
from store.queries.executions import ExecutionView, load_executions
from store.queries.expert_runs import ExpertRunView, expert_runs
from store.record.scope import RunRef, Scope
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.runs import ExecutionRow, Run, StepRow, VerdictRow


@dataclass(frozen=True, slots=True)
class VerdictView:
    """The agents' label of an item, with its reasons."""

    id: UUID
    value: float
    path: str
    reason: str
    model: str
    run_name: str
    execution_id: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class StepView:
    """One agent's turn. `reply` is the parsed JSON reply, empty when there was none.

    With `from_cache` the workspace had the reply already, and the turn cost nothing.
    """

    role: str
    attempt: int
    outcome: str
    reply: Mapping[str, Any]
    error: str
    model: str
    tokens_in: int
    tokens_out: int
    money: float | None
    seconds: float
    from_cache: bool


@dataclass(frozen=True, slots=True)
class OtherVerdict:
    """The label of an item by another run than the one that is shown."""

    run: RunRef
    value: float
    path: str


@dataclass(frozen=True, slots=True)
class AgentCase:
    """The agents' label of an item with its reasons, and the expert runs of its test.

    Attributes:
        verdict: The agents' label.
        steps: Their turns, in order.
        execution: The execution that the verdict saw.
        expert_runs: The expert runs, in order.
        run: The run whose work this is; None where no agent has worked on items of the kind.
        others: The labels of other runs, the one begun last first.
    """

    verdict: VerdictView | None
    steps: tuple[StepView, ...]
    execution: ExecutionView | None
    expert_runs: tuple[ExpertRunView, ...] = ()
    run: RunRef | None = None
    others: tuple[OtherVerdict, ...] = ()

    def reply_of(self, role: str) -> Mapping[str, Any]:
        """Return the last good reply of a role, empty when there is none."""
        good = [step.reply for step in self.steps if step.role == role and step.outcome == "ok"]
        return good[-1] if good else {}


def load_case(connection: Connection, scope: Scope, item_id: int) -> AgentCase:
    """Read the verdict of the shown run on an item with that run's steps; without a verdict, its steps.

    Args:
        connection: A reading connection.
        scope: Who looks at it, and which run is shown.
        item_id: The item.
    """
    run = _shown_run(connection, scope, item_id)
    seen, others = _verdicts(connection, item_id, run)
    step = table_of(StepRow)
    steps = []
    if run is not None:
        of_run = select(step).where(step.c.item_id == item_id, step.c.run_id == run.id).order_by(step.c.id)
        steps = list(connection.execute(of_run).mappings())
    made = table_of(ExecutionRow)
    executions = load_executions(
        connection, made.c.item_id == item_id, among(made.c.step_id, [row["id"] for row in steps])
    )
    shown = [each for each in executions if seen is not None and each.id == seen.execution_id]
    return AgentCase(
        verdict=seen,
        steps=tuple(_step(row) for row in steps),
        execution=shown[0] if shown else executions[-1] if executions else None,
        expert_runs=expert_runs(connection, [item_id], scope.rater_id).get(item_id, ()),
        run=run,
        others=others,
    )


def _shown_run(connection: Connection, scope: Scope, item_id: int) -> RunRef | None:
    """Return the run that is shown of the items of an item's kind; None where there is none."""
    run, item = table_of(Run), table_of(Item)
    kind = select(item.c.kind).where(item.c.id == item_id).scalar_subquery()
    of_kind = select(run.c.id, run.c.name).where(run.c.id.in_(shown_runs(scope)), run.c.kind == kind)
    found = connection.execute(of_kind).first()
    return None if found is None else RunRef(*found)


def _verdicts(
    connection: Connection, item_id: int, shown: RunRef | None
) -> tuple[VerdictView | None, tuple[OtherVerdict, ...]]:
    """Return the verdict of a run on an item's label, and those of the others, the one begun last first."""
    verdict, run = table_of(VerdictRow), table_of(Run)
    rows = connection.execute(
        select(verdict, run.c.model, run.c.name.label("run_name"))
        .join(run, run.c.id == verdict.c.run_id)
        .where(verdict.c.item_id == item_id, on_label(verdict))
        .order_by(run.c.started_at.desc(), run.c.id.desc())
    ).mappings()
    seen, others = None, []
    for row in rows:
        if shown is not None and row["run_id"] == shown.id:
            seen = VerdictView(**{name: row[name] for name in VerdictView.__dataclass_fields__})
        else:
            others.append(OtherVerdict(RunRef(row["run_id"], row["run_name"]), row["value"], row["path"]))
    return seen, tuple(others)


def _step(row: RowMapping) -> StepView:
    try:
        reply = json.loads(row["reply"]) if row["reply"] else {}
    except ValueError:
        reply = {}
    names = [name for name in StepView.__dataclass_fields__ if name != "reply"]
    return StepView(reply=reply if isinstance(reply, dict) else {}, **{name: row[name] for name in names})
