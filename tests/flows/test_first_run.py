"""The first run and the practice: from an empty folder to the first judged item."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apps import app_of, context_of
from review_bench import judgments, painted, review_of, screen_text
from settling import settled, until
from small_workspace import import_of
from textual.events import Paste
from textual.widgets import Input, Static
from tmux_terminal import TmuxTerminal

import workbench.first_run
import workbench.start
from screens.app import WorkbenchApp
from screens.home.import_dialog import ImportScreen
from screens.home.screen import HomeScreen
from screens.review.practice import PracticeLines
from screens.review.screen import ReviewScreen
from screens.settings import ScreenSettings
from screens.study_place import StudyPlace
from screens.welcome.app import WelcomeApp
from screens.welcome.choice import Chosen, FirstRun
from screens.welcome.details import DetailsScreen
from store.errors import WorkbenchError
from store.ingest.choices import ImportChoices
from store.ingest.importing import import_files
from store.record.raters import ensure_rater, register_kinds
from store.studies.session import study_session
from store.workspace.duckdb import Workspace
from workbench.config import load_config
from workbench.first_run import imports_into, keep_rater
from workbench.lazy_config import LazyConfig
from workbench.practice import lessons, make_practice
from workbench.rater import rater_name

PAIRS = '{"id": "a1", "query": "add two numbers", "code": "def add(a, b):\\n    return a + b\\n"}\n'


def welcome(folder: Path, **changes: Any) -> WelcomeApp:
    """The app of a first run in a folder, in which nothing is configured."""
    config = LazyConfig(folder / "config" / "config.toml")
    fields: dict[str, Any] = {
        "settings": ScreenSettings(),
        "workspaces": (),
        "files": True,
        "new": Path("workbench.duckdb"),
        "rater": "root",
        "asks": True,
        "config": config.path,
        "check_name": lambda name: rater_name(name, config) or "",
        "keep_name": lambda name: keep_rater(config.path, name),
        "imports": imports_into,
    }
    return WelcomeApp(FirstRun(**fields | changes))


def names_in(folder: Path) -> list[str]:
    """The names of what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


async def fill_in(pilot: Any, field: str, text: str) -> None:
    """Write a text into a field of the dialog."""
    box = pilot.app.screen.query_one(f"#{field}", Input)
    box.value = text
    await pilot.pause()


async def test_ctrl_c_cancels_the_dialog_and_quits_at_the_second_press(in_folder: Path) -> None:
    app = welcome(in_folder)
    async with app.run_test(size=(80, 24)) as pilot:
        first = app.screen
        await pilot.press("n")
        assert isinstance(app.screen, DetailsScreen)
        await pilot.press("x", "ctrl+z")
        assert app.screen.query_one("#rater", Input).value == "root"
        await pilot.press("ctrl+c")
        assert app.screen is first
        await pilot.press("ctrl+z", "ctrl+c")
        assert app.is_running
        told = [each.message for each in app._notifications]
        assert told == ["This terminal has no shell to go to.", "Press ^c once more to quit."]
        await pilot.press("ctrl+c")
        assert not app.is_running
    assert app.return_value is None
    assert names_in(in_folder) == []


async def test_a_file_becomes_a_workspace_and_its_first_item_is_opened(in_folder: Path) -> None:
    import_of(in_folder, PAIRS, "some.jsonl")
    app = welcome(in_folder)
    async with app.run_test(size=(80, 24)) as pilot:
        # Who has a file comes with it: Enter imports.
        await pilot.press("enter")
        assert isinstance(app.screen, DetailsScreen)
        await fill_in(pilot, "rater", " ")
        await pilot.press("enter")
        assert "! " in str(app.screen.query_one("#problem", Static).content)
        await fill_in(pilot, "rater", "dana lee")
        await fill_in(pilot, "path", "some.jsonl")
        await pilot.press("ctrl+s")
        dialog = app.screen
        assert isinstance(dialog, ImportScreen)
        outcome = dialog.query_one("#outcome", Static)
        await pilot.press("enter")
        assert "1 record; 1 item would be added" in str(outcome.content)
        assert names_in(in_folder) == ["config", "some.jsonl"]
        await pilot.press("enter")
        assert "1 item added" in str(outcome.content)
        await pilot.press("enter")
        assert not app.is_running
    made = Path("some.jsonl.duckdb")
    assert app.return_value == Chosen("workspace", "dana lee", made, judges=True)
    assert load_config(in_folder / "config" / "config.toml").config.rater == "dana lee"
    with Workspace.open(made):
        pass


async def test_a_workspace_of_the_folder_comes_first_and_is_not_replaced(in_folder: Path) -> None:
    with Workspace.create(in_folder / "study.duckdb"):
        pass
    app = welcome(in_folder, workspaces=(Path("study.duckdb"),), files=False)
    async with app.run_test(size=(80, 24)) as pilot:
        assert "▸    Open study.duckdb" in screen_text(app)
        await pilot.press("n")
        await fill_in(pilot, "path", "study")
        await pilot.press("enter")
        assert "study.duckdb exists" in str(app.screen.query_one("#problem", Static).content)
        await pilot.press("escape", "question_mark")
        assert "Look" not in screen_text(app)
        await pilot.press("escape", "enter", "enter")
        assert not app.is_running
    assert app.return_value == Chosen("workspace", "root", Path("study.duckdb"))


