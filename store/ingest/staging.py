"""Staging: the records of every file in temporary tables of one cursor, before anything is published.

There is a table for each file and sort of record, and for each sort a view over the tables of all files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import duckdb
import pyarrow

from store.events import Progress, Report
from store.formats.fields import STAGED, FieldType, Sort
from store.formats.judgments import RECORD_FIELDS
from store.formats.protocol import Converter, Entity
from store.formats.traces import TRACE_ROWS, row_types
from store.formats.values import Refused, as_json
from store.ingest.inputs import Input
from store.ingest.layout import Plan, plan_of
from store.ingest.problems import Problem
from store.ingest.records import RawRecord, read_batches
from store.kinds.spec import SharedText, task_kinds
from store.sql import quoted

SEQUENCE = "sequence"
"""The column of records that are counted as they are made: several of one record stand in an order."""

_PLACED: dict[str, FieldType] = {"kind": "text", "external_id": "id"}
_OF_A_RESPONSE: dict[str, FieldType] = {
    **_PLACED,
    "joined_by": "text",
    "model": "text",
    "setting": "text",
    "trial": "integer",
}
_TRACED: dict[Sort, dict[str, FieldType]] = {
    "trace_step": {"run": "uuid"},
    "trace_execution": {"step_id": "uuid"},
    "trace_test": {"execution_id": "uuid", "place": "integer"},
    "trace_verdict": {
        **{"run": "uuid", "question": "text"},
        **{"model": "text", "setting": "text", "trial": "integer"},
    },
}
"""The keys by which the rows of a trace belong together."""

_SORTS: dict[Sort, dict[str, FieldType]] = {
    "label": {
        **_PLACED,
        "question": "text",
        "rater": "text",
        "value": "number",
        "favoured": "text",
        "comment": "text",
        "reason": "text",
        "shown_as": "text",
        "phase": "text",
        "made_at": "moment",
    },
    "judgment": {one.name: one.type for one in RECORD_FIELDS},
    "chunk": {
        **_PLACED,
        "setting": "text",
        "rank": "integer",
        "path": "text",
        "text": "text",
        "score": "number",
    },
    "response": {**_OF_A_RESPONSE, "text": "text"},
    "score": {
        **_OF_A_RESPONSE,
        "id": "uuid",
        "judge": "text",
        "measure": "text",
        "value": "number",
        "raw": "text",
        "reason": "text",
        SEQUENCE: "integer",
    },
    **{sort: {**_PLACED, **_TRACED.get(sort, {}), **row_types(sort)} for sort in TRACE_ROWS},
}
_COLUMN = {"item": "external_id", "reference": "joined_by"}
"""The columns for the item that a response names, and the text by which it is joined."""

_PLACE: dict[str, FieldType] = {"number": "integer", "line": "integer", "extra": "text"}
"""The columns of every sort of record beside its own."""

_ROWS = 5_000
"""Rows that become Arrow arrays together."""

_BYTES = 32 << 20
"""Bytes of these that are inserted together: many small inserts take twice as long."""

_ARROW: dict[FieldType, Any] = {
    "integer": pyarrow.int64(),
    "number": pyarrow.float64(),
    "boolean": pyarrow.bool_(),
}


@cache
def shared_sorts() -> dict[Sort, SharedText]:
    """Return the sorts of records that are texts to which items of the same import refer, by name."""
    return {shared.table: shared for kind in task_kinds().values() for shared in kind.record.shared}


@cache
def stage_columns() -> dict[Sort, dict[str, FieldType]]:
    """Return the staged columns of each sort of record, beside its place and its extra fields."""
    columns = dict(_SORTS)
    for name, shared in shared_sorts().items():
        columns[name] = {"ref": "id", shared.column: "text"}
    for name, kind in task_kinds().items():
        references: dict[str, FieldType] = {f"{shared.table}_ref": "id" for shared in kind.record.shared}
        scores: dict[str, FieldType] = {"scores": "scores"} if kind.record.ranked else {}
        columns[name] = {
            "external_id": "id",
            **references,
            **kind.record.columns,
            "label": "number",
            **{spec.title: "number" for spec in kind.imported},
            **scores,
        }
    return columns


@dataclass(frozen=True, slots=True)
class Staging:
    """The result of staging one file.

    Attributes:
        records: How many records it holds, refused ones included.
        problems: The records that cannot be imported; they were not staged.
        extra: The names of its fields that the format does not know.
        counts: Changes and omissions of the conversion, and how often.
    """

    records: int
    problems: tuple[Problem, ...]
    extra: tuple[str, ...]
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Part:
    """The table of one file's records of one sort.

    Attributes:
        table: Its name.
        sort: The sort.
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

    Args:
        cursor: The cursor that holds them.
        give_way: Called between records; sleeps while something more urgent needs the interpreter.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection, give_way: Callable[[], None]) -> None:
        self.cursor = cursor
        self._give_way = give_way
        self.offsets: list[int] = [0]
        self._parts: list[Part] = []
        for sort in stage_columns():
            self._view(sort)

    def add(self, given: Input, prefix: str, progress: Report, converter: Converter | None = None) -> Staging:
        """Read a file.

        Args:
            given: The file.
            prefix: The prefix of external ids.
            progress: Receives the number of records read.
            converter: Converts its records; None where each is staged as it is.

        Returns:
            How many records there are, and which cannot be imported.
        """
        file = given.file
        stage = f"checking {file.path.name}"
        progress(Progress(stage, 0, None))
        problems: list[Problem] = []
        names: dict[str, None] = {}
        count = 0
        tables = _Tables(self, file.number, prefix)
        plan = plan_of(given.layout, given.sample.container)
        for batch in read_batches(file, given.sample, self._give_way):
            count += len(batch)
            good = [raw for raw in batch if raw.value is not None]
            refused = {raw.number: raw.reason for raw in batch if raw.value is None}
            if converter is None:
                refused |= tables.fill(given.layout.sort, plan, good, names)
            else:
                refused |= tables.convert(converter, good, names)
            if refused:
                problems += [
                    Problem(file.number, raw.number, raw.line, refused[raw.number], raw.content)
                    for raw in batch
                    if raw.number in refused
                ]
            progress(Progress(stage, count, None))
        tables.finish()
        self.offsets.append(self.offsets[-1] + count)
        return Staging(count, tuple(problems), tuple(names), dict(converter.counts) if converter else {})

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
            tables = _Tables(self, part.file, "", part.offset)
            for number, line, *values in found:
                try:
                    tables.add(unpacked(*values), number, line)
                except Refused as refusal:
                    problems.append(Problem(part.file, number, line, str(refusal)))
            tables.finish()
        return problems

    def parts(self, sort: Sort) -> list[Part]:
        """Return the tables of the records of a sort."""
        return [part for part in self._parts if part.sort == sort]

    def add_part(self, part: Part) -> None:
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
            self.add_part(Part(table, sort, part.file, part.offset))

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


