"""How the items of a kind with a table of its own are listed and searched."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Double, Select, Table, cast, func, null, or_, select

from store.tables.columns import among


def summary_of(
    table: Table,
    title: ColumnElement[str],
    detail: ColumnElement[str],
    item_ids: Collection[int] | None,
) -> Select[Any]:
    """Return a select of (item_id, title, detail, rank, similarity), the last two of which are none.

    Args:
        table: The kind's table.
        title: What a queue shows of an item.
        detail: What it shows beside that.
        item_ids: Of which items; None for all.
    """
    listed = select(
        table.c.item_id,
        title.label("title"),
        detail.label("detail"),
        cast(null(), BigInteger).label("rank"),
        cast(null(), Double).label("similarity"),
    )
    return listed if item_ids is None else listed.where(among(table.c.item_id, item_ids))


def texts_of(table: Table, names: Mapping[str, str], item_ids: Collection[int]) -> Select[Any]:
    """Return a select of (item_id, ...) with columns of some items.

    Args:
        table: The kind's table.
        names: What programs know a column by, by the column's name.
        item_ids: Of which items.
    """
    columns = [table.c[column].label(name) for column, name in names.items()]
    return select(table.c.item_id, *columns).where(among(table.c.item_id, item_ids))


def containing_of(table: Table, columns: Collection[str], text: str) -> Select[Any]:
    """Return a select of the ids of the items of which one column contains a text, in any case.

    Args:
        table: The kind's table.
        columns: Where it is looked for.
        text: The text; nothing in it is a wildcard.
    """
    holds = (func.strpos(func.lower(table.c[name]), func.lower(text)) > 0 for name in columns)
    return select(table.c.item_id).where(or_(*holds))
