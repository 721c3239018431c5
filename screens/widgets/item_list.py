"""The list of items: any number of them, of which only those in sight are ever read and painted."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message

from screens.widgets.item_surface import CursorMoved, ItemChosen, ItemSurface
from store.errors import WorkbenchError
from store.queries.rows import QueueRow

if TYPE_CHECKING:
    from store.queries.rows import Ids

__all__ = ["CursorMoved", "ItemChosen", "ItemList", "ReadFailed"]

CHANGES_SECONDS = 0.2
"""How long changed items are gathered before they are read anew."""


@dataclass
class ReadFailed(Message):
    """Items could not be read; `ItemList.read_again` tries once more.

    Attributes:
        error: What went wrong.
    """

    error: Exception


@dataclass
class _RowsRead(Message):
    generation: int
    item_ids: tuple[int, ...]
    rows: list[QueueRow] | None
    error: Exception | None


class ItemList(ItemSurface):
    """One line an item, under a heading. The order is given; items are read as they come into sight.

    Args:
        read: Reads the rows of some items; called in threads.
        blind: Leave out the columns of what is the agents'.
    """

    DEFAULT_CSS = files(__package__ or "").joinpath("item_list.tcss").read_text(encoding="utf-8")

    def __init__(
        self,
        read: Callable[[Sequence[int]], list[QueueRow]],
        *,
        blind: bool = False,
        id: str | None = None,
    ) -> None:
        super().__init__(blind=blind, id=id)
        self._read = read
        self._wanting = False
        self._changed: set[int] = set()
        self._changes_due = False

    # -- what is listed -------------------------------------------------------------------------------

    def row_of(self, item_id: int) -> QueueRow | None:
        """Return what was read of an item, None before it was."""
        return self._rows.get(item_id)

    def show(
        self,
        ids: Ids,
        *,
        rows: Sequence[QueueRow] = (),
        kinds: frozenset[str] = frozenset(),
        afresh: bool = False,
        at: int | None = None,
    ) -> None:
        """List items. The cursor stays with its item, at the same height of the screen.

        Args:
            ids: The items in their order, of shape (n,).
            rows: Items that were read already.
            kinds: Of which kinds they may be; empty where that is not known.
            afresh: Forget what was read of items before.
            at: The item that the cursor goes to; one that is not listed changes nothing.
        """
        at = self.item_id if at is None else at
        height = self._cursor - self.first
        self._rows.begin_order()
        if afresh:
            self._rows.forget()
        self._rows.keep(rows)
        self._ids, self._kinds = ids, kinds
        self._cursor = min(self._cursor, max(0, self.count - 1))
        self._set_extent()
        place = self._place_of(at)
        if place is not None:
            self._cursor = place
            self.scroll_to(y=max(0, place - height), animate=False, force=True)
        self._bring_into_view()
        self.refresh()
        self._say_moved()

    def go_to(self, item_id: int) -> bool:
        """Put the cursor on an item; return whether it is listed."""
        place = self._place_of(item_id)
        if place is not None:
            self.action_jump(place)
        return place is not None

    def _place_of(self, item_id: int | None) -> int | None:
        if item_id is None:
            return None
        if isinstance(self._ids, array):
            # The first items of an order; a start need not import what looks through 400,000.
            return self._ids.index(item_id) if item_id in self._ids else None
        import numpy

        places = numpy.flatnonzero(numpy.asarray(self._ids) == item_id)
        return int(places[0]) if len(places) else None

    # -- what changes ---------------------------------------------------------------------------------

    def items_changed(self, item_ids: Collection[int]) -> None:
        """Read items anew, soon and together, where they were read before.

        While another screen lies over the list nothing is read; `catch_up` does it then.
        """
        self._changed.update(number for number in item_ids if number in self._rows)
        if self._changed and not self._changes_due and self.screen.is_current:
            self._changes_due = True
            self.set_timer(CHANGES_SECONDS, self.catch_up)

    def show_unsaved(self, saving: Collection[int], failed: Collection[int]) -> None:
        """Mark the items of which something is on its way to the disk, or could not be written."""
        unsaved = frozenset(saving), frozenset(failed)
        if unsaved != self._unsaved:
            self._unsaved = unsaved
            self.refresh()

    def read_again(self) -> None:
        """Try once more to read what could not be read."""
        self._rows.failed = False
        self.refresh()

    def catch_up(self) -> None:
        """Read what has changed: at once what is in sight, the rest when it comes into sight."""
        self._changes_due = False
        in_sight = set(self._in_sight().tolist())
        self._rows.forget(self._changed - in_sight)
        # What is in sight stays as it is until it was read anew, so that nothing flickers.
        wanted = tuple(self._changed & in_sight)
        self._changed.clear()
        if wanted:
            self._begin_read(wanted)

    # -- reading --------------------------------------------------------------------------------------

    def _in_sight(self) -> Ids:
        return self._ids[self.first : self.first + self.lines]

    def _want(self) -> None:
        """Have the missing rows read soon; painting an item that was not read asks for this."""
        if not self._wanting:
            self._wanting = True
            self.call_next(self._read_missing)

    def _read_missing(self) -> None:
        self._wanting = False
        if item_ids := self._rows.next_read(self._ids, self.first, self.lines):
            self._begin_read(item_ids)

    def _begin_read(self, item_ids: tuple[int, ...]) -> None:
        self._rows.begin_read(item_ids)
        self.run_worker(partial(self._read_rows, self._rows.generation, item_ids), thread=True, group="rows")

    def _read_rows(self, generation: int, item_ids: tuple[int, ...]) -> None:
        rows: list[QueueRow] | None = None
        error: Exception | None = None
        try:
            rows = self._read(item_ids)
        except WorkbenchError as failure:
            error = failure
        self.post_message(_RowsRead(generation, item_ids, rows, error))

    @on(_RowsRead)
    def _rows_read(self, message: _RowsRead) -> None:
        message.stop()
        if not self._rows.end_read(message.generation, message.item_ids, message.rows):
            return
        if message.error is not None:
            self.post_message(ReadFailed(message.error))
            return
        if not set(self._in_sight().tolist()).isdisjoint(message.item_ids):
            self.refresh()
        if self.item_id in message.item_ids:
            self._say_moved()
        self._want()
