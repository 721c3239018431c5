"""Refuses keys that no person pressed, and knows when the latest key came that is handled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from textual import events

from screens.input_guard.keys import Bursts, TornSequences, is_text

PASTE_PAUSE = 1.0
"""Seconds without keys after which a paste is over."""


class Tells(Protocol):
    """Says something to the user."""

    def __call__(self, title: str, text: str, *, alarm: bool = False) -> None:
        """Say a sentence under a title; an alarm stands out."""


@dataclass
class LastKey:
    """The key whose action runs.

    Attributes:
        time: When it was typed, in seconds of the monotonic clock.
        name: What Textual calls it.
    """

    time: float = 0.0
    name: str = ""


class InputGuard:
    """Leaves out torn escape sequences, and text pasted where none can be typed.

    Args:
        is_typing: Tells whether a text field has the focus.
        tell: Says what was left out.

    Attributes:
        last_key: The latest key that was let through.
    """

    def __init__(self, is_typing: Callable[[], bool], tell: Tells) -> None:
        self.last_key = LastKey()
        self._is_typing = is_typing
        self._tell = tell
        self._torn = TornSequences()
        self._bursts = Bursts()
        # When the last key came that was taken for a part of a paste.
        self._pasted_at = float("-inf")

    def note_arrival(self, key: events.Key) -> None:
        """Take note of a key when it arrives, before it is handled."""
        self._bursts.arrived(key.time)

    def keys_came_together(self, times: Sequence[float]) -> None:
        """Take note of keys that were in one read of the terminal; called in the terminal's thread."""
        self._bursts.came_together(times)

    def refuses(self, key: events.Key) -> bool:
        """Return whether a key is to be left out; say so when it is, and take note of it when it is not."""
        # A key that bubbled up from a widget was looked at before, and others may have come since.
        if not key.is_forwarded and self._torn.swallows(key.key, key.character, key.time):
            self._tell(
                "Torn key", "What looks like the rest of a torn key was left out; press the key again."
            )
            return True
        if not key.is_forwarded and self._is_pasted(key):
            # Once for a paste, not for each of its keys.
            if key.time - self._pasted_at > PASTE_PAUSE:
                self._tell("Ignored", "several keys came at once, as pasted text does.", alarm=True)
            self._pasted_at = key.time
            return True
        self._pasted_at = float("-inf")
        self.last_key.time, self.last_key.name = key.time, key.key
        return False

    def _is_pasted(self, key: events.Key) -> bool:
        """Return whether a key came together with others, as pasted text does, and no text field takes it."""
        if not is_text(key) or not self._bursts.is_burst(key.time):
            return False
        # The Enter after what was typed into a field may come together with it over a slow line.
        return not (self._is_typing() and (key.is_printable or key.key in ("enter", "tab")))
