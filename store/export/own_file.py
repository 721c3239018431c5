"""The file that pairs were imported from, given back with the labels beside its columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet
from sqlalchemy import Connection

from store.errors import ExportFailed
from store.events import Progress, ReportProgress
from store.export.decided import own_names
from store.export.labels import EXPORTED
from store.export.tables import TableForm, add_to_sheet, schema_of, table_writer, text_of
from store.formats.protocol import WriteResult
from store.kinds.pair import PAIR
from store.processes import temporary_folder
from store.reading.files import InputFile
from store.reading.kept import Reading, fetch_file, table_name
from store.reading.layout import plan_of
from store.reading.records import RawRecord, column_names, is_blank, read_records
from store.sql import count, quoted

_ROWS, _CHARACTERS = 20_000, 1 << 25
"""Rows whose items are looked up together, fewer where they are large."""

_COUNTED = 20_000
"""Rows of a table that a dry run goes through."""

_SHEETS = (".xlsx", ".xlsm")
"""Endings of spreadsheets to which cells can be added."""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that was imported."""

    source: int
    name: str
    reading: Reading
    records: int

    @property
    def shared(self) -> Reading:
        """The part of its reading that all files of a table share."""
        return replace(self.reading, stem="", replaces=())


@dataclass(frozen=True, slots=True)
class KeptTable:
    """One table that was imported: a file, or several with the same columns in one import.

    Attributes:
        files: Its files, in order.
    """

    name: str
    files: tuple[KeptFile, ...]

    @property
    def reading(self) -> Reading:
        """The reading of its first file."""
        return self.files[0].reading

    @property
    def records(self) -> int:
        """The number of records in all its files."""
        return sum(file.records for file in self.files)


_KEPT = """SELECT id, name, reading, records + rejected, imported_at FROM source
    WHERE id IN (SELECT source_id FROM source_file) ORDER BY id"""
"""The files that are kept, as SQL."""


def read_kept(connection: Connection) -> dict[str, KeptTable]:
    """Read the tables of kept files by name."""
    return _kept_tables(connection.exec_driver_sql(_KEPT).fetchall())


def _kept_tables(rows: Iterable[Sequence[Any]]) -> dict[str, KeptTable]:
    """Return the tables of kept files by name; a file that a later one of its name replaces is left out.

    Args:
        rows: The rows of `_KEPT`.
    """
    groups: dict[Any, list[KeptFile]] = {}
    replaced: set[int] = set()
    for source, name, reading, records, moment in rows:
        file = KeptFile(source, name, Reading.from_json(reading), records)
        replaced.update(file.reading.replaces)
        groups.setdefault((moment, file.shared), []).append(file)
    tables: dict[str, KeptTable] = {}
    for files in groups.values():
        left = tuple(file for file in files if file.source not in replaced)
        if left:
            name = _unused(_name([file.name for file in left]), tables)
            tables[name] = KeptTable(name, left)
    return tables


def _name(names: Sequence[str]) -> str:
    """Return the name of a table: of its file, of all its shards, or of the first of several files."""
    if len(names) == 1:
        return names[0]
    tables = {table_name(name) for name in names}
    are_shards = len(tables) == 1 and len(set(names)) > 1
    return tables.pop() if are_shards else f"{names[0]} and {len(names) - 1} more"


def _unused(name: str, taken: Mapping[str, KeptTable]) -> str:
    """Return a name, with a number where another table has it."""
    number = 1
    while (found := name if number == 1 else f"{name} ({number})") in taken:
        number += 1
    return found


def kept_table(cursor: duckdb.DuckDBPyConnection, wanted: str | None) -> KeptTable | None:
    """Return the table that an export gives back: the only one, or the one that is named.

    Args:
        cursor: A cursor of the workspace.
        wanted: Its name, or that of a file of it; None for the only one.

    Returns:
        None where none is named and none is kept.

    Raises:
        ExportFailed: There are several, or none of that name.
    """
    tables = _kept_tables(cursor.execute(_KEPT).fetchall())
    if wanted is None and len(tables) < 2:
        return next(iter(tables.values()), None)
    of_files = [one for one in tables.values() if wanted in {file.name for file in one.files}]
    found = tables.get(wanted or "") or (of_files[0] if len(of_files) == 1 else None)
    if found is not None:
        return found
    shown = ", ".join(list(tables)[:8])
    if wanted is None:
        title, what = "Which file", f"Pairs were imported from {len(tables)} tables: {shown}."
    else:
        title, what = "No such file", f"No file {wanted!r} is kept here, but {shown or 'none'}."
    raise ExportFailed(title, f"{what} Nothing was written.", "Name the one that you want back: --file NAME")


