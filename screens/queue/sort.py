"""The modal in which a queue's order is chosen: a letter for each."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from screens.commands import bindings
from screens.help import hint
from screens.queue.fields import Order, orders
from screens.widgets.cursor_lines import cursor_lines
from store.queries.rows import QueueSort

if TYPE_CHECKING:
    from screens.settings import ScreenSettings


class SortScreen(ModalScreen[QueueSort | None]):
    """Chooses an order; None when it is left as it was.

    Args:
        here: The kinds that there are; none where that is not known.
        blind: Leave out what rests on the agents' labels.
    """

    CSS_PATH = "modals.tcss"
    BINDINGS = bindings("order")

    def __init__(
        self, settings: ScreenSettings, sort: QueueSort, here: Collection[str] = (), *, blind: bool
    ) -> None:
        super().__init__()
        self._settings = settings
        self._blind = blind
        self._here = here
        self._sort = sort
        self._orders: list[Order] = []
        self._index = 0
        self._descending = sort.descending

    def compose(self) -> ComposeResult:
        """Lay out a line for each order."""
        settings = self._settings
        self._orders = orders(blind=self._blind, here=self._here)
        keys = [order.key for order in self._orders]
        self._index = keys.index(self._sort.key) if self._sort.key in keys else 0
        with Vertical(classes="modal -small") as box:
            box.border_title = "Order"
            yield Static(id="orders")
            named = hint(
                settings, ("order.apply", "sort"), ("order.turn", "reverse"), ("order.leave", "cancel")
            )
            yield Static(Content(f"letter or {named}"), classes="keys")

    def on_mount(self) -> None:
        """Show the orders."""
        self._lay_out()

    def on_key(self, event: events.Key) -> None:
        """Take the letter of an order; that of the standing order turns it round."""
        for index, order in enumerate(self._orders):
            if event.character == order.letter:
                event.stop()
                descending = not self._sort.descending if order.key == self._sort.key else self._descending
                self._index, self._descending = index, descending
                self.action_apply()

    def action_apply(self) -> None:
        """Take the order under the cursor."""
        self.dismiss(QueueSort(self._orders[self._index].key, self._descending))

    def action_move(self, lines: int) -> None:
        """Go to another order."""
        self._index = (self._index + lines) % len(self._orders)
        self._lay_out()

    def action_turn(self) -> None:
        """Turn the direction round."""
        self._descending = not self._descending
        self._lay_out()

    def _lay_out(self) -> None:
        texts = [f"{order.letter}  {order.title:<28}" for order in self._orders]
        texts[self._index] += "↓ descending" if self._descending else "↑ ascending"
        self.query_one("#orders", Static).update(Content("\n").join(cursor_lines(texts, self._index)))
