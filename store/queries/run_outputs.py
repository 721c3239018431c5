"""What models replied in a run: equal replies of a role once, with the number of items behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, Table, func, select

from store.tables.columns import among, table_of
from store.tables.runs import StepRow

OUTPUTS_NAMED = 10
"""How many different replies of a role are named."""


@dataclass(frozen=True, slots=True)
class RunOutput:
    """One reply, and how many items got exactly that; the text is a model's, and data."""

    text: str
    items: int


@dataclass(frozen=True, slots=True)
class RoleOutputs:
    """The replies of one role in a run.

    Attributes:
        role: The role, as its steps say it.
        items: Items on which it replied.
        different: How many different replies there are.
        named: Replies that several items got, the most frequent first, at most `OUTPUTS_NAMED`.
    """

    role: str
    items: int
    different: int
    named: tuple[RunOutput, ...]


def run_outputs(connection: Connection, run_id: UUID) -> tuple[RoleOutputs, ...]:
    """Group what models replied in a run by role and text.

    Args:
        connection: An open connection.
        run_id: The run.

    Returns:
        The roles, in the order in which they first replied.
    """
    step = table_of(StepRow)
    # By a hash: nearly all of a million replies may differ, and their texts are long. What it names is
    # counted by text below, so that a collision could at worst leave a reply unnamed.
    by_hash = (
        select(step.c.role, func.min(step.c.id).label("first"), func.count().label("turns"))
        .where(*replied(step, run_id))
        .group_by(step.c.role, func.hash(step.c.reply))
        .subquery()
        .c
    )
    most = func.arg_max(by_hash.first, by_hash.turns, OUTPUTS_NAMED).filter(by_hash.turns > 1)
    kinds = connection.execute(
        select(by_hash.role, func.count(), most).group_by(by_hash.role).order_by(func.min(by_hash.first))
    ).all()
    asked = select(step.c.role, func.count(step.c.item_id.distinct())).where(*replied(step, run_id))
    items = {role: int(count) for role, count in connection.execute(asked.group_by(step.c.role))}
    named = _counted(connection, run_id, [key for *_, keys in kinds for key in keys or ()])
    return tuple(
        RoleOutputs(role, items[role], int(different), named.get(role, ())) for role, different, _ in kinds
    )


def _counted(
    connection: Connection, run_id: UUID, step_ids: Sequence[UUID]
) -> dict[str, tuple[RunOutput, ...]]:
    """Return by role the replies of some steps that several items got, the most frequent first."""
    step = table_of(StepRow)
    same = step.alias()
    number = func.count(step.c.item_id.distinct())
    found = connection.execute(
        select(step.c.role, step.c.reply, number)
        .join(same, (same.c.role == step.c.role) & (same.c.reply == step.c.reply))
        .where(*replied(step, run_id), among(same.c.id, step_ids))
        .group_by(step.c.role, step.c.reply)
        .having(number > 1)
        .order_by(number.desc(), func.min(step.c.id))
    )
    outputs: dict[str, tuple[RunOutput, ...]] = {}
    for role, text, count in found:
        outputs[role] = (*outputs.get(role, ()), RunOutput(text, int(count)))
    return outputs


def items_replied(run_id: UUID, role: str, text: str | None) -> Select[Any]:
    """Select the items on which a role replied, in the order of import.

    Args:
        run_id: The run.
        role: The role.
        text: Only those that got exactly this reply; None for all.
    """
    step = table_of(StepRow)
    found = select(step.c.item_id).where(*replied(step, run_id), step.c.role == role).distinct()
    return (found if text is None else found.where(step.c.reply == text)).order_by(step.c.item_id)


def replied(step: Table, run_id: UUID) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that a step of a run holds what a model replied, not what a sandbox did."""
    return step.c.run_id == run_id, step.c.reply != "", (step.c.requests > 0) | step.c.from_cache
