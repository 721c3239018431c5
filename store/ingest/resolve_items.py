"""From staged items to those of the workspace: shared texts once each, new ids, and repeated ids."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import duckdb

from store.formats.fields import STAGED, FieldType
from store.ingest.problems import Problem, problems_of
from store.ingest.rows import shared_sorts
from store.ingest.stages import (
    FRESH_ITEM,
    ITEM_KEY,
    NEW_ITEM,
    REFERRED_TEXT,
    REPEATED_ITEM,
    STAGED_KEY,
    Stage,
)
from store.ingest.staging import Stages
from store.kinds.pair import RELEVANCE
from store.kinds.spec import SharedText, TaskKind, task_kinds
from store.sql import any_row, count

_EMPTY: dict[FieldType, str] = {"text": "''", "list": "'[]'", "object": "'{}'"}
"""The stored value of a column for which a file has none."""

_OF_STAGED = "ON s.position = n.position AND s.file = n.file"
_OF_TEXTS = "ON x.position = n.position AND x.file = n.file"
"""How a staged record s, and the keys x of its texts, are joined to their item n."""


@cache
def _text_stage(shared: str) -> Stage:
    """Return the stage of a shared text: each once, where it is first seen, and its key."""
    about = shared_sorts()[shared].about
    columns = ("text", "about", "given_at", "text_hash", *about, "seen", "known", "id")
    return Stage(f"new_{shared}", columns)


@cache
def _key_stage(kind: str) -> Stage:
    """Return the stage of the keys of the texts that the staged items of a kind share."""
    shared = task_kinds()[kind].record.shared
    columns = ("position", "file", *(f"{one.table}_id" for one in shared), "group_id", "content_hash")
    return Stage(f"{kind}_texts", columns, tuple(_text_stage(one.table) for one in shared))


def join_texts(stages: Stages) -> list[Problem]:
    """Fill in the texts of items that only refer to them, from the files of such texts of the same import.

    Returns:
        The records that cannot be taken: a text given twice, differently, or not at all.
    """
    cursor = stages.cursor
    problems: list[Problem] = []
    for kind in task_kinds().values():
        for shared in kind.record.shared:
            sort, text = shared.table, shared.column
            REFERRED_TEXT.fill(
                cursor,
                f"SELECT ref AS key, arg_min({text}, position) AS text, min({text}) <> max({text}) AS torn "
                f"FROM stage_{sort} GROUP BY ref",
            )
            problems += problems_of(
                cursor,
                f"SELECT s.file, s.number, s.line, s.ref FROM stage_{sort} s "
                f"JOIN referred_text t ON t.key = s.ref WHERE t.torn AND s.{text} <> t.text",
                f"{sort} {{0!r}} was given before with another text",
            )
            stages.fill(kind.name, text, f"{sort}_ref", "referred_text")
            missing = f"SELECT file, number, line, {sort}_ref FROM stage_{kind.name} WHERE {text} IS NULL AND"
            problems += problems_of(cursor, f"{missing} {sort}_ref IS NULL", f"no {sort} text")
            problems += problems_of(
                cursor,
                f"{missing} {sort}_ref IS NOT NULL",
                f"no {sort} text, and {sort} {{0!r}} is in none of the files imported with it",
            )
    return problems


def resolve_items(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Compare every staged item with those of the workspace, and give every shared text its key.

    Returns:
        The items whose id has other content, in the same import or in the workspace.
    """
    keys = []
    selects = []
    for name, kind in task_kinds().items():
        joined, group, hashed = "", "NULL::BIGINT", _hash(kind, kind.record.identity)
        if kind.record.shared:
            _resolve_texts(cursor, kind)
            keys.append(_key_stage(name))
            joined = f"JOIN {name}_texts n {_OF_STAGED}"
            group, hashed = "n.group_id", "n.content_hash"
        relevance = "s.relevance" if RELEVANCE in kind.imported else "NULL::DOUBLE AS relevance"
        selects.append(
            f"SELECT '{name}' AS kind, s.position, s.file, s.number, s.line, s.external_id, s.extra, "
            f"s.label, {relevance}, {group} AS group_id, {hashed} AS content_hash "
            f"FROM stage_{name} s {joined}"
        )
    NEW_ITEM.fill(
        cursor,
        "SELECT n.*, w.id AS known, w.content_hash AS known_hash, w.extra AS known_extra "
        f"FROM ({' UNION ALL '.join(selects)}) n "
        "LEFT JOIN item w ON w.kind = n.kind AND w.external_id = n.external_id",
        further=keys,
    )
    REPEATED_ITEM.fill(
        cursor,
        """
        SELECT kind, external_id, min(position) AS first, arg_min(content_hash, position) AS content_hash
        FROM new_item SEMI JOIN (
            SELECT kind, external_id FROM new_item GROUP BY ALL HAVING count(*) > 1
        ) USING (kind, external_id) GROUP BY ALL
        """,
    )
    return problems_of(
        cursor,
        """
        SELECT n.file, n.number, n.line, n.external_id,
            CASE WHEN n.content_hash <> r.content_hash THEN 'it came before with other content'
                ELSE 'the workspace has it with other content' END
        FROM new_item n LEFT JOIN repeated_item r USING (kind, external_id)
        WHERE n.content_hash <> r.content_hash OR n.content_hash <> n.known_hash
        ORDER BY n.position
        """,
        "duplicate id {0!r}: {1}",
    )


