"""A sitting of a study in the review: an own test is written, run and kept; conditions refuse their keys."""

from __future__ import annotations

from pathlib import Path

from review_bench import (
    CASES,
    Case,
    Ran,
    bench,
    painted,
    press,
    review_app,
    review_of,
    said,
    text_of,
)
from settling import settled
from small_workspace import rows
from study_bench import frozen_study, place_of
from textual import events

from screens.review.bars import ClaimLine
from screens.review.item_tests import TestEditor
from screens.widgets.text.view import TextPane
from store.analysis.rater_quality import raters_report
from store.record.expert_runs import WITHOUT_TEST
from store.tables.people import Assignment
from store.tables.record import JudgmentRow
from store.tables.runs import ExecutionRow

DOUBLE = "def double(x, times=1):\n    return math.floor(2 * x) * times\n"
TESTED = "from candidate import double\n\n\ndef test_two():\n    assert double(2) == 4\n"
OWN = (
    "# %% scaffold\nimport math\n# %% tests\n" + TESTED + "\n\ndef test_edge():\n    assert double(0) == 1\n"
)
DOUBLES = Case(
    "doubles", "python double a number", DOUBLE, "unclear", TESTED, Ran([("two", "passed", "")]), 1
)
CONDITIONS = {1: "own-test", 2: "blind tests", 3: "revealed", 4: "blind", 5: "own-test"}


async def test_an_expert_writes_a_test_of_their_own(tmp_path: Path) -> None:
    cases = [DOUBLES, CASES[2], CASES[3], CASES[0], CASES[1]]
    with bench(tmp_path, cases) as workspace:
        study = frozen_study(workspace, ("dana",), CONDITIONS, idle_minutes=2.0)
        app = review_app(workspace, study=place_of(workspace))
        async with app.run_test(size=(120, 40)) as pilot:
            screen = await painted(pilot)
            assert said(app) == "Write a test: e; then judge."
            assert screen.guard.watch._idle == 120
            skeleton = text_of(app, "test")
            assert skeleton.startswith(
                "# %% scaffold\nimport math\n# %% tests\nfrom candidate import double\n"
            )
            assert "# double(x, times=1)" in skeleton
            await press(pilot, "r")
            assert said(app) == "You have no test of it yet; e writes one."
            await press(pilot, "1")
            assert said(app) == "No test of yours was run. Press again to label without one."
            assert rows(workspace, JudgmentRow) == []

            # Edit, put aside, run the draft from the review.
            await pilot.press("e")
            assert isinstance(app.screen, TestEditor)
            await pilot.pause()
            await pilot.press("f7", "delete")
            area = app.screen.query_one("#editor-text")
            area.post_message(events.Paste(OWN))
            await settled(pilot.app)
            assert area.text == OWN
            await pilot.press("escape")
            assert text_of(app, "test") == OWN
            border = app.screen.query_one("#test", TextPane).border_title
            assert str(border).startswith("Your draft · not run yet")
            await press(pilot, "r")
            assert not app.context.tests.running
            await settled(pilot.app)
            strip = str(review_of(app).query_one(ClaimLine).render())
            assert "your test: 1 of 2 passed · ✓ two · ✗ edge" in strip
            assert "test_edge" in text_of(app, "run")
            await press(pilot, "1")
            (run,) = (row for row in rows(workspace, ExecutionRow) if row["rater_id"] is not None)
            (own,) = rows(workspace, Assignment, item_id=1)
            assert (run["program"], run["assignment_id"]) == (OWN, own["id"])
            (label,) = rows(workspace, JudgmentRow)
            assert (label["shown_execution"], label["shown_verdict"], label["reason"]) == (
                run["id"],
                None,
                "",
            )
            assert (label["assignment_id"], label["phase"], label["blind"]) == (own["id"], "label", True)
            assert 0 < run["editing_ms"] <= label["active_ms"] <= label["elapsed_ms"]

            # The agents' test without their label.
            await painted(pilot, 2)
            assert text_of(app, "test") == CASES[2].test
            assert "blind: the agents' labels are not shown" in str(screen.query_one(ClaimLine).render())
            await press(pilot, "a")
            assert said(app) == "Nothing to accept: the review is blind. Nothing was recorded."
            await press(pilot, "n")
            # Their label without their test.
            await painted(pilot, 3)
            for key in "rRe":
                await press(pilot, key)
                assert said(app) == "Tests are not shown for this item and cannot be run."
            await press(pilot, "n")
            await painted(pilot, 4)
            await press(pilot, "r")
            assert said(app).startswith("The agents' test is not shown in a blind review")
            # Labelled without a test, after it was asked.
            await press(pilot, "n")
            await painted(pilot, 5)
            await press(pilot, "1")
            await press(pilot, "0")
            assert said(app) == "No test of yours was run. Press again to label without one."
            assert len(rows(workspace, JudgmentRow)) == 1
            await press(pilot, "0")
            assert [(row["value"], row["reason"]) for row in rows(workspace, JudgmentRow)] == [
                (1.0, ""),
                (0.0, WITHOUT_TEST),
            ]
        with workspace.reading() as connection:
            (dana,) = raters_report(connection, study.name).raters
        assert (dana.own_test, dana.without_test) == (2, 1)


async def test_the_guideline_goes_back_to_the_code_in_a_narrow_terminal(tmp_path: Path) -> None:
    with bench(tmp_path, [DOUBLES]) as workspace:
        frozen_study(workspace, ("dana",), {1: "own-test"})
        app = review_app(workspace, study=place_of(workspace))
        async with app.run_test(size=(80, 24)) as pilot:
            screen = await painted(pilot)
            assert screen.panes.active == "subject"
            await press(pilot, "g")
            assert screen.panes.active == "guideline"
            await press(pilot, "g")
            assert (screen.panes.active, screen.focused and screen.focused.id) == ("subject", "subject")
