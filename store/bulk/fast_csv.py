"""The fast reader of CSV: Python's parser takes the file apart, DuckDB checks and converts its values.

The parser is that of the exact reader (store.bulk.records), since DuckDB's is more lenient: it takes a quoted
field that never ends, spaces before a quote, and a field too many. What DuckDB does with the values is never
more lenient than store.bulk.values; when in doubt the file is left to the exact reader.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow

from store.bulk.files import InputFile
from store.bulk.inputs import Input
from store.bulk.shapes import FLAT, MOMENT, MOST_EXTRA, NUMBER, UUID, Read, assigned, quoted
from store.events import Progress, Report
from store.formats.checking import LONGEST_ID, SHORT
from store.formats.fields import SCORE_PREFIX, STAGED, Field, FieldType, Layout
from store.who import LONGEST_NAME

_CHUNK, _CHUNK_SIZE = 10_000, 1 << 25
# Python and DuckDB write these differently in JSON.
_CONTROL = r"[\x00-\x07\x0b\x0e-\x1f]"
_PATTERNS: dict[FieldType, str] = {
    "integer": "-?[0-9]{1,18}",
    "number": NUMBER,
    "boolean": "true|false",
    "uuid": UUID,
    "moment": MOMENT,
    "object": r"\{\}",
    "list": r"\[\]",
}


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the file: its name there and in the table of texts, its field, whether a model's scores."""

    name: str
    sql: str
    field: Field | None
    model: bool

    @property
    def extra(self) -> bool:
        """Whether the format does not know it."""
        return self.field is None and not self.model

    @property
    def text(self) -> str:
        """Its value; an empty one stands for none."""
        return f"nullif({self.sql}, '')"


def read_into(
    cursor: duckdb.DuckDBPyConnection,
    table: str,
    given: Input,
    columns: dict[str, FieldType],
    progress: Report,
) -> Read | None:
    """Read a CSV file into a new table, a row a record in their order.

    Args:
        cursor: The cursor that is to hold the table.
        table: Its name.
        given: The file.
        columns: The columns of the table, beside extra.
        progress: Is told the records read.

    Returns:
        What was read; None when anything is out of order, and then there is no table.
    """
    rows = _rows(given.file, given.sample.delimiter)
    records = f"{table}_records"
    try:
        found = _columns([name.strip() for name in next(rows, [])], given.layout)
        if found is None:
            return None
        stage = f"checking {given.file.path.name}"
        _load(cursor, records, len(found), rows, lambda count: progress(Progress(stage, count, None)))
        cursor.execute(f"CREATE TEMP TABLE {table} AS {_selected(found, columns, records)}")
    except (csv.Error, ValueError, pyarrow.ArrowException, duckdb.Error):
        # Which record it was, and why, is for the exact reader to say.
        return None
    finally:
        rows.close()
        cursor.execute(f"DROP TABLE IF EXISTS {records}")
    return Read(tuple(column.name for column in found if column.extra))


def _rows(file: InputFile, delimiter: str) -> Generator[list[str]]:
    with file.plain.open(encoding="utf-8", newline="") as text:
        yield from filter(None, csv.reader(text, delimiter=delimiter, strict=True))


def _columns(header: Sequence[str], layout: Layout) -> list[_Column] | None:
    """Return every column of the file; None when what they are is not plain."""
    if not header or len(set(header)) < len(header) or any("\x00" in name for name in header):
        return None
    scored = any(field.type == "scores" for field in layout.fields)
    models = [name for name in header if scored and name.startswith(SCORE_PREFIX)]
    fields = assigned([name for name in header if name not in models], layout)
    if fields is None or any(field and field.kept for field in fields.values()):
        return None
    if models and any(field and field.type == "scores" for field in fields.values()):
        return None
    columns = [
        _Column(name, f"c{place}", fields.get(name), name in models) for place, name in enumerate(header)
    ]
    return columns if sum(column.extra for column in columns) <= MOST_EXTRA else None


def _load(
    cursor: duckdb.DuckDBPyConnection,
    records: str,
    width: int,
    rows: Iterator[list[str]],
    told: Callable[[int], None],
) -> None:
    """Put the rows into a table of texts, whose columns are called c0, c1 and so on.

    Raises:
        ValueError: A row is longer or shorter than the header.
    """
    names = [f"c{place}" for place in range(width)]
    types = ", ".join(f"{name} VARCHAR" for name in names)
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {records} ({types})")
    count = 0
    for chunk in _chunks(rows):
        by_column = list(zip(*chunk, strict=True))
        if len(by_column) != width:
            raise ValueError("rows of another length than the header")
        arrays = [pyarrow.array(column, pyarrow.large_string()) for column in by_column]
        cursor.register("arriving", pyarrow.table(arrays, names=names))
        cursor.execute(f"INSERT INTO {records} FROM arriving")
        cursor.unregister("arriving")
        count += len(chunk)
        told(count)


