"""The items of a review in their frozen order, and where one comes back to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class OrderPlace:
    """A place in the order of a review, as it was when the review went there.

    Its numbers change once, where only the beginning of the order was known then (`ReviewOrder.complete`).

    Attributes:
        number: Its number in the queue, from 1; that of its first time where it comes again.
        total: How many items the queue lists; None while only its beginning is known.
        again: Whether the item was put off and has come back.
    """

    item_id: int
    number: int
    total: int | None
    again: bool


class ReviewOrder:
    """Which items are reviewed, in which order, and which one is shown.

    The order is that of the queue at the moment it was opened; an item that is skipped comes again last.

    Args:
        ids: The items in their order, each once.
        index: Which place is shown.
        again: Items of these that come again at the end.
        whole: Whether these are all; False for the first ones, before the others are known.
    """

    def __init__(
        self, ids: Sequence[int], index: int = 0, again: Sequence[int] = (), *, whole: bool = True
    ) -> None:
        self.ids = [*ids, *again]
        self.whole = whole
        self.total = len(ids)
        """How many items there are; what comes again is no further item."""
        self.index = min(max(0, index), max(0, len(self.ids) - 1))
        self.furthest = self.index
        """The furthest place that was gone to."""

    def take(self, other: ReviewOrder) -> None:
        """Go on in another order, at its place."""
        self.ids, self.total, self.whole = other.ids, other.total, other.whole
        self.index, self.furthest = other.index, other.furthest

    def complete(self, ids: Sequence[int], places: Iterable[OrderPlace]) -> None:
        """Take in the whole of an order of which only the beginning was known, and stay at its item.

        Args:
            ids: The items in their order, each once.
            places: The places on the screen and gone to last, which get the number of all items.
        """
        begun, again = self.ids[: self.total], self.ids[self.total :]
        # Where the order is another one than at its beginning, as in groups, nothing is passed over, and what
        # was gone to stays listed.
        gone = begun[: self.furthest + 1]
        known = set(gone)
        listed = [*gone, *(item_id for item_id in ids if item_id not in known)]
        if self.index >= len(begun):
            self.index += len(listed) - len(begun)
        self.ids, self.total, self.whole = [*listed, *again], len(listed), True
        for place in places:
            place.total = self.total

    @property
    def item_id(self) -> int | None:
        """The item shown, None at the end and when there are no items."""
        return self.ids[self.index] if self.index < len(self.ids) else None

    @property
    def at_end(self) -> bool:
        """Whether the review has gone past the last item."""
        return bool(self.ids) and self.index >= len(self.ids)

    @property
    def nearest(self) -> int | None:
        """The item shown, at the end the last one."""
        return self.ids[min(self.index, len(self.ids) - 1)] if self.ids else None

    @property
    def place(self) -> OrderPlace | None:
        """The place of the item shown, None at the end and when there are no items."""
        item_id = self.item_id
        if item_id is None:
            return None
        again = self.index >= self.total
        number = 1 + (self.ids.index(item_id) if again else self.index)
        return OrderPlace(item_id, number, self.total if self.whole else None, again)

    def at(self, offset: int) -> int | None:
        """Return the item `offset` places further on, None beyond an end."""
        place = self.index + offset
        return self.ids[place] if 0 <= place < len(self.ids) else None

    def move(self, offset: int) -> bool:
        """Move on, from the last item to the end; return whether there was a place, as far as is known."""
        if not self.ids or not 0 <= self.index + offset <= len(self.ids) - (not self.whole):
            return False
        self.index += offset
        self.furthest = max(self.furthest, self.index)
        return True

    def end(self) -> None:
        """Go past the last item."""
        self.index = len(self.ids)

    def put_last(self, item_id: int) -> None:
        """Let an item come again at the end."""
        if self.ids and self.ids[-1] != item_id:
            self.ids.append(item_id)

    def take_last_away(self, item_id: int) -> None:
        """Undo `put_last`, unless the item is the one shown there."""
        last = len(self.ids) - 1
        if last >= self.total and self.ids[last] == item_id and self.index != last:
            self.ids.pop()
            self.index = min(self.index, len(self.ids))

    def go_to(self, item_id: int) -> None:
        """Show an item, at the nearest of its places.

        One that is not listed is put before the one shown, or before all that come again.
        """
        if self.item_id == item_id:
            return
        if self.at(-1) == item_id:
            # An undo is nearly always of the item before.
            self.index -= 1
        elif item_id in self.ids:
            places = (place for place, listed in enumerate(self.ids) if listed == item_id)
            self.index = min(places, key=lambda place: abs(place - self.index))
        else:
            self.index = min(self.index, self.total)
            self.ids.insert(self.index, item_id)
            self.total += 1
            self.furthest += 1
        self.furthest = max(self.furthest, self.index)
