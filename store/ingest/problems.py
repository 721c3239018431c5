"""Records that cannot be imported: which, why, and how they are written to a file of rejects."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from store.errors import ImportFailed
from store.ingest.records import read_records

if TYPE_CHECKING:
    from store.ingest.inputs import Input

MOST_KEPT = 1_000
"""Problems that are kept to be told, when there are very many."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One record that cannot be imported.

    Attributes:
        file: The file, by its place among those of the import.
        number: The record, counted from 1.
        line: The line where it begins, from 1.
        reason: What is wrong with it.
        record: The record, or its text where it cannot be read; None where that is not at hand.
    """

    file: int
    number: int
    line: int
    reason: str
    record: Any = None


def problems_of(cursor: duckdb.DuckDBPyConnection, statement: str) -> list[Problem]:
    """Return what a statement selects as problems: file, number, line, reason."""
    return [Problem(*row) for row in cursor.execute(statement).fetchall()]


def write_rejects(path: Path, problems: Iterable[Problem], inputs: Sequence[Input]) -> None:
    """Write refused records as JSONL: {"file", "line", "reason", "record"}.

    Args:
        path: Where to; an older file is replaced.
        problems: The records; those whose content is not known are read again.
        inputs: The files of the import, in order.

    Raises:
        ImportFailed: The file cannot be written.
    """
    ordered = sorted(problems, key=lambda problem: (problem.file, problem.number))
    partial = path.with_name(f".{path.name}.part")
    try:
        with partial.open("w", encoding="utf-8") as file:
            for problem, record in _with_records(ordered, inputs):
                line = {
                    "file": inputs[problem.file].file.name,
                    "line": problem.line,
                    "reason": problem.reason,
                    "record": record,
                }
                # ASCII, since a refused record may hold half a surrogate pair.
                file.write(json.dumps(line, ensure_ascii=True, default=str) + "\n")
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise ImportFailed(
            "Cannot write rejects",
            f"{path}: {error.strerror or error}. Nothing was imported.",
            "Choose another place for --rejects.",
        ) from error


def _with_records(problems: Sequence[Problem], inputs: Sequence[Input]) -> Iterator[tuple[Problem, Any]]:
    wanted: dict[int, set[int]] = {}
    for problem in problems:
        if problem.record is None:
            wanted.setdefault(problem.file, set()).add(problem.number)
    found: dict[tuple[int, int], Any] = {}
    for number, records in wanted.items():
        last = max(records)
        for raw in read_records(inputs[number].file, inputs[number].sample):
            if raw.number in records:
                found[number, raw.number] = raw.content
            if raw.number >= last:
                break
    for problem in problems:
        yield problem, found.get((problem.file, problem.number), problem.record)
