"""Going through the items of a review, in their frozen order."""

from __future__ import annotations

from collections.abc import Callable

from textual import work

from screens.help import key_name
from screens.queue.asked import Asked
from screens.review.items import ReviewOrder
from screens.review.resuming import restored_order
from screens.review.revising import RevisingTexts
from store.queries.queue import queue_ids
from store.queries.rows import QueueFilter
from store.queries.standing import open_among

NEAR = 256
"""Items further on that are looked through before the whole queue is."""


class MovingThrough(RevisingTexts):
    """The part of a review screen that goes from item to item."""

    # What the judging part of the screen gives to this one.
    leave_reason: Callable[[], None]

    def _go(self, offset: int) -> bool:
        self._remember_places()
        if not self.order.move(offset):
            return False
        self.keep_draft()
        self.stop_searching()
        self._show_item()
        self.keep_place_soon()
        return True

    def action_next(self) -> None:
        """Go to the next match of a search, otherwise to the next item."""
        if self.searching:
            self.next_match()
            return
        self._step(1, "This is the end of the list.")

    def action_previous(self) -> None:
        """Go to the previous item."""
        self._step(-1, "This is the first item.")

    def _step(self, offset: int, at_the_end: str) -> None:
        self._reasons_for = None
        self._say("")
        if not self._go(offset):
            self._say(at_the_end)

    def action_next_open(self) -> None:
        """Go to the next item of the queue that has neither a label nor a "cannot decide"."""
        self._reasons_for = None
        self._say("")
        if self.order.ids:
            self._find_open(self.order.ids, self.order.index)

    @work(thread=True, exclusive=True, group="open")
    def _find_open(self, ids: list[int], index: int) -> None:
        found = self._next_open(ids, index)
        if found is not None or index < len(ids):
            self.call_later(self._go_to_open, found, index)
            return
        # Nothing of this list is left: the review goes on with all items.
        context = self.context
        rater_id = context.rater.id if context.rater else 0
        asked, order = restored_order(context.workspace, rater_id, {}, blind=context.settings.blind)
        self.call_later(self._go_on_elsewhere, asked, order)

    def _go_on_elsewhere(self, asked: Asked, order: ReviewOrder) -> None:
        if not self.order.at_end or self._commented is not None:
            return
        if order.item_id in self.order.ids:
            self._say("Every item of this workspace has your label.")
            return
        self.asked, self.order = asked, order
        self._say("All items are listed again.")
        self._show_item()
        self.keep_place_soon()

    def _next_open(self, ids: list[int], index: int) -> int | None:
        """Return the next place with an item to judge, after the last from the top; None without one."""
        context = self.context
        rater_id = context.rater.id if context.rater else 0
        import numpy

        waiting = {action.item_id for action in list(self.context.recorder.unsaved.values())}
        near = ids[index + 1 : index + 1 + NEAR]
        with context.workspace.reading() as connection:
            found = open_among(connection, rater_id, near) - waiting
        for place, item_id in enumerate(near, start=index + 1):
            if item_id in found:
                return place
        parts = [
            queue_ids(context.workspace, rater_id, QueueFilter(status=status))
            for status in ("open", "skipped")
        ]
        open_ids = numpy.setdiff1d(numpy.concatenate(parts), numpy.fromiter(waiting, dtype=numpy.int64))
        places = numpy.flatnonzero(numpy.isin(numpy.asarray(ids), open_ids))
        places = places[places != index]
        if not len(places):
            return None
        later = places[places > index]
        return int(later[0] if len(later) else places[0])

    def _go_to_open(self, found: int | None, index: int) -> None:
        if self._commented is not None:
            # What is typed meanwhile belongs to the item on the screen.
            return
        if found is None:
            self._go(len(self.order.ids) - self.order.index)
        elif index == self.order.index:
            again = found < index
            self._go(found - index)
            if again:
                self._say("Started again from the top of the queue.")

    def action_close_line(self) -> None:
        """Close the line that is written in: a comment stays as a draft, a search ends."""
        self.end_search()

    def action_back(self) -> None:
        """End a search or a question that is open; otherwise go back to where the review was opened."""
        if self.end_search():
            return
        escaping = self.context.last_key.name == "escape"
        if self._reasons_for is not None and (escaping or self._ending_key != key_name("escape")):
            self.leave_reason()
            return
        if escaping:
            # On a slow line an arrow key can begin with a lone Escape, which must not throw the rater out.
            self._say(f"Nothing to end here; {self._key('back')} goes back.")
            return
        self.keep_place()
        self.dismiss()