def _resolve_texts(cursor: duckdb.DuckDBPyConnection, kind: TaskKind) -> None:
    """Give every shared text of a kind's staged items its key, that of the workspace or a new one."""
    name, joins, keys = kind.name, "", ""
    for shared in kind.record.shared:
        table, about, given = shared.table, shared.about, _given(shared)
        described = "".join(
            f", coalesce(nullif(CASE WHEN about <> '' THEN about->>{place} END, ''), {otherwise}) AS {column}"
            for place, (column, otherwise) in enumerate(about.items())
        )
        seen = "given_at"
        if about and any_row(cursor, f"stage_{name} s WHERE {given} <> ''"):
            # A text may be given both with and without descriptions.
            seen = f"min(given_at) OVER (PARTITION BY text_hash, {', '.join(about)})"
        same = "".join(f" AND w.{column} = n.{column}" for column in about)
        _text_stage(table).fill(
            cursor,
            f"""
            WITH given AS (
                SELECT {shared.column} AS text, {given} AS about, min(position) AS given_at
                FROM stage_{name} s GROUP BY ALL
            ), described AS (
                SELECT *, md5(text) AS text_hash{described} FROM given
            ), placed AS (
                SELECT *, {seen} AS seen FROM described
            )
            SELECT n.*, w.id AS known, coalesce(w.id, (SELECT coalesce(max(id), 0) FROM {table}) + seen) AS id
            FROM placed n LEFT JOIN {table} w ON w.text_hash = n.text_hash AND w.text = n.text{same}
            """,
        )
        joins += (
            f" JOIN new_{table} t_{table} ON t_{table}.text = s.{shared.column} AND t_{table}.about = {given}"
        )
        keys += f"t_{table}.id AS {table}_id, "
    _key_stage(name).fill(
        cursor,
        f"SELECT s.position, s.file, {keys}{_hash(kind, kind.record.identity)} AS content_hash, "
        f"{f't_{kind.record.group}.id' if kind.record.group else 'NULL::BIGINT'} AS group_id "
        f"FROM stage_{name} s{joins}",
    )


def _given(shared: SharedText) -> str:
    """Return the description of a shared text in a staged record s, as SQL: empty for none."""
    if not shared.about:
        return "''"
    about = ", ".join(f"s.{column}" for column in shared.about)
    return f"CASE WHEN coalesce({about}) IS NULL THEN '' ELSE to_json([{about}])::VARCHAR END"


def _value(column: str, type_: FieldType, row: str = "s") -> str:
    """Return the SQL of a column's value as it is stored: no text is an empty one."""
    empty = _EMPTY.get(type_)
    return f"coalesce({row}.{column}, {empty})" if empty else f"{row}.{column}"


def _hash(kind: TaskKind, columns: Iterable[str], row: str = "s") -> str:
    """Return the SQL of the MD5 of the hashes of some columns of a kind, in order."""
    types = kind.record.columns
    hashes = {one.column: f"t_{one.table}.text_hash" for one in kind.record.shared}
    parts = (
        hashes.get(one) or f"md5(coalesce({_value(one, types[one], row)}::VARCHAR, ''))" for one in columns
    )
    return f"md5({' || '.join(parts)})"


def number_items(cursor: duckdb.DuckDBPyConnection) -> None:
    """Give every new item its id, in the order of the files; a repeated id is published once."""
    highest = count(cursor, "SELECT max(id) FROM item")
    # Where no id repeats, as nearly always, the join is left out.
    once = "AND NOT EXISTS (FROM repeated_item r WHERE (r.kind, r.external_id) = (n.kind, n.external_id) "
    once += "AND r.first <> n.position)"
    FRESH_ITEM.fill(
        cursor,
        f"SELECT {highest} + position AS id, n.* FROM new_item n "
        f"WHERE n.known IS NULL {once if any_row(cursor, 'repeated_item') else ''}",
    )
    STAGED_KEY.fill(
        cursor,
        f"""
        SELECT coalesce(n.known, {highest} + coalesce(r.first, n.position)) AS item_id, n.*
        FROM new_item n LEFT JOIN repeated_item r ON (r.kind, r.external_id) = (n.kind, n.external_id)
        """,
    )
    ITEM_KEY.fill(
        cursor,
        """
        SELECT kind, external_id, id, content_hash FROM fresh_item
        UNION ALL SELECT kind, external_id, id, content_hash FROM item
        """,
    )


