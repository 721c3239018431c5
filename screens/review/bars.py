"""The lines above the panes of a review: the place, and the claim beside the rater's own label."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from textual.content import Content
from textual.widgets import Static

from screens.items.views import ItemView
from screens.widgets.text.sanitize import one_line

SaveState = Literal["none", "saving", "saved", "failed"]

ROWS_FOR_TWO = 20
"""Rows of a terminal from which a question has a row of its own."""


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
        self.update(Content(_pad(left, right, width)), layout=False)


class ClaimLine(Static):
    """The agents' claim and the rater's own label, always in sight.

    Of an item that is asked several questions it has a row more, which says which of them is asked now, or
    two where the question is long.
    """

    _item: ItemView | None = None
    _state: SaveState = "none"
    _blind = False
    _rows = 1

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
            self._take_rows(1)
            self.update(Content(""), layout=False)
            return
        several = len(item.asks) > 1
        asked = _asked(item, width) if several else ""
        claim, style = self._claim(item), "$text-primary"
        rows = 2 if several and self.app.size.height >= ROWS_FOR_TWO else 1
        if several and not claim and _cells(_asked(item, 0)) + _cells(_answers(item, width)) + 4 <= width:
            # What nobody else has answered needs one row, where the question fits beside the answers.
            claim, rows, style = _asked(item, 0).strip(), 1, "bold $foreground"
        elif several and not claim and rows > 1:
            # Beside the answers is room for the rest of the question.
            asked, claim = _in_two(_asked(item, 0), width)
            style = "bold $foreground"
        elif several and rows > 1 and _cells(_asked(item, 0)) > width:
            # What is asked is not cut for the claim's sake.
            first, rest = _in_two(_asked(item, 0), width)
            asked, rows = f"{first}\n{one_line(f' {rest}', width)}", 3
        elif several and rows == 1:
            claim = f"{item.at + 1} of {len(item.asks)} · {item.ask.title}{f' · {claim}' if claim else ''}"
        mine = _answers(item, width) if several else _mine(item, long=width >= 100)
        # The rater's own label is never cut for the claim's sake, nor the claim's first words for a reason.
        if _cells(mine) > width * 3 // 5:
            mine = one_line(mine, width * 3 // 5)
        state = {"saving": " …", "failed": " ! not saved"}.get(self._state, "")
        right = f"{mine}{' ⚑' if item.own.flagged else ''}{state} "
        line = _pad(f" {claim}", right, width)
        split = len(line) - len(right)
        parts = [(line[:split], style), (line[split:], "$text-accent")]
        if rows > 1:
            parts.insert(0, (f"{asked}\n", "bold $foreground"))
        self._take_rows(rows)
        self.update(Content.assemble(*parts), layout=False)

    def _claim(self, item: ItemView) -> str:
        if item.claim is not None:
            return item.claim.summary
        if item.ask.unclaimed:
            return item.ask.unclaimed
        if self._blind and len(item.asks) == 1:
            return "blind: the agents' labels are not shown"
        # Of a kind that nobody else labels, nothing is missing.
        return "" if len(item.asks) > 1 and not any(ask.claim for ask in item.asks) else "no agents' label"

    def _take_rows(self, rows: int) -> None:
        # The height is set only when it is another one: laying out a screen takes its time.
        if rows != self._rows:
            self._rows = rows
            self.styles.height = rows


def _asked(item: ItemView, width: int) -> str:
    """Return which question is asked: "2 of 3 · accuracy of answer A · How right ..."; a width cuts it."""
    place = f" {item.at + 1} of {len(item.asks)} · "
    about = f"{item.ask.title} · " if item.ask.about else ""
    whole = f"{place}{about}{item.question.text}"
    return one_line(whole, width or len(whole))


def _answers(item: ItemView, width: int) -> str:
    """Return the rater's own answers to all questions, in short where they are many; brackets: asked now."""
    if item.own.cannot_decide is not None:
        return f"? cannot decide: {item.own.cannot_decide}"
    if item.own.skipped:
        return "» skipped"
    longest = " · ".join(_answer(item, place, words=True) for place in range(len(item.asks)))
    if _cells(longest) <= width // 2 and len({ask.about for ask in item.asks}) == 1:
        return longest
    groups = [
        (about, [place for place, _ in group])
        for about, group in groupby(enumerate(item.asks), key=lambda one: one[1].about)
    ]
    if len(groups) == 1:
        return _in_short(item, groups[0][1])
    every = "  ".join(f"{_last_word(about)} {_in_short(item, places)}" for about, places in groups)
    if _cells(every) <= width // 2:
        return every
    # Of many answers those to the response that is asked about now, and how many there are in all.
    now = next(places for _, places in groups if item.at in places)
    given = sum(item.label_of(ask) is not None for ask in item.asks)
    return f"{_last_word(item.ask.about)} {_in_short(item, now)} · {given} of {len(item.asks)} given"


def _in_short(item: ItemView, places: Sequence[int]) -> str:
    return " ".join(_answer(item, place, words=False) for place in places)


def _last_word(about: str) -> str:
    """Return what tells responses apart: "A" of "answer A"."""
    return about.rpartition(" ")[2]


def _in_two(text: str, width: int) -> tuple[str, str]:
    """Return a text as a row and what goes on in the next one."""
    first, *rest = Content(text.strip()).wrap(max(20, width - 2))
    return f" {first.plain.rstrip()}", " ".join(line.plain.strip() for line in rest)


def _answer(item: ItemView, place: int, *, words: bool) -> str:
    ask = item.asks[place]
    label = item.label_of(ask)
    if label is None:
        said = "○"
    else:
        word = ask.spec.scale.word(label.value)
        said = f"● {word}" if words else f"●{word.partition(' ')[0]}"
        said += "▲" if ask.claim is not None and ask.claim.value != label.value else ""
    return f"[{said}]" if place == item.at else said


def _mine(item: ItemView, *, long: bool) -> str:
    """Return the rater's own label of an item that is asked one question."""
    own, label = item.own, item.label
    if label is not None:
        words = item.question.scale.word(label.value)
        mine = f"● your label: {words}" if long else f"● {words}"
        if item.claim is not None and item.claim.value != label.value:
            mine += " ▲ overrides" if long else " ▲"
        return mine + (f" · {label.reason}" if label.reason and long else "")
    if own.cannot_decide is not None:
        return f"? cannot decide: {own.cannot_decide}"
    if own.skipped:
        return "» skipped"
    return "○ your label: none" if long else "○"
