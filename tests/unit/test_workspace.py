"""The workspace: making, opening and closing the file, its readers, and what it does when the disk is full."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone

import duckdb
import numpy
import pytest
from judging import identity_of, journal_ids, judged_workspace, judgments
from sqlalchemy import insert, select, text

from store.errors import WorkspaceError, WorkspaceLocked
from store.record.ids import now
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.people import Rater, SessionState
from store.tables.runs import StepRow
from store.workspace.duckdb import Workspace


def note(number, key="key", value="", at=None):
    row = {"rater_id": number, "key": key, "value": value, "updated_at": at or now()}
    return lambda connection: connection.execute(insert(table_of(SessionState)).values(**row))


def count(connection):
    return connection.execute(text("SELECT count(*) FROM sessionstate")).scalar_one()


def test_a_new_workspace_keeps_its_identity(tmp_path):
    with Workspace.create(tmp_path / "new.duckdb") as workspace:
        identity = identity_of(workspace)
    with Workspace.open(tmp_path / "new.duckdb") as again:
        assert identity_of(again) == identity
    with Workspace.create(tmp_path / "other.duckdb") as other:
        assert identity_of(other) != identity


def test_nothing_is_made_where_something_is(tmp_path):
    (tmp_path / "there.duckdb").write_text("a diary")
    with pytest.raises(WorkspaceError, match="already there"):
        Workspace.create(tmp_path / "there.duckdb")
    assert (tmp_path / "there.duckdb").read_text() == "a diary"


def test_a_missing_file_is_made_only_when_that_was_asked_for(tmp_path):
    with pytest.raises(WorkspaceError, match="There is no file"):
        Workspace.open(tmp_path / "missing.duckdb")
    assert list(tmp_path.iterdir()) == []
    Workspace.open(tmp_path / "missing.duckdb", create=True).close()
    assert (tmp_path / "missing.duckdb").exists()


@pytest.mark.parametrize(
    ("place", "title"),
    [("", "Not a file"), ("missing/new.duckdb", "No such folder"), ("file/new.duckdb", "No such folder")],
)
def test_a_place_that_cannot_hold_a_file_is_named(tmp_path, place, title):
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceError) as refused:
        Workspace.open(tmp_path / place, create=True)
    assert refused.value.title == title
    assert refused.value.hint


def test_a_folder_whose_name_is_not_utf_8_is_refused(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    with pytest.raises(WorkspaceError, match=r"caf\\udce9") as refused:
        Workspace.create(folder / "new.duckdb")
    assert refused.value.title == "Not a UTF-8 name"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("name", [":memory:", "md:study", ":default:"])
def test_a_name_that_the_database_has_a_meaning_for_is_a_file_all_the_same(in_folder, name):
    with Workspace.create(name) as workspace:
        workspace.lane.submit(note(1)).result(60)
    assert (in_folder / name).is_file()
    with Workspace.open(name) as again, again.reading() as connection:
        assert count(connection) == 1


def test_changing_the_folder_changes_no_path(in_folder, monkeypatch):
    with Workspace.create("study.duckdb") as workspace:
        assert workspace.path == in_folder / "study.duckdb"
        monkeypatch.chdir("/")
        workspace.lane.submit(note(1)).result(60)
    Workspace.open(in_folder / "study.duckdb").close()


def test_one_process_opens_it_once_at_a_time(tmp_path):
    path = tmp_path / "study.duckdb"
    (tmp_path / "link.duckdb").symlink_to(path)
    with Workspace.create(path) as workspace:
        for name in (path, tmp_path / "link.duckdb", tmp_path / "." / "study.duckdb"):
            with pytest.raises(WorkspaceLocked, match=str(os.getpid())):
                Workspace.open(name)
        workspace.lane.submit(note(1)).result(60)
    with Workspace.open(path) as again, again.reading() as connection:
        assert count(connection) == 1


def test_closing_twice_and_in_two_threads_is_harmless(tmp_path):
    workspace = Workspace.create(tmp_path / "closed.duckdb")
    future = workspace.lane.submit(note(1))
    threads = [threading.Thread(target=workspace.close) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    workspace.close()
    assert future.done()
    Workspace.open(workspace.path).close()


OPEN = "import sys; from store.workspace.duckdb import Workspace; Workspace.open(sys.argv[1]).close()"


def test_closing_releases_the_file_also_when_somebody_still_reads(tmp_path):
    workspace = Workspace.create(tmp_path / "read.duckdb")
    with workspace.reading() as connection:
        assert count(connection) == 0
        cursor = workspace.native()
        cursor.execute("SELECT * FROM range(1000000)").fetchone()
        workspace.close()
        done = subprocess.run(
            [sys.executable, "-c", OPEN, str(workspace.path)], timeout=60, check=False, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()


def test_a_reader_sees_one_state_while_others_are_written(tmp_path):
    with Workspace.create(tmp_path / "read.duckdb") as workspace:
        stop, problems, looks = threading.Event(), [], [0, 0]

        def pair_of_notes(number):
            def write(connection):
                note(number)(connection)
                note(-number)(connection)

            return write

        def read(place):
            while not stop.is_set():
                with workspace.reading() as connection:
                    first = count(connection)
                    total = connection.execute(
                        text("SELECT coalesce(sum(rater_id), 0) FROM sessionstate")
                    ).scalar()
                    second = count(connection)
                    looks[place] += 1
                if first != second or first % 2 or total:
                    problems.append((first, second, total))

        readers = [threading.Thread(target=read, args=(place,)) for place in range(2)]
        for reader in readers:
            reader.start()
        for number in range(1, 150):
            workspace.lane.submit(pair_of_notes(number), urgent=number % 2 == 0).result(60)
        stop.set()
        for reader in readers:
            reader.join(60)
        assert problems == []
        assert min(looks) > 5
        with workspace.reading() as connection:
            assert count(connection) == 298


def test_a_reader_never_sees_what_is_not_committed(tmp_path):
    with Workspace.create(tmp_path / "read.duckdb") as workspace:
        written, go = threading.Event(), threading.Event()

        def write(connection):
            note(1)(connection)
            written.set()
            assert go.wait(60)

        future = workspace.lane.submit(write)
        assert written.wait(60)
        with workspace.reading() as connection:
            assert count(connection) == 0
            go.set()
            future.result(60)
            assert count(connection) == 0  # the snapshot was taken before the commit
        with workspace.reading() as connection:
            assert count(connection) == 1


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/New_York", "UTC"])
def test_moments_come_back_aware_and_in_utc(tmp_path, monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    moment = datetime(2026, 3, 29, 2, 30, 15, 123456, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    with Workspace.create(tmp_path / "time.duckdb") as workspace:
        workspace.lane.submit(note(1, at=moment)).result(60)
        with workspace.reading() as connection:
            read = connection.execute(select(table_of(SessionState).c.updated_at)).scalar_one()
        with workspace.native() as cursor:
            natively = cursor.execute("SELECT updated_at FROM sessionstate").fetchone()[0]
    for back in (read, natively):
        assert back == moment
        assert back.utcoffset() == timedelta(0)
        assert back.astimezone(UTC).isoformat() == "2026-03-28T20:45:15.123456+00:00"


def test_text_comes_back_as_it_was(tmp_path):
    hostile = (
        "a\0b \x1b[31m [red]x[/] \u202e \u2028 \U0001f600 'quoted' \"too\" %s :name $1 \r\n" + "y" * 200_000
    )
    with Workspace.create(tmp_path / "text.duckdb") as workspace:
        workspace.lane.submit(note(1, value=hostile)).result(60)
        with workspace.reading() as connection:
            assert connection.execute(select(table_of(SessionState).c.value)).scalar_one() == hostile


def test_a_column_is_an_array_of_integers(tmp_path):
    item = table_of(Item)
    with Workspace.create(tmp_path / "ids.duckdb") as workspace:
        assert workspace.column(select(item.c.id)).tolist() == []
        rows = [
            {"id": number, "kind": "pair", "external_id": str(number), "group_id": 1, "source_id": 1,
             "content_hash": "", "extra": "{}"}
            for number in (3, 2**40, 1)
        ]  # fmt: skip
        workspace.lane.submit(lambda connection: connection.execute(insert(item), rows)).result(60)
        ids = workspace.column(select(item.c.id).order_by(item.c.id))
        assert ids.dtype == numpy.int64
        assert ids.tolist() == [1, 3, 2**40]


def test_among_takes_no_keys_one_and_many(tmp_path):
    rater, step = table_of(Rater), table_of(StepRow)
    with Workspace.create(tmp_path / "among.duckdb") as workspace, workspace.reading() as connection:
        made = [workspace.ids.next() for _ in range(3)]

        def found(condition):
            return connection.execute(select(rater.c.id).where(condition)).scalars().all()

        assert found(among(rater.c.id, [])) == []
        assert found(among(rater.c.id, [1]) & among(rater.c.id, range(5_000))) == []
        assert connection.execute(select(step.c.id).where(among(step.c.id, made))).all() == []


# A limit on the size of files stands for a disk that is full: the write fails in the same place.
FULL = """
import json, os, resource, signal, sys
import store.workspace.duckdb
from sqlalchemy import text
from judging import Desk
from store.workspace.duckdb import Workspace

