"""The cached replies of a workspace: found by key for a job, listed and added up for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import Connection, func, select

from store.tables.columns import among, table_of
from store.tables.runs import Reply, ReplyRow, StepRow

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class ListedReply:
    """A reply as it is listed.

    Attributes:
        id: Its key: the first half of the hash of all that the model received.
        role: Whose turn it was when it was asked for.
        model: The model's name with its provider; `snapshot` is what answered, `service` the address, empty
            for the provider's own.
        service: See `model`.
        snapshot: See `model`.
        created_at: When it came.
        tokens_in: Its cost; likewise the next four. `money` is in US dollars, None where it is unknown.
        tokens_out: See `tokens_in`.
        tokens_cached: See `tokens_in`.
        money: See `tokens_in`.
        requests: See `tokens_in`.
        sdk: The library that asked for it, with its version.
        used: How many steps took it from the cache since.
    """

    id: UUID
    role: str
    model: str
    service: str
    snapshot: str
    created_at: datetime
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    money: float | None
    requests: int
    sdk: str
    used: int


@dataclass(frozen=True, slots=True)
class ReplyTotals:
    """The totals of all replies of a workspace.

    Attributes:
        tokens: Input and output tokens that they cost.
        money: US dollars that they cost, as far as that is known; None where it is known of none.
        unpriced: Replies of which it is not known.
        used: How many steps were answered from them, at no cost.
        saved_requests: Requests that these steps did not send; likewise the next three.
        saved_tokens: See `saved_requests`.
        saved_money: See `saved_requests`; as far as it is known.
        saved_unpriced: Steps answered by a reply whose price is not known.
    """

    replies: int
    tokens: int
    money: float | None
    unpriced: int
    used: int
    saved_requests: int
    saved_tokens: int
    saved_money: float | None
    saved_unpriced: int


def replies_of(connection: Connection, keys: Sequence[UUID]) -> dict[UUID, Reply]:
    """Return the cached ones among some replies, by key."""
    table = table_of(ReplyRow)
    found = connection.execute(select(table).where(among(table.c.id, keys))).mappings()
    return {row["id"]: Reply(**row) for row in found}


def list_replies(connection: Connection, limit: int) -> list[ListedReply]:
    """Return the latest replies, the last one first."""
    table, step = table_of(ReplyRow), table_of(StepRow)
    names = [name for name in ListedReply.__dataclass_fields__ if name != "used"]
    latest = select(*(table.c[name] for name in names)).order_by(table.c.created_at.desc(), table.c.id.desc())
    rows = [dict(row) for row in connection.execute(latest.limit(limit)).mappings()]
    used: dict[UUID, int] = {}
    if rows:
        taken = step.c.from_cache, among(step.c.reply_id, [row["id"] for row in rows])
        counted = select(step.c.reply_id, func.count()).where(*taken).group_by(step.c.reply_id)
        used = {key: int(count) for key, count in connection.execute(counted)}
    return [ListedReply(**row, used=used.get(row["id"], 0)) for row in rows]


def reply_totals(connection: Connection) -> ReplyTotals:
    """Add up all replies, and what they have saved."""
    table, step = table_of(ReplyRow), table_of(StepRow)
    tokens = table.c.tokens_in + table.c.tokens_out

    def sums(*more: Any) -> Any:
        unpriced = func.count() - func.count(table.c.money)
        return select(
            func.count(), func.coalesce(func.sum(tokens), 0), func.sum(table.c.money), unpriced, *more
        )

    kept = connection.execute(sums()).one()
    requests = func.coalesce(func.sum(table.c.requests), 0)
    saved = connection.execute(
        sums(requests).select_from(step).join(table, table.c.id == step.c.reply_id).where(step.c.from_cache)
    ).one()
    return ReplyTotals(
        replies=int(kept[0]),
        tokens=int(kept[1]),
        money=kept[2],
        unpriced=int(kept[3]),
        used=int(saved[0]),
        saved_requests=int(saved[4]),
        saved_tokens=int(saved[1]),
        saved_money=saved[2],
        saved_unpriced=int(saved[3]),
    )
