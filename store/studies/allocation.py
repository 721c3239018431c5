"""Allocation of items to raters and of conditions to ratings, each as evenly as it can be.

Both work on numbers, know no names and touch no database. `store.studies.design` uses them.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb
from typing import TypeVar

_T = TypeVar("_T")

_STEPS = 20_000
"""Exchanges that are tried before shared items stay as uneven as they are."""
_MOST_IN_ROUND = 1_000
"""The most combinations that are dealt in whole rounds; to put them in order takes their square."""


def derived_random(seed: int, *names: object) -> random.Random:
    """Return the generator for one purpose of a study.

    Its seed is the SHA-256 of the study's seed and the names, joined by colons, as a big-endian number. Only
    its `random()` may be used: Python promises the same numbers in every version for that method alone.

    Args:
        seed: The study's seed.
        names: What the generator is for, and whom.
    """
    text = ":".join(map(str, (seed, *names)))
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big"))


def shuffled(values: Iterable[_T], generator: random.Random) -> list[_T]:
    """Return values in random order."""
    return sorted(values, key=lambda _: generator.random())


def share_items(raters: int, overlap: int, items: int) -> list[tuple[int, ...]]:
    """Return the raters of each item, so that loads and shared items are even.

    All combinations of raters take turns, in a fixed order that keeps loads even. The items that are left
    over go to the raters with the fewest items, and then raters of two such items are exchanged, which
    leaves loads alone, until pairs of raters share about equally many items.

    Every item has `overlap` different raters, and loads differ by at most one, always. Shared items differ by
    at most one over all pairs of raters

    - for an overlap of one or of all raters: always;
    - where the items are a multiple of the combinations, of which there are at most 1,000: always;
    - for an overlap of two: for up to 12 raters;
    - for up to 10 raters: wherever that is possible (see `can_be_even`), for 8 to 10 from 15 items on;
    - for more raters: mostly. Overlaps of 5 of 30 raters over 10,000 items were seen to differ by three.

    Where it is not possible, they differ by two or three for up to 10 raters.

    Args:
        raters: How many raters there are.
        overlap: How many of them rate each item.
        items: How many items there are.

    Returns:
        The numbers of the raters of each item, rising. They depend on the three numbers alone.
    """
    whole: list[tuple[int, ...]] = []
    if comb(raters, overlap) <= min(items, _MOST_IN_ROUND):
        whole = _even_order(raters, combinations(range(raters), overlap))
    rounds, left = divmod(items, len(whole)) if whole else (0, items)
    rest, even = _search(raters, overlap, _greedy(raters, overlap, left))
    if rounds and not even and can_be_even(raters, overlap, items):
        # Too few items are left over: what they cannot do they can together with a whole round.
        rest, _ = _search(raters, overlap, [*whole, *_greedy(raters, overlap, left)])
        rounds -= 1
    return [*whole * rounds, *(_even_order(raters, rest) if len(rest) <= 2 * _MOST_IN_ROUND else rest)]


def can_be_even(raters: int, overlap: int, items: int) -> bool:
    """Return whether shared items may differ by at most one over all pairs of raters, with even loads.

    Then the pairs that share the one item more are the edges of a graph, whose degrees follow from the loads.
    There is no such graph if these fail the test of Erdős and Gallai (1960), as for an overlap of 3 of 5
    raters over 13 items. That there is one is necessary, not sufficient: three items cannot go to 4 of 8.
    """
    shared = items * comb(overlap, 2) // max(comb(raters, 2), 1)
    load, higher = divmod(items * overlap, raters)
    loads = [load + 1] * higher + [load] * (raters - higher)
    degrees = [one * (overlap - 1) - shared * (raters - 1) for one in loads]
    return degrees[-1] >= 0 and all(
        sum(degrees[:n]) <= n * (n - 1) + sum(min(n, one) for one in degrees[n:])
        for n in range(1, raters + 1)
    )


def _even_order(raters: int, teams: Iterable[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return teams in an order in which each next one is of the raters with the fewest items so far."""
    load, left, found = [0] * raters, list(teams), []
    while left:
        found.append(min(left, key=lambda team: sum(load[rater] for rater in team)))
        left.remove(found[-1])
        for rater in found[-1]:
            load[rater] += 1
    return found


