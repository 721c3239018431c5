"""Background work of the screens: in threads, in turns between keys, and after a rest.

All of it is begun here, as a worker of Textual's or as a write that is followed, and its results come in
Textual's own order of messages. `underway` says what of it has not ended yet.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from textual.app import App
from textual.dom import DOMNode
from textual.worker import Worker, get_current_worker

from store.errors import WorkbenchError

T = TypeVar("T")

rest = asyncio.sleep
"""Waits for some seconds."""

_followed: WeakKeyDictionary[App[Any], Counter[str]] = WeakKeyDictionary()
"""The number of unfinished futures of each app, by group."""


def underway(app: App[Any]) -> list[str]:
    """Return what an app works on behind its screens, as sorted names of groups; empty where nothing is left.

    A result on its way to a node is one of the node's messages, and no longer counted here.
    """
    names = [worker.group for worker in app.workers if not worker.is_finished]
    names += _followed.get(app, Counter()).elements()
    context = getattr(app, "context", None)
    if context is not None and context.workspace.lane.waiting:
        names.append("write")
    return sorted(names)


def deliver(app: App[Any], callback: Callable[..., object], *arguments: object) -> None:
    """Call back in the app's order of messages; an app that has ended is not called."""
    if app.is_running:
        app.call_later(callback, *arguments)


def follow(
    app: App[Any],
    future: Future[T],
    succeeded: Callable[[T], object],
    failed: Callable[[BaseException], object],
    *,
    group: str = "write",
) -> None:
    """Deliver what a future comes to.

    Args:
        app: In whose order of messages. Called in its thread.
        future: The awaited result; only the end of the app cancels it, and then nobody is called.
        group: What `underway` calls it.
    """
    counted = _followed.setdefault(app, Counter())
    counted[group] += 1

    def report(done: Future[T]) -> None:
        deliver(app, reported, done)

    def reported(done: Future[T]) -> object:
        counted[group] -= 1
        if done.cancelled():
            return None
        error = done.exception()
        # What is returned may have to be awaited, which Textual does.
        return succeeded(done.result()) if error is None else failed(error)

    future.add_done_callback(report)


class Deliver(Protocol):
    """Delivers a part of what a thread works out, while it goes on."""

    def __call__(self, callback: Callable[..., object], /, *arguments: Any) -> None:
        """Call back in the order of messages of the node, unless the work was replaced."""


def in_thread(
    node: DOMNode,
    work: Callable[[], T],
    done: Callable[[T], object] = lambda _: None,
    failed: Callable[[WorkbenchError], object] | None = None,
    *,
    group: str,
    exclusive: bool = True,
) -> None:
    """Do some work in a thread, and deliver its result to a screen or widget.

    Cancelling does not stop a thread: what a cancelled read comes to is older than what replaced it, and is
    dropped, so that the last one asked for is the one that is shown.

    Args:
        node: In whose order of messages.
        work: Called in the thread.
        failed: Called with the error that a user can mend; None to ignore it.
        exclusive: Whether the node's other workers of the group are cancelled; False for what writes.
    """

    def in_one_part(deliver: Deliver) -> None:
        deliver(done, work())

    in_parts(node, in_one_part, failed, group=group, exclusive=exclusive)


def in_parts(
    node: DOMNode,
    work: Callable[[Deliver], object],
    failed: Callable[[WorkbenchError], object] | None = None,
    *,
    group: str,
    exclusive: bool = True,
) -> None:
    """Do some work in a thread that delivers its results itself, one after another.

    Args:
        node: In whose order of messages.
        work: Called in the thread, with the function that delivers a result.
        failed: Called with the error that a user can mend; None to ignore it.
        exclusive: Whether the node's other workers of the group are cancelled; False for what writes.
    """

    def run() -> None:
        worker = get_current_worker()

        def deliver(callback: Callable[..., object], /, *arguments: Any) -> None:
            node.call_later(unless_replaced, worker, callback, *arguments)

        try:
            work(deliver)
        except WorkbenchError as error:
            if failed is not None:
                deliver(failed, error)

    def unless_replaced(worker: Worker[None], callback: Callable[..., object], *arguments: Any) -> object:
        # Asked in the app's thread, where reads are replaced: asked in the other, the answer could be old.
        # What is returned may have to be awaited, which Textual does.
        return None if worker.is_cancelled else callback(*arguments)

    node.run_worker(run, thread=True, group=group, exclusive=exclusive)


def in_turns(node: DOMNode, work: Coroutine[Any, Any, None], *, group: str) -> None:
    """Do some work in the app's own thread, which gives keys their turn whenever it awaits something."""
    node.run_worker(work, group=group)


class Soon:
    """Calls back after a rest, once for all that asks for it meanwhile.

    Args:
        node: In whose order of messages; none is called once it is gone.
        group: What `underway` calls it.
    """

    def __init__(self, node: DOMNode, seconds: float, *, group: str) -> None:
        self._node = node
        self._seconds = seconds
        # Not the group of what is begun then, which cancels what is under way in its own.
        self._group = f"{group} soon"
        self._worker: Worker[None] | None = None

    def call(self, callback: Callable[[], object], *, again: bool = False) -> None:
        """Call back when the rest is over.

        Args:
            again: Whether a rest that has begun ends, and this one is taken; otherwise that one is kept.
        """
        if self._worker is not None and not self._worker.is_cancelled:
            if not again:
                return
            self._worker.cancel()
        self._worker = self._node.run_worker(partial(self._rest, callback), group=self._group)

    def stop(self) -> None:
        """Call nobody."""
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None

    async def _rest(self, callback: Callable[[], object]) -> None:
        await rest(self._seconds)
        self._worker = None
        self._node.call_later(callback)
