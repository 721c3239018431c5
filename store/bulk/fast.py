"""The fast reader: DuckDB reads a whole file and answers whether everything in it is as it should be.

It is never more lenient than store.bulk.values; when in doubt it leaves the file to the exact reader. Of DuckDB's JSON
functions it uses those alone that do not recurse (json_keys, json_type, json_extract*): json_structure,
json_merge_patch and casts end the process on a deeply nested value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb

from store.bulk.files import InputFile
from store.formats.fields import SCORE_PREFIX, Field, FieldType, Layout
from store.formats.protocol import Sample

_LARGEST_RECORD = 16 << 20
_MOST_EXTRA = 64
_NESTING = 200
_NUMBERS = ("UBIGINT", "BIGINT", "DOUBLE", "HUGEINT")
_JSON_TYPES: dict[FieldType, tuple[str, ...]] = {
    "text": ("VARCHAR",),
    "id": ("VARCHAR", "UBIGINT", "BIGINT"),
    "integer": ("UBIGINT", "BIGINT"),
    "number": _NUMBERS,
    "scores": ("OBJECT", *_NUMBERS),
    "object": ("OBJECT",),
    "uuid": ("VARCHAR",),
    "boolean": ("BOOLEAN",),
    "moment": ("VARCHAR",),
}
_STRING = r'"(\\.|[^"\\])*"'
_UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
# DuckDB takes a comma after the last field, which is no JSON.
_SOUND = (
    "starts_with(json, '{') AND NOT CASE WHEN "
    + " OR ".join(f"ends_with(json, {space} || '}}')" for space in ("' '", "chr(9)", "chr(10)", "chr(13)"))
    + r" THEN regexp_matches(json, ',\s*\}$') ELSE ends_with(json, ',}') END"
)
# Whatever does not look like this is not cast: a deeply nested value would end the process.
_NUMBER = "-?[0-9]{1,20}([.][0-9]{1,40})?([eE][-+]?[0-9]{1,2})?"
_FLAT = rf'^\{{("[^"\\]*":{_NUMBER}(,|\}}$))*$'
_MOMENT = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?([+-]\d\d(:?\d\d)?|Z)$"


@dataclass(frozen=True, slots=True)
class Read:
    """A file in which everything was in order: how many records, and its fields that the format does not know."""

    records: int
    extra: tuple[str, ...]


def stage(
    cursor: duckdb.DuckDBPyConnection,
    file: InputFile,
    sample: Sample,
    layout: Layout,
    columns: dict[str, FieldType],
    offset: int,
) -> Read | None:
    """Read a file into its staging table.

    Args:
        cursor: The cursor that holds the staging tables.
        file: The file, made ready.
        sample: How its records are stored.
        layout: What they hold.
        columns: The columns of the staging table.
        offset: How many records the files before it have.

    Returns:
        What was read; None when anything is out of order, and then nothing is staged.
    """
    if sample.container not in ("json lines", "JSON array", "Parquet"):
        return None
    try:
        if not _load(cursor, file, sample):
            return None
        return _stage(cursor, file, layout, columns, offset)
    except duckdb.Error:
        # Which record it was, and why, is for the exact reader to say.
        return None
    finally:
        cursor.execute("DROP TABLE IF EXISTS raw")


def _load(cursor: duckdb.DuckDBPyConnection, file: InputFile, sample: Sample) -> bool:
    """Fill the table raw with one JSON text a record, in order; return whether the whole file is sound."""
    if sample.container == "Parquet":
        described = cursor.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(file.plain)]).fetchall()
        if any("BLOB" in str(column[1]) for column in described):
            return False
        cursor.execute(
            "CREATE TEMP TABLE raw AS SELECT to_json(row) AS json FROM read_parquet(?) AS row",
            [str(file.plain)],
        )
        return True
    if sample.container == "JSON array" and _last_character(file) != b"]":
        # DuckDB takes an array that breaks off after a comma for a whole one.
        return False
    shape = "array" if sample.container == "JSON array" else "newline_delimited"
    cursor.execute(
        "CREATE TEMP TABLE raw AS SELECT json FROM "
        f"read_json_objects(?, format = '{shape}', maximum_object_size = {_LARGEST_RECORD})",
        [str(file.plain)],
    )
    return True


def _last_character(file: InputFile) -> bytes:
    with file.plain.open("rb") as text:
        text.seek(max(0, file.size - 4_096))
        return text.read().rstrip()[-1:]


@dataclass(frozen=True, slots=True)
class _Cut:
    """A column of the file: the field it fills (None: an extra one), and the JSON types it was seen with."""

    column: str
    field: Field | None
    types: frozenset[str]
    always: bool

    @property
    def nests(self) -> bool:
        return bool(self.types & {"OBJECT", "ARRAY"})


def _stage(
    cursor: duckdb.DuckDBPyConnection,
    file: InputFile,
    layout: Layout,
    columns: dict[str, FieldType],
    offset: int,
) -> Read | None:
    names = _column_names(cursor)
    if names is None:
        return None
    plan = _plan(names, layout)
    if plan is None:
        return None
    cuts = _cuts(cursor, plan)
    if not _types_fit(cuts, layout):
        return None
    extra = [cut for cut in cuts if cut.field is None or cut.field.kept]
    objects = [cut for cut in cuts if cut.field and cut.field.name == "extra"]
    if len(extra) > _MOST_EXTRA or (extra and objects):
        return None
    by_field = {cut.field.name: place for place, cut in enumerate(cuts, start=1) if cut.field}
    values = {
        name: _expression(type_, f"x[{by_field[name]}]", cuts[by_field[name] - 1])
        for name, type_ in columns.items()
        if name in by_field
    }
    extra_text = f"coalesce(x[{by_field['extra']}], '{{}}')" if objects else _extra_text(extra)
    checks = [*_checks(cuts, values), *_nesting_checks(cuts, extra)]
    before = _count(cursor, f"SELECT count(*) FROM stage_{layout.makes}")
    staged = ", ".join(values.get(name, "NULL") for name in columns)
    bad = " OR ".join(checks) or "false"
    read = (
        f"(SELECT rowid, json_extract_string(json, {_pointers(cut.column for cut in cuts)}) AS x, "
        f"json_extract(json, {_pointers(cut.column for cut in extra)}) AS y FROM raw)"
    )
    # A record in doubt fails the statement, so that nothing of the file stays behind.
    cursor.execute(
        f"INSERT INTO stage_{layout.makes} SELECT ?, "
        f"CASE WHEN {bad} THEN error('doubt') ELSE ? + rowid + 1 END, rowid + 1, NULL, {staged}, {extra_text} "
        f"FROM {read}",
        [file.number, offset],
    )
    records = _count(cursor, f"SELECT count(*) FROM stage_{layout.makes}") - before
    return Read(records, tuple(cut.column for cut in extra))


def _column_names(cursor: duckdb.DuckDBPyConnection) -> list[str] | None:
    """Return every field name of the file; None when a record is no object or names a field twice."""
    names: dict[str, None] = {}
    for keys, sound in cursor.execute(f"SELECT DISTINCT json_keys(json), {_SOUND} FROM raw").fetchall():
        if not sound or keys is None or len(set(keys)) != len(keys):
            return None
        names.update(dict.fromkeys(keys))
    return None if any("\x00" in name for name in names) else list(names)


def _plan(names: Sequence[str], layout: Layout) -> dict[str, Field | None] | None:
    """Return which field each column fills; None when a field goes by two names in the file."""
    plan: dict[str, Field | None] = dict.fromkeys(names)
    for field in layout.fields:
        present = [name for name in field.columns if name in plan]
        if len(present) > 1:
            return None
        if not present and field.required:
            return None
        for name in present:
            plan[name] = field
        if field.type == "scores" and any(name.startswith(SCORE_PREFIX) for name in names):
            return None
    return plan


def _cuts(cursor: duckdb.DuckDBPyConnection, plan: dict[str, Field | None]) -> list[_Cut]:
    names = list(plan)
    groups = cursor.execute(f"SELECT DISTINCT json_type(json, {_pointers(names)}) FROM raw").fetchall()
    seen: list[set[str]] = [set() for _ in names]
    absent = [False] * len(names)
    for (types,) in groups:
        for place, type_ in enumerate(types):
            if type_ in (None, "NULL"):
                absent[place] = True
            else:
                seen[place].add(type_)
    return [
        _Cut(name, field, frozenset(types), not missing)
        for (name, field), types, missing in zip(plan.items(), seen, absent, strict=True)
    ]


def _types_fit(cuts: Sequence[_Cut], layout: Layout) -> bool:
    return all(
        cut.types <= set(_JSON_TYPES[cut.field.type]) and (cut.always or not cut.field.required)
        for cut in cuts
        if cut.field is not None
    )


def _expression(type_: FieldType, x: str, cut: _Cut) -> str:
    if type_ == "integer":
        return f"TRY_CAST({x} AS BIGINT)"
    if type_ == "number":
        return f"TRY_CAST({x} AS DOUBLE)"
    if type_ == "boolean":
        return f"TRY_CAST({x} AS BOOLEAN)"
    if type_ == "uuid":
        return f"TRY_CAST({x} AS UUID)"
    if type_ == "moment":
        return f"TRY_CAST({x} AS TIMESTAMPTZ)"
    if type_ != "scores":
        return x
    one = f"MAP {{{_quoted(cut.column)}: TRY_CAST({x} AS DOUBLE)}}"
    return (
        f"CASE WHEN {x} IS NULL THEN NULL WHEN NOT starts_with({x}, '{{') THEN {one} "
        f"WHEN regexp_matches({x}, '{_FLAT}') THEN CAST(CAST({x} AS JSON) AS MAP(VARCHAR, DOUBLE)) "
        "ELSE error('doubt') END"
    )


def _checks(cuts: Sequence[_Cut], values: dict[str, str]) -> Iterator[str]:
    """Yield the conditions under which a record is in doubt."""
    for place, cut in enumerate(cuts, start=1):
        field = cut.field
        if field is None:
            continue
        x, value = f"x[{place}]", values.get(field.name, "")
        if field.filled or field.type == "id":
            yield f"coalesce({x} = '', false)"
        if field.type in ("integer", "number", "boolean", "uuid", "moment"):
            yield f"({x} IS NOT NULL AND {value} IS NULL)"
        if field.type == "number":
            yield f"coalesce(NOT isfinite({value}), false)"
        if field.type == "scores":
            yield f"coalesce(NOT starts_with({x}, '{{') AND NOT isfinite(TRY_CAST({x} AS DOUBLE)), false)"
        if field.type in ("uuid", "moment"):
            yield f"coalesce(NOT regexp_matches({x}, '{_UUID if field.type == 'uuid' else _MOMENT}'), false)"
        if field.values:
            allowed = ", ".join(
                _quoted(known) if isinstance(known, str) else repr(known) for known in field.values
            )
            yield f"coalesce({value} NOT IN ({allowed}), false)"


def _nesting_checks(cuts: Sequence[_Cut], extra: Sequence[_Cut]) -> Iterator[str]:
    kept = [(f"y[{place}]::VARCHAR", cut) for place, cut in enumerate(extra, start=1)]
    kept += [
        (f"x[{place}]", cut)
        for place, cut in enumerate(cuts, start=1)
        if cut.field and cut.field.type == "object"
    ]
    for text, cut in kept:
        if not (cut.nests or "DOUBLE" in cut.types):
            continue
        cheap = f"regexp_matches({text}, 'NaN|Infinity')"
        bare = f"regexp_replace({text}, '{_STRING}', '', 'g')"
        sure = f"regexp_matches({bare}, 'NaN|Infinity')"
        if cut.nests:
            # Brackets within strings nest nothing, but taking the strings out costs more than counting.
            cheap += f" OR length({text}) - length(translate({text}, '[{{', '')) > {_NESTING}"
            sure += f" OR length({bare}) - length(translate({bare}, '[{{', '')) > {_NESTING}"
        yield f"coalesce(CASE WHEN {cheap} THEN {sure} ELSE false END, false)"


def _extra_text(extra: Sequence[_Cut]) -> str:
    if not extra:
        return "'{}'"
    parts = ", ".join(
        f"{_quoted(_json_string(cut.column))} || ':' || y[{place}]::VARCHAR"
        for place, cut in enumerate(extra, start=1)
    )
    return f"'{{' || concat_ws(',', {parts}) || '}}'"


def _json_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _pointers(names: Iterator[str] | Sequence[str]) -> str:
    pointers = (_quoted("/" + name.replace("~", "~0").replace("/", "~1")) for name in names)
    return f"[{', '.join(pointers)}]::VARCHAR[]"


def _count(cursor: duckdb.DuckDBPyConnection, statement: str) -> int:
    row = cursor.execute(statement).fetchone()
    return int(row[0]) if row else 0
