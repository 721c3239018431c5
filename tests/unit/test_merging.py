"""Merge: what agents did in a copy comes back once, whole, or not at all, and nothing else is touched."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading

import duckdb
import pytest
from judging import Desk, judged_workspace, judgments
from kinds import json_lines
from small_workspace import TEST, Told, clear, executions, rows, script_file, the_run, through_test, verdicts
from sqlalchemy import delete, insert, update

from agents.jobs.runner import run_job
from agents.llm.settings import ModelSettings
from agents.settings import JobSettings
from store.errors import WorkspaceError, WorkspaceLocked, WorkspaceTooNew
from store.ingest.importing import import_files
from store.queries.run_figures import run_figures
from store.record.expert_runs import record_expert_run
from store.record.ids import IdClock, first_ahead, now
from store.record.raters import ensure_rater
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Rater
from store.tables.runs import Execution, ExecutionRow, Run, StepRow, TestOutcomeRow, VerdictRow
from store.workspace.copy_merge import copy_workspace, merge
from store.workspace.differences import MERGED_TABLES
from store.workspace.duckdb import Workspace
from store.workspace.journal import journal_path
from store.workspace.recovery import journal_ahead, recover

TABLES = (Run, StepRow, ExecutionRow, TestOutcomeRow, VerdictRow)
REPLIES = [
    clear("pair/1"),
    clear("pair/2", "clear_nonmatch"),
    *through_test("pair/3", 1),
    *through_test("pair/4", 0),
]


@pytest.fixture
def workspace(tmp_path):
    with judged_workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def model(tmp_path):
    return script_file(tmp_path, REPLIES)


def copied(workspace, name="copy.duckdb"):
    """A copy of an open workspace in which nothing is written: of the file and of its log."""
    workspace.lane.drain()
    copy = workspace.path.with_name(name)
    for ending in ("", ".wal"):
        source = workspace.path.with_name(workspace.path.name + ending)
        if source.exists():
            shutil.copy(source, copy.with_name(copy.name + ending))
    return copy


def annotate(workspace, model, **settings):
    job = JobSettings(model, **{"sandbox": "process", "concurrency": 2, **settings})
    return run_job(workspace, job, Told())


def everything(workspace):
    return {table.__name__: rows(workspace, table) for table in TABLES}


def state_of(path):
    """What a file and what stands beside it hold, and when they were changed."""
    files = sorted(path.parent.glob(path.name + "*"))
    return {
        file.name: (hashlib.sha256(file.read_bytes()).hexdigest(), file.stat().st_mtime_ns) for file in files
    }


def test_a_run_on_a_copy_comes_back_while_the_original_was_judged_and_once(workspace, model):
    dana = Desk(workspace)
    dana.judge(1, 1.0)
    copy = copied(workspace)
    with Workspace.open(copy) as other:
        worker = threading.Thread(target=annotate, args=(other, model))
        worker.start()
        dana.judge(2, 0.0)
        dana.say(3, "skip")
        worker.join()
        there = everything(other)
    before = state_of(copy)
    judged = judgments(workspace)

    dry = merge(workspace, copy, dry_run=True)
    assert rows(workspace, Run) == []
    report = merge(workspace, copy)
    assert (report.added, report.runs, report.dry_run) == (dry.added, dry.runs, False)
    added = {"run": 1, "step": 10, "reply": 8, "execution": 2, "test_outcome": 6, "verdict": 4}
    added |= {"response": 0, "score": 0}
    assert report.added == added
    assert not any(report.known.values())
    # Raters have their own keys in each file.
    (rater,) = rows(workspace, Rater, kind="agent")
    for run in there["Run"]:
        run["rater_id"] = rater["id"]
    assert everything(workspace) == there
    assert rater["name"] == the_run(workspace)["name"]
    assert judgments(workspace) == judged

    again = merge(workspace, copy)
    assert not again.adds
    assert again.known == report.added
    assert everything(workspace) == there
    assert state_of(copy) == before
    # The run is done here, too: nothing is asked for again.
    assert annotate(workspace, model).done == 0
    assert len(rows(workspace, StepRow)) == 10


def test_a_run_that_went_on_in_both_is_one_run(workspace, model):
    annotate(workspace, model, limit=1)
    copy = copied(workspace)
    with Workspace.open(copy) as other:
        annotate(other, model)
        there = everything(other)
    annotate(workspace, model, limit=2)
    ours = everything(workspace)
    counts = {name: len(own) for name, own in ours.items()}
    assert (counts["VerdictRow"], the_run(workspace)["state"], the_run(workspace)["total"]) == (3, "done", 3)

    report = merge(workspace, copy)
    assert [run.fresh for run in report.runs] == [False]
    assert (report.verdicts_left, report.verdicts_differing, report.added["verdict"]) == (2, 0, 1)
    # Both sides had asked some of the same: such a reply is kept once.
    known = {"run": 1, "step": 1, "reply": 5, "execution": 0, "test_outcome": 0, "verdict": 1}
    known |= {"response": 0, "score": 0}
    assert report.known == known
    # What is here stands as it was; the turns taken twice are both kept, and counted on.
    after = everything(workspace)
    assert [row for row in after["VerdictRow"] if row in ours["VerdictRow"]] == ours["VerdictRow"]
    assert verdicts(workspace).keys() == {1, 2, 3, 4}
    assert {row["id"] for row in after["StepRow"]} == {
        row["id"] for row in (*ours["StepRow"], *there["StepRow"])
    }
    turns = [(row["item_id"], row["role"], row["attempt"]) for row in after["StepRow"]]
    assert len(turns) == len(set(turns))
    assert turns.count((3, "executor", 1)) == 1
    assert turns.count((4, "executor", 1)) == 0
    run = the_run(workspace)
    assert (run["state"], run["total"]) == ("done", 4)
    assert run["started_at"] == ours["Run"][0]["started_at"]
    with workspace.reading() as connection:
        assert run_figures(connection, run["id"]).labelled == 4
    assert not merge(workspace, copy).adds
    assert everything(workspace) == after


def test_a_run_that_was_begun_in_both_is_one_run_whatever_its_key(workspace, model):
    copy = copied(workspace)
    with Workspace.open(copy) as other:
        annotate(other, model)
        theirs = the_run(other)["id"]
    annotate(workspace, model, limit=1)
    ours = the_run(workspace)["id"]
    assert ours != theirs
    report = merge(workspace, copy)
    assert (report.runs[0].ours, report.runs[0].theirs, report.verdicts_left) == (ours, theirs, 1)
    assert {row["run_id"] for row in rows(workspace, StepRow)} == {ours}
    assert len(verdicts(workspace)) == 4
    assert not merge(workspace, copy).adds
    assert annotate(workspace, model).done == 0


@pytest.mark.parametrize(
    ("here", "there", "later", "expected"),
    [
        ("stopped", "done", "there", "done"),
        ("done", "stopped", "there", "stopped"),
        ("failed", "stopped", "here", "failed"),
        ("stopped", "running", "there", "stopped"),
        ("paused", "stopped", "here", "stopped"),
    ],
)
def test_a_run_stands_as_the_side_that_ended_last_left_it(workspace, model, here, there, later, expected):
    annotate(workspace, model, limit=1)
    copy = copied(workspace)

    def leave(opened, state, moment):
        ended = None if state in ("running", "paused") else moment
        change = update(table_of(Run)).values(
            state=state, ended_at=ended, total=9 if opened is workspace else 7
        )
        opened.lane.submit(lambda connection: connection.execute(change)).result()

    with Workspace.open(copy) as other:
        annotate(other, model, limit=1)
        first = now()
        if later == "here":
            leave(other, there, first)
            annotate(workspace, model, limit=2)
            leave(workspace, here, now())
        else:
            leave(workspace, here, rows(workspace, StepRow)[0]["created_at"])
            annotate(other, model, limit=1)
            leave(other, there, now())
    merge(workspace, copy)
    run = the_run(workspace)
    assert (run["state"], run["total"]) == (expected, 9)
    assert run["ended_at"] >= first
    assert run["ended_at"] is not None


def test_a_run_that_was_cut_off_in_the_copy_comes_back_stopped(workspace, model):
    copy = copied(workspace)
    with Workspace.open(copy) as other:
        annotate(other, model, limit=1)
        change = update(table_of(Run)).values(state="running", ended_at=None)
        other.lane.submit(lambda connection: connection.execute(change)).result()
        (step,) = rows(other, StepRow)
    merge(workspace, copy)
    assert (the_run(workspace)["state"], the_run(workspace)["ended_at"]) == ("stopped", step["created_at"])
    assert annotate(workspace, model).done == 3


def expert_run(workspace, name, item=2, program=TEST):
    rater = ensure_rater(workspace, name)
    number = workspace.ids.next()
    execution = Execution(
        id=number, item_id=item, rater_id=rater.id, program=program, program_digest="d", sandbox="bubblewrap",
        environment="ab12", exit_reason="ok", executable=True, created_at=now(),
    )  # fmt: skip
    outcomes = [
        TestOutcomeRow(execution_id=number, position=place, name=f"t{place}", outcome="passed")
        for place in (0, 1)
    ]
    return record_expert_run(workspace, rater, execution, outcomes).result()


def test_what_was_imported_into_the_copy_is_left_and_counted(workspace, tmp_path, workbench):
    question = {"id": "q", "question": "Why?", "answer": "So.", "chunks": [{"text": "a"}]}
    import_files(workspace, [json_lines(tmp_path / "q.jsonl", [question])])
    copy = copied(workspace)
    scored = {"question_id": "q", "model": "m", "answer": "A", "scores": [SCORE, {**SCORE, "score": 7}]}
    rows = [scored, {"question_id": "elsewhere", "model": "m", "answer": "A"}]
    with Workspace.open(copy) as other:
        import_files(other, [json_lines(tmp_path / "rows.jsonl", rows)])
        import_files(other, [json_lines(tmp_path / "q.jsonl", [question])], setting="more")
    assert merge(workspace, copy, dry_run=True).imported_left == 5
    workspace.close()
    told = workbench("merge", workspace.path, copy).out
    assert "Left: 5 responses, scores and pieces of context that came into the copy." in told
    assert "Nothing of what agents did in" in told


SCORE = {"judge": "j", "measure": "accuracy", "score": 5}


def test_what_experts_ran_comes_with_its_rater_and_is_in_the_journal_once(workspace, tmp_path):
    copy = copied(workspace)
    ensure_rater(workspace, "first here")
    here = expert_run(workspace, "dana")
    with Workspace.open(copy) as other:
        there = [expert_run(other, "eli", program=f"# {place}\n") for place in range(60)]
        Desk(other, "eli").judge(1)
        Desk(other, "eli").say(1, "flag")
    journal_path(copy).unlink()
    assert merge(workspace, copy, dry_run=True).experts_runs == 60
    assert len(executions(workspace)) == len(journal_path(workspace.path).read_text().splitlines()) == 1
    report = merge(workspace, copy)
    assert (report.added["execution"], report.experts_runs) == (60, 60)
    assert (report.judgments_left, report.marks_left) == (1, 1)
    assert judgments(workspace) == []
    eli = ensure_rater(workspace, "eli")
    assert [row["rater_id"] for row in executions(workspace) if row["id"] != here.id] == [eli.id] * 60

    told = [json.loads(line) for line in journal_path(workspace.path).read_text().splitlines()]
    assert [line["record"]["id"] for line in told] == [str(one.id) for one in (here, *there)]
    assert {line["rater"] for line in told[1:]} == {"eli"}
    merge(workspace, copy)
    assert len(journal_path(workspace.path).read_text().splitlines()) == 61
    assert journal_ahead(workspace) == 0
    again = recover(workspace)
    assert (again.added, again.known) == (0, 61)

    # The workspace is lost: a new one has it all from the journal, and a merge after that finds it there.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with judged_workspace(elsewhere) as anew:
        assert recover(anew, journal_path(workspace.path)).added == 61
        assert len(executions(anew)) == 61
        assert merge(anew, copy).added["execution"] == 0
        kept = {row["id"]: row["program"] for row in executions(anew)}
        assert kept[there[7].id] == "# 7\n"
        assert len(rows(anew, TestOutcomeRow)) == 122


def test_a_workspace_that_recovered_first_takes_the_copy_without_doubling(workspace):
    copy = copied(workspace)
    with Workspace.open(copy) as other:
        made = expert_run(other, "eli")
    recover(workspace, journal_path(copy))
    assert not merge(workspace, copy).adds
    assert [row["id"] for row in executions(workspace)] == [made.id]


def test_ids_that_are_made_after_a_merge_are_above_those_that_came(workspace, model, monkeypatch):
    copy = copied(workspace)
    with Workspace.open(copy) as other:
        ahead = IdClock()
        future = (int.from_bytes(ahead.next().bytes) >> 80) + 3_600_000
        other.ids.raise_floor(type(ahead.next())(int=(future << 80) | (0x7 << 76) | (0x2 << 62)))
        annotate(other, model)
    merge(workspace, copy)
    assert workspace.ids.next() > max(row["id"] for row in rows(workspace, VerdictRow))


def test_the_log_of_a_killed_copy_is_read_and_left(workspace, tmp_path, model, repository):
    copy = copied(workspace)
    code = f"""if True:
        import os
        from agents.jobs.runner import run_job
        from agents.settings import JobSettings
        from store.workspace.duckdb import Workspace
        workspace = Workspace.open({str(copy)!r})
        run_job(workspace, JobSettings({model!r}, sandbox="process"), print)
        os._exit(9)
    """
    path = os.pathsep.join([str(repository), str(repository / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, check=False
    )
    assert done.returncode == 9, done.stderr
    assert copy.with_name(copy.name + ".wal").stat().st_size
    before = state_of(copy)
    assert merge(workspace, copy).added["verdict"] == 4
    assert state_of(copy) == before


def refused(workspace, copy, error=WorkspaceError):
    before = everything(workspace)
    with pytest.raises(error) as refusal:
        merge(workspace, copy)
    assert everything(workspace) == before
    assert refusal.value.hint
    return refusal.value


def test_a_copy_of_other_items_is_refused_and_says_which(workspace, model):
    copy = copied(workspace)
    with Workspace.open(copy) as other:
        annotate(other, model)
    item = table_of(Item)

    def change(statement):
        workspace.lane.submit(lambda connection: connection.execute(statement)).result()

    change(update(item).where(item.c.id == 2).values(content_hash="x"))
    change(delete(item).where(item.c.id == 4))
    told = refused(workspace, copy)
    assert "2 items" in told.message
    assert "pair/2 (other content here), pair/4 (not here)" in told.message
    change(update(item).where(item.c.id == 1).values(external_id="y"))
    assert "pair/1 (another item here)" in refused(workspace, copy).message
    assert rows(workspace, Run) == []


def test_items_that_only_the_workspace_has_are_no_hindrance(workspace, model):
    copy = copied(workspace)
    row = rows(workspace, Item)[0] | {"id": 99, "external_id": "new"}
    workspace.lane.submit(
        lambda connection: connection.execute(insert(table_of(Item)).values(**row))
    ).result()
    with Workspace.open(copy) as other:
        annotate(other, model)
    assert merge(workspace, copy).added["verdict"] == 4


def test_a_name_of_another_kind_of_rater_is_refused(workspace, model):
    copy = copied(workspace)
    with Workspace.open(copy) as other:
        annotate(other, model)
        name = the_run(other)["name"]
    ensure_rater(workspace, name)
    assert name in refused(workspace, copy).message
    assert [row["kind"] for row in rows(workspace, Rater, name=name)] == ["human"]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        (
            "UPDATE verdict SET id = 'ffffffff-ffff-7fff-bfff-ffffffffffff' WHERE item_id = 4",
            "a verdict is of a time",
        ),
        ("UPDATE step SET created_at = '9999-12-31' WHERE item_id = 1", "a step is of a time"),
        ("UPDATE run SET started_at = now() + INTERVAL 2 DAY", "a run is of a time"),
        ("UPDATE rater SET name = name || chr(27) || '[2J'", "which is a rater, holds control characters"),
        (
            "UPDATE question SET name = 'pair.' || chr(10) WHERE id = 1",
            "which is a question, holds control characters",
        ),
    ],
)
def test_what_no_agents_would_have_written_is_refused(workspace, model, statement, why):
    copy = copied(workspace)
    with Workspace.open(copy) as other:
        annotate(other, model)
    with duckdb.connect(str(copy)) as connection:
        connection.execute(statement)
    told = refused(workspace, copy)
    assert why in told.message
    assert not any(everything(workspace).values())
    assert Desk(workspace).judge(1).id < first_ahead()


def test_what_is_no_copy_is_refused(workspace, tmp_path, hold):
    other = tmp_path / "other"
    assert "no file" in refused(workspace, other).message
    other.mkdir()
    assert refused(workspace, other).title == "Not a file"
    for link in ("symlink_to", "hardlink_to"):
        name = tmp_path / link
        getattr(name, link)(workspace.path)
        assert refused(workspace, name).title == "The same file"
    (tmp_path / "text").write_text("a text " * 2_000)
    assert "text" in refused(workspace, tmp_path / "text").message
    (tmp_path / "nothing").touch()
    refused(workspace, tmp_path / "nothing")
    with duckdb.connect(str(tmp_path / "foreign")) as foreign:
        foreign.execute("CREATE TABLE t (i INTEGER)")
    assert refused(workspace, tmp_path / "foreign").title == "Not a workspace"
    duckdb.connect(str(tmp_path / "empty")).close()
    assert refused(workspace, tmp_path / "empty").title == "Not a workspace"
    copy = copied(workspace)
    with hold(copy) as process:
        assert f"process {process.pid}" in refused(workspace, copy, WorkspaceLocked).message
    with Workspace.open(copy):
        refused(workspace, copy, WorkspaceLocked)
    assert merge(workspace, copy).adds is False


def test_a_copy_of_another_schema_is_refused(workspace):
    copy = copied(workspace)

    def set_version(statement):
        with duckdb.connect(str(copy)) as connection:
            connection.execute(statement)

    set_version("DELETE FROM schema_version WHERE version = (SELECT max(version) FROM schema_version)")
    told = refused(workspace, copy)
    assert (told.title, "workbench report" in told.hint) == ("Copy of an older version", True)
    set_version("INSERT INTO schema_version VALUES (999, 'x', now())")
    refused(workspace, copy, WorkspaceTooNew)


@pytest.mark.parametrize("left", [100, 12_288, 100_000, -1_000])
def test_a_truncated_copy_changes_nothing(workspace, model, left):
    copy = copied(workspace)
    with Workspace.open(copy) as other:
        annotate(other, model)
    size = copy.stat().st_size
    os.truncate(copy, left if left > 0 else size + left)
    refused(workspace, copy)
    assert Desk(workspace).judge(1)


def test_a_copy_whose_free_end_was_cut_off_is_whole(workspace, model):
    """DuckDB goes on counting the free blocks that it has cut off a file's end."""
    copy = copied(workspace)
    for tokens in range(1, 20):
        with Workspace.open(copy) as other:
            annotate(other, model, models=ModelSettings(max_output_tokens=tokens))
        with duckdb.connect(copy, read_only=True) as database:
            told = database.execute("SELECT block_size * total_blocks FROM pragma_database_size()").fetchone()
        if copy.stat().st_size < told[0]:
            break
    else:
        pytest.fail("no job left a file that is shorter than it says")
    assert len(merge(workspace, copy).runs) == tokens


