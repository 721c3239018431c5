"""The workspace: one DuckDB file, one owner, one write lane, and readers that never wait for it."""

from __future__ import annotations

import os
import shutil
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

import duckdb

from store.errors import WorkspaceError, WorkspaceLocked
from store.record.ids import IdClock, lowest_at
from store.sql import quoted
from store.workspace.connecting import DAMAGED_HINT, check_path, connect, connect_to_newest, is_damage
from store.workspace.journal import check_journal
from store.workspace.lane import WriteLane
from store.workspace.schema import migrations

if TYPE_CHECKING:
    import numpy
    from sqlalchemy import Connection, Engine, Select

__all__ = ["Workspace", "migrations"]

CHECKPOINT_BYTES = 16 * 1024 * 1024
"""How large the write-ahead log grows before it is worked into the file."""

PATIENCE_SECONDS = 3.0
"""Seconds to wait for a process that holds the file and answers no commands: a command, soon over."""

# After the first two DuckDB refuses everything; the last one comes when connecting again has failed.
_USELESS = (duckdb.FatalException, duckdb.InternalException, duckdb.ConnectionException)

_open_files: set[Path] = set()
_opening = threading.Lock()


def is_open_here(path: Path) -> bool:
    """Return whether this process has a workspace file open."""
    with _opening:
        return path.resolve() in _open_files


