"""Revisions of a question or a reference answer: which one stands when, and what the record makes of them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from judging import Desk
from kinds import json_lines, kept
from made_once import built_once
from scopes import scope

from screens.items.answer import load
from screens.items.views import ItemView
from screens.review.text_revisions import describe_changes
from store.errors import JudgmentRefused, RecordsRefused
from store.export.exporting import export
from store.first_look import look
from store.ingest.importing import import_files
from store.kinds.answer import ANSWER
from store.queries.item import load_item
from store.queries.queue import queue_ids, queue_rows
from store.queries.rows import QueueFilter
from store.record.raters import register_kinds
from store.record.revisions import RevisionView, current_texts, without_added_end
from store.workspace.duckdb import Workspace
from store.workspace.journal import journal_path
from store.workspace.recovery import recover

QUESTION = {"id": "q-1", "repository": "tools", "question": "Where?", "answer": "Here."}
REFERENCE = "revision.reference"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    return json_lines(tmp_path / "questions.jsonl", [QUESTION])


@built_once
def stored(tmp_path: Path, questions: Path) -> Path:
    with Workspace.create(tmp_path / "w.duckdb") as made:
        import_files(made, [questions])
        register_kinds(made)
    return made.path


@pytest.fixture
def workspace(stored: Path) -> Any:
    with Workspace.open(stored) as opened:
        yield opened


def view(workspace: Workspace, desk: Desk, *, blind: bool = False) -> ItemView:
    with workspace.reading() as connection:
        return load(connection, scope(desk.rater.id, blind=blind), 1)


def reference(workspace: Workspace) -> RevisionView:
    with workspace.reading() as connection:
        return load_item(connection, scope(0), ANSWER, 1).revisions["reference"]


def test_of_two_raters_the_latest_stands_and_an_undo_shows_the_others_again(workspace: Workspace) -> None:
    dana, ben = Desk(workspace), Desk(workspace, "ben")
    stood = []

    def then(*_: object) -> None:
        seen = reference(workspace)
        stood.append((seen.text, seen.current.rater if seen.current else None))
        # What an export and a start read is the same.
        told = {1: {"reference": seen.text}} if seen.current else {}
        with closing(workspace.native()) as cursor, workspace.reading() as connection:
            assert current_texts(cursor) == current_texts(cursor, [1, 2]) == told
            assert current_texts(connection, [1, 2]) == told

    then(dana.say(1, REFERENCE, text="There."))
    then(ben.say(1, REFERENCE, text="In there."))
    then(dana.say(1, REFERENCE, text="Over there."))
    # What stood before stands again as old as it was: ben wrote later.
    then(dana.undo())
    then(ben.undo())
    then(dana.undo())
    # What is brought back stands as of now.
    then(dana.redo())
    then(ben.redo())
    then(dana.redo())
    then(dana.undo())
    assert stood == [
        ("There.", "dana"),
        ("In there.", "ben"),
        ("Over there.", "dana"),
        ("In there.", "ben"),
        ("There.", "dana"),
        ("Here.", None),
        ("There.", "dana"),
        ("In there.", "ben"),
        ("Over there.", "dana"),
        ("In there.", "ben"),
    ]
    seen = reference(workspace)
    assert seen.imported == "Here."
    assert [(one.text, one.taken_back) for one in seen.versions] == [
        ("There.", False),
        ("In there.", False),
        ("Over there.", True),
    ]


def test_lists_have_the_title_that_stands_and_a_search_finds_every_version(workspace: Workspace) -> None:
    dana = Desk(workspace)

    def title() -> str:
        found = queue_rows(workspace, scope(dana.rater.id), [1])[0].title
        (first,) = look(workspace, "dana", blind=False).rows or ()
        assert first.title == found
        return found

    def found(text: str) -> list[int]:
        return list(queue_ids(workspace, scope(dana.rater.id), QueueFilter(text=text)))

    assert (title(), found("whither"), found("in %there")) == ("Where?", [], [])
    dana.say(1, "revision.question", text="Whither, 100%?")
    dana.say(1, REFERENCE, text="In there.")
    assert title() == "Whither, 100%?"
    assert [found(text) for text in ("whither, 100%", "where", "in THERE", "in %there")] == [
        [1],
        [1],
        [1],
        [],
    ]
    # What was said in a comment is none of the item's texts.
    dana.say(1, "comment", text="an aside")
    assert found("aside") == []
    dana.undo()
    dana.undo()
    dana.undo()
    assert (title(), found("whither")) == ("Where?", [1])


def test_a_label_that_is_older_than_the_text_is_told(workspace: Workspace) -> None:
    dana, ben = Desk(workspace), Desk(workspace, "ben")
    with workspace.reading() as connection:
        entry = load_item(connection, scope(dana.rater.id), ANSWER, 1)
    accuracy, clarity = (entry.question_ids[f"answer.{name}"] for name in ("accuracy", "clarity"))

    def score(question: int, value: int) -> None:
        dana.question = question
        dana.judge(1, value)

    score(accuracy, 8)
    assert describe_changes(view(workspace, dana)) == ""
    ben.say(1, REFERENCE, text="There.")
    changed = "Since you gave accuracy, the reference answer changed."
    assert describe_changes(view(workspace, dana)) == changed
    assert describe_changes(view(workspace, ben)) == ""
    score(clarity, 3)
    assert describe_changes(view(workspace, dana)) == changed
    # With the old text again it is the other label that was given for another text.
    ben.undo()
    assert describe_changes(view(workspace, dana)) == changed.replace("accuracy", "clarity")
    ben.redo()
    # Another label, taken back: what an undo brings back is as old as it was.
    score(accuracy, 2)
    assert describe_changes(view(workspace, dana)) == ""
    dana.undo()
    assert describe_changes(view(workspace, dana)) == changed
    ben.say(1, "revision.question", text="Where is it?")
    told = "Since you gave 2 of your 4 answers, the question and the reference answer changed."
    assert describe_changes(view(workspace, dana)) == told


def test_what_stands_is_shown_with_its_author_and_every_version(workspace: Workspace) -> None:
    dana, ben = Desk(workspace), Desk(workspace, "ben")
    ben.say(1, REFERENCE, text="Here, by and by.")
    ben.say(1, "revision.question", text="Where is it?")
    seen = view(workspace, dana)
    panes = {pane.id: pane for pane in seen.case}
    assert (seen.prompt, seen.prompt_word) == ("Where is it?", "question · revised by ben")
    assert (seen.subject.text, seen.subject.title) == (
        "Here, by and by.",
        "Reference answer · revised by ben · tools",
    )
    edits = panes["revisions"]
    heads = [line for line in edits.text.split("\n") if line.startswith("──")]
    assert [head.split(" · ")[:2] for head in heads] == [
        ["── question", "as imported ──"],
        ["── question", "revised by ben"],
        ["── reference answer", "as imported ──"],
        ["── reference answer", "revised by ben"],
    ]
    marked = [edits.text[span.start : span.end] for span in edits.spans]
    assert marked == [" is it", ", by and by"]
    assert "ben  revised the reference answer · independent" in panes["history"].text
    assert "by and by" not in panes["history"].text
    blind = view(workspace, dana, blind=True)
    assert blind.subject.title == "Reference answer · revised by another rater · tools"
    assert "ben" not in "".join(pane.text for pane in blind.case)
    ben.say(1, REFERENCE, text="Here.")
    assert view(workspace, dana).subject.title == "Reference answer · imported text again, by ben · tools"
    ben.say(1, REFERENCE, text="")
    # Without a reference the question has nothing but itself; the answer that was imported is still there.
    emptied = view(workspace, dana)
    assert (emptied.subject.text, emptied.editable[1].imported) == ("", "Here.")
    assert "(empty)" in next(pane.text for pane in emptied.case if pane.id == "revisions")


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("revision.question", " \n", "The question cannot be empty."),
        (
            "revision.url",
            "x",
            "The url of repository questions cannot be revised; question and reference can.",
        ),
    ],
)
def test_what_cannot_be_rewritten_is_refused(workspace: Workspace, kind: str, text: str, why: str) -> None:
    with pytest.raises(JudgmentRefused, match=why):
        Desk(workspace).say(1, kind, text=text)
    assert kept(workspace, "mark") == {"mark": []}


def test_revisions_come_back_from_the_journal_and_from_the_record(
    workspace: Workspace, questions: Path, tmp_path: Path
) -> None:
    dana, ben = Desk(workspace), Desk(workspace, "ben")
    dana.say(1, REFERENCE, text="There.\n")
    ben.say(1, REFERENCE, text="")
    ben.undo()
    dana.say(1, "revision.question", text="Where is it?")
    before, stands = kept(workspace, "mark"), reference(workspace)
    record = tmp_path / "record.jsonl"
    export(workspace, record, "jsonl")
    for name, take in (
        ("journal", lambda fresh: recover(fresh, journal_path(workspace.path))),
        ("record", lambda fresh: import_files(fresh, [record])),
    ):
        (tmp_path / name).mkdir()
        with Workspace.create(tmp_path / name / "w.duckdb") as fresh:
            import_files(fresh, [questions])
            take(fresh)
            assert kept(fresh, "mark") == before, name
            assert reference(fresh).text == stands.text == "There.\n"
            # Both raters can go on where they were.
            assert Desk(fresh, "ben").redo() is not None
            assert reference(fresh).text == ""


@pytest.mark.parametrize(
    ("was", "now", "why"),
    [
        ('"mark": "revision.reference"', '"mark": "revision.url"', "unknown mark 'revision.url'"),
        ('"mark": "revision.reference"', '"mark": "praise"', "unknown mark 'praise'"),
        ('"mark": "revision.reference"', '"mark": "revision.question"', "this text cannot be empty"),
    ],
)
def test_a_record_of_other_revisions_is_refused(
    workspace: Workspace, questions: Path, tmp_path: Path, was: str, now: str, why: str
) -> None:
    Desk(workspace).say(1, REFERENCE, text="")
    record = tmp_path / "record.jsonl"
    export(workspace, record, "jsonl")
    text = record.read_text("utf-8")
    assert was in text or was.replace(": ", ":") in text
    record.write_text(text.replace(was, now).replace(was.replace(": ", ":"), now), "utf-8")
    (tmp_path / "fresh").mkdir()
    with Workspace.create(tmp_path / "fresh" / "w.duckdb") as fresh:
        import_files(fresh, [questions])
        with pytest.raises(RecordsRefused, match=why):
            import_files(fresh, [record])


def test_a_line_feed_that_an_editor_adds_is_no_part_of_the_text() -> None:
    assert without_added_end("a\n", "a") == "a"
    assert without_added_end("a\n\n", "b") == "a\n"
    assert without_added_end("a\n", "a\n") == "a\n"
    assert without_added_end("a", "a\n") == "a"