def _greedy(raters: int, overlap: int, items: int) -> list[tuple[int, ...]]:
    """Return teams of the raters with the fewest items, of these the ones that share the fewest."""
    generator = derived_random(0, "teams")
    load, shared, found = [0] * raters, [[0] * raters for _ in range(raters)], []
    for _ in range(items):
        team: list[int] = []
        for _ in range(overlap):
            others = (rater for rater in range(raters) if rater not in team)
            team.append(
                min(others, key=lambda a: (load[a], sum(shared[a][b] for b in team), generator.random()))
            )
        for rater in team:
            load[rater] += 1
            for other in team:
                shared[rater][other] += 1
        found.append(tuple(team))
    return found


def _search(raters: int, overlap: int, given: list[tuple[int, ...]]) -> tuple[list[tuple[int, ...]], bool]:
    """Exchange raters of two items until shared items differ by at most one.

    An exchange that does not raise the sum of the squared numbers of shared items is made: that sum is lowest
    when they are even.

    Returns:
        The raters of each item, and whether shared items are even.
    """
    generator = derived_random(0, "exchanges")
    teams = [set(team) for team in given]
    shared = [[0] * raters for _ in range(raters)]
    for team in teams:
        for a in team:
            for b in team - {a}:
                shared[a][b] += 1
    least, more = divmod(len(teams) * comb(overlap, 2), max(comb(raters, 2), 1))
    excess = sum(shared[a][b] ** 2 for a, b in combinations(range(raters), 2))
    excess -= comb(raters, 2) * least**2 + more * (2 * least + 1)
    for _ in range(_STEPS if can_be_even(raters, overlap, len(teams)) else _STEPS // 10):
        if not excess:
            break
        first, second = (teams[int(generator.random() * len(teams))] for _ in range(2))
        if first == second:
            continue
        a = _any(sorted(first - second), generator)
        b = _any(sorted(second - first), generator)
        left, joined = first - second - {a}, second - first - {b}
        # Rater a goes from `left` to `joined`, and b the other way.
        change = sum(2 * (shared[b][c] - shared[a][c] + 1) for c in left)
        change += sum(2 * (shared[a][c] - shared[b][c] + 1) for c in joined)
        if change > 0:
            continue
        excess += change
        for others, gone, come in ((left, a, b), (joined, b, a)):
            for c in others:
                for rater, step in ((gone, -1), (come, 1)):
                    shared[rater][c] += step
                    shared[c][rater] += step
        first ^= {a, b}
        second ^= {a, b}
    return [tuple(sorted(team)) for team in teams], not excess


def spread_conditions(
    ratings: Sequence[tuple[int, int]], conditions: int, generator: random.Random
) -> list[int]:
    """Return the condition of each rating, random and balanced for raters and for items at once.

    A rater's ratings, in the order given, fall into groups of as many as there are conditions, and so do an
    item's. Each full group gets every condition once, and the last one no condition twice. That is an edge
    colouring of a bipartite graph, which always exists (Kőnig 1916): where the two ends of an edge have no
    colour in common, colours are swapped along the path that stands in the way.

    Args:
        ratings: The rater and the item of each, as numbers.
        conditions: How many conditions there are.
        generator: The source of random numbers.

    Returns:
        Numbers from 0. Those of a rater, and those of an item, differ in how often they occur by at most one;
        so they do over every part of a rater's ratings that is made of whole groups.
    """
    seen: Counter[tuple[str, int]] = Counter()
    ends: list[tuple[tuple[str, int, int], tuple[str, int, int]]] = []
    for rater, item in ratings:
        groups = seen["rater", rater] // conditions, seen["item", item] // conditions
        ends.append((("rater", rater, groups[0]), ("item", item, groups[1])))
        seen["rater", rater] += 1
        seen["item", item] += 1
    found = [0] * len(ends)
    # The rating of each condition in each group.
    held: dict[tuple[str, int, int], dict[int, int]] = defaultdict(dict)
    for rating, (rater_group, item_group) in enumerate(ends):
        free = [[c for c in range(conditions) if c not in held[group]] for group in (rater_group, item_group)]
        common = [c for c in free[0] if c in free[1]]
        chosen = _any(common or free[0], generator)
        if not common:
            other, path, group = _any(free[1], generator), [], item_group
            wanted = chosen
            while wanted in held[group]:
                path.append(held[group][wanted])
                rater_end, item_end = ends[path[-1]]
                group = item_end if group == rater_end else rater_end
                wanted = other if wanted == chosen else chosen
            for one in path:
                for group in ends[one]:
                    del held[group][found[one]]
            for one in path:
                found[one] = other if found[one] == chosen else chosen
                for group in ends[one]:
                    held[group][found[one]] = one
        found[rating] = chosen
        held[rater_group][chosen] = held[item_group][chosen] = rating
    return found


def _any(values: Sequence[int], generator: random.Random) -> int:
    return values[int(generator.random() * len(values))]