class Workspace:
    """An open workspace file. Open it with `Workspace.open` or `Workspace.create`, and close it.

    Attributes:
        path: The file.
        lane: Where every write goes.
        ids: Makes the UUIDv7s of records; above every id stored.
    """

    is_held: ClassVar[bool] = True
    """Whether this process holds the file; False where another one does, and answers."""

    def __init__(self, path: Path, master: duckdb.DuckDBPyConnection) -> None:
        self.path = path.absolute()
        self._real = path.resolve()
        self._master = master
        self._cursors: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()
        self._listing = threading.Lock()
        self._closed = False
        self._threads: int | None = None
        self.ids = IdClock(_highest_future_id(master))
        self._checkpoint_at = CHECKPOINT_BYTES
        self._file = _file_at(path)
        self.lane = WriteLane(
            self._connect, before=self._in_place, after_failure=self._mend, between=self._checkpoint
        )

    def _connect(self) -> Connection:
        return self.engine.connect()

    def _in_place(self) -> None:
        """Refuse to write into a file that was moved away: its log and its journal would not be beside it.

        Raises:
            WorkspaceError: The file that was opened is not where it was.
        """
        if _file_at(self.path) != self._file:
            raise WorkspaceError(
                "Workspace file moved",
                f"{self.path} was moved, replaced or deleted while it was open.",
                "Put the same file back, and what is unsaved is written.",
            )

    @cached_property
    def engine(self) -> Engine:
        """SQLAlchemy over cursors of the one connection; a checked-out connection is one cursor.

        Made when it is first asked for: its import takes longer than all else that a start needs.
        """
        from duckdb_sqlalchemy import ConnectionWrapper
        from sqlalchemy import create_engine, pool

        return create_engine(
            "duckdb://",
            creator=lambda: ConnectionWrapper(self.native()),
            poolclass=pool.QueuePool,
            pool_size=8,
            max_overflow=24,
        )

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
        if path.is_symlink():
            # The log and the journal stand beside the file, by whatever name it is opened.
            path = path.resolve()
        if not path.exists() and not create:
            raise WorkspaceError(
                "No workspace", f"There is no file {path}.", f"Make one: workbench import {path} FILE"
            )
        check_path(path)
        check_journal(path)
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
            return cls(path, _connected(path))
        except BaseException:
            _open_files.discard(real)
            raise

    def share_cores(self) -> None:
        """Leave half of the cores to the other work of this process: keys, models' replies, test programs.

        Short queries are quicker on few threads (the lines of a page: 20 ms instead of 30 on two cores), and
        a long one, such as an import's, no longer holds up those who type.
        """
        self._threads = max(1, _cores() // 2)
        self._limit_threads()

    def _limit_threads(self) -> None:
        if self._threads is not None:
            self._master.execute(f"SET GLOBAL threads = {self._threads}")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection for reads by one thread; it reads a snapshot of committed data.

        Raises:
            WorkspaceError: What was asked could not be read.
        """
        from sqlalchemy.exc import DBAPIError, SQLAlchemyError

        try:
            connection = self.engine.connect()
        except SQLAlchemyError as error:
            raise _not_read(error) from error
        try:
            yield connection
        except SQLAlchemyError as error:
            raise _not_read(error) from error
        finally:
            try:
                connection.close()
            except DBAPIError:
                # Closing the workspace, which waits for no reader, has closed it already.
                if not self._closed:
                    raise

    @contextmanager
    def limited_memory(self, limit: str) -> Iterator[None]:
        """Let the database hold no more memory for a while; what does not fit is put beside the file.

        Args:
            limit: A number with its unit: "1GB".
        """
        self._master.execute(f"SET GLOBAL memory_limit = {quoted(limit)}")
        try:
            yield
        finally:
            self._master.execute("RESET GLOBAL memory_limit")

    def native(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor of the DuckDB connection, for the bulk operations of imports and exports.

        The caller closes it. Interactive queries use `reading`.
        """
        cursor = self._master.cursor()
        with self._listing:
            self._cursors.add(cursor)
        return cursor

    def column(self, statement: Select[Any]) -> numpy.ndarray[Any, Any]:
        """Run a select of one column and return it as an array, without a Python object per row.

        Args:
            statement: A select of one column of 64-bit integers, n rows.

        Returns:
            An array of shape (n,).
        """
        (values,) = self.columns(statement)
        return values

    def columns(self, statement: Select[Any]) -> list[numpy.ndarray[Any, Any]]:
        """Run a select of columns of 64-bit integers and return each as an array of shape (n,)."""
        with self.reading() as connection:
            return [*connection.execute(statement).cursor.fetchnumpy().values()]

    def close(self) -> None:
        """Finish queued writes and release the file. Closing twice is harmless."""
        self.lane.close()
        self._closed = True
        self._give_back()
        self._disconnect()
        _open_files.discard(self._real)

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _give_back(self) -> None:
        """Let the engine close the connections that nobody uses at the moment."""
        if "engine" in self.__dict__:
            self.engine.dispose()

    def _disconnect(self) -> None:
        """Close every connection; as long as one is left, the file stays locked."""
        with self._listing:
            cursors = [*self._cursors, self._master]
        for cursor in cursors:
            with suppress(duckdb.Error):
                cursor.interrupt()
            with suppress(duckdb.Error):
                cursor.close()

    def _checkpoint(self) -> bool:
        """Work the write-ahead log into the file once it has grown, in the lane, between two writes.

        DuckDB would do it within a commit, so that a judgment waits for it; and when it fails there, as on
        a full disk, the database is of no use until it is opened again, though the commit is on disk.

        Returns:
            Whether the file had to be connected to again.
        """
        if (size := _log_bytes(self.path)) < self._checkpoint_at:
            return False
        # What cannot be worked in now stays in the log, which loses nothing and only grows.
        self._checkpoint_at = size + CHECKPOINT_BYTES
        if shutil.disk_usage(self.path.parent).free < 2 * size + CHECKPOINT_BYTES:
            return False
        try:
            with self.native() as cursor:
                cursor.execute("CHECKPOINT")
            self._checkpoint_at = CHECKPOINT_BYTES
        except duckdb.TransactionException:
            # An import is being written, or a reader holds rows that were changed since.
            self._checkpoint_at = size + CHECKPOINT_BYTES // 16
        except duckdb.Error as error:
            return self._mend(error)
        return False

    def _mend(self, error: BaseException) -> bool:
        """Connect again after an error that has made the database useless; commits are on disk."""
        if not isinstance(_cause(error), _USELESS):
            return False
        self._give_back()
        self._disconnect()
        for _ in range(3):
            try:
                self._master = connect(self.path)
                self._limit_threads()
                break
            except WorkspaceError:  # every later write fails likewise, and tries again
                time.sleep(0.1)
        return True


def _connected(path: Path) -> duckdb.DuckDBPyConnection:
    """Connect to a file, once the command that holds it has ended.

    Raises:
        WorkspaceLocked: Another process holds it still, or answers commands, as the app does for hours.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return connect_to_newest(path)
        except WorkspaceLocked:
            from store.workspace.wire import is_answered

            if time.monotonic() > end or is_answered(path):
                raise
            time.sleep(0.05)


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cause(error: BaseException) -> BaseException:
    """Return the error of DuckDB that SQLAlchemy wrapped."""
    return getattr(error, "orig", None) or error


def _not_read(error: BaseException) -> WorkspaceError:
    cause = _cause(error)
    again = "Nothing was changed; try again, and see `workbench doctor` if it stays so."
    hint = DAMAGED_HINT if is_damage(cause) else again
    return WorkspaceError("Not read", f"The workspace could not be read: {cause}.", hint)


def _highest_future_id(master: duckdb.DuckDBPyConnection) -> uuid.UUID | None:
    """Return the highest stored UUIDv7 that the clock has not reached yet; None when there is none.

    Lower ids need no floor. The highest of all would take a scan of every table, where this takes a look
    at their statistics.
    """
    reached = lowest_at(time.time_ns() // 1_000_000)
    tables = ("judgment", "mark", "step", "execution", "verdict")
    later = " UNION ALL ".join(f"SELECT id FROM {table} WHERE id >= $reached" for table in tables)
    # All rows of the one, or the result stays open, and with it a transaction that no checkpoint gets past.
    rows = master.execute(
        f"SELECT max(id) FROM ({later}) WHERE substr(id::VARCHAR, 15, 1) = '7'", {"reached": reached}
    ).fetchall()
    highest: uuid.UUID | None = rows[0][0]
    return highest


def _file_at(path: Path) -> tuple[int, int] | None:
    """Return the device and number of a file, None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _log_bytes(path: Path) -> int:
    try:
        return path.with_name(path.name + ".wal").stat().st_size
    except OSError:
        return 0
