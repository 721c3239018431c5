"""What names a run: the configuration of the agents that take part, and of nothing that has no part in it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agents.prompts import load_prompt

if TYPE_CHECKING:
    from agents.jobs.role_models import RoleModels
    from agents.pipelines.spec import Configuration
    from agents.settings import JobSettings


def run_configuration(
    configuration: Configuration, models: RoleModels, settings: JobSettings
) -> dict[str, Any]:
    """Return what tells a run from others, as JSON values (see `records.RunRecord.open`).

    Which items are annotated is no part of it: a run can begin with a sample and be widened later.

    Args:
        configuration: The agents that take part.
        models: Whom they ask.
        settings: What the job is told.

    Returns:
        Prompts with version and digest, models with temperatures and, where programs are executed, what
        they may use and how they are repaired.
    """
    prompts = {role: load_prompt(name) for role, name in configuration.prompts.items()}
    told: dict[str, Any] = {
        "kind": settings.kind,
        "pipeline": configuration.pipeline,
        "prompts": {role: f"{prompt.version}:{prompt.digest}" for role, prompt in prompts.items()},
        **models.configuration(),
        "max_output_tokens": settings.models.max_output_tokens,
        "seed": settings.models.seed,
    }
    if configuration.executes:
        told["limits"] = asdict(settings.sandboxes.limits)
        told["trust_checks"] = settings.sandboxes.trust_checks
        # The tries of a pipeline without its bug fixer are none.
        repairs = settings.sandboxes.repairs and configuration.repairer
        told["max_try_time"] = settings.sandboxes.max_try_time if repairs else None
    return told
