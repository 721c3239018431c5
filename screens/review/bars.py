"""The lines around the panes of a review: the place, the claim, the parts of the case, what happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.review.part import ItemView
from screens.widgets.key_line import fitted
from screens.widgets.visible import one_line, visible

SaveState = Literal["none", "saving", "saved", "failed"]

CHOICE_ROWS = 4
"""Rows that the codes of reasons may take at most."""


def _cells(text: str) -> int:
    return Content(text).cell_length


def _pad(left: str, right: str, width: int) -> str:
    """Return both texts on one line, the left one cut where they would meet."""
    room = max(0, width - _cells(right) - 1)
    left = one_line(left, room)
    return left + " " * max(0, width - _cells(left) - _cells(right)) + right


class PlaceLine(Static):
    """Where the rater is: workspace, place in the queue, rater, pace."""

    _forms: tuple[tuple[str, str], ...] = ()

    def show(self, place: str, who: str, pace: str, *, shorter: Sequence[tuple[str, str]] = ()) -> None:
        """Show the place on the left, and who judges at which pace on the right.

        Args:
            place: The workspace and the place in it.
            who: The rater, and whether the review is blind.
            pace: How far the rater is; empty where nothing is counted.
            shorter: What to show where the line is too narrow, as (left, right), the longest first.
        """
        whole = [(place, f"{who}   {pace}")] if pace else []
        self._forms = (*whole, *shorter, (place, who))
        self._lay_out()

    def on_resize(self) -> None:
        """Lay the line out anew."""
        self._lay_out()

    def _lay_out(self) -> None:
        if not self._forms:
            return
        width = self.size.width
        fitting = ((left, right) for left, right in self._forms if _cells(left) + _cells(right) < width)
        left, right = next(fitting, self._forms[-1])
        self.update(Content(_pad(left, right, width)))


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
        item, width = self._item, self.size.width
        if item is None:
            self.update(Content(""))
            return
        if self._blind:
            claim = "blind: the agents' labels are not shown"
        else:
            claim = item.claim.summary if item.claim else "no agents' label"
        # The rater's own label is never cut for the claim's sake, nor the claim's first words for a reason.
        mine = self._mine(item, long=width >= 100)
        if _cells(mine) > width * 3 // 5:
            mine = one_line(mine, width * 3 // 5)
        state = {"saving": " …", "failed": " ! not saved"}.get(self._state, "")
        right = f"{mine}{' ⚑' if item.own.flagged else ''}{state} "
        line = _pad(f" {claim}", right, width)
        split = len(line) - len(right)
        self.update(Content.assemble((line[:split], "$text-warning"), (line[split:], "$text-primary")))

    @staticmethod
    def _mine(item: ItemView, *, long: bool) -> str:
        own = item.own
        value = own.labels.get(item.question.name)
        if value is not None:
            words = item.question.scale.word(value)
            mine = f"● your label: {words}" if long else f"● {words}"
            if item.claim is not None and item.claim.value != value:
                mine += " ▲ overrides" if long else " ▲"
            return mine + (f" · {own.reason}" if own.reason and long else "")
        if own.cannot_decide is not None:
            return f"? cannot decide: {own.cannot_decide}"
        if own.skipped:
            return "» skipped"
        return "○ your label: none" if long else "○"


class CaseTabs(Static):
    """The parts of the case by name; the one that is shown stands in brackets as well as in colour."""

    @dataclass
    class Chosen(Message):
        """A part was chosen with the mouse."""

        pane_id: str

    _tabs: tuple[tuple[str, str], ...] = ()

    def show(self, tabs: Sequence[tuple[str, str]], active: str) -> None:
        """Show tabs as (pane id, title), one of them active."""
        self._tabs = tuple(tabs)
        parts: list[Content] = []
        for pane_id, title in self._tabs:
            if pane_id == active:
                parts.append(Content.styled(f"[{title}]", "bold $text-primary reverse"))
            else:
                parts.append(Content.styled(f" {title} ", "$text-muted"))
        self.update(Content("").join(parts))

    def on_click(self, event: events.Click) -> None:
        """Choose the part under the pointer."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        place = 0
        for pane_id, title in self._tabs:
            place += len(title) + 2
            if offset.x < place:
                self.post_message(self.Chosen(pane_id))
                return


class SayLine(Static):
    """What just happened, and how to take it back; nothing here moves by itself.

    A long sentence takes a second and a third row, and so do the codes that are offered: what it says is
    never cut off, and it covers neither the code nor the keys.
    """

    _text = ""
    _choices: tuple[tuple[str, str], ...] = ()

    def say(self, text: str, *, alarm: bool = False, choices: Sequence[tuple[str, str]] = ()) -> None:
        """Show a sentence.

        Args:
            text: The sentence; data in it is made visible.
            alarm: Whether something went wrong.
            choices: Keys that can be pressed now, with what they mean; the last one takes none of them.
        """
        self.set_class(alarm, "-alarm")
        self._text, self._choices = text, tuple(choices)
        self._lay_out()

    @property
    def said(self) -> str:
        """The sentence that is shown."""
        return self._text

    def on_resize(self) -> None:
        """Lay the line out anew."""
        self._lay_out()

    def _lay_out(self) -> None:
        sentence = Content(visible(self._text.replace("\n", " ")).text)
        if not self._choices:
            self.update(sentence)
            return
        width = max(20, self.size.width - 2)
        pairs = [(code, one_line(words, width // 2)) for code, words in self._choices]
        rows = fitted(pairs[:-1], pairs[-1], width, CHOICE_ROWS)
        lines = [
            Content(" · ").join(
                Content.assemble((code, "bold $text-primary"), f" {words}") for code, words in row
            )
            for row in rows
        ]
        self.update(Content("\n").join([sentence, *lines]))
