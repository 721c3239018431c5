"""A rater as other records name it, and the rules of raters' names."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

from store.errors import JudgmentRefused

RaterKind = Literal["human", "agent", "import"]


@dataclass(frozen=True, slots=True)
class RaterRef:
    """A rater: a human, an agent configuration, or a column of labels in an imported file."""

    id: int
    kind: RaterKind
    name: str


# Control, format and surrogate characters, and line and paragraph ends: none of them can be seen in a name.
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
LONGEST_NAME = 200
"""Characters of a name: a rater's, a model's, a judge's."""

_JOINERS = "\u200c\u200d"
"""Zero-width characters that some scripts cannot be written without."""


def has_unseen(text: str) -> bool:
    """Return whether a text holds characters that cannot be seen, such as control characters."""
    return any(unicodedata.category(letter) in _UNSEEN and letter not in _JOINERS for letter in text)


def name_fault(name: str) -> str | None:
    """Return the fault of a rater's name, as "is blank"; None for a good one."""
    if not name.strip():
        return "is blank"
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    if has_unseen(name):
        return "holds control characters, which cannot be seen"
    return "has blank space around it" if name != name.strip() else None


def checked_name(name: str) -> str:
    """Return a rater's name without the blank space around it.

    Raises:
        JudgmentRefused: It is blank, or holds what cannot be seen.
    """
    plain = name.strip()
    fault = name_fault(plain)
    if fault is None:
        return plain
    if not plain:
        raise JudgmentRefused(
            "No rater",
            "Judgments need a rater's name, and the one given is blank.",
            "Give one: --rater NAME, or set rater in the config.",
        )
    raise JudgmentRefused(
        "Not a rater's name",
        f"{plain[:40]!a} {fault}.",
        "Give a name of letters that can be seen: --rater NAME, or rater in the config.",
    )
