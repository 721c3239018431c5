"""From staged labels to judgments of imported raters: one for each item, question and rater."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import astuple
from datetime import datetime
from uuid import UUID

import duckdb

from store.ingest.problems import Problem, invalid_rater_names, refused_rows
from store.ingest.resolve_items import keys_for
from store.ingest.stages import (
    ASKED,
    FILE_RATER,
    FRESH_LABEL,
    HELD_LABEL,
    JUDGED_LABEL,
    LISTED_COMPARISON,
    NEW_LABEL,
    REPEATED_LABEL,
    SINGLE_LABEL,
)
from store.kinds.comparison import FIRST_LEFT, ORDERS, listed_second_first_sql
from store.kinds.pair import MATCH, RELEVANCE
from store.kinds.spec import NamedQuestion, task_kinds
from store.policy.scope import REVIEW
from store.record.ids import IdClock
from store.record.scales import Scale
from store.sql import any_row, count, quoted

EARLIER_EXPORT = "labels of comparisons read in the order in which an earlier version exported them"

_MADE = "regexp_matches({}, '^relevance [0-9]+; a match from [0-9]+ on$')"
"""Whether a comment is that of a match that was made of a grade, as SQL over it."""

_BLOCK_GAP = 1 << 40
_LOW = (1 << 62) - 1


def resolve_labels(
    cursor: duckdb.DuckDBPyConnection,
    questions: Mapping[str, NamedQuestion],
    raters: Mapping[int, str],
    in_file_order: Collection[int],
    exported: Collection[int],
    *,
    match_from: int | None,
) -> list[Problem]:
    """Find the item, question and rater of every staged label.

    Args:
        cursor: The cursor that holds the staging tables, with items numbered.
        questions: The questions that are answered, by their readable names.
        raters: For each file of items with labels, by its number, whose its labels are.
        in_file_order: The files, by their numbers, in which values of comparisons that name no candidate are
            from the view of the one that the comparison's file lists first.
        exported: The files of labels that are exports: what they list first can be another one than here.
        match_from: The least grade that is made a match; None where matches are made of none.

    Returns:
        The labels that cannot be taken.
    """
    _fill_asked(cursor, questions)
    FILE_RATER.fill(
        cursor,
        "SELECT unnest($files::INTEGER[]) AS file, unnest($raters::VARCHAR[]) AS rater",
        {"files": list(raters), "raters": list(raters.values())},
    )
    _fill_listed_comparisons(cursor)
    SINGLE_LABEL.fill(
        cursor,
        f"""
        SELECT s.position, s.file, s.number, s.line, s.external_id, s.question, trim(s.rater) AS rater,
            CASE WHEN s.favoured = c.one THEN abs(s.value) WHEN s.favoured = c.other THEN 0 - abs(s.value)
                WHEN s.listed AND c.listed_second THEN 0 - s.value ELSE s.value END AS value,
            coalesce(s.comment, '') AS comment, coalesce(s.reason, '') AS reason,
            coalesce(s.shown_as, '') AS shown_as, coalesce(s.phase, {quoted(REVIEW)}) AS phase, s.made_at,
            i.id AS item_id, s.kind AS stated_kind, s.value AS given, s.favoured,
            format('{{}}, {{}}', c.one, c.other) AS candidates,
            CASE WHEN s.favoured IS NULL AND s.listed AND s.value <> 0 AND c.file_order = '' THEN 'unknown'
                WHEN s.favoured IS NULL OR i.id IS NULL THEN ''
                WHEN c.item_id IS NULL THEN 'no comparison'
                WHEN s.favoured NOT IN (c.one, c.other) THEN 'no candidate'
                WHEN s.value = 0 THEN 'a tie'
                WHEN s.value < 0 AND s.favoured = if(c.listed_second, c.other, c.one)
                    AND NOT list_contains($exported::INTEGER[], s.file) THEN 'contrary'
                ELSE '' END AS side_fault
        FROM (
            SELECT * REPLACE (nullif(kind, '') AS kind, nullif(trim(favoured), '') AS favoured,
                coalesce(nullif(question, ''), {_label_question("kind")}) AS question),
                list_contains($in_file_order::INTEGER[], file) AS listed
            FROM stage_label
        ) s
        LEFT JOIN asked a ON a.question = s.question
        LEFT JOIN {keys_for(cursor, "stage_label")} i ON i.kind = a.kind AND i.external_id = s.external_id
        LEFT JOIN listed_comparison c ON c.item_id = i.id
        """,
        {"in_file_order": list(in_file_order), "exported": list(exported)},
    )
    NEW_LABEL.fill(
        cursor,
        f"""
        SELECT s.*, a.allowed, a.scale, a.kind AS asked_kind, a.base, a.model, a.setting, a.trial,
            q.id AS question_id, f.id AS response_ref_id, r.id AS rater_id, r.kind AS rater_kind
        FROM (
            WITH labels AS (
                FROM single_label
                UNION ALL {_of_items(_label_question("kind"), "label")}
                UNION ALL {_of_items(quoted(RELEVANCE.name), "relevance")}
            )
            FROM labels UNION ALL FROM ({_matches_of_grades(match_from)})
        ) s
        LEFT JOIN asked a ON a.question = s.question
        LEFT JOIN question q ON q.name = a.base
        LEFT JOIN response_ref f ON (f.item_id, f.model, f.setting, f.trial)
            = (s.item_id, a.model, a.setting, a.trial)
        LEFT JOIN rater r ON r.name = s.rater
        """,
    )
    HELD_LABEL.fill(
        cursor,
        """
        SELECT j.item_id, j.question_id, j.response_ref_id, j.rater_id, j.phase, max(j.id) AS current_id,
            arg_max_null(j.value, j.id) AS current,
            arg_max(hash(j.value, j.comment, j.reason), j.id) AS content,
            arg_max_null(CASE j.origin WHEN 'import' THEN j.created_at END, j.id) AS made_at,
            coalesce(list({'made_at': j.created_at, 'value': j.value} ORDER BY j.created_at, j.id)
                FILTER (WHERE j.origin = 'import'), []) AS imported
        FROM judgment j
        WHERE j.assignment_id IS NULL
            AND (j.rater_id, j.phase) IN (SELECT (rater_id, phase) FROM new_label WHERE rater_id IS NOT NULL)
        GROUP BY ALL
        """,
    )
    # Ids that do not repeat, without other labels, leave nothing that could be labelled twice.
    alone = match_from is None and not any_row(cursor, "single_label")
    once = alone and not any_row(cursor, "repeated_item")
    # By time where all have one: the later of two supersedes the other.
    REPEATED_LABEL.fill(
        cursor,
        f"""
        SELECT *, row_number() OVER by_time AS turn, lag(ordered_by) OVER by_time AS before,
            lag(content) OVER by_time AS content_before,
            first(value) OVER (PARTITION BY item_id, question, rater, phase, ordered_by ORDER BY position)
                AS first_value
        FROM (
            SELECT position, item_id, question, rater, phase, made_at, value,
                hash(value, comment, reason) AS content,
                CASE WHEN count(made_at) OVER same = count(*) OVER same THEN made_at END AS ordered_by
            FROM new_label WHERE item_id IS NOT NULL {"AND false" if once else ""}
            WINDOW same AS (PARTITION BY item_id, question, rater, phase)
            QUALIFY count(*) OVER same > 1
        )
        WINDOW by_time AS (PARTITION BY item_id, question, rater, phase ORDER BY ordered_by, position)
        """,
    )
    # Keys in equations alone: with a condition of one side DuckDB compares every label with every one.
    JUDGED_LABEL.fill(
        cursor,
        """
        SELECT *, NOT held AND turn = 1 OR supersedes AS fresh FROM (
            SELECT n.*, t.first_value, coalesce(t.turn, 1) AS turn, h.item_id IS NOT NULL AS held, h.current,
                h.current_id, coalesce(n.made_at > h.made_at, false) AS later,
                coalesce(CASE WHEN n.made_at IS NULL
                    THEN len(list_filter(h.imported, lambda one: one.value = n.value)) > 0
                    ELSE list_filter(h.imported, lambda one: one.made_at <= n.made_at)[-1].value = n.value
                    END, false) AS known,
                coalesce(CASE WHEN t.turn > 1 AND (h.item_id IS NULL OR t.before > h.made_at)
                    THEN n.made_at > t.before AND t.content_before <> hash(n.value, n.comment, n.reason)
                    ELSE later AND h.content <> hash(n.value, n.comment, n.reason) END, false) AS supersedes
            FROM new_label n
            LEFT JOIN held_label h
                ON h.item_id = CASE WHEN n.model IS NULL OR n.response_ref_id IS NOT NULL THEN n.item_id END
                AND (h.question_id, h.rater_id, h.phase) = (n.question_id, n.rater_id, n.phase)
                AND h.response_ref_id IS NOT DISTINCT FROM n.response_ref_id
            LEFT JOIN repeated_label t ON (t.position, t.item_id, t.question, t.rater, t.phase)
                = (n.position, n.item_id, n.question, n.rater, n.phase)
                AND t.made_at IS NOT DISTINCT FROM n.made_at
        )
        """,
    )
    FRESH_LABEL.fill(cursor, "FROM judged_label WHERE fresh")
    if not any_row(cursor, "new_label"):
        return []
    threshold = "" if match_from is None else ", or the --match-from of before"
    reasons = {
        "the record names no question, and items of kind {stated_kind!r} have no single label": (
            "question IS NULL"
        ),
        "unknown question {question!r}; known: "
        + ", ".join(sorted(name for name in questions if "@" not in name)): (
            "question IS NOT NULL AND allowed IS NULL"
        ),
        "items of kind {stated_kind!r} are not asked {question!r}": "asked_kind <> stated_kind",
        "{question!r}: {external_id!r} has no such response here": (
            "item_id IS NOT NULL AND model IS NOT NULL "
            "AND (item_id, model, setting, trial) NOT IN "
            "(SELECT (item_id, model, setting, trial) FROM present_response)"
        ),
        "no item {external_id!r} in the workspace or in the files imported with it is asked {question!r}; a "
        "label of another kind names that kind, or its question": "allowed IS NOT NULL AND item_id IS NULL",
        "{given:g} is off the scale of {question}: {scale}": "NOT list_contains(allowed, value)",
        "`of` names a candidate of a comparison, and {external_id!r} is none": "side_fault = 'no comparison'",
        "{favoured!r} is no candidate of {external_id!r}; its candidates: {candidates}": (
            "side_fault = 'no candidate'"
        ),
        "{given:g} favours the candidate that is listed second, and `of` names the other one, {favoured!r}": (
            "side_fault = 'contrary'"
        ),
        "0 favours neither candidate, and `of` names {favoured!r}; leave it empty": "side_fault = 'a tie'",
        "which candidate of {external_id!r} its file lists first is not known; name the one that the value "
        "favours in the column `of`: {candidates}": "side_fault = 'unknown'",
        "{rater!r} is the name of an agent; labels need a rater of their own": "rater_kind = 'agent'",
        "{rater!r} labelled {external_id!r} before with another value, and not at another time": (
            "first_value <> value"
        ),
        "{rater!r} has labelled {external_id!r} differently in the workspace, and nothing says that this "
        f"label is later; name another rater for these labels: --label-as{threshold}": (
            "held AND NOT later AND current IS DISTINCT FROM value AND NOT known"
        ),
    }
    return invalid_rater_names(cursor, "new_label") + refused_rows(cursor, "judged_label", reasons)


def _label_question(column: str) -> str:
    """Return the SQL of the question that a label answers which names none: the one that queues show.

    A label that names no kind either is one of the first kind.
    """
    known = [(kind.name, kind.label_question) for kind in task_kinds().values()]
    whens = " ".join(
        f"WHEN {quoted(name)} THEN {quoted(spec.name)}"
        for name, spec in known
        if spec is not None and not spec.only_claimed
    )
    return f"CASE coalesce(nullif({column}, ''), {quoted(known[0][0])}) {whens} END"


def _of_items(question: str, column: str) -> str:
    """Return the SELECT of the labels in a column of files of items, with the columns of SINGLE_LABEL."""
    return f"""
        SELECT position, file, number, line, external_id, {question}, trim(p.rater), {column}, '', '', '',
            {quoted(REVIEW)}, NULL, item_id, kind, {column}, NULL, NULL, ''
        FROM staged_key JOIN file_rater p USING (file) WHERE {column} IS NOT NULL"""


def _matches_of_grades(least: int | None) -> str:
    """Return the SELECT of the labels that are made of the grades in `labels`.

    Args:
        least: The least grade that is made a match; None makes none.
    """
    if least is None:
        return "FROM labels LIMIT 0"
    # A label that the rater gave is none that is made.
    return f"""
        SELECT * REPLACE ({quoted(MATCH.name)} AS question, (value >= {least})::DOUBLE AS value,
            format('relevance {{:g}}; a match from {least} on', value) AS comment)
        FROM labels
        ANTI JOIN (
            SELECT item_id, rater FROM labels WHERE question = {quoted(MATCH.name)} AND item_id IS NOT NULL
            UNION SELECT j.item_id, r.name FROM judgment j JOIN rater r ON r.id = j.rater_id
                JOIN question q ON q.id = j.question_id
            WHERE q.name = {quoted(MATCH.name)} AND NOT {_MADE.format("j.comment")}
        ) given USING (item_id, rater)
        WHERE question = {quoted(RELEVANCE.name)}"""


def _fill_asked(cursor: duckdb.DuckDBPyConnection, questions: Mapping[str, NamedQuestion]) -> None:
    rows = [
        (
            *(name, asked.kind.name, list(asked.spec.scale.allowed), _in_short(asked.spec.scale)),
            asked.spec.name,
            *((None, None, None) if asked.response is None else astuple(asked.response)),
        )
        for name, asked in questions.items()
    ]
    types = ("VARCHAR", "VARCHAR", "DOUBLE[]", "VARCHAR", "VARCHAR", "VARCHAR", "VARCHAR", "BIGINT")
    named = [
        f"unnest(${name}::{type_}[]) AS {name}" for name, type_ in zip(ASKED.columns, types, strict=True)
    ]
    values = dict(zip(ASKED.columns, map(list, zip(*rows, strict=True)), strict=True))
    ASKED.fill(cursor, f"SELECT {', '.join(named)}", values)


def _in_short(scale: Scale) -> str:
    """Return the values of a scale as a refusal names them."""
    values = sorted(scale.allowed)
    if len(values) <= 5:
        return ", ".join(f"{value:g}" for value in values)
    return f"{values[0]:g} to {values[-1]:g} in steps of {scale.step or 1:g}"


def _fill_listed_comparisons(cursor: duckdb.DuckDBPyConnection) -> None:
    # Without labels nothing is joined with them.
    none = "" if any_row(cursor, "stage_label") else "LIMIT 0"
    LISTED_COMPARISON.fill(
        cursor,
        f"""
        SELECT item_id, first_name AS one, second_name AS other, file_order,
            {listed_second_first_sql("c")} AS listed_second
        FROM (
            SELECT n.id AS item_id, s.first_name, s.second_name, coalesce(s.file_order, '') AS file_order
            FROM fresh_item n JOIN stage_comparison s ON s.position = n.position AND s.file = n.file
            WHERE n.kind = 'comparison'
            UNION ALL SELECT item_id, first_name, second_name, file_order FROM comparison
        ) c {none}
        """,
    )


def label_counts(cursor: duckdb.DuckDBPyConnection, file: int) -> tuple[dict[str, int], int, int, int]:
    """Return how many labels of each rater a file, by its number, adds, supersedes, and had been there.

    The last number is that of the new verdicts of judges in one order alone. Their labels are made of these;
    where the order is not known, the one verdict is the label.
    """
    rows = cursor.execute(
        """
        SELECT rater, count(*) FILTER (WHERE fresh AND phase NOT IN $orders),
            count(*) FILTER (WHERE supersedes AND phase NOT IN $orders),
            count(*) FILTER (WHERE NOT fresh AND phase NOT IN $orders),
            count(*) FILTER (WHERE fresh AND phase IN $known)
        FROM judged_label WHERE file = $file GROUP BY rater
        """,
        {"file": file, "orders": list(ORDERS), "known": list(FIRST_LEFT)},
    ).fetchall()
    added = {rater: number for rater, number, *_ in rows if number}
    superseding, known, alone = (sum(row[place] for row in rows) for place in (2, 3, 4))
    return added, superseding, known, alone


def matches_of_grades(cursor: duckdb.DuckDBPyConnection, file: int, least: int) -> dict[str, int]:
    """Return in words how many new grades of a file, by its number, are a match, and how many are none.

    A grade of `least` or more is a match.
    """
    row = cursor.execute(
        "SELECT count(*) FILTER (value = 1), count(*) FILTER (value = 0) FROM judged_label "
        f"WHERE file = ? AND question = ? AND fresh AND {_MADE.format('comment')}",
        [file, MATCH.name],
    ).fetchone()
    matches, others = row or (0, 0)
    found = {f"grades from {least} on, a match": matches, f"grades below {least}, no match": others}
    return {name: number for name, number in found.items() if number}


def any_grade(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Return whether there is a grade among the labels."""
    return any_row(cursor, f"new_label WHERE question = {quoted(RELEVANCE.name)}")


