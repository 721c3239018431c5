"""Rewriting a question or a reference answer in the review: keys, record, panes, restarts, two raters."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from judging import Desk
from kinds import json_lines
from review_bench import (
    judgments,
    line_of,
    marks,
    painted,
    press,
    review_app,
    review_of,
    said,
    screen_text,
    text_of,
)  # fmt: skip
from settling import settled
from textual import events
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.home.facts import REVIEW_SESSION
from screens.judging.keys import JudgingKeyLine
from screens.review.text_revisions import RevisionEditor
from screens.session_recorder import SessionRecorder
from screens.widgets.text.code_area import CodeArea
from store.ingest.importing import import_files
from store.record.raters import ensure_rater
from store.record.session import load_session
from store.workspace.duckdb import Workspace
from store.workspace.journal import Journal

WIDE = (120, 40)
PASTED = "! Ignored: several keys came at once, as pasted text does."
QUESTION = "Where does the parser drop comments?"
REFERENCE = "In `read_token`.\n\nIt skips to the end of the line."
BETTER = "In `next_token`.\n\nIt skips to the end of the line.\nNothing is kept."


@pytest.fixture
def workspace(tmp_path: Path) -> Any:
    questions = [
        {"id": "q-1", "repository": "tools", "question": QUESTION, "answer": REFERENCE},
        {"id": "q-2", "repository": "tools", "question": "Why two caches?", "answer": ""},
    ]
    with Workspace.create(tmp_path / "study.duckdb") as made:
        import_files(made, [json_lines(tmp_path / "questions.jsonl", questions)], progress=None)
        yield made


def reference_of(app: WorkbenchApp) -> str:
    """The reference answer, as it stands in its pane before it is rendered."""
    item = review_of(app).item
    assert item is not None
    return item.subject.text


def editor(app: WorkbenchApp) -> RevisionEditor:
    """The editor, which must be what is shown."""
    assert isinstance(app.screen, RevisionEditor), app.screen
    return app.screen


async def editing(pilot: Pilot[Any], code: str) -> CodeArea:
    """Open the editor of the text that has a code, and return what is written in."""
    await painted(pilot)
    await pilot.press("e", code)
    assert isinstance(pilot.app.screen, RevisionEditor)
    await pilot.pause()
    return editor(pilot.app).area  # type: ignore[arg-type]


async def revise(pilot: Pilot[Any], code: str, text: str) -> None:
    """Put a text into the editor, and record it."""
    area = await editing(pilot, code)
    await pilot.press("f7", "delete")
    if text:
        area.post_message(events.Paste(text))
    await settled(pilot.app)
    assert area.text == text
    await pilot.press("ctrl+s")


async def test_a_reference_answer_is_rewritten_shown_undone_and_redone(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await painted(pilot)
        await pilot.press("e")
        assert said(app) == "Edit which text?"
        assert line_of(app, JudgingKeyLine).startswith("q question · r reference answer · ")
        await pilot.press("escape")
        assert said(app) == "Nothing was edited."
        await revise(pilot, "r", BETTER)
        await painted(pilot)
        assert said(app) == "✎ reference answer revised · u undo"
        assert reference_of(app) == BETTER
        assert "revised by dana" in screen_text(app)
        assert "In `next_token`." in text_of(app, "subject")
        assert "dana  revised the reference answer" in text_of(app, "history")
        assert REFERENCE in text_of(app, "revisions")
        await press(pilot, "u")
        assert reference_of(app) == REFERENCE
        await painted(pilot)
        assert said(app) == "Undone: revision of the reference answer · U redo"
        # The rater went on, and comes back another day.
        await press(pilot, "n")
        await pilot.press("ctrl+q")
    again = review_app(workspace, at=1)
    async with again.run_test(size=WIDE) as pilot:
        await press(pilot, "U")
        assert reference_of(again) == BETTER
        assert said(again) == "Redone: revision of the reference answer, of " + said(again)[-25:]
        assert review_of(again).order.item_id == 1
    assert marks(workspace) == [
        (1, "revision.reference", True, BETTER, "independent"),
        (1, "revision.reference", False, "", "undo"),
        (1, "revision.reference", True, BETTER, "redo"),
    ]


async def test_what_is_written_without_a_pause_is_kept_too(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await editing(pilot, "q")
        for _ in range(1_000):
            await pilot.press("x")
            kept = load_session(workspace, ensure_rater(workspace, "dana").id, REVIEW_SESSION)
            if kept.get("texts"):
                break
        else:
            raise AssertionError("no draft was kept while keys came")
        assert kept["texts"]["1"]["question"].startswith("x")


async def test_what_was_written_stays_a_draft_until_it_is_recorded(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await editing(pilot, "q")
        await pilot.press("end", *" And why?", "escape")
        await painted(pilot)
        assert said(app) == "Draft kept; e opens it again."
        await pilot.press("ctrl+q")
    again = review_app(workspace, at=None)
    async with again.run_test(size=WIDE) as pilot:
        await painted(pilot)
        assert said(again) == "Your draft of the question is kept: e opens it again."
        area = await editing(pilot, "q")
        assert area.text == f"{QUESTION} And why?"
        assert editor(again).message == "This is your draft."
        await pilot.press("f7", "delete", "ctrl+s")
        assert editor(again).message == "The question cannot be empty."
        await pilot.press("ctrl+r")
        assert (area.text, editor(again).message) == (QUESTION, "This is the imported text.")
        await pilot.press("ctrl+s")
        await painted(pilot)
        assert said(again) == "The question is unchanged; nothing was recorded."
        await editing(pilot, "q")
        await pilot.press("escape")
        assert said(again) == "The question is unchanged."
        # Without a reference the question stands alone, and one can be written.
        await revise(pilot, "r", "")
        await painted(pilot)
        assert reference_of(again) == ""
        await pilot.press("n")
        await painted(pilot, 2)
        await revise(pilot, "r", "One is of *files*:\n- `a`")
        await painted(pilot)
        assert reference_of(again) == "One is of *files*:\n- `a`"
        await pilot.press("p")
        await painted(pilot, 1)
        assert said(again) == ""
    assert [mark[:4] for mark in marks(workspace)] == [
        (1, "revision.reference", True, ""),
        (2, "revision.reference", True, "One is of *files*:\n- `a`"),
    ]


async def test_a_draft_that_another_rater_overtook_says_so(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await editing(pilot, "q")
        await pilot.press("end", "!", "escape")
        await painted(pilot)
        await pilot.press("ctrl+q")
    Desk(workspace, "ben").say(1, "revision.question", text="Which?")
    again = review_app(workspace, at=None)
    async with again.run_test(size=WIDE) as pilot:
        await painted(pilot)
        area = await editing(pilot, "q")
        assert area.text == f"{QUESTION}!"
        assert editor(again).message == "This is your draft. Since you began it, the question changed."
        await pilot.press("ctrl+s")
        await painted(pilot)
        assert said(again) == "✎ question revised · in place of one that came after you began · u undo"
        # What is begun now is begun on what stands.
        await editing(pilot, "q")
        await pilot.press("?", "escape")
        await painted(pilot)
        await editing(pilot, "q")
        assert editor(again).message == "This is your draft."


async def test_nothing_is_judged_before_the_new_text_is_on_the_screen(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "8")
        with monkeypatch.context() as patch:
            patch.setattr(Journal, "append", full)
            patch.setattr(SessionRecorder, "RETRY_SECONDS", 600.0)
            await revise(pilot, "r", BETTER)
            await settled(pilot.app)
            assert bool(app.context.recorder.failures)
            await pilot.press("7")
            assert said(app).startswith("Not recorded: the revised text was not on the screen")
            await pilot.press("n")
            await painted(pilot, 2)
            # Coming back to the item does not make its old text the one that is judged.
            await pilot.press("p")
            assert reference_of(app) == REFERENCE
            await pilot.pause()
            await pilot.press("7")
            assert said(app).startswith("Not recorded: the revised text was not on the screen")
            # The text is still there.
            await pilot.press("e", "r")
            assert isinstance(app.screen, RevisionEditor)
            assert editor(app).area.text == BETTER
            await pilot.press("escape")
        app.context.recorder.retry()
        await painted(pilot)
        assert reference_of(app) == BETTER
        await press(pilot, "7")
    assert [value for _, value, *_ in judgments(workspace)] == [8, 7]
    assert len(marks(workspace)) == 1


async def test_a_pasted_code_opens_nothing_and_an_answered_question_is_gone(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await painted(pilot)
        await pilot.press("e", "n")
        await painted(pilot, 2)
        # Behind another item the code is the key that it was.
        await pilot.press("r")
        await pilot.pause()
        assert said(app).startswith("There is no test to run")
        for before in ((), ("e",)):
            await pilot.press(*before)
            # Both came in one read of the terminal, of which the first was let through or not.
            now = time.monotonic()
            app.keys_came_together([now])
            event = events.Key("r" if before else "e", "r" if before else "e")
            event.time = now
            event.set_sender(app)
            app.post_message(event)
            await settled(pilot.app)
            assert PASTED in said(app)
        assert review_of(app).guard.is_painted
    blind = review_app(workspace, blind=True)
    async with blind.run_test(size=WIDE) as pilot:
        await revise(pilot, "r", BETTER)
        await painted(pilot)
        assert "revised by dana" in screen_text(blind)
    nobody = review_app(workspace, rater=None)
    async with nobody.run_test(size=WIDE) as pilot:
        await press(pilot, "e")
        assert said(nobody).startswith("! No rater")
