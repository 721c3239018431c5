"""How responses and scores find their items: by the name that they say, else by what joins their kind."""

from __future__ import annotations

import duckdb

from store.ingest.resolve_items import FRESH_ENTRY
from store.ingest.stages import Stage
from store.ingest.staging import entry_kinds

JOIN_CANDIDATE = Stage("join_candidate", ("kind", "key", "within", "item_id"), (FRESH_ENTRY,))
JOIN_KEY = Stage("join_key", ("kind", "key", "within", "item_id"), (JOIN_CANDIDATE,))
"""The items that a response without an item's name could mean, and those that it means alone."""

WHOSE = "coalesce(item_id::VARCHAR, 'item ' || external_id, 'text ' || within || ' ' || joined_by)"
"""What tells the item of a response or a score, also where it is not here."""

JOIN = "j ON {0}.external_id IS NULL AND (j.kind, j.key, j.within) = ({0}.kind, {0}.joined_by, {1})"
"""How a response that names no item is joined: by its text, within the items that share the rest it says."""

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
    """Return what the rows of a table that name no item say beside the text they are joined by, in SQL."""
    cases = "".join(
        f"WHEN {table}.kind = '{kind}' THEN "
        f"lower(coalesce(json_extract_string({table}.extra, '$.{known.joined_within}'), '')) "
        for kind, known in entry_kinds().items()
        if known.joined_within
    )
    return f"CASE WHEN {table}.external_id IS NOT NULL THEN '' {cases}ELSE '' END"


def same_key() -> str:
    """Return when a new response a is the one kept aside, b, but for its text, in SQL."""
    return _SAME_KEY.format(within=within("b"))


def put_join_keys(cursor: duckdb.DuckDBPyConnection) -> None:
    """Put what responses without an item's name are joined by into join_key, where it means one item only.

    `within` is empty for a response that says nothing beside it: then it means one item of all. Those that
    it could mean stand in join_candidate: a response that came home before another item with the same text
    was imported stays where it is.
    """
    selects = []
    for kind, known in entry_kinds().items():
        if not known.joined_by:
            continue
        shared = known.joined_within or "''"
        columns = f"'{kind}' AS kind, {known.joined_by} AS key, lower(coalesce({shared}, '')) AS within"
        selects += [
            f"SELECT {columns}, item_id FROM {known.table}",
            f"SELECT {columns}, e.id AS item_id FROM fresh_entry e JOIN stage_{kind} s "
            f"ON s.position = e.position AND s.file = e.file WHERE e.kind = '{kind}'",
        ]
    none = "SELECT '' AS kind, '' AS key, '' AS within, 0::BIGINT AS item_id LIMIT 0"
    JOIN_CANDIDATE.fill(
        cursor,
        f"""
        WITH every AS ({" UNION ALL ".join(selects) or none})
        FROM every WHERE within <> ''
        UNION ALL
        SELECT kind, key, '', item_id FROM every
        """,
    )
    JOIN_KEY.fill(
        cursor,
        """
        SELECT kind, key, within, min(item_id) AS item_id FROM join_candidate
        GROUP BY kind, key, within HAVING count(DISTINCT item_id) = 1
        """,
    )
