"""A rater's way through a study in the app: consent, sittings, undo, the end."""

from __future__ import annotations

from pathlib import Path

from judging import judged_workspace
from review_bench import bench, judgments, line_of, painted, press, said, screen_text, text_of
from settling import settled, until
from sqlalchemy import select
from study_app import CONSENT, assigned, open_study, rater_app

from screens.home.consent import ConsentScreen
from screens.home.study import StudyHomeScreen
from screens.queue.screen import QueueScreen
from screens.review.bars import PlaceLine
from screens.review.end_card import EndCard
from screens.review.screen import ReviewScreen
from store.queries.studies import find_study
from store.studies.session import study_session
from store.studies.studies import store_guideline, study_guideline
from store.tables.columns import table_of
from store.tables.record import JudgmentRow


async def test_the_whole_way_of_a_rater(tmp_path: Path) -> None:
    with bench(tmp_path) as workspace:
        version = store_guideline(workspace, "pair", "Judge what the code does.\n")
        study = open_study(workspace, consent=CONSENT, guideline=version, repeats=2, reveal="revealed tests")
        own = assigned(workspace)
        sizes = [sum(one.sitting == number for one in own) for number in (1, 2, 3)]
        app = rater_app(workspace)
        async with app.run_test(size=(100, 30)) as pilot:
            # Nothing is judged, and no review opens, before the rater agreed.
            await until(pilot, lambda: isinstance(app.screen, ConsentScreen))
            assert "withdraw" in screen_text(app)
            await pilot.press("escape")
            await until(pilot, lambda: "18 done" in screen_text(app))
            assert "once you agree" in screen_text(app)
            # The agents are kept from the rater: no key for them is named.
            assert "^p palette" in screen_text(app)
            assert "jobs" not in screen_text(app)
            await pilot.press("tab")
            assert isinstance(app.screen, ConsentScreen)
            await until(pilot, lambda: "I agree, and state no experience" in screen_text(app))
            await pilot.press(*"8 years")
            await until(pilot, lambda: "I agree, with this experience" in screen_text(app))
            await pilot.press("enter")
            await painted(pilot, 1)
            with workspace.reading() as connection:
                member = find_study(connection, "rq2").member("ana")
            assert member.consent_version == study.protocol.consent_version
            assert member.consented_at is not None
            assert member.experience == "8 years"

            assert line_of(app, PlaceLine).startswith(f" rq2 · 1 of {sizes[0]} · sitting 1 of 3")
            await press(pilot, "g")
            assert text_of(app, "guideline") == "Judge what the code does.\n"
            assert version in screen_text(app)
            await press(pilot, "g")

            # The first sitting, its last label taken back and given again.
            again = next(one for one in own if one.phase == "repeat" and one.sitting == 2)
            place = [one.item_id for one in own].index(again.item_id)
            await press(pilot, *"1" * place)
            await press(pilot, "m", *"why", "escape")
            assert said(app).startswith("Draft kept")
            await press(pilot, *"1" * (sizes[0] - place))
            await until(pilot, lambda: "Sitting 1 of 3 done" in line_of(app, EndCard))
            await press(pilot, "u")
            await until(pilot, lambda: said(app).startswith("Undone"))
            await press(pilot, "0")
            await until(pilot, lambda: "continue with sitting 2" in line_of(app, EndCard))
            first = app.screen
            await pilot.press("j")
            await until(pilot, lambda: isinstance(app.screen, ReviewScreen) and app.screen is not first)
            await painted(pilot, 1)
            assert line_of(app, PlaceLine).startswith(f" rq2 · 1 of {sizes[1]} · sitting 2 of 3")

            # What was done in the first sitting cannot be taken back from here.
            await press(pilot, "u")
            await until(pilot, lambda: said(app).startswith("Nothing to undo"))
            # Nor does anything come along of what was begun with an item that comes again.
            place = [one.item_id for one in own if one.sitting == 2].index(again.item_id)
            await press(pilot, *"1" * place)
            shown = await painted(pilot, place + 1)
            assert shown.item is not None
            assert shown.item.item_id == again.item_id
            assert "comment is kept" not in said(app)
            await press(pilot, *"1" * (sizes[1] - place))
            await until(pilot, lambda: "with everything shown" in line_of(app, EndCard))

            # Home says the same, and goes on with the sitting in which everything is revealed.
            await pilot.press("q")
            await until(pilot, lambda: isinstance(app.screen, StudyHomeScreen))
            await until(pilot, lambda: "sitting 3" in screen_text(app))
            await pilot.press("enter")
            await painted(pilot, 1)
            await press(pilot, "a")
            await press(pilot, *"1" * (sizes[2] - 1))
            await until(pilot, lambda: "Study finished, thank you" in line_of(app, EndCard))
            assert "dana closes the study" in screen_text(app)
            await settled(pilot.app)
            await pilot.press("q")
            await until(pilot, lambda: "Study finished" in screen_text(app))

        # Record by record: each label under its assignment, in its phase, under the study's guideline.
        table = table_of(JudgmentRow)
        with workspace.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.id)).all()
            session = study_session(connection, member.rater)
            shown = study_guideline(connection, study.id)
        made = [row for row in rows if row.origin != "undo"]
        undone = [row for row in rows if row.origin == "undo"]
        of_last = own[sizes[0] - 1]
        assert [(row.assignment_id, row.value) for row in undone] == [(of_last.id, None)]
        given = [row for row in made if row.assignment_id == of_last.id]
        assert [row.value for row in given] == [1, 0]
        once = [row for row in made if row is not given[0]]
        assert [(row.assignment_id, row.item_id, row.phase) for row in once] == [
            (one.id, one.item_id, one.phase) for one in own
        ]
        assert {row.guideline_id for row in made} == {shown.id}
        assert [row.blind for row in once] == [one.mode == "blind" for one in own]
        assert all(row.shown_verdict is None for row in once if row.blind)
        assert session is not None
        assert session.finished
        assert len(judgments(workspace)) == len(rows)


