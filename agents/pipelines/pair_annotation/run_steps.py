"""The replies, repairs and times of a run of Algorithm 1 (CoSQA+), by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from uuid import UUID

from sqlalchemy import JSON, Connection, Select, Table, cast, func, select

from store.analysis.pair_runs import PROGRAMS_TABLE, TESTS, PairCounts, executed_programs, share_of
from store.sql import native
from store.tables.columns import table_of
from store.tables.runs import StepRow


def pair_counts(connection: Connection, run_id: UUID) -> PairCounts:
    """Count the pairs of a run by what its agents found."""
    rows = connection.execute(_assessments(table_of(StepRow), run_id))
    found: dict[str, int] = {name: int(count) for name, count in rows}
    match, nonmatch, unclear = (found.get(name, 0) for name in ("clear_match", "clear_nonmatch", "unclear"))
    return PairCounts(match, nonmatch, unclear, *executed_programs(connection, run_id))


def _assessments(step: Table, run_id: UUID) -> Select[Any]:
    """Count items by the screener's last assessment; replies of failed steps need not be JSON."""
    place = func.row_number().over(partition_by=step.c.item_id, order_by=step.c.id.desc())
    screened = (
        select(step.c.id, place.label("place"))
        .where(step.c.run_id == run_id, step.c.role == "screener", step.c.outcome == "ok")
        .subquery()
    )
    assessment = cast(step.c.reply, JSON)["assessment"].as_string()
    return (
        select(assessment, func.count())
        .select_from(step)
        .join(screened, screened.c.id == step.c.id)
        .where(screened.c.place == 1)
        .group_by(assessment)
    )


@dataclass(frozen=True, slots=True)
class RepairTries:
    """The numbers of repairs of one kind: made, and worked."""

    made: int = 0
    worked: int = 0


@dataclass(frozen=True, slots=True)
class Repairs:
    """The results of the loop of Algorithm 1, by program (CoSQA+, section IV.C).

    Attributes:
        programs: Pairs whose program was repaired or corrected, or left to a model for that.
        installed: Those executable in the end after nothing but direct installations.
        by_model: Those executable in the end after commands of the model, and no correction.
        corrected: Those executable in the end after the test writer corrected them.
        given_up: All others that were ruled on.
        installations: Every direct installation.
        commands: Every set of commands of the model.
        corrections: Every correction, and those after which the program was executable in the end.
    """

    programs: int
    installed: int
    by_model: int
    corrected: int
    given_up: int
    installations: RepairTries
    commands: RepairTries
    corrections: RepairTries

    @property
    def unfinished(self) -> int:
        """Those that are neither executable nor ruled on."""
        return self.programs - self.installed - self.by_model - self.corrected - self.given_up


@dataclass(frozen=True, slots=True)
class StageSeconds:
    """One role's turns on the pairs of a class: how many, on how many pairs, and their seconds in all."""

    JSON_ALSO: ClassVar = ("mean",)

    steps: int
    pairs: int
    total: float

    @property
    def mean(self) -> float | None:
        """The mean of the pairs that the role worked on."""
        return share_of(self.total, self.pairs)


@dataclass(frozen=True, slots=True)
class PairSeconds:
    """The time that the agents took for the pairs of a class.

    Attributes:
        pairs: How many pairs.
        total: Seconds of all turns on them.
        median: Of a pair's seconds.
        longest: Of a pair's seconds.
        stages: By role, in the order in which the roles come.
    """

    JSON: ClassVar = ("pairs", "total", "mean", "median", "longest", "stages")

    pairs: int = 0
    total: float = 0.0
    median: float | None = None
    longest: float | None = None
    stages: Mapping[str, StageSeconds] = field(default_factory=dict)

    @property
    def mean(self) -> float | None:
        """Seconds of a pair, on average; None without pairs."""
        return share_of(self.total, self.pairs)


@dataclass(frozen=True, slots=True)
class TableTwo:
    """The figures of Table II of CoSQA+, for the pairs that a run has labelled.

    Attributes:
        pairs: Pairs with a verdict of the run.
        codes: Different codes among them.
        code_mean_length: Characters of a code, on average, each code counted once; None without codes.
    """

    pairs: int
    codes: int
    code_mean_length: float | None


@dataclass(frozen=True, slots=True)
class PairFigures:
    """The figures of a run that `report pipeline` adds to `PairCounts`.

    Attributes:
        counted_programs: Executable programs whose tests have names, so that they can be counted.
        mean_test_cases: Tests of such a program, on average; None without one.
        repairs: The work of bug fixer and test correction.
        not_executable: The last executions that were not executable: exit reason, error line, the code where
            its own syntax is the error, and how many there are of them.
        seconds: Of clear, unclear and unscreened pairs.
        table_two: The figures of Table II that are about the data.
    """

    counted_programs: int
    mean_test_cases: float | None
    repairs: Repairs
    not_executable: Sequence[tuple[str, str, str, int]]
    seconds: Mapping[str, PairSeconds]
    table_two: TableTwo


