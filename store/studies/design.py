"""The design of a study: who meets which items, under which conditions, in which order.

The design follows from its input and a seed alone, and is the same on every machine. Each part of it has a
random generator of its own (see `derived_random`), named `raters`, `items`, `conditions` and `gold` for what
concerns all raters, and `order:RATER`, `repeats:RATER`, `mixing:RATER` and `reveal:RATER` for what concerns
one: so the order of one rater does not depend on that of another.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from store.errors import WorkbenchError
from store.formatting import pluralize
from store.policy.scope import LABEL, REPEAT, REVEAL, TRAIN
from store.policy.words import BLIND, condition_of
from store.studies.allocation import derived_random, share_items, shuffled, spread_conditions

Key = str | int
"""What an item is known by."""
RaterName = str | int
"""What a rater is known by: a name or a number."""


@dataclass(frozen=True, slots=True)
class StudyItem:
    """An item of a study.

    Attributes:
        stratum: Its stratum in the sample; None without strata.
    """

    key: Key
    stratum: str | None = None


@dataclass(frozen=True, slots=True)
class PlannedAssignment:
    """One presentation of an item to a rater.

    Attributes:
        item: The key of the item.
        phase: `train`, `label`, `repeat` or `reveal`.
        condition: What the rater gets to see, as in an assignment.
        position: Its place in the rater's whole list, from 1.
        block: The number of its block of conditions, from 1; None outside the study's own items in the phase
            `label`.
        gold: Whether the right answer is known, and the rater is scored by it.
    """

    item: Key
    phase: str
    condition: str
    position: int
    block: int | None = None
    gold: bool = False


StudyDesign = Mapping[RaterName, Sequence[PlannedAssignment]]
"""The assignments of every rater, in order."""


def design_study(
    items: Sequence[StudyItem],
    raters: Sequence[RaterName],
    *,
    overlap: int | None = None,
    conditions: Sequence[str] = (BLIND,),
    block_size: int | None = None,
    repeats: int = 0,
    repeat_distance: float = 0.25,
    gold: Sequence[Key] = (),
    training: Sequence[Key] = (),
    reveal: str | None = None,
    seed: int = 0,
) -> dict[RaterName, tuple[PlannedAssignment, ...]]:
    """Return the assignments of every rater in a study.

    Every item goes to exactly `overlap` raters. The items of any two raters differ in number by at most one,
    and so do the items that pairs of raters share, where `share_items` promises it: an overlap of 2 of 5
    raters over 400 items gives each rater 160 items and each pair 40, one of 3 of 3 gives all to everyone.
    Items of a stratum are dealt one after the other, so that every rater gets about the same share of each,
    and each condition about as often.

    Conditions are random, and occur equally often, within one, in the items of each rater and among the
    raters of each item. With as many conditions as raters of an item no two of these share a condition, so
    that there is no agreement within one. A rater's list is made of blocks in which each condition occurs
    equally often; the last one may be shorter. No rater meets an item in two conditions, reveal aside.

    A rater's list starts with the training items, in the order given, the conditions in turn. Then come the
    rater's items in random order. Gold items are mixed in, one in each of as many equal stretches; every
    rater meets all of them, their conditions balanced like those of items. Repeats come in the condition of
    the first presentation, and are spread over conditions as evenly as the distance allows. With `reveal`,
    the rater's items and gold items come once more after all that, in a random order of their own.

    Args:
        items: The items in the order of the sample.
        raters: The raters.
        overlap: How many raters each item has; None for all of them.
        conditions: The conditions, each of words apart by blanks, such as `blind tests`.
        block_size: The size of a block, a multiple of the number of conditions; None for that number itself.
        repeats: How many items each rater meets again.
        repeat_distance: How far after its first presentation an item may be repeated, as a share of the
            rater's items: of 100 items and 0.25, the positions are at least 25 apart.
        gold: Keys of items whose right answer is known. They are no items of the study otherwise.
        training: Keys of items to practise on. They are no items of the study otherwise.
        reveal: The condition in which all items come again at the end; None for no reveal.
        seed: The seed of all that is random.

    Raises:
        WorkbenchError: There is no such study; it says why.
    """
    overlap = len(raters) if overlap is None else overlap
    block_size = len(conditions) if block_size is None else block_size
    _check_names(items, raters, gold, training)
    _check_conditions(conditions, block_size, reveal)
    _check_numbers(len(items), len(raters), overlap, repeats, repeat_distance)
    own = _deal(items, raters, overlap, conditions, seed)
    every_gold = [(rater, key) for key in gold for rater in raters]
    own_gold = _by_rater(every_gold, raters, conditions, seed, "gold")
    design = {}
    for rater in raters:
        blocks = _blocks(own[rater], conditions, block_size, seed, rater)
        again = _choose_repeats(blocks, repeats, repeat_distance, seed, rater)
        gold_items = [
            PlannedAssignment(key, LABEL, condition, 0, gold=True) for key, condition in own_gold[rater]
        ]
        practice = (
            PlannedAssignment(key, TRAIN, conditions[n % len(conditions)], 0)
            for n, key in enumerate(training)
        )
        revealed = [] if reveal is None else [*blocks, *gold_items]
        planned = [
            *practice,
            *_mix(blocks, again, gold_items, seed, rater),
            *(
                PlannedAssignment(one.item, REVEAL, reveal or "", 0, gold=one.gold)
                for one in shuffled(revealed, derived_random(seed, "reveal", rater))
            ),
        ]
        design[rater] = tuple(replace(one, position=place) for place, one in enumerate(planned, 1))
    return design


def _deal(
    items: Sequence[StudyItem],
    raters: Sequence[RaterName],
    overlap: int,
    conditions: Sequence[str],
    seed: int,
) -> dict[RaterName, list[tuple[Key, str]]]:
    """Return the items of each rater with their conditions."""
    numbered = shuffled(raters, derived_random(seed, "raters"))
    strata = list(dict.fromkeys(item.stratum for item in items))
    place = {stratum: number for number, stratum in enumerate(strata)}
    generator = derived_random(seed, "items")
    dealt = sorted(shuffled(items, generator), key=lambda item: place[item.stratum])
    ratings = [
        (numbered[number], item.key)
        for item, team in zip(dealt, share_items(len(raters), overlap, len(items)), strict=True)
        for number in shuffled(team, generator)
    ]
    return _by_rater(ratings, raters, conditions, seed, "conditions")


def _by_rater(
    ratings: Sequence[tuple[RaterName, Key]],
    raters: Sequence[RaterName],
    conditions: Sequence[str],
    seed: int,
    name: str,
) -> dict[RaterName, list[tuple[Key, str]]]:
    """Give each rating a condition, and return the ratings of each rater."""
    generator = derived_random(seed, name)
    rater_number = {rater: number for number, rater in enumerate(raters)}
    item_number = {key: number for number, key in enumerate(dict.fromkeys(key for _, key in ratings))}
    numbers = [(rater_number[rater], item_number[key]) for rater, key in ratings]
    found: dict[RaterName, list[tuple[Key, str]]] = {rater: [] for rater in raters}
    for (rater, key), number in zip(
        ratings, spread_conditions(numbers, len(conditions), generator), strict=True
    ):
        found[rater].append((key, conditions[number]))
    return found


def _blocks(
    own: Iterable[tuple[Key, str]], conditions: Sequence[str], size: int, seed: int, rater: RaterName
) -> list[PlannedAssignment]:
    """Return a rater's items in random order, in blocks in which each condition occurs equally often."""
    generator = derived_random(seed, "order", rater)
    waiting: dict[str, list[Key]] = {condition: [] for condition in conditions}
    for key, condition in shuffled(own, generator):
        waiting[condition].append(key)
    share, found, number = size // len(conditions), [], 0
    while any(waiting.values()):
        number += 1
        block = []
        for condition, keys in waiting.items():
            block += [PlannedAssignment(key, LABEL, condition, 0, number) for key in keys[:share]]
            del keys[:share]
        found += shuffled(block, generator)
    return found


