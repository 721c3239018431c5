"""Groups of items that must not be torn apart: by query, by query and code, by repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from store.errors import WorkbenchError
from store.formatting import pluralize
from store.splits.similar_texts import Components, duplicate_groups, normalized

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

Disjoint = Literal["query", "query,code", "repository"]
"""What no two parts share.

- `query`: queries, and near-duplicates of these.
- `query,code`: queries and codes: what positive pairs link stays together, and pairs of other labels whose
  query and code come into different parts are left out.
- `repository`: repositories.
"""
DISJOINT: tuple[Disjoint, ...] = get_args(Disjoint)


DISJOINT_WORDS: dict[str, str] = {
    "query": "share no queries, near-duplicates counted as one",
    "query,code": "share no queries and codes",
    "repository": "share no repositories",
    "given": "as a file says",
}
"""The words after "parts", of each of these and of parts that were given."""

COUNTED: dict[str, str] = {
    "query": "queries",
    "query,code": "queries",
    "repository": "items",
    "given": "items",
}
"""What ratios count; a query may be in several repositories, and in several parts that were given."""


@dataclass(frozen=True, slots=True, eq=False)
class SplitItems:
    """n labelled items with what parts may share.

    Attributes:
        ids: Their keys, of shape (n,).
        names: Their ids in their files.
        queries: The place of each one's query in `texts`, of shape (n,).
        texts: The text of each query.
        codes: The place of each one's code in `code_texts`, of shape (n,); None for items without one.
        code_texts: A text of each code, the same for codes that are equal but for blanks.
        bare_codes: The same for codes that are equal but for blanks and whole-line comments.
        repositories: The repository of each item; None for items without one.
        labels: The label of each item, NaN where its responses have different ones, of shape (n,).
    """

    ids: Array
    names: Sequence[str]
    queries: Array
    texts: Sequence[str]
    codes: Array | None
    code_texts: Sequence[str]
    bare_codes: Sequence[str]
    repositories: Sequence[str] | None
    labels: Array


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Items in groups.

    Attributes:
        of_items: The group of each of n items, of shape (n,).
        of_codes: The group of each item's code, of shape (n,); None where codes are in none. An item whose
            code comes into another part than its query is left out.
        keys: A text of each group that tells it from the others.
        sizes: What ratios count of each group, of shape (g,): its queries, near-duplicates counted one by
            one, or its items where repositories are kept apart.
        largest: The share of these that the largest group has.
    """

    of_items: Array
    of_codes: Array | None
    keys: Sequence[str]
    sizes: Array
    largest: float


def group_items(items: SplitItems, disjoint: Disjoint) -> Groups:
    """Return the groups of items that stay together.

    Raises:
        WorkbenchError: The items have nothing of the sort, such as a repository.
    """
    if disjoint == "repository":
        if items.repositories is None or not any(items.repositories):
            raise WorkbenchError(
                "No repositories", "No labelled item names its repository.", "Keep queries apart."
            )
        names = [normalized(name) or name for name in items.repositories]
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return _groups(items, [places[name] for name in names], None, names, by_items=True)
    of_texts = duplicate_groups(items.texts)
    texts = [items.texts[query] for query in items.queries.tolist()]
    if disjoint == "query":
        return _groups(items, [of_texts[query] for query in items.queries.tolist()], None, texts)
    if items.codes is None:
        raise WorkbenchError(
            "No codes", "Only pairs have a query and a code.", "Keep queries or repositories apart."
        )
    nodes, codes = _linked(items, of_texts)
    roots = nodes.labels()
    return _groups(
        items, [roots[query] for query in items.queries.tolist()], [roots[code] for code in codes], texts
    )


def _linked(items: SplitItems, of_texts: Sequence[int]) -> tuple[Components, list[int]]:
    """Join near-duplicate queries, and queries and codes of positive pairs.

    Codes that are equal but for blanks are one. A code of no positive pair is with the first of its queries.

    Returns:
        The components of queries and, after these, codes; and the place of each item's code among them.
    """
    assert items.codes is not None
    number = len(items.texts)
    nodes = Components(number + len(items.code_texts))
    for place, first in enumerate(of_texts):
        nodes.join(place, first)
    same: dict[str, int] = {}
    for place, text in enumerate(items.code_texts):
        nodes.join(number + place, number + same.setdefault(text, place))
    pairs = list(zip(items.queries.tolist(), items.codes.tolist(), items.labels.tolist(), strict=True))
    for query, code, label in pairs:
        if label == 1:
            nodes.join(query, number + code)
    for query, code, _ in sorted(pairs, key=lambda pair: items.texts[pair[0]]):
        if nodes.find(number + code) >= number:
            nodes.join(query, number + code)
    return nodes, [number + code for code in items.codes.tolist()]


def _groups(
    items: SplitItems,
    of_items: Sequence[int],
    of_codes: Sequence[int] | None,
    names: Sequence[str],
    *,
    by_items: bool = False,
) -> Groups:
    """Number groups from 0, and count what they hold.

    Args:
        items: The items.
        of_items: Each item's component, as any number.
        of_codes: Each item's code's component; None where codes are in none.
        names: The text of each item by which its group may be named.
        by_items: Whether items are counted, in place of queries.
    """
    import numpy

    roots, places = numpy.unique(numpy.array(of_items, dtype=numpy.int64), return_inverse=True)
    counted = places if by_items else numpy.unique(numpy.stack([places, items.queries]), axis=1)[0]
    sizes = numpy.bincount(counted, minlength=len(roots))
    keys: list[str | None] = [None] * len(roots)
    for group, name in set(zip(places.tolist(), names, strict=True)):
        key = keys[group]
        keys[group] = name if key is None else min(key, name)
    return Groups(
        places,
        None if of_codes is None else numpy.searchsorted(roots, of_codes),
        [key or "" for key in keys],
        sizes,
        float(sizes.max() / sizes.sum()),
    )


def check_feasible(groups: Groups, disjoint: Disjoint, largest_part: float) -> None:
    """Refuse ratios that cannot be met since one group is larger than every part.

    `largest_part` is the share that the largest part is to have.

    Raises:
        WorkbenchError: One group is larger.
    """
    if groups.largest > largest_part + 0.05 and len(groups.sizes) > 0:
        raise WorkbenchError(
            "Ratios cannot be met",
            f"What belongs together makes {pluralize(len(groups.sizes), 'group')}, the largest with "
            f"{100 * groups.largest:.1f} % of the {COUNTED[disjoint]}: more than the largest part, "
            f"{100 * largest_part:.1f} %.",
            "Keep only queries apart, or give one part more.",
        )