def test_what_fails_on_the_way_leaves_nothing_behind(workspace, model, monkeypatch):
    copy = copied(workspace)
    with Workspace.open(copy) as other:
        annotate(other, model)
        expert_run(other, "eli")
    # The run comes last, when all else is written.
    with monkeypatch.context() as patched:
        patched.setattr("store.workspace.differences._NEW_RUN", "SELECT error('no room')")
        told = refused(workspace, copy)
    assert told.title == "Not merged"
    assert rows(workspace, Rater, kind="agent") == []
    # The journal was ahead, as it is of every write that fails: it loses nothing and doubles nothing.
    assert journal_ahead(workspace) == 1
    assert recover(workspace).added == 1
    report = merge(workspace, copy)
    assert (report.added["verdict"], report.added["execution"], report.experts_runs) == (4, 2, 0)


def test_a_merge_that_is_ended_on_the_way_has_merged_nothing(workspace, model):
    copy = copied(workspace)
    with Workspace.open(copy) as other:
        annotate(other, model)
    told = []

    def end(progress):
        told.append(progress.done)
        if progress.done == progress.total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        merge(workspace, copy, progress=end)
    assert told[-1] == len(MERGED_TABLES)
    assert not any(everything(workspace).values())
    assert merge(workspace, copy).added["verdict"] == 4


