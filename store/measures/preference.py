"""Measures of preference: win rates, sign test, scores against a baseline, biases of position and length."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from store.formatting import pluralize
from store.measures.battles import MOST_CANDIDATES, Battles, majority
from store.measures.intervals import COVERED, FEW_CLUSTERS, LEAST_CLUSTERS, wilson, wilson_effective
from store.measures.significance import mcnemar_exact, sign_flip

if TYPE_CHECKING:
    import numpy

    from store.measures.votes import Pairing

    Array = numpy.ndarray[Any, Any]

LEVELS = 5
"""The levels of the ordinal scale, from "much better" of the first candidate to that of the second."""

_WEIGHTS = (3, 1, 0.5, 0, 0)
_SIZES = (3, 1, 1, 1, 3)
_ROUNDING = 1e-9
"""Below this a sum of weights is 0, but for rounding."""
_MOST_FLIPPED = 1_000
"""Prompts beyond which flips of their signs take long, and say what a t-test says."""


@dataclass(frozen=True, slots=True)
class WinRate:
    """How often a candidate is preferred, ties as half.

    Attributes:
        candidate: The candidate.
        wins: Battles that it won.
        losses: Battles that it lost.
        ties: Battles without a winner.
        rate: The share of wins, ties as half; None without a battle.
        low: The lower end of the percentile bootstrap interval over prompts.
        high: The upper end.
    """

    candidate: str
    wins: int
    losses: int
    ties: int
    rate: float | None
    low: float | None
    high: float | None


def win_rates(battles: Battles, *, resamples: int = 1000, seed: int = 0) -> list[WinRate]:
    """Return the win rate of each candidate over all its battles.

    Args:
        battles: The battles.
        resamples: How many resamples of prompts are drawn; 0 for no intervals.
        seed: The seed of the draws.
    """
    import numpy

    tallies = battles.tallies()
    low = high = numpy.full(len(battles.candidates), numpy.nan)
    if resamples and 0 < len(battles.candidates) <= MOST_CANDIDATES:
        rows, times = battles.by_prompt()
        random = numpy.random.default_rng(seed)
        drawn = random.multinomial(int(times.sum()), times / times.sum(), size=resamples).astype(float)
        points, games = battles.by_candidate(rows)
        with numpy.errstate(invalid="ignore"):
            rates = (drawn @ points) / (drawn @ games)
        tail = (1 - COVERED) / 2
        low, high = numpy.nanquantile(rates, [tail, 1 - tail], axis=0)
        # Where no resample differs, or of few prompts, each prompt counts as one unit (see of_proportion).
        prompts = times @ (games > 0)
        total = points.T @ times, games.T @ times
        for place in numpy.flatnonzero((low == high) | (prompts < LEAST_CLUSTERS)).tolist():
            if prompts[place]:
                rate = total[0][place] / total[1][place]
                low[place], high[place] = wilson(rate * prompts[place], prompts[place])
    found = []
    for place, (won, lost, tied) in enumerate(tallies):
        number = won + lost + tied
        rate = (won + tied / 2) / number if number else None
        ends = [None if math.isnan(end[place]) else float(end[place]) for end in (low, high)]
        found.append(WinRate(battles.candidates[place], won, lost, tied, rate, *ends))
    return found


@dataclass(frozen=True, slots=True)
class SignTest:
    """A sign test over items, each counted once with the majority of its votes.

    Attributes:
        wins: Items whose majority prefers the first candidate.
        losses: Items whose majority prefers the second one.
        ties: Items whose majority is a tie.
        undecided: Items without a majority.
        p_value: The two-sided exact p-value; ties and undecided items are left out.
        rate: The share of wins among items with a winner; None without one.
        low: The lower end of Wilson's interval of that share.
        high: The upper end.
    """

    items: int
    wins: int
    losses: int
    ties: int
    undecided: int
    p_value: float
    rate: float | None
    low: float | None
    high: float | None


def sign_test(votes: Iterable[tuple[Hashable, float]]) -> SignTest:
    """Test whether one candidate is preferred on more items than the other.

    Votes of several raters on an item are not independent, so an item counts once (the exact binomial test
    of W. J. Dixon and A. M. Mood, "The statistical sign test", JASA 41, 1946).

    Args:
        votes: The item of each vote, and what the first candidate gets: 1, 0.5 or 0.
    """
    from scipy.stats import binomtest

    of_item: dict[Hashable, list[float]] = defaultdict(list)
    for item, score in votes:
        of_item[item].append(score)
    outcomes = [majority(scores) for scores in of_item.values()]
    wins, ties, losses = (outcomes.count(score) for score in (1.0, 0.5, 0.0))
    won = wins + losses
    rate = wins / won if won else None
    low, high = wilson(wins, won) if won else (None, None)
    p_value = float(binomtest(wins, won).pvalue) if won else 1.0
    undecided = len(outcomes) - won - ties
    return SignTest(len(outcomes), wins, losses, ties, undecided, p_value, rate, low, high)


def score_of_levels(pooled: Sequence[int]) -> float | None:
    """Return the score of a candidate against a baseline from how often each level was given, in per cent.

    Args:
        pooled: From much better to much worse of the candidate, of shape (5,).
    """
    size = sum(number * weight for number, weight in zip(pooled, _SIZES, strict=True))
    won = sum(number * weight for number, weight in zip(pooled, _WEIGHTS, strict=True))
    return 100 * won / size if size else None


Shown = tuple[Hashable, int, bool]
"""A verdict where it is known who was on which side.

