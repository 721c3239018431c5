"""How the app starts: what is shown before anything is imported, and what is done behind it."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from apps import app_of, context_of
from review_bench import line_of
from settling import Gate, settled
from small_workspace import GOOD, pairs_workspace
from textual.widgets import Static

from screens.app import WorkbenchApp
from screens.home.facts import HomeFacts, read_facts
from screens.home.screen import HomeScreen
from screens.judging.order import ReviewOrder
from screens.queue.loader import LoadedQueue, QueueLoader
from screens.queue.query import QueueQuery
from screens.queue.screen import QueueScreen
from screens.review.bars import PlaceLine
from screens.review.screen import ReviewScreen
from store.errors import WorkspaceError
from store.first_look import QUEUE_SESSION, FirstLook, look
from store.queries.rows import QueueFilter
from store.record.raters import ensure_rater
from store.record.session import save_session
from store.workspace.duckdb import Workspace

COUNT = 150


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """150 pairs, more than a start reads, and a rater."""
    pairs = ((f"p{n}", f"query number {n}", f"{GOOD}# {n}\n") for n in range(1, COUNT + 1))
    with pairs_workspace(tmp_path_factory.mktemp("start"), pairs) as made:
        context_of(made)
        return made.path


@pytest.fixture
def workspace(built: Path, tmp_path: Path) -> Iterator[Workspace]:
    """A copy of the workspace for one test."""
    path = tmp_path / "pairs.duckdb"
    shutil.copy(built, path)
    with Workspace.open(path) as opened:
        yield opened


def starting(workspace: Workspace, **changes: Any) -> WorkbenchApp:
    """The app as the program starts it with --start queue."""
    first = changes.pop("first_look", None) or look(workspace, "dana", blind=False)
    return app_of(workspace, start_with="queue", first_look=first, **changes)


def first_line(app: WorkbenchApp) -> str:
    """The first line of the list as it is painted."""
    return cast(QueueScreen, app.screen).items.render_line(1).text


def complete(app: WorkbenchApp) -> bool:
    """Whether the whole order is listed."""
    is_queue = isinstance(app.screen, QueueScreen)
    return is_queue and "counting" not in str(app.screen.query_one("#sentence", Static).content)


async def test_the_first_lines_are_there_before_anything_else_is_read(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = starting(workspace)

    def reading() -> None:
        raise AssertionError("nothing was to be read")

    monkeypatch.setattr(workspace, "reading", reading)
    monkeypatch.setattr(QueueScreen, "_read_order", lambda *_, **__: None)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot.app)
        assert isinstance(app.screen, QueueScreen)
        assert "query number 1 " in first_line(app)
        await pilot.press("down")
        assert cast(QueueScreen, app.screen).items.cursor == 1
        assert "counting" in str(app.screen.query_one("#sentence", Static).content)


async def test_what_a_start_puts_off_follows_the_first_lines(workspace: Workspace) -> None:
    done: list[str] = []
    app = starting(workspace, prepare=lambda: done.append("prepared"))
    async with app.run_test(size=(100, 30)) as pilot:
        app.context.recorder.saved.subscribe(app, lambda _: done.append("saved"), immediate=True)
        # The rest of the order follows, and the cursor stays.
        await pilot.press("down", "down")
        assert complete(app)
        queue = cast(QueueScreen, app.screen)
        assert (queue.items.count, queue.total, queue.items.cursor) == (COUNT, COUNT, 2)

        # Home is behind the queue that a start shows.
        await pilot.press("q")
        assert isinstance(app.screen, HomeScreen)
        assert app.screen.facts is not None
        await pilot.press("tab")
        assert app.screen is queue
        assert queue.items.cursor == 2
        await pilot.press("q")
        assert isinstance(app.screen, HomeScreen)
        assert len(app.screen_stack) == 2

        # What had to be prepared was, before anything is recorded.
        assert done == ["prepared"]
        await pilot.press("tab", "enter")
        assert isinstance(app.screen, ReviewScreen)
        assert app.screen.item is not None
        await pilot.press("1")
        assert done[-1] == "saved"


async def test_a_queue_that_was_left_is_taken_up(workspace: Workspace) -> None:
    who = ensure_rater(workspace, "dana")
    save_session(workspace, who.id, QUEUE_SESSION, {"filter": {"text": "number 7"}, "item": 77}).result()
    app = starting(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot.app)
        assert complete(app)
        screen = cast(QueueScreen, app.screen)
        assert screen.queue_query.wanted == QueueFilter(text="number 7")
        assert screen.items.item_id == 77


async def test_without_a_first_look_the_queue_reads_for_itself(workspace: Workspace) -> None:
    app = starting(workspace, first_look=FirstLook())
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot.app)
        assert complete(app)
        assert "query number 1 " in first_line(app)


async def test_what_cannot_be_prepared_is_told(workspace: Workspace) -> None:
    def prepare() -> None:
        raise WorkspaceError("Not written", "the disk is full")

    app = starting(workspace, prepare=prepare)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot.app)
        assert any("the disk is full" in note.message for note in app._notifications)


async def test_a_key_that_comes_before_the_numbers_does_not_wait_for_them(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = Gate()

    def read_slowly(*arguments: Any, **options: Any) -> HomeFacts:
        assert go.wait(60)
        return read_facts(*arguments, **options)

    monkeypatch.setattr("screens.home.screen.read_facts", read_slowly)
    app = app_of(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("enter")
        assert isinstance(app.screen, ReviewScreen)
        assert app.screen.item is not None
        assert not go.is_set()
        go.set()


async def test_an_item_that_is_opened_early_is_reviewed_in_the_whole_queue(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = Gate()
    read_all = QueueLoader.all

    def read_slowly(orders: QueueLoader, asked: QueueQuery) -> LoadedQueue:
        assert go.wait(60)
        return read_all(orders, asked)

    monkeypatch.setattr(QueueLoader, "all", read_slowly)
    who = ensure_rater(workspace, "dana")
    save_session(workspace, who.id, QUEUE_SESSION, {"item": 99}).result()
    app = starting(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot.app)
        assert isinstance(app.screen, QueueScreen)
        assert app.screen.items.count > 1
        await pilot.press("down", "down", "enter")
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        assert screen.item is not None
        assert screen.item.item_id == 3
        assert "pairs, 3 of …" in line_of(app, PlaceLine)
        await pilot.press("s")
        assert screen.item.item_id == 4
        await pilot.press("j")
        assert "being read" in screen.shared.message
        await pilot.press("n")
        go.set()
        await settled(pilot.app)
        order = screen.order
        # The item that was put off comes again at its end.
        assert (order.item_id, order.total, order.ids[-1]) == (5, COUNT, 3)
        assert len(order.ids) == COUNT + 1
        assert f"pairs, 5 of {COUNT}" in line_of(app, PlaceLine)
        await pilot.press("p")
        assert screen.item.item_id == 4
        assert f"pairs, 4 of {COUNT}" in line_of(app, PlaceLine)


async def test_a_review_goes_on_with_what_is_listed_where_the_rest_cannot_be_read(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = Gate()

    def fails(orders: QueueLoader, asked: QueueQuery) -> LoadedQueue:
        assert go.wait(60)
        raise WorkspaceError("Not read", "The disk is gone.", "")

    monkeypatch.setattr(QueueLoader, "all", fails)
    app = starting(workspace)
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot.app)
        listed = cast(QueueScreen, app.screen).items.count
        await pilot.press("end", "enter")
        screen = app.screen
        assert isinstance(screen, ReviewScreen)
        await pilot.press("n")
        assert "being read" in screen.shared.message
        go.set()
        await settled(pilot.app)
        assert "The disk is gone." in screen.shared.message
        assert f"pairs, {listed} of {listed}" in line_of(app, PlaceLine)


def test_the_whole_of_an_order_keeps_the_place_in_what_was_known_of_it() -> None:
    order = ReviewOrder([1, 2, 5], whole=False)
    first = order.place
    assert order.move(1)
    place = order.place
    assert first is not None
    assert place is not None
    assert (place.number, place.total) == (2, None)
    # What comes between in the whole order follows, and is not passed over.
    order.complete([1, 7, 2, 5, 9], [first, place])
    assert (order.ids, order.index, order.total, order.whole) == ([1, 2, 7, 5, 9], 1, 5, True)
    assert [(one.number, one.total) for one in (first, place)] == [(1, 5), (2, 5)]


def test_what_was_gone_to_stays_in_an_order_that_lists_it_no_more() -> None:
    order = ReviewOrder([1, 2, 3, 4], whole=False)
    places = [order.place]
    order.move(2)
    order.move(-1)
    places.append(order.place)
    # Of a queue of what is not judged, the first two were judged meanwhile.
    order.complete([3, 4, 5], [place for place in places if place is not None])
    assert (order.ids, order.index, order.total) == ([1, 2, 3, 4, 5], 1, 5)
    order.move(1)
    order.go_to(9)
    assert (order.item_id, order.ids) == (9, [1, 2, 9, 3, 4, 5])


def test_the_end_of_what_is_known_of_an_order_is_not_its_end() -> None:
    order = ReviewOrder([1, 2], whole=False)
    order.put_last(1)
    assert order.move(2)
    assert (order.item_id, order.move(1), order.at_end) == (1, False, False)
    # What has come again stays where it is, behind all that was not known.
    order.complete([1, 2, 3], [])
    assert (order.ids, order.index, order.total) == ([1, 2, 3, 1], 3, 3)
    assert order.move(1)
    assert order.at_end
