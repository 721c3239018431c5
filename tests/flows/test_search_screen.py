"""The screen of a code search: from Home and from a query, results as they come, streams, history, filing."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from apps import app_of
from loopback_models import LoopbackModels, Seen
from review_bench import painted, screen_text
from settling import until
from small_workspace import GOOD, pairs_workspace, rows
from sqlalchemy import update
from study_app import open_study, rater_app
from textual.pilot import Pilot
from textual.widgets import Static
from till_shop import TILL

from agents.jobs.budget import Budget
from agents.jobs.runner import JobRunner
from agents.jobs.work import WorkSettings
from agents.llm.settings import ModelSettings
from agents.retrieval.settings import RetrievalSettings
from screens.app import WorkbenchApp
from screens.context import SEALED
from screens.home.screen import HomeScreen
from screens.searching.history import HistoryScreen
from screens.searching.results import ResultList
from screens.searching.screen import SearchScreen
from screens.text_screen import TextScreen
from screens.widgets.line_input import LineInput
from screens.widgets.text.code_area import CodeArea
from store.tables.columns import table_of
from store.tables.runs import ReplyRow, WorkRow, kept
from store.workspace.duckdb import Workspace

CODE = "def open_drawer(drawer):\n    drawer.open()\n\n\ndef lock(self):\n    self.locked = True\n"
PARAGRAPH = "`Till.give_change` pays back the difference in coins."


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "till.py").write_text(TILL)
    (folder / "README.md").write_text("Change is given back in coins.\n")
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace with three pairs."""
    pairs = [(f"q/{number}", f"give change {number}", f"{GOOD}# {number}\n") for number in range(1, 4)]
    with pairs_workspace(tmp_path, pairs) as made:
        yield made


class Service:
    """A model service that answers the coder only once it may."""

    def __init__(self) -> None:
        self.may_write = threading.Event()
        self.may_write.set()
        replies: dict[str, Any] = {
            "ResearcherReply": {"paragraph": PARAGRAPH},
            "CoderReply": self._code,
            "AssessorReply": {"assessment": "Fine.", "code": CODE},
            "RankerReply": {"ranking": [2, 1]},
        }
        self.server = LoopbackModels(replies=replies)

    def _code(self, _: Seen) -> dict[str, Any]:
        self.may_write.wait(60)
        return {"code": CODE}

    @property
    def asked(self) -> list[str]:
        """The turns that were asked for."""
        return [seen.schema_name for seen in self.server.requests]


@pytest.fixture
def service() -> Iterator[Service]:
    """The service."""
    made = Service()
    with made.server:
        yield made
        made.may_write.set()


Searching = Callable[..., WorkbenchApp]


@pytest.fixture
def searching(tmp_path: Path, service: Service) -> Iterator[Searching]:
    """Makes the app, with a model; its searches end with the test."""
    made: list[JobRunner] = []

    def app(workspace: Workspace, make: Callable[..., WorkbenchApp] = app_of, **changes: Any) -> WorkbenchApp:
        models = service.server.settings() if changes.pop("model", True) else ModelSettings()
        budget = changes.pop("budget", Budget())
        model = "openai:m" if models.openai_base_url else ""
        settings = WorkSettings(models, RetrievalSettings(vectors=tmp_path / "vectors"), budget, model)

        def make_runner(emit: Any) -> JobRunner:
            made.append(JobRunner(workspace, emit))
            return made[-1]

        return make(workspace, make_runner=make_runner, make_work_settings=lambda: settings, **changes)

    yield app
    for one in made:
        one.close()


async def opened(pilot: Pilot[None]) -> SearchScreen:
    """Open the search from Home."""
    await until(pilot, lambda: isinstance(pilot.app.screen, HomeScreen))
    await pilot.press("slash")
    await until(pilot, lambda: isinstance(pilot.app.screen, SearchScreen))
    assert isinstance(pilot.app.screen, SearchScreen)
    return pilot.app.screen


async def write(pilot: Pilot[None], text: str) -> None:
    """Write into the line that has the focus; what it held is selected, and goes."""
    await pilot.press(*(_KEYS.get(letter, letter) for letter in text))


_KEYS = {" ": "space", "/": "slash", "-": "minus", "_": "underscore", ".": "full_stop"}


async def begun(pilot: Pilot[None], query: str, repository: Path) -> SearchScreen:
    """Type a query and a repository, and search."""
    screen = await opened(pilot)
    await write(pilot, query)
    await pilot.press("tab")
    await write(pilot, str(repository))
    await pilot.press("enter")
    await until(pilot, lambda: screen.job is not None)
    return screen


async def ended(pilot: Pilot[None], screen: SearchScreen, state: str = "done") -> None:
    """Wait for the end of the search."""
    await until(pilot, lambda: screen.job is not None and screen.job.state == state)
    await until(pilot, lambda: screen.at_work is None and screen.findings is not None)


