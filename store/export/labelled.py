"""Items, or responses to them, with their true labels and who judged them, as a ground truth is published."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from store.errors import ExportFailed
from store.export.labels import (
    CURRENT_LABEL,
    EXPORTED,
    SIMILARITIES,
    create_current_labels,
    create_words,
    whole_numbers,
)
from store.export.studied import STUDIED
from store.formats.protocol import MISSING_REASONS
from store.kinds.spec import QuestionSpec, TaskKind
from store.record.response_names import response_name_sql
from store.sql import count, quoted

PROVENANCE = (
    *("rater", "value", "judged_at", "origin", "blind", "saw_label", "phase", "study", "condition"),
    *("presentation", "seconds", "comment"),
)
"""The fields of one judgment of `provenance`."""


def labelled_columns(kind: TaskKind, asked: QuestionSpec, *, provenance: bool) -> tuple[str, ...]:
    """Return the columns of labelled items of a kind, in order."""
    response = ("model", "setting", "trial", "response") if asked.of_responses else ()
    similarity = ("similarity",) if kind.record.ranked else ()
    keys = ("provenance",) if provenance else ("query_key", "code_key")
    return ("id", *kind.record.columns, *similarity, *response, "label", "word", "part", *keys)


def labelled(
    cursor: duckdb.DuckDBPyConnection,
    rater_id: int,
    kind: TaskKind,
    asked: QuestionSpec,
    *,
    provenance: bool,
) -> str:
    """Return the SELECT of the labelled items of a kind, in the order of import.

    `provenance` is a list of every person's and every imported rater's label of the item: who, when, how, and
    what they saw. `query_key` and `code_key` are the MD5 of the texts that items share.

    Args:
        cursor: The cursor that will run it; the labels are put into its table CURRENT_LABEL.
        rater_id: Whose labels, as for `create_current_labels`.
        kind: The kind.
        asked: The question whose labels count.
        provenance: Whether the provenance is wanted, or else the keys.

    Raises:
        ExportFailed: There is no label.
    """
    create_words(cursor)
    if provenance:
        create_current_labels(cursor, None)
        _create_provenance(cursor)
    create_current_labels(cursor, rater_id)
    if not count_labelled(cursor, asked):
        raise ExportFailed(
            "Nothing to export",
            f"There is no label of {asked.name}.",
            "See what there is: workbench splits WORKSPACE, workbench report WORKSPACE progress",
        )
    # One type of values for all files: a loader takes it from the first.
    type_ = "BIGINT" if whole_numbers(cursor, CURRENT_LABEL) else "DOUBLE"
    keys = [f"md5(p.{one.column})" for one in kind.record.shared]
    more = f"{keys[0] if keys else 'NULL'} AS query_key, {keys[1] if len(keys) > 1 else 'NULL'} AS code_key"
    joined = ""
    if provenance:
        more = "coalesce(given.provenance, []) AS provenance"
        joined = """
            LEFT JOIN provenance given ON given.item_id = s.item_id AND given.question_id = s.question_id
                AND given.response_ref_id IS NOT DISTINCT FROM s.response_ref_id"""
    response = ""
    if asked.of_responses:
        response = "ref.model, ref.setting, ref.trial, answer.text AS response,"
        joined += """
            LEFT JOIN response_ref ref ON ref.id = s.response_ref_id
            LEFT JOIN response answer ON answer.id = s.response_ref_id"""
    similarity = "m.similarity," if kind.record.ranked else ""
    columns = ", ".join(labelled_columns(kind, asked, provenance=provenance))
    return f"""
        SELECT {columns} FROM (
            SELECT i.external_id AS id, p.* EXCLUDE (item_id), {similarity} {response}
                s.value::{type_} AS label, coalesce(w.word, '') AS word, e.part, {more},
                i.id AS place, s.response_ref_id
            FROM {CURRENT_LABEL} s JOIN item i ON i.id = s.item_id JOIN exported_item e ON e.id = i.id
            JOIN ({kind.record.select}) p ON p.item_id = i.id
            LEFT JOIN {SIMILARITIES} m ON m.item_id = i.id
            LEFT JOIN word w ON w.question_id = s.question_id AND w.value = s.value{joined}
            WHERE s.question_id IN ({_question(asked)}) AND i.kind = {quoted(kind.name)}
        ) ORDER BY place, response_ref_id NULLS FIRST"""


def count_labelled(cursor: duckdb.DuckDBPyConnection, asked: QuestionSpec) -> int:
    """Return how many labels of a question the table CURRENT_LABEL holds."""
    return count(cursor, f"SELECT count(*) FROM {CURRENT_LABEL} WHERE question_id IN ({_question(asked)})")


def _question(asked: QuestionSpec) -> str:
    return f"SELECT id FROM question WHERE name = {quoted(asked.name)}"


def _create_provenance(cursor: duckdb.DuckDBPyConnection) -> None:
    """Create the table provenance with the judgments of CURRENT_LABEL as a list for each unit."""
    study, condition, presentation, _ = STUDIED.split(", ")
    fields = {
        "rater": "a.name",
        "value": "g.value",
        "judged_at": "strftime(j.created_at, '%Y-%m-%dT%H:%M:%SZ')",
        "origin": "j.origin",
        "blind": "j.blind",
        "saw_label": "j.shown_verdict IS NOT NULL",
        "phase": "j.phase",
        "study": study,
        "condition": condition,
        "presentation": presentation,
        "seconds": "coalesce(j.active_ms, j.elapsed_ms) / 1000",
        "comment": "coalesce(said.comment, '')",
    }
    struct = ", ".join(f"'{name}': {fields[name]}" for name in PROVENANCE)
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE provenance AS
        SELECT g.item_id, g.response_ref_id, g.question_id, list({{{struct}}} ORDER BY a.name) AS provenance
        FROM {CURRENT_LABEL} g JOIN judgment j ON j.id = g.id JOIN exported_rater a ON a.id = g.rater_id
        LEFT JOIN studied t ON t.assignment_id = j.assignment_id
        LEFT JOIN exported_comment said ON said.id = j.id
        GROUP BY g.item_id, g.response_ref_id, g.question_id
        """
    )


