"""Home at work: what it says of a workspace, and what its keys begin."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apps import app_of, context_of
from kinds import json_lines, task
from review_bench import screen_text
from settling import Gate, settled, until
from small_workspace import (
    GOOD,
    import_of,
    label,
    labelled_by_agents,
    mark,
    pairs_workspace,
    recorded,
    script,
)
from sqlalchemy import func, select
from textual.selection import SELECT_ALL
from textual.widgets import Input, Static

from agents.settings import JobSettings
from screens.app import WorkbenchApp
from screens.commands import commands_of
from screens.home.import_dialog import ImportScreen, matching_files
from screens.home.panel import Panel
from screens.home.screen import HomeScreen
from screens.jobs.candidates import CandidatesScreen
from screens.jobs.screen import JobsScreen
from screens.jobs.start import StartScreen
from screens.queue.screen import QueueScreen
from screens.review.screen import ReviewScreen
from screens.settings import ScreenSettings
from screens.widgets.key_line import KeyLine
from store.events import Progress, ReportProgress, silent
from store.ingest.choices import ImportChoices
from store.ingest.importing import import_files
from store.ingest.report import ImportReport
from store.record.raters import ensure_rater
from store.record.session import save_session
from store.tables.columns import table_of
from store.tables.imported import Item
from store.workspace.duckdb import Workspace

PAIRS = '{"id": "a1", "query": "add two numbers", "code": "def add(a, b):\\n    return a + b\\n"}\n'


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Workspace]:
    """A workspace that holds nothing."""
    with Workspace.create(tmp_path / "study.duckdb") as workspace:
        yield workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Ten pairs: dana judged four of them, the agents eight, and both say the same on two of three."""
    pairs = [(f"q/{number}", f"query {number}", f"{GOOD}# {number}\n") for number in range(1, 11)]
    with pairs_workspace(tmp_path, pairs) as made:
        rater = context_of(made).rater
        assert rater is not None
        labelled_by_agents(made, [(number, 1.0, "screened") for number in range(1, 9)])
        labels = {1: 1.0, 2: 0.0, 3: 1.0, 9: 0.0}
        recorded(made, rater, *[label(made, rater, number, value) for number, value in labels.items()])
        recorded(made, rater, mark(made, rater, 5, "cannot_decide"), mark(made, rater, 6, "flag"))
        yield made


def home_of(app: WorkbenchApp) -> HomeScreen:
    """Home, which must be what is shown."""
    assert isinstance(app.screen, HomeScreen)
    return app.screen


def said(panel: Panel) -> str:
    """What a panel says."""
    return "\n".join("".join(piece.text.plain for piece in line) for line in panel.lines)


def about(app: WorkbenchApp) -> str:
    """What home says of the workspace, what to do next left out."""
    home = home_of(app)
    panels = [said(panel) for panel in home.query(Panel) if panel.id != "next"]
    return "\n".join([str(home.query_one("#message", Static).content), *panels])


def steps(app: WorkbenchApp) -> dict[str, str]:
    """What to do next: the phrases by key."""
    lines = said(home_of(app).query_one("#next", Panel)).splitlines()
    return dict(line.split(maxsplit=1) for line in lines)


def keys(app: WorkbenchApp) -> str:
    """The line of keys."""
    return str(app.screen.query_one(KeyLine).content)


def figures(app: WorkbenchApp) -> list[str]:
    """The names of the figures that open something, in the order in which the cursor comes to them."""
    return [piece.key for panel in home_of(app).query(Panel) for piece in panel.figures]


def listed(app: WorkbenchApp) -> tuple[str, list[int]]:
    """The sentence and the items of the queue, which must be what is shown, and read."""
    assert isinstance(app.screen, QueueScreen)
    sentence = str(app.screen.query_one("#sentence", Static).content)
    assert "counting" not in sentence
    return sentence, app.screen.items.ids.tolist()


def notices(app: WorkbenchApp) -> list[str]:
    """What the app told in toasts."""
    return [each.message for each in app._notifications]


def items_in(workspace: Workspace) -> int:
    """How many items are stored."""
    with workspace.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(table_of(Item))).scalar_one())


async def ready(pilot: Any) -> None:
    """Wait until home has read its numbers."""
    await settled(pilot.app)
    assert isinstance(pilot.app.screen, HomeScreen)
    assert pilot.app.screen.facts is not None
    await pilot.pause()


