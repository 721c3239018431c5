"""Searching a text for a plain substring, a slice at a time."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from time import perf_counter

_WINDOW = 128 * 1024
"""Characters looked through between two glances at the clock (about 2 ms)."""


class TextSearch:
    """The matches of a pattern in a text.

    The pattern is a plain substring. Case matters only if the pattern has an upper-case letter. Letters are
    compared one by one, so that no folding shifts an offset; matches do not overlap.
    """

    def __init__(self, text: str, pattern: str) -> None:
        """Prepare a search.

        Args:
            text: What is searched.
            pattern: What is looked for; at least one character.
        """
        self.pattern = pattern
        self.starts: Sequence[int] = array("Q")
        """Offsets into the text at which matches begin, in order."""
        self.done = False
        """Whether the whole text was looked through."""
        self._text = text
        flags = 0 if any(map(str.isupper, pattern)) else re.IGNORECASE
        self._compiled = re.compile(re.escape(pattern), flags)
        self._turns = self._scan(self.starts)

    @property
    def length(self) -> int:
        """Characters in every match."""
        return len(self.pattern)

    def _scan(self, starts: array[int]) -> Iterator[None]:
        position, size = 0, len(self.pattern)
        while position <= len(self._text) - size:
            # The window ends inside a match that begins in it at the latest.
            edge = position + _WINDOW
            for match in self._compiled.finditer(self._text, position, edge + size - 1):
                starts.append(match.start())
                position = match.end()
            position = max(position, edge)
            yield
        self.done = True

    def advance(self, seconds: float) -> bool:
        """Search on for a while.

        Args:
            seconds: How long this turn may take, more or less.

        Returns:
            Whether the whole text has been looked through.
        """
        deadline = perf_counter() + seconds
        for _ in self._turns:
            if perf_counter() >= deadline:
                break
        return self.done

    def at_or_after(self, offset: int) -> int:
        """Return the first match that begins at an offset or after it.

        Args:
            offset: An offset into the text.

        Returns:
            An index into `starts`; their number when there is none.
        """
        return bisect_left(self.starts, offset)

    def between(self, start: int, end: int) -> list[int]:
        """Return the matches that touch a stretch of the text.

        Args:
            start: The first offset.
            end: The offset after the last.

        Returns:
            Indices into `starts`.
        """
        first = bisect_left(self.starts, start - self.length + 1)
        return list(range(first, bisect_left(self.starts, end)))
