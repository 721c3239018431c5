"""The file of a repository behind a piece of context, opened from the review."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from entry_bench import PREDICTIONS, QUESTIONS, TASKS, entries, given
from review_bench import line_of, painted, press, review_app, review_of, said, screen_text
from settling import settled
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.judging.keys import JudgingKeyLine
from screens.settings import ScreenSettings
from screens.text_screen import TextScreen
from screens.widgets.text.view import TextPane
from store.workspace.duckdb import Workspace
from workbench.start import open_app

SIZE = (120, 40)
TOOLS = "".join(f"# {n}\n" for n in range(60)) + "def thing_1(value):\n    ...\n" + "# the end\n" * 60


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with entries(tmp_path, tasks=TASKS, predictions=PREDICTIONS, questions=QUESTIONS[:1]) as made:
        yield made


@pytest.fixture
def settings(tmp_path: Path) -> ScreenSettings:
    """Settings with a folder of two repositories; of the second only one file is there."""
    for name, text in {
        "own-tools/tools.py": TOOLS,
        "own-tools/numbers.py": "PI = 4\n",
        "till/till/lock.py": "locked = False\n",
    }.items():
        file = tmp_path / "checkouts" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return ScreenSettings(repositories=tmp_path / "checkouts")


async def opened(pilot: Pilot[None]) -> TextPane:
    """Press the key, and wait until the file is read."""
    await pilot.press("F")
    app = pilot.app
    await settled(pilot.app)
    assert isinstance(app.screen, TextScreen)
    assert isinstance(app, WorkbenchApp)
    await settled(pilot.app)
    assert "Reading …" not in screen_text(app)
    return app.screen.query_one("#text", TextPane)


@pytest.mark.parametrize("size", [(80, 24), (100, 30), SIZE])
async def test_the_file_opens_at_the_piece_and_escape_goes_back(
    workspace: Workspace, settings: ScreenSettings, size: tuple[int, int]
) -> None:
    app = review_app(workspace, settings=settings)
    async with app.run_test(size=size) as pilot:
        screen = await painted(pilot)
        assert "F open file" in line_of(app, JudgingKeyLine)
        screen.panes.show_pane("context")
        await painted(pilot)
        pane = await opened(pilot)
        assert pane.text == TOOLS
        assert pane.cursor_lines == range(61, 63)
        assert "def thing_1(value):" in screen_text(app)
        assert "tools.py · working tree · own-tools-1a2b3c" in screen_text(app)
        # Keys that judge in the review do nothing here.
        await pilot.press("a", "escape")
        await painted(pilot)
        assert review_of(app) is screen
    assert given(workspace) == []


async def test_the_piece_at_the_cursor_is_opened(workspace: Workspace, settings: ScreenSettings) -> None:
    app = review_app(workspace, settings=settings)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "tab", "v", *["down"] * 5)
        pane = await opened(pilot)
        assert pane.text == "PI = 4\n"
        assert pane.cursor_lines is None
        assert "piece not found in it" in screen_text(app)
        await pilot.press("q")
        # In the subject's place, too.
        await press(pilot, "escape", "x")
        assert (await opened(pilot)).text == TOOLS


async def test_pieces_out_of_sight_are_shown_first(workspace: Workspace, settings: ScreenSettings) -> None:
    app = review_app(workspace, settings=settings, at=3)
    async with app.run_test(size=(80, 24)) as pilot:
        await press(pilot, "F")
        assert said(app) == "F opens the file of the piece at the top, or at the cursor of v."
        assert review_of(app).panes.active == "context"
        await opened(pilot)
        shown = " ".join(screen_text(app).replace("│", "").split())
        assert "! No file: " in shown
        assert "has no file till/drawer.py" in shown
        await pilot.press("escape")
        await press(pilot, "v", *["down"] * 5)
        pane = await opened(pilot)
        assert (pane.text, pane.cursor_lines) == ("locked = False\n", range(1, 2))


async def test_without_a_folder_or_pieces_the_key_says_so(
    workspace: Workspace, settings: ScreenSettings
) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "F")
        assert said(app).startswith("Start with --repositories DIR, or set screens.repositories")
        assert "open file" not in line_of(app, JudgingKeyLine)
    app = review_app(workspace, settings=settings, at=2)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "F")
        assert said(app) == "This item has no pieces of other files."
        screen = await painted(pilot)
        screen.guard.await_paint("item")
        await pilot.press("F")
        assert said(app) == "The item was not on the screen when you pressed. Press again."


def test_the_folder_of_the_option_must_exist(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="There is no folder"):
        open_app(tmp_path / "w.duckdb", "dana", None, repositories=tmp_path / "none")
