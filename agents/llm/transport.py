"""The HTTP client of the SDKs: no redirect is followed, and no answer is read beyond a limit.

Imported when a client is opened, since the SDKs' HTTP library comes with it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx2


class AnswerTooLarge(ValueError):
    """A service sent more than the limit of an answer."""


class Encoded(ValueError):
    """A service compressed an answer, though it was asked not to; how large it is would show too late."""


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, up to a limit."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise AnswerTooLarge
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def client_options(most: int, on_response: Callable[[httpx2.Response], Awaitable[None]]) -> dict[str, Any]:
    """Return the options of an SDK's HTTP client.

    Args:
        most: Bytes that are read of an answer, its errors included.
        on_response: Called with every answer before its body is read.
    """

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise Encoded
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            raise TypeError("a stream of an answer that is not asynchronous")
        response.stream = _Bounded(response.stream, most)
        await on_response(response)

    return {
        # The prompt and the code would go wherever a redirect points.
        "follow_redirects": False,
        "headers": {"accept-encoding": "identity"},
        "event_hooks": {"response": [bound]},
    }


def caused_by(error: BaseException, *kinds: type[BaseException]) -> bool:
    """Return whether an exception is one of some kinds, or was caused by one."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, kinds):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
