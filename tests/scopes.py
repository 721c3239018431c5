"""Scopes of raters that a test knows by their keys only."""

from store.scope import REVIEW, Scope, Visibility
from store.who import Who


def scope(rater_id: int, *, blind: bool = False, phase: str = REVIEW, study: int | None = None) -> Scope:
    """Return the scope of a rater: what it may see, in which study and phase."""
    return Scope(Who(rater_id, "human", f"rater {rater_id}"), study, phase, Visibility(blind))
