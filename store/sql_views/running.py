"""Runs a statement over the views of a session, in a process that holds only what the session may see."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow

from store.errors import SqlError
from store.formatting import pluralize
from store.sql import CLOSED
from store.sql_views import child
from store.sql_views.checking import check_statement, sql_error
from store.sql_views.views import views

if TYPE_CHECKING:
    from sqlalchemy import Connection, Select

    from store.policy.scope import Scope
    from store.sql_views.checking import CheckedStatement
    from store.workspace.duckdb import Workspace

SECONDS = 30
"""How long a statement may take."""
MEMORY = 1 << 30
"""How many bytes it may need, beside the views that it names."""

_BATCH_ROWS = 32_768


@dataclass(frozen=True, slots=True)
class SqlResult:
    """What a statement selected.

    Attributes:
        rows: The rows, as an Arrow table; each column has a name of its own.
        more: Whether there are further rows, which were not asked for.
        seconds: How long it took.
    """

    rows: pyarrow.Table
    more: bool
    seconds: float


class SqlRun:
    """One run of a statement.

    Args:
        workspace: The open workspace.
        scope: Whose session it is; the views hold what that may see.
        text: The statement.
        rows: How many rows are returned at most; None for all.
        seconds: How long it may take.
        memory: How many bytes it may need.
    """

    def __init__(
        self,
        workspace: Workspace,
        scope: Scope,
        text: str,
        *,
        rows: int | None = None,
        seconds: int = SECONDS,
        memory: int = MEMORY,
    ) -> None:
        self._workspace, self._scope, self._text = workspace, scope, text
        self._rows, self._seconds, self._memory = rows, seconds, memory
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = ""
        self._lock = threading.Lock()

    def stop(self, why: str = "The statement was stopped.") -> None:
        """Stop the statement; from any thread."""
        with self._lock:
            self._stopped = self._stopped or why
            if self._process is not None:
                self._process.kill()

    def result(self) -> SqlResult:
        """Run the statement and return what it selects.

        Raises:
            SqlError: It is not one that may be run, it failed, or it was stopped: by `stop`, or since it
                took too long or too much memory.
        """
        began = time.monotonic()
        statement = check_statement(self._text)
        with self._lock:
            self._refuse_stopped()
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(Path(child.__file__))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        process = self._process
        too_long = f"It took longer than {pluralize(self._seconds, 'second')}."
        timer = threading.Timer(self._seconds, self.stop, [too_long])
        timer.start()
        try:
            rows = self._exchange(statement, process)
        except (OSError, EOFError, ValueError, pyarrow.ArrowException) as error:
            self._refuse_stopped()
            raise self._too_much() from error
        finally:
            timer.cancel()
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                # What was written last finds nobody who reads it.
                with suppress(OSError):
                    pipe and pipe.close()
        more = self._rows is not None and rows.num_rows > self._rows
        rows = rows.slice(0, self._rows).rename_columns(_distinct(rows.column_names))
        return SqlResult(rows, more, time.monotonic() - began)

    def _exchange(self, statement: CheckedStatement, process: subprocess.Popen[bytes]) -> pyarrow.Table:
        """Send the request and the views to the process, and return the rows that it answers with."""
        assert process.stdin is not None
        assert process.stdout is not None
        request = {
            "statement": statement.text,
            "views": [*statement.views],
            # One more than is shown tells whether there are more.
            "rows": None if self._rows is None else self._rows + 1,
            "seconds": self._seconds,
            "memory": self._memory,
            "config": CLOSED | {"memory_limit": f"{self._memory}B"},
        }
        process.stdin.write(json.dumps(request).encode() + b"\n")
        with self._workspace.reading() as connection:
            for name, columns in statement.views.items():
                found = views()[name].select(connection, self._scope)
                wanted = [column for column in found.selected_columns if column.name in columns]
                found = found.with_only_columns(*wanted)
                _send(connection, found.limit(0) if statement.describes else found, process.stdin)
        process.stdin.close()
        answer = json.loads(process.stdout.readline())
        if "error" in answer:
            if answer["memory"]:
                raise self._too_much()
            raise sql_error(answer["error"])
        with pyarrow.ipc.open_stream(process.stdout) as stream:
            return stream.read_all()

    def _refuse_stopped(self) -> None:
        if self._stopped:
            raise SqlError(
                "Stopped", self._stopped, "Select fewer rows or columns, or join on item or number."
            )

    def _too_much(self) -> SqlError:
        return SqlError(
            "Too much memory",
            f"The statement needs more than {self._memory >> 20:,} MB.",
            "Select fewer rows or columns, or aggregate.",
        )


def _send(connection: Connection, rows: Select[Any], target: IO[bytes]) -> None:
    """Write what a select comes to as an Arrow stream."""
    cursor: Any = connection.execute(rows).cursor
    with cursor.to_arrow_reader(_BATCH_ROWS) as found, pyarrow.ipc.new_stream(target, found.schema) as stream:
        for batch in found:
            stream.write_batch(batch)


def _distinct(names: list[str]) -> list[str]:
    """Return names of columns with a number behind those that were there before."""
    found: dict[str, None] = {}
    numbers: Counter[str] = Counter()
    for name in names:
        new = name
        while new in found:
            numbers[name] += 1
            new = f"{name}_{numbers[name]}"
        found[new] = None
    return [*found]
