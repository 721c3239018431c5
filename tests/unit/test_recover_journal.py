"""Recovery: what the journal tells is in the workspace again, each record once."""

import json
from pathlib import Path

import pytest
from sqlalchemy import select

from store.errors import WorkspaceError
from store.events import Progress
from store.ids import now
from store.importing import import_files
from store.journal import journal_path
from store.raters import ensure_rater, question_number
from store.recording import Action, Recorder
from store.recovery import journal_ahead, recover
from store.tables.columns import table_of
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow
from store.workspace import Workspace

RECORDS = (
    "SELECT j.id, j.action, i.external_id, r.name, j.value, j.origin, j.supersedes, j.target_action, "
    "j.restores, j.comment, j.guideline_id, j.created_at::VARCHAR FROM judgment j "
    "JOIN item i ON i.id = j.item_id JOIN rater r ON r.id = j.rater_id ORDER BY j.id"
)
MARKS = (
    "SELECT m.id, i.external_id, r.name, m.kind, m.active, m.text FROM mark m "
    "JOIN item i ON i.id = m.item_id JOIN rater r ON r.id = m.rater_id ORDER BY m.id"
)


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.jsonl"
    records = [{"id": f"p{n}", "query": "q", "code": f"c{n}"} for n in range(3)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def judged(tmp_path, pairs):
    """A workspace in which dana judged, undid, redid and marked; its journal tells of it."""
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        import_files(workspace, [pairs])
        recorder = Recorder(workspace, ensure_rater(workspace, "dana"))
        judge(workspace, recorder, 1, 1)
        judge(workspace, recorder, 2, 0)
        recorder.undo().result()
        recorder.redo().result()
        number = workspace.ids.next()
        mark = Mark(
            id=number,
            action=number,
            item_id=3,
            rater_id=recorder.rater.id,
            kind="flag",
            text="odd",
            created_at=now(),
        )
        recorder.submit(Action(number, (mark,))).result()
        yield workspace


def judge(workspace, recorder, item, value):
    with workspace.reading() as connection:
        question = question_number(connection, "pair.match")
    number = workspace.ids.next()
    record = Judgment(
        id=number,
        action=number,
        item_id=item,
        question_id=question,
        rater_id=recorder.rater.id,
        value=value,
        comment="said\nso",
        guideline_id=1,
        created_at=now(),
    )
    recorder.submit(Action(number, (record,))).result()


def contents(workspace):
    cursor = workspace.native()
    try:
        return [cursor.execute(statement).fetchall() for statement in (RECORDS, MARKS)]
    finally:
        cursor.close()


def test_a_new_workspace_gets_every_record_once(judged, tmp_path, pairs):
    before = contents(judged)
    (tmp_path / "new").mkdir()
    with Workspace.create(tmp_path / "new" / "w.duckdb") as fresh:
        import_files(fresh, [pairs])
        ensure_rater(fresh, "somebody else")
        told = []
        report = recover(fresh, journal_path(judged.path), progress=told.append)
        assert (report.added, report.known, report.unreadable, report.homeless) == (5, 0, (), ())
        assert contents(fresh) == before
        assert all(isinstance(event, Progress) for event in told)
        again = recover(fresh, journal_path(judged.path))
        assert (again.added, again.known, again.lines) == (0, 5, 5)
        assert contents(fresh) == before
        assert fresh.ids.next() > max(row[0] for rows in before for row in rows)


def test_undo_goes_on_after_a_recovery(judged, tmp_path, pairs):
    (tmp_path / "new").mkdir()
    with Workspace.create(tmp_path / "new" / "w.duckdb") as fresh:
        import_files(fresh, [pairs])
        recover(fresh, journal_path(judged.path))
        recorder = Recorder(fresh, ensure_rater(fresh, "dana"))
        first, second = recorder.undo().result(), recorder.undo().result()
        assert isinstance(first.records[0], Mark)
        assert (second.item_id, second.records[0].value) == (2, None)


def test_torn_and_foreign_lines_are_named_and_passed_over(judged, tmp_path, pairs):
    lines = journal_path(judged.path).read_text().splitlines(keepends=True)
    damaged = tmp_path / "damaged.jsonl"
    foreign = json.dumps({"v": 1, "type": "judgment", "record": {}}) + "\n"
    newer = lines[0].replace('"v": 1', '"v": 99')
    damaged.write_text(
        lines[0] + lines[1][:40] + "\n\n" + foreign + newer + "".join(lines[1:]) + lines[0][:20]
    )
    (tmp_path / "new").mkdir()
    with Workspace.create(tmp_path / "new" / "w.duckdb") as fresh:
        import_files(fresh, [pairs])
        report = recover(fresh, damaged)
        assert (report.added, report.unreadable) == (5, (2, 4, 5, 10))
        assert contents(fresh) == contents(judged)


def test_records_without_their_item_are_put_aside_and_found_a_home_later(judged, tmp_path, pairs):
    (tmp_path / "new").mkdir()
    some = tmp_path / "some.jsonl"
    lines = pairs.read_text().splitlines(keepends=True)
    other = json.dumps({"id": "p1", "query": "q", "code": "something else"}) + "\n"
    some.write_text(lines[0] + other)
    with Workspace.create(tmp_path / "new" / "w.duckdb") as fresh:
        import_files(fresh, [some])
        report = recover(fresh, journal_path(judged.path))
        assert report.added == 1
        reasons = dict(report.homeless)
        assert "other content" in reasons[2]
        assert "no pair 'p2'" in reasons[5]
        assert len(reasons) == 4
        aside = [json.loads(line) for line in Path(report.aside).read_text().splitlines()]
        assert [line["item"] for line in aside] == ["p1", "p1", "p1", "p2"]
    with Workspace.create(tmp_path / "new" / "v.duckdb") as whole:
        import_files(whole, [pairs])
        assert recover(whole, report.aside).added == 4


def test_how_far_the_journal_is_ahead_is_told(judged):
    assert journal_ahead(judged) == 0

    def forget(connection):
        latest = connection.execute(select(table_of(MarkRow).c.id)).scalar()
        connection.execute(table_of(MarkRow).delete().where(table_of(MarkRow).c.id == latest))
        first = connection.execute(
            select(table_of(JudgmentRow).c.id).order_by(table_of(JudgmentRow).c.id)
        ).scalar()
        connection.execute(table_of(JudgmentRow).delete().where(table_of(JudgmentRow).c.id == first))

    judged.lane.submit(forget).result()
    assert journal_ahead(judged) == 2
    assert recover(judged).added == 2
    assert journal_ahead(judged) == 0


def test_a_record_that_was_journaled_but_never_committed_comes_back(judged):
    """The journal is written before the commit, so a crash between the two leaves it ahead."""
    line = json.loads(journal_path(judged.path).read_text().splitlines()[0])
    number = str(judged.ids.next())
    line["record"] |= {"id": number, "action": number, "value": 0.0}
    with journal_path(judged.path).open("a") as journal:
        journal.write(json.dumps(line) + "\n")
    assert journal_ahead(judged) == 1
    assert recover(judged).added == 1
    assert str(contents(judged)[0][-1][0]) == number


def test_without_a_journal_there_is_nothing_ahead_and_nothing_to_recover(tmp_path):
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        assert journal_ahead(workspace) == 0
        with pytest.raises(WorkspaceError, match="There is no journal"):
            recover(workspace)
