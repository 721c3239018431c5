"""Text made harmless and nothing hidden: every character that a terminal obeys or swallows gets a glyph.

A reader of code, logs and model output must see what is there. Control characters become control pictures
(`␛`), other invisible or ambiguous ones are spelled out (`<U+202E>`), tabs run to the next tab stop. The
replaced stretches come back as marks, so that the caller can style them and a real escape character is told
from a `␛` that stands in the text.

What is replaced: controls, format characters (bidirectional controls among them), lone surrogates, private
use, unassigned, separators other than the space, characters that are printable by category and yet show
nothing (`HIDDEN`), and combining marks with nothing to sit on or piled higher than a script needs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate

from rich.cells import get_character_cell_size

TAB_SIZE = 4
"""Cells between two tab stops."""

HIDDEN = frozenset(
    map(
        chr,
        [
            0x034F,  # combining grapheme joiner
            *(0x115F, 0x1160, 0x3164, 0xFFA0),  # Hangul fillers
            *(0x17B4, 0x17B5),  # Khmer inherent vowels
            *range(0x180B, 0x1810),  # Mongolian variation selectors
            0x2800,  # braille blank
            *range(0xFE00, 0xFE10),  # variation selectors: they carry hidden bytes as well as emoji styles
            *range(0xE0100, 0xE01F0),
        ],
    )
)
"""Characters of printable categories that show nothing."""

_HIGHEST_STACK = 4
"""Combining marks on one character that are still shown as they are; scripts in use need three."""


class _Kind(Enum):
    NARROW = 1
    WIDE = 2
    COMBINING = 3
    ODD = 4


class _Kinds(dict[str, _Kind]):
    """The kind of each character met so far; a text has few different ones."""

    def __missing__(self, character: str) -> _Kind:
        if not character.isprintable() or character in HIDDEN:
            kind = _Kind.ODD
        else:
            cells = get_character_cell_size(character)
            kind = (_Kind.COMBINING, _Kind.NARROW, _Kind.WIDE)[cells]
        self[character] = kind
        return kind


class _Glyphs(dict[int, str]):
    """What stands for each code point met so far, as `str.translate` asks for it."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if _KINDS[character] is _Kind.ODD:
            character = _spelled_out(code)
        self[code] = character
        return character


