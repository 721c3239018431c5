"""The first run: `workbench` alone, where no workspace is configured or in the folder."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import WorkbenchError
from workbench.app_session import run_app, run_practice, show_first_screen
from workbench.rater import known_rater, rater_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from screens.home.import_dialog import Imports
    from screens.welcome.choice import Chosen, FirstRun
    from store.events import ReportProgress
    from store.ingest.choices import ImportChoices
    from store.ingest.report import ImportReport
    from store.workspace.duckdb import Workspace
    from workbench.lazy_config import LazyConfig

WORKSPACES = 6
"""Workspaces of the folder that are offered at most."""


def first_run(config: LazyConfig, new: Path, file: str = "") -> int:
    """Show the first screen, then open what was chosen.

    Args:
        config: The configuration.
        new: The name of a new workspace.
        file: The file that is to be imported into it; empty for none.

    Returns:
        The exit code.
    """
    while True:
        chosen = show_first_screen(_first_run(config, new, file))
        if chosen is None:
            return 0
        if chosen.opens != "practice":
            return _open(chosen, config)
        code, goes_on = run_practice(config, chosen.rater)
        if not goes_on:
            return code


def _open(chosen: Chosen, config: LazyConfig) -> int:
    if chosen.workspace is None:
        from workbench.demo import open_demo

        return open_demo(config, chosen.rater)
    return run_app(chosen.workspace, config, chosen.rater, start_with="resume" if chosen.judges else "home")


def _first_run(config: LazyConfig, new: Path, file: str) -> FirstRun:
    from screens.home.import_dialog import matching_files
    from screens.welcome.choice import FirstRun

    here = sorted(Path().glob("*.duckdb"))[:WORKSPACES]
    return FirstRun(
        settings=config.screens,
        workspaces=tuple(here),
        files=any(not name.endswith("/") for name in matching_files("")),
        new=new,
        rater=known_rater(config),
        asks=config.rater is None,
        config=config.path,
        check_name=lambda name: rater_name(name, config) or "",
        keep_name=lambda name: keep_rater(config.path, name),
        imports=imports_into,
        file=file,
    )


def keep_rater(path: Path, name: str) -> None:
    """Write the rater's name into a configuration file that sets none; what else it holds stays.

    Args:
        path: The configuration file; made with its folder where it is missing.
        name: The name.

    Raises:
        WorkbenchError: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        # Keys of no table come before all tables.
        path.write_text(f"rater = {json.dumps(name, ensure_ascii=False)}\n{before}", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise WorkbenchError(
            "Not kept", f"{path} could not be written: {error}.", "Continue without saving the name."
        ) from error


def imports_into(path: Path) -> Imports:
    """Return what imports into a workspace that is made with its first file.

    Args:
        path: The file of the workspace.
    """
    from screens.home.import_dialog import Imports
    from workbench.wiring import import_file, look_at_file

    def check(file: Path, report: ReportProgress, choices: ImportChoices) -> ImportReport:
        with _opened_or_temporary(path) as workspace:
            return import_file(workspace, file, report, choices, dry_run=True)

    def run(file: Path, report: ReportProgress, choices: ImportChoices) -> ImportReport:
        from store.workspace.duckdb import Workspace
        from workbench.demo import delete_workspace

        is_new = not path.exists()
        try:
            with Workspace.open(path, create=True) as workspace:
                return import_file(workspace, file, report, choices)
        except BaseException:
            if is_new:
                delete_workspace(path)
            raise

    return Imports(look_at_file, check, run)


@contextmanager
def _opened_or_temporary(path: Path) -> Iterator[Workspace]:
    """Open a workspace; where there is none yet, an empty one that is deleted afterwards."""
    from store.processes import temporary_folder
    from store.workspace.duckdb import Workspace

    with temporary_folder("workbench-preview-") as folder:
        place = path if path.exists() else folder / "empty.duckdb"
        with Workspace.open(place, create=True) as workspace:
            yield workspace
