"""`workbench collect`: repositories and issues of GitHub."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import Answer, ConfigFile, command, settings
from workbench.cli.searching import adding_to, carried_out, workspace_for_a_while

collect_commands = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


class LabelRuleName(StrEnum):
    """What it means for an issue to have a label with feat, bug, fix or error."""

    leave_out = "leave-out"
    require = "require"
    any = "any"


class CollectedLanguage(StrEnum):
    """The languages of CoReQA."""

    python = "python"
    java = "java"
    go = "go"
    typescript = "typescript"


@collect_commands.callback()
def collect_command() -> None:
    """Collect repositories and issues of GitHub, of which questions are made (CoReQA)."""


@collect_commands.command("issues", short_help="Collect closed issues as questions about repositories.")
@command
def collect_issues(
    workspace: Annotated[
        Path,
        typer.Argument(
            metavar="WORKSPACE",
            help="The workspace that gets the questions; made if needed.",
            show_default=False,
        ),
    ],
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="OWNER/REPO|FILE...",
            help="Repositories on GitHub; files of issues and comments; a file of `collect repositories`.",
            show_default=False,
        ),
    ],
    *,
    labels: Annotated[
        LabelRuleName,
        typer.Option("--labels", help="Issues with a label with feat, bug, fix or error in its name."),
    ] = LabelRuleName.leave_out,
    positive: Annotated[
        int, typer.Option("--positive", min=0, metavar="N", help="Positive comments that an issue needs.")
    ] = 3,
    most: Annotated[
        int, typer.Option("--most", min=1, metavar="N", help="Issues of a repository, drawn by --seed.")
    ] = 300,
    seed: Annotated[int, typer.Option("--seed", help="Of the draw.")] = 0,
    config: ConfigFile = None,
) -> Answer:
    """Collect closed issues with code and positive comments: `workbench collect issues WS OWNER/REPO`.

    GitHub's limits are waited out; with GITHUB_TOKEN it takes 5,000 requests an hour. What is stopped goes on
    when it is run again. No user name is stored.
    """
    from agents.collection.issues import IssueCollection, IssueRequest, given_sources
    from agents.collection.rules import IssueRules
    from workbench.job_settings import work_settings

    loaded = settings(config)
    rules = IssueRules(labels.value, positive, most, seed)
    request = IssueRequest(given_sources(sources), rules)
    work = IssueCollection(request, work_settings(loaded))
    with adding_to(workspace, loaded, "Questions are added", "A collection of issues uses") as opened:
        found, code, notes = carried_out(
            opened,
            work,
            "collecting",
            lambda made: any(one.added or one.known for one in made.sources.values()),
        )
    return Answer(
        {"workspace": workspace, **found.as_json()},
        *found.sentences(),
        *(
            [f"Write questions of them: workbench write-questions {workspace}"]
            if found.total("questions")
            else []
        ),
        code=code,
        notes=notes,
    )


@collect_commands.command("repositories", short_help="Find repositories of GitHub with many closed issues.")
@command
def collect_repositories(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="The file that gets GitHub's objects, one a line.", show_default=False
        ),
    ],
    *,
    language: Annotated[
        CollectedLanguage,
        typer.Option("--language", help="The language of the repositories.", show_default=False),
    ],
    top: Annotated[
        int,
        typer.Option(
            "--top", min=1, max=1000, metavar="N", help="Look at the N with a licence and most stars."
        ),
    ] = 500,
    fewest_closed: Annotated[
        int,
        typer.Option(
            "--fewest-closed", min=0, metavar="N", help="Closed issues and pull requests, at least."
        ),
    ] = 1_000,
    most_closed: Annotated[
        int,
        typer.Option("--most-closed", min=0, metavar="N", help="Closed issues and pull requests, at most."),
    ] = 50_000,
    tokens: Annotated[
        int,
        typer.Option("--tokens", min=1, metavar="N", help="What parts large from small: characters / 4."),
    ] = 200_000,
    above: Annotated[
        int, typer.Option("--above", min=0, metavar="N", help="So many large ones, drawn by --seed.")
    ] = 50,
    below: Annotated[
        int, typer.Option("--below", min=0, metavar="N", help="So many small ones, drawn by --seed.")
    ] = 5,
    repositories: Annotated[
        Path | None,
        typer.Option(
            "--repositories",
            metavar="DIR",
            help="Count the characters of repositories that are in this folder; of others GitHub's bytes.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the draw.")] = 0,
    config: ConfigFile = None,
) -> Answer:
    """Find repositories with many closed issues: `workbench collect repositories OUT --language python`.

    What is stopped goes on when it is run again.
    """
    from agents.code_search.work import absolute
    from agents.collection.repositories import RepositoryCollection, RepositoryRequest
    from store.errors import ExportFailed
    from workbench.job_settings import work_settings

    if out.exists():
        raise ExportFailed("File exists", f"{out} is already there.", "Choose another name.")
    request = RepositoryRequest(
        language.value,
        top,
        fewest_closed,
        most_closed,
        tokens,
        above,
        below,
        seed,
        "" if repositories is None else absolute(str(repositories)),
    )
    work = RepositoryCollection(request, out, work_settings(settings(config)))
    with workspace_for_a_while() as opened:
        found, code, notes = carried_out(opened, work, "collecting")
    written = [f"Collect their issues: workbench collect issues WORKSPACE {out}"] if out.exists() else []
    return Answer({"file": out, **found.as_json()}, *found.sentences(), *written, code=code, notes=notes)
