"""Judging in a review: every key that records, its undo, and what is on the screen and on disk afterwards."""

from __future__ import annotations

import asyncio
import re
import time
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
    screen_text,
    text_of,
    uid,
    write_case,
)
from scopes import scope
from settling import Gate, settled, until
from small_workspace import BEGAN, label, recorded, rows
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widgets import Input, OptionList

from agents.jobs.events import ItemEnded
from agents.jobs.outcome import Verdict
from screens.app import WorkbenchApp
from screens.home.screen import HomeScreen
from screens.jobs.jobs import JobReported
from screens.judging.keys import JudgingKeyLine
from screens.palette.screen import Palette
from screens.queue.query import QueueQuery
from screens.review.bars import ClaimLine, PlaceLine
from screens.review.end_card import count_list
from screens.session_recorder import SessionRecorder
from screens.settings import ScreenSettings
from screens.widgets.text.view import TextPane
from store.kinds.pair import GUIDELINE
from store.queries.queue import queue_ids
from store.queries.rows import QueueFilter
from store.record.actions import Action
from store.record.raters import ensure_rater, register_kinds
from store.tables.record import JudgmentRow, MarkRow
from store.workspace.duckdb import Workspace

SIZE = (120, 40)


def heard_undos(app: WorkbenchApp, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Keep what every undo and redo came to, None for those that had nothing to take back."""
    kept: list[object] = []
    done = SessionRecorder._undo_done

    def hear(recorder: SessionRecorder, action: Action | None, **how: Any) -> None:
        kept.append(action)
        done(recorder, action, **how)

    monkeypatch.setattr(SessionRecorder, "_undo_done", hear)
    return kept


def counts(app: WorkbenchApp) -> tuple[int, int]:
    """How many were judged today and how many are left, as the first line says."""
    line = line_of(app, PlaceLine)
    today, left = re.search(r"([\d,]+) today", line), re.search(r"([\d,]+) left", line)
    assert today, line
    assert left, line
    return int(today[1].replace(",", "")), int(left[1].replace(",", ""))


def named(app: WorkbenchApp) -> str:
    """The line of keys, each key led by a blank."""
    return f" {line_of(app, JudgingKeyLine)}"


async def test_labels_are_saved_and_an_override_is_asked_why(workspace: Workspace) -> None:
    app = review_app(workspace)
    saved: list[Action] = []
    async with app.run_test(size=SIZE) as pilot:
        # A label is saved, and the next item is shown.
        app.context.recorder.saved.subscribe(app, saved.append)
        await press(pilot, "1")
        await painted(pilot, 2)
        (action,) = saved
        (row,) = rows(workspace, JudgmentRow)
        assert action.records[0].id == row["id"]
        assert (row["item_id"], row["value"], row["origin"]) == (1, 1, "accept")
        assert row["shown_verdict"] == uid(120)
        assert row["elapsed_ms"] >= row["active_ms"] >= 0
        assert not row["blind"]
        assert said(app) == "● 1 match · accepts ◆ · clear-match · u undo"
        assert "pairs, 2 of 8" in line_of(app, PlaceLine)
        assert counts(app) == (1, 7)
        await press(pilot, "p")
        assert "● your label: 1 match" in line_of(app, ClaimLine)
        assert "label 1 match · accept" in text_of(app, "history")
        # An override takes its reason by one key, and the reason can be changed.
        await press(pilot, "n", "1")
        await painted(pilot, 3)
        assert said(app).startswith("● 1 match · overrides ◆ · clear-no · why?")
        assert "b boundary case" in line_of(app, JudgingKeyLine)
        await press(pilot, "b")
        assert said(app).startswith("Reason: boundary case")
        assert "boundary case" not in line_of(app, JudgingKeyLine)
        assert judgments(workspace)[1:] == [(2, 1, "override", ""), (2, 1, "override", "boundary case")]
        await press(pilot, "p", "o")
        assert said(app) == "Why another label than ◆? Now: boundary case."
        await press(pilot, "t")
        assert judgments(workspace)[-1] == (2, 1, "override", "test is wrong")
        assert "▲ overrides · test is wrong" in line_of(app, ClaimLine)
        await press(pilot, "u")
        assert "▲ overrides · boundary case" in line_of(app, ClaimLine)
        await press(pilot, "u")
        assert "○ your label: none" in line_of(app, ClaimLine)
        assert judgments(workspace)[-1] == (2, None, "undo", "")
        # The question for a reason can be left, and stops no key.
        await press(pilot, "n", "0")
        await painted(pilot, 4)
        await press(pilot, "enter")
        assert said(app) == "No reason given; o gives one."
        await press(pilot, "1", "ctrl+c")
        assert said(app) == "No reason given; o gives one."
        await press(pilot, "a")
        await painted(pilot, 6)
        await press(pilot, "b")
        assert judgments(workspace)[6:] == [
            (3, 0, "override", ""),
            (4, 1, "override", ""),
            (5, 1, "accept", ""),
        ]


async def test_a_reason_is_given_by_no_key_from_before_it_was_asked(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot, 1)
        await press(pilot, "0")
        await painted(pilot, 2)
        assert screen.guard.on_screen is not None
        early = events.Key("b", "b")
        early.time = (screen.guard.on_screen.painted_at or 0.0) - 0.01
        screen.on_key(early)
        assert said(app).startswith("No reason was recorded: the question was not on the screen")
        assert judgments(workspace) == [(1, 0, "override", "")]
        # It is asked still.
        await press(pilot, "b")
        assert judgments(workspace)[-1] == (1, 0, "override", "boundary case")


async def test_another_reason_is_asked_for_its_words(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        await press(pilot, "0")
        await painted(pilot, 2)
        await press(pilot, "x")
        assert said(app) == "Other reason for clear-match, in your words:"
        await pilot.press(*"10 at once", "enter")
        assert said(app).startswith("Reason: other: 10 at once")
        assert judgments(workspace)[-1] == (1, 0, "override", "other: 10 at once")
        # Without words it is "other"; Escape gives none, and keeps no draft of it as a comment.
        await press(pilot, "o", "x", "enter")
        assert judgments(workspace)[-1] == (1, 0, "override", "other")
        before = judgments(workspace)
        await press(pilot, "o", "x")
        await pilot.press("1", "escape")
        assert said(app) == "Nothing was recorded."
        assert judgments(workspace) == before
        await press(pilot, "m")
        assert app.screen.query_one("#comment", Input).value == ""
        await press(pilot, "escape", "d", "x")
        await pilot.press(*"both", "enter")
        await painted(pilot, 3)
        assert [row[:4] for row in marks(workspace)] == [(2, "cannot_decide", True, "other: both")]


async def test_a_citation_that_a_question_swallowed_is_missed(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        await press(pilot, "d", "v", "escape", "1")
        assert said(app).startswith("Not recorded: the citation before it was not taken.")
        assert judgments(workspace) == []


async def test_where_one_pane_is_shown_an_item_without_that_pane_begins_with_its_code(
    workspace: Workspace,
) -> None:
    app = review_app(workspace, at=2)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await painted(pilot)
        screen.panes.show_pane("test")
        await press(pilot, "p")
        assert screen.item is not None
        assert not next(part for part in screen.item.case if part.id == "test").text
        assert screen.panes.active == "subject"


async def test_a_comment_while_a_reason_is_asked_is_on_the_labelled_item(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        await press(pilot, "0")
        await painted(pilot, 2)
        assert "why?" in said(app)
        await press(pilot, "m")
        assert said(app) == "Comment on clear-match:"
        await pilot.press(*"odd", "enter")
        assert said(app) == "Comment on clear-match given · o gives the reason · u undo"
        assert [row[:4] for row in marks(workspace)] == [(1, "comment", True, "odd")]
        assert review_of(app).order.item_id == 2
        # Its reason can be given still, and the comment is there to be changed.
        await press(pilot, "o", "m")
        assert app.screen.query_one("#comment", Input).value == "odd"
        await pilot.press("!", "enter")
        await press(pilot, "o", "w")
        assert judgments(workspace)[-1] == (1, 0, "override", "wrong result")
        # An undo takes back the comment first; that is not promised otherwise, nor a reason asked for again.
        assert said(app) == "Reason: wrong result · o changes it · u undo"
        assert review_of(app).judging.reasons.missing_reason == ""
        # Where no reason is asked for, a comment is on the item on the screen, which the line names.
        await press(pilot, "m")
        assert said(app) == "Comment on clear-no:"
        await pilot.press("b", "enter")
        assert [(row[0], row[3]) for row in marks(workspace)] == [(1, "odd"), (1, "odd!"), (2, "b")]


async def test_reasons_are_configured(workspace: Workspace) -> None:
    settings = ScreenSettings(reasons={"l": "exit code"}, undecided={"i": "I am tired"})
    app = review_app(workspace, settings=settings)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "0", "l", "d", "i")
        assert judgments(workspace)[-1] == (1, 0, "override", "exit code")
        assert marks(workspace) == [(2, "cannot_decide", True, "I am tired", "independent")]


async def test_accepting_takes_over_the_label_that_is_shown(workspace: Workspace) -> None:
    app = review_app(workspace, at=3)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "a")
        await painted(pilot, 5)
        (row,) = rows(workspace, JudgmentRow)
        assert (row["item_id"], row["value"], row["origin"]) == (4, 0, "accept")
        assert (row["shown_verdict"], row["shown_execution"]) == (uid(420), uid(410))
        # It is bound to the verdict on the screen, not to a newer one.
        newer = Case("environment", CASES[4].query, assessment="clear_nonmatch", label=0)
        # Stored behind the screen's back: no event tells of it.
        workspace.lane.submit(lambda connection: write_case(connection, 55, newer)).result()
        workspace.native().execute("UPDATE verdict SET item_id = 5 WHERE item_id = 55")
        await press(pilot, "a")
        _, row = rows(workspace, JudgmentRow)
        assert (row["value"], row["shown_verdict"]) == (1, uid(520))
        # The palette finds it by what its help says.
        await painted(pilot, 6)
        await pilot.press("ctrl+p")
        await pilot.press(*"Accept the agents")
        palette = app.screen
        assert isinstance(palette, Palette)
        assert palette.query_one(OptionList).option_count == 1
        await pilot.press("enter")
        assert app.screen is not palette
        await painted(pilot, 7)
        assert judgments(workspace) == [(4, 0, "accept", ""), (5, 1, "accept", ""), (6, 0, "accept", "")]


async def test_a_skipped_item_comes_back_last_in_this_session_and_the_next(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "s")
        await painted(pilot, 2)
        assert marks(workspace) == [(1, "skip", True, "", "independent")]
        assert "pairs, 2 of 8 " in line_of(app, PlaceLine)
        assert review_of(app).order.ids == [1, 2, 3, 4, 5, 6, 7, 8, 1]
        # An undone skip leaves the order as it was.
        await press(pilot, "u")
        await painted(pilot, 1)
        assert review_of(app).order.ids == [1, 2, 3, 4, 5, 6, 7, 8]
        await press(pilot, "U")
        assert review_of(app).order.ids == [1, 2, 3, 4, 5, 6, 7, 8, 1]
        await press(pilot, "n")
    app = review_app(workspace, at=None)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        # The queue of the next session lists it last.
        assert review_of(app).order.ids == [2, 3, 4, 5, 6, 7, 8, 1]
        await press(pilot, *"nnnnnnn")
        await painted(pilot, 8)
        assert "pairs, 8 of 8" in line_of(app, PlaceLine)
        assert "» skipped" in line_of(app, ClaimLine)
        await pilot.press("1")
        assert "End of the list: pairs" in screen_text(app)
        await settled(pilot.app)
        assert said(app).startswith("● 1 match · accepts ◆")
        assert judgments(workspace) == [(1, 1, "accept", "")]
        assert marks(workspace)[-1] == (1, "skip", False, "", "independent")


async def test_the_card_at_the_end_tells_the_count_that_was_begun_last(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first count may be read before the last judgment is on disk, and come after the second."""
    counts, release = [], Gate()

    def slow_at_first(*given: Any) -> Any:
        counts.append(count_list(*given))
        if len(counts) > 1:
            return counts[-1]
        release.wait(120)
        return replace(counts[0], counts={**counts[0].counts, "judged": 0, "open": 8})

    monkeypatch.setattr("screens.review.end_card.count_list", slow_at_first)
    app = review_app(workspace, at=7)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 8)
        await pilot.press("1")
        assert bool(counts)
        assert not app.context.recorder.unsaved
        review_of(app).end.count()
        await until(pilot, lambda: "1 of 8 done" in screen_text(app))
        release.set()
        await settled(pilot.app)
        assert "1 of 8 done" in screen_text(app)


