"""Which issues become questions: the conditions of CoReQA (section III.A), each with its reason."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.github.markdown import code_blocks, has_image, points_elsewhere
from store.kinds.answer import positive_reactions

LabelRule = Literal["leave-out", "require", "any"]

WORDS = ("feat", "bug", "fix", "error")
"""Words in the names of labels of issues that ask for a change rather than an answer."""
FEWEST_POSITIVE = 3
MOST_OF_REPOSITORY = 300

PULL_REQUEST = "a pull request"
AGAIN = "the same issue again"
OPEN = "not closed"
LABELLED = "label asks for a change"
NOT_LABELLED = "no label for a change"
IMAGE = "image in description"
NO_CODE = "no code in description"
GONE = "gone meanwhile"
NO_REACTIONS = "no reactions known"
IMAGE_IN_COMMENT = "image in a comment"
ELSEWHERE = "points to another issue"
NOT_UNDERSTOOD = "not in GitHub's form"


@dataclass(frozen=True, slots=True)
class IssueRules:
    """The conditions that issues have to meet, in the order in which they are looked at.

    The paper leaves out issues *without* the labels, and gives as its reason that those *with* them ask for
    changes: so what labels mean is a setting.

    Attributes:
        labels: Whether issues with such a label are left out, required to have one, or neither.
        positive: How many positive comments an issue needs at least; with 0 comments need no reactions.
        most: How many issues of one repository are kept.
        seed: Of the draw among more.
    """

    labels: LabelRule = "leave-out"
    positive: int = FEWEST_POSITIVE
    most: int = MOST_OF_REPOSITORY
    seed: int = 0

    @property
    def too_few(self) -> str:
        """The reason for an issue with too few positive comments."""
        return f"< {self.positive} positive comments"

    @property
    def too_many(self) -> str:
        """The reason for an issue that was not drawn."""
        return f"not drawn, beyond {self.most:,}"

    @property
    def reasons(self) -> tuple[str, ...]:
        """All reasons to leave an issue out, in the order in which they are looked at."""
        return (
            *(PULL_REQUEST, AGAIN, OPEN, LABELLED, NOT_LABELLED, IMAGE, NO_CODE, GONE, NO_REACTIONS),
            *(self.too_few, IMAGE_IN_COMMENT, ELSEWHERE, self.too_many, NOT_UNDERSTOOD),
        )

    def by_description(self, labels: Sequence[str], body: str) -> str:
        """Return why an issue is left out before its comments are known; empty where it is not."""
        named = has_word(labels)
        if self.labels == "leave-out" and named:
            return LABELLED
        if self.labels == "require" and not named:
            return NOT_LABELLED
        if has_image(body):
            return IMAGE
        return "" if code_blocks(body) else NO_CODE

    def by_count(self, comments: int) -> str:
        """Return why an issue with so many comments is left out; empty where it is not."""
        return self.too_few if comments < self.positive else ""

    def by_comments(
        self, repository: str, number: int | None, comments: Sequence[Mapping[str, Any]], *, reactions: bool
    ) -> str:
        """Return why an issue is left out by its comments; empty where it is not.

        Args:
            repository: Its repository, OWNER/NAME.
            number: Its number.
            comments: Its comments: `body` and `reactions`.
            reactions: Whether the reactions are known.
        """
        positive = [one for one in comments if positive_reactions(one.get("reactions") or {})]
        if self.positive and not reactions:
            return NO_REACTIONS
        if len(positive) < self.positive:
            return self.too_few
        if any(has_image(one.get("body") or "") for one in comments):
            return IMAGE_IN_COMMENT
        if any(points_elsewhere(one.get("body") or "", repository, number) for one in positive):
            return ELSEWHERE
        return ""

    def place(self, name: str) -> bytes:
        """Return the place of an issue in the draw, by repository and number; the lowest ones are kept."""
        return hashlib.sha256(f"{self.seed} {name.lower()}".encode()).digest()


def has_word(labels: Sequence[str]) -> bool:
    """Return whether a label has one of `WORDS` in its name, in any case."""
    return any(word in label.lower() for label in labels for word in WORDS)
