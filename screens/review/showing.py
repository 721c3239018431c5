"""Showing one item of a review: loading, painting, and knowing since when it has been on the screen."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual import work
from textual.widgets import ContentSwitcher

from screens.context import ScreenContext
from screens.help import with_keys
from screens.items.views import ItemView
from screens.navigator import Navigator
from screens.painted import is_in_sight, when_on_terminal
from screens.queue.asked import Asked
from screens.review.bars import ClaimLine, PlaceLine, ReviewKeys, SaveState, SayLine
from screens.review.copying import CopyingText
from screens.review.end_card import EndCard, ListCounts, count_list
from screens.review.items import ItemReader, OrderPlace, ReviewOrder
from screens.review.judging import Desk, SessionCount, Stopwatch, after
from screens.review.panes import Panes
from screens.review.reading import PROMPT, SUBJECT
from screens.widgets.citing_pane import CitingPane
from screens.widgets.text_pane import TextPane
from screens.widgets.visible import one_line
from store.errors import WorkbenchError
from store.kinds.protocol import task_kinds
from store.queries.rows import QueueFilter
from store.recording import Action

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.widget import Widget


ARRIVAL_SECONDS = 0.7
"""How long after the agents' label came onto the screen no key judges."""

NOT_SEEN = float("inf")
"""When a key judges while the agents' label has come and could not be seen yet."""

SEEN_SECONDS = 0.05
"""Seconds after an item reached the terminal in which keys are still refused.

Nobody reads, decides and presses a key that fast; and on a busy machine a key is read some time after it was
pressed.
"""

PROMPT_ROWS = 3
"""Rows that the query gets at most; it scrolls beyond that."""


@dataclass(frozen=True, slots=True)
class OnScreen:
    """An item on the screen. Header, panes and keys all take it from this one value.

    Attributes:
        place: Its place in the order.
        view: The item as it is shown.
        paint: The number of the painting that put it there; a later one has a higher number.
        painted_at: When that had reached the terminal, in seconds of the monotonic clock; None before, and
            while another screen covers it.
        awaited: What has to come onto the screen before a key judges.
        settled_at: When a key judges again after the agents' label has changed, on the same clock.
    """

    place: OrderPlace
    view: ItemView
    paint: int
    painted_at: float | None = None
    awaited: str = "item"
    settled_at: float = 0.0


