"""The rankings that two methods have for a query, side by side."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from screens.commands import Command, bindings
from screens.jobs.job_line import JobLine
from screens.navigator import LoadedText
from screens.rankings.by_query import HIDDEN
from screens.rankings.row_list import RowList
from screens.reading import Reading
from screens.reports.drawing import lines_of
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line, shortened
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.policy.refusal import refuse
from store.policy.scope import Shows
from store.rankings.comparison import (
    LEVEL,
    ComparedQueries,
    QueryScore,
    RankedCode,
    code_text,
    ranked_codes,
)
from store.rankings.labels import read_grades

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from store.errors import WorkbenchError
    from store.rankings.labels import Grades
    from store.record.rater_ref import RaterRef

RELEVANT, NOT, UNJUDGED, UNRANKED = "✓", "✗", "·", "–"
LEGEND = (
    f"{RELEVANT} relevant  {NOT} not relevant  {UNJUDGED} unjudged  {UNRANKED} not ranked  "
    "=5 rank 5 in the other"
)
QUERY_LINES = 3
SIDES = ("first", "second")

Lists = tuple[list[RankedCode], list[RankedCode]]


class RankedScreen(WorkbenchScreen):
    """Shows two ranked lists of codes, with their labels and where the other list has them.

    Args:
        queries: The methods, and the queries in their order.
        index: The one that is shown.
        went: Called with the place of the query that is shown, whenever that is another one.

    Attributes:
        reading: Reads the grades, which change when a pair is judged.
        lists: The rankings that are shown; None while they are read.
    """

    SCOPE = "ranked"
    BINDINGS = bindings("ranked")
    AUTO_FOCUS = ""
    CSS = """
    RankedScreen {
        #about { height: auto; padding: 0 1; }
        #lists { height: 1fr; }
        #first, #second { width: 1fr; border: round $foreground 30%; border-title-color: $foreground; }
        #first.-active, #second.-active { border: round $accent; border-title-color: $text-accent; }
    }
    """

    def __init__(
        self,
        context: ScreenContext,
        navigator: Navigator,
        queries: ComparedQueries,
        index: int,
        went: Callable[[int], object],
    ) -> None:
        super().__init__(context, navigator)
        self.reading: Reading[Grades] = Reading(self, self._read, self._read_done)
        self.lists: Lists | None = None
        self._compared = queries.comparison
        self._measure = queries.measure
        self._rows = queries.rows
        self._index = index
        self._went = went
        self._side = 0
        self._why = ""

    def compose(self) -> ComposeResult:
        """Lay out the query above the two lists."""
        yield TopLine("rankings of a query")
        yield Static(id="about")
        with Horizontal(id="lists"):
            for side in SIDES:
                yield RowList(id=side)
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Say that the rankings are read."""
        self._lay_out()
        one, other = (self.query_one(f"#{side}", RowList) for side in SIDES)
        for rows, beside in ((one, other), (other, one)):
            # Equal ranks stay side by side.
            self.watch(rows, "scroll_y", partial(self._scroll_beside, beside), init=False)

    def _scroll_beside(self, beside: RowList, y: float) -> None:
        if beside.scroll_y != y:
            beside.scroll_to(y=y, animate=False, force=True)

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()

    def action_read(self) -> None:
        """Read the grades again, which a judgment in between has changed, when this is what is shown."""
        self.reading.again()

    def _read(self, connection: Connection, _: RaterRef | None) -> Grades:
        refuse(connection, self.context.scope, Shows.OTHERS, HIDDEN)
        return read_grades(connection, self._compared.asked.source)

    def _read_done(self) -> None:
        self._lay_out()
        self._read_lists()

    def _read_lists(self) -> None:
        """Read the rankings of the query in a thread."""
        if self.reading.found is None or self.reading.failure is not None:
            return
        query, methods, relevant = self.row.query, self._compared.asked.methods, self._relevant()

        def work() -> Lists:
            with self.context.workspace.reading() as connection:
                refuse(connection, self.context.scope, Shows.OTHERS, HIDDEN)
                return ranked_codes(connection, query, methods, relevant)

        in_thread(self, work, self._lists_read, self._not_read, group="lists")

    def _lists_read(self, lists: Lists) -> None:
        self.lists, self._why = lists, ""
        self._show_rows()

    def _not_read(self, error: WorkbenchError) -> None:
        self.lists, self._why = None, f"! {error}"
        self._lay_out()

    # -- layout ---------------------------------------------------------------------------------------

    @property
    def row(self) -> QueryScore:
        """The query that is shown."""
        return self._rows[self._index]

    @property
    def code(self) -> RankedCode | None:
        """The code under the cursor."""
        if self.lists is None:
            return None
        rows, cursor = self.lists[self._side], self._list(self._side).cursor
        return rows[cursor] if cursor < len(rows) else None

    def _list(self, side: int) -> RowList:
        return self.query_one(f"#{SIDES[side]}", RowList)

    def _grades(self) -> Mapping[str, float]:
        return self.reading.found.qrels.get(self.row.query, {}) if self.reading.found is not None else {}

    def _relevant(self) -> frozenset[str]:
        return frozenset(code for code, grade in self._grades().items() if grade >= LEVEL)

    def _show_rows(self) -> None:
        lists = self.lists or ([], [])
        for side, rows in enumerate(lists):
            self._list(side).show_rows(len(rows), partial(self._line, rows))
        self._lay_out()

    def _lay_out(self) -> None:
        self.query_one("#about", Static).update(Content("\n").join(self._about()))
        relevant = self._relevant()
        for side, method in enumerate(self._compared.asked.methods):
            rows = self._list(side)
            rows.is_active = side == self._side
            rows.set_class(rows.is_active, "-active")
            found = ""
            if self.lists is not None:
                ranked = sum(one.code in relevant for one in self.lists[side] if one.rank is not None)
                found = f" · {ranked} of {len(relevant)} relevant"
            room = self.app.size.width // len(SIDES) - len(found) - 6
            rows.border_title = Content(shortened(method, max(room, 8)) + found)
            rows.refresh()
        self.refresh_bindings()

    def _about(self) -> list[Content]:
        cells = max(self.app.size.width - 2, 20)
        row = self.row
        text = one_line(row.text, QUERY_LINES * cells)
        lines = [Content.styled(line, "bold") for line in lines_of(text, cells)[:QUERY_LINES]]
        if why := self.reading.why_nothing():
            return [*lines, *why]
        said = (
            f"query {self._index + 1:,} of {len(self._rows):,} · {self._measure}: left {row.first:.3f}, "
            f"right {row.second:.3f}, difference {row.difference:+.3f}"
        )
        muted = (one_line(self._why or said, cells), one_line(LEGEND, cells))
        return [*lines, *(Content.styled(line, "$foreground-muted") for line in muted)]

    def _line(self, rows: Sequence[RankedCode], row: int, cells: int) -> str:
        one = rows[row]
        grade = self._grades().get(one.code)
        mark = UNJUDGED if grade is None else RELEVANT if grade >= LEVEL else NOT
        rank = UNRANKED if one.rank is None else f"{one.rank}"
        other = "" if one.other is None else f"={one.other}"
        return one_line(f"{rank:>4} {mark} {other:<5} {one.title}", cells)

    # -- keys -----------------------------------------------------------------------------------------

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect."""
        verb = command.id.partition(".")[2]
        if verb == "open":
            return self.code is not None
        if verb == "next":
            return self._index < len(self._rows) - 1
        return self._index > 0 if verb == "previous" else True

    def label_now(self, command: Command) -> str:
        """Return what a command does now."""
        if command.id == "ranked.open" and self.code is not None:
            return "code" if self.code.item is None else "pair"
        return command.label

    def action_move(self, rows: int) -> None:
        """Go to another code of the list."""
        self._list(self._side).move(rows)
        self.refresh_bindings()

    def action_jump(self, to: int) -> None:
        """Go to the first or the last code of the list."""
        self._list(self._side).jump(to)
        self.refresh_bindings()

    def action_page(self, pages: int) -> None:
        """Go a page up or down."""
        self._list(self._side).page(pages)
        self.refresh_bindings()

    def action_pane(self) -> None:
        """Go to the other list: to the same code where it has it, else to the same rank."""
        code, row = self.code, self._list(self._side).cursor
        self._side = 1 - self._side
        if code is not None and self.lists is not None:
            places = (place for place, one in enumerate(self.lists[self._side]) if one.code == code.code)
            row = next(places, row)
        self._list(self._side).put_cursor(row)
        self._lay_out()

    def action_step(self, queries: int) -> None:
        """Show the rankings of another query."""
        index = min(max(self._index + queries, 0), len(self._rows) - 1)
        if index != self._index:
            self._index, self.lists = index, None
            self._went(index)
            for side in range(len(SIDES)):
                self._list(side).put_cursor(0)
            self._show_rows()
            self._read_lists()

    @on(RowList.Clicked)
    def _clicked(self, message: RowList.Clicked) -> None:
        self._side = SIDES.index(str(message.rows.id))
        message.rows.put_cursor(message.row)
        self._lay_out()

    def action_open(self) -> None:
        """Review the pair under the cursor; of a code that is in no pair with the query, show the text."""
        code = self.code
        if code is None:
            return
        if code.item is None:
            title = one_line(code.title, 60)
            self.navigator.open_text("code of the corpus", title, partial(self._load, code.code, title))
        else:
            self.navigator.open_review(array("q", [code.item]), 0)

    def _load(self, code: str, title: str) -> LoadedText:
        """Read the text of a code, unless it is hidden by now."""
        with self.context.workspace.reading() as connection:
            refuse(connection, self.context.scope, Shows.OTHERS, HIDDEN)
            return LoadedText(*code_text(connection, code), title)
