"""Where a review goes on: the queue of the session that was left, taken anew, at the item it ended on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from screens.judging.order import ReviewOrder
from screens.queue.asked import Asked
from store.queries.item import has_item
from store.queries.progress_delta import open_among, skipped_in_order
from store.queries.queue import queue_ids
from store.queries.rows import QueueFilter
from store.scope import Scope
from store.workspace import Workspace


def resumed_item(workspace: Workspace, scope: Scope, session: Mapping[str, Any], asked: Asked) -> int | None:
    """Return the item at which a session goes on; None in an empty workspace.

    It is the item at which the session ended, if that is still open or has a draft, else the next open one
    of the same queue, else the first open one of all, else again the one at which it ended.

    Args:
        workspace: The open workspace.
        scope: Whose session.
        session: What was kept of it.
        asked: The queue that it was in.
    """
    item = session.get("item")
    kept = item if isinstance(item, int) else None
    following = [number for number in _listed(session.get("following")) if isinstance(number, int)]
    with workspace.reading() as connection:
        if kept is not None and not has_item(connection, kept):
            kept = None
        near = open_among(connection, scope, [*([kept] if kept is not None else []), *following])
    if kept is not None and (kept in near or not scope.rater_id or _has_draft(session, kept)):
        return kept
    if kept is not None and (following_open := [number for number in following if number in near]):
        return following_open[0]
    status = asked.wanted.status
    queues = [replace(asked, wanted=replace(asked.wanted, status="open"))] if status in (None, "open") else []
    for each in (*queues, Asked(QueueFilter(status="open")), Asked(QueueFilter(status="skipped"))):
        first = queue_ids(workspace, scope, each.wanted, each.sort, limit=1)
        if len(first):
            return int(first[0])
    if kept is None:
        first = queue_ids(workspace, scope, limit=1)
        return int(first[0]) if len(first) else None
    return kept


def restored_order(
    workspace: Workspace, scope: Scope, session: Mapping[str, Any]
) -> tuple[Asked, ReviewOrder]:
    """Return the queue in which a session goes on and its order, at the item; for a thread.

    An item that the queue lists no more is put back where it stood; where the session goes on with an item
    of another queue, all items are listed.

    Args:
        workspace: The open workspace.
        scope: Whose session.
        session: What was kept of it.
    """
    asked = Asked.of(session.get("queue"), blind=scope.blind)
    item = resumed_item(workspace, scope, session, asked)
    ids: list[int] = queue_ids(workspace, scope, asked.wanted, asked.sort).tolist()
    if item is not None and item not in ids and item != session.get("item"):
        asked = Asked()
        ids = queue_ids(workspace, scope, asked.wanted, asked.sort).tolist()
    with workspace.reading() as connection:
        # What was put off comes again last, in this session too.
        skipped = skipped_in_order(connection, scope)
    if skipped:
        listed = set(ids)
        skipped = [number for number in skipped if number in listed]
    if item is None:
        return asked, ReviewOrder(ids, 0, skipped)
    if item not in ids:
        ids.insert(_place_before(ids, session.get("following")), item)
    return asked, ReviewOrder(ids, ids.index(item), skipped)


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
