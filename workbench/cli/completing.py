"""`workbench construct` and `retrieve`: completion tasks, and their cross-file context."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import WorkbenchError
from store.json_fields import json_fields
from store.policy.scope import Shows
from workbench.cli.measuring import CodeLanguage
from workbench.cli.options import Answer, ConfigFile, Workspace, command, session, settings
from workbench.cli.searching import adding_to, carried_out

if TYPE_CHECKING:
    from agents.completions.context import ContextRetrieved


class CursorName(StrEnum):
    """Where the cursor of a task is."""

    drawn = "drawn"
    name = "name"


class ConstructPreset(StrEnum):
    """Conditions on repositories."""

    crosscodeeval = "crosscodeeval"


@command
def construct_command(
    workspace: Annotated[
        Path,
        typer.Argument(
            metavar="WORKSPACE", help="The workspace that gets the tasks; made if needed.", show_default=False
        ),
    ],
    repositories: Annotated[
        list[str],
        typer.Argument(
            metavar="REPO...",
            help="Folders, archives or git URLs; after a clone or a URL, @ and a branch, tag or commit.",
            show_default=False,
        ),
    ],
    *,
    language: Annotated[
        CodeLanguage,
        typer.Option("--language", help="The language of the tasks.", show_default=False),
    ],
    preset: Annotated[
        ConstructPreset | None,
        typer.Option("--preset", help="Leave out repositories that CrossCodeEval would: by their files."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of what is drawn.")] = 0,
    cursor: Annotated[
        CursorName,
        typer.Option("--cursor", help="Before a token of the line up to the name, or before the name."),
    ] = CursorName.drawn,
    tokenizer: Annotated[
        Path | None,
        typer.Option("--tokenizer", metavar="FILE", help="Count by this tokenizer.json, not by words."),
    ] = None,
    longest_string: Annotated[
        int | None,
        typer.Option(
            "--longest-string",
            min=1,
            metavar="N",
            help="Leave out references with a string of more characters.",
        ),
    ] = None,
    drop_predictable: Annotated[
        str | None,
        typer.Option(
            "--drop-predictable",
            metavar="MODEL",
            help="Leave out tasks that this model completes without another file, as `complete --model`.",
        ),
    ] = None,
    github: Annotated[
        Path | None,
        typer.Option(
            "--github",
            metavar="FILE",
            help="GitHub's repository objects: leave out forks, other licences, fewer than 3 stars, 1 MB.",
        ),
    ] = None,
    created: Annotated[
        str | None,
        typer.Option(
            "--created",
            metavar="DAY..DAY",
            help="With --github: when repositories were created; 2023-03-05..2023-06-15 in the paper.",
        ),
    ] = None,
    hashes: Annotated[
        Path | None,
        typer.Option(
            "--hashes", metavar="FILE", help="Leave out repositories with a file whose SHA is in this list."
        ),
    ] = None,
    config: ConfigFile = None,
) -> Answer:
    """Construct completion tasks from repositories: `workbench construct WS shop --language python`.

    A task is a place that needs another file: there the imports of the repository, emptied, leave a name
    unknown. What is stopped goes on when it is run again.
    """
    from agents.code_search.work import absolute
    from agents.construction.selection import CREATED
    from agents.construction.work import NOT_READ, TAKEN, Construction, ConstructionRequest
    from workbench.job_settings import work_settings

    if created is not None and github is None:
        raise WorkbenchError(
            "Not known",
            "When a repository was created is in its object of GitHub.",
            "Give --github FILE, too.",
        )
    loaded = settings(config)
    request = ConstructionRequest(
        tuple(dict.fromkeys(map(absolute, repositories))),
        language.value,
        "" if preset is None else preset.value,
        seed,
        cursor.value,
        "" if tokenizer is None else absolute(str(tokenizer)),
        longest_string,
        drop_predictable or "",
        "" if github is None else absolute(str(github)),
        created or (CREATED if github is not None and preset is not None else ""),
        "" if hashes is None else absolute(str(hashes)),
    )
    work = Construction(request, work_settings(loaded))
    with adding_to(workspace, loaded, "Tasks are added", "A construction of tasks uses") as opened:
        found, code, notes = carried_out(
            opened, work, "constructing", lambda made: bool(made.added or made.known)
        )
    if not code and all(one.why in (NOT_READ, TAKEN) for one in found.repositories.values()):
        code = 2
    then = [f"Judge them: workbench {workspace}"] if found.total("tasks") else []
    return Answer(
        {"workspace": workspace, **found.as_json()}, *found.sentences(), *then, code=code, notes=notes
    )


@command
def retrieve_command(
    workspace: Workspace,
    *,
    repositories: Annotated[
        Path,
        typer.Option(
            "--repositories",
            metavar="DIR",
            help="The folder with the repositories: folders or archives OWNER/NAME, NAME or OWNER__NAME.",
            show_default=False,
        ),
    ],
    retriever: Annotated[
        str,
        typer.Option(
            "--retriever",
            metavar="R",
            help="bm25, or a model of `candidates --models`: unixcoder, minilm, openai:NAME, LAYOUT=FOLDER.",
            show_default=False,
        ),
    ],
    setting: Annotated[
        str,
        typer.Option(
            "--setting", metavar="NAME", help="The name under which the context is kept.", show_default=False
        ),
    ],
    with_reference: Annotated[
        bool,
        typer.Option(
            "--with-reference",
            help="Search with the reference, too: an upper bound, which models cannot reach.",
        ),
    ] = False,
    config: ConfigFile = None,
) -> Answer:
    """Retrieve the context of completion tasks, from the other files of their repositories.

    These are cut into chunks of 10 lines; those most similar to the 10 lines before the cursor are found, and
    the 5 chunks that follow them are kept. What is stopped goes on when it is run again:
    `workbench retrieve WS --repositories DIR --retriever bm25 --setting rg1_bm25`.
    """
    from agents.code_search.work import absolute
    from agents.completions.context import ContextRequest, ContextRetrieval
    from workbench.job_settings import work_settings

    loaded = settings(config)
    request = ContextRequest(absolute(str(repositories)), retriever, setting.strip(), with_reference)
    work = ContextRetrieval(request, work_settings(loaded))
    with session(workspace, loaded, Shows.WHOLE, "A retrieval of context uses") as opened:
        found, code, notes = carried_out(opened, work, "retrieving")
    fields = {"workspace": workspace, **json_fields(found)}
    return Answer(fields, *_lines(found, workspace), code=code, notes=notes)


def _lines(found: ContextRetrieved, workspace: Path) -> list[str]:
    from store.formatting import pluralize

    of = pluralize(found.tasks, "task")
    before = f", {found.known:,} had it before" if found.known else ""
    lines = [f"{of}: context of {found.retrieved:,} by {found.retriever}, under {found.setting}{before}."]
    lines += [f"  without: {count:,}, {why}" for why, count in sorted(found.left_out.items())]
    if found.missing:
        more = f" and {len(found.missing) - _NAMED:,} more" if len(found.missing) > _NAMED else ""
        lines.append(f"  not found: {', '.join(found.missing[:_NAMED])}{more}")
    lines += [f"  {name} was read as it is on disk: {why}" for name, why in found.on_disk.items()]
    return [*lines, f"Read it: workbench {workspace}"]


_NAMED = 5
"""Repositories that are named of those that were not found."""
