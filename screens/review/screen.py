"""The review: one item, the claim beside what is judged, one key a judgment."""

from __future__ import annotations

from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import ContentSwitcher, Static

from agents.events import ItemAnnotated, JobEvent
from screens.commands import Scope, bindings
from screens.context import ScreenContext
from screens.items.views import ItemView
from screens.jobs.line import JobLine
from screens.navigator import Navigator
from screens.queue.asked import Asked
from screens.recording import Undone
from screens.review.bars import ClaimLine, PlaceLine, ReviewKeys, SayLine
from screens.review.end_card import EndCard
from screens.review.items import ItemReader, ReviewOrder
from screens.review.judge_keys import JudgeKeys
from screens.review.judging import Desk, SessionCount, desk_of
from screens.review.reading import ABOVE, COMMENT, FIND, PROMPT, SUBJECT
from screens.review.resuming import restored_order
from screens.review.tabs import CaseTabs
from screens.review.undone import question_of, undone_in_words
from screens.widgets.citing_pane import CitingPane
from screens.widgets.line import Line
from screens.widgets.text_pane import TextPane
from store.errors import WorkbenchError
from store.queries.queue import items_by_kind
from store.queries.standing import StandingChange, change_of
from store.recording import Action
from store.tables.record import Mark

FLAT_BELOW = 14
"""Rows below which a line that is written in has no border."""

LOADING = "Loading …"

TINY_BELOW = 10
"""Rows below which it takes the room of the lines above."""


