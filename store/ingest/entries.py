"""From staged items of kinds with a table of their own to items: ids given, repeated ones told apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import duckdb

from store.formats.fields import STAGED, FieldType
from store.ingest.pairs import any_row
from store.ingest.problems import Problem
from store.ingest.staging import entry_kinds

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


def _hash(kind: str, columns: Iterable[str], row: str = "s") -> str:
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
        f"{_hash(kind, known.known_by)} AS content_hash FROM stage_{kind} s"
        for kind, known in entry_kinds().items()
    ]
    none = (
        "SELECT ''::VARCHAR AS kind, 0 AS file, 0::BIGINT AS position, 0::BIGINT AS number, "
        "0::BIGINT AS line, ''::VARCHAR AS external_id, '' AS extra, '' AS content_hash LIMIT 0"
    )
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE new_entry AS "
        "SELECT n.*, w.id AS known, w.content_hash AS known_hash, w.extra AS known_extra "
        f"FROM ({' UNION ALL '.join(selects) or none}) n "
        "LEFT JOIN item w ON w.kind = n.kind AND w.external_id = n.external_id"
    )
    cursor.execute(
        """
        CREATE OR REPLACE TEMP TABLE repeated_entry AS
        SELECT kind, external_id, min(position) AS first, arg_min(content_hash, position) AS content_hash
        FROM new_entry GROUP BY kind, external_id HAVING count(*) > 1
        """
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
    row = cursor.execute("SELECT coalesce(max(id), 0) FROM item").fetchone()
    highest = int(row[0]) if row else 0
    cursor.execute(
        f"""
        CREATE OR REPLACE TEMP VIEW fresh_entry AS
        SELECT {highest} + n.position AS id, n.* FROM new_entry n
        LEFT JOIN repeated_entry r USING (kind, external_id)
        WHERE n.known IS NULL AND (r.first IS NULL OR r.first = n.position)
        """
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
    return EntryCounts(added, staged - added, 0 if added == staged else _differing(cursor, file))


def _differing(cursor: duckdb.DuckDBPyConnection, file: int) -> int:
    """Count the items already stored whose other fields are not as the file has them."""
    differing = 0
    for kind, known in entry_kinds().items():
        given, stored = (_hash(kind, known.content, row) for row in "st")
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
