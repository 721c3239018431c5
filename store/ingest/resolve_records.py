"""From staged judgments and marks, as `export` writes them, to the same records in this workspace."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from uuid import UUID

import duckdb
from sqlalchemy import Connection

from store.ingest.problems import Problem, invalid_rater_names, refused_rows
from store.ingest.resolve_items import keys_for
from store.ingest.stages import KEYED_RECORD, NEW_RECORD, REPEATED_RECORD
from store.ingest.staging import Stages
from store.kinds.spec import NamedQuestion, TaskKind, task_kinds
from store.policy.words import BLIND
from store.record.evidence import NONE, BadEvidence, citations_of
from store.record.ids import AHEAD, IdClock, first_ahead
from store.record.late_assignments import LATE_PHASES, assign_late
from store.record.raters import rater_row
from store.record.revisions import REVISION
from store.sql import any_row, listed, quoted
from store.tables.record import MARK_KINDS, Judgment, Mark

_SAME = (
    *("action", "item_id", "rater_id", "assignment_id", "phase", "origin", "target_action", "restores"),
    "created_at",
)
_SAME_JUDGMENT = (*_SAME, "question_id", "response_ref_id", "value", "reason", "comment", "evidence")
_SAME_MARK = (*_SAME, "kind", "active", "text")

_ORDERED = ("id", "action", "supersedes", "target_action", "restores")
"""The ids that tell in which order records were made."""

_LATE = (
    "LEFT JOIN assignment late ON (late.study_id, late.rater_id, late.item_id, late.phase) "
    "= (n.study_id, r.id, n.item_id, n.phase)"
)
"""Joins the assignments of rulings and of items that were sent back, which have other keys elsewhere."""


def add_late_assignments(connection: Connection, cursor: duckdb.DuckDBPyConnection) -> None:
    """Make the assignments of new rulings and discussions that the workspace lacks; in the lane.

    The raters are stored already.
    """
    found = cursor.execute(
        "SELECT DISTINCT ON (n.study_id, n.rater, n.item_id, n.phase) n.study_id, trim(n.rater), "
        "coalesce(n.rater_kind, 'human'), n.item_id, n.phase, n.condition, n.assignment "
        "FROM new_record n WHERE n.study_id IS NOT NULL AND NOT (n.held OR n.repeated) ORDER BY n.id"
    ).fetchall()
    for study_id, rater, kind, item_id, phase, condition, key in found:
        rater_id = rater_row(connection, rater, kind).id
        assign_late(
            connection, study_id, rater_id, item_id, phase=phase, condition=condition or BLIND, key=key
        )


def stage_carried_items(stages: Stages) -> None:
    """Stage the items that staged judgments carry in columns of their own, each once a file."""
    for kind in task_kinds().values():
        if kind.record.flat:
            identity, columns = ", ".join(kind.record.identity), ", ".join(kind.record.columns)
            given = " AND ".join(f"{name} IS NOT NULL" for name in kind.record.identity)
            stages.derive(
                kind.name,
                "judgment",
                f"SELECT DISTINCT ON (external_id, {identity}) number, line, external_id, {columns}, "
                f"{'scores, ' if kind.record.ranked else ''}coalesce(item_extra, '{{{{}}}}') AS extra "
                f"FROM {{part}} WHERE kind = '{kind.name}' AND {given} ORDER BY number",
            )


def resolve_judgments(
    cursor: duckdb.DuckDBPyConnection, questions: Mapping[str, NamedQuestion]
) -> list[Problem]:
    """Find the item, question and rater of every staged record.

    Items are numbered already, and `asked` is filled. Questions are by their readable names.

    Returns:
        The records that cannot be taken.
    """
    KEYED_RECORD.fill(
        cursor,
        f"""
        SELECT s.* REPLACE (coalesce(late.id, s.assignment) AS assignment), t.id AS study_id,
            a.allowed, a.base, a.model, a.setting, a.trial, f.id AS response_ref_id, i.id AS item_id,
            i.content_hash AS item_hash, q.id AS question_id, r.id AS rater_id,
            r.kind AS known_kind, coalesce(j.id, m.id) IS NOT NULL AS held
        FROM stage_judgment s
        LEFT JOIN asked a ON a.question = s.question AND a.kind = s.kind
        LEFT JOIN {keys_for(cursor, "stage_judgment")} i ON i.kind = s.kind AND i.external_id = s.external_id
        LEFT JOIN question q ON q.name = a.base
        LEFT JOIN response_ref f ON (f.item_id, f.model, f.setting, f.trial)
            = (i.id, a.model, a.setting, a.trial)
        LEFT JOIN rater r ON r.name = trim(s.rater)
        LEFT JOIN study t ON t.name = s.study AND t.frozen_at IS NOT NULL
            AND s.phase IN {LATE_PHASES} AND s.assignment IS NOT NULL
        LEFT JOIN assignment late ON (late.study_id, late.rater_id, late.item_id, late.phase)
            = (t.id, r.id, i.id, s.phase)
        LEFT JOIN judgment j ON j.id = s.id AND s.record = 'judgment'
        LEFT JOIN mark m ON m.id = s.id AND s.record = 'mark'
        """,
    )
    # The same record may be in two files; a different one under the same id may not.
    REPEATED_RECORD.fill(
        cursor,
        """
        SELECT id, min(position) AS first, count(DISTINCT content) > 1 AS differing FROM (
            SELECT id, position, hash(record, action, external_id, question, rater, phase, value, origin,
                created_at, reason, comment, mark, active) AS content
            FROM keyed_record) GROUP BY id HAVING count(*) > 1
        """,
    )
    NEW_RECORD.fill(
        cursor,
        """
        SELECT n.*, t.first IS NOT NULL AND t.first <> n.position AS repeated
        FROM keyed_record n LEFT JOIN repeated_record t ON t.id = n.id
        """,
    )
    if not any_row(cursor, "new_record"):
        # Most imports bring none, and every question below costs as much for no row as for a thousand.
        return []
    known = ", ".join(sorted(name for name in questions if "@" not in name))
    reasons = {
        "{id} has an id, or names one, that is no UUID of version 7: these tell in which "
        "order records were made; labels without such ids are read as `labels`": _unordered(),
        "{id}, or one that it names, " + AHEAD: " OR ".join(
            f"{name} >= '{first_ahead()}'::UUID" for name in _ORDERED
        ),
        "no item {external_id!r} here, and the record does not carry its content": "item_id IS NULL",
        "item {external_id!r} has other content than the judged one": "content_hash <> item_hash",
        "unknown question {question!r}; known: " + known: "record = 'judgment' AND allowed IS NULL",
        "{value:g} is off the scale of {question}": (
            "record = 'judgment' AND value IS NOT NULL AND NOT list_contains(allowed, value)"
        ),
        "a mark without its kind or state": "record = 'mark' AND (mark IS NULL OR active IS NULL)",
        "unknown mark {mark!r}; known: " + ", ".join(MARK_KINDS) + f" and {REVISION}PART of a text that can "
        "be revised": f"record = 'mark' AND mark NOT IN {MARK_KINDS} "
        f"AND NOT list_contains({_revisions(lambda kind: kind.editing.columns)}, kind || ' ' || mark)",
        "{mark}: this text cannot be empty": (
            "record = 'mark' AND active AND trim(coalesce(comment, ''), ' \t\r\n') = '' "
            f"AND list_contains({_revisions(lambda kind: kind.editing.never_empty)}, kind || ' ' || mark)"
        ),
        "{rater!r} is a rater of another kind here": (
            "known_kind <> coalesce(rater_kind, 'human') "
            "AND NOT (known_kind = 'human' AND rater_kind = 'import')"
        ),
        "{rater!r} is a rater of one kind in some records and of another kind in others": (
            "trim(rater) IN (SELECT trim(rater) FROM new_record GROUP BY ALL "
            "HAVING count(DISTINCT coalesce(rater_kind, 'human')) > 1)"
        ),
        "{id} came before with other content": (
            "repeated AND id IN (SELECT id FROM repeated_record WHERE differing)"
        ),
        "{id} is in the workspace with other content": _differs(Judgment, _SAME_JUDGMENT)
        + " OR "
        + _differs(Mark, _SAME_MARK),
    }
    problems = invalid_rater_names(cursor, "new_record") + refused_rows(cursor, "new_record", reasons)
    return problems + _bad_evidence(cursor)


def _revisions(parts: Callable[[TaskKind], Collection[str]]) -> str:
    """Return, as a list in SQL, each kind with the marks by which some of its columns are rewritten."""
    known = [f"{kind.name} {REVISION}{part}" for kind in task_kinds().values() for part in parts(kind)]
    return "[" + ", ".join("'" + name.replace("'", "''") + "'" for name in known) + "]::VARCHAR[]"


def _bad_evidence(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Return the judgments whose evidence does not have its form."""
    problems = []
    cited = cursor.execute(
        "SELECT file, number, line, id, evidence FROM new_record "
        f"WHERE record = 'judgment' AND evidence <> '{NONE}'"
    )
    for file, number, line, id_, evidence in cited.fetchall():
        try:
            citations_of(evidence)
        except BadEvidence as bad:
            problems.append(Problem(file, number, line, f"{id_}: {bad}"))
    return problems