class ShowingItems(CopyingText):
    """The part of a review screen that shows an item, and says what is known of it.

    Going to another item sets the wanted place; what is read for that place, and nothing else, is painted.
    Until then the item before stays on the screen, under its own header, and no key judges it.
    """

    reader: ItemReader

    def __init__(
        self,
        context: ScreenContext,
        navigator: Navigator,
        ids: list[int],
        index: int = 0,
        asked: Asked | None = None,
    ) -> None:
        super().__init__(context, navigator)
        self.order = ReviewOrder(ids, index)
        self.asked = asked or Asked()
        self.on_screen: OnScreen | None = None
        self.desk: Desk | None = None
        self.count: SessionCount | None = None
        self.active = SUBJECT
        self.preferred = ""
        self.kinds_here: tuple[str, ...] = ()
        """The kinds of the workspace's items; none before they are read."""
        self._panes = Panes()
        # The place that was gone to last; None while there is none.
        self._wanted: OrderPlace | None = None
        self._paints = 0
        # The number of the latest count for the card at the end of the list.
        self._end_counts = 0
        # Whether it is known that no item can be shown.
        self._is_bare = False
        self._prompt_height: int | str = 0
        self._watch = Stopwatch()
        # The key of the question that an undo goes back to.
        self._wanted_question: int | None = None
        self._reasons_for: tuple[Action | None, int, bool] | None = None
        self._drafts: dict[int, str] = {}
        # The item that the open comment line is about; None while it is closed.
        self._commented: ItemView | None = None

    @property
    def item(self) -> ItemView | None:
        """The item on the screen."""
        return self.on_screen.view if self.on_screen is not None else None

    def show_as(self, view: ItemView) -> None:
        """Take another view of the item on the screen: with another question, run, label or citation."""
        shown = self.on_screen
        assert shown is not None
        assert shown.view.item_id == view.item_id
        self.on_screen = replace(shown, view=view)

    @property
    def is_painted(self) -> bool:
        """Whether the item that was gone to last is on the screen, with what is asked."""
        shown = self.on_screen
        return shown is not None and shown.place is self._wanted and shown.painted_at is not None

    def missing_at(self, moment: float) -> str:
        """Return what was not on the screen at a moment of the monotonic clock; empty where all of it was."""
        shown = self.on_screen
        if shown is None or shown.place is not self._wanted:
            return "item"
        was_there = shown.painted_at is not None and shown.painted_at + SEEN_SECONDS <= moment
        return "" if was_there else shown.awaited

    # -- showing --------------------------------------------------------------------------------------

    def _show_item(self) -> None:
        """Show the item at the order's place: from what was read ahead, or as soon as it is read."""
        place = self._wanted = self.order.place
        self.set_class(self.order.at_end, "-end")
        if self.order.at_end:
            self.show_end()
            return
        if place is None:
            self._show_nothing("No items here.", f"No items here. {self._key('back')} goes back.")
            return
        kept = self.reader.kept(place.item_id)
        if kept is not None:
            self._paint(kept, place)
        else:
            self._read_item(place)

    @work(thread=True)
    def _read_item(self, place: OrderPlace) -> None:
        try:
            view = self.reader.read(place.item_id)
        except WorkbenchError as error:
            self.call_later(self._not_read, error, place)
            return
        self.call_later(self._paint, view, place)

    def show_end(self) -> None:
        """Show that the list is at its end: what is done, and what is next."""
        said = self.query_one(SayLine).said
        choices = self.query_one(ReviewKeys).choices
        self._show_nothing("", "")
        # What was just recorded is still told, with the reasons that it may be given.
        self._say(said, choices=choices)
        self._lay_out_end(None)
        self.count_end()

    def count_end(self) -> None:
        """Update the counts on the card at the end of the list; an earlier, unfinished count is dropped."""
        self._end_counts += 1
        self._count_end(list(self.order.ids), self._end_counts)

    @work(thread=True, group="end")
    def _count_end(self, item_ids: list[int], number: int) -> None:
        context = self.context
        try:
            found = count_list(context.workspace, context.rater.id if context.rater else 0, item_ids)
        except WorkbenchError as error:
            self.call_later(self._not_read, error, None)
        else:
            self.call_later(self._end_counted, found, number)

    def _end_counted(self, found: ListCounts, number: int) -> None:
        if number == self._end_counts:
            self._lay_out_end(found)

    def _lay_out_end(self, found: ListCounts | None) -> None:
        if self.order.at_end:
            keys = {name: self._key(name) for name in ("unjudged", "back", "previous", "undo")}
            self.query_one(EndCard).show(" · ".join(self._listed()), self.order.total, found, keys)

    def _not_read(self, error: Exception, place: OrderPlace | None) -> None:
        if place is self._wanted:
            said = f"! This item could not be read: {one_line(str(error), 400)}"
            on, back = self._key("next"), self._key("back")
            untouched = "Your judgments are not touched by this."
            self._show_nothing(said, f"{untouched} {on} goes on, {back} goes back.")

    def _show_nothing(self, in_pane: str, said: str) -> None:
        """Show a sentence in place of an item."""
        self.on_screen, self._is_bare = None, True
        for pane in (self.query_one(f"#{PROMPT}", TextPane), *self._panes.values()):
            pane.load("", empty=in_pane if pane.id == SUBJECT else "")
        self._show_active()
        self._lay_out_places()
        self._show_claim()
        self._say(said)

    @work(thread=True, group="ahead")
    def _read_ahead(self, ids: tuple[int, ...]) -> None:
        for item_id in ids:
            if self.reader.kept(item_id) is None:
                try:
                    self.reader.read(item_id)
                except WorkbenchError:
                    # What is wrong with it is said when it is its turn to be shown.
                    return

    def _paint(self, view: ItemView, place: OrderPlace) -> None:
        """Put the item of a place onto the screen, unless the review has gone to another one."""
        if place is not self._wanted:
            return
        shown = self.on_screen if self.on_screen is not None and self.on_screen.place is place else None
        before = shown.view if shown is not None else None
        for action in self._waiting(view.item_id):
            # What was read does not know of what is still on its way to the disk.
            view = replace(view, own=after(view.own, action))
        view = self._at_its_question(view, before)
        view = self._with_citations(self._as_chosen(view))
        self._paints += 1
        self._is_bare = False
        self.on_screen = replace(shown or OnScreen(place, view, 0), view=view, paint=self._paints)
        with self.app.batch_update():
            self.query_one(f"#{PROMPT}", TextPane).load(
                view.prompt, kind="reply", title=f"{view.prompt_word or view.kind} · {view.external_id}"
            )
            self._fill(view)
            if before is None or not before.ask.is_asked_as(view.ask):
                self._bring_out_asked(view)
            if before is None:
                self._restore_places(view)
            self._show_active()
            self._lay_out_places()
            self._show_claim()
        if before is None:
            self._watch = Stopwatch()
        elif not before.ask.is_asked_as(view.ask):
            # What was asked is asked no more, so that the keys have another meaning.
            self.await_paint("question")
        elif _verdict(before) != _verdict(view):
            # A key that was on its way must not judge a claim that nobody has read.
            seen = self.is_painted and self.is_active
            settled_at = time.monotonic() + ARRIVAL_SECONDS if seen else NOT_SEEN
            self.on_screen = replace(self.on_screen, settled_at=settled_at)
            self._say("◆ The agents' label has just come." if view.claim else "◆ The agents' label is gone.")
        if not self.is_painted:
            self._tell_when_painted()

    def await_paint(self, awaited: str) -> None:
        """Take no key that judges before something has come onto the screen.

        Args:
            awaited: What it is, in a word.
        """
        if self.on_screen is not None:
            self._paints += 1
            self.on_screen = replace(self.on_screen, paint=self._paints, painted_at=None, awaited=awaited)

    def _tell_when_painted(self) -> None:
        """Have `_was_painted` called once all that is shown of the item is on the terminal."""
        paint = self._paints
        when_on_terminal(self, self._shows_item, lambda moment: self._was_painted(paint, moment))

    def _shows_item(self) -> list[Widget]:
        """Return the widgets that show the item and its question."""
        lines = [self.query_one(kind) for kind in (PlaceLine, ClaimLine, ReviewKeys)]
        return [*lines, self.query_one(f"#{PROMPT}"), self.query_one("#body")]

    def on_screen_suspend(self) -> None:
        """Take nothing for seen while another screen covers this one; below a dialog it is seen."""
        if not is_in_sight(self):
            self.await_paint("item")
        if self.on_screen is not None and self.on_screen.settled_at > time.monotonic():
            self.on_screen = replace(self.on_screen, settled_at=NOT_SEEN)

    def on_screen_resume(self) -> None:
        """Take keys again once the item is on the terminal again."""
        if self.on_screen is None:
            return
        if self.on_screen.settled_at == NOT_SEEN:
            self.await_paint("item")
        if not self.is_painted:
            self._tell_when_painted()

    def _at_its_question(self, view: ItemView, before: ItemView | None) -> ItemView:
        """Return an item at the question that is asked: one gone back to, the same as before, the first open.

        Args:
            view: The item as it was read.
            before: As it is on the screen; None where another one is.
        """
        wanted, self._wanted_question = self._wanted_question, None
        place = view.place_of(wanted)
        if place is None and before is not None:
            same = (place for place, ask in enumerate(view.asks) if ask.is_asked_as(before.ask))
            place = next(same, None)
        if place is None:
            place = view.next_open(-1) or 0
        return replace(view, at=place)

    def _ask(self, place: int) -> None:
        """Ask another question of the item shown; no key answers it before it is on the screen."""
        if self.item is None or not self.is_painted:
            return
        view = self._with_citations(replace(self.item, at=place))
        self.show_as(view)
        self.await_paint("question")
        self._watch = Stopwatch()
        with self.app.batch_update():
            self._fill(view)
            self._bring_out_asked(view)
            self._show_active()
            self._show_claim()
        self._tell_when_painted()

    def _bring_out_asked(self, view: ItemView) -> None:
        """Bring the pane into view that the question is about; a reader who is in the subject stays there."""
        pane = view.ask.pane
        if pane == SUBJECT or pane not in self._panes:
            return
        self.preferred = pane
        if self.active != SUBJECT or self.narrow:
            self.active = pane
            self.call_after_refresh(self.focus_active)
        else:
            self.query_one("#switcher", ContentSwitcher).current = pane

    def _was_painted(self, paint: int, moment: float) -> None:
        shown = self.on_screen
        if shown is None or shown.paint != paint or shown.place is not self._wanted or not is_in_sight(self):
            return
        # A label that came while the item could not be seen is new to whoever sees it now.
        seen_now = shown.settled_at == NOT_SEEN and self.is_active
        settled_at = moment + ARRIVAL_SECONDS if seen_now else shown.settled_at
        self.on_screen = replace(shown, painted_at=moment, settled_at=settled_at)
        self.context.workspace.lane.go_on()
        self._panes.fill()
        ahead = tuple(number for number in (self.order.at(1), self.order.at(2), self.order.at(-1)) if number)
        if any(self.reader.kept(number) is None for number in ahead):
            self._read_ahead(ahead)

    def _fit_prompt(self) -> None:
        """Give the prompt the rows it needs; it scrolls beyond that."""
        pane = self.query_one(f"#{PROMPT}", TextPane)
        room = max(20, self.app.size.width - 4)
        lines = pane.text[: room * PROMPT_ROWS + 1].split("\n")
        rows = sum(max(1, -(-len(line) // room)) for line in lines)
        zoomed = self.has_class("-zoom")
        framed = not self.narrow and not zoomed
        height: int | str = min(PROMPT_ROWS, rows) + 2 if framed else min(2, rows)
        if self._in_prompt and zoomed:
            height = "1fr"
        if height != self._prompt_height:
            self._prompt_height = height
            pane.styles.height = height

    def _begin_code(self, pane: TextPane) -> None:
        settings = self.context.settings
        pane.begin_code(wrap=settings.wrap, numbers=settings.line_numbers)

    def _fill(self, view: ItemView) -> None:
        switcher = self.query_one("#switcher", ContentSwitcher)
        for part in view.case:
            if part.id not in self._panes:
                pane = CitingPane(id=part.id)
                self._panes.add(part.id, pane)
                self._begin_code(pane)
                pane.display = part.id == switcher.current
                switcher.mount(pane)
        settings = self.context.settings
        for pane_id, part in ((SUBJECT, view.subject), *((part.id, part) for part in view.case)):
            self._panes.show(pane_id, replace(part, empty=with_keys(settings, part.empty)))
        # A part without text for this item gives way, until an item has it again: to what is asked about, so
        # that no other response stands there than the one that is scored, else to the first part.
        told = {part.id for part in view.case if part.text or part.id == view.beside}
        asked = view.ask.pane if any(part.id == view.ask.pane for part in view.case) else view.case[0].id
        case = self.preferred if self.preferred in told else asked
        if self.active != SUBJECT:
            self.active = case
        if switcher.current != case:
            switcher.current = case
        for pane_id in (SUBJECT, case):
            # These are seen; the others are filled when they are painted.
            self._panes[pane_id]
        if self.is_painted:
            self._panes.fill()

    def _as_chosen(self, view: ItemView) -> ItemView:
        """Return an item with the run of its test shown that the rater chose."""
        return view

    def _with_citations(self, view: ItemView) -> ItemView:
        """Return an item with the lines marked that the rater cites."""
        return view

    def _restore_places(self, view: ItemView) -> None:
        """Scroll the panes of an item that has come onto the screen."""
        self._panes.restore({})

    # -- the lines ------------------------------------------------------------------------------------

    def _lay_out_places(self) -> None:
        context = self.context
        blind = context.settings.blind
        number, *filtered = self._listed()
        here = self.on_screen.place if self.on_screen is not None else self._wanted
        if here is not None:
            number += f", {here.number:,} of {here.total:,}{' · again' if here.again else ''}"
        elif self.order.at_end:
            number += f", end of {self.order.total:,}"
        place = " · ".join([f" {one_line(context.workspace.path.name, 40)} › {number}", *filtered])
        rater = one_line(context.rater.name, 24) if context.rater else "nobody (--rater NAME)"
        waiting = len(self.context.recorder.failures)
        failed = f"! {waiting:,} not saved · " if waiting else ""
        whole = not self.kinds_here or self.asked.wanted == QueueFilter()
        pace = self.count.sentence(whole=whole) if self.count else ""
        briefly = f"{failed}{rater}{' · blind' if blind else ''}"
        self.query_one(PlaceLine).show(
            place,
            f"{failed}rater: {rater} · blind: {'yes' if blind else 'no'} ",
            pace,
            shorter=[
                (f" {number}", f"{briefly} · {pace}" if pace else f"{briefly} "),
                (f" {number}", f"{briefly} "),
            ],
        )

    def _listed(self) -> list[str]:
        """Return what the list holds: the name of its items, and further words of its filter, if any."""
        wanted = self.asked.wanted
        kinds = (wanted.kind,) if wanted.kind else self.kinds_here
        name = task_kinds()[kinds[0]].plural if len(kinds) == 1 and kinds[0] in task_kinds() else "items"
        further = replace(wanted, kind=None)
        return [name] if further == QueueFilter() else [name, further.sentence(kinds, kinds)]

    def _waiting(self, item_id: int) -> list[Action]:
        """Return what was recorded of an item and is not on disk yet, in the order of the keys."""
        waiting = [each for each in self.context.recorder.unsaved.values() if each.item_id == item_id]
        return sorted(waiting, key=lambda action: action.records[0].id)

    def _show_claim(self) -> None:
        state: SaveState = "none"
        if self.item is not None and (waiting := self._waiting(self.item.item_id)):
            failures = self.context.recorder.failures
            state = "failed" if any(each.records[0].id in failures for each in waiting) else "saving"
        self.query_one(ClaimLine).show(self.item, state, blind=self.context.settings.blind)
        self.query_one(ReviewKeys).keep_up()

    def _say(self, text: str, *, alarm: bool = False, choices: Sequence[tuple[str, str]] = ()) -> None:
        # The codes stand where the keys stand, so that the panes move as little as can be.
        self.query_one(ReviewKeys).offer(choices)
        self.query_one(SayLine).say(text, alarm=alarm)

    def _say_also(self, text: str) -> None:
        """Say a sentence after what is said already, unless that is a question."""
        line = self.query_one(SayLine)
        if not self.query_one(ReviewKeys).is_offering:
            self._say(f"{line.said} · {text}" if line.said else text)

    def tell(self, text: str, *, alarm: bool = False) -> None:
        """Say what the app has to say, in the line that covers nothing."""
        text = f"! {text}" if alarm else text
        line = self.query_one(SayLine)
        if self.query_one(ReviewKeys).is_offering:
            # What is asked still waits for its answer.
            if not line.said.endswith(text):
                line.say(f"{line.said} · {text}" if line.said else text, alarm=alarm)
        else:
            self._say(text, alarm=alarm)


def _verdict(view: ItemView) -> object:
    return view.claim.verdict_id if view.claim else None
