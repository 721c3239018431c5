"""Shared by the SDK clients below the SDKs' own interface: counting requests, and the pace of a service.

A request is counted where it leaves, by an event hook of the HTTP client, into the tally of the reply that
is being asked for, and passed to the budget of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 10.0
"""Longest wait for a connection; a host that does not answer is not worth the time of a whole reply."""


@dataclass(slots=True)
class Tally:
    """Requests sent for one reply."""

    requests: int = 0


class RequestWatch(Protocol):
    """Counts requests as they leave, and decides whether one may be sent once more."""

    def sent(self) -> None:
        """A request leaves."""
        ...

    def may_send(self) -> bool:
        """Tell whether a request that failed may be sent again."""
        ...


_current: ContextVar[Tally | None] = ContextVar("requests_of_this_reply", default=None)
_watch: ContextVar[RequestWatch | None] = ContextVar("who_watches_requests", default=None)


@contextmanager
def tallied() -> Iterator[Tally]:
    """Count the requests that are sent within the block, by this task only.

    Yields:
        The tally, which grows as requests leave.
    """
    tally = Tally()
    token = _current.set(tally)
    try:
        yield tally
    finally:
        _current.reset(token)


@contextmanager
def watch_requests(watch: RequestWatch) -> Iterator[None]:
    """Report the requests that are sent within the block, by this task only."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


def count_request() -> None:
    """Add one request to the tally of the reply being asked for, and notify the budget."""
    if (tally := _current.get()) is not None:
        tally.requests += 1
    if (watch := _watch.get()) is not None:
        watch.sent()


def may_send() -> bool:
    """Tell whether a failed request may be sent again; the watch can refuse."""
    watch = _watch.get()
    return watch is None or watch.may_send()


async def on_request(_request: httpx2.Request) -> None:
    """Count a request; an event hook of the HTTP client."""
    count_request()


def broken_off(error: BaseException) -> bool:
    """Tell whether a service ended a connection, which the SDKs' transport takes for a time-out."""
    import aiohttp

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, aiohttp.ClientConnectionError):
        cause = cause.__cause__
    return cause is not None and not isinstance(cause, TimeoutError)
