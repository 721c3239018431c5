"""What a session leaves: places and drafts that come back, and records that wait for the disk."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from review_bench import (
    CASES,
    Case,
    bench,
    judgments,
    line_of,
    marks,
    painted,
    press,
    review_app,
    review_of,
    said,
    text_of,
)
from settling import Gate, settled, until
from textual.widgets import Input

from screens.home.screen import HomeScreen
from screens.items.views import ItemView
from screens.queue.query import QueueQuery
from screens.review.bars import ClaimLine, PlaceLine
from screens.session_recorder import SessionRecorder
from screens.widgets.text.view import TextPane
from store.queries.rows import QueueFilter, QueueSort
from store.workspace.duckdb import Workspace
from store.workspace.journal import Journal, journal_path
from store.workspace.recovery import journal_ahead, recover

SIZE = (120, 40)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    """A disk that can be full: the journal, on which every record depends, cannot be written then."""
    made = Disk(monkeypatch)
    append = Journal.append

    def maybe(journal: Journal, lines: list[dict[str, Any]]) -> Any:
        if made.after:
            append(journal, lines)
        if made.full:
            raise OSError(28, "No space left on device")
        return append(journal, lines)

    monkeypatch.setattr(Journal, "append", maybe)
    made.retries_after(0.05)
    return made


class Disk:
    """Whether the disk is full; `after` says that the journal still found room, and the workspace none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = self.after = False
        self._monkeypatch = monkeypatch

    def retries_after(self, seconds: float) -> None:
        """Let what could not be written wait for so long."""
        self._monkeypatch.setattr(SessionRecorder, "RETRY_SECONDS", seconds)


async def test_a_record_that_cannot_be_written_is_shown_kept_and_saved_later(
    workspace: Workspace, disk: Disk
) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        disk.full = True
        await press(pilot, "1")
        await painted(pilot, 2)
        assert len(app.context.recorder.failures) == 1
        assert said(app).startswith("! Not saved: [Errno 28] No space left on device")
        assert "! 1 not saved" in line_of(app, PlaceLine)
        await press(pilot, "p")
        assert "! your label: 1 match · not saved" in line_of(app, ClaimLine)
        assert judgments(workspace) == []
        await press(pilot, "n", "0")
        await painted(pilot, 3)
        assert len(app.context.recorder.failures) == 2
        assert "! 2 not saved" in line_of(app, PlaceLine)
        disk.full = False
        await until(pilot, lambda: not app.context.recorder.unsaved)
        assert "Saved: All records are saved now." in said(app)
        assert [row[:3] for row in judgments(workspace)] == [(1, 1, "accept"), (2, 0, "accept")]
        await settled(pilot.app)
        assert "not saved" not in line_of(app, PlaceLine)
        await press(pilot, "p", "p")
        assert "not saved" not in line_of(app, ClaimLine)
        assert len(journal_path(workspace.path).read_text().splitlines()) == 2


async def test_what_waits_for_a_slow_disk_is_not_submitted_once_more(
    workspace: Workspace, disk: Disk
) -> None:
    app, gate = review_app(workspace), Gate()
    disk.retries_after(60.0)
    async with app.run_test(size=SIZE) as pilot:
        disk.full = True
        await press(pilot, "1")
        assert len(app.context.recorder.failures) == 1
        disk.full = False
        workspace.lane.submit(lambda _: gate.wait(), urgent=True)
        for _ in range(3):
            app.context.recorder.retry()
        # What keeps the lane, and the record.
        assert workspace.lane.waiting == 2
        gate.set()
        await settled(app)
        assert [row[:3] for row in judgments(workspace)] == [(1, 1, "accept")]
        assert not app.context.recorder.unsaved


async def test_a_read_only_journal_is_a_failed_write_too(workspace: Workspace, disk: Disk) -> None:
    path = journal_path(workspace.path)
    path.mkdir()
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "f")
        assert "! your label: none · not saved ⚑" in line_of(app, ClaimLine)
        path.rmdir()
        await until(pilot, lambda: not app.context.recorder.unsaved)
        assert [row[:3] for row in marks(workspace)] == [(1, "flag", True)]


async def test_undo_takes_back_what_was_not_saved_and_nothing_else(workspace: Workspace, disk: Disk) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "1")
        await painted(pilot, 2)
        disk.full = True
        await press(pilot, "0")
        assert len(app.context.recorder.failures) == 1
        disk.retries_after(60.0)
        await press(pilot, "u")
        await painted(pilot, 2)
        assert not app.context.recorder.unsaved
        assert said(app) == ("Undone: 0 no match, accepts ◆ · it was not saved yet and cannot be redone")
        disk.full = False
        await settled(pilot.app)
        assert "○ your label: none" in line_of(app, ClaimLine)
        assert [row[:3] for row in judgments(workspace)] == [(1, 1, "accept")]


