"""`workbench [WORKSPACE]`: opens the app."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from workbench.cli.options import ConfigFile, RaterName, RunName, command, given_config, given_rater
from workbench.start import open_app


@command
def open_workspace(
    workspace: Annotated[Path | None, typer.Argument(help="The workspace file.", show_default=False)] = None,
    rater: RaterName = None,
    config: ConfigFile = None,
    start: Annotated[
        Literal["home", "queue", "resume", "adjudicate"],
        typer.Option(
            "--start",
            help="The screen to open on; resume goes on where you left off, adjudicate opens the disputes.",
        ),
    ] = "home",
    *,
    run: RunName = None,
    repositories: Annotated[
        Path | None,
        typer.Option(
            "--repositories",
            metavar="DIR",
            help="The folder with checkouts of the items' repositories; the configured one by default.",
            show_default=False,
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The study to work in; by default the first open one with something left for you.",
            show_default=False,
        ),
    ] = None,
    blind: Annotated[
        bool,
        typer.Option(
            "--blind",
            help="Hide the agents' labels and other raters' records in this session, whatever is configured.",
        ),
    ] = False,
) -> None:
    """Open a workspace in the app."""
    code = open_app(
        workspace,
        given_rater(rater),
        given_config(config),
        start,
        run=run,
        repositories=repositories,
        study=study,
        blind=blind,
    )
    if code:
        raise typer.Exit(code)
