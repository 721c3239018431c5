"""Scope: the rater, study and phase of judgments, the run of the agents, the visibility of others' work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from uuid import UUID

from store.record.rater_ref import RaterRef

REVIEW = "review"
"""The phase of judgments made outside a study."""
ADJUDICATE = "adjudicate"
"""The phase of rulings on items that raters disagree about."""
TRAIN = "train"
"""The phase of a study in which raters practise, on items that count in no other measure."""
LABEL = "label"
"""The phase of a study in which raters meet its items for the first time; it counts in every measure."""
GOLD = "gold"
"""The phase of items whose right answer is known; they come among those of `label`, and score the rater."""
REPEAT = "repeat"
"""The phase of a study in which raters meet items again, so that each is compared with their own label."""
REVEAL = "reveal"
"""The phase of answers to what was hidden before: items that come again in a study, and changed answers."""
DISCUSS = "discuss"
"""The phase of a study in which raters meet items again that an adjudicator sent back to them."""

FIRST_PHASES = (REVIEW, LABEL)
"""The phases whose labels count in measures: those of a rater's first presentation of an item."""


class Shows(Enum):
    """The things that a viewer may ask to see.

    Attributes:
        AGENTS: The agents' and other raters' work on an item.
        MODELS: The names of models on an item.
        TESTS: The agents' test programs on an item.
        LISTS: Lists that are filtered or ordered by the agents' labels, or that name a run.
        OTHERS: Figures that rest on the work of others.
        WHOLE: All of the workspace, as an export holds it.
        RUN: The choice of a run.
        RATER: Another rater's view.
        SURROUNDINGS: The order of import, the design of studies, others' views, the texts behind those shown,
            and what the agents cost.
    """

    AGENTS = "agents"
    MODELS = "models"
    TESTS = "tests"
    LISTS = "lists"
    OTHERS = "others"
    WHOLE = "whole"
    RUN = "run"
    RATER = "rater"
    SURROUNDINGS = "surroundings"


@dataclass(frozen=True, slots=True)
class Visibility:
    """The visibility of the agents' and other raters' work.

    Attributes:
        blind: Whether it is hidden on every item. Otherwise an item's assignment can still hide it.
        reveals: Whether a review shows it on an item once the rater has answered all of its questions; lists
            hide it all the same.
    """

    blind: bool = False
    reveals: bool = False


@dataclass(frozen=True, slots=True)
class Sitting:
    """A part of a rater's list in a study, in which no item comes twice.

    Attributes:
        study: The study's key.
        number: The number of the part, from 1; 0 for the rulings of an adjudicator.
    """

    study: int
    number: int = 1


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

    An assignment belongs to one item, and a scope spans many: it names the sitting of a study, in which
    (rater, item) has at most one assignment. Only the items of the sitting are in the scope, and the phase of
    each is that of its assignment.

    Attributes:
        rater: Who judges; None for nobody.
        sitting: The sitting of a study under whose assignments the rater judges; None outside any study.
        phase: The phase outside a study: `review` or `adjudicate`.
        visibility: Which work of others may be seen.
        run: The run whose verdicts are the agents' labels; None for the default one of each kind
            (`store.queries.current.shown_runs`).
        sealed: Whether it is known that an open study or a packet shows the viewer what assignments show, and
            no more (`store.policy.sealing`).
    """

    rater: RaterRef | None = None
    sitting: Sitting | None = None
    phase: str = REVIEW
    visibility: Visibility = Visibility()
    run: RunRef | None = None
    sealed: bool = False

    def may(self, shows: Shows) -> bool:
        """Return whether the whole session may see something; an item can hide it all the same."""
        if shows is Shows.WHOLE:
            return not self.sealed
        if shows is Shows.SURROUNDINGS:
            return self.sitting is None
        if shows is Shows.LISTS:
            return not self.blind and self.sitting is None
        if shows in (Shows.OTHERS, Shows.RUN, Shows.RATER):
            return not (self.sealed or self.blind)
        return not self.blind

    @property
    def rater_id(self) -> int:
        """The rater's key; 0 for nobody."""
        return 0 if self.rater is None else self.rater.id

    @property
    def adjudicates(self) -> bool:
        """Whether the judgments made in it are rulings."""
        return self.phase == ADJUDICATE or (self.sitting is not None and self.sitting.number == 0)

    @property
    def blind(self) -> bool:
        """Whether others' work is hidden on every item."""
        return self.visibility.blind

    @property
    def reveals(self) -> bool:
        """Whether an item shows what is hidden of it once the rater has answered it."""
        return self.visibility.reveals

    @property
    def revealed(self) -> Scope:
        """The scope in which an item is read that the rater has answered, where that reveals it."""
        return replace(self, visibility=replace(self.visibility, blind=False))

    def revealing(self, *, reveals: bool) -> Scope:
        """Return the scope in which answers reveal items, or do not; only one that hides them can."""
        return replace(self, visibility=replace(self.visibility, reveals=reveals and self.blind))


EVERYTHING = Scope()
"""The scope of nobody outside a study, in which every item is."""
