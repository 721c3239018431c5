"""The dialog before agents start: which agents and model, how many items, the budget and the estimate."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from textual import events, on
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from agents.pipelines.registry import agents_part, kinds_with_agents, kinds_with_responses
from screens.commands import bindings
from screens.form import COUNT_SECONDS, Problem
from screens.help import hint
from screens.jobs.job_line import format_amount
from screens.jobs.models import KnownModel, drawn_models, known_models, model_of_run, next_model
from screens.threads import Soon, in_thread
from screens.widgets.line_input import LineInput
from screens.widgets.text.sanitize import one_line
from store.errors import WorkbenchError
from store.formatting import dollars, pluralize
from store.kinds.spec import task_kinds
from store.policy.scope import Shows

if TYPE_CHECKING:
    from agents.jobs.estimate import Estimate
    from agents.settings import JobSettings
    from screens.context import Plan, ScreenContext
    from store.tables.runs import Run

_COUNT = re.compile(r"\d{1,3}(?:,\d{3})+|\d{1,12}")
MODEL_FORM = "a model as openai:NAME or anthropic:NAME"
_TYPE_MODEL = "Type a model, such as openai:NAME, or choose one; nothing is started."
ROOMY = 30
"""Lines of a terminal from which there is room for everything at once."""

_TITLE_CELLS = 15
_VALUE_CELLS = 55
"""The width of the values, in cells: with the titles and the frame they fit into 80 columns."""


class StartScreen(ModalScreen["JobSettings | None"]):
    """Shows what a run would do and cost; dismissed with what is to start, None when nothing is.

    Args:
        kind: The task kind of the items.
        plan: What is proposed; some of its roles may have no model yet.
        others: The kinds and configurations of agents that can be chosen.
        models: The models that can be chosen.
    """

    CSS_PATH = "budget.tcss"
    BINDINGS = bindings("start")
    AUTO_FOCUS = None

    def __init__(
        self,
        context: ScreenContext,
        kind: str,
        plan: Plan,
        others: Sequence[tuple[str, str]] = (),
        models: Sequence[KnownModel] = (),
    ) -> None:
        assert plan.annotation is not None
        super().__init__()
        self._others = others
        self._models = models
        self.context = context
        self.plan = plan
        self.settings = replace(plan.annotation, kind=kind)
        self.estimate: Estimate | None = None
        self._is_estimating = True
        self._is_wrong = False
        # What was chosen here; None for the model of the plan.
        self._model: str | None = None
        # Whether the line of the model says another one than the settings.
        self._is_behind = False
        self._soon = Soon(self, COUNT_SECONDS, group="model")

    def compose(self) -> ComposeResult:
        """Lay out the facts, the model, the number of items, the estimate and the keys."""
        with Vertical(classes="modal") as box:
            box.border_title = "Start the agents"
            yield Static(id="facts")
            yield Static(id="bounds")
            with Horizontal(classes="line"):
                yield Static(Content(f"{'model':<{_TITLE_CELLS}}"), classes="title")
                yield LineInput(self.settings.model, id="model", placeholder=MODEL_FORM)
            yield Static(id="models")
            with Horizontal(classes="line"):
                yield Static(Content(f"{'items at most':<{_TITLE_CELLS}}"), classes="title")
                yield LineInput(id="limit", placeholder="all without a label of this run")
            yield Static(id="expected")
            yield Problem(id="wrong")
            yield Static(classes="keys")

    def on_mount(self) -> None:
        """Estimate what the run will take; ask for a model where there is none."""
        # What is longer than its line is shown from its provider on.
        self.query_one("#model", LineInput).cursor_position = 0
        self.query_one("#model" if self._lacking else "#limit").focus()
        self._show_facts()
        self._begin_estimate()

    def _show_facts(self) -> None:
        settings = self.settings
        configuration = agents_part(settings.kind).configuration(settings.agents)
        own = settings.asked not in ("", settings.agents)
        name = f"{settings.asked} ({settings.agents})" if own else settings.agents
        roles = [f"{role} {one_line(own.model, 40)}" for role, own in settings.roles.items() if own.model]
        limits = settings.budget.limits
        budget = ", ".join(format_amount(what, limit) for what, limit in limits.items())
        facts = [
            ("items", task_kinds()[settings.kind].plural if len(self._kinds) > 1 else ""),
            ("configuration", f"{one_line(name, 40)}. {configuration.sentence}"),
            ("your prompts", ", ".join(settings.prompt_files)),
            ("other models", ", ".join(roles)),
        ]
        bounds = [
            ("sandbox", self.plan.sandbox if configuration.executes else "none: nothing is executed"),
            ("budget", budget or "none; agents.budget in the configuration sets one"),
        ]
        for name, lines in (("#facts", facts), ("#bounds", bounds)):
            rows = [_row(title, words) for title, words in lines if words]
            self.query_one(name, Static).update(Content("\n").join(rows))

    @property
    def _kinds(self) -> set[str]:
        return {kind for kind, _ in self._others}

    @property
    def _lacking(self) -> list[str]:
        """The roles that have no model."""
        return [role for role in self.settings.active_roles() if not self.settings.model_of(role)]

    # -- choosing -------------------------------------------------------------------------------------

    @property
    def _is_at_model(self) -> bool:
        return self.focused is not None and self.focused.id == "model"

    @on(events.DescendantFocus)
    @on(events.DescendantBlur)
    def _focused(self) -> None:
        self._show_choices()

    def _show_choices(self) -> None:
        """Name the keys of the line that has the focus, and list the models where it is theirs."""
        at_model = self._is_at_model
        other, several = ("other agents", len(self._others) > 1)
        if at_model:
            other, several = "other models", bool(self._models)
        keys = hint(
            self.context.settings,
            ("start.begin", "start"),
            *([("start.other", other)] if several else []),
            ("start.next", "number of items" if at_model else "model"),
            ("start.leave", "cancel"),
        )
        self.query_one(".keys", Static).update(Content(keys))
        listed = self.query_one("#models", Static)
        listed.display = at_model and bool(self._models)
        # On a low terminal the list takes their place.
        self.query_one("#bounds").display = not listed.display or self.app.size.height >= ROOMY
        listed.update(drawn_models(self._models, self.query_one("#model", Input).value.strip()))

    def action_choose(self, places: int) -> None:
        """Choose another model where the focus is in its line, otherwise other agents."""
        if self._is_at_model:
            if self._models:
                line = self.query_one("#model", LineInput)
                line.value = next_model(self._models, line.value.strip(), places)
                line.cursor_position = len(line.value)
            return
        if len(self._others) < 2:
            return
        now = (self.settings.kind, self.settings.asked or self.settings.agents)
        at = self._others.index(now) if now in self._others else 0
        self._take(*self._others[(at + places) % len(self._others)])

    def _take(self, kind: str, agents: str) -> None:
        """Plan a run of some agents with the model that was chosen, and estimate it."""
        plan = self.context.program.make_plan(kind, agents, self._model or self.context.jobs.model_chosen)
        if plan.annotation is None:
            self.query_one(Problem).show(f"{agents}: {one_line(plan.problem, 200)}")
            return
        self.plan = plan
        self.settings = replace(plan.annotation, kind=kind, limit=self.settings.limit)
        line = self.query_one("#model", LineInput)
        if self._model is None:
            line.value = self.settings.model
            line.cursor_position = 0
        elif not self._model:
            self.settings = replace(self.settings, model="")
        self._show_facts()
        self._show_choices()
        self._begin_estimate()

    @on(Input.Changed, "#model")
    def _model_typed(self, event: Input.Changed) -> None:
        event.stop()
        self._show_choices()
        if event.value.strip() == self.settings.model and not self._is_behind:
            return
        self._is_behind = self._is_estimating = True
        self.estimate = None
        self._show_estimate(["Estimating …"])
        self._soon.call(self._take_model, again=True)

    def _take_model(self) -> None:
        self._model = self.query_one("#model", Input).value.strip()
        self._is_behind = False
        self._take(self.settings.kind, self.settings.asked or self.settings.agents)

    # -- the estimate ---------------------------------------------------------------------------------

    def _begin_estimate(self) -> None:
        self.estimate, self._is_estimating = None, True
        if self._lacking:
            self._is_estimating = False
            self._show_estimate([f"! {self.plan.problem}" if self.plan.problem else f"! {_TYPE_MODEL}"])
            return
        self._show_estimate(["Estimating …"])
        settings = self.settings

        def read() -> Estimate:
            from agents.jobs.estimate import estimate

            return estimate(self.context.workspace, settings)

        done, failed = partial(self._estimated, settings), partial(self._not_estimated, settings)
        in_thread(self, read, done, failed, group="estimate", exclusive=False)

    def _not_estimated(self, settings: JobSettings, error: WorkbenchError) -> None:
        if settings is self.settings and not self._is_behind:
            self._is_estimating = False
            self._show_estimate([f"! {error.title}: {one_line(error.message, 300)}", error.hint])

    def _estimated(self, settings: JobSettings, found: Estimate) -> None:
        if settings is not self.settings or self._is_behind:
            return
        self.estimate = found
        self._is_estimating = False
        kind = task_kinds()[settings.kind]
        if not found.items:
            self._show_estimate([f"nothing to do: this run has labelled all {kind.plural}"])
            return
        money = "cost not known: no price is set for the model"
        if found.money is not None:
            money = f"about {dollars(found.money)}"
        tokens = found.total("tokens_in") + found.total("tokens_out")
        self._show_estimate(
            [
                pluralize(found.items, kind.singular, kind.plural),
                f"{pluralize(found.total('requests'), 'request')} · {pluralize(tokens, 'token')} · {money}",
                " ".join(found.based_on) if self.context.scope.may(Shows.AGENTS) else "",
            ]
        )

    def _show_estimate(self, lines: list[str]) -> None:
        if not self._is_wrong:
            self.query_one(Problem).show("")
        first, *others = [one_line(line, 400) for line in lines if line]
        rows = [_row("estimate", first), *(_row("", line) for line in others)]
        self.query_one("#expected", Static).update(Content("\n").join(rows))

    @on(Input.Changed, "#limit")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        text = event.value.strip()
        self._is_wrong = bool(text) and not self._limit(text)
        self.query_one(Problem).show("Type a whole number of items, such as 200." if self._is_wrong else "")
        if not self._is_wrong:
            self.settings = replace(self.settings, limit=self._limit(text))
            if not self._is_behind:
                self._begin_estimate()

    @staticmethod
    def _limit(text: str) -> int | None:
        found = _COUNT.fullmatch(text)
        return int(found[0].replace(",", "")) or None if found else None

    def action_begin(self) -> None:
        """Start what is shown, unless something is wrong with it; not before the estimate is shown."""
        if self._is_wrong or (self.estimate is not None and not self.estimate.items):
            return
        problem = self.query_one(Problem)
        model, limit = (self.query_one(name, Input).value.strip() for name in ("#model", "#limit"))
        # A key can come before the message that tells of what was typed.
        is_planned = (model, self._limit(limit)) == (self.settings.model, self.settings.limit)
        if self._is_estimating or not is_planned:
            problem.show("Wait for the estimate; nothing is started yet.")
        elif self._lacking:
            problem.show(_TYPE_MODEL)
        elif self.estimate is None:
            problem.show("Nothing is started: it could not be estimated, for the reason above.")
        else:
            jobs, settings = self.context.jobs, self.settings
            jobs.agents_chosen[settings.kind] = settings.asked or settings.agents
            jobs.model_chosen = self._model or jobs.model_chosen
            self.dismiss(settings)


def _row(title: str, words: str) -> Content:
    lines = Content(words).wrap(_VALUE_CELLS)
    rows = [
        Content.assemble((f"{title if not number else '':<{_TITLE_CELLS}}", "bold"), line)
        for number, line in enumerate(lines)
    ]
    return Content("\n").join(rows)


def _names(context: ScreenContext, kind: str, plan: Plan | None) -> Sequence[str]:
    """Return the names of the agents that can work on a kind; none where none can."""
    plan = plan or context.program.make_plan(kind, "", "")
    if plan.annotation is None:
        return ()
    return plan.names or (plan.annotation.asked or plan.annotation.agents,)


def _plan_of(context: ScreenContext, run: Run, names: Sequence[str]) -> Plan | None:
    """Return the plan whose agents and model are those of a run; None where no agents of a name are."""
    from store.queries.runs import configuration_of

    configuration = configuration_of(run)
    for name in names:
        plan = context.program.make_plan(run.kind, name, context.jobs.model_chosen)
        if plan.annotation is None:
            continue
        settings = replace(plan.annotation, kind=run.kind)
        if settings.configuration().pipeline == configuration.get("pipeline"):
            model = model_of_run(configuration, settings)
            return context.program.make_plan(run.kind, name, model) if model else plan
    return None


def start_annotation(
    app: App[Any],
    context: ScreenContext,
    again: tuple[UUID, Sequence[int]] | None = None,
    *,
    go_on: Run | None = None,
    then: Callable[[], None] | None = None,
) -> bool:
    """Start agents in the background; those of a new run after a dialog with an estimate.

    Args:
        again: A run, and those of its items that it is to try again; None for all without a label.
        go_on: A run that has stopped: its agents and its model are chosen at first.
        then: Called when the dialog has started the run.

    Returns:
        Whether it was started already.
    """
    from store.queries.runs import all_runs, kind_for_agents, kinds_there, run_models

    if context.refuses(Shows.WHOLE):
        return False
    if go_on is not None and go_on.kind in kinds_with_responses():
        # What such a run was asked for, the context and the decoding, is no part of the dialog.
        context.notices.show(
            "Goes on by command",
            "Give the command of the run once more, such as workbench complete or answer",
        )
        return False
    with context.workspace.reading() as connection:
        kinds = kinds_there(connection, kinds_with_agents())
        known, asked = all_runs(connection), run_models(connection)
        kind = kind_for_agents(connection, kinds)
    earlier = go_on if again is None else next((run for run in known if run.id == again[0]), None)
    if earlier is not None:
        kind = earlier.kind
    if kind is None:
        context.notices.show("Nothing to annotate", "No agents label the kinds of items that are here.")
        return False
    jobs = context.jobs
    plan = context.program.make_plan(kind, jobs.agents_chosen.get(kind, ""), jobs.model_chosen)
    if earlier is not None:
        plan = _plan_of(context, earlier, _names(context, kind, plan)) or plan
    if plan.annotation is None or (again is not None and plan.problem):
        title = "No model" if plan.annotation is not None else "No agents"
        context.notices.report_error(WorkbenchError(title, plan.problem, "See `workbench doctor`."))
        return False
    if again is not None:
        run_id, item_ids = again
        settings = replace(plan.annotation, kind=kind, run_id=run_id, item_ids=tuple(item_ids))
        return jobs.start(settings) is not None

    def confirmed(settings: JobSettings | None) -> None:
        if settings is not None and jobs.start(settings) and then is not None:
            then()

    others = [(one, name) for one in kinds for name in _names(context, one, plan if one == kind else None)]
    models = known_models((plan.annotation.model, *plan.models), asked)
    app.push_screen(StartScreen(context, kind, plan, others, models), confirmed)
    return False
