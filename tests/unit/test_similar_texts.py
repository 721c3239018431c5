"""Texts that are near-duplicates, against every two compared."""

from __future__ import annotations

import random
from itertools import combinations

from store.splits.similar_texts import (
    Components,
    content_words,
    duplicate_groups,
    normalized,
    similar_pairs,
    trigrams,
)


def test_the_words_of_a_text():
    assert normalized("How to  PARSE a JSON-file, in Python?") == "how to parse a json file in python"
    assert normalized("naïve Ｗidth") == "naive width"
    assert content_words("python check if a valid date") == {"python", "check", "valid", "date"}
    # A text of stop words alone keeps them; one without words has none.
    assert content_words("how to do it") == {"how", "to", "do", "it"}
    assert content_words("?!") == trigrams("?!") == frozenset()
    assert trigrams("of if") == {"<of", "of>", "<if", "if>"}


def test_near_duplicates_are_in_one_group_and_so_is_what_links_them():
    texts = [
        "python check if date is valid",
        "read a csv file into a list of dicts",
        "python check if a valid date",
        "Python: check if DATE is valid!",
        "read csv file list dicts python",
        "sort a list",
        "?!",
        "?!",
        "...",
    ]
    # 4 of 5 words are shared by the second and the fifth: a similarity of 0.8.
    assert duplicate_groups(texts) == [0, 1, 0, 0, 1, 5, 6, 6, 8]
    shuffled = list(range(len(texts)))
    random.Random(1).shuffle(shuffled)
    groups = duplicate_groups([texts[place] for place in shuffled])
    together = {frozenset(shuffled[i] for i, one in enumerate(groups) if one == group) for group in groups}
    assert together == {
        frozenset({0, 2, 3}),
        frozenset({1, 4}),
        frozenset({5}),
        frozenset({6, 7}),
        frozenset({8}),
    }


def test_similar_pairs_are_those_of_comparing_every_two():
    draw = random.Random(3)
    letters = "abcdefghijkl"
    for threshold in (0.5, 0.6, 0.7, 0.8, 1.0):
        for _ in range(50):
            sets = [frozenset(draw.sample(letters, draw.randint(0, 8))) for _ in range(20)]
            expected = {
                (one, other): len(sets[one] & sets[other]) / len(sets[one] | sets[other])
                for one in range(20)
                for other in range(one)
                if sets[one] and sets[other]
            }
            expected = {pair: number for pair, number in expected.items() if number >= threshold - 1e-9}
            found = list(similar_pairs(sets, threshold))
            assert {(one, other): number for one, other, number in found} == expected
            assert len(found) == len(expected)


def test_of_one_part_no_two_are_compared_even_if_it_grows_meanwhile():
    family = [frozenset({*"abcdefghi", f"own {n}"}) for n in range(300)]
    groups = Components(len(family))
    compared = 0
    for one, other, similarity in similar_pairs(family, 0.8, groups.find):
        assert similarity == 9 / 11
        groups.join(one, other)
        compared += 1
    assert compared == len(family) - 1
    assert set(groups.labels()) == {0}
    assert list(similar_pairs(family[:3], 0.8, [0, 0, 1].__getitem__)) == [(2, 0, 9 / 11), (2, 1, 9 / 11)]


def test_groups_are_those_of_comparing_every_two():
    draw = random.Random(5)
    for _ in range(100):
        texts = [" ".join(draw.sample("bcdefghjklm", draw.randint(3, 9))) for _ in range(30)]
        bags = [content_words(text) for text in texts]
        groups = Components(len(texts))
        for one, other in combinations(range(len(texts)), 2):
            if len(bags[one] & bags[other]) >= 0.8 * len(bags[one] | bags[other]):
                groups.join(one, other)
        assert duplicate_groups(texts) == groups.labels()
