"""The request rate of a service, for all concurrent callers: one pause and one number of requests for all.

What one request learns of a service's limits holds for every other: after a 429 nobody sends anything until
the service allows requests again, and then only half as many requests at a time, one more for
every round that goes well (additive increase, multiplicative decrease).
"""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TypeVar
from weakref import WeakKeyDictionary

from agents.llm.errors import ModelError
from agents.llm.notices import Hear, Pause, listener, notify
from agents.llm.request_watch import may_send
from store.record.ids import now

T = TypeVar("T")

LONGEST_WAIT_SECONDS = 120.0
"""Longest wait that a service is granted: a longer one looks like a job that hangs."""

REPORTED_SECONDS = 5.0
"""The shortest pause that is reported to the user; shorter ones are a part of the work."""

FIRST_WAIT_SECONDS = 0.5
LONGEST_BACKOFF_SECONDS = 30.0

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LIMITS = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
)


class Pacing:
    """One service's pace, in one asyncio loop."""

    def __init__(self) -> None:
        self.most = math.inf
        self._loop = asyncio.get_running_loop()
        self._not_before = -math.inf
        self._reported_until = -math.inf
        self._slowed_at = -math.inf
        self._flying = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        # Who hears of a pause: those with a request under way, or waiting.
        self._hearers: Counter[Hear | None] = Counter()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[float]:
        """Wait until a request may leave, and hold its place while it is under way.

        Yields:
            When it left, on the loop's clock.
        """
        hear = listener()
        self._hearers[hear] += 1
        try:
            while True:
                if (wait := self._not_before - self._loop.time()) > 0:
                    await asyncio.sleep(wait)
                elif self._flying < self.most:
                    break
                else:
                    await self._one_less()
            self._flying += 1
            try:
                yield self._loop.time()
            finally:
                self._flying -= 1
                self._wake()
        finally:
            self._hearers[hear] -= 1
            self._hearers += Counter()  # without those that nobody counts any more

    def pause(self, seconds: float) -> None:
        """Send no request for so many seconds from now; a long pause is reported, once for all requests."""
        time = self._loop.time()
        self._not_before = max(self._not_before, time + min(seconds, LONGEST_WAIT_SECONDS))
        # Each of those that are turned down together asks for a little more or less than the one before.
        if self._not_before - max(time, self._reported_until) >= REPORTED_SECONDS:
            pause = Pause(
                now() + timedelta(seconds=self._not_before - time), longer=self._reported_until > time
            )
            self._reported_until = self._not_before
            notify(pause, {listener(), *self._hearers})

    def slow_down(self, left_at: float, seconds: float) -> None:
        """Pause, and continue with half as many requests at a time, since the service is overloaded.

        Args:
            left_at: When the request left that was turned down. Those that left before the last slowing
                down say nothing of the pace since.
            seconds: How long the pause is.
        """
        self.pause(seconds)
        if left_at > self._slowed_at:
            self._slowed_at = self._loop.time()
            self.most = max(1.0, min(self.most, self._flying) / 2)

    def record_success(self) -> None:
        """Note an answered request: after a round of them one more may be under way at a time."""
        if self.most < math.inf:
            self.most += 1 / self.most
            self._wake()

    async def _one_less(self) -> None:
        freed = self._loop.create_future()
        self._waiting.append(freed)
        try:
            await freed
        except asyncio.CancelledError:
            if freed.done() and not freed.cancelled():
                self._wake()  # it was this one's turn; another one takes it
            raise

    def _wake(self) -> None:
        free = self.most - self._flying
        while self._waiting and free >= 1:
            freed = self._waiting.popleft()
            if not freed.done():
                freed.set_result(None)
                free -= 1


_pacings: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Pacing]] = WeakKeyDictionary()


def pacing_of(service: str) -> Pacing:
    """Return the pace of a service, the same for all who ask it from this loop.

    Args:
        service: The provider and the address.
    """
    return _pacings.setdefault(asyncio.get_running_loop(), {}).setdefault(service, Pacing())


async def send_with_retries(ask: Callable[[], Awaitable[T]], pacing: Pacing, retries: int) -> T:
    """Send a request, and again after a failure that may pass, each time when the service may be asked.

    Args:
        ask: Sends it once; raises ModelError.
        pacing: The service's pace.
        retries: How often it is sent again at most.

    Returns:
        What `ask` returns.

    Raises:
        ModelError: The last failure.
    """
    for attempt in range(retries + 1):
        async with pacing.turn() as left_at:
            try:
                answer = await ask()
            except ModelError as error:
                wait = _wait(attempt, error.wait_seconds)
                if error.slow_down:
                    pacing.slow_down(left_at, wait)
                if not error.passing or attempt == retries or not may_send():
                    raise
            else:
                pacing.record_success()
                return answer
        await asyncio.sleep(wait)
    raise AssertionError("the last attempt either returns or raises")


def _wait(attempt: int, asked: float | None) -> float:
    """Return the seconds before the next attempt: what was asked for, otherwise twice as long each time.

    Some of it is left to chance, so that those who were turned down together do not come back together.
    """
    if asked:
        return asked * random.uniform(1.0, 1.1)
    return float(min(LONGEST_BACKOFF_SECONDS, FIRST_WAIT_SECONDS * 2**attempt)) * random.uniform(0.5, 1.0)


def asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """Return for how many seconds a service that turned a request down asks to wait; None where it does not.

    Args:
        headers: Of its answer; `retry-after-ms`, and `retry-after` in seconds or as a date.
    """
    for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(header, "")
        try:
            seconds = float(text) * unit
        except ValueError:
            seconds = _until_date(text)
        if 0 <= seconds < math.inf:
            return seconds
    return None


def until_reset(headers: Mapping[str, str]) -> float:
    """Return for how many seconds a service will turn everything down, as its limits say; 0 for not at all.

    Args:
        headers: Of any of its answers. OpenAI reports what is left and when it resets as "6m0s",
            Anthropic as a moment; both round the tokens that are left.
    """
    longest = 0.0
    for left, reset in _LIMITS:
        if headers.get(left, "").strip() != "0":
            continue
        text = headers.get(reset, "").strip()
        parts = _PART.findall(text)
        if parts and "".join(number + unit for number, unit in parts) == text:
            longest = max(longest, sum(float(number) * _SECONDS[unit] for number, unit in parts))
        else:
            longest = max(longest, _until_moment(text))
    return longest


def _until_moment(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return 0.0 if moment.tzinfo is None else (moment - datetime.now(UTC)).total_seconds()


def _until_date(text: str) -> float:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the latter for a time zone of many digits
        return math.nan
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
