"""Sample sizes, against enumeration and theory."""

import math

import numpy
import pytest
from numpy.random import default_rng
from scipy.stats import binomtest

from store.measures.intervals import LEAST_CLUSTERS
from store.measures.planning import (
    MOST_ITEMS,
    AccuracyDesign,
    AgreementDesign,
    expected_half_width,
    mcnemar_power,
    mcnemar_sample_size,
    queries_needed,
)


def test_the_power_of_the_planned_study():
    assert round(mcnemar_power(400, 0.1104, 0.0704, 0.05), 4) == 0.4255


def enumerated(n, p10, p01, alpha):
    """The power by every outcome, and the program's own test."""
    power = 0.0
    for first in range(n + 1):
        for second in range(n + 1 - first):
            if first + second and binomtest(first, first + second).pvalue <= alpha:
                ways = math.factorial(n) // (
                    math.factorial(first) * math.factorial(second) * math.factorial(n - first - second)
                )
                power += ways * p10**first * p01**second * (1 - p10 - p01) ** (n - first - second)
    return power


@pytest.mark.parametrize(
    ("n", "p10", "p01", "alpha"),
    [
        (12, 0.5, 0.1, 0.05),
        (15, 0.3, 0.3, 0.2),
        (9, 0.0, 0.7, 0.05),
        (8, 0.6, 0.4, 0.0625),
        (5, 0.9, 0.1, 0.05),
    ],
)
def test_power_is_that_of_every_outcome(n, p10, p01, alpha):
    assert mcnemar_power(n, p10, p01, alpha) == pytest.approx(enumerated(n, p10, p01, alpha), abs=1e-12)
    assert mcnemar_power(n, p01, p10, alpha) == pytest.approx(mcnemar_power(n, p10, p01, alpha), abs=1e-12)


@pytest.mark.parametrize(("power", "p10", "p01"), [(0.8, 0.1104, 0.0704), (0.9, 0.3, 0.05), (0.3, 0.02, 0.0)])
def test_the_sample_size_is_the_first_with_the_power(power, p10, p01):
    n = mcnemar_sample_size(power, p10, p01)
    assert mcnemar_power(n, p10, p01) >= power
    assert all(mcnemar_power(less, p10, p01) < power for less in range(max(1, n - 30), n))


def test_no_power_without_items_and_not_more_than_one_is_asked():
    assert mcnemar_power(0, 0.5, 0.2) == mcnemar_power(5, 0.5, 0.2) == 0
    with pytest.raises(ValueError, match="no difference"):
        mcnemar_sample_size(0.8, 0.1, 0.1)
    with pytest.raises(ValueError, match="20,000 items"):
        mcnemar_sample_size(0.8, 0.0104, 0.0094)
    for shares in ((0.0, 0.0), (0.7, 0.5), (-0.1, 0.5)):
        with pytest.raises(ValueError, match="shares"):
            mcnemar_power(10, *shares)
    with pytest.raises(ValueError, match="alpha"):
        mcnemar_power(10, 0.2, 0.1, 5)
    with pytest.raises(ValueError, match="power"):
        mcnemar_sample_size(80, 0.2, 0.1)


def test_the_interval_of_accuracy_is_as_wide_as_theory_has_it():
    # The variance of a mean of clusters: p (1 - p) (1 + (m - 1) rho) / (n m).
    for design, effect in ((AccuracyDesign(0.8, 10, 0.2), 2.8), (AccuracyDesign(0.8, 10), 1.0)):
        expected = 1.96 * math.sqrt(0.8 * 0.2 * effect / 2000)
        assert expected_half_width(design, 200) == pytest.approx(expected, rel=0.05)


def test_simulated_ratings_have_the_alpha_and_the_correlation():
    design = AgreementDesign(0.6, 3, 0.3, 20, 0.2)
    table = design.draw(4_000, default_rng(0))
    patterns = table.patterns
    assert design.coefficient.of(patterns) == pytest.approx(0.6, abs=0.01)
    ones = patterns.rows[patterns.pattern_of][:, 1]
    assert ones.mean() / 3 == pytest.approx(0.3, abs=0.01)
    assert (numpy.bincount(table.clusters) == 20).all()
    # Right answers, whose correlation within a query can be seen: the variance of the queries' means.
    patterns = AccuracyDesign(0.8, 20, 0.2).draw(4_000, default_rng(0)).patterns
    right = patterns.rows[patterns.pattern_of][:, 1].reshape(-1, 20).mean(axis=1)
    assert right.var() == pytest.approx(0.8 * 0.2 * (1 + 19 * 0.2) / 20, rel=0.05)


