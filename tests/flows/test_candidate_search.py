"""Searching candidate pairs in the app: the dialog, the job, its pause, stop and errors, and what comes of it."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
import tiny_models
from apps import app_of
from review_bench import bench, judgments, painted, press, review_app, screen_text
from settling import Gate, until
from small_workspace import GOOD, import_of, pairs_workspace, rows, script
from sqlalchemy import select
from sqlalchemy import text as sql
from study_app import open_study, rater_app
from textual.widgets import Input, Log, Select, Static

from agents.jobs.events import ENDED
from agents.jobs.runner import Job, JobRunner
from agents.jobs.work import WorkSettings
from agents.llm.settings import ModelSettings
from agents.retrieval.encoder import Encoded
from agents.retrieval.encoders import LocalEncoder
from agents.retrieval.settings import RetrievalSettings
from screens.app import WorkbenchApp
from screens.context import SEALED
from screens.home.screen import HomeScreen
from screens.jobs.candidates import CandidatesScreen, start_candidates
from screens.jobs.job_line import JobLine
from screens.jobs.screen import JobsScreen
from screens.jobs.start import StartScreen
from screens.queue.screen import QueueScreen
from store.ingest.importing import import_files
from store.tables.columns import table_of
from store.tables.imported import Item, Pair, Similarity, Source
from store.workspace.duckdb import Workspace

QUERIES = [f"how to sort a list by key {number}" for number in range(12)]
CODES = [f"def f{number}(x):\n    return sorted(x)[{number % 7}:]" for number in range(90)]
BLOCK = 16
SETTLED = 0.4
"""Seconds in which a search that is not paused would get on."""


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace with queries and codes, and no pairs."""
    about = {"repo": "a/b", "path": "f.py", "language": "python"}
    codes = [
        json.dumps({**about, "func_name": f"f{number}", "code": code}) for number, code in enumerate(CODES)
    ]
    with Workspace.create(tmp_path / "search.duckdb") as made:
        import_files(made, [import_of(tmp_path, "\n".join(QUERIES), "queries.txt")], format="queries")
        import_files(made, [import_of(tmp_path, "\n".join(codes), "corpus.jsonl")])
        yield made


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folders of two small models, as a line of the dialog names them."""
    folder = tmp_path_factory.mktemp("models")
    tiny_models.bert(folder / "tiny-bert")
    tiny_models.roberta(folder / "codebert-base", seed=1, length=16)
    return f"{folder / 'tiny-bert'},codebert={folder / 'codebert-base'}"


Searching = Callable[..., WorkbenchApp]


@pytest.fixture
def searching(tmp_path: Path) -> Iterator[Searching]:
    """Makes the app with vectors of its own; its searches end with the test."""
    made: list[JobRunner] = []

    def app(workspace: Workspace, make: Callable[..., WorkbenchApp] = app_of, **changes: Any) -> WorkbenchApp:
        settings = RetrievalSettings(vectors=changes.pop("vectors", tmp_path / "vectors"))

        def make_runner(emit: Any) -> JobRunner:
            made.append(JobRunner(workspace, emit))
            return made[-1]

        def make_work_settings() -> WorkSettings:
            return WorkSettings(ModelSettings(), settings)

        return make(workspace, make_runner=make_runner, make_work_settings=make_work_settings, **changes)

    yield app
    for one in made:
        one.close()


class Turns:
    """Lets a model encode a block at a time; what waits for its turn can be paused and stopped."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, broken_at: int = -1) -> None:
        self._left = threading.Semaphore(0)
        self.taken = 0
        encode = LocalEncoder.encode

        def gated(encoder: LocalEncoder, texts: Sequence[str], role: Any, report: Any) -> Encoded:
            while not self._left.acquire(timeout=0.01):
                report(0)
            self.taken += 1
            found = encode(encoder, texts, role, report)
            if self.taken == broken_at:
                found.vectors[0, 0] = numpy.nan
            return found

        monkeypatch.setattr("agents.retrieval.vectors.TEXTS_AT_ONCE", BLOCK)
        monkeypatch.setattr(LocalEncoder, "encode", gated)

    def give(self, number: int) -> None:
        """Let so many more blocks be encoded."""
        self._left.release(number)


def text(app: WorkbenchApp, selector: str) -> str:
    """What a part of the screen says."""
    return str(app.screen.query_one(selector, Static).content)


