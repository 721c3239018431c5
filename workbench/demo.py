"""The demo: the sample data in a workspace of its own."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_data_dir

from store.errors import WorkspaceError
from workbench.sample import holds_sample, import_sample

if TYPE_CHECKING:
    from store.workspace.duckdb import Workspace
    from workbench.lazy_config import LazyConfig

FILE_NAME = "demo.duckdb"


def demo_path(given: Path | None) -> Path:
    """Return the demo's workspace file: the one given, in the folder given, or at the user's data."""
    if given is None:
        return Path(user_data_dir("workbench", appauthor=False)) / "demo" / FILE_NAME
    return given / FILE_NAME if given.is_dir() else given


def open_demo(
    config: LazyConfig,
    rater: str | None,
    *,
    at: Path | None = None,
    fresh: bool = False,
    practice: bool = False,
) -> int:
    """Open the demo in the app, with the agents at work.

    Args:
        config: The configuration.
        rater: The rater's name on the command line; None for the configured one.
        at: The demo's file, or a folder for it; None for its own place.
        fresh: Whether one that is there is deleted first.
        practice: Whether the rater practises first.

    Returns:
        The exit code.
    """
    from workbench.app_session import run_app, run_practice
    from workbench.job_settings import sample_annotation

    if practice:
        code, goes_on = run_practice(config, rater)
        if not goes_on:
            return code
    path = demo_path(at)
    return run_app(
        path,
        config,
        rater,
        annotation=sample_annotation(config.whole),
        make=partial(build_demo, path, fresh=fresh, own_place=at is None),
    )


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
            delete_workspace(path)
    workspace = Workspace.open(path, create=True)
    try:
        import_sample(workspace)
    except BaseException:
        workspace.close()
        raise
    return workspace


def _refuse_other_work(workspace: Workspace, *, own_place: bool) -> None:
    from store.queries.queue import items_by_kind

    if not items_by_kind(workspace) or holds_sample(workspace):
        return
    if own_place:
        raise WorkspaceError(
            "Demo of another version",
            f"{workspace.path} contains the sample of another version; nothing was changed.",
            "To start over (deletes its judgments): workbench demo --fresh",
        )
    raise WorkspaceError(
        "Not the demo",
        f"{workspace.path} contains items that are not of the sample; nothing was changed.",
        "Choose another place: workbench demo --at PATH",
    )


def delete_workspace(path: Path) -> None:
    """Delete a workspace file with what belongs to it, and nothing that only has a similar name."""
    from store.workspace.journal import journal_path

    for old in (path, path.with_name(path.name + ".wal"), journal_path(path)):
        old.unlink(missing_ok=True)
