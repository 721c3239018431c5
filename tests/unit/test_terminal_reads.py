"""What is read from a terminal, in whole reads and in torn ones, as messages."""

from __future__ import annotations

import io
import time
from typing import Any, cast

import pytest
from textual import events
from textual.drivers._writer_thread import WriterThread
from textual.message import Message

from screens.input_guard.guard import TORN_SECONDS
from screens.input_guard.terminal import (
    LOST_PASTE_SECONDS,
    MOST_PASTED,
    AskingTerminal,
    InputDecoder,
    MarkingFile,
    WriteMarker,
    text_times,
)


def keys(messages: list[Message]) -> list[str]:
    """The names of keys among messages, and what was pasted."""
    named = {events.Key: lambda each: each.key, events.Paste: lambda each: f"paste {each.text!r}"}
    return [named[type(each)](each) for each in messages if type(each) in named]


class Line:
    """A slow line: parts arrive with pauses, longer than Textual waits for the rest of a sequence."""

    def __init__(self) -> None:
        self.reads = InputDecoder()
        self.messages: list[Message] = []

    def arrives(self, *parts: str) -> list[str]:
        for part in parts:
            self.messages += self.reads.feed(part, time.monotonic())
            self.pauses()
        return keys(self.messages)

    def pauses(self, seconds: float = 0.15) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.02)
            self.messages += self.reads.tick(time.monotonic())


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["\x1b[A"], ["up"]),
        (["\x1b"], ["escape"]),
        (["\x1b", "[A"], ["escape", "up"]),
        (["\x1b[", "A"], ["up"]),
        (["\x1b[1", ";5A"], ["ctrl+up"]),
        (["\x1b", "OP"], ["escape", "f1"]),
        (["\x1bO", "P"], ["f1"]),
        (["\x1b[", "1", "~"], ["home"]),
        (["\x1b[200~1\x1b[201~"], ["paste '1'"]),
        (["\x1b", "[200~1\x1b[201~"], ["escape", "paste '1'"]),
        (["\x1b[", "200~1\x1b[201~"], ["paste '1'"]),
        (["\x1b[20", "0~1\x1b[20", "1~2"], ["paste '1'", "2"]),
        (["q\x1b[200~a\x1b[31mb\r\n", "c\x1b[0m\x1b[201~", "\r"], ["q", "paste 'ab\\r\\nc'", "enter"]),
        (["\x1b[200~a\x1b]0;title\x07b\x1bc\x1b"], []),
        (["\x1b[200~a\x1b]0;title\x07b\x1b[201~"], ["paste 'ab'"]),
        # An end in the text itself lets nothing after it act.
        (["\x1b[200~a\x1b[201~\rq\x1b[201~"], ["paste 'a\\rq'"]),
        (["\x1b", "1"], ["escape", "1"]),
        (["\x1b1"], ["escape", "1"]),
        (["1", "0"], ["1", "0"]),
    ],
)
def test_parts_are_put_together_and_leave_no_letters(parts: list[str], expected: list[str]) -> None:
    assert Line().arrives(*parts) == expected


def test_a_rest_that_never_comes_leaves_nothing() -> None:
    line = Line()
    line.arrives("\x1b[1")
    line.messages += line.reads.tick(time.monotonic() + TORN_SECONDS)
    assert keys(line.messages) == []
    assert line.arrives("q") == ["q"]


def test_what_the_parser_cannot_take_does_not_stop_the_keys() -> None:
    assert Line().arrives("\x1b[49;1:1u", "q") == ["q"]


