"""The file that pairs were imported from, given back with the labels beside its columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet

from store.errors import ExportFailed
from store.events import Progress, Report
from store.export.decided import own_names
from store.export.labels import EXPORTED
from store.export.tables import TableForm, schema_of, table_writer, text_of
from store.formats.protocol import WriteResult
from store.kinds.pair import PAIR
from store.processes import temporary_folder
from store.reading.files import InputFile
from store.reading.kept import Reading, fetch_file, table_name
from store.reading.layout import plan_of
from store.reading.records import RawRecord, column_names, read_records
from store.sql import count, quoted

_ROWS, _CHARACTERS = 20_000, 1 << 25
"""Rows whose items are looked up together, fewer where they are large."""

_COUNTED = 20_000
"""Rows of a table that a dry run goes through."""


@dataclass(frozen=True, slots=True)
class KeptTable:
    """One table that was imported: a file, or the shards that were imported with it.

    Attributes:
        name: Its name.
        sources: The keys of its files, in order.
        names: Their names.
        reading: How they are read.
        records: How many records they have.
    """

    name: str
    sources: tuple[int, ...]
    names: tuple[str, ...]
    reading: Reading
    records: int


KEPT = """SELECT id, name, reading, records + rejected, imported_at FROM source
    WHERE id IN (SELECT source_id FROM source_file) ORDER BY id"""
"""The files that are kept, as SQL."""


def kept_tables(rows: Iterable[Sequence[Any]]) -> dict[str, KeptTable]:
    """Return the tables of kept files by name: of several with one name that which was imported last.

    Args:
        rows: The rows of KEPT.
    """
    tables: dict[str, KeptTable] = {}
    moments: dict[str, Any] = {}
    for source, name, reading, records, moment in rows:
        of, parsed = table_name(name), Reading.from_json(reading)
        before = tables.get(of)
        # Shards are imported together, and read alike.
        if before is not None and name != of and (moments[of], before.reading) == (moment, parsed):
            sources, names = (*before.sources, source), (*before.names, name)
            tables[of] = KeptTable(of, sources, names, parsed, before.records + records)
        else:
            tables[of] = KeptTable(of, (source,), (name,), parsed, records)
        moments[of] = moment
    return tables


def kept_table(cursor: duckdb.DuckDBPyConnection, wanted: str | None) -> KeptTable | None:
    """Return the table that an export gives back: the only one, or the one that is named.

    Args:
        cursor: A cursor of the workspace.
        wanted: The name of its file; None for the only one.

    Returns:
        None where none is named and none is kept.

    Raises:
        ExportFailed: There are several, or none of that name.
    """
    tables = kept_tables(cursor.execute(KEPT).fetchall())
    if wanted is not None:
        found = [one for one in tables.values() if wanted in (one.name, *one.names)]
        if not found:
            raise ExportFailed(
                "No such file",
                f"No file {wanted!r} is kept here, but {', '.join(tables) or 'none'}. Nothing was written.",
                "Name one of these: --file NAME",
            )
        return found[0]
    if len(tables) > 1:
        raise ExportFailed(
            "Which file",
            f"Pairs were imported from {len(tables)} tables: {', '.join(list(tables)[:8])}. "
            "Nothing was written.",
            "Name the one that you want back: --file NAME",
        )
    return next(iter(tables.values()), None)


class OwnFile:
    """The rows of a kept table with the columns of the table decided.

    Args:
        cursor: A cursor of the workspace, with the table decided.
        table: The table.
        added: The columns that are added, with their types.
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
        progress: Report,
    ) -> None:
        self._cursor, self._table, self._types = cursor, table, added
        self._every_row, self._progress = every_row, progress
        self._met: set[int] = set()
        self._rows = self._labelled = 0

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
            f"WHERE source_id IN ({', '.join(map(str, table.sources))})"
        )
        items, labelled = self._cursor.execute(brought).fetchall()[0]
        records = table.records if self._every_row else items
        return WriteResult(records, estimated=True, labelled=labelled, file=table.name)

    def write(self, form: TableForm, target: Path) -> WriteResult:
        """Write it; as CSV its own rows stay as they are, byte for byte, if it was CSV.

        Args:
            form: The form.
            target: The file.

        Raises:
            ExportFailed: It cannot be written in this form.
        """
        table = self._table
        with self._files() as files:
            schema = self._schema(files)
            names = own_names(schema.names, tuple(self._types))
            if form == "csv" and table.reading.container == "CSV":
                self._splice(files, names, target)
            else:
                added = dict(zip(names, self._types.values(), strict=True))
                types = None if table.reading.container == "CSV" else schema
                with table_writer(form, target, schema.names, added, types) as out:
                    for batch, given in self._batches(files):
                        out.write(
                            [
                                ([(raw.value or {}).get(name) for name in schema.names], cells)
                                for raw, cells in zip(batch, given, strict=True)
                                if cells is not None
                            ]
                        )
        return self._written(names)

    def _written(self, added: Sequence[str]) -> WriteResult:
        pairs = count(
            self._cursor,
            f"SELECT count(*) FROM item WHERE kind = {quoted(PAIR.name)} AND id IN {EXPORTED}",
        )
        left_out = pairs - len(self._met)
        return WriteResult(self._rows, left_out, labelled=self._labelled, file=self._table.name, added=added)

    @contextmanager
    def _files(self) -> Iterator[list[InputFile]]:
        """Give the files of the table, for as long as they are read."""
        with temporary_folder("workbench-export-") as folder:
            named = zip(self._table.sources, self._table.names, strict=True)
            yield [fetch_file(self._cursor, source, name, folder) for source, name in named]

    def _schema(self, files: Sequence[InputFile]) -> pyarrow.Schema:
        """Return the columns of the table, with their types in Parquet where they have some."""
        reading, first = self._table.reading, files[0]
        if reading.container == "Parquet":
            return pyarrow.parquet.read_schema(first.plain)
        if reading.container == "CSV":
            header = next((row for row, _ in _csv_rows(first, reading.delimiter) if row), [])
            names = column_names(header) if reading.has_header else map(str, range(1, len(header) + 1))
            return pyarrow.schema([(name, pyarrow.string()) for name in names])
        return schema_of(raw.value for file in files for raw in self._records(file) if raw.value)

    def _records(self, file: InputFile) -> Iterator[RawRecord]:
        return read_records(file, self._table.reading.sample(file.path))

    def _batches(
        self, files: Sequence[InputFile]
    ) -> Iterator[tuple[list[RawRecord], list[tuple[Any, ...] | None]]]:
        """Yield the rows with the cells that are added to each, None where it is not written, in batches."""
        batch: list[RawRecord] = []
        size = 0
        for raw in chain.from_iterable(map(self._records, files)):
            batch.append(raw)
            size += raw.size
            if len(batch) >= _ROWS or size >= _CHARACTERS:
                yield batch, self._cells(batch)
                batch, size = [], 0
        if batch:
            yield batch, self._cells(batch)

    def _cells(self, batch: Sequence[RawRecord]) -> list[tuple[Any, ...] | None]:
        """Return the added cells of each row; None where it is not written."""
        reading = self._table.reading
        values = [raw.value or {} for raw in batch]
        numbers = [raw.number for raw in batch]
        ids = plan_of(reading.layout, reading.container).fill(values, numbers).values["external_id"]
        names = [
            None if number is None or not value else f"{reading.prefix}{number}"
            for number, value in zip(ids, values, strict=True)
        ]
        columns = ", ".join(f"d.{name}::{type_}" for name, type_ in self._types.items())
        found = self._cursor.execute(
            f"""
            SELECT r.place, i.id, {columns} FROM (
                SELECT unnest(?::VARCHAR[]) AS name, unnest(range(?)) AS place
            ) r JOIN item i ON i.external_id = r.name AND i.kind = {quoted(PAIR.name)}
            JOIN decided d ON d.item_id = i.id
            """,
            [names, len(names)],
        ).fetchall()
        nothing: tuple[Any, ...] | None = (None,) * len(self._types) if self._every_row else None
        cells = [nothing] * len(batch)
        for place, item, *row in found:
            cells[place] = tuple(row)
            self._met.add(item)
        self._rows += sum(one is not None for one in cells)
        self._labelled += sum(one is not None and one[0] is not None for one in cells)
        self._progress(Progress("writing", self._rows, self._table.records))
        return cells

    def _splice(self, files: Sequence[InputFile], names: Sequence[str], target: Path) -> None:
        """Write CSV rows as they stand in their file, with the added cells behind them."""
        reading = self._table.reading
        with target.open("w", encoding=reading.encoding, newline="") as out:
            added = _Cells(reading.delimiter)
            last = ""
            for file in files:
                cells = chain.from_iterable(cells for _, cells in self._batches([file]))
                header_due = reading.has_header
                if last and not last.endswith(("\n", "\r")):
                    out.write("\n")
                for row, text in _csv_rows(file, reading.delimiter):
                    if row and header_due:
                        header_due, written = False, "" if last else added.behind(text, names)
                    elif row:
                        own = next(cells)
                        written = "" if own is None else added.behind(text, own)
                    else:
                        written = text if self._every_row else ""
                    out.write(written)
                    last = written or last


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
    """Yield the rows of a CSV file, each with its text; what cannot be read is no row, but a text."""
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
            yield [], "".join((*taken, *lines))
