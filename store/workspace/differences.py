"""The comparison of a workspace with a copy of it, and the rows that a merge copies into the workspace.

Every statement runs on a cursor to which the copy is attached as `OTHER`, within one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import duckdb

from store.events import Progress, ReportProgress
from store.record.ids import MARGIN, first_ahead, now
from store.sql import listed
from store.tables.runs import Execution, TestOutcomeRow
from store.workspace.attaching import OTHER

RUNS = "JOIN merged_run r ON r.theirs = c.run_id"
RATERS = "LEFT JOIN merged_rater p ON p.theirs = c.rater_id"
_ATTEMPTS = "LEFT JOIN merged_attempt a ON (a.run_id, a.item_id, a.role) = (c.run_id, c.item_id, c.role)"
QUESTIONS = """JOIN merged_question q ON q.theirs = c.question_id
LEFT JOIN merged_response_ref f ON f.theirs = c.response_ref_id"""
"""Joins the copy's verdicts to the questions and the references to responses that they name, here."""
RULINGS = (
    "JOIN verdict v ON v.run_id = r.ours AND v.item_id = c.item_id AND v.question_id = q.ours "
    "AND v.response_ref_id IS NOT DISTINCT FROM f.ours"
)
"""Joins the copy's verdicts, and their runs here, to the verdicts of these on the same question."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A table whose rows have a name: `merged_TABLE` maps the copy's keys (theirs) to those here (ours).

    Attributes:
        name: The columns that name a row.
        of: The SELECT of the copy's keys that a merge is about.
    """

    table: str
    name: str
    of: str

    @property
    def match(self) -> str:
        """The statement that maps the keys; a row that is not here gets a new one."""
        return f"""
        CREATE TEMP TABLE merged_{self.table} AS
        SELECT c.id AS theirs, w.id IS NULL AS fresh,
            coalesce(w.id, (SELECT coalesce(max(id), 0) FROM {self.table})
                + row_number() OVER (PARTITION BY w.id IS NULL ORDER BY c.id)) AS ours
        FROM {OTHER}.{self.table} c LEFT JOIN {self.table} w USING ({self.name}) WHERE c.id IN ({self.of})
        """

    @property
    def insert(self) -> str:
        """The statement that adds the rows that are not here."""
        return (
            f"INSERT INTO {self.table} BY NAME SELECT c.* REPLACE (m.ours AS id) "
            f"FROM {OTHER}.{self.table} c JOIN merged_{self.table} m ON m.theirs = c.id WHERE m.fresh"
        )


_NAMED = (
    # The raters of runs, and of the tests that experts ran.
    _Named("rater", "name", f"SELECT rater_id FROM {OTHER}.run UNION SELECT rater_id FROM {OTHER}.execution"),
    _Named("question", "name", f"SELECT question_id FROM {OTHER}.verdict"),
    _Named(
        "response_ref",
        "item_id, model, setting, trial",
        f"SELECT response_ref_id FROM {OTHER}.verdict WHERE response_ref_id IS NOT NULL "
        f"UNION SELECT id FROM {OTHER}.response WHERE run_id IS NOT NULL "
        f"UNION SELECT response_ref_id FROM {OTHER}.score WHERE run_id IS NOT NULL",
    ),
)


@dataclass(frozen=True, slots=True)
class MergedTable:
    """A table whose rows are copied into the workspace.

    Joins are written as such: DuckDB would keep all of the table for a subquery of a row's own.

    Attributes:
        key: The columns that identify a row; a row whose key is here already stays as it is.
        replaced: Columns whose value is another one here, as SQL over the copy's row `c` and what is joined.
        joined: The joins that these need, and those that exclude rows.
        of: The condition of the rows that a merge is about, where it is not about all.
    """

    table: str
    key: tuple[str, ...] = ("id",)
    replaced: Mapping[str, str] = field(default_factory=dict)
    joined: tuple[str, ...] = ()
    of: str = ""

    @property
    def fresh(self) -> str:
        """The FROM clause of the rows that are copied."""
        same = " AND ".join(f"w.{name} = {self.replaced.get(name, f'c.{name}')}" for name in self.key)
        joined = " ".join(self.joined)
        return f"FROM {OTHER}.{self.table} c {joined} ANTI JOIN {self.table} w ON {same}"

    @property
    def insert(self) -> str:
        """The statement that copies them."""
        replaced = listed(self.replaced)
        columns = f"c.* REPLACE ({replaced})" if replaced else "c.*"
        return f"INSERT INTO {self.table} BY NAME SELECT {columns} {self.fresh}"


