"""Reads the item that a screen has gone to, and its neighbours ahead."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.screen import Screen

from screens.items.reader import ItemReader
from screens.items.views import ItemView
from screens.judging.order import OrderPlace, ReviewOrder
from screens.judging.paint_guard import PaintGuard
from screens.threads import in_thread
from store.errors import WorkbenchError


class ItemLoader:
    """Shows the item that was gone to last: from what was read ahead, or as soon as it is read.

    Args:
        guard: Knows which place was gone to last.
        reader: Returns what reads an item.
        show: Shows an item that was read, at its place.
        failed: Called where it could not be read.
    """

    def __init__(
        self,
        screen: Screen[None],
        guard: PaintGuard,
        order: ReviewOrder,
        reader: Callable[[int], ItemReader],
        *,
        show: Callable[[ItemView, OrderPlace], object],
        failed: Callable[[WorkbenchError], object],
    ) -> None:
        self._screen = screen
        self._guard = guard
        self._order = order
        self._reader = reader
        self._show = show
        self._failed = failed

    def show(self) -> None:
        """Show the item at the place gone to last."""
        place = self._guard.wanted
        if place is None:
            return
        kept = self._reader(place.item_id).kept(place.item_id)
        if kept is not None:
            self._show(kept, place)
        else:
            self.read()

    def read(self, item_id: int | None = None) -> None:
        """Read the item gone to last, and show it.

        Args:
            item_id: An item that has changed; nothing is read if another one was gone to. None reads anyway.
        """
        place = self._guard.wanted
        if place is None or item_id not in (None, place.item_id):
            return
        read = partial(self._reader(place.item_id).read, place.item_id)
        done, failed = partial(self._came, place), partial(self._not_read, place)
        in_thread(self._screen, read, done, failed, group="item", exclusive=False)

    def _came(self, place: OrderPlace, view: ItemView) -> None:
        if place is self._guard.wanted:
            self._show(view, place)

    def _not_read(self, place: OrderPlace, error: WorkbenchError) -> None:
        if place is self._guard.wanted:
            self._failed(error)

    def read_ahead(self) -> None:
        """Read the items around, so that they are there when they are gone to."""
        around = [item_id for offset in (1, 2, -1) if (item_id := self._order.at(offset)) is not None]
        readers = [(item_id, self._reader(item_id)) for item_id in around]

        def read() -> None:
            for item_id, reader in readers:
                reader.read(item_id)

        if any(reader.kept(item_id) is None for item_id, reader in readers):
            # The error is shown when the item is.
            in_thread(self._screen, read, group="ahead", exclusive=False)
