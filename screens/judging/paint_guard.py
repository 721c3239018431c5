"""Guards that a key judges the item on the terminal: what a screen shows, and since when it can be seen.

Textual paints in steps: a widget that changed asks its screen for room or for a repaint, its screen lays out
and writes, which can change further widgets, and a thread brings what was written to the terminal. A callback
after the next refresh can come before the first of these steps is done, so it proves nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

from screens.items.views import ItemView
from screens.judging.judgment_builder import IDLE_SECONDS, Stopwatch
from screens.judging.order import OrderPlace
from screens.judging.time_spent import TimeSpent

ARRIVAL_SECONDS = 0.7
"""How long after the agents' label came onto the screen no key judges."""

NOT_SEEN = float("inf")
"""When a key judges while the agents' label has come and could not be seen yet."""

SEEN_SECONDS = 0.05
"""Seconds after an item reached the terminal in which keys are still refused, where no setting says more.

Nobody reads, decides and presses a key that fast; and on a busy machine a key is read some time after it was
pressed.
"""

LOOK_SECONDS = 0.002
"""Seconds between two checks whether the widgets have finished their work."""


def when_on_terminal(
    screen: Screen[None], widgets: Callable[[], Iterable[Widget]], then: Callable[[float], None]
) -> None:
    """Call back once widgets of a screen, as they are now, are on the terminal.

    Args:
        screen: Their screen. While another one covers it, nothing of it is painted, and nobody is called.
        widgets: Says which widgets; what is in them counts too.
        then: Called in the screen's own order of messages, with the seconds of the monotonic clock.
    """

    def look(*, again: bool) -> None:
        if not screen.is_attached or not is_in_sight(screen):
            return
        if any(_is_unfinished(each) for widget in widgets() for each in _all_in(widget)):
            # Not after the next refresh: a screen that is called back from there gives nobody else a turn.
            # And Textual's own timer leaves out what comes too late, as all does on a busy machine.
            later = partial(screen.call_later, look, again=True)
            asyncio.get_running_loop().call_later(LOOK_SECONDS, later)
        elif again:
            # Their requests to the screen come before this in its order of messages.
            screen.call_after_refresh(look, again=False)
        else:
            when_written(screen.app, reached)

    def reached(moment: float) -> None:
        screen.call_later(then, moment)

    screen.call_after_refresh(look, again=True)


def when_written(app: App[Any], reached: Callable[[float], None]) -> None:
    """Call back when all that the app has painted until now is on the terminal.

    Args:
        reached: Called with the seconds of the monotonic clock, in whatever thread writes.
    """
    writes = getattr(app._driver, "when_written", None)
    if writes is not None:
        writes(reached)
    else:  # it writes at once, or nowhere
        reached(time.monotonic())


def is_in_sight(screen: Screen[None]) -> bool:
    """Return whether a screen is seen: it is the one on top, or only dialogs are above it."""
    stack = screen.app.screen_stack
    return screen in stack and all(above.is_modal for above in stack[stack.index(screen) + 1 :])


def _all_in(widget: Widget) -> Iterable[Widget]:
    yield widget
    yield from widget.walk_children(Widget)


def _is_unfinished(widget: Widget) -> bool:
    """Tell whether a widget has something to do or to ask for before it is as it shall be seen."""
    return widget.is_attached and (
        not widget.is_mounted
        or widget.message_queue_size > 0
        or widget._layout_required
        or widget._repaint_required
        or widget._scroll_required
        or widget._recompose_required
    )


@dataclass(frozen=True, slots=True)
class DisplayedItem:
    """An item on the screen. Header, panes and keys all take it from this one value.

    Attributes:
        paint: The number of the painting that put it there; a later one has a higher number.
        painted_at: When that had reached the terminal, in seconds of the monotonic clock; None before, and
            while another screen covers it.
        awaited: The parts that have to be on the screen before a key judges.
        settled_at: When a key judges again after the agents' label has changed, on the same clock.
    """

    place: OrderPlace
    view: ItemView
    paint: int
    painted_at: float | None = None
    awaited: str = "item"
    settled_at: float = 0.0


