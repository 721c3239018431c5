"""Random samples of queries, the same on every machine and in every workspace with the same queries."""

from __future__ import annotations

from sqlalchemy import Connection, func, literal, select

from store.errors import WorkbenchError
from store.tables.columns import table_of
from store.tables.imported import Item, Pair, Query


def sample_items(connection: Connection, kind: str, queries: int, seed: int) -> list[int]:
    """Return all items of a random sample of queries, as for the pilot of CoSQA+ (section IV.B.c).

    Every query gets the SHA-256 of the seed, a colon and its text in UTF-8, and those with the lowest are
    taken: a larger sample with the same seed holds the smaller one, and nothing else in the workspace counts.

    Args:
        connection: A reading connection.
        kind: The task kind of the items.
        queries: The size of the sample.
        seed: The seed of the sample.

    Returns:
        Item ids, rising.

    Raises:
        WorkbenchError: There are fewer queries.
    """
    item, pair, query = (table_of(model) for model in (Item, Pair, Query))
    joined = item.join(pair, pair.c.item_id == item.c.id)
    asked = select(pair.c.query_id).select_from(joined).where(item.c.kind == kind).distinct()
    there = connection.execute(select(func.count()).select_from(asked.subquery())).scalar_one()
    if queries > there:
        raise WorkbenchError(
            "Too few queries",
            f"A sample of {queries:,} queries was asked for, and {there:,} have items.",
            f"Ask for at most {there:,}, or leave --sample-queries out for all." if there else "Import some.",
        )
    sample = (
        select(query.c.id)
        .where(query.c.id.in_(asked))
        .order_by(func.sha256(literal(f"{seed}:").concat(query.c.text)), query.c.id)
        .limit(queries)
    )
    found = select(item.c.id).select_from(joined).where(item.c.kind == kind, pair.c.query_id.in_(sample))
    return list(connection.execute(found.order_by(item.c.id)).scalars())
