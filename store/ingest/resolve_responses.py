"""From staged responses, scores and pieces of context to their items: which are there, new, or pending.

A response names its item, or is joined by what its kind says (`RecordSpec.joined_by`). One whose item is not
here is pending: it is stored with its scores, and attached to the item when that is imported.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import duckdb

from store.ingest.pending import attach_pending, match_pending, store_pending
from store.ingest.problems import Problem, problems_of
from store.ingest.response_keys import (
    NEXT,
    SAME_RESPONSE,
    WHOSE,
    further_fields,
    joined,
    put_join_keys,
    same_key,
    score_id,
    within,
)
from store.ingest.stages import FRESH_PENDING, FRESH_RESPONSE, NEW_CHUNK, NEW_RESPONSE, NEW_SCORE
from store.kinds.spec import task_kinds
from store.policy.scope import REVIEW
from store.sql import count


def resolve_responses(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Find the item of every staged response, piece of context and score, and match pending responses.

    Returns:
        Those that cannot be taken: another text under the same name, a score of no response.
    """
    put_join_keys(cursor)
    NEW_RESPONSE.fill(
        cursor,
        f"""
        SELECT n.*, r.id AS known, r.text AS known_text,
            row_number() OVER (PARTITION BY n.kind, n.whose, n.model, n.setting, n.trial
                ORDER BY n.position) AS nth
        FROM (SELECT *, {WHOSE} AS whose FROM (
            SELECT s.file, s.position, s.number, s.line, s.kind, s.external_id, s.joined_by, s.model,
                coalesce(s.setting, '') AS setting, coalesce(s.trial, 0) AS trial,
                coalesce(s.text, '') AS text, s.extra, {within("s")} AS within,
                coalesce(i.id, j.item_id) AS item_id
            FROM stage_response s
            LEFT JOIN item_key i ON i.kind = s.kind AND i.external_id = s.external_id
            LEFT JOIN join_key {joined("s")}
        )) n
        LEFT JOIN (FROM response JOIN response_ref USING (id)) r
            ON (r.item_id, r.model, r.setting, r.trial) = (n.item_id, n.model, n.setting, n.trial)
        """,
    )
    FRESH_RESPONSE.fill(cursor, "FROM new_response WHERE item_id IS NOT NULL AND known IS NULL AND nth = 1")
    FRESH_PENDING.fill(
        cursor,
        f"""
        SELECT a.* FROM new_response a ANTI JOIN pending_response b ON {same_key()} AND b.text = a.text
        ANTI JOIN (
            SELECT c.kind, c.key, c.within, r.model, r.setting, r.trial, t.text
            FROM join_candidate c JOIN response_ref r ON r.item_id = c.item_id JOIN response t ON t.id = r.id
        ) h ON a.external_id IS NULL AND (h.kind, h.key, h.within, h.model, h.setting, h.trial, h.text)
            = (a.kind, a.joined_by, a.within, a.model, a.setting, a.trial, a.text)
        WHERE a.item_id IS NULL AND a.nth = 1
        """,
    )
    problems = _differing_responses(cursor) + _resolve_scores(cursor) + resolve_chunks(cursor)
    match_pending(cursor)
    return problems


