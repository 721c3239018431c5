"""Writing a comment on an item in a line at the foot; what is written stays a draft until it is recorded."""

from __future__ import annotations

from collections.abc import Callable

from textual.widgets import Input

from screens.items.views import ItemView
from screens.judging.drafts import text_drafts
from screens.judging.parts import ScreenParts

COMMENT = "comment"
"""The id of the line."""


class Comments:
    """The line in which a comment is written, and the drafts of comments.

    The screen has the line, an `Input` with the id `comment`.

    Args:
        parts: What the parts of the screen share.
        changed: Called when a draft has changed.
        leave: Gives the focus back when the line is closed.

    Attributes:
        item: The item that the open line is about; None while it is closed.
        drafts: The drafts of comments.
    """

    def __init__(self, parts: ScreenParts, changed: Callable[[], None], leave: Callable[[], object]) -> None:
        self.item: ItemView | None = None
        self._parts = parts
        self._changed = changed
        self._leave = leave
        self.drafts = text_drafts("drafts")

    @property
    def _box(self) -> Input:
        return self._parts.screen.query_one(f"#{COMMENT}", Input)

    def open(self, item: ItemView) -> None:
        """Open the line with what was written before, or with the draft."""
        choices = [("Enter", "saves the comment"), (self._parts.key("line.close"), "keeps it as a draft")]
        self._parts.say("", choices=choices)
        box, draft = self._box, self.drafts.get(item.item_id)
        box.value = item.own.comment if draft is None else draft
        box.cursor_position = len(box.value)
        self.item = item
        box.display = True
        box.focus()

    def edited(self) -> None:
        """Take note that something was typed: a draft must outlive a connection that is lost meanwhile."""
        if self._box.display:
            self._changed()

    def take(self) -> ItemView | None:
        """Close the line to have its text recorded; return the item that it is about."""
        item = self.item
        if item is not None:
            self.drafts.put(item.item_id, None)
            self._close()
            self._changed()
        return item

    def keep_draft(self, *, focus: bool = True) -> bool:
        """Close the line and keep what is in it; return whether it was open."""
        item = self.item
        if item is None:
            return False
        self.note()
        self._close(focus=focus)
        self._changed()
        kept = f"Draft kept; {self._parts.key('comment')} goes on with it."
        self._parts.say(kept if item.item_id in self.drafts else "")
        return True

    def note(self) -> None:
        """Take the text of the open line for the item's draft."""
        item = self.item
        if item is not None:
            text = self._box.value
            self.drafts.put(item.item_id, text if text.strip() and text != item.own.comment else None)

    def _close(self, *, focus: bool = True) -> None:
        self._box.display = False
        self.item = None
        if focus:
            self._leave()

    def say_kept(self, item_id: int) -> None:
        """Say that an item that has come onto the screen has a draft."""
        if item_id in self.drafts:
            comment = self._parts.key("comment")
            self._parts.saying.say_also(f"Your unsaved comment is kept: {comment} goes on with it.")
