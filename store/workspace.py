"""The workspace: one DuckDB file, one owner, one write lane, and readers that never wait for it."""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
from duckdb_sqlalchemy import ConnectionWrapper
from sqlalchemy import Connection, Engine, Select, create_engine, pool

from store.errors import WorkspaceError, WorkspaceLocked, WorkspaceTooNew
from store.ids import IdClock, now
from store.lane import WriteLane

if TYPE_CHECKING:
    import numpy

_LOCK_HOLDER = re.compile(r"Conflicting lock is held in (?P<program>.*?) ?\(PID (?P<pid>\d+)\)")


def migrations() -> list[tuple[int, str, str]]:
    """Return the numbered migrations as (version, name, SQL), in order."""
    folder = resources.files("store") / "migrations"
    files = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name[:4]), name, (folder / name).read_text(encoding="utf-8")) for name in files]


class Workspace:
    """An open workspace file. Open it with `Workspace.open` or `Workspace.create`, and close it.

    Attributes:
        path: The file.
        lane: Where every write goes.
        ids: Makes the UUIDv7s of records; above every id stored.
        engine: SQLAlchemy over cursors of the one connection; a checked-out connection is one cursor.
    """

    def __init__(self, path: Path, master: duckdb.DuckDBPyConnection) -> None:
        self.path = path
        self._master = master
        self.engine: Engine = create_engine(
            "duckdb://",
            creator=lambda: ConnectionWrapper(master.cursor()),
            poolclass=pool.QueuePool,
            pool_size=8,
            max_overflow=24,
        )
        self.ids = IdClock()
        for table in ("judgment", "mark", "step", "execution", "verdict"):
            highest = master.execute(f"SELECT max(id) FROM {table}").fetchone()
            if highest and highest[0]:
                self.ids.raise_floor(highest[0])
        self.lane = WriteLane(self.engine)
        self._closed = False

    @classmethod
    def create(cls, path: Path | str) -> Workspace:
        """Make a new workspace file and open it.

        Raises:
            WorkspaceError: Something is there already, or the file cannot be written.
        """
        path = Path(path)
        if path.exists():
            raise WorkspaceError(
                "Workspace exists", f"{path} is already there.", "Open it, or choose another name."
            )
        return cls.open(path, create=True)

    @classmethod
    def open(cls, path: Path | str, *, create: bool = False) -> Workspace:
        """Open a workspace file, migrating an older one after a copy of it is made.

        Args:
            path: The file.
            create: Whether a missing file is made.

        Raises:
            WorkspaceError: There is no such file, or it is not a workspace.
            WorkspaceLocked: Another process holds it.
            WorkspaceTooNew: A newer version of the program wrote it.
        """
        path = Path(path)
        if not path.exists() and not create:
            raise WorkspaceError(
                "No workspace", f"There is no file {path}.", f"Make one: workbench import {path} FILE"
            )
        if not path.parent.is_dir():
            raise WorkspaceError(
                "No such folder", f"{path.parent} is not a folder.", "Make it first, or choose another place."
            )
        fresh = not path.exists()
        master = _connect(path)
        try:
            version = _version(master, path, fresh=fresh)
            newest = migrations()[-1][0]
            if version > newest:
                raise WorkspaceTooNew(
                    "Workspace of a newer version",
                    f"{path} has schema {version}; this program knows up to {newest}. Nothing was changed.",
                    "Upgrade workbench, or open a copy made before the upgrade.",
                )
            if 0 < version < newest:
                master.close()
                shutil.copy2(path, path.with_name(f"{path.name}.schema-{version}.bak"))
                master = _connect(path)
            if version < newest:
                _migrate(master, version)
            return cls(path, master)
        except BaseException:
            master.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection for reads by one thread; what it reads is a snapshot of committed data."""
        with self.engine.connect() as connection:
            yield connection

    def native(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor of the DuckDB connection, for the bulk operations of imports and exports.

        The caller closes it. Interactive queries use `reading`.
        """
        return self._master.cursor()

    def column(self, statement: Select[Any]) -> numpy.ndarray[Any, Any]:
        """Run a select of one column and return it as an array, without a Python object per row.

        Args:
            statement: A select of one column of 64-bit integers, n rows.

        Returns:
            An array of shape (n,).
        """
        with self.reading() as connection:
            columns = connection.execute(statement).cursor.fetchnumpy()
        (values,) = columns.values()
        array: numpy.ndarray[Any, Any] = values
        return array

    @property
    def identity(self) -> uuid.UUID:
        """The workspace's own id, given when it was made."""
        row = self._master.cursor().execute("SELECT value FROM workspace_fact WHERE name = 'id'").fetchone()
        if row is None:
            raise WorkspaceError("Damaged workspace", f"{self.path} has lost its id.", "Restore a copy.")
        return uuid.UUID(row[0])

    def close(self) -> None:
        """Write what is queued, release the file. Closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        self.lane.close()
        self.engine.dispose()
        self._master.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _connect(path: Path) -> duckdb.DuckDBPyConnection:
    try:
        connection = duckdb.connect(str(path))
    except duckdb.IOException as error:
        holder = _LOCK_HOLDER.search(str(error))
        if holder:
            raise WorkspaceLocked(
                "Workspace in use",
                f"{path} is held by process {holder['pid']} ({holder['program'] or 'unknown program'}); "
                "one process at a time can open a workspace.",
                "Close the other workbench (or wait for its command to end), then try again.",
            ) from error
        raise WorkspaceError(
            "Cannot open workspace", f"{path}: {error}", "Check that it is a workspace file you may write."
        ) from error
    except duckdb.Error as error:
        raise WorkspaceError(
            "Cannot open workspace",
            f"{path} could not be read: {error}",
            "If the file is damaged, restore a copy, then replay the journal: workbench recover",
        ) from error
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


def _version(master: duckdb.DuckDBPyConnection, path: Path, *, fresh: bool) -> int:
    """Return the schema version of a file, 0 for an empty one."""
    tables = {row[0] for row in master.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if "schema_version" in tables:
        row = master.execute("SELECT max(version) FROM schema_version").fetchone()
        return int(row[0]) if row and row[0] is not None else 0
    if tables and not fresh:
        raise WorkspaceError(
            "Not a workspace",
            f"{path} is a DuckDB file of another program (tables: {', '.join(sorted(tables)[:5])}).",
            "Choose another file; this one was not changed.",
        )
    return 0


def _migrate(master: duckdb.DuckDBPyConnection, version: int) -> None:
    """Bring the file to the newest schema, all steps or none."""
    master.execute("BEGIN")
    try:
        if version == 0:
            master.execute(
                "CREATE TABLE schema_version (version BIGINT PRIMARY KEY, name VARCHAR NOT NULL, "
                "applied_at TIMESTAMPTZ NOT NULL)"
            )
        for number, name, sql in migrations():
            if number > version:
                master.execute(sql)
                master.execute("INSERT INTO schema_version VALUES (?, ?, ?)", [number, name, now()])
        if version == 0:
            master.execute("INSERT INTO workspace_fact VALUES ('id', ?)", [str(uuid.uuid4())])
        master.execute("COMMIT")
    except BaseException:
        master.execute("ROLLBACK")
        raise