def _spelled_out(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"


_KINDS = _Kinds()
_GLYPHS = _Glyphs()
_ASCII = frozenset({_Kind.NARROW})
_UPRIGHT = frozenset({_Kind.NARROW, _Kind.WIDE})


def _kinds(text: str) -> frozenset[_Kind]:
    if text.isascii() and text.isprintable():
        return _ASCII
    return frozenset(map(_KINDS.__getitem__, set(text)))


@dataclass(frozen=True, slots=True)
class Visible:
    """A line (or a piece of one) as shown, and the way back to its source."""

    text: str
    """What is shown: no control, format or other invisible character is in it."""
    source_length: int
    """Characters in the source."""
    marks: tuple[tuple[int, int], ...] = ()
    """Stretches of `text` that stand for another character (start, end), in order, tabs not among them."""
    narrow: bool = True
    """Whether every character of `text` takes one cell."""
    shown_anchors: tuple[int, ...] = (0,)
    """Indices into `text` where it and the source go out of step; see `source_anchors`."""
    source_anchors: tuple[int, ...] = (0,)
    """The offset into the source shown at the same place of `shown_anchors`."""

    def source_offset(self, index: int) -> int:
        """Return the source offset of the character shown at an index of `text`.

        Args:
            index: An index into `text`; what lies beyond its end belongs to the end of the source.

        Returns:
            An offset into the source, from 0 to `source_length`.
        """
        at = bisect_right(self.shown_anchors, index) - 1
        offset = self.source_anchors[at] + index - self.shown_anchors[at]
        if at + 1 < len(self.source_anchors):
            # One source character may fill several places: all of them lead back to it.
            offset = min(offset, self.source_anchors[at + 1] - 1)
        return min(offset, self.source_length)

    def index_of(self, offset: int) -> int:
        """Return the index into `text` at which a source offset is shown.

        Args:
            offset: An offset into the source.

        Returns:
            The index of the first place that stands for it.
        """
        at = bisect_right(self.source_anchors, offset) - 1
        return min(self.shown_anchors[at] + offset - self.source_anchors[at], len(self.text))

    def index_at(self, cell: int) -> int:
        """Return the index of the character that covers a cell.

        Args:
            cell: Cells from the start of the text.

        Returns:
            An index into `text`; its length when the cell lies beyond it.
        """
        if self.narrow:
            return min(cell, len(self.text))
        right = 0
        for index, character in enumerate(self.text):
            right += get_character_cell_size(character)
            if right > cell:
                return index
        return len(self.text)

    def cell_at(self, index: int) -> int:
        """Return the cells before an index of `text`.

        Args:
            index: An index into `text`.

        Returns:
            Cells from the start of the text.
        """
        if self.narrow:
            return min(index, len(self.text))
        return sum(map(get_character_cell_size, self.text[:index]))

    def source_at(self, cell: int) -> int:
        """Return the source offset of what a display column shows.

        Args:
            cell: Cells from the start of the text; both cells of a wide character lead to it.

        Returns:
            An offset into the source.
        """
        return self.source_offset(self.index_at(cell))


def visible(line: str, *, tab_size: int = TAB_SIZE, column: int = 0) -> Visible:
    """Make a line harmless and its invisible characters visible.

    Args:
        line: Any text; a newline in it is shown as `␊`.
        tab_size: Cells between two tab stops.
        column: The cell at which the line starts, when it is a piece of a longer one.

    Returns:
        The line as shown, with the stretches that were replaced and the way back.
    """
    kinds = _kinds(line)
    if kinds <= _UPRIGHT:
        return Visible(line, len(line), narrow=_Kind.WIDE not in kinds)
    return _Rewriting(tab_size, column).rewrite(line)


def extent(line: str, *, tab_size: int = TAB_SIZE, column: int = 0) -> tuple[int, int, bool]:
    """Return how much room a line takes, without working out how it is shown where that can be avoided.

    Args:
        line: Any text.
        tab_size: Cells between two tab stops.
        column: The cell at which the line starts.

    Returns:
        Characters shown, cells filled, and whether each of the characters fills one cell.
    """
    kinds = _kinds(line)
    narrow = not kinds & {_Kind.WIDE, _Kind.COMBINING}
    if _Kind.COMBINING in kinds or "\t" in line:
        shown = visible(line, tab_size=tab_size, column=column)
        return len(shown.text), shown.cell_at(len(shown.text)), shown.narrow
    text = line.translate(_GLYPHS) if _Kind.ODD in kinds else line
    return len(text), len(text) if narrow else sum(map(get_character_cell_size, text)), narrow


class _Rewriting:
    """One line on its way to `Visible`."""

    __slots__ = ("cells", "length", "marks", "narrow", "offset", "parts", "shown", "source", "tab_size")

    def __init__(self, tab_size: int, column: int) -> None:
        self.tab_size = tab_size
        self.cells = column
        self.offset = 0
        self.length = 0
        self.parts: list[str] = []
        self.marks: list[tuple[int, int]] = []
        self.shown = [0]
        self.source = [0]
        self.narrow = True

    def rewrite(self, line: str) -> Visible:
        for number, stretch in enumerate(line.split("\t")):
            if number:
                width = self.tab_size - self.cells % self.tab_size
                self._anchor()
                self._put(" " * width, 1, width)
                self._anchor()
            kinds = _kinds(stretch)
            if kinds & {_Kind.WIDE, _Kind.COMBINING}:
                self.narrow = False
            if kinds <= _UPRIGHT:
                cells = sum(map(get_character_cell_size, stretch)) if _Kind.WIDE in kinds else len(stretch)
                self._put(stretch, len(stretch), cells)
            else:
                self._stretch(stretch, _Kind.COMBINING in kinds)
        return Visible(
            "".join(self.parts),
            len(line),
            tuple(self.marks),
            self.narrow,
            tuple(self.shown),
            tuple(self.source),
        )

    def _anchor(self) -> None:
        if self.length - self.shown[-1] != self.offset - self.source[-1]:
            self.shown.append(self.length)
            self.source.append(self.offset)

    def _put(self, text: str, source_length: int, cells: int) -> None:
        self.parts.append(text)
        self.length += len(text)
        self.offset += source_length
        self.cells += cells

    def _stretch(self, stretch: str, combining: bool) -> None:
        """Add a stretch without tabs in which something is replaced."""
        glyphs = _seated(stretch) if combining else list(map(_GLYPHS.__getitem__, map(ord, stretch)))
        starts = list(accumulate(map(len, glyphs), initial=self.length))
        for index, (glyph, character) in enumerate(zip(glyphs, stretch, strict=True)):
            if glyph != character:
                if self.marks and self.marks[-1][1] == starts[index]:
                    self.marks[-1] = (self.marks[-1][0], starts[index + 1])
                else:
                    self.marks.append((starts[index], starts[index + 1]))
        text = "".join(glyphs)
        self._anchor()
        if len(text) != len(stretch):
            if self.source[-1] == self.offset:
                self.shown.pop()
                self.source.pop()
            self.shown.extend(starts[:-1])
            self.source.extend(range(self.offset, self.offset + len(stretch)))
        self._put(text, len(stretch), sum(map(get_character_cell_size, text)))
        self._anchor()


def _seated(stretch: str) -> list[str]:
    """Return the glyphs of a text in which combining marks stay only where they have a seat."""
    glyphs = []
    # Marks that the last character can still take; at the start there is none to sit on.
    room = 0
    for character in stretch:
        kind = _KINDS[character]
        if kind is _Kind.COMBINING:
            glyphs.append(character if room else _spelled_out(ord(character)))
            room = max(0, room - 1)
        else:
            glyphs.append(_GLYPHS[ord(character)])
            room = 0 if kind is _Kind.ODD else _HIGHEST_STACK
    return glyphs


def pieces(line: str, size: int) -> Iterator[str]:
    """Cut a long line into pieces, never between a character and the combining marks on it.

    Args:
        line: A source line.
        size: Characters a piece should have.

    Yields:
        The pieces, in order; one empty piece for an empty line.
    """
    start = 0
    while True:
        end = start + size
        # A pile of marks higher than this is spelled out anyway, wherever it is cut.
        limit = end + _HIGHEST_STACK
        while end < min(limit, len(line)) and _KINDS[line[end]] is _Kind.COMBINING:
            end += 1
        yield line[start:end]
        start = end
        if start >= len(line):
            return


def one_line(text: str, width: int) -> str:
    """Return the start of a text as one harmless line for a header or a table cell.

    Args:
        text: Any text; newlines in it are shown as `⏎`, tabs as one space.
        width: Cells to fill at most.

    Returns:
        A text of at most `width` cells, ending in `…` when something was left out.
    """
    if width <= 0:
        return ""
    # Nothing takes less than a cell but combining marks, of which at most a few stay on one character.
    head = text[: (width + 1) * (_HIGHEST_STACK + 1)]
    shown = visible(head.replace("\r\n", "⏎").replace("\n", "⏎").replace("\t", " "))
    if len(head) == len(text) and shown.cell_at(len(shown.text)) <= width:
        return shown.text
    return shown.text[: shown.index_at(width - 1)] + "…"
