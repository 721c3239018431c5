"""`workbench measure`: measures of files, without a workspace."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from store.errors import WorkbenchError
from store.json_fields import json_fields
from workbench.cli.options import Answer, command, named, names_in
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
from workbench.cli.report_options import Baseline, EloK, GroupBy, Judges, Prior


class LevelName(StrEnum):
    """A level of measurement."""

    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"
    ratio = "ratio"


class CodeLanguage(StrEnum):
    """A language of completion tasks."""

    csharp = "csharp"
    java = "java"
    python = "python"
    typescript = "typescript"


class RepeatedGrades(StrEnum):
    """What a pair with several grades gets."""

    error = "error"
    mean = "mean"
    max = "max"


measure_commands = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


@measure_commands.callback()
def measure_command() -> None:
    """Compute measures of files, without a workspace."""


@measure_commands.command("agreement", short_help="The agreement of raters in a CSV file.")
@command
def agreement_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="A CSV file: a column for each rater; or unit,rater,value; or unit,value,count.",
            show_default=False,
        ),
    ],
    *,
    level: Annotated[
        LevelName, typer.Option("--level", help="The level of measurement that alpha's interval is of.")
    ] = LevelName.nominal,
    bootstrap: Annotated[
        int,
        typer.Option("--bootstrap", min=0, max=100_000, metavar="N", help="Resamples; 0 for no interval."),
    ] = 1000,
    raters: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="The raters' columns; or the column with their names, where a row is a judgment.",
        ),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that names the units.")
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column with the values, where a row is a judgment."),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Words that are missing values, beside empty cells and *."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column with the cluster of each unit, such as its query."),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The question, of a file with a column question."),
    ] = None,
    blocks: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Also the mean of alpha over blocks of N rows, as CoSQA+ does."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="The seed of the resamples.")] = 0,
) -> Answer:
    """Compute the agreement of raters in a CSV file: Krippendorff's alpha, Fleiss, Gwet's AC1 and others.

    The columns that were used and left out are named. A file with a column that cannot be a rater's is
    refused unless --raters names those that are. Empty cells, * and the words of --missing are missing
    values. The interval is a percentile bootstrap over units, or over the clusters of --cluster: units of
    one query are not independent.
    """
    from store.measures.intervals import Bootstrap
    from store.measures.rating_table import NamedColumns, read_ratings
    from store.measures.table_agreement import table_agreement
    from store.reports.rating_file import ratings_report
    from workbench.output import print_report

    asked = NamedColumns(
        raters=names_in(raters),
        unit=unit,
        value=value,
        cluster=cluster,
        question=question,
        missing=names_in(missing),
    )
    table = read_ratings(file, asked)
    found = table_agreement(table, level=level.value, bootstrap=Bootstrap(bootstrap, seed), block=blocks)
    return Answer(
        {"measure": "agreement", "file": file, "columns": asdict(table.columns), **json_fields(found)},
        lambda: print_report(file.name, ratings_report(found, table.columns, blocks)),
    )


@measure_commands.command("preference", short_help="Ratings and biases of files of comparisons.")
@command
def preference_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Files of comparisons, as an import takes them.", show_default=False
        ),
    ],
    *,
    format_: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="Their format; detected by default.")
    ] = None,
    elo_k: EloK = None,
    prior: Prior = None,
    baseline: Baseline = None,
    raters: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Whose votes make the ratings; people by default.")
    ] = None,
    judges: Judges = None,
    group_by: GroupBy = None,
    bootstrap: Annotated[
        int,
        typer.Option("--bootstrap", min=0, max=100_000, metavar="N", help="Resamples; 0 for no intervals."),
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, metavar="S", help="The seed of resamples and orders.")] = 0,
) -> Answer:
    """Compute ratings of candidates and biases of raters from files of comparisons.

    Bradley-Terry by maximum likelihood with bootstrap intervals over prompts, Elo, win rates with sign tests,
    agreement, and how verdicts depend on side and length: `workbench measure preference battles.json`.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from store.ingest.votes import read_votes
    from store.measures.preference_report import preference_report
    from store.reports.options import Options
    from store.reports.preference import WHOLE, Preferences, measured_as, preference_of
    from workbench.output import print_report

    options = Options(
        elo_k=elo_k,
        prior=prior,
        baseline=baseline,
        raters=() if raters is None else tuple(named(raters)),
        judges=() if judges is None else tuple(named(judges)),
        group_by=group_by,
        bootstrap=bootstrap,
        seed=seed,
    )
    votes = read_votes(files, format_, group_by=group_by)
    found = preference_report(votes, measured_as(options))
    read = Preferences(found, votes, notes=votes.notes)
    title = ", ".join(one.name for one in files)
    return Answer(
        {"measure": "preference", "files": files, "notes": votes.notes, **json_fields(found)},
        lambda: print_report(title, preference_of("preference", *WHOLE)(read, options)),
    )