def outdated_matches(cursor: duckdb.DuckDBPyConnection) -> int:
    """Return how many new grades have a match in the workspace that was made of an earlier grade.

    Not counted is one whose match the files bring: a new one, or one that is right for the new grade, too.
    """
    return count(
        cursor,
        f"""
        SELECT count(*) FROM judged_label n
        WHERE n.fresh AND n.question = {quoted(RELEVANCE.name)} AND EXISTS (
            FROM judgment j JOIN question q ON q.id = j.question_id
            WHERE q.name = {quoted(MATCH.name)} AND (j.item_id, j.rater_id) = (n.item_id, n.rater_id)
                AND {_MADE.format("j.comment")}
                AND NOT EXISTS (FROM judgment later WHERE later.supersedes = j.id))
        AND NOT EXISTS (
            FROM judged_label m
            WHERE m.question = {quoted(MATCH.name)} AND (m.item_id, m.rater_id) = (n.item_id, n.rater_id)
                AND (m.fresh OR (m.value = 1) = (n.value >= TRY_CAST(
                    regexp_extract(m.comment, 'match from ([0-9]+)', 1) AS INTEGER))))""",
    )


def count_of_comparisons(cursor: duckdb.DuckDBPyConnection, file: int) -> int:
    """Return how many labels of comparisons a file of labels, by its number, has."""
    return count(cursor, f"SELECT count(*) FROM single_label WHERE file = {file} AND candidates IS NOT NULL")


