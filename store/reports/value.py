"""A report as a value: captions, tables, what is drawn, and the items behind each figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from store.formatting import Drawn

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.retrieval.comparison import MethodPair

ItemsOf = Callable[["Connection"], Sequence[int]]
"""Reads the items behind a figure."""

CHOOSABLE = ("subject", "first", "second")
"""What of a report can be chosen by a key: what it is about, whose labels it is of, and a second rater."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is chosen for a report; None for what it takes by default.

    Attributes:
        subject: The question, or the kind.
        first: The rater, or the run.
        second: The other rater.
        own: The rater whose labels alone may be read; None where those of all may be.
    """

    subject: str | None = None
    first: str | None = None
    second: str | None = None
    own: str | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """What can be chosen for a part of a report.

    Attributes:
        word: What it is, such as "question".
        values: What can be chosen, in order.
        chosen: What is.
    """

    word: str
    values: tuple[str, ...]
    chosen: str


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
    """

    text: str
    value: float | int | None = None
    items: ItemsOf | None = None
    named: str = ""
    level: float | None = None
    compares: MethodPair | None = None

    @property
    def opens(self) -> bool:
        """Whether there is something behind it."""
        return self.items is not None or self.compares is not None


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


def number(value: float | None, places: int = 2) -> Cell:
    """Return a figure with so many places; a dash for none."""
    return Cell("–" if value is None else f"{value:.{places}f}", value)


def share(value: float | None) -> Cell:
    """Return a share, shown in percent; a dash for none."""
    return Cell("–" if value is None else f"{100 * value:.1f} %", value)


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
        columns: Its headings.
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


@dataclass(frozen=True, slots=True)
class Page:
    """A report.

    Attributes:
        caption: What it rests on: numbers, raters, blind or revealed, intervals.
        command: The arguments of `workbench report WORKSPACE` that print it.
        tables: Its tables; none where there is nothing to report.
        empty: What to do where there is nothing to report.
        options: What can be chosen, by the part of `CHOOSABLE`.
    """

    caption: tuple[str, ...]
    command: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    empty: str = ""
    options: Mapping[str, Options] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a figure: its table, row and column."""

    table: int
    row: int
    column: int


def figures(page: Page) -> list[Place]:
    """Return the places of the figures behind which there is something, line by line."""
    return [
        Place(table, row, column)
        for table, one in enumerate(page.tables)
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
