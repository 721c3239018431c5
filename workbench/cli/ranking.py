"""What `workbench measure ranking` and `workbench evaluate retrieval` share: options, and how they print."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from store.errors import ExportFailed, WorkbenchError
from workbench.cli.options import names_in

if TYPE_CHECKING:
    from store.measures.intervals import Bootstrap
    from store.measures.ranking import Preset, Qrels, RankingScores, Run


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
