"""Where a review goes on: the queue of the session that was left, taken anew, at the item it ended on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from screens.queue.asked import Asked
from screens.review.items import ReviewOrder
from store.queries.item import has_item
from store.queries.queue import queue_ids
from store.queries.rows import QueueFilter
from store.queries.standing import skipped_in_order
from store.workspace import Workspace


def restored_order(
    workspace: Workspace, rater_id: int, session: Mapping[str, Any], *, blind: bool
) -> tuple[Asked, ReviewOrder]:
    """Return the queue that a session was in and its order, at the item where it ended; for a thread.

    What the queue lists no more, such as an item of "unjudged" that has a label now, is put back where it
    stood. Without such an item the review begins with the first open one.

    Args:
        workspace: The open workspace.
        rater_id: Whose session; 0 for nobody's.
        session: What was kept of it.
        blind: Whether the agents' labels must play no part.
    """
    asked = Asked.of(session.get("queue"), blind=blind)
    ids: list[int] = queue_ids(workspace, rater_id, asked.wanted, asked.sort, blind=blind).tolist()
    kept = session.get("item")
    item = kept if isinstance(kept, int) else None
    with workspace.reading() as connection:
        known = item if item is not None and has_item(connection, item) else None
        # What was put off comes again last, in this session too.
        skipped = skipped_in_order(connection, rater_id)
    if skipped:
        listed = set(ids)
        skipped = [number for number in skipped if number in listed]
    if known is None:
        first = queue_ids(workspace, rater_id, QueueFilter(status="open"), limit=1)
        known = int(first[0]) if len(first) else None
        place = ids.index(known) if known in ids else 0
    elif known in ids:
        place = ids.index(known)
    else:
        place = _place_before(ids, session.get("following"))
        ids.insert(place, known)
    return asked, ReviewOrder(ids, place, skipped)


def _place_before(ids: list[int], following: Any) -> int:
    """Return the place of the first that is listed of the items that followed; the end without one."""
    for number in following if isinstance(following, list) else ():
        if number in ids:
            return ids.index(number)
    return len(ids)
