"""Tables of pairs as they are written: CSV, Parquet and spreadsheets."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Literal, Protocol

import pyarrow
import pyarrow.parquet

from store.errors import ExportFailed

TableForm = Literal["csv", "parquet", "xlsx"]

SHEET_ROWS, SHEET_CELL = 1_048_576, 32_767
"""The most rows of a sheet, its header among them, and characters of a cell."""

_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,14})?")
_UNSHOWN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")

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
    *,
    delimiter: str = ",",
    has_mark: bool = False,
) -> Iterator[TableWriter]:
    """Open a table to be written.

    Args:
        form: Its form.
        path: The file.
        columns: The columns.
        added: Further columns, with their types in SQL.
        schema: The types of the columns in Parquet; None where all are texts.
        delimiter: Between the cells of CSV.
        has_mark: Whether CSV begins with a byte order mark.
    """
    if form == "csv":
        with path.open("w", encoding="utf-8-sig" if has_mark else "utf-8", newline="") as file:
            out = _Csv(csv.writer(file, delimiter=delimiter, lineterminator="\n"))
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
        columns = list(zip(*((*own, *added) for own, added in rows), strict=True))
        try:
            arrays = [
                pyarrow.array(
                    [text_of(cell) for cell in cells] if field.type == pyarrow.string() else cells, field.type
                )
                for cells, field in zip(columns, self._schema, strict=True)
            ]
        except pyarrow.ArrowException as error:
            raise ExportFailed(
                "Cannot write", f"A column has values of several types: {error}.", "Write it as csv."
            ) from error
        self._writer.write_table(pyarrow.Table.from_arrays(arrays, schema=self._schema))


class _Sheet:
    def __init__(self, sheet: Any) -> None:
        self._sheet, self._rows = sheet, 0

    def write(self, rows: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> None:
        """Write some rows; a number is one, whatever else a cell holds is text, a formula's too.

        Raises:
            ExportFailed: A sheet has no place for them.
        """
        from openpyxl.cell import WriteOnlyCell

        for own, added in rows:
            self._rows += 1
            if self._rows > SHEET_ROWS:
                raise ExportFailed(
                    "Too many rows",
                    f"A sheet has {SHEET_ROWS:,} rows at most. Nothing was written.",
                    "Write it as csv or parquet.",
                )
            cells = []
            for value in (*own, *added):
                text = text_of(value) or ""
                if len(text) > SHEET_CELL:
                    raise ExportFailed(
                        "Text too long",
                        f"Row {self._rows} holds a text of {len(text):,} characters, where a cell of a sheet "
                        f"has {SHEET_CELL:,} at most. Nothing was written.",
                        "Write it as csv or parquet.",
                    )
                # The name of a column is text.
                is_number = self._rows > 1 and _NUMBER.fullmatch(text) is not None
                cell = WriteOnlyCell(
                    self._sheet, _number(text) if is_number else _UNSHOWN.sub("\ufffd", text)
                )
                if not is_number:
                    cell.data_type = "s"
                cells.append(cell if text else None)
            self._sheet.append(cells)


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def text_of(value: Any) -> str | None:
    """Return a cell as text: None where it is empty, times in ISO 8601, lists and objects as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, list | dict | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def schema_of(records: Iterable[Mapping[str, Any]]) -> pyarrow.Schema:
    """Return the columns of JSON objects, each with its type where all its values have one, else as text."""
    found: dict[str, set[type]] = {}
    for record in records:
        for name, value in record.items():
            types = found.setdefault(name, set())
            if value is not None:
                types.add(type(value))
    return pyarrow.schema(
        [(name, _TYPES.get(frozenset(types), pyarrow.string())) for name, types in found.items()]
    )


_TYPES = {
    frozenset({bool}): pyarrow.bool_(),
    frozenset({int}): pyarrow.int64(),
    frozenset({float}): pyarrow.float64(),
    frozenset({int, float}): pyarrow.float64(),
}