async def test_undo_of_a_label_that_waits_takes_its_reason_too(workspace: Workspace, disk: Disk) -> None:
    app = review_app(workspace)
    disk.retries_after(60.0)
    async with app.run_test(size=SIZE) as pilot:
        disk.full = True
        await press(pilot, "0", "b")
        assert len(app.context.recorder.failures) == 2
        await press(pilot, "u")
        assert not app.context.recorder.unsaved
        assert said(app).startswith("Undone: 0 no match (boundary case), overrides ◆ · it was not saved yet")
        disk.full = False
        await press(pilot, "u")
        assert said(app) == "Nothing to undo."
        assert judgments(workspace) == []


async def test_what_was_undone_before_it_was_saved_is_brought_back_by_no_recovery(
    workspace: Workspace, disk: Disk, tmp_path: Path
) -> None:
    app = review_app(workspace)
    disk.retries_after(60.0)
    async with app.run_test(size=SIZE) as pilot:
        disk.full = disk.after = True
        await press(pilot, "1")
        assert len(app.context.recorder.failures) == 1
        disk.after = False
        await press(pilot, "u")
        assert "not saved yet" in said(app)
        # The journal cannot be written yet, so that leaving warns once more.
        assert app.context.recorder.count_unsaved == 1
        disk.full = False
        app.context.recorder.retry()
        await press(pilot, "0")
        assert app.context.recorder.count_unsaved == 0
        assert [row[:3] for row in judgments(workspace)] == [(1, 0, "override")]
    lines = len(journal_path(workspace.path).read_text().splitlines())
    assert lines == 3
    assert journal_ahead(workspace) == 0
    (tmp_path / "again").mkdir()
    with bench(tmp_path / "again") as again:
        report = recover(again, journal_path(workspace.path))
        assert (report.added, report.taken_back, report.rejected, report.unreadable) == (1, 1, (), ())
        assert [row[:3] for row in judgments(again)] == [(1, 0, "override")]


async def test_the_sign_of_a_label_comes_when_it_is_on_disk(workspace: Workspace) -> None:
    app, gate = review_app(workspace), Gate()
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        workspace.lane.submit(lambda _: gate.wait(), urgent=True)
        await press(pilot, "1")
        await painted(pilot, 2)
        assert said(app) == "… 1 match · accepts ◆ · clear-match · u undo"
        await press(pilot, "p")
        assert "… your label: 1 match" in line_of(app, ClaimLine)
        assert judgments(workspace) == []
        await press(pilot, "n", "f")
        assert said(app) == "… flagged · u undo"
        assert "… your label: none ⚑" in line_of(app, ClaimLine)
        gate.set()
        await settled(app)
        assert [row[:2] for row in judgments(workspace)] == [(1, 1)]
        assert said(app) == "⚑ flagged · u undo"
        assert "○ your label: none ⚑" in line_of(app, ClaimLine)
        await press(pilot, "1")
        assert said(app).startswith("● 1 match · overrides ◆")
        await press(pilot, "p")
        assert "● your label: 1 match" in line_of(app, ClaimLine)


async def test_undo_takes_back_what_came_last_also_when_what_was_before_it_waits(
    workspace: Workspace, disk: Disk
) -> None:
    app = review_app(workspace)
    disk.retries_after(60.0)
    async with app.run_test(size=SIZE) as pilot:
        disk.full = True
        await press(pilot, "1")
        assert len(app.context.recorder.failures) == 1
        disk.full = False
        await press(pilot, "0")
        assert judgments(workspace) == [(2, 0, "accept", "")]
        await painted(pilot, 3)
        await press(pilot, "u")
        await painted(pilot, 2)
        assert said(app) == "Undone: 0 no match, accepts ◆ · now no label · U redo"
        assert len(app.context.recorder.unsaved) == 1
        await press(pilot, "u")
        await painted(pilot, 1)
        assert not app.context.recorder.unsaved
        assert "not saved yet" in said(app)
    assert [row[:3] for row in judgments(workspace)] == [(2, 0, "accept"), (2, None, "undo")]


