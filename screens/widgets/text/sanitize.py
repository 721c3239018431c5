"""Text made harmless and nothing hidden: every character that a terminal obeys or swallows gets a glyph.

A reader of code, logs and model output must see what is there. Control characters become control pictures
(`␛`), other invisible or ambiguous ones are spelled out (`<U+202E>`), tabs run to the next tab stop. The
replaced stretches come back as marks, so that the caller can style them, and a real escape character differs
from a `␛` in the text.

What is replaced: controls, format characters (bidirectional controls among them), lone surrogates, private
use, unassigned, separators other than the space, characters that are printable by category and yet show
nothing (`HIDDEN`), and combining marks with nothing to sit on or piled higher than a script needs.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress

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

_REPLACED = -1
_COMBINING = 0


class _Cells(dict[str, int]):
    """The cells of each character met so far, or that it is replaced; a text has few different ones."""

    def __missing__(self, character: str) -> int:
        shown = character.isprintable() and character not in HIDDEN
        self[character] = cells = get_character_cell_size(character) if shown else _REPLACED
        return cells


class _Glyphs(dict[int, str]):
    """The replacement of each code point met so far, as `str.translate` asks for it."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = glyph = _spelled_out(code) if _CELLS[character] == _REPLACED else character
        return glyph


def _spelled_out(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"


_CELLS = _Cells()
_GLYPHS = _Glyphs()


def _cells_in(text: str) -> set[int]:
    """Return how wide the characters of a text are, each width once."""
    return {1} if text.isascii() and text.isprintable() else set(map(_CELLS.__getitem__, set(text)))


def _edges(text: str, *, narrow: bool) -> Sequence[int]:
    if narrow:
        return range(len(text) + 1)
    return array("L", accumulate(map(get_character_cell_size, text), initial=0))


@dataclass(frozen=True, slots=True)
class Visible:
    """A line (or a piece of one) as shown, and the way back to its source."""

    text: str
    """The shown text, without control, format or other invisible characters."""
    starts: Sequence[int]
    """The index into `text` at which each character of the source is shown, and that of the end."""
    edges: Sequence[int]
    """The cells before each character of `text`, and before its end."""
    marks: Sequence[tuple[int, int]] = ()
    """Stretches of `text` that replace another character (start, end), in order, without tabs."""
    narrow: bool = True
    """Whether every character of `text` takes one cell."""

    def source_offset(self, index: int) -> int:
        """Return the source offset of the character shown at an index; beyond the text the source's end."""
        return bisect_right(self.starts, index) - 1

    def index_of(self, offset: int) -> int:
        """Return the first index at which a source offset is shown."""
        return self.starts[min(offset, len(self.starts) - 1)]

    def index_at(self, cell: int) -> int:
        """Return the index of the character that covers a cell; beyond the text its length."""
        return bisect_right(self.edges, cell) - 1

    def cell_at(self, index: int) -> int:
        """Return the cells before an index."""
        return self.edges[min(index, len(self.text))]


def visible(line: str, column: int = 0) -> Visible:
    """Make a line harmless and its invisible characters visible.

    Args:
        line: Any text; a newline in it is shown as `␊`.
        column: The cell at which the line starts, when it is a piece of a longer one.

    Returns:
        The line as shown, with the stretches that were replaced and the way back.
    """
    widths = _cells_in(line)
    narrow = widths <= {_REPLACED, 1}
    if widths <= {1, 2}:
        return Visible(line, range(len(line) + 1), _edges(line, narrow=narrow), narrow=narrow)
    glyphs = _glyphs(line, column, widths)
    text = "".join(glyphs)
    same = len(text) == len(line)
    starts = range(len(line) + 1) if same else array("L", accumulate(map(len, glyphs), initial=0))
    marks: list[tuple[int, int]] = []
    replaced = (glyph != character != "\t" for glyph, character in zip(glyphs, line, strict=True))
    for at in compress(range(len(line)), replaced):
        first = marks.pop()[0] if marks and marks[-1][1] == starts[at] else starts[at]
        marks.append((first, starts[at + 1]))
    return Visible(text, starts, _edges(text, narrow=narrow), tuple(marks), narrow)


def _glyphs(line: str, column: int, widths: set[int]) -> list[str]:
    """Return the replacement of each character of a line."""
    glyphs = list(map(_GLYPHS.__getitem__, map(ord, line)))
    if _COMBINING in widths:
        # Marks that the last character can still take; at the start there is none to sit on.
        room = 0
        for at, cells in enumerate(map(_CELLS.__getitem__, line)):
            if cells == _COMBINING:
                if not room:
                    glyphs[at] = _spelled_out(ord(line[at]))
                room = max(0, room - 1)
            else:
                room = 0 if cells == _REPLACED else _HIGHEST_STACK
    begun = 0
    while (tab := line.find("\t", begun)) >= 0:
        column += sum(map(get_character_cell_size, "".join(glyphs[begun:tab])))
        glyphs[tab] = " " * (TAB_SIZE - column % TAB_SIZE)
        column += len(glyphs[tab])
        begun = tab + 1
    return glyphs


def extent(line: str, column: int = 0) -> tuple[int, int, bool]:
    """Return how much room a line takes, without working out how it is shown where that can be avoided.

    Args:
        line: Any text.
        column: The cell at which the line starts.

    Returns:
        Characters shown, cells filled, and whether each of the characters fills one cell.
    """
    widths = _cells_in(line)
    if _COMBINING in widths or "\t" in line:
        shown = visible(line, column)
        return len(shown.text), shown.edges[-1], shown.narrow
    text = line.translate(_GLYPHS) if _REPLACED in widths else line
    narrow = 2 not in widths
    return len(text), len(text) if narrow else sum(map(get_character_cell_size, text)), narrow


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
        while end < min(limit, len(line)) and _CELLS[line[end]] == _COMBINING:
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
    if len(head) == len(text) and shown.edges[-1] <= width:
        return shown.text
    return shown.text[: shown.index_at(width - 1)] + "…"


_OWN_PROMPTS = re.compile(r"(?<=/[0-9a-f]{8})/[^/]*@[^/]*$")
"""The end of a run's name behind its hash: the prompts that are the user's own."""


def shortened(name: str, width: int) -> str:
    """Return a run's name in so many cells; its hash, which is what differs from other names, is kept.

    The hash covers the user's own prompts, which may stand behind it: of them `/…` is left.
    """
    shown = one_line(name, len(name) + width)
    if len(shown) <= width:
        return shown
    own_prompts = _OWN_PROMPTS.search(shown)
    end = "/…" if own_prompts else ""
    if own_prompts:
        shown = shown[: own_prompts.start()]
    tail = max(0, min(9, width - len(end) - 2))
    return one_line(shown, width - tail - len(end)) + shown[len(shown) - tail :] + end
