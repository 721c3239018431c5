"""The splits of a workspace: their list, and the figures of the one under the cursor."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.widgets import Static

from screens.commands import Command, bindings
from screens.jobs.job_line import JobLine
from screens.reading import Reading
from screens.splits.figures import Figure, facts, figures
from screens.splits.new import HIDDEN
from screens.studies.confirm import ask
from screens.threads import in_thread
from screens.widgets.cursor_lines import CURSOR, cursor_line
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.formatting import pluralize
from store.policy.refusal import refuse
from store.policy.scope import Shows
from store.queries.sources import rejected_records, rejected_sentence
from store.splits.splits import (
    LONGEST_NAME,
    SplitChanges,
    SplitDetails,
    delete_split,
    items_named,
    list_splits,
    split_changes,
    split_items,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from store.record.rater_ref import RaterRef

T = TypeVar("T")

NAME_CELLS, SOURCE_CELLS = 20, 22
"""At 80 columns; names have the room of wider screens."""

EMPTY = (
    "No split yet.",
    "",
    "A split divides the items with a true label into train, dev and test sets, which share no query and no "
    "near-duplicates of one. It stores their current labels, so that exports can be repeated.",
)


class SplitsScreen(WorkbenchScreen):
    """Lists the splits, with the parts, balance and leakage of one."""

    SCOPE = "splits"
    CSS_PATH = "splits.tcss"
    BINDINGS = bindings("splits")

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__(context, navigator)
        self.reading = Reading(self, self._read, self._read_done)
        self._index = 0
        self._known = 0
        # The place of the figure under the cursor; None while the cursor is in the list.
        self._figure: int | None = None
        self._changes: dict[UUID, SplitChanges] = {}

    def compose(self) -> ComposeResult:
        """Lay out the list, the figures and the keys."""
        yield TopLine("splits")
        with VerticalScroll(id="list", can_focus=False):
            yield Static(id="splits")
        with VerticalScroll(id="of-split", can_focus=False):
            yield Static(id="figures")
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Say that the splits are read."""
        # The list gets its height after its lines, once it is no longer the only box.
        self.watch(self.query_one("#list"), "virtual_size", self._show_row, init=False)
        self._lay_out()

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()

    def action_read(self) -> None:
        """Read the splits again."""
        self.reading.again()

    def _read(self, connection: Connection, _: RaterRef | None) -> tuple[list[SplitDetails], str]:
        refuse(connection, self.context.scope, Shows.OTHERS, HIDDEN)
        rejected = rejected_records(connection, named=self.context.scope.may(Shows.OTHERS))
        return list_splits(connection), rejected_sentence(rejected)

    def _read_done(self) -> None:
        number = len(self._splits)
        # A split that was made comes last, and is gone to.
        self._index = number - 1 if number > self._known else min(self._index, number - 1)
        self._index, self._known = max(self._index, 0), number
        if self.chosen is None:
            self._figure = None
        self._lay_out()

    # -- layout ---------------------------------------------------------------------------------------

    @property
    def chosen(self) -> SplitDetails | None:
        """The split under the cursor."""
        found, failure = self._splits, self.reading.failure
        return found[self._index] if found and failure is None else None

    @property
    def _splits(self) -> list[SplitDetails]:
        return [] if self.reading.found is None else self.reading.found[0]

    @property
    def _cells(self) -> int:
        """The cells of a line in the boxes."""
        return self.app.size.width - 7

    def _all_figures(self) -> list[Content | Figure]:
        chosen = self.chosen
        return [] if chosen is None else figures(chosen, self._changes.get(chosen.id), self._cells)

    def _choices(self) -> list[Figure]:
        return [one for one in self._all_figures() if isinstance(one, Figure)]

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect."""
        if command.id == "splits.new":
            return self.reading.failure is None
        needs = ("splits.open", "splits.pane", "splits.delete", "splits.changes")
        return self.chosen is not None if command.id in needs else True

    def label_now(self, command: Command) -> str:
        """Return what a command does now."""
        if command.id == "splits.open":
            return "figures" if self._figure is None else "its items"
        return command.label

    def _lay_out(self) -> None:
        chosen = self.chosen
        self.set_class(chosen is None, "-empty")
        self.set_class(self._figure is not None, "-in-figures")
        self.query_one("#splits", Static).update(Content("\n").join(self._list()))
        self.query_one("#list").border_title = Content("Splits")
        # Once the lines are laid out: before that a box does not know how far it can scroll.
        self.call_after_refresh(self._show_row)
        if chosen is not None:
            lines, cursor = self._figure_lines(chosen)
            _, rejected = self.reading.found or ([], "")
            lines += [Content(""), Content(f"  {rejected}")] if rejected else []
            self.query_one("#figures", Static).update(Content("\n").join(lines))
            box = self.query_one("#of-split", VerticalScroll)
            box.border_title = Content(one_line(chosen.name, 60))
            self.call_after_refresh(box.scroll_to_region, cursor, animate=False)
        self.refresh_bindings()

    def _show_row(self) -> None:
        """Scroll the list to the split under the cursor; the first one shows the heading, too."""
        row = Region(0, 1 + self._index if self._index else 0, 1, 1)
        self.query_one("#list", VerticalScroll).scroll_to_region(row, animate=False)

    def _list(self) -> Sequence[Content]:
        if why := self.reading.why_nothing():
            return why
        if not self._splits:
            key = self.key_of("new")
            return [*map(Content, EMPTY), Content(""), Content(f"{key} makes one.")]
        cells = NAME_CELLS + min(max(self._cells - 73, 0), LONGEST_NAME - NAME_CELLS)
        heading = (
            f"  {'split':<{cells}} {'labels of':<{SOURCE_CELLS}} {'items':>9} {'leaks':>6}  {'made':<10}"
        )
        lines = [Content.styled(heading, "bold")]
        for place, one in enumerate(self._splits):
            leaks = f"! {one.leaks:,}" if one.leaks else "0"
            items = sum(part.items for part in one.report.parts)
            name, source = one_line(one.name, cells), one_line(one.plan.against, SOURCE_CELLS)
            text = f"{name:<{cells}} {source:<{SOURCE_CELLS}} {items:>9,} {leaks:>6}  "
            text += f"{one.created_at:%Y-%m-%d}"
            lines.append(cursor_line(text, here=place == self._index, in_use=self._figure is None))
        return lines

    def _figure_lines(self, split: SplitDetails) -> tuple[list[Content], Region]:
        """Return the lines about a split, and where those under the cursor are."""
        lines, cursor, place = facts(split, self._cells), Region(0, 0, 1, 1), 0
        for one in self._all_figures():
            if isinstance(one, Content):
                lines.append(one)
                continue
            here = place == self._figure
            first = Content.assemble(f"{CURSOR} " if here else "  ", one.lines[0])
            if here:
                # The first one shows what is above it, too.
                top = len(lines) if place else 0
                cursor = Region(0, top, 1, len(lines) - top + len(one.lines))
                first = first.stylize("bold $text-accent")
            lines += [first, *one.lines[1:]]
            place += 1
        return lines, cursor

    # -- keys -----------------------------------------------------------------------------------------

    def action_move(self, lines: int) -> None:
        """Go to another split, or to another figure."""
        if self._figure is not None:
            self._figure = min(max(self._figure + lines, 0), len(self._choices()) - 1)
        elif self._splits:
            self._index = min(max(self._index + lines, 0), len(self._splits) - 1)
        self._lay_out()

    def action_pane(self) -> None:
        """Go to the figures, or back to the list."""
        if self.chosen is not None:
            self._figure = 0 if self._figure is None else None
            self._lay_out()

    def action_open_items(self) -> None:
        """Review the items behind the figure under the cursor; from the list, go to the figures."""
        chosen = self.chosen
        if chosen is None or self._figure is None:
            self.action_pane()
            return
        figure = self._choices()[self._figure]

        def read(connection: Connection) -> list[int]:
            if figure.part is not None:
                return split_items(connection, chosen, figure.part)
            return items_named(connection, chosen, figure.items)

        self._read_more(read, self._items_read)

    def _items_read(self, ids: list[int]) -> None:
        if self.is_current:
            self.navigator.open_review(array("q", ids), 0)

    def action_changes(self) -> None:
        """Say which labels changed since the split under the cursor was made."""
        if self.chosen is not None:
            split = self.chosen
            self._read_more(
                lambda connection: split_changes(connection, split), partial(self._changes_read, split)
            )

    def _changes_read(self, split: SplitDetails, changes: SplitChanges) -> None:
        self._changes[split.id] = changes
        if changes and self.chosen is not None and self.chosen.id == split.id:
            # What changed comes after the parts.
            self._figure = len(split.report.parts)
        self._lay_out()

    def _read_more(self, read: Callable[[Connection], T], done: Callable[[T], object]) -> None:
        """Read something of a split in a thread, unless it is hidden by now."""

        def work() -> T:
            with self.context.workspace.reading() as connection:
                refuse(connection, self.context.scope, Shows.OTHERS, HIDDEN)
                return read(connection)

        in_thread(self, work, done, self.context.notices.report_error, group="split")

    def action_new_split(self) -> None:
        """Show the form of a new split."""
        if self.reading.failure is None:
            self.navigator.open_new_split()

    def action_delete(self) -> None:
        """Delete the split under the cursor."""
        if self.chosen is not None:
            split = self.chosen
            items = pluralize(sum(part.items for part in split.report.parts), "item")
            lines = [
                f"Which of its {items} is in which part, and the labels of then, are forgotten.",
                "Items and labels stay. The same options make it again only while the labels are the same.",
            ]
            change = partial(delete_split, self.context.workspace, split.name)
            title = f"Delete the split {one_line(split.name, 40)}"
            ask(self, title, lines, verb="delete it", change=change, then=self.action_read)
