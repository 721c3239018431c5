"""`workbench evaluate`: how well methods do on a benchmark."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import ExportFailed, WorkbenchError, WorkspaceError
from store.json_fields import json_fields
from store.policy.scope import Shows
from workbench.cli.options import Answer, ConfigFile, command, names_in, session, settings
from workbench.cli.ranking import (
    ByQuery,
    Level,
    Measures,
    PresetName,
    PresetOption,
    Resamples,
    Seed,
    Tested,
    ranking_options,
    write_by_query,
)
from workbench.cli.rejected import says_rejected
from workbench.cli.searching import (
    Encoder,
    Model,
    StreamQueryName,
    StreamQueryOption,
    Streams,
    adding_to,
    carried_out,
    search_options,
    workspace_for_a_while,
)
from workbench.cli.study_options import Policy, TrueRater

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agents.retrieval.evaluation import Benchmark
    from agents.retrieval.retriever import Ranking, Retriever
    from agents.retrieval.unjudged import UnjudgedAdded
    from store.measures.ranking import Qrels, Run

RunOut = Annotated[
    Path | None,
    typer.Option("--run-out", metavar="FOLDER", help="Write the runs and the qrels in TREC's form."),
]

evaluate_commands = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


@evaluate_commands.callback()
def evaluate_command() -> None:
    """Evaluate methods on a benchmark."""


@evaluate_commands.command("retrieval", short_help="Measure methods that find codes for queries.")
@command
@says_rejected
def evaluate_retrieval(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="WS|FOLDER", help="A workspace with labelled pairs, or a BEIR folder.", show_default=False
        ),
    ],
    *,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            metavar="A,B,...",
            help="The methods: bm25, bow, minilm or other models; A+B for several together.",
        ),
    ],
    preset: PresetOption = PresetName.cosqa_plus,
    measures: Measures = None,
    level: Level = 1,
    part: Annotated[
        str | None,
        typer.Option(
            "--part", metavar="NAME", help="The part of a folder's qrels, or of --split; test by default."
        ),
    ] = None,
    rater: TrueRater = None,
    policy: Policy = None,
    question: Annotated[
        str | None,
        typer.Option(
            metavar="Q", help="The question of the labels: pair.match, or pair.relevance for grades."
        ),
    ] = None,
    split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only the items of this split, with its stored labels.")
    ] = None,
    delete: Annotated[
        bool,
        typer.Option("--delete", help="Delete the stored rankings of --methods; items and labels stay."),
    ] = False,
    pool: Annotated[
        int,
        typer.Option(
            "--pool",
            min=1,
            metavar="N",
            help="First codes of each method that are in the pool.",
        ),
    ] = 20,
    add_unjudged: Annotated[
        int | None,
        typer.Option(
            "--add-unjudged",
            min=1,
            max=1000,
            metavar="N",
            help="Add the pairs without a label among the first N codes of each method as items to label.",
        ),
    ] = None,
    run_out: RunOut = None,
    tested: Tested = None,
    bootstrap: Resamples = 1000,
    seed: Seed = 0,
    by_query: ByQuery = None,
    config: ConfigFile = None,
) -> Answer:
    """Rank the codes for judged queries: `workbench evaluate retrieval WS --methods bm25,bow --rater dana`.

    Labels come from pooled methods, so a code that nobody judged is no wrong one: see judged@10, the measures
    with _condensed, and those with a method left out of the pool.
    """
    from agents.retrieval.evaluation import rank_codes, read_beir, run_of
    from agents.retrieval.methods import open_retriever
    from store.measures.ranking import left_out_of_pool
    from store.measures.ranking_differences import ranking_differences
    from store.reports.ranking import differences_tables, left_out_table, score_fields, scores_tables
    from store.reports.value import Report, filled
    from workbench.cli.progress_reporter import MethodProgress, progress_of_work
    from workbench.output import Bar, note, print_report

    options = ranking_options(
        preset=preset,
        measures=measures,
        level=level,
        tested=tested,
        bootstrap=bootstrap,
        seed=seed,
        by_query=by_query,
    )
    names = list(names_in(methods))
    if not names:
        raise WorkbenchError("No method", "No method is named.", "Name some: --methods bm25,bow")
    if source.is_dir() and (delete or add_unjudged is not None):
        changes = "--delete deletes rankings from" if delete else "--add-unjudged adds items to"
        raise WorkbenchError(
            "No workspace",
            f"{source} is a BEIR folder; {changes} a workspace.",
            "Leave it out, or name a workspace.",
        )
    if delete:
        if any(given is not None for given in (add_unjudged, run_out, by_query)):
            raise WorkbenchError(
                "Delete or rank",
                "--delete ranks nothing: there is nothing to add to the items, or to write.",
                "Leave --add-unjudged, --run-out and --by-query out, or leave --delete out.",
            )
        return _delete(source, names, config)
    if run_out is not None:
        _check_empty(run_out)
    loaded = settings(config)
    with ExitStack() as stack:
        progress = MethodProgress(len(names), progress_of_work(stack.enter_context(Bar("ranking"))))
        retrievers = [open_retriever(name, loaded.retrieval, loaded.models) for name in names]
        called = [retriever.name for retriever in retrievers]
        if twice := next((name for name in called if called.count(name) > 1), None):
            # One would take the place of the other, in what is printed and in what is stored.
            raise WorkbenchError(
                "One name twice",
                f"Two of the methods are called {twice}.",
                "Name each once. A model is called by its folder: give a copy or a link of another name.",
            )
        folder = source
        if not source.is_dir():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "beir"
            export_benchmark(
                source,
                folder,
                rater=rater,
                policy=policy,
                question=question,
                split=split,
                part=part,
                config=config,
                adds=add_unjudged is not None,
            )
        elif any(given is not None for given in (rater, policy, question, split)):
            raise WorkbenchError(
                "Labels of a folder",
                "A BEIR folder has its own labels: --rater, --policy, --question and --split are for a "
                "workspace.",
                "Leave them out.",
            )
        benchmark = read_beir(folder, part=part, titles=source.is_dir())
        if run_out is not None:
            _check_trec([*benchmark.queries], benchmark.codes.ids)
        runs, rankings, not_stored = {}, {}, ""
        for retriever in retrievers:
            progress.begin(retriever.name)
            ranking = rank_codes(benchmark, retriever, options.preset.top, progress.step)
            runs[retriever.name] = run_of(benchmark, ranking)
            if add_unjudged is not None:
                rankings[retriever.name] = ranking
            if not source.is_dir() and not not_stored:
                not_stored = _store(source, benchmark, retriever, ranking, options.preset.top)
    if not_stored:
        note(not_stored)
    scores = {name: options.scores(benchmark.qrels, run, complete=True) for name, run in runs.items()}
    if not all(found.queries for found in scores.values()):
        raise WorkbenchError(
            "No query to measure",
            f"No query of {source} has a code with a grade above 0.",
            "Label pairs first, or take --preset standard, which counts such queries as 0.",
        )
    left_out = {}
    for name, run in runs.items() if len(runs) > 1 else ():
        left_out[name] = left_out_of_pool(
            *(name, scores[name], benchmark.qrels),
            pools=runs,
            depth=pool,
            scores_of=partial(options.scores, run=run, complete=True),
        )
    differences = ranking_differences(scores, options.tested, options.bootstrap)
    if by_query is not None:
        write_by_query(by_query, scores)
    if run_out is not None:
        _write_runs(run_out, benchmark.qrels, runs)
    unjudged = None
    if add_unjudged is not None:
        unjudged = _add_unjudged(source, benchmark, rankings, add_unjudged)
    fields = {
        "benchmark": source,
        "part": benchmark.part,
        "codes": len(benchmark.codes.ids),
        "preset": preset.value,
        "methods": {
            name: {**score_fields(found), "left_out_of_pool": asdict(left_out[name]) if left_out else None}
            for name, found in scores.items()
        },
        "pool": pool,
        "stored": not source.is_dir() and not not_stored,
        "differences": [json_fields(each) for each in differences],
        "unjudged": None if unjudged is None else {"depth": add_unjudged, **asdict(unjudged)},
    }
    tables = (
        *scores_tables(scores, complete=True, zero_ideal=options.preset.zero_ideal),
        left_out_table(options.preset.measures[0], left_out, pool),
        *differences_tables(differences),
    )
    report = Report((), (), filled(*tables))
    printed = [partial(print_report, f"{source.name}: {len(benchmark.codes.ids):,} codes", report)]
    if unjudged is not None:
        printed.append(partial(_print_unjudged, source, unjudged, add_unjudged))
    return Answer(fields, *printed)


@evaluate_commands.command("search", short_help="Measure how well a search finds a repository's functions.")
@command
def evaluate_search(
    source: Annotated[
        str,
        typer.Argument(
            metavar="REPO|FILE",
            help="A repository, as for `search`; or a file of CodeSearchNet, with --repositories.",
            show_default=False,
        ),
    ],
    *,
    repositories: Annotated[
        Path | None,
        typer.Option(
            "--repositories",
            metavar="DIR",
            help="The folder with the repositories of a file of CodeSearchNet.",
        ),
    ] = None,
    docstrings: Annotated[
        int,
        typer.Option(
            "--docstrings",
            min=1,
            max=100_000,
            metavar="N",
            help="Draw so many queries: first sentences of docstrings, or rows of a file.",
        ),
    ] = 100,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="S", help="The seed of the draw.")] = 0,
    cut_parameters: Annotated[
        bool,
        typer.Option("--cut-parameters", help="Cut parameters and returned values out of the docstrings."),
    ] = False,
    model: Model = None,
    encoder: Encoder = None,
    streams: Streams = None,
    stream_query: StreamQueryOption = StreamQueryName.original,
    into: Annotated[
        Path | None,
        typer.Option(
            "--into", metavar="WORKSPACE", help="Keep the rankings in a workspace, for `report WS retrieval`."
        ),
    ] = None,
    run_out: RunOut = None,
    config: ConfigFile = None,
) -> Answer:
    """Search functions by what documents them: `workbench evaluate search REPO --docstrings 100 --seed 1`.

    A query is the first sentence of a docstring, or the docstring in a row of CodeSearchNet; comments and
    docstrings are removed from the functions that are searched. With a model each stream is a method, too.
    """
    from agents.code_search.evaluation_work import EvaluationRequest, SearchEvaluation
    from agents.code_search.report import search_report
    from agents.code_search.work import absolute
    from workbench.job_settings import work_settings
    from workbench.output import print_report

    if run_out is not None:
        _check_empty(run_out)
    if repositories is None and source.endswith((".jsonl", ".jsonl.gz")):
        raise WorkbenchError(
            "No repositories",
            f"{source} is a file of queries, each about a function of a repository.",
            "Name the folder that these are in: --repositories DIR",
        )
    loaded = settings(config)
    options = search_options(model, streams, stream_query)
    request = EvaluationRequest(
        absolute(source),
        "" if repositories is None else absolute(str(repositories)),
        docstrings,
        seed,
        cut_parameters,
        encoder or "",
        model or "",
        options if model is not None or streams is not None else None,
        keep=into is not None,
    )
    work = SearchEvaluation(request, work_settings(loaded), when_failing="end")
    with adding_to(into, loaded) if into is not None else workspace_for_a_while() as opened:
        found, code, notes = carried_out(opened, work)
    methods = found.scores()
    if run_out is not None and methods:
        _write_runs(run_out, found.qrels, {one.method: one.run for one in methods})
    drawn = "docstrings of CodeSearchNet" if repositories is not None else "first sentences of docstrings"
    report = search_report(found, f"{drawn}, seed {seed}")
    title = found.repository or Path(source).name
    kept = {} if into is None else {"kept": found.kept}
    return Answer(
        found.to_dict() | kept,
        partial(print_report, f"{title} @ {found.commit[:7]}" if found.commit else title, report),
        code=code,
        notes=[*found.notes, *notes],
    )


def _delete(source: Path, methods: list[str], config: Path | None) -> Answer:
    """Delete the stored rankings of methods, where they could be made."""
    from store.rankings.rankings import delete_rankings

    with session(source, settings(config), Shows.OTHERS, "An evaluation uses") as opened:
        delete_rankings(opened, methods)
    return Answer(
        {"workspace": source, "methods": methods, "deleted": True},
        f"Deleted the rankings of {', '.join(methods)}; items and labels stay.",
    )


def export_benchmark(
    source: Path,
    folder: Path,
    *,
    rater: str | None = None,
    policy: str | None = None,
    question: str | None = None,
    split: str | None = None,
    part: str | None = None,
    config: Path | None = None,
    adds: bool = False,
) -> None:
    """Write the labelled pairs of a workspace, and all of its codes, as a BEIR folder.

    Args:
        source: The workspace.
        folder: The folder, which is not there yet.
        rater: Whose labels are true; see `store.rankings.labels.LabelSource`.
        policy: What makes one label of several.
        question: The question of the labels.
        split: Only the items of this split, with its stored labels.
        part: Only this part of it.
        config: The configuration file.
        adds: Whether items will be added to the workspace.
    """
    from store.export.exporting import export
    from store.policy.refusal import refuse_packet
    from store.rankings.labels import LabelSource

    LabelSource(rater, policy, split).check("An evaluation")
    with session(source, settings(config), Shows.OTHERS, "An evaluation uses") as opened:
        if adds:
            refuse_packet(opened, "Unjudged pairs are added")
        try:
            export(
                opened,
                folder,
                "beir",
                rater=rater,
                policy=policy,
                question=question,
                split=split,
                part=part,
                corpus="all",
            )
        except ExportFailed as error:
            # Others say what there is to export, and have no cause.
            if error.__cause__ is None:
                raise
            hint = "Make room there, or set TMPDIR to another folder, then run it again."
            raise ExportFailed("Texts not written", error.message, hint) from error


def _add_unjudged(
    workspace: Path, benchmark: Benchmark, rankings: Mapping[str, Ranking], depth: int
) -> UnjudgedAdded:
    """Add the pairs that have no label to the workspace, which was closed while the methods ranked."""
    from agents.retrieval.unjudged import add_unjudged
    from store.workspace.duckdb import Workspace

    with Workspace.open(workspace) as opened:
        return add_unjudged(
            opened,
            benchmark.qrels,
            rankings,
            queries=list(benchmark.queries),
            codes=benchmark.codes.ids,
            depth=depth,
        )


def _print_unjudged(workspace: Path, found: UnjudgedAdded, depth: int | None) -> None:
    from store.formatting import pluralize
    from workbench.output import say

    say(
        "",
        f"Without a label among the first {depth:,} codes of the methods: {pluralize(found.pairs, 'pair')}. "
        f"{found.added:,} added, {found.known:,} already there.",
    )
    if found.of_source:
        command = ["workbench", "annotate", str(workspace), "--source", found.source]
        say(f"The agents label {found.of_source:,} of them: {shlex.join(command)}")
    if others := found.pairs - found.of_source:
        say(
            f"{others:,} of them are of other sources. All that no agents have labelled: "
            f"{shlex.join(['workbench', 'annotate', str(workspace), '--only-missing'])}"
        )


def _store(source: Path, benchmark: Benchmark, retriever: Retriever, ranking: Ranking, depth: int) -> str:
    """Store the ranking of a method in the workspace; return why it could not be, empty where it was.

    What took long to rank is measured all the same, as when somebody has opened the workspace meanwhile.
    """
    from agents.retrieval.methods import settings_of
    from store.rankings.rankings import store_ranking
    from store.workspace.duckdb import Workspace
    from workbench.output import note

    try:
        with Workspace.open(source) as opened:
            is_other = store_ranking(
                opened,
                retriever.name,
                settings_of(retriever),
                depth=depth,
                queries=list(benchmark.queries),
                codes=benchmark.codes.ids,
                places=ranking.codes,
                scores=ranking.scores,
            )
    except WorkspaceError as error:
        return f"Rankings not stored, so that reports lack them. {error.title}: {error.message} {error.hint}"
    if is_other:
        note(f"The stored ranking of {retriever.name} was of another model of that name; it is replaced.")
    return ""


def _check_empty(folder: Path) -> None:
    """Refuse a folder that holds files."""
    if folder.is_dir() and any(folder.iterdir()):
        raise ExportFailed(
            "Not empty",
            f"{folder} holds files. Nothing was written.",
            "Name a new folder: --run-out FOLDER",
        )


def _check_trec(queries: Sequence[str], codes: Sequence[str]) -> None:
    """Refuse ids that TREC's files cannot have, before codes are ranked."""
    from store.formats.trec import can_be_id
    from store.formatting import pluralize

    strange = [one for one in queries if not can_be_id(one, of_query=True)]
    strange += [one for one in codes if not can_be_id(one)]
    if strange:
        raise ExportFailed(
            "Cannot write runs",
            f"{pluralize(len(strange), 'id')}, such as {strange[0]!r}, cannot be in TREC's files: they have "
            "a blank in them, or begin with #. Nothing was evaluated.",
            "Leave --run-out out.",
        )


def _write_runs(folder: Path, qrels: Qrels, runs: Mapping[str, Run]) -> None:
    """Write qrels.txt, and a file for each run."""
    from store.formats.trec import write_qrels, write_run

    _check_empty(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_qrels(folder / "qrels.txt", qrels)
        for name, run in runs.items():
            plain = "-".join(name.replace("/", "-").split())
            write_run(folder / f"{plain}.run", run, plain)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise ExportFailed("Cannot write runs", f"{folder}: {why}.", "See --run-out.") from error
