"""Judgments as JSON on standard input, as `workbench items --json`, jq and others write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from store.errors import JudgmentRefused

FORM = (
    'JSON, an object a line, an array, or what `items --json` or `sql --json` prints: {"item": "q-0042", '
    '"value": 1}, with "question" and "comment" where they are needed.'
)
_LISTS = ("items", "rows")
"""The fields in which the objects that commands print hold theirs."""
_SHOWN = 10
MOST_CHARACTERS = 1 << 29
"""Characters of input that are read at most, all of which are held in memory."""


@dataclass(frozen=True, slots=True)
class JudgmentLine:
    """A judgment to record.

    Attributes:
        place: Where it is in the input: "line 3", "object 3".
        item: The item's id in its file, or its number.
        value: The value, its word or its sign.
        question: The question; None where none is named.
        comment: The comment.
    """

    place: str
    item: str
    value: str
    question: str | None = None
    comment: str = ""


def read_lines(file: TextIO) -> list[JudgmentLine]:
    """Return the judgments in a file, which is read to its end.

    Args:
        file: JSON lines, an array, or one object that holds an array.

    Raises:
        JudgmentRefused: Some of it is no judgment; each such place is named.
    """
    problems: list[str] = []
    try:
        text = file.read(MOST_CHARACTERS + 1)
    except UnicodeDecodeError as error:
        raise refused_lines([f"the input is no UTF-8: {error}"]) from error
    if len(text) > MOST_CHARACTERS:
        raise refused_lines([f"the input has more than {MOST_CHARACTERS:,} characters; give it in parts"])
    found: list[JudgmentLine] = []
    for place, value in _objects(text, problems):
        try:
            found.append(_judgment(place, value))
        except ValueError as error:
            problems.append(f"{place}: {error}")
    if problems or not found:
        raise refused_lines(problems or ["there is no judgment in it"])
    return found


def refused_lines(problems: Sequence[str]) -> JudgmentRefused:
    """Return the error of input of which something cannot be recorded, so that nothing is."""
    more = [f"and {len(problems) - _SHOWN:,} more"] if len(problems) > _SHOWN else []
    return JudgmentRefused("Nothing was recorded", "\n".join([*problems[:_SHOWN], *more]), FORM)


def _objects(text: str, problems: list[str]) -> list[tuple[str, Any]]:
    """Return the values in a text with their places; a line that is not JSON becomes a problem."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        found = []
        # Other signs that end a line for Python may stand within a text of JSON.
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    found.append((f"line {number}", json.loads(line)))
                except (ValueError, RecursionError):
                    problems.append(f"line {number}: this is not JSON")
        return found
    if isinstance(whole, dict):
        whole = next((whole[name] for name in _LISTS if isinstance(whole.get(name), list)), [whole])
    values = whole if isinstance(whole, list) else [whole]
    return [(f"object {number}", value) for number, value in enumerate(values, start=1)]


def _judgment(place: str, value: Any) -> JudgmentLine:
    """Return the judgment that an object stands for.

    Raises:
        ValueError: It stands for none.
    """
    if not isinstance(value, dict):
        raise ValueError("this is not an object")
    item, label = value.get("item"), value.get("value")
    if isinstance(item, bool) or not isinstance(item, str | int):
        raise ValueError("item is missing, or neither a text nor a number")
    if isinstance(label, bool) or not isinstance(label, str | int | float):
        raise ValueError("value is missing, or neither a text nor a number")
    question, comment = value.get("question"), value.get("comment")
    if not isinstance(question, str | None) or not isinstance(comment, str | None):
        raise ValueError("question and comment are texts")
    word = f"{label:g}" if isinstance(label, float) else str(label)
    return JudgmentLine(place, str(item), word, question, comment or "")
