"""Correlations of two raters' scores, by hand."""

import math

import pytest

from store.measures.correlation import correlation

# Concordant pairs 4, discordant 1, one tie in the first alone: tau-b is 3 / sqrt(5 * 6).
ONE, OTHER = [1, 2, 2, 4], [10, 20, 30, 25]


@pytest.mark.parametrize(
    ("method", "value"),
    [
        # Deviations -1.25, -.25, -.25, 1.75 and -11.25, -1.25, 8.75, 3.75.
        ("pearson", 18.75 / math.sqrt(4.75 * 218.75)),
        # Ranks 1, 2.5, 2.5, 4 and 1, 2, 4, 3: deviations -1.5, 0, 0, 1.5 and -1.5, -.5, 1.5, .5.
        ("spearman", 3 / math.sqrt(4.5 * 5)),
        ("kendall", 3 / math.sqrt(5 * 6)),
    ],
)
def test_worked_examples(method, value):
    result = correlation(ONE, OTHER, method)
    assert result.value == pytest.approx(value)
    assert (result.units, result.dropped, result.values, result.why_none) == (4, 0, 8, "")
    more = correlation([*ONE, None, 3], [*OTHER, 5, float("nan")], method)
    assert more.value == pytest.approx(value)
    assert (more.units, more.dropped) == (4, 2)


@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall"])
def test_what_has_no_correlation_says_why(method):
    constant = correlation([3, 3, 3, None], [1, 2, 3, 4], method)
    assert (constant.value, constant.units, constant.why_none) == (None, 3, "all values of a rater are equal")
    assert correlation([1, 2, 3], [5, 5, 5], method).value is None
    few = correlation([1, 2, None], [1, 2, 3], method)
    assert (few.value, few.units, few.why_none) == (None, 2, "fewer than 3 units have two values")
    assert correlation([], [], method).units == 0
    with pytest.raises(ValueError, match="shorter"):
        correlation([1, 2, 3], [1, 2], method)
