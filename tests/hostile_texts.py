"""Texts that are hostile to a terminal, and what tells that they were shown harmlessly."""

from __future__ import annotations

MARKUP = "x: list[int] = [red]not red[/red] a[/]b [@click=app.quit]quit[/] [link=https://x.invalid]y[/link]"
ESCAPES = "\x1b[31mred\x1b[0m \x1b]52;c;aGVsbG8=\x07 \x1b]0;title\x07 \x9b2J \x1b[2J\x1b[H \x1bc"
BIDI = "if level != 'user\u202e \u2066// admin\u2069 \u2066': \u200b\u200f\u061c\u2028\u2029\ufeff"
CONTROLS = "nul:\x00 bell:\x07 bs:\x08\x08 del:\x7f cr:\rover vt:\x0b ff:\x0c nel:\x85"
HOSTILE = "\n".join([MARKUP, ESCAPES, BIDI, CONTROLS])

# What acts on a terminal or turns text round; blanks and joiners are no part of it.
DANGEROUS = {chr(code) for code in (*range(32), *range(127, 160))} | set(
    "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u2028\u2029\ufeff"
)


def harmless(shown: str) -> bool:
    """Whether nothing in what goes to the terminal does more than to be seen."""
    return not (set(shown.replace("\n", "")) & DANGEROUS)
