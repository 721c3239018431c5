"""Measures of agreement, against values worked out by hand."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging import Desk, judged_workspace

from store.analysis.agreement import agreement
from store.errors import WorkbenchError
from store.measures.agreement import cohen_kappa, krippendorff_alpha, majority, patterns_of, raw_agreement
from store.measures.rating_table import RatingTable
from store.measures.registry import COHEN, REPORT_FIELDS, Measure, measures
from store.measures.table_agreement import table_agreement


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


def kappa_of(units):
    return cohen_kappa([one for one, _ in units], [other for _, other in units])


def table(*rows):
    """The units of a contingency table: rows are the first rater's values, columns the second's."""
    return [
        (float(one), float(other))
        for one, row in enumerate(rows)
        for other, count in enumerate(row)
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("rows", "kappa"),
    [
        # p_o = 35/50, p_e = (25 * 30 + 25 * 20) / 50^2 = 1/2
        (((20, 5), (10, 15)), 0.4),
        # p_o = 15/20, p_e = (6 * 7 + 7 * 6 + 7 * 7) / 20^2 = 133/400
        (((5, 1, 0), (2, 4, 1), (0, 1, 6)), 167 / 267),
        (((3, 0), (0, 4)), 1.0),
        (((2, 2), (2, 2)), 0.0),
        (((0, 3), (3, 0)), -1.0),
        # One rater gave one value only: no better than chance, whatever the share of agreement.
        (((9, 1), (0, 0)), 0.0),
    ],
)
def test_kappa_of_worked_examples(rows, kappa):
    units = table(*rows)
    result = kappa_of(units)
    assert result.value == pytest.approx(kappa, abs=1e-15)
    assert (result.units, result.dropped, result.values) == (len(units), 0, 2 * len(units))


def test_kappa_says_what_it_left_out_and_why_there_is_none():
    result = kappa_of([(1, 1), (0, 0), (None, 1), (0, None), (None, None)])
    assert (result.value, result.units, result.dropped, result.values) == (1.0, 2, 3, 4)
    assert (kappa_of([(1, 1), (1, 1)]).value, kappa_of([(1, 1)]).why_none) == (
        None,
        "all values are equal",
    )
    assert kappa_of([(1, None)]).why_none == "no unit has two values"
    assert kappa_of([]).units == 0


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 2.0])] * 2), min_size=1, max_size=30))
def test_kappa_is_the_formula_in_shares_and_the_same_for_both_orders(units):
    number = len(units)
    observed = Fraction(sum(one == other for one, other in units), number)
    chance = sum(
        Fraction(sum(one == value for one, _ in units), number)
        * Fraction(sum(other == value for _, other in units), number)
        for value in (0.0, 1.0, 2.0)
    )
    result = kappa_of(units)
    if chance == 1:
        assert result.value is None
    else:
        assert result.value == pytest.approx(float((observed - chance) / (1 - chance)), abs=1e-15)
    assert kappa_of([(other, one) for one, other in units]).value == result.value


def test_alpha_of_a_worked_example():
    # Krippendorff's own two-observer binary layout, ten units: o_01 + o_10 = 8, n_0 = 14, n_1 = 6, n = 20:
    # alpha = 1 - (n - 1) * 4 / (n_0 n_1) = 1 - 19 * 4 / 84 = 0.0952...
    first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    result = krippendorff_alpha([first, second])
    assert result.value == pytest.approx(1 - 19 * 4 / 84)
    assert (result.units, result.dropped, result.values) == (10, 0, 20)


def test_alpha_leaves_out_units_with_one_value():
    # A value 2 that nobody else was asked about must change nothing.
    whole = krippendorff_alpha([[0, 1, 1, 0], [0, 1, 0, 0]], "interval")
    more = krippendorff_alpha([[0, 1, 1, 0, 2], [0, 1, 0, 0, None]], "interval")
    assert more.value == whole.value
    assert more.dropped == 1


def test_alpha_is_undefined_when_nothing_varies():
    result = krippendorff_alpha([[1, 1, 0], [1, 1, None]])
    assert result.value is None
    assert result.why_none == "all values are equal"
    assert krippendorff_alpha([[1, None], [None, 0]]).why_none == "no unit has two values"
    assert krippendorff_alpha([]).why_none == "no unit has two values"


def test_alpha_refuses_raters_of_different_length():
    with pytest.raises(ValueError, match="shorter"):
        krippendorff_alpha([[1, 0], [1]])


@given(st.lists(st.tuples(*[st.sampled_from([0, 1, None])] * 3), max_size=20))
def test_full_agreement_is_one_and_no_measure_exceeds_it(units):
    raw = raw_agreement(units)
    alpha = krippendorff_alpha([[unit[place] for unit in units] for place in range(3)])
    assert raw.units == alpha.units
    assert raw.units + raw.dropped == len(units)
    for result in (raw, alpha):
        assert result.value is None or result.value <= 1 + 1e-12
        assert result.value is None or not math.isnan(result.value)
    if raw.value == 1 and alpha.value is not None:
        assert alpha.value == pytest.approx(1)


@pytest.mark.parametrize("name", ["ci_low", "units", "by_pair", "Gwet AC1", ""])
def test_a_measure_cannot_take_a_field_of_the_report(name):
    with pytest.raises(ValueError, match="field of its own"):
        Measure(name, "taken", True, lambda ratings, _: raw_agreement(zip(*ratings, strict=True)))


def test_two_measures_of_one_name_are_refused(monkeypatch):
    monkeypatch.setattr("store.measures.registry.registered", lambda *_: [COHEN, COHEN])
    measures.cache_clear()
    with pytest.raises(WorkbenchError, match="cohen"):
        measures()
    monkeypatch.undo()
    measures.cache_clear()


def test_the_fields_that_measures_cannot_take_are_those_of_the_report(tmp_path):
    with judged_workspace(tmp_path) as workspace:
        for name in ("dana", "eli"):
            Desk(workspace, name).judge(1)
        with workspace.reading() as connection:
            report = agreement(connection, "pair.match", by_item=True).to_dict()
    (pair,) = report["by_pair"]
    own = {measure.name for measure in measures()}
    assert report.keys() | pair.keys() | {"report"} == REPORT_FIELDS | own


def test_registered_measures_compute_what_the_report_gives(tmp_path):
    ratings = [[1, 0, 1, None, 1], [1, 1, 1, 0, 0], [None, 0, 1, 0, 1]]
    found = {measure.name: measure for measure in measures()}
    table = RatingTable("wide", ("a", "b", "c"), patterns_of(ratings))
    figures = table_agreement(table)
    for name in ("percent", "fleiss", "ac1"):
        assert found[name].compute(ratings, "nominal").value == getattr(figures, name)
    assert found["alpha"].compute(ratings, "nominal").value == figures.alpha["nominal"]
    assert found["cohen"].compute(ratings[:2], "nominal").value == figures.by_pair[0].cohen
    alone = found["ac1"].compute([[1, None], [None, 1]], "nominal")
    assert (alone.value, alone.why_none) == (None, "no unit has two values")
