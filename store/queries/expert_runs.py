"""The tests that experts ran, and whether they were edited."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, select

from store.queries.executions import ExecutionView, load_executions
from store.tables.columns import among, table_of
from store.tables.people import Rater
from store.tables.runs import ExecutionRow, Step, StepRow

TEST_WRITER = "test_writer"
"""The role in which agents write test programs."""
REPAIR = "repair"
"""The role of the steps in which a sandbox repairs an environment."""


@dataclass(frozen=True, slots=True)
class ExpertRunView:
    """A test that an expert ran.

    Attributes:
        rater: The expert's name.
        own: Whether that is the one who looks at it.
        edited: Whether the test is another one than those that agents wrote for the item.
        alone: Whether agents wrote no test for the item, so that this one is the expert's altogether.
    """

    rater: str
    own: bool
    edited: bool
    execution: ExecutionView
    alone: bool = False


def expert_runs(
    connection: Connection,
    item_ids: Sequence[int],
    rater_id: int,
    *conditions: ColumnElement[bool],
    with_agents: bool = True,
) -> dict[int, tuple[ExpertRunView, ...]]:
    """Read the tests that experts ran on some items.

    Args:
        connection: A reading connection.
        item_ids: The items.
        rater_id: Who looks at them.
        *conditions: Which runs, on the columns of `execution`; all without any.
        with_agents: Whether the agents' tests may be seen; else each run counts as of a test of one's own.

    Returns:
        Runs by item, in order; items without any are left out.
    """
    execution, rater = table_of(ExecutionRow), table_of(Rater)
    found = (
        select(execution.c.id, execution.c.item_id, execution.c.rater_id, rater.c.name)
        .outerjoin(rater, rater.c.id == execution.c.rater_id)
        .where(among(execution.c.item_id, item_ids), execution.c.rater_id.is_not(None))
    )
    rows = {row.id: row for row in connection.execute(found.where(*conditions))}
    if not rows:
        return {}
    items = sorted({row.item_id for row in rows.values()})
    written = {
        item_id: agents_tests(connection, item_id) if with_agents else frozenset() for item_id in items
    }
    runs: dict[int, list[ExpertRunView]] = {}
    for seen in load_executions(connection, among(execution.c.id, list(rows))):
        row = rows[seen.id]
        theirs = written[row.item_id]
        edited = seen.program not in theirs
        run = ExpertRunView(row.name or "", row.rater_id == rater_id, edited, seen, alone=not theirs)
        runs.setdefault(row.item_id, []).append(run)
    return {item_id: tuple(each) for item_id, each in runs.items()}


def own_run(connection: Connection, assignment_id: UUID | None) -> UUID | None:
    """Return the latest test that a rater ran under an assignment; None without any."""
    execution = table_of(ExecutionRow)
    found = select(execution.c.id).where(execution.c.assignment_id == assignment_id)
    latest: UUID | None = connection.execute(found.order_by(execution.c.id.desc()).limit(1)).scalar()
    return latest


def agents_tests(connection: Connection, item_id: int) -> frozenset[str]:
    """Return every test program that agents wrote or ran for an item, exactly."""
    execution, step = table_of(ExecutionRow), table_of(StepRow)
    ran = select(execution.c.program).where(execution.c.item_id == item_id, execution.c.step_id.is_not(None))
    wrote = select(step.c.reply).where(
        step.c.item_id == item_id, step.c.role == TEST_WRITER, step.c.outcome == "ok"
    )
    replies = (json.loads(reply) for reply in connection.execute(wrote).scalars())
    return frozenset(connection.execute(ran).scalars()) | {
        reply["test_program"] for reply in replies if isinstance(reply, dict) and "test_program" in reply
    }


def place_of(connection: Connection, execution_id: UUID) -> tuple[str, str]:
    """Return where an execution ran: its sandbox and its snapshot; both empty where there is no such."""
    execution = table_of(ExecutionRow)
    found = select(execution.c.sandbox, execution.c.snapshot).where(execution.c.id == execution_id)
    row = connection.execute(found).first()
    return ("", "") if row is None else (row.sandbox, row.snapshot)


def repairs_of(connection: Connection, item_id: int) -> list[Step]:
    """Read the repairs that were carried out for an item, by any run, in order."""
    step = table_of(StepRow)
    found = select(step).where(step.c.item_id == item_id, step.c.role == REPAIR, step.c.outcome == "ok")
    return [Step(**row) for row in connection.execute(found.order_by(step.c.id)).mappings()]
