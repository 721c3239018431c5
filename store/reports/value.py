"""A report as a value: captions, tables, what is drawn, and the items behind each figure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from store.formatting import Drawn

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.rankings.comparison import MethodPair

ItemsOf = Callable[["Connection"], Sequence[int]]
"""Reads the items behind a figure."""

WORKSPACE = "WORKSPACE"
"""What stands for the workspace in commands that a report names."""

NONE = "–"
"""What is shown where there is no figure."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure in a table.

    Attributes:
        text: The figure as it is shown.
        value: The figure as a program reads it: a share from 0 to 1, seconds; None where there is none.
        items: Reads the items behind it; None where there are none to show.
        named: What these items are.
        level: Its height among the figures of a matrix, from 0 to 1; None for none.
        compares: The two methods of retrieval behind it, which are compared query by query; None for none.
        ends: The ends of its interval, in the unit of the value; None for none.
    """

    text: str
    value: float | int | None = None
    items: ItemsOf | None = None
    named: str = ""
    level: float | None = None
    compares: MethodPair | None = None
    ends: tuple[float, float] | None = None

    @property
    def opens(self) -> bool:
        """Whether there is something behind it."""
        return self.items is not None or self.compares is not None

    @property
    def drawn(self) -> Drawn:
        """The figure with the ends of its interval, to be drawn."""
        low, high = self.ends or (None, None)
        return low, self.value, high


def text_of(cell: Cell | str) -> str:
    """Return a cell as it is shown."""
    return cell if isinstance(cell, str) else cell.text


def counted(count: int, items: ItemsOf | None = None, named: str = "", level: float | None = None) -> Cell:
    """Return a number of items as a figure, behind which there are none where it is 0.

    Args:
        count: The number.
        items: Reads the items; None where there are none to show.
        named: What they are.
        level: See `Cell`.
    """
    return Cell(f"{count:,}", count, items if count else None, named, level)


def number(
    value: float | None,
    places: int = 2,
    low: float | None = None,
    high: float | None = None,
    *,
    sign: bool = False,
    end_places: int | None = None,
) -> Cell:
    """Return a figure with so many places, and with its interval in brackets; a dash for none.

    Args:
        value: The figure.
        places: Its places.
        low: The lower end of the interval; None for none.
        high: The upper end.
        sign: Whether a plus is shown.
        end_places: Places of the ends; two by default, or as many as the figure where it has less.
    """
    if value is None:
        return Cell(NONE)
    plus = "+" if sign else ""
    text = f"{value:{plus}.{places}f}"
    if low is None or high is None:
        return Cell(text, value)
    shown = min(places, 2) if end_places is None else end_places
    return Cell(f"{text} ({low:{plus}.{shown}f} to {high:{plus}.{shown}f})", value, ends=(low, high))


def share(value: float | None, low: float | None = None, high: float | None = None) -> Cell:
    """Return a share, shown in percent, and with its interval in brackets; a dash for none."""
    if value is None:
        return Cell(NONE)
    # Not 0.0 % of what is there.
    text = "<0.1 %" if 0 < value < 0.0005 else f"{100 * value:.1f} %"
    if low is None or high is None:
        return Cell(text, value)
    return Cell(f"{text} ({100 * low:.1f} to {100 * high:.1f})", value, ends=(low, high))


def of_percent(value: float | None, low: float | None = None, high: float | None = None) -> Cell:
    """Return a share that is given in percent; see `share`."""
    return share(*(None if each is None else each / 100 for each in (value, low, high)))


def probability(value: float | None) -> Cell:
    """Return a p-value; a dash for none."""
    if value is None:
        return Cell(NONE)
    return Cell("<0.001" if value < 0.001 else f"{value:.3f}", value)


def interval(low: float | None, high: float | None, times: float = 1, places: int = 2) -> str:
    """Return an interval as text; nothing for none."""
    return "" if low is None or high is None else f"{times * low:.{places}f} to {times * high:.{places}f}"


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table.

    Attributes:
        cells: Its cells, as many as the table has columns; a text is a cell without items.
        drawn: What is drawn behind them: the share of a bar, an interval, or nothing.
    """

    cells: tuple[Cell | str, ...]
    drawn: float | Drawn | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a report.

    Attributes:
        columns: Its headings; none of a table of facts, whose rows are a name and a value.
        rows: Its rows.
        title: What it is of; empty where the report says that.
        names: How many of the first columns hold names, which stand at the left.
        scale: The ends of the scale on which intervals are drawn.
        middle: A value that is marked on it; None for none.
        drawn: What is drawn, for the axis of a figure; the last column by default.
        axes: What the rows and the columns of a matrix are, for the axes of a figure.
        ordered: Whether the first column is a number that grows from row to row, such as a rank.
        notes: Sentences below it.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    title: str = ""
    names: int = 1
    scale: tuple[float, float] = (0.0, 1.0)
    middle: float | None = None
    drawn: str = ""
    axes: tuple[str, str] = ("", "")
    ordered: bool = False
    notes: tuple[str, ...] = ()

    @property
    def is_facts(self) -> bool:
        """Whether its rows are names with values, without headings."""
        return not any(self.columns)