def test_dependence_and_few_raters_make_intervals_wider():
    base = AgreementDesign(0.6, 3, 0.3, 10, 0.1)
    width = expected_half_width(base, 60)
    assert expected_half_width(AgreementDesign(0.6, 3, 0.3, 10, 0.4), 60) > 1.2 * width
    assert expected_half_width(AgreementDesign(0.6, 2, 0.3, 10, 0.1), 60) > 1.02 * width
    assert expected_half_width(AgreementDesign(0.6, 3, 0.05, 10, 0.1), 60) > 1.2 * width
    assert expected_half_width(base, 240) == pytest.approx(width / 2, rel=0.05)
    assert expected_half_width(base, 60) == width
    assert expected_half_width(base, 60, seed=9) != width


@pytest.mark.parametrize(
    ("design", "wanted"), [(AgreementDesign(0.7, 3, 0.3, 10, 0.2), 0.06), (AccuracyDesign(0.9, 5, 0.1), 0.04)]
)
def test_queries_needed_are_the_first_that_are_enough(design, wanted):
    options = {"simulations": 60, "seed": 4}
    queries = queries_needed(design, wanted, **options)
    assert expected_half_width(design, queries, **options) <= wanted
    assert expected_half_width(design, round(0.93 * queries), **options) > wanted


def test_many_queries_are_taken_from_the_width_of_500():
    design = AccuracyDesign(0.9, 2, 0.1)
    queries = queries_needed(design, 0.012)
    assert queries > 1000
    assert expected_half_width(design, queries) == pytest.approx(0.012, rel=0.03)


@pytest.mark.parametrize("design", [AgreementDesign(0.7, 3, 0.3, 5, 0.1), AccuracyDesign(0.8, 10, 0.2)])
def test_half_widths_are_those_of_many_resamples(design):
    """The mean of the 95 % ranges of 20,000 resamples of queries in each sample, drawn here one by one."""
    widths = []
    for number in range(50):
        table = design.draw(60, default_rng([0, number]))
        units = numpy.bincount(
            table.clusters * len(table.patterns.times) + table.patterns.pattern_of,
            minlength=60 * len(table.patterns.times),
        ).reshape(60, -1)
        drawn = default_rng(number).multinomial(60, [1 / 60] * 60, size=20_000) @ units
        low, high = numpy.quantile(design.coefficient.statistic(table.patterns)(drawn), [0.025, 0.975])
        widths.append((high - low) / 2)
    assert expected_half_width(design, 60) == pytest.approx(numpy.mean(widths), rel=0.01)


def test_few_queries_are_enough_for_little():
    assert queries_needed(AccuracyDesign(0.9, 50), 0.5) == LEAST_CLUSTERS


def test_samples_without_a_coefficient_are_too_few():
    # One unit a query, of which nearly all have the same value.
    assert expected_half_width(AgreementDesign(0.5, 2, 0.001, 1), 2) == math.inf
    assert queries_needed(AgreementDesign(0.5, 2, 0.02, 1), 0.4, simulations=10) > 50


def test_what_cannot_be_planned():
    with pytest.raises(ValueError, match=f"{MOST_ITEMS:,} queries"):
        queries_needed(AccuracyDesign(0.5, 1), 0.001, simulations=2)
    with pytest.raises(ValueError, match="all answers may be the same"):
        queries_needed(AgreementDesign(0.5, 2, 0.0001, 1), 0.1)
    with pytest.raises(ValueError, match="above 0"):
        queries_needed(AccuracyDesign(0.5, 1), 0)
    with pytest.raises(ValueError, match="two of them"):
        expected_half_width(AccuracyDesign(0.5, 1), 1)
    for wrong in ((1.0, 1, 0.0), (0.5, 0, 0.0), (0.5, 1, 1.0)):
        with pytest.raises(ValueError, match=r"between|or more"):
            AccuracyDesign(*wrong)
    for wrong in ((0.5, 1, 0.5, 1), (0.5, 2, 1.0, 1), (0.0, 2, 0.5, 1)):
        with pytest.raises(ValueError, match="between"):
            AgreementDesign(*wrong)
