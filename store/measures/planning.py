"""Sample sizes of studies: power of McNemar's test, and the width of intervals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from store.measures.coefficients import Coefficient, Patterns, krippendorff_alpha_of_sums
from store.measures.intervals import FEW_CLUSTERS, LEAST_CLUSTERS, Bootstrap
from store.measures.rating_table import RatingTable

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

MOST_ITEMS = 20_000
"""Items, or queries, up to which a sample size is looked for."""
MOST_SIMULATED = 500
"""Queries up to which intervals are simulated to find a sample size; beyond, they fall with the root."""
LEAST_RARE = 10
"""Expected items of the rarer answer from which alpha is planned; of fewer, simulated intervals collapse."""
_SMALLEST, _ROWS = 25, 6
"""The first number of queries of a plan, and how many: each is twice the one before."""
RESAMPLES = 2_000
"""Resamples of each simulated sample's bootstrap; of much fewer, half-widths come out too small."""


def mcnemar_power(n: int, p10: float, p01: float, alpha: float = 0.05) -> float:
    """Return the power of McNemar's exact two-sided test, by exact enumeration.

    The items that only one method gets right are binomial, and given their number so are those of the first
    method; the power is the chance of all outcomes that the test rejects (M. P. Duffy, "Asymptotic and exact
    power for the McNemar test and its analogue with R controls per case", Biometrics 40(4), 1984). 400 items
    with 0.1104 and 0.0704 at alpha 0.05 have a power of 0.4255. Items are taken to be independent.

    Args:
        n: The number of items.
        p10: The share of items that only the first method gets right.
        p01: The share of items that only the second one gets right.
        alpha: The level of the test.

    Raises:
        ValueError: The shares are no probabilities of which one is above 0, or alpha is not between 0 and 1.
    """
    import numpy
    from scipy.stats import binom

    _check_shares(p10, p01, alpha)
    differing = binom.pmf(numpy.arange(n + 1), n, p10 + p01)
    return float(differing @ _rejected(n, p10 / (p10 + p01), alpha))


def mcnemar_sample_size(power: float, p10: float, p01: float, alpha: float = 0.05) -> int:
    """Return the smallest number of items with which McNemar's exact test has a power.

    With a few more items the power of an exact test may be a little lower again.

    Args:
        power: The wanted power, between 0 and 1.
        p10: The share of items that only the first method gets right.
        p01: The share of items that only the second one gets right.
        alpha: The level of the test.

    Raises:
        ValueError: The shares are no different probabilities, power or alpha is not between 0 and 1, or
            20,000 items are not enough.
    """
    import numpy

    _check_shares(p10, p01, alpha)
    if not 0 < power < 1:
        raise ValueError("power is between 0 and 1")
    if p10 == p01:
        raise ValueError("with equal shares there is no difference to find")
    rejected = _rejected(MOST_ITEMS, p10 / (p10 + p01), alpha)
    either = p10 + p01
    # The distribution of the number of differing items, of one item more at each step, as far as it matters.
    differing = numpy.zeros(MOST_ITEMS + 1)
    differing[0] = 1.0
    for n in range(1, MOST_ITEMS + 1):
        spread = 12 * (1 + math.sqrt(n * either * (1 - either)))
        low, high = max(1, int(n * either - spread)), min(n, int(n * either + spread)) + 1
        differing[low:high] = differing[low:high] * (1 - either) + differing[low - 1 : high - 1] * either
        differing[0] *= 1 - either
        if differing[low - 1 : high] @ rejected[low - 1 : high] >= power:
            return n
    raise ValueError(f"{MOST_ITEMS:,} items are not enough for a power of {power:g}")


