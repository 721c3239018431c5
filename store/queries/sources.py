"""The items of a source: of an imported file, or of what a search for candidates added."""

from __future__ import annotations

from sqlalchemy import Connection, select

from store.tables.columns import table_of
from store.tables.imported import Item, Pair, Source


def sources_with_items(connection: Connection) -> list[str]:
    """Return the names of the sources that have items, each once, in the order of their first import."""
    item, source = table_of(Item), table_of(Source)
    with_items = source.c.id.in_(select(item.c.source_id))
    names = connection.execute(select(source.c.name).where(with_items).order_by(source.c.id)).scalars()
    return list(dict.fromkeys(names))


def items_of_source(connection: Connection, name: str) -> dict[str, list[int]]:
    """Return the ids of the items of all sources of a name, rising, by kind; none for an unknown name."""
    item, source = table_of(Item), table_of(Source)
    rows = (
        select(item.c.kind, item.c.id)
        .where(item.c.source_id.in_(select(source.c.id).where(source.c.name == name)))
        .order_by(item.c.id)
    )
    found: dict[str, list[int]] = {}
    for kind, number in connection.execute(rows):
        found.setdefault(kind, []).append(number)
    return found


def pairs_of_source(connection: Connection, name: str) -> set[tuple[int, int]]:
    """Return the ids of query and code of each pair of a source; none for an unknown name."""
    pair, item, source = table_of(Pair), table_of(Item), table_of(Source)
    rows = (
        select(pair.c.query_id, pair.c.code_id)
        .join(item, item.c.id == pair.c.item_id)
        .join(source, source.c.id == item.c.source_id)
        .where(source.c.name == name)
    )
    return {(query, code) for query, code in connection.execute(rows)}
