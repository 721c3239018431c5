"""The queue: which items there are, in an order that stays until it is refreshed."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Static

from agents.jobs.events import ItemEnded, JobEvent
from agents.pipelines.registry import kinds_with_agents
from screens.commands import KINDS_WITH_A_KEY, Command, bindings, command_named
from screens.first_item import import_for_first_item
from screens.help import keys_of
from screens.jobs.job_line import JobLine
from screens.queue.fields import TEXT_WANTED, order_phrase
from screens.queue.loader import QueueLoader
from screens.queue.preview import Preview
from screens.queue.progress_line import progress_line
from screens.queue.query import QueueQuery
from screens.threads import Deliver, Soon, in_parts, in_thread
from screens.widgets.item_list.widget import CursorMoved, ItemChosen, ItemList, ReadFailed
from screens.widgets.key_line import KeyLine
from screens.widgets.line_input import LineInput
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.formatting import pluralize
from store.kinds.counting import in_order
from store.kinds.spec import task_kinds
from store.policy.scope import Shows
from store.queries.rows import QueueFilter, QueueSort, ViewQuery

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from screens.context import ScreenContext
    from screens.items.reader import ItemReader
    from screens.items.views import ItemView
    from screens.navigator import Navigator, OpenedReview
    from screens.queue.loader import LoadedQueue, QueueProgress
    from store.policy.scope import RunRef
    from store.queries.runs import LabelledRun
    from store.record.actions import Action

RUN_CELLS = 13
"""Cells that the name of the run always has, shortened in its middle."""

PROGRESS_SECONDS = 0.2
"""How long after the order its progress is counted, which would hold up the lines."""

PREVIEW_SECONDS = 0.08
"""How long the cursor rests before the preview follows it."""


class QueueScreen(WorkbenchScreen):
    """All items, filtered and ordered, made for 400,000 of them.

    Args:
        wanted: List these items, go back to the screen before, and keep nothing for the next session; by
            default the queue of the session before is shown.
    """

    SCOPE = "queue"
    CSS_PATH = "queue.tcss"
    BINDINGS = bindings("queue")
    AUTO_FOCUS = "#items"

    items: ItemList
    loader: QueueLoader

    def __init__(
        self, context: ScreenContext, navigator: Navigator, wanted: QueueFilter | None = None
    ) -> None:
        super().__init__(context, navigator)
        self._wanted_first = wanted
        # The view that was chosen before the queue of the session before was read.
        self._view_first: QueueQuery | None = None
        self.queue_query = QueueQuery(QueueFilter(), QueueSort())
        # How many items of each kind there are; none before they were counted.
        self.kinds_here: Mapping[str, int] = {}
        self.progress: QueueProgress | None = None
        self._new = 0
        self._afresh = False
        self._generation = 0
        # Whose items are listed, be it only the first of them.
        self._listed_generation = 0
        self._complete = False
        self._loaded: LoadedQueue | None = None
        self._go_to: int | None = None
        # The kind chosen by its number before it was known which kinds there are.
        self._kind_to_choose: int | None = None
        # The choice before the order was read: an item, or whichever is under the cursor then.
        self._to_open: int | None = None
        self._open_any = False
        self._failure: Exception | None = None
        self._review: OpenedReview | None = None
        # The review that goes through the first items of an order, until the others are known.
        self._begun_review: OpenedReview | None = None
        self._progress_soon = Soon(self, PROGRESS_SECONDS, group="progress")
        self._preview_soon = Soon(self, PREVIEW_SECONDS, group="preview")
        self._typed_ahead: list[events.Key] = []
        self._once_ready: Callable[[], object] | None = None

    # -- layout ---------------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Lay out the sentence, the progress, the list, the preview and the lines at the foot."""
        scope = self.context.scope
        self.loader = QueueLoader(self.context.workspace, scope)
        yield TopLine("queue")
        yield Static(id="sentence")
        yield Static(id="progress")
        leaves = self.key_of("line.close")
        yield LineInput(id="find", placeholder=f"{TEXT_WANTED} · Enter list, {leaves} cancel")
        with Horizontal(id="body"):
            yield ItemList(
                lambda ids: self.loader.rows(list(ids)), blind=not scope.may(Shows.AGENTS), id="items"
            )
            yield Static(id="message")
            yield Preview(self.context.settings)
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Take up the queue of the session before, and follow what is recorded."""
        context = self.context
        self.items = self.query_one(ItemList)
        context.recorder.saved.subscribe(self, self._action_recorded)
        context.recorder.failed.subscribe(self, self._action_recorded)
        context.jobs.events.subscribe(self, self._job_event)
        context.runs.changed.subscribe(self, self._run_changed)
        self._lay_out()
        self._take_up()

    def on_resize(self) -> None:
        """Fit the sentence to the width, and show the item under the cursor where there is room now."""
        self._lay_out()
        if self.items.item_id is not None:
            self._preview_later(self.items.item_id)

    def on_screen_resume(self) -> None:
        """Go to the item that was reviewed last, and look for what is new."""
        if not self._generation:
            return
        review, self._review, self._begun_review = self._review, None, None
        self.items.return_from(review)
        if self.items.item_id is not None:
            self._preview_later(self.items.item_id)
        self._show_unsaved()
        if self._complete:
            # A failed count is repeated when the order is next read.
            in_thread(self, self.loader.total, self._found_new, group="new")
            self._count_progress()

    @cached_property
    def reader(self) -> ItemReader:
        """Reads the items of the preview."""
        from screens.items.reader import ItemReader

        return ItemReader(self.context.workspace, self.context.scope)

    def _run_changed(self, relabelled: bool) -> None:
        """Read everything again where another run is shown than before, since no labels are mixed."""
        if relabelled:
            scope = self.context.scope
            self.loader = QueueLoader(self.context.workspace, scope)
            self.reader.look_as(scope)
            if self._generation:
                self._afresh = True
                self.load_queue(self.queue_query)
        self._lay_out()

    # -- the order -----------------------------------------------------------------------------------

    @property
    def shows_part(self) -> bool:
        """Whether it lists only the items that were asked for elsewhere."""
        return self._wanted_first is not None

    def list_view(self, view: ViewQuery) -> None:
        """List the items of a view, also in place of the queue of the session before."""
        query = QueueQuery(view.wanted, view.sort, view.grouped, view.hidden)
        if self._generation:
            self.load_queue(query)
        else:
            self._view_first = query

    def once_ready(self, callback: Callable[[], object]) -> None:
        """Call back once it is known what is listed."""
        if self._generation:
            super().once_ready(callback)
        else:
            self._once_ready = callback

    def _take_up(self) -> None:
        """Show the queue of the session before; all items at once where a start has read the first ones."""
        if self._view_first is not None:
            self.load_queue(self._view_first)
            return
        if self._wanted_first is not None:
            # Each of the items behind a figure is of interest, not the group that it is in.
            self.load_queue(QueueQuery(self._wanted_first, grouped=False))
            return
        look = self.context.program.first_look
        if look is None or look.rows is None:
            self._read_kept()
            return
        query, item_id = self.loader.of(look.queue or {})
        if (query.wanted, query.sort) != (QueueFilter(), QueueSort()):
            self.load_queue(query, item_id)
            return
        self._begin_order(query, item_id)
        self._order_read(self._generation, self.loader.begun(look.rows, query))
        # The queries for the others are imported only when these are on the screen.
        self.call_after_refresh(self._read_order, self._generation, query, begun=True)

    def _read_kept(self) -> None:
        in_thread(
            self,
            self.loader.kept,
            lambda kept: self.load_queue(*(kept if self._view_first is None else (self._view_first,))),
            lambda _: self.load_queue(self._view_first or QueueQuery()),
            group="kept",
        )

    def load_queue(self, query: QueueQuery, item_id: int | None = None) -> None:
        """List another queue.

        The cursor goes to the item given, after a change of the filter to the first match that is not judged,
        and otherwise stays with its item.
        """
        filtered = item_id is None and query.wanted not in (self.queue_query.wanted, QueueFilter())
        self._begin_order(query, item_id)
        # The first items of an order are of use only where none is listed yet.
        self._read_order(self._generation, query, begun=self.items.count > 0, to_unjudged=filtered)

    def _begin_order(self, query: QueueQuery, item_id: int | None) -> None:
        # A choice made before the first order was asked for is meant for that one.
        self._open_any = self._open_any and not self._generation
        self._generation += 1
        if query.wanted != self.queue_query.wanted:
            self.progress = None
        self.queue_query = query
        self.items.hide_columns(query.hidden)
        self._go_to = item_id
        self._complete = False
        self._failure = None
        self._to_open = None
        self._new = 0
        self._lay_out()
        if self._once_ready is not None:
            self.call_later(self._once_ready)
            self._once_ready = None

    def _read_order(
        self, generation: int, query: QueueQuery, *, begun: bool = False, to_unjudged: bool = False
    ) -> None:
        def read(deliver: Deliver) -> None:
            import_for_first_item()
            at: int | None = None
            if query.begins_quickly and not begun:
                deliver(self._order_read, generation, self.loader.first(query))
            found = self.loader.all(query)
            if to_unjudged and len(found.ids):
                at = self.loader.first_unjudged(query) or int(found.ids[0])
            deliver(self._order_read, generation, found, at)

        in_parts(self, read, partial(self._order_failed, generation), group="order")

    def _order_read(self, generation: int, found: LoadedQueue, at: int | None = None) -> None:
        if generation != self._generation:
            return
        # The head of an order is shown only where no place is lost by it: at the start.
        if found.complete or not self.items.count:
            # Who has moved the cursor meanwhile stays where they are.
            at = at or (None if self.items.cursor else self._go_to)
            self.items.show(
                found.ids,
                found.starts,
                rows=found.rows,
                kinds=found.kinds,
                agents=not found.kinds.isdisjoint(found.runs or ()),
                afresh=self._afresh,
                at=at,
            )
            self._listed_generation = generation
            self._afresh = False
        if found.runs is not None:
            self.context.runs.take(found.runs)
        if found.here is not None:
            self._complete, self._go_to = True, None
            self._loaded, self.kinds_here = found, found.here
            if self._begun_review is not None:
                self._begun_review.complete_order(found.ids)
                self._begun_review = None
            # The lines come first.
            self._progress_soon.call(self._count_progress)
        self._lay_out()
        if self._complete and self._kind_to_choose is not None:
            place, self._kind_to_choose = self._kind_to_choose, None
            self.action_choose_kind(place)
        elif self._complete:
            self._open_chosen()

    @property
    def total(self) -> int | None:
        """How many items there are, listed or not; None before they were counted."""
        return sum(self.kinds_here.values()) if self._complete else None

    def _count_progress(self) -> None:
        """Count what is judged of the list; under another screen when one comes back."""
        if not self._complete or not self.is_current:
            return
        read = partial(self.loader.progress, self.items.ids, self.kinds_here)
        in_thread(self, read, partial(self._take_progress, self._generation), group="progress")

    def _take_progress(self, generation: int, progress: QueueProgress) -> None:
        if generation == self._generation:
            self.progress = progress
            self._lay_out()

    @property
    def is_opening(self) -> bool:
        """Whether an item was chosen that is opened as soon as the order is read."""
        return self._open_any or self._to_open is not None

    def _open_chosen(self) -> None:
        """Open what was chosen while the order was read, where it is listed and no dialog is open."""
        to_open, self._to_open = self._to_open, None
        any_item, self._open_any = self._open_any, False
        if self.is_current and (any_item or (to_open is not None and self.items.go_to(to_open))):
            self.items.choose()

    def _order_failed(self, generation: int, error: Exception) -> None:
        if generation == self._generation:
            self._failure = error
            if self._begun_review is not None:
                # It goes on with the items that are listed.
                self.context.notices.show("Queue not read", f"Only its beginning was: {error}", alarm=True)
                self._begun_review.complete_order(self.items.ids)
                self._begun_review = None
            self._lay_out()

    def _found_new(self, total: int) -> None:
        if not self._complete or self.total is None or total == self.total:
            return
        if not self.total:
            self.load_queue(self.queue_query)
            return
        self._new = total - self.total
        self._lay_out()

    # -- changes of items ---------------------------------------------------------------------------

    def _action_recorded(self, action: Action) -> None:
        self.reader.forget(action.item_id)
        self.items.items_changed([action.item_id])
        self._show_unsaved()
        if self.is_current:
            self._count_progress()

    def _job_event(self, event: JobEvent) -> None:
        if isinstance(event, ItemEnded):
            self.reader.forget(event.item_id, event.run_id)
            self.items.items_changed([event.item_id])

    def _show_unsaved(self) -> None:
        recorder = self.context.recorder
        unsaved = recorder.unsaved
        failed = {unsaved[number].item_id for number in recorder.failures if number in unsaved}
        self.items.show_unsaved({action.item_id for action in unsaved.values()} - failed, failed)

    # -- layout ---------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self.query_one("#sentence", Static).update(Content(self._sentence()))
        message = self._message()
        keys = [self.key_of(f"queue.kind_{place}") for place in range(KINDS_WITH_A_KEY + 1)]
        chosen, width = self.queue_query.wanted.kind, self.app.size.width - 2
        line = progress_line(self.progress, self.kinds_here, chosen, keys, width)
        self.query_one("#progress", Static).update(line)
        self.set_class(bool(message), "-message")
        self.refresh_bindings()
        self.query_one("#message", Static).update(Content(message))
        if not message and self.focused is None:
            # A list that was out of sight has lost the focus.
            self.call_after_refresh(self.items.focus)

    def _sentence(self) -> str:
        query, count = self.queue_query, self.items.count if self._generation else 0
        counted = (
            f"{count:,} of {self.total:,}" if self._complete and self.total is not None else "counting …"
        )
        if self._new:
            counted += f" · {self._new:,} new, {self.key_of('queue.refresh')} lists them"
        order = f" · {order_phrase(query.sort)}" if query.sort != QueueSort() else ""
        width = self.app.size.width - 2
        wanted, tail = self._wanted_in_words(), f" · {counted}{order}"
        run = self.context.runs.words(max(RUN_CELLS, width - cell_len(wanted) - len(tail) - 3))
        tail += f" · {run}" if run else ""
        return f" {one_line(wanted, max(10, width - cell_len(tail)))}{tail}"

    def _wanted_in_words(self) -> str:
        return self.queue_query.wanted.sentence(self.kinds_here, kinds_with_agents())

    def _message(self) -> str:
        """Return the message in place of a list, empty when there is one."""
        if self._failure is not None:
            return (
                f"! The queue could not be read.\n\n{one_line(str(self._failure), 600)}\n\n"
                f"Your judgments are safe. {self.key_of('queue.refresh')} tries again; "
                f"{self.key_of('queue.back')} goes back."
            )
        if not self._generation or (not self._complete and not self.items.count):
            return "Reading …"
        if self.items.count or not self._complete:
            return ""
        if not self.total:
            return (
                "This workspace has no items yet.\n\n"
                f"{self.key_of('queue.back')} goes home, where {self.key_of('home.import')} imports a file."
            )
        return (
            f"Nothing matches: {one_line(self._wanted_in_words(), 200)}.\n\n"
            f"{self.key_of('queue.clear')} shows all {pluralize(self.total, 'item')} · "
            f"{self.key_of('queue.filter')} changes the filter · "
            f"{self.key_of('queue.find')} looks for another text"
        )

    # -- the preview ----------------------------------------------------------------------------------

    @on(CursorMoved)
    def _cursor_moved(self, message: CursorMoved) -> None:
        self._preview_later(message.item_id)

    def _preview_later(self, item_id: int) -> None:
        self._preview_soon.call(partial(self._read_preview, item_id), again=True)

    def _read_preview(self, item_id: int) -> None:
        if not self.has_class("-wide") or not self.is_current:
            return

        def read() -> ItemView:
            # What reads items is imported here: keys would wait for that, too.
            return self.reader.read(item_id)

        # The list shows read errors; the preview stays with the item before.
        in_thread(self, read, self._show_preview, group="preview")

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
        if command.id == "queue.run":
            return self.context.scope.may(Shows.LISTS) and bool(self.context.runs.shown)
        if command.id == "queue.export":
            return self.context.study is None
        if command.id == "queue.open":
            return not self._generation or self.items.count > 0
        if command.id == "queue.group":
            known = task_kinds()
            has_groups = any(kind in known and known[kind].record.group for kind in self.kinds_here)
            return has_groups and self.context.study is None
        return self.queue_query.wanted != QueueFilter() if command.id == "queue.clear" else True

    def label_now(self, command: Command) -> str:
        """Name what `g` does now."""
        if command.id == "queue.group":
            return "one by one" if self.queue_query.grouped else "group"
        return command.label

    def action_open_item(self) -> None:
        """Review the item under the cursor."""
        if self.items.count:
            self.items.choose()
        elif self._failure is None and not self._complete:
            self._open_any = True
        else:
            self.context.notices.show("Nothing to open", "No item is listed.")

    @on(ItemChosen)
    def _item_chosen(self, message: ItemChosen) -> None:
        if self._listed_generation != self._generation:
            # The lines are those of the order before, and a review goes through that of its queue.
            self._to_open = message.item_id
            return
        self._to_open = None
        self.keep_place()
        whole = self._complete
        self._review = self.navigator.open_review(
            self.items.ids, message.index, self.queue_query, whole=whole
        )
        self._begun_review = None if whole else self._review
        for typed in self._typed_ahead:
            again = events.Key(typed.key, typed.character)
            again.time = typed.time
            self.app.post_message(again)
        self._typed_ahead.clear()

    def on_key(self, event: events.Key) -> None:
        """Keep what is typed while an item is being opened: it is meant for the review."""
        if not self.is_opening:
            self._typed_ahead.clear()
        elif event.key not in keys_of(command_named("queue.back"), self.context.settings).split(","):
            event.stop()
            event.prevent_default()
            self._typed_ahead.append(event)

    def action_filter(self) -> None:
        """Choose what the queue lists."""
        from screens.queue.filter import FilterScreen

        def chosen(wanted: QueueFilter | None) -> None:
            if wanted is not None and wanted != self.queue_query.wanted:
                self.load_queue(replace(self.queue_query, wanted=wanted))

        settings, wanted = self.context.settings, self.queue_query.wanted
        blind = not self.context.scope.may(Shows.LISTS)
        self.app.push_screen(
            FilterScreen(settings, wanted, self.loader.count, self.kinds_here, blind=blind), chosen
        )

    def action_sort(self) -> None:
        """Choose the order of the queue."""
        from screens.queue.sort import SortScreen

        def chosen(sort: QueueSort | None) -> None:
            if sort is not None and sort != self.queue_query.sort:
                self.load_queue(replace(self.queue_query, sort=sort))

        settings, sort = self.context.settings, self.queue_query.sort
        blind = not self.context.scope.may(Shows.LISTS)
        self.app.push_screen(SortScreen(settings, sort, self.kinds_here, blind=blind), chosen)

    def action_columns(self) -> None:
        """Choose which columns are shown."""
        from screens.queue.columns import ColumnsScreen

        def chosen(hidden: tuple[str, ...] | None) -> None:
            if hidden is not None:
                self.queue_query = replace(self.queue_query, hidden=hidden)
                self.items.hide_columns(hidden)

        blind = not self.context.scope.may(Shows.LISTS)
        self.app.push_screen(
            ColumnsScreen(self.context.settings, self.queue_query.hidden, blind=blind), chosen
        )

    def action_choose_run(self) -> None:
        """Choose the run of the agents whose labels are shown."""
        notices = self.context.notices
        if self.context.refuses(Shows.WHOLE):
            return
        if not self.context.scope.may(Shows.AGENTS):
            notices.show("Blind review", "The agents' labels are not shown.")
            return
        in_thread(self, self.loader.choices, self._offer_runs, notices.report_error, group="runs")

    def _offer_runs(self, found: tuple[list[LabelledRun], Mapping[str, RunRef]]) -> None:
        from screens.queue.runs import RunScreen

        runs, default = found
        if not runs:
            self.context.notices.show("No run", "The agents have labelled nothing here yet.")
        elif self.is_current and not self.app.screen.is_modal:

            def chosen(choice: tuple[RunRef | None] | None) -> None:
                if choice is not None:
                    self.context.runs.choose(choice[0])

            self.app.push_screen(
                RunScreen(self.context.settings, runs, self.context.runs.chosen, default), chosen
            )

    def action_choose_view(self, *, saves: bool = False) -> None:
        """Choose a saved view; rename or delete one.

        Args:
            saves: Whether a name for what is listed is asked at once.
        """
        from screens.queue.views import ViewsScreen

        def chosen(query: ViewQuery | None) -> None:
            if query is not None:
                self.list_view(query)

        self.app.push_screen(ViewsScreen(self.context, self.queue_query, saves=saves), chosen)

    def action_save_view(self) -> None:
        """Save what is listed as a view."""
        self.action_choose_view(saves=True)

    def action_open_export(self) -> None:
        """Write the items of the queue, or others, to a file."""
        self.keep_place()
        self.navigator.open_export(self.queue_query)

    def action_group(self) -> None:
        """List the items of a group on one line, or each item on its own."""
        if self.context.study is not None:
            self.context.notices.show("One by one", "In a study items stay in its order.")
            return
        query = replace(self.queue_query, grouped=not self.queue_query.grouped)
        if not self._complete or self._loaded is None:
            self.load_queue(query)
            return
        self.queue_query = query
        generation = self._generation
        in_thread(
            self,
            partial(self.loader.regrouped, self._loaded, query),
            partial(self._order_read, generation),
            partial(self._order_failed, generation),
            group="order",
        )

    def action_choose_kind(self, place: int) -> None:
        """List the items of one kind.

        Args:
            place: Its place among the kinds that there are, from 1; 0 for all kinds.
        """
        if not self.kinds_here:
            self._kind_to_choose = place
            return
        kinds = in_order(self.kinds_here)
        if place > len(kinds):
            self.context.notices.show("No such kind", f"There are items of {pluralize(len(kinds), 'kind')}.")
            return
        wanted, kind = self.queue_query.wanted, kinds[place - 1] if place else None
        if kind != wanted.kind:
            # Labels and paths of another kind are other ones.
            wanted = replace(wanted, kind=kind, label=None, agent=None, path=None)
            self.load_queue(replace(self.queue_query, wanted=wanted))

    def action_clear_filter(self) -> None:
        """List all items again."""
        if self.queue_query.wanted == QueueFilter():
            self.context.notices.show("No filter", "All items are listed.")
        else:
            self.load_queue(replace(self.queue_query, wanted=QueueFilter()))

    def action_refresh_queue(self) -> None:
        """Refresh the order."""
        self._afresh = True
        self.load_queue(self.queue_query)

    def action_find(self) -> None:
        """Open the line in which a text is looked for."""
        box = self.query_one("#find", Input)
        box.value = self.queue_query.wanted.text
        box.cursor_position = len(box.value)
        box.display = True
        box.focus()
        leave = (self.key_of("line.close"), "cancel")
        self.query_one(KeyLine).offer([("Enter", "list the items with this text"), leave])

    @on(Input.Submitted, "#find")
    def _text_given(self, event: Input.Submitted) -> None:
        event.stop()
        self._close_find()
        text = event.value.strip()
        if text != self.queue_query.wanted.text:
            self.load_queue(replace(self.queue_query, wanted=replace(self.queue_query.wanted, text=text)))

    def _close_find(self) -> None:
        self.query_one("#find", Input).display = False
        self.query_one(KeyLine).offer(())
        self.items.focus()

    def action_close_line(self) -> None:
        """Close the line in which a text is looked for."""
        self._close_find()

    def action_back(self) -> None:
        """Close the search line, otherwise go back."""
        if self.query_one("#find", Input).display:
            self._close_find()
        elif self._wanted_first is not None:
            self.app.pop_screen()
        else:
            self.keep_place()
            self.navigator.go_home()

    def keep_place(self) -> None:
        """Keep filter, order and item for the next session."""
        if self._generation and self._wanted_first is None:
            self.loader.keep(self.queue_query, self.items.item_id)
