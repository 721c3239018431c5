"""The run of the agents that `--run` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.policy.refusal import refuse
from store.policy.scope import RunRef, Shows

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.policy.scope import Scope


def chosen_run(connection: Connection, viewer: Scope, run: str | None) -> RunRef | None:
    """Return the run that a command names; None where it names none.

    Args:
        connection: A reading connection.
        viewer: Who asks.
        run: The run's name, how that begins or ends, or its id.

    Raises:
        HiddenData: The viewer is shown no run, and one was named.
        UnknownName: No run, or more than one, is called so.
    """
    from store.queries.runs import all_runs, named_run

    refuse(connection, viewer, Shows.RUN, run)
    if run is None:
        return None
    found = named_run(all_runs(connection), run)
    return RunRef(found.id, found.name)
