"""Accuracy of a rater against the truth, and comparison of two raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from store.measures.agreement import cohen_of_patterns, cohen_statistic
from store.measures.coefficients import Patterns, Statistic
from store.measures.intervals import COVERED, Bootstrap, Interval, of_proportion, wilson
from store.measures.rating_table import RatingTable
from store.measures.significance import holm, mcnemar_exact, sign_flip

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

Average = Literal["binary", "macro", "none"]
"""The labels of precision and recall: the label 1 of two, the mean over all labels, or none (scores)."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The accuracy of a rater against true labels; an undefined figure is None.

    Attributes:
        n: Units with a true label and one of the rater.
        accuracy: The share of these with the same label.
        ci_low: The lower end of its interval: Wilson's where each unit is a cluster of its own, otherwise a
            percentile bootstrap over clusters.
        ci_high: The upper end.
        precision: Of the units that the rater calls a match, the share that are one.
        recall: Of the units that are a match, the share that the rater calls one.
        f1: The harmonic mean of both. Of more than two labels, the three are means over `classes`.
        kappa: Cohen's kappa of the rater and the truth.
        coverage: n / given; None where no list says what the rater was given.
        given: Units with a true label that the rater was given, with those that were not decided; without a
            list those labelled.
        accuracy_undecided_wrong: The accuracy where "cannot decide" counts as wrong: right labels / given;
            None without a list.
        intervals: The intervals of these figures, by name.
        classes: The labels that precision, recall and F1 are means over: those of the truth or the rater on
            these units. One that is in one of them alone counts as 0 where it has no share.
    """

    n: int
    accuracy: float | None
    ci_low: float | None
    ci_high: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    kappa: float | None
    coverage: float | None
    given: int
    accuracy_undecided_wrong: float | None
    intervals: Mapping[str, Interval]
    classes: tuple[float, ...] = ()


def accuracy(
    truth: Array,
    values: Array,
    *,
    given: Array | None,
    clusters: Array,
    average: Average = "binary",
    bootstrap: Bootstrap | None = None,
) -> Accuracy:
    """Compute the accuracy of a rater against the truth.

    Args:
        truth: The true labels of n units; NaN for none.
        values: The rater's, in the same order of units.
        given: Whether the rater was given each unit, decided or not, of shape (n,); None where no list says.
        clusters: The cluster of each unit, such as its query: whole numbers from 0, of shape (n,).
        average: The labels that precision, recall and F1 are computed for.
        bootstrap: How intervals are drawn; None for no intervals.
    """
    import numpy

    known = ~numpy.isnan(truth)
    labelled = known & ~numpy.isnan(values)
    patterns = Patterns.of_ratings([truth[labelled], values[labelled]])
    table = RatingTable("wide", ("truth", "rater"), patterns, (), clusters[labelled])
    figures = _figures(patterns, average)
    found = {name: _value(each, patterns) for name, each in figures.items()}
    intervals: dict[str, Interval] = {}
    n = int(labelled.sum())
    if bootstrap is not None and bootstrap.resamples and n:
        intervals = dict(zip(figures, bootstrap.intervals(table, [*figures.values()]), strict=True))
        intervals["accuracy"] = of_proportion(intervals["accuracy"], found["accuracy"])
        single = len(numpy.unique(clusters[labelled])) == n
        if single or bootstrap.by_unit:
            right = int((truth[labelled] == values[labelled]).sum())
            low, high = wilson(right, n)
            intervals["accuracy"] = Interval(low, high, COVERED, n, 0, 0)
    all_given = n if given is None else int((known & (given | labelled)).sum())
    has_list = given is not None and all_given > 0
    right = int((truth[labelled] == values[labelled]).sum())
    ends = intervals.get("accuracy")
    return Accuracy(
        n=n,
        accuracy=found["accuracy"],
        ci_low=ends.low if ends else None,
        ci_high=ends.high if ends else None,
        precision=found.get("precision"),
        recall=found.get("recall"),
        f1=found.get("f1"),
        kappa=cohen_of_patterns(patterns).value,
        coverage=n / all_given if has_list else None,
        given=all_given,
        accuracy_undecided_wrong=right / all_given if has_list else None,
        intervals=intervals,
        classes=tuple(patterns.domain.tolist()) if average == "macro" else (),
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two raters on the units that both labelled.

    Attributes:
        raters: Their names.
        n: Units with a true label and one of both.
        only_first: Units that only the first one has right.
        only_second: Units that only the second one has right.
        difference: The accuracy of the first less that of the second; None without units.
        ci_low: The lower end of the interval of the difference.
        ci_high: The upper end.
        test: `McNemar` (exact) where each unit is a cluster of its own, otherwise `sign-flip` over clusters.
        p_value: Its two-sided p-value; None without units.
        adjusted: The p-value after Holm's correction over all comparisons.
    """

    raters: tuple[str, str]
    n: int
    only_first: int
    only_second: int
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    test: Literal["McNemar", "sign-flip"]
    p_value: float | None
    adjusted: float | None = None


