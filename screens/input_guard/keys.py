"""Keeps what is no key press of a person from judging: torn escape sequences and pasted text."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from textual import events

TORN_SECONDS = 1.0
"""How long after a lone Escape, or after a part of a sequence, the rest of a torn sequence may come."""

BURST_SECONDS = 0.001
"""Keys closer together than this came in one read of the terminal, which no hand can do."""


PASTE_KEYS = 4
"""Keys in one read from which on it is a paste, not fast typing that a slow line brought together."""

PASTE_SECONDS = 0.05
"""Seconds after the last key of a paste in which a key still counts as part of it.

A long paste arrives in several reads of the terminal.
"""


def is_text(key: events.Key) -> bool:
    """Return whether a key can come from pasted text: one that is a single character, also a control one."""
    return key.character is not None and key.key != "escape"


class TornSequences:
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
            # What a torn-off paste held, until the keys pause; its own end cannot be told from text.
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


class Bursts:
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
