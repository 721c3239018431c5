"""A panel of Home: lines of figures, with a cursor on those that open something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.widgets.cursor_lines import CURSOR
from store.queries.rows import QueueFilter

TALL = 36
"""Lines of a terminal from which the guide of the question that is next may have room."""

Opens = QueueFilter | str | Callable[[], None]
"""The target of a figure: items of the queue, the id of a command, or a function to call."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line.

    Attributes:
        opens: What Enter opens on it; None for nothing.
        key: Its name, by which the cursor stays on it when the numbers change.
    """

    text: Content
    opens: Opens | None = None
    key: str = ""


Line = Sequence[Piece]


def plain(text: str, style: str = "") -> Piece:
    """Return a piece of a line that opens nothing."""
    return Piece(Content.styled(text, style) if style else Content(text))


class Panel(Static):
    """Lines of figures in a box; one line without a box where there is little room.

    Args:
        name: Its id.
        make: Returns its lines for so many cells, the second argument being whether only one is wanted.

    Attributes:
        cursor: The name of the figure under the cursor, which may be in another panel.
    """

    DEFAULT_CSS = """
    Panel {
        height: auto;
        padding: 0 1;
        border: round $foreground 30%;
        border-title-color: $foreground;
        &.-short { border: none; padding: 0 1; }
    }
    """

    class Chosen(Message):
        """A figure was clicked."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, name: str, title: str, make: Callable[[int, bool], Sequence[Line]]) -> None:
        super().__init__(id=name)
        self.border_title = title
        self._make = make
        self.lines: Sequence[Line] = ()
        self.cursor = ""

    @property
    def figures(self) -> list[Piece]:
        """The pieces that open something, in the order in which they are read."""
        return [piece for line in self.lines for piece in line if piece.opens is not None]

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self.show(self.cursor)

    def show(self, cursor: str) -> None:
        """Read the lines again and draw them.

        Args:
            cursor: The name of the figure under the cursor, which may be in another panel.
        """
        self.cursor = cursor
        width = self.content_size.width or max(20, self.app.size.width // 2 - 6)
        self.lines = self._make(width, self.has_class("-short"))
        self.display = bool(self.lines)
        self._level()
        drawn = (Content("").join(map(self._drawn, line)) for line in self.lines)
        self.update(Content("\n").join(drawn))

    def _level(self) -> None:
        """Make the panels of a row as high as the highest of them."""
        row = [each for each in self.parent.children if isinstance(each, Panel)] if self.parent else []
        lines = 0 if self.has_class("-short") else max((len(each.lines) for each in row), default=0) + 2
        for each in row:
            each.styles.min_height = lines or None

    def _drawn(self, piece: Piece) -> Content:
        """Return a piece with the cell before it in which the cursor is drawn, where it opens something."""
        if piece.opens is None:
            return piece.text
        if piece.key == self.cursor:
            return Content.assemble((CURSOR, "bold $text-accent"), (piece.text.plain, "reverse"))
        return Content(" ") + piece.text

    def on_click(self, event: events.Click) -> None:
        """Open the figure that was clicked."""
        place = event.get_content_offset(self)
        if place is None or place.y >= len(self.lines):
            return
        left = 0
        for piece in self.lines[place.y]:
            cells = cell_len(piece.text.plain) + (piece.opens is not None)
            if left <= place.x < left + cells and piece.opens is not None:
                self.post_message(self.Chosen(piece.key))
            left += cells
