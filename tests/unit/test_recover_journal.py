"""Recovery: what the journal tells is in the workspace again, each record once."""

import json
import os
from pathlib import Path

import pytest
from judging import EVIDENCE, Desk, judgments, marks
from scopes import scope
from sqlalchemy import select

from screens.judging.judgment_builder import JudgmentBuilder
from store.errors import WorkspaceError
from store.events import Progress
from store.ingest.importing import import_files
from store.queries.expert_runs import expert_runs
from store.record.actions import Action, Recorder
from store.record.expert_runs import record_expert_run
from store.record.ids import now
from store.record.raters import ensure_rater, question_number
from store.tables.columns import table_of
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow
from store.tables.runs import Execution, TestOutcomeRow
from store.workspace.duckdb import Workspace
from store.workspace.journal import journal_path
from store.workspace.recovery import journal_ahead, recover

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


def test_the_test_that_an_expert_ran_comes_back_with_its_outcomes(judged, pairs, tmp_path):
    rater = ensure_rater(judged, "dana")
    number = judged.ids.next()
    execution = Execution(
        id=number, item_id=2, rater_id=rater.id, program="assert 1\n", program_digest="d", sandbox="bubblewrap",
        environment="ab12", exit_reason="ok", executable=True, created_at=now(),
    )  # fmt: skip
    outcome = TestOutcomeRow(
        execution_id=number, position=0, name="one", outcome="passed", discriminates=False
    )
    record_expert_run(judged, rater, execution, [outcome]).result()
    with Workspace.create(tmp_path / "other.duckdb") as other:
        import_files(other, [pairs])
        journal = journal_path(judged.path)
        added = recover(other, journal).added
        again = recover(other, journal)
        assert (again.added, again.known) == (0, added)
        with other.reading() as connection:
            (run,) = expert_runs(connection, [2], ensure_rater(other, "dana").id)[2]
        assert (run.rater, run.own, run.execution.id, run.execution.program) == (
            "dana",
            True,
            number,
            "assert 1\n",
        )
        assert [(one.name, one.discriminates) for one in run.execution.outcomes] == [("one", False)]
        assert other.ids.next() > number


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
        assert (report.added, report.known, report.unreadable, report.rejected) == (5, 0, (), ())
        assert contents(fresh) == before
        assert all(isinstance(event, Progress) for event in told)
        again = recover(fresh, journal_path(judged.path))
        assert (again.added, again.known, again.lines) == (0, 5, 5)
        assert contents(fresh) == before
        assert fresh.ids.next() > max(row[0] for rows in before for row in rows)


def test_everything_that_a_record_stores_is_in_the_journal_and_comes_back(judged, tmp_path, pairs):
    """Every column is given a value of its own, and the other workspace has other numbers for everything."""
    desk = Desk(judged)
    names = {"rater_id": "dana", "item_id": "p1", "question_id": "pair.match", "guideline_id": "2"}
    given = {
        "assignment_id": judged.ids.next(),
        "phase": "revealed",
        "value": 0.0,
        "origin": "override",
        "target_action": judged.ids.next(),
        "restores": judged.ids.next(),
        "shown_verdict": judged.ids.next(),
        "shown_execution": judged.ids.next(),
        "guideline_id": 1,
        "blind": True,
        "reason": "wrong-output",
        "comment": "so\nsaid",
        "evidence": EVIDENCE,
        "elapsed_ms": 1500,
        "active_ms": 900,
        "shown_as": "swapped",
    }
    desk.judge(2, 1.0, assignment_id=given["assignment_id"], phase="revealed")
    number = desk.judge(2, **given).records[0].id
    number_of_mark = desk.say(3, "comment", text="t\n", active=True, phase="revealed").records[0].id
    (stored,) = judgments(judged, id=number)
    (stored_mark,) = marks(judged, id=number_of_mark)
    # Of one about a response see test_kinds_out_and_in.
    columns = {column.name for column in table_of(JudgmentRow).columns} - {"response_ref_id"}
    assert columns == {
        *given,
        "id",
        "action",
        "item_id",
        "question_id",
        "rater_id",
        "supersedes",
        "created_at",
    }
    assert all(getattr(stored, name) not in (None, "", "[]", False) for name in columns - {"value"})
    (tmp_path / "new").mkdir()
    with Workspace.create(tmp_path / "new" / "w.duckdb") as fresh:
        with fresh.native() as cursor:
            cursor.execute("INSERT INTO guideline VALUES (1, 'pair', '0', 'another version')")
            cursor.execute("INSERT INTO question VALUES (1, 'pair.other', 'pair', '?', '{}')")
        (tmp_path / "first.jsonl").write_text(json.dumps({"id": "z", "query": "q", "code": "z"}))
        import_files(fresh, [tmp_path / "first.jsonl", pairs])
        ensure_rater(fresh, "somebody else")
        recover(fresh, journal_path(judged.path))
        (back,) = judgments(fresh, id=number)
        (back_mark,) = marks(fresh, id=number_of_mark)
        for name in columns - set(names):
            assert getattr(back, name) == getattr(stored, name), name
        assert not {back.item_id, back.rater_id, back.question_id, back.guideline_id} & {1}
        with fresh.native() as cursor:
            found = cursor.execute(
                "SELECT r.name, i.external_id, q.name, g.version FROM judgment j JOIN rater r ON r.id = j.rater_id "
                "JOIN item i ON i.id = j.item_id JOIN question q ON q.id = j.question_id "
                "JOIN guideline g ON g.id = j.guideline_id WHERE j.id = ?",
                [number],
            ).fetchall()
        assert found == [tuple(names.values())]
        marked = {column.name for column in table_of(MarkRow).columns} - {"item_id", "rater_id"}
        for name in marked:
            assert getattr(back_mark, name) == getattr(stored_mark, name), name


