"""The adjudication screen: disputes one after another, rulings by key, reasons, agents on request, undo."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from adjudication_bench import pressed, ready, screen_of, shown
from apps import app_of
from judging import Desk
from review_bench import CASES, Ran, screen_text, write_expert_run
from settling import settled
from small_workspace import rows
from sqlalchemy import select

from screens.adjudicate.screen import AdjudicateScreen
from screens.home.screen import HomeScreen
from screens.reports.screen import ReportsScreen
from screens.widgets.text.view import TextPane
from store.queries.studies import ChosenItem
from store.record.evidence import as_json, citations_of, cite
from store.record.protocol import StudyProtocol
from store.record.raters import ensure_rater
from store.studies.studies import freeze_study, new_study
from store.tables.columns import table_of
from store.tables.people import Assignment
from store.tables.record import JudgmentRow
from store.tables.runs import ExecutionRow
from store.workspace.duckdb import Workspace

VALUES = {"ann": (1, 1, 1, 0), "bob": (1, 0, 1, 0), "cat": (1, 0, 0, 0)}
"""Three raters' labels of four pairs: they disagree about the second and the third."""


def labelled_study(
    workspace: Workspace,
    values: dict[str, tuple[int, ...]] | None = None,
    rests_on: dict[tuple[str, int], UUID] | None = None,
) -> None:
    """A frozen study in which raters have labelled pairs, with a comment of the last rater.

    Args:
        workspace: The open workspace.
        values: The labels.
        rests_on: The executions that were shown with labels, by rater and item.
    """
    values = values or VALUES
    items = [ChosenItem(item) for item, _ in enumerate(next(iter(values.values())), start=1)]
    new_study(workspace, "rq2", StudyProtocol("pair"), items, list(values))
    study, assignment = freeze_study(workspace, "rq2"), table_of(Assignment)
    for name, given in values.items():
        desk = Desk(workspace, name)
        for item, value in enumerate(given, start=1):
            key = select(assignment.c.id).where(
                assignment.c.study_id == study.id,
                assignment.c.rater_id == desk.rater.id,
                assignment.c.item_id == item,
            )
            with workspace.reading() as connection:
                assigned = connection.execute(key).scalar_one()
            comment = "a lone newline is no blank file" if name == "cat" and not value else ""
            fields: dict[str, Any] = {"blind": True, "elapsed_ms": 4000, "comment": comment}
            if name == "cat" and not value:
                code = CASES[item - 1].code
                fields["evidence"] = as_json(cite("code", code, code.splitlines(), [1, 2], None))
            fields["shown_execution"] = (rests_on or {}).get((name, item))
            desk.judge(item, float(value), assignment_id=assigned, phase="label", **fields)


def rulings(workspace: Workspace) -> list[tuple[Any, ...]]:
    """The stored records of the adjudication: item, value, origin, blind, whether agents were shown, note."""
    judgment = table_of(JudgmentRow)
    found = select(judgment).where(judgment.c.phase == "adjudicate").order_by(judgment.c.id)
    with workspace.reading() as connection:
        return [
            (row.item_id, row.value, row.origin, row.blind, row.shown_verdict is not None, row.comment)
            for row in connection.execute(found)
        ]


async def test_disputes_are_ruled_on_taken_back_and_brought_back(workspace: Workspace) -> None:
    labelled_study(workspace)
    app = app_of(workspace, "eve")
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot.app)
        assert isinstance(app.screen, HomeScreen)
        assert app.screen.facts is not None
        await pilot.press("a")
        screen = await ready(pilot)
        assert "rq2 › 1 of 2 disputes" in shown(screen, "place")
        assert "R1 1 ○   R2 0 ●   R3 0 ●" in shown(screen, "raters")
        why = shown(screen, "differ")
        assert why.startswith(
            "0 no match · 2 of 3 raters\nR2 · 4.0 s · blind\nR3 · 4.0 s · blind\n    a lone newline"
        )
        # Nobody is named, and nothing is told of the agents.
        assert not {"history", "verdict", "test"} & {part.id for part in screen.item.case}  # type: ignore[union-attr]
        assert not any(name in why for name in VALUES)
        # Against the raters only with a reason.
        assert "goes against the raters (2 × 0 no match, 1 × 1 match)" in await pressed(pilot, "1")
        assert "needs a reason" in await pressed(pilot, "enter")
        assert not rulings(workspace)
        await pressed(pilot, "1")
        await pilot.press(*"it is")
        assert (await pressed(pilot, "enter")).startswith(f"● 1 match · {CASES[1].name} · u undo")
        assert rulings(workspace) == [(2, 1, "ruling", True, False, "it is")]
        # The agents' work is shown at the second press, for good, and the ruling says so.
        assert "2 of 2 disputes" in shown(screen, "place")
        assert "again reveals" in await pressed(pilot, "A")
        await pilot.press("A")
        assert screen.item is not None
        assert screen.item.claim is not None
        assert "◆ 1" in shown(screen, "raters")
        assert "◆ the agents\n1 match" in shown(screen, "differ")
        await pressed(pilot, "N")
        assert "ann 1 ●   bob 1 ●   cat 0 ○" in shown(screen, "raters")
        await pressed(pilot, "1")
        assert rulings(workspace)[1:] == [(3, 1, "ruling", False, True, "")]
        assert "All 2 disputes have a ruling." in shown(screen, "card")
        assert "2 ruled" in shown(screen, "place")
        # From there accuracy against the rulings is one key away, and the disputes come back.
        await pilot.press("a")
        await settled(pilot.app)
        assert isinstance(app.screen, ReportsScreen)
        assert app.screen.page is not None
        assert app.screen.command.endswith("accuracy --question pair.match --study rq2 --policy adjudicated")
        assert "rulings: 1; 1 more beside the agents' label, left out" in app.screen.page.caption
        await pilot.press("escape")
        assert app.screen is screen
        # Back to the last dispute and forth again; labels of the raters are as they were.
        await pilot.press("u")
        assert "Undone" in screen.shared.message
        assert "1 ruled" in shown(screen, "place")
        assert "final: [ ]" in shown(screen, "raters")
        await pilot.press("U")
        assert "Redone" in screen.shared.message
        assert "2 ruled" in shown(screen, "place")
        assert "final: [1 match]" in shown(screen, "raters")
        # A note of a ruling is a new record of it.
        await pressed(pilot, "p")
        await settled(pilot.app)
        assert "note: it is" in shown(screen, "raters")
        await pressed(pilot, "m")
        await pilot.press(*" so")
        assert "Note recorded" in await pressed(pilot, "enter")
        assert rulings(workspace)[-1] == (2, 1, "ruling", True, False, "it is so")
        # All labels have the same disputes, and those of the study count as ruled on there too.
        await pilot.press("S")
        assert screen.adjudication is not None
        assert screen.adjudication.study is None
        await ready(pilot)
        assert "all labels › 1 of 2 disputes" in shown(screen, "place")
        await pilot.press("q")
        assert isinstance(app.screen, HomeScreen)
        # What is hidden from an adjudicator is not said to be without a label.
        assert "5 of 8 labelled ·  2 without · 1 hidden by a study" in screen_text(app)
        assert "2 pairs without their" in screen_text(app)


