"""The adjudication screen in tests: when it can be ruled on, and what it shows."""

from __future__ import annotations

import time

from settling import until
from textual.pilot import Pilot
from textual.widgets import Static

from screens.adjudicate.screen import LOADING, AdjudicateScreen
from screens.widgets.text.view import TextPane


def screen_of(pilot: Pilot[None]) -> AdjudicateScreen:
    """The adjudication, which must be what is shown."""
    assert isinstance(pilot.app.screen, AdjudicateScreen)
    return pilot.app.screen


async def ready(pilot: Pilot[None]) -> AdjudicateScreen:
    """Wait until a dispute can be ruled on, or a card stands in its place."""

    def is_ready() -> bool:
        screen = pilot.app.screen
        if not isinstance(screen, AdjudicateScreen) or screen.adjudication is None:
            return False
        now, guard = time.monotonic(), screen.guard
        is_card = guard.is_bare and guard.wanted is None and LOADING not in shown(screen, "card")
        seen = is_card or not (guard.missing_at(now) or guard.is_unsettled_at(now))
        return seen and not screen.context.recorder.unsaved

    await until(pilot, is_ready)
    return screen_of(pilot)


async def pressed(pilot: Pilot[None], *keys: str) -> str:
    """Press keys, each when what it is about can be seen; the message then."""
    for key in keys:
        await ready(pilot)
        await pilot.press(key)
    return (await ready(pilot)).shared.message


def shown(screen: AdjudicateScreen, name: str) -> str:
    """What a line or pane of the screen shows."""
    found = screen.query_one(f"#{name}")
    if isinstance(found, Static):
        return str(found.content)
    assert isinstance(found, TextPane)
    return found.text
