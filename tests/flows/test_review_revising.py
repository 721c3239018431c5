"""Rewriting a question or a reference answer in the review: keys, record, panes, restarts, two raters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from app_at_work import until
from kinds import json_lines
from review_bench import line_of, painted, press, review_app, review_of, said, screen_text, settled, text_of
from textual import events
from textual.pilot import Pilot

from screens.app import WorkbenchApp
from screens.review.bars import ReviewKeys
from screens.review.revision_editor import RevisionEditor
from screens.widgets.code_area import CodeArea
from store.importing import import_files
from store.workspace import Workspace

WIDE = (120, 40)
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


def editor(app: WorkbenchApp) -> RevisionEditor:
    """The editor, which must be what is shown."""
    assert isinstance(app.screen, RevisionEditor), app.screen
    return app.screen


async def editing(pilot: Pilot[Any], code: str) -> CodeArea:
    """Open the editor of the text that has a code, and return what is written in."""
    await painted(pilot)
    await pilot.press("e", code)
    await until(pilot, lambda: isinstance(pilot.app.screen, RevisionEditor))
    await pilot.pause()
    return editor(pilot.app).area  # type: ignore[arg-type]


async def revise(pilot: Pilot[Any], code: str, text: str) -> None:
    """Put a text into the editor, and record it."""
    area = await editing(pilot, code)
    await pilot.press("f7", "delete")
    if text:
        area.post_message(events.Paste(text))
    await until(pilot, lambda: area.text == text)
    await pilot.press("ctrl+s")


async def test_a_reference_answer_is_rewritten_shown_undone_and_redone(workspace: Workspace) -> None:
    app = review_app(workspace)
    async with app.run_test(size=WIDE) as pilot:
        await painted(pilot)
        await pilot.press("e")
        assert said(app) == "Edit which text?"
        assert line_of(app, ReviewKeys).startswith("q question · r reference answer · ")
        await pilot.press("escape")
        assert said(app) == "Nothing was edited."
        await revise(pilot, "r", BETTER)
        await painted(pilot)
        await settled(pilot)
        assert said(app) == "✎ reference answer revised · u undo"
        assert text_of(app, "subject") == BETTER
        assert "revised by dana" in screen_text(app)
        assert "dana  revised the reference answer" in text_of(app, "history")
        assert REFERENCE in text_of(app, "revisions")
        await press(pilot, "u")
        await painted(pilot)
        await settled(pilot)
        assert text_of(app, "subject") == REFERENCE
        assert said(app) == "Taken back: revision of the reference answer · U redo"
