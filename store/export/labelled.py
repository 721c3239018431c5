"""Items, or responses to them, with their true labels and who judged them, as a ground truth is published."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from store.errors import ExportFailed
from store.export.labels import (
    CURRENT_LABEL,
    EXPORTED,
    IN_FILE_ORDER,
    create_current_labels,
    create_words,
    similarities,
    whole_numbers,
)
from store.export.studied import HOW, HOW_COLUMNS, PROVENANCE, STUDIED
from store.formats.protocol import MISSING_REASONS
from store.kinds.spec import QuestionSpec, TaskKind
from store.record.response_names import response_name_sql
from store.sql import count, listed, named, quoted

_ITEMS = 100_000
"""Items whose provenance is put together at once."""


def labelled_columns(kind: TaskKind, asked: QuestionSpec) -> tuple[str, ...]:
    """Return the columns of labelled items of a kind, in order."""
    response = ("model", "setting", "trial", "response") if asked.of_responses else ()
    similarity = ("similarity",) if kind.record.ranked else ()
    return ("id", *kind.record.columns, *similarity, *response, "label", "word", "part", "provenance")


def labelled(cursor: duckdb.DuckDBPyConnection, rater_id: int, kind: TaskKind, asked: QuestionSpec) -> str:
    """Return the SELECT of the labelled items of a kind, in the order of import.

    `provenance` is a list of every person's and every imported rater's label of the item: who, when, how, and
    what they saw.

    The labels, those of `create_current_labels`, are put into the cursor's table CURRENT_LABEL.

    Raises:
        ExportFailed: There is no label.
    """
    create_words(cursor)
    create_current_labels(cursor, None)
    _create_provenance(cursor)
    _create_labels(cursor, rater_id, asked)
    # One type of values for all files: a loader takes it from the first.
    type_ = "BIGINT" if whole_numbers(cursor, CURRENT_LABEL) else "DOUBLE"
    response = joined = ""
    if asked.of_responses:
        response = "ref.model, ref.setting, ref.trial, answer.text AS response,"
        joined = """
            LEFT JOIN response_ref ref ON ref.id = s.response_ref_id
            LEFT JOIN response answer ON answer.id = s.response_ref_id"""
    similarity = "m.similarity," if kind.record.ranked else ""
    return f"""
        SELECT {", ".join(labelled_columns(kind, asked))} FROM (
            SELECT i.external_id AS id, p.* EXCLUDE (item_id), {similarity} {response}
                s.value::{type_} AS label, coalesce(w.word, '') AS word, e.part,
                coalesce(given.provenance, []) AS provenance, i.id AS place, s.response_ref_id
            FROM {CURRENT_LABEL} s JOIN item i ON i.id = s.item_id JOIN exported_item e ON e.id = i.id
            JOIN ({kind.record.select}) p ON p.item_id = i.id
            LEFT JOIN {similarities(cursor)} m ON m.item_id = i.id
            LEFT JOIN word w ON w.question_id = s.question_id AND w.value = s.value{joined}
            LEFT JOIN provenance given ON given.item_id = s.item_id AND given.question_id = s.question_id
                AND given.response_ref_id IS NOT DISTINCT FROM s.response_ref_id
            WHERE s.question_id IN ({_question(asked)}) AND i.kind = {quoted(kind.name)}
        ) ORDER BY place, response_ref_id NULLS FIRST"""


def _create_labels(cursor: duckdb.DuckDBPyConnection, rater_id: int, asked: QuestionSpec) -> None:
    """Create the table CURRENT_LABEL with a rater's labels.

    Raises:
        ExportFailed: The rater has no label of the question.
    """
    create_current_labels(cursor, rater_id)
    if not count_labelled(cursor, asked):
        raise ExportFailed(
            "Nothing to export",
            f"There is no label of {asked.name}.",
            "See what there is: workbench splits WORKSPACE, workbench report WORKSPACE progress",
        )


def count_labelled(cursor: duckdb.DuckDBPyConnection, asked: QuestionSpec) -> int:
    """Return how many labels of a question the table CURRENT_LABEL holds."""
    return count(cursor, f"SELECT count(*) FROM {CURRENT_LABEL} WHERE question_id IN ({_question(asked)})")


def _question(asked: QuestionSpec) -> str:
    return f"SELECT id FROM question WHERE name = {quoted(asked.name)}"


def _create_provenance(cursor: duckdb.DuckDBPyConnection) -> None:
    """Create the table provenance with the judgments of CURRENT_LABEL as a list for each unit."""
    fields = {"rater": "a.name", "value": "g.value", **PROVENANCE, "comment": "coalesce(said.comment, '')"}
    struct = ", ".join(f"'{name}': {sql}" for name, sql in fields.items())
    select = f"""
        SELECT g.item_id, g.response_ref_id, g.question_id, list({{{struct}}} ORDER BY a.name) AS provenance
        FROM {CURRENT_LABEL} g JOIN judgment j ON j.id = g.id JOIN exported_rater a ON a.id = g.rater_id
        LEFT JOIN studied t ON t.assignment_id = j.assignment_id
        LEFT JOIN exported_comment said ON said.id = j.id
        WHERE g.item_id > $after AND g.item_id <= $after + {_ITEMS}
        GROUP BY g.item_id, g.response_ref_id, g.question_id"""
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE provenance AS {select} LIMIT 0", {"after": 0})
    # Lists that are being put together stay in memory, those of a table need not.
    for after in range(0, count(cursor, f"SELECT max(item_id) FROM {CURRENT_LABEL}"), _ITEMS):
        cursor.execute(f"INSERT INTO provenance {select}", {"after": after})


MATRIX_COLUMNS = (
    *("unit", "item", "question", "rater", "value", "of", "part", "study", "phase", "condition"),
    *("presentation", "pseudonym", *HOW_COLUMNS, "missing"),
)
"""The columns of an agreement matrix in long form."""


def matrix_group(kind: TaskKind) -> tuple[str, ...]:
    """Return the column of the MD5 of what an item belongs to, such as its query; none where to nothing."""
    return () if kind.record.group is None else (kind.record.group,)


def create_matrix(
    cursor: duckdb.DuckDBPyConnection, kind: TaskKind, asked: QuestionSpec, raters: Sequence[str] | None
) -> None:
    """Create the table matrix_cell: every unit with every rater, with the label or why there is none.

    Columns: those of MATRIX_COLUMNS and `matrix_group`, and `place`, the order of the units.

    Args:
        cursor: A cursor of the workspace.
        kind: The kind of the items.
        asked: The question.
        raters: The raters by name; None for people with a label, or imported raters where no person has one.
    """
    create_current_labels(cursor, None)
    question = f"(SELECT id FROM question WHERE name = {quoted(asked.name)})"
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE cell_label AS SELECT s.*, i.external_id, e.part,
            coalesce('@' || {response_name_sql("ref")}, '') AS response
        FROM {IN_FILE_ORDER} s JOIN item i ON i.id = s.item_id JOIN exported_item e ON e.id = i.id
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
    group = "".join(f"md5(record.{name}) AS {name}, " for name in matrix_group(kind))
    record = f"JOIN ({kind.record.select}) record ON record.item_id = u.item_id" if group else ""
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
        SELECT {group} u.external_id || u.response AS unit, u.external_id AS item,
            {quoted(asked.name)} AS question, a.name AS rater, c.value, coalesce(c.of, '') AS of, u.part,
            {STUDIED.replace("t.pseudonym", "coalesce(t.pseudonym, '') AS pseudonym")}, j.phase, {HOW},
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
        {record}
        """
    )
    if not count(cursor, "SELECT count(*) FROM matrix_cell"):
        raise ExportFailed(
            "Nothing to export",
            f"Nobody's labels of {asked.name} are there to compare.",
            "See who has labels: workbench report WORKSPACE agreement",
        )


