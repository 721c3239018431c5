"""True values and each rater's errors from ratings without a truth, by the model of Dawid and Skene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.measures.coefficients import Patterns

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]
    Ratings = Sequence[Sequence[float | None]] | Array

_LEAST = 1e-10
"""The least count and share, so that a value never seen is improbable and not impossible."""
_EQUAL = 1e-9
"""Two probabilities this close are a tie."""


@dataclass(frozen=True, slots=True, eq=False)
class DawidSkene:
    """The fitted model of q values, as rated by some raters.

    Attributes:
        domain: The different values in ascending order, of shape (q,).
        posterior: The probability that each value is the true one, of shape (units, q); NaN for a unit
            without a rating.
        labels: The most probable value, of shape (units,); NaN for a unit without a rating, and for a tie.
        confusion: P(given | true) of each rater, of shape (raters, q, q) with the true value before the given
            one; NaN for a rater without a rating.
        shares: The share of each value among the true ones, of shape (q,).
        iterations: Steps of EM that were made.
        converged: Whether the last step gained less than the tolerance.
    """

    domain: Array
    posterior: Array
    labels: Array
    confusion: Array
    shares: Array
    iterations: int
    converged: bool


def dawid_skene(ratings: Ratings, *, iterations: int = 500, tolerance: float = 1e-8) -> DawidSkene:
    """Fit the model by EM, from each unit's shares of values (majority vote) as the first guess.

    Given the true value, raters are taken to err independently of each other. Agents that share a model do
    not, and under three raters errors cannot be separated from the truth. A. P. Dawid and A. M. Skene,
    "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm", Applied Statistics 28(1),
    1979, equations 2.3 to 2.5. Units rated alike are counted once, so that a step takes time with different
    rows of ratings, not with units.

    Args:
        ratings: The values of each rater, of shape (raters, units); None or NaN for none.
        iterations: The most steps, at least 1.
        tolerance: Stop once a step adds less than this to the log-likelihood of a rating (natural logarithm).

    Returns:
        The fitted model: of these units, given these raters. It has no interval.

    Raises:
        ValueError: The ratings are not of shape (raters, units), or there is no step to make.
    """
    import numpy

    given = numpy.asarray(ratings, dtype=float)
    if given.ndim != 2:
        raise ValueError(f"ratings are of shape (raters, units), not {given.shape}")
    if iterations < 1:
        raise ValueError("the model needs at least one iteration")
    raters, units = given.shape
    found = Patterns.of_ratings(given)
    domain, q = found.domain, len(found.domain)
    if not q:
        return DawidSkene(
            domain,
            posterior=numpy.empty((units, 0)),
            labels=numpy.full(units, numpy.nan),
            confusion=numpy.empty((raters, 0, 0)),
            shares=numpy.empty(0),
            iterations=0,
            converged=True,
        )

    assert found.codes is not None
    rated = found.rows.any(axis=1)
    counts, times = found.rows[rated], found.times[rated]
    # A missing value is the place q.
    patterns = numpy.where(found.codes < 0, q, found.codes).T[rated]
    probability = counts / counts.sum(axis=1, keepdims=True)
    number = int(times @ counts.sum(axis=1))
    before = -numpy.inf
    shares, confusion = _maximise(probability, patterns, times, raters)
    step, converged = 0, False
    while step < iterations and not converged:
        step += 1
        probability, likelihood = _expect(shares, confusion, patterns)
        shares, confusion = _maximise(probability, patterns, times, raters)
        now = float(times @ likelihood) / number
        converged = now - before < tolerance
        before = now

    best = numpy.sort(probability, axis=1)
    tied = (best[:, -1] - best[:, -2] < _EQUAL) if q > 1 else numpy.zeros(len(best), dtype=bool)
    label = numpy.where(tied, numpy.nan, domain[probability.argmax(axis=1)])
    posterior, labels = numpy.full(found.rows.shape, numpy.nan), numpy.full(len(found.rows), numpy.nan)
    posterior[rated], labels[rated] = probability, label
    confusion[numpy.isnan(given).all(axis=1)] = numpy.nan
    return DawidSkene(
        domain, posterior[found.pattern_of], labels[found.pattern_of], confusion, shares, step, converged
    )


def _maximise(probability: Array, patterns: Array, times: Array, raters: int) -> tuple[Array, Array]:
    """Return shares (q,) and confusions (raters, q, q), given the probability of each true value."""
    import numpy

    q = probability.shape[1]
    weight = probability * times[:, None]
    counts = numpy.array(
        [
            [numpy.bincount(patterns[:, rater], weight[:, true], minlength=q + 1)[:q] for true in range(q)]
            for rater in range(raters)
        ]
    )
    counts = numpy.maximum(counts, _LEAST)
    return weight.sum(axis=0) / times.sum(), counts / counts.sum(axis=2, keepdims=True)


def _expect(shares: Array, confusion: Array, patterns: Array) -> tuple[Array, Array]:
    """Return the probability of each true value (rows, q), and each row's log-likelihood."""
    import numpy

    logarithm = numpy.tile(numpy.log(numpy.maximum(shares, _LEAST)), (len(patterns), 1))
    for rater, given in enumerate(patterns.T):
        # A missing value is the place q, and says nothing.
        table = numpy.pad(numpy.log(confusion[rater].T), ((0, 1), (0, 0)))
        logarithm += table[given]
    most = logarithm.max(axis=1, keepdims=True)
    likelihood = numpy.exp(logarithm - most)
    total = likelihood.sum(axis=1, keepdims=True)
    return likelihood / total, (most + numpy.log(total))[:, 0]
