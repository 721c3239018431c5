"""From staged items to those of the workspace: texts once each, ids given, repeated ids told apart.

A pair is kept in tables of its own, with its texts; an item of another kind in the table of its kind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import duckdb

from store.formats.fields import STAGED, FieldType
from store.ingest.problems import Problem
from store.ingest.stages import Stage
from store.ingest.staging import Stages, entry_kinds
from store.sql import any_row, count

TEXT_OF = Stage("text_of", ("key", "text", "torn"))
"""The text that is known by a reference, and whether it was given twice, differently."""

NEW_QUERY = Stage("new_query", ("text", "text_hash", "seen", "known", "id"))
NEW_CODE = Stage(
    "new_code",
    (
        *("text", "about", "given_at", "text_hash", "language", "name", "repository", "path", "licence"),
        *("seen", "known", "id"),
    ),
)
"""Each text once, with the position where it is first seen, and its key, known or new."""

_PLACE = ("position", "file", "number", "line", "external_id")
_ITEM = (
    *_PLACE,
    "rank",
    "label",
    "scores",
    "extra",
    "query_id",
    "code_id",
    "content_hash",
    "known",
    "known_hash",
)
NEW_ITEM = Stage("new_item", _ITEM, (NEW_QUERY, NEW_CODE))
"""Every staged pair with the keys of its texts, and of the item that has its id already."""

REPEATED = Stage("repeated", ("external_id", "first", "content_hash"), (NEW_ITEM,))
FRESH_ITEM = Stage("fresh_item", ("id", *_ITEM), (NEW_ITEM, REPEATED), view=True)
"""Pairs that are published, each once."""

PAIR_KEY = Stage("pair_key", ("item_id", *_ITEM), (NEW_ITEM, REPEATED), view=True)
"""Every staged pair with the key of its item."""

_ENTRY = ("kind", *_PLACE, "extra", "content_hash", "known", "known_hash", "known_extra")
NEW_ENTRY = Stage("new_entry", _ENTRY)
"""Every staged item of a kind with a table of its own, and the item that has its id already."""

REPEATED_ENTRY = Stage("repeated_entry", ("kind", "external_id", "first", "content_hash"), (NEW_ENTRY,))
FRESH_ENTRY = Stage("fresh_entry", ("id", *_ENTRY), (NEW_ENTRY, REPEATED_ENTRY), view=True)
"""Those that are published, each once."""

ITEM_KEY = Stage(
    "item_key", ("kind", "external_id", "id", "content_hash"), (FRESH_ITEM, FRESH_ENTRY), view=True
)
"""Every item of the import and of the workspace."""

NAME_PATTERN = r"(?m)^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+([\p{L}_][\p{L}\p{N}_]*)"
"""The first function or class of a Python snippet, which names the code when the file does not."""

_CODE = ("text", "language", "name", "repository", "path", "licence")
_ABOUT = ", ".join(f"s.{column}" for column in _CODE[1:])
_GIVEN = f"CASE WHEN coalesce({_ABOUT}) IS NULL THEN '' ELSE to_json([{_ABOUT}])::VARCHAR END"
_SAME_CODE = " AND ".join(f"c.{column} = w.{column}" for column in _CODE)


def text_hash(text: str) -> str:
    """Return the hash under which a query's or a code's exact text is found: MD5, hex."""
    return hashlib.md5(text.encode("utf-8"), usedforsecurity=False).hexdigest()


def pair_content_hash(query: str, code: str) -> str:
    """Return the content hash of a pair: MD5 of the hashes of its query and its code, one after the other."""
    return text_hash(text_hash(query) + text_hash(code))


@dataclass(frozen=True, slots=True)
class PairCounts:
    """What one file adds to the items of a workspace.

    Attributes:
        added: New items.
        known: Items that were there already, or occur before in the same import.
        differing: Those of `known` whose rank, similarities, origin or extra fields differ from what is
            stored; what is stored stays.
        queries: New query texts.
        codes: New snippets.
    """

    added: int = 0
    known: int = 0
    differing: int = 0
    queries: int = 0
    codes: int = 0


def join_texts(stages: Stages) -> list[Problem]:
    """Fill in the texts of pairs that only refer to them, from the query and code files of the same import.

    Returns:
        The pairs, queries and codes that cannot be taken: a text given twice, differently, or not at all.
    """
    cursor = stages.cursor
    problems = []
    sorts: tuple[Literal["query", "code"], ...] = ("query", "code")
    for makes in sorts:
        TEXT_OF.fill(
            cursor,
            f"SELECT ref AS key, arg_min({makes}, position) AS text, min({makes}) <> max({makes}) AS torn "
            f"FROM stage_{makes} GROUP BY ref",
        )
        rows = cursor.execute(
            f"SELECT s.file, s.number, s.line, s.ref FROM stage_{makes} s JOIN text_of t ON t.key = s.ref "
            f"WHERE t.torn AND s.{makes} <> t.text"
        ).fetchall()
        problems += [
            Problem(file, number, line, f"{makes} {ref!r} was given before with another text")
            for file, number, line, ref in rows
        ]
        stages.fill("pair", makes, f"{makes}_ref", "text_of")
        rows = cursor.execute(
            f"SELECT file, number, line, {makes}_ref FROM stage_pair WHERE {makes} IS NULL"
        ).fetchall()
        problems += [
            Problem(
                file,
                number,
                line,
                f"no {makes} text"
                + ("" if ref is None else f", and {makes} {ref!r} is in none of the files imported with it"),
            )
            for file, number, line, ref in rows
        ]
    return problems


def resolve_pairs(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Give every staged pair the keys of its texts, in the tables new_query, new_code and new_item.

    Returns:
        The pairs whose id stands for other content, in the same import or in the workspace.
    """
    NEW_QUERY.fill(
        cursor,
        """
        WITH q AS (
            SELECT query AS text, md5(query) AS text_hash, min(position) AS seen
            FROM stage_pair GROUP BY query
        )
        SELECT q.*, w.id AS known, coalesce(w.id, (SELECT coalesce(max(id), 0) FROM query) + seen) AS id
        FROM q LEFT JOIN query w ON w.text_hash = q.text_hash AND w.text = q.text
        """,
    )
    NEW_CODE.fill(
        cursor,
        f"""
        WITH given AS (
            SELECT code AS text, {_GIVEN} AS about, min(position) AS given_at FROM stage_pair s GROUP BY ALL
        ), c AS (
            SELECT *, md5(text) AS text_hash, {_about(0, "'python'")} AS language,
                {_about(1, f"regexp_extract(text, '{NAME_PATTERN}', 1)")} AS name,
                {_about(2)} AS repository, {_about(3)} AS path, {_about(4)} AS licence
            FROM given
        ), seen AS (
            SELECT *, {_first_seen(cursor)} AS seen FROM c
        )
        SELECT c.*, w.id AS known, coalesce(w.id, (SELECT coalesce(max(id), 0) FROM code) + seen) AS id
        FROM seen c LEFT JOIN code w ON w.text_hash = c.text_hash AND {_SAME_CODE}
        """,
    )
    NEW_ITEM.fill(
        cursor,
        f"""
        SELECT s.position, s.file, s.number, s.line, s.external_id, s.rank, s.label, s.scores, s.extra,
            q.id AS query_id, c.id AS code_id, md5(q.text_hash || c.text_hash) AS content_hash,
            w.id AS known, w.content_hash AS known_hash
        FROM stage_pair s
        JOIN new_query q ON q.text = s.query
        JOIN new_code c ON c.text = s.code AND c.about = {_GIVEN}
        LEFT JOIN item w ON w.kind = 'pair' AND w.external_id = s.external_id
        """,
    )
    REPEATED.fill(
        cursor,
        """
        SELECT external_id, min(position) AS first, arg_min(content_hash, position) AS content_hash
        FROM new_item
        WHERE external_id IN (SELECT external_id FROM new_item GROUP BY external_id HAVING count(*) > 1)
        GROUP BY external_id
        """,
    )
    inside = cursor.execute(
        "SELECT n.file, n.number, n.line, n.external_id FROM new_item n JOIN repeated r USING (external_id) "
        "WHERE n.content_hash <> r.content_hash"
    ).fetchall()
    against = cursor.execute(
        "SELECT file, number, line, external_id FROM new_item WHERE content_hash <> known_hash"
    ).fetchall()
    problems = [
        Problem(file, number, line, f"duplicate id {name!r}: it came before with other content")
        for file, number, line, name in inside
    ]
    clashing = {(problem.file, problem.number) for problem in problems}
    return problems + [
        Problem(file, number, line, f"duplicate id {name!r}: the workspace has it with other content")
        for file, number, line, name in against
        if (file, number) not in clashing
    ]


