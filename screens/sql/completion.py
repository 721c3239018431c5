"""Completion of the names of views and columns, and of words of SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

WORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN", "USING"),
    *("DESCRIBE", "SUMMARIZE", "DISTINCT", "count(*)", "avg(", "IS NOT NULL", "ILIKE", "DESC"),
)
"""Words of SQL that are completed, in the order in which they are offered."""

_WORD = re.compile(r"\w*$")
_NAMED = re.compile(r"\w+")
_AFTER_VIEW = re.compile(r"\b(?:from|join|describe|summarize)\s+\w*$", re.I)


def last_word(text: str) -> str:
    """Return the word that a text ends in, empty where it ends in none."""
    found = _WORD.search(text)
    return found[0] if found else ""


def completions(before: str, after: str, columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what the word before the cursor may become.

    Args:
        before: The statement up to the cursor.
        after: The statement behind it.
        columns: The columns of each view.

    Returns:
        Names of views and columns, then words of SQL: those of the views that the statement names come
        first, and after FROM only views.
    """
    word = last_word(before).lower()
    if not word:
        return []
    if _AFTER_VIEW.search(before):
        known = list(columns)
    else:
        named = {one.lower() for one in _NAMED.findall(before[: len(before) - len(word)] + " " + after)}
        of_named = [column for view in columns if view in named for column in columns[view]]
        others = [] if of_named else [column for view in columns for column in columns[view]]
        known = [*of_named, *columns, *others, *WORDS]
    begun = [name for name in dict.fromkeys(known) if name.lower().startswith(word)]
    return [name for name in begun if name.lower() != word]


def common_start(names: Sequence[str], word: str) -> str:
    """Return the longest beginning that some names share, at least the word itself.

    Args:
        names: Names that begin with the word, in any case.
        word: What was typed.
    """
    start = names[0]
    for name in names[1:]:
        while not name.lower().startswith(start.lower()):
            start = start[:-1]
    return start if len(start) > len(word) else word
