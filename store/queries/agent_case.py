"""The agents' case of one item: their latest verdict, with the steps and executions that it rests on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, RowMapping, select

from store.queries.current import current_verdicts
from store.queries.executions import ExecutionView, executions_seen
from store.queries.expert_runs import ExpertRunView, expert_runs
from store.tables.columns import among, table_of
from store.tables.runs import ExecutionRow, Run, StepRow


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
class AgentCase:
    """The agents' label of an item with its reasons, and the expert runs of its test.

    Attributes:
        verdict: The agents' label.
        steps: Their turns, in order.
        execution: The execution that the verdict saw.
        expert_runs: The expert runs, in order.
    """

    verdict: VerdictView | None
    steps: tuple[StepView, ...]
    execution: ExecutionView | None
    expert_runs: tuple[ExpertRunView, ...] = ()

    def reply_of(self, role: str) -> Mapping[str, Any]:
        """Return the last good reply of a role, empty when there is none."""
        good = [step.reply for step in self.steps if step.role == role and step.outcome == "ok"]
        return good[-1] if good else {}


def load_case(connection: Connection, item_id: int, rater_id: int) -> AgentCase:
    """Read the latest verdict of an item with its run's steps; without a verdict, the latest run's steps.

    Args:
        connection: A reading connection.
        item_id: The item.
        rater_id: Who looks at it.
    """
    verdict, run, step = current_verdicts([item_id]), table_of(Run), table_of(StepRow)
    found = (
        connection.execute(
            select(verdict, run.c.model, run.c.name.label("run_name")).outerjoin(
                run, run.c.id == verdict.c.run_id
            )
        )
        .mappings()
        .first()
    )
    if found is None:
        latest = select(step.c.run_id).where(step.c.item_id == item_id).order_by(step.c.id.desc()).limit(1)
        run_id = connection.execute(latest).scalar()
    else:
        run_id = found["run_id"]
    steps = (
        connection.execute(
            select(step).where(step.c.item_id == item_id, step.c.run_id == run_id).order_by(step.c.id)
        )
        .mappings()
        .all()
    )
    seen = None
    if found is not None:
        fields = {name: found[name] for name in VerdictView.__dataclass_fields__}
        seen = VerdictView(**{**fields, "model": fields["model"] or "", "run_name": fields["run_name"] or ""})
    made = table_of(ExecutionRow)
    executions = executions_seen(
        connection, made.c.item_id == item_id, among(made.c.step_id, [row["id"] for row in steps])
    )
    shown = [each for each in executions if found is not None and each.id == found["execution_id"]]
    return AgentCase(
        verdict=seen,
        steps=tuple(_step(row) for row in steps),
        execution=shown[0] if shown else executions[-1] if executions else None,
        expert_runs=expert_runs(connection, [item_id], rater_id).get(item_id, ()),
    )


def _step(row: RowMapping) -> StepView:
    try:
        reply = json.loads(row["reply"]) if row["reply"] else {}
    except ValueError:
        reply = {}
    names = [name for name in StepView.__dataclass_fields__ if name != "reply"]
    return StepView(reply=reply if isinstance(reply, dict) else {}, **{name: row[name] for name in names})
