"""Prevalence of matches and accuracy of agents over all labelled pairs, from an expert-labelled sample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.errors import WorkbenchError
from store.measures.intervals import COVERED

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


_UNSEEN = 0.5
"""Units of each kind that a stratum's effective size reckons with beyond those sampled: Jeffreys' prior."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """A part of all labelled pairs, from which units were drawn at random.

    Attributes:
        name: Its name, for messages.
        units: All its units.
        agent_matches: Those that the agent calls a match.
    """

    name: str
    units: int
    agent_matches: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated share of all units.

    Attributes:
        value: The share; None where it is not defined.
        standard_error: Its standard error over samples.
        low: The lower end of its interval.
        high: The upper end.
        why_none: Why there is none; empty where there is one.
    """

    value: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    why_none: str = ""


@dataclass(frozen=True, slots=True)
class SampleEstimates:
    """Estimates for all units of the strata.

    Attributes:
        units: All units.
        sampled: Units that an expert labelled.
        agent_prevalence: The share of matches by the agent's labels, which is known.
        prevalence: The share of matches by the experts', from the sample alone (Horvitz-Thompson).
        prevalence_with_agent: The same, from the agent's labels of all units and its errors in the sample
            (prediction-powered).
        accuracy: The share of the agent's labels that are the experts'.
        precision: The share of the agent's matches that are the experts'.
        recall: The share of the experts' matches that are the agent's.
        share: The share of samples that the intervals cover.
    """

    units: int
    sampled: int
    agent_prevalence: float
    prevalence: Estimate
    prevalence_with_agent: Estimate
    accuracy: Estimate
    precision: Estimate
    recall: Estimate
    share: float


def sample_estimates(
    strata: Sequence[Stratum],
    stratum: Sequence[int] | Array,
    agent: Sequence[bool] | Array,
    expert: Sequence[bool] | Array,
) -> SampleEstimates:
    """Estimate prevalence, accuracy, precision and recall over all units from a stratified random sample.

    A sampled unit stands for N_h / n_h units of its stratum (D. G. Horvitz and D. J. Thompson, 1952);
    precision and recall are combined ratios of such totals, with the variance of the linearised ratio and the
    finite population correction, so that a stratum sampled in full adds none (W. G. Cochran, "Sampling
    Techniques", 3rd edition, 1977, sections 5.4 and 6.11). Intervals are Wilson's with the quantile of t and
    an effective sample size (N. Dean and M. Pagano, Journal of Survey Statistics and Methodology 3(4), 2015).
    That size is p (1 - p) / variance of the sample with half a unit more of each kind that a stratum can
    have: a stratum without an error in the sample is not taken to have none at all.

    The prediction-powered prevalence is the agent's over all units plus the mean of expert less agent in the
    sample, by stratum (A. N. Angelopoulos et al., "Prediction-powered inference", Science 382, 2023; A. Fisch
    et al., "Stratified Prediction-Powered Inference", NeurIPS 2024). Its interval joins those of the shares
    of missed and of wrong matches (G. Y. Zou and A. Donner, Statistics in Medicine 27, 2008). It is narrower
    than that of the sample alone where the agent is good; where strata are the agent's labels, both are
    one number.

    The intervals cover the choice of the sample from these units, with the experts' labels taken as true.
    Units of one query may depend on each other, since it is the draw that is random.

    Args:
        strata: The strata, with all of their units.
        stratum: The place of each sampled unit's stratum, of shape (n,).
        agent: Whether the agent calls each sampled unit a match, of shape (n,).
        expert: Whether the expert does, of shape (n,).

    Raises:
        ValueError: The arrays are of different lengths, or hold other places and values.
        WorkbenchError: The sample cannot stand for all units: see the message.
    """
    import numpy

    place, says, truth = numpy.asarray(stratum), numpy.asarray(agent), numpy.asarray(expert)
    if not place.shape == says.shape == truth.shape or place.ndim != 1:
        raise ValueError("stratum, agent and expert have one value for each sampled unit")
    if not (numpy.isin(place, range(len(strata))).all() and numpy.isin([says, truth], (0, 1)).all()):
        raise ValueError("strata are places among the strata, and labels are 0 or 1")
    place, says, truth = place.astype(int), says.astype(float), truth.astype(float)
    sizes = numpy.array([each.units for each in strata], dtype=float)
    sampled = numpy.bincount(place, minlength=len(strata))
    found = numpy.bincount(place, weights=says, minlength=len(strata))
    for each, number, matches in zip(strata, sampled.tolist(), found.tolist(), strict=True):
        _check(each, number, int(matches))
    if not len(place):
        raise WorkbenchError("No sample", "No unit was sampled.", "Let an expert label a random sample.")

    matches = numpy.array([each.agent_matches for each in strata], dtype=float)
    sample = _Sample(place, sizes, sampled)
    one, known = numpy.ones(len(place)), float(matches.sum() / sizes.sum())
    some, rest, any_ = matches > 0, matches < sizes, sizes > 0
    missed = sample.ratio(truth * (1 - says), one, rest, any_)
    wrong = sample.ratio((1 - truth) * says, one, some, any_)
    return SampleEstimates(
        units=int(sizes.sum()),
        sampled=len(place),
        agent_prevalence=known,
        prevalence=sample.ratio(truth, one, any_, any_),
        prevalence_with_agent=sample.shifted(known, missed, wrong, truth - says),
        accuracy=sample.ratio((truth == says) * 1.0, one, any_, any_),
        precision=sample.ratio(truth * says, says, some, some, "the agent calls no sampled unit a match"),
        recall=sample.ratio(truth * says, truth, some, rest, "the experts call no sampled unit a match"),
        share=COVERED,
    )


