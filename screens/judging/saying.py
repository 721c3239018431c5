"""What just happened, said at the foot of a screen, with codes to choose from in place of its keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import visible

ROWS = 5
"""Rows that the line may take at most."""


class SayLine(Static):
    """What just happened, and how to take it back; nothing here moves by itself.

    A long sentence takes further rows: what it says is not cut off, and it covers neither the code nor the
    keys.
    """

    _text = ""
    _rows = 1

    def say(self, text: str, *, alarm: bool = False) -> None:
        """Show a sentence.

        Args:
            text: The sentence; data in it is made visible.
            alarm: Whether something went wrong.
        """
        self.set_class(alarm, "-alarm")
        if text != self._text:
            self._text = text
            self._lay_out()

    @property
    def said(self) -> str:
        """The sentence that is shown."""
        return self._text

    def on_resize(self) -> None:
        """Lay the line out anew."""
        self._lay_out()

    def _lay_out(self) -> None:
        lines = Content(visible(self._text.replace("\n", " ")).text).wrap(max(20, self.size.width))
        self.update(Content("\n").join(lines), layout=False)
        # The height is set here, and only when it is another one: laying out a screen takes its time.
        rows = max(1, min(len(lines), ROWS))
        if rows != self._rows:
            self._rows = rows
            self.styles.height = rows


class Saying:
    """Says sentences on a screen, which has a `SayLine` and a `KeyLine`.

    Args:
        screen: The screen.
    """

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen

    @property
    def said(self) -> str:
        """The sentence that is shown."""
        return self._screen.query_one(SayLine).said

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """The codes that stand in place of the keys, with what they mean."""
        return self._screen.query_one(KeyLine).choices

    def say(self, text: str, *, alarm: bool = False, choices: Sequence[tuple[str, str]] = ()) -> None:
        """Say a sentence; an alarm stands out."""
        # The codes stand where the keys stand, so that the panes move as little as can be.
        self._screen.query_one(KeyLine).offer(choices)
        self._screen.query_one(SayLine).say(text, alarm=alarm)

    def say_also(self, text: str) -> None:
        """Say a sentence after what is said already, unless that is a question."""
        if not self.choices:
            self.say(f"{self.said} · {text}" if self.said else text)

    def tell(self, text: str, *, alarm: bool = False) -> None:
        """Say what the app has to say; what is asked still waits for its answer."""
        text = f"! {text}" if alarm else text
        if not self.choices:
            self.say(text, alarm=alarm)
        elif not self.said.endswith(text):
            said = f"{self.said} · {text}" if self.said else text
            self._screen.query_one(SayLine).say(said, alarm=alarm)
