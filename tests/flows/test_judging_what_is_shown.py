"""A key judges the item that is on the screen, and no other one."""

from __future__ import annotations

import asyncio
import random
import re
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from apps import app_of
from loopback_models import LoopbackModels, Reply
from review_bench import CASES, judgments, marks, painted, review_app, said, screen_text
from settling import Gate, settled
from small_workspace import pairs_workspace
from textual import events
from textual.widgets import Input

from agents.jobs.events import ItemEnded
from agents.jobs.job import JobRequest
from agents.jobs.outcome import Verdict
from agents.settings import JobSettings
from screens.app import WorkbenchApp
from screens.items.reader import ItemReader
from screens.items.views import ItemView
from screens.jobs.jobs import JobReported
from screens.review.next_item import next_open
from screens.review.screen import ReviewScreen
from screens.settings import ScreenSettings
from store.record.actions import Action
from store.workspace.duckdb import Workspace
from store.workspace.journal import Journal

SIZE = (120, 40)
NOT_SEEN = "Not recorded: the item was not on the screen when you pressed. Press again."
ITEMS = 100
KEYS_A_SECOND = 10


def type_key(app: WorkbenchApp, key: str) -> events.Key:
    """Post a key as the terminal's reader does, without waiting for what it does."""
    event = events.Key(key, key if len(key) == 1 else None)
    event.set_sender(app)
    app.post_message(event)
    return event