It has the item, the level (0 for much better of the canonical first candidate, to 4 for much better of the
second one), and whether the canonical first candidate was on the left.
"""


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How a judge's or rater's verdicts depend on the side.

    Where one candidate of a pair was always on the left, its wins there may be deserved. So only verdicts on
    pairs of candidates count that met on both sides, and both sides of a pair weigh the same.

    Attributes:
        judgments: Judgments with a winner, on pairs of candidates that met on both sides.
        left: Those for the candidate on the left.
        share_left: The share of these, weighted so that both sides of a pair weigh the same; 0.5 without a
            bias. None without a judgment.
        low: The lower end of Wilson's interval for the effective number of judgments, by how prompts vary.
        high: The upper end.
        p_value: The two-sided p-value of a share of one half. What verdicts say of the side is summed by
            prompt, so that those in two orders count where they changed. Of verdicts in two orders alone the
            exact binomial test where all prompts that lean to a side do so alike, else a sign-flip test; of
            others, and of more than 1,000 such prompts, a t-test. None without a judgment.
        prompts: The prompts of these judgments.
        one_sided: Judgments with a winner that are left out, since their pair met on the same sides only.
        both_orders: Items judged in both orders.
        consistent: Those with the same winner in both; the others changed with the order.
        favours_first: Those in which the side decided: the first candidate shown won in both orders.
        favours_second: Those in which the second one did.
        matrix: How often each level of the first order (rows) came with each of the second (columns), seen
            from the same candidate, from much better to much worse.
    """

    judgments: int
    left: int
    share_left: float | None
    low: float | None
    high: float | None
    p_value: float | None
    prompts: int
    one_sided: int
    both_orders: int
    consistent: int
    favours_first: int
    favours_second: int
    matrix: tuple[tuple[int, ...], ...]


def in_both_orders(judgments: Iterable[Shown]) -> dict[Hashable, tuple[int, int]]:
    """Return the levels of the items that were judged in both orders, the first one in each.

    Returns:
        The level with the canonical first candidate on the left, and that with it on the right, by item.
    """
    orders: dict[Hashable, dict[bool, int]] = defaultdict(dict)
    for item, level, first_left in judgments:
        orders[item].setdefault(first_left, level)
    return {item: (levels[True], levels[False]) for item, levels in orders.items() if len(levels) == 2}


@dataclass(frozen=True, slots=True)
class SideVerdict:
    """A verdict with a winner, and how much it says of the side.

    Attributes:
        left: Whether the candidate on the left won.
        weight: How much it weighs; 0 where its pair of candidates was seen on the same sides only.
        rest: What it says beyond the preference of its pair: above 0 for the left, below 0 for the right.
    """

    item: Hashable
    left: bool
    weight: float
    rest: float