def test_a_refused_file_leaves_no_workspace(in_folder: Path) -> None:
    import_of(in_folder, PAIRS + "{", "bad.jsonl")
    imports = imports_into(Path("new.duckdb"))
    for act in (imports.check, imports.import_file):
        with pytest.raises(WorkbenchError, match="cannot be taken"):
            act(Path("bad.jsonl"), lambda _: None, ImportChoices())
    assert names_in(in_folder) == ["bad.jsonl"]


def test_a_kept_name_leaves_the_rest_of_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[screens]\ntheme = "textual-light"\n', encoding="utf-8")
    keep_rater(path, 'Ana "née" Lee')
    config = load_config(path).config
    assert (config.rater, config.screens.theme) == ('Ana "née" Lee', "textual-light")


@pytest.mark.parametrize(
    ("given", "is_first"),
    [
        ({}, True),
        ({"rater": "dana"}, False),
        ({"start": "queue"}, False),
        ({"workspace": Path("new.duckdb")}, False),
        ({"here": True}, False),
        ({"configured": True}, False),
    ],
)
def test_only_the_bare_command_where_there_is_nothing_is_a_first_run(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], is_first: bool
) -> None:
    monkeypatch.setattr(workbench.start, "in_terminal", lambda: True)
    monkeypatch.setattr(workbench.start, "run_app", lambda *_, **__: 1)
    monkeypatch.setattr(workbench.first_run, "first_run", lambda *_: 2)
    if given.pop("here", False):
        (in_folder / "workbench.duckdb").touch()
    if given.pop("configured", False):
        monkeypatch.setenv("WORKBENCH_WORKSPACE", "elsewhere.duckdb")
    arguments = {"workspace": None, "rater": None, "config": None} | given
    assert workbench.start.open_app(**arguments) == (2 if is_first else 1)


async def test_practice_says_what_to_try_and_whether_it_was_right(tmp_path: Path) -> None:
    with make_practice(tmp_path / "practice.duckdb", "ana") as made:
        ref = ensure_rater(made, "ana")
        with made.reading() as connection:
            session = study_session(connection, ref)
        assert session is not None
        assert (session.total, len(lessons())) == (10, 10)
        place = StudyPlace(made, session)
        app = WorkbenchApp(context_of(made, "ana", study=place, lessons=lessons(), start_with="resume"))

        def said() -> str:
            return str(app.screen.query_one(PracticeLines).content)

        async with app.run_test(size=(80, 24)) as pilot:
            await painted(pilot, 1)
            assert "Press 1 for a match, 0 for no match." in said()
            await pilot.press("0")
            await painted(pilot, 2)
            assert said().startswith("✗ empty-file/2: 0 no match is wrong; the known answer is 1 match.")
            assert "Try: " in said()
            await pilot.press("u")
            await painted(pilot, 1)
            assert "wrong" not in said()
            for number, lesson in enumerate(lessons(), start=1):
                review = await painted(pilot, number)
                assert review.item is not None
                for place_of, question in enumerate(review.item.questions):
                    await until(pilot, lambda at=place_of: review_of(app).item.at == at)  # type: ignore[misc, union-attr]
                    known = lesson.gold[question.spec.name]
                    # The score of the judge that is wrong is taken over.
                    accepts = question.spec.name == "answer.relevance"
                    keys = {one.value: one.key for one in question.spec.scale.values}
                    await pilot.press("a" if accepts else keys[known])
            await settled(pilot.app)
            assert "9 of 10 items right." in screen_text(app)
            assert "the relevance of 4" in said()
            assert "Try: " not in said()
            await pilot.press("enter")
            assert not app.is_running
        assert app.then == "work"
        assert len(judgments(made)) == 9 + 3 + 3 + 4 + 1 - 1