def _chunks(rows: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    """Yield the rows in chunks: so many, and no more characters than the first that goes beyond these."""
    chunk: list[list[str]] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += sum(map(len, row))
        if len(chunk) >= _CHUNK or size >= _CHUNK_SIZE:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _selected(found: Sequence[_Column], columns: dict[str, FieldType], records: str) -> str:
    """Return the SELECT of the staged columns; a record in doubt makes it fail."""
    values = {column.field.name: _value(column.field.type, column) for column in found if column.field}
    if models := [column for column in found if column.model]:
        values["scores"] = _scores_of(models)
    checks = " OR ".join(_checks(found, values)) or "false"
    staged = [f"{values.get(name, 'NULL')}::{STAGED[type_]} AS {name}" for name, type_ in columns.items()]
    extra = [
        f"{quoted(json.dumps(column.name, ensure_ascii=False) + ':')} || to_json({column.sql})::VARCHAR"
        for column in found
        if column.extra
    ]
    extra_text = f"'{{' || concat_ws(',', {', '.join(extra)}) || '}}'" if extra else "'{}'"
    return (
        f"SELECT CASE WHEN {checks} THEN error('doubt') ELSE true END AS sound, {', '.join(staged)}, "
        f"{extra_text} AS extra FROM {records}"
    )


def _value(type_: FieldType, column: _Column) -> str:
    text = column.text
    if type_ == "scores":
        one = f"MAP {{{quoted(column.field.columns[0] if column.field else '')}: TRY_CAST({text} AS DOUBLE)}}"
        return (
            f"(CASE WHEN {text} IS NULL THEN NULL "
            f"WHEN regexp_full_match({text}, '{NUMBER}') THEN {one} "
            f"WHEN regexp_matches({text}, '{FLAT}') THEN CAST({text}::JSON AS MAP(VARCHAR, DOUBLE)) "
            "ELSE error('doubt') END)"
        )
    return f"TRY_CAST({text} AS {STAGED[type_]})"


def _scores_of(models: Sequence[_Column]) -> str:
    """Return the scores of a record that has a column for each model; a model without one is left out."""
    entries = ", ".join(
        f"{{'k': {quoted(column.name.removeprefix(SCORE_PREFIX))}, 'v': TRY_CAST({column.text} AS DOUBLE)}}"
        for column in models
    )
    some = f"coalesce({', '.join(column.text for column in models)}) IS NOT NULL"
    given = f"map_from_entries(list_filter([{entries}], lambda entry: entry.v IS NOT NULL))"
    return f"(CASE WHEN {some} THEN {given} END)"


def _checks(found: Sequence[_Column], values: dict[str, str]) -> Iterator[str]:
    """Yield the conditions under which a record is in doubt."""
    for column in found:
        field = column.field
        if column.extra:
            yield f"regexp_matches({column.sql}, '{_CONTROL}')"
            continue
        type_ = field.type if field else "number"
        if pattern := _PATTERNS.get(type_):
            yield f"coalesce(NOT regexp_full_match({column.text}, '{pattern}'), false)"
        if type_ == "id":
            yield f"coalesce(length({column.text}) > {LONGEST_ID}, false)"
        if len(column.name) > LONGEST_NAME:
            yield "true"
        if field is not None and field.name in SHORT:
            yield f"coalesce(length({column.text}) > {LONGEST_NAME}, false)"
        if type_ == "number":
            yield f"coalesce(NOT isfinite(TRY_CAST({column.text} AS DOUBLE)), {column.text} IS NOT NULL)"
        if type_ in ("uuid", "moment"):
            yield f"({column.text} IS NOT NULL AND TRY_CAST({column.text} AS {STAGED[type_]}) IS NULL)"
        if field is None:
            continue
        if field.required:
            yield f"{column.text} IS NULL"
        if field.values:
            allowed = ", ".join(quoted(one) if isinstance(one, str) else repr(one) for one in field.values)
            yield f"coalesce({values[field.name]} NOT IN ({allowed}), false)"
        if type_ == "scores":
            number = f"TRY_CAST({column.text} AS DOUBLE)"
            plain = f"coalesce(regexp_full_match({column.text}, '{NUMBER}'), false)"
            yield f"({plain} AND NOT isfinite({number}))"
