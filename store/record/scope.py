"""Scope: the rater, study and phase of judgments, the run of the agents, the visibility of others' work."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from store.record.rater_ref import RaterRef

REVIEW = "review"
"""The phase of judgments made outside a study."""
TRAIN = "train"
"""The phase of a study in which raters practise, on items that count in no other measure."""
LABEL = "label"
"""The phase of a study in which raters meet its items for the first time; it counts in every measure."""
REPEAT = "repeat"
"""The phase of a study in which raters meet items again, so that each is compared with their own label."""
REVEAL = "reveal"
"""The phase of a study in which raters meet their items again and see what was hidden."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """The visibility of the agents' and other raters' work.

    Attributes:
        blind: Whether it is hidden on every item. Otherwise an item's assignment can still hide it.
    """

    blind: bool = False


@dataclass(frozen=True, slots=True)
class RunRef:
    """A run of the agents.

    Attributes:
        id: Its key.
        name: Its name, which is also its rater's.
    """

    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The judgments and marks that count as a person's own, and the visibility of others' work.

    An assignment belongs to one item, and a scope spans many: it names the study, in which (rater, item,
    phase) has at most one assignment.

    Attributes:
        rater: Who judges; None for nobody.
        study: The study under whose assignments the rater judges; None outside any study.
        phase: The phase of the study.
        visibility: Which work of others may be seen.
        run: The run whose verdicts are the agents' labels; None for the default one of each kind
            (`store.queries.current.shown_runs`).
    """

    rater: RaterRef | None = None
    study: int | None = None
    phase: str = REVIEW
    visibility: Visibility = Visibility()
    run: RunRef | None = None

    @property
    def rater_id(self) -> int:
        """The rater's key; 0 for nobody."""
        return 0 if self.rater is None else self.rater.id

    @property
    def blind(self) -> bool:
        """Whether others' work is hidden on every item."""
        return self.visibility.blind