def test_a_guideline_that_the_workspace_does_not_know_is_kept_by_its_version(judged, tmp_path, pairs):
    text = journal_path(judged.path).read_text().replace('"guideline": "2"', '"guideline": "7-draft"')
    (tmp_path / "other.jsonl").write_text(text)
    (tmp_path / "new").mkdir()
    with Workspace.create(tmp_path / "new" / "w.duckdb") as fresh:
        import_files(fresh, [pairs])
        recover(fresh, tmp_path / "other.jsonl")
        with fresh.native() as cursor:
            versions = cursor.execute(
                "SELECT DISTINCT g.version FROM judgment j JOIN guideline g ON g.id = j.guideline_id"
            ).fetchall()
        assert versions == [("7-draft",)]
        desk = JudgmentBuilder.read(fresh, scope(1))
        with fresh.native() as cursor:
            assert cursor.execute(
                "SELECT version FROM guideline WHERE id = ?", [desk.guideline_ids["pair"]]
            ).fetchall() == [("2",)]


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


def test_records_without_their_item_are_rejected_and_can_be_recovered_later(judged, tmp_path, pairs):
    (tmp_path / "new").mkdir()
    some = tmp_path / "some.jsonl"
    lines = pairs.read_text().splitlines(keepends=True)
    other = json.dumps({"id": "p1", "query": "q", "code": "something else"}) + "\n"
    some.write_text(lines[0] + other)
    with Workspace.create(tmp_path / "new" / "w.duckdb") as fresh:
        import_files(fresh, [some])
        report = recover(fresh, journal_path(judged.path))
        assert report.added == 1
        reasons = dict(report.rejected)
        assert "other content" in reasons[2]
        assert "no pair 'p2'" in reasons[5]
        assert len(reasons) == 4
        rejected = [json.loads(line) for line in Path(report.rejects).read_text().splitlines()]
        assert [line["item"] for line in rejected] == ["p1", "p1", "p1", "p2"]
    with Workspace.create(tmp_path / "new" / "v.duckdb") as whole:
        import_files(whole, [pairs])
        assert recover(whole, report.rejects).added == 4


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


def test_a_record_that_is_lacking_is_found_though_later_ones_are_there(judged):
    """A commit that failed leaves its record in the journal; what is judged and imported later goes on."""
    line = json.loads(journal_path(judged.path).read_text().splitlines()[0])
    lost = str(judged.ids.next())
    line["record"] |= {"id": lost, "action": lost, "value": 0.0}
    with journal_path(judged.path).open("a") as journal:
        # Tried twice, so it stands there twice.
        journal.write((json.dumps(line) + "\n") * 2)
    judge(judged, Recorder(judged, ensure_rater(judged, "dana")), 2, 1)
    assert journal_ahead(judged) == 1
    assert recover(judged).added == 1
    assert journal_ahead(judged) == 0


def test_what_is_no_record_is_not_ahead(judged):
    with journal_path(judged.path).open("a") as journal:
        for record in ({"id": 5}, {"id": "x"}, {}, [1], None):
            journal.write(json.dumps({"v": 1, "type": "judgment", "record": record}) + "\n")
        journal.write('{"v": 1, "type": "note", "record": {}}\ntorn')
    assert journal_ahead(judged) == 0


