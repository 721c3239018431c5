"""`workbench measure`: measures of files, without a workspace."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import WorkbenchError
from workbench.cli.options import AsJson, command, names_in
from workbench.cli.ranking import (
    ByQuery,
    Level,
    Measures,
    PresetName,
    PresetOption,
    Resamples,
    Seed,
    Tested,
    print_differences,
    print_scores,
    ranking_options,
    score_fields,
    write_by_query,
)
from workbench.cli.report_agreement import fleiss_title
from workbench.cli.report_preference import Baseline, EloK, GroupBy, Judges, Prior, preference_options

if TYPE_CHECKING:
    from store.measures.rating_table import ColumnsRead
    from store.measures.table_agreement import TableAgreement


class LevelName(StrEnum):
    """A level of measurement."""

    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"
    ratio = "ratio"


class RepeatedGrades(StrEnum):
    """What a pair with several grades gets."""

    error = "error"
    mean = "mean"
    max = "max"


_SHOWN = 10
"""Raters that are named."""

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
    as_json: AsJson = False,
) -> None:
    """Compute the agreement of raters in a CSV file: Krippendorff's alpha, Fleiss, Gwet's AC1 and others.

    The columns that were used and left out are named. A file with a column that cannot be a rater's is
    refused unless --raters names those that are. Empty cells, * and the words of --missing are missing
    values. The interval is a percentile bootstrap over units, or over the clusters of --cluster: units of
    one query are not independent.
    """
    from store.measures.intervals import Bootstrap
    from store.measures.rating_table import NamedColumns, read_ratings
    from store.measures.table_agreement import table_agreement
    from workbench.output import print_json

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
    if as_json:
        print_json(
            {"measure": "agreement", "file": file, "columns": asdict(table.columns), **found.to_dict()}
        )
    else:
        _print(file.name, found, table.columns, blocks)


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
    as_json: AsJson = False,
) -> None:
    """Compute ratings of candidates and biases of raters from files of comparisons.

    Bradley-Terry by maximum likelihood with bootstrap intervals over prompts, Elo, win rates with sign tests,
    agreement, and how verdicts depend on side and length: `workbench measure preference battles.json`.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from workbench.cli.report_preference import measure_preference

    options = preference_options(
        elo_k=elo_k,
        prior=prior,
        baseline=baseline,
        raters=raters,
        judges=judges,
        group_by=group_by,
        bootstrap=bootstrap,
        seed=seed,
    )
    measure_preference(files, format_, options, as_json=as_json)


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
    as_json: AsJson = False,
) -> None:
    """Compute measures of runs against qrels: `workbench measure ranking qrels.txt run.txt`.

    NDCG, MRR, MAP, precision, recall and success as trec_eval has them, and more. Several runs are compared
    with each other, with a sign-flip test over queries.
    """
    from store.formats.trec import read_qrels, read_run
    from store.measures.ranking_differences import ranking_differences
    from workbench.output import print_json

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
    if as_json:
        found = {name: score_fields(each) for name, each in scores.items()}
        print_json(
            {
                "measure": "ranking",
                "qrels": qrels,
                "preset": preset.value,
                **({"run": runs[0], **found[next(iter(found))]} if len(found) == 1 else {"runs": found}),
                "differences": [each.to_dict() for each in differences],
            }
        )
        return
    print_scores(qrels.name, scores, complete=complete, zero_ideal=options.preset.zero_ideal)
    print_differences(differences)


def _print(name: str, found: TableAgreement, read: ColumnsRead, blocks: int | None) -> None:
    from store.formatting import pluralize
    from workbench.output import note, print_facts, print_table, say

    def shown(value: float | None, error: float | None = None) -> str | None:
        if value is None:
            return None
        return f"{value:.4f}" + ("" if error is None else f" (standard error {error:.4f})")

    interval = ""
    if found.interval is not None and found.interval.low is not None and found.interval.high is not None:
        drawn = "clusters" if found.clustered else "units"
        interval = (
            f"   {found.interval.share:.0%} interval {found.interval.low:.4f} to {found.interval.high:.4f} "
            f"({pluralize(found.interval.resamples, 'resample')} of {drawn})"
        )
    print_facts(
        name,
        [
            ("units", f"{found.units:,}; left out with less than two values: {found.dropped_units:,}"),
            ("raters", _raters(found.raters, read)),
            ("units are", f"in column {read.unit}" if read.unit else "rows"),
            ("columns left out", ", ".join(read.left_out) or None),
            ("missing values", _missing(read.missing)),
            ("judgments", f"{found.judgments:,}"),
            ("percent agreement", None if found.percent is None else f"{found.percent:.2f} %"),
            *(
                (
                    f"alpha, {level}",
                    (shown(value) or "") + (interval if level == found.level else ""),
                )
                for level, value in found.alpha.items()
                if value is not None
            ),
            (f"alpha, mean of blocks of {blocks}", shown(found.blocks)),
            ("Cohen's kappa", shown(found.cohen)),
            (fleiss_title(found), shown(found.fleiss, found.standard_errors["fleiss"])),
            ("Gwet's AC1", shown(found.ac1, found.standard_errors["ac1"])),
            ("Gwet's AC2, linear", shown(found.ac2_linear)),
            ("Gwet's AC2, quadratic", shown(found.ac2_quadratic)),
        ],
    )
    for said in read.notes:
        note(f"{said}.")
    if found.why:
        say(f"No alpha: {found.why}.")
    if 1 < len(found.values) <= 20:
        say("")
        print_table(
            ("value", "share", "specific agreement"),
            [
                (_number(each["value"]), f"{each['share']:.1%}", shown(each["specific_agreement"]))
                for each in found.values
            ],
        )
    if len(found.by_pair) > 1:
        say("")
        print_table(
            ("rater", "and", "units", "percent", "Cohen", "linear", "quadratic"),
            [
                (
                    *pair.raters,
                    pair.units,
                    None if pair.percent is None else f"{pair.percent:.1f} %",
                    shown(pair.cohen),
                    shown(pair.cohen_linear),
                    shown(pair.cohen_quadratic),
                )
                for pair in found.by_pair
            ],
            wide=("rater", "and"),
        )
    if found.interval is not None and found.interval.warning and not found.why:
        note(f"The interval: {found.interval.warning}.")


def _raters(number: int | None, read: ColumnsRead) -> str:
    if number is None:
        return f"not named; values in column {read.value}"
    if read.value:
        return f"{number:,}, named in column {read.raters[0]}; values in column {read.value}"
    more = f" and {number - _SHOWN:,} more" if number > _SHOWN else ""
    return f"{number:,}: {', '.join(read.raters[:_SHOWN])}{more}"


def _missing(missing: Mapping[str, int]) -> str | None:
    words = ", ".join(f"{times:,} {word or 'empty'}" for word, times in missing.items())
    return f"{sum(missing.values()):,} ({words})" if words else None


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"
