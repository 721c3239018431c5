"""The real app over a workspace, for tests of the screens."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from agents.jobs.expert_tests import ExpertTests
from agents.jobs.runner import JobRunner
from agents.jobs.work import WorkSettings
from agents.llm.settings import ModelSettings
from agents.retrieval.settings import RetrievalSettings
from agents.settings import ExpertRunSettings, JobSettings
from screens.app import WorkbenchApp
from screens.context import AppContext, Plan
from screens.settings import ScreenSettings
from store.record.raters import ensure_rater, register_kinds
from store.workspace.duckdb import Workspace
from workbench.wiring import import_file, look_at_file

NO_MODEL = (
    "No model is set. Name one in ~/.config/workbench/config.toml, under [agents]: "
    'model = "openai:NAME" or model = "anthropic:NAME".'
)


def context_of(workspace: Workspace, rater: str | None = "dana", **changes: Any) -> AppContext:
    """A context over a workspace whose jobs end with the app; `changes` replace parts of it."""
    register_kinds(workspace)
    settings = changes.pop("settings", None) or ScreenSettings(blind=changes.pop("blind", False))
    plan = Plan(changes.pop("annotation", JobSettings(model="")), changes.pop("annotation_problem", NO_MODEL))
    plan = replace(plan, sandbox=changes.pop("sandbox", ""))
    context = AppContext(
        workspace=workspace,
        rater=ensure_rater(workspace, rater) if rater else None,
        settings=settings,
        prepare=lambda: None,
        make_runner=lambda emit: JobRunner(workspace, emit),
        make_work_settings=lambda: WorkSettings(ModelSettings(), RetrievalSettings()),
        make_expert_runs=lambda: ExpertTests(workspace, ExpertRunSettings),
        make_plan=partial(_planned, plan),
        import_file=partial(import_file, workspace),
        look_at_file=look_at_file,
        check_file=partial(import_file, workspace, dry_run=True),
        load_sample=lambda: JobSettings(model="scripted:none"),
        is_sample=lambda: False,
    )
    return replace(context, **changes)


def _planned(plan: Plan, kind: str, agents: str, model: str) -> Plan:
    """The plan as it was given, or one with the model that was chosen."""
    if plan.annotation is None or not model:
        return plan
    return replace(plan, annotation=replace(plan.annotation, model=model), problem="")


def app_of(workspace: Workspace, rater: str | None = "dana", **changes: Any) -> WorkbenchApp:
    """The app over a workspace."""
    return WorkbenchApp(context_of(workspace, rater, **changes))
