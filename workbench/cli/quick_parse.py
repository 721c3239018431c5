"""Parses `workbench [WORKSPACE]` without the command-line library, which is slow to import."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from workbench.app_session import StartWith
from workbench.start import COMMANDS, STARTS

_VALUED = ("--rater", "--config", "--start", "--run", "--repositories", "--study")
_BLIND = "--blind"


class Opening(NamedTuple):
    """The arguments of `workbench.start.open_app`."""

    workspace: Path | None
    rater: str | None
    config: Path | None
    start: StartWith
    run: str | None
    repositories: Path | None
    study: str | None
    blind: bool


def parse_opening(arguments: Sequence[str]) -> Opening | None:
    """Read `workbench [WORKSPACE]` with its options.

    Returns:
        What to open; None for every other command line, right or wrong.
    """
    options: dict[str, str] = {}
    blind = False
    places: list[str] = []
    left = iter(arguments)
    for argument in left:
        name, is_one, value = argument.partition("=")
        if name in _VALUED:
            value = value if is_one else next(left, "")
            if name in options or not value or value.startswith("-"):
                return None
            options[name] = value
        elif argument == _BLIND:
            blind = True
        elif argument.startswith("-") or not argument:
            return None
        else:
            places.append(argument)
    start = next((each for each in STARTS if each == options.get("--start", "home")), None)
    if start is None or len(places) > 1 or not {"open", *COMMANDS}.isdisjoint(places):
        return None
    config, repositories = options.get("--config"), options.get("--repositories")
    return Opening(
        Path(places[0]) if places else None,
        options.get("--rater"),
        Path(config) if config is not None else None,
        start,
        options.get("--run"),
        Path(repositories) if repositories is not None else None,
        options.get("--study"),
        blind,
    )
