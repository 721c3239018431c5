"""The full record: every judgment and mark, with the items that they are about.

An item is written in columns of the record where these hold all of it, else as one JSON object with `fields`
(the kind's columns), `chunks`, and `responses` with their `scores`; store.ingest.contents reads it back.
"""

from __future__ import annotations

import duckdb

from store.errors import ExportFailed
from store.export.labels import EXPORTED, QUESTION_NAME, create_words, favoured, similarities
from store.export.studied import STUDIED, STUDY_COLUMNS
from store.kinds.spec import task_kinds

_UUIDS = ("id", "action", "supersedes", "target_action", "restores", "shown_verdict", "shown_execution")

RECORD_COLUMNS: tuple[str, ...] = (
    *("record", "id", "action", "kind", "item", "question", "rater", "rater_kind", "phase", "value", "word"),
    *("of", "origin", "mark", "active", "supersedes", "target_action", "restores", "blind", "shown_verdict"),
    *("shown_execution", "shown_as", "guideline", "assignment", *STUDY_COLUMNS, "reason", "comment"),
    *("evidence", "elapsed_ms", "active_ms", "created_at", "content_hash", "query", "code", "name"),
    *("language", "repository", "path"),
    *("licence", "rank", "similarity", "extra", "content"),
)
"""The columns of the full record, in order. `record` is judgment or mark; `value` and `word` are the code and
its word on the question's scale, of a comparison from the view of `first` in its `content`; `of` names the
candidate that it favours; `mark` and `active` belong to marks; times are in UTC; from `content_hash` on it is
the item, so that the file recreates the items too. `content` holds, in the first record of an item of a kind
without columns here, the item."""


def _refuse_unknown_kinds(cursor: duckdb.DuckDBPyConnection) -> None:
    """Refuse a record whose items are of an unknown kind."""
    strange = cursor.execute(
        "SELECT DISTINCT kind FROM item WHERE NOT list_contains($kinds, kind) AND "
        "(id IN (SELECT item_id FROM judgment) OR id IN (SELECT item_id FROM mark)) ORDER BY kind",
        {"kinds": list(task_kinds())},
    ).fetchall()
    if strange:
        kinds = ", ".join(repr(kind) for (kind,) in strange)
        raise ExportFailed(
            "Unknown task kind",
            f"Items of the unknown task kind {kinds} were judged.",
            "Install the package that adds it; `workbench doctor` lists the kinds.",
        )


def records(cursor: duckdb.DuckDBPyConnection) -> str:
    """Return the SELECT of the full record, in the order in which it was made.

    Args:
        cursor: The cursor that will run it; it holds the words of the scales.

    Raises:
        ExportFailed: Items were judged of a kind that nothing installed knows.
    """
    _refuse_unknown_kinds(cursor)
    create_words(cursor)
    both = """
        SELECT 'judgment' AS record, id, action, item_id, question_id, response_ref_id, rater_id, phase,
            value, origin, NULL::VARCHAR AS mark, NULL::BOOLEAN AS active, supersedes, target_action,
            restores, blind, shown_verdict, shown_execution, shown_as, guideline_id, assignment_id, reason,
            comment, evidence, elapsed_ms, active_ms, created_at FROM exported_judgment
        UNION ALL BY NAME
        SELECT 'mark' AS record, id, action, item_id, rater_id, phase, origin, kind AS mark, active,
            supersedes, target_action, restores, assignment_id, text AS comment, created_at
        FROM exported_mark"""
    flat = " UNION ALL BY NAME ".join(
        kind.record.select for kind in task_kinds().values() if kind.record.flat
    )
    # Ids become texts after rows are sorted: before, they are a third as long, and compared as numbers.
    texts = ", ".join(f"{name}::VARCHAR AS {name}" for name in _UUIDS)
    return f"""
        SELECT {", ".join(RECORD_COLUMNS)} FROM (SELECT * REPLACE ({texts}) FROM (
            SELECT r.*, i.kind, i.external_id AS item, {QUESTION_NAME} AS question, a.name AS rater,
                a.kind AS rater_kind, w.word, {favoured("r.value")} AS of, g.version AS guideline,
                r.assignment_id::VARCHAR AS assignment, {STUDIED},
                i.content_hash, p.* EXCLUDE (item_id), m.similarity, CAST(i.extra AS JSON) AS extra,
                CAST(k.content AS JSON) AS content
            FROM ({both}) r
            JOIN item i ON i.id = r.item_id JOIN exported_rater a ON a.id = r.rater_id
            LEFT JOIN studied t ON t.assignment_id = r.assignment_id
            LEFT JOIN question asks ON asks.id = r.question_id
            LEFT JOIN response_ref ref ON ref.id = r.response_ref_id
            LEFT JOIN guideline g ON g.id = r.guideline_id
            LEFT JOIN word w ON w.question_id = r.question_id AND w.value = r.value
            LEFT JOIN comparison c ON c.item_id = r.item_id
            LEFT JOIN {_content_table(cursor)} k ON k.item_id = r.item_id AND k.first = r.id
            LEFT JOIN ({flat}) p ON p.item_id = i.id LEFT JOIN {similarities(cursor)} m
                ON m.item_id = i.id
            WHERE i.id IN {EXPORTED}
            ORDER BY r.id
        ))"""


