"""`workbench [WORKSPACE]`: opens the app."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from store.errors import WorkbenchError, WorkspaceError
from workbench.cli.options import ConfigFile, RaterName, command, given_rater, settings

if TYPE_CHECKING:
    from agents.settings import AnnotationSettings
    from workbench.config import Config

DEFAULT_WORKSPACE = Path("workbench.duckdb")
COMMANDS = ("import", "annotate", "export", "items", "judge", "report", "doctor", "demo", "recover")


@command
def open_workspace(
    workspace: Annotated[Path | None, typer.Argument(help="The workspace file.", show_default=False)] = None,
    rater: RaterName = None,
    config: ConfigFile = None,
    start: Annotated[
        Literal["home", "queue", "resume"],
        typer.Option("--start", help="The screen to open on; resume goes on where you left off."),
    ] = "home",
) -> None:
    """Open a workspace in the app."""
    loaded = settings(config)
    path = chosen_workspace(workspace, loaded)
    if not in_terminal():
        raise WorkbenchError(
            "No terminal",
            "The app needs a terminal, and this is none.",
            "Commands work without one: workbench items, judge, annotate, report (see workbench --help).",
        )
    run_app(path, loaded, given_rater(rater), start_with=start)


def in_terminal() -> bool:
    """Return whether keys come from a terminal and everything goes to one; the app draws on stderr."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def chosen_workspace(given: Path | None, config: Config) -> Path:
    """Return the workspace to open: the one given, the configured one, or workbench.duckdb here.

    A new file is made when its name says that it is one; anything else is taken for a slip of the hand.

    Raises:
        WorkspaceError: There is no such file, and its name is not that of a workspace.
    """
    if given is None:
        return config.workspace.expanduser() if config.workspace else DEFAULT_WORKSPACE
    if not given.exists() and given.suffix != ".duckdb":
        close = difflib.get_close_matches(str(given), COMMANDS, n=1)
        hint = f"Did you mean `workbench {close[0]}`? " if close else ""
        raise WorkspaceError(
            "No workspace",
            f"There is no file {given}, and no command of that name.",
            f"{hint}A new workspace's name ends in .duckdb: workbench {given}.duckdb",
        )
    return given


def run_app(
    path: Path,
    config: Config,
    rater: str | None,
    *,
    annotation: AnnotationSettings | None = None,
    start_with: Literal["home", "queue", "resume"] = "home",
) -> None:
    """Open a workspace, show the app until it ends, and close what was opened.

    Args:
        path: The workspace file; made when it is missing.
        config: The configuration.
        rater: The rater's name on the command line; None for the configured one.
        annotation: A job that begins behind the first screen; None for none.
        start_with: The screen to open on.
    """
    from screens.app import WorkbenchApp
    from store.workspace import Workspace
    from workbench.context import Runners, make_context
    from workbench.rater import rater_name
    from workbench.stopping import ignore_further_signals

    rater_name(rater, config)  # refused before a workspace is made
    with Workspace.open(path, create=True) as workspace, Runners(workspace) as runners:
        context = make_context(
            workspace, config, rater, runners, annotation=annotation, start_with=start_with
        )
        app = WorkbenchApp(context)
        try:
            app.run()
        finally:
            ignore_further_signals()
    if app.return_code:
        raise typer.Exit(app.return_code)