def _about(place: int, otherwise: str = "''") -> str:
    return f"coalesce(nullif(CASE WHEN about <> '' THEN about->>{place} END, ''), {otherwise})"


def _first_seen(cursor: duckdb.DuckDBPyConnection) -> str:
    """Return where a code is first seen: it may be given both with and without what is otherwise derived."""
    one = cursor.execute(f"SELECT 1 FROM stage_pair s WHERE {_GIVEN} <> '' LIMIT 1").fetchone()
    if one is None:
        return "given_at"
    return "min(given_at) OVER (PARTITION BY text_hash, language, name, repository, path, licence)"


def number_items(cursor: duckdb.DuckDBPyConnection) -> None:
    """Give every new item its id, in the order of the files: the view fresh_item.

    A repeated id is published once. `pair_key` maps every staged pair to its item, and `item_key` every
    external id of the import and of the workspace.
    """
    highest = count(cursor, "SELECT max(id) FROM item")
    FRESH_ITEM.fill(
        cursor,
        f"""
        SELECT {highest} + position AS id, n.* FROM new_item n
        WHERE n.known IS NULL {_not_repeated(cursor)}
        """,
    )
    PAIR_KEY.fill(
        cursor,
        f"""
        SELECT coalesce(n.known, {highest} + coalesce(r.first, n.position)) AS item_id, n.*
        FROM new_item n LEFT JOIN repeated r ON r.external_id = n.external_id
        """,
    )
    ITEM_KEY.fill(
        cursor,
        """
        SELECT 'pair' AS kind, external_id, id, content_hash FROM fresh_item
        UNION ALL SELECT kind, external_id, id, content_hash FROM fresh_entry
        UNION ALL SELECT kind, external_id, id, content_hash FROM item
        """,
    )


