"""The review: one item, the claim beside what is judged, one key a judgment."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import ContentSwitcher, Input

from agents.events import ItemAnnotated, JobEvent
from screens.commands import Scope, bindings
from screens.jobs.line import JobLine
from screens.review.bars import CaseTabs, ClaimLine, PlaceLine, SaveState, SayLine
from screens.review.items import ItemReader, ReviewOrder
from screens.review.judging import Desk, SessionCount, Stopwatch, desk_of
from screens.review.part import ItemView, PaneText, review_parts
from screens.review.reading import ReadingActions
from screens.widgets.key_line import KeyLine
from screens.widgets.text_pane import Place, TextPane
from screens.widgets.visible import one_line
from store.errors import WorkbenchError
from store.kinds.protocol import task_kinds
from store.queries.item import OwnState
from store.queries.queue import QueueFilter, queue_ids
from store.recording import Action
from store.tables.record import Judgment, Mark

if TYPE_CHECKING:
    from screens.app import WorkbenchApp

SUBJECT = "subject"

ARRIVAL_SECONDS = 0.7
"""How long after the agents' label came onto the screen no key judges."""


def _label_bindings() -> list[Binding]:
    """Return a binding for every value of every kind's first question."""
    keys = {
        known.key: known.value
        for kind in task_kinds().values()
        if kind.name in review_parts()
        for known in kind.questions[0].scale.values
    }
    return [
        Binding(
            key,
            f"judge({value!r})",
            "judge",
            id=f"review.label_{key}",
            show=False,
            tooltip="Give this label.",
        )
        for key, value in keys.items()
    ]


