"""Responses kept aside since their item is not here, or could be several; they come home when it is there."""

from __future__ import annotations

from datetime import datetime

import duckdb

from store.ingest.joining import JOIN, same_key, within
from store.ingest.scores import NEXT, SAME_RESPONSE, SCORES, beside, score_id
from store.sql import any_row

_AT_HOME = " UNION ALL ".join(
    f"SELECT item_id, model, setting, trial, text FROM {table}"
    for table in ("fresh_response", "response JOIN response_ref USING (id)", "come_home")
)
"""The responses of items that are here, with those that come with this import."""

_GIVEN = """list({'judge': judge, 'measure': measure, 'value': value, 'raw': raw, 'reason': reason,
    'extra': extra} ORDER BY position, sequence)"""
"""New scores of one response, as they stand with one that is kept aside."""


def find_homes(cursor: duckdb.DuckDBPyConnection) -> None:
    """Put the responses that were kept aside and whose item is here now into the table come_home.

    Of several of one name the first that names the item comes; another text stays aside. Those that are
    here already, with nothing to bring, are put into at_home_already.
    """
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE homeward AS
        SELECT a.*, a.rowid AS place, coalesce(i.id, j.item_id) AS item_id
        FROM response_aside a
        LEFT JOIN item_key i ON i.kind = a.kind AND i.external_id = a.external_id
        LEFT JOIN join_key {JOIN.format("a", within("a"))}
        WHERE coalesce(i.id, j.item_id) IS NOT NULL
        """
    )
    cursor.execute(
        """
        CREATE OR REPLACE TEMP TABLE come_home AS
        SELECT * FROM homeward h
        ANTI JOIN fresh_response f
            ON (f.item_id, f.model, f.setting, f.trial) = (h.item_id, h.model, h.setting, h.trial)
        ANTI JOIN (FROM response_ref SEMI JOIN response USING (id)) r
            ON (r.item_id, r.model, r.setting, r.trial) = (h.item_id, h.model, h.setting, h.trial)
        QUALIFY row_number() OVER (PARTITION BY item_id, model, setting, trial
            ORDER BY external_id IS NULL, place) = 1
        """
    )
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE at_home_already AS
        SELECT h.place FROM homeward h JOIN (
            {_AT_HOME}
        ) t USING (item_id, model, setting, trial, text)
        WHERE h.scores = '[]' AND h.place NOT IN (SELECT place FROM come_home)
        """
    )


def find_scores_aside(cursor: duckdb.DuckDBPyConnection) -> None:
    """Put the new scores of responses that are aside already into the table aside_score."""
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE aside_score AS
        WITH theirs AS (
            SELECT rowid AS place, unnest(scores::JSON::{SCORES}) AS o FROM response_aside
        ), given AS (
            SELECT a.*, b.rowid AS place FROM new_score a JOIN response_aside b ON {same_key()}
            WHERE NOT a.answered AND a.item_id IS NULL AND a.nth = 1
        )
        SELECT g.* FROM given g ANTI JOIN theirs t
            ON (t.place, t.o.judge, t.o.measure, t.o.raw, t.o.reason, {beside("t.o")})
                = (g.place, g.judge, g.measure, g.raw, g.reason, {beside("g")})
            AND t.o."value" IS NOT DISTINCT FROM g.value
        """
    )


def coming_home(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many responses that were kept aside find their item with this import."""
    row = cursor.execute("SELECT count(*) FROM come_home").fetchone()
    return int(row[0]) if row else 0


def staying_aside(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many kept aside cannot come to their item, which has another text of the same name."""
    if not any_row(cursor, "homeward"):
        return 0
    row = cursor.execute(
        f"""
        SELECT count(*) FROM homeward h JOIN (
            {_AT_HOME}
        ) t USING (item_id, model, setting, trial) WHERE t.text <> h.text
        """
    ).fetchone()
    return int(row[0]) if row else 0


def put_aside(cursor: duckdb.DuckDBPyConnection, given: dict[str, list[int]]) -> None:
    """Append the new responses whose item is not here, each with its scores.

    Args:
        cursor: The cursor that holds the staging tables.
        given: `sources`, the source id of every file by its number.
    """
    cursor.execute(
        f"""
        INSERT INTO response_aside
        SELECT $sources[a.file + 1], a.line, a.kind, a.external_id, a.joined_by, a.model, a.setting, a.trial,
            a.text, a.extra, coalesce((
                SELECT to_json({_GIVEN})::VARCHAR
                FROM new_score s WHERE NOT s.answered AND s.nth = 1
                    AND (s.kind, s.whose, s.model, s.setting, s.trial)
                        = (a.kind, a.whose, a.model, a.setting, a.trial)), '[]')
        FROM fresh_aside a ORDER BY a.position
        """,
        given,
    )


def put_scores_aside(cursor: duckdb.DuckDBPyConnection) -> None:
    """Put new scores to the responses that are kept aside already."""
    cursor.execute(
        f"UPDATE response_aside SET scores = to_json(list_concat(scores::JSON::{SCORES}, n.more))::VARCHAR "
        f"FROM (SELECT place, {_GIVEN} AS more FROM aside_score GROUP BY place) n "
        "WHERE response_aside.rowid = n.place"
    )


def bring_home(cursor: duckdb.DuckDBPyConnection, imported_at: datetime) -> None:
    """Append the responses that come home, and their scores, and keep them aside no longer."""
    cursor.execute(
        "INSERT INTO response BY NAME SELECT f.id, n.text, n.extra, n.source_id "
        f"FROM come_home n JOIN response_ref f ON {SAME_RESPONSE} ORDER BY f.id"
    )
    cursor.execute(
        f"INSERT INTO score BY NAME SELECT {score_id('s')} AS id, f.id AS response_ref_id, s.judge, "
        "s.measure, s.value, s.raw, s.reason, s.extra, "
        f"{NEXT} + row_number() OVER (ORDER BY n.place, n.nth) AS sequence, $now AS created_at FROM ("
        "SELECT * EXCLUDE (given), unnest(given) AS s, generate_subscripts(given, 1) AS nth "
        f"FROM (SELECT *, scores::JSON::{SCORES} AS given FROM come_home)) n "
        f"JOIN response_ref f ON {SAME_RESPONSE} JOIN item i ON i.id = n.item_id",
        {"now": imported_at},
    )
    cursor.execute("DELETE FROM response_aside WHERE rowid IN (SELECT place FROM come_home)")
