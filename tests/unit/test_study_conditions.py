"""What a rater meets under each condition of a study, as the review reads it."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from review_bench import TEST, Ran, bench, uid, write_expert_run
from small_workspace import rows
from sqlalchemy import update
from study_bench import frozen_study, session_of

from screens.items.pair import load
from screens.items.views import ItemView
from store.record.raters import ensure_rater
from store.tables.columns import table_of
from store.tables.people import Assignment
from store.tables.runs import ExecutionRow
from store.workspace.duckdb import Workspace

FAILING, OWN = 4, "def test_own():\n    assert 1\n"
HIDDEN = ("A file with one newline", "screener", "Screener", "◆", "zero bytes count", "dana  ran")
"""What tells of the agents' label: reason, steps, label, reading; and of another rater's test."""


def shown(workspace: Workspace, condition: str, rater: str = "eli") -> tuple[ItemView, str]:
    """An item under a condition, with all its words."""
    frozen_study(workspace, ("dana", "eli"), {FAILING: condition})
    write_expert_run(workspace, FAILING, "dana", OWN, Ran([("own", "passed", "")]))
    with workspace.reading() as connection:
        view = load(connection, session_of(workspace, rater).scope, FAILING)
    words = [view.reading, view.current.unclaimed, view.claim.summary if view.claim else ""]
    for pane in (*view.case, *(pane for run in view.runs for pane in run.panes)):
        words += [pane.text, pane.border, pane.above, pane.empty]
    return view, "\n".join(words)


@pytest.mark.parametrize(
    ("condition", "panes", "tests"),
    [
        ("blind", ["guideline", "history"], "none"),
        ("blind tests", ["test", "run", "guideline", "history"], "agents"),
        ("own-test", ["test", "run", "guideline", "history"], "own"),
        ("revealed", ["verdict", "steps", "history", "guideline"], "none"),
        ("revealed tests", ["verdict", "test", "run", "steps", "history", "guideline"], "agents"),
    ],
)
def test_each_condition_shows_what_it_says(
    tmp_path: Path, condition: str, panes: list[str], tests: str
) -> None:
    with bench(tmp_path) as workspace:
        view, words = shown(workspace, condition)
        assert [pane.id for pane in view.case] == panes
        assert (view.tests, view.blind) == (tests, not condition.startswith("revealed"))
        assert (TEST in words, "only_newline" in words) == (tests == "agents",) * 2
        assert view.execution == (uid(410) if tests == "agents" else None)
        assert bool(view.first_test) == (tests != "none")
        if view.blind:
            assert [word for word in HIDDEN if word in words] == []
            assert (view.claim, view.others) == (None, ())
        else:
            assert view.claim is not None
            assert view.claim.execution_id == view.execution
            assert "failing: as the code reads" in words
            assert ("A file with one newline" in words) == (tests == "agents")
            assert ("dana  ran a" in words) == (tests == "agents")
        if tests == "own":
            assert view.case[0].text == view.first_test
            assert view.lacks_own_test


def test_own_runs_are_those_of_the_assignment(tmp_path: Path) -> None:
    with bench(tmp_path) as workspace:
        frozen_study(workspace, ("dana", "eli"), {FAILING: "own-test"})
        key = write_expert_run(workspace, FAILING, "dana", OWN, Ran([("test_own", "passed", "")]))
        dana = ensure_rater(workspace, "dana").id
        (first,) = (one for one in rows(workspace, Assignment, item_id=FAILING, rater_id=dana, phase="label"))

        def seen(rater: str, assignment: UUID | None) -> ItemView:
            execution = table_of(ExecutionRow)
            moved = update(execution).where(execution.c.id == key).values(assignment_id=assignment)
            workspace.lane.submit(lambda connection: connection.execute(moved)).result()
            with workspace.reading() as connection:
                return load(connection, session_of(workspace, rater).scope, FAILING)

        view = seen("dana", first["id"])
        assert (view.execution, view.case[0].text) == (key, OWN)
        assert view.runs[0].summary == "1 of 1 passed · ✓ own"
        assert view.case[0].border.startswith("Your test, run ")
        assert view.case[0].border.endswith(" · 1 of 1")
        assert "ran a test of their own · 1 of 1 passed" in view.case[-1].text
        # Another presentation begins anew, and so does another rater.
        assert seen("dana", None).execution is None
        assert seen("eli", first["id"]).execution is None
