"""Reports name the records that imports rejected, since their figures are without them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from workbench.cli.options import Answer, reading_session, settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.queries.sources import Rejected
    from workbench.config import Config

P = ParamSpec("P")


def says_rejected(report: Callable[P, Answer]) -> Callable[P, Answer]:
    """Have a command answer, after its report and as the field `rejected` of its JSON, what imports rejected.

    Args:
        report: A command with the parameters `workspace`, or `source` that may be a folder, and `config`.
    """

    @functools.wraps(report)
    def reported(*args: P.args, **kwargs: P.kwargs) -> Answer:
        from store.queries.sources import rejected_sentence

        options: dict[str, Any] = dict(kwargs)
        path = options.get("workspace") or options["source"]
        found = () if path.is_dir() else _rejected(path, options["config"])
        answer = report(*args, **kwargs)
        fields = {**answer.fields, "rejected": [asdict(one) for one in found]}
        return Answer(fields, *answer.text, *(["", rejected_sentence(found)] if found else []))

    return reported


def _rejected(path: Path, config: Path | None) -> tuple[Rejected, ...]:
    """Return what was rejected of the files of a workspace."""
    with reading_session(path, settings(config)) as (opened, loaded), opened.reading() as connection:
        return rejected_for(connection, loaded)


def rejected_for(connection: Connection, loaded: Config) -> tuple[Rejected, ...]:
    """Return what was rejected of imported files, without their names where the session hides these."""
    from store.policy.scope import Shows
    from store.queries.sources import rejected_records
    from workbench.study_session import viewer

    return rejected_records(connection, named=viewer(connection, loaded).may(Shows.OTHERS))
