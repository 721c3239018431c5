"""The runs of a workspace as they are listed: how far each is, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from store.queries.runs import all_runs, outcomes
from store.tables.columns import table_of
from store.tables.runs import Run, StepRow


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run, the items that it labelled, and its money in US dollars (None where no step knows)."""

    run: Run
    labelled: int
    money: float | None


def listed_runs(connection: Connection) -> tuple[ListedRun, ...]:
    """Return every run, the one begun last first."""
    step, outcome = table_of(StepRow), outcomes().subquery()
    labelled = select(outcome.c.run_id, func.count(outcome.c.item_id.distinct())).group_by(outcome.c.run_id)
    labels = {run_id: int(count) for run_id, count in connection.execute(labelled)}
    spent = select(step.c.run_id, func.sum(step.c.money)).group_by(step.c.run_id)
    money = {row[0]: row[1] for row in connection.execute(spent)}
    return tuple(ListedRun(run, labels.get(run.id, 0), money.get(run.id)) for run in all_runs(connection))
