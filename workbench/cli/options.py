"""Arguments and options that several commands share, and the wrapper around every command."""

from __future__ import annotations

import csv
import functools
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec

import typer

from store.errors import WorkbenchError
from workbench.exit_codes import ended

if TYPE_CHECKING:
    from workbench.config import Config

P = ParamSpec("P")

Workspace = Annotated[Path, typer.Argument(help="The workspace file.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
RaterName = Annotated[
    str | None,
    typer.Option("--rater", metavar="NAME", help="The rater's name; the configured rater by default."),
]
OwnStudy = Annotated[
    str | None,
    typer.Option(
        "--study",
        metavar="NAME",
        help="Which of the rater's open studies; by default the first in which something is left to do.",
        show_default=False,
    ),
]
RunName = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="NAME",
        help="The agents' run whose labels are shown: its name, how that begins or ends, or its id; by "
        "default the newest of the fullest runs.",
        show_default=False,
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The configuration file.", show_default=False),
]

_given: dict[str, Any] = {}


def names_in(given: str | None) -> tuple[str, ...]:
    """Return the names in a list apart by commas, each once; quotes hold a name with a comma together."""
    names = (name.strip() for name in next(csv.reader([given or ""], skipinitialspace=True), []))
    return tuple(dict.fromkeys(name for name in names if name))


def named(raters: str) -> list[str]:
    """Return the names in a list apart by commas.

    Raises:
        WorkbenchError: There are none.
    """
    names = list(names_in(raters))
    if not names:
        raise WorkbenchError("Raters missing", "No rater is named.", "Name them: dana,eli")
    return names


def several(raters: str) -> list[str]:
    """Return the two names or more in a list apart by commas.

    Raises:
        WorkbenchError: They are less than two.
    """
    names = named(raters)
    if len(set(names)) < 2:
        raise WorkbenchError(
            "Raters missing", "Two raters or more are compared.", "Name them, apart by commas: dana,eli"
        )
    return names


def wants_json(arguments: Sequence[str]) -> bool:
    """Return whether JSON is among the options of a command line that was not read yet."""
    options = [*itertools.takewhile(lambda argument: argument != "--", arguments)]
    spelled = ("--format", "json") in itertools.pairwise(options)
    return spelled or "--json" in options or "--format=json" in options


def remember(**options: Any) -> None:
    """Keep what was given before the command's name (`workbench --config F items ...`)."""
    _given.clear()
    _given.update(options)


def remember_config(config: Path | None) -> None:
    """Keep a configuration file that was given before the name of a subcommand."""
    if config is not None:
        _given["config"] = config


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


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Make errors that a user can mend a panel and exit code 2, and signals a clean end."""

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        code = ended(lambda: function(*args, **kwargs), as_json=bool(kwargs.get("as_json")))
        if code:
            raise typer.Exit(code)

    return guarded
