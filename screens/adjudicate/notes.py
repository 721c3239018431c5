"""The line in which an adjudicator writes why, and what was written on each dispute."""

from __future__ import annotations

from collections.abc import Callable

from textual.widgets import Input

from screens.items.views import ItemView
from screens.judging.context import JudgingContext
from screens.widgets.line_input import harmless_line
from store.tables.record import QuestionTarget

NOTE = "note"
"""The id of the line."""
WHY = "reason of your ruling"
"""The placeholder of a ruling's note."""
TO_RATERS = "note to the raters (optional)"
"""The placeholder of a note to the raters."""

Unit = tuple[int, QuestionTarget]
"""An item and a question on it."""


def unit_of(item: ItemView) -> Unit:
    """Return what the question on the screen is about."""
    return item.item_id, item.current.target


class NoteEditor:
    """The line in which a note is written; while it is open, keys are text.

    Args:
        leave: Gives the focus back when the line is closed.

    Attributes:
        notes: The notes, recorded ones and drafts.
        ruling: The key of the ruling that waits for its reason; empty for none.
        sends_back: Whether it is a note to the raters, to whom the item is sent back.
    """

    def __init__(self, shared: JudgingContext, leave: Callable[[], object]) -> None:
        self.notes: dict[Unit, str] = {}
        self.ruling = ""
        self.sends_back = False
        self._shared = shared
        self._leave = leave

    @property
    def _box(self) -> Input:
        return self._shared.screen.query_one(f"#{NOTE}", Input)

    @property
    def is_open(self) -> bool:
        """Whether the line is open."""
        return bool(self._box.display)

    def of(self, item: ItemView) -> str:
        """Return the note on the question on the screen."""
        return self.notes.get(unit_of(item), "")

    def open(self, item: ItemView, message: str = "", ruling: str = "") -> None:
        """Open the line with the note that there is.

        Args:
            message: What is shown beside the line.
            ruling: The key of a ruling that waits for its reason.
        """
        choices = [("Enter", "save the ruling" if ruling else "save the note")]
        self._shared.show_message(message, choices=[*choices, (self._shared.key("line.close"), "cancel")])
        self.ruling = ruling
        self._show(harmless_line(self.of(item)))

    def open_to_raters(self, message: str) -> None:
        """Open the line for a note to the raters, with which the item is sent back."""
        choices = [("Enter", "send it back"), (self._shared.key("line.close"), "cancel")]
        self._shared.show_message(message, choices=choices)
        self.sends_back = True
        self._show("", TO_RATERS)

    def _show(self, text: str, placeholder: str = WHY) -> None:
        box = self._box
        box.value, box.placeholder = text, placeholder
        box.cursor_position = len(box.value)
        box.display = True
        box.focus()

    def close(self) -> str:
        """Close the line and return what is in it."""
        text = self._box.value.strip()
        self._box.display = False
        self.ruling, self.sends_back = "", False
        # At once: while the line has the focus, keys are text.
        self._shared.screen.set_focus(None)
        self._leave()
        return text
