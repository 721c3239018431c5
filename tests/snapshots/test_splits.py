"""Pictures of splits: none yet, one that leaks, and the form of a new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from apps import app_of
from pictures import NARROW, WIDE, Sizes, at
from review_bench import screen_text
from settling import settled
from small_workspace import BEGAN
from split_bench import labelled_pairs, torn_split
from textual.pilot import Pilot
from textual.widgets import Input

from store.splits import splits


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Splits are made at one moment."""
    monkeypatch.setattr(splits, "now", lambda: BEGAN)


SHOWN: dict[str, tuple[str, ...]] = {
    "No split yet": ("p",),
    "What parts share": ("p", "tab", "down"),
    "24 true labels of pair.match": ("p", "n"),
}


@at(NARROW, WIDE)
@pytest.mark.parametrize("shown", SHOWN, ids=("empty", "leak", "form"))
def test_splits(snap_compare: Any, tmp_path: Path, shown: str, sizes: Sizes) -> None:
    async def steps(pilot: Pilot[Any]) -> None:
        for key in SHOWN[shown]:
            await pilot.press(key)
        for box in pilot.app.screen.query(Input):
            box.cursor_blink = False
            box.value = "v2" if box.id == "name" else box.value
        await settled(pilot.app)
        assert shown in screen_text(pilot.app)
        await settled(pilot.app)

    with labelled_pairs(tmp_path) as workspace:
        if "tab" in SHOWN[shown]:
            torn_split(workspace)
        assert snap_compare(app_of(workspace), sizes=sizes, run_before=steps)
