"""Refuses keys that no person pressed: split escape sequences and pasted text."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from textual import events

TORN_SECONDS = 1.0
"""Seconds within which the rest of a torn sequence may follow a lone Escape, or a part of the sequence."""

BURST_SECONDS = 0.001
"""Keys closer together than this came in one read of the terminal, which no hand can do."""


PASTE_KEYS = 4
"""Keys in one read from which on it is a paste, not fast typing that a slow line brought together."""

PASTE_SECONDS = 0.05
"""Seconds after the last key of a paste in which a key still counts as part of it.

A long paste arrives in several reads of the terminal.
"""

PASTE_PAUSE = 1.0
"""Seconds without keys after which a paste is over."""


def is_text(key: events.Key) -> bool:
    """Return whether a key can come from pasted text: one that is a single character, also a control one."""
    return key.character is not None and key.key != "escape"


class SplitEscapeDetector:
    """Tells the rest of an escape sequence that the network tore off its ESC from keys a person typed.

    Over a slow line `ESC [ 1 ; 5 A` can arrive as a lone Escape and, much later, as the letters that follow;
    one of them may well be the key of a label.
    """

    def __init__(self) -> None:
        self._expects: str = ""
        self._parameters = ""
        self._since = 0.0

    def swallows(self, key: str, character: str | None, time: float) -> bool:
        """Take in one key; return whether it belongs to a torn sequence.

        Args:
            key: Textual's name of the key.
            character: The character that it types, if any.
            time: When it came, in seconds of a monotonic clock.
        """
        late = time - self._since > TORN_SECONDS
        expects, self._expects = ("" if late else self._expects), ""
        self._since = time
        if expects == "paste":
            # The content of a split paste, until the keys pause; its end looks like text.
            self._expects = "paste"
            return True
        if key == "escape":
            self._expects = "introducer"
            return False
        if character is None or len(character) != 1:
            return False
        if expects == "introducer" and character in "[O":
            self._expects = "control" if character == "[" else "final"
            self._parameters = ""
            return True
        if expects == "control":
            # Parameters and intermediates (0x20-0x3F) go on, a final byte (0x40-0x7E) ends the sequence.
            if " " <= character <= "?":
                self._expects = "control"
                self._parameters += character
            elif character == "~" and self._parameters == "200":
                self._expects = "paste"
            return True
        return expects == "final"


class PasteDetector:
    """Tells keys that arrived in one read, as pasted text does where a terminal does not mark it."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=64)
        self._together: deque[float] = deque(maxlen=8192)
        self._pasted_until = float("-inf")

    def arrived(self, time: float) -> None:
        """Take note of a key when it arrives, before it is handled.

        A key that bubbles up from a widget comes by again, with the time that it had.
        """
        if time not in self._times:
            self._times.append(time)

    def came_together(self, times: Sequence[float]) -> None:
        """Take note of keys that were in one read of the terminal; called in the terminal's thread."""
        self._together.extend(times)
        if len(times) >= PASTE_KEYS:
            self._pasted_until = max(times) + PASTE_SECONDS

    def is_burst(self, time: float) -> bool:
        """Return whether another key arrived together with the one of that time."""
        if time in list(self._together):
            return True
        if time <= self._pasted_until:
            # A key of the same paste that came in a read of its own.
            self._pasted_until = max(self._pasted_until, time + PASTE_SECONDS)
            return True
        return any(0 < abs(other - time) < BURST_SECONDS for other in list(self._times))


class ShowNotice(Protocol):
    """Says something to the user."""

    def __call__(self, title: str, text: str, *, alarm: bool = False) -> None:
        """Say a sentence under a title; an alarm is highlighted."""


@dataclass
class LastKey:
    """The key whose action runs.

    Attributes:
        time: When it was typed, in seconds of the monotonic clock.
        name: Its name in Textual.
        after_refused: Whether keys right before it were left out.
    """

    time: float = 0.0
    name: str = ""
    after_refused: bool = False


class InputGuard:
    """Leaves out torn escape sequences, and text pasted where none can be typed.

    Args:
        is_typing: Tells whether a text field has the focus.
        show_notice: Shows what was left out.

    Attributes:
        last_key: The latest key that was let through.
    """

    def __init__(self, is_typing: Callable[[], bool], show_notice: ShowNotice) -> None:
        self.last_key = LastKey()
        self._is_typing = is_typing
        self._show_notice = show_notice
        self._torn = SplitEscapeDetector()
        self._bursts = PasteDetector()
        # When the last key came that was taken for a part of a paste.
        self._pasted_at = float("-inf")
        self._refused = False

    def note_arrival(self, key: events.Key) -> None:
        """Take note of a key when it arrives, before it is handled."""
        self._bursts.arrived(key.time)

    def keys_came_together(self, times: Sequence[float]) -> None:
        """Take note of keys that were in one read of the terminal; called in the terminal's thread."""
        self._bursts.came_together(times)

    def refuses(self, key: events.Key) -> bool:
        """Return whether a key is to be left out, with a notice; otherwise remember it as the last key."""
        # A key that bubbled up from a widget was looked at before, and others may have come since.
        if not key.is_forwarded and self._torn.swallows(key.key, key.character, key.time):
            self._show_notice("Torn key", "Part of a key was not received; press the key again.")
            self._refused = True
            return True
        if not key.is_forwarded and self._is_pasted(key):
            # Once for a paste, not for each of its keys.
            if key.time - self._pasted_at > PASTE_PAUSE:
                self._show_notice("Ignored", "several keys came at once, as pasted text does.", alarm=True)
            self._pasted_at = key.time
            self._refused = True
            return True
        self._pasted_at = float("-inf")
        self.last_key.time, self.last_key.name = key.time, key.key
        if not key.is_forwarded:
            self.last_key.after_refused, self._refused = self._refused, False
        return False

    def _is_pasted(self, key: events.Key) -> bool:
        """Return whether a key came together with others, as pasted text does, and no text field takes it."""
        if not is_text(key) or not self._bursts.is_burst(key.time):
            return False
        # The Enter after what was typed into a field may come together with it over a slow line.
        return not (self._is_typing() and (key.is_printable or key.key in ("enter", "tab")))