class _Tables:
    """The tables of one file's records, one for each sort that it holds.

    Args:
        stages: Receives the tables when all of the file is read.
        file: The file, by its number.
        prefix: The prefix of external ids.
        offset: How many records the files before it hold; all that are staged by default.
    """

    def __init__(self, stages: Stages, file: int, prefix: str, offset: int | None = None) -> None:
        self._stages = stages
        self._file = file
        self._prefix = prefix
        self._offset = stages.offsets[-1] if offset is None else offset
        self._tables: dict[Sort, str] = {}
        self._rows: dict[Sort, list[tuple[Any, ...]]] = {}
        self._batches: dict[Sort, list[Any]] = {}
        self._bytes: Counter[Sort] = Counter()
        self._waiting = self._made = 0

    def fill(
        self, sort: Sort, plan: Plan, records: Sequence[RawRecord], names: dict[str, None]
    ) -> dict[int, str]:
        """Stage records as they are; return why some are refused, by their number."""
        filled = plan.fill([raw.value or {} for raw in records])
        names.update(filled.names)
        columns = {
            "number": [raw.number for raw in records],
            "line": [raw.line for raw in records],
            **filled.values,
            "extra": filled.extra,
        }
        if filled.refused:
            columns = {
                name: [value for place, value in enumerate(values) if place not in filled.refused]
                for name, values in columns.items()
            }
        self._insert(sort, columns)
        return {records[place].number: reason for place, reason in filled.refused.items()}

    def convert(
        self, converter: Converter, records: Sequence[RawRecord], names: dict[str, None]
    ) -> dict[int, str]:
        """Stage converted records; return why some are refused, by their number."""
        refused = {}
        for raw in records:
            try:
                made = self.add(converter.convert(raw.value or {}, raw.number), raw.number, raw.line)
            except Refused as refusal:
                refused[raw.number] = str(refusal)
                continue
            for one in made:
                names.update(dict.fromkeys(one.extra))
        return refused

    def add(self, made: Iterable[Entity], number: int, line: int) -> list[Entity]:
        """Stage what a record was converted to, all of it or nothing.

        Raises:
            Refused: It holds what is no JSON.
        """
        every = list(made)
        for one, row in [(one, self._row(one, number, line)) for one in every]:
            self._rows.setdefault(one.sort, []).append(row)
            self._waiting += 1
        if self._waiting >= _ROWS:
            self._flush()
        return every

    def finish(self) -> None:
        """Write the remaining rows, and add the tables to the stages."""
        self._flush()
        for sort in list(self._batches):
            self._write(sort)
        for sort, table in self._tables.items():
            self._stages.add_part(Part(table, sort, self._file, self._offset, self._prefix))

    def _row(self, made: Entity, number: int, line: int) -> tuple[Any, ...]:
        columns = stage_columns()[made.sort]
        fields = dict(made.fields)
        if made.sort not in task_kinds():
            fields = {_COLUMN.get(name, name): value for name, value in fields.items()}
        if SEQUENCE in columns:
            self._made += 1
            fields[SEQUENCE] = self._made
        values = (_staged_value(fields.get(name), name, type_) for name, type_ in columns.items())
        return number, line, *values, as_json(made.extra)

    def _flush(self) -> None:
        for sort, rows in self._rows.items():
            names = ("number", "line", *stage_columns()[sort], "extra")
            self._insert(sort, dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
        self._rows.clear()
        self._waiting = 0

    def _insert(self, sort: Sort, columns: Mapping[str, list[Any]]) -> None:
        """Append rows to the table of a sort; they are held as Arrow until there are many."""
        if sort not in self._tables:
            self._tables[sort] = f"part_{self._file}_{sort}"
            self._stages.make(self._tables[sort], sort)
        types = {**stage_columns()[sort], **_PLACE}
        arrays = {name: _array(columns[name], type_) for name, type_ in types.items() if name in columns}
        table = pyarrow.table(arrays)
        self._batches.setdefault(sort, []).append(table)
        self._bytes[sort] += table.nbytes
        if self._bytes[sort] >= _BYTES:
            self._write(sort)

    def _write(self, sort: Sort) -> None:
        arriving = pyarrow.concat_tables(self._batches.pop(sort))
        del self._bytes[sort]
        columns = {**stage_columns()[sort], **_PLACE}
        cast = ", ".join(
            f"CAST({name} AS {STAGED[columns[name]]}) AS {name}" for name in arriving.column_names
        )
        cursor = self._stages.cursor
        cursor.register("arriving", arriving)
        cursor.execute(f"INSERT INTO {self._tables[sort]} BY NAME SELECT {cast} FROM arriving")
        cursor.unregister("arriving")


def _array(values: Sequence[Any], type_: FieldType) -> Any:
    if type_ != "scores":
        return pyarrow.array(values, _ARROW.get(type_, pyarrow.string()))
    offsets: list[int | None] = []
    models: list[str] = []
    scores: list[float] = []
    for found in values:
        offsets.append(None if found is None else len(models))
        if found is not None:
            models += found
            scores += found.values()
    return pyarrow.MapArray.from_arrays(
        pyarrow.array([*offsets, len(models)], pyarrow.int32()),
        pyarrow.array(models, pyarrow.string()),
        pyarrow.array(scores, pyarrow.float64()),
    )


def _staged_value(value: Any, name: str, type_: FieldType) -> Any:
    """Return a value as it is staged: lists and objects as JSON.

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