def test_a_copy_has_what_the_log_holds_and_no_journal(tmp_path, repository):
    with judged_workspace(tmp_path) as workspace:
        path = workspace.path
    code = f"""if True:
        import os, sys
        sys.path.insert(0, {str(repository / "tests")!r})
        from judging import Desk
        from store.workspace.duckdb import Workspace
        Desk(Workspace.open({str(path)!r})).judge(1)
        os._exit(9)
    """
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(repository)}, check=False
    )
    assert path.with_name(path.name + ".wal").stat().st_size
    target = tmp_path / "copy.duckdb"
    assert copy_workspace(path, target) == target.stat().st_size
    assert sorted(file.name for file in tmp_path.glob("copy*")) == ["copy.duckdb"]
    with Workspace.open(target) as copy, Workspace.open(path) as workspace:
        assert judgments(copy) == judgments(workspace)
        assert len(judgments(copy)) == 1


def test_a_copy_is_made_over_nothing_and_of_nothing_that_is_open(tmp_path, hold):
    with judged_workspace(tmp_path) as workspace:
        path = workspace.path
        with pytest.raises(WorkspaceLocked):
            copy_workspace(path, tmp_path / "copy.duckdb")
    with hold(path), pytest.raises(WorkspaceLocked):
        copy_workspace(path, tmp_path / "copy.duckdb")
    for taken in ("copy.duckdb", "copy.duckdb.wal", "copy.duckdb.journal.jsonl"):
        (tmp_path / taken).write_text("kept")
        with pytest.raises(WorkspaceError, match="exists"):
            copy_workspace(path, tmp_path / "copy.duckdb")
        assert (tmp_path / taken).read_text() == "kept"
        (tmp_path / taken).unlink()
    with pytest.raises(WorkspaceError, match="not a folder"):
        copy_workspace(path, tmp_path / "nowhere" / "copy.duckdb")
    assert not list(tmp_path.glob("copy*"))
