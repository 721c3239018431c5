"""Executions of test programs with the outcomes of their tests, as they are shown and printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, RowMapping, func, select

from store.cuts import Cut, cut_of_text
from store.outcome_counts import OutcomeCounts
from store.policy.scope import Scope
from store.queries.current import current_verdicts
from store.tables.columns import among, table_of
from store.tables.runs import ExecutionRow, TestOutcomeRow


@dataclass(frozen=True, slots=True)
class OutcomeView:
    """One test case of an execution.

    Attributes:
        outcome: `passed`, `failed` or `error`.
        message: The error, in one line.
        seconds: How long it ran.
        discriminates: False when it passes against a stub of the code as well; None when that is not known.
        flaky: Whether it came out otherwise under another hash seed; None when that is not known.
        trace: The traceback of a test that did not pass, without the frames of the harness.
        obstacle: What kept it from a result; empty where nothing did, None when that was not recorded.
    """

    name: str
    outcome: str
    message: str
    seconds: float
    discriminates: bool | None
    flaky: bool | None
    trace: str
    obstacle: str | None


@dataclass(frozen=True, slots=True)
class ExecutionView:
    """One run of a test program, with the program and its log.

    Attributes:
        created_at: When it began.
        program: The test program as it ran.
        sandbox: Where it ran.
        environment: Digest of what it ran on.
        image: Digest of the image it ran in, where the sandbox has images.
        snapshot: Name of the repaired environment it ran in; empty for the sandbox's own.
        packages: The installed packages, as NAME==VERSION.
        exit_reason: Why it ended.
        executable: Whether it was loaded and at least one of its tests came to a result.
        error: Why it, or the first such test of it, came to no result.
        trace: The traceback of what ended it outside its tests.
        stdout: The stored part of standard output.
        stdout_cut: The part that is missing, and its place.
        stderr: The stored part of standard error.
        stderr_cut: The part that is missing, and its place.
        output_dropped: Bytes of both that were not kept.
        seconds: Its wall time.
        outcomes: Its tests, in the order in which they ran.
    """

    id: UUID
    created_at: datetime
    program: str
    sandbox: str
    environment: str
    image: str
    snapshot: str
    packages: tuple[str, ...]
    exit_reason: str
    exit_code: int | None
    executable: bool
    error: str
    trace: str
    stdout: str
    stdout_cut: Cut | None
    stderr: str
    stderr_cut: Cut | None
    output_dropped: int
    seconds: float
    outcomes: tuple[OutcomeView, ...]

    @property
    def counts(self) -> OutcomeCounts:
        """The counts of its tests by outcome."""
        return OutcomeCounts.of(self.outcomes)


def load_executions(connection: Connection, *conditions: ColumnElement[bool]) -> list[ExecutionView]:
    """Read executions, in the order in which they were made.

    Args:
        connection: A reading connection.
        *conditions: Which ones, on the columns of `execution`.
    """
    execution, outcome = table_of(ExecutionRow), table_of(TestOutcomeRow)
    columns = [execution.c[name] for name in ExecutionView.__dataclass_fields__ if name != "outcomes"]
    rows = connection.execute(select(*columns).where(*conditions).order_by(execution.c.id)).mappings().all()
    if not rows:
        return []
    tests: dict[UUID, list[OutcomeView]] = {row["id"]: [] for row in rows}
    names = tuple(OutcomeView.__dataclass_fields__)
    found = select(outcome.c.execution_id, *(outcome.c[name] for name in names))
    for row in connection.execute(
        found.where(among(outcome.c.execution_id, list(tests))).order_by(outcome.c.position)
    ).mappings():
        tests[row["execution_id"]].append(OutcomeView(**{name: row[name] for name in names}))
    return [_seen(row, tests[row["id"]]) for row in rows]


def _seen(row: RowMapping, tests: Sequence[OutcomeView]) -> ExecutionView:
    packages = row["packages"].split("\n") if row["packages"] else []
    cuts = {name: cut_of_text(row[name]) for name in ("stdout_cut", "stderr_cut")}
    return ExecutionView(**{**row, **cuts, "packages": tuple(packages), "outcomes": tuple(tests)})


def executions_of_verdicts(
    connection: Connection, scope: Scope, item_ids: Sequence[int]
) -> dict[int, ExecutionView]:
    """Read the executions that the agents' labels of some items rest on.

    Returns:
        Executions by item; an item whose label rests on none is left out.
    """
    verdict = current_verdicts(scope, item_ids)
    rests_on = select(verdict.c.execution_id, verdict.c.item_id).where(verdict.c.execution_id.is_not(None))
    items = {row.execution_id: row.item_id for row in connection.execute(rests_on)}
    found = load_executions(connection, among(table_of(ExecutionRow).c.id, list(items)))
    return {items[each.id]: each for each in found}


def snapshot_uses(connection: Connection) -> dict[str, int]:
    """Return how many executions ran in each repaired environment, the agents' and experts', by its name."""
    ran = table_of(ExecutionRow)
    found = select(ran.c.snapshot, func.count()).where(ran.c.snapshot != "").group_by(ran.c.snapshot)
    return {name: int(count) for name, count in connection.execute(found)}
