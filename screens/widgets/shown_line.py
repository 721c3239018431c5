"""One source line as it is shown, in pieces, so that a very long one stays quick."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from rich.cells import get_character_cell_size

from screens.widgets.visible import TAB_SIZE, Visible, extent, pieces, visible

PIECE = 4_096
"""Characters of a long line that are made visible as one piece."""

_WORDS_LIMIT = 20_000
"""Characters of the longest line that is broken between words; longer ones are no prose."""


class ShownLine:
    """One source line as shown, in pieces, so that a very long one stays quick.

    Places in it are indices into the shown text, source offsets, or cells; all three start at 0.
    """

    __slots__ = (
        "_breaks",
        "_cells",
        "_index",
        "_sources",
        "_starts",
        "_tab_size",
        "_visible",
        "cells",
        "insets",
        "length",
        "narrow",
        "words",
    )

    def __init__(
        self,
        source: str,
        tab_size: int = TAB_SIZE,
        *,
        words: bool = False,
        insets: Sequence[tuple[int, str]] = (),
    ) -> None:
        """Cut a line into pieces.

        Args:
            source: The line.
            tab_size: Cells between two tab stops.
            words: Whether wrapping keeps words whole.
            insets: Offsets with the glyph, of one cell, that is shown before the character there, in order. A
                glyph has an index as all that is shown, and stands for no part of the source.
        """
        self._tab_size = tab_size
        self.words = words
        """Whether wrapping keeps words whole."""
        self._breaks: tuple[int, Sequence[int]] = (0, ())
        plain = not insets and source.isascii() and source.isprintable()
        self._sources = [source] if plain else list(pieces(source, PIECE))
        glyphs: dict[int, str] = {}
        if insets:
            self._sources, glyphs = _with_insets(source, insets)
        self.insets: list[tuple[int, str]] = []
        """Indices at which a glyph stands that is not of the source, and the glyph."""
        # Worked out when a piece is looked at; room is all that is known of the others.
        self._visible: list[Visible | None] = [None] * len(self._sources)
        # Where each piece begins, and the end: source offset, index, cell.
        self._starts, self._index, self._cells = [0], [0], [0]
        self.narrow = True
        """Whether every character fills one cell."""
        if plain:
            # As it is; looked at once, since it may be millions of characters long.
            self._visible = [Visible(source, len(source))]
            self._starts, self._index, self._cells = [0, len(source)], [0, len(source)], [0, len(source)]
        for at, piece in enumerate(() if plain else self._sources):
            glyph = glyphs.get(at)
            if glyph is None:
                length, cells, narrow = extent(piece, tab_size=tab_size, column=self._cells[-1])
            else:
                self.insets.append((self._index[-1], glyph))
                self._visible[at] = Visible(glyph, 0)
                length, cells, narrow = 1, 1, True
            self._starts.append(self._starts[-1] + len(piece))
            self._index.append(self._index[-1] + length)
            self._cells.append(self._cells[-1] + cells)
            self.narrow = self.narrow and narrow
        self.length = self._index[-1]
        """Characters shown."""
        self.cells = self._cells[-1]
        """Cells filled."""

    def _at(self, starts: list[int], place: int) -> int:
        return min(bisect_right(starts, place) - 1, len(self._sources) - 1)

    def _piece(self, at: int) -> Visible:
        piece = self._visible[at]
        if piece is None:
            piece = visible(self._sources[at], tab_size=self._tab_size, column=self._cells[at])
            self._visible[at] = piece
        return piece

    def text(self, start: int, end: int) -> str:
        """Return the shown text between two indices.

        Args:
            start: The first index.
            end: The index after the last.

        Returns:
            Harmless text.
        """
        first, last = self._at(self._index, start), self._at(self._index, end)
        if first == last:
            base = self._index[first]
            return self._piece(first).text[start - base : end - base]
        text = "".join(self._piece(at).text for at in range(first, last + 1))
        return text[start - self._index[first] : end - self._index[first]]

    def marks(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the stretches between two indices that stand for another character.

        Args:
            start: The first index.
            end: The index after the last.

        Returns:
            Pairs of indices (start, end), in order, that overlap the range.
        """
        found = []
        for at in range(self._at(self._index, start), self._at(self._index, end) + 1):
            base, marks = self._index[at], self._piece(at).marks
            for mark in marks[max(0, bisect_right(marks, (start - base, 0)) - 1) :]:
                if mark[0] + base >= end:
                    break
                if mark[1] + base > start:
                    found.append((mark[0] + base, mark[1] + base))
        return found

    def source_offset(self, index: int) -> int:
        """Return the source offset shown at an index (see `Visible.source_offset`)."""
        at = self._at(self._index, index)
        return self._starts[at] + self._piece(at).source_offset(index - self._index[at])

    def source_end(self, index: int) -> int:
        """Return the source offset after everything shown before an index.

        Args:
            index: An index; one inside a glyph of several cells takes the whole character in.

        Returns:
            An offset into the source line.
        """
        if index <= 0:
            return 0
        at = self._at(self._index, index - 1)
        if not self._sources[at]:
            # A glyph between two characters: what was shown before it ended there.
            return self._starts[at]
        return self.source_offset(index - 1) + 1

    def index_of(self, offset: int) -> int:
        """Return the index at which a source offset is shown."""
        at = self._at(self._starts, offset)
        return self._index[at] + self._piece(at).index_of(offset - self._starts[at])

    def index_at(self, cell: int) -> int:
        """Return the index of the character that covers a cell, or the length beyond the last."""
        at = self._at(self._cells, cell)
        return self._index[at] + self._piece(at).index_at(cell - self._cells[at])

    def cell_at(self, index: int) -> int:
        """Return the cells before an index."""
        at = self._at(self._index, index)
        return self._cells[at] + self._piece(at).cell_at(index - self._index[at])

    def breaks(self, width: int) -> Sequence[int]:
        """Return where the rows of the line begin when it is wrapped.

        Args:
            width: Cells in a row; a character wider than that has a row of its own.

        Returns:
            Indices, the first of them 0, in order.
        """
        by_words = self.words and self.length <= _WORDS_LIMIT
        if self.narrow and not by_words:
            return range(0, max(1, self.length), width)
        if self._breaks[0] != width:
            self._breaks = (width, self._word_breaks(width) if by_words else self._wide_breaks(width))
        return self._breaks[1]

    def _word_breaks(self, width: int) -> Sequence[int]:
        """Return where rows begin when words stay whole; one longer than a row is broken all the same."""
        breaks = array("L", [0])
        text = self.text(0, self.length)
        start, total = 0, self.cell_at(self.length)
        while total - self.cell_at(start) > width:
            full = max(self.index_at(self.cell_at(start) + width), start + 1)
            space = text.rfind(" ", start, full)
            # The blanks that a line begins with are no place to break it.
            start = space + 1 if text[start : space + 1].strip() else full
            breaks.append(start)
        return breaks

    def _wide_breaks(self, width: int) -> Sequence[int]:
        breaks = array("L", [0])
        index = filled = 0
        for at in range(len(self._sources)):
            text = self._piece(at).text
            # Cells after each character: where a row is full is looked up, not walked to.
            after = list(accumulate(map(get_character_cell_size, text)))
            here = bisect_right(after, max(0, width - filled))
            if not here and not filled:
                here = _over_wide(after, 0)
            begun = 0
            while here < len(text):
                breaks.append(index + here)
                begun = after[here - 1] if here else 0
                filled = 0
                start, here = here, bisect_right(after, begun + width)
                if here == start:
                    here = _over_wide(after, start)
            if text:
                filled += after[-1] - begun
            index += len(text)
        return breaks


def _with_insets(source: str, insets: Sequence[tuple[int, str]]) -> tuple[list[str], dict[int, str]]:
    """Return the pieces of a line, an empty one for each glyph between two characters, and these glyphs."""
    parts: list[str] = []
    glyphs: dict[int, str] = {}
    before = 0
    for offset, glyph in insets:
        if offset > before:
            parts += pieces(source[before:offset], PIECE)
            before = offset
        glyphs[len(parts)] = glyph
        parts.append("")
    if before < len(source):
        parts += pieces(source[before:], PIECE)
    return parts, glyphs


def _over_wide(after: list[int], start: int) -> int:
    """Return where a character ends that is wider than a row, with the marks on it."""
    return bisect_right(after, after[start])
