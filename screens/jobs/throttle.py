"""Reads in threads, one at a time, with a rest after each that grows with what it took."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Generic, TypeVar

from textual.screen import Screen
from textual.timer import Timer

from screens.threads import Deliver, in_parts
from store.errors import WorkbenchError

T = TypeVar("T")
K = TypeVar("K")

LEAST_SECONDS = 1.0
"""The shortest rest."""

REST = 10.0
"""How often the time of a read goes into the rest after it: the records of 412,080 pairs take seconds to add
up, which must not be all that the machine does."""


class ThrottledReader(Generic[K, T]):
    """Reads one thing for a screen, again and again; only the latest wish is kept.

    Args:
        screen: The screen; results are delivered in its own thread, and not after it is closed.
        read: Reads it, in a thread.
    """

    def __init__(
        self,
        screen: Screen[None],
        read: Callable[[K], T],
        done: Callable[[K, T], None],
        failed: Callable[[WorkbenchError], None],
    ) -> None:
        self._screen = screen
        self._read = read
        self._done = done
        self._failed = failed
        self._busy = False
        self._wanted: tuple[K, bool] | None = None
        self._last: K | None = None
        self._rested = 0.0
        self._timer: Timer | None = None

    def request(self, key: K, *, at_once: bool = False) -> None:
        """Read soon: at once where nothing was read of this key before, else after the rest.

        Args:
            key: The name of the read.
            at_once: Whether the rest is cut short, since nothing further will change.
        """
        if self._busy:
            self._wanted = (key, at_once)
            return
        wait = self._rested - monotonic()
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if at_once or key != self._last or wait <= 0:
            self._busy, self._wanted = True, None
            in_parts(self._screen, partial(self._work, key), group="paced", exclusive=False)
        else:
            self._timer = self._screen.set_timer(wait, partial(self.request, key))

    @staticmethod
    def rest_after(seconds: float) -> float:
        """Return how many seconds to rest after a read that took so many."""
        return max(LEAST_SECONDS, REST * seconds)

    def _work(self, key: K, deliver: Deliver) -> None:
        began = monotonic()
        try:
            report: Callable[[], None] = partial(self._done, key, self._read(key))
        except WorkbenchError as error:
            report = partial(self._failed, error)
        deliver(self._end, key, report, monotonic() - began)

    def _end(self, key: K, report: Callable[[], None], seconds: float) -> None:
        self._busy, self._last = False, key
        self._rested = monotonic() + self.rest_after(seconds)
        if not self._screen.is_mounted:
            return
        report()
        if self._wanted is not None:
            wanted, at_once = self._wanted
            self.request(wanted, at_once=at_once)