def matrix_long(cursor: duckdb.DuckDBPyConnection, kind: TaskKind) -> str:
    """Return the SELECT of the matrix in long form."""
    type_ = "BIGINT" if whole_numbers(cursor, "matrix_cell") else "DOUBLE"
    columns = ", ".join((*MATRIX_COLUMNS, *matrix_group(kind))).replace(
        " value,", f" CAST(value AS {type_}) AS value,"
    )
    return f"SELECT {columns} FROM matrix_cell ORDER BY place, response_ref_id, rater"


def matrix_raters(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the raters of the matrix, in order."""
    rows = cursor.execute("SELECT DISTINCT rater FROM matrix_cell ORDER BY rater").fetchall()
    return [str(name) for (name,) in rows]


def matrix_wide(cursor: duckdb.DuckDBPyConnection, kind: TaskKind) -> str:
    """Return the SELECT of the matrix with a row for each unit and a column for each rater."""
    type_ = "BIGINT" if whole_numbers(cursor, "matrix_cell") else "DOUBLE"
    cells = ", ".join(
        f"CAST(max(value) FILTER (rater = {quoted(name)}) AS {type_}) AS {named(name)}"
        for name in matrix_raters(cursor)
    )
    names = ", ".join(("unit", *matrix_group(kind)))
    return (
        f"SELECT {names}, {cells} FROM matrix_cell GROUP BY {names}, place, response_ref_id "
        "ORDER BY place, response_ref_id"
    )


GRADED_COLUMNS = ("query", "code", "label", "part")
"""The columns of graded pairs: the MD5 of both texts, the label, and the part of the split."""
GRADED = f"SELECT {', '.join(GRADED_COLUMNS)} FROM graded ORDER BY place"
"""The graded pairs of the table graded, in the order of import."""


def create_graded(
    cursor: duckdb.DuckDBPyConnection, rater_id: int, kind: TaskKind, asked: QuestionSpec
) -> int:
    """Create the table graded with the graded pairs of a retrieval benchmark, and return how many there are.

    Columns: those of GRADED_COLUMNS, and `place`, their order. Of pairs with the same texts the highest label
    counts.

    The labels are those of `create_current_labels`; items of the kind have a query and a code.

    Raises:
        ExportFailed: There is no label, or one is no whole number.
    """
    _create_labels(cursor, rater_id, asked)
    if not whole_numbers(cursor, CURRENT_LABEL):
        raise ExportFailed(
            "Not whole", "A qrel is a whole number; some labels are not.", "Use --policy majority."
        )
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE graded AS
        SELECT query, code, max(value)::BIGINT AS label, part, min(item_id) AS place
        FROM ({_keyed(kind, asked)}) GROUP BY query, code, part
        """
    )
    return count(cursor, "SELECT count(*) FROM graded")


