"""The app's way of taking keys: what is no key press of a person is left out, or told apart."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from textual import events
from textual.app import App
from textual.driver import Driver
from textual.message import Message

from screens.key_guard import Bursts, TornSequences, is_text

PASTE_PAUSE = 1.0
"""Seconds without keys after which a paste is over."""


class GuardedApp(App[None]):
    """An app in which torn escape sequences are no keys, and pasted text can be told from typed."""

    def __init__(self) -> None:
        super().__init__()
        self._torn = TornSequences()
        self._bursts = Bursts()
        # When the last key came that was taken for a part of a paste.
        self._pasted_at = float("-inf")

    def get_driver_class(self) -> type[Driver]:
        """Return what reads the terminal; on Linux and macOS the one that tells pasting from keys."""
        found = super().get_driver_class()
        if found.__name__ == "LinuxDriver":
            from screens.terminal import CarefulDriver

            return CarefulDriver
        return found

    def post_message(self, message: Message) -> bool:
        """Note when keys arrive; otherwise what every Textual app does."""
        if isinstance(message, events.Key):
            self._bursts.arrived(message.time)
        return super().post_message(message)

    async def on_event(self, event: events.Event) -> None:
        """Drop what a torn escape sequence leaves behind, and text pasted where none can be typed."""
        if isinstance(event, events.Key):
            # A key that bubbled up from a widget was looked at before, and others may have come since.
            if not event.is_forwarded and self._torn.swallows(event.key, event.character, event.time):
                event.stop()
                self.tell(
                    "Torn key", "What looks like the rest of a torn key was left out; press the key again."
                )
                return
            if not event.is_forwarded and self._is_pasted(event):
                event.stop()
                # Once for a paste, not for each of its keys.
                if event.time - self._pasted_at > PASTE_PAUSE:
                    self.tell("Ignored", "several keys came at once, as pasted text does.", alarm=True)
                self._pasted_at = event.time
                return
            self._pasted_at = float("-inf")
            self.key_time, self.key_name = event.time, event.key
        await super().on_event(event)

    key_time = 0.0
    """When the key whose action runs was typed, in seconds of the monotonic clock."""

    key_name = ""
    """What Textual calls that key."""

    back_at = float("-inf")
    """When another program gave the terminal back last, in seconds of the monotonic clock."""

    def run_outside(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        """Give the terminal to another program until that has ended, and take it back.

        Args:
            command: The program with its arguments.
            environment: Its environment; None for that of the app.

        Returns:
            Its exit status.

        Raises:
            OSError: It did not start.
            SuspendNotSupported: This terminal cannot be given away.
        """
        with self.suspend():
            # An error that left this block would leave the terminal to nobody.
            try:
                ended: int | OSError = subprocess.run(command, check=False, env=environment).returncode
            except OSError as error:
                ended = error
        self.back_at = time.monotonic()
        if isinstance(ended, OSError):
            raise ended
        return ended

    def when_written(self, reached: Callable[[float], None]) -> None:
        """Call back when all that the app has painted until now is on the terminal.

        Args:
            reached: Called with the seconds of the monotonic clock, in whatever thread writes.
        """
        writes = getattr(self._driver, "when_written", None)
        if writes is not None:
            writes(reached)
        else:  # it writes at once, or nowhere
            reached(time.monotonic())

    def keys_came_together(self, times: Sequence[float]) -> None:
        """Take note of keys that were in one read of the terminal; called in the terminal's thread."""
        self._bursts.came_together(times)

    def _is_pasted(self, event: events.Key) -> bool:
        """Return whether a key came together with others, as pasted text does, and no text field takes it."""
        if not is_text(event) or not self._bursts.is_burst(event.time):
            return False
        typing = self.focused is not None and self.focused.check_consume_key("x", "x")
        # The Enter after what was typed into a field may come together with it over a slow line.
        return not (typing and (event.is_printable or event.key in ("enter", "tab")))

    def tell(self, title: str, text: str, *, alarm: bool = False) -> None:
        """Say something to the user."""
        raise NotImplementedError