def log_of(app: WorkbenchApp) -> str:
    """The log as it is shown, without its line ends."""
    return " ".join(" ".join(app.screen.query_one(Log).lines).split())


def said(app: WorkbenchApp) -> str:
    """The latest notice."""
    return list(app._notifications)[-1].message if app._notifications else ""


async def home(pilot: Any) -> None:
    """Wait until Home has read its numbers."""
    app = pilot.app
    await until(pilot, lambda: isinstance(app.screen, HomeScreen) and app.screen.facts is not None)


async def dialog(pilot: Any, models: str = "", top: str = "") -> None:
    """Press f, and fill in the dialog."""
    app = pilot.app
    await pilot.press("f")
    await until(pilot, lambda: isinstance(app.screen, CandidatesScreen) and "queries" in text(app, "#plan"))
    for name, value in (("models", models), ("top", top)):
        if value:
            app.screen.query_one(f"#{name}", Input).value = value


async def begun(pilot: Any, models: str, top: str = "5") -> Job:
    """Start a search by the dialog."""
    app, before = pilot.app, len(pilot.app.context.jobs.started)
    await dialog(pilot, models, top)
    await pilot.press("enter")
    await until(pilot, lambda: len(app.context.jobs.started) > before)
    return app.context.jobs.started[-1]  # type: ignore[no-any-return]


async def ended(pilot: Any, state: str) -> Job:
    """Wait for the end of the latest search."""
    search = pilot.app.context.jobs.started[-1]
    await until(pilot, lambda: search.state in ENDED, "the end of the search")
    assert search.state == state, search.error
    return search  # type: ignore[no-any-return]


def found(workspace: Workspace) -> list[tuple[Any, ...]]:
    """The pairs with their ranks and similarities."""
    pair, similarity = table_of(Pair), table_of(Similarity)
    with workspace.reading() as connection:
        asked = select(
            pair.c.query_id, pair.c.code_id, pair.c.rank, similarity.c.model, similarity.c.value
        ).join(similarity, similarity.c.item_id == pair.c.item_id)
        return sorted(tuple(row) for row in connection.execute(asked))


async def test_from_the_message_of_home_through_the_dialog_to_pairs_in_the_queue(
    corpus: Workspace, searching: Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    app = searching(corpus)
    monkeypatch.setattr(app, "notify", lambda message, **_: notices.append(message))
    async with app.run_test(size=(80, 24)) as pilot:
        await home(pilot)
        assert "f searches the best codes of each query" in text(app, "#message")
        # The dialog refuses before anything starts.
        await dialog(pilot)
        for models, top, words in (
            (
                "bm25,minilm",
                "20",
                "The scores of bm25 have no upper bound: in a mean with others they decide alone.",
            ),
            ("mean=nowhere", "20", "There is no folder nowhere."),
            ("wide=nowhere", "20", "'wide' is no layout of a model."),
            (" , ", "20", "No model is named."),
            ("bm25", "0", "0 is no number of codes of each query."),
            ("bm25", "", "0 is no number of codes of each query."),
            ("bm25", "1001", "1,001 is no number of codes of each query. Give 1 to 1,000."),
            ("bm25", "many", "Codes of each query: 'many' is no whole number."),
        ):
            app.screen.query_one("#models", Input).value = models
            app.screen.query_one("#top", Input).value = top
            await until(pilot, lambda: text(app, "#wrong") == "")
            await pilot.press("enter")
            await until(pilot, lambda words=words: words in " ".join(text(app, "#wrong").split()))
            assert isinstance(app.screen, CandidatesScreen)
        app.screen.query_one("#top", Input).value = "20"
        await until(pilot, lambda: text(app, "#plan").endswith("It can be stopped."))
        combined = app.screen.query_one("#combine", Select)
        assert not combined.is_on_screen
        app.screen.query_one("#models", Input).value = "minilm,unixcoder"
        await until(pilot, lambda: combined.is_on_screen)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        assert not app.context.jobs.started

        # A search adds its pairs.
        await dialog(pilot, "bm25", "3")
        assert "12 queries and 90 codes are compared." in text(app, "#plan")
        await until(pilot, lambda: "The best 3 of each query: 36 pairs" in text(app, "#plan"))
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.context.jobs.started))
        search = await ended(pilot, "done")
        await until(pilot, lambda: notices == ["36 pairs added."])
        await until(pilot, lambda: "0/36" in screen_text(app))
        await pilot.press("tab")
        await until(pilot, lambda: isinstance(app.screen, QueueScreen) and app.screen.items.count == 36)
    assert [row["name"] for row in rows(corpus, Source)][-1] == search.name == "candidates bm25, top 3"
    lines = [line.text for line in app.context.jobs.status_of(search.number).log]
    assert lines[0] == "begun: bm25; 3 codes of each query"
    assert [line.split(":")[0] for line in lines[1:4]] == [
        "reading texts",
        "reading codes by bm25",
        "comparing by bm25",
    ]
    assert lines[-1] == "36 pairs added, 0 already there"


