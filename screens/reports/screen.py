"""The reports: their list, and the one under the cursor, with the items behind its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, ScrollableContainer, VerticalScroll
from textual.content import Content
from textual.geometry import Region
from textual.widgets import Input, Static

from screens.commands import Command, bindings
from screens.form import typed_path
from screens.jobs.job_line import JobLine
from screens.notices import error_lines
from screens.reading import Reading
from screens.reports.choosing import ChoiceScreen
from screens.reports.drawing import BOLD, CURSOR, DRAWN, MUTED, TITLE, draw, lines_of
from screens.threads import Soon, in_thread
from screens.widgets.cursor_lines import cursor_line
from screens.widgets.key_line import KeyLine
from screens.widgets.line_input import LineInput
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.analysis.labels import kinds_of_items
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.policy.refusal import refuse
from store.policy.scope import Shows
from store.queries.rows import QueueFilter
from store.queries.sources import rejected_records, rejected_sentence
from store.reports.catalogue import check_blind, offered_reports, reports
from store.reports.forms import table_as_markdown
from store.reports.options import Options, command_line
from store.reports.saving import SUFFIXES, save
from store.reports.spec import Choice, Choices, ReportSpec
from store.reports.value import Cell, Place, Report, figures, moved

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from store.record.rater_ref import RaterRef

LIST_CELLS = 37
BESIDE_CELLS = 100
"""The width from which list and report stand side by side: that of the class `-medium`."""
REST_SECONDS = 0.15
"""How long the cursor rests in the list before the report is read."""
MOST_ITEMS = 50_000
"""Items behind a figure that are listed at most."""

CHOOSABLE = ("subject", "first", "second")
"""The choices that a key of their own turns to the next value."""

STYLES = {
    TITLE: "bold underline",
    BOLD: "bold",
    MUTED: "$foreground-muted",
    DRAWN: "$text-accent",
    CURSOR: "bold reverse",
}
"""The styles of the parts of a drawn report."""

HIDDEN = "Reports use"
NOTHING: tuple[frozenset[str], str] = (frozenset(), "")


@dataclass(frozen=True, slots=True)
class Shown:
    """A report as it was read.

    Attributes:
        options: What it was asked for, with what the app asks first.
        found: What was found; None where nothing could be.
        choices: What else can be chosen.
        failure: Why nothing could be found; None where something was.
        page: The report that was made of it; None without it.
    """

    options: Options
    found: Any
    choices: Choices
    failure: WorkbenchError | None = None
    page: Report | None = None


class ReportsScreen(WorkbenchScreen):
    """Lists the reports and shows one of them. On a narrow terminal the report has a page of its own.

    Args:
        opened: The name of the report that is shown at once, and what is chosen for it; None for the list.

    Attributes:
        reading: Reads the kinds of the items, on which it depends what there is to report, and what is said
            of records that imports rejected.
        page: The report that is shown; None while it is read.
        failure: Why it could not be read.
    """

    SCOPE = "reports"
    CSS_PATH = "reports.tcss"
    BINDINGS = bindings("reports")
    AUTO_FOCUS = ""

    def __init__(
        self, context: ScreenContext, navigator: Navigator, opened: tuple[str, Options] | None = None
    ) -> None:
        super().__init__(context, navigator)
        self._opened = opened[0] if opened is not None else ""
        self.reading = Reading(self, self._read_here, self._here_read)
        self.page: Report | None = None
        self.failure: WorkbenchError | None = None
        self._index = 0
        self._in_report = opened is not None
        self._figure = 0
        # By what reports read: those that share it share what is asked.
        self._asked: dict[Any, Options] = {}
        if opened is not None:
            self._asked[reports()[opened[0]].read] = opened[1]
        self._found: dict[tuple[Any, Options], Shown] = {}
        self.choices: Choices = {}
        self._soon = Soon(self, REST_SECONDS, group="report")

    def compose(self) -> ComposeResult:
        """Lay out the list beside the report, the line for a file, and the keys."""
        yield TopLine("reports")
        with Container(id="body"):
            with VerticalScroll(id="list", can_focus=False):
                yield Static(id="titles")
            with ScrollableContainer(id="report", can_focus=False):
                yield Static(id="figures")
        yield Static(id="state")
        yield LineInput(id="file", placeholder=f"file to write: {', '.join(SUFFIXES)}", select_on_focus=False)
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Say that the reports are read."""
        self.query_one("#list").border_title = Content("Reports")
        self._lay_out()

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()
        if self.page is None and self.failure is None:
            self._read_soon()

    def action_read(self) -> None:
        """Read the report again."""
        self._found.clear()
        self.reading.again()

    # -- reading --------------------------------------------------------------------------------------

    def _read_here(self, connection: Connection, _: RaterRef | None) -> tuple[frozenset[str], str]:
        refuse(connection, self.context.scope, Shows.WHOLE, HIDDEN)
        rejected = rejected_records(connection, named=self.context.scope.may(Shows.OTHERS))
        kinds = frozenset(kind.name for kind in kinds_of_items(connection))
        return kinds, rejected_sentence(rejected)

    def _here_read(self) -> None:
        names = [one.name for one in self.offered]
        if self._opened in names and self.page is None:
            self._index = names.index(self._opened)
        self._index = min(self._index, max(len(names) - 1, 0))
        self._lay_out()
        self._read_report()

    @property
    def shows_part(self) -> bool:
        """Whether it was opened at one report."""
        return bool(self._opened)

    @property
    def offered(self) -> list[ReportSpec]:
        """The reports that there are; in a blind review those that can be of the rater's own labels alone."""
        kinds, _ = self.reading.found or NOTHING
        if self.reading.failure is not None:
            return []
        blind, named = not self.context.scope.may(Shows.OTHERS), self.context.rater is not None
        return offered_reports(kinds, blind=blind, named=named)

    @property
    def report(self) -> ReportSpec | None:
        """The report under the cursor."""
        offered = self.offered
        return offered[self._index] if offered else None

    def _options(self, report: ReportSpec) -> Options:
        blind, rater = not self.context.scope.may(Shows.OTHERS), self.context.rater
        own = rater.name if blind and rater is not None else None
        asked = self._asked.get(report.read, Options())
        scope = self.context.scope if report.name == "progress" else None
        return replace(asked, own=own, blind=blind, scope=scope)

    @property
    def _is_narrow(self) -> bool:
        # Not by the class of the width, which comes after a change of the size was handled.
        return self.app.size.width < BESIDE_CELLS

    @property
    def _shows_report(self) -> bool:
        return self._in_report or not self._is_narrow

    def _read_soon(self) -> None:
        """Read the report, once the cursor rests."""
        self._soon.call(self._read_report, again=True)

    def _read_report(self) -> None:
        report = self.report
        if report is None or not self._shows_report:
            return
        options = self._options(report)
        work = partial(self._read, report, options, self._found.get((report.read, options)))
        done, failed = (partial(one, report, options) for one in (self._report_read, self._report_failed))
        in_thread(self, work, done, failed, group="report")

    def _read(self, report: ReportSpec, options: Options, shown: Shown | None) -> Shown:
        """Read a report, unless one that shares it was read already, and make its tables."""
        if shown is None:
            shown = self._read_anew(report, options)
        if shown.failure is not None:
            return shown
        return replace(shown, page=report.report(shown.found, shown.options))

    def _read_anew(self, report: ReportSpec, options: Options) -> Shown:
        with self.context.workspace.reading() as connection:
            refuse(connection, self.context.scope, Shows.WHOLE, HIDDEN)
            check_blind(report, options)
            asked = report.start(connection, options)
            try:
                found, failure = report.read(connection, asked), None
            except WorkbenchError as error:
                # Something else can be chosen.
                found, failure = None, error
            return Shown(asked, found, report.choices(connection, asked, found), failure)

    def _is_wanted(self, report: ReportSpec, options: Options) -> bool:
        """Return whether a report is still the one under the cursor, as it was asked for."""
        return self.report is report and self._options(report) == options

    def _report_read(self, report: ReportSpec, options: Options, shown: Shown) -> None:
        self._found[report.read, options] = shown
        if self._is_wanted(report, options):
            self._show(options, shown)

    def _show(self, options: Options, shown: Shown) -> None:
        self.choices = (
            shown.choices
            if options.own is None
            else {name: one for name, one in shown.choices.items() if name == "subject"}
        )
        self.page, self.failure = shown.page, shown.failure
        if shown.page is not None:
            _, rejected = self.reading.found or NOTHING
            page = shown.page.saying(rejected)
            self.page = replace(page, caption=(*page.caption, *page.warnings))
            self._figure = min(self._figure, max(len(figures(page)) - 1, 0))
        self._lay_out()

    def _report_failed(self, report: ReportSpec, options: Options, error: WorkbenchError) -> None:
        if self._is_wanted(report, options):
            self.page, self.failure, self.choices = None, error, {}
            self._lay_out()

    def _forget(self) -> None:
        """Show another report from its beginning."""
        self.page, self.failure, self._figure, self.choices = None, None, 0, {}
        self._say("")

    # -- layout ---------------------------------------------------------------------------------------

    @property
    def _cells(self) -> int:
        """The cells of a line of the report."""
        beside = 0 if self._is_narrow else LIST_CELLS
        return max(self.app.size.width - beside - 6, 20)

    @property
    def _places(self) -> list[Place]:
        return [] if self.page is None else figures(self.page)

    @property
    def command(self) -> str:
        """The command that prints the report; empty without one."""
        return self._command(str(self.context.workspace.path))

    def _command(self, workspace: str) -> str:
        given = self.page.command if self.page is not None else ()
        return command_line(workspace, given)

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect."""
        verb = command.id.partition(".")[2].removesuffix("_back")
        if verb in CHOOSABLE:
            choice = self.choices.get(verb)
            return choice is not None and len(choice.values) > 1 and self._shows_report
        if verb == "choices":
            return bool(self._open_choices) and self._shows_report
        if verb in ("save", "copy", "copy_table"):
            return self.page is not None and bool(self.page.command) and self._shows_report
        if verb == "open":
            return bool(self._places) if self._in_report else self.report is not None
        return self.report is not None if verb in ("pane", "refresh") else True

    def label_now(self, command: Command) -> str:
        """Return what a command does now."""
        verb = command.id.partition(".")[2]
        if verb == "open" and self._in_report:
            compares = self.report is not None and self.report.name == "retrieval"
            return "by query" if compares else "its items"
        if verb == "back":
            return "list" if self._in_report and not self._opened else "back"
        if verb in CHOOSABLE and (choice := self.choices.get(verb)):
            return choice.word
        return command.label

    @property
    def _open_choices(self) -> dict[str, Choice]:
        """The choices with more than one value."""
        return {name: one for name, one in self.choices.items() if len(one.values) > 1}

    def _lay_out(self) -> None:
        report = self.report
        self.set_class(report is None, "-empty")
        self.set_class(self._in_report and report is not None, "-in-report")
        self.query_one("#titles", Static).update(Content("\n").join(self._titles()))
        box = self.query_one("#report", ScrollableContainer)
        if report is not None:
            source = f" · {report.source}" if report.source else ""
            box.border_title = Content(f"{report.title}{source}")
            places = self._places
            here = places[self._figure] if self._in_report and places else None
            if self.page is None:
                self.query_one("#figures", Static).update(Content("\n").join(self._why_nothing()))
            else:
                drawn = draw(self.page, self._cells, here)
                lines = [
                    Content.assemble(*((text, STYLES.get(style, "")) for text, style in line))
                    for line in drawn.lines
                ]
                if command := self._command(self.context.workspace.path.name):
                    said = lines_of(f"$ {command}", self._cells, subsequent_indent="    ")
                    lines += [Content(""), *(Content.styled(line, "$foreground-muted") for line in said)]
                self.query_one("#figures", Static).update(Content("\n").join(lines))
                # Once the lines are laid out: before that the box does not know how far it can scroll.
                spot = drawn.cursor
                region = Region(spot.x, spot.y, spot.width, spot.height)
                self.call_after_refresh(box.scroll_to_region, region, animate=False)
        self.refresh_bindings()

    def _why_nothing(self) -> list[Content]:
        if self.failure is None:
            return [Content("Reading …")]
        return error_lines(self.failure)

    def _titles(self) -> list[Content]:
        if why := self.reading.why_nothing():
            return why
        offered = self.offered
        blind = not self.context.scope.may(Shows.OTHERS)
        if not offered:
            if not (self.reading.found or NOTHING)[0]:
                return [Content("No items yet."), Content("Import items, and label some.")]
            return [Content("A blind review shows reports of your own labels: start with --rater NAME.")]
        lines = []
        for place, one in enumerate(offered):
            line = cursor_line(one.title, here=place == self._index, in_use=not self._in_report)
            if self._is_narrow:
                beside = " " * (max(len(each.title) for each in offered) - len(one.title))
                about = one_line(one.about, max(self.app.size.width - len(one.title) - len(beside) - 11, 0))
                line = Content.assemble(line, f"{beside}  ", (about, "$foreground-muted"))
            lines.append(line)
        if blind:
            about = "Blind review: reports show only your own labels."
            lines += [Content(""), Content.styled(about, "$foreground-muted")]
        return lines

    def _say(self, text: str, *, wrong: bool = False) -> None:
        self.set_class(wrong, "-wrong")
        state = self.query_one("#state", Static)
        state.display = bool(text)
        state.update(Content(one_line(text, 400)))

    # -- keys -----------------------------------------------------------------------------------------

    def action_move(self, lines: int, columns: int) -> None:
        """Go to another report, or to another figure."""
        if self._in_report:
            places = self._places
            figure = moved(places, self._figure, lines, columns) if places else self._figure
            if figure == self._figure:
                # Notes and the command are below the last figure, the caption is above the first.
                box = self.query_one("#report", ScrollableContainer)
                box.scroll_relative(y=lines, x=8 * columns, animate=False)
                return
            self._figure = figure
        elif lines and self.offered:
            index = min(max(self._index + lines, 0), len(self.offered) - 1)
            if index != self._index:
                self._index = index
                self._forget()
                self._read_soon()
        self._lay_out()

    def action_pane(self) -> None:
        """Go to the report, or back to the list."""
        if self.report is None:
            return
        self._in_report = not self._in_report
        self._lay_out()
        if self._in_report and self.page is None:
            self._read_report()

    def action_open(self) -> None:
        """Open what is behind the figure under the cursor; from the list, go to the report."""
        if not self._in_report:
            self.action_pane()
            return
        places = self._places
        if self.page is None or not places:
            return
        place = places[self._figure]
        cell = self.page.tables[place.table].rows[place.row].cells[place.column]
        assert isinstance(cell, Cell)
        if cell.compares is not None:
            # A label that is given on the way would change whose labels are the default.
            report = self.report
            assert report is not None
            self._asked[report.read] = self._found[report.read, self._options(report)].options
            self.navigator.open_by_query(cell.compares)
            return
        assert cell.items is not None
        read = cell.items

        def work() -> list[int]:
            with self.context.workspace.reading() as connection:
                refuse(connection, self.context.scope, Shows.WHOLE, HIDDEN)
                return list(read(connection))

        in_thread(
            self, work, partial(self._items_read, cell), self.context.notices.report_error, group="items"
        )

    def _items_read(self, cell: Cell, ids: list[int]) -> None:
        if not self.is_current:
            return
        if not ids or len(ids) > MOST_ITEMS:
            why = "There is no item behind this figure."
            if ids:
                why = f"{pluralize(len(ids), 'item')}: too many to list. Filter the queue, or use SQL."
            self._say(why)
            return
        self.navigator.open_queue(QueueFilter(items=tuple(ids), named=cell.named))

    def action_choose(self, what: str, steps: int) -> None:
        """Choose the next value: what the report is about, whose labels it is of, or the other rater."""
        choice = self.choices.get(what)
        if choice is None or not self._shows_report or len(choice.values) < 2:
            return
        at = choice.values.index(choice.chosen) if choice.chosen in choice.values else 0
        self._choose({what: choice.values[(at + steps) % len(choice.values)]})

    def action_choices(self) -> None:
        """Choose study, question, raters and the like from lists."""
        if self._open_choices and self._shows_report:
            self.app.push_screen(ChoiceScreen(self.context.settings, self._open_choices), self._choose)

    def _choose(self, values: Mapping[str, str] | None) -> None:
        """Read the report with other values chosen."""
        report = self.report
        if report is None or not values:
            return
        shown = self._found.get((report.read, self._options(report)))
        options = self._options(report) if shown is None else shown.options
        for name, value in values.items():
            options = self.choices[name].sets(options, value)
        self._asked[report.read] = options
        self._forget()
        self._lay_out()
        self._read_report()

    def action_copy(self) -> None:
        """Copy the command that prints the report."""
        if self.command:
            self.app.copy_to_clipboard(self.command)
            self._say(f"Copied: {self.command}")

    def action_copy_table(self) -> None:
        """Copy the table under the cursor as Markdown; from the list, the first one."""
        if self.page is None or not self.page.tables:
            return
        places = self._places
        number = places[self._figure].table if self._in_report and places else 0
        table = self.page.tables[number]
        self.app.copy_to_clipboard(table_as_markdown(table))
        self._say(f"Copied as Markdown: {table.title or ', '.join(table.columns)}")

    def action_save(self) -> None:
        """Ask for the file to save the report to."""
        report = self.report
        if report is None or self.page is None or not self._shows_report:
            return
        file = self.query_one("#file", LineInput)
        file.display = True
        file.value = f"{self.context.workspace.path.stem}-{report.name}.svg"
        file.cursor_position = len(file.value)
        file.focus()
        leaves = self.key_of("line.close")
        self._say(f"Enter save; the ending chooses the format: {', '.join(SUFFIXES)} · {leaves} cancel")

    @on(Input.Submitted, "#file")
    def _file_named(self, event: Input.Submitted) -> None:
        report, page, name = self.report, self.page, event.value.strip()
        if report is None or page is None or not name:
            return
        write: Callable[[], str] = partial(
            save, page, report.title, self._command(self.context.workspace.path.name), typed_path(name)
        )
        in_thread(self, write, self._saved, self._not_saved, group="save", exclusive=False)

    def _saved(self, said: str) -> None:
        self.action_close_line()
        self._say(said)

    def _not_saved(self, error: WorkbenchError) -> None:
        self._say(f"! {error.title}: {error.message} {error.hint}", wrong=True)

    def action_close_line(self) -> None:
        """Close the line for a file."""
        self.query_one("#file").display = False
        self.set_focus(None)
        self._say("")

    def action_back(self) -> None:
        """Go back to the list, then to the screen below; at once to that from which a report was opened."""
        if self._in_report and not self._opened:
            self.action_pane()
        else:
            self.dismiss()