def publish_labels(
    cursor: duckdb.DuckDBPyConnection, reserved: tuple[int, int], imported_at: datetime
) -> None:
    """Append the new labels as judgments; inside the publishing transaction, raters and questions stored.

    Args:
        cursor: The cursor that holds the staging tables.
        reserved: The first of the ids reserved for them, in two halves.
        imported_at: When; the time of labels that say none of their own.
    """
    high, low = reserved
    cursor.execute(
        """
        INSERT INTO judgment BY NAME
        SELECT n.id, $action AS action, n.item_id, q.id AS question_id, f.id AS response_ref_id,
            r.id AS rater_id, n.phase, n.value, 'import' AS origin,
            coalesce(lag(n.id) OVER (PARTITION BY n.item_id, n.question, n.rater, n.phase ORDER BY n.id),
                n.current_id) AS supersedes,
            false AS blind, n.reason, n.shown_as, n.comment, '[]' AS evidence,
            coalesce(n.made_at, $now) AS created_at
        FROM (
            SELECT *, CAST($high || lpad(to_hex($low::UBIGINT
                + (row_number() OVER (ORDER BY turn, position, rater, phase) - 1)::UBIGINT), 16, '0') AS UUID)
                AS id
            FROM fresh_label
        ) n JOIN question q ON q.name = n.base JOIN rater r ON r.name = n.rater
        LEFT JOIN response_ref f ON (f.item_id, f.model, f.setting, f.trial)
            = (n.item_id, n.model, n.setting, n.trial)
        ORDER BY n.id
        """,
        {
            "high": f"{high:016x}",
            "low": low,
            "action": UUID(int=high << 64 | low),
            "now": imported_at,
        },
    )


def reserve(ids: IdClock, count: int) -> tuple[int, int]:
    """Take `count` ids that follow one another out of the clock.

    Returns:
        The upper and the lower 64 bits of the first one.
    """
    while True:
        start = ids.next().int
        # The gap is wider than any step of the clock: no id that another thread draws now is among these.
        if (start & _LOW) + _BLOCK_GAP + count <= _LOW:
            break
    first = start + _BLOCK_GAP
    ids.raise_floor(UUID(int=first + count))
    return first >> 64, first & ((1 << 64) - 1)