class _Sample:
    """A stratified sample: the stratum of each unit, and each stratum's size in all and in the sample."""

    def __init__(self, place: Array, sizes: Array, sampled: Array) -> None:
        from scipy.stats import t

        self._place, self._sizes, self._sampled = place, sizes, sampled
        self._partly = sampled < sizes
        freedom = int((sampled - 1)[self._partly].sum())
        self._quantile = float(t.ppf((1 + COVERED) / 2, freedom)) if freedom else 0.0

    def ratio(self, top: Array, bottom: Array, hits: Array, misses: Array, why_none: str = "") -> Estimate:
        """Estimate sum(top) / sum(bottom) over all units, a share, from their values in the sample.

        Args:
            top: 1 for a hit, of shape (n,).
            bottom: 1 for a hit or a miss, of shape (n,).
            hits: The strata that can have hits, of shape (strata,).
            misses: Those that can have misses, of shape (strata,).
            why_none: Why there is no estimate without any of both.
        """
        import numpy

        if not bottom.any():
            return Estimate(None, None, None, None, why_none)
        value, variance = self._ratio(self._place, numpy.ones(len(top)), top, bottom)
        hit, miss = (numpy.flatnonzero(strata & self._partly) for strata in (hits, misses))
        number = len(hit) + len(miss)
        share, cautious = self._ratio(
            numpy.concatenate([self._place, hit, miss]),
            numpy.concatenate([numpy.ones(len(top)), numpy.full(number, _UNSEEN)]),
            numpy.concatenate([top, numpy.ones(len(hit)), numpy.zeros(len(miss))]),
            numpy.concatenate([bottom, numpy.ones(number)]),
        )
        if not cautious:
            # Nothing that could change it is unknown.
            return Estimate(value, 0.0, value, value)
        size, z = share * (1 - share) / cautious, self._quantile
        middle = (value * size + z * z / 2) / (size + z * z)
        half = z / (size + z * z) * math.sqrt(value * (1 - value) * size + z * z / 4)
        low, high = max(0.0, min(value, middle - half)), min(1.0, max(value, middle + half))
        return Estimate(value, math.sqrt(variance), low, high)

    def shifted(self, known: float, missed: Estimate, wrong: Estimate, difference: Array) -> Estimate:
        """Estimate a known share plus that of missed units less that of wrong ones, by their differences."""
        import numpy

        one = numpy.ones(len(difference))
        apart = self._ratio(self._place, one, difference, one)[1]
        errors = (missed.standard_error or 0.0) * (wrong.standard_error or 0.0)
        # No unit is both, so that both shares of a sample are correlated, from -1 to 0.
        together = ((missed.standard_error or 0.0) ** 2 + (wrong.standard_error or 0.0) ** 2 - apart) / 2
        together = min(0.0, max(-1.0, together / errors)) if errors else 0.0

        def joined(one: float, other: float) -> float:
            return math.sqrt(one * one + other * other - 2 * together * one * other)

        a, b = missed.value or 0.0, wrong.value or 0.0
        value = known + a - b
        low = value - joined(a - (missed.low or 0.0), (wrong.high or 0.0) - b)
        high = value + joined((missed.high or 0.0) - a, b - (wrong.low or 0.0))
        return Estimate(value, math.sqrt(apart), max(0.0, low), min(1.0, high))

    def _ratio(self, place: Array, times: Array, top: Array, bottom: Array) -> tuple[float, float]:
        """Return the combined ratio and its variance, of units that are there so many times each."""
        import numpy

        def total(values: Array) -> Array:
            return numpy.bincount(place, weights=times * values, minlength=len(self._sizes))

        number = numpy.maximum(total(numpy.ones(len(place))), 1)
        weight = self._sizes / number
        all_ = weight @ total(bottom)
        value = weight @ total(top) / all_
        rest = (top - value * bottom) / all_
        squares = total((rest - (total(rest) / number)[place]) ** 2) / numpy.maximum(number - 1, 1)
        return float(value), float((weight * (self._sizes - self._sampled) * squares).sum())


def _check(stratum: Stratum, sampled: int, matches: int) -> None:
    """Refuse a stratum that its sample cannot stand for.

    Raises:
        WorkbenchError: Its sample is too small, or is not one of it.
    """
    if not 0 <= stratum.agent_matches <= stratum.units:
        problem, hint = f"has {stratum.agent_matches:,} matches of agents", "Count its units again."
    elif sampled > stratum.units or matches > stratum.agent_matches:
        problem = f"has a sample of {sampled:,}, with {matches:,} matches of agents"
        hint = "Count its units again."
    elif stratum.units and not sampled:
        problem, hint = "has no sampled unit", "Sample it, or leave it out and report on the others."
    elif sampled == 1 < stratum.units:
        problem, hint = "has one sampled unit", "Sample two or more, or join it with another stratum."
    else:
        return
    raise WorkbenchError(
        "Not a sample of every stratum", f"{stratum.name} of {stratum.units:,} units {problem}.", hint
    )
