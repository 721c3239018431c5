"""Votes on comparisons: what people and judges prefer, before anything is computed of them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from store.errors import UnknownName
from store.measures.battles import Battle, majority

Group = Literal["people", "judges"]


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two candidates that are compared.

    Attributes:
        prompt: The prompt; comparisons of one prompt are not independent.
        first: The name of the first candidate in canonical order.
        second: The name of the second one.
        lengths: The characters of their texts; None where these are not known.
        flipped: Whether the second candidate is listed first where they come from. Agreement beyond chance
            depends a little on which of two is called the first.
        group: The value of the field by which comparisons are grouped; empty without one.
        alike: Whether both texts are the same, so that whoever prefers one has made a tie.
    """

    prompt: Hashable
    first: str
    second: str
    lengths: tuple[int, int] | None = None
    flipped: bool = False
    group: str = ""
    alike: bool = False


@dataclass(frozen=True, slots=True)
class Vote:
    """A rater's verdict on a comparison.

    Attributes:
        value: From 2, the first candidate is much better, to -2, the second one is.
        both_bad: Whether neither is any good, which is a tie off the ordinal scale.
        first_left: Whether the first candidate was on the left; None where that is not known.
        revealed: Whether a judge's verdict was on the screen.
    """

    item: Hashable
    rater: str
    value: float
    both_bad: bool = False
    first_left: bool | None = None
    revealed: bool = False

    @property
    def winner(self) -> int:
        """1 for the first candidate, -1 for the second, 0 for a tie."""
        return (self.value > 0) - (self.value < 0)

    @property
    def score(self) -> float:
        """What the first candidate gets: 1, 0.5 or 0."""
        return (self.winner + 1) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """The votes on some comparisons.

    Attributes:
        labels: The votes that count, one for each rater and comparison, in the order in which they were made.
        orders: Judges' verdicts in one order alone, of which their labels were made.
        judges: The raters that are models.
        notes: What was left out or changed when they were read, and how often.
    """

    items: Mapping[Hashable, Pairing]
    labels: Sequence[Vote]
    orders: Sequence[Vote] = ()
    judges: frozenset[str] = frozenset()
    notes: Mapping[str, int] = field(default_factory=dict)

    def tied(self) -> Votes:
        """Return them with those on equal texts as ties."""

        def settled(votes: Sequence[Vote]) -> list[Vote]:
            return [replace(one, value=0.0) if self.items[one.item].alike else one for one in votes]

        return replace(self, labels=settled(self.labels), orders=settled(self.orders))

    @property
    def raters(self) -> list[str]:
        """The names of the raters, people first."""
        found = dict.fromkeys(one.rater for votes in (self.labels, self.orders) for one in votes)
        return sorted(found, key=lambda name: (name in self.judges, name))

    def group(self, rater: str) -> Group:
        """Return whether a rater is a person or a model."""
        return "judges" if rater in self.judges else "people"

    def of(self, raters: Collection[str]) -> list[Vote]:
        """Return the votes of some raters that count."""
        wanted = frozenset(raters)
        return [one for one in self.labels if one.rater in wanted]

    def named(self, names: Iterable[str]) -> list[str]:
        """Return names of raters, each once.

        Raises:
            UnknownName: Nobody of a name has a vote.
        """
        known = self.raters
        for name in names:
            if name not in known:
                some = ", ".join(known[:20]) or "nobody yet"
                raise UnknownName(
                    "No votes", f"No rater called {name!r} has a vote.", f"Those with votes: {some}."
                )
        return list(dict.fromkeys(names))

    def battles(self, votes: Iterable[Vote]) -> tuple[list[Battle], list[Hashable]]:
        """Return a battle for each comparison, won by the majority of some votes.

        Votes of several raters on a comparison are not independent, so that it counts once.

        Returns:
            The battles in the order of the first votes on them, and the comparisons without a majority.
        """
        scores: dict[Hashable, list[float]] = defaultdict(list)
        for one in votes:
            scores[one.item].append(one.score)
        found, undecided = [], []
        for item, given in scores.items():
            pairing, won = self.items[item], majority(given)
            if won is None:
                undecided.append(item)
            else:
                found.append(Battle(pairing.first, pairing.second, won, pairing.prompt))
        return found, undecided


def group_values(values: Sequence[object], name: str) -> list[str]:
    """Return the values of the field by which comparisons are grouped as texts, empty where it is missing.

    Args:
        values: The value of each comparison; None where it has none.
        name: The field.

    Raises:
        UnknownName: No comparison has one.
    """
    if values and not any(value not in (None, "") for value in values):
        raise UnknownName(
            "Unknown field",
            f"No comparison has a field {name!r}.",
            "Group by a column, such as language, about or made_from, or by another field of the records.",
        )
    return [
        "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for value in values
    ]
