"""Small helpers for statements in DuckDB's own SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

import duckdb

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

CLOSED: dict[str, Any] = {
    "enable_external_access": False,
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "temp_directory": "",
    "threads": 2,
}
"""The settings of a DuckDB instance that reads statements or files of others; a memory limit is added."""


def native(connection: Connection) -> duckdb.DuckDBPyConnection:
    """Return the DuckDB connection behind one of SQLAlchemy, for statements in DuckDB's own SQL.

    They read the same snapshot, and the temporary tables that they make are gone with its transaction, which
    is never committed.
    """
    # DuckDB's own statements would not begin one.
    connection.exec_driver_sql("SELECT 1")
    return cast("duckdb.DuckDBPyConnection", connection.connection.driver_connection)


def quoted(text: str) -> str:
    """Return a text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def named(name: str) -> str:
    """Return the name of a table or column as statements have it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


def listed(columns: Mapping[str, str]) -> str:
    """Return the columns of a SELECT, each under its name, from their SQL by name."""
    return ", ".join(f"{sql} AS {name}" for name, sql in columns.items())


def count(cursor: duckdb.DuckDBPyConnection, statement: str) -> int:
    """Return the one number that a statement selects; 0 where it selects none."""
    row = cursor.execute(statement).fetchone()
    return int(row[0] or 0) if row else 0


@contextmanager
def transaction(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit what is done inside, or roll all of it back."""
    cursor.execute("BEGIN")
    try:
        yield
        cursor.execute("COMMIT")
    except BaseException:
        # A full disk has ended the transaction already, together with the use of the database.
        with suppress(duckdb.Error):
            cursor.execute("ROLLBACK")
        raise


def any_row(cursor: duckdb.DuckDBPyConnection, relation: str) -> bool:
    """Return whether a table or view has a row."""
    return cursor.execute(f"SELECT 1 FROM {relation} LIMIT 1").fetchone() is not None


def parquet(path: Path) -> str:
    """Return the rows of one Parquet file as a relation; its path is taken as it is."""
    exact = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path.absolute()))
    return f"read_parquet({quoted(exact)}, hive_partitioning = false)"
