"""The agents at work: runs, how far they are, what failed and why, and the keys that steer them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from agents.events import ENDED, ItemAnnotated, JobEnded, JobEvent, JobLog, JobPaused, JobProgressed, JobWaits
from screens.commands import Scope, bindings
from screens.jobs import standing
from screens.jobs.board import LogLine, board_of, latest_job
from screens.jobs.facts import funnel, progress_lines
from screens.jobs.log_pane import LogPane
from screens.jobs.steering import Steering
from screens.jobs.tables import cause_lines, stage_table
from screens.jobs.wording import shortened
from screens.widgets.key_line import KeyLine
from screens.widgets.top_line import TopLine
from store.counted import counted, dollars
from store.ids import now
from store.queries.run_failures import FailedTurns

if TYPE_CHECKING:
    from store.queries.run_list import ListedRun

LOG_SECONDS = 0.2
"""How long lines of the log are gathered."""

RUNS_LISTED = 4

PARTS = {"funnel": "Funnel", "stages": "Stages", "failures": "Failures by cause", "log": "Log"}
"""The parts of the screen with their titles."""

LEFT_CELLS = 78
"""Cells of the parts on the left where the log stands beside them, borders included (see jobs.tcss)."""


class JobsScreen(Steering):
    """Shows the runs of the agents and steers the one at work."""

    SCOPE: ClassVar[Scope] = "jobs"
    CSS_PATH: ClassVar[str] = "jobs.tcss"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("jobs"))
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable of Screen
        (0, "-low"),
        (28, "-high"),
        (36, "-tall"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._log_due = False
        self._logged = 0
        self._part = "funnel"

    def compose(self) -> ComposeResult:
        """Lay out the runs, the one under the cursor, its parts, and the keys."""
        yield TopLine("agents at work")
        yield Static(id="runs")
        yield Static(id="now")
        yield Static(id="tabs")
        with Horizontal(id="parts"):
            with Vertical(id="numbers"):
                for name in ("funnel", "stages", "failures"):
                    yield Static(id=name)
            yield LogPane(id="log")
        yield KeyLine(self.SCOPE)

    def on_mount(self) -> None:
        """Read the runs, and follow the job."""
        app = self.workbench
        for name, title in PARTS.items():
            self.query_one(f"#{name}").border_title = title
        app.job_events.subscribe(self, self._job_told)
        job = latest_job(app)
        self._run_id = job.run_id if job is not None else None
        self._show_part(self._part)
        self._lay_out()
        self._read_soon()

    def on_resize(self) -> None:
        """Fit the lines to the size."""
        self.call_after_refresh(self._lay_out)

    def on_screen_resume(self) -> None:
        """Read what has changed while another screen lay over this one."""
        if self.runs is not None:
            self._lay_out()
            self._read_soon()

    # -- what is told -----------------------------------------------------------------------------------

    def _job_told(self, event: JobEvent) -> None:
        if isinstance(event, JobLog | JobPaused) and not self._log_due:
            self._log_due = True
            self.set_timer(LOG_SECONDS, self._write_log)
        if isinstance(event, JobProgressed):
            self._lay_out_now()
            self._read_soon()
        elif isinstance(event, JobWaits):
            self._lay_out_now()
            self.set_timer(max(0.0, (event.until - now()).total_seconds()), self._lay_out_now)
        elif not isinstance(event, JobLog | ItemAnnotated):
            job = latest_job(self.workbench)
            if job is not None and job.run_id is not None:
                self._run_id = job.run_id
            self._lay_out()
            self._read_soon(at_once=isinstance(event, JobPaused | JobEnded))

    # -- saying -----------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        shown = self.run_shown
        self.set_class(shown is None, "-empty")
        if self._choice and self._part not in self._choice:
            # The terminal has grown, and the log has a place of its own now.
            self._show_part(self._choice[0])
        self.query_one("#runs", Static).update(Content("\n").join(self._run_lines()))
        self._lay_out_now()
        if shown is not None:
            self._lay_out_parts(shown)
        self._write_log()
        self.refresh_bindings()

    def _lay_out_parts(self, shown: ListedRun) -> None:
        waiting = ["Adding up …"]
        blind = self.workbench.context.settings.blind
        width = (LEFT_CELLS if self.has_class("-wide") else self.app.size.width) - 4
        counts, stages, causes = self.counts, self.stages, self.causes
        live = self._state_of(shown) not in ENDED
        # Where the box is as high as its lines, the log below it wants room too.
        box = self.has_class("-low") or self.has_class("-wide")
        room = self.query_one("#failures").size.height if box else 9
        told = {
            "funnel": waiting
            if counts is None
            else progress_lines(counts)
            if blind
            else funnel(counts, shown.run.kind),
            "stages": waiting if stages is None else stage_table(stages, width, live=live),
            "failures": waiting if causes is None else cause_lines(causes, width, max(room, 6)),
        }
        for name, lines in told.items():
            self.query_one(f"#{name}", Static).update(Content("\n".join(lines)))
        self.query_one("#tabs", Static).update(self._tabs())

    def _tabs(self) -> Content:
        failed = sum(cause.items for cause in self.causes or () if not cause.waits)
        parts = []
        for name in self._choice:
            words = {"failures": f"Failures {failed:,}" if failed else "Failures"}.get(name, PARTS[name])
            here = name == self._part
            parts.append(
                Content.styled(f"▸{words}", "bold") if here else Content.styled(f" {words}", "$text-muted")
            )
        return Content("   ").join(parts)

    def _run_lines(self) -> list[Content]:
        if self.runs is None:
            return [Content("" if self.failure else "Reading …")]
        shown = self.run_shown
        at = self.runs.index(shown) if shown is not None else 0
        top = max(0, min(at - RUNS_LISTED + 1, len(self.runs) - RUNS_LISTED))
        wide = self.app.size.width >= 100
        width = max(20, self.app.size.width - (58 if wide else 40))
        lines = []
        for listed in self.runs[top : top + RUNS_LISTED]:
            run, here = listed.run, listed is shown
            labelled = standing.labelled_items(listed, latest_job(self.workbench))
            share = f"{100 * labelled // run.total} %" if run.total else ""
            text = (
                f"{'▸' if here else ' '} {shortened(run.name, width):<{width}} {self._state_of(listed):<9} "
                f"{share:>5}  {run.started_at.astimezone():%Y-%m-%d %H:%M}"
            )
            if wide:
                text += f"{'' if listed.money is None else dollars(listed.money):>12}"
            lines.append(Content.styled(text, "bold") if here else Content(text))
        more = len(self.runs) - RUNS_LISTED
        if more > 0:
            arrows = self._key("up") + self._key("down")
            lines.append(Content.styled(f"  {arrows} {counted(more, 'more run')}", "$text-muted"))
        return lines

    def _state_of(self, listed: ListedRun) -> str:
        job = latest_job(self.workbench)
        return job.state if job is not None and job.run_id == listed.run.id else listed.run.state

    def _lay_out_now(self) -> None:
        lines = [
            Content.styled(line, "bold $text-error") if line.startswith("! ") else Content(line)
            for line in self._now()
        ]
        self.query_one("#now", Static).update(Content("\n").join(lines))

    def _now(self) -> list[str]:
        """Return how the run under the cursor stands, in a few lines."""
        if self.failure is not None:
            return standing.unread(self.failure)
        shown, job = self.run_shown, latest_job(self.workbench)
        if self.runs is None:
            return ["Reading …"]
        if shown is None:
            return standing.nothing_yet(job, self._problem(), self._key, has_items=self._has_items)
        width = max(20, self.app.size.width - 6)
        if job is None or job.run_id != shown.run.id:
            return [*standing.of_earlier(shown, self.stages or (), width), *self._problem()]
        return standing.of_job(
            job, shown, board_of(self.workbench), self.stages or (), self._key, width=width
        )

    def _write_log(self) -> None:
        """Write the lines that came since the last time, all at once."""
        self._log_due = False
        board, shown, job = board_of(self.workbench), self.run_shown, latest_job(self.workbench)
        pane = self.query_one(LogPane)
        earlier = shown is not None and (job is None or job.run_id != shown.run.id)
        pane.border_title = "Failed turns" if earlier else "Log"
        if earlier:
            turns = self.failed_turns
            pane.show(
                [_logged(each) for each in turns or ()], "Reading …" if turns is None else "nothing failed"
            )
        else:
            pane.show(board.log, "nothing in this session")
        self._logged = board.logged

    # -- keys -------------------------------------------------------------------------------------------

    @property
    def _choice(self) -> tuple[str, ...]:
        """The parts of which one is shown at a time; none where there is room for all."""
        if self.has_class("-wide") and self.has_class("-tall"):
            return ()
        beside = self.has_class("-wide") or not self.has_class("-low")
        return tuple(name for name in PARTS if name != "log" or not beside)

    def _one_at_a_time(self) -> bool:
        """Whether there is not room for all parts."""
        return bool(self._choice)

    def _show_part(self, part: str) -> None:
        self.remove_class(*(f"-{name}" for name in PARTS))
        self.add_class(f"-{part}")
        self._part = part

    def action_part(self, places: int) -> None:
        """Show another part where there is not room for all."""
        choice = self._choice
        if choice:
            at = choice.index(self._part) if self._part in choice else 0
            self._show_part(choice[(at + places) % len(choice)])
            self.call_after_refresh(self._lay_out)

    def action_log(self, screens: int) -> None:
        """Scroll the log by a screen."""
        log = self.query_one(LogPane)
        log.scroll_relative(y=screens * max(1, log.size.height - 1), animate=False)


def _logged(turns: FailedTurns) -> LogLine:
    when = f"{turns.latest.astimezone():%m-%d %H:%M}"
    return LogLine("warning", turns.text, turns.turns, when=when)
