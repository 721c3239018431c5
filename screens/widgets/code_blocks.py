"""Syntax colours of the code within another text, block by block, worked out a slice at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter

from screens.widgets import highlight


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines of a text that are code.

    Attributes:
        line: The first of them, from 0.
        count: How many there are.
        indent: Characters before the code in each.
        language: What its author calls the language.
    """

    line: int
    count: int
    indent: int
    language: str


class BlockHighlighting:
    """The coloured stretches of a text whose code stands in blocks, as `highlight.Highlighting` has them.

    A block that is too large to be coloured, or in a language that Pygments does not know, stays plain.

    Args:
        lines: All lines of the text, without their ends.
        blocks: Its code, in order.
    """

    def __init__(self, lines: Sequence[str], blocks: Sequence[CodeBlock]) -> None:
        self.covered = 0
        """Lines, from the top, whose colours are known."""
        self.done = False
        self._lines = lines
        self._coloured: dict[int, tuple[highlight.Highlighting, int, int]] = {}
        self._turns = self._work(blocks)

    def _work(self, blocks: Sequence[CodeBlock]) -> Iterator[None]:
        for block in blocks:
            code = [line[block.indent :] for line in self._lines[block.line : block.line + block.count]]
            lexer = highlight.lexer_for(block.language)
            if lexer is None or highlight.why_plain("\n".join(code), max(map(len, code))):
                continue
            colours = highlight.Highlighting(code, lexer)
            for number in range(block.count):
                self._coloured[block.line + number] = colours, number, block.indent
            while not colours.advance(0):
                self.covered = block.line + colours.covered
                yield
            self.covered = block.line + block.count
            yield
        self.covered = len(self._lines)
        self.done = True

    def advance(self, seconds: float) -> bool:
        """Highlight on for a while (see `highlight.Highlighting.advance`)."""
        deadline = perf_counter() + seconds
        for _ in self._turns:
            if perf_counter() >= deadline:
                break
        return self.done

    def spans(self, line: int) -> Sequence[tuple[int, int, object]]:
        """Return the coloured stretches of a line (see `highlight.Highlighting.spans`)."""
        coloured = self._coloured.get(line)
        if coloured is None:
            return ()
        colours, number, indent = coloured
        return [(start + indent, end + indent, key) for start, end, key in colours.spans(number)]
