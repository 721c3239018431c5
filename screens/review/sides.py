"""Choosing what stands on the left, so that two parts of an item can be read side by side."""

from __future__ import annotations

from collections.abc import Callable

from screens.dispatch import Handler, Handlers
from screens.items.views import ItemView
from screens.judging.parts import ScreenParts
from screens.review.reading import SUBJECT, PaneReader


class Sides:
    """Lets a part of the case change places with what is judged.

    The choice holds for every item that has such a part, until it is taken back.

    Args:
        parts: What the parts of the screen share.
        reader: The panes.
        show: Shows an item with what was chosen.
    """

    def __init__(self, parts: ScreenParts, reader: PaneReader, show: Callable[[ItemView], None]) -> None:
        self._parts = parts
        self._reader = reader
        self._show = show
        self._on_the_left = ""

    def handlers(self) -> Handlers:
        """Return what the command does that changes sides."""
        return {"review.sides": Handler(self.change)}

    def change(self) -> None:
        """Let the part that is shown on the right stand on the left, or bring back what stood there."""
        item = self._parts.item
        if item is None:
            self._parts.say("There is no item on the screen yet.")
            return
        self._on_the_left = "" if item.beside else self._reader.shown_in_case
        view = item.with_beside(self._on_the_left)
        if item.beside:
            said = f"{view.subject_word} stands where it stood."
        else:
            back = self._parts.key("sides")
            said = f"{view.subject_word} stands on the left now; {back} brings {item.subject_word} back."
        if self._reader.active != SUBJECT and not view.beside:
            self._reader.active = SUBJECT
        self._show(view)
        self._parts.say(said)

    def as_chosen(self, view: ItemView) -> ItemView:
        """Return an item with what was chosen on the left."""
        return view.with_beside(self._on_the_left) if self._on_the_left else view