def keys_for(cursor: duckdb.DuckDBPyConnection, records: str) -> str:
    """Return the relation to join for the keys of items: an empty one without such records."""
    return "item_key" if any_row(cursor, records) else "(FROM item_key LIMIT 0)"


def item_counts(cursor: duckdb.DuckDBPyConnection, file: int) -> dict[str, Any]:
    """Count the items that a file, by its number, adds, by the names of `FileReport`."""
    added, staged = (
        count(cursor, f"SELECT count(*) FROM {stage} WHERE file = {file}")
        for stage in ("fresh_item", "new_item")
    )
    kinds = task_kinds().values() if added != staged else ()
    differing = sum(_differing(cursor, kind, file) for kind in kinds)
    return {"items_added": added, "items_known": staged - added, "items_differing": differing}


def text_count(cursor: duckdb.DuckDBPyConnection, shared: str, offset: int, records: int) -> int:
    """Count the new shared texts of a file that has `records` records after `offset` ones of other files."""
    return count(
        cursor,
        f"SELECT count(*) {_new_texts(shared)} AND seen BETWEEN {offset + 1} AND {offset + records}",
    )


def _new_texts(shared: str) -> str:
    """Return the FROM and WHERE of the shared texts to add: of new items, each once."""
    used = " UNION ALL ".join(
        f"SELECT {shared}_id FROM {kind.name}_texts x SEMI JOIN fresh_item n {_OF_TEXTS}"
        for kind in task_kinds().values()
        if any(one.table == shared for one in kind.record.shared)
    )
    return f"FROM new_{shared} WHERE known IS NULL AND given_at = seen AND id IN ({used})"


def _differing(cursor: duckdb.DuckDBPyConnection, kind: TaskKind, file: int) -> int:
    """Count the items already stored whose other fields are not as the file has them."""
    record = kind.record
    columns = [name for name in record.own_columns if name not in record.identity]
    others = ["n.extra <> n.known_extra"]
    if columns:
        others.append(" <> ".join(_hash(kind, columns, row) for row in "st"))
    others += [f"t.{one.table}_id <> x.{one.table}_id" for one in record.shared]
    joined = (
        f"JOIN {kind.name}_texts x ON x.position = n.position AND x.file = n.file" if record.shared else ""
    )
    if record.ranked:
        joined += """ LEFT JOIN (
            SELECT item_id, list({'key': model, 'value': value} ORDER BY model) AS scores
            FROM similarity WHERE item_id IN (SELECT known FROM new_item) GROUP BY item_id
        ) m ON m.item_id = n.known"""
        given = "list_sort(list_filter(map_entries(s.scores), lambda e: e.value IS NOT NULL))"
        others.append(f"coalesce(m.scores::VARCHAR, '') <> coalesce({given}::VARCHAR, '')")
    return count(
        cursor,
        f"SELECT count(*) FROM new_item n JOIN stage_{kind.name} s {_OF_STAGED} "
        f"JOIN {record.table} t ON t.item_id = n.known {joined} "
        f"WHERE n.file = {file} AND n.kind = '{kind.name}' AND ({' OR '.join(others)})",
    )


def publish_items(cursor: duckdb.DuckDBPyConnection, sources: dict[int, int]) -> None:
    """Append the new items with their texts, columns and similarities; inside the publishing transaction.

    Args:
        cursor: The cursor that holds the staging tables.
        sources: File number to source id, for every file that adds something.
    """
    cursor.execute(
        """
        INSERT INTO item
        SELECT id, kind, external_id, coalesce(group_id, id), $sources[file + 1], content_hash, extra
        FROM fresh_item ORDER BY id
        """,
        {"sources": [sources.get(number, 0) for number in range(max(sources, default=0) + 1)]},
    )
    for table, shared in shared_sorts().items():
        columns = ", ".join(("id", "text", "text_hash", *shared.about))
        cursor.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} {_new_texts(table)}")
    for name, kind in task_kinds().items():
        own = kind.record.own_columns
        values = [f"{_value(column, type_)}::{STAGED[type_]}" for column, type_ in own.items()]
        references = [f"{one.table}_id" for one in kind.record.shared]
        joined = f"JOIN {name}_texts x {_OF_TEXTS}" if references else ""
        staged = f"FROM fresh_item n JOIN stage_{name} s {_OF_STAGED} {joined} WHERE n.kind = '{name}'"
        cursor.execute(
            f"INSERT INTO {kind.record.table} ({', '.join(('item_id', *references, *own))}) "
            f"SELECT {', '.join(('n.id', *references, *values))} {staged} ORDER BY n.id"
        )
        if kind.record.ranked:
            cursor.execute(
                "INSERT INTO similarity SELECT id, model, value FROM ("
                "SELECT n.id, unnest(map_keys(scores)) AS model, unnest(map_values(scores)) AS value "
                f"{staged} AND scores IS NOT NULL) WHERE value IS NOT NULL ORDER BY id"
            )
