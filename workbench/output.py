"""The output of commands: facts as JSON or tables, errors as panels on stderr, progress bars."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.progress import Progress

    from store.errors import WorkbenchError
    from store.reports.value import Report

PIPED_WIDTH = 160
"""Columns of a table that goes to a file or a pipe, where no terminal sets a width."""

MOST_ROWS = 60
"""Rows of a report's table; of more the first and the last ones are printed."""

MIN_WIDTH = 12
"""Columns that are left to a table's column when it gives way to the others."""
_LEAST_FOR_AN_END = 20
"""Columns of a table's column from which its texts keep their ends."""

PANEL_WIDTH = 100
"""Columns of an error's panel at most: longer lines are hard to read."""

BAR_AFTER_SECONDS = 1.0
"""A bar is shown only for work that takes longer than this."""

BESIDE_CELLS = 48
"""Cells around a bar's detail: the word before the bar, a short bar, the share, two times."""


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object; nothing but printable ASCII, so that no text can command a terminal."""
    text = json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False, default=_plain)
    sys.stdout.write(text + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID | Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def harmless(value: object, *, style: str = "") -> Text:
    """Return a text as it is shown: markup is not read, and invisible characters are made visible."""
    from screens.widgets.text.sanitize import visible

    lines = str(value).split("\n")
    return Text("\n".join(visible(line).text for line in lines), style=style)


def _console(*, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPED_WIDTH
    return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)


def say(*lines: object) -> None:
    """Print lines for people on stdout."""
    console = _console()
    for line in lines:
        console.print(line if isinstance(line, Text) else harmless(line), soft_wrap=True)


def note(line: str) -> None:
    """Print a line for people on stderr, where it does not mix with what was asked for."""
    _console(stderr=True).print(harmless(line), soft_wrap=True)


def print_facts(title: str, facts: Iterable[tuple[str, object]]) -> None:
    """Print names with their values, one a line; facts whose value is None or empty are left out."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        if value is not None and value != "":
            grid.add_row(
                harmless(name, style="bold"), value if isinstance(value, Text) else harmless(_cell(value))
            )
    console = _console()
    if title:
        console.print(harmless(title, style="bold underline"))
    console.print(grid)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, wide: Sequence[str] = ()
) -> None:
    """Print a table.

    Args:
        columns: The headings.
        rows: Values in the order of the columns; None is an empty cell, numbers are aligned right, whole
            ones with commas between thousands.
        wide: Headings of the columns that give way when the terminal is narrow. Their texts keep their ends,
            where names of runs differ.
    """
    given = [list(row) for row in rows]
    shown = [[_cell(cell) for cell in row] for row in given]
    console = _console()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    widths = [
        max(harmless(cell).cell_len for cell in (column, *(row[place] for row in shown)))
        for place, column in enumerate(columns)
    ]
    kept = sum(width + 2 for width, column in zip(widths, columns, strict=True) if column not in wide)
    left = max(console.width - kept, MIN_WIDTH * len(wide)) // max(len(wide), 1) - 2
    for place, column in enumerate(columns):
        numbers = any(isinstance(row[place], int | float) for row in given)
        table.add_column(
            harmless(column),
            justify="right" if numbers else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=min(widths[place], left) if column in wide else widths[place],
        )
    for row in shown:
        table.add_row(
            *(
                harmless(_with_its_end(cell, left) if column in wide else cell)
                for column, cell in zip(columns, row, strict=True)
            )
        )
    console.print(table)


_STYLES = {"title": "bold underline", "bold": "bold", "cursor": "reverse"}
"""How what a report is drawn of looks in a terminal."""


def print_report(title: str, report: Report) -> None:
    """Print a report as text: its captions, its tables with what is drawn of them, and its warnings."""
    from screens.reports.drawing import draw

    console = _console()
    console.print(harmless(title, style="bold underline"), soft_wrap=True)
    for line in draw(report, console.width, most=MOST_ROWS).lines:
        text = Text()
        for part, style in line:
            text.append(part, style=_STYLES.get(style, ""))
        console.print(text, soft_wrap=True)
    for warning in report.warnings:
        note(warning)


def _with_its_end(cell: object, width: int) -> object:
    """Return a text in so many cells, with an ellipsis before its last ones; a number as it is."""
    if not isinstance(cell, str) or cell_len(cell) <= width or width < _LEAST_FOR_AN_END:
        return cell
    return f"{cell[: width - 10]}…{cell[-9:]}"


def _cell(value: object) -> object:
    if value is None:
        return ""
    return f"{value:,}" if type(value) is int else value


def show_error(error: WorkbenchError, *, as_json: bool) -> None:
    """Print an error: as JSON on stdout when a program reads it, else as a panel on stderr."""
    if as_json:
        command = {"command": error.command} if error.command else {}
        parts = {"title": error.title, "message": error.message, "hint": error.hint, **command}
        print_json({"error": parts})
        return
    from rich.panel import Panel

    body = harmless(error.message)
    if error.hint:
        body.append("\n\n")
        body.append(harmless(error.hint, style="italic"))
    title = harmless(error.title, style="bold")
    console = _console(stderr=True)
    width = min(console.width, PANEL_WIDTH)
    console.print(Panel(body, title=title, title_align="left", border_style="red", width=width))
    if error.command:
        # In one line, without a frame: it is there to be pasted.
        console.print(harmless(error.command), soft_wrap=True)


class Bar:
    """A progress bar on stderr, shown when stderr is a terminal and the work takes longer than a second.

    Attributes:
        wanted: Whether there is a terminal to draw it in.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = time.monotonic()
        self._progress: Progress | None = None
        self.wanted = sys.stderr.isatty()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def shortened(self, parts: Iterable[str]) -> str:
        """Return a detail of as many parts, most important first, as leave the bar and the times whole."""
        shown, *others = parts
        room = _console(stderr=True).width - BESIDE_CELLS
        for part in others:
            if len(shown) + len(part) + 3 > room:
                break
            shown += f" · {part}"
        return shown

    def show(self, done: float, total: float | None, detail: str = "") -> None:
        """Say how far the work is.

        Args:
            done: How much is done, in any unit.
            total: How much there is; None where that is not known.
            detail: The text after the bar.
        """
        if self._progress is None:
            if not self.wanted or time.monotonic() - self._began < BAR_AFTER_SECONDS:
                return
            self._progress = self._make()
            self._progress.start()
        self._progress.update(
            self._progress.task_ids[0], completed=done, total=total, detail=harmless(detail).plain
        )

    def _make(self) -> Progress:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %", markup=False),
            TextColumn("{task.fields[detail]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=_console(stderr=True),
            transient=True,
        )
        progress.add_task(self._what, total=None, detail="")
        return progress
