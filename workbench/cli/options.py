"""Arguments and options that several commands share, and what is done around every command."""

from __future__ import annotations

import errno
import functools
import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer

from store.errors import WorkbenchError, WorkspaceError

if TYPE_CHECKING:
    from workbench.config import Config

P = ParamSpec("P")

Workspace = Annotated[Path, typer.Argument(help="The workspace file.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
RaterName = Annotated[
    str | None,
    typer.Option("--rater", metavar="NAME", help="Whose judgments; the configured rater by default."),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The configuration file.", show_default=False),
]

_given: dict[str, Any] = {}


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether `--json` is among the options of a command line that was not read yet."""
    return "--json" in itertools.takewhile(lambda argument: argument != "--", arguments)


def remember(**options: Any) -> None:
    """Keep what was given before the command's name (`workbench --config F items ...`)."""
    _given.clear()
    _given.update(options)


def given_rater(rater: str | None) -> str | None:
    """Return the rater given to a command, or before its name."""
    return rater if rater is not None else _given.get("rater")


def given_config(config: Path | None) -> Path | None:
    """Return the configuration file given to a command, or before its name."""
    return config or _given.get("config")


def settings(config: Path | None) -> Config:
    """Load the configuration from the file given to a command, or before its name, or the usual one."""
    from workbench.config import load_config

    return load_config(given_config(config)).config


def _disk_trouble(error: Exception) -> WorkspaceError | None:
    """Return what to tell a user when the disk let a command down, None when it is something else."""
    databases = sys.modules.get("sqlalchemy.exc")
    cause = error
    if databases is not None and isinstance(error, databases.OperationalError) and error.orig is not None:
        cause = error.orig
    elif not isinstance(error, OSError) or error.errno not in (
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EIO,
        errno.EROFS,
    ):
        return None
    return WorkspaceError(
        "Not written",
        f"{cause}. What was acknowledged before is kept; this was not recorded.",
        "Make room on the disk, then run the command again.",
    )


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Make errors that a user can mend a panel and exit code 2, and signals a clean end."""

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        from workbench.stopping import exit_code, stopped_by_signals

        try:
            with stopped_by_signals():
                function(*args, **kwargs)
        except WorkbenchError as error:
            from workbench.output import show_error

            show_error(error, as_json=bool(kwargs.get("as_json")))
            raise typer.Exit(error.exit_code) from error
        except KeyboardInterrupt as stop:
            from workbench.output import note

            note("Stopped. What was recorded before is kept.")
            raise typer.Exit(exit_code(stop)) from stop
        except Exception as error:
            told = _disk_trouble(error)
            if told is None:
                raise
            from workbench.output import show_error

            show_error(told, as_json=bool(kwargs.get("as_json")))
            raise typer.Exit(told.exit_code) from error

    return guarded