class PaintGuard:
    """Knows which item is on the screen, and refuses keys that were pressed before it could be seen.

    Going to another item sets the wanted place; what is read for that place, and nothing else, is painted.
    Until then the item before stays on the screen, under its own header, and no key judges it.

    Args:
        widgets: Returns the widgets that show the item and its question.
        painted: Called when all of them are on the terminal.
        awaited: Returns what has to come before the item counts as painted; empty for nothing.
        idle_seconds: The longest pause between two keys that does not count as time away.
        seen_seconds: After the item reached the terminal, keys are refused for so long; None for
            `SEEN_SECONDS`.

    Attributes:
        wanted: The place that was gone to last; None while there is none.
        on_screen: The item on the screen; None where there is none.
        is_bare: Whether it is known that no item can be shown.
        spent: Measures how long the question has been asked.
    """

    def __init__(
        self,
        screen: Screen[None],
        widgets: Callable[[], Iterable[Widget]],
        painted: Callable[[], None],
        awaited: Callable[[], str] = str,
        idle_seconds: float = IDLE_SECONDS,
        *,
        seen_seconds: float | None = None,
    ) -> None:
        self.wanted: OrderPlace | None = None
        self.on_screen: DisplayedItem | None = None
        self.is_bare = False
        self.spent = TimeSpent(idle_seconds)
        self._screen = screen
        self._widgets = widgets
        self._painted = painted
        self._awaited = awaited
        self._seen_seconds = seen_seconds
        self._paints = 0

    @property
    def watch(self) -> Stopwatch:
        """Measures the question that is asked."""
        return self.spent.watch

    @property
    def item(self) -> ItemView | None:
        """The item on the screen."""
        return self.on_screen.view if self.on_screen is not None else None

    def item_at(self, place: OrderPlace) -> ItemView | None:
        """Return the item on the screen if it is the one of a place."""
        shown = self.on_screen
        return shown.view if shown is not None and shown.place is place else None

    # -- showing --------------------------------------------------------------------------------------

    def put(self, view: ItemView, place: OrderPlace) -> None:
        """Take an item for what is on the screen from now on, before its widgets show it."""
        shown = self.on_screen if self.on_screen is not None and self.on_screen.place is place else None
        self._paints += 1
        self.is_bare = False
        self.on_screen = replace(shown or DisplayedItem(place, view, 0), view=view, paint=self._paints)

    def show_no_item(self) -> None:
        """Take note that no item can be shown."""
        self.on_screen, self.is_bare = None, True
        self.spent.stop()

    def show_as(self, view: ItemView) -> None:
        """Take another view of the item on the screen: with another question, run, label or citation."""
        shown = self.on_screen
        assert shown is not None
        assert shown.view.item_id == view.item_id
        self.on_screen = replace(shown, view=view)

    def follow(self, before: ItemView | None) -> bool:
        """Refuse keys until what `put` has brought can be seen.

        Args:
            before: The same item as it was shown before; None where another one was.

        Returns:
            Whether the agents' label has come or gone, or what was hidden is shown.
        """
        shown, has_other_claim = self.on_screen, False
        assert shown is not None
        if before is None:
            self.spent.begin(shown.view)
        elif not before.current.is_same_as(shown.view.current):
            # The question has changed, so that the keys have another meaning.
            self.await_paint("question")
            self.spent.begin(shown.view)
        elif _verdict(before) != _verdict(shown.view):
            # A key that was on its way must not judge a claim that nobody has read.
            self.on_screen = replace(shown, settled_at=NOT_SEEN)
            has_other_claim = True
        if has_other_claim or not self.is_painted:
            self.notify_when_painted()
        return has_other_claim

    def show_question(self, view: ItemView) -> None:
        """Ask another question of the item; no key answers it before it is seen."""
        self.show_as(view)
        self.await_paint("question")
        self.spent.begin(view)

    # -- visibility ----------------------------------------------------------------------------------

    @property
    def is_painted(self) -> bool:
        """Whether the item that was gone to last is on the screen, with what is asked."""
        shown = self.on_screen
        return shown is not None and shown.place is self.wanted and shown.painted_at is not None

    def missing_at(self, moment: float) -> str:
        """Return what was not on the screen at a moment of the monotonic clock; empty where all of it was."""
        shown = self.on_screen
        if shown is None or shown.place is not self.wanted:
            return "item"
        seconds = SEEN_SECONDS if self._seen_seconds is None else self._seen_seconds
        was_there = shown.painted_at is not None and shown.painted_at + seconds <= moment
        return "" if was_there else shown.awaited

    def is_unsettled_at(self, moment: float) -> bool:
        """Return whether the agents' label had come too short a time before a moment."""
        return self.on_screen is not None and moment < self.on_screen.settled_at

    def await_paint(self, awaited: str) -> None:
        """Take no key that judges before something has come onto the screen.

        Args:
            awaited: A word for it.
        """
        if self.on_screen is not None:
            self._paints += 1
            self.on_screen = replace(self.on_screen, paint=self._paints, painted_at=None, awaited=awaited)

    def notify_when_painted(self) -> None:
        """Take keys once all that is shown of the item is on the terminal."""
        when_on_terminal(self._screen, self._widgets, partial(self._was_painted, self._paints))

    def _was_painted(self, paint: int, moment: float) -> None:
        if awaited := self._awaited():
            self.await_paint(awaited)
            return
        shown = self.on_screen
        if shown is None or shown.paint != paint or shown.place is not self.wanted:
            return
        if not is_in_sight(self._screen):
            return
        # A label that came while the item could not be seen is new to whoever sees it now.
        seen_now = shown.settled_at == NOT_SEEN and self._screen.is_active
        settled_at = moment + ARRIVAL_SECONDS if seen_now else shown.settled_at
        self.on_screen = replace(shown, painted_at=moment, settled_at=settled_at)
        self._painted()

    def suspended(self) -> None:
        """Take nothing for seen while another screen covers this one; below a dialog it is seen."""
        self._hide(covered=not is_in_sight(self._screen))

    def given_away(self) -> None:
        """Take nothing for seen while the shell has the terminal."""
        self.watch.touch()
        self._hide()

    def came_back(self) -> None:
        """Take keys again once the item is on the terminal again; the time between was spent elsewhere."""
        self.watch.leave_out()
        self._hide()
        self.resumed()

    def _hide(self, *, covered: bool = True) -> None:
        if covered:
            self.await_paint("item")
        if self.on_screen is not None and self.on_screen.settled_at > time.monotonic():
            self.on_screen = replace(self.on_screen, settled_at=NOT_SEEN)

    def resumed(self) -> None:
        """Take keys again once the item is on the terminal again."""
        if self.on_screen is None:
            return
        if self.on_screen.settled_at == NOT_SEEN:
            self.await_paint("item")
        if not self.is_painted:
            self.notify_when_painted()


def _verdict(view: ItemView) -> object:
    return view.claim.verdict_id if view.claim else None, view.blind
