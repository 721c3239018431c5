"""Questions that agents wrote from issues, in review: keep, mend or drop is asked first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from review_bench import line_of, painted, press, review_app, said, screen_text, text_of
from scopes import scope

from screens.items.answer import load
from screens.judging.keys import JudgingKeyLine
from screens.review.bars import CaseTabs, ClaimLine
from screens.review.panes import SUBJECT
from store.queries.progress import progress
from store.queries.queue import queue_rows
from store.record.raters import ensure_rater
from store.workspace.duckdb import Workspace
from workbench.sample import ISSUES, sample_folder, writing_model

SIZE = (120, 40)
FIRST = "1 of 5 · Keep this question and its reference answer?"


@pytest.fixture
def workspace(tmp_path: Path, workbench: Any) -> Iterator[Workspace]:
    path = tmp_path / "a.duckdb"
    assert workbench("collect", "issues", path, sample_folder() / ISSUES).code == 0
    assert workbench("write-questions", path, "--model", writing_model()).code == 0
    with Workspace.open(path) as opened:
        yield opened


async def test_what_agents_wrote_is_kept_mended_or_dropped_first(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        asked = line_of(app, ClaimLine)
        assert FIRST in asked
        assert "◆ 1 keep · written · It asks how the package is used" in asked
        assert "[Issue]" in line_of(app, CaseTabs)
        assert "positive comment · participant 2" in screen_text(app)
        assert "piet.w" not in screen_text(app)
        assert "both.record(at, height)" in text_of(app, SUBJECT)
        await press(pilot, "right_square_bracket", "right_square_bracket")
        steps = text_of(app, "steps")
        assert "Question writer, question 3 ·" in steps
        assert "Why does `daily_summary` fail for a list of gauges?" in steps
        await press(pilot, "right_square_bracket")
        assert "written by write-questions 3/scripted:question-replies" in text_of(app, "revisions")
        await press(pilot, "a")
        assert said(app).startswith("● keep: 1 keep · accepts ◆")
        assert "2 of 5 · the reference · Accuracy" in line_of(app, ClaimLine)
        # What was dropped has no reference; its thread is judged.
        await press(pilot, "n", "n", "n")
        await painted(pilot, 4)
        assert "◆ 3 drop · unsuitable · It asks for a new feature." in line_of(app, ClaimLine)
        await press(pilot, "1")
        assert said(app).startswith("● keep: 1 keep · overrides ◆")
        assert "c issue does answer it" in line_of(app, JudgingKeyLine)


async def test_what_is_dropped_is_asked_nothing_more(workspace: Workspace) -> None:
    dana = ensure_rater(workspace, "dana")
    own = scope(dana.id)

    def counted() -> tuple[int, int, str]:
        (row,) = queue_rows(workspace, own, [1])
        return row.answered, row.required, row.status

    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        await press(pilot, "1", "7")
        workspace.lane.drain(10)
        assert counted() == (2, 5, "open")
        await press(pilot, "T", "T", "3")
        await painted(pilot, 2)
        assert said(app).startswith("● keep: 3 drop · overrides ◆")
        workspace.lane.drain(10)
        assert counted() == (1, 1, "judged")
        with workspace.reading() as connection:
            now = progress(connection, own)
        assert (now.judged, now.left, now.today) == (1, now.total - 1, 1)
        assert f"{now.left} left" in screen_text(app)
        await press(pilot, "p")
        await painted(pilot, 1)
        assert "[● 3 drop▲]" in line_of(app, ClaimLine)
        assert "Keep, mend or drop" in text_of(app, "guideline").partition("\n")[0]
        await press(pilot, "t", "S", *"7777", "enter")
        assert "keep is 3 drop, so nothing more is asked" in said(app)
        workspace.lane.drain(10)
        assert counted() == (1, 1, "judged")
        await press(pilot, "escape", "u")
        workspace.lane.drain(10)
        assert counted() == (2, 5, "open")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (170, 40)])
async def test_what_agents_dropped_is_judged_by_its_own_issue(
    workspace: Workspace, size: tuple[int, int]
) -> None:
    app = review_app(workspace, at=2)
    async with app.run_test(size=size) as pilot:
        await painted(pilot, 3)
        assert "Slack water lasts too long" in screen_text(app)
        await press(pilot, "n")
        await painted(pilot, 4)
        assert ("[Issue]" if size[0] == 80 else "[Context]") in line_of(app, CaseTabs)
        assert "Slack water lasts too long" not in screen_text(app)
        assert "in Danish" in text_of(app, SUBJECT)


async def test_a_blind_rater_is_asked_and_sees_no_verdict_and_no_step(workspace: Workspace) -> None:
    dana = ensure_rater(workspace, "dana")
    app = review_app(workspace, blind=True)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        assert FIRST in line_of(app, ClaimLine)
        assert "blind: the agents' label is not shown" in line_of(app, ClaimLine)
        assert "Steps" not in line_of(app, CaseTabs)
        seen = screen_text(app)
        await press(pilot, "2")
        assert said(app).startswith("● keep: 2 mend")
        seen += screen_text(app) + said(app)
    with workspace.reading() as connection:
        seen += repr(load(connection, scope(dana.id, blind=True), 1))
    assert "write-questions" not in seen
    assert "It asks how the package" not in seen
