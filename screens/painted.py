"""Tells when what a screen shows has reached the terminal.

Textual paints in steps: a widget that changed asks its screen for room or for a repaint, its screen lays out
and writes, which can change further widgets, and a thread brings what was written to the terminal. A callback
after the next refresh can come before the first of these steps is done, so it tells nothing of what is seen.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

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
            # What they asked of the screen before now is before this in its order of messages.
            screen.call_after_refresh(look, again=False)
        else:
            when_written(screen.app, reached)

    def reached(moment: float) -> None:
        screen.call_later(then, moment)

    screen.call_after_refresh(look, again=True)


def when_written(app: App[Any], reached: Callable[[float], None]) -> None:
    """Call back when all that the app has painted until now is on the terminal.

    Args:
        app: The app.
        reached: Called with the seconds of the monotonic clock, in whatever thread writes.
    """
    writes = getattr(app._driver, "when_written", None)
    if writes is not None:
        writes(reached)
    else:  # it writes at once, or nowhere
        reached(time.monotonic())


def is_in_sight(screen: Screen[None]) -> bool:
    """Tell whether a screen is seen: it is the one on top, or nothing but dialogs stand on it."""
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
