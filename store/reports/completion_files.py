"""Tables of the scores of files of completions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import ExportFailed
from store.formatting import pluralize
from store.measures.completion import MEASURES
from store.reports.value import Report, Row, Table, counted, facts, filled, number

if TYPE_CHECKING:
    from store.ingest.completions import PredictionFile
    from store.measures.completion import CompletionScores, Gain

CAPTION = (
    "A completion is cut to its first statement, comments are removed. In percent, mean over completions.",
)


def completion_files_report(
    files: Sequence[PredictionFile],
    means: Mapping[str, Mapping[str, float]],
    tasks: int,
    lines: Sequence[Gain],
) -> Report:
    """Return the scores of files as a report.

    Args:
        files: The files.
        means: By file, the means of the measures in percent.
        tasks: The tasks that all files have, where there are several.
        lines: What each file gains and loses; empty for one file.
    """
    columns = ("measure", *(one.name for one in files))
    rows = [Row(("completions", *(counted(len(one.rows)) for one in files)))]
    rows += [
        Row((words, *(number(means[one.name].get(name)) for one in files)))
        for name, words in MEASURES.items()
    ]
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
    return Report(
        CAPTION, (), filled(Table(columns, tuple(rows), "Scores"), gains_table(tasks, lines), left_out)
    )


def gains_table(tasks: int, lines: Sequence[Gain]) -> Table:
    """Return how many tasks are completed exactly, and what each setting gained and lost (Table 3)."""
    return Table(
        ("setting", "exact", "gained", "lost"),
        tuple(
            Row((one.name, counted(one.correct), _signed(one.gained, "+"), _signed(one.lost, "-")))
            for one in lines
        ),
        f"Completed exactly, of {pluralize(tasks, 'task')} that all have",
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
    try:
        with path.open("w", encoding="utf-8") as out:
            for one in files:
                of_file = {"file": one.name} if len(files) > 1 else {}
                for row, found in zip(one.rows, scores[one.name], strict=True):
                    fields = asdict(found) | {"es_rapidfuzz": round(found.es_rapidfuzz, 6)}
                    written = {**of_file, "row_in_part": row.number, "groundtruth": row.reference, **fields}
                    out.write(json.dumps(written, ensure_ascii=False) + "\n")
    except OSError as error:
        raise ExportFailed(
            "Cannot write file", f"{path}: {error.strerror or error}.", "Name another one: --rows OUT"
        ) from error