def test_without_a_journal_there_is_nothing_ahead_and_nothing_to_recover(tmp_path):
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        assert journal_ahead(workspace) == 0
        with pytest.raises(WorkspaceError, match="There is no journal"):
            recover(workspace)


def test_a_line_that_is_none_of_ours_keeps_no_other_from_coming_back(judged, tmp_path):
    """Whatever a disk, an editor or somebody else made of a journal, the rest of it is replayed."""
    good = journal_path(judged.path).read_text().splitlines()
    record = json.loads(good[0])

    def told(**changed):
        return json.dumps({**record, "record": {**record["record"], "id": str(judged.ids.next()), **changed}})

    unreadable = ["[" * 100_000, '{"v": 1, "type": ["judgment"]}', told(comment="\ud800"), told(value="x")]
    rejected = [
        told(value=7.0),
        told(elapsed_ms=1 << 70),
        told(id="00000000-0000-4000-8000-000000000001"),
        told(id="ffffffff-ffff-7fff-bfff-ffffffffffff"),
    ]
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_text("\n".join([*unreadable, *rejected, *good]))
    with Workspace.create(tmp_path / "new.duckdb") as new:
        import_files(new, [tmp_path / "pairs.jsonl"])
        journal_path(new.path).write_text(mixed.read_text())
        assert journal_ahead(new) >= len(good)
        report = recover(new, mixed)
        assert report.unreadable == (1, 2, 3, 4)
        assert [number for number, _ in report.rejected] == [5, 6, 7, 8]
        assert report.added == len(good)
        assert contents(new) == contents(judged)
        # There is still an id for what is judged next.
        judge(new, Recorder(new, ensure_rater(new, "dana")), 1, 0)


def test_what_followed_from_what_was_undone_before_it_was_saved_stays_out(judged, tmp_path):
    """A "cannot decide" takes a label back in a record of its own, which was journaled with it."""
    desk = Desk(judged, "eva")
    desk.judge(1, 1.0)
    before = len(journal_path(judged.path).read_text().splitlines())
    undecided = desk.say(1, "cannot_decide")
    assert len(undecided.records) == 2
    desk.recorder.drop([Action(undecided.id, undecided.records[:1])]).result(60)
    with Workspace.create(tmp_path / "new.duckdb") as new:
        import_files(new, [tmp_path / "pairs.jsonl"])
        lines = journal_path(judged.path).read_text().splitlines()
        assert len(lines) == before + 3
        journal_path(new.path).write_text("\n".join(lines) + "\n")
        assert journal_ahead(new) == before
        report = recover(new)
        assert (report.taken_back, report.unreadable) == (2, ())
        assert journal_ahead(new) == 0
        assert recover(new).added == 0


def test_a_file_that_is_no_journal_is_refused(judged, pairs):
    with pytest.raises(WorkspaceError, match="No line of"):
        recover(judged, pairs)


def test_what_stands_in_the_place_of_a_journal_is_named(tmp_path):
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        journal_path(workspace.path).mkdir()
        with pytest.raises(WorkspaceError, match="Is a directory"):
            journal_ahead(workspace)


@pytest.mark.parametrize(
    "name",
    ["", " dana", "da\x1b[2Jna", "dana\u202e", "d" * 201],
    ids=["empty", "blank", "escape", "bidi", "long"],
)
def test_a_name_that_nobody_can_have_is_rejected(judged, tmp_path, pairs, name):
    changed = tmp_path / "changed.jsonl"
    lines = [json.loads(line) for line in journal_path(judged.path).read_text().splitlines()]
    changed.write_text("".join(json.dumps(line | {"rater": name}) + "\n" for line in lines))
    with Workspace.create(tmp_path / "other.duckdb") as other:
        import_files(other, [pairs])
        report = recover(other, changed)
    assert report.added == 0
    assert len(report.rejected) == report.lines
    assert all("which is the rater" in reason for _, reason in report.rejected)
    assert "\x1b" not in str(report.rejected)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_a_journal_that_is_no_file_is_refused_at_once(workbench, tmp_path, pairs, make):
    path = tmp_path / "w.duckdb"
    with Workspace.create(path) as workspace:
        import_files(workspace, [pairs])
    make(journal_path(path))
    for command in (("judge", path, "p0", "1", "--rater", "dana"), ("report", path), ("recover", path)):
        told = workbench(*command)
        assert told.code == 2, told
        assert "The journal is no file" in told.err or "No journal" in told.err
