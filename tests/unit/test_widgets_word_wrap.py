"""Prose is wrapped between words, and nothing of it is lost."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from screens.widgets.text.document import Document, ShownLine


def rows(line: str, width: int) -> list[str]:
    shown = ShownLine(line, words=True)
    breaks = [*shown.breaks(width), shown.length]
    return [shown.text(start, end) for start, end in pairwise(breaks)]


def test_words_stay_whole() -> None:
    assert rows("the file is untouched by it", 12) == ["the file is ", "untouched ", "by it"]


def test_a_word_longer_than_a_row_is_broken() -> None:
    assert rows("a " + "x" * 10, 4) == ["a ", "xxxx", "xxxx", "xx"]


def test_the_indent_is_no_place_to_break() -> None:
    # The rows that follow are indented as the first one, and have so much less room.
    assert rows("  " + "x" * 6, 4) == ["  xx", "xx", "xx"]


def test_wide_characters_fill_two_cells() -> None:
    assert rows("漢字 漢字 漢字", 9) == ["漢字 ", "漢字 漢字"]


@given(st.text(alphabet="ab \t漢é\x1b", max_size=60), st.integers(2, 12))
def test_nothing_is_lost_and_rows_fit(line: str, width: int) -> None:
    shown = ShownLine(line, words=True)
    breaks = [*shown.breaks(width), shown.length]
    assert "".join(rows(line, width)) == shown.text(0, shown.length)
    for start, end in pairwise(breaks):
        assert shown.cell_at(end) - shown.cell_at(start) <= width or end - start == 1
    assert Document(line, words=True).rows(0, width) == len(breaks) - 1
