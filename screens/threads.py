"""Work in threads, with results in Textual's own order of messages."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from textual.app import App
from textual.dom import DOMNode
from textual.worker import Worker, get_current_worker

from store.errors import WorkbenchError

T = TypeVar("T")


def deliver(app: App[Any], callback: Callable[..., object], *arguments: object) -> None:
    """Call back in the app's order of messages; an app that has ended is not called."""
    if app.is_running:
        app.call_later(callback, *arguments)


def follow(
    app: App[Any],
    future: Future[Any],
    succeeded: Callable[[Any], object],
    failed: Callable[[BaseException], object],
) -> None:
    """Deliver what a future comes to.

    Args:
        app: In whose order of messages.
        future: The awaited result; only the end of the app cancels it, and then nobody is called.
        succeeded: Called with its result.
        failed: Called with its error.
    """

    def report(done: Future[Any]) -> None:
        if done.cancelled():
            return
        error = done.exception()
        if error is None:
            deliver(app, succeeded, done.result())
        else:
            deliver(app, failed, error)

    future.add_done_callback(report)


def in_thread(
    node: DOMNode,
    work: Callable[[], T],
    done: Callable[[T], object],
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
        done: Called with its result.
        failed: Called with the error that a user can mend; None to ignore it.
        group: The worker's group.
        exclusive: Whether the node's other workers of the group are cancelled; False for what writes.
    """

    def run() -> None:
        worker = get_current_worker()
        try:
            result = work()
        except WorkbenchError as error:
            if failed is not None:
                node.call_later(deliver_current, worker, failed, error)
        else:
            node.call_later(deliver_current, worker, done, result)

    def deliver_current(worker: Worker[None], callback: Callable[..., object], outcome: object) -> object:
        # Asked in the app's thread, where reads are replaced: asked in the other, the answer could be old.
        # What is returned may have to be awaited, which Textual does.
        return None if worker.is_cancelled else callback(outcome)

    node.run_worker(run, thread=True, group=group, exclusive=exclusive)
