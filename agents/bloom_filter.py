"""Tells at once of most keys that they are not among many others, in memory that does not grow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    import numpy

_BITS = 2**25
_PARTS = 4


class BloomFilter:
    """Keys that were added, and by chance others: of these 0.2 % after two million keys (Bloom 1970).

    Keys must be hashes, whose bits can be taken as they are: four bits stand for a key, chosen by its four
    32-bit parts. It takes 4 MiB.
    """

    def __init__(self) -> None:
        self._bytes = bytearray(_BITS // 8)

    def add(self, key: UUID) -> None:
        """Add a key."""
        for byte, bit in _places(key):
            self._bytes[byte] |= bit

    def add_parts(self, columns: Iterable[numpy.ndarray[Any, Any]]) -> None:
        """Add many keys.

        Args:
            columns: Of each of the four parts an array of shape (n,), of unsigned 32-bit integers.
        """
        import numpy

        field = numpy.frombuffer(self._bytes, dtype=numpy.uint8)
        for column in columns:
            at = column % _BITS
            numpy.bitwise_or.at(field, at >> 3, (1 << (at & 7)).astype(numpy.uint8))

    def __contains__(self, key: UUID) -> bool:
        """Tell whether a key may have been added; false is certain."""
        return all(self._bytes[byte] & bit for byte, bit in _places(key))


def _places(key: UUID) -> Iterable[tuple[int, int]]:
    whole = key.int
    for part in range(_PARTS):
        at = (whole >> (32 * part)) % _BITS
        yield at >> 3, 1 << (at & 7)
