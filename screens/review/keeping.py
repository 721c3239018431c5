"""Keeping where a rater is: scroll places, the open part of the case, and drafts, across sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from textual.timer import Timer
from textual.widgets import Input

from screens.context import ScreenContext
from screens.items.views import ItemView
from screens.navigator import Navigator
from screens.queue.asked import Asked
from screens.review.reading import COMMENT, SUBJECT
from screens.review.showing import ShowingItems
from screens.widgets.text_pane import Place

PLACES_KEPT = 200
"""Items whose scroll places are kept within a session."""

DRAFTS_KEPT = 200
"""Drafts that are kept across sessions, the latest ones."""

FOLLOWING_KEPT = 20
"""Items after the one shown that are kept: they tell where it belongs once the queue lists it no more."""

KEEP_SECONDS = 0.5
"""How long after a move or a key the place and the drafts are stored: what a lost connection can cost."""


class KeepingPlaces(ShowingItems):
    """The part of a review screen that comes back to where the rater was."""

    def __init__(
        self,
        context: ScreenContext,
        navigator: Navigator,
        ids: list[int],
        index: int = 0,
        asked: Asked | None = None,
    ) -> None:
        super().__init__(context, navigator, ids, index, asked)
        self._places: dict[int, dict[str, Place]] = {}
        self._resume_from: dict[str, Any] = {}
        self._keeping: Timer | None = None

    def take_session(self, session: Mapping[str, Any]) -> None:
        """Take over the drafts of earlier sessions."""
        drafts = session.get("drafts")
        for number, text in (drafts if isinstance(drafts, dict) else {}).items():
            self._drafts.setdefault(int(number), str(text))

    def _remember_places(self) -> None:
        if self.item is not None:
            self._places[self.item.item_id] = self._panes.places
            while len(self._places) > PLACES_KEPT:
                self._places.pop(next(iter(self._places)))

    def _restore_places(self, view: ItemView) -> None:
        """Scroll the panes to where the rater was on this item, in this session or an earlier one."""
        places = self._places.get(view.item_id, {})
        session, self._resume_from = self._resume_from, {}
        if session.get("item") == view.item_id:
            places = _places_of(session)
            active = str(session.get("active", SUBJECT))
            self.active = active if active in self._panes else SUBJECT
            if self.active != SUBJECT:
                self.preferred = self.active
                self._fill(view)
        if view.item_id in self._drafts:
            self._say_also(f"Your unsaved comment is kept: {self._key('comment')} goes on with it.")
        self._panes.restore(places)

    def keep_place(self) -> None:
        """Store item, scroll places and drafts for the next session."""
        if self._keeping is not None:
            self._keeping.stop()
            self._keeping = None
        self._remember_places()
        if self.item is None or self._wanted is None:
            return
        self._note_draft()
        drafts = list(self._drafts.items())[-DRAFTS_KEPT:]
        item_id = self._wanted.item_id
        self.context.session.keep(
            {
                "item": item_id,
                "following": self.order.ids[self.order.index + 1 :][:FOLLOWING_KEPT],
                "queue": self.asked.kept,
                "active": self.active,
                "drafts": {str(number): text for number, text in drafts},
                "places": {name: asdict(place) for name, place in self._places.get(item_id, {}).items()},
                **self._further_drafts(),
            }
        )

    def _further_drafts(self) -> dict[str, Any]:
        """Return what else a session keeps of what is begun and not recorded."""
        return {}

    def _note_draft(self) -> None:
        """Take the text of an open comment line for the item's draft."""
        box, item = self.query_one(f"#{COMMENT}", Input), self._commented
        if item is None:
            return
        # The latest draft comes last, so that the oldest ones go when there are too many.
        self._drafts.pop(item.item_id, None)
        if box.value.strip() and box.value != item.own.comment:
            self._drafts[item.item_id] = box.value

    def keep_place_soon(self) -> None:
        """Store the place shortly, once for all that changes until then, also while somebody types on."""
        if self._keeping is None:
            self._keeping = self.set_timer(KEEP_SECONDS, self.keep_place)


def _places_of(session: Mapping[str, Any]) -> dict[str, Place]:
    kept = session.get("places")
    places = {}
    for name, place in (kept if isinstance(kept, dict) else {}).items():
        try:
            places[str(name)] = Place(**place)
        except TypeError:
            # A session that another version kept is no reason not to open.
            continue
    return places
