"""From staged traces to the runs, steps, executions and verdicts of this workspace."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import duckdb

from store.formats.traces import row_types
from store.ingest.problems import Problem, problems_of, refused_rows
from store.ingest.resolve_items import keys_for
from store.ingest.stages import NEW_STEP, NEW_VERDICT, TRACED_RUN
from store.record.ids import IdClock
from store.sql import any_row

_KEY = (
    "({0}.run_id, {0}.item_id, {0}.question_id, coalesce({0}.model || '/' || {0}.setting || {0}.trial, ''))"
)
"""The key of a verdict: a run has one for each item, question and response."""
_RUN_COLUMNS = tuple(name for name in row_types("trace_run") if name != "id")


def resolve_traces(cursor: duckdb.DuckDBPyConnection) -> list[Problem]:
    """Find the run, item and question of every staged row of a trace.

    A run is its configuration: one that was begun here, too, or in another file, is the same run.

    Args:
        cursor: The cursor that holds the staging tables, with items numbered.

    Returns:
        The traces that cannot be taken.
    """
    TRACED_RUN.fill(
        cursor,
        f"""
        SELECT n.id AS theirs, coalesce(w.id, same.id, n.lowest) AS ours,
            w.id IS NULL AND same.id IS NULL AND n.id = n.lowest AS fresh, n.*
        FROM (SELECT *, min(id) OVER (PARTITION BY configuration) AS lowest FROM (
            SELECT id, min(position) AS first, count(DISTINCT hash(configuration, name, kind)) > 1 AS torn,
                {", ".join(f"arg_min_null({name}, position) AS {name}" for name in _RUN_COLUMNS)}
            FROM stage_trace_run GROUP BY id
        )) n LEFT JOIN run w ON w.id = n.id
        LEFT JOIN (SELECT configuration, min(id) AS id FROM run GROUP BY configuration) same
            ON same.configuration = n.configuration
        """,
    )
    NEW_STEP.fill(
        cursor,
        f"""
        SELECT s.position, s.file, s.number, s.line, s.external_id, s.id, r.ours AS run_id, i.id AS item_id,
            w.id IS NOT NULL AS held, s.role, s.attempt,
            w.id IS NOT NULL AND (w.run_id, w.item_id, w.role, w.attempt, w.outcome)
                IS DISTINCT FROM (r.ours, i.id, s.role, s.attempt, s.outcome) AS differs
        FROM stage_trace_step s JOIN traced_run r ON r.theirs = s.run
        JOIN {keys_for(cursor, "stage_trace_run")} i ON (i.kind, i.external_id) = (s.kind, s.external_id)
        LEFT JOIN step w ON w.id = s.id
        """,
    )
    NEW_VERDICT.fill(
        cursor,
        f"""
        SELECT s.position, s.file, s.number, s.line, s.external_id, s.id, r.ours AS run_id, r.name AS run,
            i.id AS item_id, q.id AS question_id, s.model, s.setting, s.trial, s.value,
            w.id IS NOT NULL AS held,
            w.id IS NOT NULL AND (w.run_id, w.item_id, w.question_id, w.value, f.model, f.setting, f.trial)
                IS DISTINCT FROM (r.ours, i.id, q.id, s.value, s.model, s.setting, s.trial) AS differs
        FROM stage_trace_verdict s JOIN traced_run r ON r.theirs = s.run
        JOIN {keys_for(cursor, "stage_trace_run")} i ON (i.kind, i.external_id) = (s.kind, s.external_id)
        JOIN question q ON q.name = s.question LEFT JOIN verdict w ON w.id = s.id
        LEFT JOIN response_ref f ON f.id = w.response_ref_id
        """,
    )
    if not any_row(cursor, "traced_run"):
        return []
    merge = "both worked on it, so merge a copy of the other workspace instead (workbench merge)"
    problems = problems_of(
        cursor,
        "SELECT s.file, s.number, s.line, t.name FROM stage_trace_run s JOIN traced_run t ON t.theirs = s.id "
        "LEFT JOIN run w ON w.id = s.id WHERE t.torn OR w.configuration <> s.configuration "
        "ORDER BY s.position",
        "the run {0} has the id of a run with another configuration",
    )
    problems += problems_of(
        cursor,
        """
        SELECT s.file, s.number, s.line, s.id
        FROM stage_trace_execution s LEFT JOIN execution w ON w.id = s.id
        WHERE w.id IS NOT NULL AND w.step_id IS DISTINCT FROM s.step_id
            OR s.id IN (SELECT id FROM stage_trace_execution GROUP BY id HAVING count(DISTINCT step_id) > 1)
        ORDER BY s.position
        """,
        "the execution {0} belongs to another step, too",
    )
    problems += refused_rows(
        cursor,
        "new_step",
        {
            "the step {id} is in the workspace with other content": "differs",
            "the step {id} occurs twice with different content": (
                "id IN (SELECT id FROM new_step GROUP BY id "
                "HAVING count(DISTINCT hash(run_id, item_id, role, attempt)) > 1)"
            ),
            f"the run has other steps on {{external_id!r}} here: {merge}": (
                "NOT held AND EXISTS (FROM step w WHERE w.run_id = n.run_id AND w.item_id = n.item_id "
                "AND w.id NOT IN (SELECT id FROM new_step))"
            ),
        },
    )
    return problems + refused_rows(
        cursor,
        "new_verdict",
        {
            "the verdict {id} is in the workspace with other content": "differs",
            "the run has two verdicts on one question of {external_id!r}": (
                f"{_KEY.format('n')} IN (SELECT {_KEY.format('v')} FROM new_verdict v "
                "GROUP BY ALL HAVING count(DISTINCT id) > 1)"
            ),
            f"the run has another verdict on {{external_id!r}} here: {merge}": (
                "NOT held AND EXISTS (FROM verdict w LEFT JOIN response_ref f ON f.id = w.response_ref_id "
                "WHERE w.run_id = n.run_id AND w.item_id = n.item_id AND w.question_id = n.question_id "
                "AND (f.model, f.setting, f.trial) IS NOT DISTINCT FROM (n.model, n.setting, n.trial) "
                "AND w.id <> n.id)"
            ),
        },
    )


def trace_counts(cursor: duckdb.DuckDBPyConnection, file: int) -> dict[str, Any]:
    """Count the steps and verdicts that a file adds, by the names of `FileReport`."""
    ((steps,),) = cursor.execute(
        "SELECT count(DISTINCT id) FROM new_step WHERE file = ? AND NOT held", [file]
    ).fetchall()
    verdicts = cursor.execute(
        "SELECT run, count(DISTINCT id) FROM new_verdict WHERE file = ? AND NOT held GROUP BY run",
        [file],
    )
    added = dict(sorted(verdicts.fetchall()))
    ((known,),) = cursor.execute(
        "SELECT count(DISTINCT id) FROM new_verdict WHERE file = ? AND held", [file]
    ).fetchall()
    return {"steps_added": steps, "verdicts_added": added, "verdicts_known": known}


def new_runs(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names of the runs that the traces bring."""
    found = cursor.execute("SELECT DISTINCT name FROM traced_run WHERE fresh ORDER BY name")
    return [str(name) for (name,) in found.fetchall()]


