"""The queue: which items there are, in an order that stays as it is until it is asked for anew."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Static

from agents.events import ItemAnnotated, JobEvent
from agents.kinds import kinds_with_agents
from screens.commands import Command, Scope, bindings, command_named
from screens.help import first_key, keys_of
from screens.jobs.line import JobLine
from screens.queue.fields import TEXT_WANTED, order_phrase
from screens.queue.order import QueueOrders
from screens.queue.preview import Preview
from screens.queue.taking_up import TakingUpOrders
from screens.widgets.item_list import CursorMoved, ItemChosen, ItemList, ReadFailed
from screens.widgets.key_line import KeyLine
from screens.widgets.line import Line
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from store.counted import counted
from store.errors import WorkbenchError
from store.queries.rows import QueueFilter, QueueSort

if TYPE_CHECKING:
    from screens.app import WorkbenchApp
    from screens.review.items import ItemReader
    from screens.review.part import ItemView
    from screens.review.screen import ReviewScreen
    from store.recording import Action

NAME = "queue"
"""The name under which the app keeps the screen, so that it is as it was when one comes back."""

PREVIEW_SECONDS = 0.08
"""How long the cursor rests before the preview follows it."""


def open_queue(app: WorkbenchApp) -> None:
    """Show the queue as it was left; the first time, as it was in the session before."""
    if not app.is_screen_installed(NAME):
        app.install_screen(QueueScreen(), NAME)
    app.push_screen(NAME)


class QueueScreen(TakingUpOrders):
    """All items, filtered and ordered, made for 400,000 of them."""

    SCOPE: ClassVar[Scope] = "queue"
    CSS_PATH: ClassVar[str] = "queue.tcss"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("queue"))
    AUTO_FOCUS = "#items"

    def __init__(self) -> None:
        super().__init__()
        self._review: ReviewScreen | None = None
        self._preview_timer: Timer | None = None
        self._typed_ahead: list[events.Key] = []

    # -- layout ---------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Lay out the sentence, the list, the preview and the lines at the foot."""
        context = self.workbench.context
        blind = context.settings.blind
        self.orders = QueueOrders(context.workspace, context.scope)
        yield TopLine("queue")
        yield Static(id="sentence")
        leaves = self._key("line.close")
        yield Line(id="find", placeholder=f"{TEXT_WANTED} · Enter lists, {leaves} leaves")
        with Horizontal(id="body"):
            yield ItemList(lambda ids: self.orders.rows(list(ids)), blind=blind, id="items")
            yield Static(id="said")
            yield Preview()
        yield JobLine()
        yield KeyLine(self.SCOPE)

    def on_mount(self) -> None:
        """Take up the queue of the session before, and follow what is recorded."""
        app = self.workbench
        self.items = self.query_one(ItemList)
        app.saved.subscribe(self, self._action_recorded)
        app.failed.subscribe(self, self._action_recorded)
        app.job_events.subscribe(self, self._job_told)
        self._lay_out()
        self._take_up()

    def on_resize(self) -> None:
        """Fit the sentence to the width."""
        self._lay_out()

    def on_screen_resume(self) -> None:
        """Go to the item that was reviewed last, and look for what is new."""
        if not self._generation:
            return
        review, self._review = self._review, None
        if review is not None and review.order.nearest is not None:
            self.items.go_to(review.order.nearest)
        self.items.catch_up()
        self._show_unsaved()
        self.query_one(JobLine).show_job()
        if self._complete:
            self._look_for_new()

    @cached_property
    def reader(self) -> ItemReader:
        """Reads the items of the preview."""
        from screens.review.items import ItemReader

        context = self.workbench.context
        return ItemReader(context.workspace, context.scope)

    # -- what changes below ---------------------------------------------------------------------------

    def _action_recorded(self, action: Action) -> None:
        self.reader.forget(action.item_id)
        self.items.items_changed([action.item_id])
        self._show_unsaved()

    def _job_told(self, event: JobEvent) -> None:
        if isinstance(event, ItemAnnotated):
            self.reader.forget(event.item_id)
            self.items.items_changed([event.item_id])

    def _show_unsaved(self) -> None:
        app = self.workbench
        failed = {app.unsaved[number].item_id for number in app.failures if number in app.unsaved}
        self.items.show_unsaved({action.item_id for action in app.unsaved.values()} - failed, failed)

    # -- saying ---------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self.query_one("#sentence", Static).update(Content(self._sentence()))
        said = self._said()
        self.set_class(bool(said), "-saying")
        self.refresh_bindings()
        self.query_one("#said", Static).update(Content(said))
        if not said and self.focused is None:
            # A list that was out of sight has lost the focus.
            self.call_after_refresh(self.items.focus)

    def _sentence(self) -> str:
        asked, count = self.asked, self.items.count if self._generation else 0
        counted = (
            f"{count:,} of {self.total:,}" if self._complete and self.total is not None else "counting …"
        )
        if self._new:
            counted += f" · {self._new:,} new, {self._key('queue.refresh')} lists them"
        order = f" · {order_phrase(asked.sort)}" if asked.sort != QueueSort() else ""
        width = self.app.size.width - 2
        tail = f" · {counted}{order}"
        return f" {one_line(self._wanted_in_words(), max(10, width - len(tail)))}{tail}"

    def _wanted_in_words(self) -> str:
        return self.asked.wanted.sentence(self.kinds_here, kinds_with_agents())

    def _key(self, command_id: str) -> str:
        return first_key(self.workbench.context.settings, command_id)

    def _said(self) -> str:
        """Return what is said in place of a list, empty when there is one."""
        if self._failure is not None:
            return (
                f"! The queue could not be read.\n\n{one_line(str(self._failure), 600)}\n\n"
                f"Your judgments are not touched by this. {self._key('queue.refresh')} tries again; "
                f"{self._key('queue.back')} goes back."
            )
        if not self._generation or (not self._complete and not self.items.count):
            return "Reading the queue …"
        if self.items.count or not self._complete:
            return ""
        if not self.total:
            return (
                "This workspace holds no items yet.\n\n"
                f"{self._key('queue.back')} goes home, where {self._key('home.import')} imports a file."
            )
        return (
            f"Nothing matches: {one_line(self._wanted_in_words(), 200)}.\n\n"
            f"{self._key('queue.clear')} shows all {counted(self.total, 'item')} · "
            f"{self._key('queue.filter')} changes the filter · "
            f"{self._key('queue.find')} looks for another text"
        )

    # -- the preview ----------------------------------------------------------------------------------

    @on(CursorMoved)
    def _cursor_moved(self, message: CursorMoved) -> None:
        if not self.has_class("-wide"):
            return
        if self._preview_timer is not None:
            self._preview_timer.stop()
        self._preview_timer = self.set_timer(PREVIEW_SECONDS, lambda: self._read_preview(message.item_id))

    @work(thread=True, exclusive=True, group="preview")
    def _read_preview(self, item_id: int) -> None:
        view = self.reader.kept(item_id)
        if view is None:
            try:
                view = self.reader.read(item_id)
            except WorkbenchError:
                # The list says what cannot be read; the preview stays with the item before.
                return
        self.call_later(self._show_preview, view)

    async def _show_preview(self, view: ItemView) -> None:
        if self.items.item_id == view.item_id:
            await self.query_one(Preview).show(view)

    # -- keys -----------------------------------------------------------------------------------------

    @on(ReadFailed)
    def _read_failed(self, message: ReadFailed) -> None:
        self._failure = message.error
        self._lay_out()

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect: no opening of an empty list, no clearing without a filter."""
        if command.id == "queue.open":
            return not self._generation or self.items.count > 0
        return self.asked.wanted != QueueFilter() if command.id == "queue.clear" else True

    def action_open_item(self) -> None:
        """Review the item under the cursor."""
        if self.items.count:
            self.items.choose()
        elif self._failure is None and not self._complete:
            self._open_any = True
        else:
            self.workbench.tell("Nothing to open", "No item is listed.")

    @on(ItemChosen)
    def _item_chosen(self, message: ItemChosen) -> None:
        if not self._complete:
            # A review goes through the whole queue, in the order it has when the review begins.
            self._to_open = message.item_id
            return
        self._to_open = None
        self.keep_place()
        app = self.workbench
        app.open_review(self.items.ids, message.index, self.asked)
        top = self.app.screen
        self._review = cast("ReviewScreen", top) if top is not self else None
        for typed in self._typed_ahead:
            again = events.Key(typed.key, typed.character)
            again.time = typed.time
            app.post_message(again)
        self._typed_ahead.clear()

    def on_key(self, event: events.Key) -> None:
        """Keep what is typed while an item is being opened: it is meant for the review."""
        if not self.is_opening:
            self._typed_ahead.clear()
        elif event.key not in keys_of(command_named("queue.back"), self.workbench.context.settings).split(
            ","
        ):
            event.stop()
            event.prevent_default()
            self._typed_ahead.append(event)

    def action_filter(self) -> None:
        """Choose what the queue lists."""
        from screens.queue.filter import FilterScreen

        def chosen(wanted: QueueFilter | None) -> None:
            if wanted is not None and wanted != self.asked.wanted:
                self.ask(replace(self.asked, wanted=wanted))

        self.app.push_screen(FilterScreen(self.asked.wanted, self.orders.count, self.kinds_here), chosen)

    def action_sort(self) -> None:
        """Choose the order of the queue."""
        from screens.queue.sort import SortScreen

        def chosen(sort: QueueSort | None) -> None:
            if sort is not None and sort != self.asked.sort:
                self.ask(replace(self.asked, sort=sort))

        self.app.push_screen(SortScreen(self.asked.sort, self.kinds_here), chosen)

    def action_clear_filter(self) -> None:
        """List all items again."""
        if self.asked.wanted == QueueFilter():
            self.workbench.tell("No filter", "All items are listed already.")
        else:
            self.ask(replace(self.asked, wanted=QueueFilter()))

    def action_refresh_queue(self) -> None:
        """Take the order anew, with what changed since."""
        self._afresh = True
        self.ask(self.asked)

    def action_find(self) -> None:
        """Open the line in which a text is looked for."""
        box = self.query_one("#find", Input)
        box.value = self.asked.wanted.text
        box.display = True
        box.focus()
        leave = (self._key("line.close"), "leaves the list as it is")
        self.query_one(KeyLine).offer([("Enter", "lists what contains the text"), leave])

    @on(Input.Submitted, "#find")
    def _text_given(self, event: Input.Submitted) -> None:
        event.stop()
        self._close_find()
        text = event.value.strip()
        if text != self.asked.wanted.text:
            self.ask(replace(self.asked, wanted=replace(self.asked.wanted, text=text)))

    def _close_find(self) -> None:
        self.query_one("#find", Input).display = False
        self.query_one(KeyLine).offer(())
        self.items.focus()

    def action_close_line(self) -> None:
        """Close the line in which a text is looked for."""
        self._close_find()

    def action_back(self) -> None:
        """Close the search line, otherwise go home."""
        if self.query_one("#find", Input).display:
            self._close_find()
            return
        self.keep_place()
        self.workbench.go_home()

    def keep_place(self) -> None:
        """Keep filter, order and item for the next session."""
        if self._generation:
            self.orders.keep(self.asked, self.items.item_id)
