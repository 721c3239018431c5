"""When an app rests: what Textual's pilot waits for behind every key, and in every pause.

Textual's own answer is that the process has used next to no processor time for 20 ms. That is slow, and wrong where the
machine is busy: a process that is not let run uses none either. Here an app rests when every message is dealt with
and drawn; while one of its workers, or a record on its way to disk, has the processor, it does not.

Nor does a pause send each widget a message to see whether it deals with it: those were most messages of all tests.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import textual.app
import textual.pilot
from textual._context import active_app
from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump
from textual.pilot import Pilot

from screens.app import WorkbenchApp

LOOK_SECONDS, LOOKS = 0.01, 3
"""How long threads are watched, and how often in a row they must use less than a tenth of that to be at rest."""


async def wait_for_idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until the active app rests, or the time is over."""
    app = active_app.get()
    end = time.monotonic() + max_sleep
    worked, looks = False, 0
    while time.monotonic() < end:
        await asyncio.sleep(0)
        if is_busy(app):
            await asyncio.sleep(0.001)
        elif has_threads(app):
            used, worked = time.process_time(), True
            await asyncio.sleep(LOOK_SECONDS)
            rests = not is_busy(app) and time.process_time() - used < LOOK_SECONDS / 10
            looks = looks + 1 if rests else 0
            if looks == LOOKS:
                return
        elif worked:
            # What a thread came to may be on its way to the app.
            worked = False
            await asyncio.sleep(0.002)
        else:
            return


def is_busy(app: App[Any]) -> bool:
    """Tell whether a message is under way, or something has to be laid out or drawn; what can be drawn is."""
    if not app.is_running or not app.screen_stack:
        return False
    if has_messages(app):
        return True
    screen = app.screen
    if screen._layout_required or screen._repaint_required or screen._dirty_widgets or screen._callbacks:
        screen._on_timer_update()
        return True
    return False


def has_messages(app: App[Any]) -> bool:
    """Tell whether a message is under way to the app or to one of its widgets."""
    return app.is_running and any(
        pump in _dispatching
        or pump._pending_message
        or pump._next_callbacks
        or not pump._message_queue.empty()
        or not pump._mounted_event.is_set()
        for pump in (app, *app._registry)
    )


async def wait_for_screen(pilot: Pilot[Any]) -> bool:
    """Wait until no message is under way, for half a minute; tell whether no error was raised."""
    app, end, turns = pilot.app, time.monotonic() + 30.0, 0
    while has_messages(app) and not app._exception_event.is_set() and time.monotonic() < end:
        await asyncio.sleep(0 if turns < 10 else 0.001)
        turns += 1
    return not app._exception_event.is_set()


def has_threads(app: App[Any]) -> bool:
    """Tell whether something works beside the app that it may still hear of."""
    if any(not worker.is_finished and worker.group != "wait" for worker in app.workers):
        return True
    return isinstance(app, WorkbenchApp) and bool(app.context.workspace.lane.waiting)


_dispatching: set[MessagePump] = set()
"""Those that deal with a message."""

_dispatch_message = MessagePump._dispatch_message


async def _dispatch_and_tell(pump: MessagePump, message: Message) -> None:
    _dispatching.add(pump)
    try:
        await _dispatch_message(pump, message)
    finally:
        _dispatching.discard(pump)


MessagePump._dispatch_message = _dispatch_and_tell  # type: ignore[method-assign]
Pilot._wait_for_screen = wait_for_screen  # type: ignore[method-assign]
textual.app.wait_for_idle = textual.pilot.wait_for_idle = wait_for_idle  # type: ignore[attr-defined]
