"""What threads deliver to screens: the outcome of the last read, never of one that it replaced."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from threading import Event

import pytest
from settling import Gate, settled, until
from textual.app import App

from screens.threads import Soon, follow, in_thread, underway
from store.errors import WorkbenchError


@pytest.mark.asyncio
@pytest.mark.parametrize("fails", [False, True])
async def test_a_read_that_was_replaced_delivers_nothing(fails: bool) -> None:
    began, replaced, ended = Event(), Gate(), Event()
    shown: list[str] = []

    def slow() -> str:
        began.set()
        assert replaced.wait(30)
        ended.set()
        if fails:
            raise WorkbenchError("Too late", "It was replaced.")
        return "older"

    def fast() -> str:
        return "newer"

    app: App[None] = App()
    async with app.run_test() as pilot:
        in_thread(app, slow, shown.append, lambda error: shown.append(error.title), group="read")
        await until(pilot, began.is_set)
        in_thread(app, fast, shown.append, group="read")
        await until(pilot, lambda: bool(shown))
        replaced.set()
        await until(pilot, ended.is_set)
        in_thread(app, lambda: "last", shown.append, group="other")
        await until(pilot, lambda: "last" in shown)
        assert shown == ["newer", "last"]


@pytest.mark.asyncio
async def test_writes_beside_each_other_all_deliver() -> None:
    both = Gate()
    shown: list[str] = []

    def first() -> str:
        assert both.wait(30)
        return "first"

    app: App[None] = App()
    async with app.run_test() as pilot:
        in_thread(app, first, shown.append, group="write", exclusive=False)
        in_thread(app, both.set, lambda _: shown.append("second"), group="write", exclusive=False)
        await until(pilot, lambda: sorted(shown) == ["first", "second"])


@pytest.mark.asyncio
async def test_what_is_begun_is_under_way_until_it_is_delivered() -> None:
    goes_on, written = Gate(), Future[str]()
    shown: list[str] = []

    def slow() -> str:
        assert goes_on.wait(60)
        return "read"

    app: App[None] = App()
    async with app.run_test():
        in_thread(app, slow, shown.append, group="read")
        follow(app, written, shown.append, lambda error: shown.append(str(error)), group="write")
        rest = Soon(app, 0.1, group="rest")
        for word in ("first", "second"):
            rest.call(partial(shown.append, word), again=True)
        rest.call(partial(shown.append, "third"))
        assert {*underway(app)} == {"read", "write", "rest soon"}
        goes_on.set()
        written.set_exception(OSError("the disk is full"))
        await settled(app)
        assert sorted(shown) == ["read", "second", "the disk is full"]
        assert underway(app) == []
        rest.call(partial(shown.append, "stopped"))
        rest.stop()
        await settled(app)
        assert "stopped" not in shown


@pytest.mark.asyncio
async def test_a_read_does_not_take_away_what_is_due_after_a_rest() -> None:
    """As Home reads at once, on its own account, while it is to read again soon."""
    shown: list[str] = []
    app: App[None] = App()
    async with app.run_test():
        soon = Soon(app, 0.1, group="read")
        for word in ("first", "second"):
            soon.call(partial(shown.append, word))
            in_thread(app, lambda: "read", lambda _: None, group="read")
            await settled(app)
        assert shown == ["first", "second"]