def side_verdicts(judgments: Sequence[Shown], items: Mapping[Hashable, Pairing]) -> list[SideVerdict]:
    """Return a rater's verdicts with a winner, weighted so that both sides of each pair weigh the same.

    An item in both orders weighs 1 in each; which of the two is better cancels. Of the others, both sides of
    a pair weigh the same together, however often each was shown, and what the pair's own preference explains
    is left out of the rest.
    """
    twice = in_both_orders(judgments)
    found: list[SideVerdict] = []
    once: dict[tuple[str, str], list[tuple[Hashable, bool, bool]]] = defaultdict(list)
    for item, level, first_left in judgments:
        if winner := _winner(level):
            left_won = (winner < 0) == first_left
            if item in twice:
                found.append(SideVerdict(item, left_won, 1.0, left_won - 0.5))
            else:
                one, other = items[item].first, items[item].second
                in_order = one < other
                names = (one, other) if in_order else (other, one)
                once[names].append((item, left_won, first_left == in_order))
    for verdicts in once.values():
        number = len(verdicts)
        shown = Counter(lower_left for *_, lower_left in verdicts)
        won = Counter(lower_left for _, left_won, lower_left in verdicts if left_won)
        if len(shown) < 2:
            found += [SideVerdict(item, left_won, 0.0, 0.0) for item, left_won, _ in verdicts]
            continue
        # How often the lower name wins: the mean of both sides.
        preferred = (won[True] / shown[True] + 1 - won[False] / shown[False]) / 2
        for item, left_won, lower_left in verdicts:
            here, there = shown[lower_left], shown[not lower_left]
            weight = 2 * there / number
            rest = left_won - (preferred if lower_left else 1 - preferred)
            # The estimate is of these verdicts, too, so that the rest of them is too small.
            rest /= math.sqrt(1 - 0.75 / here + 0.25 / there)
            found.append(SideVerdict(item, left_won, weight, weight * rest))
    return found


