"""Intervals: percentile bootstrap over clusters of units, and Wilson's interval of a proportion.

They cover the choice of items, with the raters fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import numpy

    from store.measures.coefficients import Patterns, Statistic
    from store.measures.rating_table import RatingTable

    Array = numpy.ndarray[Any, Any]

FEW_CLUSTERS = 30
"""Clusters below which a bootstrap interval is too narrow to be relied on."""
LEAST_CLUSTERS = 5
"""Clusters below which there is none: four have 35 different resamples, too few for 95 %."""

_CELLS = 2_000_000
"""Numbers that are drawn at once."""
_KEPT_CELLS = 25_000_000
"""Bytes of draws that are kept for the next table."""
_MOST_UNITS = 1e9
"""The largest effective number of units."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval of a measure.

    Attributes:
        low: Its lower end; None where it is not defined, has no width, or rests on too few clusters.
        high: Its upper end.
        share: The share of samples that it is to cover, such as 0.95.
        clusters: The number of clusters that were drawn from.
        resamples: The resamples in which the measure is defined.
        undefined: Those in which it is not.
    """

    JSON_ALSO: ClassVar = ("warning",)

    low: float | None
    high: float | None
    share: float
    clusters: int
    resamples: int
    undefined: int

    def method(self, unit: str, cluster: str) -> str:
        """Return how it was made, as a phrase.

        Args:
            unit: The word for what is drawn or counted.
            cluster: The word for a group of units that are drawn together; the same for none.
        """
        if not self.resamples:
            return "Wilson's" if unit == cluster else f"Wilson's of {self.clusters:,} {cluster}s"
        return f"bootstrap over {unit}s, {cluster} by {cluster}, of {self.clusters:,}; raters fixed"

    @property
    def warning(self) -> str:
        """Why not to rely on it; empty for no reason."""
        if self.low is None and not self.resamples:
            return "no resample has a value"
        if self.low is None and self.clusters < LEAST_CLUSTERS:
            return f"only {self.clusters} clusters, too few for an interval"
        if self.low is None:
            return "every resample has the same value, so there is no interval"
        if not self.resamples:
            return ""
        if self.clusters < FEW_CLUSTERS:
            return f"only {self.clusters} clusters, and under {FEW_CLUSTERS} it is too narrow"
        return f"{self.undefined} resamples have no value and are left out" if self.undefined else ""


COVERED = 0.95
"""The share of samples that an interval is to cover."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Percentile bootstrap intervals of measures of a table; whole clusters of units are drawn.

    Units of one cluster, such as the pairs of a query, are not independent: drawn one by one they give an
    interval that is too narrow. Units of a table without clusters are drawn one by one. This is not
    Krippendorff's own bootstrap, which draws pairs of values.

    Attributes:
        resamples: How many resamples are drawn; 0 for no intervals.
        by_unit: Whether units are drawn one by one, although the table has clusters.
    """

    resamples: int = 1000
    seed: int = 0
    by_unit: bool = False

    def intervals(self, table: RatingTable, statistics: Sequence[Statistic]) -> list[Interval]:
        """Return the interval of each measure, all from the same resamples.

        Args:
            table: The ratings.
            statistics: The measures, as functions of how often each pattern of the table occurs.
        """
        import numpy

        clusters, number = None, table.units
        if table.clusters is not None and not self.by_unit:
            # Numbers from 0 without gaps; counting them is quicker than sorting.
            there = numpy.bincount(table.clusters) > 0
            clusters = (numpy.cumsum(there) - 1)[table.clusters]
            number = int(there.sum())
        if not number or not self.resamples:
            return [Interval(None, None, COVERED, 0, 0, self.resamples) for _ in statistics]
        found: list[list[Array]] = [[] for _ in statistics]
        for times in self._resampled(table.patterns, clusters, number) if statistics else ():
            for values, statistic in zip(found, statistics, strict=True):
                values.append(statistic(times))
        return [_interval(numpy.concatenate(values), number) for values in found]

    def of_mean(self, values: Array) -> Interval:
        """Return the interval of the mean of numbers that are drawn one by one.

        Args:
            values: The numbers, of shape (n,).
        """
        import numpy

        return self.of_ratio(values, numpy.ones(len(values)))

    def of_ratio(self, above: Array, below: Array) -> Interval:
        """Return the interval of the ratio of two sums over clusters.

        Args:
            above: What each of n clusters adds to the first sum, of shape (n,).
            below: What it adds to the second one.
        """
        import numpy

        number = len(above)
        if not number or not self.resamples:
            return Interval(None, None, COVERED, 0, 0, self.resamples)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            ratios = [
                (drawn @ above) / (drawn @ below) for drawn in _drawn(number, self.resamples, self.seed)
            ]
        return _interval(numpy.concatenate(ratios), number)

    def _resampled(self, patterns: Patterns, clusters: Array | None, number: int) -> Iterator[Array]:
        """Yield how often each pattern occurs in resamples, of shape (some resamples, p)."""
        import numpy

        kinds = len(patterns.times)
        if clusters is None:
            # Units with the same pattern are alike: how often each pattern is drawn is all that matters.
            random = numpy.random.default_rng(self.seed)
            at_once = max(1, _CELLS // kinds)
            for start in range(0, self.resamples, at_once):
                size = min(at_once, self.resamples - start)
                yield random.multinomial(number, patterns.times / number, size=size)
            return
        cells = clusters * kinds + patterns.pattern_of
        within: Any
        if number * kinds <= _CELLS:
            times = numpy.bincount(cells, minlength=number * kinds)
            within = times.reshape(number, kinds).astype(numpy.float32)
        else:
            from scipy.sparse import csr_array

            cells, times = numpy.unique(cells, return_counts=True)
            within = csr_array((times.astype(numpy.float32), divmod(cells, kinds)), shape=(number, kinds))
        drawn = _drawn(number, self.resamples, self.seed)
        for part in drawn:
            yield (part.astype(numpy.float32) @ within).astype(float)


INTERVALS = Bootstrap()
"""How intervals are drawn by default: 1,000 resamples of clusters."""


@lru_cache(maxsize=1)
def _kept(number: int, resamples: int, seed: int) -> list[Array]:
    return list(_draw(number, resamples, seed))


def _drawn(number: int, resamples: int, seed: int) -> Iterable[Array]:
    """Return how often each of a number of clusters is drawn, in parts of shape (some resamples, number).

    The last ones stay in memory where they take little of it, since a report has many tables of as many
    clusters.
    """
    few = number * resamples <= _KEPT_CELLS
    return _kept(number, resamples, seed) if few else _draw(number, resamples, seed)


def _draw(number: int, resamples: int, seed: int) -> Iterator[Array]:
    import numpy

    random = numpy.random.default_rng(seed)
    at_once = max(1, _CELLS // number)
    for start in range(0, resamples, at_once):
        drawn = numpy.empty((min(at_once, resamples - start), number), dtype=numpy.uint8)
        for times in drawn:
            clusters = random.integers(number, size=number, dtype=numpy.int32)
            times[:] = numpy.bincount(clusters, minlength=number)
        yield drawn


def _interval(values: Array, clusters: int) -> Interval:
    import numpy

    defined = values[numpy.isfinite(values)]
    undefined = len(values) - len(defined)
    if not len(defined):
        return Interval(None, None, COVERED, clusters, 0, undefined)
    low, high = numpy.quantile(defined, [(1 - COVERED) / 2, (1 + COVERED) / 2]).tolist()
    if low == high or clusters < LEAST_CLUSTERS:
        low = high = None
    return Interval(low, high, COVERED, clusters, len(defined), undefined)


def of_proportion(interval: Interval, proportion: float | None) -> Interval:
    """Return Wilson's interval in the place of a bootstrap's that has no ends.

    How alike the units of a cluster are cannot be seen there, so each cluster counts as one unit.

    Args:
        interval: The interval of the bootstrap.
        proportion: The proportion, from 0 to 1.
    """
    if interval.low is not None or proportion is None or not interval.clusters:
        return interval
    low, high = wilson_effective(proportion, 0.0, interval.clusters)
    return Interval(low, high, COVERED, interval.clusters, 0, 0)


def wilson_effective(rate: float, variance: float, clusters: int) -> tuple[float, float]:
    """Return Wilson's interval of a proportion whose units come in clusters, for their effective number.

    That is the number of independent units whose proportion would vary as much (L. Kish, "Survey Sampling",
    1965); where clusters do not differ at all, their number.

    Args:
        rate: The proportion.
        variance: Its variance, by how clusters differ.
        clusters: The number of clusters.
    """
    # Beyond so many units the clusters differ by rounding alone.
    differ = variance * _MOST_UNITS > rate * (1 - rate) > 0
    number = rate * (1 - rate) / variance if differ else float(clusters)
    return wilson(rate * number, number)


def wald(hits: float, number: float) -> float:
    """Return half the width of Wald's interval of a proportion: 79 of 101 give 0.081.

    With the variance of the sample, over number - 1, as RepoRift's Table 1 has it. It is too narrow near 0
    and 1: prefer `wilson`.

    Args:
        hits: How many of the number.
        number: The number, at least 1.
    """
    rate = hits / number
    return NormalDist().inv_cdf((1 + COVERED) / 2) * math.sqrt(rate * (1 - rate) / max(number - 1, 1))


def wilson(hits: float, number: float) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion (E. B. Wilson, 1927): 603 of 1,000 give 0.572 to 0.633.

    Args:
        hits: How many of the number; a fraction, too, where the number is an effective size.
        number: The number, at least 1.

    Raises:
        ValueError: There are no hits of so few.
    """
    if not 0 <= hits <= number or not number:
        raise ValueError(f"{hits} of {number} is no proportion")
    z = NormalDist().inv_cdf((1 + COVERED) / 2)
    middle = (hits + z * z / 2) / (number + z * z)
    half = z / (number + z * z) * math.sqrt(hits * (number - hits) / number + z * z / 4)
    return middle - half if hits else 0.0, middle + half if hits < number else 1.0
