"""Ratings by Bradley and Terry's model, with intervals and ranks.

R. A. Bradley and M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39, 1952: candidate i
beats j with probability 1 / (1 + exp(s_j - s_i)). A tie is half a win of each, as in FastChat. Ratings are
1000 + 400 / ln 10 * s, with a mean of 1000 over candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.measures.battles import MOST_CANDIDATES, Battles
from store.measures.intervals import COVERED, LEAST_CLUSTERS

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

SCALE = 400 / math.log(10)
"""Points of a rating for one unit of log strength."""
CENTRE = 1000.0
"""The mean rating."""
_STEPS = 100
_TOLERANCE = 1e-10
_CELLS = 4_000_000
_TOO_MANY = f"there are {{:,}} candidates, and ratings are fitted for up to {MOST_CANDIDATES:,}"


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings of candidates.

    Attributes:
        values: Of each candidate in order; None for all where the likelihood has no maximum.
        why: Why there is none; empty where there is one.
        low: The lower ends of the intervals; None without one.
        high: The upper ends.
        ranks: The ranks: one more than the candidates that are certainly better.
        resamples: How many resamples the intervals rest on, those without a maximum left out; None for
            intervals that are not of a bootstrap.
    """

    values: tuple[float | None, ...]
    why: str = ""
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    ranks: tuple[int | None, ...] = ()
    resamples: int | None = None


def why_no_maximum(wins: Array, candidates: Sequence[str]) -> str:
    """Return why the likelihood has no maximum; empty where it has one.

    There is one only if every candidate beats every other along some chain of wins or ties (L. R. Ford,
    "Solution of a ranking problem from binary comparisons", American Mathematical Monthly 64(8), 1957).

    Args:
        wins: How often each beats each other one, ties as half, of shape (c, c).
        candidates: Their names.
    """
    from scipy.sparse.csgraph import connected_components

    if len(candidates) < 2:
        return "there are fewer than two candidates"
    met, _ = connected_components(wins > 0, directed=False)
    if met > 1:
        return f"the candidates fall into {met} groups that never meet"
    strong, group = connected_components(wins > 0, directed=True, connection="strong")
    if strong == 1:
        return ""
    # A group that never loses to the others, or never wins.
    for number in range(strong):
        inside = group == number
        names = [name for name, there in zip(candidates, inside, strict=True) if there]
        if not wins[~inside][:, inside].any():
            return f"{_some(names)} never {'lost' if len(names) == 1 else 'lost to the others'}"
    return "the wins and losses do not connect all candidates"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def log_strengths(wins: Array, prior: float = 0.0) -> Array:
    """Return the log strengths of maximum likelihood, by Newton's method; their sum is 0.

    Args:
        wins: How often each beats each other one, of shape (m, c, c) for m fits at once. Each must have a
            maximum, or a prior.
        prior: Ties that every two candidates are taken to have had besides, for a regularised fit.

    Returns:
        An array of shape (m, c).
    """
    import numpy

    m, c, _ = wins.shape
    won = wins + prior / 2 * (1 - numpy.eye(c))
    games = won + won.transpose(0, 2, 1)
    total = won.sum(axis=2)
    found = numpy.zeros((m, c))
    active = numpy.arange(m)
    diagonal = numpy.arange(c)
    for _ in range(_STEPS):
        strength = found[active]
        chance = 1 / (1 + numpy.exp(strength[:, None, :] - strength[:, :, None]))
        expected = games[active] * chance
        gradient = total[active] - expected.sum(axis=2)
        curve = expected * (1 - chance)
        # The Laplacian is singular along a shift of all; ones in every cell fix the sum.
        system = 1.0 - curve
        system[:, diagonal, diagonal] = curve.sum(axis=2) + 1.0 - curve[:, diagonal, diagonal]
        step = numpy.linalg.solve(system, gradient[:, :, None])[:, :, 0]
        # A step of more than 2 can overshoot where the fit is far off.
        step *= numpy.minimum(1, 2 / numpy.maximum(numpy.abs(step).max(axis=1), 1e-300))[:, None]
        found[active] = strength + step
        active = active[numpy.abs(step).max(axis=1) > _TOLERANCE]
        if not len(active):
            break
    centred: Array = found - found.mean(axis=1, keepdims=True)
    return centred


