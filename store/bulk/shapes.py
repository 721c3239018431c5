"""The shapes of the records of a JSON file, what its columns fill, and what values look like as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import duckdb

from store.formats.fields import SCORE_PREFIX, Field, FieldType, Layout

MOST_EXTRA = 64
_NUMBERS = ("UBIGINT", "BIGINT", "DOUBLE", "HUGEINT")
_JSON_TYPES: dict[FieldType, tuple[str, ...]] = {
    "text": ("VARCHAR",),
    "id": ("VARCHAR", "UBIGINT", "BIGINT"),
    "integer": ("UBIGINT", "BIGINT"),
    "number": _NUMBERS,
    "scores": ("OBJECT", *_NUMBERS),
    "object": ("OBJECT",),
    "list": ("ARRAY",),
    "uuid": ("VARCHAR",),
    "boolean": ("BOOLEAN",),
    "moment": ("VARCHAR",),
}
_READ_AS: dict[FieldType, str] = {
    "integer": "BIGINT",
    "number": "DOUBLE",
    "boolean": "BOOLEAN",
    "scores": "JSON",
    "object": "JSON",
    "list": "JSON",
}
# DuckDB takes a comma after the last field, which is no JSON; this looks at the end of the record alone.
_SOUND = (
    "starts_with(json, '{') AND NOT CASE WHEN "
    + " OR ".join(f"ends_with(json, {space} || '}}')" for space in ("' '", "chr(9)", "chr(10)", "chr(13)"))
    + r" THEN regexp_matches(json, ',\s*\}$') ELSE ends_with(json, ',}') END"
)
# Whatever does not look like this is not cast: a deeply nested value would end the process.
NUMBER = "-?[0-9]{1,20}([.][0-9]{1,40})?([eE][-+]?[0-9]{1,2})?"
FLAT = rf'^\{{("[^"\\]*": ?{NUMBER}(, ?|\}}$))*$'
UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
MOMENT = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?([+-]\d\d(:?\d\d)?|Z)$"


@dataclass(frozen=True, slots=True)
class Read:
    """A file in which everything was in order: its fields that the format does not know."""

    extra: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Shape:
    """The fields of a record in their order, their JSON types, and how many records are like this."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    sound: bool
    count: int


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the file: the field it fills (None: an extra one), and the JSON types it was seen with."""

    name: str
    field: Field | None
    types: frozenset[str]
    nulls: bool
    absent: bool
    given: int
    """In how many records it has a value."""

    @property
    def sql(self) -> str:
        """Its name as SQL has it."""
        return '"' + self.name.replace('"', '""') + '"'

    @property
    def read_as(self) -> str:
        """The type as which its values are read."""
        if self.field is None or self.field.kept:
            return "JSON"
        return _READ_AS.get(self.field.type, "VARCHAR")

    @property
    def nests(self) -> bool:
        """Whether it holds objects or arrays."""
        return bool(self.types & {"OBJECT", "ARRAY"})


def columns_of(cursor: duckdb.DuckDBPyConnection, records: str, layout: Layout) -> list[Column] | None:
    """Return every column of the file; None when a record is no object or names a field twice."""
    shapes = _shapes(cursor, records)
    names: dict[str, None] = {}
    for shape in shapes:
        if not shape.sound or len(set(shape.names)) != len(shape.names):
            return None
        names.update(dict.fromkeys(shape.names))
    if any("\x00" in name for name in names) or len({name.lower() for name in names}) < len(names):
        return None
    fields = assigned(names, layout)
    if fields is None:
        return None
    # One pass over the names of each shape: a record may have thousands of them.
    seen: dict[str, Counter[str]] = {name: Counter() for name in names}
    for shape in shapes:
        for name, kind in zip(shape.names, shape.types, strict=True):
            seen[name][kind] += shape.count
    records_read = sum(shape.count for shape in shapes)
    columns = []
    for name, counts in seen.items():
        given = {kind: count for kind, count in counts.items() if kind != "NULL"}
        absent = counts.total() < records_read
        columns.append(
            Column(name, fields[name], frozenset(given), "NULL" in counts, absent, sum(given.values()))
        )
    return columns


def _shapes(cursor: duckdb.DuckDBPyConnection, records: str) -> list[_Shape]:
    """Return every shape that records have; most have that of the first, which is quicker than grouping."""
    shaped = (
        f"SELECT json_keys(json) AS names, json_type(json, '$.*') AS types, {_SOUND} AS sound FROM {records}"
    )
    first = cursor.execute(f"{shaped} LIMIT 1").fetchone()
    if first is None:
        return []
    names, types, sound = first
    others = cursor.execute(
        f"SELECT names, types, sound, count(*) FROM ({shaped}) WHERE names IS DISTINCT FROM $names "
        "OR types IS DISTINCT FROM $types OR sound IS DISTINCT FROM $sound GROUP BY ALL",
        {"names": names, "types": types, "sound": sound},
    ).fetchall()
    row = cursor.execute(f"SELECT count(*) FROM {records}").fetchone()
    like_first = (int(row[0]) if row else 0) - sum(count for *_, count in others)
    return [
        _Shape(tuple(names or ()), tuple(types or ()), bool(sound), count)
        for names, types, sound, count in [(*first, like_first), *others]
    ]


def assigned(names: Iterable[str], layout: Layout) -> dict[str, Field | None] | None:
    """Return which field each column fills; None when a field goes by two names, or lacks one it needs."""
    fields: dict[str, Field | None] = dict.fromkeys(names)
    for field in layout.fields:
        present = [name for name in field.columns if name in fields]
        if len(present) > 1 or (field.required and not present):
            return None
        for name in present:
            fields[name] = field
        if field.type == "scores" and any(name.startswith(SCORE_PREFIX) for name in fields):
            return None
    return fields


def acceptable(columns: Sequence[Column], layout: Layout) -> bool:
    """Return whether every column holds what its field may hold, as far as types tell."""
    extra = [column for column in columns if column.field is None or column.field.kept]
    stored = any(column.field and column.field.name == "extra" for column in columns)
    if len(extra) > MOST_EXTRA or (extra and stored):
        return False
    # A field that is null in one record and not there in another: read_json makes them the same.
    if layout.extra and any(column.nulls and column.absent for column in extra):
        return False
    return all(
        column.types <= set(_JSON_TYPES[column.field.type])
        and not (column.field.required and (column.nulls or column.absent))
        for column in columns
        if column.field is not None
    )


def quoted(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"
