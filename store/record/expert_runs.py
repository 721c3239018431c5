"""Recording the tests that an expert ran: executions of no agent's step, also in the journal."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from sqlalchemy import Connection, insert, select

from store.errors import JudgmentRefused
from store.record.rater_ref import RaterRef
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.runs import Execution, ExecutionRow, TestOutcomeRow
from store.workspace.duckdb import Workspace
from store.workspace.journal import Journal, journal_path

TYPE = "execution"
"""The type of such a record in the journal."""
WITHOUT_TEST = "no own test was run"
"""The reason of a label that was given without the test which the condition asks for."""


def record_expert_run(
    workspace: Workspace, rater: RaterRef, execution: Execution, outcomes: Sequence[TestOutcomeRow]
) -> Future[Execution]:
    """Record a test that an expert ran; recording it again adds nothing.

    Returns:
        A future done when it is on disk, in the workspace and in the journal.

    Raises:
        JudgmentRefused: (from the future) There is no such item.
        ValueError: A mistake of the program: another rater's execution.
    """
    if execution.rater_id != rater.id or execution.step_id is not None:
        raise ValueError(f"the execution {execution.id} is not that of rater {rater.id}")
    journal = Journal(journal_path(workspace.path))

    def write(connection: Connection) -> Execution:
        if add_execution(connection, execution, outcomes):
            item = _names_of(connection, execution.item_id)
            journal.append([journal_line(rater.name, item, execution, outcomes)])
        return execution

    return workspace.lane.submit(write, urgent=True)


def add_execution(connection: Connection, execution: Execution, outcomes: Sequence[TestOutcomeRow]) -> bool:
    """Write an execution with its outcomes, unless it is there; return whether it was added."""
    table = table_of(ExecutionRow)
    if connection.execute(select(table.c.id).where(table.c.id == execution.id)).first() is not None:
        return False
    connection.execute(insert(table).values(**execution.model_dump()))
    if outcomes:
        connection.execute(insert(table_of(TestOutcomeRow)), [one.model_dump() for one in outcomes])
    return True


def journal_line(
    rater: str, item: tuple[str, str, str], execution: Execution, outcomes: Sequence[TestOutcomeRow]
) -> dict[str, Any]:
    """Return the journal line of an expert's execution.

    The item is its kind, external id and content hash.
    """
    kind, external_id, content = item
    return {
        "type": TYPE,
        "rater": rater,
        "kind": kind,
        "item": external_id,
        "content": content,
        "record": execution.model_dump(mode="json"),
        "outcomes": [one.model_dump(mode="json") for one in outcomes],
    }


def _names_of(connection: Connection, item_id: int) -> tuple[str, str, str]:
    table = table_of(Item)
    names = select(table.c.kind, table.c.external_id, table.c.content_hash)
    item = connection.execute(names.where(table.c.id == item_id)).first()
    if item is None:
        raise JudgmentRefused(
            "No such item", f"There is no item {item_id}.", "List them: workbench items WORKSPACE"
        )
    return item.kind, item.external_id, item.content_hash
