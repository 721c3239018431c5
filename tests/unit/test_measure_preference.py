"""Preference: ratings, win rates, scores against a baseline, biases, and what has no rating."""

import importlib.util
import json
import random
from collections import Counter, defaultdict
from itertools import product
from math import comb, gamma, pi
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
    score_of_levels,
    sign_test,
    win_rates,
)
from store.measures.preference_report import Options, preference_report
from store.measures.votes import Pairing, Vote, Votes

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
    # The verdicts of both orders are pooled.
    pooled = [sum(row) + sum(column) for row, column in zip(matrix, zip(*matrix, strict=True), strict=True)]
    assert score_of_levels(pooled) == pytest.approx(33.18, abs=0.005)
    assert score_of_levels([0] * 5) is None


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


def paired(items, first="red", second="blue", prompt=None):
    """Comparisons of two candidates, each on a prompt of its own."""
    return {item: Pairing(item if prompt is None else prompt(item), first, second) for item in items}


def by_hand(judgments, items):
    """The share of the left, its interval and its p-value, each written out."""
    times = Counter(item for item, _, _ in judgments)
    of_pair = defaultdict(list)
    left, whole, rest = defaultdict(float), defaultdict(float), defaultdict(float)
    for item, level, first_left in judgments:
        if level == 2:
            continue
        on_left = items[item].first if first_left else items[item].second
        winner = items[item].first if level < 2 else items[item].second
        prompt = items[item].prompt
        if times[item] == 2:
            left[prompt] += winner == on_left
            whole[prompt] += 1
            rest[prompt] += 0.5 if winner == on_left else -0.5
        else:
            of_pair[frozenset((items[item].first, items[item].second))].append((prompt, on_left, winner))
    for names, verdicts in of_pair.items():
        one, other = names
        side = {name: [winner for _, on_left, winner in verdicts if on_left == name] for name in names}
        if not all(side.values()):
            continue
        wins = {name: sum(given.count(name) / len(given) for given in side.values()) / 2 for name in names}
        for prompt, on_left, winner in verdicts:
            here, there = len(side[on_left]), len(side[other if on_left == one else one])
            weight = 2 * there / (here + there)
            left[prompt] += weight * (winner == on_left)
            whole[prompt] += weight
            lost = 1 - 3 / (4 * here) + 1 / (4 * there)
            rest[prompt] += weight * ((winner == on_left) - wins[on_left]) / lost**0.5
    p, number = sum(left.values()) / sum(whole.values()), len(whole)

    def spread(values):
        return sum(value**2 for value in values) / sum(whole.values()) ** 2 * number / (number - 1)

    around = spread(rest[prompt] - (p - 0.5) * whole[prompt] for prompt in whole)
    effective = p * (1 - p) / around if around > 1e-12 else number
    z = 1.959963984540054
    middle = (p + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z / (1 + z * z / effective) * (p * (1 - p) / effective + z * z / (4 * effective**2)) ** 0.5
    at = abs(p - 0.5) / spread(rest.values()) ** 0.5 if any(rest.values()) else 0
    return p, middle - half, middle + half, beyond(at, number - 1)


def beyond(at, freedom):
    """Twice the area of Student's distribution beyond a value, by Simpson's rule up to it."""
    steps = 2_000
    heights = [(1 + (at * n / steps) ** 2 / freedom) ** (-(freedom + 1) / 2) for n in range(steps + 1)]
    area = (heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])) * at / steps / 3
    return 1 - 2 * area * gamma((freedom + 1) / 2) / ((freedom * pi) ** 0.5 * gamma(freedom / 2))


def test_position_bias_is_seen_in_both_orders():
    # The left one always wins on q0 to q9; on the others the verdict follows the candidate.
    judgments = [(f"q{n}", level, left) for n in range(10) for level, left in ((0, True), (4, False))]
    judgments += [(f"c{n}", 1, left) for n in range(5) for left in (True, False)]
    judgments += [("tie", 2, True), ("tie", 2, False)]
    items = paired(dict.fromkeys(item for item, _, _ in judgments))
    found = position_bias(judgments, items)
    assert (found.both_orders, found.consistent, found.favours_first, found.favours_second) == (16, 6, 10, 0)
    assert (found.judgments, found.left, found.one_sided, found.prompts) == (30, 25, 0, 15)
    assert found.share_left == pytest.approx(25 / 30)
    assert found.matrix[0][4] == 10
    assert found.matrix[1][1] == 5
    # Ten that changed, all to the left.
    assert found.p_value == pytest.approx(2 / 2**10)


