"""`workbench search`: the functions of a repository that answer a query."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.options import Answer, ConfigFile, command, settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.code_search.searching import SearchResult
    from agents.repositories.reading import Repository

Encoder = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="E",
        help="The model that compares texts: minilm, another one of `candidates --models`, or bm25 for none.",
    ),
]
RepositoryPlace = Annotated[
    str,
    typer.Argument(
        metavar="REPO|GIT_URL[@REF]",
        help="A folder, an archive, or a git URL; with @ a branch, tag or commit.",
        show_default=False,
    ),
]


@command
def search_command(
    repository: RepositoryPlace,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the code does, in words.")],
    *,
    encoder: Encoder = None,
    top: Annotated[int, typer.Option("--top", min=1, max=1000, metavar="N", help="So many results.")] = 10,
    config: ConfigFile = None,
) -> Answer:
    """Find the functions that answer a query: `workbench search . "where are retries counted"`."""
    from agents.code_search.searching import check_query, method_without_model, search_by_query
    from agents.repositories.reading import read_repository
    from agents.repositories.units import has_units, units_in
    from agents.retrieval.methods import open_retriever
    from workbench.cli.progress_reporter import progress_of_work
    from workbench.output import Bar

    began = time.monotonic()
    words = check_query(query)
    loaded = settings(config)
    method = method_without_model(encoder)
    retriever = open_retriever(method, loaded.retrieval, loaded.models)
    read = read_repository(repository, has_units)
    units = units_in(read)
    with Bar("searching") as bar:
        found = search_by_query(units, words, retriever, top, progress_of_work(bar))
    fields = {
        "query": words,
        "augmented": None,
        "repository": read.name,
        "commit": read.commit or None,
        "units": len(units),
        "results": _results_as_json(found),
        "requests": 0,
        "cost": 0.0,
        "seconds": round(time.monotonic() - began, 3),
    }
    notes = [
        f"Without a model the query itself is compared ({method.replace('+', ' and ')}): no code is written "
        "for it.",
        *read.sentences(),
    ]
    return Answer(fields, lambda: _print(read, len(units), found), notes=notes)


def _results_as_json(found: Sequence[SearchResult]) -> list[dict[str, object]]:
    return [
        {
            "rank": rank,
            "path": one.unit.path,
            "line": one.unit.line,
            "end_line": one.unit.end_line,
            "name": one.unit.name,
            "kind": one.unit.kind,
            "score": one.score,
            "streams": one.streams,
        }
        for rank, one in enumerate(found, start=1)
    ]


def _print(repository: Repository, units: int, found: Sequence[SearchResult]) -> None:
    from store.formatting import pluralize
    from workbench.output import print_table, say

    at = f" @ {repository.commit[:7]}" if repository.commit else ""
    say(f"{repository.name}{at} · {pluralize(units, 'function or class', 'functions and classes')}")
    if not found:
        say("Nothing has a word of the query.")
        return
    rows = [
        (rank, f"{one.score:.2f}", one.unit.name, f"{one.unit.path}:{one.unit.line}")
        for rank, one in enumerate(found, start=1)
    ]
    print_table(("", "score", "name", "where"), rows, wide=("name", "where"))