async def test_an_empty_workspace_teaches_the_ways_in_and_takes_a_file(
    empty: Workspace, in_folder: Path
) -> None:
    import_of(in_folder, PAIRS, "some_pairs.jsonl")
    import_of(in_folder, PAIRS + '{"id": "a2", "query": "no code"}\n', "bad.jsonl")
    app = app_of(empty)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        assert "study.duckdb is empty" in about(app)
        assert list(steps(app)) == ["i", "d"]
        assert "workbench import study.duckdb FILE" in steps(app)["i"]
        assert all(panel.display == (panel.id == "next") for panel in home_of(app).query(Panel))
        # Keys without effect are not named, and say why they have none.
        assert "resume" not in keys(app)
        for key in ("tab", "g"):
            await pilot.press(key)
            assert "The workspace is empty. i imports a file." in notices(app)
            app.clear_notifications()
            assert home_of(app)

        # Enter does what the line at the cursor says; the cursor moves between the ways in.
        assert "Enter import a file" in keys(app)
        await pilot.press("down")
        assert "Enter load demo" in keys(app)
        await pilot.press("up", "enter")
        assert isinstance(app.screen, ImportScreen)
        await pilot.press("escape")

        # A faulty file imports nothing, and what was typed is kept.
        await pilot.press("i", *"bad.jsonl", "enter")
        modal = app.screen
        outcome = modal.query_one("#outcome", Static)
        assert modal.has_class("-failed")
        assert "! Nothing was imported\n1 record cannot be taken" in str(outcome.content)
        assert modal.query_one("#path", Input).value == "bad.jsonl"
        assert outcome.region.bottom <= 24
        (in_folder / "odd.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
        await pilot.press("ctrl+u", *"odd.jsonl")
        assert "--formats" in str(outcome.content)
        assert "Options are for the command line: workbench import WORKSPACE FILE" in str(outcome.content)
        assert outcome.region.bottom <= 24
        await pilot.press("escape")
        assert home_of(app)
        assert items_in(empty) == 0

        # A file is imported, and home knows of it.
        await pilot.press("i")
        assert isinstance(app.screen, ImportScreen)
        modal = app.screen
        # Enter takes the only file that matches; it imports nothing yet.
        await pilot.press(*"some", "enter")
        assert modal.query_one("#path", Input).value == "some_pairs.jsonl"
        outcome = modal.query_one("#outcome", Static)
        assert "1 record; 1 item would be added" in str(outcome.content)
        assert "pairs · json lines, as they will look:" in str(outcome.content)
        assert re.search(r"add two numbers +def add", str(outcome.content))
        assert items_in(empty) == 0
        await pilot.press("enter")
        assert "1 item added" in str(outcome.content)
        assert "Enter open the first item" in str(modal.query_one(".keys", Static).content)
        await pilot.press("enter")
        assert isinstance(app.screen, ReviewScreen)
        assert app.screen.item is not None
        await pilot.press("q")
        assert "some_pairs" in about(app)
        assert items_in(empty) == 1
        assert "Enter" in steps(app)
        await pilot.press("tab")
        assert listed(app)[1] == [1]


async def test_a_corpus_without_pairs_says_what_to_do_with_it(empty: Workspace, tmp_path: Path) -> None:
    (tmp_path / "queries.txt").write_text("sort a list\nread csv\n", encoding="utf-8")
    import_files(empty, [tmp_path / "queries.txt"], format="queries")
    app = app_of(empty)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        assert "study.duckdb has a corpus, and no pairs yet." in about(app)
        assert "2 queries and 0 codes." in about(app)
        assert "f searches the best codes of each query" in about(app)
        assert "find candidate pairs" in steps(app)["f"]
        await pilot.press("enter")
        assert isinstance(app.screen, CandidatesScreen)
        await pilot.press("escape", "down", "enter")
        assert isinstance(app.screen, ImportScreen)


async def test_the_panels_say_what_the_reports_say_and_follow_what_happens(workspace: Workspace) -> None:
    app = app_of(workspace)
    rater = app.context.rater
    assert rater is not None
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        assert all(words in about(app) for words in ("agree", "tokens"))
        words = " ".join(about(app).split())
        assert "pairs █" in words
        assert "░ 5/10 today 0" in words
        assert "cannot decide 1 · ⚑ flagged 1" in words
        assert "from test" in words
        assert "8 of 10 labelled · 2 without" in words
        assert "you 1 match 2 0 you 0 no match 1 ▲ 0" in words
        assert "67% agree · κ 0.00 · n = 3 · ▲ 1 differ" in words
        assert "3.36k tokens · $0.0008" in words
        assert list(steps(app)) == ["Enter", "2", "4", "g", "Tab"]
        assert "judge q/4 “query 4”" in steps(app)["Enter"]
        assert "choose a model; 2 pairs" in steps(app)["g"]

        # Keys without effect are not named, and say why they have none.
        await pilot.resize_terminal(120, 40)
        assert "Tab queue" in keys(app)
        assert "g start" in keys(app)
        assert "d look" not in keys(app)
        await pilot.press("d")
        assert any("empty workspace" in each for each in notices(app))
        await pilot.press("g")
        assert isinstance(app.screen, StartScreen)
        await pilot.press("escape")

        # An error is said, and the numbers come back.
        await pilot.resize_terminal(80, 24)
        cursor = workspace.native()
        cursor.execute("ALTER TABLE source RENAME TO source_gone")
        home_of(app).read()
        await settled(pilot.app)
        assert home_of(app).failure is not None
        assert "could not be read" in about(app)
        assert "workbench doctor" in about(app)
        cursor.execute("ALTER TABLE source_gone RENAME TO source")
        cursor.close()
        home_of(app).read()
        await settled(pilot.app)
        assert "5/10" in about(app)

        # The numbers follow a judgment.
        app.context.recorder.submit(label(workspace, rater, 10, 1.0))
        await settled(pilot.app)
        assert "6/10" in about(app)


async def test_every_number_opens_the_items_behind_it(workspace: Workspace) -> None:
    app = app_of(workspace)

    async def opened(key: str) -> tuple[str, list[int]]:
        """What Enter lists on a figure."""
        home = home_of(app)
        by = figures(app).index(key) - figures(app).index(home.query_one("#next", Panel).cursor)
        await pilot.press(*["down" if by > 0 else "up"] * abs(by))
        assert home.query_one("#next", Panel).cursor == key
        await pilot.press("enter")
        found = listed(app)
        await pilot.press("escape")
        assert app.screen is home
        return found

    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        assert "agents:differ" in figures(app)
        assert home_of(app).query_one("#next", Panel).cursor == "resume"
        assert (await opened("cell:0:1"))[1] == [2]
        assert (await opened("agents:none:pair"))[1] == [9, 10]
        sentence, items = await opened("kind:pair")
        assert "pairs · 10 of 10" in sentence
        assert len(items) == 10
        assert (await opened("mark:⚑ flagged"))[1] == [6]
        await pilot.press("2")
        assert listed(app)[1] == [2]

        # The agreement of raters opens what they differ on; another one has judged meanwhile.
        ben = ensure_rater(workspace, "ben")
        recorded(workspace, ben, *[label(workspace, ben, number, 1.0) for number in (1, 2, 9)])
        await pilot.press("escape")
        await pilot.resize_terminal(80, 24)
        assert "raters:ben/dana" in figures(app)
        assert "raters   ben–you κ 0.00 (n 3)" in about(app)
        await pilot.click("#raters", offset=(14, 0))
        sentence, items = listed(app)
        assert items == [2, 9]
        assert "ben and dana differ · 2 of 10" in sentence


async def test_enter_does_what_the_line_at_the_cursor_says(workspace: Workspace) -> None:
    labelled_by_agents(workspace, [(number, 0.0, "screened") for number in (1, 2)], name="later")
    app = app_of(workspace)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)

        async def go_to(key: str) -> None:
            names = figures(app)
            by = names.index(key) - names.index(home_of(app).query_one("#next", Panel).cursor)
            await pilot.press(*["down" if by > 0 else "up"] * abs(by))

        assert "Enter judge" in keys(app)
        await go_to("disagreements")
        # Only one line has the key Enter: the one at the cursor.
        assert "Enter disagreements" in keys(app)
        assert "Enter" not in said(home_of(app).query_one("#next", Panel))
        await pilot.press("enter")
        assert "disagree" in listed(app)[0]
        await pilot.press("escape")
        await go_to("queue")
        await pilot.press("enter")
        assert len(listed(app)[1]) == 10
        await pilot.press("escape")
        # The line of a run shows that run, not the latest.
        runs = home_of(app).details.runs
        assert [run.labelled for run in runs] == [2, 8]
        for run in runs:
            await go_to(f"run:{run.id}")
            assert "Enter open" in keys(app)
            await pilot.press("enter")
            assert isinstance(app.screen, JobsScreen)
            assert app.screen.run_shown is not None
            assert app.screen.run_shown.run.id == run.id
            await pilot.press("escape")
        await go_to("resume")
        await pilot.press("enter")
        assert isinstance(app.screen, ReviewScreen)