class ReviewScreen(JudgeKeys):
    """Shows the items of a queue one after another and records what the rater says of them."""

    SCOPE: ClassVar[Scope] = "review"
    CSS_PATH: ClassVar[str] = "review.tcss"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("review"))
    AUTO_FOCUS = f"#{SUBJECT}"
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable of Screen
        (0, "-tiny"),
        (TINY_BELOW, "-flat"),
        (FLAT_BELOW, "-tall"),
    ]

    _undone: tuple[Action, bool, bool] | None = None
    """What was undone last, whether by a redo, and whether it is on disk; None once its item is shown."""

    @classmethod
    def resumed(cls, context: ScreenContext, navigator: Navigator) -> ReviewScreen:
        """Return a review that goes on where a kept session ended, from the first open item without one."""
        screen = cls(context, navigator, [])
        screen._resume_from = context.session.kept or {"item": None}
        return screen

    @property
    def nearest_item(self) -> int | None:
        """The item that is shown, at the end the last one."""
        return self.order.nearest

    # -- layout ---------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Lay out prompt, claim, subject and case; the lines at the foot."""
        yield PlaceLine(id="place")
        yield TextPane(id=PROMPT)
        yield ClaimLine(id="claim")
        yield CaseTabs(id="tabs")
        with Vertical(id="end"):
            yield EndCard()
        with Horizontal(id="body"):
            yield CitingPane(id=SUBJECT)
            with Vertical(id="case"):
                yield Static(id=ABOVE)
                yield ContentSwitcher(id="switcher")
        yield Line(id=FIND, placeholder="find in this pane")
        yield Line(
            id=COMMENT,
            placeholder="comment on this item",
            select_on_focus=False,
        )
        yield SayLine(id="say")
        yield JobLine(self.context)
        yield ReviewKeys(self.SCOPE)

    def on_mount(self) -> None:
        """Read what the session needs, then show the first item."""
        context = self.context
        rater_id = context.rater.id if context.rater else 0
        self._panes.add(SUBJECT, self.query_one(f"#{SUBJECT}", CitingPane))
        self._begin_code(self._panes[SUBJECT])
        self.reader = ItemReader(context.workspace, rater_id, blind=context.settings.blind)
        self.take_session(self.context.session.kept)
        self._say(LOADING)
        self.context.recorder.saved.subscribe(self, self._action_saved, immediate=True)
        self.context.recorder.failed.subscribe(self, self._action_failed, immediate=True)
        self.context.jobs.events.subscribe(self, self._job_event)
        self._prepare()

    @work(thread=True)
    def _prepare(self) -> None:
        """Read the desk, the order and then the counts; the item does not wait for the last of them."""
        context = self.context
        desk, restored, count = None, None, None
        try:
            kinds = tuple(items_by_kind(context.workspace))
            if context.rater is not None:
                desk = desk_of(context.workspace, context.rater.id, blind=context.settings.blind)
            if self._resume_from:
                restored = restored_order(
                    context.workspace,
                    context.rater.id if context.rater else 0,
                    self._resume_from,
                    blind=context.settings.blind,
                )
            self.call_later(self._begin, desk, restored, kinds)
            if context.rater is not None:
                count = SessionCount.read(context.workspace, context.rater, blind=context.settings.blind)
                self.call_later(self._take_count, count)
        except WorkbenchError as error:
            self.call_later(self._not_read, error, self._wanted)

    def _begin(
        self, desk: Desk | None, restored: tuple[Asked, ReviewOrder] | None, kinds: tuple[str, ...]
    ) -> None:
        self.desk, self.kinds_here = desk, kinds
        if restored is not None:
            self.asked, self.order = restored
        if self.query_one(SayLine).said == LOADING:
            # What is said of a key that was refused meanwhile stays.
            self._say(self.reason_still_open)
        self._show_item()

    def _take_count(self, count: SessionCount) -> None:
        self.count = count
        self._lay_out_places()

    # -- what comes back ------------------------------------------------------------------------------

    def _action_saved(self, action: Action) -> None:
        self.reader.forget(action.item_id)
        self._reload(action.item_id)
        if self.order.at_end:
            self.count_end()
        self._follow_count(action)
        self._lay_out_places()

    @work(thread=True)
    def _follow_count(self, action: Action) -> None:
        with self.context.workspace.reading() as connection:
            change = change_of(connection, action)
        self.call_later(self._counted, action.item_id, change)

    def _counted(self, item_id: int, change: StandingChange) -> None:
        if self.count is not None:
            self.count.follow(item_id, change)
            self._lay_out_places()

    def _action_failed(self, action: Action) -> None:
        self._show_claim()
        self._lay_out_places()

    def _job_event(self, event: JobEvent) -> None:
        if isinstance(event, ItemAnnotated):
            self.reader.forget(event.item_id)
            if event.value is not None and not self.context.settings.blind:
                self._reload(event.item_id)

    def _reload(self, item_id: int) -> None:
        """Read an item again where it is the one that was gone to last."""
        if self._wanted is not None and self._wanted.item_id == item_id:
            self._read_item(self._wanted)
        self._show_claim()

    def show_undone(self, undone: Undone) -> None:
        """Go to the item of an undo or redo, and say what stands now."""
        action, redo, stored = undone.action, undone.redo, undone.stored
        for record in action.records:
            if isinstance(record, Mark) and record.kind == "skip":
                if record.active and stored:
                    self.order.put_last(record.item_id)
                else:
                    self.order.take_last_away(record.item_id)
        if self._commented is not None and self._commented.item_id != action.item_id:
            # What is typed meanwhile belongs to the item on the screen.
            self.notify(self._undone_in_words((action, redo, stored), None), markup=False)
            return
        self._remember_places()
        self.order.go_to(action.item_id)
        self.reader.forget(action.item_id)
        self.stop_searching()
        self.keep_citations_of(action, redo=redo)
        self._wanted_question = question_of(action)
        self._undone = (action, redo, stored)
        self._say(self._undone_in_words(self._undone, self.item))
        self._show_item()
        self.keep_place_soon()

    def _undone_in_words(self, undone: tuple[Action, bool, bool], item: ItemView | None) -> str:
        """Return what was undone or redone, with what the question is about where the item is known."""
        (action, redo, stored) = undone
        names, number = self.context.recorder.question_names, question_of(action)
        asks = () if item is None or number is None or item.item_id != action.item_id else item.asks
        # By its key, since names do not tell where those of models are hidden.
        about = next((ask.about for ask in asks if ask.question_id == number), "")
        blind = self.context.settings.blind
        what = undone_in_words(action, names, blind=blind, since=self.context.recorder.began, of=about)
        if not stored:
            return f"Taken back: {what} · it was not on disk yet, and no redo brings it back"
        if redo:
            return f"Brought back: {what} · {self._key('undo')} undo"
        return f"Taken back: {what} · {self._key('redo')} redo"

    def _restore_places(self, view: ItemView) -> None:
        # An item that was not on the screen is known only now; what was said since is left alone.
        undone, self._undone = self._undone, None
        if undone is not None and self.query_one(SayLine).said == self._undone_in_words(undone, None):
            self._say(self._undone_in_words(undone, view))
        super()._restore_places(view)
