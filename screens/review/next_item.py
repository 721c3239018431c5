"""The item a review goes to: the next open one, and the one at which a session is resumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from screens.judging.order import ReviewOrder
from screens.queue.loader import QueueLoader
from screens.queue.query import QueueQuery
from store.policy.scope import Scope
from store.queries.item import has_item
from store.queries.progress import open_among, skipped_in_order
from store.queries.queue import queue_ids
from store.queries.rows import QueueFilter, QueueSort
from store.workspace.duckdb import Workspace

NEAR = 256
"""Items further on that are looked through before the whole queue is."""


def next_open(
    workspace: Workspace, scope: Scope, ids: list[int], index: int, *, unsaved: Iterable[int]
) -> int | None:
    """Return the next place with an item to judge, after the last from the top; None without one.

    Args:
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


def resumed_item(
    workspace: Workspace, scope: Scope, session: Mapping[str, Any], query: QueueQuery
) -> int | None:
    """Return the item at which a session goes on; None in an empty workspace.

    It is the item at which the session ended, if that is still open or has a draft, else the next open one
    of the same queue, else the first open one of all, else again the one at which it ended.

    Args:
        session: Its stored state.
        query: The queue that it was in.
    """
    item = session.get("item")
    kept = item if isinstance(item, int) else None
    following = [number for number in _listed(session.get("following")) if isinstance(number, int)]
    with workspace.reading() as connection:
        if kept is not None and not has_item(connection, scope, kept):
            kept = None
        near = open_among(connection, scope, [*([kept] if kept is not None else []), *following])
    if kept is not None and (kept in near or not scope.rater_id or _has_draft(session, kept)):
        return kept
    if kept is not None and (following_open := [number for number in following if number in near]):
        return following_open[0]
    status = query.wanted.status
    queues = [replace(query, wanted=replace(query.wanted, status="open"))] if status in (None, "open") else []
    for each in (*queues, QueueQuery(QueueFilter(status="open")), QueueQuery(QueueFilter(status="skipped"))):
        first = queue_ids(workspace, scope, each.wanted, each.sort, limit=1)
        if len(first):
            return int(first[0])
    if kept is None:
        first = queue_ids(workspace, scope, limit=1)
        return int(first[0]) if len(first) else None
    return kept


def restored_order(
    workspace: Workspace, scope: Scope, session: Mapping[str, Any]
) -> tuple[QueueQuery, ReviewOrder]:
    """Return the queue in which a session goes on and its order, at the item; for a thread.

    An item that the queue lists no more is put back where it stood; where the session goes on with an item
    of another queue, all items are listed.
    """
    query = QueueQuery.of(session.get("queue"), scope)
    item = resumed_item(workspace, scope, session, query)
    loader = QueueLoader(workspace, scope)
    ids: list[int] = loader.all(query).ids.tolist()
    if item is not None and item not in ids and item != session.get("item"):
        query = QueueQuery()
        ids = loader.all(query).ids.tolist()
    with workspace.reading() as connection:
        # Skipped items come again last, in this session too.
        skipped = skipped_in_order(connection, scope)
    if skipped:
        listed = set(ids)
        skipped = [number for number in skipped if number in listed]
    if item is None:
        return query, ReviewOrder(ids, 0, skipped)
    if item not in ids:
        ids.insert(_place_before(ids, session.get("following")), item)
    place = ids.index(item)
    if skipped and query.sort == QueueSort():
        # In this order they stand at the end already, where the review comes to them.
        ahead = set(ids[place:])
        skipped = [number for number in skipped if number not in ahead]
    return query, ReviewOrder(ids, place, skipped)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _has_draft(session: Mapping[str, Any], item: int) -> bool:
    """Return whether a session left something on an item that was begun and not recorded."""
    kinds = (session.get(name) for name in ("drafts", "citations", "texts"))
    return any(isinstance(drafts, dict) and str(item) in drafts for drafts in kinds)


def _place_before(ids: list[int], following: Any) -> int:
    """Return the place of the first that is listed of the items that followed; the end without one."""
    for number in _listed(following):
        if number in ids:
            return ids.index(number)
    return len(ids)
