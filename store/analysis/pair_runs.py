"""Runs over query-code pairs: the texts that agents read, and the programs that were executed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, func, select, true

from store.sql import native
from store.tables.columns import among, table_of
from store.tables.imported import Code, Item, Pair, Query
from store.tables.runs import ExecutionRow, StepRow


@dataclass(frozen=True, slots=True)
class PairTexts:
    """The texts of a pair that agents read."""

    item_id: int
    external_id: str
    query: str
    code: str
    language: str

    @property
    def shown_id(self) -> str:
        """What the pair is called on screens."""
        return self.external_id


def pair_texts(connection: Connection, item_ids: Sequence[int]) -> list[PairTexts]:
    """Return the texts of some pairs that agents read, in the order given."""
    item, pair, query, code = (table_of(model) for model in (Item, Pair, Query, Code))
    rows = connection.execute(
        select(
            item.c.id.label("item_id"),
            item.c.external_id,
            query.c.text.label("query"),
            code.c.text.label("code"),
            code.c.language,
        )
        .select_from(item)
        .join(pair, pair.c.item_id == item.c.id)
        .join(query, query.c.id == pair.c.query_id)
        .join(code, code.c.id == pair.c.code_id)
        .where(among(item.c.id, item_ids))
    ).mappings()
    found = {row["item_id"]: PairTexts(**row) for row in rows}
    return [found[number] for number in item_ids if number in found]


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Pairs of a run by what its agents found.

    Attributes:
        clear_match: Pairs that the screener found a clear match; likewise the next two.
        clear_nonmatch: See `clear_match`.
        unclear: See `clear_match`; these go on to be tested.
        executed: Pairs whose test program was run, a sandbox that broke not counted.
        executable: Those of them whose last execution was executable (`ExecutionReport.executable`).
    """

    clear_match: int = 0
    clear_nonmatch: int = 0
    unclear: int = 0
    executed: int = 0
    executable: int = 0

    @property
    def screened(self) -> int:
        """Pairs that the screener assessed."""
        return self.clear_match + self.clear_nonmatch + self.unclear

    @property
    def unclear_share(self) -> float | None:
        """The share of the screened pairs that were unclear; None when none was screened."""
        return share_of(self.unclear, self.screened)

    @property
    def executable_rate(self) -> float | None:
        """The share of the executed programs that were executable ("Exec. rate"); None when none was run."""
        return share_of(self.executable, self.executed)


def executed_programs(
    connection: Connection,
    run_id: UUID,
    counts: Callable[[ColumnElement[int]], ColumnElement[bool]] = lambda _: true(),
) -> tuple[int, int]:
    """Count the pairs of a run whose program was executed, and those whose last execution was executable.

    `counts` returns the condition that an item counts, of the column with its key.
    """
    step, execution = table_of(StepRow), table_of(ExecutionRow)
    latest = (
        select(
            execution.c.executable,
            func.row_number()
            .over(partition_by=execution.c.item_id, order_by=execution.c.id.desc())
            .label("place"),
        )
        .select_from(execution)
        .join(step, step.c.id == execution.c.step_id)
        .where(
            step.c.run_id == run_id, execution.c.exit_reason != "infrastructure", counts(execution.c.item_id)
        )
        .subquery()
    )
    by_executable = select(latest.c.executable, func.count()).where(latest.c.place == 1)
    grouped = by_executable.group_by(latest.c.executable)
    found = {done: int(count) for done, count in connection.execute(grouped)}
    return sum(found.values()), found.get(True, 0)


# The last program of each pair that a sandbox ran; one that broke says nothing about the program.
PROGRAMS_TABLE = """
CREATE OR REPLACE TEMP TABLE figures_program AS
SELECT execution.item_id, max(execution.id) AS id, arg_max(executable, execution.id) AS executable
FROM execution JOIN step ON step.id = execution.step_id
WHERE step.run_id = $run AND exit_reason <> 'infrastructure' GROUP BY execution.item_id
"""

TESTS = """
WITH tests AS (
    SELECT program.executable, count(test_outcome.execution_id) AS cases
    FROM figures_program program LEFT JOIN test_outcome ON test_outcome.execution_id = program.id
    GROUP BY program.id, program.executable
)
SELECT count(*) FILTER (executable AND cases > 0) AS counted_programs,
    avg(cases) FILTER (executable AND cases > 0) AS mean_test_cases
FROM tests
"""


def mean_test_cases(connection: Connection, run_id: UUID) -> float | None:
    """Return the mean number of tests of a run's programs."""
    cursor = native(connection)
    cursor.execute(PROGRAMS_TABLE, {"run": run_id})
    ((_, mean),) = cursor.execute(TESTS).fetchall()
    return None if mean is None else float(mean)


def share_of(part: float, whole: int) -> float | None:
    """Return a share; None of nothing."""
    return part / whole if whole else None
