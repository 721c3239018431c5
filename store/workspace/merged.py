"""What a copy of a workspace has more than the workspace: compared and carried over by DuckDB.

Everything is said to a cursor to which the copy is attached as `OTHER`, within one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import duckdb

from store.events import Progress, Report
from store.tables.runs import Execution, TestOutcomeRow
from store.workspace.carried import CARRIED, OTHER, QUESTIONS, RATERS, RULINGS, RUNS, Carried

_ITEMS = f"""
SELECT c.external_id,
    CASE WHEN w.id IS NULL THEN 'not here'
        WHEN w.kind <> c.kind OR w.external_id <> c.external_id THEN 'another item here'
        ELSE 'other content here' END AS fault,
    count(*) OVER () AS others
FROM {OTHER}.item c LEFT JOIN item w ON w.id = c.id
WHERE w.id IS NULL OR (w.kind, w.external_id, w.content_hash) <> (c.kind, c.external_id, c.content_hash)
ORDER BY c.id LIMIT $shown
"""

# Those of the runs, and of the tests that experts ran; a name is one rater's.
_RATERS = f"""
CREATE TEMP TABLE merged_rater AS
SELECT c.id AS theirs, c.name, c.kind, w.kind AS kind_here, w.id IS NULL AS fresh,
    coalesce(w.id, (SELECT coalesce(max(id), 0) FROM rater)
        + row_number() OVER (PARTITION BY w.id IS NULL ORDER BY c.id)) AS ours
FROM {OTHER}.rater c LEFT JOIN rater w ON w.name = c.name
WHERE c.id IN (SELECT rater_id FROM {OTHER}.run UNION SELECT rater_id FROM {OTHER}.execution)
"""

# A run is its configuration: one that was begun on both sides has two keys, and is one run all the same.
_RUNS = f"""
CREATE TEMP TABLE merged_run AS
SELECT c.id AS theirs, w.id IS NULL AND same.id IS NULL AS fresh, coalesce(w.id, same.id, c.id) AS ours
FROM {OTHER}.run c LEFT JOIN run w ON w.id = c.id
LEFT JOIN (SELECT configuration, min(id) AS id FROM run GROUP BY configuration) same
    ON same.configuration = c.configuration
"""

# The questions that agents answered, and the references to the responses that they are about or made.
_QUESTIONS = f"""
CREATE TEMP TABLE merged_question AS
SELECT c.id AS theirs, w.id IS NULL AS fresh,
    coalesce(w.id, (SELECT coalesce(max(id), 0) FROM question)
        + row_number() OVER (PARTITION BY w.id IS NULL ORDER BY c.id)) AS ours
FROM {OTHER}.question c LEFT JOIN question w ON w.name = c.name
WHERE c.id IN (SELECT question_id FROM {OTHER}.verdict)
"""
_REFS = f"""
CREATE TEMP TABLE merged_ref AS
SELECT c.id AS theirs, w.id IS NULL AS fresh,
    coalesce(w.id, (SELECT coalesce(max(id), 0) FROM response_ref)
        + row_number() OVER (PARTITION BY w.id IS NULL ORDER BY c.id)) AS ours