def _content_table(cursor: duckdb.DuckDBPyConnection) -> str:
    """Create a table (item_id, first, content) with the content of the items that have records.

    `first` is the first record of the item, the one that carries the content.

    Returns:
        Its name.
    """
    kinds = {name: kind for name, kind in task_kinds().items() if not kind.record.flat}
    cursor.execute(
        """
        CREATE OR REPLACE TEMP TABLE recorded_item AS
        SELECT item_id, min(r.id) AS first FROM (
            SELECT item_id, id FROM exported_judgment UNION ALL SELECT item_id, id FROM exported_mark
        ) r JOIN item i ON i.id = r.item_id WHERE list_contains($kinds, i.kind) GROUP BY item_id
        """,
        {"kinds": list(kinds)},
    )
    cursor.execute(
        """
        CREATE OR REPLACE TEMP TABLE belonging AS
        WITH scored AS (
            SELECT response_ref_id, list({'id': id::VARCHAR, 'judge': judge, 'measure': measure,
                'value': value, 'raw': raw, 'reason': reason, 'extra': extra::JSON}
                ORDER BY judge, measure, sequence) AS scores
            FROM score GROUP BY response_ref_id
        ), answered AS (
            SELECT item_id, list({'model': model, 'setting': setting, 'trial': trial, 'text': text,
                'extra': extra::JSON, 'scores': coalesce(scores, [])}
                ORDER BY model, setting, trial) AS responses
            FROM response JOIN response_ref USING (id) LEFT JOIN scored ON response_ref_id = id
            GROUP BY item_id
        ), chunked AS (
            SELECT item_id, list(
                {'setting': setting, 'rank': rank, 'path': path, 'text': text, 'score': score,
                    'extra': extra::JSON}
                ORDER BY setting, rank) AS chunks
            FROM context_chunk GROUP BY item_id
        )
        SELECT item_id, first, coalesce(to_json(responses), '[]') AS responses,
            coalesce(to_json(chunks), '[]') AS chunks
        FROM recorded_item LEFT JOIN answered USING (item_id) LEFT JOIN chunked USING (item_id)
        """
    )
    cursor.execute("CREATE OR REPLACE TEMP TABLE item_content (item_id BIGINT, first UUID, content VARCHAR)")
    for kind in kinds.values():
        fields = ", ".join(
            f"'{column}': t.{column}{'' if type_ not in ('list', 'object') else '::JSON'}"
            for column, type_ in kind.record.columns.items()
        )
        cursor.execute(
            "INSERT INTO item_content SELECT t.item_id, b.first, json_object('fields', "
            f"{{{fields}}}, 'chunks', b.chunks, 'responses', b.responses)::VARCHAR "
            f"FROM ({kind.record.select}) t JOIN belonging b ON b.item_id = t.item_id"
        )
    return "item_content"
