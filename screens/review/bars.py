"""The lines above the panes of a review: the place, the claim beside the rater's own label, the tabs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Literal

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from screens.items.views import ItemView
from screens.judging.context import SAVING, JudgingContext
from screens.judging.judgment_builder import SessionProgress
from screens.judging.keys import JudgingKeyLine
from screens.judging.order import OrderPlace, ReviewOrder
from screens.judging.recent import latest_signs
from screens.queue.query import QueueQuery
from screens.review.outcomes import outcomes
from screens.review.ruler import band_of, is_long, ruler
from screens.study_place import StudyPlace
from screens.threads import in_thread
from screens.widgets.text.sanitize import one_line
from store.kinds.comparison import BOTH_BAD
from store.kinds.comparison_texts import CHANGES
from store.kinds.spec import task_kinds
from store.policy.scope import Shows
from store.queries.progress import ProgressDelta, progress_delta
from store.queries.rows import QueueFilter
from store.record.actions import Action

SaveState = Literal["none", "saving", "saved", "failed"]

RUN_WHOLE, RUN_SHORT, RUN_HASH = 48, 24, 14
"""Cells that the name of the run has in the first line: with much room, with little, and at least."""


LEAST_BESIDE = 12
"""Cells beside the answers from which a long question goes on there."""

LAST, LAST_FROM = "last", 5
"""The word before the last judgments, and the cells from which some of them are shown."""

LAST_ROOM_FROM, LAST_ROOM = 100, 20
"""Cells of a terminal from which they have room of their own, and how much."""


def _cells(text: str) -> int:
    return Content(text).cell_length


def _pad(left: str, right: str, width: int) -> str:
    """Return both texts on one line, the left one cut where they would meet."""
    room = max(0, width - _cells(right) - 1)
    left = one_line(left, room)
    return left + " " * max(0, width - _cells(left) - _cells(right)) + right


class PlaceLine(Static):
    """Where the rater is: workspace, place in the queue, run, rater, and what is done and left."""

    _forms: tuple[tuple[str, str], ...] = ()
    _latest: Callable[[int], str] | None = None

    def show(self, forms: Sequence[tuple[str, str]], latest: Callable[[int], str] | None = None) -> None:
        """Show the first of some texts that fits.

        Args:
            forms: The place on the left and the rater's progress on the right, the longest first.
            latest: Returns the signs of the last judgments that fit in some cells between the two, if any are
                shown.
        """
        self._forms, self._latest = tuple(forms), latest
        self._lay_out()

    def on_resize(self) -> None:
        """Lay the line out."""
        self._lay_out()

    def _lay_out(self) -> None:
        if not self._forms:
            return
        width = self.size.width
        has_latest = width >= LAST_ROOM_FROM and self._latest is not None and self._latest(width)
        widths = [width - LAST_ROOM] * bool(has_latest) + [width]
        fitting = (
            (left, right)
            for most in widths
            for left, right in self._forms
            if _cells(left) + _cells(right) < most
        )
        left, right = next(fitting, self._forms[-1])
        line = _pad(left, right, width)
        room = width - _cells(left) - _cells(right) - len(LAST) - 5
        signs = self._latest(room) if self._latest is not None and room >= LAST_FROM else ""
        parts: list[str | tuple[str, str]] = [line]
        if signs:
            # Beside the rater, so that the latest stays where it is.
            words = f"{LAST} {signs}"
            end = len(line) - len(right) - 3
            parts = [line[: end - len(words)], LAST, " ", (signs, "$text-accent"), "   ", right]
        self.update(Content.assemble(*parts), layout=False)


class ClaimLine(Static):
    """The agents' claim and the rater's own label, always in sight.

    It has two rows where there is room, whatever the item is. Of an item that is asked several questions the
    first says which of them is asked now; of another one the second is for what the first has no room for.
    """

    _item: ItemView | None = None
    _state: SaveState = "none"
    _blind = _reveals = False

    def show(self, item: ItemView | None, state: SaveState, *, blind: bool, reveals: bool = False) -> None:
        """Show the claim on an item and what the rater made of it.

        Args:
            item: The item; None for none.
            state: Whether the rater's last answer is on disk.
            blind: Whether the claim is hidden.
            reveals: Whether it comes with the rater's answer.
        """
        self._item, self._state, self._blind, self._reveals = item, state, blind, reveals
        self._lay_out()

    def on_resize(self) -> None:
        """Lay the lines out."""
        self._lay_out()

    def _signed(self, mine: str) -> str:
        """Return the rater's own label with the sign of what is not on disk, where it is not."""
        if self._state not in ("saving", "failed"):
            return mine
        sign = SAVING if self._state == "saving" else "!"
        if "●" in mine:
            signed = mine.replace("●", sign)
        else:
            signed = f"{sign} {mine}" if mine.startswith("[") else f"{sign}{mine[1:]}"
        return signed if self._state == "saving" else f"{signed} · not saved"

    def _lay_out(self) -> None:
        item, width, rows = self._item, self.size.width, self.size.height
        if item is None:
            self.update(Content(""), layout=False)
            return
        claim, several = self._claim(item), item.has_several
        mine = _answers(item, width) if several else _mine(item, long=width >= 100)
        # The rater's own label is never cut for the claim's sake, nor the claim's first words for a reason.
        if _cells(mine) > width * 3 // 5:
            mine = one_line(mine, width * 3 // 5)
        right = f"{self._signed(mine)}{' ⚑' if item.own.flagged else ''} "
        above, below, lead = "", "", Content("")
        if several and rows > 1 and is_long(item.question.scale):
            lead = _ruled(item)
            above, claim = _asked(item, width), claim or _own_band(item)
            if item.current.title not in above:
                above = _asked(item, 0)
        elif several and rows > 1:
            above = _asked(item, width if claim else 0)
        elif several:
            place = f"{item.at + 1} of {len(item.questions)} · {item.current.title}"
            claim = f"{place} · {claim}" if claim else place
        elif _cells(claim) + _cells(right) + 2 > width and self.screen.has_class("-tall"):
            claim, below = _split_row(claim, width - _cells(right) - 1)
        beside = width - lead.cell_length - _cells(right)
        if above and _cells(above) > width and beside >= LEAST_BESIDE:
            # Beside the answers is room for the rest of the question, before the claim.
            above, rest = _split_row(above, width)
            claim = f"{rest} · {claim}" if claim else rest
        # Where rows are few, a second one is for what the first has no room for.
        self.set_class(not above and not below and not (item.outcomes and not several), "-one-row")
        line = _pad(f" {claim.strip()}", right, width - lead.cell_length)
        split = len(line) - len(right)
        style = "$text-primary" if self._claim(item) or not several else "bold $foreground"
        parts: list[Content | str | tuple[str, str]] = [
            lead,
            (line[:split], style),
            (line[split:], "$text-accent"),
        ]
        if above:
            parts.insert(0, (f"{one_line(above, width)}\n", "bold $foreground"))
        if rows > 1 and not several and item.outcomes:
            tests = outcomes(item.outcomes, width - 2, above=line)
            room = width - tests.cell_length - 3
            below = one_line(below, room) if room > 12 else ""
            parts += ["\n ", tests, (f"  {below}" if below else "", style)]
        elif below:
            parts.append((f"\n{one_line(f' {below}', width)}", style))
        self.update(Content.assemble(*parts), layout=False)

    def _claim(self, item: ItemView) -> str:
        if item.has_sides:
            claim = item.claim.summary if item.claim is not None else item.current.unclaimed
            changes = (CHANGES[one] for one in item.changes)
            return " · ".join(filter(None, (item.question.text, claim, *changes)))
        if item.claim is not None:
            return item.claim.summary
        if item.current.unclaimed:
            return item.current.unclaimed
        if item.tests == "own":
            return f"your test: {item.runs[item.run].summary or 'none was run yet'}"
        if self._blind and not item.has_several:
            until = " until you have answered" if self._reveals else ""
            return f"blind: the agents' labels are not shown{until}"
        # Of a kind that nobody else labels, nothing is missing.
        return (
            "" if item.has_several and not any(each.claim for each in item.questions) else "no agents' label"
        )


def _asked(item: ItemView, width: int) -> str:
    """Return which question is asked: "2 of 8 · answer A · Accuracy: are the facts …"; a width cuts it."""
    place = f"{item.at + 1} of {len(item.questions)} · "
    about = f"{item.current.about} · " if item.current.about else ""
    forms = [f" {before}{about}{item.question.text}" for before in (place, "")]
    return next((form for form in forms if width and _cells(form) <= width), forms[0])


def _ruled(item: ItemView) -> Content:
    """Return the scale of the question with the rater's own score and the judge's, where that is shown."""
    own, claim = item.label, item.claim
    scores = (None if own is None else own.value, None if claim is None else claim.value)
    return Content.assemble(" ", ruler(item.question.scale, *scores), " ")


def _own_band(item: ItemView) -> str:
    """Return the meaning of the rater's own score; empty before it is given."""
    return "" if item.label is None else band_of(item.question.scale, item.label.value)


def _answers(item: ItemView, width: int) -> str:
    """Return the rater's own answers to all questions, in short where they are many; brackets: asked now."""
    if item.own.cannot_decide is not None:
        return f"? cannot decide: {item.own.cannot_decide}"
    if item.own.skipped:
        return "» skipped"
    if item.last_answer is not None and item.current == item.last_answer:
        return _answer(item, item.at, words=True)
    longest = " · ".join(_answer(item, place, words=True) for place in range(len(item.questions)))
    if _cells(longest) <= width // 2 and len({question.about for question in item.questions}) == 1:
        return longest
    groups = [
        (about, [place for place, _ in group])
        for about, group in groupby(enumerate(item.questions), key=lambda one: one[1].about)
    ]
    if len(groups) == 1:
        return _in_short(item, groups[0][1])
    every = "  ".join(f"{_last_word(about)} {_in_short(item, places)}" for about, places in groups)
    if _cells(every) <= width // 2:
        return every
    # Of many answers those to the response that is asked about now, and how many there are in all.
    now = next(places for _, places in groups if item.at in places)
    given = sum(item.label_of(question) is not None for question in item.questions)
    return f"{_last_word(item.current.about)} {_in_short(item, now)} · {given} of {len(item.questions)} given"


def _in_short(item: ItemView, places: Sequence[int]) -> str:
    return " ".join(_answer(item, place, words=False) for place in places)


def _last_word(about: str) -> str:
    """Return the letter of a response: "A" of "answer A"."""
    return about.rpartition(" ")[2]


def _split_row(text: str, width: int) -> tuple[str, str]:
    """Return a text as a row and what goes on in the next one."""
    first, *rest = Content(text.strip()).wrap(max(20, width - 2))
    return f" {first.plain.rstrip()}", " ".join(line.plain.strip() for line in rest)


def _answer(item: ItemView, place: int, *, words: bool) -> str:
    question = item.questions[place]
    label = item.label_of(question)
    if label is None:
        shown = "○"
    else:
        word = question.spec.scale.word(label.value)
        shown = f"● {word}" if words else f"●{word.partition(' ')[0]}"
        shown += "▲" if question.claim is not None and question.claim.value != label.value else ""
    return f"[{shown}]" if place == item.at else shown


def _mine(item: ItemView, *, long: bool) -> str:
    """Return the rater's own label of an item that is asked one question."""
    own, label, what = item.own, item.label, "choice" if item.has_sides else "label"
    if label is not None:
        words = item.current.word(label.value, label.reason)
        mine = f"● your {what}: {words}" if long else f"● {words}"
        if item.claim is not None and item.claim.value != label.value:
            mine += " ▲ overrides" if long else " ▲"
        return mine + (f" · {label.reason}" if label.reason and long and label.reason != BOTH_BAD else "")
    if own.cannot_decide is not None:
        return f"? cannot decide: {own.cannot_decide}"
    if own.skipped:
        return "» skipped"
    return f"○ your {what}: none" if long else "○"


class CaseTabs(Static):
    """The parts of the case by name; the active one is in brackets as well as in colour."""

    @dataclass
    class Chosen(Message):
        """A part was chosen with the mouse."""

        pane_id: str

    _tabs: tuple[tuple[str, str], ...] = ()
    _active = ""
    _note = ""
    # Which of the tabs are in sight, and the cell at which the first of them begins.
    _sight = range(0)
    _begun = 0

    def show(self, tabs: Sequence[tuple[str, str]], active: str, note: str = "") -> None:
        """Show tabs as (pane id, title), one of them active; and a note, as far as there is room for it."""
        if (tuple(tabs), active, note) == (self._tabs, self._active, self._note):
            return
        self._tabs, self._active, self._note = tuple(tabs), active, note
        self._lay_out()

    def on_resize(self) -> None:
        """Lay the tabs out."""
        self._lay_out()

    def _lay_out(self) -> None:
        self._sight = self._in_sight()
        before, after = self._sight.start, len(self._tabs) - self._sight.stop
        left = f"‹{before} " if before else ""
        self._begun = _width(left)
        parts = [Content.styled(left, "$foreground-muted")]
        for place in self._sight:
            pane_id, title = self._tabs[place]
            if pane_id == self._active:
                parts.append(Content.styled(f"[{title}]", "bold $text-accent reverse"))
            else:
                parts.append(Content.styled(f" {title} ", "$foreground-muted"))
        parts.append(Content.styled(f" {after}›" if after else "", "$foreground-muted"))
        room = self.size.width - sum(part.cell_length for part in parts) - 2
        if self._note and room > 0:
            parts.append(Content.styled(f"  {one_line(self._note, room)}", "$foreground-muted italic"))
        self.update(Content("").join(parts), layout=False)

    def _in_sight(self) -> range:
        """Return which tabs fit: all of them, or some with the active one and the next."""
        widths = [_width(title) + 2 for _, title in self._tabs]
        width = self.size.width
        if not width or sum(widths) <= width:
            return range(len(widths))
        active = next((place for place, (pane_id, _) in enumerate(self._tabs) if pane_id == self._active), 0)
        # Beside them is the number of those to the left and to the right.
        room = width - 2 * len(f"‹{len(widths)} ")
        last = min(active + 2, len(widths))
        first = active
        if sum(widths[active:last]) > room:
            last = active + 1
        while first and sum(widths[first - 1 : last]) <= room:
            first -= 1
        while last < len(widths) and sum(widths[first : last + 1]) <= room:
            last += 1
        return range(first, last)

    def on_click(self, event: events.Click) -> None:
        """Choose the part under the pointer."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        place = self._begun
        for pane_id, title in (self._tabs[number] for number in self._sight):
            if offset.x < place:
                return
            place += _width(title) + 2
            if offset.x < place:
                self.post_message(self.Chosen(pane_id))
                return


def _width(text: str) -> int:
    return Content(text).cell_length


def _numbered(place: OrderPlace) -> str:
    """Return the number of a place: "118 of 306"; while the others are counted "118 of …"."""
    return f"{place.number:,} of {'…' if place.total is None else f'{place.total:,}'}"


class ReviewHeader:
    """Updates the lines above the panes, and follows the rater's progress for them.

    Args:
        shared: The context shared by the screen's components; it has a `PlaceLine` and a `ClaimLine`.
        query: Returns the query of the queue that is reviewed.

    Attributes:
        kinds: The kinds of the workspace's items; none before they are read.
        progress: The rater's progress; None before it is read.
    """

    def __init__(self, shared: JudgingContext, order: ReviewOrder, query: Callable[[], QueueQuery]) -> None:
        self.kinds: tuple[str, ...] = ()
        self.progress: SessionProgress | None = None
        self._is_counting = False
        # Whether something was stored that the count under way may have missed.
        self._is_behind = False
        self._shared = shared
        self._order = order
        self._query = query

    def begin_counting(self) -> None:
        """Count the rater's progress, the first time that this is called."""
        if self._shared.context.rater is not None and not self._is_counting:
            self._is_counting = True
            self._read_progress()

    def _read_progress(self) -> None:
        context, self._is_behind = self._shared.context, False
        read = partial(SessionProgress.read, context.workspace, context.scope)
        # Where it cannot be read, the item says so; the line goes without.
        in_thread(self._shared.screen, read, self._take_progress, group="counts")

    def _take_progress(self, progress: SessionProgress) -> None:
        if self._is_behind:
            self._read_progress()
            return
        self.progress = progress
        self.show_place()

    def follow(self, action: Action) -> None:
        """Count an action that was stored."""
        if self.progress is None:
            self._is_behind = True
            return
        done = partial(self._count, action.item_id)
        in_thread(
            self._shared.screen, partial(self._read_delta, action), done, group="delta", exclusive=False
        )

    def _read_delta(self, action: Action) -> ProgressDelta:
        with self._shared.context.workspace.reading() as connection:
            return progress_delta(connection, action, self._shared.context.scope)

    def _count(self, item_id: int, delta: ProgressDelta) -> None:
        assert self.progress is not None
        self.progress.follow(item_id, delta)
        self.show_place()

    def show_place(self) -> None:
        """Show workspace, list, place, rater and progress."""
        context, guard = self._shared.context, self._shared.guard
        blind, order = not context.scope.may(Shows.AGENTS), self._order
        number, *filtered = self.listed()
        here = guard.on_screen.place if guard.on_screen is not None else guard.wanted
        if here is not None:
            number += f", {_numbered(here)}{' · again' if here.again else ''}"
        elif order.at_end:
            number += f", end of {order.total:,}"
        place = " · ".join([f" {one_line(context.workspace.path.name, 40)} › {number}", *filtered])
        if context.study is not None:
            number = self._in_study(context.study)
            place = " · ".join([f" {number}", *filtered])
        rater = one_line(context.rater.name, 24) if context.rater else "nobody (--rater NAME)"
        waiting = len(context.recorder.failures)
        failed = f"! {waiting:,} not saved · " if waiting else ""
        whole = not self.kinds or self._query().wanted == QueueFilter()
        progress = self.progress
        counted = progress.sentence(whole=whole, paced=False) if progress else ""
        paced = progress.sentence(whole=whole) if progress else ""
        until = "until you answer" if context.scope.reveals else "yes"
        who = f"rater: {rater} · blind: {until if blind else 'no'} "
        if context.study is not None:
            who = f"rater: {rater} "
        briefly = f"{rater}{' · blind' if blind else ''} "
        in_short = " · ".join([f" {number}", *filtered])
        kind = None if self._shared.item is None else self._shared.item.kind

        def form(left: str, cells: int, who: str, counted: str) -> tuple[str, str]:
            # In a study the line says where the rater is; the case of an item that shows a run names it.
            run = context.runs.words(cells, kind) if cells and context.study is None else ""
            between = "  " if who.startswith("rater:") and counted else "· " if who and counted else ""
            return f"{left} · {run}" if run else left, f"{failed}{who}{between}{counted}"

        # Where room is short, the pace goes first; what is done and left stays, and of a run's name its hash.
        recorder = context.recorder
        self._shared.screen.query_one(PlaceLine).show(
            [
                form(place, RUN_WHOLE, who, paced),
                form(place, RUN_SHORT, who, paced),
                form(place, RUN_SHORT, who, counted),
                form(in_short, RUN_WHOLE, briefly, paced),
                form(in_short, RUN_SHORT, briefly, paced),
                form(in_short, RUN_SHORT, briefly, counted),
                form(in_short, RUN_HASH, briefly, counted),
                form(f" {number}", RUN_SHORT, briefly, counted),
                form(f" {number}", RUN_HASH, briefly, counted),
                form(f" {number}", RUN_HASH, "", counted),
                form(f" {number}", 0, "", counted),
            ],
            lambda cells: latest_signs(recorder.signs, recorder.taken_back, cells),
        )

    def _in_study(self, study: StudyPlace) -> str:
        """Return the place in a study: "rq2 · 12 of 40 · sitting 1 of 3"."""
        guard, order, session = self._shared.guard, self._order, study.session
        here = guard.on_screen.place if guard.on_screen is not None else guard.wanted
        words = [one_line(study.name, 30)]
        if here is not None:
            words.append(f"{_numbered(here)}{', again' if here.again else ''}")
        elif order.at_end:
            words.append(f"end of {order.total:,}")
        if session.sittings > 1:
            words.append(f"sitting {session.sitting} of {session.sittings}")
        return " · ".join(words)

    def listed(self) -> list[str]:
        """Return the name of the listed items, and the rest of the filter in words, if any."""
        wanted = self._query().wanted
        kinds = (wanted.kind,) if wanted.kind else self.kinds
        name = task_kinds()[kinds[0]].plural if len(kinds) == 1 and kinds[0] in task_kinds() else "items"
        further = replace(wanted, kind=None)
        return [name] if further == QueueFilter() else [name, further.sentence(kinds, kinds)]

    def show_claim(self) -> None:
        """Show the claim on the item and the rater's own label, and the keys that go with them."""
        item, context, screen = self._shared.item, self._shared.context, self._shared.screen
        state: SaveState = "none"
        if item is not None and (waiting := context.recorder.waiting(item.item_id)):
            is_failing = any(each.records[0].id in context.recorder.failures for each in waiting)
            state = "failed" if is_failing else "saving"
        blind = item.blind if item else not context.scope.may(Shows.AGENTS)
        screen.query_one(ClaimLine).show(item, state, blind=blind, reveals=context.scope.reveals)
        screen.query_one(JudgingKeyLine).update_keys()