async def test_what_waits_is_tried_again_after_an_undo_that_failed(workspace: Workspace, disk: Disk) -> None:
    app = review_app(workspace)
    disk.retries_after(60.0)
    async with app.run_test(size=SIZE) as pilot:
        disk.full = True
        await press(pilot, "1")
        assert len(app.context.recorder.failures) == 1
        disk.full = False
        await press(pilot, "0")
        assert len(judgments(workspace)) == 1
        disk.full = True
        disk.retries_after(0.3)
        await press(pilot, "u")
        assert said(app).startswith("! Not undone: [Errno 28]")
        disk.full = False
        await until(pilot, lambda: not app.context.recorder.unsaved, "the label that waited")
        assert sorted(judgments(workspace)) == [(1, 1, "accept", ""), (2, 0, "accept", "")]


async def test_told_to_end_what_waits_is_written_once_more(
    workspace: Workspace, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The watchdog ends the whole process, which here is that of the tests.
    monkeypatch.setattr("screens.app.LEAVE_SECONDS", 3600.0)
    app = review_app(workspace)
    disk.retries_after(60.0)
    async with app.run_test(size=SIZE) as pilot:
        disk.full = True
        await press(pilot, "1")
        assert len(app.context.recorder.failures) == 1
        disk.full = False
        app._leave_at_once(signal.SIGTERM)
        await settled(pilot.app)
        assert app._exit
    assert app.return_code == 128 + signal.SIGTERM
    workspace.lane.drain(5)
    assert judgments(workspace) == [(1, 1, "accept", "")]


async def test_undo_right_after_a_key_waits_for_its_fate(workspace: Workspace, disk: Disk) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "1")
        await painted(pilot, 2)
        disk.full = True
        await painted(pilot)
        await pilot.press("0", "u")
        assert "not saved yet" in said(app)
        disk.full = False
        assert [row[:3] for row in judgments(workspace)] == [(1, 1, "accept")]


async def test_a_failed_undo_changes_nothing_and_says_so(workspace: Workspace, disk: Disk) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "1")
        await painted(pilot, 2)
        disk.full = True
        await press(pilot, "u")
        assert said(app).startswith("! Not undone: [Errno 28]")
        disk.full = False
        await press(pilot, "u")
        await painted(pilot, 1)
        assert [row[:3] for row in judgments(workspace)] == [(1, 1, "accept"), (1, None, "undo")]


async def test_leaving_with_unsaved_records_warns_first(workspace: Workspace, disk: Disk) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        disk.full = True
        await pilot.press("1")
        await pilot.press("ctrl+q")
        assert "Not on disk: 1 record, " in said(app)
        assert app._exit is False
        await pilot.press("ctrl+q")
        assert app._exit


async def test_leaving_writes_what_is_on_its_way(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        await pilot.press("1")
        await pilot.press("ctrl+q")
        assert app._exit
    assert judgments(workspace) == [(1, 1, "accept", "")]


async def test_what_the_record_refuses_is_said_and_not_tried_again(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        builder, item = screen.judging.builder, screen.item
        assert builder is not None
        assert item is not None
        app.context.recorder.submit(builder.mark(replace(item, item_id=4711), "flag"))
        await settled(pilot.app)
        assert said(app).startswith("! No such item: There is no item 4711.")
        assert app.context.recorder.unsaved == {}
        assert marks(workspace) == []


async def test_escape_keeps_a_draft_and_a_restart_keeps_it_too(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "m")
        await pilot.press(*"half a")
        await pilot.press("escape")
        assert said(app) == "Draft kept; m opens it again."
        await press(pilot, "n", "m")
        assert app.screen.query_one("#comment", Input).value == ""
        await pilot.press(*"other", "tab")
        await press(pilot, "p", "m")
        assert app.screen.query_one("#comment", Input).value == "half a"
        await pilot.press("space", *"thought")
        assert marks(workspace) == []
        await pilot.press("ctrl+q")
    app = review_app(workspace, at=None)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        assert said(app) == "Your unsaved comment is kept: m opens it again."
        await press(pilot, "m")
        assert app.screen.query_one("#comment", Input).value == "half a thought"
        await pilot.press("enter")
        assert marks(workspace) == [(1, "comment", True, "half a thought", "independent")]
        await press(pilot, "n")
        assert said(app) == "Your unsaved comment is kept: m opens it again."
        await press(pilot, "m")
        assert app.screen.query_one("#comment", Input).value == "other"
        await pilot.press("ctrl+u", "escape")
        await pilot.press("q")
    app = review_app(workspace, at=None)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 2)
        assert said(app) == ""


async def test_a_draft_that_is_being_written_is_stored_without_leaving(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "m")
        await pilot.press(*"a thought")

        def kept() -> str:
            return str(workspace.native().execute("SELECT value FROM sessionstate").fetchall())

        await settled(pilot.app)
        assert "a thought" in kept()


async def test_reopening_returns_to_item_pane_and_scroll_place(tmp_path: Path) -> None:
    code = "".join(f"line_{number} = {number}\n" for number in range(300))
    cases = [Case(f"case-{n}", f"query {n}", code, assessment="clear_match", label=1) for n in range(9)]
    with bench(tmp_path, [*cases, *CASES]) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=SIZE) as pilot:
            await press(pilot, *"nnnn")
            await pilot.press("pagedown", "pagedown", "down")
            pane = app.screen.query_one("#subject", TextPane)
            line = pane.first_line
            assert line > 40
            await press(pilot, "tab", "right_square_bracket", "right_square_bracket", "right_square_bracket")
            await pilot.press("ctrl+q")
        app = review_app(workspace, at=None)
        async with app.run_test(size=(80, 24)) as pilot:
            screen = await painted(pilot, 5)
            assert screen.panes.active == "steps"
            await press(pilot, *["tab"] * 3)
            assert screen.panes.active == "subject"
            assert app.screen.query_one("#subject", TextPane).first_line == line
            await press(pilot, "n", "p")
            assert app.screen.query_one("#subject", TextPane).first_line == line