def _choose_repeats(
    first: Sequence[PlannedAssignment], number: int, distance: float, seed: int, rater: RaterName
) -> list[tuple[int, int]]:
    """Choose the items that a rater meets again.

    Returns:
        For each the place of its first presentation, and that of the item before which it comes again: at
        least the distance later, or the end.
    """
    if not number:
        return []
    generator = derived_random(seed, "repeats", rater)
    apart = _apart(len(first), distance)
    early = len(first) - apart + 1
    turn: Counter[str] = Counter()
    turns = {}
    for place in shuffled(range(early), generator):
        turns[place] = turn[first[place].condition]
        turn[first[place].condition] += 1
    # Those after `early` are needed only where nearly all are repeated: then all wait for the end, where the
    # repeats that come before them, in the order of first presentations, make up for the distance.
    chosen = [*sorted(turns, key=turns.__getitem__), *range(early, len(first))][:number]
    return sorted(
        (place, min(len(first), place + apart + int(generator.random() * (early - place))))
        for place in chosen
    )


def _apart(items: int, distance: float) -> int:
    """Return the least difference of positions between an item and its repeat."""
    return max(1, math.ceil(Fraction(str(distance)) * items))


def _mix(
    blocks: Sequence[PlannedAssignment],
    again: Sequence[tuple[int, int]],
    gold: Sequence[PlannedAssignment],
    seed: int,
    rater: RaterName,
) -> Iterator[PlannedAssignment]:
    """Yield a rater's items with repeats and gold items among them."""
    generator = derived_random(seed, "mixing", rater)
    before: dict[int, list[PlannedAssignment]] = defaultdict(list)
    for number, one in enumerate(shuffled(gold, generator)):
        before[int((number + generator.random()) * len(blocks) / len(gold))].append(one)
    for place, later in again:
        before[later].append(replace(blocks[place], phase=REPEAT, block=None))
    for place, one in enumerate(blocks):
        yield from before[place]
        yield one
    yield from before[len(blocks)]