async def test_undo_says_that_a_label_came_from_a_command(workspace: Workspace) -> None:
    rater = ensure_rater(workspace, "dana")
    register_kinds(workspace)
    recorded(workspace, rater, label(workspace, rater, 2, 1.0))
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "u")
        await painted(pilot, 2)
        when = f"{BEGAN.astimezone():%Y-%m-%d %H:%M}"
        assert said(app) == f"Undone: 1 match, given by a command, of {when} · now no label · U redo"
        await press(pilot, "U")
        assert said(app) == f"Redone: 1 match, given by a command, of {when} · u undo"


async def test_flags_comments_and_what_cannot_be_decided_are_saved_as_marks(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        # A flag stays until it is taken away.
        await press(pilot, "f")
        assert said(app) == "⚑ flagged · u undo"
        assert "⚑" in line_of(app, ClaimLine)
        await press(pilot, "f")
        assert "⚑" not in line_of(app, ClaimLine)
        assert [row[:3] for row in marks(workspace)] == [(1, "flag", True), (1, "flag", False)]
        # Flags pressed faster than the disk follow the last key.
        await pilot.press("f", "f", "f")
        assert [row[2] for row in marks(workspace)[2:]] == [True, False, True]
        assert "⚑" in line_of(app, ClaimLine)
        # A comment is saved by enter, and changed later.
        await press(pilot, "m")
        await pilot.press(*"10 a?")
        assert judgments(workspace) == []
        await pilot.press("enter")
        assert marks(workspace)[5:] == [(1, "comment", True, "10 a?", "independent")]
        assert "comment" in text_of(app, "history")
        assert "10 a?" in text_of(app, "history")
        assert app.focused is not None
        assert app.focused.id == "subject"
        await press(pilot, "m")
        assert app.screen.query_one("#comment", Input).value == "10 a?"
        await pilot.press("enter")
        assert said(app) == "The comment is unchanged."
        await press(pilot, "m")
        await pilot.press("ctrl+u", "enter")
        assert marks(workspace)[-1] == (1, "comment", False, "", "independent")
        assert len(rows(workspace, MarkRow)) == 7
        # What cannot be decided is asked for a reason, and the question can be left.
        await press(pilot, "d", "escape", "i")
        await painted(pilot, 1)
        assert marks(workspace)[7:] == []
        # With its reason it withdraws a label.
        await press(pilot, "1", "p", "d")
        assert said(app) == "Cannot decide, because:"
        # A wrong key does nothing: neither a label, nor skipping, undoing or going on.
        await press(pilot, "1", "s", "u", "n", "J", "ctrl+r")
        assert said(app) == "Cannot decide, because:"
        await press(pilot, "i")
        await painted(pilot, 2)
        assert judgments(workspace) == [(1, 1, "accept", ""), (1, None, "withdraw", "")]
        assert marks(workspace)[7:] == [(1, "cannot_decide", True, "beyond my knowledge", "independent")]
        assert counts(app) == (0, 7)
        await press(pilot, "p")
        assert "? cannot decide: beyond my knowledge" in line_of(app, ClaimLine)
        await press(pilot, "u")
        assert "● your label: 1 match" in line_of(app, ClaimLine)
        assert counts(app) == (1, 7)


async def test_undo_and_redo_go_all_the_way_back_across_restarts(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = review_app(workspace)
    undone = heard_undos(app, monkeypatch)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "1", "1", "b", "s", "f")
        await press(pilot, "u", "u")
        assert len(undone) == 2
        await painted(pilot, 3)
        assert said(app) == "Undone: skip · U redo"
    app = review_app(workspace, at=None)
    undone.clear()
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "u")
        await painted(pilot, 2)
        assert re.fullmatch(
            r"Undone: 1 match \(boundary case\), overrides ◆, of \d{4}-\d\d-\d\d \d\d:\d\d"
            r" · now no label · U redo",
            said(app),
        ), said(app)
        await press(pilot, "u")
        await painted(pilot, 1)
        await press(pilot, "u")
        assert said(app) == "Nothing to undo."
        await settled(pilot.app)
        assert counts(app) == (0, 8)
        for number in range(4):
            await press(pilot, "U")
            await until(pilot, lambda wanted=number + 4: len(undone) == wanted)
        await settled(pilot.app)
        await painted(pilot, 4)
        assert said(app).startswith("Redone: flag, of ")
        assert counts(app) == (2, 6)
        await press(pilot, "ctrl+r")
        assert said(app) == "Nothing to redo."
    current = {row["item_id"]: row for row in rows(workspace, JudgmentRow)}
    assert {item: row["value"] for item, row in current.items()} == {1: 1, 2: 1}
    assert current[2]["reason"] == "boundary case"
    # In a blind review an undo tells nothing of the agents' label.
    app = review_app(workspace, blind=True)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "u", "u")
        assert said(app).startswith("Undone: skip, of ")
        for _ in range(2):
            await press(pilot, "u")
            assert said(app).startswith("Undone: 1 match")
            assert "◆" not in said(app)


