"""The SELECTs from which every writer takes its rows, and the order of their columns."""

from __future__ import annotations

import json

import duckdb

from store.bulk.contents import content_table
from store.errors import ExportFailed
from store.kinds.pair import MATCH
from store.queries.current import REVIEW

RECORD_COLUMNS: tuple[str, ...] = (
    "record",
    "id",
    "action",
    "kind",
    "item",
    "question",
    "rater",
    "rater_kind",
    "phase",
    "value",
    "word",
    "origin",
    "mark",
    "active",
    "supersedes",
    "target_action",
    "restores",
    "blind",
    "shown_verdict",
    "shown_execution",
    "guideline",
    "assignment",
    "reason",
    "comment",
    "evidence",
    "elapsed_ms",
    "active_ms",
    "created_at",
    "content_hash",
    "query",
    "code",
    "name",
    "language",
    "repository",
    "path",
    "licence",
    "rank",
    "similarity",
    "extra",
    "content",
)
"""The columns of the full record, in order. `record` is judgment or mark; `value` and `word` are the code and
its word on the question's scale; `mark` and `active` belong to marks; times are ISO 8601 in UTC; from
`content_hash` on it is the item, so that the file recreates the items too. `content` holds, in the first
record of an item of a kind with columns of its own, these and what belongs to it (`store.bulk.contents`)."""

LABEL_COLUMNS: tuple[str, ...] = (
    "id",
    "query",
    "code",
    "name",
    "language",
    "repository",
    "path",
    "licence",
    "rank",
    "similarity",
    "label",
    "extra",
)
"""The columns of one rater's current labels, in order; an import reads each back under the same name."""

_SCORES = """(SELECT item_id,
        to_json(map_from_entries(list({'k': model, 'v': value} ORDER BY model))) AS similarity
    FROM similarity GROUP BY item_id)"""

_CONTENT = """i.content_hash, q.text AS query, c.text AS code, c.name, c.language, c.repository, c.path,
    c.licence, p.rank, m.similarity, CAST(i.extra AS JSON) AS extra"""

_ITEM = f"""LEFT JOIN pair p ON p.item_id = i.id LEFT JOIN query q ON q.id = p.query_id
    LEFT JOIN code c ON c.id = p.code_id LEFT JOIN {_SCORES} m ON m.item_id = i.id"""


def records(cursor: duckdb.DuckDBPyConnection) -> str:
    """Return the SELECT of the full record, in the order in which it was made.

    Args:
        cursor: The cursor that will run it; the words of the scales are put into a table of it.
    """
    cursor.execute("CREATE OR REPLACE TEMP TABLE word (question_id BIGINT, value DOUBLE, word VARCHAR)")
    for number, scale in cursor.execute("SELECT id, scale FROM question").fetchall():
        for value in json.loads(scale)["values"]:
            cursor.execute("INSERT INTO word VALUES (?, ?, ?)", [number, value["value"], value["word"]])
    both = """
        SELECT 'judgment' AS record, id, action, item_id, question_id, rater_id, phase, value, origin,
            NULL::VARCHAR AS mark, NULL::BOOLEAN AS active, supersedes, target_action, restores, blind,
            shown_verdict, shown_execution, guideline_id, assignment_id, reason, comment, evidence,
            elapsed_ms, active_ms, created_at FROM judgment
        UNION ALL BY NAME
        SELECT 'mark' AS record, id, action, item_id, rater_id, phase, origin, kind AS mark, active,
            supersedes, target_action, restores, assignment_id, text AS comment, created_at FROM mark"""
    uuids = ", ".join(
        f"r.{name}::VARCHAR AS {name}"
        for name in (
            "id",
            "action",
            "supersedes",
            "target_action",
            "restores",
            "shown_verdict",
            "shown_execution",
        )
    )
    return f"""
        SELECT {", ".join(RECORD_COLUMNS)} FROM (
            SELECT r.* EXCLUDE (id, action, supersedes, target_action, restores, shown_verdict,
                    shown_execution, created_at),
                {uuids}, i.kind, i.external_id AS item, u.name AS question, a.name AS rater,
                a.kind AS rater_kind, w.word, g.version AS guideline, r.assignment_id::VARCHAR AS assignment,
                strftime(r.created_at, '%Y-%m-%dT%H:%M:%S.%f+00:00') AS created_at, {_CONTENT},
                CAST(k.content AS JSON) AS content
            FROM ({both}) r
            JOIN item i ON i.id = r.item_id JOIN rater a ON a.id = r.rater_id
            LEFT JOIN question u ON u.id = r.question_id LEFT JOIN guideline g ON g.id = r.guideline_id
            LEFT JOIN word w ON w.question_id = r.question_id AND w.value = r.value
            LEFT JOIN {content_table(cursor)} k ON k.item_id = r.item_id AND k.first = r.id
            {_ITEM}
        ) ORDER BY id"""


def labels(cursor: duckdb.DuckDBPyConnection, rater_id: int) -> str:
    """Return the SELECT of one rater's current labels of pairs, in the order of the items.

    Args:
        cursor: The cursor that will run it; the labels are put into a table of it, named current_label.
        rater_id: Whose.

    Raises:
        ExportFailed: The rater has no label that stands.
    """
    cursor.execute(
        """
        CREATE OR REPLACE TEMP TABLE current_label AS
        WITH latest AS (
            SELECT item_id, arg_max_null(value, id) AS value, max(id) AS id FROM judgment
            WHERE rater_id = ? AND phase = ?
                AND question_id = (SELECT id FROM question WHERE name = ?)
            GROUP BY item_id, assignment_id
        )
        SELECT item_id, arg_max(value, id) AS value FROM latest WHERE value IS NOT NULL GROUP BY item_id
        """,
        [rater_id, REVIEW, MATCH.name],
    )
    if not count(cursor, "SELECT count(*) FROM current_label"):
        raise ExportFailed(
            "Nothing to export", "This rater has no label that stands.", "Name another: --rater NAME"
        )
    whole = all(value.value == int(value.value) for value in MATCH.scale.values)
    return f"""
        SELECT i.external_id AS id, {", ".join(LABEL_COLUMNS[1:-2])},
            {"CAST(l.value AS BIGINT)" if whole else "l.value"} AS label, extra
        FROM (SELECT i.id, i.external_id, {_CONTENT} FROM item i {_ITEM} WHERE i.kind = 'pair') i
        JOIN current_label l ON l.item_id = i.id ORDER BY i.id"""


def unlabelled(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many pairs the labels selected before leave out."""
    return count(
        cursor,
        "SELECT count(*) FROM item WHERE kind = 'pair' AND id NOT IN (SELECT item_id FROM current_label)",
    )


def count(cursor: duckdb.DuckDBPyConnection, statement: str) -> int:
    """Return the one number that a statement selects."""
    row = cursor.execute(statement).fetchone()
    return int(row[0]) if row else 0
