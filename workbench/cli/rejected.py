"""Reports name the records that imports rejected, since their figures are without them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from workbench.cli.options import settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.queries.sources import Rejected
    from workbench.config import Config

P = ParamSpec("P")


def says_rejected(report: Callable[P, None]) -> Callable[P, None]:
    """Have a command say, after its report or as the field `rejected` of its JSON, what imports rejected.

    Args:
        report: A command with the parameters `workspace`, or `source` that may be a folder, `config` and
            `as_json`.
    """

    @functools.wraps(report)
    def reported(*args: P.args, **kwargs: P.kwargs) -> None:
        from store.queries.sources import rejected_sentence
        from workbench.output import beside, say

        options: dict[str, Any] = dict(kwargs)
        path = options.get("workspace") or options["source"]
        found = () if path.is_dir() else _rejected(path, options["config"])
        with beside(rejected=[asdict(one) for one in found]):
            report(*args, **kwargs)
        if found and not options["as_json"]:
            say("", rejected_sentence(found))

    return reported


def _rejected(path: Path, config: Path | None) -> tuple[Rejected, ...]:
    """Return what was rejected of the files of a workspace."""
    from store.workspace.duckdb import Workspace

    with Workspace.open(path) as opened, opened.reading() as connection:
        return rejected_for(connection, settings(config))


def rejected_for(connection: Connection, loaded: Config) -> tuple[Rejected, ...]:
    """Return what was rejected of imported files, without their names where the session hides these."""
    from store.policy.scope import Shows
    from store.queries.sources import rejected_records
    from workbench.study_session import viewer

    return rejected_records(connection, named=viewer(connection, loaded).may(Shows.OTHERS))
