"""Tests of the difference of two methods on the same items, and the correction for several tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

MOST_ENUMERATED = 16
"""Clusters whose signs are all tried: 65,536 ways."""
_CELLS = 1_000_000
"""Numbers that are drawn at once."""


@dataclass(frozen=True, slots=True)
class SignFlip:
    """The result of a sign-flip test.

    Attributes:
        p_value: The two-sided p-value.
        clusters: All clusters.
        differing: Clusters whose difference is not 0, which alone decide.
        exact: Whether every way to flip signs was tried.
        permutations: The ways that were tried.
    """

    p_value: float
    clusters: int
    differing: int
    exact: bool
    permutations: int


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Return the two-sided p-value of McNemar's exact test of two methods on the same independent items.

    Where both are equally good, an item that only one of them gets right is as likely to be one's as the
    other's (Q. McNemar, "Note on the sampling error of the difference between correlated proportions",
    Psychometrika 12(2), 1947; exact by the binomial distribution). For items that depend on each other, see
    `sign_flip`. It is about items like these, with the raters who made the truth fixed.

    Args:
        only_first: Items that only the first method gets right.
        only_second: Items that only the second one gets right.

    Raises:
        ValueError: A count is negative.
    """
    from scipy.stats import binomtest

    if only_first < 0 or only_second < 0:
        raise ValueError("counts of items are not negative")
    number = only_first + only_second
    return float(binomtest(only_first, number).pvalue) if number else 1.0


def sign_flip(
    differences_per_cluster: Sequence[float] | Array, *, permutations: int = 10_000, seed: int = 0
) -> SignFlip:
    """Test whether two methods differ, by flipping the sign of each cluster's sum of differences.

    Where both are equally good, each query's difference could as well have the other sign, however much its
    items depend on each other (R. A. Fisher, "The Design of Experiments", 1935, section 21; E. J. G. Pitman,
    1937). The statistic is the absolute sum over clusters. Of up to 16 clusters that differ, every way is
    tried; otherwise a random sample of ways, and the p-value is (hits + 1) / (permutations + 1) (B. Phipson
    and G. K. Smyth, "Permutation P-values Should Never Be Zero", 2010). It is about queries like these.

    Args:
        differences_per_cluster: The sum of the differences over the items of each cluster, of shape
            (clusters,).
        permutations: The size of the random sample, at least 1.
        seed: The seed of the random sample.

    Raises:
        ValueError: A difference is not a finite number, or there is no permutation to try.
    """
    import numpy

    given = numpy.asarray(differences_per_cluster, dtype=float).reshape(-1)
    if not numpy.isfinite(given).all():
        raise ValueError("a difference is missing or not finite")
    if permutations < 1:
        raise ValueError("the test needs at least one permutation")
    sizes = abs(given[given != 0])
    number = len(sizes)
    # Sums of the same numbers in another order differ by rounding, and are equal all the same.
    least = abs(given.sum()) - 1e-9 * sizes.sum()
    if number <= MOST_ENUMERATED:
        signs = (numpy.arange(2**number)[:, None] >> numpy.arange(number) & 1) * 2 - 1
        share = float((abs(signs @ sizes) >= least).mean())
        return SignFlip(share, len(given), number, exact=True, permutations=2**number)
    random = numpy.random.default_rng(seed)
    hits = 0
    at_once = max(1, _CELLS // number)
    for start in range(0, permutations, at_once):
        drawn = (min(at_once, permutations - start), -(-number // 8))
        bits = numpy.unpackbits(random.integers(0, 256, drawn, dtype=numpy.uint8), axis=1, count=number)
        hits += int((abs(2 * (bits.astype(float) @ sizes) - sizes.sum()) >= least).sum())
    p_value = (hits + 1) / (permutations + 1)
    return SignFlip(p_value, len(given), number, exact=False, permutations=permutations)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number, in the given order: S. Holm's step-down method (1979).

    An adjusted value of at most alpha is significant with a chance of at most alpha that any of the family is
    so wrongly, however the tests depend on each other ("A simple sequentially rejective multiple test
    procedure", Scandinavian Journal of Statistics 6(2)).

    Raises:
        ValueError: One is not between 0 and 1.
    """
    if not all(0 <= each <= 1 for each in p_values):
        raise ValueError("p-values are between 0 and 1")
    adjusted = [0.0] * len(p_values)
    most = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        most = max(most, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = most
    return adjusted


def benjamini_yekutieli(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for the rate of false discoveries among tests that may depend on each other.

    The k-th smallest of m is multiplied by m (1 + 1/2 + ... + 1/m) / k, and no adjusted value is above that
    of a larger p-value, or above 1 (Y. Benjamini and D. Yekutieli, Annals of Statistics 29(4), 2001).

    Args:
        p_values: The p-values, each from 0 to 1.

    Returns:
        The adjusted ones, in the given order.
    """
    number = len(p_values)
    factor = number * sum(1 / rank for rank in range(1, number + 1))
    adjusted, least = [0.0] * number, 1.0
    for rank, place in sorted(enumerate(sorted(range(number), key=p_values.__getitem__), 1), reverse=True):
        least = min(least, p_values[place] * factor / rank)
        adjusted[place] = least
    return adjusted
