"""Parts of a split: ratios, and the part that each group of queries goes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from store.errors import WorkbenchError

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

NAMES = {2: ("train", "test"), 3: ("train", "dev", "test")}
"""The names of two and of three parts."""

_LARGE = 0.1
"""A group of more than this share of the smallest part is given a part before all smaller ones."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a split.

    Attributes:
        share: The share that it is to have, above 0.
    """

    name: str
    share: float


def parse_ratios(text: str) -> tuple[Part, ...]:
    """Return the parts of `8:1:1`, or of `train=8,dev=1,test=1`.

    Raises:
        WorkbenchError: It is neither, or names a part twice.
    """
    pieces = [piece.strip() for piece in text.split("," if "=" in text else ":")]
    names: Sequence[str] = NAMES.get(len(pieces), tuple(f"part{place + 1}" for place in range(len(pieces))))
    if "=" in text:
        names = [piece.partition("=")[0].strip() for piece in pieces]
        pieces = [piece.partition("=")[2] for piece in pieces]
    try:
        numbers = [float(piece) for piece in pieces]
    except ValueError:
        numbers = []
    # `all` is what libraries call every part together.
    plain = all(
        name.replace("_", "").isalnum() and name.isascii() and len(name) <= 40 and name != "all"
        for name in names
    )
    good = plain and all(0 < number < 1e9 for number in numbers) and len(set(names)) == len(names)
    if not good or not 1 < len(numbers) <= 20:
        raise WorkbenchError(
            "Ratios not understood",
            f"{text[:60]!r} are no ratios of two to 20 different parts.",
            "Write 8:1:1 for train, dev and test, 8:2 for train and test, or name parts, with letters, "
            "digits and _: train=8,test=2",
        )
    return tuple(Part(name, number / sum(numbers)) for name, number in zip(names, numbers, strict=True))


def allot(parts: Sequence[Part], keys: Sequence[str], counts: Array, seed: int) -> Array:
    """Return the part of each of g groups.

    Groups come in the order of a hash of the seed and their key, large ones before all others, and each goes
    to the part that lacks most of what it holds. Neither the order of import nor a label of another group
    moves a group's turn.

    Args:
        parts: The p parts.
        keys: The key of each group: a text of it, whatever else there is.
        counts: What is to be shared out: how many queries each group has, of shape (g, 1), or how many items
            of each of l labels, of shape (g, l).
        seed: The seed.

    Returns:
        The place of each group's part, of shape (g,).
    """
    import numpy

    shares = numpy.array([part.share for part in parts])
    totals = counts.sum(axis=0)
    lacking = shares[:, None] * totals
    sizes = counts.sum(axis=1)
    large = sizes > _LARGE * shares.min() * sizes.sum()
    hashes = [sha256(f"{seed}\0{key}".encode("utf-8", "surrogatepass")).digest() for key in keys]
    order = sorted(
        range(len(keys)), key=lambda group: (-sizes[group] if large[group] else 0, hashes[group], keys[group])
    )
    weights = counts / numpy.maximum(totals, 1)
    found = numpy.zeros(len(keys), dtype=numpy.int64)
    for group in order:
        # Both shares of a label's total, so that a rare label counts as much as a common one.
        found[group] = part = int((lacking / numpy.maximum(totals, 1) @ weights[group]).argmax())
        lacking[part] -= counts[group]
    return found
