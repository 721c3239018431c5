"""Scopes of raters that a test knows by their keys only."""

from store.record.rater_ref import RaterRef
from store.record.scope import REVIEW, Scope, Visibility


def scope(rater_id: int, *, blind: bool = False, phase: str = REVIEW, study: int | None = None) -> Scope:
    """Return the scope of a rater: what it may see, in which study and phase."""
    return Scope(RaterRef(rater_id, "human", f"rater {rater_id}"), study, phase, Visibility(blind))
