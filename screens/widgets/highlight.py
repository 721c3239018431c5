"""Syntax colours by Pygments, worked out a slice at a time, so that no key waits for them.

The lexer is the one named; none is ever guessed. Tokens keep the offsets of the text as given: it is not
stripped, its tabs and newlines are not touched.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from time import perf_counter
from typing import Protocol

from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import Token  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from store.counted import counted

CHARACTERS = 200_000
"""A longer text is shown plain."""

LINE_CHARACTERS = 5_000
"""A text with a longer line is shown plain: some lexers take quadratic time on one line."""

_TOKENS_A_GLANCE = 64


class Lexer(Protocol):
    """What is used of a Pygments lexer."""

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, object, str]]:
        """Cut a text into (offset, token type, text) without changing it."""
        ...


# Few colours, so that search marks and citations stand out; attributes carry what colour cannot.
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

ANSI_THEME: dict[object, str] = {
    Token.Comment: "ansi_bright_black italic",
    Token.Generic.Deleted: "ansi_red",
    Token.Generic.Error: "ansi_red",
    Token.Generic.Heading: "ansi_blue bold",
    Token.Generic.Inserted: "ansi_green",
    Token.Generic.Traceback: "ansi_red",
    Token.Keyword: "ansi_magenta bold",
    Token.Keyword.Constant: "ansi_yellow",
    Token.Literal.Number: "ansi_yellow",
    Token.Literal.String: "ansi_green",
    Token.Literal.String.Doc: "ansi_green italic",
    Token.Name.Builtin: "ansi_cyan",
    Token.Name.Class: "ansi_blue bold",
    Token.Name.Decorator: "ansi_cyan",
    Token.Name.Exception: "ansi_red",
    Token.Name.Function: "ansi_blue bold",
    Token.Name.Tag: "ansi_blue",
    Token.Operator.Word: "ansi_magenta bold",
}
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
        text: The text.
        longest: Characters in its longest line.

    Returns:
        A few words, or nothing for a text that can be highlighted.
    """
    if len(text) > CHARACTERS:
        size = len(text.encode("utf-8", "surrogatepass"))
        return f"plain: {size / 1e6:.1f} MB" if size >= 1e6 else f"plain: {size / 1e3:.0f} kB"
    return f"plain: a line of {counted(longest, 'character')}" if longest > LINE_CHARACTERS else ""


@lru_cache(maxsize=1024)
def _key(token: object) -> object | None:
    while token is not None:
        if token in THEME:
            return token
        token = getattr(token, "parent", None)
    return None


class Highlighting:
    """The coloured stretches of a text's lines, complete for the first `covered` lines."""

    def __init__(self, lines: Sequence[str], lexer: Lexer) -> None:
        """Begin to highlight.

        Args:
            lines: The source lines without their ends.
            lexer: The language's lexer.
        """
        self.covered = 0
        """Lines, from the top, whose colours are known."""
        self.done = False
        self._lines = lines
        self._lexer = lexer
        self._spans: list[list[tuple[int, int, object]]] = [[] for _ in lines]
        self._turns = self._lex()

    def _lex(self) -> Iterator[None]:
        lines, spans = self._lines, self._spans
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        count = 0
        for offset, token, value in self._lexer.get_tokens_unprocessed("\n".join(lines)):
            count += 1
            if count % _TOKENS_A_GLANCE == 0:
                self.covered = max(self.covered, bisect_right(starts, offset) - 1)
                yield
            key = _key(token)
            if key is None or not value:
                continue
            end = offset + len(value)
            line = bisect_right(starts, offset) - 1
            while line < len(lines) and starts[line] < end:
                start, stop = max(offset - starts[line], 0), min(end - starts[line], len(lines[line]))
                if stop > start:
                    spans[line].append((start, stop, key))
                line += 1
        self.covered = len(lines)
        self.done = True

    def advance(self, seconds: float) -> bool:
        """Highlight on for a while.

        Args:
            seconds: How long this turn may take, more or less.

        Returns:
            Whether the whole text is highlighted.
        """
        deadline = perf_counter() + seconds
        for _ in self._turns:
            if perf_counter() >= deadline:
                break
        return self.done

    def spans(self, line: int) -> Sequence[tuple[int, int, object]]:
        """Return the coloured stretches of a line.

        Args:
            line: The source line, from 0.

        Returns:
            Triples of offsets into the line (start, end) and a key of `THEME`; none before it is covered.
        """
        return self._spans[line] if line < self.covered else ()
