"""The dialog in which a file is looked at and imported; the path stays when something is wrong with it."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.timer import Timer
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from screens.commands import bindings
from screens.form import typed_path
from screens.help import first_key, hint
from screens.home.import_columns import WRITTEN, ImportColumns, as_it_will_look
from screens.jobs.job_line import TICK_SECONDS, bar
from screens.threads import in_thread
from screens.widgets.line_input import UndoInput
from screens.widgets.text.sanitize import one_line
from store.errors import WorkbenchError
from store.formatting import format_duration, pluralize
from store.ingest.choices import ENDINGS
from store.workspace.journal import JOURNAL_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from screens.settings import ScreenSettings
    from store.events import Progress, ReportProgress
    from store.ingest.choices import ImportChoices
    from store.ingest.preview import FilePreview
    from store.ingest.report import ImportReport

_EXAMPLES = {
    "prefix": "put before every id, such as mine/",
    "licence": "of the data, such as CC-BY-4.0",
    "label_as": "the name of who gave them",
    "label_words": "what words mean, such as good=1,bad=0",
}
_OPTION = "--label-as NAME changes it"
"""The advice of the command line that names an option; the dialog has a line in its place."""

LISTED = 6
_TALL = 36
"""Rows of a terminal in which all lines of a table's columns are shown."""

SHOWN_LINES, _FEW_LINES = 9, 4
"""Lines of an error that are shown."""

BAR_AFTER_SECONDS = 1.0
"""How long an import takes before a bar shows how far it is."""

LEAST_CELLS, MOST_CELLS = 14, 60
"""Cells of a column of the first records."""

LOOKED_AT = 2_000
"""Entries of a folder that are looked at; a folder of a corpus may hold a million."""


def matching_files(typed: str) -> list[str]:
    """Return what a typed path may become: folders (ending in /) and files that can be imported.

    Args:
        typed: The beginning of a path; `~` is the home folder.

    Returns:
        Paths that begin with what was typed, in order.
    """
    head, _, start = typed.rpartition("/")
    folder = typed_path(f"{head}/" if typed.startswith("/") or head else ".")
    found: list[str] = []
    try:
        for number, entry in enumerate(folder.iterdir()):
            if number >= LOOKED_AT:
                break
            if not entry.name.startswith(start) or (entry.name.startswith(".") and not start):
                continue
            if entry.is_dir():
                found.append(f"{head}/{entry.name}/" if head or typed.startswith("/") else f"{entry.name}/")
            elif entry.name.lower().endswith(ENDINGS) and not entry.name.endswith(JOURNAL_SUFFIX):
                found.append(f"{head}/{entry.name}" if head or typed.startswith("/") else entry.name)
    except (OSError, ValueError):
        return []
    return sorted(found)


def is_data_file(path: Path) -> bool:
    """Return whether there is a file that can be imported, by its name, or a folder."""
    try:
        return path.is_dir() or (path.name.lower().endswith(ENDINGS) and path.is_file())
    except (OSError, ValueError):
        return False


def pasted_file(text: str) -> str:
    """Return the path of a file that was pasted, or dropped on the terminal; empty where it is none.

    Terminals write a dropped file's path in quotes, with backslashes before blanks, or as a URL.
    """
    try:
        words = shlex.split(text.strip().removeprefix("file://"))
    except ValueError:
        return ""
    path = unquote(words[0]) if text.strip().startswith("file://") and words else " ".join(words)
    return path if path and is_data_file(typed_path(path)) else ""


class FileSuggester(Suggester):
    """Completes a path by the first file that matches."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        """Return the first match of a typed path, None without one."""
        matches = await asyncio.to_thread(matching_files, value) if value else []
        return matches[0] if matches else None


@dataclass(frozen=True, slots=True)
class Imports:
    """The work of the dialog on a file. Each function gets a path and a callback for progress, in a thread.

    Attributes:
        check: Does everything but import, with what was chosen for the file.
    """

    look: Callable[[Path, ReportProgress], FilePreview]
    check: Callable[[Path, ReportProgress, ImportChoices], ImportReport]
    import_file: Callable[[Path, ReportProgress, ImportChoices], ImportReport]


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of the dialog.

    Attributes:
        report: The report of the last import.
        judge: Whether the rater asked for the first item to judge.
    """

    report: ImportReport
    judge: bool = False