def position_bias(judgments: Sequence[Shown], items: Mapping[Hashable, Pairing]) -> PositionBias:
    """Measure how a rater's verdicts depend on the side on which a candidate was shown."""
    every = side_verdicts(judgments, items)
    counted = [one for one in every if one.weight]
    of_prompt: dict[Hashable, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for one in counted:
        sums = of_prompt[items[one.item].prompt]
        sums[0] += one.weight * one.left
        sums[1] += one.weight
        sums[2] += one.rest
    matrix = [[0] * LEVELS for _ in range(LEVELS)]
    consistent = favours_first = favours_second = both = 0
    for first, second in in_both_orders(judgments).values():
        both += 1
        matrix[first][second] += 1
        consistent += _winner(first) == _winner(second)
        favours_first += _winner(first) < 0 < _winner(second)
        favours_second += _winner(second) < 0 < _winner(first)
    rate, low, high, p_value = _left_share(list(of_prompt.values()))
    return PositionBias(
        judgments=len(counted),
        left=sum(one.left for one in counted),
        share_left=rate,
        low=low,
        high=high,
        p_value=p_value,
        prompts=len(of_prompt),
        one_sided=len(every) - len(counted),
        both_orders=both,
        consistent=consistent,
        favours_first=favours_first,
        favours_second=favours_second,
        matrix=tuple(map(tuple, matrix)),
    )


def _left_share(
    prompts: Sequence[Sequence[float]],
) -> tuple[float | None, float | None, float | None, float | None]:
    """Return the share of judgments for the left, its interval, and the p-value of one half.

    Args:
        prompts: Of each prompt the weight of the judgments for the left, that of all, and the sum of what
            they say of the side (see `SideVerdict.rest`).
    """
    import numpy
    from scipy.stats import t

    if not prompts:
        return None, None, None, None
    left, whole, rest = numpy.array(prompts).T
    rate, number = float(left.sum() / whole.sum()), len(prompts)

    def variance(deviations: Array) -> float:
        return float((deviations**2).sum() / whole.sum() ** 2) * number / max(number - 1, 1)

    leaning = rest[abs(rest) > _ROUNDING]
    in_two_orders = numpy.allclose(rest, left - whole / 2)
    if in_two_orders and numpy.allclose(abs(leaning), abs(leaning[:1])):
        p_value = mcnemar_exact(int((leaning > 0).sum()), int((leaning < 0).sum()))
    elif in_two_orders and len(leaning) <= _MOST_FLIPPED:
        p_value = sign_flip(leaning).p_value
    elif number > 1 and len(leaning):
        p_value = float(2 * t.sf(abs(rate - 0.5) / math.sqrt(variance(rest)), number - 1))
    else:
        p_value = 1.0
    if number < LEAST_CLUSTERS:
        return rate, None, None, p_value
    return rate, *wilson_effective(rate, variance(rest - (rate - 0.5) * whole), number), p_value


def _winner(level: int) -> int:
    """Return -1 for the first candidate, 1 for the second, 0 for a tie."""
    middle = LEVELS // 2
    return (level > middle) - (level < middle)


@dataclass(frozen=True, slots=True)
class LengthBias:
    """How far longer texts are preferred.

    Attributes:
        rate: The win rate of the longer text, ties as half, over battles of different lengths.
        thirds: The same by thirds of the relative difference of lengths, the smallest differences first;
            None for a third without battles.
        battles: The battles in each third.
        controlled: The win rate of the first candidate at equal lengths: by a logistic regression on the
            difference of lengths, tanh of its standard score, as in length-controlled AlpacaEval without
            its terms for prompts. None where it has no maximum.
        raw: The win rate of the first candidate, over all battles.
    """

    rate: float | None
    thirds: tuple[float | None, ...]
    battles: tuple[int, ...]
    controlled: float | None
    raw: float | None


def length_bias(scores: Sequence[float], first: Sequence[int], second: Sequence[int]) -> LengthBias:
    """Measure how preference depends on length (Y. Dubois et al., "Length-Controlled AlpacaEval", 2024).

    Args:
        scores: What the first candidate gets in each of n battles: 1, 0.5 or 0.
        first: The length of its text in each, such as in characters.
        second: The length of the other one's.
    """
    import numpy

    score = numpy.asarray(scores, dtype=float)
    a, b = numpy.asarray(first, dtype=float), numpy.asarray(second, dtype=float)
    differ = a != b
    longer = numpy.where(a > b, score, 1 - score)[differ]
    relative = (numpy.abs(a - b) / numpy.maximum(numpy.maximum(a, b), 1))[differ]
    order = numpy.argsort(relative, kind="stable")
    parts = numpy.array_split(longer[order], 3)
    return LengthBias(
        float(longer.mean()) if len(longer) else None,
        tuple(float(part.mean()) if len(part) else None for part in parts),
        tuple(len(part) for part in parts),
        _at_equal_length(score, a - b),
        float(score.mean()) if len(score) else None,
    )


def _at_equal_length(score: Array, difference: Array) -> float | None:
    """Return the win rate at no difference, by a logistic regression; None where it has no maximum."""
    import numpy

    deviation = difference.std() if len(difference) else 0.0
    if not deviation:
        return float(score.mean()) if len(score) and 0 < score.mean() < 1 else None
    design = numpy.column_stack([numpy.ones(len(score)), numpy.tanh(difference / deviation)])
    weights = numpy.zeros(2)
    for _ in range(100):
        chance = 1 / (1 + numpy.exp(-design @ weights))
        hessian = design.T @ (design * (chance * (1 - chance))[:, None])
        try:
            step = numpy.linalg.solve(hessian, design.T @ (score - chance))
        except numpy.linalg.LinAlgError:
            return None
        weights = weights + step
        if numpy.abs(weights).max() > 30:
            # The scores are separable, and the weights grow without end.
            return None
        if numpy.abs(step).max() < 1e-10:
            return float(1 / (1 + math.exp(-weights[0])))
    return None


def few_prompts(battles: Battles) -> str:
    """Return the warning where there are too few prompts for a bootstrap; empty otherwise."""
    prompts = len(set(battles.prompt.tolist()))
    if prompts >= FEW_CLUSTERS:
        return ""
    return f"only {pluralize(prompts, 'prompt')}, and under {FEW_CLUSTERS} intervals are too narrow"
