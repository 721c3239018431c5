"""Intervals: percentile bootstrap over clusters of units, and Wilson's interval of a proportion.

They cover the choice of items, with the raters fixed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    from store.measures.coefficients import Coefficient, ValueCounts

    Array = numpy.ndarray[Any, Any]

FEW_CLUSTERS = 30
"""Clusters below which a bootstrap interval is too narrow to be relied on."""

_CELLS = 20_000_000
"""Numbers that are drawn at once."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of a coefficient.

    Attributes:
        low: Its lower end; None where it is not defined.
        high: Its upper end.
        share: The share of samples that it is to cover, such as 0.95.
        clusters: The number of clusters that were drawn from.
        resamples: The resamples in which the coefficient is defined.
        undefined: Those in which it is not.
    """

    low: float | None
    high: float | None
    share: float
    clusters: int
    resamples: int
    undefined: int

    @property
    def warning(self) -> str:
        """Why not to rely on it; empty for no reason."""
        if self.low is None:
            return "no resample has a coefficient"
        if self.clusters < FEW_CLUSTERS:
            return f"only {self.clusters} clusters: under {FEW_CLUSTERS}, the interval is too narrow"
        return f"{self.undefined} resamples have no coefficient and are left out" if self.undefined else ""


def bootstrap(
    coefficient: Coefficient,
    counts: ValueCounts,
    *,
    clusters: Array | None = None,
    resamples: int = 1000,
    seed: int = 0,
    share: float = 0.95,
) -> Interval:
    """Compute the percentile bootstrap interval of a coefficient; whole clusters are drawn.

    Units of one cluster, such as the pairs of a query, are not independent: drawn one by one they give an
    interval that is too narrow. Without clusters each unit is one of its own. This is not Krippendorff's own
    bootstrap, which draws pairs of values.

    Args:
        coefficient: The coefficient.
        counts: The counts of n units.
        clusters: The cluster of each unit, of shape (n,), from 0; None for units of their own.
        resamples: How many resamples are drawn.
        seed: The seed of the draws.
        share: The share of samples to cover, between 0 and 1.
    """
    import numpy

    if not counts.units:
        return Interval(None, None, share, 0, 0, resamples)
    parts = coefficient.parts(counts.domain, counts.rows)
    if clusters is None:
        # Units with the same row are alike: how often each row is drawn is all that matters.
        number, strata = counts.units, parts
        chances = numpy.bincount(counts.row_of, minlength=len(parts)) / number
    else:
        number = int(clusters.max()) + 1
        of_unit = parts[counts.row_of]
        strata = numpy.column_stack(
            [numpy.bincount(clusters, weights=column, minlength=number) for column in of_unit.T]
        )
        chances = numpy.full(number, 1 / number)
    random = numpy.random.default_rng(seed)
    found = []
    at_once = max(1, _CELLS // len(strata))
    for start in range(0, resamples, at_once):
        drawn = random.multinomial(number, chances, size=min(at_once, resamples - start))
        found.append(coefficient.value(counts.domain, drawn @ strata))
    values = numpy.concatenate(found)
    defined = values[~numpy.isnan(values)]
    if not len(defined):
        return Interval(None, None, share, number, 0, resamples)
    low, high = numpy.quantile(defined, [(1 - share) / 2, (1 + share) / 2])
    return Interval(float(low), float(high), share, number, len(defined), resamples - len(defined))


def wilson(hits: int, number: int, share: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion (E. B. Wilson, 1927): 603 of 1,000 give 0.572 to 0.633.

    Args:
        hits: How many of the number.
        number: The number, at least 1.
        share: The share of samples to cover, between 0 and 1.

    Raises:
        ValueError: There are no hits of so few.
    """
    if not 0 <= hits <= number or not number:
        raise ValueError(f"{hits} of {number} is no proportion")
    z = NormalDist().inv_cdf((1 + share) / 2)
    middle = (hits + z * z / 2) / (number + z * z)
    half = z / (number + z * z) * math.sqrt(hits * (number - hits) / number + z * z / 4)
    return middle - half if hits else 0.0, middle + half if hits < number else 1.0
