"""Finding the next item to judge, in the order of a review and beyond it."""

from __future__ import annotations

from collections.abc import Iterable

from store.queries.progress_delta import open_among
from store.queries.queue import queue_ids
from store.queries.rows import QueueFilter
from store.scope import Scope
from store.workspace import Workspace

NEAR = 256
"""Items further on that are looked through before the whole queue is."""


def next_open(
    workspace: Workspace, scope: Scope, ids: list[int], index: int, *, unsaved: Iterable[int]
) -> int | None:
    """Return the next place with an item to judge, after the last from the top; None without one.

    Args:
        workspace: The open workspace.
        scope: Who judges.
        ids: The items in their order.
        index: The place after which is looked.
        unsaved: Items of which something is on its way to the disk.
    """
    import numpy

    waiting = set(unsaved)
    near = ids[index + 1 : index + 1 + NEAR]
    with workspace.reading() as connection:
        found = open_among(connection, scope, near) - waiting
    for place, item_id in enumerate(near, start=index + 1):
        if item_id in found:
            return place
    parts = [queue_ids(workspace, scope, QueueFilter(status=status)) for status in ("open", "skipped")]
    open_ids = numpy.setdiff1d(numpy.concatenate(parts), numpy.fromiter(waiting, dtype=numpy.int64))
    places = numpy.flatnonzero(numpy.isin(numpy.asarray(ids), open_ids))
    places = places[places != index]
    if not len(places):
        return None
    later = places[places > index]
    return int(later[0] if len(later) else places[0])