class OwnFile:
    """The rows of a kept table with the columns of the table decided.

    Args:
        cursor: A cursor of the workspace, with the table decided.
        table: The table.
        added: The columns that are added, with their types; the label is the first.
        every_row: Whether all its rows are written, those that are no item of the export, too.
        progress: Receives the progress.
    """

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        table: KeptTable,
        added: Mapping[str, str],
        *,
        every_row: bool,
        progress: ReportProgress,
    ) -> None:
        self._cursor, self._table, self._types = cursor, table, added
        self._every_row, self._progress = every_row, progress
        self._met: set[int] = set()
        self._rows = self._labelled = self._unread = 0

    def counted(self) -> WriteResult:
        """Return how many rows would be written; of a large table about how many, by the items it brought."""
        table = self._table
        if table.records <= _COUNTED:
            with self._files() as files:
                for _ in self._batches(files):
                    pass
                return self._written(own_names(self._schema(files).names, tuple(self._types)))
        brought = (
            f"SELECT count(*), count(label) FROM decided JOIN item ON item.id = item_id "
            f"WHERE source_id IN ({', '.join(str(file.source) for file in table.files)})"
        )
        items, labelled = self._cursor.execute(brought).fetchall()[0]
        records = table.records if self._every_row else items
        return WriteResult(records, estimated=True, labelled=labelled, file=table.name)

    def write(self, form: TableForm, target: Path) -> WriteResult:
        """Write it: CSV as CSV byte for byte, and a spreadsheet as one with its formats.

        Raises:
            ExportFailed: It cannot be written in this form.
        """
        reading = self._table.reading
        with self._files() as files:
            schema = self._schema(files)
            names = own_names(schema.names, tuple(self._types))
            if form == "csv" and reading.container == "CSV":
                self._splice(files, names, target)
            elif form == "xlsx" and reading.sheet in _SHEETS and self._every_row and len(files) == 1:
                add_to_sheet(
                    files[0][1].path, target, names, self._by_row(files), has_header=reading.has_header
                )
            else:
                added = dict(zip(names, self._types.values(), strict=True))
                types = None if reading.container == "CSV" else schema
                with table_writer(form, target, schema.names, added, types) as out:
                    for batch, given in self._batches(files):
                        out.write(
                            [
                                ([raw.value.get(name) for name in schema.names], cells)
                                for raw, cells in zip(batch, given, strict=True)
                                if cells is not None and raw.value is not None
                            ]
                        )
        return self._written(names)

    def _written(self, added: Sequence[str]) -> WriteResult:
        pairs = count(
            self._cursor,
            f"SELECT count(*) FROM item WHERE kind = {quoted(PAIR.name)} AND id IN {EXPORTED}",
        )
        return WriteResult(
            self._rows,
            pairs - len(self._met),
            labelled=self._labelled,
            unread=self._unread,
            file=self._table.name,
            added=added,
        )

    @contextmanager
    def _files(self) -> Iterator[list[tuple[KeptFile, InputFile]]]:
        """Give the files of the table, for as long as they are read."""
        with temporary_folder("workbench-export-") as folder:
            yield [
                (kept, fetch_file(self._cursor, kept.source, kept.name, kept.reading, folder))
                for kept in self._table.files
            ]

    def _schema(self, files: Sequence[tuple[KeptFile, InputFile]]) -> pyarrow.Schema:
        """Return the columns of the table, with their types in Parquet where they have some."""
        reading, first = self._table.reading, files[0][1]
        if reading.container == "Parquet":
            return pyarrow.parquet.read_schema(first.plain)
        if reading.container == "CSV":
            rows = _csv_rows(first, reading.delimiter)
            header = next((row for row, _ in rows if not is_blank(row)), [])
            names = column_names(header) if reading.has_header else map(str, range(1, len(header) + 1))
            return pyarrow.schema([(name, pyarrow.string()) for name in names])
        return schema_of(raw.value for kept, file in files for raw in _records(kept, file) if raw.value)

    def _batches(
        self, files: Sequence[tuple[KeptFile, InputFile]]
    ) -> Iterator[tuple[list[RawRecord], list[tuple[Any, ...] | None]]]:
        """Yield the rows with the cells that are added to each, None where it is not written, in batches."""
        for kept, file in files:
            batch: list[RawRecord] = []
            size = 0
            for raw in _records(kept, file):
                batch.append(raw)
                size += raw.size
                if len(batch) >= _ROWS or size >= _CHARACTERS:
                    yield batch, self._cells(batch, kept.reading)
                    batch, size = [], 0
            if batch:
                yield batch, self._cells(batch, kept.reading)

    def _cells(self, batch: Sequence[RawRecord], reading: Reading) -> list[tuple[Any, ...] | None]:
        """Return the added cells of each row; None where it is not written.

        A row is the item of its id that has its texts: one that was refused may have the id of another.
        """
        values = [raw.value or {} for raw in batch]
        filled = plan_of(reading.layout, reading.container).fill(values, [raw.number for raw in batch]).values
        names = [None if number is None else f"{reading.prefix}{number}" for number in filled["external_id"]]
        columns = ", ".join(f"d.{name}::{type_}" for name, type_ in self._types.items())
        found = self._cursor.execute(
            f"""
            SELECT r.place, i.id, {columns} FROM (
                SELECT unnest($names::VARCHAR[]) AS name, unnest($queries::VARCHAR[]) AS query,
                    unnest($codes::VARCHAR[]) AS code, unnest(range({len(names)})) AS place
            ) r JOIN item i ON i.external_id = r.name AND i.kind = {quoted(PAIR.name)}
                AND i.content_hash = md5(md5(r.query) || md5(r.code))
            JOIN decided d ON d.item_id = i.id
            """,
            {"names": names, "queries": filled["query"], "codes": filled["code"]},
        ).fetchall()
        nothing: tuple[Any, ...] | None = (None,) * len(self._types) if self._every_row else None
        cells = [None if raw.value is None else nothing for raw in batch]
        for place, item, *row in found:
            cells[place] = tuple(row)
            self._met.add(item)
        self._rows += sum(one is not None for one in cells)
        self._labelled += sum(one is not None and one[0] is not None for one in cells)
        self._unread += sum(raw.value is None for raw in batch) if self._every_row else 0
        self._progress(Progress("writing", self._rows, self._table.records))
        return cells

    def _by_row(
        self, files: Sequence[tuple[KeptFile, InputFile]]
    ) -> Iterator[tuple[int, tuple[Any, ...] | None]]:
        """Yield the number of each row of a spreadsheet with the cells that are added to it."""
        for batch, given in self._batches(files):
            yield from zip((raw.line for raw in batch), given, strict=True)

    def _splice(
        self, files: Sequence[tuple[KeptFile, InputFile]], names: Sequence[str], target: Path
    ) -> None:
        """Write CSV rows as they stand in their files, with the added cells behind them."""
        reading = self._table.reading
        with target.open("w", encoding=reading.encoding, newline="") as out:
            added = _Cells(reading.delimiter)
            end = "\n"
            for place, (kept, file) in enumerate(files):
                cells = chain.from_iterable(cells for _, cells in self._batches([(kept, file)]))
                header_due = reading.has_header
                if not end.endswith(("\n", "\r")):
                    out.write("\n")
                for row, text in _csv_rows(file, reading.delimiter):
                    if is_blank(row):
                        written = text if self._every_row else ""
                    elif header_due:
                        header_due, written = False, "" if place else added.behind(text, names)
                    else:
                        own = next(cells, None)
                        written = "" if own is None else added.behind(text, own)
                    out.write(written)
                    end = written or end
                # What cannot be read ends the rows, and is counted.
                for _ in cells:
                    pass