def rate(
    battles: Battles,
    *,
    resamples: int = 1000,
    seed: int = 0,
    prior: float = 0.0,
) -> Ratings:
    """Return ratings with percentile bootstrap intervals over prompts, and ranks as FastChat's.

    A candidate's rank is one more than the number of those whose lower end is above its upper end.

    Args:
        battles: The battles.
        resamples: How many resamples are drawn; 0 for no intervals.
        seed: The seed of the draws.
        prior: Ties that every two candidates are taken to have had besides; 0 for maximum likelihood.
    """
    import numpy

    c = len(battles.candidates)
    if c > MOST_CANDIDATES:
        return Ratings((None,) * c, _TOO_MANY.format(c))
    wins = battles.wins()
    why = why_no_maximum(wins, battles.candidates) if not prior else ""
    if why or c < 2:
        return Ratings((None,) * c, why or "there are fewer than two candidates")
    values = _rating(log_strengths(wins[None], prior)[0])
    if not resamples or battles.prompts < LEAST_CLUSTERS:
        return Ratings(tuple(values.tolist()))
    fits = numpy.concatenate(list(_resampled(battles, resamples, seed, prior)))
    if not len(fits):
        return Ratings(tuple(values.tolist()), resamples=0)
    tail = (1 - COVERED) / 2
    low, high = numpy.quantile(_rating(fits), [tail, 1 - tail], axis=0)
    if (low == high).all():
        return Ratings(tuple(values.tolist()), resamples=len(fits))
    return Ratings(
        tuple(values.tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        ranks=_ranks(low, high),
        resamples=len(fits),
    )


def rate_by_sandwich(battles: Battles) -> Ratings:
    """Return ratings with intervals by the sandwich variance, clustered by prompt, and ranks.

    The variance is H^-1 (sum over prompts of g g') H^-1, with the Hessian H and the gradient g of a prompt's
    log likelihood (H. White, "Maximum likelihood estimation of misspecified models", Econometrica 50(1),
    1982), as arena-rank's; with one battle a prompt both clusters agree.
    """
    from statistics import NormalDist

    import numpy

    c = len(battles.candidates)
    if c > MOST_CANDIDATES:
        return Ratings((None,) * c, _TOO_MANY.format(c))
    wins = battles.wins()
    why = why_no_maximum(wins, battles.candidates)
    if why:
        return Ratings((None,) * c, why)
    strength = log_strengths(wins[None])[0]
    chance = 1 / (1 + numpy.exp(strength[battles.second] - strength[battles.first]))
    games = wins + wins.T
    expected = 1 / (1 + numpy.exp(strength[None, :] - strength[:, None]))
    curve = games * expected * (1 - expected)
    hessian = numpy.diag(curve.sum(axis=1)) - curve
    inverse = numpy.linalg.inv(hessian + 1.0 / c) - 1.0 / c
    residual = battles.score - chance
    gradients = numpy.zeros((int(battles.prompt.max()) + 1, c))
    numpy.add.at(gradients, (battles.prompt, battles.first), residual)
    numpy.add.at(gradients, (battles.prompt, battles.second), -residual)
    variance = inverse @ (gradients.T @ gradients) @ inverse
    margin = NormalDist().inv_cdf((1 + COVERED) / 2) * numpy.sqrt(numpy.diag(variance)) * SCALE
    values = _rating(strength)
    low, high = values - margin, values + margin
    return Ratings(tuple(values.tolist()), "", tuple(low.tolist()), tuple(high.tolist()), _ranks(low, high))


def _resampled(battles: Battles, resamples: int, seed: int, prior: float) -> Iterator[Array]:
    """Yield log strengths of resamples of prompts, of shape (some, c), of those that have a maximum."""
    import numpy

    rows, times = battles.by_prompt()
    random = numpy.random.default_rng(seed)
    c = len(battles.candidates)
    at_once = max(1, _CELLS // max(len(times), c * c, 1))
    for start in range(0, resamples, at_once):
        size = min(at_once, resamples - start)
        drawn = random.multinomial(int(times.sum()), times / times.sum(), size=size)
        counts = numpy.asarray((rows.T @ drawn.T.astype(float)).T)
        wins = battles.wins(counts)
        if not prior:
            wins = wins[[not why_no_maximum(one, battles.candidates) for one in wins]]
        if len(wins):
            yield log_strengths(wins, prior)
    yield numpy.empty((0, c))


def _rating(strengths: Array) -> Array:
    return CENTRE + SCALE * strengths


def _ranks(low: Array, high: Array) -> tuple[int | None, ...]:
    return tuple(int((low > upper).sum()) + 1 for upper in high)