def _unordered() -> str:
    """Return the condition that an id says nothing of when its record was made."""
    return " OR ".join(f"NOT regexp_matches({name}::VARCHAR, '^.{{14}}7.{{4}}[89ab]')" for name in _ORDERED)


def _given(model: type[Judgment | Mark], **columns: str) -> dict[str, str]:
    """Return the fields of a record, as SQL over `new_record n`; what a file leaves out has its default."""
    given = {}
    for name, field in model.model_fields.items():
        given[name] = columns.get(name, f"n.{name}")
        if isinstance(field.default, str | bool):
            given[name] = f"coalesce({given[name]}, {quoted(str(field.default))})"
    return given


def _differs(model: type[Judgment | Mark], columns: tuple[str, ...]) -> str:
    table = model.__name__.lower()
    given = _given(model, assignment_id="n.assignment", kind="n.mark", text="n.comment")
    different = " OR ".join(f"t.{name} IS DISTINCT FROM {given[name]}" for name in columns)
    return (
        f"(n.held AND n.record = '{table}' AND EXISTS (FROM {table} t WHERE t.id = n.id AND ({different})))"
    )


def record_counts(cursor: duckdb.DuckDBPyConnection, file: int) -> tuple[dict[str, int], int, int]:
    """Return the judgments by rater and the marks that a file adds, and how many are known already."""
    judgments = dict(
        cursor.execute(
            "SELECT rater, count(*) FROM new_record "
            "WHERE file = ? AND record = 'judgment' AND NOT (held OR repeated) GROUP BY rater",
            [file],
        ).fetchall()
    )
    row = cursor.execute(
        "SELECT count(*) FILTER (WHERE record = 'mark' AND NOT (held OR repeated)), "
        "count(*) FILTER (WHERE held OR repeated) FROM new_record WHERE file = ?",
        [file],
    ).fetchone()
    marks, known = row or (0, 0)
    return judgments, int(marks), int(known)