def test_two_orders_are_tested_by_what_changed():
    """A judge who keeps to 30 of 40 verdicts, and changes 8 for the left and 2 for the right."""
    both = [(1, 1)] * 15 + [(3, 3)] * 15 + [(1, 3)] * 8 + [(3, 1)] * 2
    judgments = [
        (item, level, left)
        for item, levels in enumerate(both)
        for level, left in zip(levels, (True, False), strict=True)
    ]
    items = paired(range(40))
    found = position_bias(judgments, items)
    tails = sum(comb(10, changed) for changed in range(3))
    assert found.p_value == pytest.approx(2 * tails / 2**10)
    assert (found.share_left, found.judgments, found.consistent) == (46 / 80, 80, 30)
    # As 80 votes of their own they would say 46 of 80, between 46.5 % and 67.8 %.
    assert (found.low, found.high) == pytest.approx(by_hand(judgments, items)[1:3])
    assert (found.low, found.high) == pytest.approx((0.499, 0.647), abs=0.001)
    # An error in one order of one more changes nothing of it.
    more = position_bias([*judgments, (40, 1, True)], paired(range(41)))
    assert (more.judgments, more.one_sided, more.share_left, more.p_value) == (80, 1, 46 / 80, found.p_value)


def test_sides_fixed_by_the_pair_are_no_bias():
    """The better one is always on the left, or nearly always, and wins wherever it is."""
    better_left = [(item, 1, True) for item in range(20)]
    found = position_bias(better_left, paired(range(20)))
    assert (found.judgments, found.one_sided) == (0, 20)
    assert {found.share_left, found.low, found.high, found.p_value} == {None}
    # Which one is called the first differs from item to item.
    items = paired(range(10)) | paired(range(10, 21), "blue", "red")
    found = position_bias(
        [*((n, 1, True) for n in range(10)), *((n, 3, False) for n in range(10, 20))], items
    )
    assert (found.judgments, found.one_sided) == (0, 20)
    # Once it is on the right: half of the weight is that one's.
    judgments = [*better_left, (20, 1, False)]
    found = position_bias(judgments, paired(range(21)))
    assert (found.judgments, found.left, found.p_value) == (21, 20, 1)
    assert found.share_left == pytest.approx(0.5)
    other = paired(["far"], "red", "green")
    found = position_bias([*judgments, ("far", 1, True)], paired(range(21)) | other)
    assert (found.judgments, found.one_sided) == (21, 1)


@pytest.mark.parametrize("seed", range(6))
def test_shares_intervals_and_tests_by_prompt_are_those_written_out(seed):
    """Of verdicts in one order, and of some in both; of a pair that nobody saw on both sides as well."""
    draw = random.Random(seed)
    names = ["red", "blue", "green"]
    items = {n: Pairing(n % 13, *draw.sample(names, 2)) for n in range(80)} | paired([99], "red", "grey")
    judgments = [(n, draw.choice([0, 1, 1, 2, 3]), draw.random() < 0.7) for n in items]
    judgments += [(n, draw.choice([0, 1, 2, 3]), not left) for n, _, left in judgments[:30]]
    found = position_bias(judgments, items)
    assert (found.share_left, found.low, found.high, found.p_value) == pytest.approx(
        by_hand(judgments, items)
    )
    assert (found.both_orders, found.prompts) == (30, 13)
    # The same verdicts again are no more prompts.
    again = {(n, time): pairing for n, pairing in items.items() for time in range(3)}
    often = position_bias([((n, time), *rest) for n, *rest in judgments for time in range(3)], again)
    assert often.share_left == pytest.approx(found.share_left)
    assert often.high - often.low == pytest.approx(found.high - found.low, rel=0.05)
    assert often.p_value == pytest.approx(found.p_value, rel=0.15)


