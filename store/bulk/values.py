"""One record into the values that are staged: the rule of what each field may hold."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from store.formats.checking import (
    SHORT,
    Refused,
    as_json,
    identity,
    number,
    short,
    short_text,
    text,
    whole,
    wrong,
)
from store.formats.fields import SCORE_PREFIX, Field, Layout


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


def _value(value: Any, field: Field, column: str, *, texts: bool) -> Any:
    converted = _CONVERT[field.type](value, column, texts)
    if field.name in SHORT:
        short_text(converted, column)
    if field.filled and converted == "":
        raise Refused(f"{column!r} is empty")
    if field.values and converted not in field.values:
        allowed = ", ".join(
            f"{value:g}" if isinstance(value, float) else str(value) for value in field.values
        )
        raise Refused(f"{column!r} is {short(value)}, which is off the scale: {allowed}")
    return converted


def _text(value: Any, column: str, _: bool) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Refused(f"{column!r} is not UTF-8 text") from error
    return text(value, column)


def _id(value: Any, column: str, texts: bool) -> str:
    return identity(_text(value, column, texts) if isinstance(value, bytes) else value, column)


def _integer(value: Any, column: str, texts: bool) -> int:
    if texts and isinstance(value, str):
        try:
            value = int(value)
        except ValueError as error:
            raise wrong(value, column, "a whole number") from error
    if texts and isinstance(value, float) and value.is_integer():
        value = int(value)
    return whole(value, column)


def _number(value: Any, column: str, texts: bool) -> float:
    if texts and isinstance(value, str):
        try:
            parsed = float(value)
        except ValueError as error:
            raise wrong(value, column, "a number") from error
        if not math.isfinite(parsed):
            raise wrong(value, column, "a finite number")
        return parsed
    return number(value, column)


def _boolean(value: Any, column: str, texts: bool) -> bool:
    if texts and value in ("true", "false"):
        return bool(value == "true")
    if not isinstance(value, bool):
        raise wrong(value, column, "true or false")
    return value


def _uuid(value: Any, column: str, texts: bool) -> str:
    try:
        return str(UUID(_text(value, column, texts)))
    except ValueError as error:
        raise wrong(value, column, "a UUID") from error


def _moment(value: Any, column: str, texts: bool) -> str:
    moment = value
    if not isinstance(value, datetime):
        try:
            moment = datetime.fromisoformat(_text(value, column, texts))
        except ValueError as error:
            raise wrong(value, column, "a time in ISO 8601") from error
    if moment.tzinfo is None:
        raise wrong(value, column, "a time with its offset from UTC")
    return str(moment.isoformat())


def _object(value: Any, column: str, texts: bool) -> str:
    return _nested(value, column, texts, dict, "a JSON object")


def _list(value: Any, column: str, texts: bool) -> str:
    return _nested(value, column, texts, list, "a JSON list")


def _nested(
    value: Any, column: str, texts: bool, of: type[dict[str, Any]] | type[list[Any]], said: str
) -> str:
    if texts and isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise wrong(value, column, said) from error
    if not isinstance(value, of):
        raise wrong(value, column, said)
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
        short_text(_text(model, column, texts), f"{column}'s model"): _number(
            score, f"{column} of {model}", texts
        )
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