async def test_a_kept_session_is_where_one_goes_on(workspace: Workspace) -> None:
    context = context_of(workspace)
    assert context.rater is not None
    save_session(workspace, context.rater.id, "review", {"item": 7}).result()
    app = WorkbenchApp(context)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        assert "go on at q/7 “query 7”" in steps(app)["Enter"]
        await pilot.press("enter")
        assert getattr(getattr(app.screen, "item", None), "item_id", None) == 7


async def test_a_blind_home_counts_nothing_of_the_agents(workspace: Workspace) -> None:
    app = app_of(workspace, blind=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        assert home_of(app).details.runs == ()
        assert "blind: the agents' labels not read" in about(app)
        assert "agree" not in about(app)
        assert "8 of 10" not in about(app)
        assert "2 pairs" not in " ".join(steps(app).values())
        assert home_of(app).details.labels is None
        assert home_of(app).details.raters == ()
        await pilot.press("2")
        assert home_of(app)


async def test_without_a_rater_it_says_how_to_set_one(workspace: Workspace) -> None:
    app = app_of(workspace, rater=None)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        assert "--rater NAME" in about(app)
        assert "today" not in about(app)


async def test_the_sample_is_never_taken_for_a_models_output(workspace: Workspace) -> None:
    app = app_of(workspace, is_sample=lambda: True, sandbox="Test programs run in bubblewrap.")
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        notes = home_of(app).query_one("#notes", Static)
        assert "written by hand and are not a model's output" in str(notes.content)
        assert "bubblewrap" in str(notes.content)
        assert notes.region.bottom <= 24
        assert notes.region.height >= 3


async def test_the_demo_is_loaded_and_annotated_behind_the_screen(empty: Workspace, tmp_path: Path) -> None:
    file = import_of(tmp_path, PAIRS)
    context = context_of(empty)

    def load() -> Any:
        context.import_file(file, silent, ImportChoices())
        return script(tmp_path, [("a1", "clear_match", 0.0)])

    app = app_of(empty, load_sample=load)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("down", "enter")
        await until(pilot, lambda: "1 of 1 labelled" in about(app))
        assert "d" not in steps(app)


async def test_agents_are_offered_only_where_they_can_work(empty: Workspace, tmp_path: Path) -> None:
    tasks = [{**task(number), "metadata": {"task_id": f"project_cc_python/{number}"}} for number in (1, 2)]
    import_files(empty, [json_lines(tmp_path / "tasks.jsonl", tasks)])
    app = app_of(empty, annotation=JobSettings(model="scripted:none"))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        assert "from tasks.jsonl" in about(app)
        assert "agents" not in about(app)
        assert list(steps(app)) == ["Enter", "Tab"]
        assert "g start" not in keys(app)
        await pilot.press("g")
        assert any("No agents label the kinds" in each for each in notices(app))
        await pilot.press("J")
        await until(pilot, lambda: isinstance(app.screen, JobsScreen) and app.screen.runs is not None)
        await until(pilot, lambda: "g start" not in keys(app))
        assert not app.context.jobs.at_work


async def test_keys_of_the_configuration_are_the_keys_that_are_named(
    empty: Workspace, in_folder: Path
) -> None:
    import_of(in_folder, PAIRS, "some_pairs.jsonl")
    app = app_of(empty, settings=ScreenSettings(keys={"import.leave": "f3", "home.queue": "z"}))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        # The import names the key that leaves it.
        await pilot.press("i")
        assert isinstance(app.screen, ImportScreen)
        await pilot.press(*"some_pairs.jsonl")
        outcome = app.screen.query_one("#outcome", Static)
        assert "would be added" in str(outcome.content)
        await pilot.press("enter")
        assert "1 item added" in str(outcome.content)
        assert "F3 close" in str(app.screen.query_one(".keys", Static).content)
        await pilot.press("f3")
        # Home names the key that opens the queue.
        assert home_of(app)
        assert "z queue" in keys(app)
        assert "z" in steps(app)
        await pilot.press("tab")
        assert home_of(app)
        await pilot.press("z")
        assert isinstance(app.screen, QueueScreen)


def test_files_that_match_what_is_typed(in_folder: Path) -> None:
    for name in ("pairs.jsonl", "pairs.txt", "other.csv.gz", ".hidden.json", "p.duckdb.journal.jsonl"):
        (in_folder / name).touch()
    (in_folder / "parts").mkdir()
    (in_folder / "parts" / "one.parquet").touch()
    assert matching_files("pa") == ["pairs.jsonl", "parts/"]
    assert matching_files("p.") == []
    assert matching_files("") == ["other.csv.gz", "pairs.jsonl", "parts/"]
    assert matching_files("parts/") == ["parts/one.parquet"]
    assert matching_files(f"{in_folder}/o") == [f"{in_folder}/other.csv.gz"]
    assert matching_files("nowhere/x") == []
    assert matching_files("~nobody-is-called-so/x") == []
    assert matching_files(".h") == [".hidden.json"]


async def test_a_long_import_shows_how_far_it_is(
    empty: Workspace, in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_of(in_folder, PAIRS, "some_pairs.jsonl")
    monkeypatch.setattr("screens.home.import_dialog.TICK_SECONDS", 0.02)
    monkeypatch.setattr("screens.home.import_dialog.BAR_AFTER_SECONDS", 3600.0)
    go_on = Gate()

    def slowly(path: Path, report: ReportProgress, _choices: ImportChoices) -> ImportReport:
        report(Progress("reading some_pairs.jsonl", 1_000, 4_000))
        assert go_on.wait(60)
        return import_files(empty, [path], progress=report)

    app = app_of(empty, import_file=slowly)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("i")
        assert isinstance(app.screen, ImportScreen)
        outcome = app.screen.query_one("#outcome", Static)
        await pilot.press(*"some_pairs.jsonl")
        assert "would be added" in str(outcome.content)
        await pilot.press("enter")
        assert "░" not in str(outcome.content)
        monkeypatch.setattr("screens.home.import_dialog.BAR_AFTER_SECONDS", 0.0)
        await until(pilot, lambda: "░" in str(outcome.content))
        _, bar, words = str(outcome.content).splitlines()
        assert bar.count("█") == len(bar) // 4
        assert re.match(r"reading some_pairs\.jsonl · 25% · \d+ s", words)
        await pilot.press("escape")
        assert str(outcome.content).startswith("Still importing; please wait.")
        go_on.set()
        await settled(pilot.app)
        assert "1 item added" in str(outcome.content)
        assert "░" not in str(outcome.content)


async def test_every_dialog_can_be_quit_and_is_cancelled_by_ctrl_c(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_of(workspace, annotation=JobSettings(model="scripted:none"), annotation_problem="")
    quit_by: list[str] = []
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        # The app would end each time, and is kept running for the next dialog.
        with monkeypatch.context() as running:
            running.setattr(app, "exit", lambda: quit_by.append(app.context.last_key.name))
            for opening in ("i", "g", "tab f", "tab o", "tab slash", "question_mark", "ctrl+p"):
                for key in opening.split():
                    before = app.screen
                    await pilot.press(key)
                    assert key == "slash" or app.screen is not before
                dialog, is_line = app.screen, opening.endswith("slash")
                await pilot.press("ctrl+q")
                assert quit_by == ["ctrl+q"], opening
                await pilot.press("ctrl+c")
                assert quit_by == ["ctrl+q"], opening
                assert isinstance(app.focused, Input) is False
                assert (app.screen is dialog) == is_line, opening
                quit_by.clear()
                while not isinstance(app.screen, HomeScreen):
                    await pilot.press("escape")
        await pilot.press("i", "ctrl+q")
        assert not app.is_running


async def test_ctrl_c_copies_what_is_selected_in_a_field_and_q_quits_at_the_second_press(
    workspace: Workspace,
) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("tab")
        assert len(listed(app)[1]) == 10
        await pilot.press("slash", *"words", "shift+home", "ctrl+c")
        assert app.clipboard == "words"
        assert app.is_running
        # On home q asks first.
        await pilot.press("escape", "escape")
        assert home_of(app)
        await pilot.press("q")
        assert "Press q once more to quit." in notices(app)
        await pilot.press("q")
        assert not app.is_running


async def test_narrow_home_names_every_key_that_has_an_effect(workspace: Workspace, empty: Workspace) -> None:
    def offered() -> list[str]:
        home = home_of(app)
        return [
            home.label_now(command)
            for command in commands_of("home", "app")
            if command.on_line and home.offers(command) and command.id != "app.reports"
        ]

    for opened in (workspace, empty):
        app = app_of(opened, annotation=JobSettings(model="scripted:none"), annotation_problem="")
        async with app.run_test(size=(80, 24)) as pilot:
            await ready(pilot)
            named = [name.split(maxsplit=1) for line in keys(app).splitlines() for name in line.split(" · ")]
            assert sorted(words for _, words in named) == sorted(offered())
            assert named[0][0] == "Enter"
            assert named[-1] == ["?", "keys"]
            # All of them are in sight, and nothing is pushed out of it.
            line, body = app.screen.query_one(KeyLine), app.screen.query_one("#body")
            assert line.region.bottom == 24
            assert line.size.height == len(keys(app).splitlines())
            assert body.virtual_size.height <= body.size.height


async def test_a_tall_home_shows_the_guide_of_the_question_that_is_next(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(120, 60)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: "Does the code do what the query asks?" in screen_text(app))
        assert "1  match" in screen_text(app)
        assert "0 no match: it does something else" in screen_text(app)
        await pilot.resize_terminal(80, 24)
        await settled(app)
        assert "Does the code do" not in screen_text(app)


async def test_ctrl_c_quits_a_screen_at_the_second_press_and_copies_what_the_mouse_selected(
    workspace: Workspace,
) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        panel = home_of(app).query_one("#yours", Panel)
        home_of(app).selections = {panel: SELECT_ALL}
        await pilot.press("ctrl+c")
        assert app.clipboard.startswith(" pairs")
        assert "sent to the terminal's clipboard" in notices(app)[-1]
        # What was copied is selected no more, and nothing else is open.
        await pilot.press("ctrl+c")
        assert app.is_running
        assert "Press ^c once more to quit." in notices(app)
        await pilot.press("tab")
        assert listed(app)
        await pilot.press("ctrl+c")
        assert not app.is_running


async def test_ctrl_c_cancels_a_dialog_whose_text_is_selected_at_the_second_press(
    workspace: Workspace,
) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("i", *"some")
        field = app.screen.query_one("#path", Input)
        field.select_all()
        await pilot.press("ctrl+c")
        assert isinstance(app.screen, ImportScreen)
        assert app.clipboard == "some"
        assert field.value == "some"
        await pilot.press("ctrl+c")
        assert isinstance(app.screen, HomeScreen)


async def test_nothing_is_suspended_midway(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_of(workspace)
    stops: list[int] = []
    monkeypatch.setattr("screens.app.why_not_suspended", lambda _: "")
    monkeypatch.setattr("screens.app.suspend", lambda _: stops.append(1))
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        app.context.tests.running.add(1)
        await pilot.press("ctrl+z")
        assert "A test is running" in notices(app)[-1]
        app.context.tests.running.clear()
        # A reply of a model is on its way.
        job = app.context.jobs.start(script(tmp_path, [("q/9", "clear_match", 600.0)]))
        assert job is not None
        await until(pilot, lambda: job.state == "running")
        await pilot.press("ctrl+z")
        assert "Pause it first (J, p)" in notices(app)[-1]
        assert stops == []
        job.pause()
        await until(pilot, lambda: job.state == "paused")
        await pilot.press("ctrl+z")
        assert stops == [1]
        job.stop(0.0)
        await until(pilot, lambda: job.state == "stopped")


async def test_a_key_that_suspends_undoes_in_a_line_and_says_where_it_cannot(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+z")
        assert "This terminal has no shell to go to." in notices(app)
        app.clear_notifications()
        await pilot.press("tab", "slash", *"two", "space", *"words")
        line = app.screen.query_one("#find", Input)

        async def after(*keys: str) -> str:
            await pilot.press(*keys)
            return line.value

        assert await after("ctrl+z") == "two "
        assert await after("ctrl+z", "ctrl+z") == ""
        assert await after("ctrl+y", "ctrl+y") == "two words"
        assert await after("ctrl+u", "ctrl+z") == "two words"
        assert await after("backspace", "x", "ctrl+y") == "two wordx"
        # A text that the app puts there is none to undo.
        line.value = "another"
        assert await after("ctrl+z") == "another"
        assert notices(app) == []
        # In a dialog, too.
        await pilot.press("escape", "escape", "i", *"some", "ctrl+z")
        assert isinstance(app.screen, ImportScreen)
        assert app.screen.query_one("#path", Input).value == ""
