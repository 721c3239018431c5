"""Colours keep to the lines they belong to, and never guess a language."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pygments.token import Token

from screens.widgets.text.highlight import ANSI_THEME, THEME, Highlighting, lexer_for, why_plain
from screens.widgets.text.overlay import CodeBlock

PYTHON = '''def f(x):
\t"""Say [red]no[/] to

    markup."""
\treturn x + 1  # once
'''


def code(lines: list[str], language: str = "python") -> Highlighting:
    return Highlighting(lines, [CodeBlock(0, len(lines), 0, language)])


def coloured(text: str, language: str = "python") -> list[list[tuple[str, object]]]:
    lines = text.split("\n")
    highlighting = code(lines, language)
    while not highlighting.advance(0):
        pass
    return [
        [(line[start:end], key) for start, end, key in highlighting.spans(number)]
        for number, line in enumerate(lines)
    ]


def test_tokens_keep_their_places() -> None:
    lines = coloured(PYTHON)
    assert ("def", Token.Keyword) in lines[0]
    assert ("f", Token.Name.Function) in lines[0]
    # A string of several lines is coloured on each, and its empty line has nothing to colour.
    assert lines[1][-1] == ('"""Say [red]no[/] to', Token.Literal.String.Doc)
    assert lines[2] == []
    assert lines[3][-1] == ('    markup."""', Token.Literal.String.Doc)
    assert ("# once", Token.Comment) in lines[4]


@settings(max_examples=50)
@given(st.text("def x():\n\t'\"#\x00\r\u202e\ud800漢\\", max_size=80))
def test_spans_lie_in_their_lines_and_do_not_overlap(text: str) -> None:
    lines = text.split("\n")
    highlighting = code(lines)
    assert highlighting.advance(60)
    for number, line in enumerate(lines):
        after = 0
        for start, end, key in highlighting.spans(number):
            assert after <= start < end <= len(line)
            assert key in THEME
            after = end


def test_lines_not_reached_yet_have_no_colours() -> None:
    highlighting = code(["x = 1"] * 10_000)
    assert not highlighting.advance(0)
    assert 0 < highlighting.covered < 10_000
    assert highlighting.spans(9_999) == ()


def test_no_language_is_guessed() -> None:
    assert lexer_for("no such language") is None
    assert lexer_for("Python") is lexer_for("python")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n" * 100, ""),
        ("x" * 5_001, "plain: a line of 5,001 characters"),
        ("x\n" * 120_000, "plain: 240 kB"),
        ("x\n" * 2_500_000, "plain: 5.0 MB"),
    ],
)
def test_what_is_too_large_stays_plain_and_says_so(text: str, reason: str) -> None:
    assert why_plain(text, max(map(len, text.split("\n")))) == reason


def test_both_themes_style_the_same_tokens() -> None:
    assert THEME.keys() == ANSI_THEME.keys()
