"""Finds the line of a key in a TOML file, which tomllib does not report."""

from __future__ import annotations

import re

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_TABLE = re.compile(rf"^\s*\[\[?\s*({_DOTTED})\s*\]\]?")
_KEY = re.compile(rf"^\s*({_DOTTED})\s*=")


def line_of(text: str, place: tuple[str, ...]) -> int | None:
    """Return the number (from 1) of the line that gives a key.

    Where no line does, it is that of the table or value that holds the key, or of the first key in it.

    Args:
        text: The file.
        place: The parts of the key, from the outermost table inwards.
    """
    table: tuple[str, ...] = ()
    nearest: tuple[int, int] | None = None
    within: int | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _TABLE.match(line):
            table = full = _parts(header[1])
        elif key := _KEY.match(line):
            full = (*table, *_parts(key[1]))
        else:
            continue
        if full == place:
            return number
        if place[: len(full)] == full and (nearest is None or len(full) > nearest[0]):
            nearest = (len(full), number)
        if within is None and full[: len(place)] == place:
            within = number
    return within or (nearest[1] if nearest else None)


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))
