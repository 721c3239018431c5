"""Staging: the records of every file in temporary tables of one cursor, before anything is published.

A file of JSON or Parquet is first read by DuckDB itself. That reading only answers whether everything in the
file is as it should be; where it is not, the file is read again, exactly, by store.bulk.records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow

from store.bulk import fast
from store.bulk.files import InputFile
from store.bulk.problems import Problem
from store.bulk.records import read_records
from store.bulk.values import Refused, as_json, staged
from store.events import Progress, Report
from store.formats.fields import STAGED, FieldType, Layout, Makes
from store.formats.protocol import Sample

STAGE: dict[Makes, dict[str, FieldType]] = {
    "pair": {
        "external_id": "id",
        "query_ref": "id",
        "code_ref": "id",
        "query": "text",
        "code": "text",
        "name": "text",
        "language": "text",
        "repository": "text",
        "path": "text",
        "licence": "text",
        "rank": "integer",
        "label": "number",
        "scores": "scores",
    },
    "query": {"ref": "id", "query": "text"},
    "code": {"ref": "id", "code": "text"},
    "label": {
        "kind": "text",
        "external_id": "id",
        "question": "text",
        "rater": "text",
        "value": "number",
        "comment": "text",
    },
    "judgment": {
        "record": "text",
        "id": "uuid",
        "action": "uuid",
        "kind": "text",
        "external_id": "id",
        "content_hash": "text",
        "question": "text",
        "rater": "text",
        "rater_kind": "text",
        "assignment": "uuid",
        "phase": "text",
        "value": "number",
        "origin": "text",
        "supersedes": "uuid",
        "target_action": "uuid",
        "restores": "uuid",
        "shown_verdict": "uuid",
        "shown_execution": "uuid",
        "guideline": "text",
        "blind": "boolean",
        "reason": "text",
        "comment": "text",
        "evidence": "text",
        "elapsed_ms": "integer",
        "active_ms": "integer",
        "created_at": "moment",
        "mark": "text",
        "active": "boolean",
        "query": "text",
        "code": "text",
        "name": "text",
        "language": "text",
        "repository": "text",
        "path": "text",
        "licence": "text",
        "rank": "integer",
        "scores": "scores",
        "item_extra": "object",
    },
}
"""The columns of the staging tables, beside file, number, line, position and extra.

The position counts on over all files of an import, so new keys can be taken from it."""

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


def create_stages(cursor: duckdb.DuckDBPyConnection) -> None:
    """Make the empty staging tables; they vanish with the cursor."""
    for makes, columns in STAGE.items():
        named = "".join(f"{name} {STAGED[type_]}, " for name, type_ in columns.items())
        cursor.execute(
            f"CREATE TEMP TABLE stage_{makes} (file INTEGER, position BIGINT, number BIGINT, "
            f"line BIGINT, {named}extra VARCHAR)"
        )


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file on its way into the staging table of what it makes.

    Attributes:
        cursor: The cursor that holds the staging tables.
        file: The file, made ready.
        sample: How its records are stored.
        layout: What they hold.
        offset: How many records the files before it have.
    """

    cursor: duckdb.DuckDBPyConnection
    file: InputFile
    sample: Sample
    layout: Layout
    offset: int

    @property
    def columns(self) -> dict[str, FieldType]:
        """The columns of the staging table that it fills."""
        return STAGE[self.layout.makes]


def stage(arrival: Arrival, key_prefix: str, progress: Report) -> Staging:
    """Read a file into the staging table of what it makes.

    Args:
        arrival: The file, and where it goes.
        key_prefix: What is put before each item's external id.
        progress: Is told the records read, where that is known.

    Returns:
        How many records there are, and which cannot be taken.
    """
    file = arrival.file
    progress(Progress(f"checking {file.path.name}", 0, None))
    read = fast.stage(arrival.cursor, file, arrival.sample, arrival.layout, arrival.columns, arrival.offset)
    staging = _stage_exactly(arrival, progress) if read is None else Staging(read.records, (), read.extra)
    if key_prefix and "external_id" in arrival.columns:
        arrival.cursor.execute(
            f"UPDATE stage_{arrival.layout.makes} SET external_id = ? || external_id WHERE file = ?",
            [key_prefix, file.number],
        )
    return staging


def _stage_exactly(arrival: Arrival, progress: Report) -> Staging:
    file, container = arrival.file, arrival.sample.container
    problems: list[Problem] = []
    extra_names: dict[str, None] = {}
    rows: list[tuple[Any, ...]] = []
    insert = _inserter(arrival)
    count = 0
    for raw in read_records(file, arrival.sample):
        count += 1
        if raw.value is None:
            problems.append(Problem(file.number, raw.number, raw.line, raw.reason, raw.text))
            continue
        try:
            values, extra = staged(
                raw.value, arrival.layout, texts=container == "CSV", typed=container == "Parquet"
            )
            kept = as_json(extra)
        except Refused as refusal:
            problems.append(Problem(file.number, raw.number, raw.line, str(refusal), raw.value))
            continue
        extra_names.update(dict.fromkeys(extra))
        rows.append((raw.number, raw.line, *(values.get(name) for name in arrival.columns), kept))
        if len(rows) == _CHUNK:
            insert(rows)
            rows.clear()
            progress(Progress(f"checking {file.path.name}", count, None))
    insert(rows)
    return Staging(count, tuple(problems), tuple(extra_names))


def _inserter(arrival: Arrival) -> Callable[[Sequence[tuple[Any, ...]]], None]:
    columns, cursor = arrival.columns, arrival.cursor
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
        cursor.execute(
            f"INSERT INTO stage_{arrival.layout.makes} SELECT ?, ? + number, number, line, {cast}, extra FROM arriving",
            [arrival.file.number, arrival.offset],
        )
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
