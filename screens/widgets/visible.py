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

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate, groupby

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

_PICTURES = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}

# A tab; a run of other ASCII controls; a run of anything beyond ASCII, looked into when it needs to be.
_SUSPECT = re.compile(r"(?P<tab>\t)|(?P<control>[\x00-\x08\x0a-\x1f\x7f]+)|[^\x00-\x7f]+")


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


_KINDS = _Kinds()


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
    if line.isascii():
        if line.isprintable():
            return Visible(line, len(line))
    else:
        kinds = {_KINDS[character] for character in set(line)}
        if _Kind.ODD not in kinds and _Kind.COMBINING not in kinds:
            return Visible(line, len(line), narrow=_Kind.WIDE not in kinds)
    return _Rewriting(tab_size, column).rewrite(line)


class _Rewriting:
    """One line on its way to `Visible`."""

    __slots__ = ("cells", "length", "marks", "narrow", "parts", "seat", "shown", "source", "tab_size")

    def __init__(self, tab_size: int, column: int) -> None:
        self.tab_size = tab_size
        self.cells = column
        self.length = 0
        self.parts: list[str] = []
        self.marks: list[tuple[int, int]] = []
        self.shown = [0]
        self.source = [0]
        self.narrow = True
        # Whether a combining mark has something of the source's own to sit on.
        self.seat = False

    def rewrite(self, line: str) -> Visible:
        position = 0
        for match in _SUSPECT.finditer(line):
            start, end = match.span()
            if start > position:
                self._plain(line[position:start], start - position)
            position = end
            run = match.group()
            if match.lastgroup == "tab":
                width = self.tab_size - self.cells % self.tab_size
                self._anchor(start)
                self._plain(" " * width, width)
                self._anchor(end)
                self.seat = False
            elif match.lastgroup == "control":
                self._replaced(run.translate(_PICTURES))
            else:
                self._beyond_ascii(run, start)
        if position < len(line):
            self._plain(line[position:], len(line) - position)
        return Visible(
            "".join(self.parts),
            len(line),
            tuple(self.marks),
            self.narrow,
            tuple(self.shown),
            tuple(self.source),
        )

    def _anchor(self, offset: int) -> None:
        if self.length - self.shown[-1] != offset - self.source[-1]:
            self.shown.append(self.length)
            self.source.append(offset)

    def _plain(self, text: str, cells: int) -> None:
        self.parts.append(text)
        self.length += len(text)
        self.cells += cells
        self.seat = True

    def _replaced(self, glyph: str) -> None:
        start = self.length
        self.parts.append(glyph)
        self.length += len(glyph)
        self.cells += len(glyph)
        self.seat = False
        if self.marks and self.marks[-1][1] == start:
            self.marks[-1] = (self.marks[-1][0], self.length)
        else:
            self.marks.append((start, self.length))

    def _beyond_ascii(self, run: str, start: int) -> None:
        kinds = {_KINDS[character] for character in set(run)}
        if _Kind.WIDE in kinds or _Kind.COMBINING in kinds:
            self.narrow = False
        if _Kind.ODD not in kinds and _Kind.COMBINING not in kinds:
            self._plain(run, sum(map(get_character_cell_size, run)) if _Kind.WIDE in kinds else len(run))
            return
        # By stretches of one kind: a line may hold a million of them.
        offset = start
        for kind, stretch in groupby(run, _KINDS.__getitem__):
            text = "".join(stretch)
            if kind is _Kind.NARROW:
                self._plain(text, len(text))
            elif kind is _Kind.WIDE:
                self._plain(text, 2 * len(text))
            elif kind is _Kind.COMBINING and self.seat:
                self._plain(text[:_HIGHEST_STACK], 0)
                self._spelled_out(text[_HIGHEST_STACK:], offset + _HIGHEST_STACK)
            else:
                self._spelled_out(text, offset)
            offset += len(text)

    def _spelled_out(self, text: str, offset: int) -> None:
        if not text:
            return
        glyphs = [f"<U+{ord(character):04X}>" for character in text]
        self._anchor(offset)
        if len(text) > 1:
            self.shown.extend(accumulate(map(len, glyphs[:-1]), initial=self.length))
            self.source.extend(range(offset, offset + len(text)))
        self._replaced("".join(glyphs))
        self._anchor(offset + len(text))


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
