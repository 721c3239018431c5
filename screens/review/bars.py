"""The lines around the panes of a review: the place, the claim, the parts of the case, what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.review.part import ItemView
from screens.widgets.visible import one_line

SaveState = Literal["none", "saving", "saved", "failed"]


def _pad(left: str, right: str, width: int) -> str:
    """Return both texts on one line, the left one cut where they would meet."""
    room = max(0, width - Content(right).cell_length - 1)
    left = one_line(left, room)
    return left + " " * (width - Content(left).cell_length - Content(right).cell_length) + right


class PlaceLine(Static):
    """Where the rater is: workspace, place in the queue, rater, pace."""

    def show(self, place: str, who: str, pace: str) -> None:
        """Show the three parts, the last ones dropped where the line is too narrow."""
        self._parts = (place, who, pace)
        self._lay_out()

    _parts: tuple[str, str, str] = ("", "", "")

    def on_resize(self) -> None:
        """Lay the line out anew."""
        self._lay_out()

    def _lay_out(self) -> None:
        place, who, pace = self._parts
        width = self.size.width
        right = f"{who}   {pace}" if width >= 100 and pace else who
        self.update(Content(_pad(place, right, width)))


class ClaimLine(Static):
    """The agents' claim and the rater's own label, always in sight."""

    _item: ItemView | None = None
    _state: SaveState = "none"
    _blind = False

    def show(self, item: ItemView | None, state: SaveState, *, blind: bool) -> None:
        """Show the claim on an item and what the rater made of it."""
        self._item, self._state, self._blind = item, state, blind
        self._lay_out()

    def on_resize(self) -> None:
        """Lay the line out anew."""
        self._lay_out()

    def _lay_out(self) -> None:
        item = self._item
        if item is None:
            self.update(Content(""))
            return
        own = item.own
        value = own.labels.get(item.question.name)
        words = item.question.scale.word(value)
        narrow = self.size.width < 100
        if value is not None:
            mine = f"● {words}" if narrow else f"● your label: {words}"
            if item.claim is not None and item.claim.value != value:
                mine += " ▲" if narrow else " ▲ overrides"
            mine += f" · {own.reason}" if own.reason and not narrow else ""
        elif own.cannot_decide is not None:
            mine = f"? cannot decide: {own.cannot_decide}"
        elif own.skipped:
            mine = "» skipped"
        else:
            mine = "○" if narrow else "○ your label: none"
        mine += " ⚑" if own.flagged else ""
        mine += {"saving": " …", "failed": " ! not saved"}.get(self._state, "")
        if self._blind:
            claim = "blind: the agents' labels are not shown"
        else:
            claim = item.claim.summary if item.claim else "no agents' label"
        width = self.size.width
        line = _pad(f" {claim}", mine + " ", width)
        split = len(line) - len(mine) - 1
        self.update(Content.assemble((line[:split], "$text-warning"), (line[split:], "$text-accent")))


class CaseTabs(Static):
    """The parts of the case by name; the one that is shown stands in brackets as well as in colour."""

    @dataclass
    class Chosen(Message):
        """A part was chosen with the mouse."""

        pane_id: str

    _tabs: tuple[tuple[str, str], ...] = ()
    _active = ""
    _notes: dict[str, str]

    def show(self, tabs: Sequence[tuple[str, str]], active: str) -> None:
        """Show tabs as (pane id, title), one of them active."""
        self._tabs, self._active = tuple(tabs), active
        parts: list[Content] = []
        for pane_id, title in self._tabs:
            if pane_id == active:
                parts.append(Content.styled(f"[{title}]", "bold $text-accent reverse"))
            else:
                parts.append(Content.styled(f" {title} ", "$text-muted"))
        self.update(Content("").join(parts))

    def on_click(self, event: object) -> None:
        """Choose the part under the pointer."""
        x = getattr(event, "x", -1)
        place = 0
        for pane_id, title in self._tabs:
            place += len(title) + 2
            if x < place:
                self.post_message(self.Chosen(pane_id))
                return


class SayLine(Static):
    """What just happened, and how to take it back; nothing here moves by itself."""

    def say(self, text: str, *, alarm: bool = False) -> None:
        """Show a sentence."""
        self.set_class(alarm, "-alarm")
        self._text = text
        self._lay_out()

    _text = ""

    def on_resize(self) -> None:
        """Lay the line out anew."""
        self._lay_out()

    def _lay_out(self) -> None:
        self.update(Content(one_line(f" {self._text}", self.size.width or 80)))
