"""The form of an export; what it writes is what `workbench export` writes."""

from __future__ import annotations

import shlex
import textwrap
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.timer import Timer
from textual.widgets import Checkbox, Input, Select

from agents.pipelines.registry import kinds_with_agents
from screens.commands import bindings
from screens.exporting.options import (
    LIST,
    ExportOptions,
    ExportPlan,
    Items,
    Whose,
    read_options,
    run_export,
    writable_formats,
)
from screens.form import Fields, FormFoot, TickBox, choice, line, ticks
from screens.home.import_dialog import FileSuggester
from screens.jobs.job_line import TICK_SECONDS, JobLine, bar
from screens.studies.confirm import ConfirmScreen
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.errors import WorkbenchError
from store.export.summary import export_lines, reveals, uncounted
from store.formats.protocol import Format
from store.kinds.spec import task_kinds
from store.paths import is_there
from store.policy.scope import Shows
from store.queries.rows import QueueFilter

if TYPE_CHECKING:
    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from store.events import Progress
    from store.export.exporting import ExportReport
    from store.queries.rows import ViewQuery

FIRST, TABLE = "jsonl", "csv"
"""The format that is chosen at first: everything, or the table that was imported."""

SENTENCE_CELLS = 40
NAME_CELLS, AROUND_CELLS = 13, 26
"""Cells of the longest name of a format, and of what is beside the choice of a format."""


def carried(form: Format) -> str:
    """Return what a file of a format holds."""
    return form.carries or form.description


