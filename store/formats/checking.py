"""What a value of a record may be, and what is said of one that is something else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from store.who import LONGEST_NAME

LONGEST_ID = 1000
"""Characters of an id."""

SHORT = frozenset({"language", "repository"})
"""Fields of tables that hold a name."""

_WHOLE = 1 << 63
_NAMED = {
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}


class Refused(ValueError):
    """A record that cannot be taken, and why."""


def short(value: Any) -> str:
    """Return a value as it is quoted in a reason: at most 40 characters."""
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:39] + "…"


def wrong(value: Any, name: str, expected: str) -> Refused:
    """Return the refusal of a value of the wrong type.

    Args:
        value: What stands there.
        name: What the file calls the field.
        expected: What should stand there, with its article.
    """
    kind = _NAMED.get(type(value), type(value).__name__)
    return Refused(f"{name!r} is {kind} ({short(value)}) where {expected} is expected")


def text(value: Any, name: str) -> str:
    """Return a text.

    Raises:
        Refused: It is something else, or holds half a surrogate pair.
    """
    if not isinstance(value, str):
        raise wrong(value, name, "text")
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


def as_json(extra: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return extra fields, or a field that nests, as JSON text.

    Raises:
        Refused: They hold half a surrogate pair, or a number without a JSON form.
    """
    try:
        found = json.dumps(extra, ensure_ascii=False, allow_nan=False, default=str, separators=(",", ":"))
        found.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused("an extra field holds half a surrogate pair, which is no text") from error
    except (ValueError, RecursionError) as error:
        raise Refused(f"an extra field cannot be kept as JSON: {error}") from error
    return found
