"""Keeping where a rater is: scroll places, the open part of the case, and drafts, across sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from textual.timer import Timer

from screens.items.views import ItemView
from screens.judging.comments import Comments
from screens.judging.order import ReviewOrder
from screens.judging.parts import ScreenParts
from screens.queue.asked import Asked
from screens.review.reading import SUBJECT, PaneReader
from screens.widgets.text.view import Place

PLACES_KEPT = 200
"""Items whose scroll places are kept within a session."""

FOLLOWING_KEPT = 20
"""Items after the one shown that are kept: they tell where it belongs once the queue lists it no more."""

KEEP_SECONDS = 0.5
"""How long after a move or a key the place and the drafts are stored: what a lost connection can cost."""


class KeepsDrafts(Protocol):
    """What is begun and not recorded, of one kind or of a part of the screen."""

    def take_session(self, session: Mapping[str, Any]) -> None:
        """Take over the drafts of earlier sessions."""

    @property
    def kept(self) -> dict[str, Any]:
        """What a session keeps of the drafts."""


class PlaceKeeper:
    """Comes back to where the rater was.

    Args:
        parts: What the parts of the screen share.
        order: The items.
        reader: The panes.
        comments: The line in which comments are written.
        asked: Which queue is reviewed.

    Attributes:
        asked: Which queue is reviewed.
        drafts: What is kept beside the place.
    """

    def __init__(
        self,
        parts: ScreenParts,
        order: ReviewOrder,
        reader: PaneReader,
        comments: Comments,
        asked: Asked,
    ) -> None:
        self.asked = asked
        self.drafts: Sequence[KeepsDrafts] = ()
        self._parts = parts
        self._order = order
        self._reader = reader
        self._comments = comments
        self._places: dict[int, dict[str, Place]] = {}
        self._resume_from: Mapping[str, Any] = {}
        self._keeping: Timer | None = None

    def begin(self, resume_from: Mapping[str, Any]) -> None:
        """Take over what earlier sessions kept.

        Args:
            resume_from: The session that is gone on with; an empty one for none.
        """
        self._resume_from = resume_from
        for part in self.drafts:
            part.take_session(self._parts.context.session.kept)

    def remember(self) -> None:
        """Remember where the panes of the item on the screen are scrolled to."""
        if self._parts.item is not None:
            self._places[self._parts.item.item_id] = self._reader.panes.places
            while len(self._places) > PLACES_KEPT:
                self._places.pop(next(iter(self._places)))

    def places_of(self, view: ItemView) -> Mapping[str, Place]:
        """Return where the rater was on an item; of an earlier session also open the pane that was read."""
        places = self._places.get(view.item_id, {})
        session, self._resume_from = self._resume_from, {}
        if session.get("item") == view.item_id:
            places = _places_of(session)
            self._reader.go_to_pane(str(session.get("active", SUBJECT)), view)
        return places

    def keep(self) -> None:
        """Store item, scroll places and drafts for the next session."""
        if self._keeping is not None:
            self._keeping.stop()
            self._keeping = None
        self.remember()
        wanted = self._parts.guard.wanted
        if self._parts.item is None or wanted is None:
            return
        self._comments.note()
        value = {
            "item": wanted.item_id,
            "following": self._order.ids[self._order.index + 1 :][:FOLLOWING_KEPT],
            "queue": self.asked.kept,
            "active": self._reader.active,
            "places": {name: asdict(place) for name, place in self._places.get(wanted.item_id, {}).items()},
        }
        for part in self.drafts:
            value |= part.kept
        self._parts.context.session.keep(value)

    def keep_soon(self) -> None:
        """Store the place shortly, once for all that changes until then, also while somebody types on."""
        if self._keeping is None:
            self._keeping = self._parts.screen.set_timer(KEEP_SECONDS, self.keep)


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
