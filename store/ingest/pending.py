"""Pending responses: stored until the item that they name, or are joined to, is imported."""

from __future__ import annotations

from datetime import datetime

import duckdb

from store.ingest.response_keys import (
    NEXT,
    SAME_RESPONSE,
    SCORES,
    further_fields,
    joined,
    same_key,
    score_id,
)
from store.ingest.stages import ATTACHED, DUPLICATE, MATCHED, PENDING_SCORE, PRESENT_RESPONSE
from store.sql import any_row, count

_TEXTS = " UNION ALL ".join(
    f"SELECT item_id, model, setting, trial, text FROM {table}"
    for table in ("fresh_response", "response JOIN response_ref USING (id)", "attached")
)
"""The responses of items that are here, with those of this import."""

_SCORES_OF_ONE = """list({'judge': judge, 'measure': measure, 'value': value, 'raw': raw, 'reason': reason,
    'extra': extra} ORDER BY position, sequence)"""
"""New scores of one response, as they are stored with a pending one."""


def match_pending(cursor: duckdb.DuckDBPyConnection) -> None:
    """Find the pending responses whose item is here now, and the pending ones of new scores.

    Of several of one name the first that names the item is attached; another text stays pending.
    """
    MATCHED.fill(
        cursor,
        f"""
        SELECT a.*, a.rowid AS pending_id, coalesce(i.id, j.item_id) AS item_id
        FROM pending_response a
        LEFT JOIN item_key i ON i.kind = a.kind AND i.external_id = a.external_id
        LEFT JOIN join_key {joined("a")}
        WHERE coalesce(i.id, j.item_id) IS NOT NULL
        """,
    )
    ATTACHED.fill(
        cursor,
        """
        SELECT * FROM matched h
        ANTI JOIN fresh_response f
            ON (f.item_id, f.model, f.setting, f.trial) = (h.item_id, h.model, h.setting, h.trial)
        ANTI JOIN (FROM response_ref SEMI JOIN response USING (id)) r
            ON (r.item_id, r.model, r.setting, r.trial) = (h.item_id, h.model, h.setting, h.trial)
        QUALIFY row_number() OVER (PARTITION BY item_id, model, setting, trial
            ORDER BY external_id IS NULL, pending_id) = 1
        """,
    )
    DUPLICATE.fill(
        cursor,
        f"""
        SELECT h.pending_id FROM matched h JOIN ({_TEXTS}) t USING (item_id, model, setting, trial, text)
        WHERE h.scores = '[]' AND h.pending_id NOT IN (SELECT pending_id FROM attached)
        """,
    )
    PENDING_SCORE.fill(
        cursor,
        f"""
        WITH theirs AS (
            SELECT rowid AS pending_id, unnest(scores::JSON::{SCORES}) AS o FROM pending_response
        ), given AS (
            SELECT a.*, b.rowid AS pending_id FROM new_score a JOIN pending_response b ON {same_key()}
            WHERE NOT a.answered AND a.item_id IS NULL AND a.nth = 1
        )
        SELECT g.* FROM given g ANTI JOIN theirs t
            ON (t.pending_id, t.o.judge, t.o.measure, t.o.raw, t.o.reason, {further_fields("t.o")})
                = (g.pending_id, g.judge, g.measure, g.raw, g.reason, {further_fields("g")})
            AND t.o."value" IS NOT DISTINCT FROM g.value
        """,
    )
    PRESENT_RESPONSE.fill(
        cursor,
        """
        SELECT item_id, model, setting, trial FROM response JOIN response_ref USING (id)
        UNION ALL SELECT item_id, model, setting, trial FROM fresh_response
        UNION ALL SELECT item_id, model, setting, trial FROM attached
        """,
    )


def count_attached(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many pending responses are attached to their item with this import."""
    return count(cursor, "SELECT count(*) FROM attached")


def count_conflicting(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many stay pending since their item has another text of the same name."""
    if not any_row(cursor, "matched"):
        return 0
    return count(
        cursor,
        f"SELECT count(*) FROM matched h JOIN ({_TEXTS}) t USING (item_id, model, setting, trial) "
        "WHERE t.text <> h.text",
    )


def store_pending(cursor: duckdb.DuckDBPyConnection, given: dict[str, list[int]]) -> None:
    """Append the new responses whose item is not here with their scores, and new scores of pending ones.

    Args:
        cursor: The cursor that holds the staging tables.
        given: `sources`, the source id of every file by its number.
    """
    if any_row(cursor, "fresh_pending"):
        cursor.execute(
            f"""
            INSERT INTO pending_response
            SELECT $sources[a.file + 1], a.line, a.kind, a.external_id, a.joined_by, a.model, a.setting,
                a.trial, a.text, a.extra, coalesce((
                    SELECT to_json({_SCORES_OF_ONE})::VARCHAR
                    FROM new_score s WHERE NOT s.answered AND s.nth = 1
                        AND (s.kind, s.whose, s.model, s.setting, s.trial)
                            = (a.kind, a.whose, a.model, a.setting, a.trial)), '[]')
            FROM fresh_pending a ORDER BY a.position
            """,
            given,
        )
    if any_row(cursor, "pending_score"):
        cursor.execute(
            "UPDATE pending_response SET "
            f"scores = to_json(list_concat(scores::JSON::{SCORES}, n.more))::VARCHAR "
            f"FROM (SELECT pending_id, {_SCORES_OF_ONE} AS more FROM pending_score GROUP BY pending_id) n "
            "WHERE pending_response.rowid = n.pending_id"
        )


def attach_pending(cursor: duckdb.DuckDBPyConnection, imported_at: datetime) -> None:
    """Append the pending responses whose item is here now, with their scores, and delete them as pending."""
    cursor.execute("DELETE FROM pending_response WHERE rowid IN (SELECT pending_id FROM duplicate)")
    if not any_row(cursor, "attached"):
        return
    cursor.execute(
        "INSERT INTO response BY NAME SELECT f.id, n.text, n.extra, n.source_id "
        f"FROM attached n JOIN response_ref f ON {SAME_RESPONSE} ORDER BY f.id"
    )
    cursor.execute(
        f"INSERT INTO score BY NAME SELECT {score_id('s')} AS id, f.id AS response_ref_id, s.judge, "
        "s.measure, s.value, s.raw, s.reason, s.extra, "
        f"{NEXT} + row_number() OVER (ORDER BY n.pending_id, n.nth) AS sequence, $now AS created_at FROM ("
        "SELECT * EXCLUDE (given), unnest(given) AS s, generate_subscripts(given, 1) AS nth "
        f"FROM (SELECT *, scores::JSON::{SCORES} AS given FROM attached)) n "
        f"JOIN response_ref f ON {SAME_RESPONSE} JOIN item i ON i.id = n.item_id",
        {"now": imported_at},
    )
    cursor.execute("DELETE FROM pending_response WHERE rowid IN (SELECT pending_id FROM attached)")