async def test_paused_stopped_and_started_again_it_finds_what_the_command_finds(
    corpus: Workspace,
    searching: Searching,
    tiny: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    workbench: Callable[..., Any],
) -> None:
    turns, vectors = Turns(monkeypatch), tmp_path / "vectors"
    app = searching(corpus)
    async with app.run_test(size=(100, 30)) as pilot:
        await home(pilot)
        turns.give(3)
        search = await begun(pilot, tiny)
        await pilot.press("J")
        await until(pilot, lambda: isinstance(app.screen, JobsScreen))
        # The queries, and two blocks of codes.
        await until(pilot, lambda: "32 of 90 " in text(app, "#now"))
        assert "▶ running" in text(app, "#now")
        assert "encoding codes by tiny-bert" in text(app, "#now")
        assert "/s" in text(app, "#now")
        assert search.name == "candidates tiny-bert codebert=codebert-base, mean, top 5"
        assert "candidates tiny-bert" in text(app, "#runs")
        assert "running    35 %" in text(app, "#runs")
        assert "near chance" in log_of(app)

        await pilot.press("p")
        await until(pilot, lambda: "‖ paused" in text(app, "#now"))
        taken = turns.taken
        turns.give(2)
        await pilot.pause(SETTLED)
        assert turns.taken <= taken + 1  # one may have been on its way
        assert search.state == "paused"
        await pilot.press("p")
        await until(pilot, lambda: "64 of 90 " in text(app, "#now"))
        assert any(word in text(app, "#now") for word in (" left", "finishing"))

        await pilot.press("x")
        await ended(pilot, "stopped")
        await until(pilot, lambda: "■ stopped" in text(app, "#now"))
        assert "p goes on" in text(app, "#now")
        assert rows(corpus, Item) == []
        assert len(list(vectors.rglob("*.vectors"))) == 5
        assert not list(vectors.rglob("*.part"))

        turns.give(100)
        await begun(pilot, tiny)
        await ended(pilot, "done")
        await until(pilot, lambda: "✓ done · 60 pairs added" in text(app, "#now"))
        await until(pilot, lambda: "64 of them kept from before" in log_of(app))
        assert log_of(app).count("of the ensemble's 5 codes are among its own") == 2
        assert "read only the beginning of" in log_of(app)
        assert text(app, "#runs").count("candidates tiny-bert") == 2
    same = tmp_path / "same.duckdb"
    corpus.close()
    with Workspace.open(corpus.path) as again:
        pairs = found(again)
        again.lane.submit(
            lambda connection: [
                connection.execute(sql(f"DELETE FROM {table}")) for table in ("similarity", "pair", "item")
            ]
        ).result()
    shutil.copy(corpus.path, same)
    monkeypatch.setenv("WORKBENCH_RETRIEVAL__VECTORS", str(tmp_path / "others"))
    assert workbench("candidates", same, "--models", tiny, "--top", 5).code == 0
    with Workspace.open(same) as commanded:
        assert found(commanded) == pairs
        assert len(pairs) == 2 * 60


