"""The review: one item, the claim beside what is judged, one key a judgment."""

from __future__ import annotations

import time
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import ContentSwitcher, Input

from agents.events import ItemAnnotated, JobEvent
from screens.commands import Scope, bindings
from screens.jobs.line import JobLine
from screens.review.bars import CaseTabs, ClaimLine, PlaceLine, SayLine
from screens.review.items import ItemReader, ReviewOrder
from screens.review.judge_keys import JudgeKeys
from screens.review.judging import Desk, SessionCount, desk_of
from screens.review.part import review_parts
from screens.review.reading import SUBJECT
from screens.widgets.key_line import KeyLine
from screens.widgets.text_pane import TextPane
from store.kinds.protocol import task_kinds
from store.queries.queue import QueueFilter, queue_ids
from store.recording import Action
from store.tables.record import Mark

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


class ReviewScreen(JudgeKeys):
    """Shows the items of a queue one after another and records what the rater says of them."""

    SCOPE: ClassVar[Scope] = "review"
    CSS_PATH: ClassVar[str] = "review.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("review"), *_label_bindings()]
    AUTO_FOCUS = f"#{SUBJECT}"

    @classmethod
    def resumed(cls, session: dict[str, Any]) -> ReviewScreen:
        """Return a review that goes on where a kept session ended, from the first open item without one."""
        screen = cls([], 0)
        screen._resume_from = session or {"item": None}
        return screen

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


def _standing(action: Action) -> str:
    """Return in words what an undo or redo left standing."""
    words = []
    for record in action.records:
        if isinstance(record, Mark):
            words.append(f"{record.kind.replace('_', ' ')} {'on' if record.active else 'off'}")
        else:
            words.append("no label" if record.value is None else f"label {record.value:g}")
    return ", ".join(words)
