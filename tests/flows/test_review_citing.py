"""Citing lines: what is marked goes with the next label, is kept until then, and followed from there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from review_bench import (
    IS_BLANK,
    TEST,
    line_of,
    painted,
    press,
    review_app,
    review_of,
    said,
    screen_text,
    text_of,
    uid,
)  # fmt: skip
from settling import settled
from small_workspace import rows
from textual import events
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.review.bars import ClaimLine
from screens.widgets.text.view import TextPane
from store.record.evidence import citations_of, digest
from store.tables.record import JudgmentRow
from store.workspace.duckdb import Workspace

WIDE = (120, 40)


def pane(app: WorkbenchApp, name: str) -> TextPane:
    """A pane of the review."""
    return review_of(app).query_one(f"#{name}", TextPane)


def evidence(workspace: Workspace) -> list[list[tuple[Any, ...]]]:
    """What the judgments cite, oldest first: (part, first, last)."""
    return [
        [(one.part, one.first, one.last) for one in citations_of(row["evidence"])]
        for row in rows(workspace, JudgmentRow)
    ]


async def cite_line_two(pilot: Pilot[Any]) -> None:
    """Cite line 2 of the code of the item shown."""
    await press(pilot, "v", "down", "v")


async def test_chosen_lines_go_with_the_next_label_and_the_history_goes_to_them(workspace: Workspace) -> None:
    app = review_app(workspace, at=3)
    async with app.run_test(size=WIDE) as pilot:
        # Chosen lines are marked, and go with the next label.
        await press(pilot, "v")
        assert said(app).startswith("▸ code 1 · ↑ ↓ choose")
        await press(pilot, "down", "shift+down", "v")
        assert said(app) == "▌ Cited: code 2-3 · your next label of this item cites code 2-3"
        assert pane(app, "subject").cited_lines == {2, 3}
        assert "▌ 2▸" in screen_text(app)
        assert "▌ 2 lines cited, not recorded yet" in screen_text(app)
        assert rows(workspace, JudgmentRow) == []
        await press(pilot, "tab", "right_square_bracket", "right_square_bracket", "G", "v", "v")
        assert "log " in said(app)
        await press(pilot, "1")
        await painted(pilot, 5)
        assert said(app).startswith("● 1 match · overrides ◆ · cites code 2-3, log ")
        await settled(pilot.app)
        (row,) = rows(workspace, JudgmentRow)
        code, log = citations_of(row["evidence"])
        assert (code.part, code.first, code.last, code.execution) == ("code", 2, 3, None)
        assert code.text == "\n".join(IS_BLANK.splitlines()[1:3])
        assert code.sha256 == digest(IS_BLANK)
        assert (log.part, log.execution) == ("log", uid(410))
        assert log.text == (
            "  ✗ only_newline  AssertionError: a newline is a byte"
            "  (flaky: another result with another hash seed)"
        )
        assert json.loads(row["evidence"])[1]["sha256"] == log.sha256
        await press(pilot, "p")
        assert pane(app, "subject").cited_lines == {2, 3}
        assert "not recorded" not in screen_text(app)
        # The history shows the lines of the next item, and goes to them.
        await press(pilot, "n", "left_square_bracket", "v", "down", "down", "down", "v", "1", "p")
        await painted(pilot, 5)
        told = text_of(app, "history")
        assert "    cites test 4\n         4  def test_missing(tmp_path):" in told
        assert TEST.splitlines()[3] == "def test_missing(tmp_path):"
        while review_of(app).panes.active != "history":
            await press(pilot, "right_square_bracket")
        await press(pilot, "enter")
        assert said(app).startswith("▸ test 4 · Enter goes there")
        await press(pilot, "enter")
        assert review_of(app).panes.active == "test"
        assert pane(app, "test").cursor_lines == range(4, 5)
        assert said(app).startswith("▸ test 4 · v or Enter cite")
        await press(pilot, "escape")
        assert pane(app, "test").cursor_lines is None
        await press(pilot, "enter")
        assert "there is none in this pane" in said(app)


async def test_what_is_cited_goes_with_a_label_and_its_reason_and_is_no_label_itself(
    workspace: Workspace,
) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        # Citing never judges, and citing again takes the lines away.
        await cite_line_two(pilot)
        await press(pilot, "v")
        assert said(app) == "Nothing is cited."
        assert pane(app, "subject").cited_lines == frozenset()
        await press(pilot, "escape", "1")
        assert evidence(workspace) == [[]]
        # The reason of an override keeps what is cited.
        await painted(pilot, 2)
        await cite_line_two(pilot)
        await press(pilot, "1", "b")
        await press(pilot, "p", "o", "t")
        assert evidence(workspace) == [[]] + [[("code", 2, 2)]] * 3
        # Enter still gives no reason.
        await press(pilot, "n")
        await painted(pilot, 3)
        await press(pilot, "0", "enter")
        assert said(app) == "No reason given; o gives one."


async def test_what_is_not_recorded_is_kept_through_undo_and_redo_moving_away_and_a_restart(
    workspace: Workspace,
) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        # Undo gives the lines back, and redo takes them along.
        await cite_line_two(pilot)
        await press(pilot, "1", "u")
        assert "○ your label: none" in line_of(app, ClaimLine)
        await settled(pilot.app)
        assert pane(app, "subject").cited_lines == {2}
        assert "not recorded yet" in screen_text(app)
        await press(pilot, "U")
        assert "● your label: 1 match" in line_of(app, ClaimLine)
        await settled(pilot.app)
        assert pane(app, "subject").cited_lines == {2}
        assert "not recorded yet" not in screen_text(app)
        assert evidence(workspace) == [[("code", 2, 2)], [], [("code", 2, 2)]]
        # Moving away keeps what is not recorded.
        await press(pilot, "n")
        await cite_line_two(pilot)
        await press(pilot, "n", "p")
        assert "Not recorded yet: your next label cites code 2." in said(app)
        assert pane(app, "subject").cited_lines == {2}
        await pilot.press("ctrl+q")
    # A restart does so, too.
    again = review_app(workspace, at=None)
    async with again.run_test(size=WIDE) as pilot:
        await painted(pilot)
        assert pane(again, "subject").cited_lines == {2}
        await press(pilot, "a")
    assert evidence(workspace)[3:] == [[("code", 2, 2)]]


async def test_what_cannot_be_cited_is_said_and_the_cursor_goes_by_pages_and_with_the_item(
    workspace: Workspace,
) -> None:
    app = review_app(workspace, at=3)
    async with app.run_test(size=WIDE) as pilot:
        # What cannot be cited is said.
        await press(pilot, "tab", "v")
        assert said(app) == "Nothing to cite in this pane: only lines of Code, Test and Run can be cited."
        # A label does not go without it; what is cited after all goes with the label.
        await press(pilot, "1")
        assert said(app).startswith("Not recorded: the citation before it was not taken.")
        assert evidence(workspace) == []
        await press(pilot, "v", "tab", "v", "v", "1")
        assert evidence(workspace) == [[("code", 1, 1)]]
        # The cursor moves by pages and to the ends, and goes with the item.
        await pilot.resize_terminal(80, 24)
        await press(pilot, "p", "G", "v")
        first = pane(app, "run").cursor_lines
        assert first is not None
        await press(pilot, "end")
        assert pane(app, "run").cursor_lines == range(
            pane(app, "run").line_count, pane(app, "run").line_count + 1
        )
        await press(pilot, "pageup", "home", "pagedown", "shift+up")
        lines = pane(app, "run").cursor_lines
        assert lines is not None
        assert len(lines) == 2
        await press(pilot, "n", "p")
        assert pane(app, "run").cursor_lines is None


async def test_the_cursor_names_its_line_enter_cites_and_an_empty_line_is_not_cited(
    workspace: Workspace,
) -> None:
    empty = TEST.splitlines().index("") + 1
    app = review_app(workspace, at=3)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "v", "down")
        assert said(app).startswith("▸ code 2 · ↑ ↓ choose")
        await press(pilot, "shift+down")
        assert said(app).startswith("▸ code 2-3 · ↑ ↓ choose")
        await press(pilot, "enter")
        assert said(app) == "▌ Cited: code 2-3 · your next label of this item cites code 2-3"
        await press(pilot, "escape", "tab", *["right_square_bracket"] * 4)
        while review_of(app).panes.active != "test":
            await press(pilot, "right_square_bracket")
        await press(pilot, "v", "home", *["down"] * (empty - 1))
        assert said(app).startswith(f"▸ test {empty}, empty · ")
        await press(pilot, "enter")
        assert said(app) == f"Not cited: test {empty} is empty."
        # With lines around it it can be; it is part of what they say.
        await press(pilot, "shift+up", "v")
        assert said(app).startswith(f"▌ Cited: test {empty - 1}-{empty}")
        # A label is not overwritten by the line that the cursor was on.
        await press(pilot, "up", "1")
        assert said(app).startswith("● 1 match")
    assert evidence(workspace)[-1] == [("code", 2, 3), ("test", empty - 1, empty)]


async def test_the_agents_test_is_not_cited_blindly_and_nobody_cites_without_a_rater(
    workspace: Workspace,
) -> None:
    blind = review_app(workspace, at=3, blind=True)
    async with blind.run_test(size=WIDE) as pilot:
        await press(pilot, "tab", "v")
        assert said(blind).endswith("The agents' test is not shown in a blind review.")
        await press(pilot, "tab", "v", "v", "1")
    (row,) = rows(workspace, JudgmentRow)
    assert (row["blind"], row["origin"]) == (True, "independent")
    assert evidence(workspace) == [[("code", 1, 1)]]
    nobody = review_app(workspace, rater=None)
    async with nobody.run_test(size=WIDE) as pilot:
        await press(pilot, "v")
        assert said(nobody).startswith("! No rater")


@pytest.mark.parametrize(("key", "meant"), [("v", "citation"), ("m", "comment")])
async def test_a_label_does_not_go_without_what_was_to_go_with_it(
    workspace: Workspace, key: str, meant: str
) -> None:
    """A key that came before its item could be seen is refused; the label after it would go without it."""
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        screen = await painted(pilot)
        assert screen.guard.on_screen is not None
        early = events.Key(key, key)
        early.time = (screen.guard.on_screen.painted_at or 0.0) - 0.01
        early.set_sender(app)
        app.post_message(early)
        await settled(app)
        assert said(app).startswith("Not ")
        if key == "v":
            # The second key of two only begins to choose.
            await press(pilot, "v")
        await press(pilot, "1")
        assert (
            said(app) == f"Not recorded: the {meant} before it was not taken. Press again to label without."
        )
        assert rows(workspace, JudgmentRow) == []
        await press(pilot, "1")
        assert [row["evidence"] for row in rows(workspace, JudgmentRow)] == ["[]"]