CORNER = "↓ \\ →"
"""The heading of the names of a matrix, of which `Table.axes` says what its rows and columns are."""


def facts(
    pairs: Iterable[tuple[str, Cell | str | int | None]], title: str = "", notes: Sequence[str] = ()
) -> Table:
    """Return names with their values as a table; those whose value is None or empty are left out."""
    rows = [
        Row((name, counted(value) if isinstance(value, int) else value))
        for name, value in pairs
        if value is not None and value != ""
    ]
    return Table(("", ""), tuple(rows), title, names=2, notes=tuple(notes))


def ends_of(rows: Iterable[Row]) -> list[float]:
    """Return the values that are drawn behind rows, and the ends of their intervals."""
    drawn = (row.drawn for row in rows)
    return [end for each in drawn if isinstance(each, tuple) for end in each if end is not None]


def even_scale(rows: Iterable[Row]) -> tuple[float, float]:
    """Return a scale with 0 in its middle, as wide as what is drawn of differences."""
    most = max(map(abs, ends_of(rows)), default=0.0) or 1.0
    return -most, most


def in_workspace(text: str, path: str) -> str:
    """Return a text with the workspace in the commands that it names."""
    return text.replace(f" {WORKSPACE} ", f" {shlex.quote(path)} ")


def filled(*tables: Table | None) -> tuple[Table, ...]:
    """Return the tables that have rows."""
    return tuple(table for table in tables if table is not None and table.rows)


@dataclass(frozen=True, slots=True)
class Report:
    """A report.

    Attributes:
        caption: What it rests on: numbers, raters, blind or revealed, intervals, what was left out.
        command: The arguments of `workbench report WORKSPACE` that print it.
        tables: Its tables; none where there is nothing to report.
        empty: What to do where there is nothing to report.
        warnings: Why not to rely on it, a sentence each.
    """

    caption: tuple[str, ...]
    command: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    empty: str = ""
    warnings: tuple[str, ...] = ()

    def saying(self, sentence: str) -> Report:
        """Return the report with one more sentence in its caption; as it is for none."""
        return replace(self, caption=(*self.caption, sentence)) if sentence else self


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a figure: its table, row and column."""

    table: int
    row: int
    column: int


def figures(report: Report) -> list[Place]:
    """Return the places of the figures behind which there is something, line by line."""
    return [
        Place(table, row, column)
        for table, one in enumerate(report.tables)
        for row, line in enumerate(one.rows)
        for column, cell in enumerate(line.cells)
        if isinstance(cell, Cell) and cell.opens
    ]


def moved(places: Sequence[Place], index: int, lines: int, columns: int) -> int:
    """Return which figure the cursor comes to.

    Args:
        places: The figures.
        index: The one under the cursor.
        lines: How many lines it goes down; up below 0.
        columns: How many figures it goes to the right; to the left below 0.
    """
    here = places[index]
    rows = sorted({(one.table, one.row) for one in places})
    at = min(max(rows.index((here.table, here.row)) + lines, 0), len(rows) - 1)
    line = [place for place, one in enumerate(places) if (one.table, one.row) == rows[at]]
    nearest = min(range(len(line)), key=lambda one: abs(places[line[one]].column - here.column))
    return line[min(max(nearest + columns, 0), len(line) - 1)]
