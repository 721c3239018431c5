"""What every import does at its end: a source for each file, and all rows in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

import duckdb

from store.errors import ImportFailed
from store.sql import count, transaction


@contextmanager
def publishing(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Append the rows of an import, all or none.

    Raises:
        ImportFailed: The workspace could not be written.
    """
    try:
        with transaction(cursor):
            yield
    except (duckdb.Error, OSError) as error:
        raise ImportFailed(
            "Import failed",
            f"The workspace could not be written: {error}. Nothing was imported.",
            "Check the space on the disk, then import again.",
        ) from error


def add_source(
    cursor: duckdb.DuckDBPyConnection,
    *,
    sha256: str,
    name: str,
    format: str,
    licence: str,
    records: int,
    imported_at: datetime,
    rejected: int = 0,
) -> int:
    """Add a source within a transaction, and return its key.

    A transaction has begun on the cursor. The hash is in hex, the name without folders.
    """
    key = count(cursor, "SELECT max(id) FROM source") + 1
    cursor.execute(
        "INSERT INTO source (id, sha256, name, format, licence, url, records, imported_at, rejected, "
        "reading) VALUES (?, ?, ?, ?, ?, '', ?, ?, ?, '')",
        [key, sha256, name, format, licence, records, imported_at, rejected],
    )
    return key
