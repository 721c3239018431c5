"""The items of a review in their frozen order, read ahead so that the next one is there at once."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select

from screens.items.views import Ask, ItemView, review_parts
from screens.widgets.markdown_text import breaks_of, rendered
from store.errors import UnknownName
from store.kinds.protocol import task_kinds
from store.queries.due import due_questions
from store.raters import ensure_questions
from store.tables.columns import table_of
from store.tables.imported import Item
from store.workspace import Workspace

KEPT = 24
"""How many laid-out items are kept; the neighbours of the one shown are always among them."""

RENDERED_AHEAD = 20_000
"""Characters of a Markdown text up to which it is rendered with the reading of its item."""

_TRIES = 3


@dataclass(frozen=True, slots=True, eq=False)
class OrderPlace:
    """A place in the order of a review, as it was when the review went there.

    Attributes:
        item_id: The item at that place.
        number: Its number in the queue, from 1; that of its first time where it comes again.
        total: How many items the queue lists.
        again: Whether the item was put off and has come back.
    """

    item_id: int
    number: int
    total: int
    again: bool


class ReviewOrder:
    """Which items are reviewed, in which order, and which one is shown.

    The order is that of the queue at the moment it was opened; an item that is skipped comes again last.

    Args:
        ids: The items in their order, each once.
        index: Which place is shown.
        again: Items of these that come again at the end.
    """

    def __init__(self, ids: Sequence[int], index: int = 0, again: Sequence[int] = ()) -> None:
        self.ids = [*ids, *again]
        self.total = len(ids)
        """How many items there are; what comes again is no further item."""
        self.index = min(max(0, index), max(0, len(self.ids) - 1))

    @property
    def item_id(self) -> int | None:
        """The item shown, None at the end and when there are no items."""
        return self.ids[self.index] if self.index < len(self.ids) else None

    @property
    def at_end(self) -> bool:
        """Whether the review has gone past the last item."""
        return bool(self.ids) and self.index >= len(self.ids)

    @property
    def nearest(self) -> int | None:
        """The item shown, at the end the last one."""
        return self.ids[min(self.index, len(self.ids) - 1)] if self.ids else None

    @property
    def place(self) -> OrderPlace | None:
        """The place of the item shown, None at the end and when there are no items."""
        item_id = self.item_id
        if item_id is None:
            return None
        again = self.index >= self.total
        number = 1 + (self.ids.index(item_id) if again else self.index)
        return OrderPlace(item_id, number, self.total, again)

    def at(self, offset: int) -> int | None:
        """Return the item `offset` places further on, None beyond an end."""
        place = self.index + offset
        return self.ids[place] if 0 <= place < len(self.ids) else None

    def move(self, offset: int) -> bool:
        """Move on, from the last item to the end; return whether there was a place."""
        if not self.ids or not 0 <= self.index + offset <= len(self.ids):
            return False
        self.index += offset
        return True

    def end(self) -> None:
        """Go past the last item."""
        self.index = len(self.ids)

    def put_last(self, item_id: int) -> None:
        """Let an item come again at the end."""
        if self.ids and self.ids[-1] != item_id:
            self.ids.append(item_id)

    def take_last_away(self, item_id: int) -> None:
        """Undo `put_last`, unless the item is the one shown there."""
        last = len(self.ids) - 1
        if last >= self.total and self.ids[last] == item_id and self.index != last:
            self.ids.pop()
            self.index = min(self.index, len(self.ids))

    def go_to(self, item_id: int) -> None:
        """Show an item, at the nearest of its places.

        One that is not listed is put before the one shown, or before all that come again.
        """
        if self.item_id == item_id:
            return
        if self.at(-1) == item_id:
            # What an undo takes back is nearly always the item before.
            self.index -= 1
        elif item_id in self.ids:
            places = (place for place, listed in enumerate(self.ids) if listed == item_id)
            self.index = min(places, key=lambda place: abs(place - self.index))
        else:
            self.index = min(self.index, self.total)
            self.ids.insert(self.index, item_id)
            self.total += 1


class ItemReader:
    """Reads and lays out items, and keeps the latest; safe to call from thread workers."""

    def __init__(self, workspace: Workspace, rater_id: int, *, blind: bool) -> None:
        self._workspace = workspace
        self._rater_id = rater_id
        self._blind = blind
        self._kept: OrderedDict[int, ItemView] = OrderedDict()
        # How often each item changed: what was read before a change must not be kept after it.
        self._changes: Counter[int] = Counter()

    def kept(self, item_id: int) -> ItemView | None:
        """Return an item that is kept, without reading."""
        return self._kept.get(item_id)

    def read(self, item_id: int) -> ItemView:
        """Read an item from the workspace and keep it.

        Raises:
            UnknownName: There is no such item, or nothing that shows its kind is installed.
        """
        for _ in range(_TRIES):
            before = self._changes[item_id]
            view = self._load(item_id)
            if self._changes[item_id] == before:
                self._keep(view)
                break
        return view

    def _load(self, item_id: int) -> ItemView:
        item = table_of(Item)
        with self._workspace.reading() as connection:
            kind = connection.execute(select(item.c.kind).where(item.c.id == item_id)).scalar()
            part = review_parts().get(kind or "")
            if part is None:
                raise UnknownName(
                    "Cannot show item",
                    f"Nothing installed shows items of kind {kind!r}.",
                    "See `workbench doctor`.",
                )
            view = part.load(connection, item_id, self._rater_id, self._blind)
            lacking = any(ask.question_id is None for ask in view.asks) and self._rater_id
            due = due_questions(connection, task_kinds()[view.kind], item_id) if lacking else ()
        if due:
            # Not by their names on the screen, which may have to hide whose response it is.
            keys = ensure_questions(self._workspace, task_kinds()[view.kind], due)
            with self._workspace.reading() as connection:
                view = part.load(connection, item_id, self._rater_id, self._blind)
            view = replace(view, asks=tuple(_with_key(ask, keys) for ask in view.asks))
        for pane in (view.subject, *view.case):
            if pane.kind == "markdown" and len(pane.text) <= RENDERED_AHEAD:
                # The panes find it ready; longer texts would keep the item from the screen.
                rendered(pane.text, breaks_of(pane.text, pane.spans))
        return view

    def _keep(self, view: ItemView) -> None:
        self._kept[view.item_id] = view
        self._kept.move_to_end(view.item_id)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def forget(self, item_id: int) -> None:
        """Drop an item of which something was recorded."""
        self._changes[item_id] += 1
        self._kept.pop(item_id, None)


def _with_key(ask: Ask, keys: Mapping[str, int]) -> Ask:
    """Return a question with its key, where its part of the screen did not look it up."""
    return ask if ask.question_id is not None else replace(ask, question_id=keys.get(ask.spec.name))
