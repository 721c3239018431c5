"""Home: what is in the workspace, how far one is, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from agents.jobs.events import ItemEnded, JobEnded, JobEvent, JobStarted
from screens.base_screen import BaseScreen
from screens.commands import Command, Scope, bindings
from screens.home.facts import TITLE_CELLS, HomeFacts, for_agents, paragraph, read_facts
from screens.home.import_dialog import ImportScreen
from screens.jobs.job_line import JobLine
from screens.threads import in_thread
from screens.widgets.key_line import KeyLine
from screens.widgets.text.sanitize import one_line
from screens.widgets.top_line import TopLine
from store.errors import WorkbenchError
from store.formatting import pluralize
from store.kinds.counting import counted_kinds, joined
from store.kinds.spec import task_kinds

if TYPE_CHECKING:
    from agents.settings import JobSettings
    from screens.context import Plan, ScreenContext
    from screens.navigator import Navigator
    from store.ingest.report import ImportReport
    from store.record.actions import Action

SAMPLE_NOTE = (
    "This is the sample: the agents' replies, completions, answers and scores in it were written by hand and "
    "are no model's output; its models, judge and raters are pretended. Test programs are really executed."
)

READ_SECONDS = 1.0
"""Seconds for which changes are collected before the numbers are read again."""

STEPS = 3
"""Sentences of what to do next, at most."""

Step = tuple[str, str]
"""A sentence of what to do next: the id of its command, and the words."""


class NextStep(Horizontal):
    """A key, and a sentence on its use."""

    def compose(self) -> ComposeResult:
        """Lay out the two beside each other."""
        self.add_class("step")
        yield Static(classes="step-key")
        yield Static(classes="step-words")

    def show(self, key: str, words: str) -> None:
        """Show them; without words the line takes no room."""
        self.display = bool(words)
        self.query_one(".step-key", Static).update(Content(key))
        self.query_one(".step-words", Static).update(Content(words))


class HomeScreen(BaseScreen):
    """The first screen; the others lie over it."""

    SCOPE: ClassVar[Scope] = "home"
    CSS_PATH: ClassVar[str] = "home.tcss"
    BINDINGS: ClassVar[list[BindingType]] = list(bindings("home"))

    def __init__(self, context: ScreenContext, navigator: Navigator) -> None:
        super().__init__(context, navigator)
        self.facts: HomeFacts | None = None
        self.plan: Plan | None = None
        self.failure: Exception | None = None
        self._loading_sample = False
        self._due = False

    def compose(self) -> ComposeResult:
        """Lay out the workspace beside what to do next, and the lines at the foot."""
        yield TopLine("home")
        with VerticalScroll(id="body", can_focus=False), Container(id="columns"):
            workspace = Static(id="workspace")
            workspace.border_title = "Workspace"
            yield workspace
            with Vertical(id="next") as following:
                following.border_title = "What to do next"
                for _ in range(STEPS):
                    yield NextStep()
        yield Static(id="notes")
        yield JobLine(self.context)
        yield KeyLine()

    def on_mount(self) -> None:
        """Follow what changes the numbers."""
        self.context.recorder.saved.subscribe(self, self._action_saved)
        self.context.jobs.events.subscribe(self, self._job_event)
        self._lay_out()

    def on_screen_resume(self) -> None:
        """Read the numbers, when home is what is shown."""
        if self.is_current:
            self.query_one(JobLine).show_job()
            self.read()

    # -- reading --------------------------------------------------------------------------------------

    @work(thread=True, exclusive=True, group="facts")
    def read(self) -> None:
        """Read the numbers, in a thread."""
        context = self.context
        try:
            facts = read_facts(context.workspace, context.scope, sample=context.program.is_sample())
            self.call_later(self._read_done, facts)
            # Loading the whole configuration takes longer than anything else here; a review that was opened
            # meanwhile does not wait for it.
            if self.is_current:
                self.plan = context.program.plan
                self.call_later(self._lay_out)
        except WorkbenchError as error:
            self.call_later(self._read_failed, error)

    def _read_done(self, facts: HomeFacts) -> None:
        self.facts, self.failure = facts, None
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
        if not self._due and self.is_current:
            self._due = True
            self.set_timer(READ_SECONDS, self._read_due)

    def _read_due(self) -> None:
        self._due = False
        if self.is_current:
            self.read()

    # -- layout ---------------------------------------------------------------------------------------

    @property
    def empty(self) -> bool:
        """Whether the workspace is known to hold nothing."""
        return self.facts is not None and not self.facts.progress.total

    @property
    def _has_work_for_agents(self) -> bool:
        """Whether there may be items of a kind on which agents can work."""
        return self.facts is None or for_agents(self.facts.progress).total > 0

    def offers(self, command: Command) -> bool:
        """Offer only what has an effect: no list in an empty workspace, no sample in a full one."""
        if command.id == "home.annotate":
            possible = self.plan is None or self.plan.annotation is not None
            return self._has_work_for_agents and possible and self.context.jobs.running is None
        if command.id in ("home.resume", "home.queue", "home.studies", "home.sql", "home.reports"):
            return not self.empty
        if command.id == "home.splits":
            return not self.empty and not self.context.settings.blind
        if command.id == "home.adjudicate":
            return not self.empty and not self._why_not_adjudicate
        return self.empty and not self._loading_sample if command.id == "home.sample" else True

    def _holds_items(self) -> bool:
        """Return whether there is an item; show a notice when not."""
        if self.empty:
            key = self.key_of("home.import")
            self.context.notices.show(
                "Nothing to do here yet", f"The workspace is empty. {key} imports a file."
            )
        return not self.empty

    def _lay_out(self) -> None:
        self.set_class(self.failure is not None, "-failed")
        self.query_one("#workspace", Static).update(Content("\n".join(self._about())))
        steps = self._steps()
        for place, line in enumerate(self.query(NextStep)):
            line.show(*(steps[place] if place < len(steps) else ("", "")))
        notes = [SAMPLE_NOTE] if self.facts is not None and self.facts.sample else []
        notes += [self.plan.sandbox] if self.plan is not None and self.plan.sandbox else []
        self.query_one("#notes", Static).update(Content("\n".join(notes)))
        self.refresh_bindings()

    def _about(self) -> list[str]:
        context = self.context
        if self.failure is not None:
            return [
                "! The workspace could not be read.",
                one_line(str(self.failure), 400),
                "What was judged is not touched by this. See: workbench doctor",
            ]
        if self.facts is None:
            return ["Reading …"]
        if self.empty:
            return [
                f"{one_line(context.workspace.path.name, 60)} is empty.",
                "",
                f"It can hold {joined([kind.plural for kind in task_kinds().values()])}, also side by side. "
                "They come from files: CoSQA, CoSQA+, CrossCodeEval, SWE-QA, MT-bench, issue threads, or "
                "JSON lines, CSV or Parquet of your own.",
            ]
        lines = paragraph(self.facts, judges=context.rater is not None)
        if context.rater is None:
            lines.append(
                "! Nobody judges: labels need a name. Start with --rater NAME, or set rater in the config."
            )
        return lines

    def _steps(self) -> list[tuple[str, str]]:
        """Return what to do next, as (key, sentence)."""
        if self._loading_sample:
            return [("…", "Loading the sample.")]
        steps = self._first_steps() if self.empty else self._next_steps()
        return [(self.key_of(command_id), words) for command_id, words in steps[:STEPS]]

    def _first_steps(self) -> list[Step]:
        path = self.context.workspace.path.name
        return [
            ("home.import", f"Import a file. Without the app: workbench import {one_line(path, 30)} FILE"),
            (
                "home.sample",
                "Look at the demo: load the sample of every kind, and let scripted agents work on it.",
            ),
        ]

    def _next_steps(self) -> list[Step]:
        facts = self.facts
        if facts is None:
            return []
        counts, steps = facts.progress, []
        if facts.resume is not None:
            words = "Go on with the next" if facts.resume.begun else "Begin with the first"
            words = (
                "Go on where you left off, at" if facts.resume.left_off else f"{words} without your label,"
            )
            title = one_line(facts.resume.title, TITLE_CELLS)
            steps.append(("home.resume", f"{words} item {one_line(facts.resume.external_id, 24)}: “{title}”"))
        steps += self._agents_step(facts)
        left = (
            f"{counts.left:,} of {counts.total:,} without your label"
            if counts.left
            else "all have your label"
        )
        items = counted_kinds(counts.items) if len(counts.kinds) == 1 else pluralize(counts.total, "item")
        steps.append(("home.queue", f"Look through the {items}: {left}."))
        return steps

    def _agents_step(self, facts: HomeFacts) -> list[Step]:
        if self.context.jobs.running is not None:
            return [("app.jobs", "Watch the agents at work; they do not hold up your keys.")]
        theirs = for_agents(facts.progress)
        bare = {one.kind: one.items - (one.agent_labelled or 0) for one in theirs.kinds}
        bare = {kind: number for kind, number in bare.items() if number}
        if not bare:
            return []
        blind = theirs.agent_labelled is None
        what = "what they have not labelled" if blind else f"the {counted_kinds(bare)} they have not labelled"
        if self.plan is not None and self.plan.annotation is None:
            return [("app.jobs", f"The agents cannot label {what} yet. {self.plan.problem}")]
        return [("home.annotate", f"Let the agents label {what}.")]

    # -- keys -----------------------------------------------------------------------------------------

    def action_resume(self) -> None:
        """Go on where the rater left off, or with the first item without a label."""
        # A key that comes before the numbers opens the review too, which handles the lack of items.
        if self._holds_items():
            self.navigator.resume()

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
            return "A rater of an open study does not see what the others said."
        return "A blind review does not show what others said." if self.context.settings.blind else ""

    def action_adjudicate(self) -> None:
        """Rule on what raters disagree about."""
        if why := self._why_not_adjudicate:
            self.context.notices.show("No adjudication", why)
        elif self._holds_items():
            self.navigator.open_adjudication()

    def action_import_file(self) -> None:
        """Import a file."""

        def imported(report: ImportReport | None) -> None:
            self.read()

        self.app.push_screen(ImportScreen(self.context.settings, self.context.program.import_file), imported)

    def action_annotate(self) -> None:
        """Let the agents annotate what has no label."""
        if self._holds_items():
            from screens.jobs.start import start_annotation

            start_annotation(self.app, self.context, then=self._lay_out)

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