def _not_repeated(cursor: duckdb.DuckDBPyConnection) -> str:
    """Return the condition that leaves out repeated ids: nothing where there are none, as nearly always."""
    if not any_row(cursor, "repeated"):
        return ""
    return "AND NOT EXISTS (FROM repeated r WHERE r.external_id = n.external_id AND r.first <> n.position)"


def keys_for(cursor: duckdb.DuckDBPyConnection, records: str) -> str:
    """Return what to join for the keys of items: nothing when there are no such records to give them to."""
    return "item_key" if any_row(cursor, records) else "(FROM item_key LIMIT 0)"


def pair_counts(cursor: duckdb.DuckDBPyConnection, file: int, offset: int, records: int) -> PairCounts:
    """Count what a file adds that has `records` records after `offset` ones of other files."""
    row = cursor.execute(
        """
        SELECT
            (SELECT count(*) FROM fresh_item WHERE file = $file),
            (SELECT count(*) FROM new_item WHERE file = $file),
            (SELECT count(*) FROM new_query WHERE known IS NULL AND seen BETWEEN $first AND $last),
            (SELECT count(*) FROM new_code
                WHERE known IS NULL AND given_at = seen AND seen BETWEEN $first AND $last)
        """,
        {"file": file, "first": offset + 1, "last": offset + records},
    ).fetchone()
    added, staged, queries, codes = row or (0, 0, 0, 0)
    differing = 0 if added == staged else _differing_pairs(cursor, file)
    return PairCounts(added, staged - added, differing, queries, codes)


