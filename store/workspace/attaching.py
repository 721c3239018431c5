"""Other workspace files, attached to be read: a copy, a packet. Neither they nor their logs change."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import duckdb

from store.errors import WorkspaceError, WorkspaceLocked
from store.sql import quoted
from store.workspace.connecting import refusal
from store.workspace.duckdb import Workspace, is_open_here
from store.workspace.schema import migrations, version_of

OTHER = "other"
"""The name of the attached file in statements."""

Word = Literal["copy", "packet"]
"""The word for the file in errors."""

_ONE_AT_A_TIME = threading.Lock()
"""Held while a file is attached, since all are under one name."""
_HEADER_BYTES = 3 * 4096
"""The header before the blocks of a DuckDB file."""


def check_place(workspace: Workspace, path: Path, word: Word) -> None:
    """Refuse a path where no file is that could be attached.

    Raises:
        WorkspaceError: There is no file, or it is the workspace itself.
        WorkspaceLocked: This process has it open.
    """
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
def attached(cursor: duckdb.DuckDBPyConnection, path: Path) -> Iterator[None]:
    """Attach a file as `OTHER`, read-only: neither it nor its log is changed.

    Raises:
        WorkspaceError: It is no database, or cannot be read.
        WorkspaceLocked: Another process holds it.
    """
    with _ONE_AT_A_TIME:
        try:
            cursor.execute(f"ATTACH {quoted(str(path.absolute()))} AS {OTHER} (READ_ONLY)")
        except duckdb.Error as error:
            raise refusal(path, error) from error
        try:
            yield
        finally:
            with suppress(duckdb.Error):
                cursor.execute(f"DETACH {OTHER}")


def check_whole(cursor: duckdb.DuckDBPyConnection, path: Path, word: Word) -> None:
    """Refuse an attached file whose end is missing; DuckDB would notice only where it reads that.

    The number of blocks in its header is no help: free ones may be cut off a file's end.
    """
    tables = cursor.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = ?", [OTHER])
    blocks = [f"SELECT block_id FROM pragma_metadata_info('{OTHER}')"]
    for (name,) in tables.fetchall():
        stored = f"pragma_storage_info('{OTHER}.{name}')"
        blocks += [f"SELECT block_id FROM {stored}", f"SELECT unnest(additional_block_ids) FROM {stored}"]
    ((last,),) = cursor.execute(f"SELECT max(block_id) FROM ({' UNION ALL '.join(blocks)})").fetchall()
    ((used, block_size),) = cursor.execute(
        "SELECT used_blocks, block_size FROM pragma_database_size() WHERE database_name = ?", [OTHER]
    ).fetchall()
    # Those of indexes are only counted.
    least = max(used, 0 if last is None else last + 1)
    if path.stat().st_size < _HEADER_BYTES + least * block_size:
        raise WorkspaceError(
            f"Truncated {word}",
            f"The end of {path} is missing. Nothing was merged.",
            "Copy it here once more.",
        )


def check_version(cursor: duckdb.DuckDBPyConnection, path: Path, word: Word) -> None:
    """Refuse an attached file that is no workspace, or one of another version.

    Raises:
        WorkspaceError: It is no workspace, or of an older version.
        WorkspaceTooNew: It is of a newer one.
    """
    version, newest = version_of(cursor, path, OTHER), migrations()[-1][0]
    if version == 0:
        raise WorkspaceError("Not a workspace", f"{path} is an empty DuckDB file.", f"Name the {word}.")
    if version < newest:
        raise WorkspaceError(
            f"{word.capitalize()} of an older version",
            f"{path} has schema {version}, the workspace has {newest}. Nothing was merged.",
            f"Open the {word} once, which brings it to {newest} and keeps the old file beside it: "
            f"workbench report {path}",
        )
