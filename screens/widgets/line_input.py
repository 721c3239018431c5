"""A line of text to fill in: what is pasted into it becomes one harmless line."""

from __future__ import annotations

import unicodedata

from textual import events
from textual.widgets import Input

from screens.commands import bindings

_JOINERS = "\u200c\u200d"
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def harmless_line(text: str) -> str:
    """Return a text as one line: breaks and tabs become spaces, other unseen characters are left out.

    Args:
        text: Any text, such as one from the clipboard.
    """
    joined = " ".join(part.strip() for part in text.splitlines() if part.strip()).replace("\t", " ")
    # Joiners hold emoji and some scripts together; everything else of these kinds can only mislead.
    return "".join(each for each in joined if each in _JOINERS or unicodedata.category(each) not in _UNSEEN)


class LineInput(Input):
    """An input that takes the whole of what is pasted, and shows no character that acts on the terminal."""

    BINDINGS = bindings("line")

    def validate_value(self, value: str) -> str:
        """Keep what is shown harmless, wherever it comes from."""
        return value if value.isprintable() else harmless_line(value)

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.replace(harmless_line(event.text), *self.selection)
