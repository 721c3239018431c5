"""Taking up the order of a queue: the one of the session before, another one, and what is new since."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from textual import work

from screens.covering import CoveredScreen
from screens.queue.asked import Asked
from store.errors import WorkbenchError
from store.queries.rows import QueueFilter, QueueSort

if TYPE_CHECKING:
    from screens.app import WorkbenchApp
    from screens.queue.order import Found, QueueOrders
    from screens.widgets.item_list import ItemList


class TakingUpOrders(CoveredScreen):
    """The part of a queue's screen that reads its order; one that was overtaken by another is not shown."""

    items: ItemList
    orders: QueueOrders

    # What the other part of the screen gives to this one.
    _lay_out: Callable[[], None]

    def __init__(self) -> None:
        super().__init__()
        self.asked = Asked(QueueFilter(), QueueSort())
        self.total: int | None = None
        self._new = 0
        self._afresh = False
        self._generation = 0
        # The kinds of all items; none before they were counted.
        self.kinds_here: frozenset[str] = frozenset()
        self._complete = False
        self._go_to: int | None = None
        # What was chosen before the order was read: an item, or whichever is under the cursor then.
        self._to_open: int | None = None
        self._open_any = False
        self._failure: Exception | None = None

    @property
    def workbench(self) -> WorkbenchApp:
        """The app, as what it is."""
        return cast("WorkbenchApp", self.app)

    def _take_up(self) -> None:
        """Show the queue of the session before; all items at once where a start has read the first ones."""
        look = self.workbench.context.first_look
        if look is None or look.rows is None:
            self._read_kept()
            return
        asked, item_id = self.orders.of(look.queue or {})
        if asked != Asked():
            self.ask(asked, item_id)
            return
        self._begin_order(asked, item_id)
        self._order_read(self._generation, self.orders.begun(look.rows))
        # What reads the others is imported only when these are on the screen.
        self.call_after_refresh(self._read_order, self._generation, asked, begun=True)

    @work(thread=True)
    def _read_kept(self) -> None:
        asked, item_id = Asked(), None
        try:
            asked, item_id = self.orders.kept()
        finally:
            self.call_later(self.ask, asked, item_id)

    def ask(self, asked: Asked, item_id: int | None = None) -> None:
        """List another queue.

        The cursor goes to the item given, after a change of the filter to the first match that is not judged,
        and otherwise stays with its item.
        """
        filtered = item_id is None and asked.wanted not in (self.asked.wanted, QueueFilter())
        self._begin_order(asked, item_id)
        self._read_order(self._generation, asked, to_unjudged=filtered)

    def _begin_order(self, asked: Asked, item_id: int | None) -> None:
        # A choice made before the first order was asked for is meant for that one.
        self._open_any = self._open_any and not self._generation
        self._generation += 1
        self.asked = asked
        self._go_to = item_id
        self._complete = False
        self._failure = None
        self._to_open = None
        self._new = 0
        self._lay_out()

    @work(thread=True, exclusive=True, group="order")
    def _read_order(
        self, generation: int, asked: Asked, *, begun: bool = False, to_unjudged: bool = False
    ) -> None:
        at: int | None = None
        try:
            if asked.begins_quickly and not begun:
                self.call_later(self._order_read, generation, self.orders.first(asked))
            found = self.orders.all(asked)
            if to_unjudged and len(found.ids):
                at = self.orders.first_unjudged(asked) or int(found.ids[0])
        except WorkbenchError as error:
            self.call_later(self._order_failed, generation, error)
        else:
            self.call_later(self._order_read, generation, found, at)

    def _order_read(self, generation: int, found: Found, at: int | None = None) -> None:
        if generation != self._generation:
            return
        # The head of an order is shown only where no place is lost by it: at the start.
        if found.complete or not self.items.count:
            # Who has moved the cursor meanwhile stays where they are.
            at = at or (None if self.items.cursor else self._go_to)
            self.items.show(found.ids, rows=found.rows, kinds=found.kinds, afresh=self._afresh, at=at)
            self._afresh = False
        self._complete = found.total is not None
        if self._complete and self.asked.wanted.kind is None:
            self.kinds_here = found.kinds
        if self._complete:
            self.total, self._go_to = found.total, None
        self._lay_out()
        if self._complete:
            self._open_chosen()

    @property
    def is_opening(self) -> bool:
        """Whether an item was chosen that is opened as soon as the order is read."""
        return self._open_any or self._to_open is not None

    def _open_chosen(self) -> None:
        """Open what was chosen while the order was read, where it is listed and no dialog is open."""
        to_open, self._to_open = self._to_open, None
        any_item, self._open_any = self._open_any, False
        if self.is_current and (any_item or (to_open is not None and self.items.go_to(to_open))):
            self.items.choose()

    def _order_failed(self, generation: int, error: Exception) -> None:
        if generation == self._generation:
            self._failure = error
            self._lay_out()

    @work(thread=True, exclusive=True, group="new")
    def _look_for_new(self) -> None:
        try:
            total = self.orders.total()
        except WorkbenchError:
            # What cannot be counted now is counted when the order is read anew.
            return
        self.call_later(self._found_new, total)

    def _found_new(self, total: int) -> None:
        if not self._complete or self.total is None or total == self.total:
            return
        if not self.total:
            self.ask(self.asked)
            return
        self._new = total - self.total
        self._lay_out()
