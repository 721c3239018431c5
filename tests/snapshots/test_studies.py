"""Pictures of studies: a rater's home, consent and end cards; the studies, a dashboard and the form of a new one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from apps import app_of
from pictures import Sizes, states
from review_bench import bench, painted, press, screen_text
from settling import settled, until
from small_workspace import BEGAN
from study_app import CONSENT, assigned, give, open_study, rater_app
from textual.pilot import Pilot
from textual.widgets import Input, Select

from screens.home.study import StudyHomeScreen
from screens.judging.judgment_builder import SessionProgress
from screens.review.screen import ReviewScreen
from screens.studies.list import StudiesScreen
from store.record.protocol import StudyProtocol
from store.record.raters import ensure_rater
from store.studies import dashboard, dashboard_text, studies
from store.studies.choosing import ItemChoice
from store.studies.dashboard import look
from store.studies.plan import StudyPlan, save_plan
from store.studies.studies import change_member, close_study, withdraw
from store.workspace.duckdb import Workspace

Snap = Callable[..., bool]
Steps = Callable[[Pilot[Any]], Awaitable[None]]


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies are looked at at one moment, and at one pace."""
    monkeypatch.setattr(SessionProgress, "pace", property(lambda _: 48.0))
    for module in (dashboard, dashboard_text, studies):
        monkeypatch.setattr(module, "now", lambda: BEGAN)


def shows(text: str, *keys: str) -> Steps:
    """Press keys, and wait until a text is on the screen."""

    async def steps(pilot: Pilot[Any]) -> None:
        for key in keys:
            await pilot.press(key)
            screen = pilot.app.screen
            if isinstance(screen, StudiesScreen):
                await until(pilot, lambda reading=screen.reading: reading.found is not None)
            elif isinstance(screen, ReviewScreen):
                await painted(pilot)
        await settled(pilot.app)
        assert text in screen_text(pilot.app)
        for screen in pilot.app.screen_stack:
            if isinstance(screen, StudyHomeScreen):
                await settled(pilot.app)
                assert screen.found is not None
        for box in pilot.app.screen.query(Input):
            box.cursor_blink = False
        await settled(pilot.app)

    return steps


async def first_item(pilot: Pilot[Any]) -> None:
    await pilot.press("enter")
    await press(pilot, "1", "g")


# -- a rater ------------------------------------------------------------------------------------------

RATER: dict[str, tuple[str, Steps]] = {
    "consent": ("consent", shows("I agree")),
    "home": ("begun", shows("Go on with sitting 1")),
    "guideline": ("begun", first_item),
    "sitting-done": ("last", shows("continue with sitting 2", "enter", "1")),
    "before-reveal": ("reveal", shows("with everything shown")),
    "finished-card": ("end", shows("Study finished", "enter", "1")),
    "finished": ("finished", shows("Study finished")),
}


@states(RATER, in_both=("consent", "home", "sitting-done", "finished"))
def test_rater(snap_compare: Snap, tmp_path: Path, state: str, sizes: Sizes) -> None:
    place, steps = RATER[state]
    with bench(tmp_path) as workspace:
        study = open_study(workspace, consent=CONSENT, repeats=2, reveal="revealed tests")
        ana = ensure_rater(workspace, "ana")
        if place != "consent":
            version = study.protocol.consent_version
            change_member(workspace, study.id, ana.id, consent_version=version, consented_at=BEGAN)
        own = assigned(workspace)
        first = sum(one.sitting == 1 for one in own)
        second = first + sum(one.sitting == 2 for one in own)
        done = {"begun": 3, "last": first - 1, "reveal": second, "end": len(own) - 1, "finished": len(own)}
        for one in own[: done.get(place, 0)]:
            give(workspace, "ana", one, 1.0, at=BEGAN)
        app = rater_app(workspace)
        assert snap_compare(app, sizes=sizes, run_before=steps)


# -- a coordinator ------------------------------------------------------------------------------------


def working(workspace: Workspace) -> None:
    """Three studies: one that runs, a draft, and one that is closed."""
    study = open_study(
        workspace,
        raters=("ana", "ben", "chi"),
        conditions=("blind", "blind tests"),
        consent=CONSENT,
        half_width=0.3,
        looks=(8, 30),
    )
    dana = ensure_rater(workspace, "dana")
    for rater, number in (("ana", 8), ("ben", 5)):
        member = study.member(rater).rater
        version = study.protocol.consent_version
        change_member(workspace, study.id, member.id, consent_version=version, consented_at=BEGAN)
        for place, one in enumerate(assigned(workspace, rater)[:number]):
            quick = 1_000 if place == 1 else 90_000
            give(workspace, rater, one, float(one.item_id % 3 > 0), milliseconds=quick, at=BEGAN)
    withdraw(workspace, "rq2", "chi")
    look(workspace, "rq2", dana)
    look(workspace, "rq2", dana)
    plan = StudyPlan("next", ("ana", "eli"), ItemChoice("pair"), StudyProtocol("pair"))
    save_plan(workspace, plan)
    open_study(workspace, "pilot", ("eli", "fay"))
    for rater in ("eli", "fay"):
        for one in assigned(workspace, rater):
            give(workspace, rater, one, float(one.item_id % 3 > 0), at=BEGAN)
    look(workspace, "pilot", dana)
    close_study(workspace, "pilot")


async def filled_in(pilot: Pilot[Any]) -> None:
    await pilot.press("s", "n")
    assert "needs raters" in screen_text(pilot.app)
    form = pilot.app.screen
    form.query_one("#items", Select).value = "sample"
    for name, value in {"name": "rq2", "raters": "ana,ben,chi", "sample": "6", "repeats": "2"}.items():
        form.query_one(f"#{name}", Input).value = value
    for box in form.query(Input):
        box.cursor_blink = False
    await settled(pilot.app)
    assert "assignments for each rater" in screen_text(pilot.app)
    await settled(pilot.app)


COORDINATOR: dict[str, tuple[bool, Steps]] = {
    "empty": (False, shows("No study yet", "s")),
    "studies": (True, shows("✓ closed", "s")),
    "form": (False, filled_in),
    "freeze": (True, shows("This cannot be changed", "s", "down", "F")),
    "dashboard": (True, shows("Last look", "s", "enter")),
    "draft": (True, shows("F freezes it", "s", "down", "enter")),
    "closed": (True, shows("closed since", "s", "up", "enter")),
}


@states(COORDINATOR, in_both=("studies", "form", "dashboard"))
def test_coordinator(snap_compare: Snap, tmp_path: Path, state: str, sizes: Sizes) -> None:
    has_studies, steps = COORDINATOR[state]
    with bench(tmp_path) as workspace:
        if has_studies:
            working(workspace)
        assert snap_compare(app_of(workspace), sizes=sizes, run_before=steps)
