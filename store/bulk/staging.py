"""Staging: the records of every file in temporary tables of one cursor, before anything is published.

A file is first read fast, with the work of every record done by DuckDB. That reading only answers whether
everything in the file is as it should be; where it is not, the file is read again, exactly, by
store.bulk.records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow

from store.bulk import fast, fast_csv
from store.bulk.columns import READ_FAST, entry_kinds, stage_columns
from store.bulk.contents import made_of
from store.bulk.files import InputFile
from store.bulk.inputs import Input
from store.bulk.problems import Problem
from store.bulk.records import read_records
from store.bulk.shapes import quoted
from store.bulk.values import staged
from store.events import Progress, Report
from store.formats.checking import Refused, as_json
from store.formats.fields import STAGED, FieldType, Makes
from store.formats.making import Converter, Made
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
        told: What else is to be told of it: what was left out or changed, and how often.
    """

    records: int
    problems: tuple[Problem, ...]
    extra: tuple[str, ...]
    told: Mapping[str, int] = field(default_factory=dict)


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
        self._parts: list[_Part] = []
        for makes in stage_columns():
            self._view(makes)

    def add(
        self, given: Input, key_prefix: str, progress: Report, converter: Converter | None = None
    ) -> Staging:
        """Read a file.

        Args:
            given: The file.
            key_prefix: What is put before each item's external id.
            progress: Is told the records read, where that is known.
            converter: Turns its records into what they stand for, where each does not stand for one.

        Returns:
            How many records there are, and which cannot be taken.
        """
        file, makes = given.file, given.layout.makes
        table = f"part_{file.number}"
        progress(Progress(f"checking {file.path.name}", 0, None))
        if converter is not None:
            return self._convert(given, key_prefix, progress, converter)
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
        self._parts.append(_Part(table, makes, file.number, self.offsets[-1], read is None, key_prefix))
        self.offsets.append(self.offsets[-1] + staging.records)
        self._view(makes)
        return staging

    def _convert(self, given: Input, key_prefix: str, progress: Report, converter: Converter) -> Staging:
        """Read a file whose records stand for others, each perhaps for several."""
        problems: list[Problem] = []
        extra_names: dict[str, None] = {}
        count = 0
        rows = _Rows(self, given.file.number, key_prefix)
        for raw in read_records(given.file, given.sample):
            count += 1
            if raw.value is None:
                problems.append(Problem(given.file.number, raw.number, raw.line, raw.reason, raw.text))
                continue
            try:
                made = [
                    rows.row(one, raw.number, raw.line) for one in converter.convert(raw.value, raw.number)
                ]
            except Refused as refusal:
                problems.append(Problem(given.file.number, raw.number, raw.line, str(refusal), raw.value))
                continue
            for makes, row, extra in made:
                extra_names.update(dict.fromkeys(extra))
                rows.add(makes, row)
            if count % _CHUNK == 0:
                progress(Progress(f"checking {given.file.path.name}", count, None))
        rows.finish()
        self.offsets.append(self.offsets[-1] + count)
        return Staging(count, tuple(problems), tuple(extra_names), dict(converter.counts))

    def unpack_contents(self) -> list[Problem]:
        """Stage the items, of kinds with a table of their own, that staged judgments carry with them.

        Returns:
            The records whose content cannot be read.
        """
        problems = []
        for part in [part for part in self._parts if part.makes == "judgment"]:
            found = self.cursor.execute(
                f"SELECT number, line, kind, external_id, content, coalesce(item_extra, '{{}}') "
                f"FROM ({part.select()}) WHERE content IS NOT NULL ORDER BY number"
            ).fetchall()
            rows = _Rows(self, part.file, "", part.offset)
            for number, line, kind, external_id, content, extra in found:
                if kind not in entry_kinds():
                    continue
                try:
                    made = list(made_of(entry_kinds()[kind], external_id, content, extra))
                    ready = [rows.row(one, number, line) for one in made]
                except Refused as refusal:
                    problems.append(Problem(part.file, number, line, str(refusal)))
                    continue
                for makes, row, _ in ready:
                    rows.add(makes, row)
            rows.finish()
        return problems

    def hold(self, makes: Makes, table: str, file: int, prefix: str, offset: int | None = None) -> None:
        """Take a table of a file's records, made by the columns of their sort, among what is staged."""
        offset = self.offsets[-1] if offset is None else offset
        self._parts.append(_Part(table, makes, file, offset, True, prefix))
        self._view(makes)

    def derive(self, makes: Makes, source: Makes, select: str) -> None:
        """Stage what the records of one sort carry of another.

        Args:
            makes: The sort that is carried.
            source: The sort that carries it.
            select: A SELECT of number, line, the columns and extra, out of the parts of that sort: {part}.
        """
        for part in [part for part in self._parts if part.makes == source]:
            table = f"{part.table}_{makes}"
            self.make(table, makes)
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

    def make(self, table: str, makes: Makes) -> None:
        """Make an empty table for records of a sort."""
        columns = "".join(f"{name} {STAGED[type_]}, " for name, type_ in stage_columns()[makes].items())
        self.cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} (number BIGINT, line BIGINT, {columns}extra VARCHAR)"
        )

    def _view(self, makes: Makes) -> None:
        parts = [part.select() for part in self._parts if part.makes == makes]
        if not parts:
            self.make(f"no_{makes}", makes)
            parts = [_Part(f"no_{makes}", makes, 0, 0, True, "").select()]
        self.cursor.execute(f"CREATE OR REPLACE TEMP VIEW stage_{makes} AS {' UNION ALL '.join(parts)}")

    def _read_exactly(self, given: Input, table: str, progress: Report) -> Staging:
        file, container, layout = given.file, given.sample.container, given.layout
        columns = stage_columns()[layout.makes]
        self.make(table, layout.makes)
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


