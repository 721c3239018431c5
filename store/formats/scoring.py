"""A judge's score as it stands in a file, where -1 says that none could be read from the judge's reply."""

from __future__ import annotations

import json
from typing import Any

from store.formats import values
from store.formats.record_reader import tell

NOT_PARSED = "scores that the judge's reply did not tell (-1, none, or no number)"


def scored(value: Any, name: str) -> tuple[float | None, str]:
    """Return a score as a number and as it stood.

    Args:
        value: A number; -1, null or a text where no number could be read.
        name: What the file calls it.

    Returns:
        The number, None where it was not parsed; and what stood there, "" for nothing.

    Raises:
        Refused: It is none of these.
    """
    if value is None:
        return None, ""
    if isinstance(value, str):
        return None, values.text(value, name)
    found = values.number(value, name)
    return (None if found == -1 else found), json.dumps(value)


def as_it_stood(value: float | None, raw: str) -> Any:
    """Return what `scored` was given."""
    found = _number(raw)
    if value is None:
        return found if found == -1 and raw == raw.strip() else raw or None
    return found if found == value else value


def tell_score(counts: dict[str, int], value: float | None) -> None:
    """Count a score that was not parsed."""
    if value is None:
        tell(counts, NOT_PARSED)


def _number(raw: str) -> float | None:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None
