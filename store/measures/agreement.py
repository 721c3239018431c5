"""Agreement between raters: pure functions over values, each result with what it was computed from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.errors import WorkbenchError
from store.measures.coefficients import (
    Level,
    Patterns,
    Statistic,
    Weights,
    has_both_signs,
    krippendorff_alpha_of_sums,
    weights_of,
)

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]
    Ratings = Sequence[float | None] | Array

MOST_CELLS = 1_000_000
"""Units times pairs of values up to which the package computes alpha: it has a number for each of them."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient of agreement with its ground.

    Attributes:
        value: The coefficient; None where it is not defined.
        units: Units that it was computed from: those with at least two values.
        dropped: Units left out, since fewer than two raters gave a value.
        values: Values in the units it was computed from.
        why_none: Why there is no coefficient, empty when there is one.
    """

    value: float | None
    units: int
    dropped: int
    values: int
    why_none: str = ""


def majority(values: Iterable[float | None]) -> float | None:
    """Return the value that more raters gave than any other one.

    Args:
        values: One value a rater; None for no value.

    Returns:
        The most frequent value, or None for a tie or no values at all.
    """
    ranked = Counter(value for value in values if value is not None).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def raw_agreement(units: Iterable[Sequence[float | None]]) -> Agreement:
    """Compute the observed agreement: the share of pairs of values of a unit that are equal.

    For unit i with n_i values, of which n_ik are the value k, P_i = sum_k n_ik (n_ik - 1) / (n_i (n_i - 1));
    the result is the mean of P_i over the units with n_i >= 2 (J. L. Fleiss, "Measuring nominal scale
    agreement among many raters", Psychological Bulletin 76(5), 1971, formula 2). With two raters this is
    the plain share of units on which both agree. Agreement by chance is not taken off.

    Args:
        units: The values of each unit, one a rater; None for no value. Any number of units.

    Returns:
        The observed agreement, from 0 to 1.
    """
    shares: list[float] = []
    dropped = total = 0
    for unit in units:
        counts = Counter(value for value in unit if value is not None)
        number = counts.total()
        if number < 2:
            dropped += 1
            continue
        agreeing = sum(count * (count - 1) for count in counts.values())
        shares.append(agreeing / (number * (number - 1)))
        total += number
    if not shares:
        return Agreement(None, 0, dropped, 0, "no unit has two values")
    return Agreement(sum(shares) / len(shares), len(shares), dropped, total)


def cohen_kappa(one: Ratings, other: Ratings) -> Agreement:
    """Compute Cohen's kappa of two raters: (p_o - p_e) / (1 - p_e), observed over chance agreement.

    p_o is the share of units on which both agree, and p_e = sum_k p_1k p_2k, with the share p_rk of the
    value k among those of rater r (J. Cohen, "A coefficient of agreement for nominal scales", Educational
    and Psychological Measurement 20(1), 1960). Not weighted: any two different values disagree alike.

    Args:
        one: A rater's values, n units long; None or NaN for no value.
        other: The other rater's, in the same order of units.

    Returns:
        The coefficient, at most 1.

    Raises:
        ValueError: The raters have different numbers of units.
    """
    return cohen_of_patterns(patterns_of([one, other]))


def cohen_of_patterns(patterns: Patterns, weights: Weights = "identity") -> Agreement:
    """Compute Cohen's kappa of two raters of patterns, for whom near values may agree in part.

    With weights it is (sum_kl w_kl p_kl - sum_kl w_kl p_1k p_2l) / (1 - sum_kl w_kl p_1k p_2l), with those of
    `weights_of` over the values that either of them gave (J. Cohen, "Weighted kappa", Psychological
    Bulletin 70(4), 1968).

    Args:
        patterns: The patterns of the values of two raters.
        weights: Linear, quadratic, or identity for the unweighted coefficient.

    Raises:
        ValueError: The raters of the patterns have no names.
    """
    import numpy

    if patterns.codes is None:
        raise ValueError("raters without names cannot be compared")
    first, second = patterns.codes
    both = (first >= 0) & (second >= 0)
    times = patterns.times[both]
    number = int(times.sum())
    dropped = patterns.units - number
    if not number:
        return Agreement(None, 0, dropped, 0, "no unit has two values")
    there = numpy.unique([first[both], second[both]])
    q = len(there)
    if q == 1:
        return Agreement(None, number, dropped, 2 * number, "all values are equal")
    table = numpy.zeros((q, q), dtype=numpy.int64)
    cells = numpy.searchsorted(there, first[both]), numpy.searchsorted(there, second[both])
    numpy.add.at(table, cells, times)
    if weights == "identity":
        # In whole numbers, n^2 times each, so that nothing is rounded before the division.
        by_chance = int(table.sum(axis=1) @ table.sum(axis=0))
        kappa = (number * int(table.trace()) - by_chance) / (number * number - by_chance)
    else:
        kappa = float(_kappa(patterns.domain[there], table, weights))
    if numpy.isnan(kappa):
        return Agreement(None, number, dropped, 2 * number, "the values are too far apart")
    return Agreement(kappa, number, dropped, 2 * number)


def cohen_statistic(patterns: Patterns) -> Statistic:
    """Return Cohen's kappa of two raters as a function of how often each pattern occurs, for resampling.

    Raises:
        ValueError: The raters of the patterns have no names.
    """
    import numpy

    if patterns.codes is None:
        raise ValueError("raters without names cannot be compared")
    q = len(patterns.domain)
    first, second = patterns.codes
    both = numpy.flatnonzero((first >= 0) & (second >= 0))
    cells = numpy.zeros((len(first), q * q))
    cells[both, first[both] * q + second[both]] = 1

    def statistic(times: Array) -> Array:
        table = times @ cells
        return _kappa(patterns.domain, table.reshape(*times.shape[:-1], q, q), "identity")

    return statistic


def krippendorff_alpha(ratings: Sequence[Ratings], level: Level = "nominal") -> Agreement:
    """Compute Krippendorff's alpha: 1 - D_o / D_e, observed over expected disagreement.

    D_o = 1/n sum_ck o_ck d(c, k) over the coincidences of values within units, and
    D_e = 1/(n (n - 1)) sum_ck n_c n_k d(c, k), with the distance d of the level of measurement
    (K. Krippendorff, "Content Analysis", chapter 11; CoSQA+, section V, reports it at the nominal level).
    The package `krippendorff` does the sums, of large tables `krippendorff_alpha_of_sums`; units with fewer
    than two values are left out first, as the definition has it. 1 is full agreement, 0 that of chance, below
    0 less than that.

    Args:
        ratings: Each rater's values, n units long and in the same order of units; None or NaN for no value.
        level: The level of measurement, which decides on the distance of two values.

    Returns:
        The coefficient, at most 1.

    Raises:
        ValueError: The raters have different numbers of units.
        WorkbenchError: The package `krippendorff` is not installed.
    """
    return alpha_of_patterns(patterns_of(ratings), level)


def alpha_of_patterns(patterns: Patterns, level: Level) -> Agreement:
    """Compute Krippendorff's alpha of units by their patterns; see `krippendorff_alpha`.

    Raises:
        WorkbenchError: The package `krippendorff` is not installed.
    """
    import numpy

    units, values = patterns.paired, patterns.paired_judgments
    dropped = patterns.units - units
    paired = (patterns.rows.sum(axis=1) >= 2) & (patterns.times > 0)
    varied = patterns.rows[paired].any(axis=0)
    domain = patterns.domain[varied]
    if not units:
        return Agreement(None, 0, dropped, 0, "no unit has two values")
    if len(domain) == 1:
        # Expected disagreement is 0, and 0/0 is neither agreement nor chance.
        return Agreement(None, units, dropped, values, "all values are equal")
    if level == "ratio" and has_both_signs(domain):
        return Agreement(None, units, dropped, values, "ratios of values above and below 0 mean nothing")
    if units * len(domain) ** 2 > MOST_CELLS:
        value = krippendorff_alpha_of_sums(level).of(patterns)
    else:
        value = _by_the_package(
            domain, numpy.repeat(patterns.rows[paired][:, varied], patterns.times[paired], axis=0), level
        )
    if value is None:
        return Agreement(
            None, units, dropped, values, f"the values are too large or too small for {level} distances"
        )
    return Agreement(value, units, dropped, values)


def _by_the_package(domain: Array, rows: Array, level: Level) -> float | None:
    """Return Krippendorff's alpha of the counts of each unit's values; None where numbers overflow."""
    import numpy

    try:
        import krippendorff
    except ImportError as error:
        raise WorkbenchError(
            "Package missing",
            "Krippendorff's alpha is computed by the package krippendorff, which is not installed.",
            "Install it: pip install krippendorff",
        ) from error
    with numpy.errstate(over="ignore", divide="ignore", invalid="ignore"):
        alpha = krippendorff.alpha(value_counts=rows, value_domain=domain, level_of_measurement=level)
    return float(alpha) if numpy.isfinite(alpha) else None


def patterns_of(ratings: Sequence[Ratings]) -> Patterns:
    """Return the patterns of each rater's values, n units long; None or NaN for no value.

    Raises:
        ValueError: The raters have different numbers of units.
    """
    return Patterns.of_ratings(_matrix(ratings))


def _matrix(ratings: Sequence[Ratings]) -> numpy.ndarray[Any, Any]:
    """Return ratings as floats of shape (raters, units), NaN for no value."""
    import numpy

    if len({len(row) for row in ratings}) > 1:
        raise ValueError("Each rater has a value or None for each unit; one row is shorter than another.")
    return numpy.array([*ratings], dtype=float).reshape(len(ratings), -1) if ratings else numpy.empty((0, 0))


def _kappa(domain: Array, table: Array, weights: Weights) -> Array:
    """Return Cohen's kappa of tables of (..., q, q) counts, NaN where it is not defined."""
    import numpy

    weight = weights_of(domain, weights)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        shares = table / table.sum(axis=(-2, -1), keepdims=True)
        observed = (weight * shares).sum(axis=(-2, -1))
        expected = numpy.einsum("...k,kl,...l->...", shares.sum(axis=-1), weight, shares.sum(axis=-2))
        kappa = (observed - expected) / (1 - expected)
    return numpy.where(numpy.isfinite(kappa), kappa, numpy.nan)
