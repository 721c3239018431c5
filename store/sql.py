"""Small helpers for statements in DuckDB's own SQL."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from pathlib import Path


def quoted(text: str) -> str:
    """Return a text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def count(cursor: duckdb.DuckDBPyConnection, statement: str) -> int:
    """Return the one number that a statement selects; 0 where it selects none."""
    row = cursor.execute(statement).fetchone()
    return int(row[0] or 0) if row else 0


def roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    """End a transaction, which a full disk has ended already, together with the use of the database."""
    with suppress(duckdb.Error):
        cursor.execute("ROLLBACK")


def any_row(cursor: duckdb.DuckDBPyConnection, relation: str) -> bool:
    """Return whether a table or view has a row."""
    return cursor.execute(f"SELECT 1 FROM {relation} LIMIT 1").fetchone() is not None


def parquet(path: Path) -> str:
    """Return the rows of one Parquet file as a relation; its path is taken as it is."""
    exact = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path.absolute()))
    return f"read_parquet({quoted(exact)}, hive_partitioning = false)"
