"""What the SDK clients share below the SDKs' own interface: counting requests and bounding waits.

Both SDKs retry by themselves and say nothing of the attempts that failed, so they are counted where they
leave: by an event hook of the HTTP client, into the tally of the reply that is being asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 10.0
"""Longest wait for a connection; a host that does not answer is not worth the time of a whole reply."""

LONGEST_WAIT_SECONDS = 120.0
"""Longest `Retry-After` that is waited for; the openai SDK has the same bound, the anthropic one has none."""


@dataclass(slots=True)
class Tally:
    """Requests sent for one reply."""

    requests: int = 0


_current: ContextVar[Tally | None] = ContextVar("requests_of_this_reply", default=None)


@contextmanager
def tallied() -> Iterator[Tally]:
    """Count the requests that are sent inside, by this task only.

    Yields:
        The tally, which grows as requests leave.
    """
    tally = Tally()
    token = _current.set(tally)
    try:
        yield tally
    finally:
        _current.reset(token)


def count_request() -> None:
    """Add one request to the tally of the reply being asked for."""
    tally = _current.get()
    if tally is not None:
        tally.requests += 1


async def on_request(_request: httpx2.Request) -> None:
    """Count a request; an event hook of the HTTP client."""
    count_request()


async def on_response(response: httpx2.Response) -> None:
    """Tell the SDK not to retry where the service asks for a wait of many minutes.

    Such a wait would look like a job that hangs. Both SDKs obey the header `x-should-retry`.
    """
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(response.headers.get(header, "")) * unit
        except ValueError:
            continue
        if seconds > LONGEST_WAIT_SECONDS:
            response.headers["x-should-retry"] = "false"
        return
