"""What a reader sees is harmless, and leads back to every character of the source."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from screens.widgets.text.sanitize import HIDDEN, Visible, extent, one_line, pieces, shortened, visible

# Characters that have gone wrong in some viewer or other, often enough to meet.
NASTY = (
    "\x00\x07\x08\x0b\x0c\r\x1b\x7f\x85\x9b\xa0\xad\u061c\u200b\u200d\u200e"
    "\u202e\u2028\u2066\ufeff\ufe0f\ud800\udfff"
)
ORDINARY = "ab [x] 漢字e\u0301\u0302é␛👍\t"
HOSTILE = st.text(st.one_of(st.sampled_from(NASTY + ORDINARY), st.characters(codec=None)), max_size=60)


def is_harmless(text: str) -> bool:
    """Judge by Unicode's own categories, not by the function that the code uses."""
    return all(
        character == " " or (unicodedata.category(character)[0] not in "CZ" and character not in HIDDEN)
        for character in text
    )


def glyph(shown: Visible, offset: int) -> tuple[str, bool]:
    """Return what stands for a source character, and whether it is marked as replaced."""
    start, end = shown.index_of(offset), shown.index_of(offset + 1)
    marked = any(first <= start and end <= last for first, last in shown.marks)
    return shown.text[start:end], marked


def meaning(glyph: str) -> str:
    """Read a replaced glyph back."""
    if glyph.startswith("<U+"):
        return chr(int(glyph[3:-1], 16))
    return "\x7f" if glyph == "␡" else chr(ord(glyph) - 0x2400)


@given(HOSTILE)
@example("e" + "\u0301" * 9)
@example("\u0301x")
@example("a\u202e\u0301b")
def test_every_character_is_harmless_and_can_be_read_back(line: str) -> None:
    shown = visible(line)
    assert is_harmless(shown.text)
    for offset, character in enumerate(line):
        text, marked = glyph(shown, offset)
        if marked:
            assert meaning(text) == character
        elif character == "\t":
            assert text == " " * len(text)
            assert 1 <= len(text) <= 4
        else:
            assert text == character


@given(HOSTILE)
def test_every_shown_place_leads_to_the_source_and_back(line: str) -> None:
    shown = visible(line)
    offsets = [shown.source_offset(index) for index in range(len(shown.text))]
    assert offsets == sorted(offsets)
    assert sorted(set(offsets)) == list(range(len(line)))
    assert all(shown.source_offset(shown.index_of(offset)) == offset for offset in range(len(line)))
    assert shown.source_offset(len(shown.text)) == len(line)
    assert shown.index_of(len(line)) == len(shown.text)


@given(HOSTILE)
def test_columns_count_cells(line: str) -> None:
    shown = visible(line)
    assert shown.cell_at(len(shown.text)) == cell_len(shown.text)
    for index, character in enumerate(shown.text):
        if cell_len(character):
            assert shown.index_at(shown.cell_at(index)) == index
    if shown.narrow:
        assert all(cell_len(character) == 1 for character in shown.text)


@given(HOSTILE, st.integers(0, 9))
def test_the_extent_is_that_of_the_visible_line(line: str, column: int) -> None:
    shown = visible(line, column=column)
    assert extent(line, column=column) == (len(shown.text), cell_len(shown.text), shown.narrow)


@given(st.text("a\u0301\u0302漢", max_size=40), st.integers(1, 7))
def test_pieces_keep_marks_on_their_characters(line: str, size: int) -> None:
    cut = list(pieces(line, size))
    assert "".join(cut) == line
    assert all(cut) or not line


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("x: list[int]", "x: list[int]"),
        ("[red]a[/]b", "[red]a[/]b"),
        ("\x1b[31m", "␛[31m"),
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("\x00\x7f\x9b", "␀␡<U+009B>"),
        ("user\u202e\u2066", "user<U+202E><U+2066>"),
        ("a\u00a0b\u200bc\ufeff", "a<U+00A0>b<U+200B>c<U+FEFF>"),
        ("\ud800", "<U+D800>"),
        ("one\rtwo", "one␍two"),
        ("e\u0301", "e\u0301"),
        ("\u0301e", "<U+0301>e"),
        ("\U000e0041", "<U+E0041>"),
        ("a\tb", "a   b"),
        ("漢\tb", "漢  b"),
        ("abcd\tb", "abcd    b"),
        ("\x1b\tb", "␛   b"),
    ],
)
def test_lines_are_shown_as(line: str, text: str) -> None:
    assert visible(line).text == text


def test_a_real_escape_is_told_from_its_picture() -> None:
    shown = visible("\x1b ␛")
    assert shown.text == "␛ ␛"
    assert shown.marks == ((0, 1),)


def test_tab_stops_count_from_the_start_of_the_line() -> None:
    assert visible("\tb", column=3).text == " b"


def test_source_at_a_column() -> None:
    shown = visible("漢\u202eb")
    assert [shown.source_offset(shown.index_at(cell)) for cell in range(12)] == [0, 0, *[1] * 8, 2, 3]


@given(HOSTILE, st.integers(-1, 30))
def test_one_line_fits_and_is_harmless(text: str, width: int) -> None:
    line = one_line(text, width)
    assert cell_len(line) <= max(width, 0)
    assert is_harmless(line)
    whole = one_line(text, 10_000)
    assert line == whole if cell_len(whole) <= width else line in ("", "…") or whole.startswith(line[:-1])


def test_one_line_shows_newlines_and_says_what_is_left_out() -> None:
    assert one_line("def f():\r\n\treturn 1\n", 40) == "def f():⏎ return 1⏎"
    assert one_line("漢字漢字", 5) == "漢字…"
    assert one_line("漢字漢字", 8) == "漢字漢字"
    assert one_line("x" * 5_000_000, 4) == "xxx…"


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        ("full/openai:m/1a2b3c4d", 30, "full/openai:m/1a2b3c4d"),
        ("ps-tpg-te-fa/openai:large/1a2b3c4d", 22, "ps-tpg-te-fa…/1a2b3c4d"),
        ("ps-tpg-te-fa/openai:large/1a2b3c4d/screener@5e6f7a8b", 24, "ps-tpg-te-fa…/1a2b3c4d/…"),
        ("ps-fa/org/m@2/1a2b3c4d/arbiter@00000000+screener@5e6f7a8b", 24, "ps-fa/org/m@…/1a2b3c4d/…"),
        ("ps-fa/scripted:replies.jsonl@a18a3313c672/1a2b3c4d", 20, "ps-fa/scri…/1a2b3c4d"),
        ("ps-fa/openai:m/1a2b3c4d/screener@5e6f7a8b", 5, "p…d/…"),
    ],
)
def test_the_name_of_a_run_keeps_its_hash(name: str, width: int, shown: str) -> None:
    assert shortened(name, width) == shown
    assert cell_len(shown) <= width
