"""Syntax colours by Pygments, worked out a slice at a time, so that no key waits for them.

The lexer is the one named; none is ever guessed. Tokens keep the offsets of the text as given: it is not
stripped, its tabs and newlines are not touched. A block that is too large, or in a language that Pygments
does not know, stays plain.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Protocol

from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import Token  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from screens.widgets.text.document import SlicedWork
from screens.widgets.text.overlay import CodeBlock
from store.formatting import pluralize

CHARACTERS = 200_000
"""A longer text is shown plain."""

LINE_CHARACTERS = 5_000
"""A text with a longer line is shown plain: some lexers take quadratic time on one line."""

_TOKENS_A_GLANCE = 64


class Lexer(Protocol):
    """The part of a Pygments lexer that is used."""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, object, str]]:
        """Cut a text into (offset, token type, text) without changing it."""
        ...


# Few colours, so that search marks and citations are prominent; attributes carry what colour cannot.
THEME: dict[object, str] = {
    Token.Comment: "$foreground 65% italic",
    Token.Generic.Deleted: "$text-error",
    Token.Generic.Error: "$text-error",
    Token.Generic.Heading: "$text-primary bold",
    Token.Generic.Inserted: "$text-success",
    Token.Generic.Traceback: "$text-error",
    Token.Keyword: "$text-accent bold",
    Token.Keyword.Constant: "$text-warning",
    Token.Literal.Number: "$text-warning",
    Token.Literal.String: "$text-success",
    Token.Literal.String.Doc: "$text-success italic",
    Token.Name.Builtin: "$text-secondary",
    Token.Name.Class: "$text-primary bold",
    Token.Name.Decorator: "$text-secondary",
    Token.Name.Exception: "$text-error",
    Token.Name.Function: "$text-primary bold",
    Token.Name.Tag: "$text-primary",
    Token.Operator.Word: "$text-accent bold",
}
"""Styles by token type, in theme variables; a type that is not here takes its parent's."""

_ANSI_COLOURS = {
    "$foreground 65%": "ansi_bright_black",
    "$text-accent": "ansi_magenta",
    "$text-error": "ansi_red",
    "$text-primary": "ansi_blue",
    "$text-secondary": "ansi_cyan",
    "$text-success": "ansi_green",
    "$text-warning": "ansi_yellow",
}


def _in_ansi(style: str) -> str:
    for colour, ansi in _ANSI_COLOURS.items():
        style = style.replace(colour, ansi)
    return style


ANSI_THEME = {token: _in_ansi(style) for token, style in THEME.items()}
"""The same for themes that use the terminal's own colours."""

_lexers: dict[str, Lexer | None] = {}


def lexer_for(language: str) -> Lexer | None:
    """Return the lexer of a language; the first call for a language may take 50 ms.

    Args:
        language: A name or alias that Pygments knows, in any case.

    Returns:
        The lexer, or None for a language that Pygments does not know.
    """
    name = language.lower()
    if name not in _lexers:
        try:
            _lexers[name] = get_lexer_by_name(name)
        except ClassNotFound:
            _lexers[name] = None
    return _lexers[name]


def is_ready(language: str) -> bool:
    """Say whether `lexer_for` answers at once.

    Args:
        language: A name or alias that Pygments knows.

    Returns:
        True when the lexer was loaded before.
    """
    return language.lower() in _lexers


def why_plain(text: str, longest: int) -> str:
    """Say why a text is too large to be highlighted.

    Args:
        longest: Characters in its longest line.

    Returns:
        A few words, or nothing for a text that can be highlighted.
    """
    if len(text) > CHARACTERS:
        size = len(text.encode("utf-8", "surrogatepass"))
        return f"plain: {size / 1e6:.1f} MB" if size >= 1e6 else f"plain: {size / 1e3:.0f} kB"
    return f"plain: a line of {pluralize(longest, 'character')}" if longest > LINE_CHARACTERS else ""


@lru_cache(maxsize=1024)
def _key(token: object) -> object | None:
    while token is not None:
        if token in THEME:
            return token
        token = getattr(token, "parent", None)
    return None


class Highlighting(SlicedWork):
    """The coloured stretches of the code in a text, complete for the first `covered` lines.

    Args:
        lines: All lines of the text, without their ends.
        blocks: Its code, in order.
    """

    def __init__(self, lines: Sequence[str], blocks: Sequence[CodeBlock]) -> None:
        super().__init__(self._lex(lines, blocks))
        self.languages = [block.language for block in blocks]
        self.covered = 0
        """Lines, from the top, whose colours are known."""
        self._spans: dict[int, list[tuple[int, int, object]]] = {}

    def _lex(self, lines: Sequence[str], blocks: Sequence[CodeBlock]) -> Iterator[None]:
        for block in blocks:
            code = [line[block.indent :] for line in lines[block.line : block.line + block.count]]
            whole = "\n".join(code)
            lexer = lexer_for(block.language)
            if lexer is None or why_plain(whole, max(map(len, code))):
                continue
            starts = list(accumulate((len(line) + 1 for line in code), initial=0))
            for count, (offset, token, value) in enumerate(lexer.get_tokens_unprocessed(whole), 1):
                line = bisect_right(starts, offset) - 1
                if not count % _TOKENS_A_GLANCE:
                    self.covered = max(self.covered, block.line + line)
                    yield
                key, end = _key(token), offset + len(value)
                while key is not None and line < len(code) and starts[line] < end:
                    start = max(offset - starts[line], 0)
                    stop = min(end - starts[line], len(code[line]))
                    if stop > start:
                        span = (start + block.indent, stop + block.indent, key)
                        self._spans.setdefault(block.line + line, []).append(span)
                    line += 1
            self.covered = block.line + block.count
            yield
        self.covered = len(lines)

    def spans(self, line: int) -> Sequence[tuple[int, int, object]]:
        """Return the coloured stretches of a line.

        Args:
            line: The line, from 0.

        Returns:
            Triples of offsets into the line (start, end) and a key of `THEME`; none before it is covered.
        """
        return self._spans.get(line, ()) if line < self.covered else ()
