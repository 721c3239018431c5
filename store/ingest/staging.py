"""Staging: the records of every file in temporary tables of one cursor, before anything is published.

There is a table for each file and sort of record, and for each sort a view over the tables of all files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import duckdb

from store.formats.fields import STAGED, FieldType, Sort
from store.formats.protocol import Entity
from store.formats.values import Refused
from store.ingest.problems import Problem
from store.ingest.rows import PLACE, Batch, FileRead, Rows, stage_columns
from store.sql import quoted


@dataclass(frozen=True, slots=True)
class StagedTable:
    """The table of one file's records of one sort.

    Attributes:
        file: The file, by its number.
        offset: How many records the files before it hold.
        prefix: The prefix of external ids.
    """

    table: str
    sort: Sort
    file: int
    offset: int
    prefix: str = ""

    def select(self) -> str:
        """Return the SELECT of its records, with their place in their file and among all files."""
        named = [
            f"{quoted(self.prefix)} || {name} AS {name}" if name == "external_id" and self.prefix else name
            for name in stage_columns()[self.sort]
        ]
        return (
            f"SELECT {self.file}::INTEGER AS file, {self.offset} + number AS position, number, line, "
            f"{', '.join(named)}, extra FROM {self.table}"
        )


class Stages:
    """The records of all files of an import: a view stage_SORT over the tables of the files that hold it.

    Each has the columns that `stage_columns` says, and file, position, number, line and extra. The position
    counts on over all files, so that new keys can be taken from it.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self.cursor = cursor
        self.offsets: list[int] = [0]
        self._parts: list[StagedTable] = []
        self._open: dict[Sort, str] = {}
        for sort in stage_columns():
            self._view(sort)

    def insert(self, batch: Batch) -> None:
        """Append rows to the table of their file and sort."""
        if batch.sort not in self._open:
            self._open[batch.sort] = f"part_{batch.file}_{batch.sort}"
            self.make(self._open[batch.sort], batch.sort)
        types = {**stage_columns()[batch.sort], **PLACE}
        cast = ", ".join(
            f"CAST({name} AS {STAGED[types[name]]}) AS {name}" for name in batch.rows.column_names
        )
        self.cursor.register("arriving", batch.rows)
        self.cursor.execute(f"INSERT INTO {self._open[batch.sort]} BY NAME SELECT {cast} FROM arriving")
        self.cursor.unregister("arriving")

    def end_file(self, read: FileRead, prefix: str) -> None:
        """Show the rows of a file that is read in the views."""
        self._add_parts(read.file, prefix, self.offsets[-1])
        self.offsets.append(self.offsets[-1] + read.records)

    def _add_parts(self, file: int, prefix: str, offset: int) -> None:
        for sort, table in self._open.items():
            self.add_part(StagedTable(table, sort, file, offset, prefix))
        self._open.clear()

    def unpack(
        self, sort: Sort, columns: Sequence[str], unpacked: Callable[..., Iterator[Entity]]
    ) -> list[Problem]:
        """Stage the items that the records of one sort carry.

        Args:
            sort: The sort that carries it.
            columns: The arguments of `unpacked`, for each record with a value in the last of them.
            unpacked: Returns the items of a record; raises Refused.

        Returns:
            The records of which that cannot be read.
        """
        problems = []
        for part in self.parts(sort):
            found = self.cursor.execute(
                f"SELECT number, line, {', '.join(columns)} FROM ({part.select()}) "
                f"WHERE {columns[-1]} IS NOT NULL ORDER BY number"
            ).fetchall()
            rows = Rows(part.file)
            for number, line, *values in found:
                try:
                    rows.add(unpacked(*values), number, line)
                except Refused as refusal:
                    problems.append(Problem(part.file, number, line, str(refusal)))
                for batch in rows.filled():
                    self.insert(batch)
            for batch in rows.rest():
                self.insert(batch)
            self._add_parts(part.file, "", part.offset)
        return problems

    def parts(self, sort: Sort) -> list[StagedTable]:
        """Return the tables of the records of a sort."""
        return [part for part in self._parts if part.sort == sort]

    def add_part(self, part: StagedTable) -> None:
        """Add a table of a file's records to the stages."""
        self._parts.append(part)
        self._view(part.sort)

    def derive(self, sort: Sort, source: Sort, select: str) -> None:
        """Stage records of one sort that records of another carry.

        Args:
            sort: The sort that is carried.
            source: The sort that carries it.
            select: A SELECT of number, line, the columns and extra, out of the parts of that sort: {part}.
        """
        for part in self.parts(source):
            table = f"{part.table}_{sort}"
            self.make(table, sort)
            self.cursor.execute(f"INSERT INTO {table} BY NAME " + select.format(part=f"({part.select()})"))
            self.add_part(StagedTable(table, sort, part.file, part.offset))

    def fill(self, sort: Sort, column: str, key: str, texts: str) -> None:
        """Fill in missing values of a column from a table (key, text)."""
        for part in self.parts(sort):
            self.cursor.execute(
                f"UPDATE {part.table} SET {column} = t.text FROM {texts} t "
                f"WHERE {part.table}.{column} IS NULL AND {part.table}.{key} = t.key"
            )

    def remove(self, records: Iterable[tuple[int, int]]) -> None:
        """Take records out, each given by its file and number."""
        by_file: dict[int, list[int]] = {}
        for file, number in records:
            by_file.setdefault(file, []).append(number)
        for part in self._parts:
            if numbers := by_file.get(part.file):
                self.cursor.execute(
                    f"DELETE FROM {part.table} WHERE number IN (SELECT unnest(?::BIGINT[]))", [numbers]
                )

    def make(self, table: str, sort: Sort) -> None:
        """Make an empty table for records of a sort."""
        columns = "".join(f"{name} {STAGED[type_]}, " for name, type_ in stage_columns()[sort].items())
        self.cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} (number BIGINT, line BIGINT, {columns}extra VARCHAR)"
        )

    def _view(self, sort: Sort) -> None:
        parts = [part.select() for part in self.parts(sort)]
        if not parts:
            # No table, so that DuckDB knows without a look that what is joined with it is empty.
            places: dict[str, FieldType] = dict.fromkeys(("file", "position", "number", "line"), "integer")
            columns: dict[str, FieldType] = {**places, **stage_columns()[sort], "extra": "text"}
            nulls = ", ".join(f"NULL::{STAGED[type_]} AS {name}" for name, type_ in columns.items())
            parts = [f"SELECT {nulls} LIMIT 0"]
        self.cursor.execute(f"CREATE OR REPLACE TEMP VIEW stage_{sort} AS {' UNION ALL '.join(parts)}")
