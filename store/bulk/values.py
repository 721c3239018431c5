"""One record into the values that are staged: the rule of what each field may hold."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from store.formats.fields import SCORE_PREFIX, Field, Layout

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


def staged(
    record: Mapping[str, Any], layout: Layout, *, texts: bool, typed: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of a record by our field names, and its extra fields.

    Args:
        record: The fields as they stand in the file.
        layout: What they should be.
        texts: Whether every value is a text, as in CSV, where an empty one means none.
        typed: Whether missing numbers may stand as NaN, as in Parquet.

    Raises:
        Refused: A field is missing or of the wrong type.
    """
    values: dict[str, Any] = {}
    extra = dict(record)
    for field in layout.fields:
        column = next((name for name in field.columns if record.get(name) is not None), None)
        present = next((name for name in field.columns if name in record), None)
        if (present or column) and not field.kept:
            extra.pop(column or present or "")
        value = None if column is None else record[column]
        if texts and value == "":
            value = None
        if field.type == "scores":
            value = _scores(value, field, extra, texts=texts or typed)
        elif value is not None:
            value = _value(value, field, column or field.columns[0], texts=texts or typed)
        if value is None and field.required:
            shown = column or present or field.columns[0]
            raise Refused(f"missing field {shown!r}" if present is None else f"no value in {shown!r}")
        values[field.name] = value
    stored = values.pop("extra", None)
    if stored is not None:
        extra = {**json.loads(stored), **extra}
    if typed:
        extra = {name: _plain(value) for name, value in extra.items()}
    return values, extra


def as_json(extra: Mapping[str, Any] | Sequence[Any]) -> str:
    """Return extra fields, or a field that holds a list, as JSON text.

    Raises:
        Refused: They hold half a surrogate pair, or a number without a JSON form.
    """
    try:
        text = json.dumps(extra, ensure_ascii=False, allow_nan=False, default=str, separators=(",", ":"))
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused("an extra field holds half a surrogate pair, which is no text") from error
    except (ValueError, RecursionError) as error:
        raise Refused(f"an extra field cannot be kept as JSON: {error}") from error
    return text


def _value(value: Any, field: Field, column: str, *, texts: bool) -> Any:
    converted = _CONVERT[field.type](value, column, texts)
    if field.filled and converted == "":
        raise Refused(f"{column!r} is empty")
    if field.values and converted not in field.values:
        allowed = ", ".join(
            f"{value:g}" if isinstance(value, float) else str(value) for value in field.values
        )
        raise Refused(f"{column!r} is {_short(value)}, which is off the scale: {allowed}")
    return converted


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:39] + "…"


def _wrong(value: Any, column: str, expected: str) -> Refused:
    kind = _NAMED.get(type(value), type(value).__name__)
    return Refused(f"{column!r} is {kind} ({_short(value)}) where {expected} is expected")


def _text(value: Any, column: str, _: bool) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Refused(f"{column!r} is not UTF-8 text") from error
    if not isinstance(value, str):
        raise _wrong(value, column, "text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused(f"{column!r} holds half a surrogate pair, which is no text") from error
    return value


def _id(value: Any, column: str, _: bool) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = _text(value, column, _)
    if text == "":
        raise Refused(f"{column!r} is empty")
    return text


def _integer(value: Any, column: str, texts: bool) -> int:
    if texts and isinstance(value, str):
        try:
            value = int(value)
        except ValueError as error:
            raise _wrong(value, column, "a whole number") from error
    if texts and isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -_WHOLE <= value < _WHOLE:
        raise _wrong(value, column, "a whole number")
    return value


def _number(value: Any, column: str, texts: bool) -> float:
    number = value
    if texts and isinstance(value, str):
        try:
            number = float(value)
        except ValueError as error:
            raise _wrong(value, column, "a number") from error
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise _wrong(value, column, "a number")
    try:
        number = float(number)
    except OverflowError as error:
        raise _wrong(value, column, "a number of ordinary size") from error
    if not math.isfinite(number):
        raise _wrong(value, column, "a finite number")
    return number


def _boolean(value: Any, column: str, texts: bool) -> bool:
    if texts and value in ("true", "false"):
        return bool(value == "true")
    if not isinstance(value, bool):
        raise _wrong(value, column, "true or false")
    return value


def _uuid(value: Any, column: str, texts: bool) -> str:
    try:
        return str(UUID(_text(value, column, texts)))
    except ValueError as error:
        raise _wrong(value, column, "a UUID") from error


def _moment(value: Any, column: str, texts: bool) -> str:
    moment = value
    if not isinstance(value, datetime):
        try:
            moment = datetime.fromisoformat(_text(value, column, texts))
        except ValueError as error:
            raise _wrong(value, column, "a time in ISO 8601") from error
    if moment.tzinfo is None:
        raise _wrong(value, column, "a time with its offset from UTC")
    return str(moment.isoformat())


def _object(value: Any, column: str, texts: bool) -> str:
    return _nested(value, column, texts, dict, "a JSON object")


def _list(value: Any, column: str, texts: bool) -> str:
    return _nested(value, column, texts, list, "a JSON list")


def _nested(value: Any, column: str, texts: bool, wanted: type, said: str) -> str:
    if texts and isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise _wrong(value, column, said) from error
    if not isinstance(value, wanted):
        raise _wrong(value, column, said)
    return as_json(value)


def _scores(value: Any, field: Field, extra: dict[str, Any], *, texts: bool) -> dict[str, float] | None:
    """Gather the similarities of a record: one number, an object of them, or a column for each model."""
    column = field.columns[0]
    scores: dict[str, Any] = {}
    if texts and isinstance(value, str) and value.lstrip().startswith("{"):
        value = json.loads(_object(value, column, texts))
    if isinstance(value, list) and all(isinstance(part, tuple) and len(part) == 2 for part in value):
        value = dict(value)
    if isinstance(value, dict):
        scores |= value
    elif value is not None:
        scores[column] = value
    for name in [name for name in extra if name.startswith(SCORE_PREFIX)]:
        scores[name.removeprefix(SCORE_PREFIX)] = extra.pop(name)
    found = {
        _text(model, column, texts): _number(score, f"{column} of {model}", texts)
        for model, score in scores.items()
        if score is not None and not (texts and score == "")
    }
    return found or None


def _plain(value: Any) -> Any:
    """Return a value of a typed file with NaN, which stands for a missing number there, as None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.decode("utf-8", errors="backslashreplace") if isinstance(value, bytes) else value


_CONVERT: dict[str, Any] = {
    "text": _text,
    "id": _id,
    "integer": _integer,
    "number": _number,
    "object": _object,
    "list": _list,
    "uuid": _uuid,
    "boolean": _boolean,
    "moment": _moment,
}
