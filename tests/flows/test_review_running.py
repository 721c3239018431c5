"""Running a test again from the review, in a real sandbox: message, rows on disk and screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from app_at_work import until
from review_bench import (
    CASES,
    TEST,
    Case,
    Ran,
    bench,
    painted,
    press,
    review_app,
    review_of,
    said,
    settled,
    text_of,
    uid,
)  # fmt: skip
from small_workspace import rows
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.widgets.citing_pane import CitingPane
from store.tables.record import JudgmentRow
from store.tables.runs import ExecutionRow, TestOutcomeRow
from store.workspace import Workspace

WIDE = (120, 40)
GOOD = "def double(x):\n    return 2 * x\n"
DOUBLES = "from candidate import double\n\n\ndef test_two():\n    assert double(2) == 4\n"
WRONG = "from candidate import double\n\n\ndef test_two():\n    assert double(2) == 5\n"
RUNNABLE = Case(
    "doubles",
    "python double a number",
    code=GOOD,
    assessment="unclear",
    test=DOUBLES,
    ran=Ran([("test_two", "passed", "")], stdout="1 passed\n"),
    label=1,
    reason="It doubles.",
)


@pytest.fixture
def workspace(tmp_path: Path) -> Any:
    with bench(tmp_path, [RUNNABLE, *CASES]) as made:
        yield made


def expert_runs(workspace: Workspace) -> list[dict[str, Any]]:
    """The executions of experts, in order."""
    return [row for row in rows(workspace, ExecutionRow) if row["rater_id"] is not None]


async def ended(pilot: Pilot[Any]) -> None:
    """Wait until no test is running."""
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    await until(pilot, lambda: not app.testing, "the test ended", seconds=60)
    await settled(pilot)


def heading(app: WorkbenchApp, pane: str) -> str:
    return str(app.screen.query_one(f"#{pane}", CitingPane).border_title)


async def test_the_test_is_run_again_as_it_is_and_stands_beside_the_agents(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "r")
        assert said(app) == "Running the test behind the review; it is told when it has ended."
        await press(pilot, "r")
        assert "running already" in said(app)
        await ended(pilot)
        assert said(app) == "Test of doubles: 1 of 1 passed"
        (row,) = expert_runs(workspace)
        assert (row["item_id"], row["step_id"], row["program"]) == (1, None, DOUBLES)
        assert (row["rater_id"], row["sandbox"], row["exit_reason"]) == (
            app.context.rater.id if app.context.rater else 0,
            "bubblewrap",
            "ok",
        )
        (test,) = rows(workspace, TestOutcomeRow, execution_id=row["id"])
        assert (test["name"], test["outcome"], test["discriminates"], test["flaky"]) == (
            "test_two",
            "passed",
            True,
            False,
        )
        assert review_of(app).item.execution == row["id"]  # type: ignore[union-attr]
        assert heading(app, "test").startswith("Test as the agents wrote it, run by you ")
        assert "dana ran the agents' test: 1 of 1 passed" in text_of(app, "verdict")
        await press(pilot, "1")
        await press(pilot, "p", "R", "0")
        await settled(pilot)
        shown = [each["shown_execution"] for each in rows(workspace, JudgmentRow)]
        assert shown == [row["id"], uid(110)]
