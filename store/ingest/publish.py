"""Publishing what was staged: names through the write lane, then everything else in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime

import duckdb
from sqlalchemy import Connection

from store.errors import ImportFailed, JudgmentRefused
from store.ids import now
from store.ingest.inputs import Input
from store.ingest.report import ImportReport
from store.ingest.resolve_items import publish_entries, publish_pairs
from store.ingest.resolve_labels import publish_labels
from store.ingest.resolve_records import publish_judgments
from store.ingest.resolve_responses import answered_by, publish_responses
from store.kinds.instances import Instance
from store.kinds.protocol import TaskKind, task_kinds
from store.raters import guideline_number, question_row, rater_row, register_kinds
from store.who import RaterKind
from store.workspace import Workspace


def publish(
    workspace: Workspace,
    cursor: duckdb.DuckDBPyConnection,
    inputs: Sequence[Input],
    report: ImportReport,
    licence: str,
    *,
    label_ids: tuple[int, int],
) -> dict[int, int]:
    """Append what was staged and resolved, all of it or nothing.

    The transaction stands beside the write lane: it only appends, and to keys that nobody else gives.

    Args:
        workspace: The open workspace.
        cursor: The cursor that holds the staging tables.
        inputs: The files.
        report: What they add.
        licence: Of the data.
        label_ids: The first of the ids reserved for labels.

    Returns:
        File number to source id, for the files that add something.

    Raises:
        ImportFailed: A name is taken by a rater of another kind, or the workspace could not be written.
    """
    _store_names(workspace, cursor)
    imported_at = now()
    cursor.execute("BEGIN")
    try:
        numbers = _add_sources(cursor, inputs, report, licence, imported_at)
        publish_pairs(cursor, numbers)
        publish_entries(cursor, numbers)
        publish_responses(cursor, numbers, imported_at)
        publish_labels(cursor, label_ids, imported_at)
        publish_judgments(cursor, workspace.ids)
        cursor.execute("COMMIT")
    except duckdb.Error as error:
        _roll_back(cursor)
        raise ImportFailed(
            "Import failed",
            f"The workspace could not be written: {error}. Nothing was imported.",
            "Check the space on the disk, then import again.",
        ) from error
    except BaseException:
        _roll_back(cursor)
        raise
    return numbers


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    """End the transaction, which a full disk has ended already, together with the use of the database."""
    with suppress(duckdb.Error):
        cursor.execute("ROLLBACK")


def _store_names(workspace: Workspace, cursor: duckdb.DuckDBPyConnection) -> None:
    """Store the raters, questions and guidelines that the new records name."""
    raters: list[tuple[str, RaterKind]] = [
        (name, "import") for (name,) in cursor.execute("SELECT DISTINCT rater FROM fresh_label").fetchall()
    ]
    raters += cursor.execute(
        "SELECT DISTINCT trim(rater), coalesce(rater_kind, 'human') FROM new_record "
        "WHERE NOT (held OR repeated) ORDER BY 1"
    ).fetchall()
    versions = cursor.execute(
        "SELECT DISTINCT kind, guideline FROM new_record "
        "WHERE guideline IS NOT NULL AND NOT (held OR repeated)"
    ).fetchall()

    asked = cursor.execute(
        "SELECT DISTINCT question FROM fresh_label UNION SELECT DISTINCT question FROM new_record "
        "WHERE question IS NOT NULL AND NOT (held OR repeated) ORDER BY 1"
    ).fetchall()
    questions = [*_named(name for (name,) in asked), *_of_responses(cursor)]

    def write(connection: Connection) -> None:
        for kind, name in questions:
            question_row(connection, kind, name)
        for name, rater_kind in sorted(raters):
            rater_row(connection, name, rater_kind)
        for kind_name, version in versions:
            guideline_number(connection, kind_name, version)

    register_kinds(workspace)
    try:
        workspace.lane.submit(write, urgent=True).result()
    except JudgmentRefused as error:
        raise ImportFailed(error.title, f"{error.message} Nothing was imported.", error.hint) from error


def _named(names: Iterable[str]) -> Iterator[tuple[TaskKind, str]]:
    """Yield the names of questions with the kind that asks them."""
    for name in names:
        for kind in task_kinds().values():
            if kind.question(name) is not None:
                yield kind, name


def _of_responses(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[TaskKind, str]]:
    """Yield the questions about the responses that are published next."""
    for kind_name, model, setting, trial in answered_by(cursor):
        kind = task_kinds().get(kind_name)
        for spec in kind.questions if kind is not None else ():
            if kind is not None and spec.of_responses:
                yield kind, Instance(spec.name, model, setting, trial).name


def _add_sources(
    cursor: duckdb.DuckDBPyConnection,
    inputs: Sequence[Input],
    report: ImportReport,
    licence: str,
    imported_at: datetime,
) -> dict[int, int]:
    row = cursor.execute("SELECT coalesce(max(id), 0) FROM source").fetchone()
    highest = int(row[0]) if row else 0
    numbers: dict[int, int] = {}
    for given, told in zip(inputs, report.files, strict=True):
        if not told.adds and not (given.layout.makes in ("query", "code") and report.adds):
            continue
        if told.source_id is not None:
            numbers[given.file.number] = told.source_id
            continue
        highest += 1
        numbers[given.file.number] = highest
        cursor.execute(
            "INSERT INTO source (id, sha256, name, format, licence, url, records, imported_at) "
            "VALUES (?, ?, ?, ?, ?, '', ?, ?)",
            [
                highest,
                given.file.sha256,
                given.file.path.name,
                given.format.name,
                licence,
                told.records - told.rejected,
                imported_at,
            ],
        )
    return numbers
