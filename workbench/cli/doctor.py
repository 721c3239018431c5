"""`workbench doctor`: checks the installation and prints the origin of every setting."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from store.json_fields import json_fields
from workbench.cli.options import Answer, ConfigFile, command, given_config, given_rater


@command
def doctor_command(
    workspace: Annotated[
        Path | None, typer.Argument(help="A workspace to check as well.", show_default=False)
    ] = None,
    config: ConfigFile = None,
) -> Answer:
    """Check sandboxes, API keys, terminal, configuration, plug-ins, and a workspace.

    Ends with exit code 1 when something is wrong.
    """
    from workbench.diagnosis import diagnose

    facts = diagnose(given_config(config))
    facts["workspace"] = None
    if workspace is not None:
        from store.policy.refusal import refuse
        from store.policy.scope import Scope, Shows
        from store.queries.health import health
        from store.workspace.duckdb import Workspace
        from workbench.study_session import known_rater

        with Workspace.open(workspace) as opened:
            with opened.reading() as connection:
                # The configuration may be what is wrong, so that the rater is not asked of it.
                for name in filter(None, (facts["rater"], given_rater(None))):
                    asking = Scope(known_rater(connection, name))
                    refuse(connection, asking, Shows.WHOLE, "The check of a workspace shows")
            facts["workspace"] = json_fields(health(opened))
        facts["problems"] += facts["workspace"]["problems"]
    return Answer(facts, partial(_print, facts), code=1 if facts["problems"] else 0)


def _print(facts: dict[str, Any]) -> None:
    from workbench.output import harmless, print_facts, print_table, say

    print_facts(
        "Program",
        [(name, facts[name]) for name in ("workbench", "python", "platform")]
        + [("rater", facts["rater"] or "none")],
    )
    print_facts(
        "\nTerminal", [(name.replace("_", " "), _word(value)) for name, value in facts["terminal"].items()]
    )
    print_facts(
        "\nKeys of services", [(name, value or "not set") for name, value in facts["keys_set"].items()]
    )
    print_facts(
        "\nSandboxes",
        [
            (
                box["name"],
                f"{'✓ works' if box['works'] else '✗ does not work'}: {box['detail']} {box['hint']}",
            )
            for box in facts["sandboxes"]
        ],
    )
    if facts["workspace"]:
        from store.formatting import pluralize

        found = facts["workspace"]
        rows = ", ".join(f"{table} {count:,}" for table, count in found["rows"].items() if count)
        print_facts(
            f"\nWorkspace {found['path']}",
            [
                ("size", pluralize(found["bytes"], "byte")),
                ("schema", f"{found['schema']} of {found['newest_schema']}"),
                ("rows", rows or "none"),
                ("journal", found["journal"] or "none yet"),
            ],
        )
    configuration = facts["configuration"]
    say(
        "",
        harmless(
            f"Configuration {configuration['file']}" + ("" if configuration["found"] else " (no such file)")
        ),
    )
    print_table(
        ("setting", "value", "from"),
        [(one["name"], one["value"], one["origin"]) for one in configuration["settings"]],
        wide=("value",),
    )
    for name in configuration["unread_variables"]:
        say(f"The variable {name} is no setting of this program.")
    say("", "Plug-ins")
    print_table(
        ("group", "name", "from", "package", "state"),
        [
            (group, one["name"], one["value"], one["package"], one["error"] or "loads")
            for group, found in facts["registered"].items()
            for one in found
        ],
        wide=("state",),
    )
    say("", "Kinds of work")
    print_table(
        ("kind", "items", "parts", "questions"),
        [
            (one["name"], one["items"], ", ".join(one["parts"]), ", ".join(one["questions"]))
            for one in facts["kinds"]
        ],
        wide=("questions",),
    )
    say("", "Actions and their keys (change them under [screens.keys])")
    print_table(
        ("action", "keys", "what it does"),
        [
            (one["id"], ", ".join(one["keys"]) + (" (changed)" if one["changed"] else ""), one["help"])
            for one in facts["actions"]
        ],
        wide=("what it does",),
    )
    say(
        "",
        *(f"! {note}" for note in (facts["workspace"] or {}).get("notes", ())),
        *(f"✗ {problem}" for problem in facts["problems"]),
        *([] if facts["problems"] else ["✓ No problems found."]),
    )


def _word(value: object) -> object:
    return {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value