def test_a_paste_without_an_end_is_bounded() -> None:
    reads = InputDecoder()
    reads.feed("\x1b[200~", 1.0)
    for _ in range(5):
        assert reads.feed("x" * (MOST_PASTED // 4), 1.0) == []
    (paste,) = reads.feed("\x1b[201~", 1.0)
    assert isinstance(paste, events.Paste)
    assert len(paste.text) == MOST_PASTED


def test_a_paste_whose_end_is_lost_takes_no_keys_for_ever() -> None:
    reads = InputDecoder()
    assert reads.feed("\x1b[200~ab", 1.0) + reads.tick(2.0) + reads.feed("c", 3.0) == []
    assert keys(reads.tick(3.0 + LOST_PASTE_SECONDS) + reads.tick(3.1 + LOST_PASTE_SECONDS)) == [
        "paste 'abc'"
    ]
    assert keys(reads.feed("q", 9.0)) == ["q"]


def test_keys_of_one_read_are_told() -> None:
    reads = InputDecoder()
    assert len(text_times(reads.feed("10", 1.0))) == 2
    assert len(text_times(reads.feed("1", 2.0))) == 1
    assert text_times(reads.feed("\x1b[A\x1b[B", 3.0)) == []


def test_what_is_written_is_told_when_it_has_left_and_not_before() -> None:
    """The thread that writes is behind: a mark is reached when what was put before it is flushed."""
    told: list[tuple[str, float]] = []

    class SlowFile(io.StringIO):
        def flush(self) -> None:
            time.sleep(0.05)
            told.append((f"flushed {self.getvalue()}", time.monotonic()))

    writer = WriterThread(cast(Any, MarkingFile(SlowFile())))
    mark = WriteMarker()
    mark.reached = lambda moment: told.append(("reached", moment))
    writer.start()
    writer.write("item 1")
    writer.write(mark)
    writer.write("item 2")
    writer.stop()
    names = [name for name, _ in told]
    assert names.index("flushed item 1") < names.index("reached") < names.index("flushed item 1item 2")
    assert [moment for _, moment in told] == sorted(moment for _, moment in told)


class Asked:
    """A terminal that is asked: what was written to it, and who was called back when."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.reached: list[tuple[str, float]] = []
        self.terminal = AskingTerminal(self.written.append)

    def ask(self, name: str, now: float) -> None:
        self.terminal.ask(lambda moment: self.reached.append((name, moment)), now)


def test_what_was_written_is_there_when_the_terminal_answers() -> None:
    asked = Asked()
    asked.ask("a", 1.0)
    asked.ask("b", 1.1)
    # To a row of its own, the question, and back.
    assert asked.written == ["\x1b7\x1b[1;1H\x1b[6n\x1b8", "\x1b7\x1b[2;1H\x1b[6n\x1b8"]
    asked.terminal.tick(1.5)
    assert asked.reached == []
    assert not asked.terminal.answered(3, 1.6)
    assert asked.terminal.answered(1, 1.7)
    assert asked.reached == [("a", 1.7)]
    assert asked.terminal.answered(2, 1.8)
    assert asked.reached == [("a", 1.7), ("b", 1.8)]
    # An answer that came twice, or to what was given up, is none.
    assert not asked.terminal.answered(2, 1.9)


def test_a_later_answer_stands_for_those_that_were_lost() -> None:
    asked = Asked()
    for number in range(3):
        asked.ask(str(number), float(number))
    assert asked.terminal.answered(3, 4.0)
    assert asked.reached == [("0", 4.0), ("1", 4.0), ("2", 4.0)]


def test_a_terminal_that_never_answers_is_asked_no_more() -> None:
    asked = Asked()
    asked.ask("start", 1.0)
    asked.ask("item", 1.2)
    asked.terminal.tick(1.0 + AskingTerminal.SILENT_SECONDS)
    assert asked.reached == []
    asked.terminal.tick(1.1 + AskingTerminal.SILENT_SECONDS)
    gave_up = 1.1 + AskingTerminal.SILENT_SECONDS
    assert asked.reached == [("start", gave_up), ("item", gave_up)]
    # From then on, what is written is there.
    asked.ask("next", 9.0)
    assert asked.reached[-1] == ("next", 9.0)
    assert len(asked.written) == 2
    # It was only slow: it is asked again.
    assert asked.terminal.answered(1, 9.5)
    asked.ask("last", 10.0)
    assert asked.reached[-1] == ("next", 9.0)
    assert len(asked.written) == 3


def test_an_answer_that_is_lost_keeps_nothing_shut() -> None:
    asked = Asked()
    asked.ask("start", 1.0)
    assert asked.terminal.answered(1, 1.1)
    asked.ask("item", 2.0)
    asked.terminal.tick(2.0 + AskingTerminal.LOST_SECONDS)
    assert len(asked.reached) == 1
    asked.terminal.tick(2.1 + AskingTerminal.LOST_SECONDS)
    assert asked.reached[-1] == ("item", 2.1 + AskingTerminal.LOST_SECONDS)
    assert asked.terminal.answers
