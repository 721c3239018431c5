"""An item to practise on, with its known answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lesson:
    """An item to practise on.

    Attributes:
        item: Its external id.
        gold: The known answers, by question.
        hint: Which key to try; `{review.undo}`, a command's id, is replaced by its key.
        why: Why the answers are those, in a sentence.
    """

    item: str
    gold: Mapping[str, float]
    hint: str
    why: str