MERGED_TABLES = (
    MergedTable(
        "step",
        replaced={"run_id": "r.ours", "attempt": "attempt + coalesce(shift, 0)"},
        joined=(RUNS, _ATTEMPTS),
    ),
    MergedTable("reply"),
    MergedTable("execution", replaced={"rater_id": "p.ours"}, joined=(RATERS,)),
    MergedTable("test_outcome", ("execution_id", "position")),
    # A run has one verdict on a question of an item: the one here stays.
    MergedTable(
        "verdict",
        replaced={"run_id": "r.ours", "question_id": "q.ours", "response_ref_id": "f.ours"},
        joined=(RUNS, QUESTIONS, f"ANTI {RULINGS}"),
    ),
    # Of responses and scores those that a run made: imported ones come by importing their files.
    MergedTable(
        "response",
        replaced={"id": "f.ours", "run_id": "r.ours"},
        joined=(RUNS, "JOIN merged_response_ref f ON f.theirs = c.id"),
        of="WHERE run_id IS NOT NULL",
    ),
    MergedTable(
        "score",
        replaced={"response_ref_id": "f.ours", "run_id": "r.ours"},
        joined=(RUNS, "JOIN merged_response_ref f ON f.theirs = c.response_ref_id"),
        of="WHERE run_id IS NOT NULL",
    ),
)
"""The tables that agents write. One whose rows name neither runs nor raters is one line more."""

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

_SKIPPED_RANKINGS = f"""
SELECT c.method FROM {OTHER}.retrieval c LEFT JOIN retrieval w ON w.method = c.method
WHERE w.made_at IS NULL OR w.made_at < c.made_at ORDER BY c.id
"""

# A run is its configuration: one that was begun on both sides has two keys, and is one run all the same.
_RUNS = f"""
CREATE TEMP TABLE merged_run AS
SELECT c.id AS theirs, w.id IS NULL AND same.id IS NULL AS fresh, coalesce(w.id, same.id, c.id) AS ours
FROM {OTHER}.run c LEFT JOIN run w ON w.id = c.id
LEFT JOIN (SELECT configuration, min(id) AS id FROM run GROUP BY configuration) same
    ON same.configuration = c.configuration
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

_SKIPPED_VERDICTS = f"""
SELECT count(*), count(*) FILTER (v.value <> c.value) FROM {OTHER}.verdict c {RUNS} {QUESTIONS} {RULINGS}
ANTI JOIN verdict w ON w.id = c.id
"""

# A run that went on on both sides covers the items of both, in the state in which the side that ended last
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
_HIGHEST = (
    "SELECT max(id) FROM ("
    + " UNION ALL ".join(
        f"SELECT max(id) AS id FROM {OTHER}.{table}" for table in ("step", "execution", "verdict")
    )
    + ")"
)
_MOMENTS = {
    "run": "greatest(started_at, ended_at)",
    **dict.fromkeys(("step", "reply", "execution", "verdict"), "created_at"),
}
_ORDERED = ("step", "execution", "verdict")
"""Tables whose ids tell in which order their rows were made."""
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
FROM {OTHER}.execution c JOIN merged_rater p ON p.theirs = c.rater_id
JOIN {OTHER}.rater o ON o.id = c.rater_id JOIN item i ON i.id = c.item_id
ANTI JOIN execution w ON w.id = c.id WHERE c.step_id IS NULL AND o.kind = 'human'
"""
_EXPERTS = f"""
SELECT o.name, i.kind, i.external_id, i.content_hash, c.* REPLACE (p.ours AS rater_id)
{_BY_EXPERTS} AND ($after IS NULL OR c.id > $after) ORDER BY c.id LIMIT 50
"""


