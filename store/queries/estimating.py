"""Mean costs of a workspace's earlier replies, and a sample of items, to estimate a job from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import JSON, Connection, case, cast, func, select

from store.queries.runs import open_items
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.runs import ReplyRow, StepRow

ENOUGH = 20
"""Earlier replies, or assessments, from which their mean is taken; with fewer it is assumed."""


@dataclass(frozen=True, slots=True)
class PastReplies:
    """The mean cost of the replies of a model in one role.

    Attributes:
        count: How many there are.
        tokens_in: Input tokens of one.
        tokens_out: Output tokens of one.
        tokens_cached: Input tokens of one that the service had in its cache.
        requests: Requests for one.
    """

    count: int
    tokens_in: float
    tokens_out: float
    tokens_cached: float
    requests: float


def past_replies(connection: Connection) -> dict[tuple[str, str], PastReplies]:
    """Return the mean costs of replies, by role and model; replies without reported tokens are left out."""
    table = table_of(ReplyRow)
    means = [func.avg(table.c[name]) for name in ("tokens_in", "tokens_out", "tokens_cached", "requests")]
    found = (
        select(table.c.role, table.c.model, func.count(), *means)
        .where(table.c.tokens_out > 0)
        .group_by(table.c.role, table.c.model)
    )
    return {(role, model): PastReplies(*rest) for role, model, *rest in connection.execute(found)}


def past_assessments(connection: Connection, role: str, model: str) -> tuple[int, int]:
    """Count the assessments of a screener's model.

    The model's name has its provider before it.

    Returns:
        How many items it assessed, one in two runs twice, and how many of them as unclear.
    """
    step, reply = table_of(StepRow), table_of(ReplyRow)
    unclear = cast(step.c.reply, JSON)["assessment"].as_string() == "unclear"
    count, found = connection.execute(
        select(func.count(), func.count(case((unclear, 1))))
        .select_from(step)
        .join(reply, reply.c.id == step.c.reply_id)
        .where(step.c.role == role, step.c.outcome == "ok", reply.c.model == model)
    ).one()
    return int(count), int(found)


def sampled_items(
    connection: Connection,
    run_id: UUID,
    kind: str,
    count: int,
    *,
    chosen: Sequence[int] | None = None,
    missing_at: UUID | None = None,
) -> list[int]:
    """Return some of the items that a run has no outcome for, the same ones every time.

    Args:
        connection: An open connection.
        run_id: The run.
        kind: The task kind of the items.
        count: At most so many.
        chosen: Only among these; None for all of the kind.
        missing_at: See `store.queries.runs.items_without_outcome`.
    """
    item = table_of(Item)
    found = select(item.c.id).where(*open_items(item, run_id, kind, missing_at))
    if chosen is not None:
        found = found.where(among(item.c.id, chosen))
    # By a hash: in the order of their ids they would all be of the file's first queries.
    return list(connection.execute(found.order_by(func.hash(item.c.id)).limit(count)).scalars())
