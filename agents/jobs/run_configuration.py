"""The configuration that identifies a run: that of the agents that take part, and nothing else."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents.jobs.role_models import RoleModels
    from agents.pipelines.spec import Configuration
    from agents.settings import JobSettings


def run_configuration(
    configuration: Configuration, models: RoleModels, settings: JobSettings
) -> dict[str, Any]:
    """Return the values that identify a run, as JSON (see `run_record.RunRecord.open`).

    Which items are annotated is no part of it: a run can begin with a sample and be widened later.

    Returns:
        Prompts with version and digest, models with temperatures and, where programs are executed, what
        they may use and how they are repaired.
    """
    prompts = configuration.load_prompts()
    fields: dict[str, Any] = {
        "kind": settings.kind,
        "pipeline": configuration.pipeline,
        "prompts": {role: f"{prompt.version}:{prompt.digest}" for role, prompt in prompts.items()},
        **models.configuration(),
        "max_output_tokens": settings.models.max_output_tokens,
        "seed": settings.models.seed,
    }
    if configuration.options:
        fields["options"] = dict(configuration.options)
    if configuration.executes:
        fields["limits"] = asdict(settings.sandboxes.limits)
        fields["trust_checks"] = settings.sandboxes.trust_checks
        # The tries of a pipeline without its bug fixer are none.
        repairs = settings.sandboxes.repairs and configuration.repairer
        fields["max_try_time"] = settings.sandboxes.max_try_time if repairs else None
    return fields