@dataclass(frozen=True, slots=True)
class AgreementDesign:
    """A study of agreement on a question with two answers.

    All raters give the same answer on a proportion `alpha` of the units, and answer by chance on the others.
    Krippendorff's nominal alpha of this is alpha. The share is another one in each query (beta-distributed).

    Attributes:
        alpha: The expected alpha, between 0 and 1.
        raters: The raters of each unit, at least 2.
        prevalence: The share of one of the answers, between 0 and 1.
        units_per_query: The pairs of each query.
        correlation: The intraclass correlation within a query of whether raters share their answer, from 0 to
            below 1.
    """

    alpha: float
    raters: int
    prevalence: float
    units_per_query: int
    correlation: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated.

        Raises:
            ValueError: A number is out of range.
        """
        _check_design(self.alpha, "alpha", self.units_per_query, self.correlation)
        if self.raters < 2 or not 0 < self.prevalence < 1:
            raise ValueError("agreement is of two raters or more, and a prevalence is between 0 and 1")

    @property
    def coefficient(self) -> Coefficient:
        """The measure that the interval is for."""
        return krippendorff_alpha_of_sums("nominal")

    @property
    def least_queries(self) -> int:
        """The number of queries from which an interval means something."""
        rare = min(self.prevalence, 1 - self.prevalence)
        return max(LEAST_CLUSTERS, math.ceil(LEAST_RARE / (rare * self.units_per_query)))

    def draw(self, queries: int, random: numpy.random.Generator) -> RatingTable:
        """Return simulated ratings, clustered by query; raters have no names."""
        import numpy

        shared = _chances(self.alpha, queries, self.correlation, random)[:, None]
        given = numpy.arange(self.raters + 1)
        alike = numpy.where(given == 0, 1 - self.prevalence, self.prevalence) * (given % self.raters == 0)
        by_chance = [
            math.comb(self.raters, ones)
            * self.prevalence**ones
            * (1 - self.prevalence) ** (self.raters - ones)
            for ones in range(self.raters + 1)
        ]
        times = random.multinomial(
            self.units_per_query, shared * alike + (1 - shared) * numpy.array(by_chance)
        )
        return _table(numpy.column_stack([self.raters - given, given]), times)


@dataclass(frozen=True, slots=True)
class AccuracyDesign:
    """A study of the accuracy of one rater or agent, each item with a known truth.

    Attributes:
        accuracy: The expected share of right answers, between 0 and 1.
        units_per_query: The pairs of each query.
        correlation: The intraclass correlation within a query of whether an answer is right, from 0 to below
            1.
    """

    accuracy: float
    units_per_query: int
    correlation: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be simulated.

        Raises:
            ValueError: A number is out of range.
        """
        _check_design(self.accuracy, "accuracy", self.units_per_query, self.correlation)

    @property
    def coefficient(self) -> Coefficient:
        """The measure that the interval is for."""
        import numpy

        def mean(domain: Array, sums: Array) -> Array:
            return numpy.asarray(sums @ domain / sums.sum(axis=-1))

        return Coefficient("accuracy", "accuracy", lambda _, rows: rows, mean)

    @property
    def least_queries(self) -> int:
        """The number of queries from which an interval means something."""
        return LEAST_CLUSTERS

    def draw(self, queries: int, random: numpy.random.Generator) -> RatingTable:
        """Return simulated answers, 1 for right and 0 for wrong, clustered by query."""
        import numpy

        right = random.binomial(
            self.units_per_query, _chances(self.accuracy, queries, self.correlation, random)
        )
        return _table(numpy.eye(2, dtype=int), numpy.column_stack([self.units_per_query - right, right]))


class Design(Hashable, Protocol):
    """A study that can be simulated."""

    @property
    def coefficient(self) -> Coefficient:
        """The measure that the interval is for."""

    @property
    def least_queries(self) -> int:
        """The number of queries from which an interval means something."""

    def draw(self, queries: int, random: numpy.random.Generator) -> RatingTable:
        """Return simulated ratings, clustered by query."""


