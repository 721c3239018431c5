"""The rows of the table of sources: a file or folder that was imported."""

from __future__ import annotations

from datetime import datetime

import duckdb

from store.sql import count


def add_source(
    cursor: duckdb.DuckDBPyConnection,
    *,
    sha256: str,
    name: str,
    format: str,
    licence: str,
    records: int,
    imported_at: datetime,
) -> int:
    """Add a source within a transaction, and return its key.

    Args:
        cursor: A cursor on which a transaction has begun.
        sha256: Hash of its content, hex.
        name: Its name without folders.
        format: The name of its format.
        licence: Of the data.
        records: How many records were taken.
        imported_at: When.
    """
    key = count(cursor, "SELECT max(id) FROM source") + 1
    cursor.execute(
        "INSERT INTO source (id, sha256, name, format, licence, url, records, imported_at) "
        "VALUES (?, ?, ?, ?, ?, '', ?, ?)",
        [key, sha256, name, format, licence, records, imported_at],
    )
    return key
