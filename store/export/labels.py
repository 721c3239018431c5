"""Current labels, of one rater or of all people, on items of every kind, and the SELECTs that export them.

A run of the agents is a rater, too: its verdicts are its labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import duckdb

from store.errors import ExportFailed
from store.export.studied import HOW, HOW_COLUMNS, ISO_8601, PROVENANCE, STUDIED, STUDY_COLUMNS
from store.export.true_labels import TRUE_LABELS
from store.formats.protocol import CurrentLabel, Entity, WriteResult
from store.formatting import pluralize
from store.kinds.comparison import PREFERENCE, listed_second_first_sql
from store.kinds.spec import QuestionSpec, TaskKind, task_kinds
from store.policy.scope import FIRST_PHASES
from store.record.response_names import response_name_sql
from store.sql import count, quoted

CURRENT_LABEL = "current_label"
"""The table of current labels: item_id, question_id, response_ref_id, rater_id, value, id of the judgment or
verdict."""

LONG_COLUMNS: tuple[str, ...] = (
    *("item", "kind", "question", "rater", "value", "of", "word", "comment", "phase"),
    *STUDY_COLUMNS,
    *HOW_COLUMNS,
)
"""The columns of labels in long form, in order."""

EXPORTED = "(SELECT id FROM exported_item)"
"""The items that an export is about, as SQL; see `create_exported_items`."""

_ITEMS = 20_000
"""Items whose labels are fetched together."""


def favoured(value: str) -> str:
    """Return the name of the candidate that a stored value favours, as SQL; empty for ties and other kinds.

    Args:
        value: The value, of an item that is joined with `comparison c`.
    """
    return f"coalesce(CASE WHEN {value} > 0 THEN c.first_name WHEN {value} < 0 THEN c.second_name END, '')"


IN_FILE_ORDER = f"""(
    SELECT s.* REPLACE (if({listed_second_first_sql("c")}, 0 - value, value) AS value),
        {favoured("s.value")} AS of
    FROM {CURRENT_LABEL} s LEFT JOIN comparison c ON c.item_id = s.item_id)"""
"""CURRENT_LABEL with the values of comparisons in the order of their files, and in `of` the candidate that
each favours, as SQL."""

QUESTION_NAME = f"(asks.name || coalesce('@' || {response_name_sql('ref')}, ''))"
"""The readable name of a question `asks`, with the reference `ref` to its response, if any; as SQL."""


def label_columns(kind: TaskKind) -> tuple[str, ...]:
    """Return the columns of one rater's current labels of a kind, in order; an import reads each back."""
    return ("id", *kind.record.columns, *(("similarity",) if kind.record.ranked else ()), "label", "extra")


def similarities(cursor: duckdb.DuckDBPyConnection) -> str:
    """Return a subquery (item_id, similarity) with the similarities of items by model, as JSON.

    A column for each model, since lists of models and values take three times as long to put together.
    """
    models = cursor.execute("SELECT DISTINCT model FROM similarity ORDER BY model").fetchall()
    pairs = ", ".join(
        f"{quoted(json.dumps(name, ensure_ascii=False) + ':')} || max(value) FILTER (model = {quoted(name)})"
        for (name,) in models
    )
    written = f"'{{' || concat_ws(',', {pairs}) || '}}'" if models else "NULL"
    return f"(SELECT item_id, CAST({written} AS JSON) AS similarity FROM similarity GROUP BY item_id)"


def create_exported_items(
    cursor: duckdb.DuckDBPyConnection,
    item_ids: Sequence[int] | None,
    *,
    split: bool = False,
    undecided: Mapping[int, str] = MappingProxyType({}),
) -> None:
    """Create the temporary view exported_item (id, part) with the items that an export is about.

    Args:
        cursor: A cursor of the workspace.
        item_ids: The items; None for all.
        split: Whether they are those of a split, which the table true_label holds with their parts.
        undecided: Others that belong to the split, with their parts.
    """
    if item_ids is not None:
        cursor.execute("CREATE OR REPLACE TEMP TABLE chosen_item (id BIGINT)")
        cursor.execute("INSERT INTO chosen_item SELECT unnest(?::BIGINT[])", [list(item_ids)])
    if split:
        only = "" if item_ids is None else " WHERE item_id IN (FROM chosen_item)"
        cursor.execute(
            "CREATE OR REPLACE TEMP TABLE split_item AS "
            f"SELECT DISTINCT item_id AS id, part FROM true_label{only}"
        )
        cursor.execute(
            "INSERT INTO split_item FROM "
            f"(SELECT unnest(?::BIGINT[]) AS item_id, unnest(?::VARCHAR[]) AS part){only}",
            [[*undecided], [*undecided.values()]],
        )
        cursor.execute("CREATE OR REPLACE TEMP VIEW exported_item AS FROM split_item")
        return
    table = "item" if item_ids is None else "chosen_item"
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW exported_item AS SELECT id, '' AS part FROM {table}")