@pytest.fixture
def opened(in_folder: Path) -> Iterator[Any]:
    """Run workbench in a terminal in an empty folder: `opened("demo")`."""
    home = in_folder / "home"
    home.mkdir()
    terminals: list[TmuxTerminal] = []

    def start(*arguments: str) -> TmuxTerminal:
        env = {name: str(home) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
        command = [sys.executable, "-m", "workbench", *arguments]
        terminals.append(TmuxTerminal(command, size=(100, 30), env=env | {"PATH": os.environ["PATH"]}))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


in_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@in_tmux
@pytest.mark.tmux
def test_enter_alone_leads_from_a_file_to_its_first_item(in_folder: Path, opened: Any) -> None:
    import_of(in_folder, PAIRS, "some.jsonl")
    terminal = opened()
    for text in ("Import a file", "Your name", "some.jsonl", "would be added", "1 item added"):
        terminal.wait_for(text)
        terminal.settle()
        terminal.press("Enter")
    terminal.wait_for("def add")
    terminal.press_at_item("1", "End of the list")
    terminal.press("C-q")
    terminal.wait_for("ended with 0")
    with Workspace.open(in_folder / "workbench.duckdb") as made:
        assert [row[1] for row in judgments(made)] == [1.0]


@in_tmux
@pytest.mark.tmux
@pytest.mark.parametrize("named", [False, True])
def test_a_table_of_ones_own_is_few_keys_from_its_first_label(
    in_folder: Path, opened: Any, named: bool
) -> None:
    rows = (
        "how to add;a + b;yes\nhow to subtract;a - b;no\nhow to divide;a / b;yes\nhow to sort;sorted(a);no\n"
    )
    (in_folder / "own.csv").write_text(f"search text;my snippet;verdict\n{rows}", encoding="utf-8")
    terminal = opened(*["own.csv"] * named)
    # Named as an argument, the file is not chosen from the folder.
    asked = ("Import a file", "Your name", "own.csv", "would be added", "Enter open the first item")
    for text in [word for word in asked if not (named and word in ("Import a file", "own.csv"))]:
        terminal.wait_for(text)
        terminal.settle()
        terminal.press("Enter")
    terminal.wait_for("how to add")
    terminal.press_at_item("1", "how to subtract")
    terminal.press("C-q")
    terminal.wait_for("ended with 0")
    with Workspace.open(in_folder / "workbench.duckdb") as made:
        assert [row[1] for row in judgments(made)] == [1.0, 0.0, 1.0, 0.0, 1.0]


async def test_a_path_that_is_dropped_on_home_is_offered(in_folder: Path, tmp_path: Path) -> None:
    (in_folder / "my pairs.csv").write_text("Question,Snippet\nadd two,a + b\n", encoding="utf-8")
    with Workspace.create(tmp_path / "study.duckdb") as empty:
        app = app_of(empty)
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(app)
            path = (in_folder / "my pairs.csv").as_posix()
            for dropped in (f"'{path}'", path.replace(" ", "\\ "), f"file://{path.replace(' ', '%20')}\n"):
                app.post_message(Paste(dropped))
                await settled(app)
                assert "1 item would be added" in screen_text(app)
                await pilot.press("escape")
            app.post_message(Paste("some words, and no file"))
            await settled(app)
            assert isinstance(app.screen, HomeScreen)


async def test_the_first_item_of_a_second_file_is_opened(in_folder: Path, tmp_path: Path) -> None:
    for name in ("add", "sub"):
        text = f"id,Question,Snippet\n{name}1,{name} two,a + b\n{name}2,{name} three,a + b + c\n"
        (in_folder / f"{name}.csv").write_text(text, encoding="utf-8")
    with Workspace.create(tmp_path / "study.duckdb") as empty:
        register_kinds(empty)
        import_files(empty, [in_folder / "add.csv"])
        app = app_of(empty)
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(app)
            await pilot.press("i", *"sub.csv")
            await settled(app)
            await pilot.press("enter")
            await settled(app)
            assert "2 items added" in screen_text(app)
            await pilot.press("enter")
            await settled(app)
            assert isinstance(app.screen, ReviewScreen)
            assert "sub two" in screen_text(app)
            assert "3 of 4" in screen_text(app)


async def test_a_file_that_is_named_is_offered_in_a_workspace_that_is_there(
    in_folder: Path, tmp_path: Path
) -> None:
    name = 'my (1) "pairs", Ann\'s.csv'
    (in_folder / name).write_text("Question,Snippet\nadd two,a + b\n", encoding="utf-8")
    with Workspace.create(tmp_path / "study.duckdb") as empty:
        app = app_of(empty, file=name)
        async with app.run_test(size=(80, 24)):
            await settled(app)
            assert isinstance(app.screen, ImportScreen)
            assert "1 item would be added" in screen_text(app)


@in_tmux
@pytest.mark.tmux
def test_the_demo_is_two_keys_from_a_judgment_and_from_all_completions(opened: Any) -> None:
    terminal = opened("demo", "--train", "--rater", "dana")
    terminal.wait_for("Try: ")
    terminal.settle()
    terminal.press("q")
    terminal.wait_for("judge empty-file/1")
    terminal.press("Enter")
    terminal.wait_for("def is_blank_file")
    terminal.wait_for("agents done")
    terminal.press_at_item("0", "● 0 no match")
    terminal.press("q")
    terminal.wait_for("Yours")
    terminal.press("Tab")
    terminal.wait_for("of 123")
    terminal.press_at_item("2", "12 of 123")
    terminal.press("q")
    terminal.wait_for("Yours")
    terminal.press("t")
    terminal.wait_for("Try: ")
    terminal.settle()
    terminal.press("C-q")
    terminal.wait_for("ended with 0")