def publish_judgments(cursor: duckdb.DuckDBPyConnection, ids: IdClock) -> None:
    """Append the new records under their own ids; inside the publishing transaction, with raters stored.

    The floor of the clock is raised above the ids that arrive.
    """
    keys = {"rater_id": "r.id", "assignment_id": "coalesce(late.id, n.assignment)"}
    of_question = {"question_id": "q.id", "response_ref_id": "f.id", "guideline_id": "g.id"}
    cursor.execute(
        f"""
        INSERT INTO judgment BY NAME
        SELECT {listed(_given(Judgment, **keys, **of_question))}
        FROM new_record n JOIN question q ON q.name = n.base JOIN rater r ON r.name = trim(n.rater)
        LEFT JOIN response_ref f ON (f.item_id, f.model, f.setting, f.trial)
            = (n.item_id, n.model, n.setting, n.trial)
        LEFT JOIN guideline g ON g.task_kind = n.kind AND g.version = n.guideline
        {_LATE}
        WHERE n.record = 'judgment' AND NOT (n.held OR n.repeated) ORDER BY n.id
        """
    )
    cursor.execute(
        f"""
        INSERT INTO mark BY NAME
        SELECT {listed(_given(Mark, **keys, kind="n.mark", text="n.comment"))}
        FROM new_record n JOIN rater r ON r.name = trim(n.rater)
        {_LATE}
        WHERE n.record = 'mark' AND NOT (n.held OR n.repeated) ORDER BY n.id
        """
    )
    row = cursor.execute("SELECT max(id), max(action) FROM new_record").fetchone()
    for highest in row or ():
        if isinstance(highest, UUID):
            ids.raise_floor(highest)
