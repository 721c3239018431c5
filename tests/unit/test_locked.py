"""A file that cannot be opened: held by another process, of another program, damaged, or in a locked folder."""

import os
import shlex
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import duckdb
import pytest
from judging import Desk, judged_workspace, judgments

from store.errors import WorkspaceError, WorkspaceLocked
from store.workspace.connecting import command_line
from store.workspace.duckdb import Workspace
from store.workspace.wire import socket_path

HOLD = """
import sys
from store.workspace.duckdb import Workspace
with Workspace.open(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def try_to_open(path):
    with pytest.raises(WorkspaceError) as refused:
        Workspace.open(path)
    assert refused.value.title
    assert str(path) in refused.value.message
    assert refused.value.hint
    return refused.value


@pytest.fixture
def holder(tmp_path, repository):
    """Another process that holds a workspace until its input ends."""
    path = tmp_path / "study.duckdb"
    Workspace.create(path).close()
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(repository)},
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process, path
        process.stdin.close()


def test_who_holds_the_file_is_told(holder):
    process, path = holder
    with pytest.raises(WorkspaceLocked) as refused:
        Workspace.open(path)
    assert f"process {process.pid}" in refused.value.message
    assert refused.value.exit_code == 2
    assert "Close" in refused.value.hint


def test_the_command_of_the_holder_is_told_where_it_can_be_read(holder, monkeypatch):
    process, path = holder
    with pytest.raises(WorkspaceLocked) as refused:
        Workspace.open(path)
    assert shlex.join(process.args) in refused.value.message
    monkeypatch.setattr("store.workspace.connecting.command_line", lambda _: "")
    with pytest.raises(WorkspaceLocked) as refused:
        Workspace.open(path)
    assert f"held by process {process.pid} (/" in refused.value.message
    assert "-c" not in refused.value.message


def test_a_command_line_is_shortened_and_a_process_that_is_gone_has_none():
    with subprocess.Popen(
        [sys.executable, "-c", "input()", "two words", "x" * 900], stdin=subprocess.PIPE
    ) as long:
        wait = time.monotonic() + 30
        while not command_line(long.pid).startswith(sys.executable) and time.monotonic() < wait:
            pass  # until the child is the program
        shown = command_line(long.pid)
        assert f"{sys.executable} -c 'input()' 'two words' xxx" in shown
        assert (len(shown), shown[-1]) == (300, "…")
        long.communicate(b"\n")
    assert command_line(long.pid) == ""


def test_when_the_holder_ends_the_file_opens(holder):
    process, path = holder
    with pytest.raises(WorkspaceLocked):
        Workspace.open(path)
    process.stdin.close()
    process.wait(60)
    Workspace.open(path).close()


def waits_by(monkeypatch, sleep):
    """Have the opening of a workspace wait by another function; other threads sleep as before."""
    clock = SimpleNamespace(monotonic=time.monotonic, time_ns=time.time_ns, sleep=sleep)
    monkeypatch.setattr("store.workspace.duckdb.time", clock)


def test_a_command_that_ends_soon_is_waited_for(holder, monkeypatch):
    process, path = holder

    def end(_seconds):
        process.stdin.close()
        process.wait()

    waits_by(monkeypatch, end)
    Workspace.open(path).close()


def test_what_answers_commands_beside_the_file_is_not_waited_for(holder, monkeypatch):
    _, path = holder
    waits_by(monkeypatch, lambda _: pytest.fail("it was waited for"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(socket_path(path)))
        listener.listen(0)
        # Of three the last one finds no room.
        for _ in range(3):
            with pytest.raises(WorkspaceLocked):
                Workspace.open(path)


def test_the_socket_of_a_killed_process_keeps_nobody_from_waiting(holder, monkeypatch):
    process, path = holder
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(socket_path(path)))
        killed.listen()

    def end(_seconds):
        process.stdin.close()
        process.wait()

    waits_by(monkeypatch, end)
    Workspace.open(path).close()


def test_when_the_holder_is_killed_the_file_opens(holder):
    process, path = holder
    process.kill()
    process.wait(60)
    Workspace.open(path).close()


@pytest.mark.parametrize("made", ["CREATE TABLE diary (day DATE)", "CREATE VIEW today AS SELECT 1 AS day"])
def test_a_database_of_another_program_is_left_alone(tmp_path, made):
    path = tmp_path / "foreign.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(made)
    before = path.read_bytes()
    assert "another program" in try_to_open(path).message
    assert path.read_bytes() == before


def test_another_programs_table_of_versions_is_not_taken_for_ours(tmp_path):
    path = tmp_path / "foreign.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE schema_version (version VARCHAR); INSERT INTO schema_version VALUES ('1.0-rc1')"
        )
    assert "another program" in try_to_open(path).message


@pytest.mark.parametrize(
    "content",
    [b"", b"x", b"a diary, and no database\n" * 500, b"\0" * 20_000, b"SQLite format 3\0" + b"\0" * 8_000],
    ids=["empty", "one byte", "text", "zeros", "SQLite"],
)
def test_a_file_that_is_no_database_is_left_alone(tmp_path, content):
    path = tmp_path / "diary.duckdb"
    path.write_bytes(content)
    try_to_open(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("kept", [10, 4_096, 12_288, 20_000, 0.5])
def test_a_truncated_file_is_refused_or_read_but_never_taken_for_an_empty_one(tmp_path, kept):
    with judged_workspace(tmp_path) as workspace:
        path = workspace.path
        made = Desk(workspace).judge(1).records[0].id
    content = path.read_bytes()
    path.write_bytes(content[: int(kept if kept > 1 else kept * len(content))])
    try:
        opened = Workspace.open(path)
    except WorkspaceError as refused:
        assert "recover" in refused.hint or "Check" in refused.hint  # noqa: PT017 - either outcome is right
        assert path.stat().st_size < len(content)
    else:
        with opened:
            assert [judgment.id for judgment in judgments(opened)] == [made]


def test_a_damaged_log_loses_nothing_that_is_in_the_file(tmp_path):
    with judged_workspace(tmp_path) as workspace:
        path = workspace.path
        Desk(workspace).judge(1)
    log = path.with_name(path.name + ".wal")
    log.write_bytes(b"torn" * 100)
    content = path.read_bytes()
    try:
        Workspace.open(path).close()
    except WorkspaceError as refused:
        assert refused.hint  # noqa: PT017 - DuckDB may ignore what it cannot read, or refuse it
    with duckdb.connect(":memory:") as connection:
        path.with_name("copy.duckdb").write_bytes(content)
        connection.execute(f"ATTACH '{path.with_name('copy.duckdb')}' AS copy (READ_ONLY)")
        assert connection.execute("SELECT count(*) FROM copy.judgment").fetchone() == (1,)


AS_NOBODY = """
import os, sys
os.chdir("/")
from store.workspace.duckdb import Workspace
from store.errors import WorkspaceError
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    Workspace.open(sys.argv[1], create=True).close()
except WorkspaceError as error:
    print(error.title, "|", error.message, "|", error.hint)
"""


@pytest.mark.parametrize("what", ["new file", "file in a locked folder", "locked file"])
def test_where_nothing_may_be_written_that_is_said(tmp_path, repository, what):
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "study.duckdb"
    if what != "new file":
        Workspace.create(path).close()
        path.chmod(0o666 if what == "file in a locked folder" else 0o444)
    folder.chmod(0o777 if what == "locked file" else 0o555)
    if os.geteuid() == 0:  # whoever may do everything becomes somebody who may not
        for parent in folder.parents:
            if parent.stat().st_uid == 0 and str(parent).startswith(("/tmp/", "/dev/shm/")):
                parent.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(path)],
        timeout=60, check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(repository)},
    )  # fmt: skip
    folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert str(path) in done.stdout
    assert done.stdout.count("|") == 2