FROM {OTHER}.response_ref c LEFT JOIN response_ref w USING (item_id, model, setting, trial)
WHERE c.id IN (
    SELECT response_ref_id FROM {OTHER}.verdict WHERE response_ref_id IS NOT NULL
    UNION SELECT id FROM {OTHER}.response WHERE run_id IS NOT NULL
    UNION SELECT response_ref_id FROM {OTHER}.score WHERE run_id IS NOT NULL
)
"""

# A role's turns on an item are numbered. Turns that were taken on both sides are counted on from those here.
_ATTEMPTS = f"""
CREATE TEMP TABLE merged_attempt AS
WITH fresh AS (
    SELECT c.run_id, m.ours, c.item_id, c.role, min(c.attempt) AS first
    FROM {OTHER}.step c JOIN merged_run m ON m.theirs = c.run_id
    WHERE NOT m.fresh AND NOT EXISTS (FROM step w WHERE w.id = c.id) GROUP BY ALL
)
SELECT fresh.run_id, fresh.item_id, fresh.role, max(step.attempt) + 1 - any_value(first) AS shift
FROM fresh JOIN step ON step.run_id = ours AND step.item_id = fresh.item_id AND step.role = fresh.role
GROUP BY ALL HAVING shift > 0
"""

_GAINS = f"""
WITH steps AS (
    SELECT c.run_id, count(*) AS gained FROM {OTHER}.step c ANTI JOIN step w ON w.id = c.id GROUP BY ALL
), verdicts AS (
    SELECT c.run_id, count(*) AS gained FROM {OTHER}.verdict c {RUNS} {QUESTIONS} ANTI {RULINGS}
    ANTI JOIN verdict w ON w.id = c.id GROUP BY ALL
)
SELECT c.name, r.fresh, r.ours, r.theirs, coalesce(steps.gained, 0), coalesce(verdicts.gained, 0)
FROM {OTHER}.run c JOIN merged_run r ON r.theirs = c.id
LEFT JOIN steps ON steps.run_id = c.id LEFT JOIN verdicts ON verdicts.run_id = c.id
ORDER BY c.started_at, c.id
"""

_LEFT_VERDICTS = f"""
SELECT count(*), count(*) FILTER (v.value <> c.value) FROM {OTHER}.verdict c {RUNS} {QUESTIONS} {RULINGS}
ANTI JOIN verdict w ON w.id = c.id
"""

# A run that went on on both sides covers what either was to cover, and stands as the side that ended last
# left it; one that was cut off ended with its last turn, and is stopped. With a verdict on each item it is
# done.
_SETTLE = f"""
UPDATE run
SET state = after.state, total = after.total, started_at = after.started_at, ended_at = after.ended_at
FROM (
    WITH side AS (
        SELECT state, total, started_at, coalesce(ended_at,
            (SELECT max(created_at) FROM {OTHER}.step WHERE run_id = $theirs), started_at) AS ended_at
        FROM {OTHER}.run WHERE id = $theirs
        UNION ALL
        SELECT state, total, started_at, coalesce(ended_at, $last, started_at) FROM run WHERE id = $ours
    )
    SELECT max(total) AS total, min(started_at) AS started_at, max(ended_at) AS ended_at,
        CASE WHEN (SELECT count(*) FROM verdict WHERE run_id = $ours) >= max(total) THEN 'done'
            WHEN arg_max(state, ended_at) IN ('running', 'paused') THEN 'stopped'
            ELSE arg_max(state, ended_at) END AS state
    FROM side
) after
WHERE run.id = $ours
"""
_OUTCOMES = f"FROM {OTHER}.test_outcome WHERE execution_id = $execution ORDER BY position"
_NEW_RATERS = f"""
INSERT INTO rater BY NAME SELECT c.* REPLACE (m.ours AS id)
FROM {OTHER}.rater c JOIN merged_rater m ON m.theirs = c.id WHERE m.fresh
"""
_NEW_QUESTIONS = f"""
INSERT INTO question BY NAME SELECT c.* REPLACE (m.ours AS id)
FROM {OTHER}.question c JOIN merged_question m ON m.theirs = c.id WHERE m.fresh
"""
_NEW_REFS = f"""
INSERT INTO response_ref BY NAME SELECT c.* REPLACE (m.ours AS id)
FROM {OTHER}.response_ref c JOIN merged_ref m ON m.theirs = c.id WHERE m.fresh
"""
_HIGHEST = (
    "SELECT max(id) FROM ("
    + " UNION ALL ".join(
        f"SELECT max(id) AS id FROM {OTHER}.{table}" for table in ("step", "execution", "verdict")
    )
    + ")"
)
_LAST = "SELECT max(created_at) FROM step WHERE run_id = $ours"

_NEW_RUN = f"""
INSERT INTO run BY NAME
SELECT c.* REPLACE (
    p.ours AS rater_id,
    CASE WHEN state IN ('running', 'paused') THEN 'stopped' ELSE state END AS state,
    coalesce(ended_at, (SELECT max(created_at) FROM {OTHER}.step s WHERE s.run_id = c.id), started_at)
        AS ended_at)
