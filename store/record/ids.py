"""Identifiers that sort by time: UUIDv7 (RFC 9562, section 5.7), strictly rising within a workspace."""

from __future__ import annotations

import random
import threading
import time
import uuid
from datetime import UTC, datetime

ROOM = 4096
"""The number of ids between one id and the next."""

_HIGHEST = (1 << 128) - 1


class IdClock:
    """Makes UUIDv7s that rise strictly, also when the machine's clock steps back.

    Current records are found by the highest id, so an id made later must be the higher one. A workspace
    raises the floor to what it holds from the clock's future when it is opened.

    After each id there is room for those of records that follow from its record (see `following_id`): they
    are made later, and must be lower than the ids of records made in the meantime.
    """

    def __init__(self, floor: uuid.UUID | None = None) -> None:
        self._lock = threading.Lock()
        # Seeded by the system once: to ask it for each id gives other threads the interpreter each time.
        self._random = random.Random()
        self._last = 0
        if floor is not None:
            self.raise_floor(floor)

    def raise_floor(self, floor: uuid.UUID) -> None:
        """Make every later id higher than `floor`; ids that are not version 7 are ignored."""
        if floor.version != 7:
            return
        with self._lock:
            self._last = max(self._last, floor.int)

    def next(self) -> uuid.UUID:
        """Return a UUIDv7 higher than every one before it."""
        bits = self._random.getrandbits
        fresh = _at(time.time_ns() // 1_000_000) | (bits(12) << 64) | bits(61)
        with self._lock:
            if fresh <= self._last + ROOM:
                fresh = _after(self._last, bits(20))
            self._last = fresh
        return uuid.UUID(int=fresh)


def following_id(number: uuid.UUID, place: int) -> uuid.UUID:
    """Return the id of a record that follows from another.

    Args:
        number: The other record's id.
        place: Which one of those that follow, from 1 to `ROOM`.

    Returns:
        An id that is higher, and lower than every one that the clock makes after `number`.
    """
    if not 1 <= place <= ROOM:
        raise ValueError(f"there is room for {ROOM} records, not for number {place}")
    return uuid.UUID(int=number.int + place)


def lowest_at(milliseconds: int) -> uuid.UUID:
    """Return the lowest UUIDv7 of a millisecond since 1970."""
    return uuid.UUID(int=_at(milliseconds))


def is_ordered(number: uuid.UUID) -> bool:
    """Return whether an id is of version 7 and up to the year 9999: above there is no room for later ones."""
    return number.version == 7 and number < END


def _at(milliseconds: int) -> int:
    return (milliseconds << 80) | (0x7 << 76) | (0x2 << 62)


def _after(last: int, step: int) -> int:
    """Count on within the 62 random bits, and into the millisecond above them when they are full."""
    low = (last & ((1 << 62) - 1)) + ROOM + 1 + step
    if low < (1 << 62) - ROOM:
        return (last >> 62 << 62) | low
    fresh = _at((last >> 80) + 1) | (step << 20)
    if fresh > _HIGHEST:
        raise OverflowError("the workspace holds an id of the year 10889; there is none after it")
    return fresh


END = lowest_at(253_402_300_800_000)
"""The first id of the year 10000."""


def now() -> datetime:
    """Return the present moment, aware, in UTC."""
    return datetime.now(UTC)