def test_what_changed_by_more_and_by_less_is_flipped_as_a_whole():
    """Two orders: the left twice, the left and a tie, and once the right twice; every way written out."""
    both = [(1, 3)] * 4 + [(1, 2)] * 3 + [(3, 1)] + [(1, 1)] * 12
    judgments = [
        (n, level, left) for n, two in enumerate(both) for level, left in zip(two, (True, False), strict=True)
    ]
    lean = [2] * 4 + [1] * 3 + [-2]
    ways = [abs(sum(sign * one for sign, one in zip(signs, lean, strict=True)))
            for signs in product((1, -1), repeat=len(lean))]  # fmt: skip
    found = position_bias(judgments, paired(range(20)))
    assert found.p_value == pytest.approx(sum(way >= sum(lean) for way in ways) / len(ways))
    # On one prompt they are one case of it.
    assert position_bias(judgments, paired(range(20), prompt=lambda _: "same")).p_value == 1
    assert position_bias(judgments[::3], paired(range(20), prompt=lambda _: "same")).p_value == 1


def test_one_of_a_pair_who_always_wins_shows_no_bias():
    """Nine in ten times on the left, and once or twice on the right; or half of the time."""
    for lefts in ([True] * 18 + [False] * 2, [True, False] * 10):
        judgments = [(item, 1, left) for item, left in enumerate(lefts)]
        found = position_bias(judgments, paired(range(20)))
        assert (found.judgments, found.one_sided, found.p_value) == (20, 0, 1)
        assert found.share_left == pytest.approx(0.5)


def test_an_interval_of_a_position_has_a_width():
    for level, other in ((1, 3), (1, 1)):
        judgments = [one for n in range(12) for one in ((n, level, True), (n, other, False))]
        found = position_bias(judgments, paired(range(12)))
        assert found.high - found.low > 0.2
        assert (found.low, found.high) == pytest.approx(by_hand(judgments, paired(range(12)))[1:3])


def test_equal_texts_are_ties_but_still_show_a_bias():
    alike = Pairing("q", "red", "blue", (3, 3), alike=True)
    votes = Votes(
        {"q": alike, "r": Pairing("r", "red", "blue", (3, 4))},
        [Vote("q", "ana", 1.0, first_left=True), Vote("r", "ana", 1.0, first_left=False),
         Vote("q", "judge", 1.0)],
        [Vote("q", "judge", 2.0, first_left=True), Vote("q", "judge", -2.0, first_left=False)],
        frozenset({"judge"}),
    )  # fmt: skip
    found = preference_report(votes, Options(resamples=0, baseline="blue"))
    assert found.n["equal_texts"] == 1
    assert {one.candidate: (one.wins, one.losses, one.ties) for one in found.ratings} == {
        "red": (1, 0, 1),
        "blue": (0, 1, 1),
    }
    scores = {one["rater"]: one["score"] for one in found.score_against["scores"]}
    # A tie counts half: 1.5 of 2, and 1 of 2.
    assert scores == {"ana": 75, "judge": 50}
    of_judge = next(one for one in found.position if one["rater"] == "judge")
    assert (of_judge["favours_first"], of_judge["left"]) == (1, 2)


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


def test_few_prompts_and_agreeing_resamples_have_no_narrow_interval():
    """Of four prompts no interval of the side and no ratings'; of six that agree, Wilson's of six."""
    few = paired(range(4))
    found = position_bias([(n, 1, n % 2 == 0) for n in range(4)], few)
    assert (found.share_left, found.low, found.high) == (0.5, None, None)
    six = Battles.of(Battle("a", "b", 1.0, prompt) for prompt in range(6) for _ in range(3))
    first, second = win_rates(six, resamples=50)
    assert (first.rate, first.low, first.high) == pytest.approx((1, 0.6097, 1), abs=1e-4)
    assert (second.rate, second.low, second.high) == pytest.approx((0, 0, 0.3903), abs=1e-4)
    even = [Battle("a", "b", score, prompt) for prompt in range(6) for score in (0.0, 1.0)]
    assert rate(Battles.of(even), resamples=50).low == ()
    assert rate(Battles.of(even[:8]), resamples=50).low == ()
