"""Markdown is rendered to a text that says all that its source says."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from screens.widgets.text.document import Document
from screens.widgets.text.highlight import Highlighting
from screens.widgets.text.markdown import rendered


def shown(source: str) -> str:
    return rendered(source).text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("", ""),
        ("# One *two*", "One two\n═══════"),
        ("漢字\n---", "漢字\n────"),
        ("### Three", "Three"),
        ("one\ntwo  \nthree", "one\ntwo\nthree"),
        ("a **b** _c_ ~~d~~ `e  f`", "a b c d `e  f`"),
        ("[a](b) [c](d 'e f') <http://g>", 'a (b) c (d "e f") http://g'),
        ("[a][b] [B]\n\n[b]: c", "a (c) B (c)\n\n[b]: c"),
        ("![a *b*](c) ![](d)", "[image: a b] (c) [image] (d)"),
        ("[x](javascript:alert(1))", "x (javascript:alert(1))"),
        ("- a\n- b\n  - c\n\n    d", "• a\n• b\n  • c\n\n    d"),
        ("7. a\n8. b\n\n10) c", "7. a\n8. b\n\n10) c"),
        ("1. a\n1. b\n1. c", "1. a\n2. b\n3. c"),
        ("-\n- a", "•\n• a"),
        ("- [ ] a\n- [x] b\n- [y] c", "[ ] a\n[x] b\n• [y] c"),
        ("> a\n> > b\n\nc", "▌ a\n▌\n▌ ▌ b\n\nc"),
        ("<b>a</b> *c*\n\n<!-- d\n\ne -->\nf", "<b>a</b> c\n\n<!-- d\n\ne -->\n\nf"),
        ("a\n\n***\nb", "a\n\n────────────────────────────────────────\n\nb"),
        ("    x\n\n    y", "    x\n\n    y"),
        ("&lt;a&gt; \\* &amp;copy;", "<a> * &copy;"),
        ("| a |\n|---|\n| b | c |", "| a |\n|---|\n| b | c |"),
        ("a\x00b\u202ec\r\nd\re", "a\x00b\u202ec\nd\re"),
        (">" * 100 + " deep", ">" * 100 + " deep"),
    ],
)
def test_what_is_shown_of_a_source(source: str, text: str) -> None:
    assert shown(source) == text


def test_columns_line_up_by_cells_with_wide_and_unseen_characters() -> None:
    source = "| a | b | c |\n|:-:|--:|---|\n| 漢字かな | **1** | x |\n| \u202e | 20 | \u0301y |"
    assert shown(source).split("\n") == [
        "   a     │  b │ c",
        "─────────┼────┼──",
        "漢字かな │  1 │ x",
        "\u202e │ 20 │ \u0301y",
    ]


def test_a_table_that_is_too_wide_is_shown_row_by_row() -> None:
    words = "word " * 20
    source = f"| name | says |\n|---|---|\n| a | {words}|\n| b | c |"
    assert shown(source).split("\n") == ["▪ name: a", f"  says: {words.strip()}", "▪ name: b", "  says: c"]


def test_code_is_framed_and_coloured_wherever_it_stands() -> None:
    source = "```` python title=x\n```\ndef f(): pass\n```\n````\n\n> - a\n>   ```python\n>   def g(): pass\n>\n>   ```"
    result = rendered(source)
    lines = result.text.split("\n")
    assert lines[0].startswith("── python title=x ──")
    assert lines[1:4] == ["  ```", "  def f(): pass", "  ```"]
    assert lines[-3:-1] == ["▌     def g(): pass", "▌"]
    colours = Highlighting(lines, result.blocks)
    assert colours.advance(60)
    at = [number for number, line in enumerate(lines) if "def" in line]
    assert [lines[number][slice(*colours.spans(number)[0][:2])] for number in at] == ["def", "def"]
    assert colours.spans(0) == ()


@pytest.mark.parametrize("code", ["x" * 6_000, "x = 1\n" * 40_000])
def test_code_that_is_too_large_stays_plain(code: str) -> None:
    result = rendered(f"```python\n{code}\n```\n\n```python\ny = 1\n```")
    lines = result.text.split("\n")
    colours = Highlighting(lines, result.blocks)
    assert colours.advance(60)
    assert colours.spans(1) == ()
    assert colours.spans(lines.index("  y = 1"))


def test_spans_are_those_of_what_is_shown() -> None:
    result = rendered("# A **b**\n\n> c [d `e`](f)")
    assert {(span.style, result.text[span.start : span.end]) for span in result.spans.all} == {
        ("heading", "A b"),
        ("rule", "═══"),
        ("strong", "b"),
        ("quote", "▌ c d `e` (f)"),
        ("link", "d `e`"),
        ("code", "`e`"),
    }


def test_lines_lead_back_to_their_source() -> None:
    source = "# a\n\ntext\nmore\n\n```py\nx\ny\n```\n- i\n- j\n\n| k |\n|---|\n| l |"
    result = rendered(source)
    lines = source.split("\n")
    for number, line in enumerate(result.text.split("\n")):
        if line.strip("═─┼▌• "):
            assert line.strip("• ─") in lines[result.origin(number)]


PIECES = st.sampled_from([
    "> ", "- ", "1. ", "    ", "# ", "```", "```py", "|", "|---|", "| a | b |", "\n", "\n\n", " ", "*", "**", "_",
    "`", "[", "](", ")", "![", "<b>", "</b>", "<!--", "-->", "[x]: ", '"', "\\", "~~", "---", "\t", "\r\n", "&amp;",
    "word", "漢字", "7", "\u202e", "\x00", "\xa0", "\x0c", "e\u0301", "\u2028", "\ud800", "http://x.y", "<z@y.x>",
])  # fmt: skip


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text)


def check(source: str, result: Document) -> None:
    missing = [word for word in words(source.replace("&amp;", " ")) if word not in result.text]
    assert not missing
    for character in "\u202e\x00\xa0\x0c\u2028\ud800":
        assert source.count(character) <= result.text.count(character)
    assert result.origins is not None
    assert len(result.origins) == result.text.count("\n") + 1
    assert list(result.origins) == sorted(result.origins)
    assert all(0 <= span.start <= span.end <= len(result.text) for span in result.spans.all)
    for block in result.blocks:
        assert 0 <= block.line < block.line + block.count <= len(result.origins)


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_word_is_lost(source: str) -> None:
    check(source, rendered(source))


@given(st.text(max_size=60))
def test_any_text_is_rendered(source: str) -> None:
    result = rendered(source)
    assert result.origins is not None
    assert len(result.origins) == result.text.count("\n") + 1


@settings(max_examples=30)
@given(st.lists(PIECES, max_size=8).map("".join), st.integers(1, 40))
def test_each_of_many_words_is_there_once_at_least(frame: str, count: int) -> None:
    source = "".join(f"{frame}w{number}q" for number in range(count))
    text = shown(source)
    assert all(f"w{number}q" in text for number in range(count))
