"""The rows of a list that were read, and the choice of those to read next."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from store.queries.rows import QueueRow

if TYPE_CHECKING:
    from screens.widgets.item_list.lines import Lines
    from store.queries.rows import Ids

KEPT = 8_192
"""Items that are kept once they were read."""

AT_ONCE = 1_000
"""How many items one read asks for; of 412,080 pairs that takes 0.1 s, and fills a screen in groups of 20."""

READERS = 2
"""How many reads may be under way: one for what is in sight, one begun before that came into sight."""


class ItemRows:
    """The rows that were read, by item, and the reads under way.

    Attributes:
        generation: Counts the orders of the list; what was asked for in an earlier one is dropped.
        failed: Whether the last read failed; nothing is read until the next order.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.failed = False
        # None: the item was looked for and is not there. Those read last come last; textual.cache.LRUCache
        # would keep the old value of a key that is set again.
        self._rows: OrderedDict[int, QueueRow | None] = OrderedDict()
        self._reading: set[int] = set()
        self._readers = 0

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._rows

    def get(self, item_id: int) -> QueueRow | None:
        """Return the row of an item; None before it was read, and when there is no such item."""
        return self._rows.get(item_id)

    def of(self, kinds: Collection[str]) -> list[QueueRow]:
        """Return the rows of some kinds that were read."""
        return [row for row in self._rows.values() if row is not None and row.kind in kinds]

    def keep(self, rows: Sequence[QueueRow]) -> None:
        """Take in rows that were read."""
        for row in rows:
            self._put(row.item_id, row)

    def _put(self, item_id: int, row: QueueRow | None) -> None:
        self._rows[item_id] = row
        self._rows.move_to_end(item_id)
        while len(self._rows) > KEPT:
            self._rows.popitem(last=False)

    def forget(self, item_ids: Collection[int] | None = None) -> None:
        """Drop some rows, all without an argument."""
        if item_ids is None:
            self._rows.clear()
            return
        for number in item_ids:
            self._rows.pop(number, None)

    def begin_order(self) -> None:
        """Take note of a new order: reads under way no longer count."""
        self.generation += 1
        self._reading.clear()
        self._readers = 0
        self.failed = False

    def next_read(self, lines: Lines, first: int, count: int) -> tuple[int, ...]:
        """Return which items to read next: those in sight, otherwise those near it; empty for none.

        Args:
            first: The first line in sight.
            count: How many lines are in sight at once.
        """
        if self.failed or self._readers >= READERS:
            return ()
        end, near = first + count, 2 * count
        missing = self._missing(lines.items(first, end))
        if not missing and not self._readers:
            missing = self._missing(lines.items(end, end + near))
            missing = missing or self._missing(lines.items(first - near, first))
        return tuple(missing[:AT_ONCE])

    def _missing(self, ids: Ids) -> list[int]:
        return [number for number in ids.tolist() if number not in self._rows and number not in self._reading]

    def begin_read(self, item_ids: Sequence[int]) -> None:
        """Take note of a read."""
        self._readers += 1
        self._reading.update(item_ids)

    def end_read(self, generation: int, item_ids: Sequence[int], rows: Sequence[QueueRow] | None) -> bool:
        """Take in what a read brought, None where it failed; return whether it still counts."""
        if generation != self.generation:
            return False
        self._readers -= 1
        self._reading.difference_update(item_ids)
        if rows is None:
            self.failed = True
            return True
        found = {row.item_id: row for row in rows}
        for number in item_ids:
            self._put(number, found.get(number))
        return True
