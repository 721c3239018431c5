"""Pictures of a code search: before the first one, what was found, what went wrong, and earlier searches."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from apps import app_of
from pictures import MEDIUM, NARROW, WIDE, Sizes, at
from settling import until
from small_workspace import BEGAN, GOOD, pairs_workspace
from sqlalchemy import insert
from textual.pilot import Pilot

from agents.code_search.agents import Augmented, Source
from agents.code_search.findings import Findings
from agents.code_search.multi_stream import SearchOptions
from agents.code_search.searching import SearchResult
from agents.code_search.work import SearchRequest
from agents.jobs.work import WorkSettings
from agents.llm.settings import ModelSettings
from agents.repositories.units import Unit
from agents.retrieval.settings import RetrievalSettings
from screens.app import WorkbenchApp
from screens.home.screen import HomeScreen
from screens.searching.history import HistoryScreen
from screens.searching.screen import SearchScreen
from screens.widgets.line_input import LineInput
from store.tables.columns import table_of
from store.tables.runs import WorkRow
from store.workspace.duckdb import Workspace

Snap = Callable[..., bool]

BODY = '''\
def resolve_redirects(self, response, request, stream=False, timeout=None):
    """Follow the redirects of a response, at most so many."""
    history = []
    while response.is_redirect and len(history) < self.max_redirects:
        history.append(response)
        request = self.rebuilt(request, response)
        response = self.send(request, stream=stream, timeout=timeout)
    return response
'''
FOUND: tuple[tuple[str, int, str, dict[str, float]], ...] = (
    ("client/sessions.py", 133, "Session.resolve_redirects", {"query": 0.71, "code": 0.64, "parts": 0.69}),
    ("client/sessions.py", 107, "Session.redirect_target", {"query": 0.66, "parts": 0.52}),
    ("client/sessions.py", 330, "Session.a_method_with_a_name_that_is_quite_long", {"code": 0.58}),
    ("client/errors.py", 12, "TooManyRedirects", {"classes": 0.41}),
)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace with a pair."""
    with pairs_workspace(tmp_path, [("q/1", "follow redirects", GOOD)]) as made:
        yield made


def findings() -> Findings:
    """What a search with a model has found."""
    results = [
        SearchResult(
            Unit(path, line, line + 7, name, "class" if name[0] == "T" else "function", BODY, "", "python"),
            max(streams.values()),
            streams,
        )
        for path, line, name, streams in FOUND
    ]
    return Findings(
        "where are redirects followed and how many are allowed",
        repository="client",
        commit="5d2b6a1f00",
        units=284,
        compared="minilm",
        model="openai:gpt-x",
        augmented=Augmented(
            "`Session.resolve_redirects` walks the chain of responses: the target is read from the header Location, the "
            "method and the credentials are adapted, and TooManyRedirects is raised after max_redirects of them.",
            (Source("README.md", "redirects"), Source("client/sessions.py:107", "redirects")),
        ),
        code=BODY,
        searched=["query", "code", "classes", "parts"],
        results=results,
        requests=4,
        cost=0.0042,
        seconds=3.14,
    )


def searched(workspace: Workspace, *, state: str = "done", said: str = "") -> WorkbenchApp:
    """The app of a workspace in which was searched."""
    request = SearchRequest("/home/dana/client", findings().query, "openai:gpt-x", options=SearchOptions())
    work = {"kind": "code-search", "description": json.dumps(asdict(request)), "done": 0, "total": 0}
    kept = json.dumps(findings().to_dict()) if state == "done" else ""
    rows = [
        {
            **work,
            "name": name,
            "state": stood,
            "said": said,
            "kept": kept,
            "started_at": BEGAN + timedelta(hours=n),
        }
        for n, (name, stood) in enumerate((("how is a session closed", "stopped"), (request.query, state)), 1)
    ]
    for number, row in enumerate(rows, start=1):
        row |= {"id": UUID(int=number), "ended_at": None}
    workspace.lane.submit(lambda connection: connection.execute(insert(table_of(WorkRow)), rows)).result()
    services = WorkSettings(ModelSettings(), RetrievalSettings(), model="openai:gpt-x")
    return app_of(workspace, make_work_settings=lambda: services)


async def opened(pilot: Pilot[Any]) -> None:
    """Open the search, and wait for the latest one."""
    app = pilot.app
    await until(pilot, lambda: isinstance(app.screen, HomeScreen) and app.screen.facts is not None)
    await pilot.press("slash")
    await until(pilot, lambda: isinstance(app.screen, SearchScreen))
    for line in app.screen.query(LineInput):
        line.cursor_blink = False


@at(NARROW, WIDE)
def test_before_the_first(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    assert snap_compare(app_of(workspace), sizes=sizes, run_before=opened)


@at(NARROW, MEDIUM, WIDE)
def test_found(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    async def steps(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, SearchScreen)
        await until(pilot, lambda: screen.findings is not None)
        await pilot.press("down", "down")

    assert snap_compare(searched(workspace), sizes=sizes, run_before=steps)


@at(NARROW)
def test_failed(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    said = "No repository: There is no folder or archive /home/dana/client. Give a folder, or a git URL."
    app = searched(workspace, state="failed", said=said)

    async def steps(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, SearchScreen)
        await until(pilot, lambda: screen.request is not None)

    assert snap_compare(app, sizes=sizes, run_before=steps)


@at(NARROW)
def test_earlier_searches(workspace: Workspace, snap_compare: Snap, sizes: Sizes) -> None:
    async def steps(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, SearchScreen)
        await until(pilot, lambda: screen.findings is not None)
        await pilot.press("tab", "tab", "h")
        await until(pilot, lambda: isinstance(pilot.app.screen, HistoryScreen))

    assert snap_compare(searched(workspace), sizes=sizes, run_before=steps)
