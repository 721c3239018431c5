"""Home: what is in the workspace, how far one is, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.events import Paste
from textual.widgets import Static
from textual.worker import get_current_worker

from agents.jobs.events import ItemEnded, JobEnded, JobEvent, JobStarted
from screens.commands import Command, bindings, command_named
from screens.home import panels
from screens.home.facts import TITLE_CELLS, HomeDetails, HomeFacts, for_agents, read_details, read_facts
from screens.home.import_dialog import Imported, Imports, ImportScreen, pasted_file
from screens.home.panel import TALL, Line, Panel, Piece
from screens.jobs.job_line import JobLine
from screens.threads import Deliver, Soon, in_parts, in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from screens.workbench_screen import WorkbenchScreen
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.kinds.counting import counted_kinds, joined
from store.kinds.spec import task_kinds
from store.policy.scope import Shows
from store.queries.rows import QueueFilter, ViewQuery

if TYPE_CHECKING:
    from agents.settings import JobSettings
    from screens.context import Plan, ScreenContext
    from screens.navigator import Navigator
    from store.analysis.agreement import PairAgreement
    from store.ingest.report import ImportReport
    from store.record.actions import Action

SAMPLE_NOTE = (
    "This is the sample: the agents' replies, completions, answers and scores in it were written by hand and "
    "are not a model's output; its models, judge and raters are fictional. Test programs are really executed."
)

READ_SECONDS = 1.0
"""Seconds for which changes are collected before the numbers are read again."""

NOTHING = Piece(Content())
"""In place of a figure that is not there."""

Step = tuple[str, str]
"""A line of what to do next: the id of its command, and the words."""


WIDE_CELLS, HIGH_LINES = 100, 28
"""A terminal with less room has a line in place of each lower panel."""

LEFT_OVER = {
    "disagreements": QueueFilter(agreement="disagree"),
    "skipped": QueueFilter(status="skipped"),
    "flagged": QueueFilter(flagged=True),
}


def run_of(command_id: str) -> str:
    """Return the action of a command, as Textual runs it from a screen."""
    command = command_named(command_id)
    return f"app.{command.action}" if command.scope == "app" else command.action


class HomeScreen(WorkbenchScreen):
    """The first screen, a dashboard; the others lie over it.

    Attributes:
        facts: The counts; None before they are read.
        details: What else it shows, as far as it is read.
        plan: What the agents would do; None before it is read.
        failure: Why the workspace could not be read; None where it could.
    """

    SCOPE = "home"
    CSS_PATH = "home.tcss"
    BINDINGS = bindings("home")

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__(context, navigator)
        self.facts: HomeFacts | None = None
        self.details = HomeDetails()
        self.plan: Plan | None = None
        self.failure: Exception | None = None
        self._cursor = ""
        self._loading_sample = False
        self._soon = Soon(self, READ_SECONDS, group="facts")

    def on_compose(self) -> None:
        """Take the classes that it begins with, before there is anything to style."""
        self.update_classes(self._classes_of(self._message()))

    def compose(self) -> ComposeResult:
        """Lay out the panels, and the lines at the foot."""
        yield TopLine("home")
        with VerticalScroll(id="body", can_focus=False):
            yield Static(id="message")
            with Container(classes="row"):
                yield Panel("yours", "Yours ●", self._yours)
                yield Panel("next", "Next", self._next)
            with Container(classes="row lower"):
                yield Panel("agents", "You × agents ◆", self._agents)
                yield Panel("runs", "Runs ◆", self._runs)
            with Container(classes="row lower"):
                yield Panel("raters", "Agreement of raters", self._raters)
                yield Panel("studies", "Studies", self._studies)
        yield Static(id="notes")
        yield JobLine(self.context)
        yield KeyLine(names_all=True)

    def on_mount(self) -> None:
        """Follow what changes the numbers."""
        self.context.recorder.saved.subscribe(self, self._action_saved)
        self.context.jobs.events.subscribe(self, self._job_event)
        self._lay_out()

    def on_resize(self) -> None:
        """Draw one line in place of each lower panel where there is little room."""
        self._lay_out()
        if self.app.size.height >= TALL and self.facts is not None:
            self._read_soon()

    def on_screen_resume(self) -> None:
        """Read the numbers, when home is what is shown."""
        if self.is_current:
            self.read()

    # -- reading --------------------------------------------------------------------------------------

    def read(self) -> None:
        """Read the numbers, in a thread: first the counts, then what each panel shows beside them."""
        in_parts(self, self._read, self._read_failed, group="facts")

    def _read(self, deliver: Deliver) -> None:
        context, worker = self.context, get_current_worker()
        facts = read_facts(context.workspace, context.scope, sample=context.program.is_sample())
        deliver(self._read_done, facts)
        # Loading the whole configuration takes longer than anything else here; a review that was opened
        # meanwhile does not wait for it.
        if self.is_current:
            self.plan = context.program.plan
            deliver(self._lay_out)
        if facts.progress.total:
            for parts in read_details(context.workspace, context.scope):
                if worker.is_cancelled or not self.is_current:
                    return
                deliver(self._details_read, parts)
            if not worker.is_cancelled and self.is_current:
                self._read_guide(deliver)

    def _read_guide(self, deliver: Deliver) -> None:
        """Read the guide of the question that is next, where there may be room for it."""
        from screens.home.next_guide import read_next_guide, show_next_guide

        left = self.facts is not None and self.facts.progress.left
        is_wanted = left and self.app.size.height >= TALL and self.context.rater is not None
        deliver(show_next_guide, self, read_next_guide(self.context) if is_wanted else None)

    def _read_done(self, facts: HomeFacts) -> None:
        self.facts, self.failure = facts, None
        self._lay_out()

    def _details_read(self, parts: dict[str, Any]) -> None:
        # What was read the time before stays until it is read again.
        self.details = replace(self.details, **parts)
        self._lay_out()

    def _read_failed(self, error: Exception) -> None:
        self.failure = error
        self._lay_out()

    def _action_saved(self, action: Action) -> None:
        self._read_soon()

    def _job_event(self, event: JobEvent) -> None:
        if isinstance(event, ItemEnded):
            self._read_soon()
        elif isinstance(event, JobStarted | JobEnded):
            self._lay_out()
            self._read_soon()

    def _read_soon(self) -> None:
        # Under another screen nobody sees the numbers; they are read when one comes back.
        if self.is_current:
            self._soon.call(self._read_due)

    def _read_due(self) -> None:
        if self.is_current:
            self.read()

    # -- layout ---------------------------------------------------------------------------------------

    @property
    def empty(self) -> bool:
        """Whether the workspace is known to hold nothing."""
        return self.facts is not None and not self.facts.progress.total

    @property
    def _has_corpus(self) -> bool:
        """Whether there are queries or codes, and no pairs of them."""
        return self.facts is not None and self.empty and any(self.facts.corpus)

    @property
    def _resumes(self) -> bool:
        """Whether Enter goes on where the rater left off: the cursor is there, or nowhere yet."""
        return self._cursor in ("", "resume")

    @property
    def _has_work_for_agents(self) -> bool:
        """Whether there may be items of a kind on which agents can work."""
        return self.facts is None or for_agents(self.facts.progress).total > 0

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect: no list in an empty workspace, no sample in a full one."""
        if command.id == "home.annotate":
            possible = self.plan is None or self.plan.annotation is not None
            return self._has_work_for_agents and possible
        if command.id.removeprefix("home.") in ("queue", "studies", "sql", "reports", "export"):
            return not self.empty
        if command.id == "home.splits":
            return not self.empty and self.context.scope.may(Shows.OTHERS)
        if command.id == "home.adjudicate":
            return not self.empty and not self._why_not_adjudicate
        if command.id == "home.practice":
            return self.facts is not None and self.facts.sample
        if command.id == "home.candidates":
            return self._has_corpus
        return self.empty and not self._loading_sample if command.id == "home.sample" else True

    def label_now(self, command: Command) -> str:
        """Name Enter after what is under the cursor."""
        if command.id == "home.resume" and not self._resumes:
            opens = self._figures().get(self._cursor, NOTHING).opens
            return command_named(opens).label if isinstance(opens, str) else "open"
        if command.id == "home.resume" and self.facts is not None:
            return command.label if self.facts.resume is None or self.facts.resume.begun else "judge"
        return command.label

    def _holds_items(self) -> bool:
        """Return whether there is an item; show a notice when not."""
        if self.empty:
            key = self.key_of("home.import")
            self.context.notices.show(
                "Nothing to do here yet", f"The workspace is empty. {key} imports a file."
            )
        return not self.empty

    def _lay_out(self) -> None:
        message = self._message()
        self.update_classes(self._classes_of(message))
        self.query_one("#message", Static).update(Content("\n".join(message)))
        short = self._is_short
        for panel in self.query(Panel):
            panel.set_class(short and panel.id not in ("yours", "next"), "-short")
            panel.show(self._cursor)
        figures = self._figures()
        if self._cursor not in figures and figures:
            self._move_to("resume" if "resume" in figures else next(iter(figures)))
        notes = [SAMPLE_NOTE] if self.facts is not None and self.facts.sample else []
        notes += [self.plan.sandbox] if self.plan is not None and self.plan.sandbox else []
        self.query_one("#notes", Static).update(Content("\n".join(notes)))
        self.refresh_bindings()
        if self.query("#guide"):
            from screens.home.next_guide import GuideBox

            self.query_one(GuideBox).fit()

    @property
    def _is_short(self) -> bool:
        """Whether there is room for one line only of each lower panel."""
        return self.app.size.width < WIDE_CELLS or self.app.size.height < HIGH_LINES

    def _classes_of(self, message: list[str]) -> dict[str, bool]:
        return {"-failed": self.failure is not None, "-message": bool(message), "-short": self._is_short}

    def _message(self) -> list[str]:
        """Return what stands in place of figures; nothing where there are some."""
        if self.failure is not None:
            return [
                "! The workspace could not be read.",
                one_line(str(self.failure), 400),
                "Your judgments are safe. See: workbench doctor",
            ]
        if self.facts is None:
            return ["Reading …"]
        if self._has_corpus:
            queries, codes = self.facts.corpus
            path = one_line(self.context.workspace.path.name, 60)
            return [
                f"{path} has a corpus, and no pairs yet.",
                "",
                f"{pluralize(queries, 'query', 'queries')} and {pluralize(codes, 'code')}.",
                "Their candidate pairs are being searched."
                if self.context.jobs.of_kind("candidates")
                else f"{self.key_of('candidates')} searches the best codes of each query: they become the "
                f"pairs to judge. Without the app: workbench candidates {path}",
            ]
        if self.empty:
            return [
                f"{one_line(self.context.workspace.path.name, 60)} is empty.",
                "",
                f"It can contain {joined([kind.plural for kind in task_kinds().values()])}. "
                "Import files: CoSQA, CoSQA+, CrossCodeEval, SWE-QA, MT-bench, issue threads, or "
                "JSON lines, CSV or Parquet of your own.",
            ]
        return []

    # -- the panels -----------------------------------------------------------------------------------

    def _yours(self, width: int, short: bool) -> Sequence[Line]:
        if self.facts is None or self.empty or self.failure is not None:
            return []
        return panels.yours(self.facts, self.details, width, judges=self.context.rater is not None)

    def _next(self, width: int, short: bool) -> Sequence[Line]:
        if self.failure is not None:
            return []
        return panels.following(self._steps(), width)

    def _agents(self, width: int, short: bool) -> Sequence[Line]:
        if self.facts is None or self.empty or self.failure is not None:
            return []
        return panels.with_agents(self.facts, self.details, width, short=short)

    def _runs(self, width: int, short: bool) -> Sequence[Line]:
        if self.facts is None or self.failure is not None:
            return []
        opens = self.navigator.open_jobs
        return panels.runs(self.details, self.facts, width, short=short, opens=opens)

    def _raters(self, width: int, short: bool) -> Sequence[Line]:
        if self.failure is not None:
            return []
        you = self.context.rater.name if self.context.rater else ""
        return panels.raters(self.details, width, short=short, you=you, opens=self._open_differing)

    def _studies(self, width: int, short: bool) -> Sequence[Line]:
        if self.failure is not None:
            return []
        return panels.studies(self.details, width, short=short, opens=self.navigator.open_study)

    def _open_differing(self, pair: PairAgreement) -> None:
        one, other = (one_line(name, 24) for name in pair.figures.raters)
        if pair.differing:
            wanted = QueueFilter(items=pair.differing, named=f"{one} and {other} differ")
            self.navigator.open_queue(wanted)
        else:
            self.context.notices.show("No disagreement", f"{one} and {other} agree on every item of both.")

    # -- what to do next ------------------------------------------------------------------------------

    def _steps(self) -> list[panels.NextLine]:
        """Return what to do next, as (command, key, words)."""
        if self._loading_sample:
            return [("home.sample", "…", "Loading the sample.")]
        steps = self._first_steps() if self.empty else self._next_steps()
        # Enter belongs to the line at the cursor, wherever that is.
        keys = {"home.resume": self.key_of("resume") if self._resumes else ""}
        return [(name, keys.get(name, self.key_of(name)), words) for name, words in steps]

    def _first_steps(self) -> list[Step]:
        path = self.context.workspace.path.name
        steps: list[Step] = []
        if self.context.jobs.of_kind("candidates"):
            steps.append(("app.jobs", "watch the candidate search"))
        elif self._has_corpus:
            steps.append(("home.candidates", "find candidate pairs of the queries and codes"))
        return [
            *steps,
            ("home.import", f"Import a file. Without the app: workbench import {one_line(path, 30)} FILE"),
            (
                "home.sample",
                "Look at the demo: the sample of every kind, which scripted agents label.",
            ),
        ]

    def _next_steps(self) -> list[Step]:
        facts = self.facts
        if facts is None:
            return []
        counts, steps = facts.progress, []
        if facts.resume is not None:
            named = f"{one_line(facts.resume.external_id, 20)} “{one_line(facts.resume.title, TITLE_CELLS)}”"
            steps.append(("home.resume", f"{'go on at' if facts.resume.left_off else 'judge'} {named}"))
        if counts.compared is not None and counts.compared != counts.agreed:
            differing = pluralize(counts.compared - (counts.agreed or 0), "disagreement")
            steps.append(("home.disagreements", f"▲ {differing} with the agents"))
        if counts.skipped:
            steps.append(("home.skipped", f"{counts.skipped:,} skipped"))
        if counts.flagged:
            steps.append(("home.flagged", f"⚑ {counts.flagged:,} flagged"))
        steps += self._agents_step(facts)
        if facts.sample and counts.left == counts.total:
            steps.append(("home.practice", "practise the keys on ten items with known answers"))
        left = f"{counts.left:,} without your label" if counts.left else "all have your label"
        steps.append(("home.queue", f"all {pluralize(counts.total, 'item')}, {left}"))
        return steps

    def _agents_step(self, facts: HomeFacts) -> list[Step]:
        if self.context.jobs.runs_at_work:
            return [("app.jobs", "watch the jobs")]
        theirs = for_agents(facts.progress)
        bare = {
            one.kind: one.items - (one.agent_labelled or 0) - (one.agent_hidden or 0) for one in theirs.kinds
        }
        bare = {kind: number for kind, number in bare.items() if number}
        if not bare:
            return []
        blind = theirs.agent_labelled is None
        what = "the items without their label" if blind else f"{counted_kinds(bare)} without their label"
        if self.plan is not None and self.plan.annotation is None:
            return [("app.jobs", f"agents: no run can be started; {what}")]
        if self.plan is not None and self.plan.problem and not self.context.jobs.model_chosen:
            return [("home.annotate", f"agents: choose a model; {what}")]
        return [("home.annotate", f"let the agents label {what}")]

    # -- the cursor -----------------------------------------------------------------------------------

    def _figures(self) -> dict[str, Piece]:
        """Return the figures that open something, by their names, in the order in which they are read."""
        return {piece.key: piece for panel in self.query(Panel) for piece in panel.figures}

    def _move_to(self, key: str) -> None:
        self._cursor = key
        for panel in self.query(Panel):
            panel.show(key)
            if any(piece.key == key for piece in panel.figures):
                panel.scroll_visible(animate=False)
        self.refresh_bindings()

    def action_move(self, by: int) -> None:
        """Move the cursor to the next figure, or to the one before.

        Args:
            by: 1 or -1.
        """
        names = list(self._figures())
        if names:
            here = names.index(self._cursor) if self._cursor in names else 0
            self._move_to(names[max(0, min(here + by, len(names) - 1))])

    @on(Panel.Chosen)
    def _figure_clicked(self, message: Panel.Chosen) -> None:
        self._move_to(message.key)
        self._open(message.key)

    def _open(self, key: str) -> None:
        piece = self._figures().get(key)
        if piece is None or piece.opens is None:
            return
        if isinstance(piece.opens, QueueFilter):
            self.navigator.open_queue(piece.opens)
        elif isinstance(piece.opens, str):
            self.call_later(self.run_action, run_of(piece.opens))
        else:
            piece.opens()

    # -- keys -----------------------------------------------------------------------------------------

    def action_resume(self) -> None:
        """Do what the line at the cursor says; at first, go on where the rater left off."""
        if not self._resumes:
            self._open(self._cursor)
        elif self._holds_items():
            # A key that comes before the numbers opens the review too, which handles the lack of items.
            self.navigator.resume()

    def action_open_filtered(self, part: str) -> None:
        """List what is left over: disagreements with the agents, skipped or flagged items."""
        if part == "disagreements" and not self.context.scope.may(Shows.LISTS):
            self.context.notices.show("Blind review", "The agents' labels are not shown.")
        elif self._holds_items():
            self.navigator.open_queue(LEFT_OVER[part])

    def action_open_export(self) -> None:
        """Write labels or items to a file."""
        if self._holds_items():
            self.navigator.open_export()

    def action_open_queue(self) -> None:
        """Open the list of all items."""
        if self._holds_items():
            self.navigator.open_queue()

    def action_open_studies(self) -> None:
        """List the studies."""
        if self._holds_items():
            self.navigator.open_studies()

    def action_open_splits(self) -> None:
        """List the splits."""
        if self._holds_items():
            self.navigator.open_splits()

    def action_open_search(self) -> None:
        """Search a repository."""
        self.navigator.open_search()

    def action_open_sql(self) -> None:
        """Ask the workspace in SQL."""
        if self._holds_items():
            self.navigator.open_sql()

    @property
    def _why_not_adjudicate(self) -> str:
        """Why nothing can be adjudicated; empty where it can."""
        if self.context.rater is None:
            return "Rulings need a name: start with --rater NAME."
        if self.context.study is not None:
            return "A rater of an open study does not see the labels of others."
        hides = not self.context.scope.may(Shows.OTHERS)
        return "A blind review does not show the labels of others." if hides else ""

    def action_adjudicate(self) -> None:
        """Rule on what raters disagree about."""
        if why := self._why_not_adjudicate:
            self.context.notices.show("No adjudication", why)
        elif self._holds_items():
            self.navigator.open_adjudication()

    def on_paste(self, event: Paste) -> None:
        """Offer to import a file whose path is pasted or dropped."""
        in_thread(self, partial(pasted_file, event.text), self._offer, group="paste")

    def _offer(self, path: str) -> None:
        if path and self.is_current:
            self.action_import_file(path)

    def action_import_file(self, path: str = "") -> None:
        """Import a file.

        Args:
            path: The path that is typed at first.
        """

        def imported(done: Imported | None) -> None:
            self.read()
            if done is not None and done.judge:
                self._judge(done.report)

        program = self.context.program
        imports = Imports(program.look_at_file, program.check_file, program.import_file)
        self.app.push_screen(ImportScreen(self.context.settings, imports, path), imported)

    def _judge(self, report: ImportReport) -> None:
        """Open the first item that was imported, among all of them.

        Not in a thread, so that the next key reaches the review; of 412,080 items it takes 40 ms.
        """
        from store.queries.saved_views import view_ids
        from store.queries.sources import first_item

        workspace, scope = self.context.workspace, self.context.scope
        sources = [file.source_id for file in report.files if file.source_id is not None]
        with workspace.reading() as connection:
            first = first_item(connection, sources)
        ids = view_ids(workspace, scope, ViewQuery())
        place = ids.tolist().index(first) if first is not None else 0
        if place:
            self.navigator.open_review(ids, place)
        else:
            self.navigator.resume()

    def action_practise(self) -> None:
        """Practise the keys on items with known answers; only where the sample is, which they are of."""
        if self.facts is not None and self.facts.sample:
            self.navigator.practise()
        else:
            self.context.notices.show("No practice here", "`workbench demo --train` has one.")

    def action_annotate(self) -> None:
        """Let the agents annotate what has no label."""
        if self._holds_items():
            from screens.jobs.start import start_annotation

            start_annotation(self.app, self.context, then=self._lay_out)

    def action_find_candidates(self) -> None:
        """Search the best codes of each query."""
        from screens.jobs.candidates import start_candidates

        start_candidates(self.app, self.context, then=lambda _: self._lay_out())

    def action_load_sample(self) -> None:
        """Load the sample data and annotate it."""
        if self._loading_sample:
            self.context.notices.show("Loading the sample", "It is being loaded.")
            return
        if not self.empty:
            message = "The sample needs an empty workspace. `workbench demo` opens one of its own."
            self.context.notices.show("No sample here", message)
            return
        self._loading_sample = True
        self._lay_out()
        load, done, failed = self.context.program.load_sample, self._sample_loaded, self._sample_failed
        in_thread(self, load, done, failed, group="sample", exclusive=False)

    def _sample_failed(self, error: WorkbenchError) -> None:
        self._loading_sample = False
        self.context.notices.report_error(error)
        self._lay_out()

    def _sample_loaded(self, settings: JobSettings) -> None:
        self._loading_sample = False
        self.read()
        self.context.jobs.start(settings)
        self._lay_out()
