"""Repository questions in review: issue, reference, answers side by side, four counts, a judge's scores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from entry_bench import ANSWERS, COUNTS, MODELS, QUESTIONS, answer, entries, given, hide_models
from made_once import copied
from review_bench import line_of, painted, press, review_app, review_of, said, screen_text, text_of
from scopes import scope
from settling import settled
from sqlalchemy import select
from textual.widgets import OptionList

from screens.items.answer import load
from screens.judging.keys import JudgingKeyLine
from screens.review.bars import CaseTabs, ClaimLine
from screens.review.panes import SUBJECT
from screens.widgets.text.view import TextPane
from store.kinds.answer import ANSWER
from store.queries.item import load_item
from store.record.raters import ensure_rater
from store.tables.columns import table_of
from store.tables.record import JudgmentRow
from store.tables.responses import Score
from store.workspace.duckdb import Workspace

SIZE = (120, 40)


def make(folder: Path) -> Workspace:
    return entries(folder, questions=QUESTIONS, answers=ANSWERS)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with copied(make, tmp_path / "entries.duckdb") as made:
        yield made


async def test_a_judges_scores_are_accepted_overridden_and_told_not_parsed(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot, 1)
        assert "1 of 8 · answer A · Accuracy: are the facts correct?" in line_of(app, ClaimLine)
        assert "◆ judge-ibis: 9 no errors · Why the accuracy is so." in line_of(app, ClaimLine)
        assert line_of(app, ClaimLine).rstrip().endswith("A [○] ○ ○ ○  B ○ ○ ○ ○")
        keys = line_of(app, JudgingKeyLine)
        for band in ("1 2 mostly wrong", "3 4 serious errors", "9 0=10 no errors", "a accept"):
            assert band in keys
        await press(pilot, "a", "0", "w", "a", "7")
        assert said(app).startswith("● clarity of answer A: 7 mostly clear")
        await settled(pilot.app)
        assert screen.item is not None
        assert screen.item.at == 4
        # The answer that is asked about stands beside the reference.
        assert "Answer B · model-owl" in screen_text(app)
        await press(pilot, "1")
        assert "◆ judge-ibis: not parsed · Why the completeness is so." in line_of(app, ClaimLine)
        assert "a accept" not in line_of(app, JudgingKeyLine)
        await press(pilot, "a")
        assert said(app).startswith("Nothing to accept: ◆ judge-ibis: not parsed")
        await press(pilot, "3")
        assert "◆ judge-ibis: 7.5 · Why the relevance is so." in line_of(app, ClaimLine)
        await press(pilot, "a")
        assert said(app).startswith("● relevance of answer B: 7.5 · accepts ◆")
        assert "no judge's score" in line_of(app, ClaimLine)
        await press(pilot, "0")
        await painted(pilot, 2)
    rows = given(workspace)
    place = {model: f"@{model}[retrieval]" for model in MODELS}
    assert [row[1:4] for row in rows] == [
        (f"answer.accuracy{place[MODELS[0]]}", 9, "accept"),
        (f"answer.completeness{place[MODELS[0]]}", 10, "override"),
        (f"answer.completeness{place[MODELS[0]]}", 10, "override"),
        (f"answer.relevance{place[MODELS[0]]}", 10, "accept"),
        (f"answer.clarity{place[MODELS[0]]}", 7, "override"),
        (f"answer.accuracy{place[MODELS[1]]}", 1, "override"),
        (f"answer.completeness{place[MODELS[1]]}", 3, "independent"),
        (f"answer.relevance{place[MODELS[1]]}", 7.5, "accept"),
        (f"answer.clarity{place[MODELS[1]]}", 10, "independent"),
    ]
    assert [row[4] for row in rows][:3] == ["", "", "judge overlooks an error"]
    score, judgment = table_of(Score), table_of(JudgmentRow)
    with workspace.reading() as connection:
        known = dict(connection.execute(select(score.c.id, score.c.value)).all())
        shown = connection.execute(
            select(judgment.c.origin, judgment.c.value, judgment.c.shown_verdict)
        ).all()
    for origin, value, verdict in shown:
        assert (verdict is None) is (origin == "independent")
        if verdict is not None:
            assert (known[verdict] == value) is (origin == "accept")


async def test_a_reason_is_changed_and_a_score_undone_after_the_next_question_is_asked(
    workspace: Workspace,
) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        await painted(pilot, 1)
        await press(pilot, "a", "3", "w")
        assert said(app).startswith("Reason: judge overlooks an error · o changes it")
        await press(pilot, "o")
        assert said(app) == "Why another label than ◆ for completeness of answer A?"
        assert "c reason and score disagree" in line_of(app, JudgingKeyLine)
        await press(pilot, "c")
        # What is not named any more is no reason: the letters do what they do elsewhere.
        await press(pilot, "2", "f", "h")
        assert said(app).startswith("⚑ flagged")
        await press(pilot, "o")
        assert said(app) == "Only an override has a reason; this question is not one."
        # While it is asked why, no other key does anything.
        await press(pilot, "d", "f")
        assert not said(app).startswith("Flag removed")
        await press(pilot, "escape", "f", "w")
        assert said(app).startswith("Flag removed")
        assert [(row[1].partition("@")[0], row[2], row[4]) for row in given(workspace)] == [
            ("answer.accuracy", 9, ""),
            ("answer.completeness", 3, ""),
            ("answer.completeness", 3, "judge overlooks an error"),
            ("answer.completeness", 3, "reason and score disagree"),
            ("answer.relevance", 2, ""),
        ]
        # An undo says of which answer the score was.
        await press(pilot, "a", "8")
        await press(pilot, "u")
        taken = "accuracy of answer B: 8 small errors only, overrides ◆"
        assert said(app) == f"Undone: {taken} · now no label · U redo"
        await press(pilot, "U")
        assert said(app) == f"Redone: {taken} · u undo"
        # Of an item that is not on the screen, too.
        await press(pilot, "n")
        await painted(pilot, 2)
        await press(pilot, "u")
        await painted(pilot, 1)
        assert said(app) == f"Undone: {taken} · now no label · U redo"


async def test_the_answer_that_is_scored_stays_beside_what_is_read(tmp_path: Path) -> None:
    bare = {"id": "bare", "question": "Why?"}
    answers = [{**one, "question_id": "bare"} for one in ANSWERS]
    with entries(tmp_path, questions=[bare], answers=answers) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=SIZE) as pilot:
            await painted(pilot, 1)
            await press(pilot, "right_square_bracket")
            assert "answer A · Accuracy" in line_of(app, ClaimLine)
            await press(pilot, "t")
            assert "answer B · Accuracy" in line_of(app, ClaimLine)
            await press(pilot, "right_square_bracket", "x")
            # What stood on the left is empty, and no other answer comes in its place.
            assert "No reference answer yet." in screen_text(app)
            assert "[Answer A]" not in line_of(app, CaseTabs)
            await press(pilot, "x", "left_square_bracket", "x")
            assert "Answer B" in screen_text(app)
            assert "answer B · Accuracy" in line_of(app, ClaimLine)
            await press(pilot, "3")
        assert [row[1] for row in given(workspace)] == [f"answer.accuracy@{MODELS[1]}[retrieval]"]


async def test_another_item_shows_the_answer_that_is_asked_about(tmp_path: Path) -> None:
    questions = [{"id": name, "question": "Why?", "answer": "So."} for name in ("one", "two")]
    answers = [{**one, "question_id": name} for name in ("one", "two") for one in ANSWERS]
    with entries(tmp_path, questions=questions, answers=answers) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=SIZE) as pilot:
            screen = await painted(pilot, 1)
            await press(pilot, "right_square_bracket", "t")
            assert screen.panes.shown_in_case == "response-B"
            await press(pilot, "d", "l")
            await pilot.press(*"so", "enter")
            await painted(pilot, 2)
            assert "answer A · Accuracy" in line_of(app, ClaimLine)
            assert screen.panes.shown_in_case == "response-A"
            # An undo of what is about the item leaves its question.
            await press(pilot, "t", "m")
            await pilot.press(*"hm", "enter")
            await press(pilot, "u")
            assert screen.item is not None
            assert screen.item.at == 1


async def test_what_is_asked_and_what_is_told_about_it_can_be_read(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=SIZE) as pilot:
        # The palette gives the scores of the count that is asked.
        await painted(pilot, 1)
        await pilot.press("t", "ctrl+p")
        await pilot.press(*"Give the label")
        told = screen_text(app)
        assert "Give the label 1 misses nearly everything." in told
        assert "Give the label 10 covers every key point." in told
        assert "match" not in told.replace("matching", "")
        assert app.screen.query_one(OptionList).option_count == 10
        await pilot.press("escape")
        # A question without room goes on before the claim.
        await pilot.resize_terminal(62, 24)
        await painted(pilot, 1)
        assert "Completeness" in line_of(app, ClaimLine)
        asked, rest = line_of(app, ClaimLine).splitlines()
        assert asked.endswith("are all parts of the")
        assert "10  question a… A ○ [○]" in rest
        # Issue and answers are rendered, and their source is shown.
        await pilot.resize_terminal(*SIZE)
        await press(pilot, *["right_square_bracket"] * 2)
        issue = app.screen.query_one("#issue", TextPane)
        assert issue.is_rendered
        shown = screen_text(app)
        for part in (
            "── issue #12 · author · 2026-01-02 03:04 · question,",
            "It does:",
            "── positive comment · participant 2 · 2026-01-02 04:04 ·",
            # The block that the first comment leaves open ends with it.
            "│  never closed",
            "│── comment · author · 2026-01-02 05:04 ──",
            "│It was. Thank you.",
        ):
            assert part in shown, part
        await press(pilot, "M")
        assert "```python" in screen_text(app)
        assert "*It was.* Thank you." in screen_text(app)
        # Two answers are side by side.
        await press(pilot, "M", "left_square_bracket", "x", "left_square_bracket")
        assert "Nothing keeps it shut." in screen_text(app)
        assert "unless it is locked." in screen_text(app)
        assert "Answer B" in said(app)
        assert text_of(app, SUBJECT) == ANSWERS[1]["answer"]
        # What judges said is in the order of the questions.
        await press(pilot, "x", "n", "p", "left_square_bracket")
        await press(pilot, *["right_square_bracket"] * 4)
        assert "[Judge]" in line_of(app, CaseTabs)
        lines = text_of(app, "judges").split("\n")
        assert lines[0] == f"── answer A · {MODELS[0]} · retrieval · judge-ibis ──"
        assert [line.split(":")[0] for line in lines if line.startswith(COUNTS)] == [*COUNTS, *COUNTS[:3]]
        assert "completeness: not parsed" in lines
        assert "-1" not in "".join(lines)
        # The tabs went over answer B; the question is about answer A as before.
        assert "answer A · Accuracy" in line_of(app, ClaimLine)
        pointed = [row for row in screen_text(app).splitlines() if "▸" in row]
        assert len(pointed) == 1
        assert f"▸ ── answer A · {MODELS[0]} · retrieval · judge-ibis ──" in pointed[0]


async def test_questions_that_nobody_answered(tmp_path: Path) -> None:
    nothing = "nothing to score: no answer, reference or comment"
    cases = (
        (2, "Reference answer", "the reference · "),
        (3, "Issue · 2 comments", "the thread · "),
        (4, "Issue · 0 comments", ""),
        (5, "Reference answer", ""),
    )
    recorded: list[tuple[Any, ...]] = []
    with entries(tmp_path, questions=[*QUESTIONS, {"id": "bare", "question": "Why?"}]) as workspace:
        app = review_app(workspace, at=1)
        async with app.run_test(size=SIZE) as pilot:
            for item, left, about in cases:
                await painted(pilot, item)
                shown = screen_text(app)
                assert f"╭─ {left} ─" in shown
                assert f"1 of 4 · {about}Accuracy: are the facts correct?" in shown
                assert (nothing in shown) is (not about)
                assert ("mostly wrong" in shown) is bool(about)
                assert line_of(app, CaseTabs).strip().startswith("[Context] History  Guide")
                assert ("The issue has no text." in shown) is (item == 4)
                assert ("No reference answer yet." in shown) is (item == 5)
                await press(pilot, "9", "0", "1", "2")
                assert (said(app) == f"Not recorded: {nothing}.") is (not about)
                recorded += [
                    (item, f"answer.{count}", value, "independent")
                    for count, value in zip(COUNTS, (9, 10, 1, 2) if about else (), strict=bool(about))
                ]
                assert [row[:4] for row in given(workspace)] == recorded
                # Where all is given, the next question is shown already.
                if not about:
                    await press(pilot, "n")


@pytest.mark.parametrize("how", ["blind", "assigned"])
async def test_hidden_models_are_nowhere(workspace: Workspace, how: str) -> None:
    dana, blind = ensure_rater(workspace, "dana"), how == "blind"
    if not blind:
        hide_models(workspace, "dana", 1)
    leaks = (*MODELS, "retrieval", *(["judge-ibis"] if blind else []))
    app = review_app(workspace, blind=blind)
    async with app.run_test(size=SIZE) as pilot:
        screen = await painted(pilot, 1)
        seen = screen_text(app)
        for _ in range(7):
            await press(pilot, "right_square_bracket")
            seen += screen_text(app)
        screen.panes.show_pane("response-A")
        await settled(pilot.app)
        assert screen.item is not None
        assert screen.item.at == 0
        assert screen.guard.is_painted
        await press(pilot, "1", "u", "1", "2", "3", "4", "5", "u", "p")
        assert "accuracy of answer A 1 mostly wrong" in text_of(app, "history")
        seen += screen_text(app) + repr(screen.item) + text_of(app, "history") + said(app)
        assert ("blind: the judges' scores are not shown" in line_of(app, ClaimLine)) is blind
    with workspace.reading() as connection:
        seen += repr(load_item(connection, scope(dana.id, blind=blind), ANSWER, 1))
        view = load(connection, scope(dana.id, blind=blind), 1)
    seen += repr(view)
    assert not [word for word in leaks if word in seen]
    assert [question.spec.name for question in view.questions[:4]] == [f"answer.{count}" for count in COUNTS]
    # What was recorded is of the right response, under whichever letter it stood.
    first = next(part.text for part in view.case if part.id == "response-A")
    model = next(each["model"] for each in ANSWERS if each["answer"] == first)
    assert given(workspace)[0][1] == f"answer.accuracy@{model}[retrieval]"


async def test_answers_of_twelve_models_are_scored_one_by_one(tmp_path: Path) -> None:
    answers = [answer("till/2", f"m{number:02}", f"Coin {number}.", setting="") for number in range(12)]
    with entries(tmp_path, questions=QUESTIONS[1:2], answers=answers) as workspace:
        app = review_app(workspace)
        async with app.run_test(size=(80, 24)) as pilot:
            await painted(pilot, 1)
            assert "A [○] ○ ○ ○ · 0 of 48 given" in line_of(app, ClaimLine)
            await press(pilot, *"1234", "1")
            assert "6 of 48 · answer B · Completeness" in line_of(app, ClaimLine)
            assert "B ●1 [○] ○ ○ · 5 of 48 given" in line_of(app, ClaimLine)
            await press(pilot, *["T"] * 6)
            item = review_of(app).item
            assert item is not None
            assert item.current.title == "clarity of answer L"
            assert "[Answer L]" in screen_text(app)
            assert "Coin 11." in screen_text(app)


async def test_keys_score_the_answer_in_view_one_by_one_or_all_in_one_line(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=(80, 24)) as pilot:
        # An answer that is read is none that keys score, until the key for questions is pressed.
        screen = await painted(pilot, 1)
        assert screen.item is not None
        screen.panes.show_pane("response-B")
        await settled(pilot.app)
        assert screen.item is not None
        assert screen.item.at == 0
        assert line_of(app, JudgingKeyLine).startswith("accuracy of answer A: 1 2 ")
        await press(pilot, "t")
        assert screen.item.at == 4
        assert screen.guard.is_painted
        assert "answer B · Accuracy" in line_of(app, ClaimLine)
        assert line_of(app, JudgingKeyLine).startswith("accuracy of answer B: 1 2 ")
        await press(pilot, "3")
        assert len(given(workspace)) == 1
        assert given(workspace)[0][1] == f"answer.accuracy@{MODELS[1]}[retrieval]"
        # Back at an answer, what is still open of it is asked; at a pane of no answer the next question is.
        screen.panes.show_pane("judges")
        await press(pilot, "t")
        assert screen.item.at == 6
        screen.panes.show_pane("response-A")
        await press(pilot, "t")
        assert screen.item is not None
        assert screen.item.at == 0
        assert screen.guard.is_painted
        # All scores of an answer are typed in one line, where none is given any more.
        await pilot.resize_terminal(*SIZE)
        await press(pilot, "u")
        screen.panes.show_pane("response-A")
        await press(pilot, "t", "S")
        assert said(app) == "accuracy _ ◆9 · completeness _ ◆7 · relevance _ ◆10 · clarity _ ◆8"
        await pilot.press("7", "8", "enter")
        assert said(app) == "Not recorded: relevance and clarity have no score yet."
        await pilot.press("x")
        assert said(app) == "'x' is no score: 1 to 10, 0 for 10"
        await pilot.press("backspace", "9", "0", "5")
        assert said(app) == "4 scores are needed, not 5"
        await pilot.press("backspace")
        assert said(app) == "accuracy 7 ◆9 · completeness 8 ◆7 · relevance 9 ◆10 · clarity 10 ◆8"
        await pilot.press("enter")
        assert said(app) == "● 7 8 9 10 for answer A · u undo"
        assert screen.item is not None
        assert screen.item.at == 4
        # One action: an undo takes back all of them, and goes to the first of them.
        await press(pilot, "u")
        assert said(app) == "Undone: 7 8 9 10 for answer A · now no label · U redo"
        assert screen.item is not None
        assert (screen.item.own.labels, screen.item.at) == ({}, 0)
        await press(pilot, "U")
        assert said(app) == "Redone: 7 8 9 10 for answer A · u undo"
        await press(pilot, "t", "t", "t", "t", "S")
        await pilot.press(*"10 2 3 4")
        assert said(app) == "accuracy 10 ◆2 · completeness 2 · relevance 3 ◆7.5 · clarity 4"
        await pilot.press("enter")
        await painted(pilot, 2)
        # Escape records nothing.
        await press(pilot, "S")
        await pilot.press("5", "escape", "u")
        assert said(app).startswith("Undone: 10 2 3 4 for answer B")
        await settled(pilot.app)
    rows = given(workspace)[2:6]
    assert [(row[2], row[3]) for row in rows] == [
        (7, "override"), (8, "override"), (9, "override"), (10, "override")
    ]  # fmt: skip
