"""The report on training: encoders as they are, and trained on each corpus (CoSQA+, Table III)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from store.errors import WorkbenchError
from store.formatting import pluralize
from store.json_fields import json_fields
from store.measures.intervals import Bootstrap
from store.measures.ranking import RankingScores
from store.measures.ranking_differences import RankingDifference, as_one_family, ranking_differences
from store.reports.options import Options
from store.reports.ranking import differences_tables
from store.reports.value import NONE, Cell, Report, Row, Table, filled
from store.tables.columns import table_of
from store.tables.runs import WorkRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

EVALUATION = "training-evaluation"
"""The work that trains and tests."""
UNTRAINED = "untrained"

PUBLISHED: Mapping[str, Mapping[str, tuple[float, float, float]]] = {
    "CodeBERT": {"mrr": (0.952, 0.939, 0.966), "ndcg@10": (0.958, 0.937, 0.962)},
    "UniXcoder": {"mrr": (0.891, 0.951, 0.954), "ndcg@10": (0.890, 0.946, 0.952)},
    "CodeT5+ embedding": {"mrr": (0.794, 0.938, 0.940), "ndcg@10": (0.806, 0.943, 0.951)},
}
"""Table III of the paper: untrained, trained on CoSQA, trained on CoSQA+."""


@dataclass(frozen=True, slots=True)
class Trainings:
    """The trainings of an evaluation.

    Attributes:
        kept: What the work kept: `models`, `trains`, `test`, `queries`, `codes`, `pairs`, `left_out`, `lost`,
            `seeds`, and `rows` with `model`, `data`, `seed`, `means` and `values`.
        differences: Those of each model between corpora, with tests over queries; each query's value is the
            mean of its seeds.
    """

    kept: Mapping[str, Any]
    differences: Sequence[RankingDifference]

    def of(self, model: str, data: str | None, measure: str) -> list[float]:
        """Return the means of a measure, a value for each seed."""
        return [row["means"][measure] for row in _rows(self.kept, model, data)]


def read_training(connection: Connection, options: Options) -> Trainings:
    """Read the last evaluation of training that came to its end, or the last one.

    Raises:
        WorkbenchError: There is none.
    """
    work = table_of(WorkRow)
    asked = select(work.c.kept).where(work.c.kind == EVALUATION).order_by(work.c.started_at.desc())
    every = [json.loads(text or "{}") for text in connection.execute(asked).scalars()]
    begun = [one for one in every if one.get("rows")]
    # One that failed or was stopped does not take the place of a whole one.
    kept = next(filter(_is_whole, begun), next(iter(begun), None))
    if kept is None:
        raise WorkbenchError(
            "Nothing trained",
            "No training was evaluated in this workspace.",
            "Evaluate one: workbench evaluate training --models M --train A,B --test C --into WORKSPACE",
        )
    return trainings(kept, options.resampling)


def _is_whole(kept: Mapping[str, Any]) -> bool:
    return len(kept["rows"]) == len(kept["models"]) * (1 + len(kept["trains"]) * int(kept["seeds"]))


def _rows(kept: Mapping[str, Any], model: str, data: str | None) -> list[Mapping[str, Any]]:
    """Return what a model gave with each seed, trained on a corpus; None for the untrained model."""
    return [row for row in kept["rows"] if (row["model"], row["data"]) == (model, data)]


def trainings(kept: Mapping[str, Any], bootstrap: Bootstrap) -> Trainings:
    """Return the trainings that a work kept, with their differences."""
    import numpy

    found: list[RankingDifference] = []
    for model in kept["models"]:
        scores: dict[str, RankingScores] = {}
        # What training gained is above 0.
        for data in (*kept["trains"], None):
            if rows := _rows(kept, model, data):
                values = {
                    name: numpy.mean([row["values"][name] for row in rows], axis=0)
                    for name in rows[0]["values"]
                }
                name = f"{model}, {data or UNTRAINED}"
                scores[name] = RankingScores(tuple(kept["queries"]), values, 0, 0, 0, 0)
        if len(scores) > 1:
            measures = list(next(iter(scores.values())).values)
            found += ranking_differences(scores, measures, bootstrap)
    return Trainings(kept, as_one_family(found))


def training_fields(found: Trainings, options: Options) -> dict[str, Any]:
    """Return the report as JSON-able fields."""
    kept = found.kept
    return {
        **{
            name: kept[name]
            for name in ("models", "trains", "test", "codes", "pairs", "left_out", "lost", "seeds")
        },
        "queries": len(kept["queries"]),
        "scores": [
            {
                "model": model,
                "data": data,
                "seeds": len(own),
                "means": {name: fmean(row["means"][name] for row in own) for name in own[0]["means"]},
                "deviations": {
                    name: stdev(row["means"][name] for row in own) if len(own) > 1 else None
                    for name in own[0]["means"]
                },
            }
            for model in kept["models"]
            for data in (None, *kept["trains"])
            if (own := _rows(kept, model, data))
        ],
        "differences": [json_fields(one) for one in found.differences],
        "published": {
            model: {name: list(values) for name, values in measures.items()}
            for model, measures in PUBLISHED.items()
        },
    }


def training_report(found: Trainings, options: Options) -> Report:
    """Return the report as tables."""
    kept = found.kept
    caption = [
        f"tested on {kept['test']}: {pluralize(len(kept['queries']), 'query', 'queries')}, "
        f"{pluralize(kept['pairs'], 'match', 'matches')}, {pluralize(kept['codes'], 'code')}",
        f"{pluralize(kept['seeds'], 'seed')}; mean ± standard deviation over seeds",
    ]
    if kept["left_out"]:
        caption.append(f"left out: {pluralize(kept['left_out'], 'query', 'queries')} near one of a training")
    if kept["lost"]:
        caption.append(f"left out: {pluralize(kept['lost'], 'match', 'matches')} without code in the files")
    return Report(
        caption=tuple(caption),
        command=("training", *options.arguments()),
        tables=filled(_scores(found), _published(), *differences_tables(found.differences)),
    )


def _scores(found: Trainings) -> Table:
    """Return Table III."""
    kept = found.kept
    rows = []
    for model in kept["models"]:
        for measure in kept["rows"][0]["means"]:
            values = [found.of(model, data, measure) for data in (None, *kept["trains"])]
            if any(values):
                rows.append(Row((model, measure, *map(_mean, values))))
    columns = ("model", "measure", UNTRAINED, *kept["trains"])
    return Table(columns, tuple(rows), "Trained on (Table III)", names=2)


def _mean(values: Sequence[float]) -> Cell:
    if not values:
        return Cell(NONE)
    mean = fmean(values)
    if math.isnan(mean):
        return Cell(NONE)
    return Cell(f"{mean:.3f} ±{stdev(values):.3f}" if len(values) > 1 else f"{mean:.3f}", mean)


def _published() -> Table:
    rows = [
        Row((model, measure, *(Cell(f"{one:.3f}", one) for one in values)))
        for model, measures in PUBLISHED.items()
        for measure, values in measures.items()
    ]
    columns = ("model", "measure", UNTRAINED, "CoSQA", "CoSQA+")
    return Table(columns, tuple(rows), "As published, on CSN99", names=2)
