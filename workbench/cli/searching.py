"""`workbench search`: the functions of a repository that answer a query."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from store.errors import UnknownName, WorkbenchError
from workbench.cli.exchange import workspace_for_import
from workbench.cli.options import Answer, ConfigFile, command, given_rater, in_shell, names_in, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agents.code_search.findings import Findings
    from agents.code_search.multi_stream import SearchOptions
    from agents.jobs.work import Work
    from store.workspace.duckdb import Workspace as OpenWorkspace
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
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="M",
        help="The model that writes about the query and code for it, such as openai:NAME.",
    ),
]
Streams = Annotated[
    str | None,
    typer.Option("--streams", metavar="S,...", help="Some of query, code, classes, parts; with --model all."),
]
StreamQueryOption = Annotated[
    StreamQueryName,
    typer.Option("--stream-query", help="What the stream of the query compares: it, or the paragraph."),
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
    model: Model = None,
    encoder: Encoder = None,
    streams: Streams = None,
    stream_query: StreamQueryOption = StreamQueryName.original,
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
    from agents.code_search.searching import check_query
    from agents.code_search.work import CodeSearch, SearchRequest, absolute, search_without_model
    from workbench.cli.progress_reporter import progress_of_work
    from workbench.job_settings import work_settings
    from workbench.output import Bar

    loaded = settings(config)
    request = SearchRequest(
        absolute(repository),
        check_query(query),
        model or "",
        encoder or "",
        search_options(model, streams, stream_query, rank, paragraph),
        paragraph.strip(),
        top,
    )
    services = work_settings(loaded)
    work = CodeSearch(request, services, when_failing="end")
    if into is not None:
        with adding_to(into, loaded) as opened:
            found, code, notes = carried_out(opened, work)
            filed = _file(opened, into, found, top)
        return _answer(found, top, filed, code, notes)
    if model is not None:
        with workspace_for_a_while() as opened:
            found, code, notes = carried_out(opened, work)
        return _answer(found, top, code=code, notes=notes)
    with Bar("searching") as bar:
        return _answer(search_without_model(request, services, progress_of_work(bar)), top)


@dataclass(frozen=True, slots=True)
class _Filed:
    """What was added to a workspace, what was there, and what is said of it."""

    added: int
    known: int
    said: Sequence[str]


def carried_out(
    opened: OpenWorkspace,
    work: Work,
    doing: str = "searching",
    has_kept: Callable[[Any], bool] = lambda _: False,
) -> tuple[Any, int, list[str]]:
    """Carry a work out.

    Args:
        opened: The open workspace.
        work: The work.
        doing: What it does, beside its progress.
        has_kept: Whether something of its result is in the workspace, so that an error does not hide it.

    Returns:
        Its result, the exit code, and what stopped it early.

    Raises:
        WorkbenchError: It could not begin, or failed.
    """
    from agents.jobs.runner import run_work
    from store.workspace.serving import serving
    from workbench.cli.progress_reporter import ProgressReporter
    from workbench.output import Bar
    from workbench.signals import code_when_stopped, raise_if_stopped

    with serving(opened), Bar(doing) as bar:
        job = run_work(opened, work, ProgressReporter(bar), check=raise_if_stopped)
    found = job.result()
    if job.state == "stopped" and job.used_up is not None:
        more = f"More of it is agents.budget.{job.used_up.option} in the configuration."
        return found, job.used_up.exit_code, [f"{job.used_up.message} {more}"]
    if job.state == "stopped":
        return found, code_when_stopped(), ["Stopped. This was found until then."]
    if job.error is not None:
        paid = job.progress is not None and job.progress.spent.requests
        if not paid and (found is None or not has_kept(found)):
            raise job.error
        # What was paid for is kept and shown, whatever failed after that.
        return found, job.error.exit_code, [str(job.error)]
    return found, 0, []


def _answer(
    found: Findings, top: int, filed: _Filed | None = None, code: int = 0, notes: Sequence[str] = ()
) -> Answer:
    return Answer(
        found.as_json(top) | ({} if filed is None else {"filed": filed.added, "known": filed.known}),
        partial(_print, found, top),
        *([] if filed is None else filed.said),
        code=code,
        notes=[*found.notes, *notes],
    )


@contextmanager
def workspace_for_a_while() -> Iterator[OpenWorkspace]:
    """Make a workspace that goes at the end: a work, with its budget and its stop, needs one."""
    from store.workspace.duckdb import Workspace

    with (
        tempfile.TemporaryDirectory(prefix="workbench-search-") as folder,
        Workspace.create(Path(folder, "search.duckdb")) as opened,
    ):
        yield opened


@contextmanager
def adding_to(
    path: Path, loaded: Config, what: str = "Pairs are added", who: str = "A search that adds pairs uses"
) -> Iterator[OpenWorkspace]:
    """Open the workspace to which something is added; one is made where there is none.

    `what` and `who` begin the sentences by which it is refused.

    Raises:
        HiddenData: The session is sealed.
        WorkspaceError: It is open elsewhere, or a packet.
    """
    from store.policy.refusal import refuse, refuse_packet
    from store.policy.scope import Shows
    from workbench.study_session import viewer

    with workspace_for_import(path, dry_run=False) as opened:
        refuse_packet(opened, what)
        with opened.reading() as connection:
            asking = viewer(connection, loaded, given_rater(None))
            refuse(connection, asking, Shows.WHOLE, who)
        yield opened


def _file(opened: OpenWorkspace, path: Path, found: Findings, top: int) -> _Filed:
    """Add what was found as pairs to a workspace.

    What was found is printed all the same where they cannot be added.
    """
    from agents.code_search.filing import file_pairs, not_run, source_of
    from store.formatting import pluralize

    if not found.results:
        return _Filed(0, 0, [f"No pair was added; the search is kept in {path}."])
    try:
        report = file_pairs(opened, found, range(1, top + 1))
    except WorkbenchError as error:
        return _Filed(0, 0, [f"No pair was added. {error.title}: {error.message} {error.hint}"])
    added, known = report.items_added, report.items_known
    said = [f"{pluralize(added, 'pair')} added to {path}, {known:,} already there."]
    if others := not_run(found.results[:top]):
        said.append(others)
    said.append(f"The agents label them: {in_shell('annotate', path, '--source', source_of(found))}")
    return _Filed(added, known, said)


def search_options(
    model: str | None,
    streams: str | None,
    stream_query: StreamQueryName,
    rank: RankName = RankName.cosine,
    paragraph: str = "",
) -> SearchOptions:
    """Return how streams are searched.

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
    return SearchOptions(("query",))


def _print(found: Findings, top: int) -> None:
    from store.formatting import dollars, pluralize
    from workbench.output import print_table, say

    parts = [pluralize(found.units, "function or class", "functions and classes"), found.compared]
    if found.model:
        parts.append(found.model)
        parts += [pluralize(found.requests, "request")] if found.requests else []
        parts += [dollars(found.cost)] if found.requests and found.cost is not None else []
    say(f"{found.place} · {' · '.join(parts)}")
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
            *([" ".join(one.streams)] if found.model else []),
        )
        for rank, one in enumerate(found.results[:top], start=1)
    ]
    streams = ("streams",) if found.model else ()
    print_table(("", "score", "name", "where", *streams), rows, wide=("name", "where"))
