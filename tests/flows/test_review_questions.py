"""Items that are asked several questions: one after another, each by the keys of its own scale."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from entry_bench import given
from review_bench import line_of, marks, painted, press, review_app, review_of, said, screen_text
from scopes import scope
from settling import settled
from several_kinds import three_kinds
from textual import events
from textual.pilot import Pilot
from textual.widgets import OptionList

from screens.app import WorkbenchApp
from screens.judging.keys import JudgingKeyLine
from screens.review.bars import ClaimLine
from screens.settings import ScreenSettings
from store.queries.queue import queue_rows
from store.workspace.duckdb import Workspace

SIZE = (120, 40)


@pytest.fixture
def kinds(tmp_path: Path) -> Iterator[Workspace]:
    with three_kinds(tmp_path) as workspace:
        yield workspace


async def asked(pilot: Pilot[Any], item: int, question: int) -> None:
    """Wait until a question of an item is on the screen, both counted from 1."""
    screen = await painted(pilot, item)
    await settled(pilot.app)
    assert screen.guard.is_painted
    assert screen.item is not None
    assert screen.item.at == question - 1


async def test_three_questions_are_asked_one_after_another_and_undone(kinds: Workspace) -> None:
    app = review_app(kinds, at=1)
    recorded: list[tuple[Any, ...]] = []
    async with app.run_test(size=(80, 24)) as pilot:
        for item, size in ((2, (80, 24)), (3, SIZE)):
            await pilot.resize_terminal(*size)
            await asked(pilot, item, 1)
            assert line_of(app, JudgingKeyLine).startswith(
                "cross file: a yes · b this file is enough · c no such"
            )
            assert " 1 of 3 · Does the reference use a name" in line_of(app, ClaimLine)
            assert line_of(app, ClaimLine).rstrip().endswith("[○] · ○ · ○")
            await pilot.press("a")
            await asked(pilot, item, 2)
            assert said(app) == f"● cross file: A yes · sum/{item - 1} · u undo"
            assert line_of(app, JudgingKeyLine).startswith("predictable: a no · b nearly · c yes")
            # A key that is a value is no comment and no acceptance while the question is asked.
            await pilot.press("c")
            await asked(pilot, item, 3)
            assert "● A yes · ● C yes · [○]" in line_of(app, ClaimLine)
            assert "2 of 3" not in line_of(app, ClaimLine)
            await pilot.press("b")
            await asked(pilot, item + 1, 1)
            recorded += [
                (item, "completion.cross_file", 1, "independent", ""),
                (item, "completion.predictable", 3, "independent", ""),
                (item, "completion.keep", 2, "independent", ""),
            ]
            assert given(kinds) == recorded
            row = queue_rows(kinds, scope(app.context.rater.id), [item])[0]  # type: ignore[union-attr]
            assert (row.status, row.label, row.answered, row.required) == ("judged", 2, 3, 3)
        # An undo goes to the item and the question.
        await pilot.press("u")
        await asked(pilot, 3, 3)
        assert said(app) == "Undone: keep B unsure · now no label · U redo"
        await pilot.press("u")
        await asked(pilot, 3, 2)
        assert "● A yes · [○] · ○" in line_of(app, ClaimLine)
        await pilot.press("U")
        assert said(app).startswith("Redone: predictable C yes")
        await asked(pilot, 3, 2)


async def test_keys_that_are_no_values_do_what_they_do_elsewhere(kinds: Workspace) -> None:
    app = review_app(kinds, at=1)
    async with app.run_test(size=SIZE) as pilot:
        await asked(pilot, 2, 1)
        assert "m comment" in line_of(app, JudgingKeyLine)
        await pilot.press("m", *"so so", "enter")
        await press(pilot, "f", "t")
        await asked(pilot, 2, 2)
        await press(pilot, "t", "t")
        await asked(pilot, 2, 1)
        await press(pilot, "T")
        await asked(pilot, 2, 3)
        await press(pilot, "p")
        await asked(pilot, 1, 1)
        assert "m comment" in line_of(app, JudgingKeyLine)
        # A value of a completion's question is none of a pair's, and no other command's key either.
        await pilot.press("c")
        assert not app.screen.query_one("#comment").display
        await pilot.press("m")
        assert app.screen.query_one("#comment").display
        await pilot.press("escape", "t")
        assert said(app) == "This item is asked one question."
        # What a pair is not asked says so by its key, and has no name in the palette.
        await pilot.press("5")
        assert said(app) == "5 is not an answer here. Its keys: 1 match · 0 no match."
        await settled(pilot.app)
        assert not [row for row in given(kinds) if row[0] == 1]
        await pilot.press("ctrl+p", *"give the label")
        assert "Give the label 1 match." in screen_text(app)
        assert app.screen.query_one(OptionList).option_count == 2
        await pilot.press("escape")
        # What is not answered yet is asked first, also after what was asked by hand.
        await press(pilot, "n", "T", "a")
        await asked(pilot, 2, 1)
        await settled(pilot.app)
        assert [each[:4] for each in marks(kinds)] == [(2, "comment", True, "so so"), (2, "flag", True, "")]
        assert given(kinds) == [(2, "completion.keep", 1, "independent", "")]


async def test_a_judges_scores_are_accepted_and_overridden_one_by_one(kinds: Workspace) -> None:
    app = review_app(kinds, at=4)
    async with app.run_test(size=SIZE) as pilot:
        await asked(pilot, 5, 1)
        screen = review_of(app)
        assert screen.item is not None
        scored = next(
            place for place, question in enumerate(screen.item.questions) if question.claim is not None
        )
        for _ in range(scored):
            await press(pilot, "t")
        await asked(pilot, 5, scored + 1)
        assert f" {scored + 1} of 8 · {screen.item.current.about}" in line_of(app, ClaimLine)
        assert "◆ judge: 3 serious errors · its accuracy is low" in line_of(app, ClaimLine)
        await pilot.press("a")
        await asked(pilot, 5, scored + 2)
        assert said(app).startswith(
            f"● accuracy of {screen.item.current.about}: 3 serious errors · accepts ◆"
        )
        await pilot.press("0")
        await asked(pilot, 5, scored + 3)
        assert "overrides ◆" in said(app)
        assert "w judge overlooks an error" in line_of(app, JudgingKeyLine)
        # The reason is that of the label that was given, not of the question on the screen.
        await pilot.press("i")
        assert said(app).startswith("Reason: judge sees a false error")
        await press(pilot, "T")
        assert screen.item.label is not None
        assert screen.item.label.reason == "judge sees a false error"
        await press(pilot, "o")
        assert said(app) == "Why another label than ◆? Now: judge sees a false error."
        await press(pilot, "c")
        assert said(app).startswith("Reason: reason and score disagree")
        await settled(pilot.app)
    assert given(kinds) == [
        (5, "answer.accuracy@two%23", 3, "accept", ""),
        (5, "answer.completeness@two%23", 10, "override", ""),
        (5, "answer.completeness@two%23", 10, "override", "judge sees a false error"),
        (5, "answer.completeness@two%23", 10, "override", "reason and score disagree"),
    ]


async def test_answers_of_hidden_models_are_told_apart(kinds: Workspace) -> None:
    """Their questions have one name on the screen, and go to the record under their own."""
    app = review_app(kinds, at=4, blind=True)
    async with app.run_test(size=SIZE) as pilot:
        await asked(pilot, 5, 1)
        screen = review_of(app)
        for place in range(5):
            await asked(pilot, 5, place + 1)
            await pilot.press(f"{place + 1}")
        await asked(pilot, 5, 6)
        await settled(pilot.app)
        # What was read again stays at the question that is asked.
        await press(pilot, "f")
        assert screen.item is not None
        assert (screen.item.at, screen.item.own.flagged) == (5, True)
        await press(pilot, "u", "u")
        await asked(pilot, 5, 5)
        assert "two" not in screen_text(app)
        assert "home" not in screen_text(app)
        await settled(pilot.app)
    found = [(name.partition("@")[0], value) for _, name, value, _, _ in given(kinds)]
    counts = ("accuracy", "completeness", "relevance", "clarity", "accuracy")
    assert found[:5] == [(f"answer.{count}", number) for number, count in enumerate(counts, start=1)]
    assert len({name for _, name, _, _, _ in given(kinds)}) == 5


async def test_no_key_answers_a_question_that_was_not_on_the_screen(kinds: Workspace) -> None:
    app = review_app(kinds, at=0)
    async with app.run_test(size=SIZE) as pilot:
        # `a` accepts on a pair: typed there and handled on a completion, it answers nothing.
        await painted(pilot, 1)
        before = time.monotonic()
        await pilot.pause(0.01)  # Keys a millisecond apart are taken for pasted text.
        await press(pilot, "n")
        await asked(pilot, 2, 1)
        event = events.Key("a", "a")
        event.time = before
        event.set_sender(app)
        app.post_message(event)
        await settled(pilot.app)
        assert said(app).startswith("Not recorded: the item was not on the screen")
        assert given(kinds) == []
        # Nor does the second of two keys answer the question that the first one brings.
        now = time.monotonic()
        for after in (0.0, 0.005):
            event = events.Key("b", "b")
            event.time = now + after
            event.set_sender(app)
            app.post_message(event)
        await asked(pilot, 2, 2)
        await settled(pilot.app)
        assert said(app) == "Not recorded: the question was not on the screen when you pressed. Press again."
        assert given(kinds) == [(2, "completion.cross_file", 2, "independent", "")]
        # Once it is there, the key that came first is not taken for it either.
        event = events.Key("c", "c")
        event.time = now
        event.set_sender(app)
        app.post_message(event)
        await pilot.pause()
        await settled(pilot.app)
        assert len(given(kinds)) == 1
        assert marks(kinds) == []


@pytest.mark.parametrize(
    ("keys", "answer", "comment"),
    [
        ({"review.accept": "l"}, "a", "m"),
        ({"review.label_a": "l"}, "l", "m"),
        ({"review.comment": "l"}, "a", "l"),
        ({"review.label_c": "l"}, "a", "m"),
    ],
)
async def test_keys_that_two_commands_share_can_be_others(
    kinds: Workspace, keys: dict[str, str], answer: str, comment: str
) -> None:
    app = review_app(kinds, at=1, settings=ScreenSettings(keys=keys))
    async with app.run_test(size=SIZE) as pilot:
        await asked(pilot, 2, 1)
        await pilot.press(answer)
        await asked(pilot, 2, 2)
        await press(pilot, "p")
        await painted(pilot, 1)
        await pilot.press(comment)
        assert app.screen.query_one("#comment").display
        await pilot.press("escape")
        await pilot.press(keys.get("review.accept", "a"))
        assert said(app).startswith("Nothing to accept")
        await settled(pilot.app)
        assert given(kinds) == [(2, "completion.cross_file", 1, "independent", "")]


async def test_lines_are_cited_for_one_question_and_a_review_goes_on_at_the_next(kinds: Workspace) -> None:
    app = review_app(kinds, at=1)
    async with app.run_test(size=SIZE) as pilot:
        await asked(pilot, 2, 1)
        screen = review_of(app)
        await press(pilot, "v", "v")
        assert len(screen.citations.cited) == 1
        cited = screen.citations.cited
        await pilot.press("a")
        await asked(pilot, 2, 2)
        assert screen.citations.cited == ()
        await press(pilot, "T")
        assert screen.citations.cited == cited
        await press(pilot, "t", "b")
        assert screen.item is not None
        labels = list(screen.item.own.labels.values())
        assert [label.citations for label in labels] == [cited, ()]
        await asked(pilot, 2, 3)
        await pilot.press("q")
    # The review goes on at the first open question.
    again = review_app(kinds, at=None)
    async with again.run_test(size=SIZE) as pilot:
        await settled(pilot.app)
        screen = review_of(again)
        assert screen.guard.is_painted
        assert screen.item is not None
        assert (screen.item.item_id, screen.item.at) == (2, 2)


async def test_without_a_rater_questions_can_be_looked_through(kinds: Workspace) -> None:
    app: WorkbenchApp = review_app(kinds, at=4, rater=None)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = review_of(app)
        await settled(pilot.app)
        assert screen.guard.is_painted
        await pilot.press("t")
        assert screen.item is not None
        assert screen.item.at == 1
        assert screen.guard.is_painted
        await pilot.press("1")
        assert "No rater" in said(app)
        assert "Completeness: " in screen_text(app)
    assert given(kinds) == []