def _differing_pairs(cursor: duckdb.DuckDBPyConnection, file: int) -> int:
    """Count the items already stored whose other fields are not as the file has them."""
    row = cursor.execute(
        """
        WITH given AS (
            SELECT known, list_sort(list_filter(map_entries(scores), lambda e: e.value IS NOT NULL)) AS scores
            FROM new_item WHERE file = $file AND known IS NOT NULL
        ), stored AS (
            SELECT item_id AS known, list({'key': model, 'value': value} ORDER BY model) AS scores
            FROM similarity WHERE item_id IN (SELECT known FROM given) GROUP BY item_id
        )
        SELECT count(*) FROM new_item n
        JOIN item i ON i.id = n.known JOIN pair p ON p.item_id = n.known
        JOIN given g ON g.known = n.known LEFT JOIN stored m ON m.known = n.known
        WHERE n.file = $file AND (
            p.rank IS DISTINCT FROM n.rank OR p.code_id <> n.code_id OR i.extra <> n.extra
            OR coalesce(m.scores::VARCHAR, '') <> coalesce(g.scores::VARCHAR, ''))
        """,
        {"file": file},
    ).fetchone()
    return int(row[0]) if row else 0


def publish_pairs(cursor: duckdb.DuckDBPyConnection, sources: dict[int, int]) -> None:
    """Append the new texts, items, pairs and similarities; inside the publishing transaction.

    Args:
        cursor: The cursor that holds the staging tables.
        sources: File number to source id, for every file that adds an item.
    """
    cursor.execute(
        "INSERT INTO query SELECT id, text, text_hash FROM new_query WHERE known IS NULL ORDER BY id"
    )
    cursor.execute(
        "INSERT INTO code SELECT id, text, text_hash, language, name, repository, path, licence "
        "FROM new_code WHERE known IS NULL AND given_at = seen"
    )
    cursor.execute(
        """
        INSERT INTO item SELECT id, 'pair', external_id, query_id, $sources[file + 1], content_hash, extra
        FROM fresh_item ORDER BY id
        """,
        {"sources": [sources.get(number, 0) for number in range(max(sources, default=0) + 1)]},
    )
    cursor.execute("INSERT INTO pair SELECT id, query_id, code_id, rank FROM fresh_item ORDER BY id")
    cursor.execute(
        """
        INSERT INTO similarity SELECT id, model, value FROM (
            SELECT id, unnest(map_keys(scores)) AS model, unnest(map_values(scores)) AS value
            FROM fresh_item WHERE scores IS NOT NULL
        ) WHERE value IS NOT NULL ORDER BY id
        """
    )


_EMPTY: dict[FieldType, str] = {"text": "''", "list": "'[]'", "object": "'{}'"}
"""What stands in a column for which a file holds nothing."""


@dataclass(frozen=True, slots=True)
class EntryCounts:
    """What one file adds to the items of kinds with a table of their own.

    Attributes:
        added: New items.
        known: Items that were there already, or occur before in the same import.
        differing: Those of `known` of which what only describes them differs from what is stored, or their
            extra fields; what is stored stays.
    """

    added: int = 0
    known: int = 0
    differing: int = 0


def value_of(column: str, type_: FieldType, row: str = "s") -> str:
    """Return the SQL of a column's value as it is stored: no text is an empty one."""
    empty = _EMPTY.get(type_)
    return f"coalesce({row}.{column}, {empty})" if empty else f"{row}.{column}"


def _entry_hash(kind: str, columns: Iterable[str], row: str = "s") -> str:
    """Return the SQL of the MD5 of the hashes of some columns of a kind, in order."""
    types = entry_kinds()[kind].content
    parts = (f"md5(coalesce({value_of(one, types[one], row)}::VARCHAR, ''))" for one in columns)
    return f"md5({' || '.join(parts)})"


