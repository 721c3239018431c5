"""Labels as they stand now, of one rater or of all, on items of every kind."""

from __future__ import annotations

import duckdb

from store.kinds.spec import TaskKind
from store.record.scope import REVIEW

STANDING = "standing_label"
"""The table of current labels: item_id, question_id, response_ref_id, rater_id, value, judgment id."""


def put_standing(cursor: duckdb.DuckDBPyConnection, rater_id: int | None) -> None:
    """Put the labels that stand outside of a study's other phases into the table STANDING.

    Of several assignments of one item to a rater the latest judgment stands.

    Args:
        cursor: A cursor of the workspace.
        rater_id: Whose; None for everybody's.
    """
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE {STANDING} AS
        WITH latest AS (
            SELECT item_id, question_id, response_ref_id, rater_id, arg_max_null(value, id) AS value,
                max(id) AS id
            FROM judgment WHERE phase = $phase AND ($rater IS NULL OR rater_id = $rater)
            GROUP BY item_id, question_id, response_ref_id, rater_id, assignment_id
        )
        SELECT item_id, question_id, response_ref_id, rater_id, arg_max(value, id) AS value, max(id) AS id
        FROM latest WHERE value IS NOT NULL GROUP BY item_id, question_id, response_ref_id, rater_id
        """,
        {"phase": REVIEW, "rater": rater_id},
    )


def labelled_items(cursor: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return how many items of each kind have a label that stands, by the kind's name."""
    found = cursor.execute(
        f"SELECT i.kind, count(DISTINCT i.id) FROM {STANDING} s JOIN item i ON i.id = s.item_id "
        "GROUP BY i.kind ORDER BY i.kind"
    )
    return dict(found.fetchall())


def values_of(
    cursor: duckdb.DuckDBPyConnection, rater_id: int, kind: TaskKind
) -> dict[int, dict[str, float]]:
    """Return a rater's current values of the items of a kind themselves, by item and question."""
    put_standing(cursor, rater_id)
    said: dict[int, dict[str, float]] = {}
    found = cursor.execute(
        f"SELECT s.item_id, q.name, s.value FROM {STANDING} s JOIN question q ON q.id = s.question_id "
        "JOIN item i ON i.id = s.item_id WHERE i.kind = ? AND s.response_ref_id IS NULL",
        [kind.name],
    )
    for item_id, question, value in found.fetchall():
        said.setdefault(item_id, {})[question] = value
    return said
