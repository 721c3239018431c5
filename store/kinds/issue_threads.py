"""What the comments of an issue tell of themselves, and the work that collects issues."""

from __future__ import annotations

from collections.abc import Mapping

COLLECTION = "issue-collection"
"""The work that collects issues."""

POSITIVE = ("+1", "laugh", "hooray", "heart", "rocket")
"""The reactions that make a comment positive (CoReQA, III.A)."""


def positive_reactions(reactions: Mapping[str, object]) -> int:
    """Return how many reactions of a comment are positive."""
    counts = (reactions.get(name) for name in POSITIVE)
    return sum(count for count in counts if isinstance(count, int) and not isinstance(count, bool))
