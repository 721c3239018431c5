"""A text as source lines, each line as it is shown, and how all of them flow into rows of a width.

Work on a huge text that takes longer than a key may wait is sliced (`SlicedWork`), or limited to the lines
that are looked at.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from time import perf_counter
from typing import Literal

from textual.cache import LRUCache

from screens.widgets.text.overlay import CodeBlock, Spans
from screens.widgets.text.sanitize import TAB_SIZE, Visible, extent, pieces, visible

TextKind = Literal["code", "test", "log", "reply", "markdown"]
"""The kind of a text sets whether lines wrap and are numbered until the reader toggles it."""

PIECE = 4_096
"""Characters of a long line that are made visible as one piece."""

_WORDS_LIMIT = 20_000
"""Characters of the longest line that is broken between words; longer ones are no prose."""

_HANGING = re.compile(r"\s*(?:(?:[✓✗!~?•▪◆●○▌*+-]|\d{1,3}[.)]) )?\s*")
"""What a line begins with that its further rows are indented by: blanks, and a sign or a number."""

_LINES_KEPT = 512
_LINES_A_SLICE = 512
_LONG = 40_000

NO_SPANS = Spans()
NO_GLYPHS: Mapping[int, str] = {}


class SlicedWork:
    """Work on a text that may be huge, done a slice at a time.

    Args:
        steps: Does a little of the work between two values.
    """

    def __init__(self, steps: Iterator[None]) -> None:
        self.steps = steps
        self.done = False
        """Whether all of it is done."""

    def advance(self, seconds: float) -> bool:
        """Work on for a while.

        Args:
            seconds: How long this turn may take, more or less.

        Returns:
            Whether all of it is done.
        """
        deadline = perf_counter() + seconds
        for _ in self.steps:
            if perf_counter() >= deadline:
                return False
        self.done = True
        return True


class ShownLine:
    """One source line as shown, in pieces, so that a very long one stays quick.

    Places in it are indices into the shown text, source offsets, or cells; all three start at 0.

    Args:
        words: Whether wrapping keeps words whole.
        insets: Offsets with the glyph, of one cell, that is shown before the character there, in order. A
            glyph has an index as all that is shown, and is no part of the source.
    """

    __slots__ = ("_breaks", "_cells", "_index", "_pieces", "_sources", "_starts", "insets", "narrow", "words")

    def __init__(self, source: str, *, words: bool = False, insets: Sequence[tuple[int, str]] = ()) -> None:
        self.words = words
        self.narrow = True
        """Whether every character fills one cell."""
        self.insets: list[tuple[int, str]] = []
        """Indices of glyphs that are not of the source, with the glyph."""
        self._breaks: tuple[int, Sequence[int]] = (0, ())
        self._sources: list[str] = []
        # Worked out when a piece is looked at; room is all that is known of the others.
        self._pieces: list[Visible | None] = []
        # Where each piece begins, and the end: source offset, index, cell.
        self._starts, self._index, self._cells = [0], [0], [0]
        if not insets and source.isascii() and source.isprintable():
            # As it is; looked at once, since it may be millions of characters long.
            self._add(source, visible(source))
            return
        before = 0
        for offset, glyph in (*insets, (len(source), "")):
            if offset > before or not (glyph or self._sources):
                for piece in pieces(source[before:offset], PIECE):
                    self._add(piece)
                before = offset
            if glyph:
                self.insets.append((self._index[-1], glyph))
                self._add("", visible(glyph))

    def _add(self, source: str, shown: Visible | None = None) -> None:
        if shown is None:
            length, cells, narrow = extent(source, self._cells[-1])
        else:
            length, cells, narrow = len(shown.text), shown.edges[-1], shown.narrow
        self._sources.append(source)
        self._pieces.append(shown)
        self._starts.append(self._starts[-1] + len(source))
        self._index.append(self._index[-1] + length)
        self._cells.append(self._cells[-1] + cells)
        self.narrow = self.narrow and narrow

    @property
    def length(self) -> int:
        """Characters shown."""
        return self._index[-1]

    @property
    def cells(self) -> int:
        """Cells filled."""
        return self._cells[-1]

    def _at(self, starts: list[int], place: int) -> int:
        return min(bisect_right(starts, place) - 1, len(self._sources) - 1)

    def _piece(self, at: int) -> Visible:
        piece = self._pieces[at]
        if piece is None:
            piece = self._pieces[at] = visible(self._sources[at], self._cells[at])
        return piece

    def _between(self, start: int, end: int) -> range:
        return range(self._at(self._index, start), self._at(self._index, end) + 1)

    def text(self, start: int, end: int) -> str:
        """Return the shown text between two indices."""
        touched = self._between(start, end)
        base = self._index[touched.start]
        if len(touched) == 1:
            return self._piece(touched.start).text[start - base : end - base]
        return "".join(self._piece(at).text for at in touched)[start - base : end - base]

    def marks(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the stretches between two indices that replace another character, as pairs of indices."""
        return [
            (first + base, last + base)
            for at in self._between(start, end)
            for base in (self._index[at],)
            for first, last in self._piece(at).marks
            if first + base < end and last + base > start
        ]

    def source_offset(self, index: int) -> int:
        """Return the source offset shown at an index; beyond the text the source's end."""
        at = self._at(self._index, index)
        # A glyph between two characters belongs before the next of them.
        within = self._piece(at).source_offset(index - self._index[at]) if self._sources[at] else 0
        return self._starts[at] + within

    def source_end(self, index: int) -> int:
        """Return the source offset after all that is shown before an index, half a glyph or a whole one."""
        if index <= 0:
            return 0
        at = self._at(self._index, index - 1)
        return self.source_offset(index - 1) + (1 if self._sources[at] else 0)

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

    @property
    def _by_words(self) -> bool:
        return self.words and self.length <= _WORDS_LIMIT

    def indent(self, width: int) -> int:
        """Return the blank cells before each row but the first when the line is wrapped between words.

        Args:
            width: Cells in a row; an indent that would take half of them is left out.
        """
        if not self._by_words:
            return 0
        begins = _HANGING.match(self.text(0, min(self.length, width)))
        cells = self.cell_at(begins.end()) if begins else 0
        return cells if cells <= width // 2 else 0

    def breaks(self, width: int) -> Sequence[int]:
        """Return where the rows of the line begin when it is wrapped.

        Args:
            width: Cells in a row; a character wider than that has a row of its own.

        Returns:
            Indices, the first of them 0, in order.
        """
        if self.narrow and not self._by_words:
            return range(0, max(1, self.length), width)
        if self._breaks[0] != width:
            self._breaks = (width, array("L", self._rows(width)))
        return self._breaks[1]

    def _rows(self, width: int) -> Iterator[int]:
        text = self.text(0, self.length) if self._by_words else ""
        start = 0
        yield start
        room, further = width, width - self.indent(width)
        while self.cells - (edge := self.cell_at(start)) > room:
            full = self.index_at(edge + room)
            if full == start:
                # A character that is wider than a row, with the marks on it.
                full = self.index_at(self.cell_at(start + 1))
            if full >= self.length:
                return
            space = text.rfind(" ", start, full) + 1
            # The blanks that a line begins with are no place to break it.
            start = space if text[start:space].strip() else full
            yield start
            room = further