def _differing_responses(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    named = "concat_ws(' ', {0}.model, nullif({0}.setting, ''), nullif({0}.trial, 0))"
    item = "coalesce({0}.external_id, 'the one with this reference')"
    other = f"'another text of ' || {named} || ' for item ' || {item} || ' "
    several = "; number several of one setting: trial'"
    name = "({0}.kind, {0}.whose, {0}.model, {0}.setting, {0}.trial)"
    same_name = f"{name.format('f')} = {name.format('n')}"
    return problems_of(
        cursor,
        f"""
        SELECT file, number, line, {other.format("n")}than the workspace has{several}
        FROM new_response n WHERE known IS NOT NULL AND known_text <> text
        UNION ALL
        SELECT file, number, line, {other.format("n")}came before{several}
        FROM new_response n WHERE nth > 1 AND external_id IS NOT NULL AND text <> (
            SELECT arg_min(f.text, f.position) FROM new_response f
            WHERE {same_name} AND f.external_id IS NOT NULL)
        UNION ALL
        SELECT file, number, line, 'several texts of ' || {named.format("n")} ||
            ' with this reference, which may be of several items; name the item, or number them: trial'
        FROM new_response n WHERE external_id IS NULL AND EXISTS (
            SELECT 1 FROM new_response f WHERE {same_name} AND f.text <> n.text)
        UNION ALL
        SELECT a.file, a.number, a.line, {other.format("a")}than a pending response has{several}
        FROM new_response a JOIN pending_response b ON {same_key()} AND b.text <> a.text
        WHERE a.item_id IS NULL
        """,
    )


def _resolve_scores(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Find the response of every score; a judge who was asked several times has several of one response.

    Two are the same where all their fields are, those that are none of ours included, such as the time.
    """
    NEW_SCORE.fill(
        cursor,
        f"""
        SELECT n.*, w.id AS known_id,
            row_number() OVER (PARTITION BY n.kind, n.whose, n.model, n.setting, n.trial, n.judge, n.measure,
                n.value, n.raw, n.reason, {further_fields("n")} ORDER BY n.position, n.sequence) AS nth
        FROM (SELECT *, {WHOSE} AS whose FROM (
            SELECT s.file, s.position, s.number, s.line, s.kind, s.external_id, s.joined_by, s.model,
                coalesce(s.setting, '') AS setting, coalesce(s.trial, 0) AS trial, s.id, s.judge, s.measure,
                s.value, coalesce(s.raw, '') AS raw, coalesce(s.reason, '') AS reason, s.extra, s.sequence,
                {within("s")} AS within, coalesce(i.id, j.item_id) AS item_id, r.id AS response_ref_id,
                f.item_id IS NOT NULL OR t.id IS NOT NULL AS answered
            FROM stage_score s
            LEFT JOIN item_key i ON i.kind = s.kind AND i.external_id = s.external_id
            LEFT JOIN join_key {joined("s")}
            LEFT JOIN fresh_response f ON (f.item_id, f.model, f.setting, f.trial) =
                (coalesce(i.id, j.item_id), s.model, coalesce(s.setting, ''), coalesce(s.trial, 0))
            LEFT JOIN response_ref r ON (r.item_id, r.model, r.setting, r.trial) =
                (coalesce(i.id, j.item_id), s.model, coalesce(s.setting, ''), coalesce(s.trial, 0))
            LEFT JOIN response t ON t.id = r.id
        )) n
        LEFT JOIN score w ON (w.response_ref_id, w.judge, w.measure, w.raw, w.reason, {further_fields("w")})
            = (n.response_ref_id, n.judge, n.measure, n.raw, n.reason, {further_fields("n")})
            AND w.value IS NOT DISTINCT FROM n.value
        """,
    )
    return problems_of(
        cursor,
        """
        SELECT file, number, line, 'a score of ' || model || ', which has no response for item '
            || external_id || ' here'
        FROM new_score WHERE item_id IS NOT NULL AND NOT answered
        """,
    )


def response_counts(cursor: duckdb.DuckDBPyConnection, file: int) -> dict[str, Any]:
    """Count the responses, scores and chunks that a file, by its number, adds: fields of `FileReport`."""
    scores = "new_score WHERE answered"
    new = {
        "responses_added": "fresh_response WHERE true",
        "pending_responses": "fresh_pending WHERE true",
        "scores_added": f"{scores} AND known_id IS NULL AND nth = 1",
        "chunks_added": "new_chunk WHERE fresh",
    }
    counts = {
        name: count(cursor, f"SELECT count(*) FROM {rows} AND file = {file}") for name, rows in new.items()
    }
    staged = ("new_response WHERE true", scores, "new_chunk WHERE true")
    total = sum(count(cursor, f"SELECT count(*) FROM {rows} AND file = {file}") for rows in staged)
    pending = count(cursor, f"SELECT count(*) FROM pending_score WHERE file = {file}")
    return {**counts, "pending_scores": pending, "responses_known": total - sum(counts.values())}


def count_reopened_questions(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many items get their first responses with this import after something else was judged.

    Judgments of a reference answer stay in the record, and do not count for their item any more.
    """
    first = (
        "SELECT item_id FROM (SELECT item_id FROM fresh_response UNION SELECT item_id FROM attached) "
        "ANTI JOIN (FROM response_ref SEMI JOIN response USING (id)) USING (item_id)"
    )
    if cursor.execute(f"{first} LIMIT 1").fetchone() is None:
        return 0
    specs = [spec for kind in task_kinds().values() for spec in kind.questions]
    names = [spec.name for spec in specs if spec.of_responses]
    lasts = {spec.name: spec.last_value for spec in specs if spec.last_value is not None}
    row = cursor.execute(
        f"""
        SELECT count(DISTINCT item_id) FROM (
            SELECT item_id, bool_or(value IS NOT NULL AND scored) AS judged, bool_or(value = last) AS ended
            FROM (
                SELECT j.item_id, j.rater_id, j.assignment_id, list_contains($names, q.name) AS scored,
                    $lasts[list_position($ends, q.name)] AS last, arg_max_null(j.value, j.id) AS value
                FROM judgment j JOIN question q ON q.id = j.question_id
                WHERE j.phase = $phase AND j.response_ref_id IS NULL AND j.item_id IN ({first})
                GROUP BY ALL
            ) GROUP BY item_id, rater_id, assignment_id
        ) WHERE judged AND ended IS NOT TRUE
        """,
        {"phase": REVIEW, "names": names, "ends": [*lasts], "lasts": [*lasts.values()]},
    ).fetchone()
    return int(row[0]) if row else 0


def publish_responses(
    cursor: duckdb.DuckDBPyConnection, sources: dict[int, int], imported_at: datetime
) -> None:
    """Append new responses, scores and pieces, and those that were pending; in the publishing transaction.

    Args:
        cursor: The cursor that holds the staging tables.
        sources: File number to source id, for every file that adds something.
        imported_at: When.
    """
    given = {"sources": [sources.get(number, 0) for number in range(max(sources, default=0) + 1)]}
    cursor.execute(
        "INSERT INTO response BY NAME SELECT f.id, n.text, n.extra, $sources[n.file + 1] AS source_id "
        f"FROM fresh_response n JOIN response_ref f ON {SAME_RESPONSE} ORDER BY f.id",
        given,
    )
    publish_chunks(cursor)
    cursor.execute(
        f"INSERT INTO score BY NAME SELECT coalesce(n.id, {score_id('n')}) AS id, "
        f"f.id AS response_ref_id, n.judge, n.measure, n.value, n.raw, n.reason, n.extra, "
        f"{NEXT} + row_number() OVER (ORDER BY n.position, n.sequence) AS sequence, $now AS created_at "
        f"FROM new_score n JOIN response_ref f ON {SAME_RESPONSE} JOIN item i ON i.id = n.item_id "
        "WHERE n.answered AND n.known_id IS NULL AND n.nth = 1",
        {"now": imported_at},
    )
    store_pending(cursor, given)
    attach_pending(cursor, imported_at)


def resolve_chunks(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Compare the pieces of each item and setting as a whole: they are there, or not, or are others.

    Returns:
        Those that are others under a setting that the item has.
    """
    one = "concat_ws(chr(31), rank, path, md5(text), coalesce(score, -1))"
    digest = f"md5(string_agg({one}, chr(30) ORDER BY rank))"
    NEW_CHUNK.fill(
        cursor,
        f"""
        WITH given AS (
            SELECT s.file, s.position, s.number, s.line, i.id AS item_id, coalesce(s.setting, '') AS setting,
                s.rank, coalesce(s.path, '') AS path, coalesce(s.text, '') AS text, s.score, s.extra
            FROM stage_chunk s JOIN item_key i ON i.kind = s.kind AND i.external_id = s.external_id
        ), whole AS (
            SELECT file, position, item_id, setting, {digest} AS digest FROM given GROUP BY ALL
        ), firsts AS (
            SELECT item_id, setting, arg_min(digest, position) AS first_digest, min(position) AS first
            FROM whole GROUP BY ALL
        ), stored AS (
            SELECT item_id, setting, {digest} AS stored_digest FROM context_chunk
            WHERE item_id IN (SELECT item_id FROM given) GROUP BY ALL
        )
        SELECT g.*, w.digest, f.first_digest, f.first, k.stored_digest,
            k.stored_digest IS NULL AND f.first = g.position AS fresh
        FROM given g JOIN whole w USING (file, position, item_id, setting)
        JOIN firsts f USING (item_id, setting)
        LEFT JOIN stored k USING (item_id, setting)
        """,
    )
    return problems_of(
        cursor,
        """
        SELECT DISTINCT file, number, line, 'other context than ' ||
            CASE WHEN stored_digest IS NULL THEN 'came before' ELSE 'the workspace has' END ||
            ' for this item under the setting ''' || setting || '''; give it another one: --setting NAME'
        FROM new_chunk WHERE digest <> coalesce(stored_digest, first_digest)
        """,
    )


def publish_chunks(cursor: duckdb.DuckDBPyConnection) -> None:
    """Append the new pieces; inside the publishing transaction."""
    cursor.execute(
        "INSERT INTO context_chunk SELECT item_id, setting, rank, path, text, score, extra FROM new_chunk "
        "WHERE fresh ORDER BY item_id, setting, rank"
    )
