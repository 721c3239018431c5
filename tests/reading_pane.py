"""An app with one text pane, and how its rows are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.cells import cell_len
from settling import settled
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.widgets.text.view import SearchMoved, TextPane


class Reading(App[None]):
    """One pane, and what it says."""

    CSS_PATH = WorkbenchApp.CSS_PATH
    BINDINGS: ClassVar[list[BindingType]] = [Binding("a", "judge", "accept")]

    def __init__(self, load: Callable[[TextPane], None] | None = None) -> None:
        super().__init__()
        self.load = load
        self.moves: list[tuple[int, int, bool]] = []
        self.judged = 0

    def compose(self) -> ComposeResult:
        pane = TextPane()
        if self.load is not None:
            self.load(pane)
        yield pane

    def on_search_moved(self, event: SearchMoved) -> None:
        self.moves.append((event.current, event.total, event.wrapped))

    def action_judge(self) -> None:
        self.judged += 1

    @property
    def pane(self) -> TextPane:
        return self.query_one(TextPane)


async def quiet(pilot: Pilot[None]) -> None:
    """Wait until colours, layout and searches are done and painted."""
    # Textual's wait for workers fails where one is cancelled meanwhile, as the next search cancels the last.
    await settled(pilot.app)


def rows(pane: TextPane) -> list[str]:
    """Return the rows inside the border, as painted."""
    width, height = pane.outer_size
    strips = pane.render_lines(Region(0, 0, width, height))
    assert all(cell_len(strip.text) == width for strip in strips)
    left, right = pane.styles.gutter.left, pane.styles.gutter.right
    return [strip.crop(left, width - right).text for strip in strips[1:-1]]


def texts(pane: TextPane) -> list[str]:
    """Return what the rows show of the text, without gutter and blanks at the end."""
    number = max(2, len(str(pane.line_count))) + 2 if pane.numbers and pane.text else 0
    return [row[number:].rstrip(" ") for row in rows(pane)]


def styles_of(pane: TextPane, row: int, text: str) -> list[object]:
    """Return the styles of a stretch of a row that is painted as one."""
    strip = pane.render_lines(Region(0, row + 1, pane.outer_size.width, 1))[0]
    return [segment.style for segment in strip if segment.text == text]
