"""Files that must not be overwritten: the workspace's own, and those that are being read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from store.errors import WorkbenchError
from store.paths import is_there
from store.workspace.journal import journal_path


def own_files(workspace_path: Path) -> tuple[Path, ...]:
    """Return the files that a workspace consists of."""
    return (
        workspace_path,
        workspace_path.with_name(workspace_path.name + ".wal"),
        journal_path(workspace_path),
    )


def refuse_to_replace(
    target: Path, kept: Iterable[Path], error: type[WorkbenchError], *, option: str = "the destination"
) -> None:
    """Refuse a place to write to that is one of the protected files, under any name.

    Raises:
        WorkbenchError: (of the type `error`) It is one of them.
    """
    for path in kept:
        same = is_there(target) and is_there(path) and target.samefile(path)
        if same or target.absolute() == path.absolute():
            raise error(
                "Would destroy a file",
                f"{target} is {path}, which is in use. Nothing was written.",
                f"Choose another place for {option}.",
            )
