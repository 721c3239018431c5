"""The items of a run by how they ended (failed for which cause, waiting, labelled), and by equal outputs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from agents.jobs.events import JobEnded, JobEvent
from agents.pipelines.registry import done_word
from screens.commands import Command, bindings
from screens.items.steps import role_word
from screens.jobs.job_line import JobLine
from screens.jobs.start import start_annotation
from screens.threads import in_thread
from screens.widgets.cursor_lines import CURSOR
from screens.widgets.item_list.widget import ItemChosen, ItemList, ReadFailed
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line, shortened
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.formatting import pluralize
from store.policy.scope import Shows
from store.queries.queue import queue_rows
from store.queries.run_items import (
    FailureCause,
    ItemGroup,
    RoleOutputs,
    failure_causes,
    run_items,
    run_outcomes,
    run_outputs,
)
from store.queries.runs import count_done

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import Navigator, OpenedReview
    from store.queries.rows import Ids, QueueRow
    from store.tables.runs import Run

GROUPS_LISTED = 6


class OutcomesScreen(WorkbenchScreen):
    """Lists a run's items in groups; the review of one opens over it."""

    SCOPE = "outcomes"
    CSS_PATH = "jobs.tcss"
    BINDINGS = bindings("outcomes")
    AUTO_FOCUS = "#items"

    def __init__(self, context: ScreenContext, navigator: Navigator, run: Run) -> None:
        super().__init__(context, navigator)
        self.run = run
        self.outputs: tuple[RoleOutputs, ...] | None = None
        self._by_end: list[ListedGroup] = []
        self.failure: Exception | None = None
        self.listed: ItemGroup | None = None
        self._wanted = ItemGroup()
        self._review: OpenedReview | None = None

    @property
    def groups(self) -> list[ListedGroup]:
        """The groups as they are listed, as far as they are read."""
        return [*self._by_end, *groups_by_output(self.outputs or ())]

    def compose(self) -> ComposeResult:
        """Lay out the groups, the items of one of them, and the lines at the foot."""
        yield TopLine("jobs › items of a run")
        yield Static(id="sentence")
        yield Static(id="groups")
        self.items = ItemList(self._rows, blind=not self.context.scope.may(Shows.AGENTS), id="items")
        yield self.items
        yield Static(id="message")
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the groups, and again when a job has ended."""
        self.context.jobs.events.subscribe(self, self._job_event)
        self._lay_out()
        self._read_all()

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()

    def on_screen_resume(self) -> None:
        """Go to the item that was reviewed last."""
        if not self.groups:
            return
        review, self._review = self._review, None
        self.items.return_from(review)

    def _job_event(self, event: JobEvent) -> None:
        if isinstance(event, JobEnded):
            self._read_all()

    # -- reading ----------------------------------------------------------------------------------------

    def _rows(self, item_ids: object) -> list[QueueRow]:
        context, scope = self.context, self.context.scope
        ids = list(cast("list[int]", item_ids))
        rows = queue_rows(context.workspace, scope, ids)
        if not scope.may(Shows.AGENTS):
            return rows
        # Of this run, since another one may have labelled what it failed on.
        with context.workspace.reading() as connection:
            found = run_outcomes(connection, self.run.id, ids)
        ended = [(row, *found.get(row.item_id, (None, None))) for row in rows]
        return [
            row if row.blind else replace(row, agent_label=label, agent_path=path)
            for row, label, path in ended
        ]

    def _read_all(self) -> None:
        self._read(self._wanted)
        if not self.context.scope.may(Shows.AGENTS):
            # Items listed by agents' replies would not be blind.
            self.outputs = ()
        else:
            # Of a large run this takes longer than all else, and no group waits for it.
            in_thread(self, self._read_outputs, self._outputs_read, self._not_read, group="outputs")

    def _read_outputs(self) -> tuple[RoleOutputs, ...]:
        with self.context.workspace.reading() as connection:
            return run_outputs(connection, self.run.id)

    def _outputs_read(self, outputs: tuple[RoleOutputs, ...]) -> None:
        self.outputs = outputs
        self._lay_out()

    def _read(self, group: ItemGroup) -> None:
        in_thread(self, partial(self._read_group, group), self._show, self._not_read, group="groups")

    def _read_group(self, group: ItemGroup) -> tuple[ItemGroup, list[ListedGroup], Ids]:
        workspace = self.context.workspace
        ids = run_items(workspace, self.run.id, group)
        with workspace.reading() as connection:
            causes = failure_causes(connection, self.run.id)
            done = count_done(connection, self.run.id)
            return group, groups_by_end(causes, done, done_word(self.run.kind)), ids

    def _show(self, read: tuple[ItemGroup, list[ListedGroup], Ids]) -> None:
        group, groups, ids = read
        if group != self._wanted:
            return
        self.failure = None
        self._by_end = groups
        if not any(each.group == group for each in self.groups):
            # The listed failures are gone since.
            self._wanted = ItemGroup()
            self._read(self._wanted)
            return
        self.listed = group
        self.items.show(ids, kinds=frozenset((self.run.kind,)), afresh=True)
        self._lay_out()

    def _not_read(self, error: Exception) -> None:
        self.failure = error
        self._lay_out()

    @on(ReadFailed)
    def _rows_not_read(self, message: ReadFailed) -> None:
        self._not_read(message.error)

    # -- layout -----------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        width = max(20, self.app.size.width - 2)
        self.query_one("#sentence", Static).update(Content(f"Items of {shortened(self.run.name, width - 9)}"))
        self.query_one("#groups", Static).update(Content("\n").join(self._group_lines(width)))
        message = self._message()
        self.set_class(bool(message), "-message")
        self.query_one("#message", Static).update(Content(message))
        if not message and self.focused is None:
            self.call_after_refresh(self.items.focus)
        self.refresh_bindings()

    def _group_lines(self, width: int) -> list[Content]:
        groups, at = self.groups, self._place
        room = min(len(groups), GROUPS_LISTED if self.app.size.height < 36 else 2 * GROUPS_LISTED)
        top = max(0, min(at - room // 2, len(groups) - room))
        lines = []
        for place in range(top, top + room):
            listed, here = groups[place], place == at
            words = one_line("  " * listed.indent + listed.words, width - 14)
            text = f"{CURSOR if here else ' '} {listed.items:>9,}  {words}"
            lines.append(Content.styled(text, "bold") if here else Content(text))
        notes = []
        if room < len(groups):
            keys = f"{self.key_of('group')} and {self.key_of('group_back')}"
            notes.append(f"{pluralize(len(groups) - room, 'more group')}: {keys} move through them")
        if groups and self.outputs is None and self.failure is None:
            notes.append("Counting equal outputs …")
        if notes:
            lines.append(Content.styled(f"  {' · '.join(notes)}", "$foreground-muted"))
        return lines

    @property
    def _place(self) -> int:
        return next((n for n, each in enumerate(self.groups) if each.group == self._wanted), 0)

    def _message(self) -> str:
        """Return the message in place of a list, empty when there is one."""
        if self.failure is not None:
            return (
                f"! The items could not be read.\n\n{one_line(str(self.failure), 600)}\n\n"
                f"{self.key_of('refresh')} reads them again; {self.key_of('back')} goes back."
            )
        if self.listed != self._wanted:
            return "Reading …"
        if self.items.count:
            return ""
        wanted = self._wanted
        nothing = "Nothing failed." if wanted.failed else "The run has no such items yet."
        return f"{nothing}\n\n{self.key_of('group')} goes to the next group; {self.key_of('back')} goes back."

    # -- keys -------------------------------------------------------------------------------------------

    @property
    def _at_work(self) -> bool:
        """Whether a job works on the run."""
        return any(job.run_id == self.run.id for job in self.context.jobs.at_work)

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect: opening an item that is there, trying again what failed."""
        context = self.context
        if command.id == "outcomes.refresh":
            return self.failure is not None or bool(self.groups)
        if command.id == "outcomes.open":
            return self.items.count > 0
        if command.id == "outcomes.retry":
            startable = not self._at_work and context.program.plan.annotation is not None
            return startable and self._wanted.failed and self.items.count > 0
        return True

    def action_open_item(self) -> None:
        """Review the item under the cursor."""
        if not self.items.count:
            self.context.notices.show("Nothing to open", "No item is listed.")
        self.items.choose()

    @on(ItemChosen)
    def _item_chosen(self, message: ItemChosen) -> None:
        self._review = self.navigator.open_review(self.items.ids, message.index)

    def action_group(self, places: int) -> None:
        """List the items of another group."""
        if not self.groups:
            return
        self._wanted = self.groups[(self._place + places) % len(self.groups)].group
        self.listed = None
        self._lay_out()
        self._read(self._wanted)

    def action_read_again(self) -> None:
        """Refresh the groups and their items."""
        self._read_all()

    def action_retry(self) -> None:
        """Let the agents try again the items that are listed."""
        show = self.context.notices.show
        if self._at_work:
            show("The run is at work", "Try again when it has ended.")
        elif not self._wanted.failed or not self.items.count:
            show("Nothing to retry", "Go to a group of items that failed.")
        elif start_annotation(self.app, self.context, (self.run.id, list(self.items.ids))):
            show("Trying again", f"{pluralize(self.items.count, 'item')} of this run.")
            self._lay_out()


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group as it is listed: what it is called, how far it is indented, how many items it has."""

    group: ItemGroup
    words: str
    items: int
    indent: int = 0


def groups_by_end(causes: Sequence[FailureCause], finished: int, done: str) -> list[ListedGroup]:
    """Return the groups of a run's items: failures by cause and message, those that wait, those done."""
    failed = [cause for cause in causes if not cause.waits]
    groups = [ListedGroup(ItemGroup(), "all failed", sum(cause.items for cause in failed))]
    for cause in failed:
        groups.append(ListedGroup(ItemGroup(cause=cause.cause), cause.words, cause.items, 1))
        if cause.different > 1:
            for message in cause.messages:
                group = ItemGroup(cause=cause.cause, message=message.text)
                groups.append(ListedGroup(group, message.text, message.items, 2))
    for cause in causes:
        if cause.waits:
            groups.append(ListedGroup(ItemGroup(cause=cause.cause), "need a sandbox", cause.items))
    groups.append(ListedGroup(ItemGroup(finished=True), done, finished))
    return groups


def groups_by_output(roles: Sequence[RoleOutputs]) -> list[ListedGroup]:
    """Return a group for each role that replied, and below it one for each reply that several items got."""
    groups = []
    for each in roles:
        words = f"{role_word(each.role)}: {pluralize(each.different, 'different output')}"
        groups.append(ListedGroup(ItemGroup(role=each.role), words, each.items))
        for output in each.named:
            group = ItemGroup(role=each.role, output=output.text)
            groups.append(ListedGroup(group, format_output(output.text), output.items, 1))
    return groups


def format_output(output: str) -> str:
    """Return a reply without the signs of JSON, where it is JSON."""
    try:
        reply = json.loads(output)
    except ValueError:
        return output
    if not isinstance(reply, dict):
        return output
    return " · ".join(f"{name.replace('_', ' ')}: {value}" for name, value in reply.items())
