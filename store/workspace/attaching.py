"""Other workspace files, attached to be read: a copy, a packet. Neither they nor their logs change.

Whoever had such a file may have put anything into it. It is copied to a folder of the workspace's own, looked
through there by a process that can open nothing else, and attached only if it holds the tables of a workspace
and nothing beside them.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

import duckdb

from store.errors import WorkspaceError, WorkspaceLocked
from store.kinds.spec import task_kinds
from store.sql import CLOSED, quoted
from store.workspace import foreign_child
from store.workspace.connecting import refusal
from store.workspace.duckdb import Workspace, is_open_here
from store.workspace.schema import migrations, refuse_newer, refuse_other_program

OTHER = "other"
"""The name of the attached file in statements."""

Word = Literal["copy", "packet"]
"""The word for the file in errors."""

_ONE_AT_A_TIME = threading.Lock()
"""Held while a file is attached, since all are under one name."""
_HEADER_BYTES = 3 * 4096
"""The header before the blocks of a DuckDB file."""
_MEMORY = 1 << 30
"""Bytes that the process which looks through a file may take."""
_SECONDS = 60
_BYTES_A_SECOND = 4 << 20
"""The process may take `_SECONDS`, and one second more for each `_BYTES_A_SECOND` of the file."""
_SHOWN = 3

MOST_RECORDED = 256 << 20
"""Bytes of what a rater recorded in a packet."""
_RECORDED = ("judgment", "mark", "execution", "test_outcome")


def _check_place(workspace: Workspace, path: Path, word: Word) -> None:
    """Refuse a path where no file is that could be attached."""
    if not path.exists():
        raise WorkspaceError(
            f"No {word}", f"There is no file {path}.", f"Name the {word}: WORKSPACE {word.upper()}"
        )
    if path.is_dir():
        raise WorkspaceError("Not a file", f"{path} is a folder.", "Name the workspace file in it.")
    if path.samefile(workspace.path):
        what = "copy in which agents have worked" if word == "copy" else "packet that came back"
        raise WorkspaceError(
            "The same file",
            f"{path} is the workspace itself. Nothing was merged.",
            f"Name the workspace first, then the {what}.",
        )
    if is_open_here(path):
        raise WorkspaceLocked("Workspace in use", f"{path} is open in this process.", "Close it first.")


@contextmanager
def attached(
    workspace: Workspace, cursor: duckdb.DuckDBPyConnection, path: Path, word: Word
) -> Iterator[None]:
    """Attach a private copy of a file as `OTHER`, read-only, once it was looked through.

    Args:
        workspace: The open workspace.
        cursor: A cursor of it, in no transaction.
        path: The file, whose log is read, too.
        word: The word for it in errors.

    Raises:
        WorkspaceError: There is no such file, it is the workspace itself or no database, it cannot be read,
            or it holds anything but the tables of a workspace of this version.
        WorkspaceLocked: Another process holds it, or this one does.
        WorkspaceTooNew: A newer version of the program wrote it.
    """
    _check_place(workspace, path, word)
    with _ONE_AT_A_TIME, _private_copy(workspace, path) as own:
        tables = _tables(cursor)
        _check(_looked_through(own, tables), tables, path, own.stat().st_size, word)
        try:
            cursor.execute(f"ATTACH {quoted(str(own))} AS {OTHER} (READ_ONLY)")
        except duckdb.Error as error:
            raise refusal(path, error) from error
        try:
            yield
        finally:
            with suppress(duckdb.Error):
                cursor.execute(f"DETACH {OTHER}")


@contextmanager
def _private_copy(workspace: Workspace, path: Path) -> Iterator[Path]:
    """Copy a file and its log to a folder beside the workspace that only its owner can open."""
    folder, prefix = workspace.path.parent, f".{workspace.path.name}.incoming-"
    # Those of a process that was killed: nobody else has this workspace open.
    for left in folder.iterdir():
        if left.name.startswith(prefix):
            shutil.rmtree(left, ignore_errors=True)
    with ExitStack() as stack:
        try:
            private = Path(tempfile.mkdtemp(dir=folder, prefix=prefix))
            stack.callback(shutil.rmtree, private, ignore_errors=True)
            own = private / "other.duckdb"
            _copy_with_log(path, own)
        except OSError as error:
            raise WorkspaceError(
                "Cannot be copied",
                f"{path} could not be copied beside the workspace: {error.strerror or error}. "
                "Nothing was merged.",
                "Check that it can be read, and that there is room for a copy of it beside the workspace.",
            ) from error
        yield own


def _copy_with_log(path: Path, target: Path) -> None:
    with _opened(path) as file:
        _lock(file, path)
        _copy(file, target)
        with suppress(FileNotFoundError), _opened(path.with_name(path.name + ".wal")) as log:
            _copy(log, target.with_name(target.name + ".wal"))


def _opened(path: Path) -> IO[bytes]:
    """Open a file that is to be copied; a pipe, or a link in the place of a log, is none."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    file = os.fdopen(number, "rb")
    if not stat.S_ISREG(os.fstat(number).st_mode):
        file.close()
        raise OSError(f"{path} is no file")
    return file


