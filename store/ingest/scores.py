"""Judges' scores of responses: of which response each is, and which are there already."""

from __future__ import annotations

import duckdb

from store.ingest.joining import JOIN, WHOSE, within
from store.ingest.problems import Problem, problems_of

SCORES = (
    'STRUCT(judge VARCHAR, measure VARCHAR, "value" DOUBLE, raw VARCHAR, reason VARCHAR, extra VARCHAR)[]'
)
"""The type of the scores that stand, as JSON, with a response that is kept aside."""


def resolve_scores(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Find the response of every score; a judge who was asked several times has several of one response.

    Two are the same where all of them is, what the file says beside our fields included, such as the time.
    """
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE new_score AS
        SELECT n.*, w.id AS known_id,
            row_number() OVER (PARTITION BY n.kind, n.whose, n.model, n.setting, n.trial, n.judge, n.measure,
                n.value, n.raw, n.reason, {beside("n")} ORDER BY n.position, n.sequence) AS nth
        FROM (SELECT *, {WHOSE} AS whose FROM (
            SELECT s.file, s.position, s.number, s.line, s.kind, s.external_id, s.joined_by, s.model,
                coalesce(s.setting, '') AS setting, coalesce(s.trial, 0) AS trial, s.id, s.judge, s.measure,
                s.value, coalesce(s.raw, '') AS raw, coalesce(s.reason, '') AS reason, s.extra, s.sequence,
                {within("s")} AS within, coalesce(i.id, j.item_id) AS item_id, r.id AS response_ref_id,
                f.item_id IS NOT NULL OR t.id IS NOT NULL AS answered
            FROM stage_score s
            LEFT JOIN item_key i ON i.kind = s.kind AND i.external_id = s.external_id
            LEFT JOIN join_key {JOIN.format("s", within("s"))}
            LEFT JOIN fresh_response f ON (f.item_id, f.model, f.setting, f.trial) =
                (coalesce(i.id, j.item_id), s.model, coalesce(s.setting, ''), coalesce(s.trial, 0))
            LEFT JOIN response_ref r ON (r.item_id, r.model, r.setting, r.trial) =
                (coalesce(i.id, j.item_id), s.model, coalesce(s.setting, ''), coalesce(s.trial, 0))
            LEFT JOIN response t ON t.id = r.id
        )) n
        LEFT JOIN score w ON (w.response_ref_id, w.judge, w.measure, w.raw, w.reason, {beside("w")})
            = (n.response_ref_id, n.judge, n.measure, n.raw, n.reason, {beside("n")})
            AND w.value IS NOT DISTINCT FROM n.value
        """
    )
    return problems_of(
        cursor,
        """
        SELECT file, number, line, 'a score of ' || model || ', which has no response for item '
            || external_id || ' here'
        FROM new_score WHERE item_id IS NOT NULL AND NOT answered
        """,
    )


def beside(table: str) -> str:
    """Return what a score says beside our fields, in SQL: the same text whatever the order of its fields."""
    extra = f"{table}.extra"
    pointer = "'/' || replace(replace(k, '~', '~0'), '/', '~1')"
    fields = f"list_transform(json_keys({extra}), lambda k: k || json_extract({extra}, {pointer}))"
    return f"if({extra} = '{{}}', '', list_sort({fields})::VARCHAR)"


NEXT = "(SELECT coalesce(max(sequence), 0) FROM score)"
"""The place of the score that was appended last: the last one of a judge is its last word."""

SAME_RESPONSE = "(f.item_id, f.model, f.setting, f.trial) = (n.item_id, n.model, n.setting, n.trial)"
"""When a response reference f is that of a new record n, as SQL."""


def score_id(score: str) -> str:
    """Return the SQL of the id of a score without one, with its item i and response reference f.

    It is the same in every workspace, since judgments name the score that was shown.
    """
    fields = ("judge", "measure", "value", "raw", "reason")
    said = ", ".join(f"{score}.{name}" for name in fields)
    response = "i.kind, i.external_id, f.model, f.setting, f.trial"
    return f"md5(json_array({response}, {said})::VARCHAR || {beside(score)})::UUID"
