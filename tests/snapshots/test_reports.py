"""Pictures of reports: the list, figures under the cursor, nothing to report, a blind review."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from apps import app_of
from comparisons_bench import comparisons, judged
from judging import Desk
from pictures import NARROW, WIDE, Sizes, at, states
from review_bench import screen_text
from settling import settled
from small_workspace import labelled_by_agents
from split_bench import labelled_pairs
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.reports.screen import ReportsScreen
from store.kinds.comparison import PREFERENCE
from store.record.raters import question_number
from store.workspace.duckdb import Workspace

SHOWN: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "list": ("Agreement of people", "Agreement of people", ()),
    "agreement": ("Agreement of people", "Krippendorff", ("enter", "right")),
    "confusion": ("Confusion of two raters", "kappa", ("enter", "down")),
    "accuracy": ("Accuracy", "majority", ("enter", "right")),
    "labels": ("Labels of each rater", "24 labels", ("enter",)),
    "time": ("Time for each item", "median", ("enter",)),
    "figure-4": ("How often each rank matches", "expected", ("enter",)),
    "choose": ("Accuracy", "majority", ("enter", "o")),
    "save": ("How many queries a code answers", "that answer any", ("enter", "s")),
}
"""The report of each picture, what it shows once it is read, and the keys that follow."""


def workspace_of(folder: Path) -> Workspace:
    """Pairs that people and agents labelled, some of them in a known time."""
    workspace = labelled_pairs(folder)
    labelled_by_agents(workspace, [(item, float(item % 3 > 0), "tested") for item in range(1, 20)])
    for item in range(1, 25):
        Desk(workspace, "eli").judge(item, float(item % 4 > 0), active_ms=1_000 * (5 + 7 * item % 50))
    return workspace


def pictured(app: WorkbenchApp, title: str, shows: str, keys: tuple[str, ...]) -> Any:
    """Return what opens a report, and presses keys in it."""

    async def steps(pilot: Pilot[Any]) -> None:
        await pilot.press("r")
        assert isinstance(app.screen, ReportsScreen)
        assert app.screen.report is not None
        screen = app.screen
        assert isinstance(screen, ReportsScreen)
        assert title in [one.title for one in screen.offered]
        while screen.report is not None and screen.report.title != title:
            await pilot.press("down")
        for key in keys:
            await pilot.press(key)
            assert shows in screen_text(app)
        await settled(pilot.app)
        assert shows in screen_text(app)
        if app.size.width >= 100:
            await settled(pilot.app)
            assert screen.page is not None
        screen.query_one("#file").cursor_blink = False
        await settled(pilot.app)

    return steps


@states(SHOWN, in_both=("list", "agreement", "confusion", "time"))
def test_reports(snap_compare: Any, tmp_path: Path, state: str, sizes: Sizes) -> None:
    with workspace_of(tmp_path) as workspace:
        app = app_of(workspace)
        assert snap_compare(app, sizes=sizes, run_before=pictured(app, *SHOWN[state]))


@at(NARROW, WIDE)
def test_a_blind_review(snap_compare: Any, tmp_path: Path, sizes: Sizes) -> None:
    with labelled_pairs(tmp_path) as workspace:
        app = app_of(workspace, rater="ben", blind=True)
        steps = pictured(app, "Labels of each rater", "Blind review", ())
        assert snap_compare(app, sizes=sizes, run_before=steps)


@pytest.mark.parametrize(
    "title", ["Ratings of candidates", "Who wins against whom", "Whether the left side wins"]
)
def test_comparisons(snap_compare: Any, tmp_path: Path, title: str) -> None:
    with comparisons(tmp_path / "duels") as workspace:
        for rater in ("ana", "ben"):
            judge_all(workspace, rater)
        orders = (("better", "worse"), ("equal", "equal"), ("better", "better"), ("worse", "better"))
        judged(workspace, tmp_path, {f"d/{number}": orders[number % 4] for number in range(8)})
        app = app_of(workspace)
        assert snap_compare(app, sizes=(NARROW,), run_before=pictured(app, title, "votes of", ("enter",)))


def judge_all(workspace: Workspace, rater: str) -> None:
    """Let a rater prefer one of the two sets mostly, each on either side in turn."""
    desk = Desk(workspace, rater)
    with workspace.reading() as connection:
        desk.question = question_number(connection, PREFERENCE.name)
    for item in range(1, 9):
        side = "as-listed" if item % 2 else "swapped"
        desk.judge(item, (1.0, 2.0, -1.0, 0.0)[(item + len(rater)) % 4], shown_as=side)