async def test_a_raters_own_test_is_run_again_and_lines_are_cited(workspace: Workspace) -> None:
    own = "def test_own():\n    assert 1\n"
    key = write_expert_run(workspace, 2, "bob", own, Ran([("test_own", "passed", "")]))
    labelled_study(workspace, rests_on={("bob", 2): key})
    app = app_of(workspace, "eve", start_with="adjudicate")
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await ready(pilot)
        assert shown(screen, "test") == own
        title = str(screen.query_one("#test", TextPane).border_title)
        assert title.startswith("R2's test · 1 of 1 passed")
        assert "bob" not in title
        await pilot.press("r")
        assert not app.context.tests.running
        assert screen.item is not None
        assert len(screen.item.runs) == 2
        await ready(pilot)
        title = str(screen.query_one("#test", TextPane).border_title)
        assert title.startswith("R2's test, run again by you · 1 of 1 passed")
        (again,) = (
            row
            for row in rows(workspace, ExecutionRow)
            if row["rater_id"] == ensure_rater(workspace, "eve").id
        )
        # The raters' codes are beside the lines that they cite, and the ruling cites lines of its own.
        assert screen.item is not None
        assert screen.item.subject.gutter == {1: " R3", 2: " R3"}
        await pressed(pilot, "v")
        assert "▌ Cited: code 1 · your next ruling" in await pressed(pilot, "v")
        await pressed(pilot, "0")
        ruling = rows(workspace, JudgmentRow, phase="adjudicate")[-1]
        assert [(one.part, one.first) for one in citations_of(ruling["evidence"])] == [("code", 1)]
        assert (ruling["shown_execution"], ruling["shown_verdict"]) == (again["id"], None)
        # Sent back with a note: the raters get it again, and the ruling stays.
        await pressed(pilot, "p")
        assert "Do not name a label" in await pressed(pilot, "b")
        await pilot.press(*"line 2?")
        await pilot.press("enter")
        assert "sent back to R1, R2, R3" in screen.shared.message
        assert "Sent back to the raters\n    line 2?" in shown(screen, "differ")
        assert "not judged again yet: R1, R2, R3" in shown(screen, "differ")
        assert "sent back before" in await pressed(pilot, "b")
        await pressed(pilot, "n")
        # Where nobody wrote a test, and the agents' is hidden, none is run.
        assert "the agents' work is hidden; A shows it" in await pressed(pilot, "r")
        await pressed(pilot, "A", "A")
        await settled(pilot.app)
        assert screen.item is not None
        assert screen.item.claim is not None
        await ready(pilot)
        assert shown(screen, "test")
        assert screen.item.tests == "agents"


async def test_who_sees_no_adjudication_and_nothing_to_rule_on(workspace: Workspace) -> None:
    blind = app_of(workspace, "eve", blind=True)
    async with blind.run_test(size=(80, 24)) as pilot:
        await settled(pilot.app)
        assert isinstance(blind.screen, HomeScreen)
        assert blind.screen.facts is not None
        await pilot.press("a")
        await pilot.pause()
        assert isinstance(blind.screen, HomeScreen)
        blind.call_later(blind.open_adjudication)
        await settled(pilot.app)
        assert isinstance(blind.screen, AdjudicateScreen)
        assert blind.screen.is_mounted
        assert "a blind review hides" in shown(screen_of(pilot), "card")
    ensure_rater(workspace, "eve")
    app = app_of(workspace, "eve", start_with="adjudicate")
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await ready(pilot)
        assert "Raters agree on every item here." in shown(screen, "card")
        assert "no item here" in await pressed(pilot, "1")
    assert not rulings(workspace)
