"""Writes the rows of a result: as plain values, CSV, Parquet, JSON or Markdown; two columns as a chart."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from store.errors import ExportFailed
from store.new_file import write_new
from store.reports.figure import FIGURES, MOST_ROWS, PAGE, figure
from store.reports.forms import table_as_markdown
from store.reports.saving import checked_form
from store.reports.value import Cell, Report, Row, Table
from store.sql import CLOSED

if TYPE_CHECKING:
    import pyarrow

SUFFIXES = (".csv", ".parquet", ".json", ".jsonl", ".md", *(f".{form}" for form in FIGURES))
"""The ends of the files that rows can be written to; the last ones are of charts."""


def plain(value: Any) -> Any:
    """Return a value as JSON has it; numbers that JSON has not become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return [plain(part) for part in value]
    return str(value)


def plain_rows(rows: pyarrow.Table) -> Iterator[list[Any]]:
    """Return the rows of a table as plain values."""
    for batch in rows.to_batches(2_048):
        for row in zip(*(_values(column) for column in batch.columns), strict=True):
            yield [plain(value) for value in row]


def _values(column: pyarrow.Array[Any]) -> list[Any]:
    """Return the values of a column; dates and spans of time that Python has not as DuckDB writes them."""
    import duckdb
    import pyarrow

    with suppress(OverflowError, ValueError):
        if not pyarrow.types.is_interval(column.type):
            found: list[Any] = column.to_pylist()
            return found
    with duckdb.connect(":memory:", config=CLOSED) as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("own", pyarrow.table({"value": column}))
        return [text for (text,) in database.execute("SELECT value::VARCHAR FROM own").fetchall()]


def as_text(value: Any) -> str:
    """Return a plain value as one line: lists and objects as JSON, nothing for null."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.replace("\r\n", "\n").replace("\n", "⏎")


def write_csv(rows: pyarrow.Table, target: IO[str]) -> None:
    """Write rows as CSV with a line of names; lists and objects as JSON."""
    lines = csv.writer(target, lineterminator="\n")
    lines.writerow(rows.column_names)
    for row in plain_rows(rows):
        lines.writerow(
            [value if value is None or isinstance(value, str) else json.dumps(value) for value in row]
        )


def write_rows(rows: pyarrow.Table, path: Path, statement: str = "") -> None:
    """Write rows to a new file, in the format that its name ends in: whole or not at all.

    The file is not there yet. A chart names the statement that selected the rows.

    Raises:
        ExportFailed: It is there, its name ends in none of `SUFFIXES`, it is a chart of rows that cannot be
            drawn, or it cannot be written.
    """
    import pyarrow
    from pyarrow import parquet

    form = checked_form(path, SUFFIXES)
    drawn = b""
    if form in FIGURES:
        drawn = figure(Report((), (), (chart(rows),)), path.stem, statement, form, PAGE)

    def write(file: IO[bytes]) -> None:
        if drawn:
            file.write(drawn)
        elif form == "parquet":
            parquet.write_table(rows, file)
        else:
            with io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
                _write_text(rows, form, text)

    write_new(path, write, (OSError, pyarrow.ArrowException))


def _write_text(rows: pyarrow.Table, form: str, file: IO[str]) -> None:
    if form == "csv":
        write_csv(rows, file)
        return
    if form == "md":
        file.write(table_as_markdown(as_table(rows)) + "\n")
        return
    objects = (dict(zip(rows.column_names, row, strict=True)) for row in plain_rows(rows))
    if form == "jsonl":
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in objects)
    else:
        json.dump(list(objects), file, ensure_ascii=False, indent=1)


def as_table(rows: pyarrow.Table) -> Table:
    """Return rows as a table: columns of texts before the first of numbers stand at the left."""
    cells = [[_cell(value) for value in row] for row in plain_rows(rows)]
    numeric = [any(isinstance(cell, Cell) for cell in column) for column in zip(*cells, strict=True)]
    names = numeric.index(True) if True in numeric else len(rows.column_names)
    return Table(tuple(rows.column_names), tuple(Row(tuple(row)) for row in cells), names=names)


def _cell(value: Any) -> Cell | str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Cell(as_text(value), value)
    return as_text(value)


def chart(rows: pyarrow.Table) -> Table:
    """Return rows of two columns as a table that is drawn: names, and a bar or a point for each number.

    Raises:
        ExportFailed: There are not two columns, the second one holds no numbers, or there are too many rows.
    """
    names = rows.column_names
    if len(names) != 2 or not 0 < rows.num_rows <= MOST_ROWS:
        raise ExportFailed(
            "Nothing to draw",
            f"A chart has two columns and 1 to {MOST_ROWS} rows, and this has {len(names)} and "
            f"{rows.num_rows:,}.",
            "SELECT a name and a number, such as: SELECT status, count(*) AS n FROM items GROUP BY status",
        )
    pairs = list(plain_rows(rows))
    values = [value for _, value in pairs if value is not None]
    if not values or not all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    ):
        raise ExportFailed("Nothing to draw", f"{names[1]} holds no numbers.", "SELECT a name and a number.")
    low, high = min(0, *values), max(0, *values)
    numbers = [name for name, _ in pairs if isinstance(name, int | float) and not isinstance(name, bool)]
    # Other numbers are names: an axis of numbers grows.
    ordered = len(numbers) == len(pairs) and numbers == sorted(set(numbers))

    def row(name: Any, value: float | None) -> Row:
        drawn = None if value is None else (None, float(value), None) if low else value / (high or 1)
        return Row((as_text(name), "" if value is None else Cell(as_text(value), value)), drawn)

    return Table(
        tuple(names),
        tuple(row(name, value) for name, value in pairs),
        scale=(float(low), float(high) if high > low else 1.0),
        ordered=ordered,
    )
