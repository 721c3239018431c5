"""What is no key press of a person, or none made in sight of the item, judges nothing."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from apps import app_of
from review_bench import (
    CASES,
    Case,
    judgments,
    marks,
    painted,
    press,
    review_app,
    review_of,
    said,
)
from settling import settled, until
from textual import events
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Input, TextArea

from agents.settings import JobSettings
from screens.app import WorkbenchApp
from screens.input_guard.terminal import InputDecoder, text_times
from screens.keys_screen import KeysScreen
from screens.palette.screen import Palette
from screens.settings import ScreenSettings
from screens.widgets.key_line import KeyLine
from store.workspace.duckdb import Workspace

SIZE = (120, 40)
NOT_SEEN = "Not recorded: the item was not on the screen when you pressed. Press again."
PASTED = "! Ignored: several keys came at once, as pasted text does."


def typed(app: WorkbenchApp, key: str, at: float | None = None, character: str | None = None) -> events.Key:
    """Post a key as the terminal's reader does, at a time."""
    event = events.Key(key, character or (key if len(key) == 1 else None))
    event.time = time.monotonic() if at is None else at
    event.set_sender(app)
    app.post_message(event)
    return event


def nothing_recorded(workspace: Workspace) -> bool:
    return judgments(workspace) == [] and marks(workspace) == []