async def test_a_resumed_review_keeps_filter_order_and_place(workspace: Workspace) -> None:
    unjudged = QueueQuery(QueueFilter(status="open"), QueueSort("position", descending=True))
    app = review_app(workspace, asked=unjudged)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "1", "1", "1", "p")
        assert "pairs, 3 of 8 · unjudged" in line_of(app, PlaceLine)
        await pilot.press("ctrl+q")
    app = review_app(workspace, at=None)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        # The item that was left has a label by now: the next one without goes on.
        assert screen.order.ids == [5, 4, 3, 2, 1]
        assert "pairs, 1 of 5 · unjudged" in line_of(app, PlaceLine)
        assert "○ your label: none" in line_of(app, ClaimLine)
        await press(pilot, "n")
        assert screen.order.item_id == 4


async def test_a_resumed_review_brings_back_only_what_its_queue_lists(workspace: Workspace) -> None:
    app = review_app(workspace, at=1)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "s", "f")
    flagged = QueueQuery(QueueFilter(flagged=True))
    app = review_app(workspace, asked=flagged)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        await pilot.press("ctrl+q")
    app = review_app(workspace, at=None)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        assert screen.order.ids == [3]


async def test_a_blind_review_does_not_resume_a_queue_of_the_agents_labels(workspace: Workspace) -> None:
    app = review_app(workspace, asked=QueueQuery(QueueFilter(agent="1"), QueueSort("agent")))
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        await pilot.press("ctrl+q")
    app = review_app(workspace, at=None, blind=True)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        assert screen.order.ids == [*range(1, 9)]
        assert "agents say" not in line_of(app, PlaceLine)


async def test_a_resumed_review_without_a_session_begins_with_the_first_open_item(
    workspace: Workspace,
) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "1", "1")
    workspace.native().execute("DELETE FROM sessionstate")
    app = review_app(workspace, at=None)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 3)


@pytest.mark.parametrize(
    "damage", ["no json", '{"item": 99999}', '{"item": 3, "places": {"subject": {"what": 1}}, "drafts": []}']
)
async def test_a_damaged_session_does_not_keep_the_review_shut(workspace: Workspace, damage: str) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "n")
        await pilot.press("ctrl+q")
    workspace.native().execute("UPDATE sessionstate SET value = ?", [damage])
    app = review_app(workspace, at=None)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        await pilot.press("q")
        assert isinstance(app.screen, HomeScreen)


async def test_an_item_that_cannot_be_read_is_said_and_does_not_end_the_session(workspace: Workspace) -> None:
    workspace.native().execute("UPDATE item SET kind = 'riddle' WHERE id = 2")
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        await pilot.press("n")
        assert "Your judgments are safe" in said(app)
        assert review_of(app).item is None
        await pilot.press("1")
        assert judgments(workspace) == []
        await pilot.press("n")
        await painted(pilot, 3)
        await press(pilot, "1")
        assert [row[0] for row in judgments(workspace)] == [3]


async def test_signals_tell_the_fate_of_every_record(workspace: Workspace, disk: Disk) -> None:
    app = review_app(workspace)
    told: list[tuple[str, int]] = []
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        app.context.recorder.saved.subscribe(app, lambda action: told.append(("saved", action.item_id)))
        app.context.recorder.failed.subscribe(app, lambda action: told.append(("failed", action.item_id)))
        disk.full = True
        await press(pilot, "1")
        assert ("failed", 1) in told
        disk.full = False
        await until(pilot, lambda: ("saved", 1) in told)
        seen: list[ItemView | None] = [review_of(app).item]
        assert seen[0] is not None
        assert text_of(app, "history") == ""
