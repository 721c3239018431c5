"""The file that pairs were imported from, given back with the labels beside its columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
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


def kept_table(cursor: duckdb.DuckDBPyConnection, wanted: str | None) -> KeptTable | None:
    """Return the table that an export gives back: the only one, or the one that is named.

    Of several with one name the one that was imported last counts.

    Args:
        cursor: A cursor of the workspace.
        wanted: The name of its file; None for the only one.

    Returns:
        None where none is named and none is kept.

    Raises:
        ExportFailed: There are several, or none of that name.
    """
    rows = cursor.execute(
        "SELECT id, name, reading, records + rejected, imported_at FROM source WHERE id IN "
        "(SELECT source_id FROM source_file) ORDER BY id"
    ).fetchall()
    tables: dict[str, KeptTable] = {}
    moments: dict[str, Any] = {}
    for source, name, reading, records, moment in rows:
        of, parsed = table_name(name), Reading.from_json(reading)
        before = tables.get(of)
        # Shards are imported together, and read alike.
        if before is not None and name != of and (moments[of], before.reading) == (moment, parsed):
            tables[of] = KeptTable(
                of, (*before.sources, source), (*before.names, name), parsed, before.records + records
            )
        else:
            tables[of] = KeptTable(of, (source,), (name,), parsed, records)
        moments[of] = moment
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
        self._rows = 0

    def counted(self) -> WriteResult:
        """Return how many rows would be written: of a part of the items about how many."""
        records = self._table.records
        if not self._every_row:
            records = count(
                self._cursor,
                f"SELECT count(*) FROM item WHERE id IN {EXPORTED} "
                f"AND source_id IN ({', '.join(map(str, self._table.sources))})",
            )
        return WriteResult(records, file=self._table.name, estimated=not self._every_row)

    def write(self, form: TableForm, target: Path) -> WriteResult:
        """Write it; as CSV its own rows stay as they are, byte for byte, if it was CSV.

        Args:
            form: The form.
            target: The file.

        Raises:
            ExportFailed: It cannot be written in this form.
        """
        table = self._table
        with temporary_folder("workbench-export-") as folder:
            files = [
                fetch_file(self._cursor, source, name, folder)
                for source, name in zip(table.sources, table.names, strict=True)
            ]
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
        pairs = count(
            self._cursor,
            f"SELECT count(*) FROM item WHERE kind = {quoted(PAIR.name)} AND id IN {EXPORTED}",
        )
        return WriteResult(self._rows, pairs - len(self._met), file=table.name, added=names)

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
