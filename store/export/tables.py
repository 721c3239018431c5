"""The tables that can be written of a workspace, as SELECTs, and the order of their columns."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from store.errors import ExportFailed
from store.export.contents import content_table
from store.export.standing import STANDING, labelled_items, put_standing
from store.formats.protocol import Written
from store.formatting import counted
from store.kinds.spec import TaskKind, task_kinds
from store.record.response_names import response_name_sql
from store.sql import count, quoted

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
record of an item of a kind with columns of its own, these and what belongs to it."""

LONG_COLUMNS: tuple[str, ...] = ("item", "kind", "question", "rater", "value", "word", "comment")
"""The columns of labels in long form, in order."""

_SCORES = """(SELECT item_id,
        to_json(map_from_entries(list({'k': model, 'v': value} ORDER BY model))) AS similarity
    FROM similarity GROUP BY item_id)"""


def label_columns(kind: TaskKind) -> tuple[str, ...]:
    """Return the columns of one rater's current labels of a kind, in order; an import reads each back."""
    return ("id", *kind.record.columns, *(("similarity",) if kind.record.ranked else ()), "label", "extra")


def put_words(cursor: duckdb.DuckDBPyConnection) -> None:
    """Put the words of the scales into a table of the cursor: word (question_id, value, word)."""
    cursor.execute("CREATE OR REPLACE TEMP TABLE word (question_id BIGINT, value DOUBLE, word VARCHAR)")
    cursor.execute(
        """
        INSERT INTO word SELECT id, one."value", one.word
        FROM (SELECT id, unnest(from_json(scale->'values', '[{"value": "DOUBLE", "word": "VARCHAR"}]')) AS one
            FROM question)
        """
    )


def _refuse_unknown_kinds(cursor: duckdb.DuckDBPyConnection) -> None:
    """Refuse a record that would lack what its items consist of."""
    strange = cursor.execute(
        "SELECT DISTINCT kind FROM item WHERE NOT list_contains($kinds, kind) AND "
        "(id IN (SELECT item_id FROM judgment) OR id IN (SELECT item_id FROM mark)) ORDER BY kind",
        {"kinds": list(task_kinds())},
    ).fetchall()
    if strange:
        kinds = ", ".join(repr(kind) for (kind,) in strange)
        raise ExportFailed(
            "Unknown task kind",
            f"Nothing installed knows what items of the kind {kinds} consist of, which were judged.",
            "Install the package that adds it; `workbench doctor` lists the kinds.",
        )


QUESTION_NAME = f"(asks.name || coalesce('@' || {response_name_sql('ref')}, ''))"
"""The readable name of a question `asks`, with the reference `ref` to its response, if any; as SQL."""