@lru_cache(maxsize=100)  # A search for several half-widths begins with the same simulations.
def expected_half_width(design: Design, queries: int, *, simulations: int = 50, seed: int = 0) -> float:
    """Return the mean half-width of the 95 % percentile bootstrap interval over queries, by simulation.

    The interval is that of `intervals.Bootstrap`, with 2,000 resamples: it covers the choice of queries,
    with the raters fixed.

    Args:
        design: The study.
        queries: The number of queries, at least 2.
        simulations: How many samples are simulated.
        seed: The seed of the simulation.

    Returns:
        The half-width; infinite where a sample has no coefficient, since there are too few queries.

    Raises:
        ValueError: There are fewer than two queries.
    """
    import numpy

    if queries < 2:
        raise ValueError("an interval over queries needs two of them")
    widths = []
    for number in range(simulations):
        table = design.draw(queries, numpy.random.default_rng([seed, number]))
        statistic = design.coefficient.statistic(table.patterns)
        # The same resamples of queries for all samples, which are drawn once.
        (found,) = Bootstrap(RESAMPLES, seed).intervals(table, [statistic])
        if found.low is None or found.high is None:
            return math.inf
        widths.append((found.high - found.low) / 2)
    return float(numpy.mean(widths))


def queries_needed(design: Design, half_width: float, *, simulations: int = 50, seed: int = 0) -> int:
    """Return the smallest number of queries whose expected half-width is at most a wanted one.

    Up to 500 it is found to 1 %; above, it is taken from the half-width of 500, which falls with the root of
    the number of queries. With 50 simulated samples, another seed gives a number that differs by some 2 %.

    Args:
        design: The study.
        half_width: The wanted half-width of the 95 % interval, above 0.
        simulations: How many samples are simulated.
        seed: The seed of the simulation.

    Raises:
        ValueError: The half-width is not above 0, 20,000 queries are not enough, or 500 are too few for a
            coefficient in every sample.
    """
    if half_width <= 0:
        raise ValueError("a half-width is above 0")

    def width(queries: int) -> float:
        return expected_half_width(design, queries, simulations=simulations, seed=seed)

    def about(queries: int, found: float) -> float:
        """Return about how many queries are needed, if a half-width falls with the root of their number."""
        return 4 * queries if math.isinf(found) else queries * (found / half_width) ** 2

    least, most = 1, MOST_SIMULATED
    found = width(most)
    if math.isinf(found):
        raise ValueError(f"in a sample of {most} queries all answers may be the same: there is no half-width")
    if found > half_width:
        needed = math.ceil(about(most, found))
        if needed > MOST_ITEMS:
            raise ValueError(f"{MOST_ITEMS:,} queries are not enough for a half-width of {half_width:g}")
        return needed
    queries = most
    while most - least > max(1, most // 100):
        if most > 1.25 * least:
            aim = about(queries, found) * (0.95 if found <= half_width else 1.05)
            queries = min(most - 1, max(least + 1, round(aim)))
        else:
            queries = (least + most) // 2
        found = width(queries)
        least, most = (least, queries) if found <= half_width else (queries, most)
    return most


@dataclass(frozen=True, slots=True)
class QueriesNeeded:
    """The queries that an interval needs.

    Attributes:
        half_width: Its half-width, at most.
        queries: The number of queries; None where there is none to 20,000.
        why: Why there is none; empty where there is one.
    """

    half_width: float
    queries: int | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class IntervalPlan:
    """The plan of one measure's interval.

    Attributes:
        needed: The number of queries for each half-width.
        expected: The expected half-width by number of queries; None where there is no value.
        here: That with the queries that there are; None where there are none.
    """

    needed: Sequence[QueriesNeeded]
    expected: Mapping[int, float | None]
    here: float | None

    def to_dict(self, per_query: int) -> dict[str, Any]:
        """Return it as JSON-able fields, with the items of so many a query."""
        return {
            "needed": [
                {
                    "half_width": each.half_width,
                    "queries": each.queries,
                    "items": None if each.queries is None else each.queries * per_query,
                    "why": each.why,
                }
                for each in self.needed
            ],
            "expected": [
                {"queries": queries, "half_width": width} for queries, width in self.expected.items()
            ],
            "half_width_here": self.here,
        }


def plan_intervals(
    designs: Mapping[str, Design], half_widths: Sequence[float], *, here: int | None = None, seed: int = 0
) -> dict[str, IntervalPlan]:
    """Plan the intervals of some studies, by their names.

    Args:
        designs: The studies.
        half_widths: The wanted half-widths of the 95 % intervals, above 0.
        here: A number of queries whose half-widths are wanted, too, at least 2; None for none.
        seed: The seed of the simulations.
    """
    needed = {
        name: [_needed(design, width, seed) for width in half_widths] for name, design in designs.items()
    }
    numbers = _numbers_of_queries([each.queries for one in needed.values() for each in one])
    if here is not None:
        numbers = sorted({*numbers, here})
    return {
        name: IntervalPlan(
            needed[name],
            {queries: _expected(design, queries, seed) for queries in numbers},
            None if here is None else _expected(design, here, seed),
        )
        for name, design in designs.items()
    }


def _needed(design: Design, half_width: float, seed: int) -> QueriesNeeded:
    if design.least_queries > MOST_ITEMS:
        why = f"{MOST_ITEMS:,} queries do not have {LEAST_RARE} items of the rarer answer"
        return QueriesNeeded(half_width, None, why)
    try:
        enough = queries_needed(design, half_width, seed=seed)
    except ValueError as error:
        return QueriesNeeded(half_width, None, str(error))
    # Of fewer, the report itself warns that the interval is too narrow.
    return QueriesNeeded(half_width, max(design.least_queries, FEW_CLUSTERS, enough))


def _expected(design: Design, queries: int, seed: int) -> float | None:
    if queries < design.least_queries:
        return None
    simulated = min(queries, MOST_SIMULATED)
    width = expected_half_width(design, simulated, seed=seed) * math.sqrt(simulated / queries)
    return width if math.isfinite(width) else None


def _numbers_of_queries(needed: Sequence[int | None]) -> list[int]:
    """Return numbers of queries that reach the largest one needed, each twice the one before."""
    most = max((each for each in needed if each is not None), default=0)
    doublings = max(_ROWS - 2, math.ceil(math.log2(max(most, 1) / _SMALLEST)))
    return [_SMALLEST * 2**power for power in range(max(0, doublings - _ROWS + 1), doublings + 1)]


def _rejected(most: int, share: float, alpha: float) -> Array:
    """Return the chance that the test rejects, given 0 to most differing items, of shape (most + 1,)."""
    import numpy
    from scipy.stats import binom

    number = numpy.arange(most + 1)
    # The largest count of the rarer side that is rejected; -1 where none is.
    largest = binom.ppf(alpha / 2, number, 0.5)
    largest = numpy.where(binom.cdf(largest, number, 0.5) <= alpha / 2, largest, largest - 1)
    both = binom.cdf(largest, number, share) + binom.sf(number - largest - 1, number, share)
    return numpy.asarray(numpy.where(largest >= 0, both, 0.0))


def _chances(mean: float, queries: int, correlation: float, random: numpy.random.Generator) -> Array:
    """Return the chance of each query, beta-distributed, of shape (queries,)."""
    import numpy

    if not correlation:
        return numpy.full(queries, mean)
    # The intraclass correlation of a beta-binomial is 1 / (a + b + 1).
    both = 1 / correlation - 1
    return random.beta(mean * both, (1 - mean) * both, queries)


def _table(rows: Array, times: Array) -> RatingTable:
    """Return a table of answers 0 and 1.

    Args:
        rows: How often each of p patterns has each answer, of shape (p, 2).
        times: How often each query has each pattern, of shape (queries, p).
    """
    import numpy

    queries, kinds = times.shape
    pattern_of = numpy.repeat(numpy.tile(numpy.arange(kinds), queries), times.reshape(-1))
    patterns = Patterns(numpy.array([0.0, 1.0]), None, rows, pattern_of, times.sum(axis=0))
    query = numpy.repeat(numpy.arange(queries), times.sum(axis=1))
    return RatingTable("counts", (), patterns, (), query)


def _check_shares(p10: float, p01: float, alpha: float) -> None:
    if min(p10, p01) < 0 or not 0 < p10 + p01 <= 1:
        raise ValueError("the shares are probabilities, and one of them is above 0")
    if not 0 < alpha < 1:
        raise ValueError("alpha is between 0 and 1")


def _check_design(mean: float, name: str, units: int, correlation: float) -> None:
    if not 0 < mean < 1:
        raise ValueError(f"{name} is between 0 and 1, without these")
    if units < 1 or not 0 <= correlation < 1:
        raise ValueError("a query has a unit or more, and a correlation is from 0 to below 1")