class ReviewScreen(ReadingActions, Screen[None]):
    """Shows the items of a queue one after another and records what the rater says of them."""

    SCOPE: ClassVar[Scope] = "review"
    CSS_PATH: ClassVar[str] = "review.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("review"), *_label_bindings()]
    AUTO_FOCUS = f"#{SUBJECT}"

    def __init__(self, ids: list[int], index: int = 0, sentence: str = "all items") -> None:
        super().__init__()
        self.order = ReviewOrder(ids, index)
        self.sentence = sentence
        self.item: ItemView | None = None
        self._painted = False
        self._shown = 0
        self._watch = Stopwatch()
        self._reasons_for: tuple[Action | None, int, bool] | None = None
        self._drafts: dict[int, str] = {}
        self._places: dict[int, dict[str, Place]] = {}
        self._resume_from: dict[str, Any] = {}
        self._panes: dict[str, TextPane] = {}
        self._keeping: Timer | None = None
        self._settled_at = 0.0
        self.active = SUBJECT

    @classmethod
    def resumed(cls, session: dict[str, Any]) -> ReviewScreen:
        """Return a review that goes on where a kept session ended, from the first open item without one."""
        screen = cls([], 0)
        screen._resume_from = session or {"item": None}
        return screen

    @property
    def workbench(self) -> WorkbenchApp:
        """The app, as what it is."""
        return cast("WorkbenchApp", self.app)

    # -- layout ---------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Lay out prompt, claim, subject and case; the lines at the foot."""
        yield PlaceLine(id="place")
        yield TextPane(id="prompt")
        yield ClaimLine(id="claim")
        yield CaseTabs(id="tabs")
        with Horizontal(id="body"):
            yield TextPane(id=SUBJECT)
            with Vertical(id="case"):
                yield ContentSwitcher(id="switcher")
        yield Input(id="find", placeholder="find in this pane · Enter keeps the search, Esc ends it")
        yield Input(
            id="comment", placeholder="comment on this item · Enter saves it, Esc keeps it as a draft"
        )
        yield SayLine(id="say")
        yield JobLine()
        yield KeyLine(self.SCOPE)

    def on_mount(self) -> None:
        """Read what the session needs, then show the first item."""
        app = self.workbench
        context = app.context
        rater_id = context.rater.id if context.rater else 0
        self._panes[SUBJECT] = self.query_one(f"#{SUBJECT}", TextPane)
        self.reader = ItemReader(context.workspace, rater_id, blind=context.settings.blind)
        self.desk: Desk | None = None
        self.count: SessionCount | None = None
        self._say("Loading …")
        app.saved.subscribe(self, self._action_saved)
        app.failed.subscribe(self, self._action_failed)
        app.job_events.subscribe(self, self._job_event)
        self._prepare()

    @work(thread=True)
    def _prepare(self) -> None:
        context = self.workbench.context
        if context.rater is not None:
            desk = desk_of(context.workspace, context.rater.id, blind=context.settings.blind)
            count = SessionCount.read(context.workspace, context.rater, blind=context.settings.blind)
            self.app.call_from_thread(self._take_desk, desk, count)
        if self._resume_from:
            self._restore_order()
        self.app.call_from_thread(self._show_item)

    def _take_desk(self, desk: Desk, count: SessionCount) -> None:
        self.desk, self.count = desk, count

    def _restore_order(self) -> None:
        """Take the order anew and go to the item where the session ended; in the worker's thread."""
        context = self.workbench.context
        rater_id = context.rater.id if context.rater else 0
        ids = queue_ids(context.workspace, rater_id)
        order = ReviewOrder([int(number) for number in ids])
        item = self._resume_from.get("item")
        if item is None or int(item) not in set(order.ids):
            open_ids = queue_ids(context.workspace, rater_id, QueueFilter(status="open"), limit=1)
            item = int(open_ids[0]) if len(open_ids) else None
        if item is not None and order.ids:
            order.go_to(int(item))
        self.order = order

    # -- showing --------------------------------------------------------------------------------------

    def _show_item(self) -> None:
        """Show the item at the order's place: from what was read ahead, or as soon as it is read."""
        self._shown += 1
        self._painted = False
        item_id = self.order.item_id
        if item_id is None:
            self.item = None
            self._lay_out_places()
            self._say("No items here. q goes back to the queue.")
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
            self.app.call_from_thread(self.workbench.report_error, error)
            return
        self.app.call_from_thread(self._paint, view, shown)

    @work(thread=True, group="ahead")
    def _read_ahead(self, ids: tuple[int, ...]) -> None:
        for item_id in ids:
            if self.reader.kept(item_id) is None:
                try:
                    self.reader.read(item_id)
                except WorkbenchError:
                    return

    def _paint(self, view: ItemView, shown: int) -> None:
        """Put an item into the panes, unless another one was asked for meanwhile."""
        if shown != self._shown:
            return
        again = self.item is not None and self.item.item_id == view.item_id
        self.item = view
        with self.app.batch_update():
            self.query_one("#prompt", TextPane).load(
                view.prompt, kind="prose", title=f"{view.kind} · {view.external_id}"
            )
            self._fill(view)
            self._restore_places(view, again=again)
            self._show_active()
            self._lay_out_places()
            self._show_claim()
        if not again:
            self._watch = Stopwatch()
        self.call_after_refresh(self._was_painted, shown)

    def _was_painted(self, shown: int) -> None:
        if shown != self._shown or self.item is None:
            return
        self._painted = True
        ahead = tuple(number for number in (self.order.at(1), self.order.at(2), self.order.at(-1)) if number)
        self._read_ahead(ahead)

    def _fill(self, view: ItemView) -> None:
        switcher = self.query_one("#switcher", ContentSwitcher)
        self._load(self._panes[SUBJECT], view.subject)
        wanted = [part.id for part in view.case]
        for part in view.case:
            pane = self._panes.get(part.id)
            if pane is None:
                pane = self._panes[part.id] = TextPane(id=part.id)
                switcher.mount(pane)
            self._load(pane, part)
        if self.active not in (SUBJECT, *wanted):
            self.active = SUBJECT if self.narrow else wanted[0]
        if switcher.current not in wanted:
            switcher.current = wanted[0]

    @staticmethod
    def _load(pane: TextPane, part: PaneText) -> None:
        pane.load(
            part.text,
            language=part.language,
            kind=part.kind,
            title=part.title,
            empty=part.empty,
            landmarks=part.landmarks,
        )

    def _restore_places(self, view: ItemView, *, again: bool) -> None:
        if again:
            return
        places = self._places.get(view.item_id, {})
        if self._resume_from.get("item") == view.item_id:
            kept = self._resume_from.get("places", {})
            places = {name: Place(**place) for name, place in kept.items()}
            if self._resume_from.get("draft"):
                self._drafts[view.item_id] = str(self._resume_from["draft"])
                self._say("Your unsaved comment is kept: c goes on with it.")
            self.active = str(self._resume_from.get("active", SUBJECT))
            if self.active not in self._panes:
                self.active = SUBJECT
        self._resume_from = {}
        for name, pane in self._panes.items():
            pane.restore(places.get(name, Place()))

    def _lay_out_places(self) -> None:
        context = self.workbench.context
        item = self.item
        kind = task_kinds()[item.kind].plural if item else "items"
        number = f"{self.order.index + 1:,} of {len(self.order.ids):,}" if item else "none"
        place = f" {context.workspace.path.name} › {kind} › {number}"
        place += f" · {self.sentence}" if self.sentence != "all items" else ""
        rater = context.rater.name if context.rater else "nobody (--rater NAME)"
        who = f"rater: {one_line(rater, 24)} · blind: {'yes' if context.settings.blind else 'no'} "
        self.query_one(PlaceLine).show(place, who, self.count.sentence() if self.count else "")

    def _show_claim(self) -> None:
        state: SaveState = "none"
        if self.item is not None:
            waiting = [a for a in self.workbench.unsaved.values() if a.item_id == self.item.item_id]
            if waiting:
                failed = any(a.id in self.workbench.failures for a in waiting)
                state = "failed" if failed else "saving"
        self.query_one(ClaimLine).show(self.item, state, blind=self.workbench.context.settings.blind)

    def _say(self, text: str, *, alarm: bool = False) -> None:
        self.query_one(SayLine).say(text, alarm=alarm)

    def keep_place(self) -> None:
        """Store item, scroll places and draft for the next session."""
        self._remember_places()
        if self.item is None:
            return
        places = self._places.get(self.item.item_id, {})
        comment = self.query_one("#comment", Input)
        draft = comment.value if comment.display else self._drafts.get(self.item.item_id, "")
        self.workbench.keep_session(
            {
                "item": self.item.item_id,
                "active": self.active,
                "draft": draft,
                "places": {name: asdict(place) for name, place in places.items()},
            }
        )

    def _remember_places(self) -> None:
        if self.item is not None:
            self._places[self.item.item_id] = {name: pane.place for name, pane in self._panes.items()}
            while len(self._places) > 200:
                self._places.pop(next(iter(self._places)))

    # -- moving ---------------------------------------------------------------------------------------

    def _go(self, offset: int) -> bool:
        self._remember_places()
        if not self.order.move(offset):
            return False
        self._show_item()
        self.keep_place_soon()
        return True

    def keep_place_soon(self) -> None:
        """Store the place with the next pause, so that a lost connection comes back near it."""
        if self._keeping is not None:
            self._keeping.stop()
        self._keeping = self.set_timer(0.5, self.keep_place)

    def action_next(self) -> None:
        """Go to the next match of a search, otherwise to the next item."""
        if self.searching:
            self.next_match()
            return
        self._reasons_for = None
        if not self._go(1):
            self._say("This is the last item. q goes back to the queue.")
        else:
            self._say("")

    def action_previous(self) -> None:
        """Go to the previous item."""
        self._reasons_for = None
        if not self._go(-1):
            self._say("This is the first item.")
        else:
            self._say("")

    def action_next_open(self) -> None:
        """Go to the next item of the queue that has neither a label nor a "cannot decide"."""
        self._reasons_for = None
        self._find_open(tuple(self.order.ids), self.order.index)

    @work(thread=True, exclusive=True, group="open")
    def _find_open(self, ids: tuple[int, ...], index: int) -> None:
        context = self.workbench.context
        rater_id = context.rater.id if context.rater else 0
        waiting = {number.item_id for number in list(self.workbench.unsaved.values())}
        open_ids = {
            int(number)
            for status in ("open", "skipped")
            for number in queue_ids(context.workspace, rater_id, QueueFilter(status=status))
        } - waiting
        places = [*range(index + 1, len(ids)), *range(index)]
        found = next((place for place in places if ids[place] in open_ids), None)
        self.app.call_from_thread(self._go_to_open, found, index)

    def _go_to_open(self, found: int | None, index: int) -> None:
        if found is None:
            self._say("Every other item of this queue has your label.")
        elif index == self.order.index:
            self._go(found - index)
            self._say("Started again from the top of the queue." if found < index else "")

    def action_back(self) -> None:
        """End a search or a question that is open; otherwise go back to the queue."""
        if self.end_search():
            return
        if self._reasons_for is not None:
            self._reasons_for = None
            self._say("No reason given.")
            return
        self.keep_place()
        self.dismiss()

    # -- judging --------------------------------------------------------------------------------------

    def _may_judge(self) -> bool:
        """Return whether a key may record something now; say why when not."""
        app = self.workbench
        if app.recorder is None or self.desk is None:
            if app.context.rater is None:
                app.say_no_rater()
            else:
                self._say("Not ready yet; the key was not taken.", alarm=True)
            return False
        if self.item is None or not self._painted:
            self._say(
                "The item was not on the screen yet; the key was not taken. Press it again.", alarm=True
            )
            return False
        if time.monotonic() < self._settled_at:
            self._say(
                "◆ The agents' label came just now; the key was not taken. Look, then press.", alarm=True
            )
            return False
        if app.is_burst():
            self._say("Several keys came at once, as from pasted text; none of them judged.", alarm=True)
            return False
        return True

    def action_judge(self, value: float) -> None:
        """Give the item a label."""
        if not self._may_judge() or self.item is None or self.desk is None:
            return
        item = self.item
        if not any(known.value == value for known in item.question.scale.values):
            self._say(f"{value:g} is no value of this question.", alarm=True)
            return
        action = self.desk.label(item, value, self._watch)
        self._record(
            action,
            own=replace(
                item.own,
                labels={**item.own.labels, item.question.name: value},
                cannot_decide=None,
                skipped=False,
                reason="",
            ),
        )
        words = item.question.scale.word(value)
        record = cast(Judgment, action.records[0])
        if record.origin == "override":
            self._reasons_for = (action, item.item_id, False)
            said = f"● {words} · overrides ◆ · why? {self._codes(False)} · u undo"
        else:
            self._reasons_for = None
            accepts = " · accepts ◆" if record.origin == "accept" else ""
            said = f"● {words}{accepts} · {one_line(item.external_id, 24)} · u undo"
        self._advance(said)

    def action_accept(self) -> None:
        """Take over the agents' label as it stands on the screen."""
        if not self._may_judge() or self.item is None:
            return
        if self.item.claim is None:
            blind = self.workbench.context.settings.blind
            why = "the review is blind" if blind else "the agents have no label here"
            self._say(f"Nothing to accept: {why}. Nothing was recorded.", alarm=True)
            return
        self.action_judge(self.item.claim.value)

    def action_undecided(self) -> None:
        """Ask why the rater cannot decide; the code that follows records it."""
        if self._may_judge() and self.item is not None:
            self._reasons_for = (None, self.item.item_id, True)
            self._say(f"Cannot decide, because: {self._codes(True)} · Esc no")

    def action_skip(self) -> None:
        """Put the item off: it comes again last."""
        if not self._may_judge() or self.item is None or self.desk is None:
            return
        item = self.item
        self._record(self.desk.mark(item.item_id, "skip"), own=replace(item.own, skipped=True))
        self.order.put_last(item.item_id)
        self._advance(f"» skipped {one_line(item.external_id, 24)}; it comes back last · u undo")

    def action_flag(self) -> None:
        """Flag the item, or take the flag away."""
        if not self._may_judge() or self.item is None or self.desk is None:
            return
        item = self.item
        flagged = not item.own.flagged
        self._record(
            self.desk.mark(item.item_id, "flag", active=flagged), own=replace(item.own, flagged=flagged)
        )
        self._say("⚑ flagged · u undo" if flagged else "Flag taken away · u undo")

    def action_reason(self) -> None:
        """Offer the reasons for the override that stands on the item shown."""
        if not self._may_judge() or self.item is None:
            return
        value = self.item.own.labels.get(self.item.question.name)
        if value is None or self.item.claim is None or value == self.item.claim.value:
            self._say("A reason belongs to an override, and this item has none.", alarm=True)
            return
        self._reasons_for = (None, self.item.item_id, False)
        self._say(f"Why another label than ◆? {self._codes(False)} · Esc no")

    def action_undo(self) -> None:
        """Take back the latest action, whichever session it was in."""
        self._reasons_for = None
        self.workbench.undo()

    def action_redo(self) -> None:
        """Bring back the action undone last."""
        self._reasons_for = None
        self.workbench.undo(redo=True)

    def _codes(self, undecided: bool) -> str:
        settings = self.workbench.context.settings
        codes = settings.undecided if undecided else settings.reasons
        return " ".join(f"{code} {words} ·" for code, words in codes.items()).rstrip(" ·")

    def on_key(self, event: events.Key) -> None:
        """Take the code of a reason while one is asked for; any other key leaves the question."""
        self._watch.touch()
        if self._reasons_for is None or isinstance(self.focused, Input):
            return
        action, item_id, undecided = self._reasons_for
        settings = self.workbench.context.settings
        reason = (settings.undecided if undecided else settings.reasons).get(event.character or "")
        if reason is None:
            return
        event.stop()
        event.prevent_default()
        if self.workbench.is_burst() or self.desk is None:
            return
        self._reasons_for = None
        self._give_reason(action, item_id, reason, undecided=undecided)

    def _give_reason(self, action: Action | None, item_id: int, reason: str, *, undecided: bool) -> None:
        item, desk = self.item, self.desk
        if desk is None:
            return
        if undecided and item is not None and item.item_id == item_id:
            self._record(
                desk.mark(item_id, "cannot_decide", text=reason),
                own=replace(item.own, labels={}, cannot_decide=reason, skipped=False),
            )
            self._advance(f"? cannot decide: {reason} · u undo")
        elif action is not None:
            kept = self.reader.kept(item_id)
            own = replace(kept.own, reason=reason) if kept else None
            self._record(desk.with_reason(action, reason), own=own)
            self._say(f"Reason: {reason} · u undo takes back label and reason")
        elif item is not None and item.item_id == item_id:
            value = item.own.labels[item.question.name]
            self._record(desk.label(item, value, self._watch, reason), own=replace(item.own, reason=reason))
            self._say(f"Reason: {reason} · u undo")

    def _record(self, action: Action, own: OwnState | None) -> None:
        """Submit an action, and show at once what it makes of the item."""
        self.workbench.record(action)
        view = self.reader.kept(action.item_id) or self.item
        if own is not None and view is not None and view.item_id == action.item_id:
            view = self.reader.keep(replace(view, own=own))
        if self.item is not None and self.item.item_id == action.item_id and view is not None:
            self.item = view
            self._show_claim()

    def _advance(self, said: str) -> None:
        if not self._go(1):
            said += " · this was the last item"
        self._say(said)

    # -- what comes back ------------------------------------------------------------------------------

    def _action_saved(self, action: Action) -> None:
        self.reader.forget(action.item_id)
        if self.count is not None:
            self.count.follow(action)
        self._reload(action.item_id)
        self._lay_out_places()

    def _action_failed(self, action: Action) -> None:
        self._reload(action.item_id)

    def _job_event(self, event: JobEvent) -> None:
        if isinstance(event, ItemAnnotated):
            self.reader.forget(event.item_id)
            item = self.item
            blind = self.workbench.context.settings.blind
            if item is not None and item.item_id == event.item_id and item.claim is None and not blind:
                # A key that was on its way must not judge a claim that nobody has read.
                self._settled_at = time.monotonic() + ARRIVAL_SECONDS
                self._say("◆ The agents' label has just come.")
                self._reload(event.item_id)

    def _reload(self, item_id: int) -> None:
        if self.item is not None and self.item.item_id == item_id:
            self._read_item(item_id, self._shown)
            self._show_claim()

    def show_undone(self, action: Action, redo: bool) -> None:
        """Go to the item of an undo or redo, and say what stands now."""
        for record in action.records:
            if isinstance(record, Mark) and record.kind == "skip":
                if record.active:
                    self.order.put_last(record.item_id)
                else:
                    self.order.take_last_away(record.item_id)
        self._remember_places()
        self.order.go_to(action.item_id)
        self.reader.forget(action.item_id)
        self._show_item()
        what = "Brought back" if redo else "Taken back"
        self._say(f"{what}: {_standing(action)} · {'u undo' if redo else 'U redo'}")

    # -- comment --------------------------------------------------------------------------------------

    def action_comment(self) -> None:
        """Open the comment line with what was written before, or with the draft."""
        if not self._may_judge() or self.item is None:
            return
        self._reasons_for = None
        box = self.query_one("#comment", Input)
        box.value = self._drafts.get(self.item.item_id, self.item.own.comment)
        box.display = True
        box.focus()

    @on(Input.Submitted, "#comment")
    def _comment_given(self, event: Input.Submitted) -> None:
        event.stop()
        item = self.item
        self._close_comment()
        if item is None or self.desk is None:
            return
        self._drafts.pop(item.item_id, None)
        text = event.value.strip()
        if text == item.own.comment:
            self._say("The comment is as it was.")
            return
        action = self.desk.mark(item.item_id, "comment", active=bool(text), text=text)
        self._record(action, own=replace(item.own, comment=text))
        self._say("Comment saved · u undo" if text else "Comment taken away · u undo")

    def _close_comment(self) -> None:
        box = self.query_one("#comment", Input)
        box.display = False
        self.focus_active()

    def keep_draft(self) -> bool:
        """Close the comment line and keep what is in it; return whether it was open."""
        box = self.query_one("#comment", Input)
        if not box.display or self.item is None:
            return False
        if box.value.strip() and box.value != self.item.own.comment:
            self._drafts[self.item.item_id] = box.value
            self._say("Draft kept; c goes on with it.")
        else:
            self._drafts.pop(self.item.item_id, None)
        self._close_comment()
        return True


def _standing(action: Action) -> str:
    """Return in words what an undo or redo left standing."""
    words = []
    for record in action.records:
        if isinstance(record, Mark):
            words.append(f"{record.kind.replace('_', ' ')} {'on' if record.active else 'off'}")
        else:
            words.append("no label" if record.value is None else f"label {record.value:g}")
    return ", ".join(words)
