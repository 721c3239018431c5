"""A coordinator's way in the app: a study planned, frozen, followed, looked at, closed."""

from __future__ import annotations

from pathlib import Path

import pytest
from apps import app_of
from review_bench import bench, screen_text
from settling import settled
from sqlalchemy import select
from study_app import assigned, give, open_study
from textual.widgets import Input, Select
from textual.widgets._collapsible import CollapsibleTitle

from screens.studies.confirm import ConfirmScreen
from screens.studies.dashboard import DashboardScreen
from screens.studies.list import StudiesScreen
from screens.studies.new import NewStudyScreen
from store.queries.studies import StudyDetails, find_study
from store.tables.columns import table_of
from store.tables.imported import Item
from store.workspace.duckdb import Workspace


@pytest.mark.asyncio
async def test_a_study_from_the_form_to_its_end(tmp_path: Path) -> None:
    consent = tmp_path / "consent.txt"
    consent.write_text("You may withdraw.\n", encoding="utf-8")
    listed = tmp_path / "items.txt"
    with bench(tmp_path) as workspace:
        with workspace.reading() as connection:
            ids = connection.execute(select(table_of(Item).c.external_id)).scalars().all()
        listed.write_text("\n".join(ids[:2]), encoding="utf-8")
        app = app_of(workspace)
        async with app.run_test(size=(100, 32)) as pilot:
            await pilot.press("s")
            assert "No study yet" in screen_text(app)
            await pilot.press("n")
            assert "needs raters" in screen_text(app)
            form = app.screen
            assert isinstance(form, NewStudyScreen)
            await pilot.press(*"rq2", "tab", *"ana ben")
            assert "has blanks and no comma" in screen_text(app)
            form.query_one("#raters", Input).value = "ana,ben"
            await settled(pilot.app)
            assert "8 assignments for each rater in 1 sitting" in screen_text(app)
            form.query_one("#items", Select).value = "file"
            await settled(pilot.app)
            assert "Name the file" in screen_text(app)
            form.query_one("#items_file", Input).value = str(listed)
            await settled(pilot.app)
            assert "2 items: 2 items by name" in screen_text(app)
            # The options that are folded away are checked like the others.
            assert "Questions" not in screen_text(app)
            form.query_one(CollapsibleTitle).focus()
            await pilot.press("enter", "tab", "tab", "tab", *"what")
            assert "No question of pairs is called 'what'" in screen_text(app)
            more = {"questions": "match", "block": "2", "idle_minutes": "2,5", "fast_seconds": "x"}
            for name, value in more.items():
                form.query_one(f"#{name}", Input).value = value
            await settled(pilot.app)
            assert "Fast seconds: 'x' is no number" in screen_text(app)
            form.query_one("#fast_seconds", Input).value = "1"
            form.query_one("#items", Select).value = "sample"
            await settled(pilot.app)
            assert "needs its size" in screen_text(app)
            for name, value in {"sample": "6", "repeats": "9", "half_width": "0.9", "looks": "4,12"}.items():
                form.query_one(f"#{name}", Input).value = value
            form.query_one("#consent", Input).value = str(consent)
            await pilot.press("ctrl+s")
            assert "some have 6" in screen_text(app)
            with pytest.raises(Exception, match="no study"):
                _study(workspace)
            form.query_one("#repeats", Input).value = "2"
            await settled(pilot.app)
            assert "8 assignments for each rater in 2 sittings" in screen_text(app)
            await pilot.press("ctrl+s")
            assert isinstance(app.screen, StudiesScreen)
            assert "○ draft" in screen_text(app)
            protocol = _study(workspace).protocol
            assert (protocol.repeats, protocol.looks, protocol.half_width) == (2, (4, 12), 0.9)
            assert (protocol.questions, protocol.block_size) == (("pair.match",), 2)
            assert (protocol.idle_minutes, protocol.fast_seconds) == (2.5, 1)
            assert protocol.consent == "You may withdraw.\n"
            assert protocol.coordinators == ("dana",)
            assert protocol.sample.startswith("random sample of 6 of 8")

            await pilot.press("F")
            assert isinstance(app.screen, ConfirmScreen)
            assert "raters: ana, ben; 2 for each item" in screen_text(app)
            await pilot.press("escape")
            assert _study(workspace).state == "draft"
            await pilot.press("F", "enter")
            assert "▶ open" in screen_text(app)
            assert _study(workspace).state == "open"

            # The dashboard: no look before one is due, but by a key that says why looks are logged.
            await pilot.press("enter")
            assert "no consent yet" in screen_text(app)
            assert isinstance(app.screen, DashboardScreen)
            assert "alpha" not in screen_text(app)
            await pilot.press("l")
            assert "21 %" in screen_text(app)
            await pilot.press("escape")
            assert app.screen.found is not None
            assert not app.screen.found.looks
            for rater in ("ana", "ben"):
                for one in assigned(workspace, rater)[:4]:
                    give(workspace, rater, one, float(one.item_id % 2))
            await pilot.press("r")
            # The look at four labels is due, and is taken at once.
            assert "alpha" in screen_text(app)
            assert "· planned" in screen_text(app)
            await pilot.press("l", "enter")
            assert "· unplanned" in screen_text(app)
            assert [one.planned for one in app.screen.found.looks] == [True, False]  # type: ignore[union-attr]

            await pilot.press("x")
            assert "8 assignments of it are not judged" in screen_text(app)
            await pilot.press("enter")
            assert "closed since" in screen_text(app)
            assert _study(workspace).state == "closed"


@pytest.mark.asyncio
async def test_a_rater_of_an_open_study_is_refused(tmp_path: Path) -> None:
    with bench(tmp_path) as workspace:
        open_study(workspace, raters=("ana", "dana"))
        # A session that began before the freeze does not know of the study.
        app = app_of(workspace)
        async with app.run_test(size=(100, 32)) as pilot:
            await pilot.press("s")
            assert "Sealed session" in screen_text(app)
            assert "rq2" not in screen_text(app)
            await pilot.press("n")
            assert isinstance(app.screen, StudiesScreen)
            app.open_study("rq2")
            await settled(pilot.app)
            assert "Sealed session" in screen_text(app)
            assert "ana" not in screen_text(app).replace("dana", "")


def _study(workspace: Workspace) -> StudyDetails:
    with workspace.reading() as connection:
        return find_study(connection, "rq2")


@pytest.mark.asyncio
async def test_a_draft_is_replaced_under_its_name_and_deleted_by_a_key(tmp_path: Path) -> None:
    with bench(tmp_path) as workspace:
        app = app_of(workspace)
        async with app.run_test(size=(100, 32)) as pilot:
            await pilot.press("s")
            for title in ("Draft stored", "Draft replaced"):
                await settled(pilot.app)
                assert isinstance(app.screen, StudiesScreen)
                await pilot.press("n")
                assert "needs raters" in screen_text(app)
                await pilot.press(*"rq2", "tab", *"ana,ben", "ctrl+s")
                assert isinstance(app.screen, StudiesScreen)
                assert [one.title for one in app._notifications][-1] == title
            await settled(pilot.app)
            assert "○ draft" in screen_text(app)
            await pilot.press("enter")
            assert "8 assignments for each rater in 1 sitting" in screen_text(app)
            await pilot.press("escape", "D", "escape")
            assert _study(workspace).state == "draft"
            await pilot.press("D", "enter")
            assert "No study yet" in screen_text(app)
