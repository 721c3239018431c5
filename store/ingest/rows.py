"""The rows that the records of files become, as Arrow tables, before they are staged.

Nothing here knows the workspace, so that another process can do it: `store.child`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow

from store.events import Progress
from store.formats.fields import FieldType, Sort
from store.formats.judgments import RECORD_FIELDS
from store.formats.protocol import Converter, Entity
from store.formats.traces import TRACE_ROWS, row_types
from store.formats.values import Refused, as_json
from store.ingest.inputs import Input, make_converters
from store.ingest.problems import Problem
from store.kinds.spec import SharedText, task_kinds
from store.reading.layout import Plan, plan_of
from store.reading.records import RawRecord, read_batches

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

PLACE: dict[str, FieldType] = {"number": "integer", "line": "integer", "extra": "text"}
"""The columns of every sort of record beside its own."""

_ROWS = 5_000
"""Rows that become Arrow arrays together."""

_BYTES = 32 << 20
"""Bytes of these that are handed on together: many small inserts take twice as long."""

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
class FileRead:
    """The end of one file.

    Attributes:
        file: The file, by its number.
        records: How many records it holds, refused ones included.
        problems: The records that cannot be imported; they have no rows.
        extra: The names of its fields that the format does not know.
        counts: Changes and omissions of the conversion, and how often.
    """

    file: int
    records: int
    problems: tuple[Problem, ...]
    extra: tuple[str, ...]
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one sort, of one file.

    Attributes:
        file: The file, by its number.
        rows: The rows, with the columns that `stage_columns` says and number, line and extra.
    """

    file: int
    sort: Sort
    rows: pyarrow.Table


def read_files(
    inputs: Sequence[Input],
    *,
    model: str,
    setting: str,
    mapping: Mapping[str, str] | None,
    comparisons: Collection[str],
    give_way: Callable[[], None] = lambda: None,
) -> Iterator[Progress | Batch | FileRead]:
    """Yield the rows of files, how far it is, and the end of each file, in the order of the files.

    Args:
        inputs: The files.
        model: The model that the user named for them; "" for none.
        setting: The setting that the user named for them; "" for none.
        mapping: Our field name to the files' column.
        comparisons: The ids of the comparisons of the workspace.
        give_way: Called between records; sleeps while something more urgent needs the interpreter.
    """
    converters = make_converters(inputs, model, setting, mapping, comparisons)
    for given in inputs:
        yield from _read(given, converters.get(given.file.number), give_way)


def _read(
    given: Input, converter: Converter | None, give_way: Callable[[], None]
) -> Iterator[Progress | Batch | FileRead]:
    """Yield the rows of a file; without a converter a record is a row as it is."""
    file = given.file
    stage = f"checking {file.path.name}"
    yield Progress(stage, 0, None)
    problems: list[Problem] = []
    names: dict[str, None] = {}
    count = 0
    rows = Rows(file.number)
    plan = plan_of(given.layout, given.sample.container)
    for batch in read_batches(file, given.sample, give_way):
        count += len(batch)
        good = [raw for raw in batch if raw.value is not None]
        refused = {raw.number: raw.reason for raw in batch if raw.value is None}
        if converter is None:
            refused |= rows.fill(given.layout.sort, plan, good, names)
        else:
            refused |= rows.convert(converter, good, names)
        if refused:
            problems += [
                Problem(file.number, raw.number, raw.line, refused[raw.number], raw.content)
                for raw in batch
                if raw.number in refused
            ]
        yield from rows.filled()
        yield Progress(stage, count, None)
    yield from rows.rest()
    counts = dict(converter.counts) if converter else {}
    yield FileRead(file.number, count, tuple(problems), tuple(names), counts)


class Rows:
    """The rows of one file, gathered until there are many of a sort.

    Args:
        file: The file, by its number.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._rows: dict[Sort, list[tuple[Any, ...]]] = {}
        self._batches: dict[Sort, list[Any]] = {}
        self._bytes: Counter[Sort] = Counter()
        self._waiting = self._made = 0

    def fill(
        self, sort: Sort, plan: Plan, records: Sequence[RawRecord], names: dict[str, None]
    ) -> dict[int, str]:
        """Take records as they are; return why some are refused, by their number."""
        filled = plan.fill([raw.value or {} for raw in records], [raw.number for raw in records])
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
        self._append(sort, columns)
        return {records[place].number: reason for place, reason in filled.refused.items()}

    def convert(
        self, converter: Converter, records: Sequence[RawRecord], names: dict[str, None]
    ) -> dict[int, str]:
        """Take converted records; return why some are refused, by their number."""
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
        """Take what a record was converted to, all of it or nothing.

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

    def filled(self) -> Iterator[Batch]:
        """Hand on the rows of the sorts that have many."""
        for sort in [sort for sort, size in self._bytes.items() if size >= _BYTES]:
            yield self._taken(sort)

    def rest(self) -> Iterator[Batch]:
        """Hand on all rows."""
        self._flush()
        for sort in list(self._batches):
            yield self._taken(sort)

    def _taken(self, sort: Sort) -> Batch:
        del self._bytes[sort]
        return Batch(self._file, sort, pyarrow.concat_tables(self._batches.pop(sort)))

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
            self._append(sort, dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
        self._rows.clear()
        self._waiting = 0

    def _append(self, sort: Sort, columns: Mapping[str, list[Any]]) -> None:
        types = {**stage_columns()[sort], **PLACE}
        arrays = {name: _array(columns[name], type_) for name, type_ in types.items() if name in columns}
        table = pyarrow.table(arrays)
        self._batches.setdefault(sort, []).append(table)
        self._bytes[sort] += table.nbytes


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
