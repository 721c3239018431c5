"""The review: one item, the claim beside what is judged, one key a judgment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from uuid import UUID

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, Static

from agents.jobs.events import ItemEnded, JobEvent
from screens.commands import Command, bindings
from screens.context import ScreenContext
from screens.dispatch import Dispatcher, Handler, Handlers
from screens.items.reader import ItemReader
from screens.items.views import ASKED_AGAIN, ItemView
from screens.jobs.job_line import JobLine
from screens.judging.context import Foot, JudgingContext, MessageLine
from screens.judging.controller import JudgingController
from screens.judging.drafts import COMMENT, CommentEditor
from screens.judging.item_loader import ItemLoader
from screens.judging.judgment_builder import IDLE_SECONDS, JudgmentBuilder
from screens.judging.keys import JudgingKeyLine
from screens.judging.order import OrderPlace, ReviewOrder
from screens.judging.paint_guard import PaintGuard
from screens.navigator import Navigator
from screens.queue.query import QueueQuery
from screens.review.bars import CaseTabs, ClaimLine, PlaceLine, ReviewHeader
from screens.review.candidates import CandidateController, CandidateList
from screens.review.citations import Citations, format_citations
from screens.review.comparison import RunComparison
from screens.review.context_files import ContextFiles
from screens.review.copying import TextCopier
from screens.review.end_card import EndCard, EndOfList
from screens.review.item_tests import ItemTests
from screens.review.next_item import next_open, restored_order
from screens.review.panes import ABOVE, PROMPT, SUBJECT, PaneController
from screens.review.practice import Practice, PracticeLines
from screens.review.reference_cover import ReferenceCover
from screens.review.score_line import SCORES, ScoreLine
from screens.review.search import FIND, PaneSearch
from screens.review.session import SessionSaver
from screens.review.sides import Sides
from screens.review.text_revisions import TextRevisions
from screens.session_recorder import UndoResult
from screens.threads import Deliver, in_parts, in_thread
from screens.widgets.line_input import LineInput
from screens.widgets.text.sanitize import one_line
from screens.widgets.text.view import SearchMoved, TextPane
from screens.workbench_screen import WorkbenchScreen
from store.policy.scope import RunRef, Shows
from store.queries.queue import items_by_kind
from store.record.actions import Action
from store.record.evidence import Citation
from store.record.expert_runs import WITHOUT_TEST
from store.studies.session import StudySession

if TYPE_CHECKING:
    from store.queries.rows import Ids

LOADING = "Loading …"

BEING_READ = "The rest of the queue is being read. Press again."

DRAIN_SECONDS = 5.0
"""Seconds to wait for the labels of a sitting to be stored before the next one is opened."""

TINY_BELOW = 10
"""Rows below which a line that is written in takes the room of the lines above."""

TALL_FROM = 20
"""Rows from which the claim has two, and the prompt at least as many."""

_NO_SESSION: Mapping[str, Any] = MappingProxyType({})

NOTE_CELLS = 240
"""Cells of a note with which an item is asked again; the pane has all of it."""


class ReviewScreen(WorkbenchScreen):
    """Shows the items of a queue one after another and records the rater's judgments.

    Args:
        index: The place of the one to begin with.
        query: The query of the queue; all items by default.
        whole: Whether these are all items of the queue; see `complete_order`.
        resume_from: The session that is gone on with, in place of the items given; an empty one for none.
    """

    SCOPE = "review"
    CSS_PATH = "review.tcss"
    BINDINGS = bindings("review")
    AUTO_FOCUS = f"#{SUBJECT}"
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable of Screen
        (0, "-tiny"),
        (TINY_BELOW, "-low"),
        (TALL_FROM, "-tall"),
    ]

    def __init__(
        self,
        context: ScreenContext,
        navigator: Navigator,
        ids: Sequence[int] = (),
        index: int = 0,
        query: QueueQuery | None = None,
        *,
        whole: bool = True,
        resume_from: Mapping[str, Any] = _NO_SESSION,
    ) -> None:
        super().__init__(context, navigator)
        self.order = ReviewOrder(ids, index, whole=whole)
        self._resume_from = resume_from
        self.items = ItemReader(context.workspace, context.scope, context.runs.revealed)
        idle = IDLE_SECONDS if context.study is None else context.study.idle_seconds
        self.guard = PaintGuard(
            self,
            self._shows_item,
            self._painted,
            lambda: self.revisions.awaited,
            idle,
            seen_seconds=context.settings.seen_seconds,
        )
        self.shared = shared = JudgingContext(self, context, self.guard)
        self.panes = PaneController(shared, self._pane_chosen, self._show_chosen)
        self.search = PaneSearch(shared, self.panes)
        self.comments = CommentEditor(shared, self._changed, self.panes.focus_active)
        self.session = SessionSaver(shared, self.order, self.panes, self.comments, query or QueueQuery())
        self.header = ReviewHeader(shared, self.order, lambda: self.session.query)
        self.judging = JudgingController(
            self, shared, self.order, self.comments, lambda cited: format_citations(cited, self.item)
        )
        self.tests = ItemTests(
            shared, self._show_chosen, self.items.forget, self._reload, self._changed, panes=self.panes
        )
        self.citations = Citations(shared, self.panes, self._changed, self.tests.show_execution)
        self.comparison = RunComparison(shared, self.panes, self._show_chosen)
        self.candidates = CandidateController(shared)
        self.cover = ReferenceCover(shared, self._show_chosen, self._changed)
        self.sides = Sides(shared, self.panes, self._show_chosen)
        self.scores = ScoreLine(shared, self.judging, self.panes.focus_active)
        self.revisions = TextRevisions(shared, self.judging, self._changed)
        self.practice = Practice(shared, self.order)
        self.end = EndOfList(shared, self.order, self.header, self._end_not_read)
        self.loader = ItemLoader(
            self, self.guard, self.order, lambda _: self.items, show=self._paint, failed=self._not_read
        )
        self.session.drafts = (
            self.comments.drafts,
            self.citations.drafts,
            self.tests.drafts,
            self.revisions,
            self.cover,
            self.guard.spent,
        )
        owners = (self.judging, self.panes, self.search, self.citations, self.tests, self.comparison)
        others = (
            TextCopier(shared, self.panes),
            ContextFiles(shared, self.panes, navigator),
            self.cover,
            self.sides,
            self.scores,
            self.candidates,
        )
        handlers = (owner.handlers() for owner in (*owners, *others))
        self.dispatcher = Dispatcher(shared, self.judging.judge, self._handlers(), *handlers)

    @classmethod
    def resumed(cls, context: ScreenContext, navigator: Navigator) -> ReviewScreen:
        """Return a review that goes on where a kept session ended, from the first open item without one."""
        return cls(context, navigator, resume_from=context.session.kept or {"item": None})

    @property
    def item(self) -> ItemView | None:
        """The item on the screen."""
        return self.guard.item

    @property
    def nearest_item(self) -> int | None:
        """The item that is shown, at the end the last one."""
        return self.order.nearest

    # -- layout ---------------------------------------------------------------------------------------

    def on_compose(self) -> None:
        """Take the classes of the panes, as of the terminal's size, before there is anything to style."""
        self.panes.update_classes()

    def compose(self) -> ComposeResult:
        """Lay out prompt, claim, subject and case; the lines at the foot."""
        yield PlaceLine(id="place")
        yield TextPane(id=PROMPT)
        yield ClaimLine(id="claim")
        yield CaseTabs(id="tabs")
        with Vertical(id="end"):
            yield EndCard()
        with Horizontal(id="body"):
            yield CandidateList()
            yield TextPane(id=SUBJECT)
            with Vertical(id="case"):
                yield Static(id=ABOVE)
                yield ContentSwitcher(id="switcher")
        if self.practice.is_on:
            yield PracticeLines()
        with Foot():
            yield LineInput(id=FIND, placeholder="find in this pane")
            yield LineInput(id=SCORES, placeholder="7 8 9 9, or 7899; 0 is 10")
            yield LineInput(id=COMMENT, select_on_focus=False)
            yield MessageLine(id="say")
            yield JobLine(self.context)
            yield JudgingKeyLine(self.shared.keys)

    def on_mount(self) -> None:
        """Read what the session needs, then show the first item."""
        context = self.context
        self.panes.begin(self.query_one(f"#{SUBJECT}", TextPane))
        self.session.begin(self._resume_from)
        self.shared.show_message(LOADING)
        context.recorder.saved.subscribe(self, self._action_saved, immediate=True)
        context.recorder.failed.subscribe(self, self._action_failed, immediate=True)
        context.jobs.events.subscribe(self, self._job_event)
        context.tests.ended.subscribe(self, self.tests.ended)
        context.runs.changed.subscribe(self, self._run_changed)
        if not self._resume_from and self.order.item_id is not None:
            # Its error is shown when the item is.
            in_thread(self, partial(self.items.read, self.order.item_id), group="ahead", exclusive=False)
        in_parts(self, self._prepare, self._not_read, group="session")

    def _prepare(self, deliver: Deliver) -> None:
        """Read the builder, the order and the runs."""
        workspace, rater, scope = self.context.workspace, self.context.rater, self.context.scope
        builder, restored = None, None
        kinds, runs = tuple(items_by_kind(workspace, scope)), self.context.runs.read_shown()
        self.context.runs.read_revealed()
        if rater is not None:
            builder = JudgmentBuilder.read(workspace, scope)
        if self._resume_from:
            restored = restored_order(workspace, scope, self._resume_from)
        deliver(self._begin, builder, restored, kinds, runs)

    def _begin(
        self,
        builder: JudgmentBuilder | None,
        restored: tuple[QueueQuery, ReviewOrder] | None,
        kinds: tuple[str, ...],
        runs: Mapping[str, RunRef],
    ) -> None:
        self.judging.builder, self.header.kinds = builder, kinds
        self.context.runs.take(runs)
        if restored is not None:
            self._take_order(*restored)
        if self.shared.message == LOADING:
            # The message on a key refused meanwhile stays.
            self.shared.show_message(self.judging.reasons.missing_reason)
        self.show_item()

    def complete_order(self, ids: Ids) -> None:
        """Go on through the whole queue, of which only the beginning was known when the review was opened.

        What was gone to stays where it is; the others follow in the order of the whole.
        """
        shown = self.guard.on_screen
        places = [self.guard.wanted, None if shown is None else shown.place]
        self.order.complete(ids.tolist(), [place for place in places if place is not None])
        if self.is_mounted:
            self.header.show_place()

    def _take_order(self, query: QueueQuery, order: ReviewOrder) -> None:
        self.session.query = query
        self.order.take(order)

    # -- results -------------------------------------------------------------------------------------

    def _action_saved(self, action: Action) -> None:
        self.items.forget(action.item_id)
        self._reload(action.item_id)
        self.candidates.changed(action.item_id)
        if self.order.at_end:
            self.end.count()
        self.header.follow(action)
        self.header.show_place()
        self.revisions.saved(action)

    def _action_failed(self, action: Action) -> None:
        self.header.show_claim()
        self.header.show_place()

    def _job_event(self, event: JobEvent) -> None:
        if isinstance(event, ItemEnded):
            self.items.forget(event.item_id, event.run_id)
            self.comparison.forget(event.item_id)
            is_shown = self.context.scope.may(Shows.AGENTS) or (self.item is not None and not self.item.blind)
            if event.outcomes and is_shown:
                self._reload(event.item_id)

    def _run_changed(self, relabelled: bool) -> None:
        """Read the item again where another run is shown than before, and show which."""
        if relabelled:
            self.items.look_as(self.context.scope)
            self.comparison.forget()
            self.loader.read()
        self.header.show_place()

    def _reload(self, item_id: int) -> None:
        """Read an item again where it is the one that was gone to last."""
        self.loader.read(item_id)
        self.header.show_claim()

    def show_undo_result(self, undone: UndoResult) -> None:
        """Go to the item of an undo or redo, and show what is recorded now."""
        self.judging.show_undo_result(undone)

    def show_notice(self, text: str, *, alarm: bool = False) -> None:
        """Show a notice of the app in the message line."""
        self.shared.show_notice(text, alarm=alarm)

    # -- showing --------------------------------------------------------------------------------------

    def show_item(self) -> None:
        """Show the item at the order's place."""
        place = self.guard.wanted = self.order.place
        self.set_class(self.order.at_end, "-end")
        if self.order.at_end:
            self._show_end()
        elif place is None:
            self._show_nothing("No items here.", f"No items here. {self.shared.key('back')} goes back.")
        else:
            self.loader.show()

    def _paint(self, view: ItemView, place: OrderPlace) -> None:
        """Put the item of a place onto the screen."""
        before = self.guard.item_at(place)
        view = self._as_chosen(self.judging.with_unsaved(view, before))
        if not (self.context.scope.may(Shows.AGENTS) or view.blind):
            self.context.runs.reveal(view.item_id)
        self.guard.put(view, place)
        with self.app.batch_update():
            self.panes.fill(view)
            if before is None or not before.current.is_same_as(view.current):
                self.panes.show_question_pane(view)
            if before is None:
                self._arrive(view)
            self.panes.show_active()
            self.header.show_place()
            self.header.show_claim()
        if self.guard.follow(before):
            if before is not None and before.blind and not view.blind:
                self.shared.append_message("now shown: ◆ and other raters")
                return
            come = "◆ The agents' label has just arrived." if view.claim else "◆ The agents' label is gone."
            self.shared.show_message(come)

    def _arrive(self, view: ItemView) -> None:
        """Restore the places of an item that has just come, and mention its drafts."""
        self.candidates.follow()
        self.sides.scroll_together()
        self.practice.arrive(view)
        self.judging.complete_undo_message(view)
        self.panes.by_id.end_cursors()
        for part in view.case:
            if part.id == ASKED_AGAIN:
                said = " · ".join(part.text.split("\n\n"))
                self.shared.append_message(f"Asked again: {one_line(said, NOTE_CELLS)}")
        places = self.session.places_of(view)
        self.comments.mention_draft(view.item_id)
        self.panes.by_id.restore(places)
        self.citations.mention_draft(view.item_id)
        self.tests.mention_draft(view)
        self.revisions.mention_draft(view)

    def _as_chosen(self, view: ItemView) -> ItemView:
        """Return an item with the runs, the sides and the citations that the rater chose."""
        plain = self.sides.as_chosen(self.cover.as_chosen(view.with_beside(None)))
        plain = self.panes.with_swapped(self.tests.as_chosen(plain))
        return self.citations.marked(self.comparison.as_chosen(plain))

    def _show_chosen(self, view: ItemView) -> None:
        """Show the item on the screen with what was chosen."""
        view = self._as_chosen(view)
        self.guard.show_as(view)
        with self.app.batch_update():
            self.panes.fill(view)
            self.panes.show_active()
            self.header.show_claim()
        self.panes.by_id.fill()

    def ask_question(self, place: int) -> None:
        """Ask another question of the item shown; no key answers it before it is on the screen."""
        item = self.guard.item
        if item is None or not self.guard.is_painted:
            return
        view = self.citations.marked(item.at_question(place))
        self.guard.show_question(view)
        with self.app.batch_update():
            self.panes.fill(view)
            self.panes.show_question_pane(view)
            self.panes.show_active()
            self.header.show_claim()
        self.guard.notify_when_painted()

    @property
    def pane_in_use(self) -> str:
        """The id of the pane that is looked at, of two side by side that of the case."""
        return self.panes.active if self.panes.narrow else self.panes.shown_in_case

    def _pane_chosen(self, _: str) -> None:
        self.comparison.follow()

    def _shows_item(self) -> list[Widget]:
        """Return the widgets that show the item and its question."""
        lines = [self.query_one(kind) for kind in (PlaceLine, ClaimLine, JudgingKeyLine)]
        return [*lines, self.panes.prompt, self.query_one("#body")]

    def _painted(self) -> None:
        self.context.workspace.lane.go_on()
        # The first item does not wait for the counts.
        self.header.begin_counting()
        self.panes.by_id.fill()
        self.loader.read_ahead()

    def on_screen_suspend(self) -> None:
        """Take nothing for seen while another screen covers this one."""
        self.guard.suspended()

    def on_screen_resume(self) -> None:
        """Take keys again once the item is on the terminal again."""
        self.guard.resumed()

    # -- in place of an item --------------------------------------------------------------------------

    def _show_end(self) -> None:
        """Show that the list is at its end: what is done, and what is next."""
        message, choices = self.shared.message, self.shared.choices
        self._show_nothing("", "")
        # The message on what was just recorded stays, with the reasons that it may be given.
        self.shared.show_message(message, choices=choices)
        self.practice.end()
        self.end.show()

    def _not_read(self, error: Exception) -> None:
        message = f"! This item could not be read: {one_line(str(error), 400)}"
        on, back = self.shared.key("next"), self.shared.key("back")
        untouched = "Your judgments are safe."
        self._show_nothing(message, f"{untouched} {on} goes on, {back} goes back.")

    def _end_not_read(self, error: Exception) -> None:
        if self.guard.wanted is None:
            self._not_read(error)

    def _show_nothing(self, in_pane: str, message: str) -> None:
        """Show a sentence in place of an item."""
        self.guard.show_no_item()
        self.header.begin_counting()
        self.panes.empty(in_pane)
        self.header.show_place()
        self.header.show_claim()
        self.shared.show_message(message)

    # -- for the judging controller ------------------------------------------------------------------

    def evidence(self) -> tuple[tuple[Citation, ...], UUID | None]:
        """Return the lines that the next label cites, and the execution that was shown when the key came."""
        return self.citations.cited, self.tests.execution_on_screen

    def without_test(self, item: ItemView, value: float) -> tuple[str, str]:
        """Return the question before a label without an own test, and that label's reason; empty for none."""
        return self.tests.ask_without(item, value), WITHOUT_TEST if item.lacks_own_test else ""

    def show_recorded(self, action: Action) -> None:
        """Show what an action makes of the item on the screen."""
        self.citations.recorded(action)
        self.practice.recorded(action)
        self.header.show_claim()

    def go_on(self) -> None:
        """Go to the next item."""
        self._go(1)

    def leave_for(self, undone: UndoResult) -> None:
        """Leave the item on the screen for that of an undo or redo."""
        self.session.remember()
        self.items.forget(undone.action.item_id)
        self.practice.forget()
        self.search.stop()
        self.scores.close()
        self.citations.keep_undone(undone.action, redo=undone.redo)
        self._changed()

    def _changed(self) -> None:
        self.session.keep_soon()

    def keep_place(self) -> None:
        """Store item, scroll places and drafts for the next session."""
        self.session.keep()

    # -- going through the items ----------------------------------------------------------------------

    def _go(self, offset: int) -> bool:
        self.session.remember()
        if not self.order.move(offset):
            return False
        self._show_other()
        return True

    def _show_other(self) -> None:
        """Show another item, and close what was open on the one before."""
        self.comments.keep_draft()
        self.scores.close()
        self.search.stop()
        self.show_item()
        self._changed()

    def _go_next(self) -> None:
        """Go to the next match of a search, otherwise to the next item."""
        if self.search.is_open:
            self.search.next_match()
        else:
            self._step(1, "This is the end of the list.")

    @on(CandidateList.Chosen)
    def _candidate_chosen(self, message: CandidateList.Chosen) -> None:
        self.judging.reasons.drop()
        self.shared.show_message("")
        self.session.remember()
        self.order.go_to(message.item_id)
        self._show_other()

    def _step(self, offset: int, at_the_end: str) -> None:
        self.judging.reasons.drop()
        self.shared.show_message("")
        if not self._go(offset):
            self.shared.show_message(at_the_end if self.order.whole or offset < 0 else BEING_READ)

    def _go_to_next_open(self) -> None:
        """Go to the next item of the queue that has neither a label nor a "cannot decide"."""
        self.judging.reasons.drop()
        self.shared.show_message("")
        if not self.order.whole:
            self.shared.show_message(BEING_READ)
        elif self.order.ids:
            find = partial(self._find_open, self.order.ids, self.order.index)
            in_parts(self, find, self.context.notices.report_error, group="open")

    def _find_open(self, ids: list[int], index: int, deliver: Deliver) -> None:
        workspace, scope = self.context.workspace, self.context.scope
        unsaved = {action.item_id for action in list(self.context.recorder.unsaved.values())}
        found = next_open(workspace, scope, ids, index, unsaved=unsaved)
        if found is not None or index < len(ids):
            deliver(self._go_to_open, found, index)
            return
        if self.context.study is not None:
            # What is on its way to the disk is counted, too.
            workspace.lane.drain(DRAIN_SECONDS)
            session = self.context.study.read()
            if session.finished or session.sitting != self.context.study.session.sitting:
                deliver(self._go_to_sitting, session)
                return
        # Nothing of this list is left: the review goes on with all items.
        query, order = restored_order(workspace, scope, {})
        deliver(self._go_on_elsewhere, query, order)

    def _go_to_sitting(self, session: StudySession) -> None:
        if not self.order.at_end or self.comments.item is not None:
            return
        if session.finished:
            self.shared.show_message("The study is finished: every item has your label.")
            return
        self.navigator.open_sitting(session)
        self.navigator.resume()

    def _go_on_elsewhere(self, query: QueueQuery, order: ReviewOrder) -> None:
        if not self.order.at_end or self.comments.item is not None:
            return
        if order.item_id in self.order.ids:
            where = "this workspace" if self.context.study is None else "the study"
            self.shared.show_message(f"Every item of {where} has your label.")
            return
        self._take_order(query, order)
        self.shared.show_message("All items are listed again.")
        self.show_item()
        self._changed()

    def _go_to_open(self, found: int | None, index: int) -> None:
        if self.comments.item is not None:
            # Text typed meanwhile belongs to the item on the screen.
            return
        if found is None:
            self._go(len(self.order.ids) - self.order.index)
        elif index == self.order.index:
            again = found < index
            self._go(found - index)
            if again:
                self.shared.show_message("Started again from the top of the queue.")

    def _end_what_is_open(self) -> bool:
        """End a question, a search or the choosing of lines, or close a line; return whether one was open."""
        if self.revisions.end() or self.scores.close() or self.comments.keep_draft() or self.search.end():
            return True
        if self.panes.by_id.end_cursors():
            self.shared.show_message("")
            return True
        return False

    def end_what_is_open(self) -> bool:
        """End what was asked or begun on the item, the question for a reason too."""
        if self._end_what_is_open():
            return True
        if self.judging.reasons.asked is None:
            return False
        self.judging.reasons.leave()
        return True

    def action_close_line(self) -> None:
        """Close the line that is written in: a comment stays as a draft, a search ends."""
        self._end_what_is_open()

    def _go_back(self) -> None:
        """End a search or a question that is open; otherwise go back to where the review was opened."""
        if self._end_what_is_open():
            return
        pressed = self.context.last_key.name
        if self.judging.reasons.ends_with(pressed):
            self.judging.reasons.leave()
        elif pressed == "escape" and (self.practice.is_on or self.order.item_id is not None):
            # On a slow line an arrow key can begin with a lone Escape, which must not take the item away.
            self.shared.show_message(f"Nothing to end here; {self.shared.key('back')} goes back.")
        elif self.practice.is_on:
            self.navigator.begin_work()
        else:
            self.keep_place()
            self.dismiss()

    # -- keys -----------------------------------------------------------------------------------------

    def _toggle_reveal(self) -> None:
        """Reveal items once they are answered, or no further ones; what was shown stays so."""
        scope, runs = self.context.scope, self.context.runs
        if self.context.study is not None:
            self.shared.show_message("The study decides what is shown.")
        elif scope.may(Shows.AGENTS):
            self.shared.show_message("This review is not blind: everything is shown.")
        else:
            runs.reveals = not runs.reveals
            self.items.look_as(self.context.scope)
            self.loader.read()
            self.header.show_place()
            on = "The agents' label is revealed after your answer."
            off = "No more items are revealed; those revealed stay so."
            self.shared.show_message(on if runs.reveals else off)

    def _handlers(self) -> Handlers:
        def can_go_on() -> bool:
            return bool(self.order.ids) and not self.order.at_end

        def may_have_open() -> bool:
            return bool(self.order.ids) or not self.guard.is_bare

        return {
            "review.next": Handler(self._go_next, can_go_on),
            "review.previous": Handler(
                lambda: self._step(-1, "This is the first item."), lambda: self.order.at(-1) is not None
            ),
            "review.unjudged": Handler(self._go_to_next_open, may_have_open),
            "review.back": Handler(self._go_back),
            "review.reveal": Handler(self._toggle_reveal, lambda: not self.context.scope.may(Shows.AGENTS)),
            "review.edit": Handler(
                lambda: self._editor().edit(), self._can_edit, of_item=True, label=self._what_edit_does
            ),
            "review.edit_outside": Handler(lambda: self._editor().edit_outside(), self._can_edit),
            "review.code_search": Handler(self._search_code, lambda: self.context.scope.may(Shows.WHOLE)),
        }

    def _search_code(self) -> None:
        """Search a repository for the query on the screen."""
        self.navigator.open_search("" if self.item is None else self.item.prompt)

    def _editor(self) -> ItemTests | TextRevisions:
        """Return what edits the item shown: a text of it where it has one, otherwise its test."""
        return self.revisions if self.item is not None and self.item.editable else self.tests

    def _can_edit(self) -> bool:
        item = self.item
        if item is None:
            return True
        return bool(item.has_test or item.first_test or item.editable) and self.context.rater is not None

    def _what_edit_does(self, command: Command) -> str:
        if self.item is None:
            return command.label
        return "edit" if self.item.editable else command.label if self.item.has_test else "write a test"

    def action_dispatch(self, command_id: str) -> None:
        """Do what a command of the review does; at the end of a practice two of them begin the real work."""
        if self.practice.is_over and command_id in ("review.follow", "review.unjudged"):
            self.navigator.begin_work()
        else:
            super().action_dispatch(command_id)

    def on_key(self, event: events.Key) -> None:
        """Take the code of what is asked at the foot."""
        self.guard.watch.touch()
        if not self.shared.is_writing and (
            self.judging.reasons.take_key(event) or self.revisions.take_key(event)
        ):
            event.stop()
            event.prevent_default()

    # -- messages of widgets --------------------------------------------------------------------------

    @on(Input.Changed)
    def _line_changed(self, event: Input.Changed) -> None:
        event.stop()
        edited: dict[str, Callable[[str], object]] = {
            COMMENT: lambda _: self.comments.edited(),
            SCORES: self.scores.edited,
            FIND: self.search.edited,
        }
        edited[str(event.input.id)](event.value)

    @on(Input.Submitted)
    def _line_given(self, event: Input.Submitted) -> None:
        event.stop()
        given = {COMMENT: self.judging.comment_given, SCORES: self.scores.given, FIND: self.search.given}
        given[str(event.input.id)](event.value)

    @on(SearchMoved)
    def _search_moved(self, message: SearchMoved) -> None:
        message.stop()
        self.search.moved()

    @on(CaseTabs.Chosen)
    def _tab_chosen(self, message: CaseTabs.Chosen) -> None:
        self.panes.show_pane(message.pane_id)

    def on_resize(self, event: events.Resize) -> None:
        """Lay the tabs out for another size."""
        if self.is_mounted:
            self.panes.resized()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Take a pane that was clicked for the active one; a text line that was left is closed."""
        widget = event.widget
        self.set_class(isinstance(widget, Input), "-writing")
        if isinstance(widget, TextPane):
            self.comments.keep_draft(focus=False)
            self.scores.close(focus=False)
            self.search.close_line()
            self.panes.focused(widget)
