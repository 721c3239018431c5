"""The sides of comparisons in a study: which candidate is on the left, for whom.

Each rater sees the candidates of a set on the left exactly as often as on the right, or once more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from random import Random

from store.policy.scope import LABEL, TRAIN
from store.studies.allocation import derived_random, shuffled
from store.studies.design import Key, RaterName, StudyDesign

_BLOCK = 4
"""Comparisons of a block, half of which have the candidate of each set on the left."""


def draw_sides(
    design: StudyDesign, named: Mapping[Key, tuple[str, str]], seed: int
) -> dict[tuple[RaterName, Key], bool]:
    """Return whether the second candidate is on the left, for each rater and comparison.

    Sides are drawn in permuted blocks, in the order of a rater's list, within the comparisons of one pair of
    sets: of these, one set is on the left as often as the other, or once more. So it is among the items that
    are practised on, among gold items, and among the others. An item that comes again keeps its sides.

    Args:
        design: The assignments of every rater.
        named: The names of the sets of both candidates of each comparison, in canonical order.
        seed: The study's seed.
    """
    found: dict[tuple[RaterName, Key], bool] = {}
    for rater, own in design.items():
        parts: dict[tuple[str, str, str, bool], dict[Key, None]] = defaultdict(dict)
        for one in own:
            if one.phase in (TRAIN, LABEL):
                low, high = sorted(named[one.item])
                parts[low, high, one.phase, one.gold][one.item] = None
        for part, items in parts.items():
            left = _blocks(len(items), derived_random(seed, "sides", rater, *part))
            # What is drawn is the set on the left. It is found by an item, not by its name: were both names
            # exchanged, raters would see the very same.
            of_one = named[next(iter(items))][0]
            for item, one_left in zip(items, left, strict=True):
                found[rater, item] = one_left != (named[item][0] == of_one)
    return found


def _blocks(number: int, generator: Random) -> list[bool]:
    """Return whether the first set of a pair is on the left, so many times, in permuted blocks."""
    found: list[bool] = []
    while len(found) < number:
        size = min(_BLOCK, number - len(found))
        here = size // 2 + (size % 2 and int(generator.random() * 2))
        found += shuffled([place < here for place in range(size)], generator)
    return found