# What the steps of a run say of each of its pairs. The last step is the one with the highest id; replies of
# other roles need not be JSON.
_PAIRS_TABLE = """
CREATE OR REPLACE TEMP TABLE figures_pair AS
WITH steps AS (
    SELECT
        item_id,
        arg_max(CASE WHEN role = 'screener' AND outcome = 'ok' THEN reply ->> '$.assessment' END, id)
            AS assessment,
        sum(seconds) AS seconds,
        bool_or(role IN ('repair', 'bug_fixer', 'test_correction')) AS repaired,
        bool_or(role = 'test_correction' AND outcome = 'ok') AS corrected,
        coalesce(bool_or(CASE WHEN role = 'repair' AND outcome = 'ok' THEN
                (reply ->> '$.repair') = 'commands' AND (reply ->> '$.outcome') = 'done' END), false)
            AS commanded,
        coalesce(bool_or(CASE WHEN role = 'repair' AND outcome = 'ok' THEN
                (reply ->> '$.repair') = 'install' AND (reply ->> '$.outcome') = 'done' END), false)
            AS installed
    FROM step WHERE run_id = $run GROUP BY item_id
)
SELECT
    steps.*,
    CASE WHEN assessment IN ('clear_match', 'clear_nonmatch') THEN 'clear'
        WHEN assessment = 'unclear' THEN 'unclear' ELSE 'unscreened' END AS class,
    EXISTS (FROM verdict WHERE verdict.run_id = $run AND verdict.item_id = steps.item_id) AS labelled
FROM steps
"""

_REPAIRS = """
SELECT count(*) AS programs,
    count(*) FILTER (way = 'installed') AS installed,
    count(*) FILTER (way = 'by_model') AS by_model,
    count(*) FILTER (way = 'corrected') AS corrected,
    count(*) FILTER (way IS NULL AND labelled) AS given_up
FROM (
    SELECT labelled, CASE WHEN program.executable IS NOT TRUE THEN NULL WHEN corrected THEN 'corrected'
        WHEN commanded THEN 'by_model' WHEN installed THEN 'installed' END AS way
    FROM figures_pair LEFT JOIN figures_program program USING (item_id) WHERE repaired
)
"""

_NOT_EXECUTABLE = """
SELECT execution.exit_reason, execution.error,
    CASE WHEN execution.error LIKE '%(candidate.py, line %' THEN code.text ELSE '' END, count(*)
FROM figures_program program JOIN execution ON execution.id = program.id
    JOIN pair ON pair.item_id = program.item_id JOIN code ON code.id = pair.code_id
WHERE NOT program.executable GROUP BY ALL
"""

_CORRECTIONS = """
SELECT count(*) AS made, count(*) FILTER (program.executable) AS worked
FROM figures_pair LEFT JOIN figures_program program USING (item_id) WHERE corrected
"""

# A repair whose snapshot was lost is made again under the same hash, and counts once.
_TRIES = """
WITH tries AS (
    SELECT item_id, request_hash, (reply ->> '$.repair') AS kind,
        bool_or((reply ->> '$.outcome') = 'done') AS worked
    FROM step WHERE run_id = $run AND role = 'repair' AND outcome = 'ok' GROUP BY ALL
)
SELECT kind, count(*), count(*) FILTER (worked) FROM tries GROUP BY kind
"""

_PAIR_SECONDS = """
SELECT class, count(*), sum(seconds), median(seconds), max(seconds) FROM figures_pair GROUP BY class
"""

_STAGES = """
SELECT class, role, count(*), count(DISTINCT item_id), sum(step.seconds)
FROM step JOIN figures_pair USING (item_id) WHERE run_id = $run GROUP BY class, role
ORDER BY class, min(step.id)
"""

_CODES = """
WITH codes AS (
    SELECT DISTINCT code_id FROM pair JOIN verdict USING (item_id) WHERE verdict.run_id = $run
)
SELECT (SELECT count(*) FROM verdict WHERE run_id = $run) AS pairs, count(*) AS codes,
    avg(length(code.text)) AS code_mean_length
FROM codes JOIN code ON code.id = codes.code_id
"""


def pair_figures(connection: Connection, run_id: UUID) -> PairFigures:
    """Add up the figures of a run, as the records are at one moment, without a row of them in Python."""
    cursor = native(connection)

    def rows(statement: str) -> list[tuple[Any, ...]]:
        values = {"run": run_id} if "$run" in statement else None
        return cursor.execute(statement, values).fetchall()

    def row(statement: str) -> dict[str, Any]:
        (values,) = rows(statement)
        return dict(zip((column[0] for column in cursor.description or ()), values, strict=True))

    rows(_PAIRS_TABLE)
    rows(PROGRAMS_TABLE)
    tries = {kind: RepairTries(made, worked) for kind, made, worked in rows(_TRIES)}
    return PairFigures(
        **row(TESTS),
        repairs=Repairs(
            **row(_REPAIRS),
            installations=tries.get("install", RepairTries()),
            commands=tries.get("commands", RepairTries()),
            corrections=RepairTries(**row(_CORRECTIONS)),
        ),
        not_executable=rows(_NOT_EXECUTABLE),
        seconds=_seconds(rows(_PAIR_SECONDS), rows(_STAGES)),
        table_two=TableTwo(**row(_CODES)),
    )


def _seconds(pairs: Sequence[tuple[Any, ...]], stages: Sequence[tuple[Any, ...]]) -> dict[str, PairSeconds]:
    """Return the seconds by class, to the microsecond: the last digits of a sum depend on its order."""
    by_class: dict[str, dict[str, StageSeconds]] = {}
    for name, role, steps, items, seconds in stages:
        by_class.setdefault(name, {})[role] = StageSeconds(steps, items, round(seconds, 6))
    found = {
        name: PairSeconds(count, round(total, 6), round(median, 6), round(longest, 6), by_class.get(name, {}))
        for name, count, total, median, longest in pairs
    }
    return {name: found.get(name, PairSeconds()) for name in ("clear", "unclear", "unscreened")}