def create_words(cursor: duckdb.DuckDBPyConnection) -> None:
    """Create the temporary table word (question_id, value, word) with the words of the scales."""
    cursor.execute(
        """
        CREATE OR REPLACE TEMP TABLE word AS SELECT id AS question_id, one."value" AS value, one.word AS word
        FROM (SELECT id, unnest(from_json(scale->'values', '[{"value": "DOUBLE", "word": "VARCHAR"}]')) AS one
            FROM question)
        """
    )


def create_current_labels(cursor: duckdb.DuckDBPyConnection, rater_id: int | None) -> None:
    """Create the table CURRENT_LABEL with the labels that count in measures.

    Of several assignments of one item to a rater the first presentation counts. A run has one verdict; those
    in one order of a comparison alone do not count.

    Args:
        cursor: A cursor of the workspace.
        rater_id: Whose; None for all people's, TRUE_LABELS for those of the table true_label.
    """
    if rater_id == TRUE_LABELS:
        cursor.execute(
            f"CREATE OR REPLACE TEMP TABLE {CURRENT_LABEL} AS SELECT item_id, question_id, response_ref_id, "
            f"{TRUE_LABELS}::BIGINT AS rater_id, value, NULL::UUID AS id FROM true_label "
            f"WHERE item_id IN {EXPORTED}"
        )
        return
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE {CURRENT_LABEL} AS
        WITH latest AS (
            SELECT item_id, question_id, response_ref_id, rater_id, arg_max_null(value, id) AS value,
                max(id) AS id, min(id) AS begun
            FROM exported_judgment
            WHERE list_contains($phases, phase) AND ($rater IS NULL OR rater_id = $rater)
                AND item_id IN {EXPORTED}
            GROUP BY item_id, question_id, response_ref_id, rater_id, assignment_id
        )
        SELECT item_id, question_id, response_ref_id, rater_id, arg_min(value, begun) AS value,
            arg_min(id, begun) AS id
        FROM latest WHERE value IS NOT NULL GROUP BY item_id, question_id, response_ref_id, rater_id
        UNION ALL
        SELECT item_id, question_id, response_ref_id, rater_id, value, v.id
        FROM exported_verdict v JOIN run ON run.id = v.run_id
        WHERE rater_id = $rater AND item_id IN {EXPORTED} AND (response_ref_id IS NULL
            OR question_id NOT IN (SELECT id FROM question WHERE name = $preference))
        """,
        {"phases": list(FIRST_PHASES), "rater": rater_id, "preference": PREFERENCE.name},
    )


def labelled_items(cursor: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return how many items of each kind have a current label, by the kind's name."""
    found = cursor.execute(
        f"SELECT i.kind, count(DISTINCT i.id) FROM {CURRENT_LABEL} s JOIN item i ON i.id = s.item_id "
        "GROUP BY i.kind ORDER BY i.kind"
    )
    return dict(found.fetchall())


def highest_value(cursor: duckdb.DuckDBPyConnection, asked: QuestionSpec) -> float:
    """Return the highest current label of a question; 0 where there is none."""
    row = cursor.execute(
        f"SELECT max(value) FROM {CURRENT_LABEL} s JOIN question q ON q.id = s.question_id WHERE q.name = ?",
        [asked.name],
    ).fetchone()
    return float(row[0] or 0) if row else 0.0


def values_of(
    cursor: duckdb.DuckDBPyConnection, rater_id: int, kind: TaskKind
) -> dict[int, dict[str, float]]:
    """Return a rater's current values of the items of a kind themselves, by item and question."""
    create_current_labels(cursor, rater_id)
    found: dict[int, dict[str, float]] = {}
    rows = cursor.execute(
        f"SELECT s.item_id, q.name, s.value FROM {CURRENT_LABEL} s JOIN question q ON q.id = s.question_id "
        "JOIN item i ON i.id = s.item_id WHERE i.kind = ? AND s.response_ref_id IS NULL",
        [kind.name],
    )
    for item_id, question, value in rows.fetchall():
        found.setdefault(item_id, {})[question] = value
    return found