FROM {OTHER}.run c {RATERS} WHERE c.id = $theirs
"""

_BY_EXPERTS = f"""
FROM {OTHER}.execution c JOIN merged_rater p ON p.theirs = c.rater_id JOIN item i ON i.id = c.item_id
ANTI JOIN execution w ON w.id = c.id WHERE c.step_id IS NULL AND p.kind = 'human'
"""
_EXPERTS = f"""
SELECT p.name, i.kind, i.external_id, i.content_hash, c.* REPLACE (p.ours AS rater_id)
{_BY_EXPERTS} AND ($after IS NULL OR c.id > $after) ORDER BY c.id LIMIT 50
"""


@dataclass(frozen=True, slots=True)
class RunGain:
    """What a run gains.

    Attributes:
        name: The run's name.
        fresh: Whether the workspace lacks it.
        ours: Its key here.
        theirs: Its key in the copy, another one where it was begun on both sides.
        steps: Steps that are new.
        verdicts: Verdicts that are new.
    """

    name: str
    fresh: bool
    ours: UUID
    theirs: UUID
    steps: int
    verdicts: int


@dataclass(frozen=True, slots=True)
class ExpertsRun:
    """A test that an expert ran on the copy: the expert's name; the item's kind, name and content; and it."""

    rater: str
    item: tuple[str, str, str]
    execution: Execution
    outcomes: list[TestOutcomeRow] = field(default_factory=list)


_RESPONSES = "{0}response t JOIN {0}response_ref r ON r.id = t.id WHERE t.run_id IS NULL"
_BESIDE_ITEMS = {
    "item_id, model, setting, trial": _RESPONSES,
    "id": "{0}score WHERE run_id IS NULL",
    "item_id, setting, rank": "{0}context_chunk",
}
"""What is imported beside items: where it is read from, by the columns that tell one row from another."""

_LEFT_ASIDE = f"""FROM (
    SELECT kind, external_id, joined_by, model, setting, trial, text FROM {OTHER}.response_aside
    EXCEPT SELECT kind, external_id, joined_by, model, setting, trial, text FROM response_aside
) ANTI JOIN (FROM response JOIN response_ref USING (id)) USING (model, setting, trial, text)"""
"""Responses that the copy keeps aside; one that has found its item here is none."""


class Merging:
    """The comparison of a workspace with a copy of it, and what is carried over.

    Args:
        cursor: Of the workspace, in a transaction; the copy is attached to it.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor

    def strangers(self, shown: int) -> tuple[int, list[tuple[str, str]]]:
        """Return how many of the copy's items are not the same here, and what is wrong with the first."""
        found = self._rows(_ITEMS, shown=shown)
        return (found[0][2] if found else 0), [(name, fault) for name, fault, _ in found]

    def match(self) -> list[tuple[str, str, str]]:
        """Find the raters and runs here that are those of the copy.

        Returns:
            Raters whose name is that of another kind of rater here: (name, kind there, kind here).
        """
        for statement in (_RATERS, _RUNS, _ATTEMPTS, _QUESTIONS, _REFS):
            self._cursor.execute(statement)
        return self._rows(
            "SELECT name, kind, kind_here FROM merged_rater WHERE kind <> kind_here ORDER BY name"
        )

    def gains(self) -> list[RunGain]:
        """Return what every run of the copy brings."""
        return [RunGain(*row) for row in self._rows(_GAINS)]

    def left_verdicts(self) -> tuple[int, int]:
        """Return how many verdicts are left since the run has one here, and how many of them differ."""
        ((left, differing),) = self._rows(_LEFT_VERDICTS)
        return left, differing

    def left_records(self) -> dict[str, int]:
        """Return how many judgments and marks the copy has that are not here, by table.

        What was imported beside the items is counted together: `imported`.
        """
        left = {table: self._count(Carried(table).fresh) for table in ("judgment", "mark")}
        beside = (
            f"FROM (SELECT {columns} FROM {rows.format(f'{OTHER}.')} "
            f"EXCEPT SELECT {columns} FROM {rows.format('')})"
            for columns, rows in _BESIDE_ITEMS.items()
        )
        return {**left, "imported": sum(map(self._count, (*beside, _LEFT_ASIDE)))}

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by table how many rows would be carried over, and how many the copy has in all."""
        return {
            each.table: (self._count(each.fresh), self._count(f"FROM {OTHER}.{each.table} {each.of}"))
            for each in CARRIED
        }

    def count_experts_runs(self) -> int:
        """Return how many tests that experts ran are new."""
        return self._count(_BY_EXPERTS)

    def experts_runs(self) -> Iterator[list[ExpertsRun]]:
        """Yield the tests that experts ran and that are new, some at a time, before they are carried over."""
        after: UUID | None = None
        while found := self._rows(_EXPERTS, after=after):
            names = [column[0] for column in self._cursor.description or ()][4:]
            part = [
                ExpertsRun(rater, (kind, item, content), Execution(**dict(zip(names, values, strict=True))))
                for rater, kind, item, content, *values in found
            ]
            after = part[-1].execution.id
            for one in part:
                one.outcomes.extend(self._outcomes(one.execution.id))
            yield part

    def carry(self, runs: Sequence[RunGain], report: Report) -> dict[str, int]:
        """Write everything that is new.

        Args:
            runs: What the runs gain.
            report: Is told the tables carried over.

        Returns:
            How many rows were added, by table.
        """
        last = {run.ours: self._rows(_LAST, ours=run.ours)[0][0] for run in runs}
        for statement in (_NEW_RATERS, _NEW_QUESTIONS, _NEW_REFS):
            self._cursor.execute(statement)
        added: dict[str, int] = {}
        for done, each in enumerate(CARRIED):
            report(Progress("merging", done, len(CARRIED)))
            ((added[each.table],),) = self._rows(each.insert)
        for run in runs:
            if run.fresh:
                self._rows(_NEW_RUN, theirs=run.theirs)
            elif run.steps or run.verdicts:
                self._rows(_SETTLE, theirs=run.theirs, ours=run.ours, last=last[run.ours])
        report(Progress("merging", len(CARRIED), len(CARRIED)))
        return added

    def highest(self) -> UUID | None:
        """Return the highest id of what the copy has."""
        ((number,),) = self._rows(_HIGHEST)
        return number if isinstance(number, UUID) else None

    def _outcomes(self, execution: UUID) -> list[TestOutcomeRow]:
        rows = self._rows(_OUTCOMES, execution=execution)
        names = [column[0] for column in self._cursor.description or ()]
        return [TestOutcomeRow(**dict(zip(names, values, strict=True))) for values in rows]

    def _count(self, source: str) -> int:
        ((count,),) = self._rows(f"SELECT count(*) {source}")
        return int(count)

    def _rows(self, statement: str, **given: Any) -> list[tuple[Any, ...]]:
        return self._cursor.execute(statement, given or None).fetchall()
