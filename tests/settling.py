"""When an app has settled: the one place that touches private parts of Textual, as they are in version 8.2.

`settled(app)` is what Textual's pilot waits for here behind every key and in every pause. Textual's own answer is that
the process used next to no processor time for 20 ms, which is slow, and wrong where the machine is busy: a process that
is not let run uses none either. It is discussed in Textualize/textual #1675, and #2584, which has each widget answer a
message; neither tells when an app has nothing left to do.

An app has settled when nothing that `screens.threads` counts is under way, every message is dealt with, what was asked
for is painted, and the item of a review can be judged.

What a test keeps from ending is left out: a thread that waits in a `Gate`, and what it names to `left_alone`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import textual
import textual.app
import textual.pilot
from textual._context import active_app
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.message import Message
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.worker import NoActiveWorker, Worker, WorkerState, get_current_worker

from screens import threads
from screens.input_guard.guard import BURST_SECONDS
from screens.judging.paint_guard import PaintGuard, is_in_sight
from screens.threads import underway

assert textual.__version__.startswith("8.2."), "look through this file again for another version of Textual"

SECONDS = 120.0
"""After which an app that has not settled is taken for one that never will."""

FOLLOWED = ("write", "tests")
"""The groups of what is followed and is no worker."""

TURNS = 40
"""How often the guard of a review looks again whether its item is painted, when nothing else is left to do."""

_resting: list[asyncio.Event] = []
"""What waits for keys to rest: in tests they do when somebody wants to see what comes of it."""

_held: dict[Gate, list[Worker[Any]]] = {}
"""The workers that wait in each gate."""

_gates_of_futures: set[Gate] = set()
"""The gates in which a thread waits that is no worker."""

_left: Counter[str] = Counter()
"""The groups of work that a test keeps from ending."""


class Gate(threading.Event):
    """Keeps a thread of the app from going on until it is set; what waits in it is not waited for."""

    def wait(self, timeout: float | None = SECONDS) -> bool:
        """Wait until the gate is set; return whether it was."""
        if self.is_set():
            return True
        try:
            _held.setdefault(self, []).append(get_current_worker())
        except NoActiveWorker:
            # The write lane, or the thread of tests that an expert runs: all that is followed waits with it.
            _gates_of_futures.add(self)
        return super().wait(timeout)

    def set(self) -> None:
        """Let go on what waits, and what comes later."""
        _held.pop(self, None)
        _gates_of_futures.discard(self)
        super().set()


@contextmanager
def left_alone(*groups: str) -> Iterator[None]:
    """Do not wait for work of some groups: it goes on for as long as the test wants it to."""
    _left.update(groups)
    try:
        yield
    finally:
        _left.subtract(groups)


def forget_gates() -> None:
    """Wait again for everything: what a test kept from ending is of no concern to the next one."""
    _held.clear()
    _gates_of_futures.clear()
    _left.clear()


def _awaited_work(app: App[Any]) -> list[str]:
    """Return what is under way but for what a test keeps from ending."""
    held = [worker for workers in _held.values() for worker in workers]
    # A thread that a worker began has the worker's context, and outlives it.
    follows = _gates_of_futures or any(worker.state is WorkerState.SUCCESS for worker in held)
    left = {*+_left, *(FOLLOWED if follows else ())}
    work = Counter(name for name in underway(app) if name not in left)
    work.subtract(worker.group for worker in held if not worker.is_finished)
    return list(work.elements())


async def settled(app: App[Any], *, rests: bool = True) -> None:
    """Wait until an app has settled; one that has ended, or that fails, has.

    Args:
        app: The app.
        rests: Whether what waits for keys to rest is done, too.

    Raises:
        AssertionError: It has not in two minutes; the message says what is under way.
    """
    end, looks, pause = time.monotonic() + SECONDS, 0, 0.0
    while app.is_running and not app._exception_event.is_set():
        await asyncio.sleep(pause)
        work = _awaited_work(app)
        if is_busy(app):
            looks, pause = 0, min(pause + 0.0002, 0.002)
        elif len(work) > len(_resting):
            assert time.monotonic() < end, f"still under way: {', '.join(work)}"
            looks, pause = 0, min(pause + 0.001, 0.005)
        elif work and rests:
            looks, pause = 0, 0.0
            while _resting:
                _resting.pop().set()
        elif looks < TURNS and not _can_judge(app):
            looks, pause = looks + 1, 0.002
        else:
            return


def is_busy(app: App[Any]) -> bool:
    """Tell whether a message is under way, or something has to be laid out or drawn; what can be drawn is."""
    if not app.is_running or not app.screen_stack:
        return False
    if has_messages(app):
        return True
    if app._resize_event is not None:
        app._check_resize()
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


def _can_judge(app: App[Any]) -> bool:
    guard = getattr(app.screen, "guard", None)
    if not isinstance(guard, PaintGuard) or guard.on_screen is None or not is_in_sight(app.screen):
        return True
    return not guard.missing_at(time.monotonic())


async def until(
    pilot: Pilot[Any], true: Callable[[], bool], what: str = "", *, seconds: float = 120.0
) -> None:
    """Wait for what an app does not do itself: a job of the agents, another process, an editor.

    Everything else has happened when the app has settled, which it has after each key.
    """
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"never came about: {what or true}"
        await settled(pilot.app)
        await pilot.pause(0.01)
    await settled(pilot.app)


# -- in the place of Textual's ---------------------------------------------------------------------------


async def _wait_for_idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    await settled(active_app.get())


async def _wait_behind_key(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    await settled(active_app.get(), rests=False)


async def _wait_for_screen(pilot: Pilot[Any], timeout: float = 30.0) -> bool:  # noqa: ASYNC109 - its signature is Textual's
    """Wait until no message is under way; tell whether no error was raised.

    Textual sends each widget a message to see whether it deals with it: those were most messages of all tests.
    """
    app, end = pilot.app, time.monotonic() + SECONDS
    while has_messages(app) and not app._exception_event.is_set():
        assert time.monotonic() < end, "messages are never dealt with"
        await asyncio.sleep(0.001)
    return not app._exception_event.is_set()


_dispatching: set[MessagePump] = set()
"""Those that deal with a message."""

_dispatch_message, _press_keys = MessagePump._dispatch_message, App._press_keys


async def _dispatch_and_tell(pump: MessagePump, message: Message) -> None:
    _dispatching.add(pump)
    try:
        await _dispatch_message(pump, message)
    finally:
        _dispatching.discard(pump)


async def _press_when_settled(app: App[Any], keys: Iterable[str]) -> None:
    """Press keys as somebody does who looks at what each of them does before pressing the next one."""
    await settled(app)
    for key in keys:
        # No hand is quicker, and keys that come together are refused as a paste.
        await asyncio.sleep(2 * BURST_SECONDS)
        await _press_keys(app, [key])
    await settled(app)


async def _rest(_seconds: float) -> None:
    rest = asyncio.Event()
    _resting.append(rest)
    try:
        await rest.wait()
    finally:
        if rest in _resting:
            _resting.remove(rest)


# Apps of the same theme share what came of a style sheet: parsing them was a tenth of an app's start.
_parse_rules, _rules = Stylesheet._parse_rules, dict[tuple[Any, ...], list[RuleSet]]()


def _parse_rules_once(sheet: Stylesheet, *source: Any, **more: Any) -> list[RuleSet]:
    key = (source, *more.items(), *sheet._variables.items())
    if key not in _rules:
        _rules[key] = _parse_rules(sheet, *source, **more)
    return _rules[key]


Stylesheet._parse_rules = _parse_rules_once  # type: ignore[method-assign]
MessagePump._dispatch_message = _dispatch_and_tell  # type: ignore[method-assign]
Pilot._wait_for_screen = _wait_for_screen  # type: ignore[method-assign]
App._press_keys = _press_when_settled  # type: ignore[method-assign]
textual.app.wait_for_idle = _wait_behind_key  # type: ignore[attr-defined]
textual.pilot.wait_for_idle = _wait_for_idle  # type: ignore[attr-defined]
threads.rest = _rest
