"""Covers the reference of completions until the rater's first answer, so that they think before they look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from screens.commands import Command
from screens.dispatch import Handler, Handlers
from screens.items.views import ItemView
from screens.judging.context import JudgingContext

_KEPT = "cover_reference"
"""The choice in a stored session."""


class ReferenceCover:
    """The rater's choice to have references covered, for all items and for later sessions.

    Args:
        show: Shows an item as it was chosen.
        changed: Called when the choice has changed.
    """

    def __init__(
        self, shared: JudgingContext, show: Callable[[ItemView], None], changed: Callable[[], None]
    ) -> None:
        self._shared = shared
        self._show = show
        self._changed = changed
        self._is_chosen = False

    def handlers(self) -> Handlers:
        """Return the handler of the command that covers and shows the reference."""
        return {"review.cover": Handler(self.toggle, self._is_possible, of_item=True, label=self._label)}

    def take_session(self, session: Mapping[str, Any]) -> None:
        """Take over the choice of an earlier session."""
        self._is_chosen = session.get(_KEPT) is True

    @property
    def kept(self) -> dict[str, Any]:
        """The choice as a session stores it."""
        return {_KEPT: self._is_chosen}

    def as_chosen(self, view: ItemView) -> ItemView:
        """Return an item with its reference covered or shown, as the rater wants it."""
        return replace(view, cover_chosen=self._is_chosen)

    def _is_possible(self) -> bool:
        item = self._shared.item
        return item is not None and bool(item.prompt_cover)

    def _label(self, command: Command) -> str:
        item = self._shared.item
        if item is None or not item.cover_chosen:
            return command.label
        return "show reference" if item.is_covered else "stop covering"

    def toggle(self) -> None:
        """Cover the references of items without an answer, or show them."""
        item, guard, key = self._shared.item, self._shared.guard, self._shared.key("cover")
        if item is None or (missing := guard.missing_at(self._shared.context.last_key.time)):
            missing = "item" if item is None else missing
            self._shared.show_message(f"The {missing} was not on the screen when you pressed. Press again.")
        elif not item.prompt_cover:
            self._shared.show_message("Only the reference of a completion can be covered.")
        else:
            self._is_chosen = not self._is_chosen
            if not self._is_chosen:
                message = f"References are shown; {key} covers them."
            elif self.as_chosen(item).is_covered:
                message = f"References are covered until your first answer to an item; {key} shows them."
            else:
                message = "You have answered this item: references are covered from the next one on."
            # An answer that was on its way was meant for what was seen before.
            guard.await_paint("reference")
            self._show(item)
            guard.notify_when_painted()
            self._shared.show_message(message)
            self._changed()
