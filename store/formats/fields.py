"""The fields of the records of a file, by name and type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from store.errors import UnknownName

FieldType = Literal[
    "text", "id", "integer", "number", "scores", "object", "list", "uuid", "boolean", "moment"
]
Sort = str
"""A sort of record: the name of a task kind for its items, or one of those in `store.ingest.rows`."""

STAGED: dict[FieldType, str] = {
    "text": "VARCHAR",
    "id": "VARCHAR",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "scores": "MAP(VARCHAR, DOUBLE)",
    "object": "VARCHAR",
    "list": "VARCHAR",
    "uuid": "UUID",
    "boolean": "BOOLEAN",
    "moment": "TIMESTAMPTZ",
}
"""The column type in which each field type is staged."""

SHORT = frozenset({"language", "repository"})
"""Fields that hold a name, which has a limit."""

_SAME = {"id": "external_id", "item": "external_id"}
"""The names that --map takes for a field beside its own."""

SCORE_PREFIX = "similarity_"
"""A column similarity_MODEL holds one model's similarity."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a record.

    Attributes:
        name: Our name for it, the column it is staged in.
        columns: Its names in files, the preferred one first.
        type: `text`; `id` (a text that is not empty, or a whole number); `integer` of 64 bits; `number`
            (finite); `scores` (an object model -> number, or one number); `object` (a JSON object, in CSV
            and Parquet as text); `list` (a JSON list, likewise); `uuid`; `boolean`; `moment` (ISO 8601
            with its offset).
        required: Whether a record without it is refused.
        filled: Whether an empty text is refused.
        values: The only values it can take; empty for any.
        words: Values that may be written as words, in lower case; then true and false are "true" and "false".
        hint: What a refusal of another value says besides; `{name}` is the column.
        kept: Whether it also stays among the extra fields under its own name.
    """

    name: str
    columns: tuple[str, ...]
    type: FieldType = "text"
    required: bool = False
    filled: bool = False
    values: tuple[float | str, ...] = ()
    words: tuple[tuple[str, float | None], ...] = ()
    hint: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of one sort of record, and the rows that such records make.

    Attributes:
        sort: The name of a task kind: its items; `query`, `code`: texts that pairs refer to; `label`: labels
            of items; `judgment`: the full record.
        fields: The fields of a record; every other field is extra.
        extra: Whether there is a place for extra fields; otherwise they are left out, and said to be.
        renamed: The columns that the user mapped, each with the name by which files call it otherwise.
        content_id: How ids begin that are made of an item's texts; empty where its file has ids.
        joined_id: The fields that make an id together, with `/` between them; none where one field is the id.
        file: How the name of its file begins, where its fields do not tell it from another; empty for any.
    """

    sort: Sort
    fields: tuple[Field, ...]
    extra: bool = True
    renamed: tuple[tuple[str, str], ...] = ()
    content_id: str = ""
    joined_id: tuple[str, ...] = ()
    file: str = ""

    def with_words(self, words: Mapping[str, float | None]) -> Layout:
        """Return the layout with other words for values where it has some; None is no value."""
        known = {word.strip().lower(): value for word, value in words.items()}
        fields = (
            replace(field, words=tuple({**dict(field.words), **known}.items())) if field.words else field
            for field in self.fields
        )
        return replace(self, fields=tuple(fields))

    def without(self, name: str) -> Layout:
        """Return the layout of a file without a field; a column of its name is an extra field then."""
        return replace(self, fields=tuple(field for field in self.fields if field.name != name))

    def without_id(self, stem: str) -> Layout:
        """Return the layout of a file that has no ids: they are made of what has to be there."""
        return replace(self.without("external_id"), content_id=stem)

    def mapped(self, mapping: Mapping[str, str]) -> Layout:
        """Return the layout with other column names.

        Args:
            mapping: Our field, by its name, by what files call it first, or for an item's id by `id`, to the
                file's column.

        A column that is mapped holds that field alone, also where another field bears its name.

        Raises:
            UnknownName: A name is none of our fields, or no column is left for a field that is required.
        """
        wanted = {self._field(name): column for name, column in mapping.items()}
        for name in mapping:
            if self._field(name) is None:
                raise UnknownName(
                    "Unknown field",
                    f"There is no field {name!r} to map.",
                    f"Fields: {', '.join(sorted(field.columns[0] for field in self.fields))}.",
                )
        found = [self._field(name) for name in mapping]
        if same := [name for name in mapping if found.count(self._field(name)) > 1]:
            raise UnknownName(
                "One field twice",
                f"{', '.join(same)} are names of one field, which several columns would hold.",
                "Name one column for it.",
            )
        taken = list(wanted.values())
        fields, renamed = [], []
        for field in self.fields:
            if field.name in wanted:
                renamed.append((wanted[field.name], field.columns[0]))
                # What has no label is an item like any other.
                required = field.required or field.name not in ("label", "relevance")
                fields.append(replace(field, columns=(wanted[field.name],), required=required))
            elif left := tuple(column for column in field.columns if column not in taken):
                fields.append(replace(field, columns=left))
            elif field.required:
                taken += field.columns
        if twice := sorted({column for column in taken if taken.count(column) > 1}):
            raise UnknownName(
                "One column for two fields",
                f"{', '.join(twice)} would hold two of our fields.",
                "Name another column for each of them: --map id=number --map query=question",
            )
        return replace(self, fields=tuple(fields), renamed=tuple(renamed))

    def knows(self, mapping: Mapping[str, str]) -> bool:
        """Return whether every name that is mapped is one of its fields."""
        return all(self._field(name) is not None for name in mapping)

    def _field(self, name: str) -> str | None:
        for field in self.fields:
            if name in (field.name, field.columns[0]) or field.name == _SAME.get(name):
                return field.name
        return None

    def missing(self, columns: frozenset[str], file: str) -> tuple[str, ...]:
        """Return the preferred names of the required fields that a file lacks.

        Args:
            columns: Its columns.
            file: Its name; all are missing in one of another name than that of the layout.
        """
        is_other = not file.startswith(self.file)
        return tuple(
            field.columns[0]
            for field in self.fields
            if field.required and (is_other or not columns & set(field.columns))
        )


def recognized_by(sort: Sort, **columns: FieldType) -> Layout:
    """Return a layout by which a file is recognized: the fields that each of its records has."""
    return Layout(sort, tuple(Field(name, (name,), type_, required=True) for name, type_ in columns.items()))
