"""A covered reference of a completion: nothing of it is shown before the first answer."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest
from entry_bench import PREDICTIONS, QUESTIONS, TASKS, entries, given
from kinds import task
from review_bench import line_of, painted, press, review_app, review_of, said, screen_text, text_of
from settling import settled

from screens.app import WorkbenchApp
from screens.judging.keys import JudgingKeyLine
from screens.settings import ScreenSettings
from screens.widgets.text.view import TextPane
from store.workspace.duckdb import Workspace

SIZE = (120, 40)
BAR = "▒▒▒▒▒▒▒▒"
REFERENCE = "thing_1(value)"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with entries(tmp_path, tasks=TASKS, predictions=PREDICTIONS, questions=QUESTIONS[:1]) as made:
        yield made


def prompt_of(app: WorkbenchApp) -> TextPane:
    return app.screen.query_one("#prompt", TextPane)


def covered(app: WorkbenchApp) -> bool:
    """Whether the reference is covered; then the panes repeat it nowhere, else all of them show it."""
    texts = [text_of(app, pane) for pane in ("prompt", "subject", "comparison", "response-A")]
    is_covered = "reference covered · H shows it" in screen_text(app)
    shown = [text for text in texts if REFERENCE in text]
    assert bool(shown) is not is_covered, texts
    return is_covered


@pytest.mark.parametrize("size", [(80, 24), (100, 30), SIZE])
async def test_the_reference_is_covered_until_the_first_answer(
    workspace: Workspace, size: tuple[int, int]
) -> None:
    app = review_app(workspace)
    async with app.run_test(size=size) as pilot:
        await painted(pilot, 1)
        assert not covered(app)
        assert "H cover reference" in line_of(app, JudgingKeyLine)
        await press(pilot, "H")
        assert covered(app)
        assert said(app) == "References are covered until your first answer to an item; H shows them."
        assert "H show reference" in line_of(app, JudgingKeyLine)
        assert f"return make.▮{BAR}" in screen_text(app)
        assert text_of(app, "subject").split("\n")[5:] == ["", "", "print(run(1))", ""]
        await press(pilot, "H")
        assert not covered(app)
        await press(pilot, "H", "a")
        assert not covered(app)
        assert said(app).startswith("● cross file: A yes")
        # It stays for the items that follow, and an answered one stays open.
        await press(pilot, "n")
        assert "reference covered" in screen_text(app)
        assert "thing_2(value)" not in text_of(app, "subject")
        await press(pilot, "p")
        assert not covered(app)
        assert "H stop covering" in line_of(app, JudgingKeyLine)
        # Undone, the item has no answer again.
        await press(pilot, "u")
        assert covered(app)
        await settled(pilot.app)
    assert [row[1:3] for row in given(workspace)] == [
        ("completion.cross_file", 1),
        ("completion.cross_file", None),
    ]


async def test_any_first_answer_and_cannot_decide_show_it(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "H", "t")
        assert covered(app)
        assert "Could you write the reference" in screen_text(app)
        await press(pilot, "c")
        assert not covered(app)
        await press(pilot, "n", "d", "w", "p")
        assert "thing_2(value)" in text_of(app, "subject")


async def test_the_choice_outlives_the_session(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "H")
        await pilot.press("q")
        app.open_review(array("q", [1, 2, 3]), 0)
        await painted(pilot, 1)
        assert covered(app)
        await pilot.press("ctrl+q")
    app = review_app(workspace, at=None)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        assert covered(app)
        await press(pilot, "H")
        assert not covered(app)


async def test_covered_lines_keep_their_numbers_and_are_cited_as_they_are(tmp_path: Path) -> None:
    long = task(1, groundtruth="thing_1(\n    value,\n\n)")
    with entries(tmp_path, tasks=[long], predictions=PREDICTIONS[:1]) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=SIZE) as pilot:
            await press(pilot, "H")
            assert text_of(app, "subject").split("\n")[4:11] == [
                f"    return make.{BAR}", BAR, "", BAR, "", "", "print(run(1))"
            ]  # fmt: skip
            await press(pilot, "v", *["down"] * 5, "v", "escape")
            assert [one.text for one in review_of(app).citations.cited] == ["    value,"]
            assert BAR in text_of(app, "subject")
            # Covered parts can be neither copied nor cited.
            for pane in ("comparison", "response-A", "history"):
                review_of(app).panes.show_pane(pane)
                await press(pilot, "y")
                assert said(app) == "There is nothing to copy in this pane."
                await press(pilot, "v", "enter")
                assert "value" not in screen_text(app).replace("(value)", "", 1)


async def test_a_key_pressed_early_covers_nothing_and_answers_wait_for_what_is_shown(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        screen.guard.await_paint("item")
        await pilot.press("H")
        assert said(app) == "The item was not on the screen when you pressed. Press again."
        assert not covered(app)
        screen.guard.notify_when_painted()
        await press(pilot, "H")
        assert covered(app)
        # An answer that was typed before the reference could be seen.
        monkeypatch.setattr("screens.judging.paint_guard.SEEN_SECONDS", 60.0)
        await pilot.press("a")
        assert said(app) == "Not recorded: the reference was not on the screen when you pressed. Press again."
        assert covered(app)
    assert given(workspace) == []


async def test_other_kinds_have_none_and_the_key_can_be_another_one(workspace: Workspace) -> None:
    settings = ScreenSettings(keys={"review.cover": "f4"})
    app = review_app(workspace, at=3, settings=settings)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "f4")
        assert said(app) == "Only the reference of a completion can be covered."
        assert "cover" not in line_of(app, JudgingKeyLine)
        await press(pilot, "p", "f4")
        assert "reference covered · F4 shows it" in screen_text(app)
