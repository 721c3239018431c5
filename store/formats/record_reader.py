"""A reader of the fields of a record; the fields that are not taken are its extra fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from store.formats import values
from store.formats.values import Refused, as_json, wrong


class RecordReader:
    """One object of a record. A field that is null counts as missing.

    Attributes:
        path: The path of the object in its record, as reasons give it: `metadata`, `issue.comments[2]`.
    """

    def __init__(self, value: Mapping[str, Any], path: str = "") -> None:
        self.path = path
        self._left = dict(value)
        self._parts: dict[str, RecordReader | list[RecordReader]] = {}

    def named(self, name: str) -> str:
        """Return the full name of a field, as reasons give it."""
        return f"{self.path}.{name}" if self.path else name

    def names(self) -> list[str]:
        """Return the names of the fields that were not taken yet."""
        return list(self._left)

    def has(self, name: str) -> bool:
        """Return whether a field is there that was not taken yet, and is not null."""
        return self._left.get(name) is not None

    @overload
    def text(self, name: str, *, filled: bool = False, short: bool = False) -> str | None: ...
    @overload
    def text(
        self, name: str, *, required: Literal[True], filled: bool = False, short: bool = False
    ) -> str: ...
    def text(
        self, name: str, *, required: bool = False, filled: bool = False, short: bool = False
    ) -> str | None:
        """Take a text; None when it is missing and not required.

        Args:
            name: The field.
            required: Whether it has to be there.
            filled: Whether it may not be empty.
            short: Whether it is a name, which has at most 200 characters.

        Raises:
            Refused: It is missing and required, empty and to be filled, too long, or no text.
        """
        value = self._take(name, required=required)
        if value is None:
            return None
        found = (values.filled if filled else values.text)(value, self.named(name))
        return values.short_text(found, self.named(name)) if short else found

    @overload
    def identity(self, name: str, *, filled: bool = True) -> str | None: ...
    @overload
    def identity(self, name: str, *, required: Literal[True], filled: bool = True) -> str: ...
    def identity(self, name: str, *, required: bool = False, filled: bool = True) -> str | None:
        """Take an id: a text, or a whole number, which becomes a text.

        Raises:
            Refused: It is missing and required, empty and to be filled, or neither.
        """
        value = self._take(name, required=required)
        if value is None or (value == "" and not filled):
            return value  # type: ignore[no-any-return]
        return values.identity(value, self.named(name))

    def whole(self, name: str) -> int | None:
        """Take a whole number; None when it is missing.

        Raises:
            Refused: It is no whole number.
        """
        value = self._take(name)
        return None if value is None else values.whole(value, self.named(name))

    def number(self, name: str) -> float | None:
        """Take a finite number; None when it is missing.

        Raises:
            Refused: It is no number.
        """
        value = self._take(name)
        return None if value is None else values.number(value, self.named(name))

    def kept(self, name: str) -> str:
        """Return a text that stays among the extra fields; one that is empty or missing does not.

        Raises:
            Refused: It is no text.
        """
        found = self.text(name)
        if found:
            self._left[name] = found
        return found or ""

    def there(self, name: str) -> Any:
        """Take a required field of any type, null included.

        Raises:
            Refused: It is missing.
        """
        if name not in self._left:
            raise Refused(f"missing field {self.named(name)!r}")
        return self._take(name)

    def anything(self, name: str) -> Any:
        """Take a field of any type; None when it is missing."""
        return self._take(name)

    def object(self, name: str, *, required: bool = False) -> RecordReader:
        """Take an object, whose own fields are taken from what is returned; an empty one when it is missing.

        Raises:
            Refused: It is missing and required, or no object.
        """
        value = self._take(name, required=required)
        if value is not None and not isinstance(value, dict):
            raise wrong(value, self.named(name), "an object")
        part = RecordReader(value or {}, self.named(name))
        self._parts[name] = part
        return part

    def objects(self, name: str) -> list[RecordReader]:
        """Take a list of objects; an empty one when it is missing.

        Raises:
            Refused: It is no list, or holds something else.
        """
        parts = []
        for place, value in enumerate(self._list(name)):
            at = f"{self.named(name)}[{place}]"
            if not isinstance(value, dict):
                raise wrong(value, at, "an object")
            parts.append(RecordReader(value, at))
        self._parts[name] = parts
        return parts

    def texts(self, name: str) -> list[str]:
        """Take a list of texts; an empty one when it is missing.

        Raises:
            Refused: It is no list, or holds something else.
        """
        return [
            values.text(value, f"{self.named(name)}[{place}]") for place, value in enumerate(self._list(name))
        ]

    def rest(self) -> dict[str, Any]:
        """Return the fields that were not taken, those of its objects in their places.

        Raises:
            Refused: They cannot be kept as JSON.
        """
        left = dict(self._left)
        for name, part in self._parts.items():
            found: Any = [one.rest() for one in part] if isinstance(part, list) else part.rest()
            if any(found):
                left[name] = found
        if not self.path:
            as_json(left)
        return left

    def take_rest(self) -> dict[str, Any]:
        """Return the fields that were not taken, and take them: the object around this one has them no more.

        Raises:
            Refused: They cannot be kept as JSON.
        """
        left = self.rest()
        as_json(left)
        self._left.clear()
        self._parts.clear()
        return left

    def _list(self, name: str) -> Sequence[Any]:
        value = self._take(name)
        if value is not None and not isinstance(value, list):
            raise wrong(value, self.named(name), "a list")
        return value or []

    def _take(self, name: str, *, required: bool = False) -> Any:
        there = name in self._left
        value = self._left.pop(name, None)
        if value is None and required:
            reason = "no value in" if there else "missing field"
            raise Refused(f"{reason} {self.named(name)!r}")
        return value


def put_back(record: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with its extra fields in their places; fields of the record itself stay.

    The extra fields are those of `RecordReader.rest`.
    """
    for name, value in extra.items():
        if name not in record:
            record[name] = value
        elif isinstance(value, dict) and isinstance(record[name], dict):
            put_back(record[name], value)
        elif isinstance(value, list) and isinstance(record[name], list):
            for ours, theirs in zip(record[name], value, strict=False):
                if isinstance(ours, dict) and isinstance(theirs, dict):
                    put_back(ours, theirs)
    return record


