"""Connections to a workspace file, and the errors of files that cannot be opened."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import sys
from contextlib import suppress
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import FrameType

import duckdb

from store.errors import WorkbenchError, WorkspaceError, WorkspaceLocked, WorkspaceSuspended
from store.kinds.spec import task_kinds
from store.workspace.schema import keep_copy, migrate, migrations, version_of

_LONGEST_LINE = 300
_DAMAGE = re.compile(r"checksum|corrupt|could not read enough bytes|deserializ|invalidated", re.I)
DAMAGED_HINT = (
    "The file is damaged or cut off. Restore a copy of it under the same name, then restore later "
    "judgments from the journal beside it: workbench recover WORKSPACE"
)
_LOCK_HOLDER = re.compile(r"Conflicting lock is held in (?P<program>.*?) ?\(PID (?P<pid>\d+)\)")


def check_path(path: Path) -> None:
    """Refuse a place where no workspace file can be opened or made.

    Raises:
        WorkspaceError: It is a folder, in no folder, where nothing can be written, or of a name that is not
            UTF-8.
    """
    place = str(path.absolute())
    try:
        place.encode()
    except UnicodeEncodeError as error:
        raise WorkspaceError(
            "Not a UTF-8 name",
            f"The database cannot open {place!a}.",
            "Move the workspace to a folder whose name is UTF-8, or rename that one.",
        ) from error
    if path.is_dir():
        raise WorkspaceError("Not a file", f"{path} is a folder.", "Name the workspace file in it.")
    if not path.parent.is_dir():
        raise WorkspaceError(
            "No such folder", f"{path.parent} is not a folder.", "Make it first, or choose another place."
        )
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.R_OK | os.W_OK)):
        raise WorkspaceError(
            "Cannot write here",
            f"{path} and the folder it is in must be readable and writable: its journal is beside it.",
            "Change the permissions, or copy it to a place of your own.",
        )


def connect_to_newest(path: Path) -> duckdb.DuckDBPyConnection:
    """Connect to a file that has the newest schema, or is given it; an older one is copied first.

    Raises:
        WorkspaceError: It is no workspace, or cannot be read or written.
        WorkspaceLocked: Another process holds it.
        WorkspaceTooNew: A newer version of the program wrote it.
    """
    master = connect(path)
    try:
        version = version_of(master, path)
        newest = migrations()[-1][0]
        if 0 < version < newest:
            master.execute("CHECKPOINT")
            master.close()
            keep_copy(path, version)
            master = connect(path)
            # Another process may have come between.
            version = version_of(master, path)
        if version < newest:
            migrate(master, path, version)
            if version:
                # DuckDB 1.5 replays a log of changed tables and indexes less surely than one of rows.
                master.execute("CHECKPOINT")
        # A kind that came with another package since the file was made has its table made here.
        with suppress(WorkbenchError):
            for kind in task_kinds().values():
                if kind.record.schema:
                    master.execute(kind.record.schema)
    except duckdb.Error as error:
        master.close()
        raise _unreadable(path, error) from error
    except BaseException:
        master.close()
        raise
    return master


def connect(path: Path) -> duckdb.DuckDBPyConnection:
    """Connect to a file, whatever is in it.

    Raises:
        WorkspaceError: It cannot be read or written, or is no database.
        WorkspaceLocked: Another process holds it.
    """
    _leave_pandas_out()
    try:
        # Made absolute, since DuckDB has a meaning of its own for names such as ":memory:" and "md:x".
        # A file of another program is refused, rather than read by an extension fetched from the network.
        connection = duckdb.connect(str(path.absolute()), config={"autoinstall_known_extensions": False})
        # See Workspace._checkpoint.
        connection.execute("SET GLOBAL checkpoint_threshold = '1TB'")
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
    except duckdb.Error as error:
        raise refusal(path, error) from error
    return connection


def refusal(path: Path, error: duckdb.Error) -> WorkspaceError:
    """Return the error of a file that DuckDB could not open or read."""
    if not isinstance(error, duckdb.IOException):
        return _unreadable(path, error)
    holder = _LOCK_HOLDER.search(str(error))
    if holder:
        holder_of = command_line(int(holder["pid"])) or holder["program"] or "unknown program"
        if _is_stopped(int(holder["pid"])):
            return WorkspaceSuspended(
                "Workspace in use",
                f"{path} is held by process {holder['pid']} ({holder_of}), which is suspended.",
                "Continue it with `fg` in its shell: then commands that only read work beside it, and others "
                "once it has ended.",
            )
        return WorkspaceLocked(
            "Workspace in use",
            f"{path} is held by process {holder['pid']} ({holder_of}); "
            "one process at a time can open a workspace.",
            "Close the other workbench (or wait for its command to end), then try again. Beside the app, "
            "commands that only read work, such as report, items and sql.",
        )
    if is_damage(error):
        return _unreadable(path, error)
    if "xtension" in str(error):
        return WorkspaceError(
            "Not a workspace", f"{path} is a file of another program.", "Choose another file."
        )
    return WorkspaceError(
        "Cannot open workspace",
        f"{path}: {error}",
        "Check that it is a workspace file you may write. If its beginning is damaged, restore a copy, then "
        "replay the journal: workbench recover WORKSPACE",
    )


def command_line(process: int) -> str:
    """Return the command line of a process as one would type it; empty where it cannot be read."""
    try:
        raw = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return ""
    words = raw.decode("utf-8", errors="replace").rstrip("\0").split("\0")
    line = shlex.join(words) if words != [""] else ""
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def _is_stopped(process: int) -> bool:
    """Return whether a process was stopped, as by Ctrl+Z; False where that cannot be read."""
    try:
        # Its name, in parentheses, may hold anything; the state follows.
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "T"
    except (OSError, IndexError):
        return False


def _unreadable(path: Path, error: duckdb.Error) -> WorkspaceError:
    return WorkspaceError(
        "Cannot open workspace",
        f"{path} could not be read: {error}",
        DAMAGED_HINT,
    )


def is_damage(error: BaseException) -> bool:
    """Return whether an error of DuckDB means that a file is damaged."""
    return _DAMAGE.search(str(error)) is not None


_STATEMENTS = tuple(
    f"{name}."
    for name in (
        *("sqlalchemy", "duckdb_sqlalchemy", "store.first_look", "store.workspace.duckdb"),
        *("store.policy", "store.record"),
    )
)
"""The modules that give DuckDB statements and have nothing to do with Arrow, which may want pandas for values
that only that can hold."""


class _NoPandas(MetaPathFinder):
    """Says at once that there is no pandas where that is so, or when it is DuckDB that looks for it."""

    def __init__(self) -> None:
        self._is_missing = importlib.util.find_spec("pandas") is None

    def find_spec(self, name: str, *_: object) -> None:
        """Refuse pandas where a statement is given, leave every other import to the finders behind.

        Raises:
            ModuleNotFoundError: It is pandas, which is not installed, or DuckDB asks for it.
        """
        if name.partition(".")[0] == "pandas" and (
            self._is_missing or f"{_importer()}.".startswith(_STATEMENTS)
        ):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _importer() -> str:
    """Return the name of the module that imports another one; where DuckDB does, of the one that calls it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if frame.f_globals is not globals() and not name.startswith(("importlib._", "_frozen_importlib")):
            return name
        frame = frame.f_back
    return ""


def _leave_pandas_out() -> None:
    """Keep DuckDB from importing pandas with the first parameter of a statement, and from searching for it.

    It only asks whether a parameter is one of the missing values of pandas, which none of ours is. Where
    pandas is installed, its import takes a third of a start; where it is not, each search goes through all
    of the import path, for every parameter of every statement.
    """
    if not any(isinstance(finder, _NoPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())
