"""The list of items, single or in groups: any number, of which only those in sight are read and painted."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from screens.commands import bindings
from screens.threads import Soon, in_thread
from screens.widgets.item_list.columns import Cell, CellStyle, Columns, Contents, Write
from screens.widgets.item_list.lines import Lines
from screens.widgets.item_list.rows import ItemRows
from store.errors import WorkbenchError
from store.queries.rows import QueueRow

if TYPE_CHECKING:
    from screens.navigator import OpenedReview
    from store.queries.rows import Ids

PARTS: tuple[CellStyle, ...] = ("mark", "yours", "agents", "text", "muted")


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
    """Items could not be read; another order, or the same one again, tries once more."""

    error: Exception


class ItemList(ScrollView, can_focus=True):
    """One line an item or a group of items, under a heading. Items are read as they come into sight.

    The cursor is on a line; of a group it means the first item that is not judged.

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
    BINDINGS = bindings("list")

    def __init__(
        self, read: Callable[[Sequence[int]], list[QueueRow]], *, blind: bool = False, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._read = read
        self._blind = blind
        self._listed = Lines(array("q"))
        self._cursor = 0
        self._rows = ItemRows()
        self._unsaved: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
        self._contents = Contents()
        self._hidden: tuple[str, ...] = ()
        self._columns = Columns(0, blind=blind)
        self._styles: dict[tuple[CellStyle, bool], Style] = {}
        self._wanting = False
        self._changed: set[int] = set()
        self._changes = Soon(self, CHANGES_SECONDS, group="rows")

    @property
    def count(self) -> int:
        """How many items are listed."""
        return len(self._listed.ids)

    @property
    def line_count(self) -> int:
        """How many lines they take: fewer than items where these are in groups."""
        return len(self._listed)

    @property
    def ids(self) -> Ids:
        """The items in their order, an array of shape (n,)."""
        return self._listed.ids

    @property
    def cursor(self) -> int:
        """The line under the cursor, from 0."""
        return self._cursor

    @property
    def place(self) -> int:
        """The place of the item that the cursor means: of a group the first one that is not judged."""
        begin = self._listed.begin(self._cursor)
        rows = map(self._rows.get, self._items_of(self._cursor))
        return begin + next(
            (at for at, row in enumerate(rows) if row is not None and row.status == "open"), 0
        )

    @property
    def item_id(self) -> int | None:
        """The item that the cursor means, None in an empty list."""
        return int(self.ids[self.place]) if self.count else None

    def _items_of(self, line: int) -> list[int]:
        found: list[int] = self._listed.items(line, line + 1).tolist()
        return found

    @property
    def first(self) -> int:
        """The first line in sight."""
        return round(self.scroll_y)

    @property
    def lines(self) -> int:
        """How many lines are in sight at once."""
        return max(1, self.scrollable_content_region.height - 1)

    # -- listed items --------------------------------------------------------------------------------

    def row_of(self, item_id: int) -> QueueRow | None:
        """Return what was read of an item, None before it was."""
        return self._rows.get(item_id)

    def show(
        self,
        ids: Ids,
        starts: Ids | None = None,
        *,
        rows: Sequence[QueueRow] = (),
        kinds: frozenset[str] = frozenset(),
        agents: bool = False,
        afresh: bool = False,
        at: int | None = None,
    ) -> None:
        """List items. The cursor stays with its item, at the same height of the screen.

        Args:
            ids: The items in their order, of shape (n,).
            starts: The place of the first item of each line, of shape (m,); None for a line an item.
            rows: Items that were read already.
            kinds: Of which kinds they may be; empty where that is not known.
            agents: Whether agents have worked on any of them, as far as is known.
            afresh: Forget what was read of items before.
            at: The item that the cursor goes to; one that is not listed changes nothing.
        """
        at = self.item_id if at is None else at
        height = self._cursor - self.first
        self._rows.begin_order()
        if afresh:
            self._rows.forget()
        self._rows.keep(rows)
        self._listed = Lines(ids, starts)
        # A column that was there stays, so that nothing moves; of other kinds other columns are needed.
        before = (
            self._contents if kinds == self._contents.kinds else Contents(kinds).seen(self._rows.of(kinds))
        )
        self._contents = replace(before, agents=before.agents or agents).of(self._listed).seen(rows)
        self._cursor = min(self._cursor, max(0, self.line_count - 1))
        self._set_extent()
        line = self._line_of(at)
        if line is not None:
            self._cursor = line
            self.scroll_to(y=max(0, line - height), animate=False, force=True)
        self._bring_into_view()
        self.refresh()
        self._post_cursor_moved()

    def go_to(self, item_id: int) -> bool:
        """Put the cursor on the line of an item; return whether it is listed."""
        line = self._line_of(item_id)
        if line is not None:
            self.action_jump(line)
        return line is not None

    def return_from(self, review: OpenedReview | None) -> None:
        """Go to the item that was reviewed last, and read what has changed meanwhile.

        Args:
            review: The review that was opened from the list; None where none was.
        """
        if review is not None and review.nearest_item is not None:
            self.go_to(review.nearest_item)
        self.catch_up()

    def _line_of(self, item_id: int | None) -> int | None:
        if item_id is None:
            return None
        if isinstance(self.ids, array):
            # The first items of an order; a start need not import what looks through 400,000.
            return self._listed.line_of(self.ids.index(item_id)) if item_id in self.ids else None
        import numpy

        places = numpy.flatnonzero(numpy.asarray(self.ids) == item_id)
        return self._listed.line_of(int(places[0])) if len(places) else None

    # -- moving ---------------------------------------------------------------------------------------

    def action_move(self, lines: int) -> None:
        """Move the cursor by some lines."""
        self.action_jump(min(max(0, self._cursor + lines), max(0, self.line_count - 1)))

    def action_page(self, screens: int) -> None:
        """Move cursor and list by some screens."""
        if not self.count:
            return
        step = screens * max(1, self.lines - 1)
        self.scroll_to(
            y=min(max(0, self.first + step), max(0, self.line_count - self.lines)),
            animate=False,
            force=True,
            immediate=True,
        )
        self.action_move(step)

    def action_jump(self, index: int) -> None:
        """Move the cursor to a line; negative ones count from the end."""
        if not self.count:
            return
        before, self._cursor = self._cursor, index % self.line_count
        if self._bring_into_view():
            self.refresh()
            # Rows that come into sight are read while the lines are painted without them.
            self._want()
        else:
            for line in {before, self._cursor}:
                self.refresh(Region(0, 1 + line - self.first, self.size.width, 1))
        if before != self._cursor:
            self._post_cursor_moved()

    def _post_cursor_moved(self) -> None:
        item_id = self.item_id
        if item_id is not None:
            self.post_message(CursorMoved(self.place, item_id))

    def _bring_into_view(self) -> bool:
        """Scroll as little as shows the cursor; return whether anything was scrolled."""
        top = min(max(self.first, self._cursor - self.lines + 1), self._cursor)
        if top == self.first:
            return False
        self.scroll_to(y=top, animate=False, force=True, immediate=True)
        return True

    def on_click(self, event: events.Click) -> None:
        """Go to the line under the pointer; a double click chooses it."""
        line = self.first + event.y - 1
        if event.y > 0 and line < self.line_count:
            self.action_jump(line)
            if event.chain == 2:
                self.choose()

    def choose(self) -> None:
        """Choose the item that the cursor means, as Enter and a double click do."""
        item_id = self.item_id
        if item_id is not None:
            self.post_message(ItemChosen(self.place, item_id))

    def hide_columns(self, names: tuple[str, ...]) -> None:
        """Leave columns out.

        Args:
            names: The columns, of `store.queries.rows.COLUMNS`; all others are shown where they have content.
        """
        self._hidden = names
        self._set_extent()
        self.refresh()

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
        fitted = self._columns
        if (width, self._contents, self._hidden) != (fitted.width, fitted.contents, fitted.hidden):
            self._columns = Columns(width, blind=self._blind, contents=self._contents, hidden=self._hidden)
        self.virtual_size = Size(width, self.line_count + 1)

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
        line = self.first + y - 1
        if line >= self.line_count:
            return Strip.blank(width, self.rich_style)
        cursor = line == self._cursor
        segments = [Segment(text, self._style(part, cursor)) for text, part in self._cells(line, cursor)]
        return Strip(segments).adjust_cell_length(width, self._style("text", cursor))

    def _cells(self, line: int, cursor: bool) -> list[Cell]:
        item_ids = self._items_of(line)
        if any(number not in self._rows for number in item_ids):
            self._want()
        saving, failed = self._unsaved
        writes: list[Write] = [
            "failed" if number in failed else "saving" if number in saving else "none" for number in item_ids
        ]
        return self._columns.cells(
            [self._rows.get(number) for number in item_ids], cursor=cursor, writes=writes
        )

    def _style(self, part: CellStyle, cursor: bool) -> Style:
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
        if self._changed and self.screen.is_current:
            self._changes.call(self.catch_up)

    def show_unsaved(self, saving: Collection[int], failed: Collection[int]) -> None:
        """Mark the items of which something is on its way to the disk, or could not be written."""
        unsaved = frozenset(saving), frozenset(failed)
        if unsaved != self._unsaved:
            self._unsaved = unsaved
            self.refresh()

    def catch_up(self) -> None:
        """Read what has changed: at once what is in sight, the rest when it comes into sight."""
        in_sight = set(self._in_sight().tolist())
        self._rows.forget(self._changed - in_sight)
        # Rows in sight stay until they were read again, so that nothing flickers.
        wanted = tuple(self._changed & in_sight)
        self._changed.clear()
        if wanted:
            self._begin_read(wanted)

    # -- reading --------------------------------------------------------------------------------------

    def _in_sight(self) -> Ids:
        return self._listed.items(self.first, self.first + self.lines)

    def _want(self) -> None:
        """Have the missing rows read soon; painting an item that was not read asks for this."""
        if not self._wanting:
            self._wanting = True
            self.call_next(self._read_missing)

    def _read_missing(self) -> None:
        self._wanting = False
        if item_ids := self._rows.next_read(self._listed, self.first, self.lines):
            self._begin_read(item_ids)

    def _begin_read(self, item_ids: tuple[int, ...]) -> None:
        self._rows.begin_read(item_ids)
        generation = self._rows.generation
        in_thread(
            self,
            partial(self._read, item_ids),
            partial(self._rows_read, generation, item_ids),
            partial(self._not_read, generation, item_ids),
            group="rows",
            exclusive=False,
        )

    def _not_read(self, generation: int, item_ids: tuple[int, ...], error: WorkbenchError) -> None:
        if self._rows.end_read(generation, item_ids, None):
            self.post_message(ReadFailed(error))

    def _rows_read(self, generation: int, item_ids: tuple[int, ...], rows: list[QueueRow]) -> None:
        if not self._rows.end_read(generation, item_ids, rows):
            return
        contents = self._contents.seen(rows)
        if contents != self._contents:
            self._contents = contents
            self._set_extent()
            self.refresh()
        elif not set(self._in_sight().tolist()).isdisjoint(item_ids):
            self.refresh()
        if not set(self._items_of(self._cursor)).isdisjoint(item_ids):
            self._post_cursor_moved()
        self._want()