def add_count(counts: dict[str, int], what: str, of: int = 1) -> None:
    """Add to the counts that are reported of a file."""
    if of:
        counts[what] = counts.get(what, 0) + of


def attempt_fields(record: RecordReader, setting: str) -> dict[str, str]:
    """Take the setting and the trial of a record.

    `setting` is taken where the record has none.

    Raises:
        Refused: One of them is of the wrong type.
    """
    own, trial = record.text("setting", short=True), record.identity("trial", filled=False)
    return {"setting": setting if own is None else own, "trial": trial or ""}


NOT_PARSED = "scores that the judge's reply did not tell (-1, none, or no number)"


def parse_score(value: Any, name: str) -> tuple[float | None, str]:
    """Return a score as a number and as written.

    Args:
        value: A number; -1, null or a text where no number could be read.
        name: Its name in the file.

    Returns:
        The number, None where it was not parsed; and the text as written, "" for nothing.

    Raises:
        Refused: It is none of these.
    """
    if value is None:
        return None, ""
    if isinstance(value, str):
        return None, values.text(value, name)
    found = values.number(value, name)
    return (None if found == -1 else found), json.dumps(value)


def original_score(value: float | None, raw: str) -> Any:
    """Return the argument of `scored`."""
    found = _number(raw)
    if value is None:
        return found if found == -1 and raw == raw.strip() else raw or None
    return found if found == value else value


def count_score(counts: dict[str, int], value: float | None) -> None:
    """Count a score that was not parsed."""
    if value is None:
        add_count(counts, NOT_PARSED)


def _number(raw: str) -> float | None:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None
