"""The adjudication: what raters disagree about, one item after another, one key a ruling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Input, Static

from screens.adjudicate.builder import RulingBuilder
from screens.adjudicate.notes import NOTE, WHY, NoteEditor, Unit, unit_of
from screens.adjudicate.view import DIFFER, labels_in_a_row, laid_out, of_disputes, with_tests
from screens.commands import all_commands, bindings
from screens.context import ScreenContext
from screens.dispatch import Dispatcher, Handler, Handlers
from screens.items.reader import ItemReader
from screens.items.views import ItemView
from screens.jobs.job_line import JobLine, bar
from screens.judging.context import Foot, JudgingContext, MessageLine
from screens.judging.controller import JudgingController
from screens.judging.drafts import CommentEditor
from screens.judging.item_loader import ItemLoader
from screens.judging.judgment_builder import JudgmentBuilder
from screens.judging.keys import JudgingKeyLine
from screens.judging.order import OrderPlace, ReviewOrder
from screens.judging.paint_guard import PaintGuard
from screens.navigator import Navigator
from screens.review.bars import CaseTabs, PlaceLine
from screens.review.citations import Citations, format_citations
from screens.review.item_tests import ItemTests, shown_test
from screens.review.panes import ABOVE, PROMPT, SUBJECT, PaneController
from screens.session_recorder import UndoResult
from screens.threads import in_thread
from screens.widgets.line_input import LineInput
from screens.widgets.text.sanitize import one_line
from screens.widgets.text.view import TextPane
from screens.workbench_screen import WorkbenchScreen
from store.errors import UnknownName, WorkbenchError
from store.formatting import pluralize
from store.kinds.comparison import BOTH_BAD, SAME
from store.policy.refusal import refuse
from store.policy.scope import ADJUDICATE, Shows
from store.record.actions import Action
from store.record.evidence import Citation
from store.studies.adjudication import Adjudication, disputed_studies, open_adjudication
from store.studies.discussion import send_back
from store.studies.disputes import Dispute, goes_against, summary
from store.tables.record import Judgment

BAR_CELLS = 8
"""Cells of the bar in the first line."""

LOADING = "Reading …"


@dataclass(frozen=True, slots=True)
class _Opened:
    """An adjudication with its disputes, and the studies that can be opened next."""

    adjudication: Adjudication
    disputes: list[Dispute]
    builder: RulingBuilder
    studies: tuple[str | None, ...]


class AdjudicateScreen(WorkbenchScreen):
    """Shows the items that raters disagree about, and records rulings."""

    SCOPE = "adjudicate"
    CSS_PATH = "adjudicate.tcss"
    BINDINGS = bindings("adjudicate")
    AUTO_FOCUS = f"#{SUBJECT}"

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__(context, navigator)
        self.order = ReviewOrder(())
        self.disputes: dict[Unit, Dispute] = {}
        self.ruled: set[Unit] = set()
        self.names = False
        self.adjudication: Adjudication | None = None
        self._studies: tuple[str | None, ...] = ()
        self._readers: dict[bool, ItemReader] = {}
        # The item whose agents' label the next press of the key shows.
        self._asked_agents: int | None = None
        seen = context.settings.seen_seconds
        self.guard = PaintGuard(self, self._shows_item, self._painted, seen_seconds=seen)
        self.shared = shared = JudgingContext(self, context, self.guard, self.SCOPE)
        self.loader = ItemLoader(
            self, self.guard, self.order, self._reader, show=self._paint, failed=self._not_read
        )
        self.panes = PaneController(shared, lambda _: None, self._show_view)
        self.panes.comparing, self.panes.preferred = True, DIFFER
        self.notes = NoteEditor(shared, self.panes.focus_active)
        comments = CommentEditor(shared, lambda: None, self.panes.focus_active)
        self.judging = JudgingController(
            self, shared, self.order, comments, lambda cited: format_citations(cited, self.item)
        )
        self.tests = ItemTests(
            shared, self._show_view, self._forget, self._reread, lambda: None, panes=self.panes
        )
        self.citations = Citations(shared, self.panes, lambda: None, self.tests.show_execution, "ruling")
        own = self._handlers()
        taken = {command.id for command in all_commands()} - own.keys()
        reused = {
            command: replace(handler, of_item=handler.of_item or owner is self.panes)
            for owner in (self.judging, self.panes, self.tests, self.citations)
            for name, handler in owner.handlers().items()
            if (command := f"{self.SCOPE}.{name.partition('.')[2]}") in taken
        }
        self.dispatcher = Dispatcher(shared, self._rule, own, reused)

    @property
    def item(self) -> ItemView | None:
        """The item on the screen."""
        return self.guard.item

    @property
    def dispute(self) -> Dispute | None:
        """The dispute on the screen."""
        return None if self.item is None else self.disputes.get(unit_of(self.item))

    @property
    def pane_in_use(self) -> str:
        """No pane: disputes are gone through in their order."""
        return ""

    def without_test(self, item: ItemView, value: float) -> tuple[str, str]:
        """Ask for no test: a ruling rests on the labels and their reasons."""
        return "", ""

    # -- layout ---------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Lay out prompt, labels, the judged text beside why raters differ; the lines at the foot."""
        yield PlaceLine(id="place")
        yield TextPane(id=PROMPT)
        yield Static(id="raters")
        yield CaseTabs(id="tabs")
        yield Static(id="card")
        with Horizontal(id="body"):
            yield TextPane(id=SUBJECT)
            with Vertical(id="case"):
                yield Static(id=ABOVE)
                yield ContentSwitcher(id="switcher")
        with Foot():
            yield LineInput(id=NOTE, placeholder=WHY, select_on_focus=False)
            yield MessageLine(id="say")
            yield JobLine(self.context)
            yield JudgingKeyLine(self.shared.keys)

    def on_mount(self) -> None:
        """Read the disputes of the study frozen last, or of all labels."""
        self.panes.begin(self.query_one(f"#{SUBJECT}", TextPane))
        self.context.recorder.saved.subscribe(self, self._action_saved, immediate=True)
        self.context.recorder.failed.subscribe(self, lambda _: self._show_lines(), immediate=True)
        self.context.tests.ended.subscribe(self, self.tests.ended)
        self._open(newest=True)

    def _open(self, study: str | None = None, *, newest: bool = False) -> None:
        self._show_card([LOADING])
        in_thread(
            self,
            lambda: self._read_all(study, newest=newest),
            self._begin,
            self._not_opened,
            group="disputes",
        )

    def _read_all(self, study: str | None, *, newest: bool) -> _Opened:
        workspace, rater = self.context.workspace, self.context.rater
        if rater is None:
            raise UnknownName(
                "Nobody judges",
                "Rulings need a name.",
                "Start with --rater NAME, or set rater in the config.",
            )
        refuse(None, self.context.scope, Shows.OTHERS, "Adjudication shows")
        with workspace.reading() as connection:
            studies = (*disputed_studies(connection), None)
        study = studies[0] if newest else study
        found, disputes = open_adjudication(workspace, rater, study, run=self.context.runs.chosen)
        plain = JudgmentBuilder.read(workspace, found.scope(revealed=False))
        builder = RulingBuilder(plain.ids, plain.scope, plain.guideline_ids, self.notes.of)
        return _Opened(found, disputes, builder, studies)

    def _begin(self, opened: _Opened) -> None:
        self.adjudication, self._studies = opened.adjudication, opened.studies
        self.judging.builder = opened.builder
        self._readers = {
            shown: ItemReader(self.context.workspace, opened.adjudication.scope(revealed=shown))
            for shown in (False, True)
        }
        self.disputes = {(one.item_id, one.target): one for one in opened.disputes}
        self.ruled = {unit for unit, one in self.disputes.items() if one.rulings}
        me = opened.adjudication.adjudicator.name
        self.notes.notes = {
            unit: ruling.comment
            for unit, one in self.disputes.items()
            for ruling in one.rulings
            if ruling.adjudicator == me
        }
        self.order.take(ReviewOrder([*dict.fromkeys(one.item_id for one in opened.disputes)]))
        warnings = opened.adjudication.warnings
        self.shared.show_message(" ".join(warnings), alarm=bool(warnings))
        self.show_item()

    def _not_opened(self, error: WorkbenchError) -> None:
        self.guard.show_no_item()
        self._show_card([f"! {one_line(str(error), 400)}", one_line(error.hint, 400)])

    # -- results --------------------------------------------------------------------------------------

    def _action_saved(self, action: Action) -> None:
        for record in action.records:
            if isinstance(record, Judgment) and self._is_of_this(record):
                unit = (record.item_id, record.target)
                others = any(one.adjudicator != self._me for one in self.disputes[unit].rulings)
                (self.ruled.add if others or record.value is not None else self.ruled.discard)(unit)
                self.notes.notes[unit] = record.comment
        self._forget(action.item_id)
        self.loader.read(action.item_id)
        if self.order.at_end:
            self._show_card([*self._end_words()])
        self._show_lines()

    def _is_of_this(self, record: Judgment) -> bool:
        """Return whether a record is a ruling of this adjudication."""
        if (record.item_id, record.target) not in self.disputes or record.phase != ADJUDICATE:
            return False
        view = self._reader(record.item_id).kept(record.item_id)
        return view is None or view.assignment_id == record.assignment_id

    @property
    def _me(self) -> str:
        return "" if self.adjudication is None else self.adjudication.adjudicator.name

    def _forget(self, item_id: int) -> None:
        for reader in self._readers.values():
            reader.forget(item_id)

    def show_undo_result(self, undone: UndoResult) -> None:
        """Go to the item of an undo or redo, where it is listed here."""
        if undone.action.item_id in self.order.ids:
            self.judging.show_undo_result(undone)
        else:
            what = "Redone" if undone.redo else "Undone"
            self.shared.show_message(f"{what}: a ruling on an item that is not listed here.")

    def show_notice(self, text: str, *, alarm: bool = False) -> None:
        """Show a notice of the app in the message line."""
        self.shared.show_notice(text, alarm=alarm)

    # -- showing --------------------------------------------------------------------------------------

    def show_item(self) -> None:
        """Show the item at the order's place."""
        place = self.guard.wanted = self.order.place
        self._asked_agents = None
        if place is None:
            self.guard.show_no_item()
            self._show_card([*self._end_words()])
            return
        self.loader.show()

    def _reader(self, item_id: int) -> ItemReader:
        return self._readers[any(not one.hidden for one in self._on_item(item_id))]

    def _on_item(self, item_id: int) -> list[Dispute]:
        return [one for one in self.disputes.values() if one.item_id == item_id]

    def _not_read(self, error: WorkbenchError) -> None:
        self.guard.show_no_item()
        on, back = self.shared.key("next"), self.shared.key("back")
        self._show_card([f"! {one_line(str(error), 400)}", f"{on} goes on, {back} goes back."])

    def _paint(self, view: ItemView, place: OrderPlace) -> None:
        """Put the item of a place onto the screen."""
        view = of_disputes(view, self._on_item(view.item_id))
        if not view.questions:
            gone = UnknownName(
                "Nothing to ask", "The question on which raters disagreed is not asked any more."
            )
            self._not_read(gone)
            return
        before = self.guard.item_at(place)
        view = self._laid_out(self.judging.with_unsaved(view, before))
        self.guard.put(view, place)
        self.remove_class("-bare")
        self._fill(view)
        if before is None:
            self.judging.complete_undo_message(view)
            self.panes.by_id.restore({})
        if self.guard.follow(before):
            self.shared.show_message("◆ The agents' label is shown. Look, then rule.")

    def _laid_out(self, view: ItemView) -> ItemView:
        dispute = self.disputes.get(unit_of(view))
        if dispute is None:
            return view
        view = self.tests.as_chosen(with_tests(view.with_swapped(""), dispute, names=self.names))
        return self.citations.marked(laid_out(view, dispute, self._me, names=self.names))

    def _fill(self, view: ItemView) -> None:
        with self.app.batch_update():
            self.panes.fill(view)
            self.panes.show_active()
            self._show_lines()
        self.query_one(JudgingKeyLine).update_keys()

    def _show_view(self, view: ItemView) -> None:
        view = self._laid_out(view)
        self.guard.show_as(view)
        self._fill(view)

    def ask_question(self, place: int) -> None:
        """Ask another disputed question of the item; no key answers it before it is on the screen."""
        item = self.item
        if item is None or not self.guard.is_painted:
            return
        self._asked_agents = None
        view = self._laid_out(item.at_question(place))
        self.guard.show_question(view)
        self._fill(view)
        self.guard.notify_when_painted()

    def _shows_item(self) -> list[Widget]:
        names = ("#place", "#raters", "#body", f"#{PROMPT}")
        return [self.query_one(JudgingKeyLine), *(self.query_one(name) for name in names)]

    def _painted(self) -> None:
        self.context.workspace.lane.go_on()
        self.panes.by_id.fill()
        self.loader.read_ahead()

    def on_screen_suspend(self) -> None:
        """Take nothing for seen while another screen covers this one."""
        self.guard.suspended()

    def on_screen_resume(self) -> None:
        """Take keys again once the item is on the terminal again."""
        self.guard.resumed()

    # -- lines ----------------------------------------------------------------------------------------

    def _show_lines(self) -> None:
        """Show the place, the labels and the ruling."""
        total, done = len(self.disputes), len(self.ruled)
        number = self._number()
        where = f"{self._where} › {number:,} of {pluralize(total, 'dispute')}" if number else self._where
        short = f"{number:,} of {total:,}" if number else self._where
        shown = "names shown" if self.names else "names hidden"
        failures = len(self.context.recorder.failures)
        who = f"{f'! {failures:,} not saved · ' if failures else ''}{one_line(self._me, 24) or 'nobody'}"
        ruled = f"{bar(done, total, BAR_CELLS)} {done:,} ruled"
        path = one_line(self.context.workspace.path.name, 40)
        self.query_one(PlaceLine).show(
            [
                (f" {path} › adjudicate › {where}", f"{ruled} · {shown} · {who} "),
                (f" adjudicate › {where}", f"{ruled} · {shown} · {who} "),
                (f" {where}", f"{ruled} · {shown} · {who} "),
                (f" {short}", f"{done:,} ruled · {shown} · {who} "),
            ]
        )
        self._show_raters()

    @property
    def _where(self) -> str:
        study = None if self.adjudication is None else self.adjudication.study
        return one_line(study.name, 24) if study is not None else "all labels"

    def _number(self) -> int:
        """Return which dispute is on the screen, from 1; 0 for none."""
        item = self.item
        if item is None:
            return 0
        before = self.order.ids[: self.order.index]
        return 1 + item.at + sum(len(self._on_item(item_id)) for item_id in before)

    def _show_raters(self) -> None:
        item, dispute = self.item, self.dispute
        if item is None or dispute is None:
            return
        width = self.app.size.width - 2
        own = item.label
        waiting = self.context.recorder.waiting(item.item_id)
        state = " …" if waiting else ""
        final = f"final: [{'' if own is None else item.current.word(own.value, own.reason)}]{state}"
        final = final.replace("[]", "[ ]")
        asked = f"{item.current.about} · {item.question.text}" if item.current.about else item.question.text
        row = one_line(labels_in_a_row(dispute, names=self.names), width - cell_len(final) - 3)
        gap = " " * max(3, width - cell_len(row) - cell_len(final))
        # The note shares a row with the question, so that nothing moves when it is written.
        note = one_line(f"note: {given}", width // 2) if (given := self.notes.of(item)) else ""
        asked = one_line(asked, width - cell_len(note) - 3)
        between = " " * (width - cell_len(asked) - cell_len(note))
        lines = [
            Content.assemble((asked, "bold"), between, (note, "$foreground-muted")),
            Content.assemble(row, gap, (final, "$text-accent")),
        ]
        self.query_one("#raters", Static).update(Content("\n").join(lines))

    def _show_card(self, lines: Sequence[str]) -> None:
        """Show sentences in place of an item."""
        self.add_class("-bare")
        self.query_one("#card", Static).update(Content("\n\n".join(line for line in lines if line)))
        self._show_lines()
        self.refresh_bindings()

    def _end_words(self) -> Iterator[str]:
        """Yield what is said where there is no dispute, or none is left."""
        other = f"{self.shared.key('back')} goes back."
        if len(self._studies) > 1:
            other = f"{self.shared.key('study')} goes to other labels, {other}"
        total, left = len(self.disputes), len(self.disputes) - len(self.ruled)
        if not total:
            yield (
                f"The raters of {self._where} agree on every item."
                if self._is_of_study
                else ("Raters agree on every item here.")
            )
            yield "A dispute is a question that raters answered differently the first time they saw an item."
            yield other
            return
        if left:
            yield f"This is the end of the list. {pluralize(left, 'dispute')} of {total:,} without a ruling."
            yield f"{self.shared.key('next')} goes to the first of them. {other}"
            return
        yield (
            f"All {pluralize(total, 'dispute')} have a ruling."
            if total > 1
            else "The only dispute has a ruling."
        )
        study = self.adjudication.study.name if self.adjudication and self.adjudication.study else None
        whose = f"of the study {one_line(study, 40)}" if study else "of all labels"
        key = self.shared.key("accuracy")
        yield f"{key} shows how often raters and runs are right by the rulings {whose}."
        yield f"{self.shared.key('previous')} goes back to the last one. {other}"

    def _open_accuracy(self) -> None:
        """Show accuracy against the rulings."""
        from store.reports.options import Options

        left = len(self.disputes) - len(self.ruled)
        if left or not self.disputes:
            why = f"{pluralize(left, 'dispute')} without a ruling." if left else "There is no dispute."
            self.shared.show_message(f"Accuracy against the rulings comes after the last one. {why}")
            return
        study = self.adjudication.study.name if self.adjudication and self.adjudication.study else None
        question = next(iter(self.disputes.values())).spec.name
        self.navigator.open_report("accuracy", Options(question=question, study=study, policy="adjudicated"))

    @property
    def _is_open(self) -> bool:
        """Whether raters of the study can still be asked."""
        study = None if self.adjudication is None else self.adjudication.study
        return study is not None and study.state == "open"

    @property
    def _is_of_study(self) -> bool:
        return self.adjudication is not None and self.adjudication.study is not None

    # -- ruling ---------------------------------------------------------------------------------------

    def _rule(self, key: str) -> None:
        """Rule with the value of a key, or `BOTH_BAD`; against the raters only with a reason."""
        item, dispute = self.item, self.dispute
        bad = item is not None and item.current.both_bad and key == BOTH_BAD
        value = None if item is None else SAME if bad else item.question.scale.value_of(key)
        if item is None or dispute is None or value is None or not self._needs_reason(item, dispute, value):
            self._record_ruling(key)
        elif self.judging.can_judge():
            word = item.current.word(value, key)
            self.notes.open(item, f"{word} goes against the raters ({summary(dispute)}). Say why.", key)

    def _record_ruling(self, key: str) -> None:
        if key == BOTH_BAD:
            self.judging.call_both_bad()
        else:
            self.judging.judge(key)

    def _needs_reason(self, item: ItemView, dispute: Dispute, value: float) -> bool:
        return not self.notes.of(item) and goes_against(dispute.spec.scale, dispute.values, value)

    def _write_note(self) -> None:
        if self.item is not None and self.judging.can_judge():
            self.notes.open(self.item)

    @on(Input.Submitted, f"#{NOTE}")
    def _note_given(self, event: Input.Submitted) -> None:
        event.stop()
        item, dispute, key = self.item, self.dispute, self.notes.ruling
        sends_back = self.notes.sends_back
        text = self.notes.close()
        if item is None or dispute is None:
            return
        if sends_back:
            self._send_back(item, text)
            return
        own = item.label
        against = own is not None and goes_against(dispute.spec.scale, dispute.values, own.value)
        if not text and (key or against):
            self.shared.show_message("Not recorded: a ruling against the raters needs a reason.", alarm=True)
            return
        changed = text != self.notes.of(item)
        self.notes.notes[unit_of(item)] = text
        if key:
            self._record_ruling(key)
        elif own is not None and changed and self.judging.builder is not None:
            cited, execution = self.evidence()
            watch, build = self.guard.watch, self.judging.builder.label
            self.judging.record(build(item, own.value, watch, own.reason, cited=cited, execution=execution))
            self.shared.show_message(f"Note recorded · {self.shared.key('undo')} undo")
        else:
            self.shared.show_message("The note goes with your ruling." if text else "")
        self._show_raters()

    def action_close_line(self) -> None:
        """Close the line; nothing of it is recorded."""
        if self.notes.is_open:
            said = "Nothing was recorded." if self.notes.ruling else ""
            said = "Nothing was sent back." if self.notes.sends_back else said
            self.notes.close()
            self.shared.show_message(said)

    def _ask_to_send_back(self) -> None:
        """Open the line for the note with which the item is sent back, where it can be."""
        dispute = self.dispute
        if dispute is None or not self.judging.can_judge():
            return
        if not self._is_open:
            self.shared.show_message("Raters can be asked again only while their study is open.", alarm=True)
        elif dispute.sent_back is not None:
            self.shared.show_message(
                "This item was sent back before; that is possible only once.", alarm=True
            )
        else:
            self.notes.open_to_raters("What should they check? Do not name a label.")

    def _send_back(self, item: ItemView, note: str) -> None:
        adjudication, workspace = self.adjudication, self.context.workspace
        assert adjudication is not None

        def send() -> tuple[list[str], list[Dispute]]:
            asked = send_back(workspace, adjudication, item.item_id, note)
            return asked, adjudication.read(workspace, [item.item_id])

        def sent(done: tuple[list[str], list[Dispute]]) -> None:
            asked, disputes = done
            name = one_line(item.external_id, 24)
            self.shared.show_message(
                f"↩ {name} sent back to {', '.join(asked)}. {self.shared.key('next')} goes on."
            )
            self._take(disputes)

        failed = self.context.notices.report_error
        in_thread(self, send, sent, failed, group="send back", exclusive=False)

    def _show_agents(self) -> None:
        """Show the agents' work on the item, once the key was pressed twice."""
        item, dispute, adjudication = self.item, self.dispute, self.adjudication
        if item is None or dispute is None or adjudication is None:
            return
        if not dispute.hidden:
            self.shared.show_message("The agents' work on this item is revealed; it cannot be hidden again.")
            return
        if self._asked_agents != item.item_id:
            self._asked_agents = item.item_id
            key = self.shared.key("agents")
            self.shared.show_message(f"{key} again reveals the agents' work; your ruling is then not blind.")
            return
        workspace = self.context.workspace

        def reveal() -> list[Dispute]:
            adjudication.reveal(workspace, [item.item_id])
            return adjudication.read(workspace, [item.item_id])

        def revealed(disputes: list[Dispute]) -> None:
            self.shared.show_message("◆ The agents' work on this item is shown.")
            self._take(disputes)

        failed = self.context.notices.report_error
        in_thread(self, reveal, revealed, failed, group="agents", exclusive=False)

    def _reread(self, item_id: int) -> None:
        """Read an item and its disputes again."""
        adjudication, workspace = self.adjudication, self.context.workspace
        if adjudication is not None:
            in_thread(
                self,
                lambda: adjudication.read(workspace, [item_id]),
                self._take,
                self.context.notices.report_error,
                group="disputes again",
                exclusive=False,
            )

    def _take(self, disputes: list[Dispute]) -> None:
        for one in disputes:
            self.disputes[one.item_id, one.target] = one
            self._forget(one.item_id)
        for item_id in {one.item_id for one in disputes}:
            self.loader.read(item_id)

    def _run_test(self) -> None:
        """Run the test that is shown: the agents' where they are shown, or one of a rater's own."""
        item, dispute = self.item, self.dispute
        if item is None or dispute is None or shown_test(item):
            self.tests.run_shown()
            return
        agents = (
            f"and the agents' work is hidden; {self.shared.key('agents')} shows it"
            if dispute.hidden
            else "and the agents have none"
        )
        self.shared.show_message(f"No test to run: no rater's label rests on a test of their own, {agents}.")

    # -- for the judging controller -------------------------------------------------------------------

    def evidence(self) -> tuple[tuple[Citation, ...], UUID | None]:
        """Return the lines that the next ruling cites, and the execution that was shown when the key came."""
        return self.citations.cited, self.tests.execution_on_screen

    def show_recorded(self, action: Action) -> None:
        """Show what an action makes of the item on the screen."""
        self.citations.recorded(action)
        self._show_lines()

    def go_on(self) -> None:
        """Go to the next item."""
        self.order.move(1)
        self.show_item()

    def leave_for(self, undone: UndoResult) -> None:
        """Leave the item on the screen for that of an undo or redo."""
        self._forget(undone.action.item_id)
        self.citations.keep_undone(undone.action, redo=undone.redo)

    # -- going through the disputes -------------------------------------------------------------------

    def _step(self, step: int) -> None:
        """Go to another disputed question of the item, or to another item."""
        item = self.item
        self.shared.show_message("")
        if item is not None and 0 <= item.at + step < len(item.questions):
            self.ask_question(item.at + step)
        elif self.order.at_end and step > 0:
            self._go_to_first_open()
        elif self.order.at(step) is not None or (step > 0 and not self.order.at_end and self.order.ids):
            self.order.move(step)
            self.show_item()
        else:
            self.shared.show_message("This is the first dispute.")

    def _go_to_first_open(self) -> None:
        unruled = [item_id for item_id, target in self.disputes if (item_id, target) not in self.ruled]
        if unruled:
            self.order.go_to(unruled[0])
            self.show_item()
        else:
            self.shared.show_message("Every dispute has a ruling.")

    def _show_names(self) -> None:
        self.names = not self.names
        if self.item is not None:
            self._show_view(self.item)
        else:
            self._show_lines()

    def _go_to_study(self) -> None:
        """Go to the labels of the next study, after the last one to all labels."""
        if self.adjudication is None or len(self._studies) < 2:
            self.shared.show_message("There is no frozen study here; these are all labels.")
            return
        study = self.adjudication.study
        at = self._studies.index(None if study is None else study.name)
        self.guard.wanted = None
        self.guard.show_no_item()
        self._open(self._studies[(at + 1) % len(self._studies)])

    def end_what_is_open(self) -> bool:
        """End the choosing of lines."""
        ended = self.panes.by_id.end_cursors()
        if ended:
            self.shared.show_message("")
        return ended

    def _go_back(self) -> None:
        if self.end_what_is_open():
            return
        if self.context.last_key.name == "escape":
            # On a slow line an arrow key can begin with a lone Escape, which must not throw anybody out.
            self.shared.show_message(f"Nothing to end here; {self.shared.key('back')} goes back.")
        else:
            self.dismiss()

    # -- keys -----------------------------------------------------------------------------------------

    def _handlers(self) -> Handlers:
        def is_listed() -> bool:
            return bool(self.order.ids)

        def has_left() -> bool:
            return not self.order.at_end or len(self.ruled) < len(self.disputes)

        return {
            "adjudicate.note": Handler(self._write_note, of_item=True),
            "adjudicate.send_back": Handler(
                self._ask_to_send_back,
                lambda: self.dispute is None or (self._is_open and self.dispute.sent_back is None),
                of_item=True,
            ),
            "adjudicate.run": Handler(
                self._run_test, lambda: self.item is None or bool(shown_test(self.item)), of_item=True
            ),
            "adjudicate.both_bad": Handler(
                lambda: self._rule(BOTH_BAD),
                lambda: self.item is not None and self.item.current.both_bad,
                of_item=True,
            ),
            "adjudicate.next": Handler(lambda: self._step(1), lambda: is_listed() and has_left()),
            "adjudicate.previous": Handler(lambda: self._step(-1), is_listed),
            "adjudicate.agents": Handler(
                self._show_agents, lambda: self.dispute is None or self.dispute.hidden, of_item=True
            ),
            "adjudicate.names": Handler(
                self._show_names, of_item=True, label=lambda _: "hide names" if self.names else "names"
            ),
            "adjudicate.accuracy": Handler(
                self._open_accuracy, lambda: bool(self.disputes) and len(self.ruled) == len(self.disputes)
            ),
            "adjudicate.study": Handler(self._go_to_study, lambda: len(self._studies) > 1),
            "adjudicate.back": Handler(self._go_back),
        }

    def on_key(self, event: events.Key) -> None:
        """Measure how long the rater was active."""
        self.guard.watch.touch()

    def on_resize(self, event: events.Resize) -> None:
        """Lay the lines out for another size."""
        if self.is_mounted:
            self.panes.resized()
            self._show_raters()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Take a pane that was clicked for the active one."""
        if isinstance(event.widget, TextPane):
            self.panes.focused(event.widget)
