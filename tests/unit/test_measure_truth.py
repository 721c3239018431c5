"""Truth policies and accuracy, against values worked out by hand."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from store.measures.accuracy import accuracy, compare, holm_adjusted
from store.measures.agreement import majority
from store.measures.intervals import Bootstrap, wilson
from store.measures.truth import truth

NONE = numpy.nan


def panel(*rows):
    return [numpy.array([NONE if value is None else value for value in row], dtype=float) for row in rows]


THREE = panel([1, 1, 1, 0, None, 1], [1, 1, 0, 0, None, None], [1, 0, 2, None, None, 0])


@pytest.mark.parametrize(
    ("policy", "values", "undecided", "single"),
    [
        ("majority", [1, 1, NONE, 0, NONE, NONE], 2, 0),
        ("unanimous", [1, NONE, NONE, 0, NONE, NONE], 3, 0),
        ("mean", [1, 2 / 3, 1, 0, NONE, 0.5], 0, 0),
        ("median", [1, 1, 1, 0, NONE, 0.5], 0, 0),
        ("adjudicated", [1, NONE, NONE, 0, NONE, NONE], 3, 0),
    ],
)
def test_each_policy_of_three_raters(policy, values, undecided, single):
    found = truth(policy, THREE)
    numpy.testing.assert_allclose(found.values, values)
    assert (found.undecided, found.single) == (undecided, single)


def test_a_ruling_decides_and_one_rater_alone_is_counted():
    rulings = numpy.array([NONE, 0, 2, NONE, 1, NONE])
    found = truth("adjudicated", THREE, rulings)
    numpy.testing.assert_equal(found.values, [1, 0, 2, 0, 1, NONE])
    assert (found.undecided, found.single, found.units) == (1, 0, 5)
    alone = truth("majority", THREE[2:])
    assert (alone.single, alone.units) == (4, 4)


def test_dawid_and_skene_weigh_raters_by_their_errors():
    random = default_rng(1)
    real = random.integers(0, 2, 400).astype(float)

    def err(share):
        return numpy.where(random.random(400) < share, 1 - real, real)

    # Three who guess outvote the good one, whose errors the model learns to be rare.
    raters = [err(0.05), err(0.05), *(err(0.45) for _ in range(3))]
    by_model = (truth("dawid-skene", raters).values == real).mean()
    by_vote = (truth("majority", raters).values == real).mean()
    assert by_model > 0.93 > by_vote


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, 2.0, None])] * 4), min_size=1, max_size=30))
def test_the_majority_is_that_of_each_unit_by_itself(units):
    found = truth("majority", panel(*zip(*units, strict=True)))
    expected = [majority(unit) for unit in units]
    numpy.testing.assert_equal(found.values, [NONE if value is None else value for value in expected])


TRUE = numpy.array([1, 1, 1, 1, 0, 0, 0, 0, NONE, 1, 0])
SAID = numpy.array([1, 1, 1, 0, 0, 0, 1, 1, 1, NONE, NONE])
EACH = numpy.arange(11)


def test_accuracy_precision_recall_and_coverage():
    given = numpy.array([True] * 10 + [False])
    found = accuracy(TRUE, SAID, given=given, clusters=EACH, bootstrap=Bootstrap(200))
    # Hits 3, false alarms 2, misses 1, correct rejections 2; one item given and not decided, one not given.
    assert (found.n, found.accuracy) == (8, 5 / 8)
    assert (found.precision, found.recall, found.f1) == (3 / 5, 3 / 4, pytest.approx(2 / 3))
    assert found.kappa == pytest.approx((5 / 8 - 1 / 2) / (1 / 2))
    assert (found.given, found.coverage, found.accuracy_undecided_wrong) == (9, 8 / 9, 5 / 9)
    # One item a query: Wilson's interval.
    assert (found.ci_low, found.ci_high) == wilson(5, 8)
    assert found.intervals["recall"].low < 0.75 <= found.intervals["recall"].high
    nobody = accuracy(TRUE, TRUE * NONE, given=given, clusters=EACH, bootstrap=Bootstrap(200))
    assert (nobody.n, nobody.accuracy, nobody.kappa, nobody.coverage) == (0, None, None, 0)
    no_match = accuracy(0 * EACH.astype(float), 0 * EACH.astype(float), given=given, clusters=EACH)
    assert (no_match.accuracy, no_match.precision, no_match.recall, no_match.f1) == (1, None, None, None)


def test_means_over_labels_and_scores_without_precision():
    true, said = numpy.array([0.0, 0, 1, 1, 2, 2]), numpy.array([0.0, 1, 1, 1, 2, 0])
    found = accuracy(true, said, given=EACH[:6] >= 0, clusters=EACH[:6], average="macro")
    assert found.precision == pytest.approx((1 / 2 + 2 / 3 + 1) / 3)
    assert found.recall == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert found.classes == (0, 1, 2)
    # The label 1 is never given, and still is one of the three in each mean.
    never = accuracy(true, said * (said != 1), given=EACH[:6] >= 0, clusters=EACH[:6], average="macro")
    assert never.precision == pytest.approx((2 / 5 + 0 + 1) / 3)
    assert never.recall == pytest.approx((1 + 0 + 1 / 2) / 3)
    assert never.f1 == pytest.approx((4 / 7 + 0 + 2 / 3) / 3)
    scores = accuracy(true, said, given=EACH[:6] >= 0, clusters=EACH[:6], average="none")
    assert (scores.accuracy, scores.precision, scores.f1) == (4 / 6, None, None)


def test_pairs_of_a_query_widen_the_interval():
    random = default_rng(3)
    query = numpy.repeat(numpy.arange(60), 10)
    right = random.random(60)[query] > 0.3
    true = numpy.ones(600)
    said = numpy.where(right, 1.0, 0.0)
    whole = accuracy(true, said, given=query >= 0, clusters=query, bootstrap=Bootstrap())
    single = accuracy(true, said, given=query >= 0, clusters=query, bootstrap=Bootstrap(by_unit=True))
    assert whole.ci_high - whole.ci_low > 2.5 * (single.ci_high - single.ci_low)
    assert (single.ci_low, single.ci_high) == wilson(int(right.sum()), 600)


def test_two_raters_by_item_and_by_query():
    true = numpy.ones(40)
    first = numpy.array([1.0] * 30 + [0.0] * 10)
    second = numpy.array([1.0] * 20 + [0.0] * 12 + [1.0] * 2 + [NONE] * 6)
    found = compare(("a", "b"), true, first, second, clusters=numpy.arange(40), bootstrap=Bootstrap(200))
    # 34 items of both: 10 that only the first has right, 2 only the second: 2 sum C(12, k <= 2) / 2^12.
    assert (found.n, found.only_first, found.only_second, found.test) == (34, 10, 2, "McNemar")
    assert found.p_value == pytest.approx(2 * (1 + 12 + 66) / 2**12)
    assert found.difference == pytest.approx(8 / 34)
    assert found.ci_low < found.difference < found.ci_high
    # In five queries of eight items: 10 = 4 + 6 in two queries, 2 in another one.
    queries = compare(
        ("a", "b"), true, first, second, clusters=numpy.arange(40) // 8, bootstrap=Bootstrap(200)
    )
    assert (queries.test, queries.difference) == ("sign-flip", found.difference)
    # Sums by query: 4, 6, -2. Of their 8 signs, |sum| >= 8 has 4 + 6 - 2, 4 + 6 + 2 and the opposite ones.
    assert queries.p_value == pytest.approx(4 / 8)
    family = holm_adjusted([found, queries])
    assert [one.adjusted for one in family] == pytest.approx([2 * found.p_value, 0.5])
    nothing = compare(
        ("a", "b"), true, first, second * NONE, clusters=numpy.arange(40), bootstrap=Bootstrap(10)
    )
    assert (nothing.n, nothing.p_value, holm_adjusted([nothing])[0].adjusted) == (0, None, None)