@dataclass(frozen=True, slots=True)
class RunGain:
    """The rows that a run gains.

    Attributes:
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
class ExpertRun:
    """A test that an expert ran on the copy: the expert's name; the item's kind, name and content; and it."""

    rater: str
    item: tuple[str, str, str]
    execution: Execution
    outcomes: list[TestOutcomeRow] = field(default_factory=list)


_RESPONSES = "{0}response t JOIN {0}response_ref r ON r.id = t.id WHERE t.run_id IS NULL"
_IMPORTED = {
    "item_id, model, setting, trial": _RESPONSES,
    "id": "{0}score WHERE run_id IS NULL",
    "item_id, setting, rank": "{0}context_chunk",
}
"""Imported rows beside items: where they are read from, by the columns that identify a row."""

_SKIPPED_PENDING = f"""FROM (
    SELECT kind, external_id, joined_by, model, setting, trial, text FROM {OTHER}.pending_response
    EXCEPT SELECT kind, external_id, joined_by, model, setting, trial, text FROM pending_response
) ANTI JOIN (FROM response JOIN response_ref USING (id)) USING (model, setting, trial, text)"""
"""Pending responses of the copy, but those that have been attached to their item here."""


class Comparison:
    """The comparison of a workspace with a copy of it.

    Args:
        cursor: Of the workspace, in a transaction; the copy is attached to it.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor

    def unmatched_items(self, shown: int) -> tuple[int, list[tuple[str, str]]]:
        """Return how many of the copy's items are not the same here, and the faults of the first."""
        found = self._rows(_ITEMS, shown=shown)
        return (found[0][2] if found else 0), [(name, fault) for name, fault, _ in found]

    def match(self) -> list[tuple[str, str, str]]:
        """Match the raters, questions, responses and runs of the copy with those here.

        Returns:
            Raters whose name is that of another kind of rater here: (name, kind there, kind here).
        """
        for statement in (*(one.match for one in _NAMED), _RUNS, _ATTEMPTS):
            self._cursor.execute(statement)
        return self._rows(
            f"SELECT name, c.kind, w.kind FROM {OTHER}.rater c JOIN rater w USING (name) "
            "WHERE c.kind <> w.kind AND c.id IN (SELECT theirs FROM merged_rater) ORDER BY name"
        )

    def ahead(self) -> str:
        """Return the table of the copy that has a row of the future; empty where none has."""
        latest, first = now() + MARGIN, first_ahead()
        for table, moment in _MOMENTS.items():
            late = [f"{moment} > $latest"] + (["id >= $first"] if table in _ORDERED else [])
            if self._rows(
                f"SELECT 1 FROM {OTHER}.{table} WHERE {' OR '.join(late)} LIMIT 1",
                latest=latest,
                **({"first": first} if table in _ORDERED else {}),
            ):
                return table
        return ""

    def fresh_names(self) -> tuple[list[str], list[str]]:
        """Return the names of the raters and of the questions that a merge would add."""
        fresh = (
            "SELECT c.name FROM {0}.{1} c JOIN merged_{1} m ON m.theirs = c.id WHERE m.fresh ORDER BY c.id"
        )
        raters, questions = (
            [name for (name,) in self._rows(fresh.format(OTHER, table))] for table in ("rater", "question")
        )
        return raters, questions

    def gains(self) -> list[RunGain]:
        """Return the gains of every run of the copy."""
        return [RunGain(*row) for row in self._rows(_GAINS)]

    def skipped_verdicts(self) -> tuple[int, int]:
        """Return how many verdicts are left since the run has one here, and how many of them differ."""
        ((left, differing),) = self._rows(_SKIPPED_VERDICTS)
        return left, differing

    def skipped_records(self) -> dict[str, int]:
        """Return how many judgments and marks the copy has that are not here, by table.

        Rows that were imported beside the items are counted together: `imported`.
        """
        left = {table: self._count(MergedTable(table).fresh) for table in ("judgment", "mark")}
        beside = (
            f"FROM (SELECT {columns} FROM {rows.format(f'{OTHER}.')} "
            f"EXCEPT SELECT {columns} FROM {rows.format('')})"
            for columns, rows in _IMPORTED.items()
        )
        return {**left, "imported": sum(map(self._count, (*beside, _SKIPPED_PENDING)))}

    def skipped_rankings(self) -> list[str]:
        """Return the methods of which the copy has a ranking, and a newer one than there is here."""
        return [method for (method,) in self._rows(_SKIPPED_RANKINGS)]

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by table how many rows would be copied, and how many the copy has in all."""
        return {
            each.table: (self._count(each.fresh), self._count(f"FROM {OTHER}.{each.table} {each.of}"))
            for each in MERGED_TABLES
        }

    def count_expert_runs(self) -> int:
        """Return how many expert runs are new."""
        return self._count(_BY_EXPERTS)

    def expert_runs(self) -> Iterator[list[ExpertRun]]:
        """Yield the new expert runs, some at a time, before they are copied."""
        after: UUID | None = None
        while found := self._rows(_EXPERTS, after=after):
            names = [column[0] for column in self._cursor.description or ()][4:]
            part = [
                ExpertRun(rater, (kind, item, content), Execution(**dict(zip(names, values, strict=True))))
                for rater, kind, item, content, *values in found
            ]
            after = part[-1].execution.id
            for one in part:
                one.outcomes.extend(self._outcomes(one.execution.id))
            yield part

    def copy(self, runs: Sequence[RunGain], report: ReportProgress) -> dict[str, int]:
        """Write everything that is new.

        Returns:
            How many rows were added, by table.
        """
        last = {run.ours: self._rows(_LAST, ours=run.ours)[0][0] for run in runs}
        for named in _NAMED:
            self._cursor.execute(named.insert)
        added: dict[str, int] = {}
        for done, each in enumerate(MERGED_TABLES):
            report(Progress("merging", done, len(MERGED_TABLES)))
            ((added[each.table],),) = self._rows(each.insert)
        for run in runs:
            if run.fresh:
                self._rows(_NEW_RUN, theirs=run.theirs)
            elif run.steps or run.verdicts:
                self._rows(_SETTLE, theirs=run.theirs, ours=run.ours, last=last[run.ours])
        report(Progress("merging", len(MERGED_TABLES), len(MERGED_TABLES)))
        return added

    def highest(self) -> UUID | None:
        """Return the highest id of the copy."""
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
