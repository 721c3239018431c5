"""The app's way of taking keys: what is no key press of a person is left out, or told apart."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence

from textual import events
from textual.app import App
from textual.driver import Driver
from textual.message import Message

from screens.key_guard import Bursts, TornSequences


class GuardedApp(App[None]):
    """An app in which torn escape sequences are no keys, and pasted text can be told from typed."""

    def __init__(self) -> None:
        super().__init__()
        self._torn = TornSequences()
        self._bursts = Bursts()

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
        """Drop what a torn escape sequence leaves behind; otherwise what every Textual app does."""
        if isinstance(event, events.Key):
            # A key that bubbled up from a widget was looked at before, and others may have come since.
            if not event.is_forwarded and self._torn.swallows(event.key, event.character, event.time):
                event.stop()
                self.tell(
                    "Torn key", "What looks like the rest of a torn key was left out; press the key again."
                )
                return
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

    def keys_came_together(self, times: Sequence[float]) -> None:
        """Take note of keys that were in one read of the terminal; called in the terminal's thread."""
        self._bursts.came_together(times)

    def is_burst(self, time: float | None = None) -> bool:
        """Return whether a key came together with others, as pasted text does.

        Args:
            time: When the key was typed; None for the key whose action runs.
        """
        return self._bursts.is_burst(self.key_time if time is None else time)

    def tell(self, title: str, text: str, *, alarm: bool = False) -> None:
        """Say something to the user."""
        raise NotImplementedError
