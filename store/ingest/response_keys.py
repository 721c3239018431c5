"""How responses and scores are matched with items and with each other, as SQL.

They name their item, or are joined by a column of their kind.
"""

from __future__ import annotations

import duckdb

from store.ingest.stages import JOIN_CANDIDATE, JOIN_KEY
from store.kinds.spec import task_kinds

WHOSE = "coalesce(item_id::VARCHAR, 'item ' || external_id, 'text ' || within || ' ' || joined_by)"
"""The identity of the item of a response or a score, also where it is not here."""

SCORES = (
    'STRUCT(judge VARCHAR, measure VARCHAR, "value" DOUBLE, raw VARCHAR, reason VARCHAR, extra VARCHAR)[]'
)
"""The type of the scores that are stored, as JSON, with a pending response."""

NEXT = "(SELECT coalesce(max(sequence), 0) FROM score)"
"""The place of the score that was appended last: of several of a judge the last one counts."""

SAME_RESPONSE = "(f.item_id, f.model, f.setting, f.trial) = (n.item_id, n.model, n.setting, n.trial)"
"""When a response reference f is that of a new record n, as SQL."""

_SAME_KEY = " AND ".join(
    (
        "b.kind = a.kind",
        "b.external_id IS NOT DISTINCT FROM a.external_id",
        "b.joined_by IS NOT DISTINCT FROM a.joined_by",
        "{within} = a.within",
        *(f"b.{name} = a.{name}" for name in ("model", "setting", "trial")),
    )
)


def within(table: str) -> str:
    """Return the value within which rows of a table that name no item are joined, as SQL."""
    cases = "".join(
        f"WHEN {table}.kind = '{kind}' THEN "
        f"lower(coalesce(json_extract_string({table}.extra, '$.{known.record.joined_within}'), '')) "
        for kind, known in task_kinds().items()
        if known.record.joined_within
    )
    return f"CASE WHEN {table}.external_id IS NOT NULL THEN '' {cases}ELSE '' END"


def joined(table: str) -> str:
    """Return how rows of a table that name no item are joined with the one item they can mean, as SQL j.

    That is by their text, within one value of `joined_within`, where the field of `joined_ends` is no other.
    """
    ends = ""
    for kind, known in task_kinds().items():
        if known.record.joined_ends:
            given = f"json_extract_string({table}.extra, '$.{known.record.joined_ends}')"
            fits = f"ends_with({given}, j.ends) OR ends_with(j.ends, {given})"
            ends += f" AND coalesce({table}.kind <> '{kind}' OR {fits}, true)"
    return (
        f"j ON {table}.external_id IS NULL AND (j.kind, j.key, j.within) = "
        f"({table}.kind, {table}.joined_by, {within(table)}){ends}"
    )


def same_key() -> str:
    """Return when a new response a is the pending one, b, but for its text, in SQL."""
    return _SAME_KEY.format(within=within("b"))


def put_join_keys(cursor: duckdb.DuckDBPyConnection) -> None:
    """Fill join_key with the texts by which responses without an item's name are joined to one item only.

    `within` is empty for a response without the field that it is joined within: then it means one item of
    all. Those that it could mean are in join_candidate: a response that was attached before another item with
    the same text was imported stays where it is.
    """
    selects = []
    for kind, known in task_kinds().items():
        if not known.record.joined_by:
            continue
        shared = known.record.joined_within or "''"
        columns = (
            f"'{kind}' AS kind, {known.record.joined_by} AS key, lower(coalesce({shared}, '')) AS within, "
            f"{known.record.joined_ends or 'NULL'} AS ends"
        )
        selects += [
            f"SELECT {columns}, item_id FROM ({known.record.select})",
            f"SELECT {columns}, e.id AS item_id FROM fresh_item e JOIN stage_{kind} s "
            f"ON s.position = e.position AND s.file = e.file WHERE e.kind = '{kind}'",
        ]
    none = "SELECT '' AS kind, '' AS key, '' AS within, '' AS ends, 0::BIGINT AS item_id LIMIT 0"
    JOIN_CANDIDATE.fill(
        cursor,
        f"""
        WITH every AS ({" UNION ALL ".join(selects) or none})
        FROM every WHERE within <> ''
        UNION ALL
        SELECT kind, key, '', ends, item_id FROM every
        """,
    )
    JOIN_KEY.fill(
        cursor,
        """
        SELECT kind, key, within, min(ends) AS ends, min(item_id) AS item_id FROM join_candidate
        GROUP BY kind, key, within HAVING count(DISTINCT item_id) = 1
        """,
    )


def further_fields(table: str) -> str:
    """Return the other fields of a score as SQL: the same text in whatever order they are."""
    extra = f"{table}.extra"
    pointer = "'/' || replace(replace(k, '~', '~0'), '/', '~1')"
    fields = f"list_transform(json_keys({extra}), lambda k: k || json_extract({extra}, {pointer}))"
    return f"if({extra} = '{{}}', '', list_sort({fields})::VARCHAR)"


def score_id(score: str) -> str:
    """Return the SQL of the id of a score without one, with its item i and response reference f.

    It is the same in every workspace, since judgments name the score that was shown.
    """
    fields = ("judge", "measure", "value", "raw", "reason")
    own = ", ".join(f"{score}.{name}" for name in fields)
    response = "i.kind, i.external_id, f.model, f.setting, f.trial"
    return f"md5(json_array({response}, {own})::VARCHAR || {further_fields(score)})::UUID"
