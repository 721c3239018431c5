"""`workbench construct` and `retrieve`: completion tasks, and the context of tasks and questions."""

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
    from collections.abc import Sequence

    from agents.completions.context import ContextRetrieved
    from agents.questions.context import QuestionContextRetrieved


class CursorName(StrEnum):
    """Where the cursor of a task is."""

    drawn = "drawn"
    name = "name"


class ContextKind(StrEnum):
    """Items that get context."""

    completion = "completion"
    answer = "answer"


class CutName(StrEnum):
    """Where the files of a repository are cut."""

    separators = "separators"
    definitions = "definitions"


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
            help="The folder with the repositories: folders or archives OWNER/NAME, NAME, OWNER__NAME or "
            "OWNER-NAME-COMMIT.",
            show_default=False,
        ),
    ],
    retriever: Annotated[
        str,
        typer.Option(
            "--retriever",
            metavar="R",
            help="bm25, or a model of `candidates --models`: unixcoder, minilm, openai:NAME, LAYOUT=FOLDER; "
            "of questions also repository, for all of its files.",
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
            help="Of tasks: search with the reference, too; an upper bound, which models cannot reach.",
        ),
    ] = False,
    cut: Annotated[
        CutName,
        typer.Option(
            "--cut", help="Of questions: cut files at separators of their language, or definitions."
        ),
    ] = CutName.separators,
    chunk_size: Annotated[
        int,
        typer.Option(
            "--chunk-size", min=50, max=100_000, metavar="N", help="Of questions: characters of a chunk."
        ),
    ] = 2_000,
    overlap: Annotated[
        int,
        typer.Option("--overlap", min=0, metavar="N", help="Of questions: characters that two chunks share."),
    ] = 200,
    window: Annotated[
        int,
        typer.Option(
            "--window", min=1, metavar="N", help="Of a whole repository: at most N tokens, of 4 characters."
        ),
    ] = 200_000,
    kind: Annotated[
        ContextKind | None,
        typer.Option(
            "--kind", help="Of which items, where there are both: completion, or answer for questions."
        ),
    ] = None,
    config: ConfigFile = None,
) -> Answer:
    """Retrieve the context of completion tasks, or of repository questions, from their repositories.

    For a task the 5 chunks of 10 lines are kept that follow those most similar to the 10 lines before the
    cursor; for a question the best 10 chunks, half for its words and half for its code. What is stopped goes
    on when it is run again: `workbench retrieve WS --repositories DIR --retriever bm25 --setting bm25`.
    """
    from agents.code_search.work import absolute
    from agents.completions.context import ContextRequest, ContextRetrieval
    from agents.questions.context import QuestionContextRequest, QuestionContextRetrieval
    from store.analysis.labels import kinds_of_items
    from workbench.job_settings import work_settings

    if overlap >= chunk_size:
        raise WorkbenchError(
            "Too much overlap", f"--overlap {overlap} is not below --chunk-size {chunk_size}.", "Give less."
        )
    loaded = settings(config)
    place, services = absolute(str(repositories)), work_settings(loaded)
    with session(workspace, loaded, Shows.WHOLE, "A retrieval of context uses") as opened:
        with opened.reading() as connection:
            there = {one.name for one in kinds_of_items(connection)}
        if kind is None and there >= set(ContextKind):
            raise WorkbenchError(
                "Two kinds",
                f"{workspace} has completion tasks and repository questions.",
                "Say which: --kind completion, or --kind answer.",
            )
        if kind is None and not there & set(ContextKind):
            raise WorkbenchError(
                "No tasks",
                f"{workspace} has neither completion tasks nor repository questions.",
                "Import some: workbench import WORKSPACE FILE",
            )
        chosen = kind or (ContextKind.completion if ContextKind.completion in there else ContextKind.answer)
        if chosen == ContextKind.answer:
            asked = QuestionContextRequest(
                place, retriever, setting.strip(), cut.value, chunk_size, overlap, window
            )
            found, code, notes = carried_out(opened, QuestionContextRetrieval(asked, services), "retrieving")
            lines = _question_lines(found, workspace)
        else:
            request = ContextRequest(place, retriever, setting.strip(), with_reference)
            found, code, notes = carried_out(opened, ContextRetrieval(request, services), "retrieving")
            lines = _lines(found, workspace)
    nothing = not (found.retrieved or found.known)
    return Answer(
        {"workspace": workspace, **json_fields(found)}, *lines, code=code or int(nothing), notes=notes
    )


def _question_lines(found: QuestionContextRetrieved, workspace: Path) -> list[str]:
    from store.formatting import pluralize

    before = f", {found.known:,} had it before" if found.known else ""
    lines = [
        f"{pluralize(found.items, 'question')}: context of {found.retrieved:,} by {found.retriever}, "
        f"under {found.setting}{before}."
    ]
    if found.recall is not None:
        lines.append(
            f"  reference answers that name files of the repository: {found.with_files:,}; for "
            f"{found.hits:,} a chunk is from one of these files, recall {found.recall:.3f}"
        )
    lines += [f"  without: {count:,}, {why}" for why, count in sorted(found.left_out.items())]
    return [*lines, *_missing(found.missing), *_read_it(found, workspace)]


def _missing(names: Sequence[str]) -> list[str]:
    from agents.repositories.files import looked_for

    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return [f"  not found: {', '.join(names[:_NAMED])}{more}", f"  {looked_for(names[0])}"] if names else []


def _read_it(found: QuestionContextRetrieved | ContextRetrieved, workspace: Path) -> list[str]:
    return [f"Read it: workbench {workspace}"] if found.retrieved or found.known else []


def _lines(found: ContextRetrieved, workspace: Path) -> list[str]:
    from store.formatting import pluralize

    of = pluralize(found.tasks, "task")
    before = f", {found.known:,} had it before" if found.known else ""
    lines = [f"{of}: context of {found.retrieved:,} by {found.retriever}, under {found.setting}{before}."]
    lines += [f"  without: {count:,}, {why}" for why, count in sorted(found.left_out.items())]
    lines += _missing(found.missing)
    lines += [f"  {name} was read as it is on disk: {why}" for name, why in found.on_disk.items()]
    return [*lines, *_read_it(found, workspace)]


_NAMED = 5
"""Repositories that are named of those that were not found."""
