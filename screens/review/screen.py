"""The review: one item, the claim beside what is judged, one key a judgment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar
from uuid import UUID

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, Static

from agents.jobs.events import ItemEnded, JobEvent
from screens.commands import Command, Scope, bindings
from screens.context import ScreenContext
from screens.covering import CoveredScreen
from screens.dispatch import Dispatcher, Handler, Handlers
from screens.items.reader import ItemReader
from screens.items.views import ItemView
from screens.jobs.line import JobLine
from screens.judging.comments import COMMENT, Comments
from screens.judging.controller import Judging
from screens.judging.desk import Desk, SessionCount, desk_of
from screens.judging.key_line import JudgingKeys
from screens.judging.keys import ScaleKeys
from screens.judging.order import OrderPlace, ReviewOrder
from screens.judging.painted import PaintGuard
from screens.judging.parts import ScreenParts
from screens.judging.saying import Saying, SayLine
from screens.navigator import Navigator
from screens.queue.asked import Asked
from screens.recording import Undone
from screens.review.bars import ClaimLine, PlaceLine, SaveState
from screens.review.citing import Citing, in_words
from screens.review.copying import TextCopier
from screens.review.editing import TestEditing
from screens.review.end_card import EndCard, EndOfList
from screens.review.keeping import PlaceKeeper
from screens.review.moving import next_open
from screens.review.reading import ABOVE, PROMPT, SUBJECT, PaneReader
from screens.review.resuming import restored_order
from screens.review.revising import TextRevising
from screens.review.search import FIND, PaneSearch
from screens.review.sides import Sides
from screens.review.tabs import CaseTabs
from screens.review.test_runs import TestRuns
from screens.test_runner import TestEnded
from screens.widgets.line import Line
from screens.widgets.text.sanitize import one_line
from screens.widgets.text.view import SearchMoved, TextPane
from store.errors import WorkbenchError
from store.evidence import Citation
from store.kinds.protocol import task_kinds
from store.queries.progress_delta import ProgressDelta, progress_delta
from store.queries.queue import items_by_kind
from store.queries.rows import QueueFilter
from store.recording import Action
from store.scales import Scale

FLAT_BELOW = 14
"""Rows below which a line that is written in has no border."""

LOADING = "Loading …"

TINY_BELOW = 10
"""Rows below which it takes the room of the lines above."""

_NO_SESSION: Mapping[str, Any] = MappingProxyType({})


class ReviewScreen(CoveredScreen):
    """Shows the items of a queue one after another and records what the rater says of them.

    Args:
        context: What it works with.
        navigator: Opens other screens.
        ids: The items in their order.
        index: The place of the one to begin with.
        asked: Which queue it is; all items by default.
        resume_from: The session that is gone on with, in place of the items given; an empty one for none.

    Attributes:
        order: The items, and which of them is shown.
        guard: Knows which item is on the screen.
        count: How far the rater is; None before it is read.
        judging: Records what the keys say.
    """

    SCOPE: ClassVar[Scope] = "review"
    CSS_PATH: ClassVar[str] = "review.tcss"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("review"))
    AUTO_FOCUS = f"#{SUBJECT}"
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable of Screen
        (0, "-tiny"),
        (TINY_BELOW, "-flat"),
        (FLAT_BELOW, "-tall"),
    ]

    def __init__(
        self,
        context: ScreenContext,
        navigator: Navigator,
        ids: Sequence[int] = (),
        index: int = 0,
        asked: Asked | None = None,
        *,
        resume_from: Mapping[str, Any] = _NO_SESSION,
    ) -> None:
        super().__init__(context, navigator)
        self.order = ReviewOrder(ids, index)
        self.count: SessionCount | None = None
        # The kinds of the workspace's items; none before they are read.
        self._kinds_here: tuple[str, ...] = ()
        self._resume_from = resume_from
        self.items = ItemReader(context.workspace, context.scope)
        self.guard = PaintGuard(self, self._shows_item, self._painted, lambda: self.revising.awaited)
        self.saying = Saying(self)
        self.keys = ScaleKeys(context.settings, lambda: self.guard.item)
        self.parts = parts = ScreenParts(self, context, self.guard, self.keys, self.saying)
        self.reading = PaneReader(parts, self._pane_chosen)
        self.search = PaneSearch(parts, self.reading)
        self.comments = Comments(parts, self._changed, self.reading.focus_active)
        self.keeper = PlaceKeeper(parts, self.order, self.reading, self.comments, asked or Asked())
        self.judging = Judging(self, parts, self.order, self.comments, in_words)
        self.runs = TestRuns(parts, self._show_chosen, self.items.forget, self._reload)
        self.sides = Sides(parts, self.reading, self._show_chosen)
        self.citing = Citing(parts, self.reading, self._changed, self.runs.bring_out)
        self.editing = TestEditing(parts, self.runs, self._changed)
        self.revising = TextRevising(parts, self.judging, self._changed)
        self.end = EndOfList(
            parts,
            self.order,
            lambda: " · ".join(self._listed()),
            lambda error: self._not_read(error, None),
        )
        self.keeper.drafts = (
            self.comments.drafts,
            self.citing.drafts,
            self.editing.drafts,
            self.revising,
        )
        owners = (self.judging, self.reading, self.search, self.citing, self.runs, self.sides)
        copier = TextCopier(parts, self.reading)
        handlers = (owner.handlers() for owner in (*owners, copier))
        self.dispatcher = Dispatcher(parts, self.judging.judge, self._handlers(), *handlers)

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

    def compose(self) -> ComposeResult:
        """Lay out prompt, claim, subject and case; the lines at the foot."""
        yield PlaceLine(id="place")
        yield TextPane(id=PROMPT)
        yield ClaimLine(id="claim")
        yield CaseTabs(id="tabs")
        with Vertical(id="end"):
            yield EndCard()
        with Horizontal(id="body"):
            yield TextPane(id=SUBJECT)
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
        yield JudgingKeys(self.parts, self.SCOPE)

    def on_mount(self) -> None:
        """Read what the session needs, then show the first item."""
        context = self.context
        self.reading.begin(self.query_one(f"#{SUBJECT}", TextPane))
        self.keeper.begin(self._resume_from)
        self.saying.say(LOADING)
        context.recorder.saved.subscribe(self, self._action_saved, immediate=True)
        context.recorder.failed.subscribe(self, self._action_failed, immediate=True)
        context.jobs.events.subscribe(self, self._job_event)
        context.tests.ended.subscribe(self, self._test_ended)
        self._prepare()

    @work(thread=True)
    def _prepare(self) -> None:
        """Read the desk, the order and then the counts; the item does not wait for the last of them."""
        workspace, rater, scope = self.context.workspace, self.context.rater, self.context.scope
        desk, restored, count = None, None, None
        try:
            kinds = tuple(items_by_kind(workspace))
            if rater is not None:
                desk = desk_of(workspace, scope)
            if self._resume_from:
                restored = restored_order(workspace, scope, self._resume_from)
            self.call_later(self._begin, desk, restored, kinds)
            if rater is not None:
                count = SessionCount.read(workspace, scope)
                self.call_later(self._take_count, count)
        except WorkbenchError as error:
            self.call_later(self._not_read, error, self.guard.wanted)

    def _begin(
        self, desk: Desk | None, restored: tuple[Asked, ReviewOrder] | None, kinds: tuple[str, ...]
    ) -> None:
        self.judging.desk, self._kinds_here = desk, kinds
        if restored is not None:
            self._take_order(*restored)
        if self.saying.said == LOADING:
            # What is said of a key that was refused meanwhile stays.
            self.saying.say(self.judging.reasons.still_open)
        self.show_item()

    def _take_order(self, asked: Asked, order: ReviewOrder) -> None:
        self.keeper.asked = asked
        self.order.take(order)

    def _take_count(self, count: SessionCount) -> None:
        self.count = count
        self._lay_out_places()

    # -- what comes back ------------------------------------------------------------------------------

    def _action_saved(self, action: Action) -> None:
        self.items.forget(action.item_id)
        self._reload(action.item_id)
        if self.order.at_end:
            self.end.count()
        self._follow_count(action)
        self._lay_out_places()
        self.revising.saved(action)

    @work(thread=True)
    def _follow_count(self, action: Action) -> None:
        with self.context.workspace.reading() as connection:
            change = progress_delta(connection, action)
        self.call_later(self._counted, action.item_id, change)

    def _counted(self, item_id: int, change: ProgressDelta) -> None:
        if self.count is not None:
            self.count.follow(item_id, change)
            self._lay_out_places()

    def _action_failed(self, action: Action) -> None:
        self._show_claim()
        self._lay_out_places()

    def _job_event(self, event: JobEvent) -> None:
        if isinstance(event, ItemEnded):
            self.items.forget(event.item_id)
            if event.outcomes and not self.context.scope.blind:
                self._reload(event.item_id)

    def _test_ended(self, test: TestEnded) -> None:
        self.runs.ended(test)
        self.editing.ended(test)

    def _reload(self, item_id: int) -> None:
        """Read an item again where it is the one that was gone to last."""
        wanted = self.guard.wanted
        if wanted is not None and wanted.item_id == item_id:
            self._read_item(wanted)
        self._show_claim()

    def show_undone(self, undone: Undone) -> None:
        """Go to the item of an undo or redo, and say what is recorded now."""
        self.judging.show_undone(undone)

    def tell(self, text: str, *, alarm: bool = False) -> None:
        """Say what the app has to say, in the line that covers nothing."""
        self.saying.tell(text, alarm=alarm)

    # -- showing --------------------------------------------------------------------------------------

    def show_item(self) -> None:
        """Show the item at the order's place: from what was read ahead, or as soon as it is read."""
        place = self.guard.wanted = self.order.place
        self.set_class(self.order.at_end, "-end")
        if self.order.at_end:
            self._show_end()
        elif place is None:
            self._show_nothing("No items here.", f"No items here. {self.keys.named('back')} goes back.")
        elif (kept := self.items.kept(place.item_id)) is not None:
            self._paint(kept, place)
        else:
            self._read_item(place)

    @work(thread=True)
    def _read_item(self, place: OrderPlace) -> None:
        try:
            view = self.items.read(place.item_id)
        except WorkbenchError as error:
            self.call_later(self._not_read, error, place)
            return
        self.call_later(self._paint, view, place)

    @work(thread=True, group="ahead")
    def _read_ahead(self, ids: tuple[int, ...]) -> None:
        for item_id in ids:
            if self.items.kept(item_id) is None:
                try:
                    self.items.read(item_id)
                except WorkbenchError:
                    # What is wrong with it is said when it is its turn to be shown.
                    return

    def _paint(self, view: ItemView, place: OrderPlace) -> None:
        """Put the item of a place onto the screen, unless the review has gone to another one."""
        if place is not self.guard.wanted:
            return
        before = self.guard.item_at(place)
        view = self._as_chosen(self.judging.as_known(view, before))
        self.guard.put(view, place)
        with self.app.batch_update():
            self.reading.prompt.load(
                view.prompt, kind="reply", title=f"{view.prompt_word or view.kind} · {view.external_id}"
            )
            self.reading.fill(view)
            if before is None or not before.ask.is_asked_as(view.ask):
                self.reading.bring_out_asked(view)
            if before is None:
                self._arrive(view)
            self.reading.show_active()
            self._lay_out_places()
            self._show_claim()
        if self.guard.follow(before):
            come = "◆ The agents' label has just come." if view.claim else "◆ The agents' label is gone."
            self.saying.say(come)

    def _arrive(self, view: ItemView) -> None:
        """Go to where the rater was on an item that has just come, and say what was begun on it."""
        self.judging.has_arrived(view)
        self.reading.panes.end_cursors()
        places = self.keeper.places_of(view)
        self.comments.say_kept(view.item_id)
        self.reading.panes.restore(places)
        self.citing.say_kept(view.item_id)
        self.editing.say_kept(view.item_id)
        self.revising.say_kept(view)

    def _as_chosen(self, view: ItemView) -> ItemView:
        """Return an item with the run, the sides and the citations that the rater chose."""
        return self.citing.marked(self.sides.as_chosen(self.runs.as_chosen(view)))

    def _show_chosen(self, view: ItemView) -> None:
        """Show the item on the screen with what was chosen."""
        view = self._as_chosen(view)
        self.guard.show_as(view)
        with self.app.batch_update():
            self.reading.fill(view)
            self.reading.show_active()
        self.reading.panes.fill()

    def ask(self, place: int) -> None:
        """Ask another question of the item shown; no key answers it before it is on the screen."""
        item = self.guard.item
        if item is None or not self.guard.is_painted:
            return
        view = self.citing.marked(item.asked_at(place))
        self.guard.ask(view)
        with self.app.batch_update():
            self.reading.fill(view)
            self.reading.bring_out_asked(view)
            self.reading.show_active()
            self._show_claim()
        self.guard.tell_when_painted()

    def _pane_chosen(self, pane_id: str) -> None:
        item = self.guard.item
        if item is not None and item.beside != pane_id:
            self.judging.ask_about(pane_id)

    def _shows_item(self) -> list[Widget]:
        """Return the widgets that show the item and its question."""
        lines = [self.query_one(kind) for kind in (PlaceLine, ClaimLine, JudgingKeys)]
        return [*lines, self.reading.prompt, self.query_one("#body")]

    def _painted(self) -> None:
        self.context.workspace.lane.go_on()
        self.reading.panes.fill()
        ahead = tuple(number for number in (self.order.at(1), self.order.at(2), self.order.at(-1)) if number)
        if any(self.items.kept(number) is None for number in ahead):
            self._read_ahead(ahead)

    def on_screen_suspend(self) -> None:
        """Take nothing for seen while another screen covers this one."""
        self.guard.suspended()

    def on_screen_resume(self) -> None:
        """Take keys again once the item is on the terminal again."""
        self.guard.resumed()

    # -- in place of an item --------------------------------------------------------------------------

    def _show_end(self) -> None:
        """Show that the list is at its end: what is done, and what is next."""
        said, choices = self.saying.said, self.saying.choices
        self._show_nothing("", "")
        # What was just recorded is still told, with the reasons that it may be given.
        self.saying.say(said, choices=choices)
        self.end.show()

    def _not_read(self, error: Exception, place: OrderPlace | None) -> None:
        if place is self.guard.wanted:
            said = f"! This item could not be read: {one_line(str(error), 400)}"
            on, back = self.keys.named("next"), self.keys.named("back")
            untouched = "Your judgments are not touched by this."
            self._show_nothing(said, f"{untouched} {on} goes on, {back} goes back.")

    def _show_nothing(self, in_pane: str, said: str) -> None:
        """Show a sentence in place of an item."""
        self.guard.put_nothing()
        self.reading.empty(in_pane)
        self._lay_out_places()
        self._show_claim()
        self.saying.say(said)

    # -- the lines above ------------------------------------------------------------------------------

    def _lay_out_places(self) -> None:
        context, blind = self.context, self.context.scope.blind
        number, *filtered = self._listed()
        shown = self.guard.on_screen
        here = shown.place if shown is not None else self.guard.wanted
        if here is not None:
            number += f", {here.number:,} of {here.total:,}{' · again' if here.again else ''}"
        elif self.order.at_end:
            number += f", end of {self.order.total:,}"
        place = " · ".join([f" {one_line(context.workspace.path.name, 40)} › {number}", *filtered])
        rater = one_line(context.rater.name, 24) if context.rater else "nobody (--rater NAME)"
        waiting = len(context.recorder.failures)
        failed = f"! {waiting:,} not saved · " if waiting else ""
        whole = not self._kinds_here or self.keeper.asked.wanted == QueueFilter()
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
        wanted = self.keeper.asked.wanted
        kinds = (wanted.kind,) if wanted.kind else self._kinds_here
        name = task_kinds()[kinds[0]].plural if len(kinds) == 1 and kinds[0] in task_kinds() else "items"
        further = replace(wanted, kind=None)
        return [name] if further == QueueFilter() else [name, further.sentence(kinds, kinds)]

    def _show_claim(self) -> None:
        item, recorder = self.guard.item, self.context.recorder
        state: SaveState = "none"
        if item is not None and (waiting := recorder.waiting(item.item_id)):
            is_failing = any(each.records[0].id in recorder.failures for each in waiting)
            state = "failed" if is_failing else "saving"
        self.query_one(ClaimLine).show(item, state, blind=item.blind if item else self.context.scope.blind)
        self.query_one(JudgingKeys).keep_up()

    # -- what the judging asks of the screen ----------------------------------------------------------

    def evidence(self) -> tuple[tuple[Citation, ...], UUID | None]:
        """Return the lines that the next label cites, and the execution that was shown when the key came."""
        return self.citing.citations, self.runs.execution_on_screen

    def show_recorded(self, action: Action) -> None:
        """Show what an action makes of the item on the screen."""
        self.citing.recorded(action)
        self._show_claim()

    def go_on(self) -> None:
        """Go to the next item."""
        self._go(1)

    def leave_for(self, undone: Undone) -> None:
        """Leave the item on the screen for that of an undo or redo."""
        self.keeper.remember()
        self.items.forget(undone.action.item_id)
        self.search.stop()
        self.citing.keep_of(undone.action, redo=undone.redo)
        self._changed()

    def _changed(self) -> None:
        self.keeper.keep_soon()

    def keep_place(self) -> None:
        """Store item, scroll places and drafts for the next session."""
        self.keeper.keep()

    # -- going through the items ----------------------------------------------------------------------

    def _go(self, offset: int) -> bool:
        self.keeper.remember()
        if not self.order.move(offset):
            return False
        self.comments.keep_draft()
        self.search.stop()
        self.show_item()
        self._changed()
        return True

    def _go_next(self) -> None:
        """Go to the next match of a search, otherwise to the next item."""
        if self.search.is_open:
            self.search.next_match()
        else:
            self._step(1, "This is the end of the list.")

    def _step(self, offset: int, at_the_end: str) -> None:
        self.judging.reasons.drop()
        self.saying.say("")
        if not self._go(offset):
            self.saying.say(at_the_end)

    def _go_to_next_open(self) -> None:
        """Go to the next item of the queue that has neither a label nor a "cannot decide"."""
        self.judging.reasons.drop()
        self.saying.say("")
        if self.order.ids:
            self._find_open(self.order.ids, self.order.index)

    @work(thread=True, exclusive=True, group="open")
    def _find_open(self, ids: list[int], index: int) -> None:
        workspace, scope = self.context.workspace, self.context.scope
        unsaved = {action.item_id for action in list(self.context.recorder.unsaved.values())}
        found = next_open(workspace, scope, ids, index, unsaved=unsaved)
        if found is not None or index < len(ids):
            self.call_later(self._go_to_open, found, index)
            return
        # Nothing of this list is left: the review goes on with all items.
        asked, order = restored_order(workspace, scope, {})
        self.call_later(self._go_on_elsewhere, asked, order)

    def _go_on_elsewhere(self, asked: Asked, order: ReviewOrder) -> None:
        if not self.order.at_end or self.comments.item is not None:
            return
        if order.item_id in self.order.ids:
            self.saying.say("Every item of this workspace has your label.")
            return
        self._take_order(asked, order)
        self.saying.say("All items are listed again.")
        self.show_item()
        self._changed()

    def _go_to_open(self, found: int | None, index: int) -> None:
        if self.comments.item is not None:
            # What is typed meanwhile belongs to the item on the screen.
            return
        if found is None:
            self._go(len(self.order.ids) - self.order.index)
        elif index == self.order.index:
            again = found < index
            self._go(found - index)
            if again:
                self.saying.say("Started again from the top of the queue.")

    def _end_what_is_open(self) -> bool:
        """End a question, a search or the choosing of lines, or close a line; return whether one was open."""
        if self.revising.end() or self.comments.keep_draft() or self.search.end():
            return True
        if self.reading.panes.end_cursors():
            self.saying.say("")
            return True
        return False

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
        elif pressed == "escape":
            # On a slow line an arrow key can begin with a lone Escape, which must not throw the rater out.
            self.saying.say(f"Nothing to end here; {self.keys.named('back')} goes back.")
        else:
            self.keep_place()
            self.dismiss()

    # -- keys -----------------------------------------------------------------------------------------

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
            "review.edit": Handler(
                lambda: self._editor().edit(), self._can_edit, of_item=True, label=self._what_edit_does
            ),
            "review.edit_outside": Handler(lambda: self._editor().edit_outside(), self._can_edit),
        }

    def _editor(self) -> TestEditing | TextRevising:
        """Return what edits the item shown: a text of it where it has one, otherwise its test."""
        return self.revising if self.item is not None and self.item.editable else self.editing

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
        """Do what a command of the review does."""
        self.dispatcher.run(command_id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Say which of the commands that share a key it stands for."""
        return self.dispatcher.is_taken_for(action, parameters) and super().check_action(action, parameters)

    def offers(self, command: Command) -> bool:
        """Return whether a command has an effect now."""
        return self.dispatcher.offers(command)

    def label_now(self, command: Command) -> str:
        """Return what a command does now, in a word or two."""
        return self.dispatcher.label_now(command)

    def value_keys(self) -> Mapping[str, str]:
        """Return the keys that answer the question, with the keys of its scale, in the order of that."""
        return self.keys.of_values()

    def keys_now(self, command: Command) -> Sequence[str]:
        """Return the keys of a command that stand for it now."""
        return self.keys.of(command)

    @property
    def scale(self) -> Scale | None:
        """The scale of the question that is asked."""
        return self.keys.scale

    def on_key(self, event: events.Key) -> None:
        """Take the code of what is asked at the foot."""
        self.guard.watch.touch()
        if not self.parts.is_writing and (
            self.judging.reasons.take_key(event) or self.revising.take_key(event)
        ):
            event.stop()
            event.prevent_default()

    # -- what the widgets tell ------------------------------------------------------------------------

    @on(Input.Changed, f"#{COMMENT}")
    def _comment_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.comments.edited()

    @on(Input.Submitted, f"#{COMMENT}")
    def _comment_given(self, event: Input.Submitted) -> None:
        event.stop()
        self.judging.comment_given(event.value)

    @on(Input.Changed, f"#{FIND}")
    def _find_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.search.edited(event.value)

    @on(Input.Submitted, f"#{FIND}")
    def _find_given(self, event: Input.Submitted) -> None:
        event.stop()
        self.search.given(event.value)

    @on(SearchMoved)
    def _search_moved(self, message: SearchMoved) -> None:
        message.stop()
        self.search.moved()

    @on(CaseTabs.Chosen)
    def _tab_chosen(self, message: CaseTabs.Chosen) -> None:
        self.reading.show_pane(message.pane_id)

    def on_resize(self, event: events.Resize) -> None:
        """Lay the tabs out for another size."""
        if self.is_mounted:
            self.reading.resized()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Take a pane that was clicked for the active one; a text line that was left is closed."""
        widget = event.widget
        self.set_class(isinstance(widget, Input), "-writing")
        if isinstance(widget, TextPane):
            self.comments.keep_draft(focus=False)
            self.search.close_line()
            self.reading.focused(widget)
