"""A search finds what a naive one finds, wherever its windows end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from screens.widgets.text import search as module
from screens.widgets.text.search import TextSearch

LETTERS = st.text("abAB\n", max_size=60)


@pytest.fixture(autouse=True, scope="module")
def small_windows() -> object:
    """Look through a few characters at a time, so that matches cross the windows' ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WINDOW", 5)
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


@pytest.mark.parametrize(
    ("origin", "first"), [(0, "1 of 3"), (1, "2 of 3"), (6, "3 of 3"), (7, "1 of 3, wrapped")]
)
def test_a_search_leads_to_the_next_match_and_round(origin: int, first: str) -> None:
    search = TextSearch("ab ab ab", "ab", origin)
    assert search.advance(60)
    search.go_to_first()
    assert search.status == first
    seen = [search.current]
    for step in (1, 1, 1, -1):
        search.step(step)
        seen.append(search.current)
    at = seen[0] or 0
    assert seen == [at, (at + 1) % 3, (at + 2) % 3, at, (at - 1) % 3]


def test_the_matches_of_a_stretch_are_those_that_touch_it() -> None:
    search = TextSearch("ab ab ab", "ab")
    assert search.advance(60)
    assert list(search.between(1, 4)) == [0, 1]
    assert list(search.between(2, 3)) == []
