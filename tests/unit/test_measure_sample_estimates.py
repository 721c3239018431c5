"""Estimates for all pairs from a stratified sample, against the package survey of R and by simulation."""

import csv
import json
from collections import Counter
from pathlib import Path

import numpy
import pytest
from numpy.random import default_rng

from store.errors import WorkbenchError
from store.measures.sample_estimates import Stratum, sample_estimates

ORACLES = Path(__file__).parents[1] / "oracles"
NAMES = ("prevalence", "prevalence_with_agent", "accuracy", "precision", "recall")


def test_values_and_standard_errors_are_those_of_the_package_survey():
    expected = json.loads((ORACLES / "survey.json").read_text(encoding="utf-8"))
    with (ORACLES / "survey.csv").open(encoding="utf-8", newline="") as file:
        rows = [[int(cell) for cell in row.values()] for row in csv.DictReader(file)]
    place, units, agent, expert = numpy.array(rows).T
    strata = [
        Stratum(f"stratum {each}", int(units[place == each][0]), int(agent[place == each].sum()))
        for each in range(4)
    ]
    found = sample_estimates(strata, place, agent, expert)
    for name in ("prevalence", "accuracy", "precision", "recall"):
        each = getattr(found, name)
        assert [each.value, each.standard_error] == pytest.approx(expected[name], abs=1e-12)
    # The agent's own prevalence is known, so that all error is that of expert less agent.
    shift, error = expected["difference"]
    powered = found.prevalence_with_agent
    assert powered.value - found.agent_prevalence == pytest.approx(shift, abs=1e-12)
    assert powered.standard_error == pytest.approx(error, abs=1e-12)


def test_a_worked_example():
    # Four units of a stratum of 100 stand for 25 each; two of a stratum of two for themselves.
    strata = [Stratum("likely", 100, 60), Stratum("sure", 2, 2)]
    found = sample_estimates(strata, [0, 0, 0, 0, 1, 1], [1, 1, 0, 0, 1, 1], [1, 0, 0, 1, 1, 1])
    assert (found.units, found.sampled, found.agent_prevalence) == (102, 6, 62 / 102)
    assert found.prevalence.value == pytest.approx((50 + 2) / 102)
    assert found.prevalence_with_agent.value == pytest.approx(62 / 102)
    assert found.accuracy.value == pytest.approx((50 + 2) / 102)
    assert found.precision.value == found.recall.value == pytest.approx((25 + 2) / (50 + 2))
    # 100 * 96 / 4 * 1/3, over all units.
    assert found.prevalence.standard_error == pytest.approx((100 * 96 / 4 / 3) ** 0.5 / 102)


def population(good, seed, sizes, matching):
    """The stratum, the agent's label and the experts' of every unit."""
    random = default_rng(seed)
    place = numpy.repeat(numpy.arange(len(sizes)), sizes)
    expert = random.random(len(place)) < numpy.array(matching)[place]
    agent = numpy.where(random.random(len(place)) < good, expert, ~expert)
    return place, agent, expert


def simulate(place, agent, expert, drawn, samples=400):
    """The share of samples whose interval has the truth in it, and the mean width, of each estimate."""
    random = default_rng(1)
    units = [numpy.flatnonzero(place == each) for each in range(len(drawn))]
    strata = [Stratum(f"{each}", len(at), int(agent[at].sum())) for each, at in enumerate(units)]
    both = (agent & expert).sum()
    truth = dict.fromkeys(("prevalence", "prevalence_with_agent"), expert.mean())
    truth |= {
        "accuracy": (agent == expert).mean(),
        "precision": both / agent.sum(),
        "recall": both / expert.sum(),
    }
    covered, width = Counter(), Counter()
    for _ in range(samples):
        at = numpy.concatenate(
            [random.choice(each, n, replace=False) for each, n in zip(units, drawn, strict=True)]
        )
        found = sample_estimates(strata, place[at], agent[at], expert[at])
        for name in NAMES:
            each = getattr(found, name)
            covered[name] += each.low <= truth[name] <= each.high
            width[name] += each.high - each.low
    return {name: covered[name] / samples for name in NAMES}, {name: width[name] / samples for name in NAMES}


SIZES, MATCHING, DRAWN = (4000, 2000, 500, 50), (0.1, 0.4, 0.7, 0.5), (150, 100, 60, 50)


def test_intervals_cover_and_a_good_agent_makes_that_of_prevalence_narrower():
    covered, width = simulate(*population(0.93, 0, SIZES, MATCHING), DRAWN)
    assert {name: 0.92 <= share <= 0.98 for name, share in covered.items()} == dict.fromkeys(NAMES, True), (
        covered
    )
    assert width["prevalence_with_agent"] < 0.9 * width["prevalence"]


def test_a_poor_agent_makes_it_no_less_right():
    covered, width = simulate(*population(0.6, 0, SIZES, MATCHING), DRAWN)
    assert {name: 0.92 <= share <= 0.98 for name, share in covered.items()} == dict.fromkeys(NAMES, True), (
        covered
    )
    assert width["prevalence_with_agent"] > width["prevalence"]


