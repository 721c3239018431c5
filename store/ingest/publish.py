"""Publishing what was staged: names through the write lane, then everything else in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

import duckdb
from sqlalchemy import Connection

from store.errors import ImportFailed, JudgmentRefused
from store.ingest.inputs import Input
from store.ingest.report import ImportReport
from store.ingest.resolve_items import publish_items
from store.ingest.resolve_labels import publish_labels
from store.ingest.resolve_records import publish_judgments
from store.ingest.resolve_responses import publish_responses
from store.ingest.staging import shared_sorts
from store.record.ids import now
from store.record.rater_ref import RaterKind
from store.record.raters import add_response_refs, guideline_number, rater_row, register_kinds
from store.workspace.duckdb import Workspace

_REFS_AT_ONCE = 5_000
"""References that are made in one write, which a judgment has to wait for."""


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
        publish_items(cursor, numbers)
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
    """Store the raters, guidelines and responses that the new records name."""
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

    def write(connection: Connection) -> None:
        for name, rater_kind in sorted(raters):
            rater_row(connection, name, rater_kind)
        for kind_name, version in versions:
            guideline_number(connection, kind_name, version)

    register_kinds(workspace)
    try:
        workspace.lane.submit(write, urgent=True).result()
    except JudgmentRefused as error:
        raise ImportFailed(error.title, f"{error.message} Nothing was imported.", error.hint) from error
    _store_response_refs(workspace, cursor)


def _store_response_refs(workspace: Workspace, cursor: duckdb.DuckDBPyConnection) -> None:
    """Make references to the responses that the new records are or name; in the lane, which gives keys."""
    found = cursor.execute(
        """
        SELECT DISTINCT item_id, model, setting, trial FROM (
            SELECT item_id, model, setting, trial FROM fresh_response
            UNION ALL SELECT item_id, model, setting, trial FROM attached
            UNION ALL SELECT item_id, model, setting, trial FROM fresh_label WHERE model IS NOT NULL
            UNION ALL SELECT item_id, model, setting, trial FROM new_record
                WHERE model IS NOT NULL AND NOT (held OR repeated)
        ) ANTI JOIN response_ref USING (item_id, model, setting, trial) ORDER BY ALL
        """
    )
    while rows := found.fetchmany(_REFS_AT_ONCE):

        def write(connection: Connection, rows: list[tuple[int, str, str, int]] = rows) -> None:
            add_response_refs(connection, rows)

        workspace.lane.submit(write).result()


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
        if not told.adds and not (given.layout.makes in shared_sorts() and report.adds):
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
