"""Choosing what stands on the left, so that two parts of an item can be read side by side."""

from __future__ import annotations

from screens.context import ScreenContext
from screens.items.views import ItemView
from screens.navigator import Navigator
from screens.queue.asked import Asked
from screens.review.reading import SUBJECT
from screens.review.running import RunningTests


class ChoosingSides(RunningTests):
    """The part of a review screen that lets a part of the case change places with what is judged.

    The choice holds for every item that has such a part, until it is taken back.
    """

    def __init__(
        self,
        context: ScreenContext,
        navigator: Navigator,
        ids: list[int],
        index: int = 0,
        asked: Asked | None = None,
    ) -> None:
        super().__init__(context, navigator, ids, index, asked)
        self._on_the_left = ""

    def action_change_sides(self) -> None:
        """Let the part that is shown on the right stand on the left, or bring back what stood there."""
        item = self.item
        if item is None:
            self._say("There is no item on the screen yet.")
            return
        if item.beside:
            self._on_the_left = ""
            view = item.with_beside("")
            said = f"{view.subject_word} stands where it stood."
        else:
            pane_id = self._shown_in_case()
            self._on_the_left = pane_id
            view = item.with_beside(pane_id)
            back = self._key("sides")
            said = f"{view.subject_word} stands on the left now; {back} brings {item.subject_word} back."
        view = self._with_citations(view)
        self.show_as(view)
        if self.active != SUBJECT and not view.beside:
            self.active = SUBJECT
        with self.app.batch_update():
            self._fill(view)
            self._show_active()
        self._panes.fill()
        self._say(said)

    def _as_chosen(self, view: ItemView) -> ItemView:
        view = super()._as_chosen(view)
        return view.with_beside(self._on_the_left) if self._on_the_left else view
