"""What a packet is sealed by: digests of all that a session in it does not change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import duckdb

from store.kinds.spec import TaskKind
from store.policy.words import words_sql
from store.studies.studies import digest


@dataclass(frozen=True, slots=True)
class SealedRows:
    """Rows of a table of a packet that nothing changes.

    Attributes:
        columns: The columns, as SQL.
        order: The columns by which the rows are ordered, as SQL.
        where: The condition of the rows, as SQL.
    """

    table: str
    columns: str
    order: str
    where: str = "true"

    def read(self, cursor: duckdb.DuckDBPyConnection, catalog: str) -> Iterator[str]:
        """Yield each row as JSON."""
        yield self.table
        found = cursor.execute(
            f"SELECT {self.columns} FROM {catalog}.{self.table} "
            f"WHERE {self.where.format(catalog=catalog)} ORDER BY {self.order}"
        )
        while rows := found.fetchmany(1000):
            yield from (json.dumps(row, default=str) for row in rows)


def sealed_rows(kind: TaskKind) -> dict[str, tuple[SealedRows, ...]]:
    """Return the rows by which a packet of items of a kind is sealed, under the word for them."""
    record = kind.record
    own = ", ".join(["item_id", *(f"{one.table}_id" for one in record.shared), *record.own_columns])
    shared = (SealedRows(one.table, ", ".join(["id", "text", *one.about]), "id") for one in record.shared)
    execution = (
        "id, item_id, step_id, program, sandbox, environment, exit_reason, exit_code, executable, error, "
        "stdout, stderr, seconds, trace, image, packages, snapshot"
    )
    return {
        "items": (
            SealedRows("item", "id, kind, external_id, group_id, content_hash, extra", "id"),
            SealedRows(record.table, own, "item_id"),
            *shared,
            SealedRows("similarity", "item_id, model, value", "item_id, model"),
            SealedRows(
                "context_chunk", "item_id, setting, rank, path, text, score", "item_id, setting, rank"
            ),
            SealedRows("response_ref", "id, item_id, model, setting, trial", "id"),
            SealedRows("response", "id, text", "id"),
        ),
        "agents' work": (
            SealedRows("score", "id, response_ref_id, judge, measure, value, raw, reason, sequence", "id"),
            SealedRows("run", "id, kind, name, model", "id"),
            SealedRows("step", "id, run_id, item_id, role, attempt, outcome, reply, error", "id"),
            SealedRows("execution", execution, "id", "step_id IS NOT NULL"),
            SealedRows(
                "test_outcome",
                "execution_id, position, name, outcome, message, discriminates, flaky, trace, obstacle",
                "execution_id, position",
                "execution_id IN (SELECT id FROM {catalog}.execution WHERE step_id IS NOT NULL)",
            ),
            SealedRows(
                "verdict",
                "id, run_id, item_id, question_id, response_ref_id, value, path, reason, execution_id",
                "id",
            ),
        ),
        "assignments": (
            SealedRows(
                "assignment",
                "id, study_id, rater_id, item_id, phase, position, "
                f"{words_sql('assignment')}, sitting, block, seed",
                "id",
            ),
        ),
        "notes": (SealedRows("sent_back", "study_id, item_id, note", "item_id"),),
        "guideline": (SealedRows("guideline", "id, task_kind, version, text", "id", "id = 1"),),
        "study": (
            SealedRows("study", "id, name, protocol, frozen_at, closed_at, manifest", "id"),
            SealedRows("rater", "id, kind, name", "id"),
            SealedRows("study_rater", "study_id, rater_id, pseudonym, position, NULL", "rater_id"),
            SealedRows("study_item", "study_id, item_id, role", "item_id"),
        ),
    }


def digests(cursor: duckdb.DuckDBPyConnection, catalog: str, kind: TaskKind) -> dict[str, str]:
    """Return the digests of a packet.

    The packet is attached to the cursor, under the name `catalog`.
    """
    return {
        word: digest(text for rows in parts for text in rows.read(cursor, catalog))
        for word, parts in sealed_rows(kind).items()
    }
