"""Showing the items of a review one after another: loading, painting, keeping places, moving."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from textual import work
from textual.timer import Timer
from textual.widgets import ContentSwitcher, Input

from screens.review.bars import ClaimLine, PlaceLine, SaveState, SayLine
from screens.review.items import ItemReader, ReviewOrder
from screens.review.judging import Desk, SessionCount, Stopwatch
from screens.review.part import ItemView, PaneText
from screens.review.reading import SUBJECT, ReadingActions
from screens.widgets.text_pane import Place, TextPane
from screens.widgets.visible import one_line
from store.errors import WorkbenchError
from store.kinds.protocol import task_kinds
from store.queries.queue import QueueFilter, queue_ids
from store.recording import Action

if TYPE_CHECKING:
    from screens.app import WorkbenchApp


class ShowingItems(ReadingActions):
    """The part of a review screen that goes through the items of a queue, in their frozen order."""

    reader: ItemReader

    def __init__(self, ids: list[int], index: int = 0, sentence: str = "all items") -> None:
        super().__init__()
        self.order = ReviewOrder(ids, index)
        self.sentence = sentence
        self.item: ItemView | None = None
        self.desk: Desk | None = None
        self.count: SessionCount | None = None
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
        self._began = False
        self.active = SUBJECT
        self.preferred = ""

    @property
    def workbench(self) -> WorkbenchApp:
        """The app, as what it is."""
        return cast("WorkbenchApp", self.app)

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
                view.prompt, kind="reply", title=f"{view.kind} · {view.external_id}"
            )
            self._fit_prompt(view.prompt)
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
        if not self._began:
            self._began = True
            self._say("")
        ahead = tuple(number for number in (self.order.at(1), self.order.at(2), self.order.at(-1)) if number)
        self._read_ahead(ahead)

    def _fit_prompt(self, prompt: str) -> None:
        """Give the prompt the lines it needs, three at most; it scrolls beyond that."""
        room = max(20, self.app.size.width - 4)
        rows = min(3, sum(max(1, -(-len(line) // room)) for line in prompt.split("\n")[:3]))
        self.query_one("#prompt", TextPane).styles.height = rows + (0 if self.narrow else 2)

    def _fill(self, view: ItemView) -> None:
        switcher = self.query_one("#switcher", ContentSwitcher)
        self._load(self._panes[SUBJECT], view.subject)
        wanted = [part.id for part in view.case]
        for part in view.case:
            pane = self._panes.get(part.id)
            if pane is None:
                pane = self._panes[part.id] = TextPane(id=part.id)
                pane.display = part.id == switcher.current
                switcher.mount(pane)
            self._load(pane, part)
        # A part without text for this item gives way to the first one, until an item has it again.
        told = {part.id for part in view.case if part.text}
        case = self.preferred if self.preferred in told else wanted[0]
        if self.active != SUBJECT:
            self.active = case
        switcher.current = case

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
                self._began = True
                self._say("Your unsaved comment is kept: c goes on with it.")
            active = str(self._resume_from.get("active", SUBJECT))
            self.active = active if active in self._panes else SUBJECT
            if self.active != SUBJECT:
                self.preferred = self.active
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
