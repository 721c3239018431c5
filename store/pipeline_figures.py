"""The figures of an agents' run, added up from its records by DuckDB, without a row of them in Python."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb

from store.pipeline_report import PairSeconds, Repairs, RepairTries, RunFigures, StageSeconds, TableTwo
from store.queries.rows import NEEDS_SANDBOX
from store.queries.run_counts import known_cost
from store.tables.runs import Run
from store.workspace.duckdb import Workspace

# What the steps of a run say of each of its pairs. The last step is the one with the highest id; replies of
# other roles need not be JSON.
_PAIRS = """
CREATE OR REPLACE TEMP TABLE figures_pair AS
WITH told AS (
    SELECT
        item_id,
        arg_max(CASE WHEN role = 'screener' AND outcome = 'ok' THEN reply ->> '$.assessment' END, id)
            AS assessment,
        sum(seconds) AS seconds,
        sum(money) AS money,
        count(*) FILTER (requests > 0 AND money IS NULL) AS unpriced,
        arg_max(outcome, id) AS last_outcome,
        arg_max(split_part(error, ': ', 1), id) AS last_error,
        bool_or(role IN ('repair', 'bug_fixer') AND outcome = 'ok') AS repaired,
        coalesce(bool_or(CASE WHEN role = 'repair' AND outcome = 'ok' THEN
                (reply ->> '$.repair') = 'commands' AND (reply ->> '$.outcome') = 'done' END), false)
            AS commanded
    FROM step WHERE run_id = $run GROUP BY item_id
)
SELECT
    told.*,
    CASE WHEN assessment IN ('clear_match', 'clear_nonmatch') THEN 'clear'
        WHEN assessment = 'unclear' THEN 'unclear' ELSE 'unscreened' END AS class,
    EXISTS (FROM verdict WHERE verdict.run_id = $run AND verdict.item_id = told.item_id) AS labelled
FROM told
"""

# The last program of each pair that a sandbox ran; one that broke says nothing about the program.
_PROGRAMS = """
CREATE OR REPLACE TEMP TABLE figures_program AS
SELECT execution.item_id, max(execution.id) AS id, arg_max(executable, execution.id) AS executable
FROM execution JOIN step ON step.id = execution.step_id
WHERE step.run_id = $run AND exit_reason <> 'infrastructure' GROUP BY execution.item_id
"""

_SUMS = """
SELECT count(*) AS steps, coalesce(sum(requests), 0)::BIGINT AS requests,
    coalesce(sum(tokens_in), 0)::BIGINT AS tokens_in, coalesce(sum(tokens_out), 0)::BIGINT AS tokens_out,
    coalesce(sum(tokens_cached), 0)::BIGINT AS tokens_cached, sum(money) AS money,
    count(*) FILTER (requests > 0) AS asking_steps,
    count(*) FILTER (requests > 0 AND money IS NULL) AS unpriced_steps
FROM step WHERE run_id = $run
"""

# A reply of which it is not known what it cost leaves the sum unknown.
_KEPT = """
SELECT count(*) AS from_cache,
    CASE WHEN count(*) = count(reply.money) THEN coalesce(sum(reply.money), 0.0) END AS cost_from_cache
FROM step LEFT JOIN reply ON reply.id = step.reply_id WHERE step.run_id = $run AND step.from_cache
"""

_COUNTS = """
SELECT count(*) AS pairs, count(*) FILTER (labelled) AS labelled,
    count(*) FILTER (assessment = 'clear_match') AS clear_match,
    count(*) FILTER (assessment = 'clear_nonmatch') AS clear_nonmatch,
    count(*) FILTER (assessment = 'unclear') AS unclear,
    count(*) FILTER (unpriced > 0) AS unpriced_pairs,
    coalesce(sum(money) FILTER (unpriced = 0), 0) AS priced_money
FROM figures_pair
"""

_TESTS = """
WITH tests AS (
    SELECT program.executable, count(test_outcome.execution_id) AS cases
    FROM figures_program program LEFT JOIN test_outcome ON test_outcome.execution_id = program.id
    GROUP BY program.id, program.executable
)
SELECT count(*) AS executed, count(*) FILTER (executable) AS executable,
    count(*) FILTER (executable AND cases > 0) AS counted_programs,
    avg(cases) FILTER (executable AND cases > 0) AS mean_test_cases