async def test_a_key_typed_before_the_item_was_painted_is_refused(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        assert screen.guard.on_screen is not None
        before = screen.guard.on_screen.painted_at
        assert before is not None
        for key in "10asf":
            typed(app, key, at=before - 0.01)
            await settled(pilot.app)
            assert said(app) == NOT_SEEN
            screen.shared.show_message("")
            await painted(pilot, 1)
        assert nothing_recorded(workspace)
        typed(app, "1")
        await painted(pilot, 2)
        assert judgments(workspace) == [(1, 1, "accept", "")]


async def test_two_keys_in_a_row_judge_one_item_when_the_second_was_not_in_sight(
    workspace: Workspace,
) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        now = time.monotonic()
        typed(app, "1", at=now)
        typed(app, "1", at=now + 0.005)
        await painted(pilot, 2)
        assert said(app) == NOT_SEEN
        assert judgments(workspace) == [(1, 1, "accept", "")]


async def test_a_bracketed_paste_is_no_key(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        event = events.Paste("1\n0\na\n")
        event.set_sender(app)
        app.post_message(event)
        await pilot.press("tab")
        await painted(pilot, 1)
        assert nothing_recorded(workspace)


async def test_keys_of_one_read_do_not_judge_undo_or_give_a_reason(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "0")
        await painted(pilot, 2)
        kept = judgments(workspace)
        now = time.monotonic()
        times = [now + number * 0.02 for number in range(7)]
        # As the reader of the terminal tells it, however far apart the keys are handled.
        app.keys_came_together(times)
        for key, at in zip("b10asud", times, strict=True):
            typed(app, key, at=at)
        await settled(pilot.app)
        assert PASTED in said(app)
        await settled(pilot.app)
        assert judgments(workspace) == kept
        assert marks(workspace) == []
        await painted(pilot, 2)


async def test_a_burst_does_not_judge_where_reads_are_not_told(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        now = time.monotonic()
        for number, key in enumerate("1u0"):
            typed(app, key, at=now + number * 0.0002)
        await settled(pilot.app)
        assert PASTED in said(app)
        await pilot.press("tab")
        await painted(pilot, 1)
        assert nothing_recorded(workspace)


async def test_a_label_right_after_keys_that_were_left_out_is_asked_for_again(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        for key in "vv":
            typed(app, key, at=(now := time.monotonic()))
            app.keys_came_together([now, now])
        await settled(app)
        assert PASTED in said(app)
        await press(pilot, "1")
        assert said(app).startswith("Not recorded: keys just before it were not taken.")
        assert nothing_recorded(workspace)
        # Another label is no answer to that.
        await press(pilot, "0")
        assert said(app).startswith("Not recorded: keys just before it were not taken.")
        await press(pilot, "1", "1")
        assert [row[:3] for row in judgments(workspace)] == [(1, 1.0, "accept")]


@pytest.mark.parametrize("pasted", ["1\r", "nn", "n\tj", "qq", "z\r"])
async def test_pasted_text_neither_judges_nor_navigates(workspace: Workspace, pasted: str) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        reads = InputDecoder()
        keys = reads.feed(pasted, time.monotonic())
        app.keys_came_together(text_times(keys))
        for event in keys:
            event.set_sender(app)
            app.post_message(event)
        await settled(pilot.app)
        assert said(app) == PASTED
        await settled(pilot.app)
        await painted(pilot, 1)
        assert review_of(app) is screen
        assert not screen.has_class("-zoom")
        assert nothing_recorded(workspace)


@pytest.mark.parametrize("rest", ["[A", "[1;5A", "OP", "[1~", "[0n", "[200~1"])
async def test_a_torn_sequence_judges_nothing_and_leaves_nothing(workspace: Workspace, rest: str) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        start = time.monotonic()
        typed(app, "escape", at=start, character="\x1b")
        await settled(pilot.app)
        assert said(app) == "Nothing to end here; q goes back."
        for number, character in enumerate(rest):
            key = {"[": "left_square_bracket", "~": "tilde", ";": "semicolon"}.get(character, character)
            typed(app, key, at=start + 0.3 + number * 0.3, character=character)
        await settled(pilot.app)
        assert said(app).startswith("Torn key: ")
        typed(app, "tab", at=start + 9)
        await settled(pilot.app)
        assert screen.panes.active != "subject"
        assert review_of(app) is screen
        await painted(pilot, 1)
        assert nothing_recorded(workspace)


async def test_an_escape_that_bubbles_up_late_does_not_spoil_the_guard(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        start = time.monotonic()
        # All of them are queued before the first one has come back from the focused pane.
        typed(app, "escape", at=start, character="\x1b")
        typed(app, "left_square_bracket", at=start + 0.3, character="[")
        await asyncio.sleep(0)
        typed(app, "1", at=start + 0.6)
        typed(app, "tilde", at=start + 0.9, character="~")
        await settled(pilot.app)
        await pilot.press("tab")
        assert nothing_recorded(workspace)


async def test_judgment_keys_are_letters_in_text_fields(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        for opening, box in (("slash", "#find"), ("m", "#comment")):
            await press(pilot, opening)
            await pilot.press(*"10adsfcouU")
            await pilot.press("ctrl+r")
            assert app.screen.query_one(box, Input).value == "10adsfcouU"
            await pilot.press("escape")
        await settled(pilot.app)
        await painted(pilot, 1)
        assert nothing_recorded(workspace)


async def test_keys_in_the_palette_and_the_help_judge_nothing(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        for opening in ("ctrl+p", "question_mark"):
            screen = await painted(pilot)
            await pilot.press(opening)
            await until(pilot, lambda screen=screen: app.screen is not screen)
            await pilot.press(*"10as")
            # The first one clears what was typed into the list of keys.
            await pilot.press(*["escape"] * (2 if opening == "question_mark" else 1))
            await until(pilot, lambda screen=screen: app.screen is screen)
        await settled(pilot.app)
        assert nothing_recorded(workspace)


async def test_remapped_keys_judge_and_the_old_ones_do_not(workspace: Workspace) -> None:
    app = review_app(workspace, settings=ScreenSettings(keys={"review.accept": "l"}))
    async with app.run_test(size=SIZE) as pilot:
        await press(pilot, "a")
        await painted(pilot, 1)
        await press(pilot, "l")
        await painted(pilot, 2)
        assert judgments(workspace) == [(1, 1, "accept", "")]


async def test_a_label_that_came_while_the_item_was_hidden_is_not_judged_unseen(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screens.judging.paint_guard.ARRIVAL_SECONDS", 60.0)
    app = review_app(workspace, at=6)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        arrived = Case("not-looked", CASES[6].query, assessment="clear_match", label=1)
        from review_bench import write_case

        workspace.lane.submit(lambda connection: write_case(connection, 7, arrived)).result()
        # No event told of it; the item is read anew when the flag is saved.
        await press(pilot, "f")
        assert screen.item is not None
        assert screen.item.claim is not None
        typed(app, "1")
        await settled(pilot.app)
        assert said(app).startswith("Not recorded: the agents' label has just arrived")
        assert judgments(workspace) == []


async def test_a_page_key_before_the_list_of_the_palette_is_laid_out_does_nothing(
    workspace: Workspace,
) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        typed(app, "ctrl+p")
        while not isinstance(app.screen, Palette):  # noqa: ASYNC110 - settled, its list would be laid out
            await asyncio.sleep(0)
        typed(app, "pagedown")
        await settled(app)
        assert isinstance(app.screen, Palette)
        await pilot.press("escape")
        assert review_of(app).is_active


PLACES = {
    "ImportScreen": "i",
    "StartScreen": "g",
    "ExportScreen": "x",
    "StudiesScreen": "s",
    "NewStudyScreen": "s n",
    "NewComparisonsScreen": "s c",
    "AdjudicateScreen": "a",
    "SplitsScreen": "p",
    "NewSplitScreen": "p n",
    "ReportsScreen": "r",
    "ChoiceScreen": "r o",
    "SearchScreen": "slash",
    "SqlScreen": "S",
    "JobsScreen": "J",
    "QueueScreen": "tab",
    "FilterScreen": "tab f",
    "SortScreen": "tab o",
    "ColumnsScreen": "tab C",
    "RunScreen": "tab a",
    "ViewsScreen": "tab v",
    "ReviewScreen": "tab enter",
}
"""Screens and dialogs with the keys that open them from home."""


@pytest.mark.parametrize("place", PLACES)
async def test_q_leaves_where_nothing_is_typed_and_is_text_where_something_is(
    workspace: Workspace, place: str
) -> None:
    app = app_of(workspace, annotation=JobSettings(model="scripted:none"), annotation_problem="")
    async with app.run_test(size=SIZE) as pilot:

        async def opened() -> Screen[Any]:
            while app.screen.is_modal:
                await pilot.press("escape")
            app.go_home()
            await settled(app)
            await pilot.press(*PLACES[place].split())
            assert type(app.screen).__name__ == place
            return app.screen

        for number in range(max(1, len((await opened()).focus_chain))):
            there = await opened()
            field = there.focus_chain[number] if there.focus_chain else None
            there.set_focus(field)
            await pilot.press("q")
            if isinstance(field, Input | TextArea):
                assert app.screen is there
                assert "q" in (field.value if isinstance(field, Input) else field.text)
            else:
                assert app.screen is not there, field


async def test_the_key_for_all_keys_is_named_where_it_is_not_typed(workspace: Workspace) -> None:
    app = app_of(workspace)
    async with app.run_test(size=SIZE) as pilot:
        for opening, named in (("tab", "? keys"), ("S", "F1 keys"), ("s n", "F1 keys"), ("slash", "F1 keys")):
            app.go_home()
            await settled(app)
            await pilot.press(*opening.split())
            there = app.screen
            line = str(there.query_one(KeyLine).content)
            assert line.endswith(named), opening
            await pilot.press({"?": "question_mark", "F1": "f1"}[named.split()[0]])
            assert isinstance(app.screen, KeysScreen), opening
            await pilot.press("escape")
            assert app.screen is there
        # In a dialog it lists what has an effect there.
        for opening, title in (("i", "Import"), ("tab f", "Filter")):
            app.go_home()
            await settled(app)
            await pilot.press(*opening.split())
            there = app.screen
            await pilot.press("f1")
            assert isinstance(app.screen, KeysScreen), opening
            assert str(app.screen.query_one(Vertical).border_title) == f"Keys · {title}"
            await pilot.press("escape")
            assert app.screen is there
            await pilot.press("escape")
        # A key that was given to it in place of both is left out where it would be typed.
    app = app_of(workspace, settings=ScreenSettings(keys={"app.help": "question_mark"}))
    async with app.run_test(size=SIZE) as pilot:
        await settled(app)
        await pilot.press("S")
        assert "keys" not in str(app.screen.query_one(KeyLine).content)
