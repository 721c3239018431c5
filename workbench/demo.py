"""The demo: the sample data in a workspace of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_data_dir

from store.errors import WorkspaceError
from workbench.sample import holds_sample, import_sample

if TYPE_CHECKING:
    from store.workspace.duckdb import Workspace

FILE_NAME = "demo.duckdb"


def demo_path(given: Path | None) -> Path:
    """Return the demo's workspace file: the one given, in the folder given, or at the user's data."""
    if given is None:
        return Path(user_data_dir("workbench", appauthor=False)) / "demo" / FILE_NAME
    return given / FILE_NAME if given.is_dir() else given


def build_demo(path: Path, *, fresh: bool = False, own_place: bool = False) -> Workspace:
    """Make the demo's workspace, or complete the one that is there.

    Args:
        path: The file.
        fresh: Whether one that is there is deleted first, with what was judged in it.
        own_place: Whether the file is at the demo's own path, so that it may be deleted whatever
            version of the sample it holds.

    Returns:
        The open workspace.

    Raises:
        WorkspaceError: The file is a workspace of something else, or cannot be opened.
    """
    from store.workspace.duckdb import Workspace

    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        with Workspace.open(path) as workspace:
            if not (own_place and fresh):
                _refuse_other_work(workspace, own_place=own_place)
        if fresh:
            _delete(path)
    workspace = Workspace.open(path, create=True)
    try:
        import_sample(workspace)
    except BaseException:
        workspace.close()
        raise
    return workspace


def _refuse_other_work(workspace: Workspace, *, own_place: bool) -> None:
    from sqlalchemy import select

    from store.tables.columns import table_of
    from store.tables.imported import Item

    with workspace.reading() as connection:
        empty = connection.execute(select(table_of(Item).c.id).limit(1)).first() is None
    if empty or holds_sample(workspace):
        return
    if own_place:
        raise WorkspaceError(
            "Demo of another version",
            f"{workspace.path} holds the sample of another version of the program; nothing was changed.",
            "Start over, without what was judged in it: workbench demo --fresh",
        )
    raise WorkspaceError(
        "Not the demo",
        f"{workspace.path} holds other items than the sample; nothing was changed.",
        "Choose another place: workbench demo --at PATH",
    )


def _delete(path: Path) -> None:
    """Delete a workspace file with what belongs to it, and nothing that only has a similar name."""
    from store.workspace.journal import journal_path

    for old in (path, path.with_name(path.name + ".wal"), journal_path(path)):
        old.unlink(missing_ok=True)