async def test_errors_are_shown_and_leave_the_workspace_as_it_was(
    corpus: Workspace, searching: Searching, tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, vectors = len(rows(corpus, Source)), import_of(tmp_path, "no folder", "vectors")
    app = searching(corpus, vectors=vectors)
    async with app.run_test(size=(100, 30)) as pilot:
        # Vectors that cannot be written are an error with a hint.
        await home(pilot)
        await begun(pilot, tiny)
        await ended(pilot, "failed")
        await pilot.press("J")
        await until(pilot, lambda: "! Vectors not written" in text(app, "#now"))
        assert "Make room on the disk" in text(app, "#now")
        assert "p goes on" in text(app, "#now")
        assert rows(corpus, Item) == []

        # So is a model that breaks in the middle; the blocks before that are kept.
        vectors.unlink()
        Turns(monkeypatch, broken_at=3).give(100)
        await begun(pilot, tiny)
        search = await ended(pilot, "failed")
        await until(pilot, lambda: "! Not a number" in text(app, "#now"))
        assert "Nothing of this block was stored." in text(app, "#now")
        assert "failed: " in log_of(app)
        assert app.context.jobs.status_of(search.number).log[-1].level == "error"
        assert (rows(corpus, Item), len(rows(corpus, Source))) == ([], sources)
        assert len(list(vectors.rglob("*.vectors"))) == 2

        # A mistake of the program ends the search and not the app.
        def broken(*_: Any) -> None:
            raise ZeroDivisionError("no such number")

        monkeypatch.setattr("agents.retrieval.candidate_search.add_candidates", broken)
        await begun(pilot, "bm25")
        search = await ended(pilot, "failed")
        await until(pilot, lambda: "! The job broke" in text(app, "#now"))
    assert any("Traceback" in line.text for line in app.context.jobs.status_of(search.number).log)


async def test_it_ends_when_it_is_stopped_and_when_the_app_is_left(
    corpus: Workspace, searching: Searching, tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As the load of a model, which cannot be interrupted.
    loads, loaded, encode = Gate(), Gate(), LocalEncoder.encode

    def loading(*given: Any) -> Encoded:
        loads.set()
        assert loaded.wait(60)
        return encode(*given)

    monkeypatch.setattr(LocalEncoder, "encode", loading)
    app = searching(corpus)
    async with app.run_test(size=(80, 24)) as pilot:
        # While a search stops, the same cannot be started.
        await home(pilot)
        search = await begun(pilot, tiny)
        await until(pilot, loads.is_set)
        search.stop()
        await until(pilot, lambda: search.state == "stopping")
        await dialog(pilot, tiny, "5")
        await pilot.press("enter")
        await until(pilot, lambda: "is stopping. Stop it, or wait for its end." in said(app))
        assert isinstance(app.screen, HomeScreen)
        loaded.set()
        await ended(pilot, "stopped")

        # Quitting ends it, and keeps whole blocks.
        turns = Turns(monkeypatch)
        turns.give(3)
        search = await begun(pilot, tiny)
        await until(pilot, lambda: turns.taken == 3)
        await pilot.press("q")
        await until(
            pilot,
            lambda: (
                "candidate search. Quitting stops that; it can go on later. Press q once more" in said(app)
            ),
        )
        app._asked_to_quit = float("-inf")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: "Press ^q once more to quit." in said(app))
        assert app.is_running
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running)
    app.context.jobs.runner.close()
    assert search.wait(0)
    assert search.state == "stopped"
    vectors = tmp_path / "vectors"
    assert 2 <= len(list(vectors.rglob("*.vectors"))) <= 3
    assert not list(vectors.rglob("*.part"))


