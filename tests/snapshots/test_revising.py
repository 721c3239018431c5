"""Pictures of rewriting a reference answer: its editor, and every version with what changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kinds import json_lines
from pictures import NARROW, WIDE, Sizes, at
from review_bench import painted, press, review_app, review_of
from settling import settled
from small_workspace import BEGAN
from textual.pilot import Pilot

from screens.judging.judgment_builder import SessionProgress
from screens.review.text_revisions import RevisionEditor
from store.ingest.importing import import_files
from store.record.actions import Action, Recorder
from store.record.raters import ensure_rater
from store.tables.record import Mark
from store.workspace.duckdb import Workspace

QUESTION = {
    "id": "lines/12",
    "repository": "own/lines",
    "question": "Where does the parser drop comments, and why does a `#` in a text survive?",
    "answer": (
        "In `read_token`: it skips to the end of the line when it meets a `#`.\n\n"
        "A text is read by `read_text`, which knows nothing of comments:\n\n"
        "```python\nwhile (sign := self.next()) != quote:\n    text += sign\n```\n\nSo the `#` is kept."
    ),
}
REVISED = QUESTION["answer"].replace("read_token", "next_token").replace("So the", "Therefore the")
ANSWER = {"question_id": "lines/12", "model": "own-model", "answer": "In the tokenizer, somewhere."}

Snap = Callable[..., bool]


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setattr(SessionProgress, "pace", property(lambda _: 48.0))
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def workspace(tmp_path: Path) -> Any:
    files = [json_lines(tmp_path / "questions.jsonl", [QUESTION])]
    files.append(json_lines(tmp_path / "answers.jsonl", [ANSWER]))
    with Workspace.create(tmp_path / "study.duckdb") as made:
        import_files(made, files)
        ben, ids = ensure_rater(made, "ben"), made.ids
        mark = {"item_id": 1, "rater_id": ben.id, "kind": "revision.reference", "created_at": BEGAN}
        record = Mark(id=ids.next(), action=ids.next(), text=REVISED, **mark)
        Recorder(made, ben).submit(Action(record.action, (record,))).result()
        yield made


async def editor_opened(pilot: Pilot[Any]) -> None:
    await painted(pilot)
    await pilot.press("e", "r")
    assert isinstance(pilot.app.screen, RevisionEditor)
    await pilot.press("down", "down", "end", *" None")
    area = pilot.app.screen.area  # type: ignore[attr-defined]
    area.cursor_blink = False
    await pilot.pause()


async def edits_shown(pilot: Pilot[Any]) -> None:
    await press(pilot, "7")
    review_of(pilot.app).panes.show_pane("revisions")  # type: ignore[arg-type]
    await settled(pilot.app)


@at(NARROW, WIDE)
@pytest.mark.parametrize("state", [editor_opened, edits_shown], ids=["editor", "edits"])
def test_revising(snap_compare: Snap, workspace: Workspace, state: Any, sizes: Sizes) -> None:
    assert snap_compare(review_app(workspace), sizes=sizes, run_before=state)
