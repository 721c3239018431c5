"""Writes the rows of a result: as plain values, as CSV, Parquet or JSON."""

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
from store.sql import CLOSED

if TYPE_CHECKING:
    import pyarrow

SUFFIXES = (".csv", ".parquet", ".json", ".jsonl")
"""The ends of the files that rows can be written to."""


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


def write_rows(rows: pyarrow.Table, path: Path) -> None:
    """Write rows to a new file, in the format that its name ends in: whole or not at all.

    Args:
        rows: The rows.
        path: A file that is not there yet.

    Raises:
        ExportFailed: It is there, its name ends in none of `SUFFIXES`, or it cannot be written.
    """
    import pyarrow
    from pyarrow import parquet

    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ExportFailed("Unknown format", f"{path.name} must end in one of {', '.join(SUFFIXES)}.")
    try:
        file = path.open("xb")
    except FileExistsError as error:
        raise ExportFailed("File exists", f"{path} is already there.", "Choose another name.") from error
    except OSError as error:
        raise ExportFailed("Cannot write", f"{path}: {error}", "Choose another place.") from error
    try:
        with file:
            if suffix == ".parquet":
                parquet.write_table(rows, file)
            else:
                with io.TextIOWrapper(file, encoding="utf-8", newline="") as text:
                    _write_text(rows, suffix, text)
    except (OSError, pyarrow.ArrowException) as error:
        path.unlink(missing_ok=True)
        raise ExportFailed("Cannot write", f"{path}: {error}", "Choose another place or format.") from error


def _write_text(rows: pyarrow.Table, suffix: str, file: IO[str]) -> None:
    if suffix == ".csv":
        write_csv(rows, file)
        return
    objects = (dict(zip(rows.column_names, row, strict=True)) for row in plain_rows(rows))
    if suffix == ".jsonl":
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in objects)
    else:
        json.dump(list(objects), file, ensure_ascii=False, indent=1)