def records(cursor: duckdb.DuckDBPyConnection) -> str:
    """Return the SELECT of the full record, in the order in which it was made.

    Args:
        cursor: The cursor that will run it; the words of the scales are put into a table of it.

    Raises:
        ExportFailed: Items were judged of a kind that nothing installed knows.
    """
    _refuse_unknown_kinds(cursor)
    put_words(cursor)
    both = """
        SELECT 'judgment' AS record, id, action, item_id, question_id, response_ref_id, rater_id, phase,
            value, origin, NULL::VARCHAR AS mark, NULL::BOOLEAN AS active, supersedes, target_action,
            restores, blind, shown_verdict, shown_execution, guideline_id, assignment_id, reason, comment,
            evidence, elapsed_ms, active_ms, created_at FROM judgment
        UNION ALL BY NAME
        SELECT 'mark' AS record, id, action, item_id, rater_id, phase, origin, kind AS mark, active,
            supersedes, target_action, restores, assignment_id, text AS comment, created_at FROM mark"""
    flat = " UNION ALL BY NAME ".join(
        kind.record.select for kind in task_kinds().values() if kind.record.flat
    )
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
                {uuids}, i.kind, i.external_id AS item, {QUESTION_NAME} AS question, a.name AS rater,
                a.kind AS rater_kind, w.word, g.version AS guideline, r.assignment_id::VARCHAR AS assignment,
                strftime(r.created_at, '%Y-%m-%dT%H:%M:%S.%f+00:00') AS created_at,
                i.content_hash, p.* EXCLUDE (item_id), m.similarity, CAST(i.extra AS JSON) AS extra,
                CAST(k.content AS JSON) AS content
            FROM ({both}) r
            JOIN item i ON i.id = r.item_id JOIN rater a ON a.id = r.rater_id
            LEFT JOIN question asks ON asks.id = r.question_id
            LEFT JOIN response_ref ref ON ref.id = r.response_ref_id
            LEFT JOIN guideline g ON g.id = r.guideline_id
            LEFT JOIN word w ON w.question_id = r.question_id AND w.value = r.value
            LEFT JOIN {content_table(cursor)} k ON k.item_id = r.item_id AND k.first = r.id
            LEFT JOIN ({flat}) p ON p.item_id = i.id LEFT JOIN {_SCORES} m ON m.item_id = i.id
        ) ORDER BY id"""


def labels(cursor: duckdb.DuckDBPyConnection, rater_id: int, kind: TaskKind) -> str:
    """Return the SELECT of one rater's current labels of a kind, in the order of the items.

    Args:
        cursor: The cursor that will run it; the labels are put into a table of it, named current_label.
        rater_id: Whose.
        kind: The kind.

    Raises:
        ExportFailed: The rater has no current label.
    """
    put_standing(cursor, rater_id)
    asked = kind.label_question
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE current_label AS SELECT item_id, s.value FROM {STANDING} s "
        "JOIN question q ON q.id = s.question_id WHERE q.name = ?",
        [asked.name if asked else ""],
    )
    if not count(cursor, "SELECT count(*) FROM current_label"):
        others = _others_labelled(cursor, kind)
        raise ExportFailed(
            "Nothing to export",
            f"This rater has no current label of a {kind.singular}, but labels of {told_kinds(others)}."
            if others
            else "This rater has no current label.",
            "Write these: --format labels" if others else "Name another: --rater NAME",
        )
    return f"""
        SELECT i.external_id AS id, {", ".join(label_columns(kind)[1:-2])},
            {"l.value::BIGINT" if whole_numbers(cursor, "current_label") else "l.value"} AS label,
            CAST(i.extra AS JSON) AS extra
        FROM item i JOIN ({kind.record.select}) p ON p.item_id = i.id
        JOIN current_label l ON l.item_id = i.id LEFT JOIN {_SCORES} m ON m.item_id = i.id ORDER BY i.id"""


def long_labels(cursor: duckdb.DuckDBPyConnection, rater_id: int | None) -> str:
    """Return the SELECT of the current labels of one rater or of all, in the order of the items.

    Args:
        cursor: The cursor that will run it; the labels are put into a table of it, named as STANDING says.
        rater_id: Whose; None for everybody's.

    Raises:
        ExportFailed: There is none.
    """
    put_standing(cursor, rater_id)
    put_words(cursor)
    if not count(cursor, f"SELECT count(*) FROM {STANDING}"):
        raise ExportFailed(
            "Nothing to export",
            "There are no labels." if rater_id is None else "This rater has no current label.",
            "See what is there: workbench items WORKSPACE",
        )
    value = "CAST(s.value AS BIGINT)" if whole_numbers(cursor, STANDING) else "s.value"
    return f"""
        SELECT {", ".join(LONG_COLUMNS)} FROM (
            SELECT i.external_id AS item, i.kind, {QUESTION_NAME} AS question, a.name AS rater, {value}
                AS value, coalesce(w.word, '') AS word, j.comment, i.id AS place, asks.id AS asked,
                ref.model, ref.setting, ref.trial
            FROM {STANDING} s JOIN judgment j ON j.id = s.id JOIN item i ON i.id = s.item_id
            JOIN question asks ON asks.id = s.question_id JOIN rater a ON a.id = s.rater_id
            LEFT JOIN response_ref ref ON ref.id = s.response_ref_id
            LEFT JOIN word w ON w.question_id = s.question_id AND w.value = s.value
        ) ORDER BY place, model NULLS FIRST, setting, trial, asked, rater"""


def written_labels(cursor: duckdb.DuckDBPyConnection, kind: TaskKind) -> Written:
    """Return how many the labels selected before are: of a kind, its items left out, of other kinds."""
    total = count(cursor, "SELECT count(*) FROM current_label")
    unlabelled = count(
        cursor,
        f"SELECT count(*) FROM item WHERE kind = {quoted(kind.name)} "
        "AND id NOT IN (SELECT item_id FROM current_label)",
    )
    return Written(total, unlabelled, _others_labelled(cursor, kind))


def _others_labelled(cursor: duckdb.DuckDBPyConnection, kind: TaskKind) -> dict[str, int]:
    """Return how many items of other kinds have labels among those selected before, by kind."""
    return {name: number for name, number in labelled_items(cursor).items() if name != kind.name}


def told_kinds(numbers: Mapping[str, int]) -> str:
    """Return numbers of items by kind as one reads them: "3 completions, 1 repository question"."""
    kinds = task_kinds()
    return ", ".join(
        counted(number, "item") + f" of kind {kind}"
        if kind not in kinds
        else counted(number, kinds[kind].plural.removesuffix("s"), kinds[kind].plural)
        for kind, number in numbers.items()
    )


def whole_numbers(cursor: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Return whether every `value` of a table is a whole number, and can be written as one."""
    return not count(cursor, f"SELECT count(*) FROM {table} WHERE value <> trunc(value)")
