"""The dialog before agents start: who is asked, how many items, the budget and the estimate."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from textual import on
from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from agents.pipelines.registry import agents_part, kinds_with_agents, kinds_with_responses
from screens.commands import bindings
from screens.form import Problem
from screens.help import hint
from screens.jobs.job_line import format_amount
from screens.threads import in_thread
from screens.widgets.line_input import LineInput
from screens.widgets.text.sanitize import one_line, shortened
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
_TITLE_CELLS = 15
_VALUE_CELLS = 55
"""The width of the values, in cells: with the titles and the frame they fit into 80 columns."""


class StartScreen(ModalScreen["JobSettings | None"]):
    """Shows what a run would do and cost; dismissed with what is to start, None when nothing is.

    Args:
        sandbox: Where test programs run, in a sentence.
        others: The kinds and configurations of agents that can be chosen.
    """

    CSS_PATH = "budget.tcss"
    BINDINGS = bindings("start")

    def __init__(
        self,
        context: ScreenContext,
        settings: JobSettings,
        sandbox: str,
        others: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__()
        self._others = others
        self.context = context
        self.settings = settings
        self.estimate: Estimate | None = None
        self._is_estimating = True
        self._sandbox = sandbox
        self._is_wrong = False

    def compose(self) -> ComposeResult:
        """Lay out the facts, the number of items, the estimate and the keys."""
        with Vertical(classes="modal") as box:
            box.border_title = "Start the agents"
            yield Static(Content("\n").join(self._facts()), id="facts")
            with Horizontal(id="how-many"):
                yield Static(Content(f"{'items at most':<{_TITLE_CELLS}}"), id="title")
                yield LineInput(id="limit", placeholder="all without a label of this run")
            yield Static(id="expected")
            yield Problem(id="wrong")
            other = [("start.other", "other agents")] if len(self._others) > 1 else []
            keys = hint(self.context.settings, ("start.begin", "start"), *other, ("start.leave", "cancel"))
            yield Static(Content(keys), classes="keys")

    def on_mount(self) -> None:
        """Estimate what the run will take."""
        self._show_estimate(["Estimating …"])
        self._estimate(self.settings)

    def _facts(self) -> list[Content]:
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
            ("model", shortened(settings.model, _VALUE_CELLS)),
            ("your prompts", ", ".join(settings.prompt_files)),
            *([("other models", ", ".join(roles))] if roles else []),
            ("sandbox", self._sandbox if configuration.executes else "none: nothing is executed"),
            ("budget", budget or "none; agents.budget in the configuration sets one"),
        ]
        return [_row(title, words) for title, words in facts if words]

    @property
    def _kinds(self) -> set[str]:
        return {kind for kind, _ in self._others}

    def action_choose(self, places: int) -> None:
        """Choose other agents, those of another kind of items among them."""
        if len(self._others) < 2:
            return
        now = (self.settings.kind, self.settings.asked or self.settings.agents)
        at = self._others.index(now) if now in self._others else 0
        kind, name = self._others[(at + places) % len(self._others)]
        plan = self.context.program.make_plan(kind, name)
        if plan.annotation is None:
            self.query_one(Problem).show(f"{name}: {one_line(plan.problem, 200)}")
            return
        self.settings = replace(plan.annotation, kind=kind, limit=self.settings.limit)
        self.estimate, self._is_estimating = None, True
        self.query_one("#facts", Static).update(Content("\n").join(self._facts()))
        self._show_estimate(["Estimating …"])
        self._estimate(self.settings)

    def _estimate(self, settings: JobSettings) -> None:
        def read() -> Estimate:
            from agents.jobs.estimate import estimate

            return estimate(self.context.workspace, settings)

        done, failed = partial(self._estimated, settings), partial(self._not_estimated, settings)
        in_thread(self, read, done, failed, group="estimate", exclusive=False)

    def _not_estimated(self, settings: JobSettings, error: WorkbenchError) -> None:
        if settings is self.settings:
            self._is_estimating = False
            self._show_estimate([f"! {error.title}: {one_line(error.message, 300)}", error.hint])

    def _estimated(self, settings: JobSettings, found: Estimate) -> None:
        if settings is not self.settings:
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

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        text = event.value.strip()
        self._is_wrong = bool(text) and not self._limit(text)
        self.query_one(Problem).show("Type a whole number of items, such as 200." if self._is_wrong else "")
        if not self._is_wrong:
            self.settings, self.estimate = replace(self.settings, limit=self._limit(text)), None
            self._is_estimating = True
            self._show_estimate(["Estimating …"])
            self._estimate(self.settings)

    @staticmethod
    def _limit(text: str) -> int | None:
        found = _COUNT.fullmatch(text)
        return int(found[0].replace(",", "")) or None if found else None

    def action_begin(self) -> None:
        """Start what is shown, unless the number of items is none; not before the estimate is shown."""
        nothing = self.estimate is not None and not self.estimate.items
        if self._is_wrong or nothing:
            return
        if self._is_estimating:
            self.query_one(Problem).show("Wait for the estimate; nothing is started yet.")
            return
        self.dismiss(self.settings)


def _row(title: str, words: str) -> Content:
    lines = Content(words).wrap(_VALUE_CELLS)
    rows = [
        Content.assemble((f"{title if not number else '':<{_TITLE_CELLS}}", "bold"), line)
        for number, line in enumerate(lines)
    ]
    return Content("\n").join(rows)


def _names(context: ScreenContext, kind: str, plan: Plan | None) -> Sequence[str]:
    """Return the names of the agents that can work on a kind; none where none can."""
    plan = plan or context.program.make_plan(kind, "")
    if plan.annotation is None:
        return ()
    return plan.names or (plan.annotation.asked or plan.annotation.agents,)


def _plan_of(context: ScreenContext, run: Run, choices: Sequence[tuple[str, str]]) -> Plan | None:
    """Return the plan whose agents are those of a run; None where none of the choices has them."""
    configuration = json.loads(run.configuration)
    pipeline = configuration.get("pipeline") if isinstance(configuration, dict) else None
    for kind, name in choices:
        plan = context.program.make_plan(kind, name) if kind == run.kind else None
        if plan is not None and plan.annotation is not None:
            settings = replace(plan.annotation, kind=kind)
            if settings.configuration().pipeline == pipeline:
                return plan
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
        go_on: A run that has stopped: its agents are chosen at first.
        then: Called when the dialog has started the run.

    Returns:
        Whether it was started already.
    """
    from store.queries.runs import kind_for_agents, kind_of_run, kinds_there

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
        kind = kind_for_agents(connection, kinds) if again is None else kind_of_run(connection, again[0])
    if kind is None:
        context.notices.show("Nothing to annotate", "No agents label the kinds of items that are here.")
        return False
    plan = context.program.make_plan(kind, "")
    if plan.annotation is None:
        context.notices.report_error(WorkbenchError("No model", plan.problem, "See `workbench doctor`."))
        return False
    annotation = replace(plan.annotation, kind=kind)
    if again is not None:
        run_id, item_ids = again
        return context.jobs.start(replace(annotation, run_id=run_id, item_ids=tuple(item_ids))) is not None

    def confirmed(settings: JobSettings | None) -> None:
        if settings is not None and context.jobs.start(settings) and then is not None:
            then()

    others = [(one, name) for one in kinds for name in _names(context, one, plan if one == kind else None)]
    before = None if go_on is None else _plan_of(context, go_on, others)
    if go_on is not None and before is not None and before.annotation is not None:
        plan, annotation = before, replace(before.annotation, kind=go_on.kind)
    app.push_screen(StartScreen(context, annotation, plan.sandbox, others), confirmed)
    return False
