"""Correlation of two raters' scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from store.measures.agreement import Agreement

if TYPE_CHECKING:
    from store.measures.agreement import Ratings

Method = Literal["pearson", "spearman", "kendall"]

LEAST_UNITS = 3
"""Units below which every correlation is 1, -1 or undefined."""


def correlation(one: Ratings, other: Ratings, method: Method) -> Agreement:
    """Compute the correlation of two raters over the units that both scored.

    Pearson's r of the scores; Spearman's rho, which is r of the ranks with ties at their mean; or Kendall's
    tau-b, which corrects for ties (M. G. Kendall, "The treatment of ties in ranking problems", Biometrika
    33(3), 1945). Raters who differ by a constant correlate fully: this is not agreement.

    Args:
        one: A rater's scores, n units long; None or NaN for no score.
        other: The other rater's, in the same order of units.
        method: Which of the three.

    Returns:
        The coefficient, from -1 to 1, of these units; None under 3 units, or where a rater's scores are all
        equal.

    Raises:
        ValueError: The raters have different numbers of units.
    """
    import numpy
    from scipy import stats

    first, second = numpy.asarray(one, dtype=float), numpy.asarray(other, dtype=float)
    if first.shape != second.shape:
        raise ValueError("Each rater has a score or None for each unit; one row is shorter than another.")
    both = ~numpy.isnan(first) & ~numpy.isnan(second)
    first, second = first[both], second[both]
    number, dropped = len(first), int((~both).sum())
    if number < LEAST_UNITS:
        why = f"fewer than {LEAST_UNITS} units have two values"
        return Agreement(None, number, dropped, 2 * number, why)
    if not numpy.ptp(first) or not numpy.ptp(second):
        return Agreement(None, number, dropped, 2 * number, "all values of a rater are equal")
    compute = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[method]
    return Agreement(float(compute(first, second).statistic), number, dropped, 2 * number)