def lines(screen: SearchScreen) -> list[str]:
    """The names of the results from top to bottom."""
    found = screen.query_one(ResultList)
    names = []
    for row in range(found.virtual_size.height):
        found.cursor, before = row, found.cursor
        assert found.current is not None
        names.append(found.current.unit.name)
        found.cursor = before
    return names


def said(screen: SearchScreen, where: str = "#notes") -> str:
    """A line of the screen."""
    return str(screen.query_one(where, Static).content)


async def test_results_come_stream_by_stream_and_never_move_under_the_cursor(
    workspace: Workspace, searching: Searching, service: Service, shop: Path
) -> None:
    service.may_write.clear()
    app = searching(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        screen = await begun(pilot, "give change", shop)
        await until(pilot, lambda: len(lines(screen)) == 3)
        assert screen.findings is not None
        assert screen.findings.searched == ["query"]
        assert lines(screen)[0] == "Till.give_change"
        # The paragraph is there before the code.
        await until(pilot, lambda: PARAGRAPH in said(screen, "#paragraph"))
        await pilot.press("tab", "down")
        # The same again is the one at work.
        job = screen.job
        await pilot.press("shift+tab", "enter", "tab")
        assert screen.job is job
        assert said(screen).startswith("This is being searched.")
        before, here = lines(screen), screen.query_one(ResultList).current
        service.may_write.set()
        await ended(pilot, screen)
        assert lines(screen)[:3] == before
        now = screen.query_one(ResultList).current
        assert here is not None
        assert now is not None
        assert now.unit == here.unit
        ranked = [one.unit.name for one in screen.findings.results]
        assert sorted(lines(screen)) == sorted(ranked)
        assert lines(screen) != ranked
        assert "o puts it in the order of the ranks" in said(screen)
        await pilot.press("o")
        assert lines(screen) == ranked
        now = screen.query_one(ResultList).current
        assert now is not None
        assert now.unit == here.unit
        assert "in the order" not in said(screen)
        assert service.asked == ["ResearcherReply", "CoderReply", "AssessorReply"]
        facts = said(screen, "#facts")
        assert facts.startswith("shop · 6 functions and classes · minilm · 3 requests · ")
    # Kept with the work: what was found, and the replies.
    (work,) = rows(workspace, WorkRow)
    assert (work["kind"], work["name"], work["state"]) == ("code-search", "give change", "done")
    found = kept(WorkRow(**work))
    assert found["augmented"]["paragraph"] == PARAGRAPH
    assert [one["unit"]["name"] for one in found["results"]] == ranked
    assert found["requests"] == 3
    assert {row["role"] for row in rows(workspace, ReplyRow)} == {"researcher", "coder", "code_assessor"}


async def test_streams_are_switched_on_and_off(
    workspace: Workspace, searching: Searching, service: Service, shop: Path
) -> None:
    app = searching(workspace)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await begun(pilot, "give change", shop)
        await ended(pilot, screen)
        assert screen.findings is not None
        everything = lines(screen)
        await pilot.press("tab", "1")
        by_code = lines(screen)
        assert "[1 query ○] [2 code ●]" in said(screen, "#streams")
        assert by_code == [one.unit.name for one in screen.findings.by_streams(["code", "classes", "parts"])]
        await pilot.press("2", "4")
        # Only classes are left, by their own scores.
        assert set(lines(screen)) == {"Till", "Door"}
        await pilot.press("1", "2", "3")
        assert set(lines(screen)) < set(everything)
        await pilot.press("2")
        assert lines(screen) != everything
        # What is off is not searched, and asks nothing.
        number = len(service.asked)
        await pilot.press("slash")
        await write(pilot, "lock a door")
        await pilot.press("enter")
        await until(pilot, lambda: screen.findings is not None and screen.findings.query == "lock a door")
        await ended(pilot, screen)
        assert screen.findings.searched == ["query"]
        assert service.asked[number:] == []
        await pilot.press("tab", "tab", "2")
        assert "code was not searched: Enter in the query searches again." in said(screen)


async def test_the_paragraph_is_edited_and_its_sources_are_shown(
    workspace: Workspace, searching: Searching, service: Service, shop: Path
) -> None:
    asked = iter([{"look_up": "coins"}, {"paragraph": PARAGRAPH}])
    service.server.replies["ResearcherReply"] = lambda _: next(asked)
    app = searching(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await begun(pilot, "give change", shop)
        await ended(pilot, screen)
        await pilot.press("tab", "s")
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        await until(pilot, lambda: "README.md (looked up: coins)" in screen_text(app))
        await pilot.press("escape", "e")
        await until(pilot, lambda: app.screen.query("#editor-text").first().has_focus)
        app.screen.query_one("#editor-text", CodeArea).text = "Doors are locked."
        number, before = len(service.asked), screen.job
        await pilot.press("ctrl+s")
        await until(pilot, lambda: screen.job is not before)
        await ended(pilot, screen)
        assert service.asked[number:] == ["CoderReply", "AssessorReply"]
        assert said(screen, "#paragraph").startswith("▸ Doors are locked.")
        assert "Doors are locked." in service.server.requests[-1].text


async def test_a_result_is_shown_in_its_file(workspace: Workspace, searching: Searching, shop: Path) -> None:
    app = searching(workspace, model=False)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await begun(pilot, "open drawer", shop)
        await ended(pilot, screen)
        assert said(screen, "#streams") == "No model is set (agents.model): the query itself is compared."
        assert lines(screen)[0] == "open_drawer"
        # There are no streams to switch off.
        await pilot.press("tab", "1")
        assert lines(screen)[0] == "open_drawer"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        await until(pilot, lambda: "till.py:15 · open_drawer" in screen_text(app))
        assert "self.locked = True" in screen_text(app)
        await pilot.press("escape")
        (shop / "till.py").write_text("# nothing is left\n")
        await pilot.press("enter")
        await until(pilot, lambda: "changed since the search" in screen_text(app))
        await pilot.press("escape")
        (shop / "till.py").unlink()
        await pilot.press("enter")
        await until(pilot, lambda: "the result alone" in screen_text(app))


async def test_what_is_filed_is_labelled_by_agents(
    workspace: Workspace, searching: Searching, shop: Path, tmp_path: Path, workbench: Any
) -> None:
    app = searching(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await begun(pilot, "give change", shop)
        await ended(pilot, screen)
        await pilot.press("tab", "w")
        await until(pilot, lambda: said(screen).startswith("1 pair filed: in the queue."))
        await pilot.press("w")
        await until(pilot, lambda: said(screen).startswith("0 pairs filed, 1 already there: in the queue."))
        assert "✓" in screen_text(app)
        (first, *_) = lines(screen)
        await pilot.press("W")
        number = len(lines(screen))
        await until(pilot, lambda: said(screen).startswith(f"{number - 1} pairs filed, 1 already there"))
        await pilot.press("escape", "tab")
        await until(pilot, lambda: "give change" in screen_text(app))
    path = workspace.path
    workspace.close()
    script = tmp_path / "replies.jsonl"
    reply = {"assessment": "clear_nonmatch", "justification": "It counts coins."}
    listed = workbench("items", path, "--json").json()["items"]
    items = [one for one in listed if one["repository"] == "shop"]
    assert len(items) == number
    assert items[0]["name"] == first
    script.write_text(
        "".join(
            json.dumps({"role": "screener", "subject": one["item"], "reply": reply}) + "\n" for one in items
        )
    )
    command = ("annotate", path, "--model", f"scripted:{script}", "--source", "search of shop", "--json")
    told = await asyncio.to_thread(workbench, *command)
    assert (told.code, told.json()["labelled"]) == (0, number)


async def test_a_stopped_search_sends_no_further_request(
    workspace: Workspace, searching: Searching, service: Service, shop: Path
) -> None:
    service.may_write.clear()
    app = searching(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await begun(pilot, "give change", shop)
        await until(pilot, lambda: service.asked[-1:] == ["CoderReply"])
        await pilot.press("tab", "x")
        await ended(pilot, screen, "stopped")
        await until(pilot, lambda: said(screen).startswith("Stopped."))
        # What was found until then is there.
        assert len(lines(screen)) == 3
        service.may_write.set()
        # The next search takes the paragraph from the replies that are kept.
        await pilot.press("slash", "enter")
        await until(pilot, lambda: screen.job is not None and screen.job.number == 2)
        await ended(pilot, screen)
        assert service.asked == ["ResearcherReply", "CoderReply", "CoderReply", "AssessorReply"]


async def test_at_the_end_of_its_budget_a_search_pauses(
    workspace: Workspace, searching: Searching, service: Service, shop: Path
) -> None:
    app = searching(workspace, budget=Budget(requests=1))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await begun(pilot, "give change", shop)
        await until(pilot, lambda: screen.job is not None and screen.job.state == "paused")
        assert service.asked == ["ResearcherReply"]
        assert screen.job is not None
        await until(pilot, lambda: said(screen).startswith("Paused. The budget of this run is 1 requests"))
        screen.job.resume(Budget(requests=5))
        await ended(pilot, screen)
        assert len(service.asked) == 3


async def test_earlier_searches_are_shown_again(
    workspace: Workspace, searching: Searching, service: Service, shop: Path
) -> None:
    app = searching(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        await ended(pilot, await begun(pilot, "give change", shop))
        await pilot.press("escape")
        screen = await opened(pilot)
        await until(pilot, lambda: screen.findings is not None)
        # The latest search is there as it was left.
        assert screen.query_one("#query", LineInput).value == "give change"
        assert lines(screen)
        # What is typed takes the place of the query.
        await write(pilot, "lock")
        await pilot.press("enter")
        await until(pilot, lambda: screen.findings is not None and screen.findings.query == "lock")
        await ended(pilot, screen)
        number = len(service.asked)
        await pilot.press("tab", "tab", "h")
        await until(pilot, lambda: isinstance(app.screen, HistoryScreen))
        assert "give change" in screen_text(app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: screen.findings is not None and screen.findings.query == "give change")
        assert PARAGRAPH in said(screen, "#paragraph")
        assert len(service.asked) == number


async def test_from_a_query_in_the_review(workspace: Workspace, searching: Searching, shop: Path) -> None:
    app = searching(workspace, model=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await ended(pilot, await begun(pilot, "open", shop))
        await pilot.press("escape", "enter")
        await painted(pilot)
        await pilot.press("O")
        await until(pilot, lambda: isinstance(app.screen, SearchScreen))
        screen = app.screen
        assert isinstance(screen, SearchScreen)
        # The query of the item, in the repository that was searched last.
        await until(pilot, lambda: screen.query_one("#repository", LineInput).value == str(shop))
        assert screen.query_one("#query", LineInput).value == "give change 1"
        assert screen.findings is None


async def test_errors_are_shown_where_one_looks(
    workspace: Workspace, searching: Searching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toasts: list[str] = []
    app = searching(workspace)
    monkeypatch.setattr(app, "notify", lambda message, **_: toasts.append(message))
    (tmp_path / "empty").mkdir()
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await begun(pilot, "open", tmp_path / "nowhere")
        await until(pilot, lambda: said(screen).startswith("! No repository: There is no folder or archive"))
        await pilot.press("ctrl+u")
        await write(pilot, str(tmp_path / "empty"))
        await pilot.press("enter")
        await until(pilot, lambda: said(screen).startswith("! No function:"))
        # Neither an empty query nor an empty place is searched.
        await pilot.press("ctrl+u", "enter")
        await pilot.press("shift+tab", "delete", "enter")
        assert len(app.context.jobs.started) == 2
        assert toasts == []


@pytest.mark.parametrize("place", ["https://u:secret@h/x", "ext::sh -c x", "~nosuchuser/x", "https://[::1"])
async def test_places_that_are_refused_are_errors_on_the_screen(
    workspace: Workspace, searching: Searching, place: str
) -> None:
    app = searching(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        screen.query_one("#query", LineInput).value = "open"
        screen.query_one("#repository", LineInput).value = place
        await pilot.press("enter")
        await until(pilot, lambda: said(screen).startswith("! "))
        assert "secret" not in said(screen)
    assert "secret" not in str(rows(workspace, WorkRow))


@pytest.mark.parametrize(
    ("description", "found"), [("{}", ""), ("[]", ""), ("no JSON", ""), (None, "nope"), (None, "[7]")]
)
async def test_a_search_of_another_version_is_not_shown(
    workspace: Workspace, searching: Searching, shop: Path, description: str | None, found: str
) -> None:
    app = searching(workspace, model=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await ended(pilot, await begun(pilot, "open", shop))
        await pilot.press("escape")
        changed = {"kept": found} | ({} if description is None else {"description": description})
        change = update(table_of(WorkRow)).values(**changed)
        workspace.lane.submit(lambda connection: connection.execute(change)).result()
        screen = await opened(pilot)
        await until(pilot, lambda: "another version" in said(screen))
        assert screen.findings is None
        await pilot.press("tab", "tab", "h")
        await until(pilot, lambda: isinstance(app.screen, HistoryScreen))


async def test_several_on_one_line_are_told_apart(
    workspace: Workspace, searching: Searching, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.ts").write_text("const give = () => change, back = () => change;\n")
    app = searching(workspace, model=False)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await begun(pilot, "change", tmp_path / "one")
        await ended(pilot, screen)
        assert sorted(lines(screen)) == ["back", "give"]
        await pilot.press("tab", "w")
        await until(pilot, lambda: said(screen).startswith("1 pair filed"))
        assert "Programs in typescript are not run" in said(screen)


async def test_in_an_open_study_it_is_refused(
    workspace: Workspace, searching: Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    open_study(workspace)
    sealed = searching(workspace, rater_app)
    monkeypatch.setattr(sealed, "notify", lambda message, **_: notices.append(message))
    async with sealed.run_test(size=(80, 24)):
        sealed.open_search()
        assert notices == [SEALED]
        assert not isinstance(sealed.screen, SearchScreen)
    assert not rows(workspace, WorkRow)