def labels(cursor: duckdb.DuckDBPyConnection, rater_id: int, kind: TaskKind, columns: Sequence[str]) -> str:
    """Return the SELECT of one rater's current labels of a kind, in the order of the items.

    The labels are put into a table of the cursor, named kind_label. The columns are those of `label_columns`,
    and `part` where it is wanted.

    Raises:
        ExportFailed: The rater has no current label.
    """
    create_current_labels(cursor, rater_id)
    asked = kind.label_question
    cursor.execute(
        f"CREATE OR REPLACE TEMP TABLE kind_label AS SELECT item_id, s.value FROM {CURRENT_LABEL} s "
        "JOIN question q ON q.id = s.question_id WHERE q.name = ?",
        [asked.name if asked else ""],
    )
    if not count(cursor, "SELECT count(*) FROM kind_label"):
        raise no_label(kind, others_labelled(cursor, kind))
    return f"""
        SELECT {", ".join(columns)} FROM (SELECT i.external_id AS id, p.* EXCLUDE (item_id), similarity,
            {"l.value::BIGINT" if whole_numbers(cursor, "kind_label") else "l.value"} AS label,
            CAST(i.extra AS JSON) AS extra, e.part, i.id AS place
        FROM item i JOIN exported_item e ON e.id = i.id JOIN ({kind.record.select}) p ON p.item_id = i.id
        JOIN kind_label l ON l.item_id = i.id LEFT JOIN {similarities(cursor)} m ON m.item_id = i.id)
        ORDER BY place"""


def no_label(kind: TaskKind, others: Mapping[str, int]) -> ExportFailed:
    """Return the error for a rater without a label of a kind.

    Args:
        kind: The kind.
        others: How many items of other kinds the rater has labelled, by kind.
    """
    return ExportFailed(
        "Nothing to export",
        f"This rater has no current label of a {kind.singular}, but labels of {count_by_kind(others)}."
        if others
        else "This rater has no current label.",
        "Write these: --format labels" if others else "Name another: --rater NAME",
    )


def long_labels(
    cursor: duckdb.DuckDBPyConnection, rater_id: int | None, columns: Sequence[str] = LONG_COLUMNS
) -> str:
    """Return the SELECT of the current labels of one rater or of all, in the order of the items.

    Args:
        cursor: The cursor that will run it; the labels are put into its table CURRENT_LABEL.
        columns: The columns, and `part` where it is wanted.
        rater_id: Whose; None for all people's. The comment on a verdict is the reason that the agents gave.

    Raises:
        ExportFailed: There is none.
    """
    create_current_labels(cursor, rater_id)
    create_words(cursor)
    if not count(cursor, f"SELECT count(*) FROM {CURRENT_LABEL}"):
        raise ExportFailed(
            "Nothing to export",
            "There are no labels." if rater_id is None else "This rater has no current label.",
            "See what is there: workbench items WORKSPACE",
        )
    value = "CAST(s.value AS BIGINT)" if whole_numbers(cursor, CURRENT_LABEL) else "s.value"
    return f"""
        SELECT {", ".join(columns)} FROM (
            SELECT i.external_id AS item, i.kind, {QUESTION_NAME} AS question, a.name AS rater, {value}
                AS value, s.of, coalesce(w.word, '') AS word, coalesce(v.reason, said.comment, '') AS comment,
                coalesce(j.phase, '') AS phase, {STUDIED}, {HOW},
                e.part, i.id AS place, asks.id AS asked, ref.model, ref.setting, ref.trial
            FROM {IN_FILE_ORDER} s LEFT JOIN judgment j ON j.id = s.id LEFT JOIN verdict v ON v.id = s.id
            LEFT JOIN studied t ON t.assignment_id = j.assignment_id
            LEFT JOIN exported_comment said ON said.id = s.id
            JOIN item i ON i.id = s.item_id JOIN exported_item e ON e.id = i.id
            JOIN question asks ON asks.id = s.question_id JOIN exported_rater a ON a.id = s.rater_id
            LEFT JOIN response_ref ref ON ref.id = s.response_ref_id
            LEFT JOIN word w ON w.question_id = s.question_id AND w.value = s.value
        ) ORDER BY place, model NULLS FIRST, setting, trial, asked, rater"""


