"""Overlays of a text: styled stretches, glyphs between characters, code blocks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, get_args

SpanStyle = Literal[
    "cursor",
    "reference",
    "changed",
    "removed",
    "missing",
    "heading",
    "strong",
    "emphasis",
    "struck",
    "code",
    "quote",
    "link",
    "markup",
    "rule",
    "passed",
    "failed",
    "error",
    "weak",
]
"""The meaning of a stretch; its look is in `paint.STYLES`, never by colour alone."""

SPAN_STYLES: tuple[SpanStyle, ...] = get_args(SpanStyle)

MUTED: tuple[SpanStyle, ...] = ("quote", "markup", "rule")
"""Styles in a weaker colour, which exists only against a background."""

GLYPHS: dict[SpanStyle, str] = {"cursor": "▮", "missing": "‸"}
"""The glyphs of empty stretches, between two characters."""

STYLE_OF_SIGN: dict[str, SpanStyle] = {"✓": "passed", "✗": "failed", "!": "error", "~": "weak"}
"""The styles of what a sign stands for, which is there beside the colour."""

STYLE_OF_GLYPH = {glyph: style for style, glyph in GLYPHS.items()}


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text.

    Attributes:
        start: The offset into the text at which it begins.
        end: The offset after its last character; the same as `start` for a place between two characters,
            which is shown by the glyph of its style (`GLYPHS`), if it has one.
        style: The name of its style.
    """

    start: int
    end: int
    style: SpanStyle


class Spans:
    """The stretches of a text, to be looked up by place.

    Args:
        spans: The stretches, in any order; they may overlap, then the one that begins later lies on top.
    """

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self.all = tuple(sorted(spans, key=lambda span: span.start))
        self._starts = [span.start for span in self.all]
        # How far the stretches up to each one reach: it only grows, so that the first to touch can be found.
        self._reach = list(accumulate((span.end for span in self.all), max))

    @property
    def insets(self) -> tuple[tuple[int, str], ...]:
        """Offsets of glyphs between two characters, with the glyph, in order."""
        return tuple(
            (span.start, GLYPHS[span.style])
            for span in self.all
            if span.start == span.end and span.style in GLYPHS
        )

    def between(self, start: int, end: int) -> Iterator[Span]:
        """Yield the stretches that touch a part of the text, empty ones at its ends too.

        Args:
            start: The offset at which the part begins.
            end: The offset at which it ends.
        """
        for span in self.all[bisect_right(self._reach, start - 1) : bisect_right(self._starts, end)]:
            if span.end >= start:
                yield span


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines of a text that are code.

    Attributes:
        line: The first of them, from 0.
        count: How many there are.
        indent: Characters before the code in each.
        language: The language as its author named it.
    """

    line: int
    count: int
    indent: int
    language: str
