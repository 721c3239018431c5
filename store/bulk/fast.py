"""The fast reader: DuckDB reads a whole file and answers whether everything in it is as it should be.

It reads the file once, into a table of whole records; from there all cores take first their shapes, which
DuckDB would otherwise bend to the types asked for, and then their values. It is never more lenient than
store.bulk.values; when in doubt it leaves the file to the exact reader. Of DuckDB's JSON functions it uses
those alone that do not recurse (json_keys, json_type, json_transform): json_structure, json_merge_patch and
casts end the process on a deeply nested value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import duckdb

from store.bulk.files import InputFile
from store.bulk.inputs import Input
from store.bulk.shapes import FLAT, MOMENT, UUID, Column, Read, acceptable, columns_of, quoted
from store.formats.checking import LONGEST_ID, SHORT
from store.formats.fields import STAGED, FieldType
from store.who import LONGEST_NAME

_SHAPES = {"json lines": "newline_delimited", "JSON array": "array", "Parquet": "parquet"}
_RECORD = '"\x01record"'
_LARGEST_RECORD = 16 << 20
_NESTING = 200
_DIGITS = 4_000
_COMMA = r",[ \t\r\n]*[\]}]"
_NOT_FINITE = r"NaN|Inf|[0-9][eE]\+?[0-9]{3}"
_STRING = r'"(\\.|[^"\\])*"'


def read_into(
    cursor: duckdb.DuckDBPyConnection,
    table: str,
    given: Input,
    columns: dict[str, FieldType],
) -> Read | None:
    """Read a file into a new table, a row a record in their order.

    Args:
        cursor: The cursor that is to hold the table.
        table: Its name.
        given: The file.
        columns: The columns of the table, beside extra.

    Returns:
        What was read; None when anything is out of order, and then there is no table.
    """
    file, sample, layout = given.file, given.sample, given.layout
    shape = _SHAPES.get(sample.container)
    if shape is None:
        return None
    if sample.container == "JSON array" and _last_character(file) != b"]":
        # DuckDB takes an array that breaks off after a comma for a whole one.
        return None
    records = f"{table}_records"
    try:
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {records} AS {_records(cursor, file, shape)}")
        # DuckDB takes objects that are longer than it was told, as long as its buffer holds them.
        longest = cursor.execute(f"SELECT max(strlen(json)) FROM {records}").fetchone()
        if longest and (longest[0] or 0) > file.record_bytes:
            return None
        found = columns_of(cursor, records, layout)
        if found is None or not acceptable(found, layout):
            return None
        cursor.execute(f"CREATE TEMP TABLE {table} AS {_selected(found, columns, records)}")
        if not _whole(cursor, table, found):
            cursor.execute(f"DROP TABLE {table}")
            return None
    except duckdb.Error:
        # Which record it was, and why, is for the exact reader to say.
        return None
    finally:
        cursor.execute(f"DROP TABLE IF EXISTS {records}")
    return Read(tuple(column.name for column in found if column.field is None or column.field.kept))


def _records(cursor: duckdb.DuckDBPyConnection, file: InputFile, shape: str) -> str:
    """Return the SELECT of every record of a file as a JSON text.

    Raises:
        duckdb.Error: It is Parquet that holds bytes, which JSON cannot.
    """
    plain = quoted(str(file.plain))
    if shape == "parquet":
        described = cursor.execute(f"DESCRIBE SELECT * FROM read_parquet({plain})").fetchall()
        if any("BLOB" in str(column[1]) for column in described):
            raise duckdb.NotSupportedError("bytes have no form in JSON")
        return f"SELECT to_json(row)::VARCHAR AS json FROM read_parquet({plain}) row"
    return (
        f"SELECT json FROM read_json_objects({plain}, format = '{shape}', "
        f"maximum_object_size = {_LARGEST_RECORD})"
    )


def _last_character(file: InputFile) -> bytes:
    with file.plain.open("rb") as text:
        text.seek(max(0, file.size - 4_096))
        return text.read().rstrip()[-1:]


def _selected(found: Sequence[Column], columns: dict[str, FieldType], records: str) -> str:
    """Return the SELECT of the staged columns; a record in doubt makes it fail."""
    by_field = {column.field.name: column for column in found if column.field}
    values = {name: _value(type_, by_field[name]) for name, type_ in columns.items() if name in by_field}
    extra = [column for column in found if column.field is None or column.field.kept]
    stored = by_field.get("extra")
    extra_text = f"coalesce({stored.sql}::VARCHAR, '{{}}')" if stored else _extra_text(extra)
    checks = " OR ".join([*_checks(found, values), *_nesting_checks(found)]) or "false"
    staged = [f"{values.get(name, 'NULL')}::{STAGED[type_]} AS {name}" for name, type_ in columns.items()]
    shape = json.dumps({column.name: column.read_as for column in found}, ensure_ascii=False)
    return (
        f"SELECT CASE WHEN {checks} THEN error('doubt') ELSE true END AS sound, {', '.join(staged)}, "
        f"{extra_text} AS extra "
        f"FROM (SELECT json AS {_RECORD}, unnest(json_transform(json, {quoted(shape)})) FROM {records})"
    )


def _whole(cursor: duckdb.DuckDBPyConnection, table: str, found: Sequence[Column]) -> bool:
    """Return whether no value was left out, which is what becomes of numbers beyond their type."""
    told = [column for column in found if column.field and column.field.type in ("integer", "number")]
    counts = ", ".join(f"count({column.field.name})" for column in told if column.field)
    row = cursor.execute(f"SELECT {counts or 'NULL'} FROM {table}").fetchone()
    return not told or row == tuple(column.given for column in told)


def _value(type_: FieldType, column: Column) -> str:
    text = f"{column.sql}::VARCHAR"
    if column.field and column.field.kept:
        # It was read as JSON, to stay among the extra fields as it was.
        return text if column.types <= {"UBIGINT", "BIGINT"} else f"json_extract_string({column.sql}, '$')"
    if type_ in ("uuid", "moment"):
        return f"TRY_CAST({text} AS {STAGED[type_]})"
    if type_ != "scores":
        return column.sql if type_ not in ("object", "list") else text
    one = f"MAP {{{quoted(column.field.columns[0] if column.field else '')}: TRY_CAST({text} AS DOUBLE)}}"
    return (
        f"(CASE WHEN {text} IS NULL THEN NULL WHEN NOT starts_with({text}, '{{') THEN {one} "
        f"WHEN regexp_matches({text}, '{FLAT}') THEN CAST({column.sql} AS MAP(VARCHAR, DOUBLE)) "
        "ELSE error('doubt') END)"
    )


def _checks(found: Sequence[Column], values: dict[str, str]) -> Iterator[str]:
    """Yield the conditions under which a record is in doubt."""
    for column in found:
        field = column.field
        if field is None:
            continue
        text, value = f"{column.sql}::VARCHAR", values.get(field.name, column.sql)
        if field.filled or field.type == "id":
            yield f"coalesce({value} = '', false)"
        if field.type == "id":
            yield f"coalesce(length({value}) > {LONGEST_ID}, false)"
        if field.name in SHORT:
            yield f"coalesce(length({value}) > {LONGEST_NAME}, false)"
        if field.type == "number":
            yield f"coalesce(NOT isfinite({value}), false)"
        if field.type == "scores":
            one = f"NOT starts_with({text}, '{{') AND NOT isfinite(TRY_CAST({text} AS DOUBLE))"
            yield f"coalesce({one}, false)"
            # A name that may be too long: the exact reader tells.
            yield f"coalesce(length({text}) > {LONGEST_NAME}, false)"
        if field.type in ("uuid", "moment"):
            pattern = UUID if field.type == "uuid" else MOMENT
            yield f"({text} IS NOT NULL AND {value} IS NULL)"
            yield f"coalesce(NOT regexp_matches({text}, '{pattern}'), false)"
        if field.values:
            allowed = ", ".join(quoted(one) if isinstance(one, str) else repr(one) for one in field.values)
            yield f"coalesce({value} NOT IN ({allowed}), false)"


def _nesting_checks(found: Sequence[Column]) -> Iterator[str]:
    if any(column.nests for column in found):
        bare = f"regexp_replace({_RECORD}, '{_STRING}', '', 'g')"
        comma = f"regexp_matches({bare}, '{_COMMA}')"
        yield f"CASE WHEN regexp_matches({_RECORD}, '{_COMMA}') THEN {comma} ELSE false END"
    for column in found:
        if column.read_as != "JSON" or (column.field and column.field.type == "scores"):
            continue
        if not (column.nests or "DOUBLE" in column.types):
            continue
        text = f"{column.sql}::VARCHAR"
        bare = f"regexp_replace({text}, '{_STRING}', '', 'g')"
        cheap, sure = (f"regexp_matches({where}, '{_NOT_FINITE}')" for where in (text, bare))
        # Python declines to read an integer of more digits than this.
        cheap += f" OR length({text}) > {_DIGITS}"
        sure += f" OR (length({bare}) > {_DIGITS} AND regexp_matches({bare}, '[0-9]{{1000}}'))"
        if column.nests:
            # Brackets within strings nest nothing, but taking the strings out costs more than counting.
            cheap += f" OR length({text}) - length(translate({text}, '[{{', '')) > {_NESTING}"
            sure += f" OR length({bare}) - length(translate({bare}, '[{{', '')) > {_NESTING}"
        yield f"coalesce(CASE WHEN {cheap} THEN {sure} ELSE false END, false)"


def _extra_text(extra: Sequence[Column]) -> str:
    if not extra:
        return "'{}'"
    parts = []
    for column in extra:
        value = f"{column.sql}::VARCHAR"
        name = quoted(json.dumps(column.name, ensure_ascii=False) + ":")
        parts.append(f"{name} || " + (f"coalesce({value}, 'null')" if column.nulls else value))
    return f"'{{' || concat_ws(',', {', '.join(parts)}) || '}}'"
