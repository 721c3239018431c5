"""Pictures of a search for candidate pairs: its dialog, its states on the Jobs screen, its line on Home."""

import json
import time
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

from agents.jobs.events import ENDED, JobLog, JobState
from agents.retrieval.candidate_request import CandidateRequest
from agents.retrieval.progress import WorkProgress
from screens.app import WorkbenchApp
from screens.home.screen import HomeScreen
from screens.jobs.candidates import CandidatesScreen
from screens.jobs.screen import JobsScreen
from store.errors import WorkbenchError
from store.ingest.candidates import CandidatesAdded
from store.ingest.importing import import_files
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


@pytest.fixture(autouse=True)
def _same_time_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


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
    search = SimpleNamespace(
        id=UUID(int=1),
        request=request,
        name=request.source,
        started_at=BEGAN,
        state=state,
        progress=WorkProgress("encoding codes by minilm", 235_520, 412_080, 312.0, 20_480),
        log=[JobLog(0, level, text) for level, text in LOG],
        added=CandidatesAdded(220, 20, request.source) if state == "done" else None,
        error=FULL if state == "failed" else None,
    )
    if state == "failed":
        search.log.append(JobLog(0, "error", f"failed: {FULL}"))
    app = app_of(workspace)
    running = None if state in ENDED else search
    app.context.searches.runner = SimpleNamespace(started=[search], running=running)  # type: ignore[assignment]
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