def resolve_entries(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Put every staged item of these kinds into the table new_entry.

    Returns:
        The items whose id stands for other content, in the same import or in the workspace.
    """
    selects = [
        f"SELECT '{kind}' AS kind, s.file, s.position, s.number, s.line, s.external_id, s.extra, "
        f"{_entry_hash(kind, known.known_by)} AS content_hash FROM stage_{kind} s"
        for kind, known in entry_kinds().items()
    ]
    none = (
        "SELECT ''::VARCHAR AS kind, 0 AS file, 0::BIGINT AS position, 0::BIGINT AS number, "
        "0::BIGINT AS line, ''::VARCHAR AS external_id, '' AS extra, '' AS content_hash LIMIT 0"
    )
    NEW_ENTRY.fill(
        cursor,
        "SELECT n.*, w.id AS known, w.content_hash AS known_hash, w.extra AS known_extra "
        f"FROM ({' UNION ALL '.join(selects) or none}) n "
        "LEFT JOIN item w ON w.kind = n.kind AND w.external_id = n.external_id",
    )
    REPEATED_ENTRY.fill(
        cursor,
        """
        SELECT kind, external_id, min(position) AS first, arg_min(content_hash, position) AS content_hash
        FROM new_entry GROUP BY kind, external_id HAVING count(*) > 1
        """,
    )
    rows = cursor.execute(
        """
        SELECT n.file, n.number, n.line, n.external_id,
            CASE WHEN n.content_hash <> r.content_hash THEN 'it came before with other content'
                ELSE 'the workspace has it with other content' END
        FROM new_entry n LEFT JOIN repeated_entry r USING (kind, external_id)
        WHERE n.content_hash <> r.content_hash OR n.content_hash <> n.known_hash
        ORDER BY n.position
        """
    ).fetchall()
    return [
        Problem(file, number, line, f"duplicate id {name!r}: {why}") for file, number, line, name, why in rows
    ]


def number_entries(cursor: duckdb.DuckDBPyConnection) -> None:
    """Give every new item its id, in the order of the files: the view fresh_entry; a repeated one once."""
    highest = count(cursor, "SELECT max(id) FROM item")
    FRESH_ENTRY.fill(
        cursor,
        f"""
        SELECT {highest} + n.position AS id, n.* FROM new_entry n
        LEFT JOIN repeated_entry r USING (kind, external_id)
        WHERE n.known IS NULL AND (r.first IS NULL OR r.first = n.position)
        """,
    )


def entry_counts(cursor: duckdb.DuckDBPyConnection, file: int) -> EntryCounts:
    """Count what a file, by its number, adds."""
    row = cursor.execute(
        """
        SELECT (SELECT count(*) FROM fresh_entry WHERE file = $file),
            (SELECT count(*) FROM new_entry WHERE file = $file)
        """,
        {"file": file},
    ).fetchone()
    added, staged = row or (0, 0)
    return EntryCounts(added, staged - added, 0 if added == staged else _differing_entries(cursor, file))


def _differing_entries(cursor: duckdb.DuckDBPyConnection, file: int) -> int:
    """Count the items already stored whose other fields are not as the file has them."""
    differing = 0
    for kind, known in entry_kinds().items():
        given, stored = (_entry_hash(kind, known.content, row) for row in "st")
        row = cursor.execute(
            f"SELECT count(*) FROM new_entry n "
            f"JOIN stage_{kind} s ON s.position = n.position AND s.file = n.file "
            f"JOIN {known.table} t ON t.item_id = n.known "
            f"WHERE n.file = ? AND n.kind = '{kind}' AND (n.extra <> n.known_extra OR {given} <> {stored})",
            [file],
        ).fetchone()
        differing += int(row[0]) if row else 0
    return differing


def publish_entries(cursor: duckdb.DuckDBPyConnection, sources: dict[int, int]) -> None:
    """Append the new items and their columns; inside the publishing transaction.

    Args:
        cursor: The cursor that holds the staging tables.
        sources: File number to source id, for every file that adds something.
    """
    if not any_row(cursor, "fresh_entry"):
        return
    cursor.execute(
        """
        INSERT INTO item SELECT id, kind, external_id, id, $sources[file + 1], content_hash, extra
        FROM fresh_entry ORDER BY id
        """,
        {"sources": [sources.get(number, 0) for number in range(max(sources, default=0) + 1)]},
    )
    for kind, known in entry_kinds().items():
        values = ", ".join(
            f"{value_of(column, type_)}::{STAGED[type_]}" for column, type_ in known.content.items()
        )
        cursor.execute(
            f"INSERT INTO {known.table} (item_id, {', '.join(known.content)}) SELECT e.id, {values} "
            f"FROM fresh_entry e JOIN stage_{kind} s ON s.position = e.position AND s.file = e.file "
            f"WHERE e.kind = '{kind}' ORDER BY e.id"
        )
