"""A study that masks, strips and formats texts: what its raters see, what is recorded, and how it is adjudicated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from adjudication_bench import pressed, ready, shown
from apps import app_of
from judging import Desk
from real_comparisons import real_comparisons
from review_bench import line_of, painted, press, said, screen_text, text_of
from settling import settled
from sqlalchemy import select
from study_app import assigned, rater_app

from screens.home.screen import HomeScreen
from screens.judging.keys import JudgingKeyLine
from screens.review.bars import ClaimLine
from store.kinds.comparison_texts import CHANGES
from store.queries.studies import ChosenItem
from store.record.evidence import citations_of, digest
from store.record.protocol import StudyProtocol
from store.record.raters import question_number
from store.studies.studies import freeze_study, new_study
from store.tables.columns import table_of
from store.tables.record import JudgmentRow
from store.workspace.duckdb import Workspace


def changed_study(workspace: Workspace) -> None:
    """Freeze a study of two raters, of a scale with ties."""
    protocol = StudyProtocol("comparison", seed=3, scale="tie", texts=tuple(CHANGES), coordinators=("eve",))
    new_study(workspace, "rq1", protocol, [ChosenItem(1), ChosenItem(2)], ("ana", "ben"))
    freeze_study(workspace, "rq1")


async def test_changed_texts_are_judged_cited_and_adjudicated(tmp_path: Path) -> None:
    with real_comparisons(tmp_path) as workspace:
        changed_study(workspace)
        app = rater_app(workspace)
        seen: dict[str, str] = {}
        async with app.run_test(size=(120, 40)) as pilot:
            await settled(pilot.app)
            app.resume()
            for place in (1, 2):
                screen = await painted(pilot, place)
                item = screen.item
                assert item is not None
                texts = text_of(app, "subject") + text_of(app, "right")
                assert not any(word in texts for word in ("CoSQA", "stackoverflow", "ChatGPT", "grouper(3"))
                of_codes = "def chunks_of" in texts
                words = (
                    "names masked · docstrings removed · formatted alike"
                    if of_codes
                    else "names masked · formatted alike"
                )
                assert words in line_of(app, ClaimLine)
                assert of_codes or "As MASKED I would recommend" in texts
                assert item.external_id.startswith("c-")
                seen[item.external_id] = text_of(app, "subject")
                await press(pilot, *(("v", "v") if of_codes else ()), "2")
            await settled(pilot.app)
            await press(pilot, "u", "U")
            assert "against" not in screen_text(app) + said(app)
        judgment = table_of(JudgmentRow)
        with workspace.reading() as connection:
            rows = connection.execute(select(judgment).order_by(judgment.c.id)).all()
            question = question_number(connection, "comparison.preference")
        # Label, label, undo, redo: each says how the item was shown.
        *labels, undone, again = rows
        for row in (*labels, again):
            order, *changes = row.shown_as.split()
            # A citation is of the text as it was shown, with its words.
            for cited in citations_of(row.evidence):
                assert (cited.part == "first") == (order == "as-listed")
                assert cited.sha256 in {digest(text) for text in seen.values()}
                assert any(text.startswith(cited.text) for text in seen.values())
            assert changes == [name for name in CHANGES if row.item_id == 1 or name != "no-docstrings"]
        assert any(row.evidence != "[]" for row in labels)
        assert (undone.value, again.shown_as) == (None, labels[-1].shown_as)
        # The other rater disagrees.
        desk = Desk(workspace, "ben")
        desk.question = question
        for one in assigned(workspace, "ben"):
            value = next(row.value for row in labels if row.item_id == one.item_id)
            desk.judge(one.item_id, 0.0 - value, assignment_id=one.id, phase="label", blind=True)
        await _adjudicate(workspace)


async def _adjudicate(workspace: Workspace) -> None:
    """Rule on the scale of the study, and that both are bad, which nobody said."""
    app = app_of(workspace, "eve")
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot.app)
        assert isinstance(app.screen, HomeScreen)
        assert app.screen.facts is not None
        await pilot.press("a")
        screen = await ready(pilot)
        keys = line_of(app, JudgingKeyLine)
        assert keys.startswith("2 first better · 3 same · 4 second better · 0 both bad")
        assert screen.item is not None
        subject = screen.item.subject
        assert "MASKED" in subject.text or "chunks" in subject.text
        # Beside a cited line stands who cites it.
        cited = [part for part in (subject, *screen.item.case) if any(part.gutter)]
        assert screen.dispute is not None
        assert [part.part for part in cited] == [one.part for one in screen.dispute.labels[0].citations]
        assert "1 is not an answer here" in await pressed(pilot, "1")
        assert "both bad goes against the raters" in await pressed(pilot, "0")
        await pilot.press(*"no use", "enter")
        await pressed(pilot, "p")
        screen = await ready(pilot)
        assert "final: [both bad]" in shown(screen, "raters")
        await pressed(pilot, "u")
        await settled(pilot.app)
        assert "both bad" in screen.shared.message
    judgment = table_of(JudgmentRow)
    ruled = select(judgment).where(judgment.c.phase == "adjudicate").order_by(judgment.c.id)
    with workspace.reading() as connection:
        ruling, undone = connection.execute(ruled).all()
    assert (ruling.value, ruling.reason, ruling.comment, ruling.origin) == (
        0.0,
        "both-bad",
        "no use",
        "ruling",
    )
    assert undone.value is None


def test_a_ruling_by_command_is_on_the_scale_of_the_study(tmp_path: Path, workbench: Any) -> None:
    with real_comparisons(tmp_path) as workspace:
        changed_study(workspace)
        with workspace.reading() as connection:
            question = question_number(connection, "comparison.preference")
        for rater, value in (("ana", 1.0), ("ben", -1.0)):
            desk = Desk(workspace, rater)
            desk.question = question
            (one,) = [own for own in assigned(workspace, rater) if own.item_id == 1]
            desk.judge(1, value, assignment_id=one.id, phase="label", blind=True)
    path = workspace.path
    (listed,) = json.loads(workbench("adjudicate", path, "--study", "rq1", "--rater", "eve", "--json").out)[
        "items"
    ]
    rule = ("rule", path, listed["item"], "--study", "rq1", "--rater", "eve", "--json")
    assert "no value of this question" in workbench(*rule, "2").out
    assert "goes against the raters" in workbench(*rule, "both bad").out
    made = json.loads(workbench(*rule, "both bad", "--comment", "neither runs").out)
    assert (made["value"], made["word"], made["item"]) == (0.0, "both bad", listed["item"])
    # By the id of the file as well.
    again = json.loads(workbench(*rule[:2], "cosqa-against-cosqa-plus/17", *rule[3:], "first better").out)
    assert (again["word"], again["item"]) == ("+1 first better", listed["item"])