store.workspace.duckdb.CHECKPOINT_BYTES = int(sys.argv[3])
restarts, connect = [], store.workspace.duckdb.connect

def connect_and_count(path):
    restarts.append(path)
    return connect(path)

workspace = Workspace.open(sys.argv[1])
store.workspace.duckdb.connect = connect_and_count
workspace._checkpoint_at = store.workspace.duckdb.CHECKPOINT_BYTES
desk = Desk(workspace)

def note(number):
    def write(connection):
        connection.execute(text("INSERT INTO sessionstate VALUES (:n, 'k', :v, now())"), {"n": number, "v": os.urandom(9_000).hex()})
    return write

_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), hard))
kept, failed, notes, errors = [], [], [], []
for number in range(400):
    action = desk.label(1 + number % 4, float(number % 2), comment="long " * int(sys.argv[4]))
    try:
        desk.submit(action)
    except Exception as error:
        failed.append(action)
        errors.append(type(error).__name__)
    else:
        kept.append(action)
    if len(errors) >= 6 and (restarts or sys.argv[5] != "file"):
        break
    if sys.argv[5] == "judgments":
        continue
    try:
        workspace.lane.submit(note(number)).result(60)
    except Exception as error:
        errors.append(type(error).__name__)
    else:
        notes.append(number)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
