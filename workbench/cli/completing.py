"""`workbench retrieve`: the cross-file context of completion tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.json_fields import json_fields
from store.policy.scope import Shows
from workbench.cli.options import Answer, ConfigFile, Workspace, command, session, settings
from workbench.cli.searching import carried_out

if TYPE_CHECKING:
    from agents.completions.context import ContextRetrieved


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
    return [*lines, f"Read it: workbench {workspace}"]