async def test_moving_stops_at_the_ends_and_finds_what_is_open(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "p")
        assert said(app) == "This is the first item."
        await press(pilot, "1", "1", "b", "d", "w")
        await painted(pilot, 4)
        await press(pilot, "p", "p", "p", "j")
        await painted(pilot, 4)
        await press(pilot, *"nnnn")
        await pilot.press("n")
        # Three have a label or a "cannot decide" now.
        assert "j      the next of 5 in this list without your label" in screen_text(app)
        await pilot.press("n")
        assert said(app) == "This is the end of the list."
        await pilot.press("j")
        await painted(pilot, 4)
        assert said(app) == "Started again from the top of the queue."
        # It is said that nothing is open.
        await press(pilot, "p", *"1" * 5)
        await pilot.press("1")
        assert "Every item of this workspace has your label." in screen_text(app)
        await pilot.press("p", "j")
        assert "8 of 8 done" in screen_text(app)
        await pilot.press("j")
        assert said(app) == "Every item of this workspace has your label."


async def test_the_end_of_a_list_says_what_is_done_and_what_is_next(workspace: Workspace) -> None:
    app = review_app(workspace, asked=QueueQuery(QueueFilter(text="zero bytes")))
    async with app.run_test(size=(80, 24)) as pilot:
        await painted(pilot, 1)
        assert "pairs, 1 of 1 " in line_of(app, PlaceLine)
        await pilot.press("1")
        assert "1 of 1 done" in screen_text(app)
        shown = screen_text(app)
        assert "End of the list: pairs · contains “zero bytes”" in shown
        assert "pairs, end of 1" in shown
        assert "j      continue: 7 pairs without your label" in shown
        assert said(app).startswith("● 1 match · overrides ◆")
        # Nothing is judged here, and the reason of the last override can still be given.
        await pilot.press("0")
        assert said(app) == "There is no item here to judge."
        await pilot.press("o")
        await pilot.press("b")
        assert judgments(workspace)[-1] == (4, 1, "override", "boundary case")
        assert len(judgments(workspace)) == 2
        await pilot.press("p")
        await painted(pilot, 1)
        await pilot.press("n", "j")
        screen = await painted(pilot, 1)
        assert (screen.order.total, screen.order.item_id) == (8, 1)
        assert said(app) == "All items are listed again."


