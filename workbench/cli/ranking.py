"""What `workbench measure ranking` and `workbench evaluate retrieval` share: options, and how they print."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from store.errors import ExportFailed, WorkbenchError
from workbench.cli.options import names_in

if TYPE_CHECKING:
    from store.measures.intervals import Bootstrap
    from store.measures.ranking import LeftOut, Preset, Qrels, RankingScores, Run
    from store.measures.ranking_differences import RankingDifference


class PresetName(StrEnum):
    """How a benchmark measures."""

    standard = "standard"
    cosqa_plus = "cosqa-plus"
    trec = "trec"
    coir = "coir"
    csn = "csn"


PresetOption = Annotated[PresetName, typer.Option("--preset", help="The measures and rules of a benchmark.")]
Measures = Annotated[
    str | None,
    typer.Option(
        "--measures", metavar="M,...", help="These measures instead, such as ndcg@10,map,recall@100."
    ),
]
Level = Annotated[float, typer.Option("--level", metavar="G", help="The least grade of a relevant code.")]
Tested = Annotated[
    str | None,
    typer.Option(
        "--test", metavar="M,...", help="The measures in which methods are compared; the first by default."
    ),
]
Resamples = Annotated[
    int, typer.Option("--bootstrap", min=0, max=100_000, metavar="N", help="Resamples; 0 for no intervals.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="S", help="The seed of resamples and tests.")]
ByQuery = Annotated[
    Path | None,
    typer.Option("--by-query", metavar="FILE", help="Write every query's values to a CSV file."),
]


@dataclass(frozen=True, slots=True)
class RankingOptions:
    """How runs are measured and compared.

    Attributes:
        preset: The preset, with the measures that were asked for.
        level: The least grade of a relevant code.
        tested: The measures in which runs are compared.
        bootstrap: How intervals are drawn.
        by_query: The file for every query's values; None for none.
    """

    preset: Preset
    level: float
    tested: Sequence[str]
    bootstrap: Bootstrap
    by_query: Path | None

    def scores(self, qrels: Qrels, run: Run, *, complete: bool) -> RankingScores:
        """Return the measures of a run."""
        return self.preset.scores(qrels, run, level=self.level, complete=complete)


def ranking_options(
    *,
    preset: PresetName,
    measures: str | None,
    level: float,
    tested: str | None,
    bootstrap: int,
    seed: int,
    by_query: Path | None,
) -> RankingOptions:
    """Return the options of a command, checked.

    Raises:
        WorkbenchError: There is no such measure, or one is compared that is not computed.
    """
    from dataclasses import replace

    from store.measures.intervals import Bootstrap
    from store.measures.ranking import PRESETS, measure_named

    chosen = PRESETS[preset.value]
    if measures is not None:
        chosen = replace(chosen, measures=_names(measures))
    compared = _names(tested) if tested else chosen.measures[:1]
    for name in (*chosen.measures, *compared):
        measure_named(name)
    missing = [name for name in compared if name not in chosen.measures]
    if missing:
        raise WorkbenchError(
            "Measure not computed",
            f"Methods cannot be compared in {', '.join(missing)}, which is not among the measures.",
            f"Name it: --measures {','.join(missing)}. Computed: {', '.join(chosen.measures)}.",
        )
    return RankingOptions(chosen, level, compared, Bootstrap(bootstrap, seed), by_query)


def _names(given: str) -> tuple[str, ...]:
    names = names_in(given)
    if not names:
        raise WorkbenchError("No measure", "No measure is named.", "Name some: --measures ndcg@10,map")
    return names


def score_fields(scores: RankingScores) -> dict[str, Any]:
    """Return the counts and means of a run as plain values for JSON."""
    return {
        "queries": len(scores.queries),
        "relevant": scores.relevant,
        "not_ranked": scores.not_ranked,
        "not_judged": scores.not_judged,
        "zero_ideal": scores.zero_ideal,
        **scores.means(),
    }


def write_by_query(path: Path, scores: Mapping[str, RankingScores]) -> None:
    """Write every query's values: run, query and a column for each measure.

    Raises:
        ExportFailed: The file cannot be written.
    """
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["run", "query", *next(iter(scores.values())).values])
            for name, found in scores.items():
                for place, query in enumerate(found.queries):
                    writer.writerow([name, query, *(float(of[place]) for of in found.values.values())])
    except OSError as error:
        raise ExportFailed(
            "Cannot write file", f"{path}: {error.strerror or error}.", "Name another one: --by-query FILE"
        ) from error


def print_scores(title: str, scores: Mapping[str, RankingScores], *, complete: bool, zero_ideal: str) -> None:
    """Print counts of queries, and a table with a row for each measure and a column for each run."""
    from workbench.output import print_facts, print_table, say

    def each(values: Mapping[str, int]) -> str:
        if len(set(values.values())) == 1:
            return f"{next(iter(values.values())):,}"
        return ", ".join(f"{name} {value:,}" for name, value in values.items())

    def fact(name: str, of: str, consequence: str) -> tuple[str, str | None]:
        values = {run: getattr(found, of) for run, found in scores.items()}
        return name, f"{each(values)}, {consequence}" if any(values.values()) else None

    no_ideal = "count as 0" if zero_ideal == "zero" else "left out"
    print_facts(
        title,
        [
            ("queries", each({run: len(found.queries) for run, found in scores.items()})),
            ("relevant codes", each({run: found.relevant for run, found in scores.items()})),
            fact("judged, but not ranked", "not_ranked", "count as 0" if complete else "left out"),
            fact("ranked, but not judged", "not_judged", "left out"),
            fact("without a grade above 0", "zero_ideal", no_ideal),
        ],
    )
    say("")
    means = {run: found.means() for run, found in scores.items()}
    names = list(next(iter(means.values())))
    print_table(
        ("measure", *means),
        [(name, *(f"{found[name]:.4f}" for found in means.values())) for name in names],
        wide=tuple(means),
    )


def print_left_out(measure: str, found: Mapping[str, LeftOut], pool: int) -> None:
    """Print what each method has where what only it found was not judged."""
    from workbench.output import print_table, say

    if not found:
        return
    say("", f"{measure} without labels of pairs only this method has in its first {pool:,}")
    print_table(
        ("method", "queries left", "all labels", "left out of the pool"),
        [
            (
                name,
                one.queries,
                *(f"{means[measure]:.4f}" if means else "" for means in (one.all_labels, one.left_out)),
            )
            for name, one in found.items()
        ],
    )


def print_differences(differences: Sequence[RankingDifference]) -> None:
    """Print the differences of runs, a table for each measure, with intervals and tests."""
    from workbench.output import print_table, say

    for measure in dict.fromkeys(each.measure for each in differences):
        say("", f"Differences in {measure}: sign-flip test over queries; p adjusted by Holm's method")
        print_table(
            ("method", "less", "difference", "95 % interval", "p", "adjusted"),
            [
                (
                    each.first,
                    each.second,
                    f"{each.difference:+.4f}",
                    None if each.low is None or each.high is None else f"{each.low:+.3f} to {each.high:+.3f}",
                    _p(each.p_value),
                    _p(each.adjusted),
                )
                for each in differences
                if each.measure == measure
            ],
            wide=("method", "less"),
        )


def _p(value: float) -> str:
    return "<0.001" if value < 0.001 else f"{value:.3f}"
