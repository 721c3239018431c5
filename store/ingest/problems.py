"""Records that cannot be imported: which, why, and how they are written to a file of rejects."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

import duckdb

from store.errors import MOST_LISTED, ImportFailed, RecordsRefused
from store.formats.values import short
from store.reading.records import NOT_UTF8, read_records
from store.record.rater_ref import name_fault

if TYPE_CHECKING:
    from store.ingest.inputs import Input


@dataclass(frozen=True, slots=True)
class Problem:
    """One record that cannot be imported.

    Attributes:
        file: The file, by its place among those of the import.
        number: The record, counted from 1.
        line: The line where it begins, from 1.
        reason: Why it cannot be imported.
        record: The record, or its text where it cannot be read; None where that is not at hand.
    """

    file: int
    number: int
    line: int
    reason: str
    record: Any = None


def problems_of(cursor: duckdb.DuckDBPyConnection, statement: str, reason: str = "{0}") -> list[Problem]:
    """Return the rows of a statement as problems.

    The statement selects file, number, line, and the values for the places in the reason.
    """
    rows = cursor.execute(statement).fetchall()
    return [Problem(file, number, line, reason.format(*values)) for file, number, line, *values in rows]


def refused_rows(cursor: duckdb.DuckDBPyConnection, stage: str, reasons: Mapping[str, str]) -> list[Problem]:
    """Return the rows of a stage that cannot be imported.

    Args:
        cursor: The cursor that holds the stage.
        stage: A table with the columns file, number, line and position.
        reasons: Conditions over its rows `n`, as SQL, by the reason, which has places for columns by name.
    """
    conditions = ", ".join(f"{condition} AS c{place}" for place, condition in enumerate(reasons.values()))
    any_of = ", ".join(f"coalesce(bool_or(c{place}), false)" for place in range(len(reasons)))
    occurs = cursor.execute(f"SELECT {any_of} FROM (SELECT {conditions} FROM {stage} n)").fetchone() or ()
    problems: list[Problem] = []
    for (reason, condition), some in zip(reasons.items(), occurs, strict=True):
        if some:
            names = [name for _, name, *_ in Formatter().parse(reason) if name]
            rows = cursor.execute(
                f"SELECT {', '.join(('file', 'number', 'line', *names))} FROM {stage} n "
                f"WHERE {condition} ORDER BY position"
            ).fetchall()
            problems += [
                Problem(file, number, line, reason.format(**dict(zip(names, values, strict=True))))
                for file, number, line, *values in rows
            ]
    return problems


def invalid_rater_names(cursor: duckdb.DuckDBPyConnection, stage: str) -> list[Problem]:
    """Return the rows of a stage whose rater has no acceptable name.

    Args:
        cursor: The cursor that holds the stage.
        stage: A table with the columns file, number, line and rater.
    """
    names = [name for (name,) in cursor.execute(f"SELECT DISTINCT trim(rater) FROM {stage}").fetchall()]
    problems = []
    for name in names:
        if fault := name_fault(name):
            reason = f"{name!a} is no rater's name: it {fault}; name another: --label-as"
            reason = reason if name.strip() else "the record has no rater: the name is blank"
            rows = cursor.execute(f"SELECT file, number, line FROM {stage} WHERE trim(rater) = ?", [name])
            problems += [Problem(file, number, line, reason) for file, number, line in rows.fetchall()]
    return problems


def reason_of(given: Input, number: int, record: Any, reason: str) -> str:
    """Return why a record cannot be imported; in an array, which may be one line, with its number and id.

    Args:
        given: Its file.
        number: The record, counted from 1.
        record: The record, or its text where it cannot be read.
        reason: Why.
    """
    if given.sample.container != "JSON array" or reason == NOT_UTF8:
        return reason
    fields = record if isinstance(record, dict) else {}
    ids = (name for one in given.layout.fields if one.name == "external_id" for name in one.columns)
    own = next((fields[name] for name in (*ids, "id") if isinstance(fields.get(name), str | int)), None)
    return f"record {number:,}{'' if own is None else f' (id {short(own)})'}: {reason}"


def refused(problems: Sequence[Problem], inputs: Sequence[Input]) -> RecordsRefused:
    """Return the error that lists refused records.

    Records of arrays whose content is unknown are read again.
    """
    first = sorted(problems, key=lambda problem: (problem.file, problem.number))[:MOST_LISTED]
    listed = []
    for problem, record in _with_records(first, inputs, arrays_only=True):
        given = inputs[problem.file]
        reason = reason_of(given, problem.number, record, problem.reason)
        listed.append((given.file.name, problem.line, reason))
    return RecordsRefused(listed, len(problems))


def write_rejects(path: Path, problems: Iterable[Problem], inputs: Sequence[Input]) -> None:
    """Write refused records as JSONL: {"file", "line", "reason", "record"}.

    An older file is replaced; records whose content is unknown are read again.

    Raises:
        ImportFailed: The file cannot be written.
    """
    ordered = sorted(problems, key=lambda problem: (problem.file, problem.number))
    partial = path.with_name(f".{path.name}.part")
    try:
        with partial.open("w", encoding="utf-8") as file:
            for problem, record in _with_records(ordered, inputs):
                given = inputs[problem.file]
                line = {
                    "file": given.file.name,
                    "line": problem.line,
                    "reason": reason_of(given, problem.number, record, problem.reason),
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


def _with_records(
    problems: Sequence[Problem], inputs: Sequence[Input], *, arrays_only: bool = False
) -> Iterator[tuple[Problem, Any]]:
    """Yield problems with their records, which are read again where they are not at hand."""
    wanted: dict[int, set[int]] = {}
    for problem in problems:
        if problem.record is None and (
            not arrays_only or inputs[problem.file].sample.container == "JSON array"
        ):
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
