"""Pictures of a search for candidate pairs: its dialog, its states on the Jobs screen, its line on Home."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from apps import app_of
from pictures import MEDIUM, NARROW, WIDE, Sizes, at
from settling import until
from small_workspace import BEGAN, import_of
from textual.pilot import Pilot
from textual.widgets import Input, Static

from agents.jobs.events import JobEnded, JobLog, JobProgressed, JobState, Spent
from agents.retrieval.candidate_request import CandidateRequest
from screens.app import WorkbenchApp
from screens.home.screen import HomeScreen
from screens.jobs.candidates import CandidatesScreen
from screens.jobs.screen import JobsScreen
from store.errors import WorkbenchError
from store.ingest.importing import import_files
from store.tables.runs import WorkRow
from store.workspace.duckdb import Workspace

Snap = Callable[..., bool]

FULL = WorkbenchError(
    "Vectors not written",
    "/home/dana/.cache/workbench/vectors/codebert-0123456789abcdef/code: [Errno 28] No space left on device. "
    "All blocks before are kept.",
    "Make room on the disk, or set retrieval.vectors to another folder, then run it again.",
)
LOG = (
    ("info", "begun: minilm, codebert; 20 codes of each query, combined by mean"),
    ("warning", "microsoft/codebert-base was not trained to compare texts and ranks near chance."),
    ("info", "reading texts: 412,092 in 9 s"),
    ("info", "encoding queries by minilm: 12 in 1 s"),
)


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Workspace]:
    """Twelve queries, ninety codes, and no pairs."""
    about = {"repo": "a/b", "path": "f.py", "language": "python"}
    codes = [{**about, "func_name": f"f{n}", "code": f"def f{n}(x):\n    return x + {n}"} for n in range(90)]
    queries = "\n".join(f"how to add {number}" for number in range(12))
    with Workspace.create(tmp_path / "search.duckdb") as made:
        import_files(made, [import_of(tmp_path, queries, "queries.txt")], format="queries")
        import_files(made, [import_of(tmp_path, "\n".join(map(json.dumps, codes)), "corpus.jsonl")])
        yield made


def searched(workspace: Workspace, state: JobState) -> WorkbenchApp:
    """The app with a search that stays as it is."""
    request = CandidateRequest(("minilm", "codebert"))
    row = WorkRow(
        id=UUID(int=1),
        kind="candidates",
        name=request.source,
        description="{}",
        state=state,
        started_at=BEGAN,
    )
    search = SimpleNamespace(
        number=1,
        title="candidate search",
        job=SimpleNamespace(kind="candidates"),
        record=SimpleNamespace(row=row),
        run_id=None,
        work_id=row.id,
        state=state,
        progress=JobProgressed(
            *(1, None, 235_520, 0, 412_080, 755.0, 60 * 312.0, "", Spent(), 0),
            stage="encoding codes by minilm",
            of_step=566.0,
        ),
        used_up=None,
        said="220 pairs added, 20 already there" if state == "done" else "",
        error=FULL if state == "failed" else None,
    )
    app = app_of(workspace)
    jobs = app.context.jobs
    jobs.runner = SimpleNamespace(jobs=[search])  # type: ignore[assignment]
    for level, text in LOG:
        jobs.status_of(1).take(JobLog(1, level, text))
    if state == "failed":
        jobs.status_of(1).take(JobEnded(1, state, error=FULL))
    return app


async def home(pilot: Pilot[Any]) -> None:
    """Wait until Home has read its numbers."""
    app = pilot.app
    await until(pilot, lambda: isinstance(app.screen, HomeScreen) and app.screen.facts is not None)


async def jobs(pilot: Pilot[Any]) -> None:
    """Open the Jobs screen."""
    await home(pilot)
    await pilot.press("J")
    await until(pilot, lambda: isinstance(pilot.app.screen, JobsScreen) and pilot.app.screen.runs is not None)


@at(NARROW, MEDIUM, WIDE)
@pytest.mark.parametrize("state", ["running", "paused", "done", "failed"])
def test_search(corpus: Workspace, snap_compare: Snap, sizes: Sizes, state: JobState) -> None:
    assert snap_compare(searched(corpus, state), sizes=sizes, run_before=jobs)


@at(NARROW, MEDIUM, WIDE)
def test_home_with_a_running_search(corpus: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    assert snap_compare(searched(corpus, "running"), sizes=sizes, run_before=home)


@at(NARROW, MEDIUM, WIDE)
@pytest.mark.parametrize("models", ["bm25", "minilm,codebert", "bm25,minilm"])
def test_dialog(corpus: Workspace, snap_compare: Snap, sizes: Sizes, models: str) -> None:
    async def steps(pilot: Pilot[Any]) -> None:
        app = pilot.app
        await home(pilot)
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, CandidatesScreen) and app.screen.corpus is not None)
        field = app.screen.query_one("#models", Input)
        field.cursor_blink = False
        await pilot.press("end", "ctrl+u", *models)
        if models == "bm25,minilm":
            await pilot.press("enter")
            await until(pilot, lambda: "! " in str(app.screen.query_one("#wrong", Static).content))

    assert snap_compare(app_of(corpus), sizes=sizes, run_before=steps)
