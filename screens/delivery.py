"""Bringing results from threads into the app's own order of messages."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from textual.app import App


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
        future: What is waited for; only the end of the app cancels it, and then nobody is called.
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
