"""The panes of a review; those out of sight are filled when the item is on the screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from screens.widgets.text.view import Place

if TYPE_CHECKING:
    from screens.items.views import PaneText
    from screens.widgets.text.view import TextPane


class Panes(Mapping[str, "TextPane"]):
    """Panes by their ids. Whoever looks a pane up finds it filled.

    Laying out a text takes time, and an item has more texts than are seen at once: the next item is
    painted earlier when those behind the tabs come after it.
    """

    def __init__(self) -> None:
        self._panes: dict[str, TextPane] = {}
        # With the place to go to: none when the pane is left where it is, a line to begin at.
        self._waiting: dict[str, tuple[PaneText, Place | int | None]] = {}
        # The line at which the text of a pane begins, from 1, where it is not the first.
        self._starts: dict[str, int] = {}

    def __getitem__(self, pane_id: str) -> TextPane:
        pane = self._panes[pane_id]
        part, place = self._waiting.pop(pane_id, (None, None))
        if part is not None:
            pane.load(
                part.text,
                language=part.language,
                kind=part.kind,
                title=part.heading or part.title,
                empty=part.empty,
                landmarks=part.landmarks,
                spans=part.spans,
                gutter=part.gutter,
                start=part.start,
            )
            pane.mark_cited(part.cited, recorded=part.recorded)
        if place is not None:
            _go(pane, place)
        return pane

    def __iter__(self) -> Iterator[str]:
        return iter(self._panes)

    def __len__(self) -> int:
        return len(self._panes)

    def __contains__(self, pane_id: object) -> bool:
        return pane_id in self._panes

    def add(self, pane_id: str, pane: TextPane) -> None:
        """Take in a pane."""
        self._panes[pane_id] = pane

    def show(self, pane_id: str, part: PaneText) -> None:
        """Let a pane show a text, as soon as the pane is looked up or `fill` is called."""
        self._waiting[pane_id] = (part, None)
        self._starts.pop(pane_id, None)
        if part.start is not None:
            self._starts[pane_id] = part.start

    def end_cursors(self) -> bool:
        """Take the cursors of all panes away; return whether there was one."""
        # Not looked up, since nothing need be filled for it.
        return any([pane.end_cursor() for pane in tuple(self._panes.values())])  # noqa: C419 - all of them

    def fill(self) -> None:
        """Fill the panes that still wait for their texts."""
        for pane_id in tuple(self._waiting):
            self[pane_id]

    @property
    def places(self) -> dict[str, Place]:
        """Where each pane is scrolled to, or will be."""
        waiting = {
            pane_id: Place(place - 1) if isinstance(place, int) else place or Place()
            for pane_id, (_, place) in self._waiting.items()
        }
        return {pane_id: pane.place for pane_id, pane in self._panes.items()} | waiting

    def restore(self, places: Mapping[str, Place]) -> None:
        """Scroll every pane to its place; without one to where its text begins, otherwise to the top."""
        for pane_id, pane in self._panes.items():
            place = places.get(pane_id) or self._starts.get(pane_id) or Place()
            if pane_id in self._waiting:
                self._waiting[pane_id] = (self._waiting[pane_id][0], place)
            else:
                _go(pane, place)


def _go(pane: TextPane, place: Place | int) -> None:
    if isinstance(place, int):
        pane.begin_at(place)
    else:
        pane.restore(place)
