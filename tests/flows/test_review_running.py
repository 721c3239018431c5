"""Running a test again from the review, in a real sandbox: message, rows on disk and screen."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from review_bench import (
    CASES,
    Case,
    Ran,
    bench,
    painted,
    press,
    review_app,
    review_of,
    said,
    text_of,
    uid,
)  # fmt: skip
from settling import Gate, left_alone, settled
from small_workspace import rows
from textual import events
from textual.pilot import Pilot

from agents.jobs.expert_tests import ExpertTests
from agents.sandbox.settings import SandboxSettings
from agents.settings import ExpertRunSettings
from screens.app import WorkbenchApp
from screens.review.item_tests import TestEditor
from screens.widgets.text.code_area import CodeArea
from screens.widgets.text.view import TextPane
from store.tables.record import JudgmentRow
from store.tables.runs import ExecutionRow, TestOutcomeRow
from store.workspace.duckdb import Workspace

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


def gated(workspace: Workspace) -> tuple[WorkbenchApp, Gate]:
    """An app whose tests do not begin before the gate is open."""
    gate = Gate()

    def settings() -> ExpertRunSettings:
        assert gate.wait(60)
        return ExpertRunSettings()

    return review_app(workspace, make_expert_runs=lambda: ExpertTests(workspace, settings)), gate


def expert_runs(workspace: Workspace) -> list[dict[str, Any]]:
    """The executions of experts, in order."""
    return [row for row in rows(workspace, ExecutionRow) if row["rater_id"] is not None]


async def ended(pilot: Pilot[Any]) -> None:
    """Wait until no test is running."""
    app = pilot.app
    assert isinstance(app, WorkbenchApp)
    await settled(pilot.app)
    assert not app.context.tests.running
    await settled(pilot.app)


def heading(app: WorkbenchApp, pane: str) -> str:
    return str(app.screen.query_one(f"#{pane}", TextPane).border_title)


async def test_the_test_is_run_again_as_it_is_and_stands_beside_the_agents(workspace: Workspace) -> None:
    app, gate = gated(workspace)
    async with app.run_test(size=WIDE) as pilot:
        typed = time.monotonic()
        await press(pilot, "r")
        assert said(app) == "The test runs in the background; you will be told when it ends."
        await press(pilot, "r")
        assert "already running" in said(app)
        gate.set()
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
        assert "dana  ran the agents' test · 1 of 1 passed" in text_of(app, "verdict")
        # A key from before the run was shown judges what was shown then.
        app.context.last_key.time = typed
        assert review_of(app).tests.execution_on_screen == uid(110)
        app.context.last_key.time = time.monotonic()
        assert review_of(app).tests.execution_on_screen == row["id"]
        # A judgment names the run that is shown, and R shows the other one.
        await press(pilot, "1")
        await press(pilot, "p", "R", "0")
        shown = [each["shown_execution"] for each in rows(workspace, JudgmentRow)]
        assert shown == [row["id"], uid(110)]


def editor(app: WorkbenchApp) -> TestEditor:
    """The editor, which must be what is shown."""
    assert isinstance(app.screen, TestEditor), app.screen
    return app.screen


async def editing(pilot: Pilot[Any]) -> CodeArea:
    """Open the editor, and return what is written in."""
    await painted(pilot)
    await pilot.press("e")
    assert isinstance(pilot.app.screen, TestEditor)
    await pilot.pause()
    return editor(pilot.app).area  # type: ignore[arg-type]


async def edit(pilot: Pilot[Any], text: str) -> None:
    """Open the editor and put a text into it."""
    area = await editing(pilot)
    await pilot.press("f7", "delete")
    assert area.text == ""
    area.post_message(events.Paste(text))
    await settled(pilot.app)
    assert area.text == text


async def test_an_edited_test_fails_then_passes_and_each_run_is_kept(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EDITOR", raising=False)
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        # An editor that cannot be had is said, and the test stays as it is.
        for visual, answer in (
            ("", "! No editor: Neither VISUAL nor EDITOR is set."),
            ("vi", "! Editor: This terminal cannot start an editor."),
        ):
            monkeypatch.setenv("VISUAL", visual)
            await press(pilot, "E")
            assert said(app).startswith(answer)
            area = await editing(pilot)
            await pilot.press("ctrl+o")
            assert editor(app).message.startswith(answer)
            assert area.text == DOUBLES
            # What is wrong is said until something is typed.
            await pilot.press("x")
            assert editor(app).message == ""
            await pilot.press("backspace", "escape")
        # It is edited, and fails.
        await edit(pilot, WRONG)
        await pilot.press("1", "backspace")
        assert rows(workspace, JudgmentRow) == []
        await pilot.press("ctrl+s")
        await ended(pilot)
        assert said(app) == "Test of doubles: 0 of 1 passed"
        assert text_of(app, "test") == WRONG
        assert heading(app, "test").startswith("Your test, run ")
        # Its result is what is shown, though the code was read before.
        assert review_of(app).panes.shown_in_case == "run"
        await press(pilot, "G")
        assert "test_two  AssertionError" in text_of(app, "run")
        # It is edited once more, and passes.
        assert (await editing(pilot)).text == WRONG
        await pilot.press(*["down"] * 4, "end", "backspace", *"4  # mended")
        await pilot.press("ctrl+s")
        await ended(pilot)
        assert said(app) == "Test of doubles: 1 of 1 passed"
        first, second = expert_runs(workspace)
        assert (first["program"], first["exit_reason"]) == (WRONG, "assertion")
        assert (second["program"], second["exit_reason"]) == (WRONG.replace("5", "4  # mended"), "ok")
        # Each run is kept.
        seen = [heading(app, "run")]
        for _ in range(2):
            await press(pilot, "R")
            seen.append(heading(app, "run"))
        assert [each.rsplit(" · ", 1)[1] for each in seen] == ["3 of 3", "1 of 3", "2 of 3"]
        assert seen[1].startswith("Run by the agents")
        assert text_of(app, "test") == WRONG


async def test_judging_goes_on_while_a_test_runs(workspace: Workspace) -> None:
    app, gate = gated(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "r", "1", "n", "1")
        assert app.context.tests.running == {1}
        gate.set()
        await ended(pilot)
        # What is asked still waits for its answer, and the end of the test is told beside it.
        assert "why? " in said(app)
        assert said(app).endswith("Test of doubles: 1 of 1 passed")
        await press(pilot, "b")
        assert said(app).startswith("Reason: boundary case")
        await settled(pilot.app)
        assert [row["item_id"] for row in rows(workspace, JudgmentRow)] == [1, 3, 3]
        await press(pilot, "p", "p", "p")
        assert heading(app, "run").startswith("Run by you ")
        assert "dana  ran the agents' test · 1 of 1 passed" in text_of(app, "history")


async def test_what_was_written_is_kept_where_nothing_ran_and_where_quitting_ended_the_test(
    workspace: Workspace,
) -> None:
    # Without a sandbox nothing runs.
    nowhere = ExpertRunSettings(
        sandboxes=SandboxSettings(bwrap="no-such-bwrap", docker_host="tcp://127.0.0.1:1")
    )
    app = review_app(workspace, make_expert_runs=lambda: ExpertTests(workspace, lambda: nowhere))
    async with app.run_test(size=WIDE) as pilot:
        await edit(pilot, WRONG)
        await pilot.press("ctrl+s")
        await ended(pilot)
        assert said(app).startswith("! Test of doubles not run: Needs a sandbox: A plain subprocess isolates")
        assert "workbench sandbox check" in said(app)
        assert expert_runs(workspace) == []
        await pilot.press("ctrl+q")

    # The draft is kept through a restart, until it is given up.
    endless = "def test_ever():\n    while True:\n        pass\n"
    patient = ExpertRunSettings(sandboxes=SandboxSettings(wall_seconds=600, cpu_seconds=600))
    runs = ExpertTests(workspace, lambda: patient)
    again = review_app(workspace, at=None, make_expert_runs=lambda: runs)
    async with again.run_test(size=WIDE) as pilot:
        await painted(pilot)
        assert "Your edited test is kept: e opens it again." in said(again)
        assert (await editing(pilot)).text == WRONG
        await pilot.press("ctrl+r", "escape")
        await painted(pilot)
        assert said(again) == "The test is unchanged."
        # Quitting ends the test, and keeps what was written.
        await edit(pilot, endless)
        with left_alone("tests"):
            await pilot.press("ctrl+s", "ctrl+q")
    runs.close()
    assert expert_runs(workspace) == []
    last = review_app(workspace, at=None)
    async with last.run_test(size=WIDE) as pilot:
        assert (await editing(pilot)).text == endless


async def test_where_agents_wrote_no_test_an_expert_writes_one(workspace: Workspace) -> None:
    app = review_app(workspace, at=1)
    async with app.run_test(size=WIDE) as pilot:
        # There is nothing to run.
        await press(pilot, "r")
        assert said(app) == (
            "There is no test to run: the agents wrote none for this item; e writes one of your own."
        )
        await press(pilot, "R")
        assert said(app) == "There is no other run of the test; r runs it again."
        assert len(rows(workspace, ExecutionRow)) == 5
        # A skeleton is not run, either.
        area = await editing(pilot)
        began = area.text
        assert began.startswith("from candidate import is_blank_file\n")
        await pilot.press("ctrl+s")
        assert editor(app).message.startswith("This is only a skeleton")
        await pilot.press("ctrl+c")
        await painted(pilot)
        assert said(app) == "No test was started."
        # An expert's own test is run, and kept beside the agents' none.
        own = "from candidate import is_blank_file\n\n\ndef test_own():\n    assert is_blank_file('/no/such') is None\n"
        await edit(pilot, own)
        await pilot.press("ctrl+s")
        await ended(pilot)
        assert said(app).startswith("Test of clear-match: 0 of 1 passed")
        (row,) = expert_runs(workspace)
        assert (row["item_id"], row["step_id"], row["program"]) == (2, None, own)
        (test,) = rows(workspace, TestOutcomeRow, execution_id=row["id"])
        assert test["name"] == "test_own"
        assert (text_of(app, "test"), heading(app, "test").split(",")[0]) == (own, "Your test")
        assert "dana  ran a test of their own · 0 of 1 passed" in text_of(app, "verdict")
        await press(pilot, "R")
        assert heading(app, "test") == "No test by the agents · 1 of 2"
        assert (await editing(pilot)).text == began
        await pilot.press("escape")
        await press(pilot, "R")
        assert (await editing(pilot)).text == own


async def test_no_test_is_run_in_a_blind_review_or_by_nobody(workspace: Workspace) -> None:
    blind = review_app(workspace, blind=True)
    async with blind.run_test(size=WIDE) as pilot:
        for key in "reER":
            await press(pilot, key)
            assert said(blind) == "The agents' test is not shown in a blind review and cannot be run."
    nobody = review_app(workspace, rater=None)
    async with nobody.run_test(size=WIDE) as pilot:
        await press(pilot, "e")
        assert said(nobody).startswith("! No rater")
    assert len(rows(workspace, ExecutionRow)) == 5
