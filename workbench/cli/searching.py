"""`workbench search`: the functions of a repository that answer a query."""

from __future__ import annotations

import shlex
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import UnknownName, WorkbenchError
from workbench.cli.exchange import workspace_for_import
from workbench.cli.options import Answer, ConfigFile, command, given_rater, names_in, settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agents.code_search.agents import Augmented
    from agents.code_search.index import Compare
    from agents.code_search.multi_stream import SearchOptions
    from agents.code_search.searching import SearchResult
    from agents.jobs.work_progress import ReportWork
    from agents.repositories.reading import Repository
    from agents.repositories.units import Unit
    from store.workspace.duckdb import Workspace
    from workbench.config import Config


class StreamQueryName(StrEnum):
    """What the stream of the query compares."""

    original = "original"
    augmented = "augmented"


class RankName(StrEnum):
    """By what the union of the streams is ranked."""

    cosine = "cosine"
    model = "model"


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
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="M",
            help="The model that writes about the query and code for it, such as openai:NAME.",
        ),
    ] = None,
    encoder: Encoder = None,
    streams: Annotated[
        str | None,
        typer.Option(
            "--streams", metavar="S,...", help="Some of query, code, classes, parts; with --model all."
        ),
    ] = None,
    stream_query: Annotated[
        StreamQueryName,
        typer.Option("--stream-query", help="What the stream of the query compares: it, or the paragraph."),
    ] = StreamQueryName.original,
    rank: Annotated[
        RankName, typer.Option("--rank", help="By the best cosine, or by a model that reads what was found.")
    ] = RankName.cosine,
    paragraph: Annotated[
        str, typer.Option("--paragraph", metavar="TEXT", help="A paragraph about the query, instead of one.")
    ] = "",
    top: Annotated[int, typer.Option("--top", min=1, max=1000, metavar="N", help="So many results.")] = 10,
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="WORKSPACE", help="Add the results as pairs to label to a workspace."),
    ] = None,
    config: ConfigFile = None,
) -> Answer:
    """Find the functions that answer a query: `workbench search . "where are retries counted"`.

    With a model by the streams of RepoRift: a paragraph about the query, code for it, and what is near.
    """
    from agents.code_search.library import is_document
    from agents.code_search.searching import check_query, default_encoder, search_by_query, with_words
    from agents.repositories.reading import read_repository
    from agents.repositories.units import has_units, units_in
    from agents.retrieval.methods import open_retriever
    from workbench.cli.progress_reporter import progress_of_work
    from workbench.output import Bar

    began = time.monotonic()
    words = check_query(query)
    loaded = settings(config)
    options = _options(model, streams, stream_query, rank, paragraph)
    if into is not None and into.exists():
        with _adding_to(into, loaded):
            pass  # refused before anything is searched
    read = read_repository(
        repository, has_units if model is None else lambda path: has_units(path) or is_document(path)
    )
    units = units_in(read)
    with Bar("searching") as bar:
        report = progress_of_work(bar)
        if model is None or options is None:
            method = with_words(encoder or default_encoder())
            retriever = open_retriever(method, loaded.retrieval, loaded.models)
            named = method.replace("+", " and ")
            note = f"Without a model the query itself is compared ({named}): no code is written for it."
            found = _Found(search_by_query(units, words, retriever, top, report), method, [note])
        else:
            compare = _comparing(loaded, encoder, report)
            found = _by_streams(
                loaded,
                model,
                compare,
                read=read,
                units=units,
                query=words,
                options=options,
                paragraph=paragraph.strip(),
            )
    found = replace(found, results=found.results[:top])
    filed = None if into is None or not found.results else _file(into, loaded, words, read, found)
    augmented = found.augmented
    fields = {
        "query": words,
        "augmented": None if augmented is None else augmented.paragraph,
        "sources": [] if augmented is None else [asdict(one) for one in augmented.sources],
        "repository": read.name,
        "commit": read.commit or None,
        "units": len(units),
        "results": _results_as_json(found.results),
        "requests": found.requests,
        "cost": found.money,
        "seconds": round(time.monotonic() - began, 3),
    }
    return Answer(
        fields | ({} if filed is None else {"filed": filed.added, "known": filed.known}),
        partial(_print, read, len(units), found),
        *([] if filed is None else filed.said),
        notes=[*found.notes, *read.sentences()],
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What a search found, and what it took.

    Attributes:
        compared: By what texts were compared.
        model: The model that wrote what was compared; empty for none.
    """

    results: Sequence[SearchResult]
    compared: str
    notes: Sequence[str]
    model: str = ""
    augmented: Augmented | None = None
    requests: int = 0
    money: float | None = 0.0


@dataclass(frozen=True, slots=True)
class _Filed:
    """What was added to a workspace, what was there, and what is said of it."""

    added: int
    known: int
    said: Sequence[str]


@contextmanager
def _adding_to(path: Path, loaded: Config) -> Iterator[Workspace]:
    """Open the workspace to which pairs are added; one is made where there is none.

    Raises:
        HiddenData: The session is sealed.
        WorkspaceError: It is open elsewhere, or a packet.
    """
    from store.policy.refusal import refuse, refuse_packet
    from store.policy.scope import Shows
    from workbench.study_session import viewer

    with workspace_for_import(path, dry_run=False) as opened:
        refuse_packet(opened, "Pairs are added")
        with opened.reading() as connection:
            asking = viewer(connection, loaded, given_rater(None))
            refuse(connection, asking, Shows.WHOLE, "A search that adds pairs uses")
        yield opened


def _file(path: Path, loaded: Config, query: str, read: Repository, found: _Found) -> _Filed:
    """Add what was found as pairs to a workspace.

    What was found is printed all the same where it cannot be, as when somebody has opened it meanwhile.
    """
    from agents.code_search.filing import file_pairs, source_of
    from store.formatting import pluralize

    try:
        with _adding_to(path, loaded) as opened:
            report = file_pairs(opened, query, read, found.results, found.compared)
    except WorkbenchError as error:
        return _Filed(0, 0, [f"No pair was added. {error.title}: {error.message} {error.hint}"])
    added, known = report.items_added, report.items_known
    said = [f"{pluralize(added, 'pair')} added to {path}, {known:,} already there."]
    if languages := {one.unit.language for one in found.results} - {"python"}:
        others = " and ".join(sorted(languages))
        said.append(f"Programs in {others} are not run: agents without execution and experts label them.")
    command = ["workbench", "annotate", str(path), "--source", source_of(read)]
    said.append(f"The agents label them: {shlex.join(command)}")
    return _Filed(added, known, said)


def _options(
    model: str | None, streams: str | None, stream_query: StreamQueryName, rank: RankName, paragraph: str
) -> SearchOptions | None:
    """Return how streams are searched; None without a model.

    Raises:
        WorkbenchError: A stream is unknown, or needs a model.
    """
    from agents.code_search.multi_stream import SearchOptions
    from agents.code_search.streams import STREAMS

    names = STREAMS if streams is None else names_in(streams)
    if unknown := [name for name in names if name not in STREAMS]:
        raise UnknownName(
            "Unknown stream", f"There is no stream {unknown[0]}.", f"Streams: {', '.join(STREAMS)}."
        )
    chosen = tuple(name for name in STREAMS if name in names)
    if model is not None and chosen:
        return SearchOptions(chosen, stream_query.value, rank.value)
    needs = paragraph or (streams is not None and chosen != ("query",))
    if needs or stream_query is not StreamQueryName.original or rank is not RankName.cosine:
        raise WorkbenchError(
            "No model" if model is None else "No stream",
            "Only the query itself can be compared without a model.",
            "Name one: --model openai:NAME, or leave --streams, --stream-query, --rank and --paragraph out.",
        )
    return None


def _comparing(loaded: Config, encoder: str | None, report: ReportWork) -> tuple[str, Compare]:
    """Return what compares texts, with its name: an encoder, or BM25."""
    from agents.code_search.index import ByVectors, ByWords
    from agents.code_search.searching import LEXICAL, default_encoder
    from agents.retrieval.encoders import open_encoders
    from agents.retrieval.methods import retriever_named
    from agents.retrieval.vectors import VectorCache

    name = encoder or default_encoder()
    if name == LEXICAL:
        return name, ByWords(retriever_named(LEXICAL))
    (opened,) = open_encoders([name], batch_size=loaded.retrieval.batch_size, api=loaded.models)
    return opened.name, ByVectors(opened, VectorCache(loaded.retrieval.folder), report)


def _by_streams(
    loaded: Config,
    model: str,
    compare: tuple[str, Compare],
    *,
    read: Repository,
    units: Sequence[Unit],
    query: str,
    options: SearchOptions,
    paragraph: str,
) -> _Found:
    """Search by the streams, with a model."""
    import asyncio

    from agents.code_search.asking import PlainAsk
    from agents.code_search.index import UnitIndex
    from agents.code_search.library import Library
    from agents.code_search.multi_stream import MultiStreamSearch
    from agents.code_search.searching import functions_in
    from agents.code_search.web import look_up_web
    from agents.llm.registry import open_model

    functions_in(units)
    encoder, nearest = compare
    asked = open_model(model, loaded.models)
    ask = PlainAsk(asked, loaded.models, query)
    address = loaded.search.web
    library = Library(read, units, nearest, None if address is None else partial(look_up_web, address))
    search = MultiStreamSearch(UnitIndex(units, nearest), query, read.name, ask, library.page, options)

    async def run() -> Sequence[SearchResult]:
        try:
            return await search.run(paragraph)
        finally:
            await asked.close()

    results = asyncio.run(run())
    notes = [*search.notes, *library.notes]
    return _Found(results, encoder, notes, asked.name, search.augmented, ask.requests, ask.money)


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


def _print(read: Repository, units: int, found: _Found) -> None:
    from store.formatting import dollars, pluralize
    from workbench.output import print_table, say

    at = f" @ {read.commit[:7]}" if read.commit else ""
    spent = [pluralize(found.requests, "request")] if found.requests else []
    spent += [dollars(found.money)] if found.requests and found.money is not None else []
    parts = [pluralize(units, "function or class", "functions and classes"), found.compared]
    parts += [found.model] * bool(found.model) + spent
    say(f"{read.name}{at} · {' · '.join(parts)}")
    if found.augmented is not None:
        say("", found.augmented.paragraph)
        say(*(f"  read: {source.place}" for source in found.augmented.sources), "")
    if not found.results:
        say("Nothing has a word of the query.")
        return
    rows = [
        (
            rank,
            f"{one.score:.2f}",
            one.unit.name,
            f"{one.unit.path}:{one.unit.line}",
            *([" ".join(one.streams)] if found.requests else []),
        )
        for rank, one in enumerate(found.results, start=1)
    ]
    streams = ("streams",) if found.requests else ()
    print_table(("", "score", "name", "where", *streams), rows, wide=("name", "where"))