class ImportScreen(ModalScreen["Imported | None"]):
    """Looks at a file, then imports it; dismissed with what was imported, None when nothing was.

    Args:
        path: The path that is typed at first.
    """

    CSS_PATH = "home.tcss"
    BINDINGS = bindings("import")

    def __init__(self, settings: ScreenSettings, imports: Imports, path: str = "") -> None:
        super().__init__()
        self._path = path
        self._settings = settings
        self._imports = imports
        self._report: ImportReport | None = None
        self._importing = False
        # The path that was looked at, and what the look told.
        self._looked_at = ""
        self._found: FilePreview | None = None
        # Whether other columns may mend what is wrong.
        self._mends = False
        # The line of the columns that is written.
        self._line = ""
        self._said, self._with_preview = Content(""), False
        # Written by the thread that imports, read by the timer.
        self._progress: Progress | None = None
        self._began = 0.0
        self._what = ""
        self._ticking: Timer | None = None

    def compose(self) -> ComposeResult:
        """Lay out the path, the files that match, what was found in one, and what came of it."""
        with Vertical(classes="modal") as box:
            box.border_title = "Import a file"
            yield UndoInput(id="path", placeholder="path of a file", suggester=FileSuggester())
            yield Static(id="files")
            yield ImportColumns(id="columns")
            yield UndoInput(id="written")
            yield Static(id="outcome")
            yield Static(classes="keys")

    @property
    def _leaving_key(self) -> str:
        return first_key(self._settings, "import.leave")

    def on_mount(self) -> None:
        """List what is in the folder."""
        self.query_one("#written").display = False
        self._list_files("")
        self._show_message(
            "Pairs, completions, repository questions, comparisons; responses of models; labels. "
            "JSON lines, JSON, CSV or Parquet; the format is detected, and shown before anything is imported."
        )
        self._show_keys()
        if self._path:
            self._type(self._path)

    def _show_keys(self) -> None:
        """Say what Enter does now, and the other keys."""
        columns = self._columns
        if columns.has_focus:
            enter = "takes the column" if columns.is_choosing else "changes the line"
        elif self._typed and self._looked_at == self._typed:
            enter = "imports"
        elif columns.display:
            enter = "goes to the columns" if self._mends else "looks again"
        elif self._typed or self._report is None:
            enter = "preview"
        else:
            enter = "open the first item" if self._report.items_added else "closes"
        completes = [("import.complete", "complete the path")] if self._typed or not self._report else []
        if columns.display:
            completes = [("import.now", "import"), ("import.leave", "back")]
            if not columns.has_focus:
                completes = [("import.columns", "columns"), ("import.leave", "close")]
        else:
            completes.append(("import.leave", "close"))
        keys = hint(self._settings, *completes)
        self.query_one(".keys", Static).update(Content(f"Enter {enter} · {keys}"))

    @property
    def _columns(self) -> ImportColumns:
        return self.query_one(ImportColumns)

    @property
    def _typed(self) -> str:
        return self.query_one("#path", Input).value.strip()

    def _show_message(self, text: str, state: str = "", *, preview: bool = False) -> None:
        """Show what came of a file, under what was found in it where that is asked for."""
        self.set_class(state == "failed", "-failed")
        self.set_class(state == "done", "-done")
        style = {"failed": "$text-error", "done": "$text-success"}.get(state, "")
        self._said, self._with_preview = Content.styled(text, style), preview
        self._draw()

    def on_resize(self) -> None:
        """Fit what was found in a file to the new size."""
        self._draw()

    def _draw(self) -> None:
        outcome = self.query_one("#outcome", Static)
        preview = self._preview(max(20, outcome.content_size.width)) if self._with_preview else None
        outcome.update(self._said if preview is None else Content("\n").join([preview, self._said]))

    def _preview(self, width: int) -> Content | None:
        """Return what was found in the file that was looked at."""
        found = self._found
        if found is None:
            return None
        if found.proposal is None:
            first, heading, *rows = preview_lines(found, width)
            parts = [(first, "bold"), (f"\n{heading}", "$foreground-muted")]
        else:
            few = self.app.size.height < _TALL
            # The keys below stay in sight.
            self._columns.styles.max_height = 6 if few else 13
            self.query_one("#outcome").styles.max_height = 9 if few else 14
            parts = [(f"{found.holds} · {found.proposal.sample.container}, as they will look:", "bold")]
            shown = found.proposal.rows[: 2 if few else None]
            rows = as_it_will_look(shown, self._columns.choices, width)
        return Content.assemble(*parts, *(f"\n{row}" for row in rows))

    @on(Input.Changed, "#path")
    def _path_changed(self, event: Input.Changed) -> None:
        self._list_files(event.value)
        self._looked_at = ""
        self._columns.show(None)
        self.workers.cancel_group(self, "look")
        if event.value.strip():
            self._show_message("")
        in_thread(
            self,
            lambda: _is_file(event.value.strip()),
            partial(self._look_at_file, event.value.strip()),
            group="is file",
        )
        self._show_keys()

    # -- looking at a file -----------------------------------------------------------------------------

    def _look_at_file(self, typed: str, is_file: bool) -> None:
        """Look at a file as soon as its whole name is there."""
        if is_file and typed == self._typed and not self._importing:
            self._look(typed)

    def _look(self, typed: str) -> None:
        self._show_message("Reading …")
        path, done = typed_path(typed), partial(self._looked, typed)
        in_thread(
            self, lambda: self._imports.look(path, _stop_if_cancelled), done, self._failed, group="look"
        )

    def _looked(self, typed: str, found: FilePreview) -> None:
        if typed != self._typed or self._importing:
            return
        self._looked_at = typed
        self._found = found
        self._columns.show(found.proposal)
        self._check()

    @on(ImportColumns.Changed)
    def _check(self) -> None:
        """Show what would be imported with the columns that are chosen, and count it."""
        found, typed, choices = self._found, self._typed, self._columns.choices
        if found is None or self._importing:
            return
        self._show_keys()
        if self._columns.missing:
            self._show_message(
                f"No column is the {' or the '.join(self._columns.missing)} yet.", preview=True
            )
            return
        self._show_message("Counting …", preview=True)
        path, done = typed_path(typed), partial(self._checked, typed)
        in_thread(
            self,
            lambda: self._imports.check(path, _stop_if_cancelled, choices),
            done,
            self._check_failed,
            group="look",
        )

    @on(ImportColumns.Asked)
    def _ask(self, event: ImportColumns.Asked) -> None:
        """Have a line written."""
        box = self.query_one("#written", Input)
        self._line = event.name
        box.placeholder = f"{WRITTEN[event.name]}: {_EXAMPLES[event.name]}"
        box.value = self._columns.text_of(event.name)
        box.display = True
        box.focus()

    @on(Input.Submitted, "#written")
    def _written(self, event: Input.Submitted) -> None:
        event.stop()
        self._end_writing()
        self._columns.write(self._line, event.value)

    def _end_writing(self) -> None:
        self.query_one("#written").display = False
        self._columns.focus()

    def on_descendant_focus(self) -> None:
        """Say what the keys do where the focus is."""
        self.call_later(self._show_keys)

    @on(ImportColumns.Turned)
    def _turned(self) -> None:
        self._show_keys()

    def action_choose_columns(self) -> None:
        """Go to the columns of a table; within them, to the next line."""
        if self._columns.has_focus:
            self._columns.action_cursor_down()
        elif self._columns.display and not self.query_one("#written").has_focus:
            self._columns.focus()

    def action_import_now(self) -> None:
        """Import the table."""
        self._import(self._typed)

    def _checked(self, typed: str, report: ImportReport) -> None:
        if typed == self._typed and not self._importing:
            # Columns that were changed may have mended what was wrong.
            self._looked_at = typed
            self._show_keys()
            files = [one_line(file.sentence(dry_run=True).partition("), ")[2], 400) for file in report.files]
            if self._columns.display:
                files = [line.replace(_OPTION, "change it in `labels of`") for line in files]
            mark = "✓" if report.adds else "·"
            lines = [f"{mark} {line}" for line in files[:LISTED]] + report.beside_files()
            if not report.adds:
                lines.append("Nothing new.")
            self._show_message("\n".join(lines), preview=True)

    def _check_failed(self, error: WorkbenchError) -> None:
        if not self._importing:
            # Nothing would be imported; Enter looks again, at what was mended meanwhile.
            self._looked_at = ""
            lines = _error_lines(error)
            said = " ".join(lines)
            self._mends = bool(self._columns.missing) or "--map" in said or "--label-words" in said
            self._show_keys()
            if self._columns.display:
                # The columns and the lines below them can be changed here.
                lines = [line.replace("--label-words", "`label words`") for line in lines[:_FEW_LINES]]
            self._show_message("\n".join(lines), "failed", preview=True)

    def _failed(self, error: WorkbenchError) -> None:
        if not self._importing:
            self._show_message("\n".join(_error_lines(error)), "failed")

    def _list_files(self, typed: str) -> None:
        in_thread(self, partial(matching_files, typed), partial(self._files_listed, typed), group="files")

    def _files_listed(self, typed: str, found: list[str]) -> None:
        if not self.is_mounted or typed != self.query_one("#path", Input).value:
            return
        lines = [one_line(path, 68) for path in found[:LISTED]]
        if len(found) > LISTED:
            lines.append(f"… and {len(found) - LISTED:,} more")
        if not found:
            lines = ["nothing here that can be imported"]
        if found == [typed] or (not typed and self._report is not None):
            lines = []
        self._show_files(lines)

    def _show_files(self, lines: Sequence[str]) -> None:
        files = self.query_one("#files", Static)
        files.display = bool(lines)
        files.update(Content("\n".join(lines)))

    def action_complete(self) -> None:
        """Complete the path as far as it is unambiguous, to the first match where it is not."""
        typed = self.query_one("#path", Input).value
        in_thread(self, partial(matching_files, typed), partial(self._complete, typed), group="complete")

    def _complete(self, typed: str, matches: Sequence[str]) -> None:
        box = self.query_one("#path", Input)
        if not matches or box.value != typed:
            return
        shared = matches[0]
        for match in matches[1:]:
            while not match.startswith(shared):
                shared = shared[:-1]
        self._type(shared if len(shared) > len(typed) else matches[0])

    def _type(self, path: str) -> None:
        box = self.query_one("#path", Input)
        box.value = path
        box.cursor_position = len(path)

    @on(Input.Submitted, "#path")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        typed = event.value.strip()
        if self._importing:
            return
        if not typed and self._report is not None:
            self.dismiss(Imported(self._report, judge=self._report.items_added > 0))
            return
        if not typed:
            in_thread(self, partial(matching_files, ""), self._take_first_file, group="complete")
            return
        if self._looked_at != typed and self._columns.display and self._mends:
            self._columns.focus()
            return
        if self._looked_at != typed:
            in_thread(self, partial(_completed, typed), partial(self._look_or_type, typed), group="complete")
            return
        self._import(typed)

    def _import(self, typed: str) -> None:
        """Import the file that was looked at."""
        if self._importing or not typed or self._looked_at != typed:
            return
        if self._columns.missing:
            self._columns.focus()
            return
        choices = self._columns.choices
        self._columns.display = False
        self.query_one("#path", Input).focus()
        self.workers.cancel_group(self, "look")
        self._importing = True
        self._progress, self._began = None, time.monotonic()
        self._what = f"Importing {one_line(typed, 60)} …"
        self._show_message(self._what)
        self._ticking = self.set_interval(TICK_SECONDS, self._show_progress)
        work = partial(self._imports.import_file, typed_path(typed), self._take_progress, choices)
        in_thread(self, work, self._import_done, self._import_failed, group="import", exclusive=False)

    def _look_or_type(self, typed: str, completed: str) -> None:
        """Look at what was typed; what it was completed to is looked at as soon as it is typed."""
        if typed == self._typed and not self._importing:
            if completed == typed:
                self._look(typed)
            else:
                self._type(completed)

    def _take_first_file(self, found: Sequence[str]) -> None:
        """Type the first file of the folder, which is looked at then."""
        files = [name for name in found if not name.endswith("/")]
        if files and not self._typed:
            self._type(files[0])

    def _take_progress(self, progress: Progress) -> None:
        self._progress = progress

    def _show_progress(self) -> None:
        """Show how far a long import is; a quick one is over before there is something to see."""
        seconds, progress = time.monotonic() - self._began, self._progress
        if seconds < BAR_AFTER_SECONDS:
            return
        width = max(10, self.query_one("#outcome", Static).content_size.width)
        done, total = (progress.done, progress.total or 0) if progress is not None else (0, 0)
        words = [one_line(progress.stage, 48)] if progress is not None else []
        if total:
            words.append(f"{min(done, total) / total:.0%}")
        elif done:
            words.append(pluralize(done, "record"))
        words.append(format_duration(seconds))
        self._show_message(f"{self._what}\n{bar(done, total, width)}\n{' · '.join(words)}")

    def _ended(self) -> None:
        self._importing = False
        if self._ticking is not None:
            self._ticking.stop()

    def _import_failed(self, error: WorkbenchError) -> None:
        self._ended()
        self._looked_at = ""
        self._show_message("\n".join(_error_lines(error)), "failed")
        self._show_keys()

    def _import_done(self, report: ImportReport) -> None:
        self._ended()
        self._report = report
        lines = [one_line(file.sentence().replace(f"; {_OPTION}", ""), 700) for file in report.files]
        lines += report.beside_files()
        if not report.adds:
            lines.append("Nothing new.")
        with self.prevent(Input.Changed):
            self.query_one("#path", Input).value = ""
        self._show_files([])
        self._show_message(
            f"{'✓' if report.adds else '·'} " + "\n".join(lines), "done" if report.adds else ""
        )
        self._show_keys()

    def action_leave(self) -> None:
        """Leave what has the focus: a line, the columns, the dialog; an import that goes on is shown."""
        if self.query_one("#written").display:
            self._end_writing()
            return
        if self._columns.is_choosing:
            self._columns.leave_columns()
            return
        if self._columns.has_focus:
            self.query_one("#path", Input).focus()
            return
        if self._importing:
            again = f"Press {self._leaving_key} once more when it is done."
            self._what = f"Still importing; please wait. {again}"
            self._show_message(self._what)
            self._show_progress()
            return
        self.dismiss(None if self._report is None else Imported(self._report))