FROM tests
"""

_REPAIRS = """
SELECT count(*) AS programs,
    count(*) FILTER (program.executable AND NOT commanded) AS installed,
    count(*) FILTER (program.executable AND commanded) AS by_model,
    count(*) FILTER (program.executable IS NOT TRUE AND labelled) AS given_up
FROM figures_pair LEFT JOIN figures_program program USING (item_id) WHERE repaired
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

_LABELS = "SELECT value, count(*) FROM verdict WHERE run_id = $run GROUP BY value ORDER BY value"
_PATHS = "SELECT path, count(*) FROM verdict WHERE run_id = $run GROUP BY path ORDER BY path"

_REASONS = """
SELECT last_error, count(*) AS pairs FROM figures_pair WHERE NOT labelled AND last_outcome = 'failed'
GROUP BY last_error ORDER BY pairs DESC, last_error
"""

_CODES = """
WITH codes AS (
    SELECT DISTINCT code_id FROM pair JOIN verdict USING (item_id) WHERE verdict.run_id = $run
)
SELECT count(*) AS codes, avg(length(code.text)) AS code_mean_length
FROM codes JOIN code ON code.id = codes.code_id
"""


def figures_of(workspace: Workspace, runs: Sequence[Run]) -> list[RunFigures]:
    """Add up the figures of some runs.

    Args:
        workspace: The open workspace.
        runs: The runs, of the task kind pair.

    Returns:
        One a run, in the order given, all of them as the records stood at one moment.
    """
    with _snapshot(workspace) as cursor:
        return [_figures(cursor, run) for run in runs]


@contextmanager
def _snapshot(workspace: Workspace) -> Iterator[duckdb.DuckDBPyConnection]:
    cursor = workspace.native()
    try:
        cursor.execute("BEGIN")
        yield cursor
    finally:
        # The tables made on the way are gone with it.
        cursor.close()


def _figures(cursor: duckdb.DuckDBPyConnection, run: Run) -> RunFigures:
    def rows(statement: str) -> list[tuple[Any, ...]]:
        given = {"run": run.id} if "$run" in statement else None
        return cursor.execute(statement, given).fetchall()

    def row(statement: str) -> dict[str, Any]:
        (values,) = rows(statement)
        return dict(zip((column[0] for column in cursor.description or ()), values, strict=True))

    rows(_PAIRS)
    rows(_PROGRAMS)
    sums, counts, tests, reasons = row(_SUMS), row(_COUNTS), row(_TESTS), dict(rows(_REASONS))
    money, asking_steps = sums.pop("money"), sums.pop("asking_steps")
    priced_money, priced = counts.pop("priced_money"), counts["pairs"] - counts["unpriced_pairs"]
    tries = {kind: RepairTries(made, worked) for kind, made, worked in rows(_TRIES)}
    needs_sandbox = reasons.pop(NEEDS_SANDBOX, 0)
    failed = sum(reasons.values())
    codes = row(_CODES)
    cost = known_cost(money, asking_steps, sums["unpriced_steps"])
    return RunFigures(
        run=run.name,
        id=run.id,
        state=run.state,
        model=run.model,
        configuration=json.loads(run.configuration),
        total=run.total,
        started_at=run.started_at,
        ended_at=run.ended_at,
        **sums,
        **row(_KEPT),
        **counts,
        **tests,
        labels=dict(rows(_LABELS)),
        paths=dict(rows(_PATHS)),
        repairs=Repairs(
            **row(_REPAIRS),
            installations=tries.get("install", RepairTries()),
            commands=tries.get("commands", RepairTries()),
        ),
        cost=cost,
        cost_per_pair=priced_money / priced if priced and cost is not None else None,
        seconds=_seconds(rows(_PAIR_SECONDS), rows(_STAGES)),
        failed=failed,
        failed_by_reason=reasons,
        needs_sandbox=needs_sandbox,
        unfinished=counts["pairs"] - counts["labelled"] - failed - needs_sandbox,
        table_two=TableTwo(counts["labelled"], **codes),
    )


def _seconds(pairs: Sequence[tuple[Any, ...]], stages: Sequence[tuple[Any, ...]]) -> dict[str, PairSeconds]:
    by_class: dict[str, dict[str, StageSeconds]] = {}
    for name, role, steps, items, seconds in stages:
        by_class.setdefault(name, {})[role] = StageSeconds(steps, items, seconds)
    found = {
        name: PairSeconds(count, total, median, longest, by_class.get(name, {}))
        for name, count, total, median, longest in pairs
    }
    return {name: found.get(name, PairSeconds()) for name in ("clear", "unclear", "unscreened")}
