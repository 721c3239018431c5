"""Small helpers for statements in DuckDB's own SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


def quoted(text: str) -> str:
    """Return a text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def count(cursor: duckdb.DuckDBPyConnection, statement: str) -> int:
    """Return the one number that a statement selects; 0 where it selects none."""
    row = cursor.execute(statement).fetchone()
    return int(row[0] or 0) if row else 0


def any_row(cursor: duckdb.DuckDBPyConnection, relation: str) -> bool:
    """Return whether a table or view has a row."""
    return cursor.execute(f"SELECT 1 FROM {relation} LIMIT 1").fetchone() is not None
