"""Pictures of the SQL screen: the views, rows, an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from apps import app_of
from pictures import Sizes, states
from review_bench import bench, screen_text
from settling import settled
from small_workspace import label, recorded
from textual.pilot import Pilot
from textual.widgets import Input

from store.record.raters import ensure_rater
from store.sql_views.running import SqlResult, SqlRun

STATES = {
    "views": ("", "SELECT from these views"),
    "rows": ("SELECT item, title, label, agent_label, agent_path FROM items ORDER BY number", "8 rows"),
    "error": ("SELECT item, lable FROM items", "SQL error"),
}


@states(STATES, in_both={"views", "rows"}, otherwise=(80, 24))
def test_sql(
    snap_compare: Callable[..., bool],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    state: str,
    sizes: Sizes,
) -> None:
    original = SqlRun.result

    def at_once(run: SqlRun) -> SqlResult:
        return replace(original(run), seconds=0.4)

    monkeypatch.setattr(SqlRun, "result", at_once)
    statement, shown = STATES[state]

    async def steps(pilot: Pilot[Any]) -> None:
        await pilot.press("S")
        assert "SELECT from these views" in screen_text(pilot.app)
        prompt = pilot.app.screen.query_one("#statement", Input)
        prompt.cursor_blink = False
        if statement:
            prompt.value = statement
            await pilot.press("enter", "tab")
        await settled(pilot.app)
        assert shown in screen_text(pilot.app)
        await settled(pilot.app)

    with bench(tmp_path) as workspace:
        dana = ensure_rater(workspace, "dana")
        recorded(workspace, dana, label(workspace, dana, 1, 1.0))
        assert snap_compare(app_of(workspace), sizes=sizes, run_before=steps)