GRADED_PROVENANCE = ("query-id", "corpus-id", "item", "part", "rater", "value", *PROVENANCE, "comment")
"""The columns of the labels behind graded pairs."""


def graded_provenance(cursor: duckdb.DuckDBPyConnection, kind: TaskKind, asked: QuestionSpec) -> str:
    """Return the SELECT of every person's and every imported rater's label of the pairs in the table graded.

    The labels are put into the cursor's table CURRENT_LABEL.
    """
    create_current_labels(cursor, None)
    fields = listed(PROVENANCE)
    return f"""
        SELECT k.query AS "query-id", k.code AS "corpus-id", i.external_id AS item, k.part, a.name AS rater,
            k.value, {fields}, coalesce(said.comment, '') AS comment
        FROM ({_keyed(kind, asked)}) k JOIN item i ON i.id = k.item_id JOIN judgment j ON j.id = k.id
        JOIN exported_rater a ON a.id = k.rater_id LEFT JOIN studied t ON t.assignment_id = j.assignment_id
        LEFT JOIN exported_comment said ON said.id = j.id
        WHERE (k.query, k.code) IN (SELECT (query, code) FROM graded) ORDER BY k.item_id, a.name"""


def query_select(kind: TaskKind) -> str:
    """Return the SELECT (key, text, part) of the queries of graded pairs, in the order of import."""
    query = kind.record.shared[0]
    return f"""
        SELECT g.query AS key, min(q.text) AS text, arg_min(g.part, g.place) AS part
        FROM graded g JOIN {query.table} q ON q.text_hash = g.query GROUP BY g.query ORDER BY min(g.place)"""


def _keyed(kind: TaskKind, asked: QuestionSpec) -> str:
    """Return the SELECT of the labels of CURRENT_LABEL with the MD5 of their query and code, and `part`."""
    query, code = kind.record.shared
    return f"""
        SELECT s.item_id, s.id, s.rater_id, s.value, q.text_hash AS query, c.text_hash AS code, e.part
        FROM {CURRENT_LABEL} s JOIN exported_item e ON e.id = s.item_id
        JOIN {kind.record.table} p ON p.item_id = s.item_id
        JOIN {query.table} q ON q.id = p.{query.table}_id JOIN {code.table} c ON c.id = p.{code.table}_id
        WHERE s.question_id IN ({_question(asked)})"""


def corpus_select(kind: TaskKind, *, everything: bool) -> str:
    """Return the SELECT (key, text, title) of the codes of a kind: of the exported items, or all."""
    code = kind.record.shared[1]
    title = "c.name" if "name" in code.about else "''"
    only = f"WHERE c.id IN (SELECT {code.table}_id FROM {kind.record.table} WHERE item_id IN {EXPORTED})"
    return f"""
        SELECT c.text_hash AS key, min(c.text) AS text, min({title}) AS title
        FROM {code.table} c {"" if everything else only} GROUP BY c.text_hash ORDER BY key"""
