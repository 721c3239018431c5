"""Keeps the beginning and the end of what a program writes, and counts what lies between."""

from __future__ import annotations

from store.cuts import Cut


class HeadAndTail:
    """One output of a program, as far as it is kept.

    Args:
        room: How many bytes are kept: half of them from the beginning, the others from the end.
    """

    def __init__(self, room: int) -> None:
        self.total = 0
        """How many bytes were written."""
        self._lines = 0
        self._head, self._tail = bytearray(), bytearray()
        self._room = max(room // 2, 1)

    def take(self, piece: bytes) -> None:
        """Take what was written next."""
        self.skip(len(piece), piece.count(b"\n"))
        free = self._room - len(self._head)
        self._head += piece[:free]
        self._tail += piece[free:]
        if len(self._tail) > 2 * self._room:
            del self._tail[: -self._room]

    def skip(self, count: int, lines: int) -> None:
        """Take note of bytes that were written and did not come, and of the line ends among them."""
        self.total += count
        self._lines += lines

    @property
    def kept(self) -> bytes:
        """What is kept, without a mark where something is missing."""
        return bytes(self._head + self._tail[-self._room :])

    @property
    def cut(self) -> Cut | None:
        """What is missing, its place counted in bytes; None when nothing is."""
        missing = self.total - len(self.kept)
        return Cut(len(self._head), missing, self._lines - self.kept.count(b"\n")) if missing else None