def _lock(file: IO[bytes], path: Path) -> None:
    """Keep others from writing into a file until it is closed, as DuckDB does.

    Raises:
        WorkspaceLocked: Another process writes into it.
    """
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        # DuckDB says who it is.
        if error := _looked_through(path, {}).get("error"):
            raise refusal(path, duckdb.IOException(error)) from None
        raise WorkspaceLocked("Workspace in use", f"{path} was held just now.", "Try again.") from None
    except OSError:
        # A file system without locks.
        return


def _copy(file: IO[bytes], target: Path) -> None:
    with target.open("xb") as copy:
        shutil.copyfileobj(file, copy, 1 << 20)


def _tables(cursor: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the tables of the workspace, each with the statement that makes it."""
    found = cursor.execute(
        "SELECT table_name, sql FROM duckdb_tables() "
        "WHERE database_name = current_database() AND NOT temporary"
    )
    return dict(found.fetchall())


def _optional() -> list[str]:
    """Return the tables of kinds from other packages, which a file from elsewhere may lack."""
    return [kind.record.table for kind in task_kinds().values() if kind.record.schema]


def _looked_through(path: Path, tables: Mapping[str, str]) -> dict[str, Any]:
    """Return what a process of its own finds in a file: see `foreign_child`; nothing where that was ended."""
    seconds = _SECONDS + path.stat().st_size // _BYTES_A_SECOND
    request = {
        "path": str(path),
        "tables": tables,
        "optional": _optional(),
        "memory": _MEMORY,
        "seconds": seconds,
        "config": CLOSED | {"allow_persistent_secrets": False, "memory_limit": f"{_MEMORY}B"},
    }
    try:
        process = subprocess.run(
            [sys.executable, "-P", str(Path(foreign_child.__file__))],
            input=json.dumps(request).encode() + b"\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
        answer: dict[str, Any] = json.loads(process.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return {}
    return answer


def _check(answer: Mapping[str, Any], tables: Mapping[str, str], path: Path, size: int, word: Word) -> None:
    """Refuse a file by what was found in it.

    Raises:
        WorkspaceError: It cannot be read, or is no workspace of this version and nothing else.
        WorkspaceTooNew: It is of a newer one.
    """
    if not answer:
        raise WorkspaceError(
            f"Damaged {word}",
            f"{path} takes more time or memory to read than any {word}. Nothing was merged.",
            "Ask for another copy of it.",
        )
    if error := answer.get("error"):
        raise refusal(path, duckdb.Error(error) if answer["opened"] else duckdb.IOException(error))
    found: dict[str, str] = answer["tables"]
    if not found and not answer["others"]:
        raise WorkspaceError("Not a workspace", f"{path} is an empty DuckDB file.", f"Name the {word}.")
    refuse_other_program(found, path)
    if (version := answer.get("version")) is not None:
        refuse_newer(version, path)
        newest = migrations()[-1][0]
        if version < newest:
            raise WorkspaceError(
                f"{word.capitalize()} of an older version",
                f"{path} has schema {version}, the workspace has {newest}. Nothing was merged.",
                f"Have whoever sent it open it once with this version, which brings it to {newest}: "
                f"workbench report {path.name}",
            )
    wrong = [f"the {what} {name[:60]!a}" for what, name in answer["others"]]
    lacking = set(_optional()) - found.keys()
    differ = dict(found.items() ^ tables.items()).keys() - lacking
    wrong += [f"the table {name[:60]!a}" for name in sorted(differ)]
    if wrong:
        raise WorkspaceError(
            f"Not a {word} as it was made",
            f"{path} holds something else than the tables of a workspace: {', '.join(wrong[:_SHOWN])}. "
            "Nothing was merged.",
            f"Ask for the {word} as the program left it.",
        )
    if word == "packet" and sum(answer["held"][name] for name in _RECORDED) > MOST_RECORDED:
        raise WorkspaceError(
            "Too much in a packet",
            f"{path} holds more than {MOST_RECORDED >> 20} MB of records. Nothing was merged.",
            "No rater records as much; ask for the packet as the program left it.",
        )
    if size < _HEADER_BYTES + answer["bytes"]:
        raise WorkspaceError(
            f"Truncated {word}",
            f"The end of {path} is missing. Nothing was merged.",
            "Copy it here once more.",
        )
