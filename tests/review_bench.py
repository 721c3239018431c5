"""A workspace of hand-made pairs with every kind of case that agents can make, and what drives a review."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from apps import context_of
from made_once import copied
from scopes import scope
from settling import settled
from small_workspace import BEGAN, pairs_workspace
from sqlalchemy import Connection, insert, select
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Static

from screens.app import WorkbenchApp
from screens.judging.context import MessageLine
from screens.queue.query import QueueQuery
from screens.review.screen import ReviewScreen
from screens.widgets.text.view import TextPane
from store.cuts import Cut, cut_as_text
from store.queries.queue import queue_ids
from store.record.raters import ensure_rater, register_kinds
from store.tables.columns import table_of
from store.tables.record import JudgmentRow, MarkRow
from store.tables.runs import ExecutionRow, Run, StepRow, TestOutcomeRow, VerdictRow
from store.workspace.duckdb import Workspace

MODEL = "scripted:replies.jsonl"
RUN_NAME = "cosqa-plus:scripted"

IS_BLANK = (
    "def is_blank_file(path):\n"
    '    """True if the file holds only blanks."""\n'
    "    with open(path) as handle:\n"
    "        return not handle.read().strip()\n"
)
TEST = (
    "from candidate import is_blank_file\n\n\n"
    "def test_missing(tmp_path):\n    assert not is_blank_file(tmp_path / 'none')\n\n\n"
    "def test_only_newline(tmp_path):\n"
    "    file = tmp_path / 'a'\n    file.write_text('\\n')\n    assert not is_blank_file(file)\n"
)
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "test_program.py", line 11, in test_only_newline\n'
    "    assert not is_blank_file(file)\n"
    "AssertionError\n"
)


def uid(number: int) -> UUID:
    """A UUIDv7 of long ago, always the same for a number."""
    moment = int(BEGAN.timestamp() * 1000)
    return UUID(int=(moment << 80) | (0x7 << 76) | (0x2 << 62) | number)


@dataclass
class Ran:
    """An execution as it is stored; `trust` says of tests whether they discriminate, and are flaky."""

    outcomes: Sequence[tuple[str, str, str]] = ()
    trust: Mapping[str, tuple[bool | None, bool | None]] = field(default_factory=dict)
    obstacles: Mapping[str, str] = field(default_factory=dict)
    traces: Mapping[str, str] = field(default_factory=dict)
    exit_reason: str = "ok"
    exit_code: int | None = 0
    executable: bool = True
    error: str = ""
    stdout: str = ""
    stderr: str = ""
    dropped: int = 0
    trace: str = ""
    image: str = ""
    packages: Sequence[str] = ()
    stdout_cut: Cut | None = None


@dataclass
class Case:
    """A pair with what the agents made of it; without steps they have not looked at it.

    `prediction` is the reply of a simulated executor; `alone` says that one model labelled the pair by itself.
    """

    name: str
    query: str
    code: str = IS_BLANK
    assessment: str = ""
    test: str = ""
    ran: Ran | None = None
    label: float | None = None
    reason: str = ""
    failure: str = ""
    prediction: Mapping[str, Any] | None = None
    alone: bool = False
    steps: list[str] = field(default_factory=list)


CASES = (
    Case("clear-match", "python check if a file is blank", assessment="clear_match", label=1),
    Case("clear-no", "python sort a list of dicts by key", assessment="clear_nonmatch", label=0),
    Case(
        "tested",
        "python check if a file is empty before reading",
        assessment="unclear",
        test=TEST,
        ran=Ran(
            [("missing", "passed", ""), ("only_newline", "passed", "")],
            trust={"missing": (False, False), "only_newline": (True, False)},
            stdout="2 passed\n",
        ),
        label=1,
        reason="The tests pass for an empty and for a missing file.",
    ),
    Case(
        "failing",
        "python test whether a file has zero bytes",
        assessment="unclear",
        test=TEST,
        ran=Ran(
            [
                ("missing", "passed", ""),
                ("only_newline", "failed", "AssertionError: a newline is a byte"),
                ("no_access", "error", "PermissionError: [Errno 13]"),
            ],
            trust={"only_newline": (None, True)},
            exit_reason="assertion",
            exit_code=1,
            traces={"only_newline": TRACEBACK.rstrip("\n")},
            stdout="opened\n" * 40,
            stdout_cut=Cut(140, 11_200, 1_600),
            packages=["numpy==2.1.0", "pandas==2.2.3"],
        ),
        label=0,
        reason="A file with one newline is not empty, and the code says that it is.",
    ),
    Case(
        "environment",
        "python read a parquet file",
        assessment="unclear",
        test=TEST,
        ran=Ran(
            exit_reason="error",
            exit_code=1,
            executable=False,
            error="ModuleNotFoundError: No module named 'fastparquet'",
            trace=TRACEBACK.rstrip("\n").replace(
                "AssertionError", "ModuleNotFoundError: No module named 'fastparquet'"
            ),
            image="sha256:" + "0123456789abcdef" * 4,
        ),
        label=1,
        reason="The code could not be run; it reads as what was asked.",
    ),
    Case(
        "timeout",
        "python wait for a file to appear",
        assessment="unclear",
        test=TEST,
        ran=Ran(exit_reason="timeout", exit_code=None, stdout="waiting\n", dropped=1_048_576),
        label=0,
        reason="It never ends.",
    ),
    Case("not-looked", "python count the lines of a file"),
    Case(
        "step-failed",
        "python delete a directory",
        assessment="unclear",
        failure="The model's reply was no JSON after 3 tries.",
    ),
)

SIMULATED = Case(
    "simulated",
    "python test whether a file has zero bytes",
    assessment="unclear",
    test=TEST,
    prediction={
        "executable": True,
        "environment_error": "",
        "tests": [
            {"name": "test_missing", "outcome": "error", "why": "open raises FileNotFoundError."},
            {"name": "test_only_newline", "outcome": "failed", "why": "a newline is stripped to nothing."},
            {"name": "test_empty", "outcome": "passed", "why": "nothing is read."},
        ],
    },
    label=0,
    reason="A file with one newline would be said to be empty, and it has a byte.",
)
ALONE = Case(
    "alone",
    "python check if a file is blank",
    label=1,
    reason="The code reads the whole file, and says whether anything but blanks is in it.",
    alone=True,
)


def bench(folder: Path, cases: Sequence[Case] = CASES, run_name: str = RUN_NAME) -> Workspace:
    """A new workspace with cases; item ids count from 1, ids and times are always the same."""
    if cases is not CASES or run_name != RUN_NAME:
        return _make(folder, cases, run_name)
    # Most tests of screens use these, and a copy costs a quarter.
    return copied(_make_usual, folder / "pairs.duckdb")


def _make_usual(folder: Path) -> Workspace:
    return _make(folder, CASES, RUN_NAME)


def _make(folder: Path, cases: Sequence[Case], run_name: str) -> Workspace:
    workspace = pairs_workspace(folder, [(case.name, case.query, case.code) for case in cases])
    register_kinds(workspace)
    rater = ensure_rater(workspace, run_name, "agent")

    def write(connection: Connection) -> None:
        run = {"id": uid(0), "kind": "pair", "name": run_name, "configuration": "{}", "model": MODEL}
        run |= {"rater_id": rater.id, "state": "done", "total": len(cases)}
        connection.execute(insert(table_of(Run)).values(**run, started_at=BEGAN, ended_at=BEGAN))
        for item_id, case in enumerate(cases, start=1):
            write_case(connection, item_id, case)

    workspace.lane.submit(write).result()
    register_kinds(workspace)
    return workspace


def write_case(connection: Connection, item_id: int, case: Case) -> None:
    """Store what the agents made of an item."""
    number = item_id * 100
    step: dict[str, Any] = {"run_id": uid(0), "item_id": item_id, "attempt": 0, "error": "", "money": None}
    step |= {"request_hash": "", "model": MODEL, "tokens_in": 400, "tokens_out": 50, "tokens_cached": 0}
    step |= {"requests": 1, "seconds": 1.25, "created_at": BEGAN, "outcome": "ok", "reply": ""}
    turns: list[dict[str, Any]] = []
    if case.assessment:
        reply = {"assessment": case.assessment, "justification": f"{case.name}: as the code reads"}
        turns.append({"id": uid(number + 1), "role": "screener", "reply": json.dumps(reply)})
    if case.test:
        reply = {"interpretation": "zero bytes count as empty", "test_program": case.test}
        turns.append({"id": uid(number + 2), "role": "test_writer", "reply": json.dumps(reply)})
    if case.ran is not None:
        plain = {"tokens_in": 0, "tokens_out": 0, "model": "", "requests": 0, "seconds": 0.25}
        turns.append({"id": uid(number + 3), "role": "executor", **plain})
    if case.prediction is not None:
        turns.append(
            {"id": uid(number + 3), "role": "simulated_executor", "reply": json.dumps(case.prediction)}
        )
    if case.alone or ((case.ran or case.prediction) and case.label is not None):
        assert case.label is not None
        reply = {"label": int(case.label), "reason": case.reason}
        role = "annotator" if case.alone else "arbiter"
        turns.append({"id": uid(number + 4), "role": role, "reply": json.dumps(reply)})
    if case.failure:
        failed = {"outcome": "failed", "error": case.failure}
        turns.append({"id": uid(number + 5), "role": "test_writer", **failed})
    if turns:
        connection.execute(insert(table_of(StepRow)), [{**step, **turn} for turn in turns])
    if case.ran is not None:
        key, step_id = uid(number + 10), uid(number + 3)
        write_execution(connection, key, item_id, case.test, case.ran, step_id=step_id)
    if case.label is not None:
        verdict = {"id": uid(number + 20), "run_id": uid(0), "item_id": item_id, "value": case.label}
        verdict |= {"question_id": 1}  # pair.match, which is registered first
        path = "simulated" if case.prediction else "screened"
        if case.ran:
            path = "tested" if case.ran.executable else "untested"
        verdict |= {"path": "read" if case.alone else path, "created_at": BEGAN}
        verdict |= {"reason": case.reason or "as the code reads"}
        verdict |= {"execution_id": uid(number + 10) if case.ran else None}
        connection.execute(insert(table_of(VerdictRow)).values(**verdict))


def write_expert_run(workspace: Workspace, item_id: int, rater: str, program: str, ran: Ran) -> UUID:
    """Store that an expert ran a test on an item; its key."""
    number = uid(item_id * 100 + 40)
    rater_id = ensure_rater(workspace, rater).id
    workspace.lane.submit(
        lambda connection: write_execution(connection, number, item_id, program, ran, rater_id=rater_id)
    ).result()
    return number


def write_execution(
    connection: Connection,
    key: UUID,
    item_id: int,
    program: str,
    ran: Ran,
    *,
    step_id: UUID | None = None,
    rater_id: int | None = None,
) -> None:
    """Store an execution with its outcomes."""
    execution = {"id": key, "item_id": item_id, "step_id": step_id, "rater_id": rater_id}
    execution |= {"program": program, "program_digest": "d", "sandbox": "bubblewrap"}
    execution |= {"environment": "ab12", "exit_reason": ran.exit_reason, "exit_code": ran.exit_code}
    execution |= {"executable": ran.executable, "error": ran.error, "stdout": ran.stdout}
    execution |= {"trace": ran.trace, "image": ran.image, "packages": "\n".join(ran.packages)}
    execution |= {"stdout_cut": cut_as_text(ran.stdout_cut), "stderr_cut": ""}
    execution |= {"stderr": ran.stderr, "output_dropped": ran.dropped, "seconds": 0.25, "created_at": BEGAN}
    connection.execute(insert(table_of(ExecutionRow)).values(**execution))
    outcomes = [
        {"execution_id": key, "position": place, "seconds": 0.01}
        | {"name": name, "outcome": outcome, "message": message, "trace": ran.traces.get(name, "")}
        | {"obstacle": ran.obstacles.get(name)}
        | dict(zip(("discriminates", "flaky"), ran.trust.get(name, (None, None)), strict=True))
        for place, (name, outcome, message) in enumerate(ran.outcomes)
    ]
    if outcomes:
        connection.execute(insert(table_of(TestOutcomeRow)), outcomes)


# -- driving ------------------------------------------------------------------------------------------


def review_app(
    workspace: Workspace,
    *,
    at: int | None = 0,
    asked: QueueQuery | None = None,
    rater: str | None = "dana",
    **changes: Any,
) -> WorkbenchApp:
    """An app that opens the review of a queue at a place; at None it goes on where the session ended."""
    app = Reviewing(context_of(workspace, rater, **changes))
    app.at, app.asked = at, asked
    return app


class Reviewing(WorkbenchApp):
    """The app, in which a review is the first thing to be seen."""

    at: int | None = 0
    asked: QueueQuery | None = None

    def _open_first_screen(self) -> None:
        super()._open_first_screen()
        if self.at is None:
            self.resume()
        else:
            rater = self.context.rater
            asked = self.asked or QueueQuery()
            ids = queue_ids(self.context.workspace, scope(rater.id if rater else 0), asked.wanted, asked.sort)
            self.open_review(ids, self.at, self.asked)


def review_of(app: WorkbenchApp) -> ReviewScreen:
    """The review, which must be what is shown."""
    assert isinstance(app.screen, ReviewScreen), app.screen
    return app.screen


async def painted(pilot: Pilot[Any], number: int | None = None) -> ReviewScreen:
    """The review, when all of an item is on the screen; `number` says which one of the order, from 1."""
    await settled(pilot.app)
    screen = review_of(pilot.app)  # type: ignore[arg-type]
    assert number is None or screen.order.index == number - 1, screen.order.index
    assert screen.order.at_end or screen.guard.is_painted, screen.shared.message
    return screen


async def press(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys one by one, each when the item of the one before is on the screen."""
    await pilot.press(*keys)


