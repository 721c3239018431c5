"""Measures of agreement, against values worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.measures.agreement import krippendorff_alpha, majority, raw_agreement


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 1, 0], 1),
        ([0, 1, 0], 0),
        ([1, 0], None),
        ([1, None, 0, 1], 1),
        ([None, 1], 1),
        ([1, 1, 2, 2, 3], None),
        ([None, None], None),
        ([], None),
    ],
)
def test_a_majority_needs_more_than_any_other_value(values, expected):
    assert majority(values) == expected


def test_raw_agreement_of_two_raters_is_the_share_of_units_they_agree_on():
    result = raw_agreement([(1, 1), (0, 0), (1, 0), (0, 1), (1, 1)])
    assert result.value == pytest.approx(3 / 5)
    assert (result.units, result.dropped, result.values) == (5, 0, 10)


def test_raw_agreement_of_several_raters_counts_pairs_within_a_unit():
    # Three equal values: 1. Two of three: 1 of 3 pairs. Four raters two and two: 2 of 6 pairs.
    result = raw_agreement([(1, 1, 1), (1, 1, 0), (1, 0, 0, 1)])
    assert result.value == pytest.approx((1 + 1 / 3 + 1 / 3) / 3)
    assert result.values == 10


def test_raw_agreement_says_what_it_left_out():
    result = raw_agreement([(1, None), (None, None), (), (0, 0)])
    assert (result.value, result.units, result.dropped) == (1.0, 1, 3)
    nothing = raw_agreement([(1,)])
    assert nothing.value is None
    assert nothing.why_none == "no unit has two values"


def test_alpha_of_a_worked_example():
    # Krippendorff's own two-observer binary layout, ten units: o_01 + o_10 = 8, n_0 = 14, n_1 = 6, n = 20:
    # alpha = 1 - (n - 1) * 4 / (n_0 n_1) = 1 - 19 * 4 / 84 = 0.0952...
    first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    result = krippendorff_alpha({"a": first, "b": second})
    assert result.value == pytest.approx(1 - 19 * 4 / 84)
    assert (result.units, result.dropped, result.values) == (10, 0, 20)


def test_alpha_leaves_out_units_with_one_value():
    # A value 2 that nobody else was asked about must change nothing.
    whole = krippendorff_alpha({"a": [0, 1, 1, 0], "b": [0, 1, 0, 0]}, "interval")
    more = krippendorff_alpha({"a": [0, 1, 1, 0, 2], "b": [0, 1, 0, 0, None]}, "interval")
    assert more.value == whole.value
    assert more.dropped == 1


def test_alpha_is_undefined_when_nothing_varies():
    result = krippendorff_alpha({"a": [1, 1, 0], "b": [1, 1, None]})
    assert result.value is None
    assert result.why_none == "all values are equal"
    assert krippendorff_alpha({"a": [1, None], "b": [None, 0]}).why_none == "no unit has two values"
    assert krippendorff_alpha({}).why_none == "no unit has two values"


def test_alpha_refuses_raters_of_different_length():
    with pytest.raises(ValueError, match="shorter"):
        krippendorff_alpha({"a": [1, 0], "b": [1]})


@given(st.lists(st.tuples(*[st.sampled_from([0, 1, None])] * 3), max_size=20))
def test_full_agreement_is_one_and_no_measure_exceeds_it(units):
    raw = raw_agreement(units)
    alpha = krippendorff_alpha({str(place): [unit[place] for unit in units] for place in range(3)})
    assert raw.units == alpha.units
    assert raw.units + raw.dropped == len(units)
    for result in (raw, alpha):
        assert result.value is None or result.value <= 1 + 1e-12
        assert result.value is None or not math.isnan(result.value)
    if raw.value == 1 and alpha.value is not None:
        assert alpha.value == pytest.approx(1)