@measure_commands.command(
    "completion", short_help="Exact match, edit similarity and identifiers of completions."
)
@command
def completion_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Files of completions (groundtruth, prediction; or task_id, pred), and of their tasks.",
            show_default=False,
        ),
    ],
    *,
    language: Annotated[
        CodeLanguage, typer.Option("--language", help="The language of the completions.", show_default=False)
    ],
    rows: Annotated[
        Path | None,
        typer.Option(
            "--rows", metavar="OUT", help="Write every scored row here, as JSON lines.", show_default=False
        ),
    ] = None,
) -> Answer:
    """Score completions as CrossCodeEval does: `workbench measure completion tasks.jsonl predictions.jsonl`.

    Completions are joined with their tasks by id, otherwise by the reference. Only Python needs the tasks,
    or a field `prompt` in each row. Of several files of completions, what each completes exactly that the one
    before it does not, and the reverse (Table 3).
    """
    from store.ingest.completions import read_completions
    from store.measures.completion import gains, mean_scores, score_completion
    from store.reports.completion_files import compared, completion_files_report, gain_fields, write_rows
    from workbench.output import print_report

    if rows is not None and rows.exists():
        raise WorkbenchError("Already there", f"{rows} exists.", "Name another file: --rows OUT")
    read = read_completions(files, language.value)
    scores = {
        one.name: [score_completion(language.value, row.prompt, row.reference, row.text) for row in one.rows]
        for one in read
    }
    if not any(scores.values()):
        why = "; ".join(sorted({why for one in read for why in one.left_out}))
        raise WorkbenchError(
            "Nothing to score",
            f"No completion can be scored: {why}.",
            "Give the file of their tasks, too, and the language that they are in. Python needs the prompts.",
        )
    if rows is not None:
        write_rows(rows, read, scores)
    means = {name: mean_scores(found) for name, found in scores.items()}
    exact: dict[str, dict[Hashable, bool]] = {
        one.name: {row.task: bool(found.em) for row, found in zip(one.rows, scores[one.name], strict=True)}
        for one in read
    }
    chains = [
        (model, *gains({one.name: exact[one.name] for one in chain})) for model, chain in compared(read)
    ]
    found = {
        one.name: {"n": len(one.rows), **means[one.name], "not_scored": dict(one.left_out)}
        | ({"tasks_without_completion": one.missing} if one.missing else {})
        for one in read
    }
    return Answer(
        {
            "measure": "completion",
            "language": language.value,
            **({"file": read[0].name, **found[read[0].name]} if len(read) == 1 else {"files": found}),
            **gain_fields(chains),
        },
        lambda: print_report(language.value, completion_files_report(read, means, chains)),
    )


@measure_commands.command("ranking", short_help="NDCG, MRR, MAP, recall and others of TREC runs.")
@command
def ranking_command(
    qrels: Annotated[
        Path,
        typer.Argument(
            metavar="QRELS", help="The grades: TREC's form or BEIR's, plain or gzipped.", show_default=False
        ),
    ],
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Runs in TREC's form, plain or gzipped.", show_default=False),
    ],
    *,
    preset: PresetOption = PresetName.standard,
    measures: Measures = None,
    level: Level = 1,
    complete: Annotated[
        bool, typer.Option("--complete", help="Judged queries that a run lacks count as 0.")
    ] = False,
    repeated: Annotated[
        RepeatedGrades, typer.Option(help="What a pair with several grades gets; by default an error.")
    ] = RepeatedGrades.error,
    tested: Tested = None,
    bootstrap: Resamples = 1000,
    seed: Seed = 0,
    by_query: ByQuery = None,
) -> Answer:
    """Compute measures of runs against qrels: `workbench measure ranking qrels.txt run.txt`.

    NDCG, MRR, MAP, precision, recall and success as trec_eval has them, and more. Several runs are compared
    with each other, with a sign-flip test over queries.
    """
    from store.formats.trec import read_qrels, read_run
    from store.measures.ranking_differences import ranking_differences
    from store.reports.ranking import differences_tables, score_fields, scores_tables
    from store.reports.value import Report, filled
    from workbench.output import print_report

    options = ranking_options(
        preset=preset,
        measures=measures,
        level=level,
        tested=tested,
        bootstrap=bootstrap,
        seed=seed,
        by_query=by_query,
    )
    grades = read_qrels(qrels, repeated.value)
    scores = {}
    for path in runs:
        name = path.name if path.name not in scores else str(path)
        scores[name] = options.scores(grades, read_run(path), complete=complete)
        if not scores[name].queries:
            raise WorkbenchError(
                "No query to measure",
                f"No query of {path} that counts is judged in {qrels}.",
                "Check that both name queries in the same way.",
            )
    differences = ranking_differences(scores, options.tested, options.bootstrap)
    if by_query is not None:
        write_by_query(by_query, scores)
    found = {name: score_fields(each) for name, each in scores.items()}
    tables = scores_tables(scores, complete=complete, zero_ideal=options.preset.zero_ideal)
    report = Report((), (), filled(*tables, *differences_tables(differences)))
    return Answer(
        {
            "measure": "ranking",
            "qrels": qrels,
            "preset": preset.value,
            **({"run": runs[0], **found[next(iter(found))]} if len(found) == 1 else {"runs": found}),
            "differences": [json_fields(each) for each in differences],
        },
        partial(print_report, qrels.name, report),
    )
