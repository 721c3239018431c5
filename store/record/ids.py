"""Identifiers that sort by time: UUIDv7 (RFC 9562, section 5.7), strictly rising within a workspace."""

from __future__ import annotations

import random
import threading
import time
import uuid
from datetime import UTC, datetime, timedelta

ROOM = 4096
"""The number of ids between one id and the next."""

_HIGHEST = (1 << 128) - 1

AHEAD = "is of a time more than a day ahead of the clock of this machine"
MARGIN = timedelta(days=1)
"""By how much the clock of another machine may be ahead."""
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)


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


def id_fault(number: uuid.UUID) -> str:
    """Return the fault of the id of a record that was made elsewhere; empty for a good one.

    One from the future would be above all that are made here until then, and be current for as long.
    """
    if number.version != 7:
        return "has an id that is no UUID of version 7"
    return AHEAD if number >= first_ahead() else ""


def time_fault(moment: datetime) -> str:
    """Return the fault of the time of a record that was made elsewhere; empty for a good one."""
    if moment.tzinfo is None or moment < _EARLIEST:
        return "has a time that is none"
    return AHEAD if is_ahead(moment) else ""


def is_ahead(moment: datetime) -> bool:
    """Return whether nothing can have been made at a moment yet, however wrong a clock goes."""
    return moment > now() + MARGIN


def first_ahead() -> uuid.UUID:
    """Return the lowest UUIDv7 of which no record can be yet, however wrong a clock goes."""
    return lowest_at(time.time_ns() // 1_000_000 + int(MARGIN.total_seconds()) * 1000)


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


def now() -> datetime:
    """Return the present moment, aware, in UTC."""
    return datetime.now(UTC)
