"""The lines of a list: one for each item, or one for each group of items."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from store.queries.rows import Ids


class Lines:
    """Items in their order, and which of them are on one line.

    Args:
        ids: The items, of shape (n,).
        starts: The place of the first item of each line, of shape (m,); None for a line an item.

    Attributes:
        largest: Most items on a line.
        singles: Whether there is a line of one item.
    """

    def __init__(self, ids: Ids, starts: Ids | None = None) -> None:
        self.ids = ids
        self._starts = None if starts is None or len(starts) == len(ids) else starts
        self.largest, self.singles = 1, True
        if self._starts is not None:
            sizes = _sizes(self._starts, len(ids))
            self.largest, self.singles = max(sizes), min(sizes) == 1

    def __len__(self) -> int:
        return len(self.ids) if self._starts is None else len(self._starts)

    def begin(self, line: int) -> int:
        """Return the place of the first item of a line; after the last line it is the number of items."""
        if self._starts is None:
            return min(line, len(self.ids))
        return int(self._starts[line]) if line < len(self._starts) else len(self.ids)

    def items(self, first: int, last: int) -> Ids:
        """Return the items of some lines.

        Args:
            last: The one after the last.
        """
        return self.ids[self.begin(max(0, first)) : self.begin(last)]

    def line_of(self, place: int) -> int:
        """Return the line of an item by its place."""
        return place if self._starts is None else bisect_right(self._starts, place) - 1


def _sizes(starts: Ids, count: int) -> list[int]:
    if isinstance(starts, array):
        return [end - start for start, end in zip(starts, [*starts[1:], count], strict=True)]
    import numpy

    sizes = numpy.diff(starts, append=count)
    return [int(sizes.min()), int(sizes.max())]
