"""The sources: imported files and what a search for candidates added, their items, and what was rejected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from store.formatting import pluralize
from store.tables.columns import table_of
from store.tables.imported import Item, Pair, Source


@dataclass(frozen=True, slots=True)
class Rejected:
    """Records of an imported file that were rejected, so that figures are without them.

    Attributes:
        source: The name of the file; empty where it is hidden.
        rejected: How many.
        records: How many records the file holds, those included.
    """

    source: str
    rejected: int
    records: int


def has_file(connection: Connection, digest: str) -> bool:
    """Return whether a file was imported, by the SHA-256 of its bytes, in hex."""
    source = table_of(Source)
    return connection.execute(select(source.c.id).where(source.c.sha256 == digest)).first() is not None


def first_item(connection: Connection, sources: Sequence[int]) -> int | None:
    """Return the first item that some sources brought; None where they brought none."""
    item = table_of(Item)
    return connection.execute(select(func.min(item.c.id)).where(item.c.source_id.in_(sources))).scalar()


def rejected_records(connection: Connection, *, named: bool) -> tuple[Rejected, ...]:
    """Return what was rejected of each file, in the order of their import.

    Args:
        connection: A reading connection.
        named: Whether files are named: they can be called after a set.
    """
    source = table_of(Source)
    rows = connection.execute(select(source).where(source.c.rejected > 0).order_by(source.c.id))
    return tuple(Rejected(row.name * named, row.rejected, row.records + row.rejected) for row in rows)


def rejected_sentence(found: Sequence[Rejected]) -> str:
    """Return that figures are without what was rejected; empty where nothing was."""
    number = sum(one.rejected for one in found)
    if not number:
        return ""
    them = "it" if number == 1 else "them"
    files = "; ".join(f"{one.rejected:,} of {one.records:,} of {one.source}" for one in found if one.source)
    return (
        f"Left out: {pluralize(number, 'record')} rejected by imports{f' ({files})' if files else ''}. "
        f"Figures are without {them}, unless imported since."
    )


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
