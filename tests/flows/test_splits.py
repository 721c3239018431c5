"""Splits in the app: made by the form, looked at with the items behind their figures, deleted."""

from __future__ import annotations

from pathlib import Path

import pytest
from apps import app_of
from judging import Desk
from review_bench import painted, screen_text
from settling import settled
from split_bench import labelled_pairs, torn_split
from textual.pilot import Pilot
from textual.widgets import Input

from screens.splits.new import NewSplitScreen
from screens.splits.screen import SplitsScreen
from store.errors import UnknownName
from store.splits.splits import SplitDetails, find_split, items_named, list_splits, split_items
from store.workspace.duckdb import Workspace


@pytest.mark.asyncio
async def test_a_split_from_the_form_to_its_items_and_its_end(tmp_path: Path) -> None:
    with labelled_pairs(tmp_path) as workspace:
        torn_split(workspace, "old")
        app = app_of(workspace)
        async with app.run_test(size=(100, 40)) as pilot:
            await pilot.press("p")
            assert "old" in screen_text(app)
            await pilot.press("n")
            assert "A split needs a name" in screen_text(app)
            form = app.screen
            assert isinstance(form, NewSplitScreen)
            form.query_one("#against", Input).value = "zoe"
            await pilot.press(*"v1")
            assert "called 'zoe' has a current label" in screen_text(app)
            fields = {"against": "majority", "panel": "ana,ben,chi", "ratios": "6:2:2", "seed": "3"}
            for name, value in fields.items():
                form.query_one(f"#{name}", Input).value = value
            await settled(pilot.app)
            assert "24 true labels of pair.match, from ana, ben, chi" in screen_text(app)
            form.query_one("#name", Input).value = "old"
            await settled(pilot.app)
            assert "There is a split old already" in screen_text(app)
            form.query_one("#name", Input).value = "v1"
            form.query_one("#ratios", Input).value = "8"
            await settled(pilot.app)
            assert "no ratios of two to 20 different parts" in screen_text(app)
            form.query_one("#ratios", Input).value = "6:2:2"
            await pilot.press("ctrl+s")
            assert isinstance(app.screen, SplitsScreen)
            # The new one is gone to.
            assert "▸ v1" in screen_text(app)
            made = found(workspace, "v1")
            assert (made.plan.panel, made.plan.disjoint, made.plan.seed) == (
                ("ana", "ben", "chi"),
                "query",
                3,
            )
            assert "! leak            near query" in screen_text(app)
            assert "wanted, achieved: shares of the queries" in screen_text(app)
            leak = made.report.leaks[0]
            assert f"{' and '.join(leak.parts)}  {leak.sort} {leak.similarity:.2f}" in screen_text(app)

            # The items behind a part, and behind a leak.
            with workspace.reading() as connection:
                dev = split_items(connection, made, "dev")
                leaked = items_named(connection, made, made.report.leaks[0].items)
            assert len(leaked) == 2
            await pilot.press("tab", "down")
            assert "▸ dev" in screen_text(app)
            assert await reviewed(pilot) == dev
            await pilot.press("down", "down")
            assert "▸ ! leak" in screen_text(app)
            assert await reviewed(pilot) == leaked

            # What changed since: nothing, then a label.
            await pilot.press("w")
            assert "are the same" in screen_text(app)
            for rater in ("ana", "ben"):
                Desk(workspace, rater).judge(1, 0.0)
            await pilot.press("w")
            assert "Changed since" in screen_text(app)
            assert "▸ 1 label changed: q0/1 1 → 0" in screen_text(app)
            assert await reviewed(pilot) == [1]

            await pilot.press("D", "escape")
            assert found(workspace, "v1")
            await pilot.press("D", "enter")
            assert "▸ old" in screen_text(app) or "▹ old" in screen_text(app)
            with pytest.raises(UnknownName):
                found(workspace, "v1")


@pytest.mark.asyncio
async def test_a_blind_review_shows_no_split(tmp_path: Path) -> None:
    with labelled_pairs(tmp_path) as workspace:
        torn_split(workspace)
        app = app_of(workspace, blind=True)
        async with app.run_test(size=(100, 32)) as pilot:
            await pilot.press("p")
            assert "Blind review" in screen_text(app)
            assert "majority" not in screen_text(app)
            await pilot.press("n", "tab", "enter", "w", "D")
            assert isinstance(app.screen, SplitsScreen)
            app.open_new_split()
            await settled(pilot.app)
            assert isinstance(app.screen, NewSplitScreen)
            await pilot.press(*"v2", "ctrl+s")
            assert "which a blind review hides" in screen_text(app)
            with workspace.reading() as connection:
                assert [one.name for one in list_splits(connection)] == ["v1"]


async def reviewed(pilot: Pilot[None]) -> list[int]:
    """Open the items behind the figure under the cursor, and go back."""
    await pilot.press("enter")
    review = await painted(pilot)
    await pilot.press("q")
    assert isinstance(pilot.app.screen, SplitsScreen)
    return list(review.order.ids)


def found(workspace: Workspace, name: str) -> SplitDetails:
    with workspace.reading() as connection:
        return find_split(connection, name)
