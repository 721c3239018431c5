"""The records that an export is about, with the studies, conditions and pseudonyms that they belong to."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from store.export.pseudonyms import Pseudonyms
from store.export.true_labels import TRUE_LABELS, TrueLabels
from store.policy.words import words_sql
from store.sql import count, listed, quoted

STUDY_COLUMNS = ("study", "condition", "presentation", "pseudonym")
"""The columns that say under which assignment of a study a record was made; empty outside of studies."""

STUDIED = ", ".join(f"t.{name}" for name in STUDY_COLUMNS)
"""The same of the view `studied t`, as SQL."""


ISO_8601 = "%Y-%m-%dT%H:%M:%S.%f+00:00"
"""The form of times, as DuckDB writes them."""

PROVENANCE: Mapping[str, str] = {
    "judged_at": f"strftime(j.created_at, '{ISO_8601}')",
    "origin": "j.origin",
    "blind": "j.blind",
    "saw_label": "if(j.id IS NULL, NULL, j.shown_verdict IS NOT NULL)",
    "phase": "j.phase",
    "study": "t.study",
    "condition": "t.condition",
    "presentation": "t.presentation",
    "seconds": "coalesce(j.active_ms, j.elapsed_ms) / 1000",
}
"""When and how a label was given, and what its rater saw: of a judgment `j` and its assignment in the view
`studied t`, as SQL."""


HOW_COLUMNS = ("judged_at", "origin", "blind", "saw_label", "seconds")
"""The fields of PROVENANCE that are columns of their own beside those of a study."""

HOW = listed({name: PROVENANCE[name] for name in HOW_COLUMNS})
"""The same as SQL."""


def create_exported_records(
    cursor: duckdb.DuckDBPyConnection,
    study: int | None,
    *,
    pseudonyms: bool,
    withdrawn: bool,
    comments: bool = False,
    truth: TrueLabels | None = None,
) -> None:
    """Create temporary views with the records that an export is about.

    They are `exported_judgment`, `exported_mark` and `exported_verdict` with the columns of these tables;
    `exported_comment` (id, comment) with the comments of judgments, none where they are not asked for, and
    without names of people where they have pseudonyms outside of a study; `exported_rater` (id, kind, name),
    in which raters of the study have pseudonyms and others who ruled in it are called A1, A2 and so on; and
    `studied` with each assignment's study and condition, the number of the presentation of its item to its
    rater, and the rater's pseudonym.

    Args:
        cursor: A cursor of the workspace.
        study: The key of the study whose records alone are exported; None for all.
        pseudonyms: Whether people have their pseudonyms of the study; without a study those of a bundle.
        comments: Whether people's comments are exported.
        withdrawn: Whether records of raters who withdrew from their study are exported, too.
        truth: The labels that count as true; of a split, records made after it are left out.
    """
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP VIEW studied AS
        SELECT a.id AS assignment_id, a.study_id, s.name AS study, {words_sql("a")} AS condition,
            m.pseudonym, m.withdrawn_at,
            CASE WHEN a.sitting > 0 THEN row_number() OVER (
                PARTITION BY a.study_id, a.rater_id, a.item_id ORDER BY a.sitting = 0, a.position
            ) END AS presentation
        FROM assignment a JOIN study s ON s.id = a.study_id
        LEFT JOIN study_rater m ON m.study_id = a.study_id AND m.rater_id = a.rater_id
        """
    )
    kept = [] if study is None else [f"assignment_id IN (SELECT id FROM assignment WHERE study_id = {study})"]
    kept += [] if withdrawn else [f"(assignment_id IS NULL OR NOT {_WITHDRAWN})"]
    if truth is not None and truth.until is not None:
        kept.append(f"id <= {quoted(str(truth.until))}::UUID")
    for table in ("judgment", "mark"):
        which = " AND ".join(kept) or "true"
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW exported_{table} AS FROM {table} WHERE {which}")
    of_then = "true"
    if truth is not None and truth.until is not None and truth.split is not None:
        of_then = f"created_at <= {quoted(truth.split.created_at.isoformat())}::TIMESTAMPTZ"
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW exported_verdict AS FROM verdict WHERE {of_then}")
    name = "r.name"
    joined = ""
    said = f"SELECT id, comment FROM exported_judgment WHERE comment <> '' AND {comments}"
    if pseudonyms and study is None:
        people = Pseudonyms.of(cursor)
        with people.replacing(cursor):
            cursor.execute(
                "CREATE OR REPLACE TEMP TABLE anonymous_comment AS "
                f"SELECT id, names_in_words(comment) AS comment FROM ({said})"
            )
        said = "FROM anonymous_comment"
        cursor.execute("CREATE OR REPLACE TEMP TABLE pseudonym (name VARCHAR, pseudonym VARCHAR)")
        if people.by_name:
            cursor.executemany("INSERT INTO pseudonym VALUES (?, ?)", [*people.by_name.items()])
        name, joined = "coalesce(m.pseudonym, r.name)", "LEFT JOIN pseudonym m ON m.name = r.name"
    elif pseudonyms:
        name = "coalesce(m.pseudonym, 'A' || o.number, r.name)"
        joined = f"""
            LEFT JOIN study_rater m ON m.rater_id = r.id AND m.study_id = {study}
            LEFT JOIN (SELECT id, row_number() OVER (ORDER BY id) AS number FROM rater
                WHERE id IN (SELECT rater_id FROM assignment WHERE study_id = {study})
                AND id NOT IN (SELECT rater_id FROM study_rater WHERE study_id = {study})) o ON o.id = r.id"""
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW exported_comment AS {said}")
    true = "" if truth is None else f" UNION ALL SELECT {TRUE_LABELS}, 'policy', {quoted(truth.name)}"
    cursor.execute(
        f"CREATE OR REPLACE TEMP VIEW exported_rater AS SELECT r.id, r.kind, {name} AS name "
        f"FROM rater r {joined}{true}"
    )


_WITHDRAWN = "assignment_id IN (SELECT assignment_id FROM studied WHERE withdrawn_at IS NOT NULL)"


def count_withdrawn(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many judgments and marks are of raters who withdrew from their study."""
    return count(
        cursor,
        f"SELECT (SELECT count(*) FROM judgment WHERE {_WITHDRAWN}) "
        f"+ (SELECT count(*) FROM mark WHERE {_WITHDRAWN})",
    )