async def test_keys_judge_while_it_runs(
    tmp_path: Path, searching: Searching, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns(monkeypatch)
    with bench(tmp_path) as workspace:
        app = searching(workspace, review_app)
        async with app.run_test(size=(120, 40)) as pilot:
            await painted(pilot, 1)
            start_candidates(app, app.context)
            await until(pilot, lambda: isinstance(app.screen, CandidatesScreen))
            app.screen.query_one("#models", Input).value = tiny
            await pilot.press("enter")
            await until(pilot, lambda: bool(app.context.jobs.of_kind("candidates")))
            turns.give(1)
            await until(pilot, lambda: turns.taken == 1)
            await press(pilot, "1", "0", "1")
            await until(pilot, lambda: len(judgments(workspace)) == 3)
            assert [row[1] for row in judgments(workspace)] == [1.0, 0.0, 1.0]
            assert bool(app.context.jobs.of_kind("candidates"))
            await until(pilot, lambda: "▶ candidate search running" in text(app, "JobLine"))
            turns.give(100)
            await ended(pilot, "done")


async def test_agents_and_a_search_run_beside_each_other(
    tmp_path: Path, searching: Searching, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns(monkeypatch)
    pairs = [(f"q/{number}", f"query {number}", f"{GOOD}# {number}\n") for number in range(1, 4)]
    with pairs_workspace(tmp_path, pairs) as workspace:
        replies = [(name, "clear_match", 600.0 if name == "q/2" else 0.0) for name, _, _ in pairs]
        app = searching(workspace, annotation=script(tmp_path, replies), annotation_problem="")
        async with app.run_test(size=(80, 24)) as pilot:
            await home(pilot)
            await pilot.press("g")
            assert isinstance(app.screen, StartScreen)
            await pilot.press("enter")
            await until(pilot, lambda: bool(app.context.jobs.runs_at_work))
            search = await begun(pilot, tiny)
            await until(pilot, lambda: "│ ▶ candidate search" in text(app, "JobLine"))
            assert text(app, "JobLine").startswith("▶ agents")
            await pilot.press("ctrl+q")
            await until(pilot, lambda: "The agents are at work. Quitting stops them;" in said(app))
            assert "At work: candidate search." in said(app)
            await pilot.press("J")
            screen = app.screen
            assert isinstance(screen, JobsScreen)
            await until(pilot, lambda: screen.work_shown is not None and len(screen.entries) == 2)
            # The key pauses what is under the cursor, and that alone.
            await pilot.press("p")
            await until(pilot, lambda: search.state == "paused")
            (agents,) = app.context.jobs.runs_at_work
            assert agents.state == "running"
            await pilot.press("down")
            await until(pilot, lambda: screen.run_shown is not None)
            await pilot.press("p")
            await until(pilot, lambda: agents.state == "paused")
            await pilot.press("up")
            await until(pilot, lambda: screen.work_shown is not None)
            await pilot.press("x")
            await ended(pilot, "stopped")
            assert app.context.jobs.runs_at_work
            turns.give(1)


async def test_without_queries_the_dialog_says_what_is_missing(tmp_path: Path, searching: Searching) -> None:
    with Workspace.create(tmp_path / "empty.duckdb") as empty:
        app = searching(empty)
        async with app.run_test(size=(80, 24)) as pilot:
            await home(pilot)
            await dialog(pilot, "bm25")
            await until(pilot, lambda: "The workspace has no queries." in text(app, "#wrong"))
            await pilot.press("enter")
            await until(pilot, lambda: "Import a corpus and queries first" in text(app, "#wrong"))
            assert not app.context.jobs.started


async def test_in_an_open_study_and_in_a_packet_it_is_refused(
    tmp_path: Path, corpus: Workspace, searching: Searching, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    pairs = [(f"q/{number}", f"query {number}", f"{GOOD}# {number}\n") for number in range(1, 4)]
    with pairs_workspace(tmp_path, pairs) as workspace:
        open_study(workspace)
        sealed = searching(workspace, rater_app)
        monkeypatch.setattr(sealed, "notify", lambda message, **_: notices.append(message))
        async with sealed.run_test(size=(80, 24)):
            start_candidates(sealed, sealed.context)
            assert notices == [SEALED]
            assert not isinstance(sealed.screen, CandidatesScreen)
    fact = {"id": str(corpus.ids.next()), "study": "rq2", "rater": "ana", "pseudonym": "R1"}
    corpus.lane.submit(
        lambda connection: connection.execute(
            sql("INSERT INTO workspace_fact (name, value) VALUES ('packet', :fact)"),
            {"fact": json.dumps(fact)},
        )
    ).result()
    app = searching(corpus)
    monkeypatch.setattr(app, "notify", lambda message, **_: notices.append(message))
    async with app.run_test(size=(80, 24)) as pilot:
        await home(pilot)
        await pilot.press("f")
        await until(pilot, lambda: len(notices) == 2)
        assert notices[1].startswith("Candidates are added in the workspace of rq2, not in a packet of it.")
        assert isinstance(app.screen, HomeScreen)


async def test_a_blind_session_may_search(corpus: Workspace, searching: Searching) -> None:
    app = searching(corpus, blind=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await home(pilot)
        await begun(pilot, "bm25", "2")
        await ended(pilot, "done")
        await until(pilot, lambda: "✓ candidate search done" in str(app.screen.query_one(JobLine).content))
    assert len(rows(corpus, Item)) == 24