class SlowReader:
    """Makes the reading of one item wait until it is released."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, slow: int) -> None:
        self.released = Gate()
        read = ItemReader.read

        def waiting(reader: ItemReader, item_id: int) -> ItemView:
            if item_id == slow:
                assert self.released.wait(120)
            return read(reader, item_id)

        monkeypatch.setattr(ItemReader, "read", waiting)


def shown(app: WorkbenchApp) -> tuple[int, set[str]]:
    """The item that the header names, from 1, and the names of those that the rest of the screen shows."""
    header, _, rest = screen_text(app).partition("\n")
    found = re.search(r", (\d+) of", header)
    assert found is not None, header
    names = {case.name for case in CASES}
    return int(found[1]), {name for name in names if f"· {name} " in rest}


@pytest.mark.parametrize("cause", ["saved", "annotated"])
async def test_what_comes_for_the_item_before_does_not_bring_it_back(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    reader = SlowReader(monkeypatch, slow=2)
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        await pilot.press("1")
        assert not app.context.recorder.unsaved
        if cause == "annotated":
            event = ItemEnded(1, UUID(int=0), 1, CASES[0].name, (Verdict(1.0, "screened", ""),))
            app.post_message(JobReported(event))
        for _ in range(5):
            await pilot.pause(0.02)
            assert shown(app) == (1, {CASES[0].name})
            assert not screen.guard.is_painted
            await pilot.press("0")
        reader.released.set()
        await painted(pilot, 2)
        assert shown(app) == (2, {CASES[1].name})
        await pilot.press("0")
        assert [row[:2] for row in judgments(workspace)] == [(1, 1), (2, 0)]


class Terminal:
    """Notes which item each part of the screen shows, by what is written to the terminal and by nothing else."""

    PARTS = ("header", "query", "code")
    TELLS = re.compile(r"pairs, (\d+) of|query (\d+) ends|function_(\d+)")

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shows: dict[str, int] = {}

        def display(app: WorkbenchApp, screen: Any, update: Any) -> None:
            if not hasattr(update, "render_segments"):
                return
            data = update.render_segments(app.console)
            for found in self.TELLS.finditer(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", data)):
                self.shows[self.PARTS[(found.lastindex or 1) - 1]] = int(found[found.lastindex or 1])

        monkeypatch.setattr(WorkbenchApp, "_display", display)


class Rater:
    """Types at a steady pace, and notes for each key what is on the screen when it is typed."""

    def __init__(self, app: WorkbenchApp, monkeypatch: pytest.MonkeyPatch) -> None:
        self.app = app
        self.terminal = Terminal(monkeypatch)
        self.written: dict[float, dict[str, int]] = {}
        self.seen: dict[float, str] = {}
        self.recorded: list[tuple[Action, float]] = []
        record = app.context.recorder.submit

        def noting(action: Action) -> None:
            self.recorded.append((action, app.context.last_key.time))
            record(action)

        monkeypatch.setattr(app.context.recorder, "submit", noting)

    def type(self, key: str) -> None:
        seen, written = screen_text(self.app), dict(self.terminal.shows)
        moment = type_key(self.app, key).time
        self.seen[moment], self.written[moment] = seen, written


class LabelsAround:
    """A model whose replies come just before, while and just after the rater has an item on the screen."""

    def __init__(self) -> None:
        self.at = 1
        self._moved = threading.Condition()
        chance = random.Random(20261123)
        # By how many items each reply comes before the rater; at 0 the item is on the screen.
        leads = [0] + [1] * 12 + [2] * 12 + [-1] * 13
        self._leads = [chance.choice(leads) for _ in range(ITEMS + 1)]

    def move(self, number: int) -> None:
        with self._moved:
            self.at = number
            self._moved.notify_all()

    def __call__(self, seen: Any, number: int) -> Reply:
        item = int(re.search(r"query (\d+) ends", str(seen.body))[1])  # type: ignore[index]
        with self._moved:
            self._moved.wait_for(lambda: self.at >= item - self._leads[item], 120)
        word = "clear_match" if item % 3 else "clear_nonmatch"
        return Reply({"assessment": word, "justification": f"reply {item}"})


async def test_100_items_judged_beside_a_job_that_labels_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [
        (f"case-{n}", f"python query {n} ends", f"def function_{n}():\n    return {n}\n")
        for n in range(1, ITEMS + 1)
    ]
    labels = LabelsAround()
    with pairs_workspace(tmp_path, pairs) as workspace, LoopbackModels(labels) as server:
        app = review_app(workspace)
        rater = Rater(app, monkeypatch)
        async with app.run_test(size=SIZE) as pilot:
            screen = await painted(pilot)
            settings = JobSettings(
                "openai:gpt-4o-mini", concurrency=6, sandbox="process", models=server.settings()
            )
            app.context.jobs.runner.start(JobRequest(settings))
            due = began = time.monotonic()
            keys = 0
            # On a slow machine many keys come before the item is there, and are refused.
            while len(rater.recorded) < ITEMS and time.monotonic() - began < 600:
                due = max(due + 1 / KEYS_A_SECOND, time.monotonic())
                await asyncio.sleep(due - time.monotonic())
                labels.move(screen.order.index + 1)
                rater.type("01"[keys % 2])
                keys += 1
            labels.move(2 * ITEMS)
            await settled(pilot.app)
        assert len(rater.recorded) == ITEMS
        wrong = []
        for action, key_time in rater.recorded:
            (record,) = action.records
            header, _, rest = rater.seen[key_time].partition("\n")
            expected = [f"pairs, {record.item_id} of {ITEMS}", f"query {record.item_id} ends"]
            expected.append(f"function_{record.item_id}()")
            shown = expected[0] in header and expected[1] in rest and expected[2] in rest
            if not shown or set(rater.written[key_time].values()) != {record.item_id}:
                wrong.append((record.item_id, rater.seen[key_time]))
        assert not wrong, f"{len(wrong)} of {ITEMS}: item {wrong[0][0]} was judged by a key at\n{wrong[0][1]}"
        # Each item once, in order: none was skipped and none judged twice.
        assert [row[0] for row in judgments(workspace)] == list(range(1, ITEMS + 1))


@pytest.mark.parametrize("start", ["home", "queue"])
async def test_a_key_typed_between_two_screens_is_refused_and_that_is_said(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    reader = SlowReader(monkeypatch, slow=1)
    app = app_of(workspace, start_with=start)
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot.app)
        assert app.screen.query("KeyLine").first().size.width > 0
        type_key(app, "enter")
        for key in "1af":
            type_key(app, key)
            await pilot.pause(0.01)
        await settled(pilot.app)
        assert isinstance(app.screen, ReviewScreen)
        assert said(app) == NOT_SEEN
        reader.released.set()
        await painted(pilot, 1)
        assert said(app) == NOT_SEEN
        assert judgments(workspace) == []


async def test_a_key_pressed_as_an_item_appears_was_meant_for_the_one_before(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("screens.judging.paint_guard.SEEN_SECONDS", 60.0)
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        await pilot.press("1")
        assert said(app) == NOT_SEEN
        monkeypatch.setattr("screens.judging.paint_guard.SEEN_SECONDS", 0.0)
        await pilot.press("1")
        assert [row[:2] for row in judgments(workspace)] == [(1, 1)]
    # A setting says how long, for lines on which something else answers for the terminal.
    monkeypatch.setattr("screens.settings.MOST_SEEN_SECONDS", 600.0)
    app = review_app(workspace, settings=ScreenSettings(seen_seconds=600.0), at=1)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        await pilot.press("1")
        assert said(app) == NOT_SEEN
        assert [row[:2] for row in judgments(workspace)] == [(1, 1)]


async def test_no_key_judges_a_label_that_came_while_another_screen_covered_the_item(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 4.0
    monkeypatch.setattr("screens.judging.paint_guard.ARRIVAL_SECONDS", seconds)
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        await pilot.press("J")
        assert not screen.is_active
        assert screen.guard.on_screen is not None
        assert screen.guard.on_screen.painted_at is None
        screen.guard.on_screen = replace(screen.guard.on_screen, settled_at=float("inf"))
        type_key(app, "q")
        await pilot.pause(0.005)
        type_key(app, "1")
        await settled(pilot.app)
        assert screen.is_active
        await painted(pilot, 1)
        assert said(app).startswith("Not recorded: ")
        await pilot.press("1")
        assert said(app) == "Not recorded: the agents' label has just arrived. Check it, then press again."
        assert judgments(workspace) == []
        await asyncio.sleep(seconds)
        await pilot.press("1")
        assert [row[:2] for row in judgments(workspace)] == [(1, 1)]


async def test_a_comment_belongs_to_the_item_that_it_was_begun_on(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot)
        await pilot.press("m", *"about one")
        screen.dispatcher.run("review.next")
        await painted(pilot, 2)
        assert not screen.query_one("#comment").display
        await pilot.press("m")
        assert screen.query_one("#comment", Input).value == ""
        await pilot.press(*"two", "enter")
        assert marks(workspace) == [(2, "comment", True, "two", "independent")]
        screen.dispatcher.run("review.previous")
        await painted(pilot, 1)
        await pilot.press("m")
        assert screen.query_one("#comment", Input).value == "about one"


async def test_what_is_found_while_a_comment_is_written_does_not_move_it_away(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, go = Gate(), Gate()

    def slow(*where: Any, **more: Any) -> int | None:
        looking.set()
        assert go.wait(120)
        return next_open(*where, **more)

    monkeypatch.setattr("screens.review.screen.next_open", slow)
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        await pilot.press("j")
        assert looking.is_set()
        await pilot.press("m", *"one")
        go.set()
        await settled(app)
        await pilot.press(*" and 0", "enter")
        assert marks(workspace) == [(1, "comment", True, "one and 0", "independent")]
        assert judgments(workspace) == []


async def test_an_undo_takes_back_what_was_done_before_its_key_and_nothing_later(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = Journal.append
    go = Gate()

    def slow(journal: Journal, lines: Any) -> None:
        assert go.wait(120)
        append(journal, lines)

    monkeypatch.setattr(Journal, "append", slow)
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        await pilot.press("1")
        await painted(pilot, 2)
        await pilot.press("u")
        await pilot.press("0")
        go.set()
        await settled(pilot.app)
        assert said(app).startswith("Undone")
        await settled(pilot.app)
    # By their ids the undo comes before what was judged after its key.
    assert [row[:3] for row in judgments(workspace)] == [
        (1, 1, "accept"),
        (1, None, "undo"),
        (2, 0, "accept"),
    ]


async def test_a_reason_is_not_given_to_a_label_that_was_taken_back(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot)
        await pilot.press("0")
        await painted(pilot, 2)
        assert "why?" in said(app)
        app.push_screen(ReviewScreen(app.context, app, [2, 1]))  # another review of the same session
        await settled(pilot.app)
        assert app.screen.is_current
        assert len(app.screen_stack) > 2
        await painted(pilot, 1)
        await pilot.press("u")
        assert bool(app.context.recorder.taken_back)
        await settled(pilot.app)
        await pilot.press("q")
        await painted(pilot, 2)
        await pilot.press("x")
        assert said(app) == "Not recorded: its label was undone."
        await settled(pilot.app)
    assert [row[1] for row in judgments(workspace)] == [0, None]
