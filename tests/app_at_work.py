"""The real app over small workspaces, for tests of the screens."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from settling import settled
from sqlalchemy import Connection, insert
from textual.pilot import Pilot

from agents.jobs.expert_tests import ExpertTests
from agents.jobs.runner import JobRunner
from agents.llm.settings import ModelSettings
from agents.retrieval.candidate_search import CandidateSearches
from agents.retrieval.settings import RetrievalSettings
from agents.settings import ExpertRunSettings, JobSettings
from screens.app import WorkbenchApp
from screens.context import AppContext, Plan
from screens.settings import ScreenSettings
from store.ingest.importing import import_files
from store.ingest.preview import preview_file
from store.record.actions import Action, Recorder
from store.record.raters import ensure_rater, question_number, register_kinds
from store.tables.columns import table_of
from store.tables.people import Rater
from store.tables.record import Judgment, Mark
from store.tables.runs import Run, StepRow, VerdictRow
from store.workspace.duckdb import Workspace

NO_MODEL = (
    "No model is set. Name one in ~/.config/workbench/config.toml, under [agents]: "
    'model = "openai:NAME" or model = "anthropic:NAME".'
)

BEGAN = datetime(2024, 3, 4, 9, 30, tzinfo=UTC)
"""When everything in these workspaces happened, so that pictures of them stay the same."""


def context_of(workspace: Workspace, rater: str | None = "dana", **changes: Any) -> AppContext:
    """A context over a workspace whose jobs end with the app; `changes` replace parts of it."""
    register_kinds(workspace)
    settings = changes.pop("settings", None) or ScreenSettings(blind=changes.pop("blind", False))
    plan = Plan(changes.pop("annotation", None), changes.pop("annotation_problem", NO_MODEL))
    plan = replace(plan, sandbox=changes.pop("sandbox", ""))
    context = AppContext(
        workspace=workspace,
        rater=ensure_rater(workspace, rater) if rater else None,
        settings=settings,
        prepare=lambda: None,
        make_runner=lambda emit: JobRunner(workspace, emit),
        make_searches=lambda emit: CandidateSearches(workspace, RetrievalSettings(), ModelSettings(), emit),
        make_expert_runs=lambda: ExpertTests(workspace, ExpertRunSettings),
        make_plan=lambda _kind: plan,
        import_file=lambda path, report: import_files(workspace, [path], progress=report),
        look_at_file=preview_file,
        check_file=lambda path, report: import_files(workspace, [path], progress=report, dry_run=True),
        load_sample=lambda: JobSettings(model="scripted:none"),
        is_sample=lambda: False,
    )
    return replace(context, **changes)


CAUSES = {
    "Rate limited": "rate_limited",
    "Model declined": "refused",
    "Reply malformed": "malformed",
    "Needs a sandbox": "needs_sandbox",
}
"""The causes that agents record with errors of these titles."""


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
    rows: list[dict[str, Any]] = []
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
        rows.append({**verdict, "path": path, "reason": "as it reads", "created_at": BEGAN})

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
        run |= {"model": "scripted", "rater_id": rater.id, "state": "done", "total": len(rows)}
        ended = BEGAN + timedelta(minutes=3)
        connection.execute(insert(table_of(Run)).values(**run, started_at=BEGAN, ended_at=ended))
        if rows:
            connection.execute(insert(table_of(StepRow)), steps)
            connection.execute(insert(table_of(VerdictRow)), rows)

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


async def until(
    pilot: Pilot[Any], true: Callable[[], bool], what: str = "", *, seconds: float = 120.0
) -> None:
    """Wait for what an app does not do itself: a job of the agents, another process, an editor.

    Everything else has happened when the app has settled, which it has after each key.
    """
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"never came about: {what or true}"
        await settled(pilot.app)
        await pilot.pause(0.01)
    await settled(pilot.app)


def app_of(workspace: Workspace, rater: str | None = "dana", **changes: Any) -> WorkbenchApp:
    """The app over a workspace."""
    return WorkbenchApp(context_of(workspace, rater, **changes))


def import_of(folder: Path, text: str, name: str = "pairs.jsonl") -> Path:
    """A file with a text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
