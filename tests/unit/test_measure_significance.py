"""Tests of two methods on the same items, against enumeration by hand."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from store.measures.significance import MOST_ENUMERATED, benjamini_yekutieli, holm, mcnemar_exact, sign_flip


@pytest.mark.parametrize(
    ("first", "second", "p_value"),
    [
        # 2 * (1 + 10 + 45) / 1024: tails of a binomial of 10.
        (8, 2, 2 * 56 / 1024),
        (2, 8, 2 * 56 / 1024),
        (5, 5, 1.0),
        (6, 0, 2 / 64),
        (0, 0, 1.0),
        (1, 0, 1.0),
    ],
)
def test_mcnemars_exact_test(first, second, p_value):
    assert mcnemar_exact(first, second) == pytest.approx(p_value)


def test_counts_are_not_negative():
    with pytest.raises(ValueError, match="not negative"):
        mcnemar_exact(-1, 3)


def enumerated(differences):
    """The p-value, every way written out."""
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(each >= abs(sum(differences)) for each in sums) / len(sums)


@given(st.lists(st.integers(-3, 3), max_size=8))
def test_few_queries_are_enumerated(differences):
    result = sign_flip(differences)
    assert result.exact
    assert result.p_value == pytest.approx(enumerated(differences))
    assert (result.clusters, result.differing) == (len(differences), sum(each != 0 for each in differences))


def test_one_item_a_query_is_mcnemars_test():
    assert sign_flip([1] * 8 + [-1] * 2 + [0] * 30).p_value == pytest.approx(mcnemar_exact(8, 2))


def test_many_queries_are_sampled_and_near_the_exact_value():
    differences = [1.0] * 30 + [-1.0] * 14
    result = sign_flip(differences, permutations=20_000, seed=1)
    exact = mcnemar_exact(30, 14)
    assert not result.exact
    assert result.p_value == pytest.approx(exact, abs=4 * (exact / 20_000) ** 0.5)
    assert result == sign_flip(differences, permutations=20_000, seed=1)
    assert result.p_value != sign_flip(differences, permutations=20_000, seed=2).p_value


def test_sizes_of_all_kinds_are_sampled_alike():
    # One more cluster that differs by next to nothing makes enumeration a sample.
    random = default_rng(5)
    few = (random.random(MOST_ENUMERATED) - 0.35).tolist()
    sampled = sign_flip([*few, 1e-13], permutations=20_000)
    assert not sampled.exact
    assert sampled.p_value == pytest.approx(sign_flip(few).p_value, abs=0.015)


def test_a_sampled_p_value_is_never_zero():
    assert sign_flip([1.0] * 400, permutations=99).p_value == 1 / 100


def test_twenty_thousand_queries():
    random = default_rng(6)
    same = random.integers(-3, 4, 20_000)
    assert sign_flip(same, permutations=500).p_value > 0.02
    assert sign_flip(same + (random.random(20_000) < 0.1), permutations=500).p_value == 1 / 501
    assert sign_flip(random.normal(0, 1, 20_000), permutations=500).p_value > 0.02


def test_it_rejects_what_is_true_as_often_as_it_says():
    random = default_rng(7)
    p_values = [
        sign_flip(random.normal(0, 1, 25), permutations=199, seed=seed).p_value for seed in range(600)
    ]
    assert 0.03 <= sum(each <= 0.05 for each in p_values) / 600 <= 0.07


def test_rounding_does_not_hide_a_tie():
    # 0.1 + 0.2 is not 0.3: the sums of all ways are 0.6 and 0, to within rounding.
    assert sign_flip([0.1, 0.2, -0.3]).p_value == 1.0
    assert sign_flip([0.1, 0.2, 0.3]).p_value == 2 / 8
    # Six numbers have two sums, by the order of adding.
    assert sign_flip([0.3] * 6).p_value == 2 / 64


def test_what_cannot_be_tested():
    assert sign_flip([]).p_value == sign_flip([0, 0]).p_value == 1.0
    with pytest.raises(ValueError, match="finite"):
        sign_flip([1, float("nan")])
    with pytest.raises(ValueError, match="permutation"):
        sign_flip([1], permutations=0)


def test_holms_method_keeps_the_order():
    # 0.01 * 4, 0.02 * 3 = 0.06, 0.03 * 2 = 0.06, 0.5 * 1.
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    # 0.011 * 2 is less than 0.01 * 3, and must not fall below it.
    assert holm([0.01, 0.011, 0.9]) == pytest.approx([0.03, 0.03, 0.9])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, float("nan")])


@pytest.mark.parametrize("p_values", [[0.01, 0.04, 0.03, 0.5], [0.5], [], [0.2, 0.2, 1.0], [0, 0.9]])
def test_false_discoveries_are_controlled_as_by_scipy(p_values):
    from scipy.stats import false_discovery_control

    expected = false_discovery_control(p_values, method="by") if p_values else []
    assert benjamini_yekutieli(p_values) == pytest.approx(list(expected))