MATRIX_COLUMNS = (
    *("unit", "item", "question", "rater", "value", "part", "study", "phase", "condition", "presentation"),
    *("pseudonym", "missing"),
)
"""The columns of an agreement matrix in long form."""


def create_matrix(
    cursor: duckdb.DuckDBPyConnection, asked: QuestionSpec, raters: Sequence[str] | None
) -> None:
    """Create the table matrix_cell: every unit with every rater, with the label or why there is none.

    Columns: those of MATRIX_COLUMNS, and `place`, the order of the units.

    Args:
        cursor: A cursor of the workspace.
        asked: The question.
        raters: The raters by name; None for people with a label, or imported raters where no person has one.
    """
    create_current_labels(cursor, None)
    question = f"(SELECT id FROM question WHERE name = {quoted(asked.name)})"
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE cell_label AS SELECT s.*, i.external_id, e.part,
            coalesce('@' || {response_name_sql("ref")}, '') AS response
        FROM {CURRENT_LABEL} s JOIN item i ON i.id = s.item_id JOIN exported_item e ON e.id = i.id
        LEFT JOIN response_ref ref ON ref.id = s.response_ref_id WHERE s.question_id = {question}
        """
    )
    names = "" if raters is None else f"AND r.name IN ({', '.join(map(quoted, raters)) or 'NULL'})"
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE matrix_rater AS
        WITH labelled AS (
            SELECT r.id, r.kind FROM rater r WHERE r.id IN (SELECT rater_id FROM cell_label) {names}
        )
        SELECT id FROM labelled WHERE kind = 'human' OR {raters is not None}
            OR NOT EXISTS (SELECT 1 FROM labelled WHERE kind = 'human')
        """
    )
    reasons = MISSING_REASONS
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE matrix_cell AS
        WITH unit AS (
            SELECT DISTINCT item_id, response_ref_id, external_id, part, response FROM cell_label
            WHERE rater_id IN (SELECT id FROM matrix_rater)
        ), marked AS (
            SELECT item_id, rater_id, kind, arg_max(active, id) AS active FROM exported_mark
            WHERE kind IN ('skip', 'cannot_decide') GROUP BY item_id, rater_id, kind
        ), assigned AS (
            SELECT DISTINCT item_id, rater_id FROM assignment WHERE sitting > 0
        )
        SELECT u.external_id || u.response AS unit, u.external_id AS item,
            {quoted(asked.name)} AS question, a.name AS rater, c.value, u.part,
            {STUDIED.replace("t.pseudonym", "coalesce(t.pseudonym, '') AS pseudonym")}, j.phase,
            CASE WHEN c.value IS NOT NULL THEN ''
                WHEN decided.active THEN {quoted(reasons[2])} WHEN skipped.active THEN {quoted(reasons[1])}
                WHEN EXISTS (SELECT 1 FROM assigned) AND s.item_id IS NULL THEN {quoted(reasons[0])}
                ELSE {quoted(reasons[3])} END AS missing,
            u.item_id AS place, u.response_ref_id
        FROM unit u CROSS JOIN matrix_rater r JOIN exported_rater a ON a.id = r.id
        LEFT JOIN cell_label c ON c.item_id = u.item_id AND c.rater_id = r.id
            AND c.response_ref_id IS NOT DISTINCT FROM u.response_ref_id
        LEFT JOIN judgment j ON j.id = c.id LEFT JOIN studied t ON t.assignment_id = j.assignment_id
        LEFT JOIN marked decided ON decided.item_id = u.item_id AND decided.rater_id = r.id
            AND decided.kind = 'cannot_decide'
        LEFT JOIN marked skipped ON skipped.item_id = u.item_id AND skipped.rater_id = r.id
            AND skipped.kind = 'skip'
        LEFT JOIN assigned s ON s.item_id = u.item_id AND s.rater_id = r.id
        """
    )
    if not count(cursor, "SELECT count(*) FROM matrix_cell"):
        raise ExportFailed(
            "Nothing to export",
            f"Nobody's labels of {asked.name} are there to compare.",
            "See who has labels: workbench report WORKSPACE agreement",
        )


def matrix_long(cursor: duckdb.DuckDBPyConnection) -> str:
    """Return the SELECT of the matrix in long form."""
    type_ = "BIGINT" if whole_numbers(cursor, "matrix_cell") else "DOUBLE"
    columns = ", ".join(MATRIX_COLUMNS).replace(" value,", f" CAST(value AS {type_}) AS value,")
    return f"SELECT {columns} FROM matrix_cell ORDER BY place, response_ref_id, rater"


def matrix_raters(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the raters of the matrix, in order."""
    rows = cursor.execute("SELECT DISTINCT rater FROM matrix_cell ORDER BY rater").fetchall()
    return [str(name) for (name,) in rows]


def matrix_wide(cursor: duckdb.DuckDBPyConnection) -> str:
    """Return the SELECT of the matrix with a row for each unit and a column for each rater."""
    type_ = "BIGINT" if whole_numbers(cursor, "matrix_cell") else "DOUBLE"
    cells = ", ".join(
        f"CAST(max(value) FILTER (rater = {quoted(name)}) AS {type_}) AS {_identifier(name)}"
        for name in matrix_raters(cursor)
    )
    return (
        f"SELECT unit, {cells} FROM matrix_cell GROUP BY unit, place, response_ref_id "
        "ORDER BY place, response_ref_id"
    )


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def corpus_select(kind: TaskKind, *, everything: bool) -> str:
    """Return the SELECT (key, text, title) of the codes of a kind: of the exported items, or of all items."""
    code = kind.record.shared[1]
    title = "c.name" if "name" in code.about else "''"
    only = "" if everything else f" WHERE p.item_id IN {EXPORTED}"
    return f"""
        SELECT c.text_hash AS key, min(c.text) AS text, min({title}) AS title
        FROM {kind.record.table} p JOIN {code.table} c ON c.id = p.{code.table}_id{only}
        GROUP BY c.text_hash ORDER BY key"""
