"""The settings of jobs and of experts' tests, composed of the configuration and a command's options."""

from __future__ import annotations

import asyncio
import math
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from store.errors import WorkbenchError
from workbench.sample import (
    WHEELS,
    allowed_programs,
    sample_folder,
    scripted_model,
    searching_model,
    writing_model,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.jobs.work import WorkSettings
    from agents.settings import ExpertRunSettings, JobSettings
    from workbench.config import Config


class NoModel(WorkbenchError):
    """A role has no model."""


NO_MODEL = NoModel(
    "No model",
    "The agents need a language model, and none is set.",
    "Give one with --model openai:NAME, anthropic:NAME or scripted:FILE, or set agents.model in the "
    "configuration.",
)


def work_settings(config: Config, *, sample: bool = False) -> WorkSettings:
    """Compose the settings of works that are no runs of the agents.

    Args:
        config: The configuration.
        sample: Whether the workspace holds the sample, for whose code search there are scripted replies.
    """
    from agents.jobs.work import WorkSettings

    return WorkSettings(
        config.models,
        config.retrieval,
        config.agents.budget,
        config.agents.model or (searching_model() if sample else ""),
        config.search.web,
        config.agents.concurrency,
        config.agents.stop_seconds,
        config.sandbox,
        config.github,
    )


def annotation_settings(
    config: Config,
    *,
    model: str | None = None,
    agents: str | None = None,
    kind: str | None = None,
    limit: int | None = None,
    concurrency: int | None = None,
    sandbox: str | None = None,
    repairs: bool | None = None,
    complete: bool = True,
    budget: Mapping[str, float | None] | None = None,
    cache: bool = True,
    retry_failed: bool = False,
) -> JobSettings:
    """Compose the settings of a job.

    Only the digests of the shipped sample programs are ever passed on as what may run without isolation;
    anything more has to be asked for by the sandbox's name.

    Args:
        config: The configuration.
        model: The model of the command line; None for the configured one.
        agents: The configuration of agents of the command line; None for the configured one or, where that
            works on another kind, the fullest of the kind.
        kind: The task kind of the items; None for that of the configuration.
        limit: At most so many items.
        concurrency: As on the command line; None for the configured number.
        sandbox: The sandbox asked for by name on the command line; None for the configured one.
        repairs: Whether the bug fixer works; None for what is configured.
        complete: Whether every role must have a model; otherwise that of one without is empty.
        budget: The budget of the run, by the field of `Budget`; None for what is configured.
        cache: Whether replies that the workspace keeps are taken.
        retry_failed: Only items that failed in the run.

    Raises:
        UnknownName: There is no such configuration.
        NoModel: A role has no model.
        WorkbenchError: The budget is no number.
    """
    from agents.pipelines.configurations import KIND_OF
    from agents.settings import JobSettings

    asked = agents or (config.agents.configuration if kind is None else config.agents.default_for(kind))
    chosen, roles = config.agents.chosen(asked)
    sandboxes = config.sandbox
    if repairs is not None:
        sandboxes = sandboxes.model_copy(update={"repairs": repairs})
    given = {what: limit for what, limit in (budget or {}).items() if limit is not None}
    _check_budget(given)
    settings = JobSettings(
        model=model or config.agents.model or "",
        agents=chosen,
        asked=asked,
        roles=roles,
        prompt_files=config.agents.prompt_files(asked),
        kind=kind or KIND_OF[chosen],
        concurrency=concurrency or config.agents.concurrency,
        limit=limit,
        sandbox=sandbox or config.agents.sandbox,
        allowed=allowed_programs(),
        models=config.models,
        sandboxes=sandboxes,
        failures_in_a_row=config.agents.failures_in_a_row,
        stop_seconds=config.agents.stop_seconds,
        cache=cache,
        budget=config.agents.budget.model_copy(update=given),
        retry_failed=retry_failed,
    )
    if complete:
        _check_complete(settings)
    return settings


def _check_budget(given: Mapping[str, float]) -> None:
    for what, limit in given.items():
        if not math.isfinite(limit):
            raise WorkbenchError(
                "Not a budget",
                f"--budget-{what} is {limit}, which bounds nothing.",
                f"Give a number, such as 5, or leave --budget-{what} out for a run without a bound.",
            )


def _check_complete(settings: JobSettings) -> None:
    active_roles = settings.active_roles()
    lacking = [role for role in active_roles if not settings.model_of(role)]
    if lacking == list(active_roles):
        raise NO_MODEL
    if lacking:
        raise NoModel(
            "No model for every role",
            f"No model is set for {' and '.join(lacking)}.",
            "Give one for all that have none of their own, with --model or as agents.model in the "
            f"configuration, or set agents.roles.{lacking[0]}.model.",
        )


def check_models(jobs: Sequence[JobSettings]) -> None:
    """Make every client and read every prompt, so that the last of several jobs does not end for want of one.

    Raises:
        WorkbenchError: A model is unknown, or lacks something it needs, such as a file; or a prompt cannot be
            used.
    """
    from agents.jobs.role_models import RoleModels

    async def open_and_close() -> None:
        for job in jobs:
            job.configuration()
            models = RoleModels.open(job.role_choices(), job.models)
            await models.close()

    asyncio.run(open_and_close())


SAMPLE_KINDS = {"pair": scripted_model, "comparison": scripted_model, "answer": writing_model}
"""The kinds of which the sample has replies of the agents, in the order in which the demo works on them."""


def sample_agents(kind: str) -> str:
    """Return the name of the agents whose replies to items of a kind the sample has."""
    from agents.pipelines.registry import agents_part, kinds_with_responses

    # The first one makes what others work on.
    return agents_part(kind).configurations[0 if kind in kinds_with_responses() else -1].name


def sample_annotation(config: Config, kind: str = "pair") -> JobSettings:
    """Compose the settings of the demo's job: the replies written by hand, wherever they were installed.

    No configuration of the user's counts. Repairs install the sample's own wheels and have no network, so
    that the demo needs none.

    Args:
        config: The configuration.
        kind: One of `SAMPLE_KINDS`.
    """
    from agents.sandbox.settings import NO_NETWORK

    model, agents = SAMPLE_KINDS[kind](), sample_agents(kind)
    settings = annotation_settings(config, model=model, agents=agents, kind=kind, repairs=True)
    own = {"wheels": str(sample_folder() / WHEELS), "repair_network": NO_NETWORK}
    return replace(settings, roles={}, prompt_files={}, sandboxes=settings.sandboxes.model_copy(update=own))


def expert_run_settings(config: Config, job: JobSettings | None = None) -> ExpertRunSettings:
    """Compose where the tests of experts run.

    Args:
        config: The configuration.
        job: What the agents would do next; experts get their environments in the same way. None where it is
            not known.
    """
    from agents.settings import ExpertRunSettings

    return ExpertRunSettings(
        sandbox=config.agents.sandbox,
        allowed=allowed_programs(),
        sandboxes=config.sandbox if job is None else job.sandboxes,
    )


def sandbox_sentence(config: Config) -> str:
    """Return a sentence on where test programs run, without a trial."""
    from agents.pipelines.configurations import OURS

    if not OURS[config.agents.chosen(None)[0]].executes:
        return f"The agents are {config.agents.configuration}: they run no test programs."
    chosen = config.agents.sandbox
    if chosen == "process":
        return (
            "Test programs run as plain processes, which isolate nothing and repair nothing: the settings "
            "ask for it."
        )
    if chosen:
        return f"Test programs run in {chosen}."
    if shutil.which(config.sandbox.bwrap):
        return "Test programs run in bubblewrap, without network and without your files."
    return (
        "bubblewrap is not installed: without Docker only the test programs of the sample are run, and none "
        "is repaired."
    )
