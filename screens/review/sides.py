"""Two candidates side by side: they scroll together, and where they differ can be marked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from screens.dispatch import Handler, Handlers
from screens.items.comparison import RIGHT
from screens.items.views import ItemView
from screens.judging.context import JudgingContext
from screens.review.panes import SUBJECT, PaneController
from screens.widgets.text.view import TextPane

_SIGNS = "Differences are marked: = same · ~ changed · + on this side only; "


class Sides:
    """Lets the two sides of a comparison scroll together, and marks their differences on demand.

    Args:
        show: Shows an item as it was chosen.
    """

    def __init__(
        self, shared: JudgingContext, panes: PaneController, show: Callable[[ItemView], None]
    ) -> None:
        self._shared = shared
        self._panes = panes
        self._show = show
        self._marks = False
        # The pane that the other one follows just now.
        self._leading: TextPane | None = None
        self._watched: set[str] = set()

    def handlers(self) -> Handlers:
        """Return the handler of the command that marks differences."""
        return {"review.differences": Handler(self.toggle, self._is_possible, of_item=True)}

    def _is_possible(self) -> bool:
        return self._shared.item is not None and self._shared.item.has_sides

    def as_chosen(self, view: ItemView) -> ItemView:
        """Return an item with its differences marked, where the rater wants that."""
        return replace(view, marks_differences=True) if self._marks and view.has_sides else view

    def toggle(self) -> None:
        """Mark the differences of comparisons, or stop to."""
        item = self._shared.item
        if item is None or not item.has_sides:
            self._shared.show_message("Only a comparison has two sides to compare.")
            return
        self._marks = not self._marks
        self._show(item if self._marks else replace(item, marks_differences=False))
        ends = f"{self._shared.key('differences')} hides them."
        self._shared.show_message(f"{_SIGNS}{ends}" if self._marks else "")

    def scroll_together(self) -> None:
        """Let each side follow the other from now on, as soon as both have their panes."""
        for pane_id in (SUBJECT, RIGHT):
            if pane_id in self._panes.by_id and pane_id not in self._watched:
                self._watched.add(pane_id)
                self._watch(self._panes.by_id[pane_id])

    def _watch(self, pane: TextPane) -> None:
        for axis in ("scroll_x", "scroll_y"):
            self._shared.screen.watch(pane, axis, lambda: self._follow(pane), init=False)

    def _follow(self, pane: TextPane) -> None:
        item = self._shared.item
        if item is None or not item.has_sides or self._leading is not None or RIGHT not in self._panes.by_id:
            return
        subject, right = self._panes.by_id[SUBJECT], self._panes.by_id[RIGHT]
        other = right if pane is subject else subject
        self._leading = pane
        try:
            other.scroll_to(
                min(pane.scroll_x, other.max_scroll_x),
                min(pane.scroll_y, other.max_scroll_y),
                animate=False,
                force=True,
                immediate=True,
            )
        finally:
            self._leading = None
