"""The list of items: any number of them, of which only those in sight are ever read and painted."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from screens.commands import bindings
from screens.widgets.item_list.columns import Cell, Columns, Part, Write
from screens.widgets.item_list.rows import ItemRows
from store.errors import WorkbenchError
from store.queries.rows import QueueRow

if TYPE_CHECKING:
    from store.queries.rows import Ids

PARTS: tuple[Part, ...] = ("mark", "yours", "agents", "text", "muted")


@dataclass
class ItemChosen(Message):
    """An item was chosen to be opened.

    Attributes:
        index: Its place in the list.
        item_id: Its key.
    """

    index: int
    item_id: int


@dataclass
class CursorMoved(Message):
    """The cursor came to an item.

    Attributes:
        index: Its place in the list.
        item_id: Its key.
    """

    index: int
    item_id: int


CHANGES_SECONDS = 0.2
"""Seconds for which changed items are collected before they are read again."""


@dataclass
class ReadFailed(Message):
    """Items could not be read; another order, or the same one again, tries once more.

    Attributes:
        error: The error message.
    """

    error: Exception


@dataclass
class _RowsRead(Message):
    generation: int
    item_ids: tuple[int, ...]
    rows: list[QueueRow] | None
    error: Exception | None


class ItemList(ScrollView, can_focus=True):
    """One line an item, under a heading. The order is given; items are read as they come into sight.

    Args:
        read: Reads the rows of some items; called in threads.
        blind: Leave out the columns of what is the agents'.
    """

    DEFAULT_CSS = files(__package__ or "").joinpath("item_list.tcss").read_text(encoding="utf-8")
    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "item-list--heading",
        "item-list--cursor",
        *(f"item-list--{name}" for name in PARTS),
    }
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("list"))

    def __init__(
        self, read: Callable[[Sequence[int]], list[QueueRow]], *, blind: bool = False, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._read = read
        self._blind = blind
        self._ids: Ids = array("q")
        self._cursor = 0
        self._rows = ItemRows()
        self._unsaved: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
        self._kinds: frozenset[str] = frozenset()
        self._columns = Columns(0, blind=blind)
        self._styles: dict[tuple[Part, bool], Style] = {}
        self._wanting = False
        self._changed: set[int] = set()
        self._changes_due = False

    @property
    def count(self) -> int:
        """How many items are listed."""
        return len(self._ids)

    @property
    def ids(self) -> Ids:
        """The items in their order, an array of shape (n,)."""
        return self._ids

    @property
    def cursor(self) -> int:
        """The place of the item under the cursor, from 0."""
        return self._cursor

    @property
    def item_id(self) -> int | None:
        """The item under the cursor, None in an empty list."""
        return int(self._ids[self._cursor]) if self.count else None

    @property
    def first(self) -> int:
        """The place of the item on the first line."""
        return round(self.scroll_y)

    @property
    def lines(self) -> int:
        """How many items are in sight at once."""
        return max(1, self.scrollable_content_region.height - 1)

    # -- listed items --------------------------------------------------------------------------------

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
        self._post_cursor_moved()

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

    # -- moving ---------------------------------------------------------------------------------------

    def action_move(self, lines: int) -> None:
        """Move the cursor by some lines."""
        self.action_jump(min(max(0, self._cursor + lines), max(0, self.count - 1)))

    def action_page(self, screens: int) -> None:
        """Move cursor and list by some screens."""
        if not self.count:
            return
        step = screens * max(1, self.lines - 1)
        self.scroll_to(
            y=min(max(0, self.first + step), max(0, self.count - self.lines)),
            animate=False,
            force=True,
            immediate=True,
        )
        self.action_move(step)

    def action_jump(self, index: int) -> None:
        """Move the cursor to a place; negative ones count from the end."""
        if not self.count:
            return
        before, self._cursor = self._cursor, index % self.count
        if self._bring_into_view():
            self.refresh()
            # Rows that come into sight are read while the lines are painted without them.
            self._want()
        else:
            for place in {before, self._cursor}:
                self.refresh(Region(0, 1 + place - self.first, self.size.width, 1))
        if before != self._cursor:
            self._post_cursor_moved()

    def _post_cursor_moved(self) -> None:
        item_id = self.item_id
        if item_id is not None:
            self.post_message(CursorMoved(self._cursor, item_id))

    def _bring_into_view(self) -> bool:
        """Scroll as little as shows the cursor; return whether anything was scrolled."""
        top = min(max(self.first, self._cursor - self.lines + 1), self._cursor)
        if top == self.first:
            return False
        self.scroll_to(y=top, animate=False, force=True, immediate=True)
        return True

    def on_click(self, event: events.Click) -> None:
        """Go to the item under the pointer; a double click chooses it."""
        place = self.first + event.y - 1
        if event.y > 0 and place < self.count:
            self.action_jump(place)
            if event.chain == 2:
                self.choose()

    def choose(self) -> None:
        """Choose the item under the cursor, as Enter and a double click do."""
        item_id = self.item_id
        if item_id is not None:
            self.post_message(ItemChosen(self._cursor, item_id))

    # -- painting -------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Fit the columns to the width, and keep the cursor in sight."""
        self._set_extent()
        self._bring_into_view()

    def notify_style_update(self) -> None:
        """Take up the new theme."""
        super().notify_style_update()
        self._styles.clear()

    def _set_extent(self) -> None:
        width = self.scrollable_content_region.width
        if (width, self._kinds) != (self._columns.width, self._columns.kinds):
            self._columns = Columns(width, blind=self._blind, kinds=self._kinds)
        self.virtual_size = Size(width, self.count + 1)

    def render_line(self, y: int) -> Strip:
        """Paint one line.

        Args:
            y: The line of the screen, from 0: the heading, then items.

        Returns:
            A strip as wide as the list.
        """
        width = self.size.width
        if y == 0:
            style = self.rich_style + self.get_component_rich_style("item-list--heading")
            return Strip([Segment(self._columns.heading(), style)]).adjust_cell_length(width, self.rich_style)
        place = self.first + y - 1
        if place >= self.count:
            return Strip.blank(width, self.rich_style)
        cursor = place == self._cursor
        segments = [Segment(text, self._style(part, cursor)) for text, part in self._cells(place, cursor)]
        return Strip(segments).adjust_cell_length(width, self._style("text", cursor))

    def _cells(self, place: int, cursor: bool) -> list[Cell]:
        item_id = int(self._ids[place])
        row = self._rows.get(item_id)
        if row is None:
            if item_id not in self._rows:
                self._want()
            return self._columns.blank(cursor=cursor)
        saving, failed = self._unsaved
        write: Write = "failed" if item_id in failed else "saving" if item_id in saving else "none"
        return self._columns.cells(row, cursor=cursor, write=write)

    def _style(self, part: Part, cursor: bool) -> Style:
        style = self._styles.get((part, cursor))
        if style is None:
            style = self.rich_style + self.get_component_rich_style(f"item-list--{part}")
            if cursor:
                under = self.get_component_rich_style("item-list--cursor")
                style += Style(bgcolor=under.bgcolor, bold=under.bold, reverse=under.reverse)
            self._styles[part, cursor] = style
        return style

    # -- changed items -------------------------------------------------------------------------------

    def items_changed(self, item_ids: Collection[int]) -> None:
        """Read items again, soon and together, where they were read before.

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

    def catch_up(self) -> None:
        """Read what has changed: at once what is in sight, the rest when it comes into sight."""
        self._changes_due = False
        in_sight = set(self._in_sight().tolist())
        self._rows.forget(self._changed - in_sight)
        # Rows in sight stay until they were read again, so that nothing flickers.
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
            self._post_cursor_moved()
        self._want()
