"""Two methods of retrieval compared query by query."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from screens.commands import Command, bindings
from screens.jobs.job_line import JobLine
from screens.rankings.row_list import RowList
from screens.reading import Reading
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line, shortened
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.formatting import block_bar, pluralize
from store.policy.refusal import refuse
from store.policy.scope import Shows
from store.rankings.comparison import ComparedQueries, QueryComparison, QueryScore, compare_by_query, tally

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from store.rankings.comparison import MethodPair
    from store.record.rater_ref import RaterRef

HIDDEN = "A comparison of methods uses"
WIDE = 120
"""Columns from which measures and bars have more room."""
NUMBER_CELLS, LONG_NUMBER_CELLS = 8, 14
"""Cells of a measure, below the name of its method; up to the longer ones where it is wide."""
HALF_BAR, LONG_HALF_BAR = 6, 12
"""Cells of the bar of a difference of 1, to each side; the longer one where it is wide."""

Order = tuple[str, Callable[[QueryScore], Any]]
ORDERS: tuple[Order, ...] = (
    ("{first} better first", lambda row: -row.difference),
    ("{second} better first", lambda row: row.difference),
    ("largest difference first", lambda row: -abs(row.difference)),
    ("in alphabetical order", lambda row: row.text),
)
"""The orders, with what they are called."""


class ByQueryScreen(WorkbenchScreen):
    """Lists the queries with what two methods have of each, and the difference.

    Args:
        asked: Which two methods, by whose labels.

    Attributes:
        rows: The queries in their order.
    """

    SCOPE = "by_query"
    BINDINGS = bindings("by_query")
    AUTO_FOCUS = ""
    CSS = """
    ByQueryScreen {
        #about, #heading { height: auto; padding: 0 1; }
        #heading { text-style: bold; height: 1; }
        #rows { padding: 0 1; }
        &.-medium #heading, &.-wide #heading { height: 2; padding: 1 1 0 1; }
        &.-nothing #rows, &.-nothing #heading { display: none; }
        &.-nothing #about { height: 1fr; }
    }
    """

    def __init__(self, context: ScreenContext, navigator: Navigator, asked: MethodPair) -> None:
        super().__init__(context, navigator)
        self.reading: Reading[QueryComparison] = Reading(self, self._read, self._read_done)
        self.rows: list[QueryScore] = []
        self._asked = asked
        self._measure = 0
        self._order = 0

    def compose(self) -> ComposeResult:
        """Lay out what is compared above the queries."""
        yield TopLine("two methods, query by query")
        yield Static(id="about")
        yield Static(id="heading")
        yield RowList(id="rows")
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Say that the rankings are read."""
        self._lay_out()

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()

    def action_read(self) -> None:
        """Read the rankings and the labels again."""
        self.reading.again()

    def _read(self, connection: Connection, _: RaterRef | None) -> QueryComparison:
        refuse(connection, self.context.scope, Shows.OTHERS, HIDDEN)
        return compare_by_query(connection, self._asked)

    def _read_done(self) -> None:
        self._sort()
        self._lay_out()

    # -- layout ---------------------------------------------------------------------------------------

    @property
    def _list(self) -> RowList:
        return self.query_one("#rows", RowList)

    @property
    def found(self) -> QueryComparison | None:
        """The comparison of the chosen methods; None while it is read, and where it cannot be."""
        found = self.reading.found
        current = found is not None and found.asked == self._asked and self.reading.failure is None
        return found if current else None

    @property
    def measure(self) -> str:
        """The measure that is compared."""
        return "" if self.found is None else self.found.measures[self._measure]

    def _sort(self) -> None:
        """Put the queries in order; the cursor stays on its query."""
        here = self.rows[self._list.cursor].query if self.rows else ""
        rows = [] if self.found is None else self.found.by_query(self.measure)
        self.rows = sorted(rows, key=ORDERS[self._order][1])
        place = next((place for place, row in enumerate(self.rows) if row.query == here), 0)
        self._list.show_rows(len(self.rows), self._line)
        self._list.put_cursor(place)

    def _lay_out(self) -> None:
        self.set_class(self.found is None or not self.rows, "-nothing")
        self.query_one("#about", Static).update(Content("\n").join(self._about()))
        self.query_one("#heading", Static).update(Content("  " + self._heading()))
        self._list.refresh()
        self.refresh_bindings()

    def _about(self) -> list[Content]:
        found = self.found
        if found is None:
            return self.reading.why_nothing() or [Content("Reading …")]
        cells = max(self.app.size.width - 2, 1)
        names = " less ".join(shortened(name, 16 if self._is_narrow else 40) for name in self._asked.methods)
        labels = f"labels of {self._asked.source.named}"
        if not self.rows:
            return [Content(f"Both methods ranked no query that counts by the {labels}.")]
        count, (first, second) = tally(self.rows), self._names
        queries = pluralize(len(self.rows), "query", "queries")
        said = (
            f"{names} · {self.measure} · {labels} · {queries}",
            f"mean difference {count.difference:+.3f} · {first} better on {count.first_better:,} · "
            f"{second} on {count.second_better:,} · equal on {count.equal:,}",
        )
        return [Content.styled(one_line(line, cells), "$foreground-muted") for line in said]

    @property
    def _names(self) -> list[str]:
        """The methods, as they are named above their measures."""
        return [shortened(name, self._number_cells) for name in self._asked.methods]

    @property
    def _is_narrow(self) -> bool:
        return self.app.size.width < WIDE

    @property
    def _half_bar(self) -> int:
        return HALF_BAR if self._is_narrow else LONG_HALF_BAR

    @property
    def _number_cells(self) -> int:
        longest = NUMBER_CELLS if self._is_narrow else LONG_NUMBER_CELLS
        return min(max(NUMBER_CELLS, *map(cell_len, self._asked.methods)), longest)

    def _columns(self, cells: int, text: str, first: str, second: str, difference: str) -> str:
        numbers = "".join(f" {one:>{self._number_cells}}" for one in (first, second))
        numbers += f" {difference:>{NUMBER_CELLS}}"
        room = max(cells - len(numbers) - 2 * self._half_bar - 2, 4)
        shown = one_line(text, room)
        return shown + " " * (room - cell_len(shown)) + numbers

    def _heading(self) -> str:
        first, second = self._names
        order = ORDERS[self._order][0].format(first=first, second=second)
        columns = self._columns(self.app.size.width - 4, f"query, {order}", first, second, "differs")
        # Of the first method, as the sign of the difference.
        return f"{columns} {'worse':>{self._half_bar}}│better"

    def _line(self, row: int, cells: int) -> str:
        one = self.rows[row]
        figures = (f"{one.first:.3f}", f"{one.second:.3f}", f"{one.difference:+.3f}")
        half, change = self._half_bar, one.difference
        # There are no blocks that begin within a cell: a bar to the left has whole and half cells.
        halves = max(round(-change * 2 * half), 1) if change < 0 else 0
        left = ("▐" if halves % 2 else "") + "█" * (halves // 2)
        right = block_bar(min(change, 1.0), half) if change > 0 else ""
        return f"{self._columns(cells, one.text, *figures)} {left:>{half}}│{right}"

    # -- keys -----------------------------------------------------------------------------------------

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect."""
        verb = command.id.partition(".")[2].removesuffix("_back")
        if verb in ("first", "second"):
            return self.reading.found is not None and len(self.reading.found.stored) > 2
        if verb in ("open", "measure", "order"):
            return bool(self.rows) and self.found is not None
        return True

    def action_move(self, rows: int) -> None:
        """Go to another query."""
        self._list.move(rows)

    def action_jump(self, to: int) -> None:
        """Go to the first or the last query."""
        self._list.jump(to)

    def action_page(self, pages: int) -> None:
        """Go a page up or down."""
        self._list.page(pages)

    def action_choose_measure(self, steps: int) -> None:
        """Compare in another measure."""
        if self.found is not None:
            self._measure = (self._measure + steps) % len(self.found.measures)
            self._sort()
            self._lay_out()

    def action_choose_method(self, place: int, steps: int) -> None:
        """Compare another method."""
        found = self.reading.found
        if found is None:
            return
        other = self._asked.methods[1 - place]
        names = [name for name in found.stored if name != other]
        now = self._asked.methods[place]
        name = names[(names.index(now) + steps) % len(names)] if now in names else names[0]
        if name == now:
            return
        methods = (name, other) if place == 0 else (other, name)
        self._asked = replace(self._asked, methods=methods)
        self._lay_out()
        self.reading.again()

    def action_order(self) -> None:
        """Put the queries in another order, and begin at its first one."""
        self._order = (self._order + 1) % len(ORDERS)
        self._sort()
        self._list.put_cursor(0)
        self._lay_out()

    def action_copy(self) -> None:
        """Copy the command that prints the comparison."""
        words = ("workbench", "report", str(self.context.workspace.path), *self._asked.arguments)
        self.app.copy_to_clipboard(shlex.join(words))
        said = shlex.join(words)
        if self._measure:
            assert self.found is not None
            said += f"\n\nIt prints {self.found.measures[0]}, the first measure of the preset."
        self.notify(said, title="Copied", markup=False)

    @on(RowList.Clicked)
    def _clicked(self, message: RowList.Clicked) -> None:
        self._list.put_cursor(message.row)

    def action_open(self) -> None:
        """Show the rankings of the query under the cursor."""
        found = self.found
        if found is not None and self.rows:
            queries = ComparedQueries(found, self.measure, self.rows)
            self.navigator.open_ranked(queries, self._list.cursor, self._list.put_cursor)
