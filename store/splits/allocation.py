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

_DIGITS = 9
"""Decimals of a share; more are the noise of floating-point numbers."""


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

    Of several labels, the size of each part comes first: a group goes to a part only where it brings this
    nearer to its size. Groups of one item come last, and are shared out by `_round_table`: where every group
    is one item, each part has its exact size, and of each label its share rounded up or down.

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
    single = (sizes == 1) & (len(totals) > 1)
    hashes = [sha256(f"{seed}\0{key}".encode("utf-8", "surrogatepass")).digest() for key in keys]
    order = sorted(
        range(len(keys)), key=lambda group: (-sizes[group] if large[group] else 0, hashes[group], keys[group])
    )
    weights = counts / numpy.maximum(totals, 1)
    found = numpy.zeros(len(keys), dtype=numpy.int64)
    left = _round_sizes(shares * sizes.sum())
    for group in (group for group in order if not single[group]):
        room = lacking.sum(axis=1)
        nearer = sizes[group] <= 2 * room
        # Both shares of a label's total, so that a rare label counts as much as a common one.
        gain = lacking / numpy.maximum(totals, 1) @ weights[group]
        found[group] = part = int((numpy.where(nearer, gain, -numpy.inf) if nearer.any() else room).argmax())
        lacking[part] -= counts[group]
        left[part] -= sizes[group]
    if single.any():
        label = counts.argmax(axis=1)
        cells = _round_table(lacking.T, counts[single].sum(axis=0), left)
        for group in (group for group in order if single[group]):
            found[group] = part = int(cells[label[group]].argmax())
            cells[label[group], part] -= 1
    return found


def _round_sizes(wanted: Array) -> Array:
    """Return whole numbers of the same sum, by the largest remainders; the first of equal ones is raised."""
    import numpy

    wanted = numpy.round(wanted, _DIGITS)
    found = numpy.floor(wanted).astype(numpy.int64)
    rest = round(wanted.sum()) - int(found.sum())
    found[_by_remainder(wanted - found)[:rest]] += 1
    return found


def _by_remainder(remainders: Array) -> Array:
    """Return the places of remainders, the largest first; equal ones stay in order."""
    import numpy

    return numpy.argsort(-numpy.round(remainders, _DIGITS), axis=None, kind="stable")


def _round_table(wanted: Array, rows: Array, columns: Array) -> Array:
    """Return whole numbers near those of a table, with given sums of its rows and columns.

    This is controlled rounding (Cox, 1987): each cell is rounded down, what is left of rows and columns goes
    to the largest remainders, and, where these block each other, along an augmenting path. With three parts
    or fewer, and nothing negative, each cell is rounded down or up and all sums come out. Otherwise those of
    the rows do, and a cell may be farther off.

    Args:
        wanted: The table, of shape (l, p), whose rows have these sums.
        rows: The sum of each row, of shape (l,).
        columns: The sum of each column, of shape (p,); one below 0 counts as 0.
    """
    import numpy

    # Groups that stay together may have left less than nothing of a label to a part.
    wanted = numpy.maximum(wanted, 0)
    wanted = numpy.round(wanted * (rows / numpy.maximum(wanted.sum(axis=1), 1e-9))[:, None], _DIGITS)
    cells = numpy.floor(wanted).astype(numpy.int64)
    highest = numpy.ceil(wanted)
    free = numpy.maximum(columns, 0) - cells.sum(axis=0)
    for part in numpy.flatnonzero(free < 0).tolist():
        while free[part] < 0:
            lowest = numpy.where(cells[:, part] > 0, wanted[:, part] - cells[:, part], numpy.inf)
            cells[int(lowest.argmin()), part] -= 1
            free[part] += 1
    lowest_cells = cells.copy()
    left = rows - cells.sum(axis=1)
    for cell in _by_remainder(wanted - cells).tolist():
        row, part = divmod(cell, len(columns))
        if left[row] and free[part] > 0 and cells[row, part] < highest[row, part]:
            cells[row, part] += 1
            left[row] -= 1
            free[part] -= 1

    def raise_one(row: int, tried: set[int]) -> bool:
        """Raise a cell of a row; another row gives up what it got where no column has anything free."""
        for part in range(len(columns)):
            if part in tried or cells[row, part] >= highest[row, part]:
                continue
            tried.add(part)
            if free[part] > 0:
                free[part] -= 1
                cells[row, part] += 1
                return True
            for other in numpy.flatnonzero(cells[:, part] > lowest_cells[:, part]).tolist():
                if raise_one(other, tried):
                    cells[other, part] -= 1
                    cells[row, part] += 1
                    return True
        return False

    for row in numpy.flatnonzero(left).tolist():
        for _ in range(left[row]):
            if not raise_one(row, set()):
                part = int(numpy.where(free > 0, wanted[row] - cells[row], -numpy.inf).argmax())
                cells[row, part] += 1
                free[part] -= 1
    return cells
