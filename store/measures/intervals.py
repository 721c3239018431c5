"""Intervals: percentile bootstrap over clusters of units, and Wilson's interval of a proportion.

They cover the choice of items, with the raters fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    from store.measures.coefficients import Patterns, Statistic

    Array = numpy.ndarray[Any, Any]

FEW_CLUSTERS = 30
"""Clusters below which a bootstrap interval is too narrow to be relied on."""

_CELLS = 4_000_000
"""Numbers that are drawn at once."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of a measure.

    Attributes:
        low: Its lower end; None where it is not defined.
        high: Its upper end.
        share: The share of samples that it is to cover, such as 0.95.
        clusters: The number of clusters that were drawn from.
        resamples: The resamples in which the measure is defined.
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
            return "no resample has a value"
        if self.clusters < FEW_CLUSTERS:
            return f"only {self.clusters} clusters: under {FEW_CLUSTERS}, the interval is too narrow"
        return f"{self.undefined} resamples have no value and are left out" if self.undefined else ""


class Resamples:
    """Resamples of whole clusters, for percentile bootstrap intervals of any number of measures.

    Units of one cluster, such as the pairs of a query, are not independent: drawn one by one they give an
    interval that is too narrow. Without clusters each unit is one of its own. This is not Krippendorff's own
    bootstrap, which draws pairs of values.

    Args:
        patterns: The patterns of n units. Measures of some raters' patterns (`Patterns.only`) can be asked
            for too.
        clusters: The cluster of each unit, of shape (n,), from 0; None for units of their own.
        resamples: How many resamples are drawn.
        seed: The seed of the draws.
        share: The share of samples to cover, between 0 and 1.
    """

    def __init__(
        self,
        patterns: Patterns,
        *,
        clusters: Array | None = None,
        resamples: int = 1000,
        seed: int = 0,
        share: float = 0.95,
    ) -> None:
        self._pattern_of = patterns.pattern_of
        self._times = patterns.times
        self._clusters = clusters
        self._resamples = resamples
        self._seed = seed
        self._share = share
        self._drawn: list[Array] | None = None

    @cached_property
    def clusters(self) -> int:
        """The number of clusters that are drawn from."""
        import numpy

        return len(self._pattern_of if self._clusters is None else numpy.unique(self._clusters))

    def intervals(self, statistics: Sequence[Statistic]) -> list[Interval]:
        """Return the interval of each measure, all from the same resamples.

        Args:
            statistics: The measures, as functions of how often each pattern occurs.
        """
        import numpy

        if not self.clusters or not self._resamples or not len(self._times):
            return [Interval(None, None, self._share, 0, 0, self._resamples) for _ in statistics]
        found: list[list[Array]] = [[] for _ in statistics]
        for times in self._kept() if statistics else ():
            for values, statistic in zip(found, statistics, strict=True):
                values.append(statistic(times))
        return [_interval(numpy.concatenate(values), self.clusters, self._share) for values in found]

    def _kept(self) -> Iterable[Array]:
        """Return the resamples, which are drawn once where they do not take much room."""
        if self._drawn is None and self._resamples * len(self._times) <= _CELLS:
            self._drawn = list(self._draw())
        return self._draw() if self._drawn is None else self._drawn

    def _draw(self) -> Iterator[Array]:
        """Yield how often each pattern occurs in resamples, of shape (some resamples, p)."""
        import numpy

        random = numpy.random.default_rng(self._seed)
        number, resamples, patterns = self.clusters, self._resamples, len(self._times)
        at_once = max(1, _CELLS // max(number if self._clusters is not None else 1, patterns))
        if self._clusters is None:
            # Units with the same pattern are alike: how often each pattern is drawn is all that matters.
            chances = self._times / number
            for start in range(0, resamples, at_once):
                yield random.multinomial(number, chances, size=min(at_once, resamples - start))
            return
        from scipy.sparse import csr_array

        _, cluster_of = numpy.unique(self._clusters, return_inverse=True)
        ones = numpy.ones(len(cluster_of))
        within = csr_array((ones, (cluster_of, self._pattern_of)), shape=(number, patterns))
        if number * patterns <= _CELLS:
            within = within.toarray()
        for start in range(0, resamples, at_once):
            drawn = [
                numpy.bincount(random.integers(number, size=number, dtype=numpy.int32), minlength=number)
                for _ in range(min(at_once, resamples - start))
            ]
            yield numpy.array(drawn, dtype=float) @ within


def _interval(values: Array, clusters: int, share: float) -> Interval:
    import numpy

    defined = values[~numpy.isnan(values)]
    undefined = len(values) - len(defined)
    if not len(defined):
        return Interval(None, None, share, clusters, 0, undefined)
    low, high = numpy.quantile(defined, [(1 - share) / 2, (1 + share) / 2])
    return Interval(float(low), float(high), share, clusters, len(defined), undefined)


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