def labels_by_item(
    cursor: duckdb.DuckDBPyConnection, rater_id: int | None, kind: TaskKind
) -> tuple[WriteResult, Iterator[tuple[Entity, Sequence[CurrentLabel]]]]:
    """Return the items of a kind with the current labels of the question that lists show.

    Without a rater they are all people's. The cursor reads them while they are taken.

    Returns:
        How many labels there are, and the items that have one, in the order of import.

    Raises:
        ExportFailed: There is none.
    """
    create_current_labels(cursor, rater_id)
    question = quoted(kind.label_question.name if kind.label_question else "")
    source = f"""
        FROM {CURRENT_LABEL} s JOIN item i ON i.id = s.item_id
        JOIN question q ON q.id = s.question_id AND q.name = {question}"""
    total, others = count(cursor, f"SELECT count(*) {source}"), others_labelled(cursor, kind)
    if not total:
        there = f", but labels of {count_by_kind(others)}" if others else ""
        raise ExportFailed(
            "Nothing to export",
            f"There are no current labels of {kind.plural}{there}.",
            "Write these: --format labels" if others else "See what is there: workbench items WORKSPACE",
        )
    how = ", ".join(f"'{name}': {sql}" for name, sql in PROVENANCE.items())
    # A row for each item and times as text: Python takes long to make values of rows, and longest of times.
    select = f"""
        SELECT i.external_id, i.extra, any_value(p), list({{'rater': a.name, 'by_agents': a.kind = 'agent',
            'value': s.value, 'comment': coalesce(v.reason, said.comment, ''), 'active_ms': j.active_ms,
            'made_at': strftime(coalesce(j.created_at, v.created_at), '{ISO_8601}'), 'provenance': {{{how}}}
            }} ORDER BY a.name)
        {source} JOIN ({kind.record.select}) p ON p.item_id = i.id JOIN exported_rater a ON a.id = s.rater_id
        LEFT JOIN judgment j ON j.id = s.id AND j.item_id BETWEEN $low AND $high
        LEFT JOIN verdict v ON v.id = s.id AND v.item_id BETWEEN $low AND $high
        LEFT JOIN studied t ON t.assignment_id = j.assignment_id
        LEFT JOIN exported_comment said ON said.id = s.id
        WHERE s.item_id BETWEEN $low AND $high AND i.id BETWEEN $low AND $high
        GROUP BY i.id, i.external_id, i.extra ORDER BY i.id"""
    items = f"SELECT DISTINCT s.item_id {source} ORDER BY 1"
    return WriteResult(total, others=others), _by_item(cursor, kind, items, select)


def _by_item(
    cursor: duckdb.DuckDBPyConnection, kind: TaskKind, items: str, select: str
) -> Iterator[tuple[Entity, Sequence[CurrentLabel]]]:
    """Yield items with their labels; so many at once that their texts are never all in memory."""
    ids = cursor.execute(items).fetchnumpy()["item_id"].tolist()
    for place in range(0, len(ids), _ITEMS):
        part = ids[place : place + _ITEMS]
        rows = cursor.execute(select, {"low": part[0], "high": part[-1]}).fetchall()
        for external_id, extra, columns, given in rows:
            item = Entity(kind.name, {**columns, "external_id": external_id}, json.loads(extra))
            yield item, [_current_label(**one) for one in given]


def _current_label(*, provenance: Mapping[str, Any], **fields: Any) -> CurrentLabel:
    known = {name: value for name, value in provenance.items() if value is not None}
    return CurrentLabel(**fields, provenance=known)


def written_labels(cursor: duckdb.DuckDBPyConnection, kind: TaskKind) -> WriteResult:
    """Return how many the labels selected before are: of a kind, its items left out, of other kinds."""
    total = count(cursor, "SELECT count(*) FROM kind_label")
    unlabelled = count(
        cursor,
        f"SELECT count(*) FROM item WHERE kind = {quoted(kind.name)} "
        f"AND id IN {EXPORTED} AND id NOT IN (SELECT item_id FROM kind_label)",
    )
    return WriteResult(total, unlabelled, others_labelled(cursor, kind))


def others_labelled(cursor: duckdb.DuckDBPyConnection, kind: TaskKind) -> dict[str, int]:
    """Return how many items of other kinds have labels among those selected before, by kind."""
    return {name: number for name, number in labelled_items(cursor).items() if name != kind.name}


def count_by_kind(numbers: Mapping[str, int]) -> str:
    """Return numbers of items by kind as a phrase: "3 completions, 1 repository question"."""
    kinds = task_kinds()
    return ", ".join(
        pluralize(number, "item") + f" of kind {kind}"
        if kind not in kinds
        else pluralize(number, kinds[kind].plural.removesuffix("s"), kinds[kind].plural)
        for kind, number in numbers.items()
    )


def whole_numbers(cursor: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Return whether every `value` of a table is a whole number, and can be written as one."""
    return not count(cursor, f"SELECT count(*) FROM {table} WHERE value <> trunc(value)")
