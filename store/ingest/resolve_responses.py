"""From staged responses, scores and pieces of context to their items: what is there, what is new, what waits.

A response names its item, or is joined by what its kind says (`TaskKind.joined_by`). One whose item is not
here is kept aside, with its scores, and finds the item when it is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import duckdb

from store.ingest.aside import bring_home, find_homes, find_scores_aside, put_aside, put_scores_aside
from store.ingest.chunks import publish_chunks, resolve_chunks
from store.ingest.joining import JOIN, WHOSE, put_join_keys, same_key, within
from store.ingest.problems import Problem, problems_of
from store.ingest.scores import NEXT, SAME_RESPONSE, resolve_scores, score_id
from store.kinds.protocol import task_kinds
from store.scope import REVIEW
from store.sql import any_row


@dataclass(frozen=True, slots=True)
class ResponseCounts:
    """What one file adds beside items.

    Attributes:
        responses: New responses of items that are here.
        aside: New responses whose item is not here.
        scores: New scores of responses that are here.
        scores_aside: New scores of responses that had been kept aside before.
        chunks: New pieces of context.
        known: Responses, scores and pieces that were there already.
    """

    responses: int = 0
    aside: int = 0
    scores: int = 0
    scores_aside: int = 0
    chunks: int = 0
    known: int = 0


def resolve_responses(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Find the item of every staged response, piece and score: the tables new_response, new_chunk, new_score.

    Returns:
        Those that cannot be taken: another text under the same name, a score of no response.
    """
    put_join_keys(cursor)
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE new_response AS
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
            LEFT JOIN join_key {JOIN.format("s", within("s"))}
        )) n
        LEFT JOIN (FROM response JOIN response_ref USING (id)) r
            ON (r.item_id, r.model, r.setting, r.trial) = (n.item_id, n.model, n.setting, n.trial)
        """
    )
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE fresh_response AS "
        "FROM new_response WHERE item_id IS NOT NULL AND known IS NULL AND nth = 1"
    )
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE fresh_aside AS
        SELECT a.* FROM new_response a ANTI JOIN response_aside b ON {same_key()} AND b.text = a.text
        ANTI JOIN (
            SELECT c.kind, c.key, c.within, r.model, r.setting, r.trial, t.text
            FROM join_candidate c JOIN response_ref r ON r.item_id = c.item_id JOIN response t ON t.id = r.id
        ) h ON a.external_id IS NULL AND (h.kind, h.key, h.within, h.model, h.setting, h.trial, h.text)
            = (a.kind, a.joined_by, a.within, a.model, a.setting, a.trial, a.text)
        WHERE a.item_id IS NULL AND a.nth = 1
        """
    )
    problems = _torn_responses(cursor) + resolve_scores(cursor) + resolve_chunks(cursor)
    find_homes(cursor)
    find_scores_aside(cursor)
    return problems


def _torn_responses(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    named = "concat_ws(' ', model, nullif(setting, ''), nullif(trial, 0))"
    item = "coalesce(external_id, 'the one with this reference')"
    return problems_of(
        cursor,
        f"""
        SELECT file, number, line, 'another text of ' || {named} || ' for item ' || {item} ||
            ' than the workspace has; number several of one setting: trial'
        FROM new_response WHERE known IS NOT NULL AND known_text <> text
        UNION ALL
        SELECT file, number, line, 'another text of ' || {named} || ' for item ' || {item} ||
            ' came before; number several of one setting: trial'
        FROM new_response n WHERE nth > 1 AND external_id IS NOT NULL AND text <> (
            SELECT arg_min(f.text, f.position) FROM new_response f
            WHERE (f.kind, f.whose, f.model, f.setting, f.trial)
                = (n.kind, n.whose, n.model, n.setting, n.trial) AND f.external_id IS NOT NULL)
        UNION ALL
        SELECT file, number, line, 'several texts of ' || {named} ||
            ' with this reference, which may be of several items; name the item, or number them: trial'
        FROM new_response n WHERE external_id IS NULL AND EXISTS (
            SELECT 1 FROM new_response f
            WHERE (f.kind, f.whose, f.model, f.setting, f.trial)
                = (n.kind, n.whose, n.model, n.setting, n.trial) AND f.text <> n.text)
        UNION ALL
        SELECT a.file, a.number, a.line,
            'another text of ' || concat_ws(' ', a.model, nullif(a.setting, ''), nullif(a.trial, 0)) ||
            ' for item ' ||
            coalesce(a.external_id, 'the one with this reference') ||
            ' than was kept aside before; number several of one setting: trial'
        FROM new_response a JOIN response_aside b ON {same_key()} AND b.text <> a.text
        WHERE a.item_id IS NULL
        """,
    )


def response_counts(cursor: duckdb.DuckDBPyConnection, file: int) -> ResponseCounts:
    """Count what a file, by its number, adds beside items."""
    row = cursor.execute(
        """
        SELECT (SELECT count(*) FROM fresh_response WHERE file = $file),
            (SELECT count(*) FROM fresh_aside WHERE file = $file),
            (SELECT count(*) FROM new_score WHERE file = $file AND answered
                AND known_id IS NULL AND nth = 1),
            (SELECT count(*) FROM aside_score WHERE file = $file),
            (SELECT count(*) FROM new_chunk WHERE file = $file AND fresh),
            (SELECT count(*) FROM new_response WHERE file = $file),
            (SELECT count(*) FROM new_score WHERE file = $file AND answered),
            (SELECT count(*) FROM new_chunk WHERE file = $file)
        """,
        {"file": file},
    ).fetchone()
    responses, aside, scores, scores_aside, chunks, *staged = row or (0,) * 8
    known = sum(staged) - responses - aside - scores - chunks
    return ResponseCounts(responses, aside, scores, scores_aside, chunks, known)


def count_reopened_questions(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many items get their first responses with this import after something else was judged.

    What was said of a reference answer stays in the record, and does not count for its item any more.
    """
    first = (
        "SELECT item_id FROM (SELECT item_id FROM fresh_response UNION SELECT item_id FROM come_home) "
        "ANTI JOIN (FROM response_ref SEMI JOIN response USING (id)) USING (item_id)"
    )
    if cursor.execute(f"{first} LIMIT 1").fetchone() is None:
        return 0
    names = [spec.name for kind in task_kinds().values() for spec in kind.questions if spec.of_responses]
    row = cursor.execute(
        f"""
        SELECT count(DISTINCT item_id) FROM (
            SELECT item_id, arg_max_null(value, id) AS value FROM judgment
            WHERE phase = $phase AND response_ref_id IS NULL AND item_id IN ({first})
                AND question_id IN (SELECT id FROM question WHERE name IN (SELECT unnest($names::VARCHAR[])))
            GROUP BY item_id, question_id, rater_id, assignment_id
        ) WHERE value IS NOT NULL
        """,
        {"phase": REVIEW, "names": names},
    ).fetchone()
    return int(row[0]) if row else 0


def publish_responses(
    cursor: duckdb.DuckDBPyConnection, sources: dict[int, int], imported_at: datetime
) -> None:
    """Append new responses, scores and pieces, and what was aside; inside the publishing transaction.

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
    if any_row(cursor, "fresh_aside"):
        put_aside(cursor, given)
    if any_row(cursor, "aside_score"):
        put_scores_aside(cursor)
    cursor.execute("DELETE FROM response_aside WHERE rowid IN (SELECT place FROM at_home_already)")
    if any_row(cursor, "come_home"):
        bring_home(cursor, imported_at)
