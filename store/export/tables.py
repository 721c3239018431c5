"""Tables of pairs as they are written: CSV, Parquet and spreadsheets."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Literal, Protocol

import pyarrow
import pyarrow.parquet

from store.errors import ExportFailed
from store.reading.spreadsheets import filled_sheet

TableForm = Literal["csv", "parquet", "xlsx"]

SHEET_ROWS, SHEET_COLUMNS, SHEET_CELL = 1_048_576, 16_384, 32_767
"""The most rows of a sheet, its header among them, its columns, and the characters of a cell."""

_MOST_DIGITS = 10**15
"""From here on a sheet does not hold every digit of a number."""

_LARGEST_WHOLE = 1 << 63
_NUMBER = re.compile(r"-?\d{1,16}(?:\.\d{1,17})?")
_HALF = re.compile(r"[\ud800-\udfff]")
_UNSHOWN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

ARROW = {"BIGINT": pyarrow.int64(), "DOUBLE": pyarrow.float64(), "VARCHAR": pyarrow.string()}


class TableWriter(Protocol):
    """Writes rows with the cells of a table and those that are added to it."""

    def write(self, rows: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> None:
        """Write some rows: the cells of each, and the added ones."""
        ...


@contextmanager
def table_writer(
    form: TableForm,
    path: Path,
    columns: Sequence[str],
    added: Mapping[str, str],
    schema: pyarrow.Schema | None,
) -> Iterator[TableWriter]:
    """Open a table to be written.

    Args:
        form: Its form.
        path: The file.
        columns: The columns.
        added: Further columns, with their types in SQL.
        schema: The types of the columns in Parquet; None where all are texts.
    """
    if form == "csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            out = _Csv(csv.writer(file, lineterminator="\n"))
            out.write([(columns, tuple(added))])
            yield out
    elif form == "parquet":
        schema = schema or pyarrow.schema([(name, pyarrow.string()) for name in columns])
        for name, type_ in added.items():
            schema = schema.append(pyarrow.field(name, ARROW[type_]))
        with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as parquet:
            yield _Parquet(parquet, schema)
    else:
        from openpyxl import Workbook

        book = Workbook(write_only=True)
        sheet = _Sheet(book.create_sheet("pairs"))
        sheet.write([(columns, tuple(added))])
        yield sheet
        book.save(path)


class _Csv:
    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def write(self, rows: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> None:
        self._writer.writerows([text_of(cell) for cell in (*own, *added)] for own, added in rows)


class _Parquet:
    def __init__(self, writer: pyarrow.parquet.ParquetWriter, schema: pyarrow.Schema) -> None:
        self._writer, self._schema = writer, schema

    def write(self, rows: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> None:
        """Write some rows as a row group.

        Raises:
            ExportFailed: A cell is of another type than the others of its column.
        """
        if not rows:
            return
        columns = list(zip(*((*own, *added) for own, added in rows), strict=True))
        try:
            arrays = [
                pyarrow.array(
                    [text_of(cell) for cell in cells] if field.type == pyarrow.string() else cells, field.type
                )
                for cells, field in zip(columns, self._schema, strict=True)
            ]
        except (pyarrow.ArrowException, OverflowError) as error:
            raise ExportFailed(
                "Cannot write", f"A column has values of several types: {error}.", "Write it as csv."
            ) from error
        self._writer.write_table(pyarrow.Table.from_arrays(arrays, schema=self._schema))


class _Sheet:
    def __init__(self, sheet: Any) -> None:
        self._sheet, self._rows = sheet, 0

    def write(self, rows: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> None:
        """Write some rows.

        Raises:
            ExportFailed: A sheet has no place for them.
        """
        from openpyxl.cell import WriteOnlyCell

        for own, added in rows:
            self._rows += 1
            _check_place(self._rows, len(own) + len(added))
            values = (*own, *added)
            # The name of a column is text.
            is_header = self._rows == 1
            cells = []
            for value in values:
                shown, is_text = (value, True) if is_header else sheet_value(value, self._rows)
                cell = WriteOnlyCell(self._sheet, shown)
                if is_text:
                    cell.data_type = "s"
                cells.append(None if shown in (None, "") else cell)
            self._sheet.append(cells)


def _check_place(row: int, columns: int) -> None:
    """Refuse a row that a sheet has no place for.

    Raises:
        ExportFailed: It is one.
    """
    if row > SHEET_ROWS or columns > SHEET_COLUMNS:
        raise ExportFailed(
            "Too large for a sheet",
            f"A sheet has {SHEET_ROWS:,} rows and {SHEET_COLUMNS:,} columns at most. Nothing was written.",
            "Write it as csv or parquet.",
        )


def sheet_value(value: Any, row: int) -> tuple[Any, bool]:
    """Return a value as a cell of a sheet, and whether it is text.

    A number or a time is one; of texts those are numbers that a sheet would show the same.

    Raises:
        ExportFailed: It is longer than a cell can be.
    """
    if isinstance(value, bool | int | float) and abs(value) < _MOST_DIGITS:
        return value, False
    if isinstance(value, datetime | date) and getattr(value, "tzinfo", None) is None:
        return value, False
    text = text_of(value) or ""
    if len(text) > SHEET_CELL:
        raise ExportFailed(
            "Text too long",
            f"Row {row:,} holds a text of {len(text):,} characters, where a cell of a sheet has "
            f"{SHEET_CELL:,} at most. Nothing was written.",
            "Write it as csv or parquet.",
        )
    if _NUMBER.fullmatch(text):
        number = float(text) if "." in text else int(text)
        if str(number) == text and abs(number) < _MOST_DIGITS:
            return number, False
    return _UNSHOWN.sub("\ufffd", text), True


def add_to_sheet(
    path: Path,
    target: Path,
    names: Sequence[str],
    rows: Iterable[tuple[int, Sequence[Any] | None]],
    *,
    has_header: bool,
) -> None:
    """Write a spreadsheet again with further columns behind its own; formats and formulas stay.

    Args:
        path: The spreadsheet.
        target: The file to write.
        names: The names of the columns.
        rows: The number of each row, from 1, with its cells; None for none.
        has_header: Whether the first row that is not empty names the columns.

    Raises:
        ExportFailed: It has no place for them.
    """
    from openpyxl import load_workbook

    name, cells = filled_sheet(path)
    book = load_workbook(path, keep_vba=path.suffix == ".xlsm")
    sheet = book[name]
    first = sheet.max_column + 1
    _check_place(sheet.max_row, sheet.max_column + len(names))

    def put(row: int, values: Sequence[Any]) -> None:
        for place, value in enumerate(values):
            shown, is_text = sheet_value(value, row)
            cell = sheet.cell(row, first + place)
            if shown not in (None, ""):
                cell.value = shown
                if is_text:
                    cell.data_type = "s"

    if has_header:
        put(next(number for number, row in enumerate(cells, 1) if any(cell != "" for cell in row)), names)
    for number, values in rows:
        if values is not None:
            put(number, values)
    book.save(target)


def text_of(value: Any) -> str | None:
    """Return a cell as text: None where it is empty, times in ISO 8601, lists and objects as JSON."""
    if isinstance(value, str):
        return value if value.isascii() or not _HALF.search(value) else _whole(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, list | dict | tuple):
        return _whole(json.dumps(value, ensure_ascii=False, default=str))
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _whole(text: str) -> str:
    """Return a text with halves of surrogate pairs written out, which no file holds."""
    return text.encode("utf-8", "backslashreplace").decode()


def schema_of(records: Iterable[Mapping[str, Any]]) -> pyarrow.Schema:
    """Return the columns of JSON objects, each with its type where all its values have one, else as text."""
    found: dict[str, set[type]] = {}
    for record in records:
        for name, value in record.items():
            types = found.setdefault(name, set())
            if isinstance(value, int) and abs(value) >= _LARGEST_WHOLE:
                types.add(str)
            elif value is not None:
                types.add(type(value))
    types_of = ((name, _TYPES.get(frozenset(types), pyarrow.string())) for name, types in found.items())
    return pyarrow.schema(list(types_of))


_TYPES = {
    frozenset({bool}): pyarrow.bool_(),
    frozenset({int}): pyarrow.int64(),
    frozenset({float}): pyarrow.float64(),
}
