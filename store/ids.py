"""Identifiers that sort by time: UUIDv7 (RFC 9562, section 5.7), strictly rising within a workspace."""

from __future__ import annotations

import secrets
import threading
import time
import uuid
from datetime import UTC, datetime


class IdClock:
    """Makes UUIDv7s that rise strictly, also when the machine's clock steps back.

    Current records are found by the highest id, so an id made later must be the higher one. A workspace
    sets the floor to its highest stored id when it is opened.
    """

    def __init__(self, floor: uuid.UUID | None = None) -> None:
        self._lock = threading.Lock()
        self._last = floor.int if floor else 0

    def raise_floor(self, floor: uuid.UUID) -> None:
        """Make every later id higher than `floor`; ids that are not version 7 are ignored."""
        if floor.version != 7:
            return
        with self._lock:
            self._last = max(self._last, floor.int)

    def next(self) -> uuid.UUID:
        """Return a UUIDv7 higher than every one before it."""
        milliseconds = time.time_ns() // 1_000_000
        fresh = (milliseconds << 80) | (0x7 << 76) | (secrets.randbits(12) << 64) | (0x2 << 62)
        fresh |= secrets.randbits(62)
        with self._lock:
            if fresh <= self._last:
                fresh = self._after(self._last)
            self._last = fresh
        return uuid.UUID(int=fresh)

    @staticmethod
    def _after(last: int) -> int:
        """Count on within the 62 random bits, and into the millisecond above them when they are full."""
        low = (last & ((1 << 62) - 1)) + 1 + secrets.randbits(20)
        if low < 1 << 62:
            return (last >> 62 << 62) | low
        return (((last >> 80) + 1) << 80) | (0x7 << 76) | (0x2 << 62) | secrets.randbits(40)


def now() -> datetime:
    """Return the present moment, aware, in UTC."""
    return datetime.now(UTC)
