"""The candidates of a query: the pairs that share it, with their similarity by each model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select

from store.policy.rows import in_scope
from store.policy.scope import Scope
from store.queries.queue import queue_rows
from store.queries.rows import QueueRow
from store.tables.columns import table_of
from store.tables.imported import Pair, Similarity
from store.workspace.duckdb import Workspace

MOST = 100
"""Candidates of a query that are read."""


@dataclass(frozen=True, slots=True)
class CandidatePair:
    """A pair of a query.

    Attributes:
        row: What a list says of it.
        similarities: Its similarity by each model.
    """

    row: QueueRow
    similarities: Mapping[str, float]


def candidates_of(workspace: Workspace, scope: Scope, item_id: int) -> list[CandidatePair]:
    """Return the pairs that have the query of a pair, by rank, those without one last.

    Returns:
        At most `MOST`; none where the item is no pair.
    """
    pair, similarity = table_of(Pair), table_of(Similarity)
    of_item = select(pair.c.query_id).where(pair.c.item_id == item_id, in_scope(scope, pair.c.item_id))
    members = (
        select(pair.c.item_id)
        .where(pair.c.query_id == of_item.scalar_subquery(), in_scope(scope, pair.c.item_id))
        .order_by(pair.c.rank.nulls_last(), pair.c.item_id)
        .limit(MOST)
    )
    with workspace.reading() as connection:
        ids = list(connection.execute(members).scalars())
        scores: dict[int, dict[str, float]] = {}
        found = select(similarity).where(similarity.c.item_id.in_(ids)).order_by(similarity.c.model)
        for row in connection.execute(found):
            scores.setdefault(row.item_id, {})[row.model] = row.value
    return [CandidatePair(row, scores.get(row.item_id, {})) for row in queue_rows(workspace, scope, ids)]
