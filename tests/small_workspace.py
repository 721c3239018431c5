"""Small workspaces of pairs, scripted replies for them, and what a job told, for tests of the agents."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, insert, select

from agents.jobs.events import JobEvent
from agents.settings import JobSettings
from store.record.actions import Action, Recorder
from store.record.ids import now
from store.record.raters import ensure_rater, question_number
from store.tables.columns import table_of
from store.tables.imported import Code, Item, Pair, Query, Source
from store.tables.people import Rater
from store.tables.record import Judgment, Mark
from store.tables.runs import ExecutionRow, Run, StepRow, TestOutcomeRow, VerdictRow
from store.workspace.duckdb import Workspace

BEGAN = datetime(2024, 3, 4, 9, 30, tzinfo=UTC)
"""When everything in these workspaces happened, so that pictures of them stay the same."""

CAUSES = {
    "Rate limited": "rate_limited",
    "Model declined": "refused",
    "Reply malformed": "malformed",
    "Needs a sandbox": "needs_sandbox",
}
"""The causes that agents record with errors of these titles."""

GOOD = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return x + 2\n"
LACKING = "import no_such_package_anywhere\n\n\ndef double(x):\n    return 2 * x\n"
TEST = (
    "from candidate import double\n\n\n"
    "def test_two():\n    assert double(2) == 4\n\n\n"
    "def test_five():\n    print('five')\n    assert double(5) == 10, 'not doubled'\n\n\n"
    "def test_zero():\n    assert double(0) == 0\n"
)

# The two cells of a test program.
SCAFFOLD = (
    "# %% scaffold\n"
    "import functools\n"
    "from typing import List\n"
    "\n"
    "\n"
    "def larger(a, b):\n"
    "    return a if a > b else b\n"
    "\n"
    "\n"
)
TESTS_CELL = (
    "# %% tests\n"
    "from candidate import biggest\n"
    "\n"
    "\n"
    "def test_three():\n"
    "    assert biggest([1, 3, 2]) == 3\n"
    "\n"
    "\n"
    "def test_wrong():\n"
    "    assert biggest([1, 2]) == 1\n"
)


def pairs_workspace(folder: Path, pairs: Iterable[tuple[str, str, str]]) -> Workspace:
    """A new workspace with pairs, each an external id, a query and a code; item ids count from 1."""
    workspace = Workspace.create(folder / "pairs.duckdb")
    queries: dict[str, int] = {}
    rows: dict[type, list[dict[str, Any]]] = {Query: [], Code: [], Item: [], Pair: []}
    for number, (external_id, query, code) in enumerate(pairs, start=1):
        if query not in queries:
            queries[query] = len(queries) + 1
            rows[Query].append({"id": queries[query], "text": query, "text_hash": _hash(query)})
        empty = {"name": "", "repository": "", "path": "", "licence": ""}
        rows[Code].append(
            {"id": number, "text": code, "text_hash": _hash(code), "language": "python", **empty}
        )
        rows[Item].append(
            {
                "id": number,
                "kind": "pair",
                "external_id": external_id,
                "group_id": queries[query],
                "source_id": 1,
                "content_hash": _hash(query + code),
                "extra": "{}",
            }
        )
        rows[Pair].append({"item_id": number, "query_id": queries[query], "code_id": number, "rank": number})

    def write(connection: Connection) -> None:
        source = {"id": 1, "sha256": "0", "name": "test", "format": "jsonl", "licence": "", "url": ""}
        connection.execute(
            insert(table_of(Source)).values(**source, records=len(rows[Item]), imported_at=now())
        )
        for model, values in rows.items():
            connection.execute(insert(table_of(model)), values)

    workspace.lane.submit(write).result()
    return workspace


def script_file(folder: Path, replies: Iterable[tuple[str, str, Any]], name: str = "replies.jsonl") -> str:
    """A file of scripted replies, as (role, subject, reply); a reply "!kind" is an error of that kind."""
    path = folder / name
    with path.open("w", encoding="utf-8") as file:
        for role, subject, reply in replies:
            line: dict[str, Any] = {
                "role": role,
                "subject": subject,
                "usage": {"tokens_in": 10, "tokens_out": 2},
            }
            if isinstance(reply, str) and reply.startswith("!"):
                line["error"] = reply[1:]
            else:
                line["reply"] = reply
            file.write(json.dumps(line) + "\n")
    return f"scripted:{path}"


def clear(subject: str, assessment: str = "clear_match") -> tuple[str, str, dict[str, str]]:
    """A screener that is certain."""
    return ("screener", subject, {"assessment": assessment, "justification": f"{subject} is plain"})


def through_test(subject: str, label: int, test: str = TEST) -> list[tuple[str, str, dict[str, Any]]]:
    """The three replies for a pair that is tested."""
    return [
        clear(subject, "unclear"),
        ("test_writer", subject, {"interpretation": "twice the number", "test_program": test}),
        ("arbiter", subject, {"label": label, "reason": f"the tests say {label}"}),
    ]


class Told:
    """Keeps what a job told; `until` waits for it."""

    def __init__(self, also: Callable[[JobEvent], None] | None = None) -> None:
        self.events: list[JobEvent] = []
        self._also = also
        self._changed = threading.Condition()

    def __call__(self, event: JobEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()
        if self._also is not None:
            self._also(event)

    def of(self, kind: type) -> list[Any]:
        """The events of one kind, in order."""
        with self._changed:
            return [event for event in self.events if isinstance(event, kind)]

    def until(self, wanted: Callable[[JobEvent], bool], timeout: float = 60.0) -> JobEvent:
        """Wait for an event and return it."""
        with self._changed:
            came = self._changed.wait_for(lambda: any(map(wanted, self.events)), timeout)
            assert came, f"never told; last: {self.events[-3:]}"
            return next(filter(wanted, self.events))


def rows(workspace: Workspace, model: type, **where: Any) -> list[dict[str, Any]]:
    """The stored rows of a table, those with an id in the order of their ids."""
    table = table_of(model)
    found = select(table).where(*(table.c[name] == value for name, value in where.items()))
    order = ("execution_id", "position") if model is TestOutcomeRow else ("id",)
    with workspace.reading() as connection:
        return [dict(row) for row in connection.execute(found.order_by(*order)).mappings()]


def turns_of(workspace: Workspace, item_id: int) -> list[tuple[str, int, str]]:
    """The steps on an item, as (role, attempt, outcome)."""
    return [
        (step["role"], step["attempt"], step["outcome"]) for step in rows(workspace, StepRow, item_id=item_id)
    ]


def the_run(workspace: Workspace) -> dict[str, Any]:
    """The only run there is."""
    (run,) = rows(workspace, Run)
    return run


def verdicts(workspace: Workspace) -> dict[int, tuple[float, str]]:
    """The verdicts by item, as (value, path); fails when an item has two."""
    found = rows(workspace, VerdictRow)
    assert len({row["item_id"] for row in found}) == len(found)
    return {row["item_id"]: (row["value"], row["path"]) for row in found}


def executions(workspace: Workspace) -> list[dict[str, Any]]:
    """The executions, in order."""
    return rows(workspace, ExecutionRow)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def labelled_by_agents(
    workspace: Workspace,
    verdicts: Iterable[tuple[int, float, str]],
    failures: Iterable[tuple[int, str]] = (),
    *,
    name: str = "cosqa-plus:scripted",
    fullness: int = 0,
) -> UUID:
    """Store a run that is done.

    Args:
        workspace: Where it is stored.
        verdicts: As (item, value, path); each has a screener's step.
        failures: Items without a verdict, each with the error of its screener's step.
        name: The run's name; another run has another one.
        fullness: The place of its configuration, the fullest last.
    """
    rater = ensure_rater(workspace, name, "agent")
    run_id = workspace.ids.next()
    steps: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    for item_id, value, path in verdicts:
        clear = "clear_match" if value else "clear_nonmatch"
        assessment = clear if path == "screened" else "unclear"
        reply = f'{{"assessment": "{assessment}", "justification": "as it reads"}}'
        step = {"id": workspace.ids.next(), "run_id": run_id, "item_id": item_id, "attempt": 0}
        step |= {"role": "screener", "outcome": "ok", "reply": reply, "tokens_in": 400, "tokens_out": 20}
        step |= {
            "request_hash": "",
            "error": "",
            "cause": "",
            "model": "scripted",
            "tokens_cached": 0,
            "money": 0.0001,
        }
        steps.append({**step, "requests": 1, "seconds": 0.5, "created_at": BEGAN})
        verdict = {
            "id": workspace.ids.next(),
            "run_id": run_id,
            "item_id": item_id,
            "question_id": 1,
            "value": value,
        }
        labels.append({**verdict, "path": path, "reason": "as it reads", "created_at": BEGAN})

    for item_id, error in failures:
        failed = {
            "id": workspace.ids.next(),
            "item_id": item_id,
            "outcome": "failed",
            "reply": "",
            "error": error,
            "cause": CAUSES[error.partition(":")[0]],
        }
        steps.append({**steps[0], **failed})

    def write(connection: Connection) -> None:
        run = {"id": run_id, "kind": "pair", "name": name, "configuration": f'"{name}"', "fullness": fullness}
        run |= {"model": "scripted", "rater_id": rater.id, "state": "done", "total": len(labels)}
        ended = BEGAN + timedelta(minutes=3)
        connection.execute(insert(table_of(Run)).values(**run, started_at=BEGAN, ended_at=ended))
        if labels:
            connection.execute(insert(table_of(StepRow)), steps)
            connection.execute(insert(table_of(VerdictRow)), labels)

    workspace.lane.submit(write).result()
    return run_id


def label(
    workspace: Workspace, rater: Rater, item_id: int, value: float, question: str = "pair.match"
) -> Action:
    """An action that gives an item a label."""
    with workspace.reading() as connection:
        question_id = question_number(connection, question)
    action = workspace.ids.next()
    record = Judgment(
        id=workspace.ids.next(),
        action=action,
        item_id=item_id,
        question_id=question_id,
        rater_id=rater.id,
        value=value,
        created_at=BEGAN,
    )
    return Action(action, (record,))


def mark(workspace: Workspace, rater: Rater, item_id: int, kind: str) -> Action:
    """An action that marks an item."""
    action = workspace.ids.next()
    record = Mark(
        id=workspace.ids.next(),
        action=action,
        item_id=item_id,
        rater_id=rater.id,
        kind=kind,
        created_at=BEGAN,
    )
    return Action(action, (record,))


def recorded(workspace: Workspace, rater: Rater, *actions: Action) -> None:
    """Store actions."""
    recorder = Recorder(workspace, rater)
    for action in actions:
        recorder.submit(action).result()


def script(
    folder: Path, replies: Iterable[tuple[str, str, float]], name: str = "replies.jsonl"
) -> JobSettings:
    """Settings of a job that answers one item after another from a file.

    Args:
        folder: Where the file is written.
        replies: (item's external id, assessment or "!kind" of an error, seconds it takes).
        name: The file's name.
    """
    lines = []
    for subject, word, seconds in replies:
        line: dict[str, Any] = {"role": "screener", "subject": subject, "delay_seconds": seconds}
        line["usage"] = {"tokens_in": 400, "tokens_out": 20}
        if word.startswith("!"):
            line["error"] = word[1:]
        else:
            line["reply"] = {"assessment": word, "justification": "as it reads"}
        lines.append(json.dumps(line))
    path = import_of(folder, "\n".join(lines) + "\n", name)
    return JobSettings(model=f"scripted:{path}", concurrency=1, stop_seconds=0.0)


def import_of(folder: Path, text: str, name: str = "pairs.jsonl") -> Path:
    """A file with a text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
