"""Reads the terminal so that pasted text and split escape sequences are distinguished from keys.

Textual's own reader hands on each key by itself, and gives up on an escape sequence after a tenth of a
second; over a slow line what is left of the sequence would then come as letters and digits.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import termios
import threading
import time
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, cast

from textual import events
from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from screens.input_guard.guard import TORN_SECONDS, is_text

READ_SIZE = 4096
POLL_SECONDS = 0.1

# A sequence that has its introducer and no end yet; nobody types these two within a tenth of a second.
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)\Z")
# Escape and a digit typed at once; Textual makes what a Mac's Alt+digit types of them.
_ESCAPE_AND_DIGIT = re.compile(r"\x1b[0-9]")
_REST = re.compile(r"(?:\[[0-?]*[ -/]*[@-~]|O[@-~])")

_PASTE, _PASTE_END = "\x1b[200~", "\x1b[201~"
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x1b|\x9b[0-?]*[ -/]*[@-~]"
)
"""Sequences that a terminal obeys, and an Escape that begins none."""

LOST_PASTE_SECONDS = 5.0
"""Seconds without more of a paste after which its end is taken for lost."""

MOST_PASTED = 16 << 20
"""Characters of a paste; what goes beyond is left out."""


class InputDecoder:
    """Turns what is read from a terminal into messages, one read at a time.

    A sequence in two parts is put together when the second one comes within a second of the first: the key
    that it encodes is handed on, and none of its letters. What is pasted is handed on without the escape
    sequences in it, of which Textual's parser would make keys.
    """

    def __init__(self, debug: bool = False) -> None:
        self._debug = debug
        self._parser = XTermParser(debug)
        self._unfinished = ""
        # The paste that has not ended; None outside one.
        self._pasted: list[str] | None = None
        self._pasted_end = ""
        # An Escape that the parser keeps, as more may follow.
        self._escape = ""
        # A digit that came at once after an Escape, which has to have its effect first.
        self._digit = ""
        self._escaped_at = float("-inf")
        self._since = 0.0

    def feed(self, data: str, now: float) -> list[Message]:
        """Return the messages of one read.

        Args:
            now: When, in seconds of a monotonic clock.
        """
        if now - self._escaped_at < TORN_SECONDS and _REST.match(data):
            # The Escape was handed on as a key already; the sequence it began still means something.
            data = "\x1b" + data
        self._escaped_at = float("-inf")
        if self._pasted is not None:
            return self._paste(data, now)
        kept = self._unfinished or self._escape
        before, begin, pasted = (kept + data).partition(_PASTE)
        if begin:
            if kept and not before:
                # The parser has the first part of what begins the paste.
                self._parser, self._unfinished, self._escape = XTermParser(self._debug), "", ""
            else:
                before = before[len(kept) :]
            self._pasted = []
            return (self._keys(before, now) if before else []) + self._paste(pasted, now)
        return self._keys(data, now)

    def _paste(self, data: str, now: float) -> list[Message]:
        """Take more of a paste; the last end that has come counts, since a text may hold some."""
        self._since = now
        # A mark may be cut in two.
        cut, self._pasted_end = self._pasted_end + data, ""
        text, end, after = cut.rpartition(_PASTE_END)
        if not end:
            kept = len(cut) - len(_PASTE_END)
            text, self._pasted_end = (cut[:kept], cut[kept:]) if kept > 0 else ("", cut)
        room = MOST_PASTED - sum(map(len, self._pasted or ()))
        if self._pasted is not None and room > 0:
            self._pasted.append(text[:room])
        if not end:
            return []
        return self._end_of_paste() + (self.feed(after, now) if after else [])

    def _end_of_paste(self) -> list[Message]:
        text = "".join(self._pasted or ()) + self._pasted_end
        self._pasted, self._pasted_end = None, ""
        return [events.Paste(_ESCAPES.sub("", text))]

    def _keys(self, data: str, now: float) -> list[Message]:
        found = _UNFINISHED.search(self._unfinished + data)
        self._unfinished = found[0] if found else ""
        self._since = now
        escape, self._escape = self._escape, data if data == "\x1b" else ""
        try:
            held, messages = self._held_digit(), list(self._parser.feed(data))
            if _ESCAPE_AND_DIGIT.fullmatch(escape + data):
                self._digit = data[-1]
                messages = [events.Key("escape", "\x1b")]
            return held + messages
        except (ValueError, ParseError):
            # Some sequences that no terminal sends are too much for Textual's parser; it starts afresh.
            self._parser = XTermParser(self._debug)
            return []

    def tick(self, now: float) -> list[Message]:
        """Return the messages that come because nothing more was read until `now`."""
        if self._pasted is not None:
            return self._end_of_paste() if now - self._since > LOST_PASTE_SECONDS else []
        if self._digit and now - self._since >= POLL_SECONDS:
            return self._held_digit()
        if not self._unfinished:
            messages = list(self._parser.tick())
            if any(isinstance(message, events.Key) and message.key == "escape" for message in messages):
                self._escaped_at = now
                self._escape = ""
            return messages
        if now - self._since < TORN_SECONDS:
            return []
        # The rest is lost: what there is of the sequence is no key either.
        self._unfinished = ""
        for _ in self._parser.tick():
            pass
        return []

    def _held_digit(self) -> list[Message]:
        digit, self._digit = self._digit, ""
        return [events.Key(digit, digit)] if digit else []

    def end(self) -> None:
        """Give up what is unfinished."""
        try:
            for _ in self._parser.feed(""):
                pass
        except (EOFError, ParseError):
            pass


def text_times(messages: Iterable[Message]) -> list[float]:
    """Return when the keys among some messages came, of those that pasted text can hold."""
    return [message.time for message in messages if isinstance(message, events.Key) and is_text(message)]


class WriteMarker(str):
    """An empty text; written to the terminal, it reports when all that was written before it is there."""

    reached: Callable[[float], None]


class MarkingFile:
    """The terminal's file as Textual's writing thread has it; it reports when a `WriteMarker` is reached."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write a text; what was written before a mark goes out with it."""
        if not isinstance(text, WriteMarker):
            return self._file.write(text)
        self._file.flush()
        text.reached(time.monotonic())
        return 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@dataclass(frozen=True, slots=True)
