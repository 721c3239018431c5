"""Records that cannot be taken: where they stand, why, and how they are told or written aside."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from store.errors import ImportFailed

MOST_KEPT = 1_000
"""Problems that are kept to be told, when there are very many."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One record that cannot be taken.

    Attributes:
        file: The file, by its place among those of the import.
        number: The record, counted from 1; 0 for the file as a whole.
        line: The line where it begins, from 1; None while it is not known.
        reason: What is wrong with it.
        record: The record, or its text where it cannot be read.
    """

    file: int
    number: int
    line: int | None
    reason: str
    record: Any = None


def problems_of(cursor: duckdb.DuckDBPyConnection, statement: str) -> list[Problem]:
    """Return what a statement selects as problems: file, number, line, reason."""
    return [Problem(*row) for row in cursor.execute(statement).fetchall()]


def write_rejects(path: Path, problems: Iterable[Problem], names: Sequence[str]) -> None:
    """Write refused records as JSONL: {"file", "line", "reason", "record"}.

    Args:
        path: Where to; an older file is replaced.
        problems: The records.
        names: The files of the import, in order.

    Raises:
        ImportFailed: The file cannot be written.
    """
    partial = path.with_name(f".{path.name}.part")
    try:
        with partial.open("w", encoding="utf-8") as file:
            for problem in problems:
                line = {
                    "file": names[problem.file],
                    "line": problem.line,
                    "reason": problem.reason,
                    "record": problem.record,
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
