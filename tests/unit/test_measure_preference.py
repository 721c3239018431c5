"""Preference: ratings, win rates, scores against a baseline, biases, and what has no rating."""

import importlib.util
import json
from pathlib import Path

import numpy
import pytest

from store.measures.battles import Battle, Battles
from store.measures.bradley_terry import log_strengths, rate, rate_by_sandwich
from store.measures.elo import elo
from store.measures.preference import (
    few_prompts,
    length_bias,
    position_bias,
    score_against_baseline,
    sign_test,
    win_rates,
)

ORACLES = Path(__file__).parents[1] / "oracles"


def simulated():
    spec = importlib.util.spec_from_file_location("simulated", ORACLES / "simulated.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Battles.of(Battle(a, b, score, place) for place, (a, b, score) in enumerate(module.battles()))


def test_ratings_are_those_of_evalica():
    battles = simulated()
    wanted = json.loads((ORACLES / "evalica.json").read_text())["battles"]
    found = rate(battles, resamples=0)
    assert dict(zip(battles.candidates, found.values, strict=True)) == pytest.approx(
        wanted["bradley_terry"], abs=1e-6
    )
    for k, values in wanted["elo"].items():
        ours = elo(battles, k=float(k), shuffles=3)
        assert dict(zip(battles.candidates, ours.values, strict=True)) == pytest.approx(values, abs=1e-9)
        assert all(low < high for low, high in zip(ours.low, ours.high, strict=True))


def test_both_kinds_of_interval_agree_with_one_battle_a_prompt():
    battles = simulated()
    drawn, sandwich = rate(battles, resamples=600), rate_by_sandwich(battles)
    assert drawn.values == pytest.approx(sandwich.values)
    assert drawn.low == pytest.approx(sandwich.low, abs=3)
    assert drawn.high == pytest.approx(sandwich.high, abs=3)
    assert drawn.resamples == 600
    assert drawn.ranks == sandwich.ranks == (7, 7, 5, 5, 3, 2, 2, 1)


def test_intervals_of_repeated_prompts_are_as_wide_as_those_of_single_ones():
    one = simulated()
    five = Battles(
        one.candidates, *(numpy.tile(part, 5) for part in (one.first, one.second, one.score, one.prompt))
    )
    for method in (lambda battles: rate(battles, resamples=200), rate_by_sandwich):
        once, often = method(one), method(five)
        widths = [numpy.subtract(found.high, found.low).mean() for found in (once, often)]
        assert widths[1] == pytest.approx(widths[0], rel=0.05)


@pytest.mark.parametrize(
    ("battles", "why"),
    [
        ([], "fewer than two"),
        ([("a", "b", 1.0)], "a never lost"),
        ([("a", "b", 1.0), ("b", "c", 0.0), ("c", "b", 0.0), ("b", "c", 1.0)], "a never lost"),
        ([("a", "b", 0.5), ("c", "d", 0.5)], "2 groups that never meet"),
        ([("a", "b", 0.5), ("c", "d", 0.5), ("a", "c", 1.0)], "a, b never lost to the others"),
    ],
)
def test_without_a_maximum_there_is_no_rating(battles, why):
    given = Battles.of(Battle(*one) for one in battles)
    for found in (rate(given), rate_by_sandwich(given)):
        assert set(found.values) <= {None}
        assert why in found.why
    if len(given.candidates) > 1:
        assert all(numpy.isfinite(rate(given, prior=1.0, resamples=10).values))
    win_rates(given, resamples=10)
    elo(given, shuffles=5)


def test_all_ties_are_rated_alike():
    found = Battles.of(Battle("a", "b", 0.5, prompt) for prompt in range(5))
    assert rate(found).values == pytest.approx((1000, 1000))
    assert [one.rate for one in win_rates(found)] == [0.5, 0.5]
    assert "only 5 prompts" in few_prompts(found)


def test_a_far_off_start_still_finds_the_maximum():
    wins = numpy.array([[[0, 10_000, 1], [1, 0, 10_000], [1, 1, 0]]], dtype=float)
    strength = log_strengths(wins)[0]
    chance = 1 / (1 + numpy.exp(strength[None, :] - strength[:, None]))
    games = wins[0] + wins[0].T
    assert (games * chance).sum(axis=1) - games.diagonal() / 2 == pytest.approx(wins[0].sum(axis=1), abs=1e-6)


def test_the_score_against_a_baseline_is_that_of_table_vii():
    matrix = [
        [22, 65, 1, 15, 8],
        [5, 227, 37, 258, 36],
        [1, 13, 24, 30, 1],
        [0, 69, 16, 425, 165],
        [0, 2, 1, 35, 104],
    ]
    assert score_against_baseline(matrix) == pytest.approx(33.18, abs=0.005)
    assert score_against_baseline([[0] * 5] * 5) is None


def test_an_item_counts_once_in_the_sign_test():
    votes = (
        [("q1", 1.0)] * 3
        + [("q2", 1.0), ("q2", 0.0)]
        + [("q3", 0.5)] * 2
        + [("q4", 0.0), ("q4", 0.0), ("q4", 1.0)]
    )
    found = sign_test(votes)
    assert (found.items, found.wins, found.losses, found.ties, found.undecided) == (4, 1, 1, 1, 1)
    assert (found.p_value, found.rate) == (1.0, 0.5)
    many = sign_test((place, 1.0 if place < 603 else 0.0) for place in range(1000))
    assert (round(many.low, 3), round(many.high, 3)) == (0.572, 0.633)
    assert many.p_value < 1e-9


def test_position_bias_is_seen_in_both_orders():
    # The left one always wins on q0 to q9; on the others the verdict follows the candidate.
    judgments = [(f"q{n}", level, left) for n in range(10) for level, left in ((0, True), (4, False))]
    judgments += [(f"c{n}", 1, left) for n in range(5) for left in (True, False)]
    judgments += [("tie", 2, True), ("tie", 2, False), ("once", 3, True)]
    found = position_bias(judgments)
    assert (found.both_orders, found.consistent, found.favours_first, found.favours_second) == (16, 6, 10, 0)
    assert (found.judgments, found.left) == (31, 25)
    assert found.matrix[0][4] == 10
    assert found.matrix[1][1] == 5


def test_longer_texts_are_seen_to_win_and_taken_out():
    random = numpy.random.default_rng(1)
    first, second = random.integers(10, 1000, (2, 4000))
    chance = 1 / (1 + numpy.exp(-(0.5 + 2 * numpy.tanh((first - second) / (first - second).std()))))
    scores = (random.random(4000) < chance).astype(float)
    found = length_bias(scores, first, second)
    assert found.controlled == pytest.approx(1 / (1 + numpy.exp(-0.5)), abs=0.03)
    assert found.thirds[0] < found.thirds[1] < found.thirds[2]
    assert sum(found.battles) <= 4000
    assert length_bias([1.0, 1.0], [3, 3], [3, 3]).controlled is None
    assert length_bias([1.0, 0.0], [9, 1], [1, 9]).controlled is None
