"""Files that others had: whatever they put into them, nothing of this machine is read, written or run."""

import os
import shutil

import duckdb
import pytest
from judging import judged_workspace

from store.errors import WorkspaceError
from store.queries.studies import ChosenItem
from store.record.protocol import StudyProtocol
from store.sql import named
from store.studies.packet_merge import merge_packet
from store.studies.packets import make_packet
from store.studies.studies import freeze_study, new_study
from store.workspace.copy_merge import copy_workspace, merge
from store.workspace.duckdb import Workspace

SECRET = "the-secret-of-the-coordinator"


@pytest.fixture(params=["packet", "copy"])
def word(request):
    """What the file is."""
    return request.param


@pytest.fixture
def workspace(tmp_path):
    """A workspace in which a study is open."""
    home = tmp_path / "home"
    home.mkdir()
    with judged_workspace(home, 4) as opened:
        new_study(opened, "rq2", StudyProtocol("pair", seed=1), [*map(ChosenItem, range(1, 5))], ["ana"])
        freeze_study(opened, "rq2")
        yield opened


@pytest.fixture
def file(workspace, word, tmp_path):
    """A packet or copy, closed."""
    path = tmp_path / "came.duckdb"
    if word == "packet":
        make_packet(workspace, "rq2", "ana", path)
    else:
        workspace.close()
        copy_workspace(workspace.path, path)
    return path


def take(workspace, word, path):
    """Merge a file; the workspace may have been closed for the copy."""
    if word == "packet":
        return merge_packet(workspace, path)
    with Workspace.open(workspace.path) as opened:
        return merge(opened, path)


def change(path, *statements):
    """Change a file as another program would, with what DuckDB can do to it."""
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)


def held(folder):
    """Every file of a folder, and what is in it."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


NAMES = (
    "x''); COPY (SELECT 1) TO ''{target}''; --",
    "x'); COPY (SELECT 1) TO '{target}'; --",
    "x\" ; COPY (SELECT 1) TO '{target}'; --",
    "t' || (SELECT max(content) FROM read_text('{secret}')) || '",
)


@pytest.mark.parametrize("word", ["copy"])
def test_a_name_in_a_file_is_no_part_of_a_statement(workspace, word, file, tmp_path):
    target, secret = tmp_path / "written", tmp_path / "secret"
    secret.write_text(SECRET)
    for name in NAMES:
        changed = tmp_path / "changed.duckdb"
        shutil.copy(file, changed)
        change(changed, f"CREATE TABLE {named(name.format(target=target, secret=secret))} (i INTEGER)")
        with pytest.raises(WorkspaceError) as refused:
            take(workspace, word, changed)
        assert "something else than the tables of a workspace" in refused.value.message
        assert SECRET not in refused.value.message
        assert not target.exists()


OTHERS = {
    "a view": "CREATE VIEW more AS SELECT 1 AS i",
    "a macro": "CREATE MACRO more(i) AS i + 1",
    "a table macro": "CREATE MACRO more() AS TABLE SELECT content FROM read_text('/etc/hostname')",
    "a type": "CREATE TYPE more AS ENUM ('a')",
    "a sequence": "CREATE SEQUENCE more",
    "an index": "CREATE INDEX more ON mark (text)",
    "a schema": "CREATE SCHEMA more",
    "a table in a schema": "CREATE SCHEMA more; CREATE TABLE more.judgment AS FROM main.judgment",
    "a column": "ALTER TABLE mark ADD COLUMN more VARCHAR",
    "a column of another type": "ALTER TABLE mark ALTER COLUMN text TYPE BLOB",
    "a default": "ALTER TABLE mark ALTER COLUMN text SET DEFAULT current_setting('home_directory')",
    "a column that may be empty": "ALTER TABLE mark ALTER COLUMN text DROP NOT NULL",
    "a table less": "DROP TABLE sessionstate",
    "a generated column": (
        "CREATE TABLE other AS FROM sent_back; DROP TABLE sent_back; "
        "CREATE TABLE sent_back (study_id BIGINT, item_id BIGINT, note VARCHAR AS (current_setting('home_directory')))"
    ),
}


@pytest.mark.parametrize("word", ["packet"])
def test_what_no_workspace_holds_is_refused(workspace, word, file, tmp_path):
    before = held(workspace.path.parent)
    for what, statements in OTHERS.items():
        changed = tmp_path / "changed.duckdb"
        shutil.copy(file, changed)
        change(changed, statements)
        with pytest.raises(WorkspaceError) as refused:
            take(workspace, word, changed)
        assert refused.value.title == "Not a packet as it was made", what
        assert held(workspace.path.parent) == before


def test_a_view_in_the_place_of_a_table_reads_nothing(workspace, word, file, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    columns = {"judgment": "comment", "mark": "text", "item": "external_id", "schema_version": "name"}
    for table, column in columns.items():
        changed = tmp_path / "changed.duckdb"
        shutil.copy(file, changed)
        read = f"SELECT * REPLACE ((SELECT content FROM read_text('{secret}')) AS {column}) FROM own"
        change(changed, f"ALTER TABLE {table} RENAME TO own", f"CREATE VIEW {table} AS {read}")
        with pytest.raises(WorkspaceError) as refused:
            take(workspace, word, changed)
        assert SECRET not in refused.value.message
    workspace.close()
    assert not any(SECRET.encode() in content for content in held(workspace.path.parent).values())


def test_a_text_that_is_no_text_is_refused(workspace, word, file):
    """As a program can write it that puts bytes into the file itself."""
    change(file, f"UPDATE workspace_fact SET value = '{SECRET}' WHERE name = 'id'", "CHECKPOINT")
    content = file.read_bytes()
    assert content.count(SECRET.encode()) >= 1
    file.write_bytes(content.replace(SECRET.encode(), b"\xff\xfe" + SECRET.encode()[2:]))
    with pytest.raises(WorkspaceError):
        take(workspace, word, file)


def test_what_stands_in_the_place_of_the_log_is_not_followed(workspace, word, file, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    log = file.with_name(file.name + ".wal")
    for make in (lambda: log.symlink_to(secret), lambda: os.mkfifo(log), log.mkdir):
        make()
        with pytest.raises(WorkspaceError) as refused:
            take(workspace, word, file)
        assert SECRET not in refused.value.message
        shutil.rmtree(log) if log.is_dir() and not log.is_symlink() else log.unlink()
    assert take(workspace, word, file)


def test_a_file_that_takes_too_long_to_read_is_refused(workspace, word, file, monkeypatch):
    monkeypatch.setattr("store.workspace.attaching._SECONDS", 0)
    monkeypatch.setattr("store.workspace.attaching._BYTES_A_SECOND", 1 << 40)
    with pytest.raises(WorkspaceError) as refused:
        take(workspace, word, file)
    assert refused.value.title == f"Damaged {word}"


def test_nothing_of_the_file_stays_beside_the_workspace(workspace, word, file):
    folder = workspace.path.parent
    left = folder / f".{workspace.path.name}.incoming-killed"
    left.mkdir()
    (left / "other.duckdb").touch()
    before = file.read_bytes()
    assert take(workspace, word, file)
    assert [path for path in folder.iterdir() if "incoming" in path.name] == []
    assert file.read_bytes() == before
