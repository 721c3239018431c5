"""The values of a record: one rule for each type of field, and the reason why another value is refused.

Each rule takes the value and what the file calls the field, and returns the value as it is stored.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from store.formats.fields import FieldType
from store.record.ids import AHEAD, is_ahead
from store.record.rater_ref import LONGEST_NAME

LONGEST_ID = 1000
"""Characters of an id."""

_WHOLE = 1 << 63
_NAMED = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str, separators=(",", ":"))

Rule = Callable[[Any, str], Any]


class Refused(ValueError):
    """A record that cannot be imported, and why."""


def object_of(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, without repeated fields; Python's parser calls it for each, at any depth.

    Raises:
        Refused: A field occurs twice, of which only one could be kept.
    """
    found = dict(fields)
    if len(found) < len(fields):
        raise Refused("a field occurs twice")
    return found


def short(value: Any) -> str:
    """Return a value as it is quoted in a reason: at most 40 characters."""
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:39] + "…"


def wrong(value: Any, name: str, expected: str) -> Refused:
    """Return the refusal of a value of the wrong type.

    The expected type has its article.
    """
    kind = _NAMED.get(type(value), type(value).__name__)
    return Refused(f"{name!r} is {kind} ({short(value)}) where {expected} is expected")


def text(value: Any, name: str) -> str:
    """Return a text.

    Raises:
        Refused: It is something else, or holds half a surrogate pair.
    """
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Refused(f"{name!r} is not UTF-8 text") from error
    if not isinstance(value, str):
        raise wrong(value, name, "text")
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise Refused(f"{name!r} holds half a surrogate pair, which is no text") from error
    return value


def filled(value: Any, name: str) -> str:
    """Return a text that is not empty.

    Raises:
        Refused: It is empty, or something else.
    """
    found = text(value, name)
    if found == "":
        raise Refused(f"{name!r} is empty")
    return found


def short_text(value: Any, name: str) -> str:
    """Return a text that is no longer than a name may be: of a model, a setting, a judge, a repository.

    Raises:
        Refused: It is longer, or something else.
    """
    found = text(value, name)
    if len(found) > LONGEST_NAME:
        raise Refused(f"{name!r} has {len(found):,} characters, where a name has at most {LONGEST_NAME}")
    return found


def identity(value: Any, name: str) -> str:
    """Return an id as text: a text that is neither empty nor too long, or a whole number.

    Raises:
        Refused: It is something else.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    found = filled(value, name)
    if len(found) > LONGEST_ID:
        raise Refused(f"{name!r} has {len(found):,} characters, where an id has at most {LONGEST_ID:,}")
    return found


def whole(value: Any, name: str) -> int:
    """Return a whole number of 64 bits.

    Raises:
        Refused: It is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not -_WHOLE <= value < _WHOLE:
        raise wrong(value, name, "a whole number")
    return value


def number(value: Any, name: str) -> float:
    """Return a finite number.

    Raises:
        Refused: It is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(value, name, "a number")
    try:
        found = float(value)
    except OverflowError as error:
        raise wrong(value, name, "a number of ordinary size") from error
    if not math.isfinite(found):
        raise wrong(value, name, "a finite number")
    return found


def boolean(value: Any, name: str) -> bool:
    """Return true or false.

    Raises:
        Refused: It is something else.
    """
    if not isinstance(value, bool):
        raise wrong(value, name, "true or false")
    return value


def uuid(value: Any, name: str) -> str:
    """Return a UUID as text.

    Raises:
        Refused: It is something else.
    """
    try:
        return str(UUID(text(value, name)))
    except ValueError as error:
        raise wrong(value, name, "a UUID") from error


def moment(value: Any, name: str) -> str:
    """Return a time as ISO 8601 with its offset from UTC.

    Raises:
        Refused: It is something else, or has no offset.
    """
    found = value
    if not isinstance(value, datetime):
        try:
            found = datetime.fromisoformat(text(value, name))
        except ValueError as error:
            raise wrong(value, name, "a time in ISO 8601") from error
    if found.tzinfo is None:
        raise wrong(value, name, "a time with its offset from UTC")
    if not 1000 <= found.year <= 9998:
        # At both ends of the calendar, the time has no form in other time zones.
        raise wrong(value, name, "a time in the years 1000 to 9998")
    if is_ahead(found):
        raise Refused(f"{name!r} {AHEAD}: {short(str(value))}")
    return str(found.isoformat())


def json_object(value: Any, name: str) -> str:
    """Return an object as JSON text.

    Raises:
        Refused: It is something else, or has no JSON form.
    """
    if not isinstance(value, dict):
        raise wrong(value, name, "a JSON object")
    return as_json(value)


def json_list(value: Any, name: str) -> str:
    """Return a list as JSON text.

    Raises:
        Refused: It is something else, or has no JSON form.
    """
    if not isinstance(value, list):
        raise wrong(value, name, "a JSON list")
    return as_json(value)


def as_json(extra: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return extra fields, or a field that nests, as JSON text, with null in place of NaN.

    Raises:
        Refused: They hold half a surrogate pair, or a number without a JSON form.
    """
    try:
        try:
            found = _ENCODER.encode(extra)
        except ValueError:
            found = _ENCODER.encode(_without_nan(extra))
        found.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused("an extra field holds half a surrogate pair, which is no text") from error
    except (ValueError, RecursionError) as error:
        raise Refused(f"an extra field cannot be kept as JSON: {error}") from error
    return found


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value


RULES: dict[FieldType, Rule] = {
    "text": text,
    "id": identity,
    "integer": whole,
    "number": number,
    "object": json_object,
    "list": json_list,
    "uuid": uuid,
    "boolean": boolean,
    "moment": moment,
}
"""The rule of each type of field that holds one value, as JSON has it."""


def rule_of_texts(type_: FieldType) -> Rule:
    """Return the rule of a type of field in CSV and Parquet, where what is no text may be written as one."""
    rule, written = RULES[type_], _WRITTEN.get(type_)
    if written is None:
        return rule

    def read(value: Any, name: str) -> Any:
        return rule(written(value, name) if isinstance(value, str) else value, name)

    if type_ != "integer":
        return read
    # A column of whole numbers in which some are missing is one of floats in Parquet.
    return lambda value, name: read(
        int(value) if isinstance(value, float) and value.is_integer() else value, name
    )


def _written(parse: Callable[[str], Any], expected: str) -> Rule:
    def read(value: str, name: str) -> Any:
        try:
            return parse(value)
        except (ValueError, RecursionError) as error:
            raise wrong(value, name, expected) from error

    return read


_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,(?:\d{1,2}|\d{4,})\s*")
"""A number with a decimal comma: of one with three digits after it nobody knows whether it is one."""


def _number(value: str, name: str) -> float:
    if "," in value and _DECIMAL_COMMA.fullmatch(value):
        value = value.replace(",", ".")
    found: float = _written(float, "a number")(value, name)
    if not math.isfinite(found):
        raise wrong(value, name, "a finite number")
    return found


_WRITTEN: dict[FieldType, Rule] = {
    "integer": _written(int, "a whole number"),
    "number": _number,
    "object": _written(partial(json.loads, object_pairs_hook=object_of), "a JSON object"),
    "list": _written(partial(json.loads, object_pairs_hook=object_of), "a JSON list"),
    "boolean": lambda value, _: {"true": True, "false": False}.get(value, value),
}
"""The parsers of values that are written as texts."""
