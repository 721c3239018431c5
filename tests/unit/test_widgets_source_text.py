"""Lines, rows and places of a text agree with each other, in any width."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from screens.widgets.text import document
from screens.widgets.text.document import Document, Flow, ShownLine
from screens.widgets.text.overlay import Span, Spans
from screens.widgets.text.sanitize import visible

CHARACTERS = "ab \t漢字\x1b\x00\u202e\ud800é"
LINES = st.text(CHARACTERS + "e\u0301", max_size=80)
TEXTS = st.text(CHARACTERS + "\n\n\r", max_size=200)


@pytest.fixture(autouse=True, scope="module")
def short_pieces() -> object:
    """Cut lines into pieces early, so that short examples have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "PIECE", 7)
        yield


@given(st.text(CHARACTERS, max_size=80))
def test_a_line_in_pieces_is_shown_as_a_whole_one(line: str) -> None:
    shown, whole = ShownLine(line), visible(line)
    assert shown.text(0, shown.length) == whole.text
    assert (shown.length, shown.cells, shown.narrow) == (len(whole.text), cell_len(whole.text), whole.narrow)
    for index in range(shown.length + 1):
        assert shown.source_offset(index) == whole.source_offset(index)
        assert shown.cell_at(index) == whole.cell_at(index)
        assert shown.text(index // 2, index) == whole.text[index // 2 : index]
    for offset in range(len(line) + 1):
        assert shown.index_of(offset) == whole.index_of(offset)
    for cell in range(shown.cells + 2):
        assert shown.index_at(cell) == whole.index_at(cell)


@given(LINES, st.integers(0, 100), st.integers(0, 100))
def test_marks_of_a_stretch_are_those_that_touch_it(line: str, start: int, size: int) -> None:
    shown = ShownLine(line)
    start, end = min(start, shown.length), min(start + size, shown.length)
    every = {at for mark in shown.marks(0, shown.length) for at in range(*mark)}
    some = {at for mark in shown.marks(start, end) for at in range(*mark)}
    assert {at for at in every if start <= at < end} == {at for at in some if start <= at < end}
    assert some <= every


@given(st.text("ab漢\x1b\u202e", max_size=60), st.lists(st.integers(0, 60), max_size=3), st.integers(1, 20))
def test_a_glyph_between_two_characters_is_no_part_of_the_line(
    line: str, places: list[int], width: int
) -> None:
    insets = sorted((min(place, len(line)), "▮") for place in places)
    shown, without = ShownLine(line, insets=insets), ShownLine(line)
    text = shown.text(0, shown.length)
    assert text.replace("▮", "") == without.text(0, without.length)
    assert [(index, text[index]) for index, _ in shown.insets] == [
        (without.index_of(place) + number, "▮")
        if place < len(line)
        else (len(text) - len(insets) + number, "▮")
        for number, (place, _) in enumerate(insets)
    ]
    assert (shown.cells, shown.narrow) == (cell_len(text), without.narrow)
    for offset in range(len(line)):
        assert text[shown.index_of(offset)] == without.text(0, without.length)[without.index_of(offset)]
        assert shown.source_offset(shown.index_of(offset)) == offset
    for number, (index, _) in enumerate(shown.insets):
        place = insets[number][0]
        assert shown.source_offset(index) == place
        # Whatever ends behind the glyph ends where the character before it does.
        assert shown.source_end(index + 1) == place
    breaks = [*shown.breaks(width), shown.length]
    assert "".join(shown.text(start, end) for start, end in pairwise(breaks)) == text
    source = Document(
        f"one\n{line}|", spans=Spans(Span(4 + place, 4 + place, "cursor") for place, _ in insets)
    )
    flow = Flow(source, width)
    assert flow.advance(60)
    assert source.text == f"one\n{line}|"
    assert source.cells(1) == cell_len(text) + 1
    assert flow.rows == sum(source.rows(number, width) for number in range(2))


def test_a_glyph_at_the_end_of_a_text_stands_on_its_last_line() -> None:
    assert Document("one\n", spans=Spans([Span(4, 4, "cursor")])).lines == ["one", ""]
    assert Document("one\n", spans=Spans([Span(3, 3, "cursor")])).lines == ["one"]


@given(LINES, st.integers(1, 20))
def test_rows_hold_the_whole_line_and_fit(line: str, width: int) -> None:
    shown = ShownLine(line)
    breaks = [*shown.breaks(width), shown.length]
    rows = [shown.text(start, end) for start, end in pairwise(breaks)]
    assert "".join(rows) == shown.text(0, shown.length)
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        assert cell_len(row) <= width or cell_len(row[1:]) == 0
        if after:
            # Nothing that would still have fitted was put off to the next row.
            assert cell_len(row) + cell_len(after[0]) > width


@given(TEXTS)
def test_places_and_offsets_agree(text: str) -> None:
    source = Document(text)
    for offset, character in enumerate(text):
        line, column = source.locate(offset)
        if character in "\r\n" and column == len(source.lines[line]):
            assert source.newline.find(character) >= 0
        else:
            assert source.lines[line][column] == character
            assert source.offset_of(line, column) == offset


@pytest.mark.parametrize(
    ("text", "newline", "lines"),
    [
        ("", "\n", [""]),
        ("a", "\n", ["a"]),
        ("a\n", "\n", ["a"]),
        ("a\n\n", "\n", ["a", ""]),
        ("a\r\nb\r\n", "\r\n", ["a", "b"]),
        ("a\r\nb\n", "\n", ["a\r", "b"]),
        ("10%\r20%\n", "\n", ["10%\r20%"]),
        ("a\u2028b\x0bc\x85d", "\n", ["a\u2028b\x0bc\x85d"]),
    ],
)
def test_lines_end_where_an_editor_ends_them(text: str, newline: str, lines: list[str]) -> None:
    source = Document(text)
    assert (source.newline, source.lines) == (newline, lines)


@given(TEXTS, st.none() | st.integers(1, 20))
def test_rows_and_lines_agree(text: str, width: int | None) -> None:
    source = Document(text)
    flow = Flow(source, width)
    while not flow.advance(0):
        pass
    counts = [1 if width is None else len(source.shown(at).breaks(width)) for at in range(len(source.lines))]
    assert flow.rows == sum(counts)
    assert flow.cells == max(source.shown(at).cells for at in range(len(source.lines)))
    row = 0
    for line, count in enumerate(counts):
        assert flow.row_of(line) == row
        for part in range(count):
            assert flow.locate(row) == (line, part)
            if width is not None:
                shown = source.shown(line)
                column = shown.source_offset(shown.breaks(width)[part])
                # A glyph of several cells may begin on an earlier row than the one its rest is on.
                assert flow.row_of(line, column) <= row
            row += 1


@settings(max_examples=20)
@given(st.integers(0, 2_999), st.integers(1, 12))
def test_what_was_not_measured_yet_is_measured_when_asked_for(line: int, width: int) -> None:
    source = Document("\n".join("x" * (at % 40) for at in range(3_000)))
    asked, ready = Flow(source, width), Flow(source, width)
    assert ready.advance(60)
    assert asked.row_of(line) == ready.row_of(line)
    assert asked.locate(asked.row_of(line)) == (line, 0)
    assert asked.rows >= 3_000 - line


def test_the_end_of_a_glyph_takes_its_character_in() -> None:
    shown = ShownLine("a\u202eb")
    assert [shown.source_end(index) for index in (0, 1, 2, 9, 10)] == [0, 1, 2, 2, 3]