def said(app: WorkbenchApp) -> str:
    """What the line at the foot says."""
    return app.screen.query_one(MessageLine).text


def line_of(app: WorkbenchApp, kind: type[Static]) -> str:
    """A line around the panes, as it is shown."""
    return str(app.screen.query_one(kind).content)


def text_of(app: WorkbenchApp, pane: str) -> str:
    """The text of a pane."""
    return app.screen.query_one(f"#{pane}", TextPane).text


def screen_text(app: App[Any]) -> str:
    """Everything that is on the screen, a row a line."""
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join(strip.text for strip in strips)


def judgments(workspace: Workspace) -> list[tuple[Any, ...]]:
    """The judgments on disk, oldest first: (item, value, origin, reason)."""
    table = table_of(JudgmentRow)
    with workspace.reading() as connection:
        found = select(table.c.item_id, table.c.value, table.c.origin, table.c.reason).order_by(table.c.id)
        return [tuple(row) for row in connection.execute(found)]


def marks(workspace: Workspace) -> list[tuple[Any, ...]]:
    """The marks on disk, oldest first: (item, kind, active, text, origin)."""
    table = table_of(MarkRow)
    names = ("item_id", "kind", "active", "text", "origin")
    with workspace.reading() as connection:
        found = select(*(table.c[name] for name in names)).order_by(table.c.id)
        return [tuple(row) for row in connection.execute(found)]