class _Rows:
    """Rows of several sorts on their way into a table for each."""

    def __init__(self, stages: Stages, file: int, prefix: str, offset: int | None = None) -> None:
        self._stages = stages
        self._file = file
        self._prefix = prefix
        self._offset = offset
        self._rows: dict[Makes, list[tuple[Any, ...]]] = {}
        self._inserts: dict[Makes, Callable[[Sequence[tuple[Any, ...]]], None]] = {}

    def row(self, made: Made, number: int, line: int) -> tuple[Makes, tuple[Any, ...], Mapping[str, Any]]:
        """Return the row of what was made of a record.

        Raises:
            Refused: It holds what is no JSON.
        """
        columns = stage_columns()[made.makes]
        fields = {_COLUMN.get(name, name): value for name, value in made.fields.items()}
        if made.makes in entry_kinds():
            fields = dict(made.fields)
        values = (_kept(fields.get(name), name, type_) for name, type_ in columns.items())
        return made.makes, (number, line, *values, as_json(made.extra)), made.extra

    def add(self, makes: Makes, row: tuple[Any, ...]) -> None:
        """Add a row."""
        rows = self._rows.setdefault(makes, [])
        rows.append(row)
        if makes not in self._inserts:
            table = f"part_{self._file}_{makes}"
            self._stages.make(table, makes)
            self._inserts[makes] = _inserter(self._stages.cursor, table, stage_columns()[makes])
        if len(rows) == _CHUNK:
            self._inserts[makes](rows)
            rows.clear()

    def finish(self) -> None:
        """Write what is left, and hold the tables."""
        for makes, insert in self._inserts.items():
            insert(self._rows[makes])
            self._stages.hold(makes, f"part_{self._file}_{makes}", self._file, self._prefix, self._offset)


_COLUMN = {"item": "external_id", "reference": "joined_by"}
"""What the columns are called in which a response names its item, or what it is joined by."""


def _kept(value: Any, name: str, type_: FieldType) -> Any:
    """Return a value as it is staged: what nests is kept as JSON.

    Raises:
        Refused: It is no whole number where one is wanted.
    """
    if type_ in ("list", "object") and isinstance(value, dict | list | tuple):
        return as_json(value)
    if type_ == "integer" and isinstance(value, str):
        if value and not (value.isascii() and value.isdecimal() and len(value) < 19):
            raise Refused(f"{name!r} is text ({value[:40]!r}) where a whole number is expected")
        return int(value) if value else None
    return value


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
