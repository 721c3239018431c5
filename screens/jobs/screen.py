"""Runs of the agents and other works: how far they are, what failed and why, and the keys that steer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from agents.jobs.events import (
    ItemEnded,
    JobEnded,
    JobEvent,
    JobLog,
    JobPaused,
    JobProgressed,
    JobStarted,
    JobWaits,
)
from agents.jobs.work import WorkPart, works_alone
from agents.pipelines.registry import kinds_with_agents, pipeline_counts
from agents.pipelines.spec import PipelineFigures
from screens.commands import Command, bindings
from screens.jobs import run_status
from screens.jobs.entries import Entry, entries_of
from screens.jobs.jobs import LogLine
from screens.jobs.log_pane import LogPane
from screens.jobs.parts import CAUSES_LINES, FOLDED_CELLS, LOG_LINES, PARTS, open_parts
from screens.jobs.run_tables import cause_lines, funnel, progress_lines, stage_table
from screens.jobs.start import start_annotation
from screens.jobs.throttle import ThrottledReader
from screens.jobs.work_status import work_status
from screens.threads import Soon, in_thread
from screens.widgets.cursor_lines import CURSOR
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line, shortened
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.errors import WorkbenchError
from store.formatting import dollars, pluralize
from store.kinds.spec import task_kinds
from store.policy.scope import RunRef, Shows
from store.queries.run_figures import (
    ListedRun,
    RoleFigures,
    RunFigures,
    listed_runs,
    role_figures,
    run_figures,
)
from store.queries.run_items import (
    FailedTurns,
    FailureCause,
    ItemGroup,
    failed_turns,
    failure_causes,
    run_items,
)
from store.queries.run_pace import RunPace, run_pace
from store.queries.runs import kind_for_agents
from store.queries.works import listed_works
from store.record.ids import now

if TYPE_CHECKING:
    from agents.jobs.budget import Budget
    from agents.jobs.errors import BudgetReached
    from agents.jobs.runner import Job
    from screens.context import ScreenContext
    from screens.navigator import Navigator
    from store.queries.rows import Ids
    from store.tables.runs import Run, WorkRow

LOG_SECONDS = 0.2
"""How long lines of the log are gathered."""

RUNS_LISTED = 4

LEFT_CELLS = 80
"""Cells that the parts on the left have at least where the log is beside them, borders included."""

MARK = "×"
"""Before the run that is marked to be compared."""

STOP_SECONDS = 0.2
"""How long the jobs' own thread has to take note of a key."""

MOVE_SECONDS = 0.15
"""How long the cursor rests on a run before it is added up."""

TURNS_SHOWN = 200

Listed = tuple[tuple[ListedRun, ...], tuple["WorkRow", ...], Mapping[str, WorkPart]]
Failures = tuple[tuple[FailureCause, ...], list[FailedTurns]]


class Boxes(Horizontal):
    """The parts; says when there is more or less room for them."""

    class Resized(Message):
        """The room has changed."""

    def on_resize(self) -> None:
        """Say so."""
        self.post_message(self.Resized())


