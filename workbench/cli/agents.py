"""`workbench agents`: the configurations of agents with the models of their roles, and the prompts."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from store.errors import UnknownName, WorkbenchError
from workbench.cli.options import Answer, CommandWithOldNames, ConfigFile, command, remember_config, settings

if TYPE_CHECKING:
    from agents.prompts import Prompt
    from workbench.config import Config

agents_commands = typer.Typer(rich_markup_mode=None, invoke_without_command=True)


@agents_commands.callback()
@command
def agents_command(context: typer.Context, *, config: ConfigFile = None) -> Answer | None:
    """List the configurations of agents: ours, and your own from the configuration file.

    For each: its roles in the order of their turns, with the prompt, the model and the temperature of each.
    """
    if context.invoked_subcommand is not None:
        remember_config(config)
        return None
    from agents.pipelines.registry import kinds_with_agents

    found = configurations(settings(config))
    fields = {"kinds": sorted(kinds_with_agents()), "configurations": found}
    return Answer(fields, partial(_print_configurations, found))


def _print_configurations(found: list[dict[str, Any]]) -> None:
    from agents.pipelines.registry import kinds_with_agents
    from store.kinds.counting import in_order, joined
    from store.kinds.spec import task_kinds
    from workbench.output import harmless, print_facts, say

    known = task_kinds()
    work_on = joined([known[kind].plural for kind in in_order(kinds_with_agents()) if kind in known])
    say(f"Agents work on {work_on or 'nothing here'}.", "")
    for each in found:
        default = f" (the default for {known[each['kind']].plural})" if each["default"] else ""
        say(harmless(f"{each['name']}{default}", style="bold underline"), each["sentence"])
        print_facts("", [(f"  {role['role']}", _role(role)) for role in each["roles"]])
        say("")


def configurations(config: Config) -> list[dict[str, Any]]:
    """Return the configurations, ours in the order of CoSQA+'s Table VI and then the user's own, for JSON."""
    from agents.pipelines.configurations import OURS

    sentences = {name: ours.sentence for name, ours in OURS.items()}
    sentences |= {name: own.sentence for name, own in config.agents.configurations.items()}
    return [_configuration(config, name, sentence) for name, sentence in sentences.items()]


def _configuration(config: Config, name: str, sentence: str) -> dict[str, Any]:
    from agents.pipelines.configurations import KIND_OF, OURS
    from workbench.job_settings import annotation_settings

    job = annotation_settings(config, agents=name, complete=False)
    ours = OURS[job.agents]
    prompts = job.configuration().load_prompts()
    roles = []
    for role in job.active_roles():
        prompt = prompts[role]
        roles.append(
            {
                "role": role,
                "prompt": prompt.name,
                "version": prompt.version,
                "digest": prompt.digest,
                "file": prompt.file,
                "model": job.model_of(role) or None,
                "temperature": job.temperature_of(role),
            }
        )
    return {
        "name": name,
        "kind": KIND_OF[ours.name],
        "default": name == config.agents.default_for(KIND_OF[ours.name]),
        "based_on": ours.name,
        "pipeline": ours.pipeline,
        "sentence": sentence or f"As {ours.name}, with models or prompts of its own.",
        "executes": ours.executes,
        "repairs": job.has_repairer and job.sandboxes.repairs,
        "roles": roles,
    }


def _role(role: dict[str, Any]) -> str:
    warmth = "the service's" if role["temperature"] is None else f"{role['temperature']:g}"
    model = role["model"] or "no model set"
    prompt = f"prompt {role['prompt']}, version {role['version']}"
    if role["file"] is not None:
        prompt = f"prompt {role['prompt']} of yours, {role['digest'][:8]}"
    return f"{model} · temperature {warmth} · {prompt}"


@agents_commands.command(
    "prompts", cls=CommandWithOldNames, short_help="Print the prompts, or write them to a folder to edit."
)
@command
def prompts_command(
    name: Annotated[
        str | None,
        typer.Argument(help="A prompt, or a role for all of its prompts; without it they are listed."),
    ] = None,
    *,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export", metavar="DIR", help="Write ours to files of this folder, which is made if needed."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    config: ConfigFile = None,
) -> Answer:
    """Print the prompts of the agents: system and user section, places, version, digest, configurations.

    A prompt that agents.prompts of the configuration replaces is printed as your file has it.
    """
    loaded = settings(config)
    known = _known_prompts(loaded)
    chosen = known if name is None else _chosen(known, name)
    if export is not None:
        written = _export([each["name"] for each in chosen], export, overwrite=overwrite)
        return Answer(
            {"written": written},
            *(f"written: {path}" for path in written),
            "Edit them, and name them in the configuration, in the table [agents.prompts]: "
            f'{chosen[0]["name"]} = "PATH"',
        )
    return Answer({"prompts": chosen}, partial(_print_prompts, chosen, listed=name is None))


def _print_prompts(chosen: list[dict[str, Any]], *, listed: bool) -> None:
    from workbench.output import print_facts, print_table, say

    if listed:
        print_table(
            ("prompt", "version", "digest", "configurations", "file"),
            [
                (
                    each["name"],
                    str(each["version"]),
                    each["digest"],
                    ", ".join(each["configurations"]),
                    str(each["file"] or ""),
                )
                for each in chosen
            ],
            wide=("configurations", "file"),
        )
    else:
        for each in chosen:
            facts = ("version", "digest", "file", "roles", "configurations", "places")
            values = {fact: each[fact] for fact in facts}
            print_facts(
                each["name"],
                [
                    (fact, ", ".join(value) if isinstance(value, list) else value)
                    for fact, value in values.items()
                ],
            )
            say("", "=== system ===", each["system"], "", "=== user ===", each["user"], "")


def _known_prompts(config: Config) -> list[dict[str, Any]]:
    """Return all prompts, those of the user in place of ours, for JSON.

    A prompt comes once more for each other file that configurations of the user's own have for it.
    """
    from agents.pipelines.configurations import OURS
    from agents.prompts import load_prompt, read_prompt
    from agents.settings import OUR_PROMPTS

    found = []
    own = config.agents.configurations.items()
    for name in OUR_PROMPTS:
        using = [each for each in OURS.values() if name in each.prompts.values()]
        roles = {role for each in using for role, used in each.prompts.items() if used == name}
        file = config.agents.prompts.get(name)
        files = {each.name: file for each in using}
        files |= {mine: each.prompts.get(name, file) for mine, each in own if OURS[each.based_on] in using}
        prompts: dict[str, Prompt] = {}
        names: dict[str, list[str]] = {}
        for configuration, path in files.items():
            prompt = load_prompt(name) if path is None else read_prompt(name, path)
            prompts.setdefault(prompt.digest, prompt)
            names.setdefault(prompt.digest, []).append(configuration)
        found += [_prompt_fields(prompts[digest], sorted(roles), names[digest]) for digest in prompts]
    return found


def _prompt_fields(prompt: Prompt, roles: list[str], configurations: list[str]) -> dict[str, Any]:
    return {
        "name": prompt.name,
        "version": prompt.version,
        "digest": prompt.digest,
        "file": prompt.file,
        "roles": roles,
        "configurations": configurations,
        "places": list(prompt.places),
        "system": prompt.system,
        "user": prompt.user_text,
    }


def _chosen(known: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Return the prompts of a role, or the one of a name.

    Raises:
        UnknownName: There is none.
    """
    chosen = [each for each in known if name in each["roles"]] or [
        each for each in known if each["name"] == name
    ]
    if not chosen:
        raise UnknownName(
            "No such prompt",
            f"There is no prompt and no role {name!r}.",
            f"Prompts: {', '.join(each['name'] for each in known)}.",
        )
    return chosen


def _export(names: list[str], folder: Path, *, overwrite: bool) -> list[Path]:
    """Write our prompts to files, all or none.

    Raises:
        WorkbenchError: Files are there already, or the folder cannot be written.
    """
    from agents.prompts import prompt_text

    files = {folder / f"{name}.txt": prompt_text(name) for name in names}
    there = [str(path) for path in files if path.exists()]
    if there and not overwrite:
        raise WorkbenchError(
            "Files are there",
            f"Nothing was written, since these are there: {', '.join(there)}.",
            "Give another folder, or replace them: --overwrite.",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise WorkbenchError(
            "Prompts not written",
            f"{error.filename or folder}: {error.strerror or error}.",
            "Give another folder.",
        ) from error
    return list(files)
