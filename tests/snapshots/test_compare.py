"""Pictures of comparisons: side by side, one above the other, their differences, changed texts, the form of new ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from apps import app_of
from pictures import NARROW, WIDE, Sizes, at
from real_comparisons import real_comparisons
from review_bench import press, review_app, screen_text
from settling import settled
from study_app import rater_app
from textual.pilot import Pilot
from textual.widgets import Input

from screens.judging.judgment_builder import SessionProgress
from store.kinds.comparison_texts import CHANGES
from store.queries.studies import ChosenItem
from store.record.protocol import StudyProtocol
from store.studies.studies import freeze_study, new_study
from store.workspace.duckdb import Workspace

Snap = Callable[..., bool]
SIZES = (NARROW, (100, 30), WIDE, (200, 50))


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setattr(SessionProgress, "pace", property(lambda _: 48.0))
    with real_comparisons(tmp_path) as made:
        yield made


def pressed(*keys: str) -> Callable[[Pilot[Any]], Any]:
    async def steps(pilot: Pilot[Any]) -> None:
        await press(pilot, *keys)

    return steps


@at(*SIZES)
def test_codes(snap_compare: Snap, workspace: Workspace, sizes: Sizes) -> None:
    assert snap_compare(review_app(workspace, blind=True), sizes=sizes, run_before=pressed())


@at(*SIZES)
def test_answers(snap_compare: Snap, workspace: Workspace, sizes: Sizes) -> None:
    assert snap_compare(review_app(workspace, blind=True), sizes=sizes, run_before=pressed("n"))


@at(NARROW, WIDE)
def test_differences(snap_compare: Snap, workspace: Workspace, sizes: Sizes) -> None:
    app = review_app(workspace, blind=True)
    assert snap_compare(app, sizes=sizes, run_before=pressed("equals_sign"))


@at(WIDE)
def test_both_bad(snap_compare: Snap, workspace: Workspace, sizes: Sizes) -> None:
    app = review_app(workspace, blind=True)
    assert snap_compare(app, sizes=sizes, run_before=pressed("0", "p"))


@at(*SIZES)
def test_changed(snap_compare: Snap, workspace: Workspace, sizes: Sizes) -> None:
    protocol = StudyProtocol("comparison", seed=3, scale="forced", texts=tuple(CHANGES))
    new_study(workspace, "rq1", protocol, [ChosenItem(1), ChosenItem(2)], ("ana",))
    freeze_study(workspace, "rq1")
    app = rater_app(workspace)

    async def steps(pilot: Pilot[Any]) -> None:
        await settled(pilot.app)
        app.resume()
        await press(pilot)

    assert snap_compare(app, sizes=sizes, run_before=steps)


@at(NARROW, WIDE)
def test_form(snap_compare: Snap, workspace: Workspace, sizes: Sizes) -> None:
    app = app_of(workspace)

    async def steps(pilot: Pilot[Any]) -> None:
        await pilot.press("s")
        assert "No study yet" in screen_text(app)
        await pilot.press("c")
        assert "Name two sets" in screen_text(app)
        for box in app.screen.query(Input):
            box.cursor_blink = False
        await settled(pilot.app)

    assert snap_compare(app, sizes=sizes, run_before=steps)
