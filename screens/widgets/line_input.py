"""A line of text to fill in: what is pasted into it becomes one harmless line."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from textual import events
from textual.binding import BindingType
from textual.widgets import Input

from screens.commands import binding, command_named, commands_of

CLOSE = "line.close"

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


class UndoInput(Input):
    """An input whose edits are undone by a key: what was typed word by word, other edits one by one.

    A value that the program sets cannot be undone, as it may belong to something else.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        binding(command) for command in commands_of("line") if command.id != CLOSE
    ]

    _is_edit = False
    """Whether the value changes by an edit, an undo or a redo."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        # What was there before each edit, with the place of the cursor; and what undoing has taken away.
        self._before: list[tuple[str, int]] = []
        self._undone: list[tuple[str, int]] = []
        # Where the word that is being typed ends; None where none is.
        self._word_end: int | None = None
        super().__init__(*arguments, **options)

    def watch_value(self) -> None:
        """Forget the edits of another text."""
        if not self._is_edit:
            self._before, self._undone, self._word_end = [], [], None

    def replace(self, text: str, start: int, end: int) -> None:
        """Replace a part of the text, and keep what was there."""
        before, is_typed = (self.value, self.cursor_position), len(text) == 1 and start == end
        with self._edits():
            super().replace(text, start, end)
        if self.value == before[0]:
            return
        if not (is_typed and start == self._word_end):
            self._before.append(before)
        self._undone.clear()
        # A blank still belongs to the word before it.
        self._word_end = start + 1 if is_typed and not text.isspace() else None

    def action_undo(self) -> None:
        """Take back the last edit."""
        self._restore(self._before, self._undone)

    def action_redo(self) -> None:
        """Make again the edit that was taken back last."""
        self._restore(self._undone, self._before)

    def _restore(self, kept: list[tuple[str, int]], given_up: list[tuple[str, int]]) -> None:
        if kept:
            given_up.append((self.value, self.cursor_position))
            with self._edits():
                self.value, self.cursor_position = kept.pop()
            self._word_end = None

    @contextmanager
    def _edits(self) -> Iterator[None]:
        self._is_edit = True
        try:
            yield
        finally:
            self._is_edit = False


class LineInput(UndoInput):
    """An input that takes the whole of what is pasted, and shows no character that acts on the terminal."""

    BINDINGS: ClassVar[list[BindingType]] = [binding(command_named(CLOSE))]

    def validate_value(self, value: str) -> str:
        """Keep what is shown harmless, wherever it comes from."""
        return value if value.isprintable() else harmless_line(value)

    def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.replace(harmless_line(event.text), *self.selection)
