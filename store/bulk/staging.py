"""Staging: the records of every file in temporary tables of one cursor, before anything is published.

A file is first read fast, with the work of every record done by DuckDB. That reading only answers whether
everything in the file is as it should be; where it is not, the file is read again, exactly, by
store.bulk.records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from store.bulk import fast, fast_csv
from store.bulk.columns import READ_FAST, stage_columns
from store.bulk.files import InputFile
from store.bulk.inputs import Input
from store.bulk.inserting import CHUNK, inserter
from store.bulk.problems import Problem
from store.bulk.records import read_records
from store.bulk.shapes import quoted
from store.bulk.values import staged
from store.events import Progress, Report
from store.formats.checking import Refused, as_json
from store.formats.fields import STAGED, Makes
from store.formats.protocol import Sample


@dataclass(frozen=True, slots=True)
class Staging:
    """What came of staging one file.

    Attributes:
        records: How many records it holds, refused ones included.
        problems: The records that cannot be taken; they were not staged.
        extra: The names of its fields that the format does not know.
        told: What else is to be told of it: what was left out or changed, and how often.
    """

    records: int
    problems: tuple[Problem, ...]
    extra: tuple[str, ...]
    told: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """The table of one file's records; its rows are numbered by their order unless they say otherwise."""

    table: str
    makes: Makes
    file: int
    offset: int
    numbered: bool
    prefix: str

    @property
    def number(self) -> str:
        """The SQL of a record's place in its file."""
        return "number" if self.numbered else "(rowid + 1)"

    def select(self) -> str:
        """Return the SELECT of its records, with their place in their file and among all files."""
        columns = dict.fromkeys(stage_columns()[self.makes])
        named = [
            f"{quoted(self.prefix)} || {name} AS {name}" if name == "external_id" and self.prefix else name
            for name in columns
        ]
        return (
            f"SELECT {self.file}::INTEGER AS file, {self.offset} + {self.number} AS position, "
            f"{self.number} AS number, {'line' if self.numbered else 'NULL::BIGINT'} AS line, "
            f"{', '.join(named)}, extra FROM {self.table}"
        )


