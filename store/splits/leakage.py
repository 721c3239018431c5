"""What the parts of a split share although they should not: another, stricter look than the builder's.

A split keeps queries together whose content words have a Jaccard similarity of 0.8 or more. Here 0.6 is
enough, and so is 0.7 of the trigrams of all of their words, which finds inflections and slips of the pen.
Codes are equal where they are so without blanks and whole-line comments.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Literal

from store.splits.similar_texts import content_words, normalized, similar_pairs, trigrams

Sort = Literal["same query", "near query", "same code", "same repository"]
"""What is shared."""
SORTS: tuple[Sort, ...] = ("same query", "near query", "same code", "same repository")

PROMISED: dict[str, tuple[Sort, ...]] = {
    "query": ("same query", "near query"),
    "query,code": ("same query", "near query", "same code"),
    "repository": ("same repository",),
    "given": SORTS,
}
"""What parts that share nothing of a sort must not share; anything else that they share is only named."""

NEAR_WORDS, NEAR_TRIGRAMS = 0.6, 0.7

MOST_NEAR = 500_000
"""Similar queries of two parts after which no more are looked for."""


@dataclass(frozen=True, slots=True)
class Leak:
    """Something that two parts share.

    Attributes:
        parts: Both parts, in the order of the split.
        items: An item of each, by its id in its file.
        texts: The query, code or repository of each.
        similarity: How similar these are, from 0 to 1.
    """

    sort: Sort
    parts: tuple[str, str]
    items: tuple[str, str]
    texts: tuple[str, str]
    similarity: float


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A query, code or repository of a part.

    Attributes:
        item: An item that has it, by its id in its file.
    """

    part: str
    item: str
    text: str


def leaks(
    parts: Sequence[str],
    queries: Sequence[PlacedText],
    codes: Sequence[PlacedText],
    repositories: Sequence[PlacedText],
) -> list[Leak]:
    """Return what parts share, the most similar first.

    The parts are in order, and each text is once in its part.
    """
    found = [
        *_same("same query", parts, queries, [normalized(one.text) or one.text for one in queries]),
        *_near(parts, queries),
        *_same("same code", parts, codes, [_bare(one.text) for one in codes]),
        *_same("same repository", parts, repositories, [one.text.casefold() for one in repositories]),
    ]
    return sorted(found, key=lambda leak: (SORTS.index(leak.sort), -leak.similarity, leak.items))


def count_leaks(found: Sequence[Leak]) -> dict[Sort, dict[tuple[str, str], int]]:
    """Return how many there are, by sort and by the parts."""
    numbers = Counter((leak.sort, leak.parts) for leak in found)
    return {
        sort: {parts: number for (each, parts), number in sorted(numbers.items()) if each == sort}
        for sort in SORTS
        if any(each == sort for each, _ in numbers)
    }


def _bare(code: str) -> str:
    """Return a code without blanks and whole-line comments."""
    lines = (line.strip() for line in code.splitlines())
    return "".join("".join(line.split()) for line in lines if not line.startswith(("#", "//"))) or code


def _same(
    sort: Sort, parts: Sequence[str], texts: Sequence[PlacedText], keys: Sequence[Hashable]
) -> Iterator[Leak]:
    """Yield texts with one key in two parts, once for every two parts."""
    by_key: defaultdict[Hashable, dict[str, PlacedText]] = defaultdict(dict)
    for one, key in zip(texts, keys, strict=True):
        by_key[key].setdefault(one.part, one)
    for there in by_key.values():
        for first, second in combinations(sorted(there, key=parts.index), 2):
            yield _leak(sort, parts, there[first], there[second], 1.0)


def _near(parts: Sequence[str], queries: Sequence[PlacedText]) -> Iterator[Leak]:
    # Texts that are the same within a part would be compared with those of the others again and again.
    distinct: dict[tuple[str, str], PlacedText] = {}
    for one in queries:
        distinct.setdefault((normalized(one.text), one.part), one)
    keys, texts = list(distinct), list(distinct.values())
    seen: set[tuple[int, int]] = set()
    for sign, threshold in ((content_words, NEAR_WORDS), (trigrams, NEAR_TRIGRAMS)):
        pairs = similar_pairs([sign(one.text) for one in texts], threshold, lambda place: keys[place][1])
        for later, earlier, similarity in islice(pairs, MOST_NEAR):
            if (later, earlier) not in seen and keys[later][0] != keys[earlier][0]:
                seen.add((later, earlier))
                yield _leak("near query", parts, texts[later], texts[earlier], similarity)


def _leak(sort: Sort, parts: Sequence[str], one: PlacedText, other: PlacedText, similarity: float) -> Leak:
    first, second = sorted((one, other), key=lambda text: parts.index(text.part))
    return Leak(
        sort,
        (first.part, second.part),
        (first.item, second.item),
        (first.text, second.text),
        round(similarity, 4),
    )
