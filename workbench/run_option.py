"""The run of the agents that `--run` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from store.errors import HiddenData

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from store.record.scope import RunRef


def refuse_blind(run: str | None, *, blind: bool) -> None:
    """Refuse the choice of a run in a blind review, whether there is such a run or not.

    Raises:
        HiddenData: The review is blind, and a run was named.
    """
    if blind and run is not None:
        raise HiddenData(
            "Blind review",
            "--run chooses whose labels of the agents are shown, and a blind review shows none.",
            "Leave --run out. When the review is over, set screens.blind = false, or leave --blind out.",
        )


def chosen_run(connection: Connection, run: str | None, *, blind: bool) -> RunRef | None:
    """Return the run that a command names; None where it names none.

    Args:
        connection: A reading connection.
        run: The run's name, how that begins or ends, or its id.
        blind: Whether the review is blind.

    Raises:
        HiddenData: The review is blind, and a run was named.
        UnknownName: No run, or more than one, is called so.
    """
    from store.queries.runs import all_runs, named_run
    from store.record.scope import RunRef

    refuse_blind(run, blind=blind)
    if run is None:
        return None
    found = named_run(all_runs(connection), run)
    return RunRef(found.id, found.name)
