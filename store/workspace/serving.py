"""Answers the commands of other processes that only read, for the process that holds the workspace.

Each connection is a thread with a cursor of its own, in a read-only transaction that lasts until the command
ends it. Rows leave as Arrow, since rows made in Python would keep the interpreter from keys. One more thread
accepts connections, and interrupts the statement of a command that has gone away.
"""

from __future__ import annotations

import logging
import os
import re
import select
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from store.sql import named
from store.workspace.schema import migrations
from store.workspace.wire import (
    Closed,
    Greeting,
    address,
    is_own,
    read_json,
    receive,
    send_json,
    send_rows,
    socket_path,
)

if TYPE_CHECKING:
    from store.workspace.duckdb import Workspace

MOST_CONNECTIONS = 8
"""Connections at once; a command has one or two."""
MOST_BYTES = 64 << 20
"""The size of a message of a command."""
IDLE_SECONDS = 600.0
"""The longest pause between two statements of a command. A checkpoint waits until it is over."""
STALL_SECONDS = 30.0
"""The longest time for sending or receiving one message."""

_REFUSED_SECONDS = 0.05
_INTERRUPTS = 40
"""The number of interrupts, 0.05 s apart, for the statement of a connection that has ended."""
_BATCH_ROWS = 8_192
_TEMPORARY = re.compile(r"\s*CREATE\s+(OR\s+REPLACE\s+)?TEMP(ORARY)?\s+(TABLE|VIEW)\b", re.I)

_NONSENSE = (ValueError, TypeError, AttributeError, ArithmeticError, RuntimeError, OSError)
"""The errors that malformed requests raise in JSON, Arrow and DuckDB."""

_log = logging.getLogger(__name__)


@contextmanager
def serving(workspace: Workspace, rater: str | None = None, *, blind: bool = False) -> Iterator[None]:
    """Answer commands that only read, in threads; without a socket where none can be made.

    Args:
        workspace: The open workspace, which is closed after this.
        rater: Whose session a command beside this process is; None for nobody's.
        blind: Whether that session is blind.
    """
    try:
        listener = _listen(socket_path(workspace.path))
    except OSError as error:
        _log.info("no commands beside this process: %s", error)
        yield
        return
    greeting = Greeting(migrations()[-1][0], os.getpid(), rater, blind)
    server = _Server(listener, workspace.native, greeting)
    try:
        yield
    finally:
        server.stop()
        # Before the file is given back, so that this is no other process's.
        socket_path(workspace.path).unlink(missing_ok=True)


def _listen(path: Path) -> socket.socket:
    """Return a socket at a path, in place of one that a killed process has left there.

    Raises:
        OSError: Something else is there, or no socket can be made there.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(f"{path} is no socket")
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if sys.platform == "linux":
            # The file gets the mode of the socket.
            os.fchmod(listener.fileno(), 0o600)
        with address(path) as place:
            listener.bind(place)
        path.chmod(0o600)
        listener.listen(MOST_CONNECTIONS)
    except BaseException:
        listener.close()
        raise
    return listener


class _Server:
    """Accepts connections, until it is stopped.

    Args:
        listener: The socket.
        connect: Makes a cursor.
        greeting: What each connection is told first.
    """

    def __init__(
        self,
        listener: socket.socket,
        connect: Callable[[], duckdb.DuckDBPyConnection],
        greeting: Greeting,
    ) -> None:
        self._listener, self._connect, self._greeting = listener, connect, greeting
        self._connections: dict[int, _Connection] = {}
        # Written to when the server is to stop.
        self._wakes, self._wake = socket.socketpair()
        # A daemon, as those of connections: the end of the program waits for no command.
        self._thread = threading.Thread(target=self._run, name="serving", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End all connections, in the middle of their statements."""
        self._wake.send(b"x")
        self._thread.join()

    def _run(self) -> None:
        poll = select.poll()
        self._listener.setblocking(False)
        for waited_for in (self._listener, self._wakes):
            poll.register(waited_for, select.POLLIN)
        ready: list[int] = []
        while self._wakes.fileno() not in ready:
            ready = [number for number, _ in poll.poll()]
            # Of a connection nothing is waited for but its end, which makes room for others.
            for number in self._connections.keys() & ready:
                poll.unregister(number)
                self._connections.pop(number).end()
            if self._listener.fileno() in ready:
                self._accept(poll)
        for connection in self._connections.values():
            connection.end()
        for each in (self._listener, self._wakes, self._wake):
            each.close()

    def _accept(self, poll: select.poll) -> None:
        try:
            peer, _ = self._listener.accept()
        except OSError:
            # It has gone away already, or no file can be opened for it, and it is reported again at once.
            time.sleep(_REFUSED_SECONDS)
            return
        if not is_own(peer):
            peer.close()
        elif len(self._connections) >= MOST_CONNECTIONS:
            with peer, suppress(Closed):
                send_json(peer, asdict(self._greeting) | {"busy": True}, seconds=0.0)
        else:
            try:
                self._connections[peer.fileno()] = _Connection(peer, self._connect(), self._greeting)
                poll.register(peer, 0)
            except (duckdb.Error, RuntimeError):  # the workspace is being closed, or no thread can be had
                peer.close()


