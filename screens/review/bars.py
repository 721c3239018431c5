"""The lines around the panes of a review: the place, the claim, what happened."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Literal, cast

from textual.content import Content
from textual.widgets import Static

from screens.commands import Command, SharesKeys, label_key
from screens.help import first_key
from screens.items.views import ItemView
from screens.widgets.key_line import TWO_LINES, KeyLine
from screens.widgets.visible import one_line, visible

if TYPE_CHECKING:
    from screens.context import Shell

_NARROW_FIRST = ("review.accept", "review.undecided", "review.undo", "review.next")

SaveState = Literal["none", "saving", "saved", "failed"]

ROWS = 5
"""Rows that the line which says what happened may take at most."""


ROWS_FOR_TWO = 20
"""Rows of a terminal from which a question has a row of its own."""

LABELS_NAMED = 5
"""Values of a scale up to which the key line names each."""


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


class SayLine(Static):
    """What just happened, and how to take it back; nothing here moves by itself.

    A long sentence takes further rows: what it says is not cut off, and it covers neither the code nor the
    keys.
    """

    _text = ""
    _rows = 1

    def say(self, text: str, *, alarm: bool = False) -> None:
        """Show a sentence.

        Args:
            text: The sentence; data in it is made visible.
            alarm: Whether something went wrong.
        """
        self.set_class(alarm, "-alarm")
        if text != self._text:
            self._text = text
            self._lay_out()

    @property
    def said(self) -> str:
        """The sentence that is shown."""
        return self._text

    def on_resize(self) -> None:
        """Lay the line out anew."""
        self._lay_out()

    def _lay_out(self) -> None:
        lines = Content(visible(self._text.replace("\n", " ")).text).wrap(max(20, self.size.width))
        self.update(Content("\n").join(lines), layout=False)
        # The height is set here, and only when it is another one: laying out a screen takes its time.
        rows = max(1, min(len(lines), ROWS))
        if rows != self._rows:
            self._rows = rows
            self.styles.height = rows


def _is_label(command: Command) -> bool:
    return label_key(command) is not None


class ReviewKeys(KeyLine):
    """The keys of a review; while one of some codes can be pressed, these stand there instead."""

    _rows = 0
    _named_pairs: tuple[tuple[str, str], ...] = ()
    _bands = 0
    _was_several = False

    def _offered(self) -> list[Command]:
        """Return the commands to name; where few fit, first what nobody should have to look up."""
        commands = super()._offered()
        screen = self.screen
        scale = tuple(screen.value_keys().values()) if isinstance(screen, SharesKeys) else ()
        labels = [command for command in commands if label_key(command) in scale]
        labels.sort(key=lambda command: scale.index(label_key(command) or ""))
        others = [command for command in commands if not _is_label(command)]
        place = next((place for place, command in enumerate(commands) if _is_label(command)), 0)
        commands = [*others[:place], *labels, *others[place:]]
        if self.app.size.width < TWO_LINES:
            commands.sort(key=lambda command: (not _is_label(command), command.id not in _NARROW_FIRST))
        return commands

    def _pairs(self) -> list[tuple[str, str]]:
        offered = self._offered()
        labels = [command for command in offered if _is_label(command)]
        pairs = [self._named(command) for command in offered]
        self._bands = 0
        if len(labels) > LABELS_NAMED:
            bands = _in_bands([self._with_value(command) for command in labels])
            if len(bands) > LABELS_NAMED:
                # The values of a long scale without bands have one word together.
                bands = [(in_stretches([key for key, _ in bands]), "score")]
            self._bands = len(bands)
            others = [self._named(command) for command in offered if not _is_label(command)]
            pairs = [*bands, *others]
        if self._several:
            settings = cast("Shell", self.app).context.settings
            back, on = (first_key(settings, f"review.{name}") for name in ("tab_back", "tab"))
            place = next((at for at, pair in enumerate(pairs) if pair[1] == "undo"), len(pairs))
            pairs.insert(place, (f"{back} {on}", "tabs"))
        self._named_pairs = tuple(pairs)
        return pairs

    @property
    def _several(self) -> bool:
        """Whether the item shown, or before one is shown the one before, is asked several questions."""
        item = getattr(self.screen, "item", None)
        if isinstance(item, ItemView):
            self._was_several = len(item.asks) > 1
        return self._was_several

    def _with_value(self, command: Command) -> tuple[str, str]:
        """Return the key of a value with its word, and with the value where that is another one: "0=10"."""
        key, word = self._named(command)
        item = getattr(self.screen, "item", None)
        value = item.question.scale.value_of(label_key(command) or "") if isinstance(item, ItemView) else None
        return (key if value is None or f"{value:g}" == key else f"{key}={value:g}"), word

    def _rows_most(self) -> int:
        """Return the lines that may be filled: the bands of a scale take two of their own."""
        return super()._rows_most() + (2 if self._bands > 1 else 1 if self._several else 0)

    def _never_left_out(self) -> int:
        """Return the keys of the scale, by which an answer is found: those of its bands, told together."""
        return self._bands

    def keep_up(self) -> None:
        """Name the keys anew where others have an effect now."""
        before = self._named_pairs
        if not self._choices and tuple(self._pairs()) != before:
            self.show_keys()

    def show_keys(self) -> None:
        """Name what can be pressed now."""
        lines = self.lines()
        self.update(Content("\n").join(_row_of(line) for line in lines), layout=False)
        if len(lines) != self._rows:
            self._rows = len(lines)
            self.styles.height = len(lines)


def _in_bands(named: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return keys whose values have the same word told together: "1 2 mostly wrong"."""
    return [(" ".join(key for key, _ in band), word) for word, band in groupby(named, key=lambda one: one[1])]


def in_stretches(keys: Sequence[str]) -> str:
    """Return keys with digits that follow each other told together: "1-9,0"."""
    stretches: list[list[str]] = []
    for key in keys:
        before = stretches[-1][-1] if stretches else ""
        if key.isdigit() and before.isdigit() and int(key) == int(before) + 1:
            stretches[-1].append(key)
        else:
            stretches.append([key])
    return ",".join(f"{one[0]}-{one[-1]}" if len(one) > 1 else one[0] for one in stretches)


def _row_of(line: Sequence[tuple[str, str]]) -> Content:
    return Content(" · ").join(
        Content.assemble((key, "bold $foreground"), f" {words}") for key, words in line
    )
