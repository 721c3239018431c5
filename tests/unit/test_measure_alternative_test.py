"""The alternative annotator test, by hand and against the published program."""

import json
from pathlib import Path

import numpy
import pytest
from numpy.random import default_rng
from oracles.simulated import agent_and_annotators, digest
from scipy.stats import ttest_1samp

from store.measures.alternative_test import alternative_test

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "alttest.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", ORACLE["cases"], ids=lambda case: f"{case['kind']} {case['epsilon']}")
def test_it_is_the_published_test(case):
    agent, annotators = agent_and_annotators(case["kind"])
    assert digest(numpy.vstack([agent, annotators])) == case["digest"]
    alignment = {"accuracy": "accuracy", "neg_rmse": "rmse"}[case["kind"]]
    result = alternative_test(agent, annotators, alignment, epsilon=case["epsilon"])
    assert result.winning_rate == case["winning_rate"]
    assert result.advantage == pytest.approx(case["advantage"], abs=1e-12)
    assert result.passed == (case["winning_rate"] >= 0.5)


def test_a_worked_example():
    # Forty units of value 0. The first annotator is wrong on ten of them, where the agent is right; the agent
    # is wrong on two others.
    annotators = numpy.zeros((3, 40))
    annotators[0, :10] = 1
    agent = numpy.zeros(40)
    agent[10:12] = 1
    result = alternative_test(agent, annotators)
    first, second, _ = result.comparisons
    assert (first.units, first.agent_advantage, first.annotator_advantage) == (40, 38 / 40, 30 / 40)
    # The second one agrees with the third everywhere, and the agent does but for two units.
    assert (second.agent_advantage, second.annotator_advantage) == (38 / 40, 1)
    assert first.p_value == pytest.approx(
        ttest_1samp([-1] * 10 + [1] * 2 + [0] * 28, 0.2, alternative="less").pvalue
    )
    # Benjamini and Yekutieli with three p-values, of which the last two are equal: 3 * (1 + 1/2 + 1/3) / rank.
    assert first.adjusted == pytest.approx(first.p_value * 5.5)
    assert second.adjusted == pytest.approx(second.p_value * 5.5 / 3)
    assert (result.winning_rate, result.passed) == (1.0, True)
    assert result.advantage == pytest.approx(38 / 40)


def test_who_is_as_good_as_the_annotators_passes_only_with_what_cost_is_worth():
    random = default_rng(3)
    true = random.integers(0, 2, 100)
    rated = numpy.where(random.random((5, 100)) < 0.1, 1 - true, true)
    assert alternative_test(rated[0], rated[1:], epsilon=0.2).passed
    assert not alternative_test(rated[0], rated[1:], epsilon=0.0).passed
    assert not alternative_test(random.integers(0, 2, 100), rated[1:]).passed


def test_scores_are_compared_by_distance():
    # The agent is off by one where each annotator is off by two: no value is equal to another one.
    annotators = numpy.tile([[4.0], [6.0], [8.0]], (1, 40)) + numpy.arange(40) % 2
    near = annotators[1] + 1
    assert alternative_test(near, annotators, "rmse").comparisons[0].agent_advantage == 1
    assert alternative_test(near + 4, annotators, "rmse").comparisons[0].agent_advantage == 0
    assert alternative_test(near, annotators, "accuracy").comparisons[0].annotator_advantage == 1


def test_a_unit_counts_where_it_can_be_compared():
    nan = numpy.nan
    annotators = numpy.zeros((3, 40))
    annotators[0, 0] = nan
    annotators[1:, 1] = nan
    annotators[2, 2] = nan
    agent = numpy.zeros(40)
    agent[3] = nan
    result = alternative_test(agent, annotators)
    # The first annotator lacks unit 0, has nobody to be compared with on unit 1, and no agent on unit 3.
    assert [each.units for each in result.comparisons] == [37, 38, 37]


def test_units_that_are_all_alike_have_a_p_value():
    always = alternative_test(numpy.zeros(30), numpy.zeros((3, 30)))
    assert [each.p_value for each in always.comparisons] == [0.0] * 3
    assert alternative_test(numpy.ones(30), numpy.zeros((3, 30))).winning_rate == 0
    assert alternative_test(numpy.zeros(30), numpy.zeros((3, 30)), epsilon=0).winning_rate == 0


def test_an_annotator_with_few_units_is_left_out():
    annotators = numpy.zeros((4, 40))
    annotators[3, 29:] = numpy.nan
    agent = numpy.zeros(40)
    agent[:8] = 1
    result = alternative_test(agent, annotators, epsilon=0.5)
    last = result.comparisons[3]
    assert (last.units, last.p_value, last.won) == (29, None, False)
    # The rates are those of the other three.
    assert (result.winning_rate, result.advantage) == (1.0, pytest.approx(32 / 40))


def test_without_three_annotators_of_thirty_units_there_is_no_test():
    for annotators in (numpy.zeros((2, 40)), numpy.zeros((3, 29)), numpy.full((3, 40), numpy.nan)):
        result = alternative_test(numpy.zeros(annotators.shape[1]), annotators)
        assert (result.winning_rate, result.passed) == (None, None)
        assert "fewer than 3 annotators have 30 units" in result.why_none
        assert len(result.comparisons) == len(annotators)


def test_what_is_refused():
    with pytest.raises(ValueError, match="shape"):
        alternative_test(numpy.zeros(3), numpy.zeros((3, 4)))
    with pytest.raises(ValueError, match="epsilon"):
        alternative_test(numpy.zeros(3), numpy.zeros((3, 3)), epsilon=20)