class JobsScreen(WorkbenchScreen):
    """Shows runs and other works and steers those at work; reads each part at its own pace, in threads.

    Args:
        run_id: The run that is under the cursor at first; None for the one at work, or the latest.

    Attributes:
        runs: The runs, the one begun last first; None before they are read.
        works: The other works, as they were read.
        failure: Why they could not be read.
        stages: The figures of its roles; None before they are read, as the next.
        pace: Its pace, where it has one.
        failed_turns: Its failed turns, each message once.
        counts: All that it adds up to.
    """

    SCOPE = "jobs"
    CSS_PATH = "jobs.tcss"
    BINDINGS = bindings("jobs")
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012 - an instance variable of Screen
        (0, "-low"),
        (28, "-high"),
        (36, "-tall"),
    ]

    def __init__(self, context: ScreenContext, navigator: Navigator, run_id: UUID | None = None) -> None:
        super().__init__(context, navigator)
        self._log_due = Soon(self, LOG_SECONDS, group="log")
        self._moved = Soon(self, MOVE_SECONDS, group="run")
        self._part = "funnel"
        self._choice: tuple[str, ...] = ()
        self.runs: Sequence[ListedRun] | None = None
        self.works: Sequence[WorkRow] = ()
        self._parts_alone: Mapping[str, WorkPart] = {}
        self.failure: Exception | None = None
        # The run or work under the cursor.
        self._shown_id = run_id
        self._marked: UUID | None = None
        self._at_once = False
        # Whether there are items on which agents can work; nobody knows before the runs are read.
        self._has_items = True
        self._forget()
        failed = self._not_read
        self._runs = ThrottledReader(self, self._read_runs, self._runs_read, failed)
        self._stages = ThrottledReader(self, self._read_stages, self._stages_read, failed)
        self._failures = ThrottledReader(self, self._read_failures, self._failures_read, failed)
        self._counts = ThrottledReader(self, self._read_counts, self._counts_read, failed)

    def compose(self) -> ComposeResult:
        """Lay out the runs, the one under the cursor, its parts, and the keys."""
        yield TopLine("jobs")
        yield Static(id="runs")
        yield Static(id="now")
        yield Static(id="tabs")
        with Boxes(id="parts"):
            with Vertical(id="numbers"):
                for name in ("funnel", "stages", "failures"):
                    yield Static(id=name)
                yield Static(id="folded")
            yield LogPane(id="log")
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the runs, and follow the job."""
        for name, title in PARTS.items():
            self.query_one(f"#{name}").border_title = title
        self.context.jobs.events.subscribe(self, self._job_event)
        self.context.runs.changed.subscribe(self, lambda _: self._lay_out())
        self.context.runs.read()
        jobs = self.context.jobs.at_work or self.context.jobs.started
        if self._shown_id is None and jobs:
            self._shown_id = _id(jobs[-1])
        self._lay_out()
        self._read_soon()

    @on(Boxes.Resized)
    def _fit(self) -> None:
        """Fit the lines to the size."""
        self._lay_out()

    def on_screen_resume(self) -> None:
        """Read what has changed while another screen lay over this one."""
        if self.runs is not None:
            self._lay_out()
            self._read_soon()

    # -- reading ----------------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Forget what belongs to the run under the cursor."""
        self.stages: tuple[RoleFigures, ...] | None = None
        self.causes: tuple[FailureCause, ...] | None = None
        self.failed_turns: list[FailedTurns] | None = None
        self.counts: RunFigures | None = None
        self.pace: RunPace | None = None
        self.pipeline = PipelineFigures()

    @property
    def entries(self) -> list[Entry]:
        """The runs and other works, the one begun last first."""
        return entries_of(self.runs or (), self.works, self.context.jobs.started)

    @property
    def shown(self) -> Entry | None:
        """The run or work under the cursor; at first the latest one."""
        entries = self.entries
        first = entries[0] if entries else None
        return next((each for each in entries if each.id == self._shown_id), first)

    @property
    def run_shown(self) -> ListedRun | None:
        """The run under the cursor; None where there is none, or another work."""
        shown = self.shown
        return None if shown is None else shown.run

    @property
    def work_shown(self) -> Entry | None:
        """The work under the cursor; None where there is none, or a run."""
        shown = self.shown
        return None if shown is None or shown.run is not None else shown

    @property
    def _job_shown(self) -> Job | None:
        """The job at work on what is under the cursor, or on a run that is not read yet."""
        shown = self.shown
        if shown is None:
            return next(reversed(self.context.jobs.at_work), None)
        return shown.at_work

    @property
    def is_read(self) -> bool:
        """Whether everything about the run under the cursor has been read."""
        parts = (self.stages, self.causes, self.counts)
        return self.runs is not None and (not self.runs or None not in parts)

    def _read_soon(self, *, at_once: bool = False) -> None:
        """Read the runs and what the one under the cursor adds up to."""
        if not self.is_current:
            return
        self._runs.request(None, at_once=at_once)
        self._read_parts(at_once=at_once)

    def _read_parts(self, *, at_once: bool = False) -> None:
        """Read the parts, the quickest first; each begins the next one."""
        shown = self.run_shown
        if shown is not None:
            self._at_once = self._at_once or at_once
            self._stages.request(shown.run.id, at_once=at_once)

    def _read_runs(self, _: None) -> Listed:
        with self.context.workspace.reading() as connection:
            self._has_items = kind_for_agents(connection, kinds_with_agents()) is not None
            return listed_runs(connection), listed_works(connection), works_alone()

    def _read_stages(self, run_id: UUID) -> tuple[tuple[RoleFigures, ...], RunPace | None]:
        with self.context.workspace.reading() as connection:
            stages = role_figures(
                connection, run_id, now(), together=not self.context.scope.may(Shows.AGENTS)
            )
            return stages, run_pace(connection, run_id)

    def _read_failures(self, run_id: UUID) -> Failures:
        with self.context.workspace.reading() as connection:
            return failure_causes(connection, run_id), failed_turns(connection, run_id, TURNS_SHOWN)

    def _read_counts(self, run_id: UUID) -> tuple[RunFigures, PipelineFigures]:
        run = next(each.run for each in self.runs or () if each.run.id == run_id)
        with self.context.workspace.reading() as connection:
            counts = run_figures(connection, run_id)
            return counts, pipeline_counts(connection, run, counts)

    def _runs_read(self, _: None, listed: Listed) -> None:
        before, (self.runs, self.works, self._parts_alone), self.failure = self.run_shown, listed, None
        self._follow(before)
        self._lay_out()

    def _follow(self, before: ListedRun | None) -> None:
        """Read the parts of the run that is shown now, where another one was before."""
        shown = self.run_shown
        if shown is not None and (before is None or before.run.id != shown.run.id):
            self._forget()
            self._read_parts(at_once=True)

    def _stages_read(self, run_id: UUID, found: tuple[tuple[RoleFigures, ...], RunPace | None]) -> None:
        if self._is_shown(run_id):
            self.stages, self.pace = found
            self._failures.request(run_id, at_once=self._at_once)
            self._lay_out()

    def _failures_read(self, run_id: UUID, found: Failures) -> None:
        if self._is_shown(run_id):
            self.causes, self.failed_turns = found
            self._counts.request(run_id, at_once=self._at_once)
            self._at_once = False
            self._lay_out()

    def _counts_read(self, run_id: UUID, found: tuple[RunFigures, PipelineFigures]) -> None:
        if self._is_shown(run_id):
            self.counts, self.pipeline = found
            self._lay_out()

    def _not_read(self, error: WorkbenchError) -> None:
        self.failure = error
        self._lay_out()

    def _is_shown(self, run_id: UUID | None) -> bool:
        shown = self.run_shown
        return shown is not None and shown.run.id == run_id

    # -- job events ------------------------------------------------------------------------------------

    def _job_event(self, event: JobEvent) -> None:
        if isinstance(event, JobLog | JobPaused):
            self._log_soon()
        if isinstance(event, JobProgressed):
            self._lay_out_runs()
            self._lay_out_now()
            if self._is_shown(event.run_id):
                self._read_soon()
        elif isinstance(event, JobWaits):
            self._lay_out_now()
            self.set_timer(max(0.0, (event.until - now()).total_seconds()), self._lay_out_now)
        elif not isinstance(event, JobLog | ItemEnded):
            before = self.run_shown
            if isinstance(event, JobStarted):
                self._shown_id = _id(self.context.jobs.started[event.job - 1])
            self._follow(before)
            self._lay_out()
            self._read_soon(at_once=isinstance(event, JobPaused | JobEnded))

    def _log_soon(self) -> None:
        self._log_due.call(self._log_came)

    # -- layout -----------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        shown = self.run_shown
        self.set_class(self.shown is None, "-empty")
        self._lay_out_runs()
        self._lay_out_now()
        if shown is not None:
            self._lay_out_parts(shown)
        elif self.work_shown is not None:
            # Of another work there is the log alone.
            for name in ("numbers", "tabs", "folded"):
                self.query_one(f"#{name}").display = False
            self.query_one(LogPane).display = True
        self._write_log()
        self.refresh_bindings()

    def _lay_out_runs(self) -> None:
        self.query_one("#runs", Static).update(Content("\n").join(self._run_lines()))

    def _lay_out_parts(self, shown: ListedRun) -> None:
        title, log, nothing = self._log()
        live = self._job_shown is not None
        beside = self.has_class("-wide") and (live or bool(log))
        width = self.app.size.width
        left = max(LEFT_CELLS, 3 * width // 5) if beside else width
        self.query_one("#numbers").styles.width = left
        texts = self._texts(shown, left - 4, live=live)
        low = self.has_class("-low")
        # Where rows are few, a box is a line with its title (see jobs.tcss).
        border = 1 if self.has_class("-high") else 2
        room = self.query_one("#parts").size.height
        wanted = {name: len(lines) for name, lines in texts.items()}
        # A part that says nothing folds to a line.
        wanted |= {"funnel": 0} if self.counts is not None and not self.counts.labelled else {}
        wanted |= {"failures": 0} if self.causes == () else {}
        wanted |= {} if beside else {"log": LOG_LINES if log else 0}
        if low:
            self._choice = tuple(wanted)
            self._part = self._part if self._part in wanted else next(iter(wanted))
            opened = {self._part}
        else:
            opened = open_parts(wanted, room, self._part, border=border)
            self._choice = tuple(name for name in wanted if wanted[name] and name not in opened)
        closed = [] if low else [name for name in wanted if name not in opened]
        if "failures" in opened and self.causes:
            rest = max(0, room - sum(wanted[name] + border for name in opened) - len(closed))
            rest = rest // 2 if "log" in opened else rest
            texts["failures"] = cause_lines(self.causes, left - 4, wanted["failures"] + rest)
        for name, lines in texts.items():
            self.query_one(f"#{name}", Static).update(Content("\n".join(lines)))
            self.query_one(f"#{name}").display = name in opened
        self.query_one(LogPane).display = beside or "log" in opened
        self.query_one("#numbers").display = not low or opened != {"log"}
        self.query_one("#tabs", Static).update(self._tabs() if low else "")
        self.query_one("#tabs").display = low
        words = {**self._words(), "log": nothing or pluralize(len(log), "line")}
        titles = {**PARTS, "log": title}
        folded = [
            Content.assemble((f"{titles[name]:<{FOLDED_CELLS}}", "bold"), (words[name], "$foreground-muted"))
            for name in closed
        ]
        self.query_one("#folded", Static).update(Content("\n").join(folded))
        self.query_one("#folded").display = bool(folded)

    def _texts(self, shown: ListedRun, width: int, *, live: bool) -> dict[str, list[str]]:
        """Return the lines of the parts with numbers."""
        waiting = ["Adding up …"]
        counts, stages, causes = self.counts, self.stages, self.causes
        causes_lines = min(len(causes or ()), CAUSES_LINES)
        return {
            "funnel": waiting
            if counts is None
            else funnel(counts, self.pipeline, shown.run.kind, width)
            if self.context.scope.may(Shows.AGENTS)
            else progress_lines(counts),
            "stages": waiting if stages is None else stage_table(stages, width, live=live),
            "failures": waiting if causes is None else cause_lines(causes, width, causes_lines),
        }

    def _words(self) -> dict[str, str]:
        """Return what each part has to say in a few words, for the line to which it is folded."""
        counts, stages = self.counts, self.stages or ()
        turns, failed, retries = (
            sum(getattr(stage, name) for stage in stages) for name in ("turns", "failed", "retries")
        )
        said = [pluralize(turns, "turn")]
        said += [f"{failed:,} failed"] if failed else []
        said += [pluralize(retries, "retry", "retries")] if retries else []
        return {
            "funnel": ""
            if counts is None
            else f"{counts.labelled:,} of {pluralize(counts.items, 'item')} labelled",
            "stages": " · ".join(said),
            "failures": pluralize(self._failed, "item") if self.causes else "none",
        }

    def _tabs(self) -> Content:
        parts = []
        for name in self._choice:
            words = {"failures": f"Failures {self._failed:,}" if self._failed else "Failures"}.get(
                name, PARTS[name]
            )
            here = name == self._part
            parts.append(
                Content.styled(f"{CURSOR}{words}", "bold")
                if here
                else Content.styled(f" {words}", "$foreground-muted")
            )
        return Content("   ").join(parts)

    def _run_lines(self) -> list[Content]:
        if self.runs is None:
            return [Content("" if self.failure else "Reading …")]
        entries, shown = self.entries, self.shown
        at = next((place for place, one in enumerate(entries) if shown is not None and one.id == shown.id), 0)
        top = max(0, min(at - RUNS_LISTED + 1, len(entries) - RUNS_LISTED))
        wide = self.app.size.width >= 100
        width = max(20, self.app.size.width - (59 if wide else 41))
        used = {run.id for run in self.context.runs.shown.values()}
        lines = []
        for place, entry in enumerate(entries[top : top + RUNS_LISTED], top):
            here = place == at
            done, total = entry.share
            money = None if entry.run is None else entry.run.money
            share = f"{100 * done // total} %" if total else ""
            marked = MARK if entry.id == self._marked else " "
            text = (
                f"{CURSOR if here else ' '}{marked}{'◆' if entry.id in used else ' '}"
                f"{shortened(entry.name, width):<{width}} {entry.state:<9} "
                f"{share:>5}  {entry.began.astimezone():%Y-%m-%d %H:%M}"
            )
            if wide:
                text += f"{'' if money is None else dollars(money):>12}"
            lines.append(Content.styled(text, "bold") if here else Content(text))
        more = len(entries) - RUNS_LISTED
        if more > 0:
            arrows = self.key_of("up") + self.key_of("down")
            lines.append(Content.styled(f"  {arrows} {more:,} more", "$foreground-muted"))
        return lines

    def _lay_out_now(self) -> None:
        lines = [
            Content.styled(line, "bold $text-error") if line.startswith("! ") else Content(line)
            for line in self._now()
        ]
        self.query_one("#now", Static).update(Content("\n").join(lines))

    def _now(self) -> list[str]:
        """Return the status of what is under the cursor, in a few lines."""
        if self.failure is not None:
            return run_status.read_error_status(self.failure)
        shown = self.shown
        width = max(20, self.app.size.width - 6)
        if shown is not None and shown.run is None:
            return work_status(shown, self.key_of, width)
        if self.runs is None:
            return ["Reading …"]
        if shown is None or shown.run is None:
            job = next(reversed(self.context.jobs.started), None)
            return run_status.no_runs_status(job, self._problem(), self.key_of, has_items=self._has_items)
        stages = self.stages or ()
        if shown.job is None:
            past = run_status.past_run_status(shown.run, stages, self.pace, width)
            return [*past, *self._problem()]
        status = self.context.jobs.status_of(shown.job.number)
        return run_status.job_status(
            shown.job, shown.run, status, stages, self.pace, key=self.key_of, width=width
        )

    def _log(self) -> tuple[str, list[LogLine], str]:
        """Return the title of the log, its lines, and why there are none; an earlier run has failed turns."""
        shown, jobs = self.shown, self.context.jobs
        job = shown.job if shown is not None else next(reversed(jobs.started), None)
        if job is not None or shown is None:
            log = jobs.status_of(job.number if job is not None else 0).log
            return PARTS["log"], log, "" if log else "nothing logged"
        if shown.run is None:
            return PARTS["log"], [], "Its log was that of an earlier session."
        turns = self.failed_turns
        why = "Reading …" if turns is None else "" if turns else "nothing failed"
        return "Failed turns", [_logged(each) for each in turns or ()], why

    def _log_came(self) -> None:
        """Show the lines that came; the first one unfolds the log."""
        if self.query_one(LogPane).display:
            self._write_log()
        else:
            self._lay_out()

    def _write_log(self) -> None:
        """Write the lines that came since the last time, all at once."""
        pane = self.query_one(LogPane)
        pane.border_title, log, nothing = self._log()
        pane.show(log, nothing)

    # -- keys -------------------------------------------------------------------------------------------

    def _problem(self) -> list[str]:
        """Return why no run can be started, nothing when one can."""
        context = self.context
        plan = context.program.plan
        if context.jobs.runs_at_work or not plan.problem or context.jobs.model_chosen:
            return []
        problem = one_line(plan.problem, 400)
        if plan.annotation is None:
            return [f"! No run can be started: {problem}"]
        return [f"! {problem}", f"{self.key_of('start')} asks for one before it starts."]

    @property
    def _failed(self) -> int:
        return sum(cause.items for cause in self.causes or () if not cause.waits)

    def offers(self, command: Command) -> bool:
        """Offer pause and stop of what is at work, and to go on with what has stopped."""
        context, shown, work, job = self.context, self.run_shown, self.work_shown, self._job_shown
        startable = context.program.plan.annotation is not None
        offered = {
            "jobs.pause": self._can_go_on(work) if job is None else job.state != "stopping",
            "jobs.stop": job is not None,
            "jobs.start": startable and self._has_items,
            "jobs.works": bool(self._parts_alone),
            "jobs.retry": job is None and shown is not None and startable and self._failed > 0,
            "jobs.items": shown is not None,
            "jobs.use": shown is not None and shown.labelled > 0 and context.scope.may(Shows.AGENTS),
            "jobs.compare": bool(self._comparable) and context.scope.may(Shows.AGENTS),
            "jobs.part": shown is not None and bool(self._choice),
        }
        return offered.get(command.id, True)

    @staticmethod
    def _can_go_on(work: Entry | None) -> bool:
        return work is not None and work.work is not None and work.state in ("stopped", "failed")

    def label_now(self, command: Command) -> str:
        """Say what the key that pauses does after a pause, and that the one that stops then cuts off."""
        job, chosen, shown = self._job_shown, self.context.runs.chosen, self.run_shown
        on = "more budget" if job is not None and job.used_up is not None else "go on"
        if command.id == "jobs.pause" and job is None and self.work_shown is not None:
            return "go on"
        now = {("paused", "jobs.pause"): on, ("stopping", "jobs.stop"): "stop at once"}
        if (
            command.id == "jobs.use"
            and shown is not None
            and chosen is not None
            and chosen.id == shown.run.id
        ):
            return "use the default"
        if command.id == "jobs.compare" and self._marked is not None and shown is not None:
            return "unmark" if shown.run.id == self._marked else f"compare with {MARK}"
        if command.id == "jobs.start":
            return "go on" if self._stopped_run is not None else command.label
        return now.get((job.state if job is not None else "", command.id), command.label)

    def _at_work(self) -> Job | None:
        """Return the job that works on what is under the cursor; show a notice without one."""
        job = self._job_shown
        if job is None:
            at_work = self.context.jobs.at_work
            title, words = "No job runs", "There is no job to pause or to stop."
            if at_work:
                title, words = "Not this one", "Nothing works on it; go to one that is at work."
            self.context.notices.show(title, words)
        return job

    def action_start(self) -> None:
        """Show what the configured run will take, and start it, or go on with it."""
        start_annotation(self.app, self.context, go_on=self._stopped_run, then=self._lay_out)

    @property
    def _stopped_run(self) -> Run | None:
        """The run under the cursor, where it can go on."""
        shown = self.shown
        stopped = shown is not None and shown.at_work is None and shown.state in ("stopped", "failed")
        return shown.run.run if stopped and shown is not None and shown.run is not None else None

    def action_start_work(self) -> None:
        """List the works of other packages, and start the one that is chosen."""
        from screens.jobs.works import WorksScreen

        def chosen(kind: str | None) -> None:
            left = (one.work for one in self.entries if self._can_go_on(one))
            row = next((row for row in left if row is not None and row.kind == kind), None)
            if row is not None:
                # What was begun as it is, is not begun twice.
                self.context.jobs.go_on(row)
            elif kind is not None:
                self.context.jobs.begin(kind)

        if self._parts_alone:
            self.app.push_screen(WorksScreen(self.context.settings, self._parts_alone), chosen)
        else:
            self.context.notices.show("No other works", "No package that is installed adds any.")

    def action_pause(self) -> None:
        """Let what is under the cursor wait, or go on."""
        work = self.work_shown
        if self._job_shown is None and work is not None and self._can_go_on(work):
            assert work.work is not None
            self.context.jobs.go_on(work.work)
            return
        job = self._at_work()
        if job is None:
            return
        if job.state == "stopping":
            self.context.notices.show("The job is stopping", "It cannot be paused now.")
        elif job.state == "paused" and job.used_up is not None:
            self._ask_for_more(job, job.used_up)
        elif job.state == "paused":
            job.resume()
        else:
            job.pause()
        # The jobs' own thread takes note of it a moment later.
        self.set_timer(STOP_SECONDS, self._lay_out)

    def _ask_for_more(self, job: Job, used_up: BudgetReached) -> None:
        from screens.jobs.budget import BudgetScreen

        def give(budget: Budget | None) -> None:
            if budget is not None:
                job.resume(budget)

        self.app.push_screen(BudgetScreen(self.context.settings, job.budget, used_up, job.progress), give)

    def action_stop(self) -> None:
        """Stop what is under the cursor; a second time, cut off the turns under way."""
        job = self._at_work()
        if job is not None:
            job.stop(0.0 if job.state == "stopping" else None)
            # The jobs' own thread takes note of it a moment later, without an event.
            self.set_timer(STOP_SECONDS, self._lay_out)

    def action_find_candidates(self) -> None:
        """Search the best codes of each query."""
        from screens.jobs.candidates import start_candidates

        start_candidates(self.app, self.context, then=self._go_to)

    def _go_to(self, job: Job) -> None:
        self._shown_id = _id(job)
        self._lay_out()

    def action_retry(self) -> None:
        """Let the agents try again what the run under the cursor failed on."""
        shown = self.run_shown
        if self._job_shown is not None:
            self.context.notices.show("The run is at work", "Try again when it has ended.")
        elif shown is None or (self.causes is not None and not self._failed):
            self.context.notices.show("Nothing failed", "There is nothing to retry.")
        else:
            self._retry(shown.run.id)

    def _retry(self, run_id: UUID) -> None:
        def try_again(ids: Ids) -> None:
            if start_annotation(self.app, self.context, (run_id, ids.tolist())):
                self._lay_out()

        read = partial(run_items, self.context.workspace, run_id, ItemGroup())
        in_thread(self, read, try_again, self.context.notices.report_error, group="retry")

    def action_items(self) -> None:
        """List what the run under the cursor failed on, and what it finished."""
        from screens.jobs.outcomes import OutcomesScreen

        shown = self.run_shown
        if shown is None:
            self.context.notices.show("No run", "There is no run to list.")
        else:
            self.app.push_screen(OutcomesScreen(self.context, self.navigator, shown.run))

    def action_use_run(self) -> None:
        """Show the labels of the run under the cursor on all screens; again, those of the default one."""
        shown, runs, show = self.run_shown, self.context.runs, self.context.notices.show
        if not self.context.scope.may(Shows.AGENTS):
            show("Blind review", "The agents' labels are not shown.")
        elif shown is None or not shown.labelled:
            show("Nothing to show", "This run has no label yet.")
        elif runs.chosen is not None and runs.chosen.id == shown.run.id:
            runs.choose(None)
            show("Default run", "The labels of the newest run of the fullest configuration are shown again.")
        else:
            runs.choose(RunRef(shown.run.id, shown.run.name))
            show("This run is shown", f"{shortened(shown.run.name, 60)}; {self.key_of('use')} undoes this.")

    @property
    def _comparable(self) -> list[Run]:
        """The other runs whose labels can be compared with those of the run under the cursor."""
        shown = self.run_shown
        if shown is None or not shown.labelled:
            return []
        others = (one.run for one in self.runs or () if one.labelled and one is not shown)
        return [run for run in others if run.kind == shown.run.kind]

    def action_compare(self) -> None:
        """Mark the run under the cursor; where another one is marked, compare the labels of both."""
        shown, show = self.run_shown, self.context.notices.show
        kind = task_kinds().get(shown.run.kind) if shown is not None else None
        marked = next((run for run in self._comparable if run.id == self._marked), None)
        if not self.context.scope.may(Shows.AGENTS):
            show("Blind review", "The agents' labels are not shown, so runs cannot be compared.")
        elif shown is None or kind is None or kind.label_question is None or not self._comparable:
            show("Nothing to compare", "Two runs with labels of the same kind are needed.")
        elif marked is not None:
            self._marked = None
            from store.reports.options import Options

            two = (marked.name, shown.run.name)
            self.navigator.open_report("confusion", Options(question=kind.label_question.name, raters=two))
        elif shown.run.id == self._marked:
            self._marked = None
        else:
            self._marked = shown.run.id
            show(
                f"{MARK} This run is marked",
                f"Go to another run: {self.key_of('compare')} compares their labels.",
            )
        self._lay_out()

    def action_move(self, lines: int) -> None:
        """Go to another run or work."""
        ids, shown = [entry.id for entry in self.entries], self.shown
        if shown is None:
            return
        wanted = ids[min(max(0, ids.index(shown.id) + lines), len(ids) - 1)]
        if wanted != shown.id:
            self._shown_id = wanted
            self._forget()
            self._moved.call(self._read_parts, again=True)
            self._lay_out()

    def action_part(self, places: int) -> None:
        """Show another part where there is not room for all: the next one that is not shown."""
        if self.run_shown is None:
            return
        names = list(PARTS)
        at = names.index(self._part)
        around = [names[(at + places * step) % len(names)] for step in range(1, len(names))]
        following = [name for name in around if name in self._choice]
        if following:
            self._part = following[0]
            self._lay_out()

    def action_log(self, screens: int) -> None:
        """Scroll the log by a screen."""
        log = self.query_one(LogPane)
        log.scroll_relative(y=screens * max(1, log.size.height - 1), animate=False)


def _id(job: Job) -> UUID | None:
    """Return the key of the run or work of a job; None while it is not known."""
    return job.run_id if job.record is None else job.work_id


def _logged(turns: FailedTurns) -> LogLine:
    when = f"{turns.latest.astimezone():%m-%d %H:%M}"
    return LogLine("warning", turns.text, turns.turns, when=when)
