"""Opens a workspace in the app, with few imports before its first screen."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import WorkbenchError, WorkspaceError
from store.paths import is_there
from workbench.app_session import StartWith, run_app

if TYPE_CHECKING:
    from workbench.lazy_config import LazyConfig

DEFAULT_WORKSPACE = Path("workbench.duckdb")
COMMANDS = (
    *("import", "candidates", "search", "collect", "construct", "retrieve"),
    *("items", "views", "sql", "split", "splits", "export"),
    *("annotate", "judge-pairs", "complete", "write-questions", "answer", "judge-answers"),
    *("agents", "replies"),
    *("sandbox", "copy", "merge"),
    *("judge", "revise", "adjudicate", "rule"),
    *("study", "packet", "compare"),
    *("report", "finetune", "evaluate", "measure"),
    *("demo", "doctor", "recover"),
)

STARTS: tuple[StartWith, ...] = ("home", "queue", "resume", "adjudicate")


def open_app(
    workspace: Path | None,
    rater: str | None,
    config: Path | None,
    start: StartWith = "home",
    *,
    run: str | None = None,
    repositories: Path | None = None,
    study: str | None = None,
    blind: bool = False,
) -> int:
    """Open a workspace in the app and show it until it ends.

    Args:
        workspace: The file; None for the configured one, or workbench.duckdb in the current folder. A file of
            data is offered for import there.
        rater: The rater's name on the command line; None for the configured one.
        config: The configuration file of the command line.
        start: The screen to open on.
        run: What names the run of the agents whose labels are shown; None for the default one.
        repositories: The folder with checkouts of repositories; None for the configured one.
        study: The study that the rater works in; None for the first open one with something left to do.
        blind: Whether the session is blind; without it the configuration says that.

    Returns:
        The exit code.

    Raises:
        WorkbenchError: It cannot be opened, there is no terminal, the configuration is wrong, or a run was
            named that is not there or that a blind review does not show.
    """
    from workbench.lazy_config import LazyConfig

    configured = LazyConfig(config, blind=blind)
    file = ""
    if workspace is not None and _is_data(workspace):
        workspace, file = None, str(workspace)
    chosen = (workspace, configured.workspace, rater, run, repositories, study)
    is_bare = all(each is None for each in chosen) and start == "home" and not blind
    path = chosen_workspace(workspace, configured)
    if run is not None:
        from store.policy.refusal import refuse
        from store.policy.scope import Scope, Shows, Visibility

        refuse(None, Scope(visibility=Visibility(configured.screens.blind)), Shows.RUN, run)
    if repositories is not None and not repositories.is_dir():
        raise WorkbenchError(
            "No folder of repositories",
            f"There is no folder {repositories}.",
            "--repositories names the folder in which the checkouts are.",
        )
    if not in_terminal():
        elsewhere = _elsewhere()
        are = "are" if len(elsewhere) > 1 else "is"
        raise WorkbenchError(
            "No terminal",
            f"The app needs a terminal; {' and '.join(elsewhere)} {are} none.",
            "Commands work without one: workbench items, judge, annotate, report (see workbench --help).",
        )
    if is_bare and not DEFAULT_WORKSPACE.exists():
        from workbench.first_run import first_run

        return first_run(configured, DEFAULT_WORKSPACE, file)
    return run_app(
        path, configured, rater, start_with=start, run=run, repositories=repositories, study=study, file=file
    )


def _is_data(path: Path) -> bool:
    """Return whether what was named as a workspace is a file to import instead."""
    if path.suffix == ".duckdb" or not path.is_file():
        return False
    from screens.home.import_dialog import is_data_file

    return is_data_file(path)


def in_terminal() -> bool:
    """Return whether keys come from a terminal and what is drawn can go to one."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _elsewhere() -> list[str]:
    """Return which of the streams that the app needs are no terminal."""
    streams = {"what it reads from": sys.stdin, "what it writes to": sys.stdout}
    return [name for name, stream in streams.items() if stream is None or not stream.isatty()]


def chosen_workspace(given: Path | None, config: LazyConfig) -> Path:
    """Return the workspace to open: the one given, the configured one, or workbench.duckdb here.

    A new file is made when its name says that it is one; anything else is taken for a slip of the hand.

    Raises:
        WorkspaceError: There is no such file, and its name is not that of a workspace.
    """
    if given is None:
        return config.workspace.expanduser() if config.workspace else DEFAULT_WORKSPACE
    if not is_there(given) and given.suffix != ".duckdb":
        close = difflib.get_close_matches(str(given), COMMANDS, n=1)
        hint = f"Did you mean `workbench {close[0]}`? " if close else ""
        raise WorkspaceError(
            "No workspace",
            f"There is no file {given}, and no command of that name.",
            f"{hint}A new workspace's name ends in .duckdb: workbench {given}.duckdb",
        )
    return given