def _records(kept: KeptFile, file: InputFile) -> Iterator[RawRecord]:
    return read_records(file, kept.reading.sample(file.path))


class _Cells:
    """Puts cells behind the text of a CSV row, before the end of its line."""

    def __init__(self, delimiter: str) -> None:
        self._delimiter, self._buffer = delimiter, io.StringIO(newline="")
        self._writer = csv.writer(self._buffer, delimiter=delimiter, lineterminator="")

    def behind(self, text: str, cells: Sequence[Any]) -> str:
        """Return the text with the cells."""
        self._buffer.seek(0)
        self._buffer.truncate()
        self._writer.writerow([text_of(cell) for cell in cells])
        body = text.removesuffix("\n").removesuffix("\r")
        return f"{body}{self._delimiter}{self._buffer.getvalue()}{text[len(body) :]}"


def _csv_rows(file: InputFile, delimiter: str) -> Iterator[tuple[list[str], str]]:
    """Yield the rows of a CSV file as long as they can be read, each with its text."""
    taken: list[str] = []
    csv.field_size_limit(file.record_bytes)
    with file.plain.open(encoding="utf-8", newline="") as lines:

        def take() -> Iterator[str]:
            for line in lines:
                taken.append(line)
                yield line

        try:
            for row in csv.reader(take(), delimiter=delimiter, strict=True):
                yield row, "".join(taken)
                taken.clear()
        except csv.Error:
            return
