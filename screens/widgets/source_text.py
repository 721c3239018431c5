"""A text cut into its source lines, and each line as it is shown."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate

from textual.cache import LRUCache

from screens.widgets.shown_line import PIECE, ShownLine
from screens.widgets.visible import TAB_SIZE, extent

_LINES_KEPT = 512


class SourceText:
    """A text and its source lines.

    Lines end at line feeds only, or at CR LF when every line feed of the text has its carriage return: then
    the pair is the line's end and said once (`newline`), otherwise carriage returns are shown in their lines.

    Args:
        text: Any text.
        tab_size: Cells between two tab stops.
        words: Whether wrapping keeps words whole, as prose wants it.
        insets: Offsets with the glyph, of one cell, that is shown before the character there, in order.
    """

    def __init__(
        self,
        text: str,
        tab_size: int = TAB_SIZE,
        *,
        words: bool = False,
        insets: Iterable[tuple[int, str]] = (),
    ) -> None:
        pairs = text.count("\r\n") if "\r" in text else 0
        self.text = text
        self.tab_size = tab_size
        self.words = words
        self.newline = "\r\n" if pairs and pairs == text.count("\n") else "\n"
        """What ends a line in the whole text."""
        self.lines = text.split(self.newline)
        """The source lines without their ends; an empty text is one empty line."""
        insets = tuple(insets)
        # A line that nothing is on is shown where a glyph stands on it.
        if len(self.lines) > 1 and not self.lines[-1] and not (insets and insets[-1][0] >= len(text)):
            self.lines.pop()
        self.longest = max(map(len, self.lines))
        """Characters in the longest line."""
        self._shown: LRUCache[int, ShownLine] = LRUCache(_LINES_KEPT)
        self.insets: dict[int, list[tuple[int, str]]] = {}
        """Glyphs between two characters: by line, the offsets into it and the glyphs."""
        for offset, glyph in insets:
            line, column = self.locate(offset)
            self.insets.setdefault(line, []).append((column, glyph))

    @cached_property
    def _before(self) -> list[int]:
        """Characters in all lines before each, without the lines' ends."""
        return list(accumulate(map(len, self.lines), initial=0))

    def _start(self, line: int) -> int:
        return self._before[line] + line * len(self.newline)

    def offset_of(self, line: int, column: int) -> int:
        """Return the offset into the text of a column of a line.

        Args:
            line: The source line, from 0.
            column: The offset into the line.

        Returns:
            An offset into `text`.
        """
        return self._start(line) + min(column, len(self.lines[line]))

    def locate(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset into the text.

        Args:
            offset: An offset into `text`.

        Returns:
            The source line from 0, and the offset into it (the line's end for its newline).
        """
        line = bisect_right(range(len(self.lines)), offset, key=self._start) - 1
        return line, min(offset - self._start(line), len(self.lines[line]))

    def shown(self, line: int) -> ShownLine:
        """Return a line as shown.

        Args:
            line: The source line, from 0.

        Returns:
            The line, made harmless; kept for the next time.
        """
        shown = self._shown.get(line)
        if shown is None:
            shown = self._shown[line] = ShownLine(
                self.lines[line], self.tab_size, words=self.words, insets=self.insets.get(line, ())
            )
        return shown

    def cells(self, line: int) -> int:
        """Return the cells that a line fills when it is not wrapped.

        Args:
            line: The source line, from 0.

        Returns:
            Cells.
        """
        source = self.lines[line]
        if line in self.insets:
            return self.shown(line).cells
        if source.isascii():
            # A control character is shown as one picture.
            if "\t" not in source:
                return len(source)
            if "\r" not in source:
                return len(source.expandtabs(self.tab_size))
        if len(source) > PIECE:
            return self.shown(line).cells
        return extent(source, tab_size=self.tab_size)[1]

    def rows(self, line: int, width: int) -> int:
        """Return the rows that a line fills when it is wrapped.

        Args:
            line: The source line, from 0.
            width: Cells in a row.

        Returns:
            Rows, at least 1.
        """
        cells = self.cells(line)
        if cells <= width:
            return 1
        if self.lines[line].isascii() and not self.words:
            return -(-cells // width)
        return len(self.shown(line).breaks(width))
