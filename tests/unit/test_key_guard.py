"""Torn escape sequences and bursts of keys, told from what a hand types."""

from __future__ import annotations

import pytest

from screens.input_guard.guard import TORN_SECONDS, PasteDetector, SplitEscapeDetector

NAMES = {"\x1b": "escape", "[": "left_square_bracket", "~": "tilde", ";": "semicolon"}


def swallowed(typed: str, gap: float = 0.3, start: float = 100.0) -> str:
    """The characters that are swallowed of those that arrive with pauses between them."""
    torn, time, gone = SplitEscapeDetector(), start, ""
    for character in typed:
        if torn.swallows(NAMES.get(character, character), character, time):
            gone += character
        time += gap
    return gone


@pytest.mark.parametrize("rest", ["[A", "[1;5A", "OP", "[1~", "[15~", "[<0;10;20M", "[?2048;2$y"])
def test_the_rest_of_a_torn_sequence_is_swallowed_and_nothing_after_it(rest: str) -> None:
    assert swallowed(f"\x1b{rest}1") == rest


def test_keys_without_an_escape_before_them_pass() -> None:
    assert swallowed("[A10Oa") == ""


def test_a_key_long_after_an_escape_passes() -> None:
    assert swallowed("\x1b[A", gap=TORN_SECONDS + 0.01) == ""


def test_another_key_after_an_escape_passes() -> None:
    assert swallowed("\x1b1[A") == ""


def test_a_second_escape_begins_anew() -> None:
    assert swallowed("\x1b[\x1b[A1") == "[[A"


def test_what_a_torn_paste_holds_is_swallowed_until_the_keys_pause() -> None:
    torn = SplitEscapeDetector()
    time = 5.0
    for character in "\x1b[200~1a0":
        gone = torn.swallows(NAMES.get(character, character), character, time)
        assert gone == (character != "\x1b")
        time += 0.3
    assert not torn.swallows("1", "1", time + TORN_SECONDS)


def test_keys_without_a_character_pass() -> None:
    torn = SplitEscapeDetector()
    assert not torn.swallows("escape", "\x1b", 1.0)
    assert not torn.swallows("up", None, 1.1)
    assert not torn.swallows("A", "A", 1.2)


def test_keys_of_one_read_are_a_burst() -> None:
    bursts = PasteDetector()
    bursts.came_together([1.0, 1.4])
    for time in (1.0, 1.4, 2.0):
        bursts.arrived(time)
    assert bursts.is_burst(1.0)
    assert bursts.is_burst(1.4)
    assert not bursts.is_burst(2.0)


def test_keys_closer_than_any_hand_are_a_burst() -> None:
    bursts = PasteDetector()
    for time in (1.0, 1.0004, 1.1):
        bursts.arrived(time)
    assert bursts.is_burst(1.0)
    assert bursts.is_burst(1.0004)
    assert not bursts.is_burst(1.1)


def test_a_key_that_comes_by_again_is_no_burst() -> None:
    bursts = PasteDetector()
    bursts.arrived(1.0)
    bursts.arrived(1.0)
    assert not bursts.is_burst(1.0)


def test_the_end_of_a_paste_that_came_in_a_read_of_its_own_belongs_to_it() -> None:
    bursts = PasteDetector()
    pasted = [100.0 + number / 1e6 for number in range(20)]
    bursts.came_together(pasted)
    assert bursts.is_burst(100.02)
    assert bursts.is_burst(100.06), "the paste goes on"
    assert not bursts.is_burst(100.2)


def test_two_keys_that_a_slow_line_brought_together_are_no_paste() -> None:
    bursts = PasteDetector()
    bursts.came_together([100.0, 100.000001])
    assert not bursts.is_burst(100.02)
