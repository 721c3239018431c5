"""Drafts by item, kept across sessions; the comment line, whose text is such a draft."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from textual.widgets import Input

from screens.items.views import ItemView
from screens.judging.context import JudgingContext
from screens.widgets.text.sanitize import one_line

DRAFTS_KEPT = 200
"""Drafts of a kind that are kept across sessions, the latest ones."""

COMMENT = "comment"
"""The id of the line."""

Value = TypeVar("Value")


class Drafts(Generic[Value]):
    """Drafts of one kind, the latest last.

    Args:
        name: Their key in a session.
        encode: Returns a draft as a session keeps it.
        decode: Returns a draft of what a session kept.
    """

    def __init__(self, name: str, encode: Callable[[Value], Any], decode: Callable[[Any], Value]) -> None:
        self._name = name
        self._encode = encode
        self._decode = decode
        self._drafts: dict[int, Value] = {}

    def get(self, item_id: int) -> Value | None:
        """Return the draft of an item; None without one."""
        return self._drafts.get(item_id)

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._drafts

    def __iter__(self) -> Iterator[int]:
        return iter(self._drafts)

    def put(self, item_id: int, draft: Value | None) -> None:
        """Take another draft of an item; None drops the one that there is."""
        # The latest draft comes last, so that the oldest ones go when there are too many.
        self._drafts.pop(item_id, None)
        if draft is not None:
            self._drafts[item_id] = draft

    def take_session(self, session: Mapping[str, Any]) -> None:
        """Take over the drafts of earlier sessions."""
        kept = session.get(self._name)
        for number, draft in (kept if isinstance(kept, dict) else {}).items():
            self._drafts.setdefault(int(number), self._decode(draft))

    @property
    def kept(self) -> dict[str, Any]:
        """The drafts as a session stores them."""
        latest = list(self._drafts.items())[-DRAFTS_KEPT:]
        return {self._name: {str(number): self._encode(draft) for number, draft in latest}}


def text_drafts(name: str) -> Drafts[str]:
    """Return drafts that are texts."""
    return Drafts(name, str, str)


class CommentEditor:
    """The line in which a comment or the words of a reason are written, and the drafts of comments.

    The screen has the line, an `Input` with the id `comment`.

    Args:
        changed: Called when a draft has changed.
        leave: Gives the focus back when the line is closed.

    Attributes:
        item: The item that the open line is about; None while it is closed.
    """

    def __init__(
        self, shared: JudgingContext, changed: Callable[[], None], leave: Callable[[], object]
    ) -> None:
        self.item: ItemView | None = None
        # Takes the words of a reason while the line asks for these.
        self._give_words: Callable[[str], None] | None = None
        self._shared = shared
        self._changed = changed
        self._leave = leave
        self.drafts = text_drafts("drafts")

    @property
    def _box(self) -> Input:
        return self._shared.screen.query_one(f"#{COMMENT}", Input)

    def open(self, item: ItemView) -> None:
        """Open the line with what was written before, or with the draft."""
        draft = self.drafts.get(item.item_id)
        self._open(
            item,
            item.own.comment if draft is None else draft,
            f"Comment on {one_line(item.external_id, 40)}:",
            [("Enter", "save the comment"), (self._shared.key("line.close"), "keep as a draft")],
        )

    def ask_for_words(self, item: ItemView, give: Callable[[str], None], *, ending: str) -> None:
        """Open the line for the words of a reason, of which no draft is kept.

        Args:
            ending: What it means to close the line, in a word or two.
        """
        self._give_words = give
        self._open(
            item,
            "",
            f"Other reason for {one_line(item.external_id, 40)}, in your words:",
            [("Enter", "save the reason"), (self._shared.key("line.close"), ending)],
        )

    def _open(self, item: ItemView, text: str, message: str, choices: list[tuple[str, str]]) -> None:
        self._shared.show_message(message, choices=choices)
        box = self._box
        box.value, box.cursor_position = text, len(text)
        box.placeholder = "reason" if self._give_words is not None else "comment"
        self.item = item
        box.display = True
        box.focus()

    def edited(self) -> None:
        """Take note that something was typed: a draft must outlive a connection that is lost meanwhile."""
        if self._box.display:
            self._changed()

    def give_words(self, text: str) -> bool:
        """Give the words of a reason, and close the line; return whether they were asked for."""
        give = self._give_words
        if give is not None:
            self._close(focus=False)
            give(text)
            # Of another item, which may have come with that, another pane is the active one.
            self._leave()
        return give is not None

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
        if self._give_words is not None:
            self._close(focus=focus)
            self._shared.show_message("Nothing was recorded.")
            return True
        self.note()
        self._close(focus=focus)
        self._changed()
        kept = f"Draft kept; {self._shared.key('comment')} opens it again."
        self._shared.show_message(kept if item.item_id in self.drafts else "")
        return True

    def note(self) -> None:
        """Take the text of the open line for the item's draft."""
        item = self.item
        if item is not None and self._give_words is None:
            text = self._box.value
            self.drafts.put(item.item_id, text if text.strip() and text != item.own.comment else None)

    def _close(self, *, focus: bool = True) -> None:
        self._box.display = False
        self.item = self._give_words = None
        if focus:
            self._leave()

    def mention_draft(self, item_id: int) -> None:
        """Say that an item that has come onto the screen has a draft."""
        if item_id in self.drafts:
            comment = self._shared.key("comment")
            self._shared.append_message(f"Your unsaved comment is kept: {comment} opens it again.")