class ExportScreen(WorkbenchScreen):
    """A form in which an export is chosen, with what it would write at its foot.

    Args:
        listed: The queue from which it was opened, whose items can be chosen; None for none.
    """

    SCOPE = "export"
    CSS_PATH: ClassVar[list[str | PurePath]] = ["../studies/studies.tcss", "export.tcss"]
    BINDINGS = bindings("export")
    AUTO_FOCUS = "#format"

    def __init__(self, context: ScreenContext, navigator: Navigator, listed: ViewQuery | None = None) -> None:
        super().__init__(context, navigator)
        self.fields = Fields(self)
        self.options: ExportOptions | None = None
        # All items are no list of their own.
        self._listed = None if listed is None or listed.wanted == QueueFilter() else listed
        self._formats = writable_formats()
        self._foot = FormFoot(self._read_fields, self._preview, self._write, self._written)
        # The name that was proposed last; another one was typed.
        self._proposed = ""
        # Set by the thread that writes, read by the timer.
        self._progress: Progress | None = None
        self._ticking: Timer | None = None
        # Whether what is at the destination is to be replaced, which was asked.
        self._replaces = False

    def compose(self) -> ComposeResult:
        """Lay out the fields, what would be written, and the keys."""
        questions = [(spec.name, spec.name) for kind in task_kinds().values() for spec in kind.every_question]
        yield TopLine("export")
        with VerticalScroll(id="body", can_focus=False):
            first = FIRST if FIRST in self._formats else next(iter(self._formats))
            yield choice("Format", "format", self._format_choices(), first)
            yield choice("Labels of", "whose", [("all raters", Whose())], Whose())
            yield choice("Question", "question", [("that of the items", ""), *questions], "")
            yield choice("Items", "items", self._item_choices(), Items())
            yield choice("Split", "split", [("none", "")], "")
            yield choice("Part", "part", [("all parts", "")], "")
            yield choice("Study", "study", [("all records", "")], "")
            yield choice("Table", "table", [("the imported one", "")], "")
            yield ticks(
                "Comments",
                TickBox("with comments", id="comments", compact=True),
                TickBox("names as they are", id="names", compact=True),
                name="comments",
            )
            yield ticks(
                "Options",
                TickBox("people have pseudonyms", id="pseudonyms", compact=True),
                TickBox("without models' replies", id="without_replies", compact=True),
                name="bundle",
            )
            yield line("File or folder", "file", "path to write")
        yield self._foot
        yield JobLine(self.context)
        yield KeyLine()

    def _format_choices(self) -> list[tuple[str, str]]:
        """Return each format with its name and what it carries, in columns."""
        fill = partial(
            textwrap.fill,
            width=max(3 * NAME_CELLS, self.app.size.width - AROUND_CELLS),
            subsequent_indent=" " * (NAME_CELLS + 1),
        )
        return [(fill(f"{name:<{NAME_CELLS}} {carried(form)}"), name) for name, form in self._formats.items()]

    def _item_choices(self) -> list[tuple[str, Items]]:
        found = [("all items", Items())]
        if self._listed is not None:
            words = self._listed.wanted.sentence((), kinds_with_agents())
            found.append((f"those of the queue: {one_line(words, SENTENCE_CELLS)}", Items(LIST)))
        if self.options is not None:
            found += [
                (f"view: {one_line(name, SENTENCE_CELLS)}", Items("view", name))
                for name in self.options.views
            ]
        return found

    def on_mount(self) -> None:
        """Read what can be chosen, and say what would be written."""
        self.query_one("#file", Input).suggester = FileSuggester()
        self._fit()
        self._foot.say("Reading …")
        in_thread(self, self._read_options, self._offer, self._foot.say_wrong, group="options")

    def on_resize(self) -> None:
        """Fit the names of the formats to the width."""
        with self.prevent(Select.Changed):
            self._set_options("format", self._format_choices())

    def _read_options(self) -> ExportOptions:
        with self.context.workspace.reading() as connection:
            return read_options(connection, self.context.scope)

    def _offer(self, options: ExportOptions) -> None:
        self.options = options
        with self.prevent(Select.Changed):
            self._set_options("whose", [("all raters", Whose()), *options.whose])
            self._set_options("items", self._item_choices())
            self._set_options("split", [("none", ""), *((name, name) for name in options.splits)])
            self._set_options("study", [("all records", ""), *((name, name) for name in options.studies)])
            if options.tables:
                # Who came with a table wants it back.
                self.query_one("#format", Select).value = TABLE
                self._set_options(
                    "table", [(one_line(name, SENTENCE_CELLS), name) for name in options.tables]
                )
            if self._listed is not None:
                self.query_one("#items", Select).value = Items(LIST)
        self._fit()
        self._foot.count_soon()

    def _set_options(self, name: str, options: list[tuple[str, Any]]) -> None:
        """Offer other choices; the one that is chosen stays while it is among them."""
        box = self.query_one(f"#{name}", Select)
        chosen = box.value
        box.set_options(options)
        if any(value == chosen for _, value in options):
            box.value = chosen

    # -- the plan -------------------------------------------------------------------------------------

    @property
    def form(self) -> Format:
        """The format that is chosen."""
        return self._formats[self.fields.chosen("format")]

    def _read_fields(self) -> ExportPlan:
        """Return the plan as it is filled in.

        Raises:
            WorkbenchError: A field is missing.
        """
        destination = self.fields.file("file")
        if destination is None:
            raise WorkbenchError("Where?", "Type the path of the file or folder to write.")
        shown = self._shown()

        def chosen(name: str) -> str | None:
            return self.fields.chosen(name) or None if name in shown else None

        return ExportPlan(
            self.form,
            destination,
            self.fields.chosen("whose") if "whose" in shown else Whose(),
            chosen("question"),
            chosen("split"),
            chosen("part"),
            self.fields.chosen("items") if "items" in shown else Items(),
            chosen("study"),
            "bundle" in shown and self.fields.ticked("pseudonyms"),
            "bundle" in shown and self.fields.ticked("without_replies"),
            chosen("table"),
            "comments" in shown and self.fields.ticked("comments"),
            "comments" in shown and self.fields.ticked("comments") and self.fields.ticked("names"),
            self._replaces,
        )

    def _shown(self) -> set[str]:
        """Return the fields that the format and what is chosen have a use for."""
        choices, options = self.form.choices, self.options
        shown = set() if self.form.whole_workspace else {"items"}
        if choices & {"rater", "policy"}:
            shown.add("whose")
            if self.fields.chosen("whose").sort == "policy" and not self.fields.chosen("split"):
                shown.add("question")
        if "split" in choices and options is not None and options.splits:
            shown.add("split")
            if self.fields.chosen("split"):
                shown.add("part")
        if "study" in choices and options is not None and options.studies:
            shown.add("study")
        if "file" in choices and options is not None and len(options.tables) > 1:
            shown.add("table")
        if "comments" in choices:
            shown.add("comments")
        if "pseudonyms" in choices:
            shown.add("bundle")
        return shown

    def _fit(self) -> None:
        """Show the fields that apply, and a name for the file."""
        shown = self._shown()
        for name in ("whose", "question", "items", "split", "part", "study", "table", "comments", "bundle"):
            self.query_one(f"#of-{name}").display = name in shown
        form = self.form
        box = self.query_one("#file", Input)
        if box.value in ("", self._proposed):
            self._proposed = f"{self._stem(shown)}{form.suffix}"
            with self.prevent(Input.Changed):
                box.value = self._proposed

    def _stem(self, shown: set[str]) -> str:
        """Return the name that is proposed for the file, without its ending."""
        if "file" in self.form.choices and self.options is not None and self.options.tables:
            table = self.fields.chosen("table") if "table" in shown else self.options.tables[0]
            return f"{Path(table).stem}-judged"
        return f"{self.context.workspace.path.stem}-{self.form.name}"

    @on(Select.Changed, "#split")
    def _split_chosen(self) -> None:
        parts = self.options.splits.get(self.fields.chosen("split"), ()) if self.options else ()
        with self.prevent(Select.Changed):
            self._set_options("part", [("all parts", ""), *((part, part) for part in parts)])

    @on(Input.Changed)
    @on(Checkbox.Changed)
    @on(Select.Changed)
    def _changed(self) -> None:
        if self.options is not None:
            self.remove_class("-done")
            self._fit()
            self._foot.count_soon()

    def _preview(self, plan: ExportPlan) -> list[str]:
        if revealed := self._revealed(plan.form.name, plan.whose.name or plan.split):
            lines = [uncounted(revealed), "Read the file after your review."]
        else:
            lines = list(self._lines(run_export(self.context, plan, self._listed, dry_run=True)))
        if is_there(plan.destination):
            key = self.key_of("export.save")
            lines.append(f"{plan.destination.name} exists already; {key} asks before it is replaced.")
        return lines

    def _lines(self, report: ExportReport) -> list[str]:
        """Return what a report says, a line each, and of whose labels the review hides it tells."""
        revealed = self._revealed(report.format, report.rater)
        lines = [one_line(each, 400) for each in export_lines(report, revealed)]
        if revealed:
            lines.append(f"You review blind, and this file contains {revealed}: read it after your review.")
        return lines

    def _revealed(self, form: str, whose: str | None) -> str | None:
        """Return whose labels an export holds that the review hides; None where it hides none."""
        own = self.context.rater.name if self.context.rater else None
        return None if self.context.scope.may(Shows.OTHERS) else reveals(form, whose, own)

    # -- keys -----------------------------------------------------------------------------------------

    def action_save(self) -> None:
        """Write the file, after a question where it would replace one."""
        destination = self.fields.file("file")
        if destination is None or not is_there(destination) or self.options is None:
            self._begin()
            return
        what = "folder" if destination.is_dir() else "file"
        lines = [
            f"There is a {what} {one_line(str(destination), 200)} already.",
            "Its contents will be lost.",
        ]
        self.app.push_screen(
            ConfirmScreen(self.context.settings, f"Replace the {what}?", lines, "replaces it"),
            lambda agreed: self._begin(replaces=True) if agreed else None,
        )

    def _begin(self, *, replaces: bool = False) -> None:
        if self.options is None:
            return
        self.remove_class("-done")
        self._progress, self._replaces = None, replaces
        self._foot.save("Exporting …")
        if self._ticking is None:
            self._ticking = self.set_interval(TICK_SECONDS, self._show_progress)

    def _show_progress(self) -> None:
        """Show how far a long export is."""
        if not self._foot.saving:
            if self._ticking is not None:
                self._ticking.stop()
            self._ticking = None
        elif (progress := self._progress) is not None and progress.total:
            width = max(10, self._foot.content_size.width - 6)
            share = f"{min(progress.done, progress.total) / progress.total:>5.0%}"
            drawn = bar(progress.done, progress.total, width)
            self._foot.say(f"Exporting: {one_line(progress.stage, 60)}\n{drawn}{share}")

    def _write(self, plan: ExportPlan) -> ExportReport:
        return run_export(self.context, plan, self._listed, partial(setattr, self, "_progress"))

    def _written(self, report: ExportReport) -> None:
        self.add_class("-done")
        path, form = str(Path(report.destination).resolve()), self.form
        lines = [f"✓ Written to {path}", *self._lines(report)]
        if form.opened_by:
            in_program = '"' in form.opened_by
            lines.append(
                "Open it: " + form.opened_by.replace("{path}", path if in_program else shlex.quote(path))
            )
        elif form.readable:
            lines.append(f"Import it elsewhere: workbench import OTHER.duckdb {shlex.quote(path)}")
        self._foot.say("\n".join(lines))