async def test_a_session_that_ended_at_the_end_of_a_list_goes_on_at_an_open_item(
    workspace: Workspace,
) -> None:
    app = review_app(workspace, asked=QueueQuery(QueueFilter(text="zero bytes")))
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        await pilot.press("0")
        assert "End of the list" in screen_text(app)
        await settled(pilot.app)
        await pilot.press("ctrl+q")
    again = review_app(workspace, at=None)
    async with again.run_test(size=SIZE) as pilot:
        screen = await painted(pilot, 1)
        assert screen.order.item_id == 1
        assert "pairs, 1 of 8" in line_of(again, PlaceLine)
        # q goes back to where the review was opened.
        await press(pilot, "escape")
        assert said(again) == "Nothing to end here; q goes back."
        await pilot.press("q")
        assert isinstance(again.screen, HomeScreen)


async def test_the_review_is_left_at_once_and_what_it_recorded_is_changed_later(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        # The reason can be given later.
        await press(pilot, "0")
        await pilot.press("q")
        assert isinstance(app.screen, HomeScreen)
        await pilot.press("enter")
        await painted(pilot, 2)
        assert said(app) == "No reason yet for clear-match; o gives one."
        await pilot.press("o", "b")
        assert judgments(workspace) == [(1, 0, "override", ""), (1, 0, "override", "boundary case")]
        await painted(pilot, 2)
        # An undo that is done after the review was left is said, too.
        await press(pilot, "0")
        await pilot.press("q")
        assert isinstance(app.screen, HomeScreen)
        app.context.recorder.undo()
        await settled(pilot.app)
        assert bool(app._notifications)
        (notice,) = app._notifications
        assert (notice.title, notice.message) == ("Undone", "0 no match, accepts ◆ · now no label")


async def test_a_list_keeps_its_order_and_an_empty_one_says_that_it_is(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        assert " 1 match" in named(app)
        # An empty queue says so, and no key that judges is named where nothing can be judged.
        app.call_later(
            app.open_review, queue_ids(workspace, scope(0))[:0], 0, QueueQuery(QueueFilter(flagged=True))
        )
        await settled(pilot.app)
        assert said(app) == "No items here. q goes back."
        assert not {" 1 match", " n next", " p previous", " j next", " / find"} & set(
            re.findall(r" \S \w+(?: match)?", named(app))
        )
        assert " q back" in named(app)
        await pilot.press("1")
        assert said(app) == "There is no item here to judge."
        await pilot.press("n", "p", "j", "g", "y", "z", "tab", "right_square_bracket", "slash", "escape", "u")
        assert said(app) == "Nothing to undo."
        await pilot.press("q")
        await painted(pilot, 1)
        assert judgments(workspace) == []
        # The order stays as it was when the queue was opened.
        order = [5, 3, 1]
        app.call_later(
            app.open_review,
            queue_ids(workspace, scope(0))[[4, 2, 0]],
            0,
            QueueQuery(QueueFilter(status="open")),
        )
        await settled(pilot.app)
        assert review_of(app).order.ids == order
        await press(pilot, "1", "0")
        await painted(pilot, 3)
        assert review_of(app).order.ids == order
        assert "pairs, 3 of 3 · unjudged" in line_of(app, PlaceLine)
        assert [row[0] for row in judgments(workspace)] == [5, 3]


async def test_judgments_as_fast_as_the_items_come_lose_nothing(tmp_path: Path) -> None:
    cases = [Case(f"case-{n}", f"query {n}", assessment="clear_match", label=1) for n in range(24)]
    with bench(tmp_path, cases) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=SIZE) as pilot:
            for number in range(24):
                screen = await painted(pilot, number + 1)
                assert screen.item is not None
                await pilot.press("01"[number % 2])
            await settled(pilot.app)
            assert counts(app) == (24, 0)
        found = judgments(workspace)
        assert [row[:2] for row in found] == [(n + 1, n % 2) for n in range(24)]
        journal = (tmp_path / "pairs.duckdb.journal.jsonl").read_text().splitlines()
        assert len(journal) == 24


async def test_the_agents_label_that_arrives_is_shown_and_not_judged_by_a_key_on_its_way(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screens.judging.paint_guard.ARRIVAL_SECONDS", 4.0)
    app = review_app(workspace, at=6)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        arrived = Case("not-looked", CASES[6].query, assessment="clear_nonmatch", label=0, reason="it sorts")
        workspace.lane.submit(lambda connection: write_case(connection, 7, arrived)).result()
        event = ItemEnded(1, uid(0), 7, "not-looked", (Verdict(0.0, "screened", ""),))
        app.post_message(JobReported(event))
        await settled(pilot.app)
        assert "◆ 0 no match" in line_of(app, ClaimLine)
        assert said(app) == "◆ The agents' label has just arrived."
        assert "it sorts" in text_of(app, "verdict")
        await pilot.press("a")
        assert said(app) == "Not recorded: the agents' label has just arrived. Check it, then press again."
        await pilot.press("1")
        assert judgments(workspace) == []
        screen = review_of(app)
        settled_at = screen.guard.on_screen.settled_at if screen.guard.on_screen else 0
        await until(pilot, lambda: _later_than(settled_at))
        await pilot.press("a")
        assert judgments(workspace) == [(7, 0, "accept", "")]


def _later_than(moment: float) -> bool:
    return time.monotonic() > moment


async def test_blind_means_that_no_agents_label_is_there(workspace: Workspace) -> None:
    app = review_app(workspace, blind=True)
    async with app.run_test(size=SIZE) as pilot:
        for number in range(1, len(CASES) + 1):
            screen = await painted(pilot, number)
            assert screen.item is not None
            assert screen.item.claim is None
            assert [part.id for part in screen.item.case] == ["guideline", "history"]
            texts = [screen.item.subject.text, *(part.text for part in screen.item.case)]
            for secret in ("as the code reads", "screened", "tested", CASES[number - 1].reason or "◆", "◆"):
                assert all(secret not in text for text in texts)
            shown = line_of(app, ClaimLine)
            assert shown.startswith(" blind: the agents' labels are not shown")
            assert text_of(app, "guideline") == GUIDELINE
            await pilot.press("n")
        await settled(pilot.app)
        assert "End of the list" in screen_text(app)
        await pilot.press("p")
        await painted(pilot, len(CASES))
        await press(pilot, "a")
        assert said(app) == "Nothing to accept: the review is blind. Nothing was recorded."
        await press(pilot, "1")
        (row,) = rows(workspace, JudgmentRow)
        assert row["blind"]
        assert (row["origin"], row["shown_verdict"]) == ("independent", None)
        app.post_message(JobReported(ItemEnded(1, uid(0), 8, "step-failed", (Verdict(1.0, "screened", ""),))))
        await press(pilot, "p", "f")
        assert said(app) == "⚑ flagged · u undo"
        assert "blind: yes" in line_of(app, PlaceLine)


async def test_without_a_rater_nothing_is_recorded_and_it_is_said(workspace: Workspace) -> None:
    app = review_app(workspace, rater=None)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        # No key that judges is named where nobody judges.
        assert " 1 match" not in named(app)
        assert " u undo" not in named(app)
        for key in "10adsfcou":
            await press(pilot, key)
            assert said(app).startswith("! No rater: Judgments need a rater's name."), key
            await painted(pilot, 1)
        assert rows(workspace, JudgmentRow) == []
        assert rows(workspace, MarkRow) == []
        assert "nobody (--rater NAME)" in line_of(app, PlaceLine)


async def test_keys_without_effect_are_not_named_and_say_why_they_have_none(workspace: Workspace) -> None:
    app = review_app(workspace, at=6)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 7)
        assert line_of(app, ClaimLine).startswith(" no agents' label")
        assert not {" a accept", " o reason", " G failure"} & set(re.findall(r" \w \w+", named(app)))
        for key, why in (
            ("a", "Nothing to accept: the agents have no label here. Nothing was recorded."),
            ("o", "Only an override has a reason; this item is not one."),
            ("G", "There is no log here."),
        ):
            await press(pilot, key)
            assert said(app) == why
            await painted(pilot, 7)
        assert judgments(workspace) == []
        # A failed annotation of the item shown changes nothing: a label is independent.
        app.post_message(JobReported(ItemEnded(1, uid(0), 7, "not-looked", (), None)))
        await press(pilot, "1")
        assert judgments(workspace) == [(7, 1, "independent", "")]
        await pilot.press("n")
        assert " n next ·" not in named(app)
        await pilot.press("p")
        await press(pilot, *"pppp")
        await painted(pilot, 4)
        assert " a accept" in named(app)
        assert " G failure" in named(app)
        assert " o reason" not in named(app)
        await press(pilot, "1", "p")
        await painted(pilot, 4)
        assert " o reason" in named(app)
        await press(pilot, *"ppp")
        assert " p previous" not in named(app)


async def test_a_label_can_have_another_key(workspace: Workspace) -> None:
    app = review_app(
        workspace,
        settings=ScreenSettings(keys={"review.label_1": "l"}, reasons={"w": "wrong"}, undecided={"w": "why"}),
    )
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        assert " l match" in named(app)
        await press(pilot, "1")
        await painted(pilot, 1)
        await press(pilot, "l")
        await painted(pilot, 2)
        assert judgments(workspace) == [(1, 1, "accept", "")]


async def test_what_the_review_says_names_the_keys_that_are_configured(workspace: Workspace) -> None:
    keys = {"app.jobs": "f4", "review.back": "f2"}
    app = review_app(workspace, settings=ScreenSettings(keys=keys), at=6)
    async with app.run_test(size=(160, 40)) as pilot:
        await painted(pilot)
        assert "F4 shows the jobs" in screen_text(app)
        await press(pilot, "d")
        assert "F2 cancel" in screen_text(app)
        await press(pilot, "f2")
        assert said(app) == "Nothing was recorded."
        await press(pilot, "slash")
        await pilot.press("d", "enter")
        await until(pilot, lambda: said(app).endswith("F2 end"))
        await press(pilot, "f2")
        assert said(app) == ""
        assert marks(workspace) == []


async def test_what_is_typed_is_in_sight_in_the_smallest_terminal(workspace: Workspace) -> None:
    app = review_app(workspace)
    comments: list[tuple[Any, ...]] = []
    async with app.run_test(size=(20, 5)) as pilot:
        for item, size in enumerate([(20, 5), (40, 10), (80, 24)], start=1):
            await pilot.resize_terminal(*size)
            await press(pilot, "m")
            await pilot.press(*"half a thought")
            await pilot.pause()
            assert "half a thought" in screen_text(app)
            assert "Esc keep as a" in screen_text(app)
            await pilot.press("enter")
            comments.append((item, "comment", True, "half a thought", "independent"))
            assert marks(workspace) == comments
            await press(pilot, "slash")
            await pilot.press(*"nowhere")
            await pilot.pause()
            assert "nowhere" in screen_text(app)
            assert "Esc end it" in screen_text(app)
            await pilot.press("escape")
            assert " 1 match" in named(app)
            await press(pilot, "n")


async def test_nothing_is_painted_while_nothing_happens(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    paintings = []
    paint = TextPane.render_lines

    def counted(view: TextPane, crop: Region) -> list[Strip]:
        paintings.append(view.id)
        return paint(view, crop)

    monkeypatch.setattr(TextPane, "render_lines", counted)
    app = review_app(workspace)
    async with app.run_test(size=(20, 5)) as pilot:
        for size in ((20, 5), (80, 24), (120, 40)):
            await pilot.resize_terminal(*size)
            await painted(pilot)
            assert paintings
            paintings.clear()
            await asyncio.sleep(0.5)
            assert paintings == []
