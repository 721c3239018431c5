"""Draws a report as lines: tables with bars, intervals and matrices, and the cursor on a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from textwrap import wrap

from rich.cells import cell_len

from screens.widgets.text.sanitize import one_line, shortened
from store.formatting import LEVELS, block_bar, interval_line, pluralize
from store.reports.value import Cell, Place, Report, Row, Table, text_of

lines_of = partial(wrap, break_on_hyphens=False)
"""Wraps a text into lines of so many cells; names stay whole."""

Line = tuple[tuple[str, str], ...]
"""A line: texts, each with its style, which is one of those below or none."""

TITLE, BOLD, MUTED, DRAWN, CURSOR = "title", "bold", "muted", "drawn", "cursor"

GAP = 1
MOST_PLOT, WANTED_PLOT, LEAST_PLOT = 60, 24, 8
"""The most cells of what is drawn behind a row, those for which names give way, and the least."""
MOST_CAPTION = 2_000
"""Cells of a sentence of a caption."""
LEAST_NAME = 10
"""Cells that a name has at least."""
MOST_ROWS = 1_000
"""Rows of a table that are drawn on the screen."""
MOST_NAME = 60
"""Cells of a name of a fact at most."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where the figure under the cursor is: its column, line, width and height in cells."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """A report as lines.

    Attributes:
        cursor: Where the figure under the cursor is.
    """

    lines: list[Line]
    cursor: Spot


def plain(line: Line) -> str:
    """Return the text of a line."""
    return "".join(text for text, _ in line)


def draw(report: Report, width: int, here: Place | None = None, most: int = MOST_ROWS) -> Drawing:
    """Draw a report.

    Args:
        width: The cells of a line; a matrix may be wider.
        here: The figure under the cursor; None for no cursor.
        most: Rows of a table; of more the first ones are drawn, and the last third.
    """
    lines: list[Line] = [*_wrapped(report.caption, width)]
    if report.empty:
        lines += [(), *(((line, ""),) for line in _said(report.empty, width))]
    cursor = Spot(0, 0, 1, 1)
    for place, table in enumerate(report.tables):
        if lines:
            lines.append(())
        lines += [((line, TITLE),) for line in lines_of(one_line(table.title, MOST_CAPTION), width)]
        within = here if here is not None and here.table == place else None
        shown, left_out = _cut(table, most)
        drawn, at = _facts(table, width) if table.is_facts else _table(shown, width, within)
        if at is not None:
            cursor = replace(at, y=at.y + len(lines))
        lines += drawn
        if left_out:
            said = f"{pluralize(left_out, 'row')} between the first and the last ones: --format csv has them."
            lines += _wrapped((said,), width)
        lines += _wrapped(table.notes, width)
    return Drawing(lines, cursor)


def _cut(table: Table, most: int) -> tuple[Table, int]:
    """Return a table with the first and the last of its rows where it has many, and how many are left out."""
    left_out = len(table.rows) - most
    if left_out <= 0:
        return table, 0
    last = most // 3
    return replace(table, rows=(*table.rows[: most - last], *table.rows[-last:])), left_out


def _said(text: str, width: int) -> list[str]:
    """Return the lines of a text; a command has a line of its own, which stays whole to be copied."""
    return [
        line
        for part in text.split("\n")
        for line in ([part] if part.startswith("workbench ") else lines_of(part, width))
    ]


def _wrapped(sentences: Sequence[str], width: int) -> list[Line]:
    return [
        ((line, MUTED),)
        for sentence in sentences
        for line in lines_of(one_line(sentence, MOST_CAPTION), width) or [""]
    ]