async def test_a_tall_home_shows_the_guide_of_the_question_that_is_next(tmp_path: Path) -> None:
    with judged_workspace(tmp_path, 2) as workspace:
        guide = "Judge what the code does.\n" + "".join(f"\nRule {number}." for number in range(60))
        version = store_guideline(workspace, "pair", guide)
        open_study(workspace, guideline=version, consent=CONSENT)
        app = rater_app(workspace)
        async with app.run_test(size=(120, 40)) as pilot:
            # Nothing of it before the rater has agreed.
            await until(pilot, lambda: isinstance(app.screen, ConsentScreen))
            await pilot.press("escape")
            assert "Does the code do" not in screen_text(app)
            await pilot.press("enter", "enter")
            await painted(pilot, 1)
            await pilot.press("q")
            await until(pilot, lambda: "Does the code do what the query asks?" in screen_text(app))
            shown = screen_text(app)
            for words in (
                f"Guide of rq2 · version {version}",
                "1  match",
                "0  no match",
                "Judge what the code does.",
                "Rule 10.",
                "there is more: g in the review shows all of it",
            ):
                assert words in shown
            assert "Rule 59." not in shown
            # Home has its keys, and no other screen's.
            assert "Enter continue" in shown
            await pilot.resize_terminal(80, 24)
            await settled(app)
            assert "Does the code do" not in screen_text(app)
            await pilot.resize_terminal(200, 50)
            await until(pilot, lambda: "Does the code do" in screen_text(app))
            # Where nothing is left, nothing is asked.
            await pilot.press("enter")
            await painted(pilot, 1)
            await press(pilot, "1", "0")
            await until(pilot, lambda: "Study finished" in line_of(app, EndCard))
            await settled(app)
            await pilot.press("q")
            await until(pilot, lambda: "Study finished" in screen_text(app))
            await settled(app)
            assert "Does the code do" not in screen_text(app)


async def test_enter_on_home_does_what_the_line_at_the_cursor_says(tmp_path: Path) -> None:
    with bench(tmp_path) as workspace:
        open_study(workspace)
        open_study(workspace, "rq3")
        app = rater_app(workspace)
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: "Begin sitting 1" in screen_text(app))
            home = app.screen
            assert "▸Enter" in screen_text(app)
            await pilot.press("down")
            assert "▸Tab" in screen_text(app)
            assert "Enter queue" in screen_text(app)
            await pilot.press("enter")
            assert isinstance(app.screen, QueueScreen)
            await pilot.press("escape", "down", "enter")
            assert app.screen is home
            await until(pilot, lambda: "Study rq3" in screen_text(app))
            # In the other study the cursor begins at its first line.
            await until(pilot, lambda: "▸Enter" in screen_text(app))
            await pilot.press("enter")
            await painted(pilot, 1)
            assert line_of(app, PlaceLine).startswith(" rq3 · 1 of ")