class _Connection:
    """A connection, whose thread answers.

    Args:
        peer: The command.
        cursor: What its statements are run by.
        greeting: What it is told first.
    """

    def __init__(self, peer: socket.socket, cursor: duckdb.DuckDBPyConnection, greeting: Greeting) -> None:
        self._peer, self._cursor, self._greeting = peer, cursor, greeting
        self._thread = threading.Thread(target=self._answer_all, name="serving a command", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Interrupt the statement that runs, and close the connection and the cursor."""
        with suppress(OSError):
            self._peer.shutdown(socket.SHUT_RDWR)
        for _ in range(_INTERRUPTS):
            # Again, since the first one may come before the statement has begun.
            with suppress(duckdb.Error):
                self._cursor.interrupt()
            self._thread.join(0.05)
            if not self._thread.is_alive():
                break
        else:
            # A statement can be deaf to that for long; the others are answered meanwhile.
            return
        with suppress(duckdb.Error):
            self._cursor.close()
        self._peer.close()

    def _answer_all(self) -> None:
        """Answer until the command ends the connection, stalls, or says what is no request."""
        try:
            send_json(self._peer, asdict(self._greeting), seconds=STALL_SECONDS)
            self._cursor.execute("SET SESSION arrow_lossless_conversion = true")
            begun = False
            while True:
                _, body = receive(self._peer, most=MOST_BYTES, idle=IDLE_SECONDS, seconds=STALL_SECONDS)
                asked = read_json(body)
                if asked is not None and not begun:
                    self._cursor.execute("BEGIN TRANSACTION READ ONLY")
                elif asked is None and begun:
                    self._cursor.execute("ROLLBACK")
                begun = asked is not None
                if asked is not None:
                    self._answer(asked)
        except (Closed, *_NONSENSE, duckdb.Error):
            pass
        finally:
            # Which wakes the server, where it was not that which ended the connection.
            with suppress(OSError):
                self._peer.shutdown(socket.SHUT_RDWR)

    def _answer(self, asked: Any) -> None:
        """Run a statement; send its rows and the names of their columns, or its error."""
        import pyarrow

        if isinstance(asked, str):
            asked = self._take_table(asked), None
        statement, parameters = asked
        answer: dict[str, Any]
        try:
            found = self._cursor.execute(self._allowed(statement), parameters)
            answer = {"columns": [column[0] for column in found.description or ()]}
            with found.to_arrow_reader(_BATCH_ROWS) as rows:
                # Without rows too, for the types of the columns.
                send_rows(self._peer, pyarrow.Table.from_batches([], rows.schema), seconds=STALL_SECONDS)
                for batch in rows:
                    send_rows(self._peer, batch, seconds=STALL_SECONDS)
        except (duckdb.Error, pyarrow.ArrowException, OSError) as error:
            answer = {"error": type(error).__name__, "message": str(error)}
        send_json(self._peer, answer, seconds=STALL_SECONDS)

    def _take_table(self, name: str) -> str:
        """Receive the rows of a temporary table; return the statement that makes it."""
        import pyarrow

        _, body = receive(self._peer, most=MOST_BYTES, idle=STALL_SECONDS, seconds=STALL_SECONDS)
        self._cursor.register("arriving", pyarrow.ipc.open_stream(pyarrow.py_buffer(body)))
        return f"CREATE OR REPLACE TEMP TABLE {named(name)} AS FROM arriving"

    def _allowed(self, statement: str) -> duckdb.Statement:
        """Return a statement that reads, or fills a temporary table; the transaction refuses other writes.

        Raises:
            duckdb.PermissionException: It is none, or several.
        """
        found = self._cursor.extract_statements(statement)
        kinds = duckdb.StatementType
        if len(found) == 1 and (
            found[0].type in (kinds.SELECT, kinds.INSERT) or _TEMPORARY.match(found[0].query)
        ):
            return found[0]
        raise duckdb.PermissionException("Beside an open workspace one statement is run that reads.")
