"""The records that an export is about, with the studies, conditions and pseudonyms that they belong to."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from store.export.true_labels import TRUE_LABELS, TrueLabels
from store.sql import count, quoted

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

HOW = ", ".join(f"{PROVENANCE[name]} AS {name}" for name in HOW_COLUMNS)
"""The same as SQL."""


def create_exported_records(
    cursor: duckdb.DuckDBPyConnection,
    study: int | None,
    *,
    pseudonyms: bool,
    withdrawn: bool,
    truth: TrueLabels | None = None,
) -> None:
    """Create temporary views with the records that an export is about.

    They are `exported_judgment` and `exported_mark` with the columns of these tables; `exported_rater`
    (id, kind, name), in which raters of the study have pseudonyms and others who ruled in it are called A1,
    A2 and so on; and `studied` with each assignment's study and condition, the number of the presentation of
    its item to its rater, and the rater's pseudonym.

    Args:
        cursor: A cursor of the workspace.
        study: The key of the study whose records alone are exported; None for all.
        pseudonyms: Whether people have their pseudonyms of the study, or P1, P2 and so on without a study.
        withdrawn: Whether records of raters who withdrew from their study are exported, too.
        truth: The labels that count as true; of a split, records made after it are left out.
    """
    cursor.execute(
        """
        CREATE OR REPLACE TEMP VIEW studied AS
        SELECT a.id AS assignment_id, a.study_id, s.name AS study, a.condition, m.pseudonym, m.withdrawn_at,
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
    true = "" if truth is None else f" UNION ALL SELECT {TRUE_LABELS}, 'policy', {quoted(truth.name)}"
    if not pseudonyms:
        every = f"SELECT id, kind, name FROM rater{true}"
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW exported_rater AS {every}")
        return
    letter, others = "P", "WHERE kind = 'human'"
    if study is not None:
        letter, others = (
            "A",
            f"""WHERE id IN (SELECT rater_id FROM assignment WHERE study_id = {study})
            AND id NOT IN (SELECT rater_id FROM study_rater WHERE study_id = {study})""",
        )
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP VIEW exported_rater AS
        SELECT r.id, r.kind, coalesce(m.pseudonym, '{letter}' || o.number, r.name) AS name FROM rater r
        LEFT JOIN study_rater m ON m.rater_id = r.id AND m.study_id = {study or -1}
        LEFT JOIN (SELECT id, row_number() OVER (ORDER BY id) AS number FROM rater {others}) o
            ON o.id = r.id{true}
        """
    )


_WITHDRAWN = "assignment_id IN (SELECT assignment_id FROM studied WHERE withdrawn_at IS NOT NULL)"


def count_withdrawn(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many judgments and marks are of raters who withdrew from their study."""
    return count(
        cursor,
        f"SELECT (SELECT count(*) FROM judgment WHERE {_WITHDRAWN}) "
        f"+ (SELECT count(*) FROM mark WHERE {_WITHDRAWN})",
    )