def test_of_a_large_sample_the_interval_is_that_of_its_standard_error():
    place, agent, expert = population(0.6, 0, (9_000,), (0.4,))
    found = sample_estimates(
        [Stratum("all", 9_000, int(agent.sum()))], place[:3000], agent[:3000], expert[:3000]
    )
    for name in NAMES:
        each = getattr(found, name)
        assert each.high - each.low == pytest.approx(2 * 1.96 * each.standard_error, rel=0.02)


def test_intervals_cover_where_most_strata_show_no_error():
    # With the variance of the sample alone, under 90 %.
    covered, _ = simulate(*population(0.99, 0, SIZES, MATCHING), DRAWN)
    assert min(covered.values()) >= 0.93, covered


def test_strata_of_the_agents_own_labels():
    _, agent, expert = population(0.95, 2, (20_000,), (0.1,))
    covered, _ = simulate(agent.astype(int), agent, expert, (200, 200))
    assert min(covered.values()) >= 0.92, covered
    found = sample_estimates(
        [Stratum("no", 900, 0), Stratum("yes", 100, 100)], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 0]
    )
    assert found.prevalence_with_agent.value == pytest.approx(found.prevalence.value)


def test_all_units_sampled_leave_no_error():
    strata = [Stratum("all", 3, 2), Stratum("one", 1, 0), Stratum("none", 0, 0)]
    found = sample_estimates(strata, [0, 0, 0, 1], [1, 1, 0, 0], [1, 0, 0, 1])
    assert found.prevalence.value == found.prevalence_with_agent.value == 0.5
    assert found.recall.value == found.precision.value == 0.5
    for name in NAMES:
        each = getattr(found, name)
        assert (each.low, each.high, each.standard_error) == (each.value, each.value, 0)


def test_a_sample_without_errors_leaves_some():
    found = sample_estimates([Stratum("all", 1000, 300)], [0] * 20, [1] * 6 + [0] * 14, [1] * 6 + [0] * 14)
    for name in ("accuracy", "precision", "recall"):
        each = getattr(found, name)
        assert (each.value, each.high) == (1, 1)
        assert 0.5 < each.low < 0.9
    assert found.accuracy.low > found.precision.low
    powered = found.prevalence_with_agent
    assert powered.low < 0.3 < powered.high


def test_what_is_not_defined_says_why():
    found = sample_estimates([Stratum("all", 1000, 300)], [0] * 4, [0] * 4, [0, 0, 0, 1])
    assert (found.precision.value, found.precision.low) == (None, None)
    assert found.precision.why_none == "the agent calls no sampled unit a match"
    assert found.recall.value == 0
    never = sample_estimates([Stratum("all", 1000, 300)], [0] * 4, [0, 0, 1, 0], [0] * 4)
    assert never.recall.why_none == "the experts call no sampled unit a match"


def test_an_agent_that_never_says_match_has_no_recall_for_sure():
    found = sample_estimates([Stratum("all", 1000, 0)], [0] * 4, [0] * 4, [0, 0, 0, 1])
    assert (found.recall.value, found.recall.low, found.recall.high) == (0, 0, 0)


@pytest.mark.parametrize(
    ("strata", "place", "says"),
    [
        ([Stratum("low", 9, 0), Stratum("high", 5, 5)], [0, 0], "high of 5 units has no sampled unit"),
        ([Stratum("low", 9, 0)], [0], "low of 9 units has one sampled unit"),
        ([Stratum("low", 2, 0)], [0, 0, 0], "has a sample of 3"),
        ([Stratum("low", 0, 0)], [0, 0], "has a sample of 2"),
        ([Stratum("low", 3, 4)], [0, 0], "has 4 matches of agents"),
        ([], [], "No unit was sampled"),
    ],
)
def test_a_sample_that_cannot_stand_for_all_is_refused(strata, place, says):
    with pytest.raises(WorkbenchError, match=says):
        sample_estimates(strata, place, [0] * len(place), [0] * len(place))


def test_more_matches_in_the_sample_than_in_the_stratum_are_refused():
    with pytest.raises(WorkbenchError, match="2 matches of agents"):
        sample_estimates([Stratum("low", 9, 1)], [0, 0], [1, 1], [0, 0])


@pytest.mark.parametrize(
    ("place", "agent", "expert"),
    [
        ([0, 0], [1], [1, 0]),
        ([0, 1], [1, 0], [1, 0]),
        ([0, 0], [1, 0], [1, float("nan")]),
        ([0, 0], [2, 0], [1, 0]),
    ],
)
def test_labels_are_0_or_1_and_one_for_each_unit(place, agent, expert):
    with pytest.raises(ValueError, match=r"one value|0 or 1"):
        sample_estimates([Stratum("all", 9, 3)], place, agent, expert)