class Document:
    """A text, its source lines, and what is laid over them.

    Lines end at line feeds only, or at CR LF when every line feed of the text has its carriage return: then
    the pair is the line's end and said once (`newline`), otherwise carriage returns are shown in their lines.

    Args:
        text: Any text.
        words: Whether wrapping keeps words whole, as prose wants it.
        spans: Stretches of it, and glyphs between its characters.
        glyphs: Glyphs of one cell before lines, by their numbers, from 1.
        language: The language of the whole text.
        blocks: Code within it, where it is not written in one language.
        origins: For each line of a rendered text the one of the source that it comes from, from 0; it never
            goes back. None where the lines are the source's own.
    """

    def __init__(
        self,
        text: str,
        *,
        words: bool = False,
        spans: Spans = NO_SPANS,
        glyphs: Mapping[int, str] = NO_GLYPHS,
        language: str | None = None,
        blocks: Sequence[CodeBlock] = (),
        origins: Sequence[int] | None = None,
    ) -> None:
        pairs = text.count("\r\n") if "\r" in text else 0
        self.text = text
        self.words = words
        self.newline = "\r\n" if pairs and pairs == text.count("\n") else "\n"
        """The line ending of the whole text."""
        self.lines = text.split(self.newline)
        """The source lines without their ends; an empty text is one empty line."""
        insets = spans.insets
        # A line that nothing is on is shown where a glyph is on it.
        if len(self.lines) > 1 and not self.lines[-1] and not (insets and insets[-1][0] >= len(text)):
            self.lines.pop()
        self.longest = max(map(len, self.lines))
        """Characters in the longest line."""
        self.spans = spans
        self.glyphs = glyphs
        self.blocks = blocks or ([CodeBlock(0, len(self.lines), 0, language)] if language else ())
        self.origins = origins
        self.insets: dict[int, list[tuple[int, str]]] = {}
        """Glyphs between two characters: by line, the offsets into it and the glyphs."""
        for offset, glyph in insets:
            line, column = self.locate(offset)
            self.insets.setdefault(line, []).append((column, glyph))
        self._shown: LRUCache[int, ShownLine] = LRUCache(_LINES_KEPT)

    @cached_property
    def _before(self) -> list[int]:
        """Characters in all lines before each, without the lines' ends."""
        return list(accumulate(map(len, self.lines), initial=0))

    def _start(self, line: int) -> int:
        return self._before[line] + line * len(self.newline)

    def offset_of(self, line: int, column: int) -> int:
        """Return the offset into the text of a column of a line, which counts from 0."""
        return self._start(line) + min(column, len(self.lines[line]))

    def locate(self, offset: int) -> tuple[int, int]:
        """Return the line, from 0, and the column of an offset: the line's end for its newline."""
        line = bisect_right(range(len(self.lines)), offset, key=self._start) - 1
        return line, min(offset - self._start(line), len(self.lines[line]))

    # -- numbers of lines, which are always those of the source -----------------------------------------

    @property
    def last_number(self) -> int:
        """The number of the last line."""
        return len(self.lines) if self.origins is None else self.origins[-1] + 1

    def number(self, line: int) -> int | None:
        """Return the number of a line, from 0; None where the line before comes from the same source line."""
        if self.origins is None:
            return line + 1
        origin = self.origins[line]
        return None if line and self.origins[line - 1] == origin else origin + 1

    def origin(self, line: int) -> int:
        """Return the source line, from 0, of a line."""
        return line if self.origins is None else self.origins[min(line, len(self.origins) - 1)]

    def line_of(self, origin: int) -> int:
        """Return the first line, from 0, that comes from a source line or one after it."""
        return origin if self.origins is None else bisect_left(self.origins, origin)

    # -- as shown -------------------------------------------------------------------------------------

    def shown(self, line: int) -> ShownLine:
        """Return a line, from 0, as shown; it is kept for the next time."""
        shown = self._shown.get(line)
        if shown is None:
            insets = self.insets.get(line, ())
            shown = self._shown[line] = ShownLine(self.lines[line], words=self.words, insets=insets)
        return shown

    def cells(self, line: int) -> int:
        """Return the cells that a line, from 0, fills when it is not wrapped."""
        source = self.lines[line]
        if source.isascii() and line not in self.insets:
            # A control character is shown as one picture.
            if "\t" not in source:
                return len(source)
            if "\r" not in source:
                return len(source.expandtabs(TAB_SIZE))
        if len(source) > PIECE or line in self.insets:
            return self.shown(line).cells
        return extent(source)[1]

    def rows(self, line: int, width: int) -> int:
        """Return the rows of a width, at least 1, that a line, from 0, fills when it is wrapped."""
        cells = self.cells(line)
        if cells <= width:
            return 1
        if self.lines[line].isascii() and not self.words:
            return -(-cells // width)
        return len(self.shown(line).breaks(width))


@dataclass(frozen=True, slots=True)
class Row:
    """The part of a line on one row of the screen."""

    line: int
    """The line, from 0."""
    start: int
    """The index into the shown line at which the row begins."""
    end: int
    """The index after its last character."""
    lead: int = 0
    """Blank cells before the text: an indent, or the right half of a wide character that scrolling cut."""
    first: bool = True
    """Whether the row is the line's first, which carries the number."""


class Flow(SlicedWork):
    """The rows of a text: one a line, or as many as a line needs at a width.

    What is asked of a part that was not measured yet is measured there and then.

    Args:
        width: Cells in a row, or None when lines are not wrapped.
    """

    def __init__(self, document: Document, width: int | None) -> None:
        super().__init__(self._measure())
        self.document = document
        self.width = width
        self.cells = 0
        """Cells of the widest line seen so far."""
        # Rows before each measured line, and after the last of them.
        self._before = array("Q", [0])
        self._measured = 0

    @property
    def rows(self) -> int:
        """Rows of the whole text; lines not measured yet count as one row each."""
        if self.width is None:
            return len(self.document.lines)
        return self._before[-1] + len(self.document.lines) - self._measured

    def _measure(self) -> Iterator[None]:
        document, width, before = self.document, self.width, self._before
        lines, insets = document.lines, document.insets
        widest = 0
        for first in range(0, len(lines), _LINES_A_SLICE):
            rows = before[-1]
            for number in range(first, min(first + _LINES_A_SLICE, len(lines))):
                line = lines[number]
                # The common case is inlined here: a call for each of 100,000 lines is felt.
                plain = line.isascii() and "\t" not in line and number not in insets
                cells = len(line) if plain else document.cells(number)
                if cells > widest:  # noqa: PLR1730 - max() takes three times as long
                    widest = cells
                if width is not None:
                    rows += 1 if cells <= width else document.rows(number, width)
                    before.append(rows)
                self._measured = number + 1
                if len(line) > _LONG:
                    self.cells = widest
                    yield
            self.cells = widest
            yield

    def row_of(self, line: int, column: int = 0) -> int:
        """Return the row that shows a column of a line, all from 0; a line beyond the last counts as that."""
        line = max(0, min(line, len(self.document.lines) - 1))
        if self.width is None:
            return line
        while self._measured <= line:
            next(self.steps)
        row: int = self._before[line]
        if column and self._before[line + 1] - row > 1:
            shown = self.document.shown(line)
            row += bisect_right(shown.breaks(self.width), shown.index_of(column)) - 1
        return row

    def locate(self, row: int) -> tuple[int, int]:
        """Return the line that a row shows, and which of its rows; one beyond the last counts as that."""
        row = max(0, row)
        if self.width is None:
            return min(row, len(self.document.lines) - 1), 0
        while self._before[-1] <= row and self._measured < len(self.document.lines):
            next(self.steps)
        row = min(row, self._before[-1] - 1)
        line = bisect_right(self._before, row) - 1
        return line, row - self._before[line]

    def row(self, number: int, left: int, cells: int) -> Row:
        """Return what a row shows.

        Args:
            number: The row, from 0.
            left: Cells scrolled to the right, where lines are not wrapped.
            cells: Cells of a row then.
        """
        line, part = self.locate(number)
        shown = self.document.shown(line)
        if self.width is not None:
            breaks = shown.breaks(self.width)
            end = breaks[part + 1] if part + 1 < len(breaks) else shown.length
            return Row(line, breaks[part], end, shown.indent(self.width) if part else 0, first=part == 0)
        start, end = shown.index_at(left), shown.index_at(left + cells)
        lead = 0
        if not shown.narrow and start < shown.length and shown.cell_at(start) < left:
            start += 1
            lead = shown.cell_at(start) - left
        return Row(line, start, max(start, end), lead)

    def first_shown(self, row: int) -> tuple[int, int]:
        """Return the line that a row shows, from 0, and the offset into it at which the row begins."""
        line, part = self.locate(row)
        if not part or self.width is None:
            return line, 0
        shown = self.document.shown(line)
        return line, shown.source_offset(shown.breaks(self.width)[part])
