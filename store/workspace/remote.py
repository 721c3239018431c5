"""A workspace that another process holds, as far as reading goes: that process runs the statements."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self, cast
from weakref import WeakSet

import duckdb

from store.errors import WorkspaceError, WorkspaceLocked
from store.sql import named
from store.workspace.duckdb import Workspace
from store.workspace.schema import migrations
from store.workspace.wire import (
    PROTOCOL,
    ROWS,
    Closed,
    Greeting,
    Parameters,
    address,
    is_own,
    read_json,
    receive,
    send_json,
    send_rows,
    socket_path,
)

_FETCHES = frozenset(
    {"description", "rowcount", "fetchone", "fetchmany", "fetchall", "fetchnumpy"}
    | {"to_arrow_reader", "to_arrow_table"}
)
"""The methods and attributes of a cursor that give out its rows."""
_ERRORS: dict[str, type[duckdb.Error]] = {
    name: found
    for name, found in vars(duckdb).items()
    if isinstance(found, type) and issubclass(found, duckdb.Error)
}
_GREETING_SECONDS = 10.0


class RemoteWorkspace(Workspace):
    """A workspace that another process holds. Whatever would write raises the error of opening it.

    Args:
        path: The file.
        locked: The error of opening it.

    Attributes:
        greeting: Whose session it is.

    Raises:
        WorkspaceLocked: No process of the same user answers beside the file.
        WorkspaceError: One does, but is of another version, or answers as many as it can.
    """

    is_held: ClassVar[bool] = False

    def __init__(self, path: Path, locked: WorkspaceLocked) -> None:
        # Nothing of a file is made: no lane, and no connection to DuckDB.
        self.path = (path.resolve() if path.is_symlink() else path).absolute()
        self._locked = locked
        self._closed = False
        self._cursors = WeakSet()
        self._listing = threading.Lock()
        try:
            connection = RemoteConnection(self.path)
        except (OSError, Closed) as error:
            raise locked from error
        connection.close()
        self.greeting = connection.greeting
        if (self.greeting.protocol, self.greeting.schema) != (PROTOCOL, migrations()[-1][0]):
            raise WorkspaceError(
                "Another version",
                f"{path} is open in a workbench of another version (process {self.greeting.process}).",
                "Use the command of that version, or close the workspace there.",
            )

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse what a workspace has that can write.

        Raises:
            WorkspaceLocked: It is the lane, or makes ids of records.
            AttributeError: There is nothing of that name.
        """
        if name in ("lane", "ids"):
            raise self._locked
        raise AttributeError(name)

    def native(self) -> duckdb.DuckDBPyConnection:
        """Return a connection to the process that holds the workspace, in the place of a cursor."""
        try:
            made = RemoteConnection(self.path)
        except (OSError, Closed) as error:
            raise _lost(self.path) from error
        found = cast("duckdb.DuckDBPyConnection", made)
        with self._listing:
            self._cursors.add(found)
        return found

    def share_cores(self) -> None:
        """Do nothing: the process that holds the workspace shares them."""

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        self._give_back()
        for connection in [*self._cursors]:
            connection.close()


class RemoteConnection:
    """Stands in for a cursor of DuckDB: another process runs the statements.

    Their rows are put into a database in memory, which gives them out: of the same types as beside the file.

    Args:
        workspace: The file that the other process holds.

    Attributes:
        greeting: What the process has said at first.

    Raises:
        OSError: There is no socket beside the file, or nobody answers there.
        Closed: What answers is another user's, or says nothing that is a greeting.
        WorkspaceError: It answers as many as it can.
    """

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with address(socket_path(workspace)) as place:
                self._socket.connect(place)
            if not is_own(self._socket):
                raise Closed
            _, body = receive(self._socket, idle=_GREETING_SECONDS, seconds=_GREETING_SECONDS)
            said = read_json(body)
            # Another version may say more.
            known = {one.name: said[one.name] for one in fields(Greeting) if one.name in said}
            self.greeting = Greeting(**known)
        except (ValueError, TypeError) as error:
            self._socket.close()
            raise Closed from error
        except BaseException:
            self._socket.close()
            raise
        self._rows = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False, "threads": 1})
        self._rows.execute("SET GLOBAL TimeZone = 'UTC'")
        if self.greeting.busy:
            self.close()
            raise WorkspaceError(
                "Busy",
                f"Process {self.greeting.process} holds {workspace}, and answers as many commands as it can.",
                "Try again when another command has ended.",
            )

    def execute(self, statement: str, parameters: Parameters = None) -> Self:
        """Have a statement run; its rows are fetched as from a cursor.

        Raises:
            duckdb.Error: It failed, or is none that reads.
            WorkspaceError: The other process has ended.
        """
        self._ask((statement, parameters))
        return self

    def register(self, name: str, rows: Any) -> None:
        """Have rows, an Arrow table, under a name in the statements of this transaction."""
        self._ask(name, rows)

    def unregister(self, name: str) -> None:
        """Do nothing: the name is gone with the transaction."""

    def _ask(self, request: object, rows_of_it: Any = None) -> None:
        rows: list[bytearray] = []
        try:
            send_json(self._socket, request)
            if rows_of_it is not None:
                send_rows(self._socket, rows_of_it)
            kind, body = receive(self._socket)
            while kind == ROWS:
                rows.append(body)
                kind, body = receive(self._socket)
        except BaseException as error:
            # What comes would be taken for the answer to another statement.
            self._socket.close()
            if isinstance(error, Closed):
                raise _lost(self._workspace) from error
            raise
        answer = read_json(body)
        if "error" in answer:
            raise _ERRORS.get(answer["error"], duckdb.Error)(answer["message"])
        self._take(rows, answer["columns"])

    def _take(self, rows: list[bytearray], columns: list[str]) -> None:
        """Have rows fetched from here on, whose columns may share a name."""
        import pyarrow

        table = pyarrow.concat_tables(
            pyarrow.ipc.open_stream(pyarrow.py_buffer(one)).read_all() for one in rows
        )
        places = [f"c{place}" for place in range(len(columns))]
        self._rows.register("answer", table.rename_columns(places).to_reader())
        named_columns = (f"{place} AS {named(name)}" for place, name in zip(places, columns, strict=True))
        self._rows.execute(f"SELECT {', '.join(named_columns)} FROM answer")

    def __getattr__(self, name: str) -> Any:
        """Return what fetches the rows of the last statement."""
        if name in _FETCHES:
            return getattr(self._rows, name)
        raise AttributeError(name)

    def begin(self) -> None:
        """Do nothing: the first statement begins a transaction that reads."""

    def rollback(self) -> None:
        """End the transaction, so that the next statement reads what is there by then."""
        with suppress(Closed):
            send_json(self._socket, None)

    commit = rollback

    def close(self) -> None:
        """Close the connection; a statement that runs is interrupted."""
        self._socket.close()
        self._rows.close()


def _lost(workspace: Path) -> WorkspaceError:
    return WorkspaceError(
        "Connection lost", f"The process that held {workspace} has ended.", "Run the command again."
    )
