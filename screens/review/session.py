"""Keeps a review's state across sessions: item, scroll places, the active pane, and drafts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from screens.items.views import ItemView
from screens.judging.context import JudgingContext
from screens.judging.drafts import CommentEditor
from screens.judging.order import ReviewOrder
from screens.queue.query import QueueQuery
from screens.review.panes import SUBJECT, PaneController
from screens.threads import Soon
from screens.widgets.text.view import Place

PLACES_KEPT = 200
"""Items whose scroll places are kept within a session."""

FOLLOWING_KEPT = 20
"""Items after the one shown that are kept: they locate it once the queue no longer lists it."""

KEEP_SECONDS = 0.5
"""How long after a move or a key the place and the drafts are stored: what a lost connection can cost."""


class DraftStore(Protocol):
    """Drafts of one kind."""

    def take_session(self, session: Mapping[str, Any]) -> None:
        """Take over the drafts of earlier sessions."""

    @property
    def kept(self) -> dict[str, Any]:
        """The drafts as a session stores them."""


class SessionSaver:
    """Comes back to where the rater was.

    Attributes:
        query: The query of the queue that is reviewed.
        drafts: The drafts stored with the place.
    """

    def __init__(
        self,
        shared: JudgingContext,
        order: ReviewOrder,
        panes: PaneController,
        comments: CommentEditor,
        query: QueueQuery,
    ) -> None:
        self.query = query
        self.drafts: Sequence[DraftStore] = ()
        self._shared = shared
        self._order = order
        self._panes = panes
        self._comments = comments
        self._places: dict[int, dict[str, Place]] = {}
        self._resume_from: Mapping[str, Any] = {}
        self._keeping = Soon(shared.screen, KEEP_SECONDS, group="session")

    def begin(self, resume_from: Mapping[str, Any]) -> None:
        """Take over what earlier sessions kept.

        Args:
            resume_from: The session that is gone on with; an empty one for none.
        """
        self._resume_from = resume_from
        for part in self.drafts:
            part.take_session(self._shared.context.session.kept)

    def remember(self) -> None:
        """Remember where the panes of the item on the screen are scrolled to."""
        if self._shared.item is not None:
            self._places[self._shared.item.item_id] = self._panes.by_id.places
            while len(self._places) > PLACES_KEPT:
                self._places.pop(next(iter(self._places)))

    def places_of(self, view: ItemView) -> Mapping[str, Place]:
        """Return where the rater was on an item; of an earlier session also open the pane that was read."""
        places = self._places.get(view.item_id, {})
        session, self._resume_from = self._resume_from, {}
        if session.get("item") == view.item_id:
            places = _places_of(session)
            self._panes.go_to_pane(str(session.get("active", SUBJECT)), view)
        return places

    def keep(self) -> None:
        """Store item, scroll places and drafts for the next session."""
        self._keeping.stop()
        self.remember()
        wanted = self._shared.guard.wanted
        if self._shared.item is None or wanted is None:
            return
        self._comments.note()
        value = {
            "item": wanted.item_id,
            "following": self._order.ids[self._order.index + 1 :][:FOLLOWING_KEPT],
            "queue": self.query.kept,
            "active": self._panes.active,
            "places": {name: asdict(place) for name, place in self._places.get(wanted.item_id, {}).items()},
        }
        for part in self.drafts:
            value |= part.kept
        self._shared.context.session.keep(value)

    def keep_soon(self) -> None:
        """Store the place shortly, once for all that changes until then, also while somebody types on."""
        self._keeping.call(self.keep)


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