class Stages:
    """The records of all files of an import: a view stage_MAKES over the tables of the files that make it.

    Each has the columns that `stage_columns` says, and file, position, number, line and extra. The position
    counts on over all files, so that new keys can be taken from it.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self.cursor = cursor
        self.offsets: list[int] = [0]
        self._parts: list[Part] = []
        for makes in stage_columns():
            self._view(makes)

    def add(self, given: Input, key_prefix: str, progress: Report) -> Staging:
        """Read a file.

        Args:
            given: The file.
            key_prefix: What is put before each item's external id.
            progress: Is told the records read, where that is known.

        Returns:
            How many records there are, and which cannot be taken.
        """
        file, makes = given.file, given.layout.makes
        table = f"part_{file.number}"
        progress(Progress(f"checking {file.path.name}", 0, None))
        columns, read = stage_columns()[makes], None
        if makes in READ_FAST and given.sample.container == "CSV":
            read = fast_csv.read_into(self.cursor, table, given, columns, progress)
        elif makes in READ_FAST:
            read = fast.read_into(self.cursor, table, given, columns)
        if read is None:
            staging = self._read_exactly(given, table, progress)
        else:
            row = self.cursor.execute(f"SELECT count(*) FROM {table}").fetchone()
            staging = Staging(int(row[0]) if row else 0, (), read.extra)
        self._parts.append(Part(table, makes, file.number, self.offsets[-1], read is None, key_prefix))
        self.offsets.append(self.offsets[-1] + staging.records)
        self._view(makes)
        return staging

    def hold(self, makes: Makes, table: str, file: int, prefix: str, offset: int) -> None:
        """Take a table of a file's records, made by the columns of their sort, among what is staged.

        Args:
            makes: The sort.
            table: The table, made by `make`.
            file: The file, by its number.
            prefix: What is put before each item's external id.
            offset: How many records the files before it hold.
        """
        self._parts.append(Part(table, makes, file, offset, True, prefix))
        self._view(makes)

    def parts(self, makes: Makes) -> list[Part]:
        """Return the tables of the records of a sort."""
        return [part for part in self._parts if part.makes == makes]

    def derive(self, makes: Makes, source: Makes, select: str) -> None:
        """Stage what the records of one sort carry of another.

        Args:
            makes: The sort that is carried.
            source: The sort that carries it.
            select: A SELECT of number, line, the columns and extra, out of the parts of that sort: {part}.
        """
        for part in self.parts(source):
            table = f"{part.table}_{makes}"
            self.make(table, makes)
            self.cursor.execute(f"INSERT INTO {table} BY NAME " + select.format(part=f"({part.select()})"))
            self._parts.append(Part(table, makes, part.file, part.offset, True, ""))
        self._view(makes)

    def fill(self, makes: Makes, column: str, key: str, texts: str) -> None:
        """Fill in what is missing in a column from a table (key, text)."""
        for part in self.parts(makes):
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
                    f"DELETE FROM {part.table} WHERE {part.number} IN (SELECT unnest(?::BIGINT[]))", [numbers]
                )

    def make(self, table: str, makes: Makes) -> None:
        """Make an empty table for records of a sort."""
        columns = "".join(f"{name} {STAGED[type_]}, " for name, type_ in stage_columns()[makes].items())
        self.cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} (number BIGINT, line BIGINT, {columns}extra VARCHAR)"
        )

    def _view(self, makes: Makes) -> None:
        parts = [part.select() for part in self.parts(makes)]
        if not parts:
            self.make(f"no_{makes}", makes)
            parts = [Part(f"no_{makes}", makes, 0, 0, True, "").select()]
        self.cursor.execute(f"CREATE OR REPLACE TEMP VIEW stage_{makes} AS {' UNION ALL '.join(parts)}")

    def _read_exactly(self, given: Input, table: str, progress: Report) -> Staging:
        file, container, layout = given.file, given.sample.container, given.layout
        columns = stage_columns()[layout.makes]
        self.make(table, layout.makes)
        problems: list[Problem] = []
        extra_names: dict[str, None] = {}
        rows: list[tuple[Any, ...]] = []
        insert = inserter(self.cursor, table, columns)
        count = 0
        for raw in read_records(file, given.sample):
            count += 1
            if raw.value is None:
                problems.append(Problem(file.number, raw.number, raw.line, raw.reason, raw.text))
                continue
            try:
                values, extra = staged(
                    raw.value, layout, texts=container == "CSV", typed=container == "Parquet"
                )
                kept = as_json(extra)
            except Refused as refusal:
                problems.append(Problem(file.number, raw.number, raw.line, str(refusal), raw.value))
                continue
            extra_names.update(dict.fromkeys(extra))
            rows.append((raw.number, raw.line, *(values.get(name) for name in columns), kept))
            if len(rows) == CHUNK:
                insert(rows)
                rows.clear()
                progress(Progress(f"checking {file.path.name}", count, None))
        insert(rows)
        return Staging(count, tuple(problems), tuple(extra_names))


def located(
    problems: Sequence[Problem], files: Sequence[InputFile], samples: Sequence[Sample]
) -> list[Problem]:
    """Return problems with the line and the content of each record, reading the files again where needed."""
    wanted: dict[int, set[int]] = {}
    for problem in problems:
        if problem.line is None or problem.record is None:
            wanted.setdefault(problem.file, set()).add(problem.number)
    found: dict[tuple[int, int], tuple[int, Any]] = {}
    for number, records in wanted.items():
        last = max(records)
        for raw in read_records(files[number], samples[number]):
            if raw.number in records:
                found[number, raw.number] = (raw.line, raw.text if raw.value is None else raw.value)
            if raw.number >= last:
                break
    placed = []
    for problem in problems:
        line, record = found.get((problem.file, problem.number), (problem.line, problem.record))
        placed.append(Problem(problem.file, problem.number, line, problem.reason, record))
    return sorted(placed, key=lambda problem: (problem.file, problem.number))
