"""The schema of a workspace file: which version it has, and how it is brought to the newest one."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable
from contextlib import suppress
from importlib import resources
from pathlib import Path

import duckdb

from store.errors import WorkspaceError, WorkspaceTooNew
from store.record.ids import now

# Both are in every workspace since its first version; other programs, too, have a table schema_version.
_MARKS = {"schema_version", "workspace_fact"}


def migrations() -> list[tuple[int, str, str]]:
    """Return the numbered migrations as (version, name, SQL), in order."""
    folder = resources.files("store.workspace") / "migrations"
    files = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name[:4]), name, (folder / name).read_text(encoding="utf-8")) for name in files]


def tables_of(cursor: duckdb.DuckDBPyConnection) -> dict[str, dict[str, str]]:
    """Return every table of a workspace, those of other packages too, with the type of each column."""
    found = cursor.execute(
        "SELECT table_name, column_name, data_type FROM duckdb_columns() "
        "JOIN duckdb_tables() USING (database_name, schema_name, table_name) "
        "WHERE database_name = current_database() ORDER BY table_name, column_index"
    )
    tables: dict[str, dict[str, str]] = {}
    for table, column, type_ in found.fetchall():
        tables.setdefault(table, {})[column] = type_
    return tables


def version_of(master: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Return the schema version of a file, 0 for an empty one.

    Raises:
        WorkspaceError: It is a database of another program.
        WorkspaceTooNew: A newer version of this program wrote it.
    """
    found = master.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_catalog = current_database()"
    )
    tables = {row[0] for row in found.fetchall()}
    if not tables:
        return 0
    refuse_other_program(tables, path)
    row = master.execute("SELECT max(version) FROM schema_version").fetchone()
    version = int(row[0]) if row and row[0] is not None else 0
    refuse_newer(version, path)
    return version


def refuse_other_program(tables: Iterable[str], path: Path) -> None:
    """Refuse a file of other tables than a workspace has in every version.

    Raises:
        WorkspaceError: It lacks one of those.
    """
    if not set(tables) >= _MARKS:
        raise WorkspaceError(
            "Not a workspace",
            f"{path} is a DuckDB file of another program (tables: {', '.join(sorted(tables)[:5])}).",
            "Choose another file; this one was not changed.",
        )


def refuse_newer(version: int, path: Path) -> None:
    """Refuse a file of a schema version that is not known yet.

    Raises:
        WorkspaceTooNew: It is of one.
    """
    newest = migrations()[-1][0]
    if version > newest:
        raise WorkspaceTooNew(
            "Workspace of a newer version",
            f"{path} has schema {version}; this program knows up to {newest}. Nothing was changed.",
            "Upgrade workbench, or open a copy made before the upgrade.",
        )


def migrate(master: duckdb.DuckDBPyConnection, path: Path, version: int, newest: int | None = None) -> None:
    """Bring a file to the newest schema, all steps or none.

    Args:
        master: A connection to it.
        path: Its name, for what is said of it.
        version: The version that it has; 0 makes a new workspace of it.
        newest: The version that it gets, if it is not the newest.

    Raises:
        WorkspaceError: A step failed; nothing was changed.
    """
    try:
        master.execute("BEGIN")
        try:
            if version == 0:
                master.execute(
                    "CREATE TABLE schema_version (version BIGINT PRIMARY KEY, name VARCHAR NOT NULL, "
                    "applied_at TIMESTAMPTZ NOT NULL)"
                )
            for number, name, sql in migrations():
                if version < number <= (newest or number):
                    master.execute(sql)
                    master.execute("INSERT INTO schema_version VALUES (?, ?, ?)", [number, name, now()])
            if version == 0:
                master.execute("INSERT INTO workspace_fact VALUES ('id', ?)", [str(uuid.uuid4())])
            master.execute("COMMIT")
        except BaseException:
            # A full disk has ended the transaction already, and is what is to be said.
            with suppress(duckdb.Error):
                master.execute("ROLLBACK")
            raise
    except duckdb.Error as error:
        raise WorkspaceError(
            "Cannot prepare workspace",
            f"{path} could not be brought from schema {version} to {newest or migrations()[-1][0]}: {error}",
            "Nothing was changed. Free space on the disk if it is full; otherwise please report this.",
        ) from error


def keep_copy(path: Path, version: int) -> Path:
    """Copy a closed workspace file before it is migrated, beside it, over no earlier copy.

    Nobody has the file open. The copy is named after its version.

    Returns:
        The copy.

    Raises:
        WorkspaceError: It could not be copied.
    """
    copy = path.with_name(f"{path.name}.schema-{version}.bak")
    number = 1
    while copy.exists():
        number += 1
        copy = path.with_name(f"{path.name}.schema-{version}-{number}.bak")
    unfinished = copy.with_name(copy.name + ".part")
    try:
        shutil.copyfile(path, unfinished)
        shutil.copystat(path, unfinished)
        unfinished.rename(copy)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise WorkspaceError(
            "Cannot copy workspace",
            f"{path} is of an older version and is copied before it is changed, but {copy} could not be "
            f"written: {error.strerror or error}.",
            "Make room beside it, then open it again. Nothing was changed.",
        ) from error
    return copy