def _check_names(
    items: Sequence[StudyItem], raters: Sequence[RaterName], gold: Sequence[Key], training: Sequence[Key]
) -> None:
    if not items and not training:
        raise WorkbenchError(
            "No items", "A study needs items to judge.", "Choose some items, or import some."
        )
    if not raters:
        raise WorkbenchError("No raters", "A study needs raters.", "Name at least one.")
    keys = [item.key for item in items]
    _refuse_twice("items", "Give each item once, as an item, as gold or for training.", keys, gold, training)
    # As text, of which the seeds of their orders are made.
    _refuse_twice("raters", "Give each rater once, under a name of their own.", map(str, raters))


def _refuse_twice(what: str, hint: str, *names: Iterable[Key]) -> None:
    twice = [name for name, count in Counter(name for some in names for name in some).items() if count > 1]
    if twice:
        some = ", ".join(map(str, twice[:5])) + (f" and {len(twice) - 5:,} more" if len(twice) > 5 else "")
        raise WorkbenchError(f"Duplicate {what}", f"Given more than once: {some}.", hint)


def _check_conditions(conditions: Sequence[str], block_size: int, reveal: str | None) -> None:
    every = [*conditions, *([] if reveal is None else [reveal])]
    if not conditions or not all(map(str.strip, every)):
        raise WorkbenchError(
            "No condition", "A study needs conditions, each with a name.", "Name one, such as: blind"
        )
    different = {*map(condition_of, conditions)}
    if len(different) < len(conditions):
        raise WorkbenchError(
            "Duplicate conditions",
            f"Two of these are the same: {', '.join(conditions)}.",
            "Give each condition once; the order of its words does not matter.",
        )
    if reveal is not None and condition_of(reveal) in different:
        raise WorkbenchError(
            "Nothing to reveal",
            f"Items in the condition {reveal!r} would come again in the same one.",
            "Leave it out of the conditions, or do without the reveal.",
        )
    if block_size < 1 or block_size % len(conditions):
        raise WorkbenchError(
            "Uneven blocks",
            f"A block of {block_size:,} cannot hold {pluralize(len(conditions), 'condition')} equally often.",
            f"Give a multiple of {len(conditions):,}.",
        )


def _check_numbers(items: int, raters: int, overlap: int, repeats: int, distance: float) -> None:
    if not 1 <= overlap <= raters:
        raise WorkbenchError(
            "Impossible overlap",
            f"Each item was to have {pluralize(overlap, 'rater')}, and the study has {raters:,}.",
            f"Give an overlap from 1 to {raters:,}.",
        )
    fewest = items * overlap // raters
    if not 0 <= repeats <= fewest:
        raise WorkbenchError(
            "Impossible repeats",
            f"Each rater was to meet {pluralize(repeats, 'item')} again, and some have {fewest:,}.",
            f"Give a number from 0 to {fewest:,}.",
        )
    if not 0 < distance <= 1:
        raise WorkbenchError(
            "Impossible distance",
            f"A repeat cannot come after {distance:g} times a rater's items.",
            "Give a share above 0, up to 1; a quarter is 0.25.",
        )


@dataclass(frozen=True, slots=True)
class RaterBalance:
    """What one rater has to do in a study.

    Attributes:
        items: How many items of the study they meet; gold and training items are not counted.
        by_condition: How many of these in each condition.
        repeats: How many of these they meet again, hidden.
        gold: How many gold items they meet.
        training: How many items they practise on.
    """

    rater: RaterName
    items: int
    by_condition: dict[str, int]
    repeats: int
    gold: int
    training: int


@dataclass(frozen=True, slots=True)
class StudyBalance:
    """How evenly a study is spread.

    Attributes:
        raters: What each rater has to do.
        least_shared: The items that the pair of raters with the fewest in common share; None for one rater.
        most_shared: The items that the pair with the most in common share; None for one rater.
        by_raters: How many items have how many raters.
    """

    raters: tuple[RaterBalance, ...]
    least_shared: int | None
    most_shared: int | None
    by_raters: dict[int, int]


def balance(design: StudyDesign) -> StudyBalance:
    """Return how evenly a study is spread."""
    first = {rater: [one for one in own if one.block is not None] for rater, own in design.items()}
    items = {rater: {one.item for one in own} for rater, own in first.items()}
    conditions = sorted({one.condition for own in first.values() for one in own})
    shared = [len(items[a] & items[b]) for a, b in combinations(items, 2)]
    counts = Counter(Counter(key for own in items.values() for key in own).values())
    rows = []
    for rater, own in design.items():
        phases = Counter(one.phase for one in own)
        met = Counter(one.condition for one in first[rater])
        rows.append(
            RaterBalance(
                rater,
                len(first[rater]),
                {condition: met[condition] for condition in conditions},
                phases[REPEAT],
                sum(one.gold and one.phase == LABEL for one in own),
                phases[TRAIN],
            )
        )
    return StudyBalance(
        tuple(rows), min(shared, default=None), max(shared, default=None), dict(sorted(counts.items()))
    )
