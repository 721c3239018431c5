"""Scopes of raters that a test knows by their keys only."""

from store.policy.scope import REVIEW, Scope, Sitting, Visibility
from store.record.rater_ref import RaterRef


def scope(
    rater_id: int, *, blind: bool = False, phase: str = REVIEW, study: int | None = None, sitting: int = 1
) -> Scope:
    """Return the scope of a rater: what it may see, in which sitting of a study, or in which phase."""
    part = None if study is None else Sitting(study, sitting)
    return Scope(RaterRef(rater_id, "human", f"rater {rater_id}"), part, phase, Visibility(blind))
