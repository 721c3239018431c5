"""Shared by the clients of models: counts requests as they leave, and holds back those that may not any more.

A request may wait within a client, for the pace of the service and for the first request that finds out how
to ask. So whether it may be sent is asked again when it leaves; it is counted in the same moment, so that of
several that leave together none goes beyond a budget of requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

CONNECT_SECONDS = 10.0
"""Longest wait for a connection; a host that does not answer is not worth the time of a whole reply."""


@dataclass(slots=True)
class Tally:
    """Requests sent for one reply."""

    requests: int = 0


class NotSent(Exception):
    """The first request for a reply was held back: the work is paused or stopped, or its budget used up."""


class RequestWatch(Protocol):
    """Counts requests as they leave, and decides which may be sent."""

    def may_begin(self) -> bool:
        """Tell whether the first request for a reply may be sent."""
        ...

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


def leave() -> None:
    """Count a request that is about to be sent: in the tally of the reply being asked for, and the budget.

    Raises:
        NotSent: It is the first one for its reply, and may not be sent any more. Those that follow belong to
            a turn that is under way, which comes to its end.
    """
    tally, watch = _current.get(), _watch.get()
    if watch is not None:
        if (tally is None or not tally.requests) and not watch.may_begin():
            raise NotSent
        watch.sent()
    if tally is not None:
        tally.requests += 1


def may_send() -> bool:
    """Tell whether a failed request may be sent again; the watch can refuse."""
    watch = _watch.get()
    return watch is None or watch.may_send()


def broken_off(error: BaseException) -> bool:
    """Tell whether a service ended a connection, which the SDKs' transport takes for a time-out."""
    import aiohttp

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, aiohttp.ClientConnectionError):
        cause = cause.__cause__
    return cause is not None and not isinstance(cause, TimeoutError)