def _facts(table: Table, width: int) -> tuple[list[Line], None]:
    """Return the lines of names with their values, of which long ones are wrapped."""
    names = [one_line(text_of(row.cells[0]), MOST_NAME) for row in table.rows]
    beside = min(max(map(cell_len, names), default=0), max(width // 3, LEAST_NAME)) + 2
    lines: list[Line] = []
    for name, row in zip(names, table.rows, strict=True):
        text = one_line(text_of(row.cells[1]), MOST_CAPTION)
        first, *others = lines_of(text, max(width - beside, LEAST_NAME)) or [""]
        shown = shortened(name, beside - 2)
        lines.append(((shown, BOLD), (" " * (beside - cell_len(shown)) + first, "")))
        lines += [((" " * beside + other, ""),) for other in others]
    return lines, None


def _table(table: Table, width: int, here: Place | None) -> tuple[list[Line], Spot | None]:
    """Return the lines of a table, and where the figure under the cursor is.

    Columns for which there is no room stand below the others, behind the names once more; a matrix may be
    wider than the line.
    """
    draws = any(row.drawn is not None for row in table.rows)
    widths = _widths(table, width - WANTED_PLOT if draws else width)
    lines: list[Line] = []
    cursor = None
    for columns in _parts(table, widths, width, WANTED_PLOT if draws else 0):
        plot = min(width - _cells(widths, columns), MOST_PLOT) if draws and not lines else 0
        plot = plot if plot >= LEAST_PLOT else 0
        if lines:
            lines.append(())
        drawn, at = _columns(table, widths, columns, plot, here)
        if at is not None:
            cursor = replace(at, y=at.y + len(lines))
        lines += drawn
    return lines, cursor


def _cells(widths: Sequence[int], columns: Sequence[int]) -> int:
    """Return the cells of some columns, each with the gap behind it."""
    return sum(widths[column] + GAP for column in columns)


def _parts(table: Table, widths: Sequence[int], width: int, plot: int) -> list[list[int]]:
    """Return which columns stand side by side, the names in each part; in the first there is room to draw."""
    every = list(range(len(widths)))
    names = every[: table.names]
    if _cells(widths, every) - GAP <= width or _is_matrix(table):
        return [every]
    parts = [[*names]]
    room = width - plot
    for place in every[table.names :]:
        if _cells(widths, [*parts[-1], place]) - GAP > room and len(parts[-1]) > len(names):
            parts.append([*names])
            room = width
        parts[-1].append(place)
    return parts


def _is_matrix(table: Table) -> bool:
    cells = (cell for row in table.rows for cell in row.cells)
    return any(isinstance(cell, Cell) and cell.level is not None for cell in cells)


def _columns(
    table: Table, widths: Sequence[int], columns: Sequence[int], plot: int, here: Place | None
) -> tuple[list[Line], Spot | None]:
    lines, cursor = [_heading(table, widths, columns, plot)], None
    for number, row in enumerate(table.rows):
        parts: list[tuple[str, str]] = []
        at = 0
        for column in columns:
            cells = widths[column]
            text = _text(row.cells[column], cells, left=column < table.names)
            if here is not None and (here.row, here.column) == (number, column):
                # What is above the first line is shown with it.
                top = 0 if number else -2
                cursor = Spot(at, 1 + number + top, cells, 1 - top)
                inner = text.strip()
                before = len(text) - len(text.lstrip()) - 1
                parts += [(" " * before, ""), (f"[{inner}]", CURSOR)]
                parts.append((" " * (len(text) - before - len(inner) - 2), ""))
            else:
                parts.append((text, BOLD if column < table.names else ""))
            parts.append((" " * GAP, ""))
            at += cells + GAP
        if plot:
            parts.append((_plot(row, table, plot), DRAWN))
        lines.append(_stripped(parts))
    return lines, cursor


def _stripped(parts: Sequence[tuple[str, str]]) -> Line:
    """Return a line without blanks at its end."""
    kept = [*parts]
    while kept and not kept[-1][0].strip():
        kept.pop()
    if kept:
        text, style = kept[-1]
        kept[-1] = (text.rstrip(), style)
    return tuple(part for part in kept if part[0])


def _heading(table: Table, widths: Sequence[int], columns: Sequence[int], plot: int) -> Line:
    heads = []
    for column in columns:
        cells, name = widths[column], table.columns[column]
        shown = shortened(one_line(name, cells), cells)
        beside = " " * max(cells - cell_len(shown), 0)
        heads.append(shown + beside if column < table.names else f"{beside[1:]}{shown} "[-max(cells, 1) :])
    if plot and any(isinstance(row.drawn, tuple) for row in table.rows):
        low, high = (f"{end:,.0f}" if abs(end) >= 10 else f"{end:.2g}" for end in table.scale)
        heads.append(f"{low}{high:>{plot - len(low)}}")
    return (((" " * GAP).join(heads).rstrip(), BOLD),)


def _widths(table: Table, width: int) -> list[int]:
    """Return the cells of each column: figures have a cell at each side for the cursor."""
    found = []
    for column, name in enumerate(table.columns):
        texts = [_plain(row.cells[column]) for row in table.rows]
        inner = max((cell_len(text) for text in texts), default=0)
        found.append(max(cell_len(name) + (column >= table.names), inner + 2 * (column >= table.names)))
    most = found[: table.names]
    for column in range(table.names):
        too_much = sum(found) + GAP * len(found) - width
        found[column] = max(min(found[column], LEAST_NAME), found[column] - max(too_much, 0))
    if _cells(found, range(len(found))) > width + GAP and not _is_matrix(table):
        # Columns go below others, and so leave room for names: the short ones take what they need.
        room = max(2 * width // 5, LEAST_NAME * table.names)
        for left, column in enumerate(sorted(range(table.names), key=most.__getitem__)):
            found[column] = min(most[column], room // (table.names - left))
            room -= found[column]
    return found


def _plain(cell: Cell | str) -> str:
    level = cell.level if isinstance(cell, Cell) else None
    text = one_line(text_of(cell), MOST_CAPTION)
    return text if level is None else f"{text} {_height(level)}"


def _height(level: float) -> str:
    return LEVELS[min(int(level * len(LEVELS)), len(LEVELS) - 1)] if level > 0 else " "


def _text(cell: Cell | str, cells: int, *, left: bool) -> str:
    text = _plain(cell)
    if left:
        text = shortened(text, cells)
        return text + " " * (cells - cell_len(text))
    return " " * (cells - cell_len(text) - 1) + f"{text} "


def _plot(row: Row, table: Table, cells: int) -> str:
    if row.drawn is None:
        return ""
    if isinstance(row.drawn, tuple):
        return interval_line(row.drawn, *table.scale, cells, table.middle)
    return block_bar(row.drawn, cells)
