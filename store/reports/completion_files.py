"""Tables of the scores of files of completions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from store.formatting import pluralize
from store.ingest.completions import PredictionFile
from store.json_fields import json_fields
from store.kinds.completion_settings import CONTEXTS, setting_named
from store.measures.completion import MEASURES
from store.new_file import write_new
from store.reports.value import Report, Row, Table, counted, facts, filled, number

if TYPE_CHECKING:
    from store.measures.completion import CompletionScores, Gain

CAPTION = (
    "A completion is cut to its first statement, comments are removed. In percent, mean over completions.",
)


Chain = tuple[str, int, Sequence["Gain"]]
"""The model of files that are compared, the tasks that all of them have, and what each gains and loses."""


def compared(files: Sequence[PredictionFile]) -> list[tuple[str, list[PredictionFile]]]:
    """Return which files are compared with each other, each with the one before it, and of which model.

    Where all say their context, those of a model are, in the order of Table 3; otherwise all as given.
    """
    contexts = [setting_named(one.setting, {}).context if one.setting else "" for one in files]
    if not set(contexts) <= set(CONTEXTS):
        return [("", list(files))] if len(files) > 1 else []
    by_model = defaultdict[str, list[tuple[int, PredictionFile]]](list)
    for one, context in zip(files, contexts, strict=True):
        by_model[one.model].append((CONTEXTS.index(context), one))
    chains = {
        model: [one for _, one in sorted(own, key=lambda each: each[0])] for model, own in by_model.items()
    }
    return [(model, chain) for model, chain in chains.items() if len(chain) > 1]


def gain_fields(chains: Sequence[Chain]) -> dict[str, Any]:
    """Return gains and losses as JSON: of several models those of each."""
    told = [
        {"model": model, "tasks": tasks, "gains": [json_fields(line) for line in lines]}
        for model, tasks, lines in chains
    ]
    if len(told) > 1:
        return {"models": told}
    return {name: told[0][name] for name in ("tasks", "gains")} if told else {}


_SHORT = {
    "em": "EM",
    "es": "ES",
    "es_levenshtein": "ES lev.",
    "es_rapidfuzz": "ES rapid.",
    "id_em": "id EM",
    "id_precision": "precision",
    "id_recall": "recall",
    "id_f1": "F1",
}
"""The measures as headings, where files are rows."""


def completion_files_report(
    files: Sequence[PredictionFile], means: Mapping[str, Mapping[str, float]], chains: Sequence[Chain]
) -> Report:
    """Return the scores of files as a report.

    Args:
        files: The files.
        means: By file, the means of the measures in percent.
        chains: What files gain and lose.
    """
    caption: tuple[str, ...] = CAPTION
    columns: tuple[str, ...]
    if len(files) == 1:
        columns = ("measure", files[0].name)
        rows = [Row(("completions", counted(len(files[0].rows))))]
        rows += [Row((words, number(means[files[0].name].get(name)))) for name, words in MEASURES.items()]
    else:
        columns = ("file", "n", *_SHORT.values())
        rows = [
            Row((one.name, counted(len(one.rows)), *(number(means[one.name].get(name)) for name in _SHORT)))
            for one in files
        ]
        caption = (
            *CAPTION,
            "ES by difflib, Levenshtein and RapidFuzz · precision, recall and F1 of identifiers",
        )
    left_out = facts(
        (
            *(
                (one.name, f"{pluralize(count, 'completion')} {why}")
                for one in files
                for why, count in sorted(one.left_out.items())
            ),
            *(
                (one.name, f"{pluralize(one.missing, 'task')} without a completion")
                for one in files
                if one.missing
            ),
        ),
        "Not scored",
    )
    gained = (gains_table(*chain) for chain in chains)
    return Report(caption, (), filled(Table(columns, tuple(rows), "Scores"), *gained, left_out))


def gains_table(model: str, tasks: int, lines: Sequence[Gain]) -> Table:
    """Return how many tasks are completed exactly, and what each setting gained and lost (Table 3)."""
    return Table(
        ("setting", "exact", "gained", "lost"),
        tuple(
            Row((one.name, counted(one.correct), _signed(one.gained, "+"), _signed(one.lost, "-")))
            for one in lines
        ),
        f"{model + ': c' if model else 'C'}ompleted exactly, of {pluralize(tasks, 'task')} that all have",
    )


def _signed(count: int | None, sign: str) -> str:
    return "" if count is None else f"{sign}{count:,}"


def write_rows(
    path: Path, files: Sequence[PredictionFile], scores: Mapping[str, Sequence[CompletionScores]]
) -> None:
    """Write every scored row as JSON lines, in the order of the files: its place, reference and scores.

    Raises:
        ExportFailed: The file cannot be written.
    """

    def write(out: IO[bytes]) -> None:
        for one in files:
            of_file = {"file": one.name} if len(files) > 1 else {}
            for row, found in zip(one.rows, scores[one.name], strict=True):
                fields = asdict(found) | {"es_rapidfuzz": round(found.es_rapidfuzz, 6)}
                written = {**of_file, "row_in_part": row.number, "groundtruth": row.reference, **fields}
                out.write(json.dumps(written, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")

    write_new(path, write)
