"""A list of lines with a cursor, of which only those on the screen are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from screens.widgets.cursor_lines import CURSOR


class RowList(ScrollView, can_focus=False, inherit_bindings=False):
    """Shows lines, one for each row.

    Attributes:
        is_active: Whether the cursor is shown.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"row-list--cursor"}
    DEFAULT_CSS = """
    RowList { height: 1fr; }
    RowList > .row-list--cursor { color: $text-accent; text-style: bold; }
    """

    class Clicked(Message):
        """A row was clicked."""

        def __init__(self, rows: RowList, row: int) -> None:
            super().__init__()
            self.rows = rows
            self.row = row

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.cursor = 0
        self.is_active = True
        self._count = 0
        self._line: Callable[[int, int], str] = lambda row, cells: ""

    def show_rows(self, count: int, line: Callable[[int, int], str]) -> None:
        """Show other rows.

        Args:
            line: Gives the line of a row, in so many cells.
        """
        self._count, self._line = count, line
        self.virtual_size = Size(0, count)
        self.put_cursor(self.cursor)

    def put_cursor(self, row: int) -> None:
        """Put the cursor on a row, or on the nearest one, and show it."""
        self.cursor = min(max(row, 0), max(self._count - 1, 0))
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True)
        self.refresh()

    def move(self, rows: int) -> None:
        """Move the cursor by some rows."""
        self.put_cursor(self.cursor + rows)

    def page(self, pages: int) -> None:
        """Move the cursor by some pages."""
        self.move(pages * max(self.size.height - 1, 1))

    def jump(self, to: int) -> None:
        """Put the cursor on the first row (0) or on the last one (-1)."""
        self.put_cursor(0 if to == 0 else self._count - 1)

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self.put_cursor(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """Tell which row was clicked."""
        row = event.y + self.scroll_offset.y
        if row < self._count:
            self.post_message(self.Clicked(self, row))

    def render_line(self, y: int) -> Strip:
        """Return a line of the screen."""
        row, cells = y + self.scroll_offset.y, self.size.width
        if row >= self._count:
            return Strip.blank(cells, self.rich_style)
        here = self.is_active and row == self.cursor
        text = f"{CURSOR if here else ' '} {self._line(row, max(cells - 2, 0))}"
        style = self.get_component_rich_style("row-list--cursor") if here else self.rich_style
        return Strip([Segment(text, style)], cell_len(text)).adjust_cell_length(cells, self.rich_style)
