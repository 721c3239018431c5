"""Items in groups: the pairs of a query, the comparisons of a prompt. Made for 400,000 items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, column, select, table

from store.kinds.spec import task_kinds
from store.workspace.duckdb import Workspace

if TYPE_CHECKING:
    from store.queries.rows import Ids

MOST = 50
"""Items of a group that a line holds; more of them are on further lines, so that a line is read at once."""


def grouped(workspace: Workspace, ids: Ids) -> tuple[Ids, Ids]:
    """Put the items of each group together.

    A group has the place of its first item; the items in it, and those without a group, stay in their order.

    The ids are of shape (n,).

    Returns:
        The items, of shape (n,), and the place of the first item of each line, of shape (m,).
    """
    import numpy

    items = numpy.asarray(ids, dtype=numpy.int64)
    if not len(items):
        return items, items
    # Below zero: an item that is its own group.
    keys = -items
    kinds = [kind.record for kind in task_kinds().values() if kind.record.group]
    for place, record in enumerate(kinds):
        shared = next(one.table for one in record.shared if one.column == record.group)
        own = table(record.table, column("item_id", BigInteger), column(f"{shared}_id", BigInteger))
        members, groups = workspace.columns(select(*own.c).order_by(own.c.item_id))
        if len(members):
            at = numpy.searchsorted(members, items).clip(max=len(members) - 1)
            found = members[at] == items
            keys[found] = groups[at[found]] * len(kinds) + place
    _, first, group = numpy.unique(keys, return_index=True, return_inverse=True)
    order = numpy.argsort(first[group], kind="stable")
    keys = keys[order]
    begins = numpy.concatenate(([True], keys[1:] != keys[:-1]))
    places = numpy.arange(len(keys))
    since = places - numpy.maximum.accumulate(numpy.where(begins, places, 0))
    return items[order], numpy.flatnonzero(since % MOST == 0)
