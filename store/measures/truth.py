"""Truth policies: the label of each unit that a panel of raters stands for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

Policy = Literal["majority", "unanimous", "adjudicated", "mean", "median", "dawid-skene"]
"""How the labels of a panel become one.

- `majority`: the label that more raters gave than any other one; none in a tie, which is for adjudication.
- `unanimous`: the label that all who labelled gave; none otherwise.
- `adjudicated`: an adjudicator's ruling; without one the unanimous label.
- `mean`, `median`: of scores.
- `dawid-skene`: the most probable label under Dawid and Skene's model of each rater's errors (1979).
"""
POLICIES: tuple[Policy, ...] = get_args(Policy)
LEAST_RATERS = 3
"""Raters under whom Dawid and Skene's model cannot tell errors from the truth."""


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """The labels of a policy.

    Attributes:
        values: The label of each of n units; NaN for none, of shape (n,).
        undecided: Units with labels of the panel, of which the policy makes none: ties and disagreements.
        single: Units whose label rests on that of one rater alone.
    """

    values: Array
    undecided: int
    single: int

    @property
    def units(self) -> int:
        """The number of units with a label."""
        import numpy

        return int((~numpy.isnan(self.values)).sum())


def truth(policy: Policy, panel: Sequence[Array], rulings: Array | None = None) -> Truth:
    """Return the label of each unit that a panel stands for.

    Args:
        policy: The policy.
        panel: The values of each rater of the panel, n units long; NaN for none.
        rulings: An adjudicator's ruling on each unit, NaN for none; only `adjudicated` takes them.

    Raises:
        ValueError: The panel has no raters.
    """
    import numpy

    from store.measures.coefficients import Patterns

    if not panel:
        raise ValueError("a panel has one rater or more")
    patterns = Patterns.of_ratings(list(panel))
    number = patterns.rows.sum(axis=1)[patterns.pattern_of] if len(patterns.domain) else 0 * panel[0]
    if policy == "dawid-skene":
        from store.measures.dawid_skene import dawid_skene

        values = dawid_skene(numpy.array(panel)).labels
    else:
        values = _of_patterns(policy, patterns)[patterns.pattern_of]
    if policy == "adjudicated" and rulings is not None:
        ruled = ~numpy.isnan(rulings)
        values = numpy.where(ruled, rulings, values)
        # A ruling rests on no rater of the panel.
        number = numpy.where(ruled, 0, number)
    there = ~numpy.isnan(values)
    return Truth(values, int(((number > 0) & ~there).sum()), int(((number == 1) & there).sum()))


def _of_patterns(policy: Policy, patterns: Any) -> Array:
    """Return the label of each pattern, of shape (p,)."""
    import numpy

    rows, domain = patterns.rows, patterns.domain
    number = rows.sum(axis=1)
    values = numpy.full(len(rows), numpy.nan)
    if not len(domain):
        return values
    if policy == "median":
        for place in numpy.flatnonzero(number):
            values[place] = numpy.median(numpy.repeat(domain, rows[place]))
        return values
    if policy == "mean":
        values[number > 0] = (rows @ domain)[number > 0] / number[number > 0]
        return values
    most = rows.max(axis=1)
    decided = (rows == most[:, None]).sum(axis=1) == 1 if policy == "majority" else most == number
    decided &= number > 0
    values[decided] = domain[rows.argmax(axis=1)][decided]
    return values