def _is_file(typed: str) -> bool:
    try:
        return bool(typed) and typed_path(typed).is_file()
    except (OSError, ValueError):
        return False


def _completed(typed: str) -> str:
    """Return the only path that a part of one can become; what was typed where it is there, or none is."""
    matches = matching_files(typed)
    return matches[0] if len(matches) == 1 and not typed_path(typed).exists() else typed


def _stop_if_cancelled(progress: Progress) -> None:
    """End a look at a file that nobody waits for any more.

    Raises:
        WorkbenchError: Nobody does.
    """
    if get_current_worker().is_cancelled:
        raise WorkbenchError("Stopped", "Another file is being read.", "")


def _error_lines(error: WorkbenchError) -> list[str]:
    # Options can be given on the command line alone.
    options = (
        ["Options are for the command line: workbench import WORKSPACE FILE"] if "--" in error.hint else []
    )
    parts = [error.title, *error.message.splitlines(), *options, *error.hint.splitlines()]
    lines = [one_line(line, 300) for line in parts if line.strip()]
    if len(lines) > SHOWN_LINES:
        lines[SHOWN_LINES:] = ["… to see all, run: workbench import WORKSPACE FILE"]
    return [f"! {lines[0]}", *lines[1:]]


def preview_lines(found: FilePreview, width: int) -> list[str]:
    """Return what was found in a file as lines: the format, and the first records as a table.

    Args:
        width: Cells of a line.
    """
    lines = [one_line(f"{found.holds} · {found.format} ({found.why})", width)]
    cells = [
        _column_cells(name, [row[place] for row in found.rows]) for place, name in enumerate(found.columns)
    ]
    # As many columns as have room for a word or two.
    most = max(1, (width + 2) // (LEAST_CELLS + 2))
    shown = range(min(len(cells), most))
    given = _shared_out([cells[place] for place in shown], width)
    for row in (found.columns, *found.rows):
        texts = (one_line(row[place], given[place]) for place in shown)
        lines.append(
            "  ".join(
                text + " " * (given[place] - cell_len(text)) for place, text in enumerate(texts)
            ).rstrip()
        )
    if len(cells) > most:
        lines.append(one_line(f"and {', '.join(found.columns[most:])}", width))
    if found.more:
        lines.append(f"and {pluralize(found.more, 'more file', 'more files')} in the folder")
    return lines


def _column_cells(name: str, values: Sequence[str]) -> int:
    return max(cell_len(one_line(text, MOST_CELLS)) for text in (name, *values))


def _shared_out(wanted: Sequence[int], width: int) -> list[int]:
    """Return the cells of columns that together fit a width, the narrow ones whole."""
    left, given = width - 2 * (len(wanted) - 1), [0] * len(wanted)
    for number, place in enumerate(sorted(range(len(wanted)), key=lambda one: wanted[one])):
        given[place] = min(wanted[place], max(1, left // (len(wanted) - number)))
        left -= given[place]
    return given