def publish_traces(cursor: duckdb.DuckDBPyConnection, ids: IdClock) -> None:
    """Append the new rows under their own ids; inside the publishing transaction, with raters stored.

    The floor of the clock is raised above the ids that arrive.
    """
    if not any_row(cursor, "traced_run"):
        return
    cursor.execute(
        f"""
        INSERT INTO run BY NAME
        SELECT t.ours AS id, p.id AS rater_id, {", ".join(f"t.{name}" for name in _RUN_COLUMNS)}
        FROM traced_run t JOIN rater p ON p.name = t.name WHERE t.fresh ORDER BY t.ours
        """
    )
    _append(cursor, "step", "r.run_id, r.item_id", "JOIN new_step r ON r.id = s.id AND NOT r.held")
    _append(cursor, "reply")
    _append(
        cursor, "execution", "r.item_id, s.step_id, NULL AS rater_id", "JOIN new_step r ON r.id = s.step_id"
    )
    _append(
        cursor,
        "test_outcome",
        "s.execution_id, s.place AS position",
        "JOIN stage_trace_execution e ON e.id = s.execution_id "
        "JOIN new_step r ON r.id = e.step_id AND NOT r.held",
    )
    _append(
        cursor,
        "verdict",
        "r.run_id, r.item_id, r.question_id, f.id AS response_ref_id",
        "JOIN new_verdict r ON r.id = s.id AND NOT r.held "
        "LEFT JOIN response_ref f ON (f.item_id, f.model, f.setting, f.trial) "
        "= (r.item_id, r.model, r.setting, r.trial)",
    )
    ((step, verdict, execution),) = cursor.execute(
        "SELECT (SELECT max(id) FROM new_step), (SELECT max(id) FROM new_verdict), "
        "(SELECT max(id) FROM stage_trace_execution)"
    ).fetchall()
    for highest in (step, verdict, execution):
        if isinstance(highest, UUID):
            ids.raise_floor(highest)


def _append(cursor: duckdb.DuckDBPyConnection, table: str, keys: str = "", joined: str = "") -> None:
    """Append the rows of a table that are new, each once.

    Args:
        cursor: The cursor that holds the staging tables.
        table: The table.
        keys: The columns that other rows give, as SQL.
        joined: The joins that these need.
    """
    sort = "trace_test" if table == "test_outcome" else f"trace_{table}"
    key = "execution_id, position" if table == "test_outcome" else "id"
    columns = [f"s.{name}" for name in row_types(sort)]
    cursor.execute(
        f"INSERT INTO {table} BY NAME SELECT DISTINCT ON ({key}) * FROM ("
        f"SELECT {', '.join([*([keys] if keys else []), *columns])} FROM stage_{sort} s {joined}) "
        f"ANTI JOIN {table} USING ({key}) ORDER BY {key}"
    )
