"""Reads the order of a queue, and keeps between sessions which one it was. Called in threads."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from screens.queue.fields import ORDERS, fields
from screens.widgets.item_rows import AT_ONCE
from store.queries.queue import queue_ids, queue_rows
from store.queries.rows import QueueFilter, QueueRow, QueueSort
from store.session import load_session, save_session
from store.tables.columns import table_of
from store.tables.imported import Item
from store.workspace import Workspace

if TYPE_CHECKING:
    from store.queries.rows import Ids

SESSION = "queue"


@dataclass(frozen=True, slots=True)
class Asked:
    """Which queue is asked for.

    Attributes:
        wanted: Which items.
        sort: In which order.
    """

    wanted: QueueFilter
    sort: QueueSort

    @property
    def begins_quickly(self) -> bool:
        """Whether the first items are found without looking at all of them."""
        return not self.wanted.text and self.sort.key == "position"


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of a queue.

    Attributes:
        ids: The items in their order, of shape (n,); only the first ones when not `complete`.
        complete: Whether these are all.
        rows: The first lines.
        total: How many items the workspace holds; None when they were not counted yet.
    """

    ids: Ids
    complete: bool
    rows: tuple[QueueRow, ...] = ()
    total: int | None = None


class QueueOrders:
    """Reads orders for one rater.

    Args:
        workspace: The open workspace.
        rater_id: Whose labels count; 0 for nobody's.
        blind: Whether the agents' labels must play no part.
    """

    def __init__(self, workspace: Workspace, rater_id: int, *, blind: bool) -> None:
        self._workspace = workspace
        self._rater_id = rater_id
        self._blind = blind

    def first(self, asked: Asked) -> Found:
        """Return the first items of a queue with their lines."""
        ids = self._ids(asked, AT_ONCE)
        return Found(ids, complete=len(ids) < AT_ONCE, rows=tuple(self.rows(ids.tolist())))

    def all(self, asked: Asked) -> Found:
        """Return the items of a queue, and how many the workspace holds."""
        return Found(self._ids(asked), complete=True, total=self.total())

    def count(self, wanted: QueueFilter) -> int:
        """Return how many items a filter lets through."""
        return len(self._ids(Asked(wanted, QueueSort())))

    def total(self) -> int:
        """Return how many items the workspace holds."""
        with self._workspace.reading() as connection:
            return int(connection.execute(select(func.count()).select_from(table_of(Item))).scalar_one())

    def rows(self, item_ids: list[int] | tuple[int, ...]) -> list[QueueRow]:
        """Return the lines of some items."""
        return queue_rows(self._workspace, self._rater_id, item_ids, blind=self._blind)

    def _ids(self, asked: Asked, limit: int | None = None) -> Ids:
        return queue_ids(
            self._workspace, self._rater_id, asked.wanted, asked.sort, blind=self._blind, limit=limit
        )

    def kept(self) -> tuple[Asked, int | None]:
        """Return the queue of the session before, and the item that was under the cursor."""
        value = load_session(self._workspace, self._rater_id, SESSION) if self._rater_id else {}
        item = value.get("item")
        asked = Asked(
            _filter_of(value.get("filter"), blind=self._blind), _sort_of(value.get("sort"), self._blind)
        )
        return asked, item if isinstance(item, int) else None

    def keep(self, asked: Asked, item_id: int | None) -> None:
        """Keep a queue for the next session, through the write lane."""
        if self._rater_id:
            value = {"filter": asdict(asked.wanted), "sort": asdict(asked.sort), "item": item_id}
            save_session(self._workspace, self._rater_id, SESSION, value)


def _filter_of(value: Any, *, blind: bool) -> QueueFilter:
    """Return a kept filter without what this version does not know and what a blind queue must not ask."""
    if not isinstance(value, dict):
        return QueueFilter()
    known = {
        field.name: value[field.name]
        for field in fields(blind=blind)
        if any(choice.value == value.get(field.name) for choice in field.choices[1:])
    }
    text = value.get("text")
    return QueueFilter(**known, text=text if isinstance(text, str) else "")


def _sort_of(value: Any, blind: bool) -> QueueSort:
    known = {order.key: order for order in ORDERS}
    if not isinstance(value, dict) or value.get("key") not in known or (blind and known[value["key"]].agents):
        return QueueSort()
    return QueueSort(value["key"], bool(value.get("descending")))