def compare(
    names: tuple[str, str],
    truth: Array,
    first: Array,
    second: Array,
    *,
    clusters: Array,
    bootstrap: Bootstrap,
) -> Comparison:
    """Compare the accuracy of two raters on the units that both labelled.

    Args:
        names: Their names.
        truth: The true labels of n units; NaN for none.
        first: One rater's values, in the same order of units.
        second: The other's.
        clusters: The cluster of each unit: whole numbers from 0, of shape (n,).
        bootstrap: How the interval is drawn, and the seed of the sign flips.
    """
    import numpy

    both = ~numpy.isnan(truth) & ~numpy.isnan(first) & ~numpy.isnan(second)
    one = (first == truth)[both]
    other = (second == truth)[both]
    _, cluster_of = numpy.unique(clusters[both], return_inverse=True)
    n, only_first, only_second = int(both.sum()), int((one & ~other).sum()), int((other & ~one).sum())
    single = n == (int(cluster_of.max()) + 1 if n else 0)
    p_value = low = high = None
    if n:
        change = one.astype(float) - other.astype(float)
        p_value = (
            mcnemar_exact(only_first, only_second)
            if single
            else sign_flip(numpy.bincount(cluster_of, weights=change), seed=bootstrap.seed).p_value
        )
        patterns = Patterns.of_ratings([change])
        table = RatingTable("wide", ("difference",), patterns, (), cluster_of)
        gain = patterns.rows @ patterns.domain
        if bootstrap.resamples:
            (interval,) = bootstrap.intervals(table, [lambda times: times @ gain / times.sum(axis=-1)])
            low, high = interval.low, interval.high
    return Comparison(
        names,
        n,
        only_first,
        only_second,
        (only_first - only_second) / n if n else None,
        low,
        high,
        "McNemar" if single else "sign-flip",
        p_value,
    )


def holm_adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons with Holm's correction over all of them that have a p-value."""
    tested = [each for each in comparisons if each.p_value is not None]
    adjusted = iter(holm([each.p_value for each in tested if each.p_value is not None]))
    return [each if each.p_value is None else replace(each, adjusted=next(adjusted)) for each in comparisons]


def _figures(patterns: Patterns, average: Average) -> dict[str, Statistic]:
    """Return the figures of the truth and a rater, as functions of how often each pattern occurs."""
    import numpy

    assert patterns.codes is not None
    true, said = patterns.codes
    q = len(patterns.domain)
    right = (true == said).astype(float)

    def ratio(above: Array, below: Array) -> Array:
        with numpy.errstate(divide="ignore", invalid="ignore"):
            found = above / below
        return numpy.where(below > 0, found, numpy.nan)

    figures: dict[str, Statistic] = {"accuracy": lambda times: ratio(times @ right, times.sum(axis=-1))}
    if average == "none" or not q:
        return figures
    # Which patterns are a hit, a claim and a case of each label, of shape (p, q).
    labels = list(range(q))
    if average == "binary":
        labels = [place for place in range(q) if patterns.domain[place] == 1]
    case = numpy.array([true == label for label in labels], dtype=float).reshape(-1, len(true)).T
    claim = numpy.array([said == label for label in labels], dtype=float).reshape(-1, len(true)).T
    hit = case * claim

    def mean(above: Array, below: Array) -> Statistic:
        def statistic(times: Array) -> Array:
            each = ratio(times @ above, times @ below)
            if not each.shape[-1]:
                return numpy.full(each.shape[:-1], numpy.nan)
            if average != "macro":
                return numpy.asarray(each.mean(axis=-1))
            # The same labels in all three: one that the rater never gives has a precision of 0.
            there = times @ (claim + case) > 0
            shares = numpy.where(there, numpy.nan_to_num(each), 0.0).sum(axis=-1)
            return ratio(shares, there.sum(axis=-1))

        return statistic

    figures["precision"] = mean(hit, claim)
    figures["recall"] = mean(hit, case)
    figures["f1"] = mean(2 * hit, claim + case)
    if q > 1:
        figures["kappa"] = cohen_statistic(patterns)
    return figures


def _value(statistic: Statistic, patterns: Patterns) -> float | None:
    import numpy

    if not patterns.units:
        return None
    found = float(statistic(patterns.times.astype(float)))
    return None if numpy.isnan(found) else found
