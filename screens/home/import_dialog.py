"""The dialog in which a file is imported; the path stays when something is wrong with it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.timer import Timer
from textual.widgets import Input, Static

from screens.commands import bindings
from screens.help import first_key, hint
from screens.jobs.job_line import bar, format_duration
from screens.threads import in_thread
from screens.widgets.text.sanitize import one_line
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.workspace.journal import JOURNAL_SUFFIX

if TYPE_CHECKING:
    from screens.settings import ScreenSettings
    from store.events import Progress, Report
    from store.ingest.report import ImportReport

SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".gz", ".zst")
"""Ends of the names of files that can be imported; a folder is shown as well, any other file is not."""

LISTED = 6
SHOWN_LINES = 9
"""Lines of an error that are shown."""

BAR_AFTER_SECONDS = 1.0
"""How long an import takes before a bar shows how far it is."""

TICK_SECONDS = 0.25
"""How often the bar is brought up to date."""

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
    folder = Path(f"{head}/" if typed.startswith("/") or head else ".").expanduser()
    found: list[str] = []
    try:
        for number, entry in enumerate(folder.iterdir()):
            if number >= LOOKED_AT:
                break
            if not entry.name.startswith(start) or (entry.name.startswith(".") and not start):
                continue
            if entry.is_dir():
                found.append(f"{head}/{entry.name}/" if head or typed.startswith("/") else f"{entry.name}/")
            elif entry.name.lower().endswith(SUFFIXES) and not entry.name.endswith(JOURNAL_SUFFIX):
                found.append(f"{head}/{entry.name}" if head or typed.startswith("/") else entry.name)
    except OSError:
        return []
    return sorted(found)


class FileSuggester(Suggester):
    """Completes a path by the first file that matches."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        """Return the first match of a typed path, None without one."""
        matches = await asyncio.to_thread(matching_files, value) if value else []
        return matches[0] if matches else None


class ImportScreen(ModalScreen["ImportReport | None"]):
    """Imports a file; dismissed with the report of the last one that was, None when none was.

    Args:
        import_file: Imports a file, and reports its progress; called in a thread.
    """

    CSS_PATH: ClassVar[str] = "home.tcss"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("import"))

    def __init__(self, settings: ScreenSettings, import_file: Callable[[Path, Report], ImportReport]) -> None:
        super().__init__()
        self._settings = settings
        self._import_file = import_file
        self._report: ImportReport | None = None
        self._importing = False
        # Written by the thread that imports, read by the timer.
        self._progress: Progress | None = None
        self._began = 0.0
        self._what = ""
        self._ticking: Timer | None = None

    def compose(self) -> ComposeResult:
        """Lay out the path, the files that match, and what came of it."""
        with Vertical(classes="modal") as box:
            box.border_title = "Import a file"
            yield Input(id="path", placeholder="path of a file", suggester=FileSuggester())
            yield Static(id="files")
            yield Static(id="outcome")
            keys = hint(self._settings, ("import.complete", "complete the path"), ("import.leave", "close"))
            yield Static(Content(f"Enter import · {keys}"), classes="keys")

    @property
    def _leaving_key(self) -> str:
        return first_key(self._settings, "import.leave")

    def on_mount(self) -> None:
        """List what is in the folder."""
        self._list_files("")
        self._show_message(
            "Pairs (CoSQA, CoSQA+), completions (CrossCodeEval), repository questions (SWE-QA, MT-bench, "
            "issue threads), what models made of them, labels; also JSON lines, CSV or Parquet. The format "
            "is found out and said. All or nothing: with one faulty record nothing is imported."
        )

    def _show_message(self, text: str, state: str = "") -> None:
        self.set_class(state == "failed", "-failed")
        self.set_class(state == "done", "-done")
        self.query_one("#outcome", Static).update(Content(text))

    @on(Input.Changed, "#path")
    def _path_changed(self, event: Input.Changed) -> None:
        self._list_files(event.value)

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
        if not typed and self._report is not None:
            lines = []
        self.query_one("#files", Static).update(Content("\n".join(lines)))

    def action_complete(self) -> None:
        """Complete the path as far as it is unambiguous, to the first match where it is not."""
        box = self.query_one("#path", Input)
        matches = matching_files(box.value)
        if not matches:
            return
        shared = matches[0]
        for match in matches[1:]:
            while not match.startswith(shared):
                shared = shared[:-1]
        box.value = shared if len(shared) > len(box.value) else matches[0]
        box.cursor_position = len(box.value)

    @on(Input.Submitted, "#path")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        typed = event.value.strip()
        if self._importing:
            return
        if not typed:
            if self._report is not None:
                self.dismiss(self._report)
            return
        self._importing = True
        self._progress, self._began = None, time.monotonic()
        self._what = f"Importing {one_line(typed, 60)} …"
        self._show_message(self._what)
        self._ticking = self.set_interval(TICK_SECONDS, self._show_progress)
        work = partial(self._import_file, Path(typed).expanduser(), self._take_progress)
        in_thread(self, work, self._import_done, self._import_failed, group="import", exclusive=False)

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
        parts = [error.title, *error.message.splitlines(), *error.hint.splitlines()]
        lines = [one_line(line, 300) for line in parts if line.strip()]
        if len(lines) > SHOWN_LINES:
            lines[SHOWN_LINES:] = ["… to see all, run: workbench import WORKSPACE FILE"]
        self._show_message("! " + "\n".join(lines), "failed")

    def _import_done(self, report: ImportReport) -> None:
        self._ended()
        self._report = report
        lines = [one_line(file.sentence(), 700) for file in report.files] + report.beside_files()
        closed = f"{self._leaving_key} closes this; home shows the next steps."
        lines.append(closed if report.adds else "Nothing new.")
        self._show_message(
            f"{'✓' if report.adds else '·'} " + "\n".join(lines), "done" if report.adds else ""
        )
        self.query_one("#path", Input).value = ""

    def action_leave(self) -> None:
        """Leave; while a file is imported, show that the import goes on."""
        if self._importing:
            again = f"Press {self._leaving_key} once more when it is done."
            self._what = f"Still importing; please wait. {again}"
            self._show_message(self._what)
            self._show_progress()
            return
        self.dismiss(self._report)
