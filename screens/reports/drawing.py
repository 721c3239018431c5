"""Draws a report as lines: tables with bars, intervals and matrices, and the cursor on a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Region

from screens.widgets.text.sanitize import one_line, shortened
from store.formatting import LEVELS, block_bar, interval_line
from store.reports.value import Cell, Page, Place, Row, Table, text_of

lines_of = partial(wrap, break_on_hyphens=False)
"""Wraps a text into lines of so many cells; names stay whole."""

GAP = 1
MOST_PLOT, WANTED_PLOT, LEAST_PLOT = 60, 24, 8
"""The most cells of what is drawn behind a row, those for which names give way, and the least."""
MOST_CAPTION = 2_000
"""Cells of a sentence of a caption."""
LEAST_NAME = 10
"""Cells that a name has at least."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A report as lines.

    Attributes:
        lines: The lines.
        cursor: Where the figure under the cursor is.
    """

    lines: list[Content]
    cursor: Region


def draw(page: Page, width: int, here: Place | None = None) -> Drawing:
    """Draw a report.

    Args:
        page: The report.
        width: The cells of a line; a matrix may be wider.
        here: The figure under the cursor; None for no cursor.
    """
    lines = [
        Content.styled(line, "$foreground-muted")
        for part in page.caption
        for line in lines_of(one_line(part, MOST_CAPTION), width) or [""]
    ]
    if page.empty:
        lines += [Content(""), *(Content(line) for line in lines_of(page.empty, width))]
    cursor = Region(0, 0, 1, 1)
    for place, table in enumerate(page.tables):
        lines.append(Content(""))
        if table.title:
            lines.append(Content.styled(one_line(table.title, width), "bold underline"))
        within = here if here is not None and here.table == place else None
        drawn, at = _table(table, width, within)
        if at is not None:
            cursor = at.translate((0, len(lines)))
        lines += drawn
        lines += [
            Content.styled(line, "$foreground-muted")
            for note in table.notes
            for line in lines_of(note, width)
        ]
    return Drawing(lines, cursor)


def _table(table: Table, width: int, here: Place | None) -> tuple[list[Content], Region | None]:
    """Return the lines of a table, and where the figure under the cursor is."""
    draws = any(row.drawn is not None for row in table.rows)
    widths = _widths(table, width - WANTED_PLOT if draws else width)
    plot = min(width - sum(widths) - GAP * len(widths), MOST_PLOT)
    plot = plot if draws and plot >= LEAST_PLOT else 0
    lines, cursor = [_heading(table, widths, plot)], None
    for number, row in enumerate(table.rows):
        parts: list[Content | str | tuple[str, str]] = []
        at = 0
        for column, (cell, cells) in enumerate(zip(row.cells, widths, strict=True)):
            text = _text(cell, cells, left=column < table.names)
            if here is not None and (here.row, here.column) == (number, column):
                # What is above the first line is shown with it.
                top = 0 if number else -2
                cursor = Region(at, 1 + number + top, cells, 1 - top)
                inner = text.strip()
                before = len(text) - len(text.lstrip()) - 1
                parts += [" " * before, (f"[{inner}]", "bold reverse")]
                parts.append(" " * (len(text) - before - len(inner) - 2))
            else:
                parts.append((text, "bold" if column < table.names else ""))
            parts.append(" " * GAP)
            at += cells + GAP
        if plot:
            parts.append((_plot(row, table, plot), "$text-accent"))
        lines.append(Content.assemble(*parts).rstrip())
    return lines, cursor


def _heading(table: Table, widths: Sequence[int], plot: int) -> Content:
    heads = [
        f"{one_line(name, cells):<{cells}}" if column < table.names else f"{name + ' ':>{cells}}"
        for column, (name, cells) in enumerate(zip(table.columns, widths, strict=True))
    ]
    if plot and any(isinstance(row.drawn, tuple) for row in table.rows):
        low, high = (f"{end:,.0f}" if abs(end) >= 10 else f"{end:.2g}" for end in table.scale)
        heads.append(f"{low}{high:>{plot - len(low)}}")
    return Content.styled((" " * GAP).join(heads).rstrip(), "bold")


def _widths(table: Table, width: int) -> list[int]:
    """Return the cells of each column: figures have a cell at each side for the cursor."""
    found = []
    for column, name in enumerate(table.columns):
        texts = [_plain(row.cells[column]) for row in table.rows]
        inner = max((cell_len(text) for text in texts), default=0)
        found.append(max(cell_len(name) + (column >= table.names), inner + 2 * (column >= table.names)))
    for column in range(table.names):
        too_much = sum(found) + GAP * len(found) - width
        found[column] = max(min(found[column], LEAST_NAME), found[column] - max(too_much, 0))
    return found


def _plain(cell: Cell | str) -> str:
    level = cell.level if isinstance(cell, Cell) else None
    return text_of(cell) if level is None else f"{text_of(cell)} {_height(level)}"


def _height(level: float) -> str:
    return LEVELS[min(int(level * len(LEVELS)), len(LEVELS) - 1)] if level > 0 else " "


def _text(cell: Cell | str, cells: int, *, left: bool) -> str:
    text = _plain(cell)
    if left:
        text = shortened(text, cells)
        return text + " " * (cells - cell_len(text))
    return f"{text} ".rjust(cells)


def _plot(row: Row, table: Table, cells: int) -> str:
    if row.drawn is None:
        return ""
    if isinstance(row.drawn, tuple):
        return interval_line(row.drawn, *table.scale, cells, table.middle)
    return block_bar(row.drawn, cells)
