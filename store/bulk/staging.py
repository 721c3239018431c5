"""Staging: the records of every file in temporary tables of one cursor, before anything is published.

A file is first read fast, with the work of every record done by DuckDB. That reading only answers whether
everything in the file is as it should be; where it is not, the file is read again, exactly, by
store.bulk.records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow

from store.bulk import fast, fast_csv
from store.bulk.columns import STAGE
from store.bulk.files import InputFile
from store.bulk.inputs import Input
from store.bulk.problems import Problem
from store.bulk.records import read_records
from store.bulk.shapes import quoted
from store.bulk.values import staged
from store.events import Progress, Report
from store.formats.checking import Refused, as_json
from store.formats.fields import STAGED, FieldType, Makes
from store.formats.protocol import Sample

_CHUNK = 5_000
_ARROW: dict[FieldType, Any] = {
    "integer": pyarrow.int64(),
    "number": pyarrow.float64(),
    "boolean": pyarrow.bool_(),
    "scores": pyarrow.map_(pyarrow.string(), pyarrow.float64()),
}


@dataclass(frozen=True, slots=True)
class Staging:
    """What came of staging one file.

    Attributes:
        records: How many records it holds, refused ones included.
        problems: The records that cannot be taken; they were not staged.
        extra: The names of its fields that the format does not know.
    """

    records: int
    problems: tuple[Problem, ...]
    extra: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """The table of one file's records; its rows are numbered by their order unless they say otherwise."""

    table: str
    makes: Makes
    file: int
    offset: int
    numbered: bool
    prefix: str

    @property
    def number(self) -> str:
        return "number" if self.numbered else "(rowid + 1)"

    def select(self) -> str:
        columns = dict.fromkeys(STAGE[self.makes])
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

    Each has the columns of `STAGE`, and file, position, number, line and extra. The position counts on over
    all files, so that new keys can be taken from it.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self.cursor = cursor
        self.offsets: list[int] = [0]
        self._parts: list[_Part] = []
        for makes in STAGE:
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
        if given.sample.container == "CSV":
            read = fast_csv.read_into(self.cursor, table, given, STAGE[makes], progress)
        else:
            read = fast.read_into(self.cursor, table, given, STAGE[makes])
        if read is None:
            staging = self._read_exactly(given, table, progress)
        else:
            row = self.cursor.execute(f"SELECT count(*) FROM {table}").fetchone()
            staging = Staging(int(row[0]) if row else 0, (), read.extra)
        self._parts.append(_Part(table, makes, file.number, self.offsets[-1], read is None, key_prefix))
        self.offsets.append(self.offsets[-1] + staging.records)
        self._view(makes)
        return staging

    def derive(self, makes: Makes, source: Makes, select: str) -> None:
        """Stage what the records of one sort carry of another.

        Args:
            makes: The sort that is carried.
            source: The sort that carries it.
            select: A SELECT of number, line, the columns and extra, out of the parts of that sort: {part}.
        """
        for part in [part for part in self._parts if part.makes == source]:
            table = f"{part.table}_{makes}"
            self._make(table, makes)
            self.cursor.execute(f"INSERT INTO {table} BY NAME " + select.format(part=f"({part.select()})"))
            self._parts.append(_Part(table, makes, part.file, part.offset, True, ""))
        self._view(makes)

    def fill(self, makes: Makes, column: str, key: str, texts: str) -> None:
        """Fill in what is missing in a column from a table (key, text)."""
        for part in [part for part in self._parts if part.makes == makes]:
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

    def _make(self, table: str, makes: Makes) -> None:
        columns = "".join(f"{name} {STAGED[type_]}, " for name, type_ in STAGE[makes].items())
        self.cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} (number BIGINT, line BIGINT, {columns}extra VARCHAR)"
        )

    def _view(self, makes: Makes) -> None:
        parts = [part.select() for part in self._parts if part.makes == makes]
        if not parts:
            self._make(f"no_{makes}", makes)
            parts = [_Part(f"no_{makes}", makes, 0, 0, True, "").select()]
        self.cursor.execute(f"CREATE OR REPLACE TEMP VIEW stage_{makes} AS {' UNION ALL '.join(parts)}")

    def _read_exactly(self, given: Input, table: str, progress: Report) -> Staging:
        file, container, layout = given.file, given.sample.container, given.layout
        columns = STAGE[layout.makes]
        self._make(table, layout.makes)
        problems: list[Problem] = []
        extra_names: dict[str, None] = {}
        rows: list[tuple[Any, ...]] = []
        insert = _inserter(self.cursor, table, columns)
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
            if len(rows) == _CHUNK:
                insert(rows)
                rows.clear()
                progress(Progress(f"checking {file.path.name}", count, None))
        insert(rows)
        return Staging(count, tuple(problems), tuple(extra_names))


def _inserter(
    cursor: duckdb.DuckDBPyConnection, table: str, columns: dict[str, FieldType]
) -> Callable[[Sequence[tuple[Any, ...]]], None]:
    types = [
        pyarrow.int64(),
        pyarrow.int64(),
        *(_ARROW.get(type_, pyarrow.string()) for type_ in columns.values()),
        pyarrow.string(),
    ]
    names = ["number", "line", *columns, "extra"]
    scores = [place for place, name in enumerate(names) if name == "scores"]
    cast = ", ".join(f"CAST({name} AS {STAGED[type_]})" for name, type_ in columns.items())

    def insert(rows: Sequence[tuple[Any, ...]]) -> None:
        if not rows:
            return
        by_column = [list(column) for column in zip(*rows, strict=True)]
        for place in scores:
            by_column[place] = [None if found is None else list(found.items()) for found in by_column[place]]
        arrays = [pyarrow.array(values, type_) for values, type_ in zip(by_column, types, strict=True)]
        cursor.register("arriving", pyarrow.table(arrays, names=names))
        cursor.execute(f"INSERT INTO {table} SELECT number, line, {cast}, extra FROM arriving")
        cursor.unregister("arriving")

    return insert


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
