"""The agents at work: runs, how far they are, what failed and why, and the keys that steer them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, ClassVar, cast
from uuid import UUID

from rich.cells import cell_len
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Log, Static

from agents.events import ItemAnnotated, JobEvent, JobLog, JobPaused, JobProgressed
from screens.commands import Command, Scope, bindings
from screens.covering import CoveredScreen
from screens.help import first_key
from screens.jobs.board import board_of, latest_job
from screens.jobs.facts import RunsRead, failures, funnel, read_runs, spent
from screens.jobs.wording import STATE_GLYPHS, bar, parts
from screens.widgets.key_line import KeyLine
from screens.widgets.top_line import TopLine
from screens.widgets.visible import one_line, pieces
from store.counted import counted
from store.errors import WorkbenchError
from store.tables.runs import Run

if TYPE_CHECKING:
    from agents.jobs import Job
    from screens.app import WorkbenchApp

READ_SECONDS = 1.0
"""How long after a read the next one begins, while a job runs."""

LOG_SECONDS = 0.2
"""How long lines of the log are gathered."""

LOG_CELLS = 400
RUNS_LISTED = 4


def _folded(mark: str, text: str, width: int) -> list[tuple[str, str]]:
    """Return a line of the log in lines of a width, the first with its mark, the others indented."""
    shown = one_line(text, LOG_CELLS)
    if cell_len(shown) == len(shown):
        parts = textwrap.wrap(shown, width) or [""]
    else:
        parts = list(pieces(shown, width // 2))
    return [(mark if number == 0 else "    ", part) for number, part in enumerate(parts)]


class JobsScreen(CoveredScreen):
    """Shows the runs of the agents and steers the one at work."""

    SCOPE: ClassVar[Scope] = "jobs"
    CSS_PATH: ClassVar[str] = "jobs.tcss"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("jobs"))

    def __init__(self) -> None:
        super().__init__()
        self.runs: RunsRead | None = None
        self.failure: Exception | None = None
        self._run_id: UUID | None = None
        self._reading = False
        self._stale = False
        self._log_due = False
        self._logged = 0

    @property
    def workbench(self) -> WorkbenchApp:
        """The app, as what it is."""
        return cast("WorkbenchApp", self.app)

    def compose(self) -> ComposeResult:
        """Lay out the runs, the one under the cursor, its funnel and failures, and the log."""
        yield TopLine("agents at work")
        yield Static(id="runs")
        yield Static(id="now")
        with Horizontal(id="parts"):
            with Vertical(id="numbers"):
                yield Static(id="funnel")
                yield Static(id="failures")
            log = Log(max_lines=1_000, id="log")
            log.can_focus = False
            yield log
        yield KeyLine(self.SCOPE)

    def on_mount(self) -> None:
        """Read the runs, and follow the job."""
        app = self.workbench
        for name, title in (("funnel", "Funnel"), ("failures", "Failures by cause"), ("log", "Log")):
            self.query_one(f"#{name}").border_title = title
        app.job_events.subscribe(self, self._job_told)
        job = latest_job(app)
        self._run_id = job.run_id if job is not None else None
        self._write_log()
        self._lay_out()
        self._read_soon()

    def on_resize(self) -> None:
        """Fit the lines to the width."""
        self._lay_out()

    # -- reading --------------------------------------------------------------------------------------

    def _job_told(self, event: JobEvent) -> None:
        if isinstance(event, JobLog | JobPaused) and not self._log_due:
            self._log_due = True
            self.set_timer(LOG_SECONDS, self._write_log)
        if isinstance(event, JobProgressed):
            self._lay_out_now()
            self._read_soon()
        elif not isinstance(event, JobLog | ItemAnnotated):
            job = latest_job(self.workbench)
            if job is not None and job.run_id is not None:
                self._run_id = job.run_id
            self._write_log()
            self._lay_out()
            self._read_soon()

    def _read_soon(self) -> None:
        """Read the runs, unless that is under way; then once more after it."""
        if self._reading:
            self._stale = True
            return
        self._reading, self._stale = True, False
        self._read(self._run_id)

    @work(thread=True, group="runs")
    def _read(self, run_id: UUID | None) -> None:
        try:
            runs = read_runs(self.workbench.context.workspace, run_id)
        except WorkbenchError as error:
            self.call_later(self._read_done, None, error)
        else:
            self.call_later(self._read_done, runs, None)

    def _read_done(self, runs: RunsRead | None, error: Exception | None) -> None:
        if not self.is_mounted:
            return
        self.failure = error
        self.runs = runs or self.runs
        self._lay_out()
        self.set_timer(READ_SECONDS, self._may_read_again)

    def _may_read_again(self) -> None:
        self._reading = False
        if self._stale:
            self._read_soon()

    # -- saying ---------------------------------------------------------------------------------------

    @property
    def run_shown(self) -> Run | None:
        """The run under the cursor."""
        if self.runs is None:
            return None
        wanted = self._run_id or self.runs.run_id
        return next((run for run in self.runs.runs if run.id == wanted), None)

    def _lay_out(self) -> None:
        run = self.run_shown
        self.set_class(run is None, "-empty")
        self.query_one("#runs", Static).update(Content("\n").join(self._run_lines()))
        if run is not None and self.runs is not None:
            fresh = self.runs.run_id == run.id
            lines = funnel(self.runs.counts, run.kind) if fresh else ["Reading …"]
            self.query_one("#funnel", Static).update(Content("\n".join(lines)))
            causes = failures(self.runs.counts, 46) if fresh else ["Reading …"]
            self.query_one("#failures", Static).update(Content("\n".join(causes[:8])))
        self._lay_out_now()
        self.refresh_bindings()

    def _run_lines(self) -> list[Content]:
        if self.runs is None:
            return [Content("" if self.failure else "Reading …")]
        shown = self.run_shown
        at = self.runs.runs.index(shown) if shown is not None else 0
        top = max(0, min(at - RUNS_LISTED + 1, len(self.runs.runs) - RUNS_LISTED))
        width = max(20, self.app.size.width - 40)
        lines = []
        for run in self.runs.runs[top : top + RUNS_LISTED]:
            here = run is shown
            job = latest_job(self.workbench)
            state = job.state if job is not None and job.run_id == run.id else run.state
            began = f"{run.started_at.astimezone():%Y-%m-%d %H:%M}"
            text = f"{'▸' if here else ' '} {one_line(run.name, width):<{width}} {state:<9} {began}"
            lines.append(Content.styled(text, "bold") if here else Content(text))
        more = len(self.runs.runs) - RUNS_LISTED
        if more > 0:
            arrows = self._key("up") + self._key("down")
            lines.append(Content.styled(f"  {arrows} {counted(more, 'more run')}", "$text-muted"))
        return lines

    def _lay_out_now(self) -> None:
        lines = [
            Content.styled(line, "bold $text-error") if line.startswith("! ") else Content(line)
            for line in self._now()
        ]
        self.query_one("#now", Static).update(Content("\n").join(lines))

    def _now(self) -> list[str]:
        """Return how the run under the cursor stands, in a few lines."""
        if self.failure is not None:
            return [
                "! The runs could not be read.",
                one_line(str(self.failure), 300),
                "What the agents recorded is not touched by this; it is tried again with the next event.",
            ]
        run, job = self.run_shown, latest_job(self.workbench)
        if run is None:
            return self._nothing_yet(job)
        if job is None or job.run_id != run.id:
            return self._of_earlier(run)
        done, total = (job.progress.ended, job.progress.total) if job.progress else (0, 0)
        lines = [
            self._bar(done, total),
            " · ".join([f"{STATE_GLYPHS[job.state]} {job.state}", *parts(job.state, job.progress)]),
        ]
        error = job.error or board_of(self.workbench).paused_for
        if error is not None:
            lines += [f"! {one_line(error.title, 60)}: {one_line(error.message, 400)}"]
            lines += [one_line(error.hint, 300)] if error.hint else []
        if job.state == "paused":
            lines.append(
                "Paused: turns under way have ended, nothing is lost. "
                f"{self._key('pause')} goes on, {self._key('stop')} stops."
            )
        elif job.state == "stopping":
            lines.append("Stopping: turns under way may end; what is done is kept.")
        elif job.state in ("stopped", "failed"):
            lines.append(f"What was done is kept. {self._key('start')} goes on where it stopped.")
        return lines

    def _of_earlier(self, run: Run) -> list[str]:
        """Return how a run of an earlier session stands."""
        counts = self.runs.counts if self.runs is not None and self.runs.run_id == run.id else None
        if counts is None:
            return ["Reading …"]
        words = [run.state, f"{counts.labelled:,} of {run.total:,} labelled", spent(counts)]
        return [
            self._bar(counts.labelled, run.total),
            " · ".join(word for word in words if word),
            *self._problem(),
        ]

    def _nothing_yet(self, job: Job | None) -> list[str]:
        """Return what is said when no run is recorded."""
        if self.runs is None:
            return ["Reading …"]
        if job is not None and job.state in ("starting", "running"):
            return ["… starting"]
        if job is not None and job.error is not None:
            error = job.error
            return [f"! {one_line(error.title, 60)}", one_line(error.message, 400), one_line(error.hint, 300)]
        lines = ["The agents have not worked in this workspace yet.", ""]
        return lines + (
            self._problem()
            or [
                f"{self._key('start')} lets them label what has no label of theirs; "
                "your keys never wait for it."
            ]
        )

    def _key(self, verb: str) -> str:
        return first_key(self.workbench.context.settings, f"jobs.{verb}")

    def _problem(self) -> list[str]:
        """Return why no run can be started, nothing when one can."""
        context = self.workbench.context
        if context.plan.annotation is not None or self.workbench.running is not None:
            return []
        return [f"! No run can be started: {one_line(context.plan.problem, 400)}"]

    def _bar(self, done: int, total: int) -> str:
        return bar(done, total, max(20, self.app.size.width - 6))

    def _write_log(self) -> None:
        """Write the lines that came since the last time, all at once."""
        self._log_due = False
        board = board_of(self.workbench)
        log = self.query_one(Log)
        log.border_subtitle = None if board.logged else "nothing in this session"
        fresh = min(board.logged - self._logged, len(board.log))
        self._logged = board.logged
        if fresh:
            lines = list(board.log)[-fresh:]
            width = max(20, (log.size.width or self.app.size.width) - 3)
            log.write_lines(
                [
                    f"{mark}{part}"
                    for level, text in lines
                    for mark, part in _folded("! " if level != "info" else "  ", text, width)
                ]
            )

    # -- keys -----------------------------------------------------------------------------------------

    def offers(self, command: Command) -> bool:
        """Offer pause and stop while a job runs, start while none does and one can."""
        app = self.workbench
        job = app.running
        if command.id == "jobs.pause":
            return job is not None and job.state != "stopping"
        if command.id == "jobs.stop":
            return job is not None
        if command.id == "jobs.start":
            return app.running is None and app.context.plan.annotation is not None
        return True

    def label_now(self, command: Command) -> str:
        """Say of the key that pauses that it goes on, and of the one that stops that it cuts off."""
        job = self.workbench.running
        now = {("paused", "jobs.pause"): "go on", ("stopping", "jobs.stop"): "stop at once"}
        return now.get((job.state if job is not None else "", command.id), command.label)

    def _at_work(self) -> Job | None:
        """Return the job that runs; say so when none does."""
        job = self.workbench.running
        if job is None:
            self.workbench.tell("No job runs", "There is nothing to pause or to stop.")
        return job

    def action_start(self) -> None:
        """Start the configured run, or go on with it."""
        self.workbench.start_annotation()
        self._lay_out()

    def action_pause(self) -> None:
        """Let the agents wait, or go on."""
        job = self._at_work()
        if job is not None:
            if job.state == "stopping":
                self.workbench.tell("The job is stopping", "It cannot wait any more.")
            elif job.state == "paused":
                job.resume()
            else:
                job.pause()

    def action_stop(self) -> None:
        """Stop the run; a second time, cut off the turns under way."""
        job = self._at_work()
        if job is not None:
            job.stop(0.0 if job.state == "stopping" else None)
            # The jobs' own thread takes note of it a moment later, and no event tells so.
            self.set_timer(LOG_SECONDS, self._lay_out)

    def action_move(self, lines: int) -> None:
        """Go to another run."""
        if self.runs is None or not self.runs.runs:
            return
        shown = self.run_shown
        at = self.runs.runs.index(shown) if shown is not None else 0
        self._run_id = self.runs.runs[min(max(0, at + lines), len(self.runs.runs) - 1)].id
        self._reading = False
        self._read_soon()
        self._lay_out()

    def action_log(self, screens: int) -> None:
        """Scroll the log by a screen."""
        log = self.query_one(Log)
        log.scroll_relative(y=screens * max(1, log.size.height - 1), animate=False)

    def action_back(self) -> None:
        """Go back to where one was."""
        self.app.pop_screen()
