"""Online Elo ratings, which depend on the order of battles, and their range over shuffled orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from store.measures.battles import Battles

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

MOST_UPDATES = 20_000
"""Battles beyond which no shuffled orders are rated: each takes one step for every battle."""


@dataclass(frozen=True, slots=True)
class Elo:
    """Online Elo ratings.

    Attributes:
        values: Of each candidate in order, after the battles in theirs.
        low: The lowest rating of each over shuffled orders; empty without these.
        high: The highest.
        shuffles: How many shuffled orders were rated.
    """

    values: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    shuffles: int = 0


def elo(
    battles: Battles,
    *,
    k: float = 4.0,
    start: float = 1000.0,
    scale: float = 400.0,
    shuffles: int = 1000,
    seed: int = 0,
) -> Elo:
    """Return online Elo ratings: after each battle a candidate gains k times what it got beyond expectation.

    The expectation is 1 / (1 + 10 ** ((other - own) / scale)). Both kinds of ties are half a win.

    Args:
        battles: The battles, in the order in which they were fought.
        k: How far one battle moves a rating.
        start: The rating of a candidate before its first battle.
        scale: The difference of ratings at which the better one is expected to win ten of eleven.
        shuffles: How many random orders are rated besides; none beyond `MOST_UPDATES` battles.
        seed: The seed of these orders.
    """
    import numpy

    number = len(battles)
    shuffles = 0 if number > MOST_UPDATES else shuffles
    if not shuffles:
        return Elo(elo_after(battles, [number], k=k, start=start, scale=scale)[0])
    random = numpy.random.default_rng(seed)
    orders = numpy.empty((shuffles + 1, number), dtype=numpy.int32)
    orders[0] = numpy.arange(number)
    for place in range(1, shuffles + 1):
        orders[place] = random.permutation(number)
    rating = numpy.full((shuffles + 1, len(battles.candidates)), float(start))
    every = numpy.arange(shuffles + 1)
    for at in range(number):
        now = orders[:, at]
        first, second = battles.first[now], battles.second[now]
        expected = 1 / (1 + 10 ** ((rating[every, second] - rating[every, first]) / scale))
        gain = k * (battles.score[now] - expected)
        rating[every, first] += gain
        rating[every, second] -= gain
    values = tuple(rating[0].tolist())
    low, high = rating[1:].min(axis=0), rating[1:].max(axis=0)
    return Elo(values, tuple(low.tolist()), tuple(high.tolist()), shuffles)


def elo_after(
    battles: Battles, numbers: Sequence[int], *, k: float = 4.0, start: float = 1000.0, scale: float = 400.0
) -> list[tuple[float, ...]]:
    """Return the online Elo ratings of each candidate after so many battles (see `elo`).

    Args:
        battles: The battles, in the order in which they were fought.
        numbers: After how many of them, rising.
        k: How far one battle moves a rating.
        start: The rating of a candidate before its first battle.
        scale: The difference of ratings at which the better one is expected to win ten of eleven.
    """
    rating = [float(start)] * len(battles.candidates)
    fought = zip(battles.first.tolist(), battles.second.tolist(), battles.score.tolist(), strict=True)
    found, done = [], 0
    for number in numbers:
        for first, second, score in islice(fought, number - done):
            gain = k * (score - 1 / (1 + 10 ** ((rating[second] - rating[first]) / scale)))
            rating[first] += gain
            rating[second] -= gain
        done = number
        found.append(tuple(rating))
    return found
