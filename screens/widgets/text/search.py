"""Searching a text for a plain substring, a slice at a time."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from screens.widgets.text.document import SlicedWork

NO_MATCH = "no match"
"""The status of a search without a match in the whole text."""

_WINDOW = 128 * 1024
"""Characters looked through between two glances at the clock (about 2 ms)."""


class TextSearch(SlicedWork):
    """The matches of a pattern in a text, and the one that the reader is at.

    Case matters only if the pattern has an upper-case letter. Letters are compared one by one, so that no
    folding shifts an offset; matches do not overlap.

    Args:
        pattern: A plain substring of at least one character.
        origin: The offset at which the first match is wanted, or after it.
    """

    def __init__(self, text: str, pattern: str, origin: int = 0) -> None:
        self.pattern = pattern
        self.starts: Sequence[int] = array("Q")
        """Offsets into the text at which matches begin, in order."""
        self.current: int | None = None
        """Which match the reader is at, from 0."""
        self.wrapped = False
        """Whether the search went on at the other end of the text."""
        self._origin = origin
        super().__init__(self._scan(text, self.starts))

    def _scan(self, text: str, starts: array[int]) -> Iterator[None]:
        flags = 0 if any(map(str.isupper, self.pattern)) else re.IGNORECASE
        compiled = re.compile(re.escape(self.pattern), flags)
        position, size = 0, len(self.pattern)
        while position <= len(text) - size:
            # The window ends inside a match that begins in it at the latest.
            edge = position + _WINDOW
            for match in compiled.finditer(text, position, edge + size - 1):
                starts.append(match.start())
                position = match.end()
            position = max(position, edge)
            yield

    def go_to_first(self) -> None:
        """Go to the first match after the place where the search began, once the text was looked through."""
        self._go_to(bisect_left(self.starts, self._origin))

    def step(self, step: int) -> None:
        """Go some matches on; after the last comes the first."""
        self._go_to(step + (self.current or 0))

    def _go_to(self, index: int) -> None:
        total = len(self.starts)
        self.wrapped = total > 0 and not 0 <= index < total
        self.current = index % total if total else None

    @property
    def status(self) -> str:
        """Where the search is, in words: `3 of 17`, `no match`."""
        if self.current is None:
            return NO_MATCH if self.done else "searching"
        # A match is gone to when all are known.
        return f"{self.current + 1:,} of {len(self.starts):,}" + (", wrapped" if self.wrapped else "")

    def between(self, start: int, end: int) -> range:
        """Return the matches, as indices into `starts`, that touch a stretch of the text.

        Args:
            start: The first offset.
            end: The offset after the last.
        """
        return range(bisect_left(self.starts, start - len(self.pattern) + 1), bisect_left(self.starts, end))
