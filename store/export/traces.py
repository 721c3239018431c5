"""The traces of a run, read from the workspace some items at a time (see store.formats.traces)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import duckdb

from store.errors import ExportFailed
from store.export.items import stored_texts
from store.export.labels import EXPORTED, create_words
from store.formats.traces import plain
from store.record.response_names import response_name_sql
from store.sql import count

_ITEMS = 500
"""Items in memory at a time, with their steps and executions."""

Rows = list[dict[str, Any]]


def traces(cursor: duckdb.DuckDBPyConnection, rater_id: int) -> Iterator[Mapping[str, Any]]:
    """Yield the trace of every exported item that a run has a step or a verdict of, in the items' order.

    The cursor is inside a read transaction, and the rater is the run's.

    Raises:
        ExportFailed: The run made responses, whose texts traces do not hold.
    """
    (run,) = _rows(cursor, "SELECT * FROM run WHERE rater_id = ? ORDER BY started_at DESC LIMIT 1", rater_id)
    if count(cursor, f"SELECT count(*) FROM response WHERE run_id = '{run['id']}'"):
        raise ExportFailed(
            "Not of this format",
            f"{run['name']} made responses, and a trace does not hold their texts.",
            "Write its labels: --format labels",
        )
    create_words(cursor)
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE traced_item AS SELECT DISTINCT item_id FROM ("
        "SELECT item_id FROM step WHERE run_id = $run UNION ALL "
        f"SELECT item_id FROM verdict WHERE run_id = $run) WHERE item_id IN {EXPORTED}",
        {"run": run["id"]},
    )
    head = _run(run)
    last = -1
    while items := _rows(
        cursor,
        "SELECT i.id, i.kind, i.external_id, i.content_hash, i.extra FROM item i "
        f"JOIN traced_item t ON t.item_id = i.id WHERE i.id > ? ORDER BY i.id LIMIT {_ITEMS}",
        last,
    ):
        first, last = items[0]["id"], items[-1]["id"]
        steps, verdicts = _steps(cursor, run["id"], first, last), _verdicts(cursor, run["id"], first, last)
        texts = stored_texts(cursor, {item["id"]: item["kind"] for item in items})
        for item in items:
            given = verdicts[item["id"]]
            label = given[0] if given and "@" not in given[0]["question"] else {}
            yield {
                "item": item["external_id"],
                "kind": item["kind"],
                "content_hash": item["content_hash"],
                **{name: label.get(field) for name, field in _SHOWN.items()},
                "texts": {**texts.get(item["id"], {}), "extra": json.loads(item["extra"])},
                "run": head,
                "steps": steps[item["id"]],
                "verdicts": given,
            }


_SHOWN = {"label": "value", "word": "word", "path": "path", "reason": "reason"}
"""The fields of the first verdict that begin a trace, each with its column."""


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run as every trace of it holds it; while nobody exports, nobody is at work."""
    head = plain("trace_run", run)
    head["configuration"] = json.loads(head["configuration"])
    if head["state"] in ("running", "paused"):
        head["state"] = "stopped"
    return head


def _steps(cursor: duckdb.DuckDBPyConnection, run_id: UUID, first: int, last: int) -> Mapping[int, Rows]:
    """Return the steps of a run on the items from one to another, by item, in the order they were taken."""
    taken = "FROM step WHERE run_id = $run AND item_id BETWEEN $first AND $last"
    given = {"run": run_id, "first": first, "last": last}
    tests: Mapping[UUID, Rows] = defaultdict(list)
    for test in _rows(
        cursor,
        f"SELECT t.* FROM test_outcome t JOIN execution e ON e.id = t.execution_id "
        f"WHERE e.step_id IN (SELECT id {taken}) ORDER BY t.execution_id, t.position",
        given,
    ):
        tests[test["execution_id"]].append(plain("trace_test", test))
    executions = {
        made["step_id"]: {**plain("trace_execution", made), "tests": tests[made["id"]]}
        for made in _rows(cursor, f"SELECT * FROM execution WHERE step_id IN (SELECT id {taken})", given)
    }
    replies = {
        reply["id"]: plain("trace_reply", reply)
        for reply in _rows(cursor, f"SELECT * FROM reply WHERE id IN (SELECT reply_id {taken})", given)
    }
    found: Mapping[int, Rows] = defaultdict(list)
    for step in _rows(cursor, f"SELECT * {taken} ORDER BY id", given):
        found[step["item_id"]].append(
            {
                **plain("trace_step", step),
                "reply": _object(step["reply"]),
                "stored_reply": replies.get(step["reply_id"]),
                "execution": executions.get(step["id"]),
            }
        )
    return found


def _verdicts(cursor: duckdb.DuckDBPyConnection, run_id: UUID, first: int, last: int) -> Mapping[int, Rows]:
    found: Mapping[int, Rows] = defaultdict(list)
    for verdict in _rows(
        cursor,
        f"SELECT v.*, CASE WHEN r.id IS NULL THEN q.name ELSE q.name || '@' || {response_name_sql('r')} END "
        "AS question, w.word FROM verdict v JOIN question q ON q.id = v.question_id "
        "LEFT JOIN response_ref r ON r.id = v.response_ref_id "
        "LEFT JOIN word w ON w.question_id = q.id AND w.value = v.value "
        "WHERE v.run_id = $run AND v.item_id BETWEEN $first AND $last "
        "ORDER BY v.item_id, r.id IS NOT NULL, q.id, v.id",
        {"run": run_id, "first": first, "last": last},
    ):
        named = {name: verdict[name] for name in ("question", "word")}
        found[verdict["item_id"]].append({**named, **plain("trace_verdict", verdict)})
    return found


def _object(text: str) -> Any:
    """Return a reply as the JSON object that it is, else as its text."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return found if isinstance(found, dict) else text


def _rows(cursor: duckdb.DuckDBPyConnection, statement: str, given: Any = None) -> Rows:
    rows = cursor.execute(statement, given if isinstance(given, dict) else [given])
    names = [column[0] for column in rows.description or ()]
    return [dict(zip(names, row, strict=True)) for row in rows.fetchall()]
