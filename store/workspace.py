"""The workspace: one DuckDB file, one owner, one write lane, and readers that never wait for it."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import duckdb
from duckdb_sqlalchemy import ConnectionWrapper
from sqlalchemy import Connection, Engine, Select, create_engine, pool
from sqlalchemy.exc import DBAPIError

from store.errors import WorkspaceError, WorkspaceLocked
from store.ids import IdClock, lowest_at
from store.lane import WriteLane
from store.schema import keep_copy, migrate, version_of
from store.schema import migrations as migrations

if TYPE_CHECKING:
    import numpy

_LOCK_HOLDER = re.compile(r"Conflicting lock is held in (?P<program>.*?) ?\(PID (?P<pid>\d+)\)")

CHECKPOINT_BYTES = 16 * 1024 * 1024
"""How large the write-ahead log grows before it is worked into the file."""

# After the first two DuckDB refuses everything; the last one comes when connecting anew has failed.
_USELESS = (duckdb.FatalException, duckdb.InternalException, duckdb.ConnectionException)

_open_files: set[Path] = set()
_opening = threading.Lock()


class Workspace:
    """An open workspace file. Open it with `Workspace.open` or `Workspace.create`, and close it.

    Attributes:
        path: The file.
        lane: Where every write goes.
        ids: Makes the UUIDv7s of records; above every id stored.
        engine: SQLAlchemy over cursors of the one connection; a checked-out connection is one cursor.
    """

    def __init__(self, path: Path, master: duckdb.DuckDBPyConnection) -> None:
        self.path = path.absolute()
        self._real = path.resolve()
        self._master = master
        self._cursors: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()
        self.engine: Engine = create_engine(
            "duckdb://",
            creator=lambda: ConnectionWrapper(self.native()),
            poolclass=pool.QueuePool,
            pool_size=8,
            max_overflow=24,
        )
        self.ids = IdClock(_highest_future_id(master))
        self._checkpoint_at = CHECKPOINT_BYTES
        self.lane = WriteLane(self.engine, after_failure=self._mend, between=self._checkpoint)

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
            WorkspaceError: There is no such file, it is not a workspace, or it cannot be read and written.
            WorkspaceLocked: Another process holds it, or this one already does.
            WorkspaceTooNew: A newer version of the program wrote it.
        """
        path = Path(path)
        if not path.exists() and not create:
            raise WorkspaceError(
                "No workspace", f"There is no file {path}.", f"Make one: workbench import {path} FILE"
            )
        _check_place(path)
        real = path.resolve()
        with _opening:
            if real in _open_files:
                raise WorkspaceLocked(
                    "Workspace in use",
                    f"{path} is held by this process ({os.getpid()}); it can be opened once at a time.",
                    "Close it first.",
                )
            _open_files.add(real)
        try:
            return cls(path, _open(path))
        except BaseException:
            _open_files.discard(real)
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
        cursor = self._master.cursor()
        self._cursors.add(cursor)
        return cursor

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
        self.lane.close()
        self.engine.dispose()
        self._disconnect()
        _open_files.discard(self._real)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _disconnect(self) -> None:
        """Close every connection; as long as one is left, the file stays locked."""
        for cursor in [*self._cursors, self._master]:
            with suppress(duckdb.Error):
                cursor.interrupt()
            with suppress(duckdb.Error):
                cursor.close()

    def _checkpoint(self) -> None:
        """Work the write-ahead log into the file once it has grown, in the lane, between two writes.

        DuckDB would do it within a commit, so that a judgment waits for it; and when it fails there, as on
        a full disk, the database is of no use until it is opened again, though the commit stands.
        """
        if (size := _log_bytes(self.path)) < self._checkpoint_at:
            return
        # What cannot be worked in now stays in the log, which loses nothing and only grows.
        self._checkpoint_at = size + CHECKPOINT_BYTES
        if shutil.disk_usage(self.path.parent).free < 2 * size + CHECKPOINT_BYTES:
            return
        cursor = self.native()
        try:
            cursor.execute("CHECKPOINT")
            self._checkpoint_at = CHECKPOINT_BYTES
        except duckdb.TransactionException:
            # An import is being written, or somebody reads what was changed since.
            self._checkpoint_at = size + CHECKPOINT_BYTES // 16
        except duckdb.Error as error:
            self._mend(error)
        finally:
            cursor.close()

    def _mend(self, error: BaseException) -> None:
        """Connect anew after an error that has made the database useless; what was committed is on disk."""
        cause = error.orig if isinstance(error, DBAPIError) else error
        if not isinstance(cause, _USELESS):
            return
        self.engine.dispose()
        self._disconnect()
        for _ in range(3):
            try:
                self._master = _connect(self.path)
                return
            except WorkspaceError:  # every later write says so, and tries again
                time.sleep(0.1)


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise WorkspaceError("Not a file", f"{path} is a folder.", "Name the workspace file in it.")
    if not path.parent.is_dir():
        raise WorkspaceError(
            "No such folder", f"{path.parent} is not a folder.", "Make it first, or choose another place."
        )
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.R_OK | os.W_OK)):
        raise WorkspaceError(
            "Cannot write here",
            f"{path} and the folder it is in must be readable and writable: its journal stands beside it.",
            "Change the permissions, or copy it to a place of your own.",
        )


def _open(path: Path) -> duckdb.DuckDBPyConnection:
    """Connect to a file that has the newest schema, or is given it."""
    master = _connect(path)
    try:
        version = version_of(master, path)
        newest = migrations()[-1][0]
        if 0 < version < newest:
            master.execute("CHECKPOINT")
            master.close()
            keep_copy(path, version)
            master = _connect(path)
        if version < newest:
            migrate(master, path, version)
    except duckdb.Error as error:
        master.close()
        raise _unreadable(path, error) from error
    except BaseException:
        master.close()
        raise
    return master


def _connect(path: Path) -> duckdb.DuckDBPyConnection:
    try:
        # Made absolute, since DuckDB has a meaning of its own for names such as ":memory:" and "md:x".
        connection = duckdb.connect(str(path.absolute()))
        # See Workspace._checkpoint.
        connection.execute("SET GLOBAL checkpoint_threshold = '1TB'")
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
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
        raise _unreadable(path, error) from error
    return connection


def _unreadable(path: Path, error: duckdb.Error) -> WorkspaceError:
    return WorkspaceError(
        "Cannot open workspace",
        f"{path} could not be read: {error}",
        "If the file is damaged, restore a copy, then replay the journal: workbench recover",
    )


def _highest_future_id(master: duckdb.DuckDBPyConnection) -> uuid.UUID | None:
    """Return the highest stored UUIDv7 that the clock has not reached yet; None when there is none.

    Lower ids need no floor. The highest of all would take a scan of every table, where this takes a look
    at their statistics.
    """
    reached = lowest_at(time.time_ns() // 1_000_000)
    tables = ("judgment", "mark", "step", "execution", "verdict")
    later = " UNION ALL ".join(f"SELECT id FROM {table} WHERE id >= $reached" for table in tables)
    row = master.execute(
        f"SELECT max(id) FROM ({later}) WHERE substr(id::VARCHAR, 15, 1) = '7'", {"reached": reached}
    ).fetchone()
    return row[0] if row else None


def _log_bytes(path: Path) -> int:
    try:
        return path.with_name(path.name + ".wal").stat().st_size
    except OSError:
        return 0
