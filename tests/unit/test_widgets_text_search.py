"""A search finds what a naive one finds, wherever its windows end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screens.widgets import text_search
from screens.widgets.text_search import TextSearch

LETTERS = st.text("abAB\n", max_size=60)


@pytest.fixture(autouse=True, scope="module")
def small_windows() -> object:
    """Look through a few characters at a time, so that matches cross the windows' ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_search, "_WINDOW", 5)
        yield


def found(text: str, pattern: str) -> list[int]:
    search = TextSearch(text, pattern)
    while not search.advance(0):
        pass
    return list(search.starts)


def naive(text: str, pattern: str) -> list[int]:
    starts, at = [], text.find(pattern)
    while at >= 0:
        starts.append(at)
        at = text.find(pattern, at + len(pattern))
    return starts


@given(LETTERS, st.text("abAB", min_size=1, max_size=4))
def test_it_finds_what_a_naive_search_finds(text: str, pattern: str) -> None:
    if pattern.islower():
        text_there, pattern_there = text.lower(), pattern
    else:
        text_there, pattern_there = text, pattern
    assert found(text, pattern) == naive(text_there, pattern_there)


def test_case_matters_with_an_upper_case_letter_only() -> None:
    assert found("Error error ERROR", "error") == [0, 6, 12]
    assert found("Error error ERROR", "Error") == [0]


def test_letters_that_fold_to_several_shift_nothing() -> None:
    assert found("İİß straße x", "x") == [11]
    assert found("\x1b[31m.*", ".*") == [5]


def test_a_search_leads_to_the_next_match_and_to_those_of_a_stretch() -> None:
    search = TextSearch("ab ab ab", "ab")
    assert search.advance(60)
    assert [search.at_or_after(offset) for offset in (0, 1, 6, 7)] == [0, 1, 2, 3]
    assert search.between(1, 4) == [0, 1]
    assert search.between(2, 3) == []