class _Question:
    """A question to the terminal that has no answer yet."""

    row: int
    reached: Callable[[float], None]
    asked_at: float


class AskingTerminal:
    """Asks the terminal when it has come to what was written: over a slow line, later than it was written.

    Terminals do what they are sent in order: a key that comes before the answer was pressed before what
    was written could be seen. They are asked for the place of the cursor, the one answer that Textual reads;
    it is put into a row that tells the questions apart, and back again. One that does not answer is asked
    no more.

    Args:
        write: Writes to the terminal, and sends it.
    """

    ROWS = 4
    """Rows that tell questions apart; every terminal has as many."""
    SILENT_SECONDS = 5.0
    """Seconds after which a terminal that never answered is taken for one that does not."""
    LOST_SECONDS = 10.0
    """Seconds after which an answer is taken for lost."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._waiting: deque[_Question] = deque()
        self._row = 0
        self._since: float | None = None
        self.answers: bool | None = None

    def ask(self, reached: Callable[[float], None], now: float) -> None:
        """Call back when the terminal has come to what was written until now; in the writing thread.

        Args:
            reached: Called with the seconds of the monotonic clock, in whatever thread.
            now: When it was written, on that clock.
        """
        with self._lock:
            asks = self.answers is not False
            if asks:
                self._since = self._since or now
                self._row = self._row % self.ROWS + 1
                self._waiting.append(_Question(self._row, reached, now))
                question = f"\x1b7\x1b[{self._row};1H\x1b[6n\x1b8"
        if asks:
            self._write(question)
        else:
            reached(now)

    def answered(self, row: int, now: float) -> bool:
        """Take an answer; return whether it is one to a question of these.

        Args:
            row: The cursor's row, from 1.
            now: When it came.
        """
        with self._lock:
            if self.answers is False and 1 <= row <= self.ROWS:
                # It was only slow.
                self.answers = True
                return True
            if not any(one.row == row for one in self._waiting):
                return False
            self.answers = True
            come: list[_Question] = []
            while not come or come[-1].row != row:
                come.append(self._waiting.popleft())
        for one in come:
            one.reached(now)
        return True

    def tick(self, now: float) -> None:
        """Wait no longer for what will not be answered any more."""
        with self._lock:
            if self.answers is None and self._since is not None and now - self._since > self.SILENT_SECONDS:
                self.answers = False
            given_up: list[_Question] = []
            while self._waiting and (
                self.answers is False or now - self._waiting[0].asked_at > self.LOST_SECONDS
            ):
                given_up.append(self._waiting.popleft())
        for one in given_up:
            one.reached(now)


class GuardedDriver(LinuxDriver):
    """The terminal on Linux and macOS, read by `InputDecoder`; a terminal that is gone ends the program."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        file = cast("IO[str]", self._file)
        self._file = cast(Any, MarkingFile(file))

        def send(text: str) -> None:
            file.write(text)
            file.flush()

        self._asking = AskingTerminal(send)

    def _sigtstp_application(self, *_: object) -> None:
        """Give the terminal back, and stop with all that the shell has started together with the app.

        What started the app, such as a script, would keep the shell waiting if it went on.
        """
        if self._auto_restart:
            self.suspend_application_mode()
            self._must_signal_resume = True
        os.killpg(os.getpgrp(), signal.SIGSTOP)

    def _sigcont_application(self, *_: object) -> None:
        """Take the terminal again; where it was not given back, as before a SIGSTOP, do that first."""
        # The signal comes with a lost terminal, too, which nobody can take.
        if self._auto_restart and os.isatty(self.fileno):
            if not self._must_signal_resume:
                self.suspend_application_mode()
                self._must_signal_resume = True
            self.resume_application_mode()

    def start_application_mode(self) -> None:
        """Take the terminal, and ask whether it answers."""
        if self._must_signal_resume:
            # What was typed before the app is seen again was meant for the shell.
            with suppress(termios.error):
                termios.tcflush(self.fileno, termios.TCIFLUSH)
            if not self._must_signal_resume:
                # In the background that stops the process, and the signal to go on has done the rest.
                return
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self.when_written(lambda _: None)

    def when_written(self, reached: Callable[[float], None]) -> None:
        """Call back when the terminal has come to all that was written until now.

        Args:
            reached: Called in the thread that writes or in the one that reads, with the seconds of the
                monotonic clock.
        """
        mark = WriteMarker()
        mark.reached = partial(self._asking.ask, reached)
        self.write(mark)

    def run_input_thread(self) -> None:
        """Wait for input and hand it on, until the app ends."""
        reads = InputDecoder(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(POLL_SECONDS):
                    try:
                        data = os.read(self.fileno, READ_SIZE)
                    except OSError:
                        data = b""
                    if not data:
                        # The connection is lost; without this the app would go on with nobody there.
                        os.kill(os.getpid(), signal.SIGHUP)
                        break
                    self._hand_on(reads.feed(decode(data), time.monotonic()))
                self._hand_on(reads.tick(time.monotonic()))
                self._asking.tick(time.monotonic())
        reads.end()

    def _hand_on(self, messages: list[Message]) -> None:
        times = text_times(messages)
        hears = getattr(self._app, "keys_came_together", None)
        if len(times) > 1 and hears is not None:
            hears(times)
        for message in messages:
            if isinstance(message, events.CursorPosition) and message.x == 0:
                self._asking.answered(message.y + 1, message.time)
            else:
                self.process_message(message)
