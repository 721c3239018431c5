"""`workbench agents`: the configurations of agents, and the models of their roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.cli.options import AsJson, ConfigFile, command, settings

if TYPE_CHECKING:
    from workbench.config import Config


@command
def agents_command(*, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List the configurations of agents: ours, and your own from the configuration file.

    For each: its roles in the order of their turns, with the prompt, the model and the temperature of each.
    """
    from agents.pipelines.registry import kinds_with_agents
    from store.kinds.counting import in_order, joined
    from store.kinds.spec import task_kinds
    from workbench.output import harmless, print_facts, print_json, say

    found = configurations(settings(config))
    if as_json:
        print_json({"kinds": sorted(kinds_with_agents()), "configurations": found})
        return
    known = task_kinds()
    work_on = joined([known[kind].plural for kind in in_order(kinds_with_agents()) if kind in known])
    say(f"Agents work on {work_on or 'nothing here'}.", "")
    for each in found:
        default = " (the default)" if each["default"] else ""
        say(harmless(f"{each['name']}{default}", style="bold underline"), each["sentence"])
        print_facts("", [(f"  {role['role']}", _role(role)) for role in each["roles"]])
        say("")


def configurations(config: Config) -> list[dict[str, Any]]:
    """Return the configurations, ours in the order of CoSQA+'s Table VI and then the user's own, for JSON."""
    from agents.settings import OURS

    sentences = {name: ours.sentence for name, ours in OURS.items()}
    sentences |= {name: own.sentence for name, own in config.agents.configurations.items()}
    return [_configuration(config, name, sentence) for name, sentence in sentences.items()]


def _configuration(config: Config, name: str, sentence: str) -> dict[str, Any]:
    from agents.prompts import load_prompt
    from agents.settings import OURS
    from workbench.job_settings import annotation_settings

    job = annotation_settings(config, agents=name, complete=False)
    ours = OURS[job.agents]
    roles = []
    for role in job.taking_part():
        prompt = load_prompt(ours.prompts[role])
        roles.append(
            {
                "role": role,
                "prompt": prompt.name,
                "version": prompt.version,
                "digest": prompt.digest,
                "model": job.model_of(role) or None,
                "temperature": job.temperature_of(role),
            }
        )
    return {
        "name": name,
        "default": name == config.agents.configuration,
        "based_on": ours.name,
        "pipeline": ours.pipeline,
        "sentence": sentence or f"As {ours.name}, with models of its own.",
        "executes": ours.executes,
        "repairs": job.has_repairer and job.sandboxes.repairs,
        "roles": roles,
    }


def _role(role: dict[str, Any]) -> str:
    warmth = "the service's" if role["temperature"] is None else f"{role['temperature']:g}"
    model = role["model"] or "no model set"
    return f"{model} · temperature {warmth} · prompt {role['prompt']}, version {role['version']}"
