"""What is read at a glance in a review: the last judgments, and the results of tests, each as a row of signs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy
import pytest
from review_bench import bench, line_of, painted, press, review_app

from screens.judging.recent import latest_signs
from screens.review.bars import ClaimLine, PlaceLine
from screens.review.outcomes import outcomes
from screens.settings import ScreenSettings
from store.queries.executions import OutcomeView
from store.workspace.duckdb import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    made = bench(tmp_path)
    yield made
    made.close()


async def test_the_last_judgments_are_in_the_first_line_the_latest_at_the_right(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=(120, 40)) as pilot:
        await painted(pilot, 1)
        assert "last" not in line_of(app, PlaceLine)
        await press(pilot, "a", "1", "w", "0", "s", "d", "w")
        assert "last 1 1▲ 0▲ » ?   rater: dana" in line_of(app, PlaceLine)
        # What is taken back goes, what is brought back comes again.
        await press(pilot, "u")
        assert "last 1 1▲ 0▲ »   " in line_of(app, PlaceLine)
        await press(pilot, "U")
        assert "last 1 1▲ 0▲ » ?   " in line_of(app, PlaceLine)
        # They are those of the session, also after the review was left.
        await press(pilot, "n")
        await pilot.press("q")
        app.open_review(numpy.array([1, 2]), 0)
        await painted(pilot, 1)
        assert "last 1 1▲ 0▲ » ?   " in line_of(app, PlaceLine)


async def test_blind_they_tell_only_of_own_labels(workspace: Workspace) -> None:
    app = review_app(workspace, settings=ScreenSettings(blind=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await painted(pilot, 1)
        await press(pilot, "0", "1")
        assert "last 0 1   rater: dana · blind: yes" in line_of(app, PlaceLine)
        assert "✓" not in line_of(app, ClaimLine)


def test_as_many_as_fit_are_shown() -> None:
    signs = {UUID(int=number): f"{number}▲" for number in range(1, 8)}
    assert latest_signs(signs, (), 40) == "1▲ 2▲ 3▲ 4▲ 5▲ 6▲ 7▲"
    assert latest_signs(signs, (UUID(int=6),), 10) == "… 4▲ 5▲ 7▲"
    assert latest_signs(signs, (), 3) == ""


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_results_of_tests_are_signs_under_the_claim(
    workspace: Workspace, size: tuple[int, int]
) -> None:
    app = review_app(workspace, at=3)
    async with app.run_test(size=size) as pilot:
        screen = await painted(pilot, 4)
        assert line_of(app, ClaimLine).split("\n")[1] == " ✓✗!  1 failed · 1 error"
        region = screen.query_one("#body").region
        await press(pilot, "p")
        claim, strip = line_of(app, ClaimLine).split("\n")
        # What the claim says is not said again.
        assert strip == " ~✓"
        assert "tested · 2 of 2 passed · 1 does not discriminate" in claim
        # Without results the row is empty, and nothing else moves.
        await press(pilot, "p")
        assert len(line_of(app, ClaimLine).split("\n")) == 1
        assert screen.query_one("#body").region == region


def test_of_many_tests_the_rest_is_counted() -> None:
    tests = [OutcomeView("t", "passed", "", 0.1, True, False, "", "")] * 45
    tests.append(replace(tests[0], discriminates=False))
    tests.append(replace(tests[0], outcome="failed", discriminates=None, flaky=True))
    words = "  46 of 47 passed · 1 failed · 1 does not discriminate · 1 flaky"
    assert outcomes(tests, 120).plain == "✓" * 40 + " +7" + words
    # Where there is less room, signs give way to the words.
    assert outcomes(tests, 78).plain == "✓" * 10 + " +37" + words
    assert outcomes((), 120).plain == ""
    above = " ◆ 0 no match · tested · 46 of 47 passed · 1 flaky       ○ your label: none "
    assert outcomes(tests, 120, above=above).plain.endswith(" +7  1 failed · 1 does not discriminate")
