"""How the lines of a text flow into rows of a given width, worked out a slice at a time."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from time import perf_counter

from screens.widgets.source_text import SourceText

_LINES_A_TURN = 512
_LONG = 40_000


class Flow:
    """The rows of a text: one a line, or as many as a line needs at a width.

    Measuring a huge text takes longer than a key may wait, so it is done in turns (`advance`). What is asked
    of a part that was not reached yet is measured there and then.
    """

    def __init__(self, source: SourceText, width: int | None) -> None:
        """Begin a flow.

        Args:
            source: The text.
            width: Cells in a row, or None when lines are not wrapped.
        """
        self.source = source
        self.width = width
        self.cells = 0
        """Cells of the widest line seen so far."""
        self.done = False
        """Whether every line was measured."""
        # Rows before each measured line, and after the last of them.
        self._before = array("Q", [0])
        self._measured = 0
        self._turns = self._measure()

    @property
    def rows(self) -> int:
        """Rows of the whole text; lines not measured yet count as one row each."""
        if self.width is None:
            return len(self.source.lines)
        return self._before[-1] + len(self.source.lines) - self._measured

    def _measure(self) -> Iterator[None]:
        source, width, before = self.source, self.width, self._before
        lines, insets = source.lines, source.insets
        widest = 0
        for first in range(0, len(lines), _LINES_A_TURN):
            rows = before[-1]
            for number in range(first, min(first + _LINES_A_TURN, len(lines))):
                line = lines[number]
                # The common case stands here: a call for each of 100,000 lines is felt.
                plain = line.isascii() and "\t" not in line and number not in insets
                cells = len(line) if plain else source.cells(number)
                if cells > widest:  # noqa: PLR1730 - max() takes three times as long
                    widest = cells
                if width is not None:
                    rows += 1 if cells <= width else source.rows(number, width)
                    before.append(rows)
                self._measured = number + 1
                if len(line) > _LONG:
                    self.cells = widest
                    yield
            self.cells = widest
            yield
        self.done = True

    def advance(self, seconds: float) -> bool:
        """Measure on for a while.

        Args:
            seconds: How long this turn may take, more or less.

        Returns:
            Whether the whole text has been measured.
        """
        deadline = perf_counter() + seconds
        for _ in self._turns:
            if perf_counter() >= deadline:
                break
        return self.done

    def _reach(self, line: int) -> None:
        while self._measured <= line and not self.done:
            next(self._turns, None)

    def row_of(self, line: int, column: int = 0) -> int:
        """Return the row that shows a place of the text.

        Args:
            line: The source line, from 0; a line beyond the last counts as the last.
            column: The offset into the line.

        Returns:
            The row, from 0.
        """
        line = max(0, min(line, len(self.source.lines) - 1))
        if self.width is None:
            return line
        self._reach(line)
        row: int = self._before[line]
        if column and self._before[line + 1] - row > 1:
            shown = self.source.shown(line)
            row += bisect_right(shown.breaks(self.width), shown.index_of(column)) - 1
        return row

    def locate(self, row: int) -> tuple[int, int]:
        """Return the line that a row shows a part of.

        Args:
            row: The row, from 0; a row beyond the last counts as the last.

        Returns:
            The source line from 0, and which of its rows it is, from 0.
        """
        row = max(0, row)
        if self.width is None:
            return min(row, len(self.source.lines) - 1), 0
        while self._before[-1] <= row and not self.done:
            next(self._turns, None)
        row = min(row, self._before[-1] - 1)
        line = bisect_right(self._before, row) - 1
        return line, row - self._before[line]
