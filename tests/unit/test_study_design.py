import random
from collections import Counter
from dataclasses import asdict
from itertools import combinations
from math import comb

import numpy
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from store.errors import WorkbenchError
from store.studies.allocation import can_be_even, derived_random, share_items, spread_conditions
from store.studies.design import StudyItem, balance, design_study

NAMES = ("ana", "ben", "chi", "dana", "eli", "fay", "gus")
CONDITIONS = ("blind", "blind tests", "revealed tests")


def spread(counts):
    counts = list(counts)
    return max(counts) - min(counts) if counts else 0


def of(keys, values):
    """Count values, those that do not occur too."""
    counted = Counter(values)
    assert not counted.keys() - set(keys)
    return [counted[key] for key in keys]


def drawn_study(number):
    """Return the input of a study that is random in every respect."""
    rng = random.Random(number)
    raters = NAMES[: rng.randint(1, 7)]
    overlap = rng.randint(1, len(raters))
    conditions = CONDITIONS[: rng.randint(1, 3)]
    strata = [None, *"xyz"][: rng.randint(1, 4)]
    items = [
        StudyItem(f"p{n}", rng.choice(strata))
        for n in range(rng.choice((1, 2, 7, 30, 60, rng.randint(1, 90))))
    ]
    most = len(items) * overlap // len(raters)
    return {
        "items": items,
        "raters": raters,
        "overlap": overlap,
        "conditions": conditions,
        "block_size": len(conditions) * rng.randint(1, 4),
        "repeats": rng.choice((0, most // 10, most // 2, most)),
        "repeat_distance": rng.choice((0.25, 0.1, 0.5, 1)),
        "gold": [f"g{n}" for n in range(rng.randint(0, 5))],
        "training": [f"t{n}" for n in range(rng.randint(0, 4))],
        "reveal": rng.choice((None, "revealed")),
        "seed": number,
    }


@pytest.mark.parametrize("tenth", range(10))
def test_a_thousand_studies_keep_every_promise(tenth):
    for number in range(tenth * 100, tenth * 100 + 100):
        study = drawn_study(number)
        design = design_study(**study)
        assert list(design) == list(study["raters"])
        for own in design.values():
            check_list(study, own)
        check_allocation(study, design)


def check_list(study, own):
    conditions, size = study["conditions"], study["block_size"]
    assert [one.position for one in own] == list(range(1, len(own) + 1))
    phases = "".join({"train": "t", "label": "l", "repeat": "l", "reveal": "r"}[one.phase] for one in own)
    assert phases == "".join(sorted(phases, key="tlr".index))

    first = [one for one in own if one.phase == "label" and not one.gold]
    assert len({one.item for one in first}) == len(first)
    assert [one.block for one in first] == [n // size + 1 for n in range(len(first))]
    assert sum(one.block is not None for one in own) == len(first)
    for whole in range(0, len(first) + 1, size):
        assert spread(of(conditions, (one.condition for one in first[:whole]))) == 0
    assert spread(of(conditions, (one.condition for one in first))) <= 1

    training = [one for one in own if one.phase == "train"]
    assert [one.item for one in training] == study["training"]
    assert spread(of(conditions, (one.condition for one in training))) <= 1

    gold = [one for one in own if one.gold and one.phase == "label"]
    assert sorted(one.item for one in gold) == study["gold"]
    assert spread(of(conditions, (one.condition for one in gold))) <= 1

    met = {one.item: one for one in first}
    repeats = [one for one in own if one.phase == "repeat"]
    assert len({one.item for one in repeats}) == len(repeats) == study["repeats"]
    for again in repeats:
        assert again.position - met[again.item].position >= study["repeat_distance"] * len(first)
        assert again.condition == met[again.item].condition

    revealed = [one for one in own if one.phase == "reveal"]
    assert all(one.condition == "revealed" for one in revealed)
    expected = [] if study["reveal"] is None else [*met, *study["gold"]]
    assert sorted(one.item for one in revealed) == sorted(expected)
    assert {one.item for one in revealed if one.gold} == ({*study["gold"]} if expected else set())


def check_allocation(study, design):
    raters, overlap, conditions = study["raters"], study["overlap"], study["conditions"]
    ratings = [
        (rater, one.item, one.condition)
        for rater, own in design.items()
        for one in own
        if one.phase == "label" and not one.gold
    ]
    keys = [item.key for item in study["items"]]
    assert set(of(keys, (item for _, item, _ in ratings))) == {overlap}
    by_item = {key: [] for key in keys}
    for _, item, condition in ratings:
        by_item[item].append(condition)
    assert all(spread(of(conditions, met)) <= 1 for met in by_item.values())
    for key in study["gold"]:
        met = [
            one.condition
            for own in design.values()
            for one in own
            if one.item == key and one.phase == "label"
        ]
        assert len(met) == len(raters)
        assert spread(of(conditions, met)) <= 1

    found = balance(design)
    loads = of(raters, (rater for rater, _, _ in ratings))
    assert spread(loads) <= 1
    assert [(one.rater, one.items) for one in found.raters] == list(zip(raters, loads, strict=True))
    for one in found.raters:
        met = Counter(condition for rater, _, condition in ratings if rater == one.rater)
        assert one.by_condition == {name: met[name] for name in one.by_condition}
        assert set(met) <= set(one.by_condition)
        assert (one.repeats, one.gold, one.training) == (
            study["repeats"],
            len(study["gold"]),
            len(study["training"]),
        )
    assert found.by_raters == {overlap: len(keys)}
    sets = {rater: {item for other, item, _ in ratings if other == rater} for rater in raters}
    shared = [len(sets[a] & sets[b]) for a, b in combinations(raters, 2)]
    assert (found.least_shared, found.most_shared) == (min(shared, default=None), max(shared, default=None))
    if can_be_even(len(raters), overlap, len(keys)):
        assert spread(shared) <= 1
    else:
        assert 2 <= spread(shared) <= 3


def shared_items(teams, raters):
    return of(
        list(combinations(range(raters), 2)), (pair for team in teams for pair in combinations(team, 2))
    )


def check_sharing(raters, overlap, items):
    """Check the teams of a study, and return how much shared items differ."""
    teams = share_items(raters, overlap, items)
    assert len(teams) == items
    assert all(len(set(team)) == overlap for team in teams)
    assert spread(of(range(raters), (rater for team in teams for rater in team))) <= 1
    return spread(shared_items(teams, raters))


@pytest.mark.parametrize(
    ("raters", "overlap"), [(raters, overlap) for raters in range(2, 8) for overlap in range(1, raters + 1)]
)
def test_up_to_seven_raters_share_evenly_wherever_that_is_possible(raters, overlap):
    # What is left over after whole rounds of all combinations decides: so this covers every number of items.
    for items in range(1, 2 * comb(raters, overlap) + 1):
        uneven = check_sharing(raters, overlap, items)
        assert (uneven <= 1) == can_be_even(raters, overlap, items)


def test_pairs_of_up_to_twelve_raters_share_evenly_over_every_number_of_items():
    for raters in range(2, 13):
        for items in range(1, comb(raters, 2) + 1):
            assert check_sharing(raters, 2, items) <= 1


def test_more_raters_share_evenly():
    for raters, overlap, items in (
        (8, 3, 100),
        (8, 4, 143),
        (9, 5, 132),
        (10, 3, 400),
        (9, 4, 118),
        (10, 3, 28),
        (20, 3, 400),
    ):
        assert check_sharing(raters, overlap, items) <= 1, (raters, overlap, items)
    # Three items cannot go to 4 of 8 raters so that no two share two; 73 items can.
    assert check_sharing(8, 4, 3) == 2
    assert check_sharing(8, 4, 73) == 1


def test_loads_stay_even_in_every_part_of_the_items():
    for raters, overlap, items in ((5, 2, 400), (5, 3, 44), (7, 3, 69), (10, 3, 130)):
        teams = share_items(raters, overlap, items)
        for end in range(items):
            assert spread(of(range(raters), (rater for team in teams[:end] for rater in team))) <= 2


def least_spread(raters, overlap, items):
    """Return how little shared items can differ with even loads, by integer programming."""
    teams = list(combinations(range(raters), overlap))
    pairs = list(combinations(range(raters), 2))
    among = numpy.array([[set(pair) <= set(team) for team in teams] for pair in pairs], dtype=float)
    loads = numpy.array([[rater in team for team in teams] for rater in range(raters)], dtype=float)
    size = len(teams)
    load, more = divmod(items * overlap, raters)

    def rows(left, low, high):
        return numpy.hstack([left, numpy.full((len(left), 1), low), numpy.full((len(left), 1), high)])

    solved = milp(
        numpy.array([0.0] * size + [-1.0, 1.0]),
        integrality=numpy.ones(size + 2),
        bounds=Bounds(0, numpy.inf),
        constraints=[
            LinearConstraint(rows(numpy.ones((1, size)), 0, 0), items, items),
            LinearConstraint(rows(loads, 0, 0), load, load + (more > 0)),
            LinearConstraint(rows(among, -1, 0), 0, numpy.inf),
            LinearConstraint(rows(among, 0, -1), -numpy.inf, 0),
        ],
    )
    assert solved.success
    return round(solved.fun)


@pytest.mark.parametrize(("raters", "overlap"), [(4, 2), (4, 3), (5, 2), (5, 3), (5, 4), (6, 3)])
def test_integer_programming_shares_no_more_evenly(raters, overlap):
    for items in range(1, comb(raters, overlap) + 4):
        best = least_spread(raters, overlap, items)
        assert (
            (best <= 1) == can_be_even(raters, overlap, items) == (check_sharing(raters, overlap, items) <= 1)
        )


def test_two_of_five_over_four_hundred_items():
    found = balance(
        design_study([StudyItem(n) for n in range(400)], range(5), overlap=2, conditions=CONDITIONS[:2])
    )
    assert asdict(found) == {
        "raters": tuple(
            {"rater": n, "items": 160, "by_condition": {"blind": 80, "blind tests": 80}, "repeats": 0}
            | {"gold": 0, "training": 0}
            for n in range(5)
        ),
        "least_shared": 40,
        "most_shared": 40,
        "by_raters": {2: 400},
    }


def test_all_raters_by_default():
    found = balance(design_study([StudyItem("p1"), StudyItem("p2")], ["ana", "ben", "chi"]))
    assert (found.by_raters, found.least_shared, found.most_shared) == ({3: 2}, 2, 2)


def test_one_rater_shares_with_nobody():
    found = balance(design_study([StudyItem("p1")], ["ana"]))
    assert (found.least_shared, found.most_shared, found.by_raters) == (None, None, {1: 1})


def test_raters_without_an_item_have_their_gold_and_training():
    design = design_study([StudyItem("p1")], ["ana", "ben"], overlap=1, gold=["g1"], training=["t1"])
    lists = sorted(([one.item for one in own] for own in design.values()), key=len)
    assert lists[0] == ["t1", "g1"]
    assert sorted(lists[1]) == ["g1", "p1", "t1"]


@pytest.mark.parametrize("seed", range(20))
def test_strata_are_shared_evenly(seed):
    items = [StudyItem(n, "rare" if n % 10 == 0 else "often") for n in range(200)]
    design = design_study(items, NAMES[:5], overlap=2, conditions=CONDITIONS[:2], seed=seed)
    for stratum in ("rare", "often"):
        keys = {item.key for item in items if item.stratum == stratum}
        met = {rater: [one for one in own if one.item in keys] for rater, own in design.items()}
        assert spread(map(len, met.values())) <= 2
        for own in met.values():
            assert spread(of(CONDITIONS[:2], (one.condition for one in own))) <= 2


def test_conditions_of_repeats_are_even():
    for seed in range(50):
        design = design_study(
            [StudyItem(n) for n in range(60)], NAMES[:3], conditions=CONDITIONS, repeats=20, seed=seed
        )
        for own in design.values():
            assert spread(of(CONDITIONS, (one.condition for one in own if one.phase == "repeat"))) <= 1


def test_repeats_and_gold_are_mixed_in():
    places, gaps = [], []
    for seed in range(30):
        gold = [f"g{n}" for n in range(4)]
        for own in design_study(
            [StudyItem(n) for n in range(40)], ["ana"], repeats=8, gold=gold, seed=seed
        ).values():
            labels = [one.block is not None for one in own]
            # One gold item in each quarter of the items.
            before = [sum(labels[: one.position]) for one in own if one.gold]
            assert all(n * 10 <= place <= (n + 1) * 10 for n, place in enumerate(before))
            places += [sum(labels[: one.position]) for one in own if one.phase == "repeat"]
            met = {one.item: one.position for one in own if one.block is not None}
            gaps += [one.position - met[one.item] for one in own if one.phase == "repeat"]
    assert min(places) < 20
    assert len({*gaps}) > 20
    assert sum(place < 40 for place in places) > len(places) * 0.8


def test_a_design_depends_on_its_seed_and_on_nothing_else():
    study = drawn_study(12) | {"items": [StudyItem(n) for n in range(30)], "repeats": 3}
    assert design_study(**study) == design_study(**study)
    assert design_study(**study) != design_study(**study | {"seed": 13})


def test_the_order_of_a_rater_does_not_depend_on_others():
    items = [StudyItem(n) for n in range(40)]
    gold = ["g1", "g2"]
    one = design_study(items, ["ana", "ben", "chi"], repeats=5, gold=gold, reveal="revealed", seed=4)
    other = design_study(items, ["ana", "eli", "fay"], repeats=5, gold=gold, reveal="revealed", seed=4)
    assert one["ana"] == other["ana"]
    assert [row.item for row in one["ben"]] != [row.item for row in other["eli"]]
    # Over many seeds, where one rater meets an item says nothing of where another does.
    products = []
    for seed in range(100):
        design = design_study(items, ["ana", "ben"], seed=seed)
        at = [{row.item: row.position - 20.5 for row in own} for own in design.values()]
        products += [at[0][item.key] * at[1][item.key] for item in items]
    assert abs(sum(products) / len(products)) < 0.1 * (40**2 - 1) / 12


@pytest.mark.parametrize("overlap", [1, 2])
def test_raters_conditions_and_order_are_random_over_items(overlap):
    items, times = [StudyItem(n) for n in range(4)], 900
    met, together, first = Counter(), Counter(), Counter()
    for seed in range(times):
        design = design_study(items, NAMES[:3], overlap=overlap, conditions=CONDITIONS[:2], seed=seed)
        for rater, own in design.items():
            met.update((rater, row.item, row.condition) for row in own)
            together.update(combinations(sorted(row.item for row in own), 2))
            first.update(row.condition for row in own[:1])
    for counted, kinds in ((met, 3 * 4 * 2), (together, 6), (first, 2)):
        expected = counted.total() / kinds
        assert len(counted) == kinds
        assert all(abs(count - expected) < 4 * expected**0.5 for count in counted.values()), counted


def test_conditions_of_ratings_given_in_any_order():
    rng = random.Random(3)
    for _ in range(200):
        raters, items, conditions = (rng.randint(1, most) for most in (6, 20, 4))
        ratings = [(a, b) for a in range(raters) for b in range(items) if rng.random() < 0.7]
        rng.shuffle(ratings)
        found = spread_conditions(ratings, conditions, derived_random(1))
        for end in (0, 1):
            for one in {rating[end] for rating in ratings}:
                own = [number for rating, number in zip(ratings, found, strict=True) if rating[end] == one]
                assert spread(of(range(conditions), own)) <= 1
                for start in range(0, len(own) - conditions + 1, conditions):
                    assert len({*own[start : start + conditions]}) == conditions


def test_derived_numbers_stay_as_they_are():
    generator = derived_random(7, "order", "ana")
    assert [generator.random() for _ in range(2)] == [0.39227952246005116, 0.7659273333226412]


GOLDEN = {
    "ana": [
        "t1 train blind -",
        "p1 label blind+tests 1",
        "p4 label blind 1",
        "p4 repeat blind -",
        "p5 label blind 2",
        "g1 label blind - gold",
        "p2 label blind+tests 2",
        "p1 reveal revealed -",
        "g1 reveal revealed - gold",
        "p2 reveal revealed -",
        "p5 reveal revealed -",
        "p4 reveal revealed -",
    ],
    "ben": [
        "t1 train blind -",
        "p4 label blind+tests 1",
        "p6 label blind 1",
        "g1 label blind+tests - gold",
        "p5 label blind+tests 2",
        "p6 repeat blind -",
        "p3 label blind 2",
        "g1 reveal revealed - gold",
        "p3 reveal revealed -",
        "p4 reveal revealed -",
        "p6 reveal revealed -",
        "p5 reveal revealed -",
    ],
    3: [
        "t1 train blind -",
        "p2 label blind 1",
        "p3 label blind+tests 1",
        "g1 label blind - gold",
        "p3 repeat blind+tests -",
        "p6 label blind+tests 2",
        "p1 label blind 2",
        "p3 reveal revealed -",
        "p1 reveal revealed -",
        "p2 reveal revealed -",
        "g1 reveal revealed - gold",
        "p6 reveal revealed -",
    ],
}


def test_the_design_of_a_seed_stays_as_it_is():
    items = [StudyItem(f"p{n}", "odd" if n % 2 else "even") for n in range(1, 7)]
    design = design_study(
        items,
        ["ana", "ben", 3],
        overlap=2,
        conditions=["blind", "blind tests"],
        repeats=1,
        gold=["g1"],
        training=["t1"],
        reveal="revealed",
        seed=42,
    )
    written = {
        rater: [
            " ".join(map(str, (row.item, row.phase, row.condition.replace(" ", "+"), row.block or "-")))
            + " gold" * row.gold
            for row in own
        ]
        for rater, own in design.items()
    }
    assert written == GOLDEN


REFUSED = {
    "no items": ({"items": []}, "No items"),
    "no raters": ({"raters": []}, "No raters"),
    "overlap above raters": ({"overlap": 4}, "Impossible overlap"),
    "no overlap": ({"overlap": 0}, "Impossible overlap"),
    "repeats above items": ({"repeats": 5}, "Impossible repeats"),
    "repeats above the items of some raters": ({"repeats": 3, "overlap": 2}, "Impossible repeats"),
    "negative repeats": ({"repeats": -1}, "Impossible repeats"),
    "no distance": ({"repeat_distance": 0}, "Impossible distance"),
    "too far": ({"repeat_distance": 1.01}, "Impossible distance"),
    "not a distance": ({"repeat_distance": float("nan")}, "Impossible distance"),
    "an item twice": ({"items": [StudyItem("p1"), StudyItem("p1", "x")]}, "Duplicate items"),
    "an item that is gold": ({"gold": ["p1"]}, "Duplicate items"),
    "gold for training": ({"gold": ["g1"], "training": ["g1"]}, "Duplicate items"),
    "a rater twice": ({"raters": ["ana", "ana"]}, "Duplicate raters"),
    "a name and a number": ({"raters": [1, "1"]}, "Duplicate raters"),
    "no conditions": ({"conditions": []}, "No condition"),
    "a blank condition": ({"conditions": ["blind", " "]}, "No condition"),
    "a blank reveal": ({"reveal": ""}, "No condition"),
    "the same words": ({"conditions": ["blind tests", "tests blind"]}, "Duplicate conditions"),
    "a revealed condition": (
        {"conditions": ["blind", "revealed"], "reveal": "revealed"},
        "Nothing to reveal",
    ),
    "an uneven block": ({"conditions": ["blind", "tests"], "block_size": 3}, "Uneven blocks"),
    "an empty block": ({"block_size": 0}, "Uneven blocks"),
    "a negative block": ({"block_size": -2, "conditions": ["blind", "tests"]}, "Uneven blocks"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_impossible_studies_are_refused(name):
    changes, title = REFUSED[name]
    study = {"items": [StudyItem(f"p{n}") for n in range(1, 5)], "raters": ["ana", "ben", "chi"]}
    design_study(**study)
    with pytest.raises(WorkbenchError) as refused:
        design_study(**study | changes)
    assert refused.value.title == title
    assert refused.value.message
    assert refused.value.hint