again = []
for action in [*failed, *(desk.label(1, 1.0) for _ in range(3))]:
    try:
        again.append(desk.submit(action))
    except Exception as error:  # the first one after the database broke may still be told so
        errors.append(type(error).__name__)
        again.append(desk.submit(action))
undone = desk.undo()
with workspace.reading() as connection:
    seen = connection.execute(text("SELECT count(*) FROM judgment")).scalar()
workspace.close()
print(json.dumps({
    "kept": [str(a.records[0].id) for a in [*kept, *again, undone]], "notes": notes, "errors": errors,
    "failed": len(failed), "seen": seen, "restarts": len(restarts),
}))
"""


@pytest.mark.parametrize(
    ("full", "limit", "checkpoint", "comment"),
    [("log", 2_000_000, 1 << 40, 1), ("file", 1_500_000, 700_000, 1), ("judgments", 400_000, 1 << 40, 1_500)],
)
def test_on_a_full_disk_the_failed_write_is_reported_and_later_ones_work(
    tmp_path, repository, full, limit, checkpoint, comment
):
    """The log cannot grow, the file cannot be written when the log is worked into it, or the journal is full."""
    judged_workspace(tmp_path).close()
    path = tmp_path / "pairs.duckdb"
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(limit), str(checkpoint), str(comment), full],
        timeout=120,
        check=False,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": f"{repository}:{repository / 'tests'}"},
    )
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told["errors"]
    assert bool(told["restarts"]) == (full == "file")
    assert (set(told["errors"]) == {"OSError"}) == (full == "judgments")
    with Workspace.open(path) as workspace:
        stored = [str(judgment.id) for judgment in judgments(workspace)]
        assert sorted(stored) == sorted(told["kept"])
        assert told["seen"] == len(stored)
        assert set(stored) <= {str(number) for number in journal_ids(workspace)}
        with workspace.reading() as connection:
            notes = connection.execute(text("SELECT rater_id FROM sessionstate")).scalars().all()
        assert sorted(notes) == told["notes"]


def test_the_app_leaves_half_of_the_cores_also_after_connecting_anew(tmp_path):
    with Workspace.create(tmp_path / "study.duckdb") as workspace:

        def threads():
            return workspace.native().execute("SELECT current_setting('threads')").fetchone()[0]

        half = max(1, len(os.sched_getaffinity(0)) // 2)
        workspace.share_cores()
        assert threads() == half
        assert workspace._mend(duckdb.FatalException("as if"))
        assert threads() == half


def test_nothing_is_written_into_a_file_that_was_moved_away(tmp_path):
    """Its log would stay behind, so that what was acknowledged is not in the file where it is now."""
    path = tmp_path / "study.duckdb"
    with Workspace.create(path) as workspace:
        path.rename(tmp_path / "elsewhere.duckdb")
        refused = workspace.lane.submit(lambda _: "written", urgent=True)
        with pytest.raises(WorkspaceError, match="was moved"):
            refused.result()
        path.write_bytes((tmp_path / "elsewhere.duckdb").read_bytes())
        with pytest.raises(WorkspaceError, match="replaced"):
            workspace.lane.submit(lambda _: "written").result()
        (tmp_path / "elsewhere.duckdb").rename(path)
        assert workspace.lane.submit(lambda _: "written", urgent=True).result() == "written"


def test_a_file_of_another_program_is_refused_without_the_network(tmp_path):
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE t (a)")
    with pytest.raises(WorkspaceError, match="file of another program"):
        Workspace.open(tmp_path / "other.db")


def test_a_workspace_opened_by_a_link_keeps_its_log_and_journal_beside_the_file(tmp_path):
    (tmp_path / "data").mkdir()
    real = tmp_path / "data" / "study.duckdb"
    Workspace.create(real).close()
    (tmp_path / "link.duckdb").symlink_to(real)
    with Workspace.open(tmp_path / "link.duckdb") as workspace:
        workspace.lane.submit(note(1)).result()
        assert workspace.path == real
        assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "link.duckdb"]
        assert (tmp_path / "data" / "study.duckdb.wal").exists()


def test_a_log_that_has_grown_is_worked_into_the_file_also_after_rows_were_changed(tmp_path, monkeypatch):
    """A change keeps what it replaced for those who read it: one read left open stops every checkpoint."""
    judged_workspace(tmp_path).close()
    path, log = tmp_path / "pairs.duckdb", tmp_path / "pairs.duckdb.wal"
    monkeypatch.setattr("store.workspace.duckdb.CHECKPOINT_BYTES", 100_000)
    sizes = []
    with Workspace.open(path) as workspace:
        for number in range(40):
            workspace.lane.submit(note(number, value="x" * 9_000)).result()
            workspace.lane.submit(
                lambda connection: connection.execute(text("UPDATE sessionstate SET key = 'other'"))
            ).result()
            sizes.append(log.stat().st_size if log.exists() else 0)
        assert identity_of(workspace)
    assert max(sizes) < 200_000, sizes
