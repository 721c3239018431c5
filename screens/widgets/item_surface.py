"""The face of a list of items: its cursor, how it is moved, and how its lines are painted."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from screens.commands import bindings
from screens.widgets.item_columns import Cell, Columns, Part, Write
from screens.widgets.item_rows import ItemRows

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


class ItemSurface(ScrollView, can_focus=True):
    """Lines under a heading, of which only those in sight are painted; what is not read yet is asked for.

    Args:
        blind: Leave out the columns of what is the agents'.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "item-list--heading",
        "item-list--cursor",
        *(f"item-list--{name}" for name in PARTS),
    }
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("list"))

    def __init__(self, *, blind: bool = False, id: str | None = None) -> None:
        super().__init__(id=id)
        self._blind = blind
        self._ids: Ids = array("q")
        self._cursor = 0
        self._rows = ItemRows()
        self._unsaved: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
        self._kinds: frozenset[str] = frozenset()
        self._columns = Columns(0, blind=blind)
        self._styles: dict[tuple[Part, bool], Style] = {}

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

    def _want(self) -> None:
        """Take note that a line in sight was not read yet."""

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
            # What comes into sight is read while the lines are painted without it.
            self._want()
        else:
            for place in {before, self._cursor}:
                self.refresh(Region(0, 1 + place - self.first, self.size.width, 1))
        if before != self._cursor:
            self._say_moved()

    def _say_moved(self) -> None:
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
