"""Selects that list, search and read the items of a kind, derived from its record and queue."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    FromClause,
    Select,
    String,
    TableClause,
    cast,
    column,
    func,
    null,
    or_,
    select,
    table,
)

from store.kinds.spec import TaskKind
from store.tables.columns import among, table_of
from store.tables.imported import Similarity


@dataclass(frozen=True, slots=True)
class Relation:
    """The tables of a kind, joined, and the columns of its items by name."""

    own: TableClause
    source: FromClause
    columns: dict[str, ColumnElement[Any]]

    @property
    def item_id(self) -> ColumnElement[int]:
        """The key of the item."""
        return self.own.c.item_id


def relation(kind: TaskKind) -> Relation:
    """Return where the columns of a kind's items are stored."""
    record = kind.record
    references = [column(f"{one.table}_id", BigInteger) for one in record.shared]
    texts = [
        column(name, String) if type_ == "text" else column(name)
        for name, type_ in record.own_columns.items()
    ]
    own = table(record.table, column("item_id", BigInteger), *references, *texts)
    source: FromClause = own
    columns: dict[str, ColumnElement[Any]] = {name: own.c[name] for name in record.own_columns}
    for one in record.shared:
        about = (column(name, String) for name in one.about)
        shared = table(one.table, column("id", BigInteger), column("text", String), *about)
        source = source.join(shared, shared.c.id == own.c[f"{one.table}_id"])
        columns |= {one.column: shared.c.text} | {name: shared.c[name] for name in one.about}
    return Relation(own, source, columns)


def summary(kind: TaskKind, item_ids: Collection[int] | None) -> Select[Any]:
    """Return a select of (item_id, title, detail, rank, similarity), the last two null for unranked kinds.

    Args:
        kind: The kind.
        item_ids: Of which items; None for all.
    """
    found = relation(kind)
    rank: ColumnElement[Any] = cast(null(), BigInteger)
    mean: ColumnElement[Any] = cast(null(), Double)
    source = found.source
    if kind.record.ranked:
        similarity = table_of(Similarity)
        means = select(similarity.c.item_id, func.avg(similarity.c.value).label("similarity"))
        if item_ids is not None:
            # Repeated here, since an aggregate hides the condition from the join.
            means = means.where(among(similarity.c.item_id, item_ids))
        similarities = means.group_by(similarity.c.item_id).subquery("mean_similarity")
        source = source.outerjoin(similarities, similarities.c.item_id == found.item_id)
        rank, mean = found.columns["rank"], similarities.c.similarity
    listed = select(
        found.item_id,
        found.columns[kind.queue.title].label("title"),
        found.columns[kind.queue.detail].label("detail"),
        rank.label("rank"),
        mean.label("similarity"),
    ).select_from(source)
    return listed if item_ids is None else listed.where(among(found.item_id, item_ids))


def texts(kind: TaskKind, item_ids: Collection[int]) -> Select[Any]:
    """Return a select of (item_id, ...) with the texts of some items that programs read."""
    found = relation(kind)
    columns = (found.columns[name].label(name) for name in kind.record.texts)
    return select(found.item_id, *columns).select_from(found.source).where(among(found.item_id, item_ids))


def containing(kind: TaskKind, text: str, columns: Collection[str] = ()) -> Select[Any]:
    """Return a select of the ids of the items that contain a text, in any case, in a searched column.

    Args:
        kind: The kind.
        text: The text; nothing in it is a wildcard.
        columns: In which columns; none for those that the kind searches.
    """
    found = relation(kind)
    by_table: dict[Any, list[ColumnElement[bool]]] = {}
    for name in columns or kind.queue.searched or (kind.queue.title, kind.queue.detail):
        searched = found.columns[name]
        # Three times as quick as ILIKE.
        holds = func.strpos(func.lower(searched), func.lower(text)) > 0
        by_table.setdefault(searched.table, []).append(holds)
    # A shared text is searched once, not once for each item: a query has 20 pairs.
    conditions = [
        or_(*holds)
        if where is found.own
        else found.own.c[f"{where.name}_id"].in_(select(where.c.id).where(or_(*holds)))
        for where, holds in by_table.items()
    ]
    return select(found.item_id).where(or_(*conditions))
