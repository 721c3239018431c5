"""Showing one item of a review: loading, painting, and knowing since when it has been on the screen."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import work
from textual.widgets import ContentSwitcher

from screens.help import with_keys
from screens.queue.asked import Asked
from screens.review.bars import ClaimLine, PlaceLine, ReviewKeys, SaveState, SayLine
from screens.review.copying import CopyingText
from screens.review.items import ItemReader, ReviewOrder
from screens.review.judging import Desk, SessionCount, Stopwatch, after
from screens.review.panes import Panes
from screens.review.part import ItemView
from screens.review.reading import PROMPT, SUBJECT
from screens.widgets.citing_pane import CitingPane
from screens.widgets.text_pane import TextPane
from screens.widgets.visible import one_line
from store.errors import WorkbenchError
from store.kinds.protocol import task_kinds
from store.recording import Action

if TYPE_CHECKING:
    from collections.abc import Sequence


ARRIVAL_SECONDS = 0.7
"""How long after the agents' label came onto the screen no key judges."""

PROMPT_ROWS = 3
"""Rows that the query gets at most; it scrolls beyond that."""


class ShowingItems(CopyingText):
    """The part of a review screen that shows an item, and says what is known of it."""

    reader: ItemReader

    def __init__(self, ids: list[int], index: int = 0, asked: Asked | None = None) -> None:
        super().__init__()
        self.order = ReviewOrder(ids, index)
        self.asked = asked or Asked()
        self.item: ItemView | None = None
        self.desk: Desk | None = None
        self.count: SessionCount | None = None
        self.active = SUBJECT
        self.preferred = ""
        self._panes = Panes()
        # The item shown, counted; what was read for an earlier one is not painted.
        self._shown = 0
        # When the item came onto the screen, in seconds of the monotonic clock; None before.
        self._painted_at: float | None = None
        # What has to come onto the screen before a key is taken.
        self._awaited = "item"
        # Whether it is known that no item can be shown.
        self._is_bare = False
        self._settled_at = 0.0
        self._prompt_height: int | str = 0
        self._watch = Stopwatch()
        # The key of the question that an undo goes back to.
        self._wanted_question: int | None = None
        self._reasons_for: tuple[Action | None, int, bool] | None = None
        self._drafts: dict[int, str] = {}

    @property
    def is_painted(self) -> bool:
        """Whether the item at the order's place is on the screen."""
        return self._painted_at is not None

    # -- showing --------------------------------------------------------------------------------------

    def _show_item(self) -> None:
        """Show the item at the order's place: from what was read ahead, or as soon as it is read."""
        self._shown += 1
        self._painted_at, self._awaited = None, "item"
        item_id = self.order.item_id
        if item_id is None:
            self._show_nothing("No items here.", f"No items here. {self._key('back')} goes back.")
            return
        kept = self.reader.kept(item_id)
        if kept is not None:
            self._paint(kept, self._shown)
        else:
            self._read_item(item_id, self._shown)

    @work(thread=True)
    def _read_item(self, item_id: int, shown: int) -> None:
        try:
            view = self.reader.read(item_id)
        except WorkbenchError as error:
            self.call_later(self._not_read, error, shown)
            return
        self.call_later(self._paint, view, shown)

    def _not_read(self, error: Exception, shown: int) -> None:
        if shown == self._shown:
            said = f"! This item could not be read: {one_line(str(error), 400)}"
            on, back = self._key("next"), self._key("back")
            untouched = "Your judgments are not touched by this."
            self._show_nothing(said, f"{untouched} {on} goes on, {back} goes back.")

    def _show_nothing(self, in_pane: str, said: str) -> None:
        """Show a sentence in place of an item."""
        self.item, self._is_bare = None, True
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

    def _paint(self, view: ItemView, shown: int) -> None:
        """Put an item into the panes, unless another one was asked for meanwhile."""
        if shown != self._shown:
            return
        before = self.item if self.item is not None and self.item.item_id == view.item_id else None
        for action in self._waiting(view.item_id):
            # What was read does not know of what is still on its way to the disk.
            view = replace(view, own=after(view.own, action))
        view = self._at_its_question(view, before)
        view = self._with_citations(self._as_chosen(view))
        self.item, self._is_bare = view, False
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
        elif self._painted_at is not None and not before.ask.is_asked_as(view.ask):
            # What was asked is asked no more, so that the keys have another meaning.
            self._painted_at = None
        elif self._painted_at is not None and _verdict(before) != _verdict(view):
            # A key that was on its way must not judge a claim that nobody has read.
            self._settled_at = time.monotonic() + ARRIVAL_SECONDS
            self._say("◆ The agents' label has just come." if view.claim else "◆ The agents' label is gone.")
        if self._painted_at is None:
            self.call_after_refresh(self._was_painted, shown)

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
        if self.item is None or self._painted_at is None:
            return
        self._painted_at, self._awaited = None, "question"
        self.item = self._with_citations(replace(self.item, at=place))
        self._watch = Stopwatch()
        with self.app.batch_update():
            self._fill(self.item)
            self._bring_out_asked(self.item)
            self._show_active()
            self._show_claim()
        self.call_after_refresh(self._was_painted, self._shown)

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

    def _was_painted(self, shown: int) -> None:
        if shown != self._shown or self.item is None or self._painted_at is not None:
            return
        self._painted_at = time.monotonic()
        self.workbench.context.workspace.lane.go_on()
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
        settings = self.workbench.context.settings
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
        settings = self.workbench.context.settings
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
        if self._painted_at is not None:
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
        context = self.workbench.context
        blind = context.settings.blind
        kind = task_kinds()[self.item.kind].plural if self.item else "items"
        number = kind
        if self.order.ids:
            number += f" › {self.order.number:,} of {self.order.total:,}"
            number += " · again" if self.order.comes_again else ""
        place = f" {one_line(context.workspace.path.name, 40)} › {number}"
        here = (self.item.kind,) if self.item else ()
        filtered = self.asked.wanted.sentence(here, here)
        place += f" · {filtered}" if filtered != "all items" else ""
        rater = one_line(context.rater.name, 24) if context.rater else "nobody (--rater NAME)"
        waiting = len(self.workbench.failures)
        failed = f"! {waiting:,} not saved · " if waiting else ""
        pace = self.count.sentence() if self.count else ""
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

    def _waiting(self, item_id: int) -> list[Action]:
        """Return what was recorded of an item and is not on disk yet, in the order of the keys."""
        waiting = [each for each in self.workbench.unsaved.values() if each.item_id == item_id]
        return sorted(waiting, key=lambda action: action.records[0].id)

    def _show_claim(self) -> None:
        state: SaveState = "none"
        if self.item is not None and (waiting := self._waiting(self.item.item_id)):
            failures = self.workbench.failures
            state = "failed" if any(each.records[0].id in failures for each in waiting) else "saving"
        self.query_one(ClaimLine).show(self.item, state, blind=self.workbench.context.settings.blind)
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
        if self.query_one(ReviewKeys).is_offering:
            # What is asked still waits for its answer.
            line = self.query_one(SayLine)
            line.say(f"{line.said} · {text}" if line.said else text, alarm=alarm)
        else:
            self._say(text, alarm=alarm)


def _verdict(view: ItemView) -> object:
    return view.claim.verdict_id if view.claim else None
