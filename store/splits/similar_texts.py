"""Texts that are the same but for their wording: by their words, and by the trigrams of these."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from math import ceil

_WORD = re.compile(r"[^\W_]+")

_STOP_WORDS = """
    a about an and any are as at be been by can could do does for from had has have how i if in into is it its
    me my of on one or our should so some that the their them then there these this those to use using was we
    were what when where which while who why will with would you your
    """
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""English words that say nothing of what a query is about."""


def words(text: str) -> list[str]:
    """Return the words of a text without case, accents or punctuation, in order."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return _WORD.findall("".join(sign for sign in plain if not unicodedata.combining(sign)))


def normalized(text: str) -> str:
    """Return a text without what does not count: case, accents, punctuation, blanks."""
    return " ".join(words(text))


def content_words(text: str) -> frozenset[str]:
    """Return the words of a text but stop words; all of its words where it has no others."""
    found = words(text)
    return frozenset(word for word in found if word not in STOP_WORDS) or frozenset(found)


def trigrams(text: str) -> frozenset[str]:
    """Return the trigrams of all words of a text, each word with its ends marked."""
    return frozenset(
        marked[place : place + 3]
        for word in words(text)
        for marked in (f"<{word}>",)
        for place in range(len(marked) - 2)
    )


def similar_pairs(
    sets: Sequence[Collection[Hashable]], threshold: float, part_of: Callable[[int], Hashable] | None = None
) -> Iterator[tuple[int, int, float]]:
    """Yield the places of every two sets whose Jaccard similarity reaches a threshold, with the similarity.

    Two such sets share one of their rarest elements: only these are looked up, and fewer of the smaller set's
    (prefix filtering: Bayardo, Ma and Srikant, Scaling up all pairs similarity search, WWW 2007). Empty sets
    are similar to none.

    Args:
        sets: The sets.
        threshold: The least similarity, above 0 and at most 1.
        part_of: Returns the part of a place, where only sets of different parts are compared. Whoever reads
            the pairs may make one part of two in between.

    Yields:
        The place of the later set, that of the earlier one, and their similarity.
    """
    numbers = Counter(element for one in sets for element in one)
    rank = {element: place for place, (element, _) in enumerate(sorted(numbers.items(), key=_rarest_first))}
    ordered = [sorted({rank[element] for element in one}) for one in sets]
    by_element: defaultdict[int, defaultdict[Hashable, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place in sorted(range(len(ordered)), key=lambda place: len(ordered[place])):
        own = ordered[place]
        if not own:
            continue
        looked_up = own[: len(own) - ceil(threshold * len(own) - 1e-9) + 1]
        whole, seen = set(own), set[int]()
        part = None if part_of is None else part_of(place)
        for others in (others for element in looked_up for others in by_element[element].values()):
            # Those of one part stay in one.
            if part_of is not None and part_of(others[0]) == part:
                continue
            for other in others:
                if other in seen or len(ordered[other]) < threshold * len(own) - 1e-9:
                    continue
                seen.add(other)
                shared = len(whole.intersection(ordered[other]))
                similarity = shared / (len(own) + len(ordered[other]) - shared)
                if similarity >= threshold - 1e-9:
                    yield max(place, other), min(place, other), similarity
                    part = None if part_of is None else part_of(place)
                    if part_of is not None and part_of(other) == part:
                        break
        # Whatever comes later is as large or larger, and must share more with it.
        least = ceil(2 * threshold / (1 + threshold) * len(own) - 1e-9)
        for element in own[: len(own) - least + 1]:
            by_element[element][part].append(place)


def _rarest_first(counted: tuple[Hashable, int]) -> tuple[int, str]:
    element, number = counted
    return number, repr(element)


class Components:
    """The connected components of n places that are joined one after another.

    Args:
        size: n.
    """

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, place: int) -> int:
        """Return the smallest place of a component."""
        while self._parent[place] != place:
            self._parent[place] = self._parent[self._parent[place]]
            place = self._parent[place]
        return place

    def join(self, one: int, other: int) -> None:
        """Make one component of those of two places."""
        one, other = self.find(one), self.find(other)
        self._parent[max(one, other)] = min(one, other)

    def labels(self) -> list[int]:
        """Return the component of each place: its smallest place."""
        return [self.find(place) for place in range(len(self._parent))]


NEAR = 0.8
"""The least Jaccard similarity of the content words of two near-duplicate texts."""


def duplicate_groups(texts: Sequence[str]) -> list[int]:
    """Return the group of each text: near-duplicates are in one, and so is whatever links to it.

    Near-duplicates are texts that are equal but for case, accents and punctuation, and those whose words but
    stop words have a Jaccard similarity of 0.8 or more.

    Returns:
        For each text the first place of its group.
    """
    groups = Components(len(texts))
    first: dict[Hashable, int] = {}
    distinct: list[int] = []
    bags = [content_words(text) for text in texts]
    for place, (text, bag) in enumerate(zip(texts, bags, strict=True)):
        known = first.setdefault(bag or text, place)
        groups.join(known, place)
        if known == place:
            distinct.append(place)
    # What is linked already is not compared again: a family of near-duplicates takes no time for every two.
    near = Components(len(distinct))
    for one, other, _ in similar_pairs([bags[place] for place in distinct], NEAR, near.find):
        near.join(one, other)
    for place, first_near in zip(distinct, near.labels(), strict=True):
        groups.join(place, distinct[first_near])
    return groups.labels()
