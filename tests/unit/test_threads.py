"""What threads deliver to screens: the outcome of the last read, never of one that it replaced."""

from __future__ import annotations

from threading import Event

import pytest
from app_at_work import until
from settling import Gate
from textual.app import App

from screens.threads import in_thread
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
