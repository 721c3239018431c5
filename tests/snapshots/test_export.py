"""Pictures of the form of an export, of saved views, and of the help in columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from apps import app_of, context_of
from pictures import NARROW, WIDE, Sizes, at
from review_bench import screen_text
from settling import settled
from small_workspace import GOOD, label, pairs_workspace, recorded
from textual.pilot import Pilot
from textual.widgets import Input

from store.queries.rows import QueueFilter, QueueSort, ViewQuery
from store.saved_views import save_view

VIEWS = {
    "to do": ViewQuery(QueueFilter(kind="pair", status="open")),
    "differs": ViewQuery(QueueFilter(agreement="disagree"), QueueSort("title", descending=True)),
}

SHOWN: dict[str, tuple[str, ...]] = {
    "2 judgments and marks": ("x",),
    "Choose whose in": ("x", "enter", "up", "up", "up", "up", "up", "up", "up", "up", "enter"),
    "made by dana": ("tab", "v"),
    "A name for: all items": ("tab", "w"),
    "Open, rename or delete": ("tab", "question_mark"),
}


@at(WIDE, NARROW)
@pytest.mark.parametrize("shown", SHOWN, ids=("export", "refused", "views", "save-view", "help"))
def test_export(snap_compare: Any, tmp_path: Path, shown: str, sizes: Sizes) -> None:
    async def steps(pilot: Pilot[Any]) -> None:
        await settled(pilot.app)
        for key in SHOWN[shown]:
            await pilot.press(key)
            if key == "tab":
                await settled(pilot.app)
                assert "2 of 6 judged" in screen_text(pilot.app)
        for box in pilot.app.screen.query(Input):
            box.cursor_blink = False
        await settled(pilot.app)
        assert shown in screen_text(pilot.app)
        await settled(pilot.app)

    pairs = [(f"q/{number}", f"query {number}", f"{GOOD}# {number}\n") for number in range(6)]
    with pairs_workspace(tmp_path, pairs) as workspace:
        context = context_of(workspace)
        assert context.rater is not None
        recorded(workspace, context.rater, *[label(workspace, context.rater, item, 1.0) for item in (1, 2)])
        for name, query in VIEWS.items():
            save_view(workspace, context.scope, name, query)
        assert snap_compare(app_of(workspace), run_before=steps, sizes=sizes)
