"""Copies of a workspace file, in which agents can work elsewhere until they are merged."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, suppress
from pathlib import Path

import duckdb

from store.errors import WorkspaceError
from store.workspace.connecting import refusal
from store.workspace.duckdb import Workspace
from store.workspace.protected_paths import own_files


def copy_workspace(path: Path | str, target: Path | str) -> int:
    """Copy a workspace file while nobody else has it open, with all that its log holds.

    The journal stays behind: it is what people did in the workspace, and the copy begins its own.

    Args:
        path: The workspace.
        target: Where the copy is made; nothing of a workspace may be there.

    Returns:
        The bytes of the copy.

    Raises:
        WorkspaceError: The workspace cannot be opened, or the copy not be written; nothing is left of it.
    """
    target = Path(target)
    _check_target(target)
    with ExitStack() as stack:
        workspace = stack.enter_context(Workspace.open(path))
        source = workspace.path.open("rb")
        # In this order: closing a file gives up every lock that the process has on it.
        stack.callback(source.close)
        stack.callback(workspace.close)
        try:
            with workspace.native() as cursor:
                cursor.execute("CHECKPOINT")
        except duckdb.Error as error:
            raise refusal(workspace.path, error) from error
        unfinished = target.with_name(target.name + ".part")
        try:
            with unfinished.open("wb") as file:
                shutil.copyfileobj(source, file, 1024 * 1024)
                file.flush()
                os.fsync(file.fileno())
            unfinished.rename(target)
        except BaseException as error:
            with suppress(OSError):
                unfinished.unlink()
            if isinstance(error, OSError):
                raise WorkspaceError(
                    "Cannot copy workspace",
                    f"{target} could not be written: {error.strerror or error}.",
                    "Make room there, or choose another place. The workspace is as it was.",
                ) from error
            raise
        return target.stat().st_size


def _check_target(target: Path) -> None:
    """Refuse a place where something of a workspace is: an old log would be taken for the copy's."""
    for path in own_files(target):
        if path.exists() or path.is_symlink():
            raise WorkspaceError(
                "Already there", f"{path} exists. Nothing was copied.", "Choose another name for the copy."
            )
    if not target.parent.is_dir():
        raise WorkspaceError(
            "No such folder", f"{target.parent} is not a folder.", "Make it first, or choose another place."
        )
