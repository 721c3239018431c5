"""Reveal after the own answer: blind until it is on disk, then revealed; what changes then replaces nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from entry_bench import ANSWERS, QUESTIONS, entries
from review_bench import (
    CASES,
    bench,
    line_of,
    painted,
    press,
    review_app,
    review_of,
    said,
    screen_text,
)
from scopes import scope
from settling import settled
from small_workspace import rows
from sqlalchemy import select
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.queue.screen import QueueScreen
from screens.review.bars import ClaimLine, PlaceLine
from screens.settings import ScreenSettings
from store.queries.current import first_values
from store.queries.queue import queue_ids
from store.queries.rows import QueueFilter
from store.tables.record import JudgmentRow
from store.workspace.duckdb import Workspace

SIZE = (120, 40)
REVEALS = ScreenSettings(reveal_after_answer=True)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = bench(tmp_path)
    yield made
    made.close()


async def revealed(pilot: Pilot[Any]) -> None:
    """Wait until what was hidden of the item is on the screen, and was so for as long as keys are refused."""
    screen = review_of(pilot.app)  # type: ignore[arg-type]
    await settled(pilot.app)
    assert screen.item is not None
    assert not screen.item.blind
    shown = screen.guard.on_screen
    assert shown is not None
    screen.guard.on_screen = replace(shown, settled_at=0.0)
    await painted(pilot)


def first_labels(workspace: Workspace) -> dict[int, tuple[float, bool]]:
    """The values that count in measures by item, and whether each was given blind."""
    labels = first_values()
    with workspace.reading() as connection:
        found = connection.execute(select(labels.c.item_id, labels.c.value, labels.c.blind))
        return {row.item_id: (row.value, row.blind) for row in found}


async def test_an_answer_reveals_its_item_and_a_change_replaces_nothing(workspace: Workspace) -> None:
    app = review_app(workspace, settings=REVEALS)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot, 1)
        assert "◆" not in screen_text(app)
        assert "blind: until you answer" in line_of(app, PlaceLine)
        await press(pilot, "0")
        await revealed(pilot)
        # It stays, so that what was hidden is seen.
        assert screen.order.index == 0
        assert said(app) == "● 0 no match · clear-match · u undo · n next · now shown: ◆ and other raters"
        assert "◆ 1 match · screened" in line_of(app, ClaimLine)
        assert "● your label: 0 no match ▲ overrides" in line_of(app, ClaimLine)
        await press(pilot, "1")
        await painted(pilot, 2)
        assert "◆" not in screen_text(app).replace("accepts ◆", "")
        await settled(pilot.app)
        assert first_labels(workspace) == {1: (0, True)}
        await press(pilot, "p")
        await painted(pilot, 1)
        assert "● your label: 1 match" in line_of(app, ClaimLine)
        # Both are undone one by one; the item stays revealed, and what is answered then says so.
        await press(pilot, "u")
        assert "● your label: 0 no match" in line_of(app, ClaimLine)
        await press(pilot, "u")
        assert "○ your label: none" in line_of(app, ClaimLine)
        assert screen.item is not None
        assert not screen.item.blind
        await press(pilot, "1")
        assert first_labels(workspace) == {1: (1, False)}
        # "Cannot decide" reveals, too, and stands.
        await painted(pilot, 2)
        await press(pilot, "d", "w")
        await revealed(pilot)
        assert "? cannot decide: query unclear" in line_of(app, ClaimLine)
        await press(pilot, "a", "p")
        await painted(pilot, 2)
        assert "● your label: 0 no match" in line_of(app, ClaimLine)
    stored = [
        (row["value"], row["phase"], row["origin"], row["blind"], row["shown_verdict"] is not None)
        for row in rows(workspace, JudgmentRow)
    ]
    assert stored == [
        (0, "review", "independent", True, False),
        (1, "reveal", "accept", False, True),
        (None, "reveal", "undo", False, True),
        (None, "review", "undo", True, False),
        (1, "review", "accept", False, True),
        (0, "reveal", "accept", False, True),
    ]
    assert first_labels(workspace) == {1: (1, False)}
    rater_id = rows(workspace, JudgmentRow)[-1]["rater_id"]
    assert list(queue_ids(workspace, scope(rater_id), QueueFilter(status="cannot_decide"))) == [2]


async def test_what_was_revealed_is_not_blind_in_a_later_session_where_the_setting_is_changed(
    workspace: Workspace,
) -> None:
    app = review_app(workspace, settings=REVEALS)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        await press(pilot, "0")
        await revealed(pilot)
        await press(pilot, "n", "0")
        await revealed(pilot)
        await press(pilot, "u")
    later = review_app(workspace, settings=ScreenSettings(blind=True))
    async with later.run_test(size=SIZE) as pilot:
        screen = await painted(pilot, 1)
        assert "◆ 1 match · screened" in line_of(later, ClaimLine)
        # What was answered blind stands; what was taken back is answered with the agents' label in sight.
        await press(pilot, "1")
        await painted(pilot, 2)
        await press(pilot, "0")
        await painted(pilot, 3)
        assert "◆" not in line_of(later, ClaimLine)
        assert first_labels(workspace) == {1: (0, True), 2: (0, False)}
        # The setting is changed for the session, and what was seen stays.
        await press(pilot, "1")
        await painted(pilot, 4)
        await press(pilot, "B", "1")
        await revealed(pilot)
        await press(pilot, "B")
        assert said(later) == "No more items are revealed; those revealed stay so."
        assert screen.item is not None
        assert not screen.item.blind
        # An item that was answered, but not seen since, is not shown.
        await press(pilot, "p")
        await painted(pilot, 3)
        assert "◆" not in screen_text(later)
    other = review_app(workspace)
    async with other.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        await press(pilot, "B")
        assert said(other) == "This review is not blind: everything is shown."


async def test_keys_typed_on_are_judged_as_what_was_on_the_screen(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screens.judging.paint_guard.ARRIVAL_SECONDS", 60.0)
    app = review_app(workspace, settings=REVEALS)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot, 1)
        # As fast as they come: each is blind, or refused since the agents' label has just come.
        await pilot.press("0", "1", "0", "1")
        assert screen.item is not None
        assert not screen.item.blind
        await pilot.press("0")
        assert said(app) == "Not recorded: the agents' label has just arrived. Check it, then press again."
        # Going on takes no time.
        await pilot.press("n")
        await painted(pilot, 2)
        await press(pilot, "1", "n", "0", "n")
        await painted(pilot, 4)
    stored = rows(workspace, JudgmentRow)
    assert all(row["blind"] and row["phase"] == "review" and row["shown_verdict"] is None for row in stored)
    assert {row["item_id"] for row in stored} == {1, 2, 3}


async def test_an_item_is_revealed_when_all_its_questions_are_answered(tmp_path: Path) -> None:
    with entries(tmp_path, questions=QUESTIONS, answers=ANSWERS) as workspace:
        app = review_app(workspace, settings=REVEALS)
        async with app.run_test(size=SIZE) as pilot:
            screen = await painted(pilot, 1)
            assert screen.item is not None
            about = {each.target: each.about for each in screen.item.questions}
            await press(pilot, "S")
            await pilot.press(*"7899", "enter")
            assert screen.item.blind
            assert "judge-ibis" not in screen_text(app)
            await press(pilot, "S")
            await pilot.press(*"1234", "enter")
            await revealed(pilot)
            # Answers keep their letters.
            assert {each.target: each.about for each in screen.item.questions} == about
            await press(pilot, "right_square_bracket")
            assert "judge-ibis" in "".join(part.text for part in screen.item.case)


async def test_what_is_not_answered_is_the_same_whatever_the_agents_said(tmp_path: Path) -> None:
    """Two workspaces differ in all that agents made of the items; the rater answers the same in both."""
    shown: list[list[str]] = []
    for number, cases in enumerate((CASES, tuple(replace(case, label=None, ran=None) for case in CASES))):
        folder = tmp_path / str(number)
        folder.mkdir()
        workspace = bench(folder, cases)
        app = review_app(workspace, settings=REVEALS)
        async with app.run_test(size=SIZE) as pilot:
            screens = await _walked(pilot, app)
        workspace.close()
        shown.append(screens)
    *hidden, after = zip(*shown, strict=True)
    for one, other in hidden:
        assert one == other
    assert after[0] != after[1]


async def _walked(pilot: Pilot[Any], app: WorkbenchApp) -> list[str]:
    """Every item before it is answered, the queue after an answer, and last the answered item."""
    screens = []
    await painted(pilot, 1)
    await press(pilot, "1")
    await revealed(pilot)
    await settled(pilot.app)
    for number in range(2, len(CASES) + 1):
        await press(pilot, "n")
        await painted(pilot, number)
        screens.append(_steady(screen_text(app)))
    app.open_queue()
    await settled(pilot.app)
    assert isinstance(app.screen, QueueScreen)
    assert "clear-match" in screen_text(app)
    # The line of progress is counted after the list is there.
    assert "of 8 judged" in screen_text(app)
    await settled(pilot.app)
    screens.append(screen_text(app))
    await pilot.press("escape")
    app.open_review(queue_ids(app.context.workspace, scope(0), QueueFilter()), 0)
    await painted(pilot, 1)
    screens.append(_steady(screen_text(app)))
    return screens


def _steady(text: str) -> str:
    """A screen without its first line, which tells the pace."""
    return text.partition("\n")[2]
