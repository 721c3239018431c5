"""Commands beside the process that holds the workspace: what they answer, and who ends in the middle."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pytest
import typer.main
from judging import Desk, judged_workspace
from sealed_bench import study_pair

from store.errors import WorkspaceError, WorkspaceLocked
from store.workspace import serving as server
from store.workspace import wire
from store.workspace.duckdb import Workspace
from store.workspace.remote import RemoteConnection, RemoteWorkspace
from store.workspace.serving import serving
from store.workspace.wire import socket_path
from workbench.cli.program import program

REPORTS = (
    *("agreement", "confusion", "accuracy", "labels", "time", "figures", "table-2", "figure-3", "figure-4"),
    *("figure-7", "preference", "ratings", "wins", "position", "votes", "plan", "pipeline", "progress"),
    *(
        "raters --study pilot",
        "retrieval --rater sample-ana",
        "retrieval --split v1",
        "agreement --question all",
    ),
)
COMMANDS = (
    *(f"report {{}} {name}" for name in REPORTS),
    *("items {}", "items {} --kind pair --status open", "items {} --view todo", "items {} --text sort"),
    "sql {} 'SELECT * FROM items ORDER BY number'",
    "sql {} 'SELECT * FROM judgments ORDER BY ALL'",
    "sql {} 'SELECT nothing FROM items'",
    *("views {}", "splits {}", "splits {} v1 --leaks --now", "splits {} nothing"),
    *("study list {}", "study show {} pilot", "study manifest {} pilot", "replies {}"),
)
LONG = "SELECT count(*) FROM range(1_000_000) a, range(1_000_000) b WHERE a.range * b.range = 7"
"""A statement that takes longer than any test."""


def arguments(command: str, path: Path) -> list[str]:
    return [word.format(path) for word in shlex.split(command)]


@contextmanager
def held(path: Path, rater: str | None = None, *, blind: bool = False) -> Iterator[Workspace]:
    """The workspace, open in this process, which answers commands."""
    with Workspace.open(path) as opened, serving(opened, rater, blind=blind):
        yield opened


def but_who_decides(done: Any) -> tuple[int, str, str]:
    """What a command answered, without spaces and panels, and without saying that the app refuses it."""
    said = [re.sub(r"[\s│╭╮╰╯─]", "", text) for text in (done.out, done.err)]
    out, err = (re.sub(r"Theappthathas\S+?open\(process\d+\)decidesthis\.", "", text) for text in said)
    return done.code, out, err


def connections_ended() -> None:
    """Wait until no connection of a command is left."""
    for thread in threading.enumerate():
        if thread.name == "serving a command":
            thread.join(60)
            assert not thread.is_alive()


HOLDER = """
import os, sys
from store.workspace import serving
from store.workspace.duckdb import Workspace
{before}
with Workspace.open(sys.argv[1]) as workspace, serving.serving(workspace):
    print("held", flush=True)
    sys.stdin.read()
"""
DIES = """
answer, answered = serving._Connection._answer, []
def dying(self, *asked):
    answered.append(asked)
    if len(answered) == 4:
        os.kill(os.getpid(), 9)
    answer(self, *asked)
serving._Connection._answer = dying
"""
"""Has the holder killed at the fourth statement."""


@contextmanager
def holder(path: Path, repository: Path, before: str = "") -> Iterator[subprocess.Popen[str]]:
    """Another process that holds a workspace and answers commands."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(before=before), str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(repository)},
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.stdin.close()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's workspace with rankings, a split and a view."""
    path: Path = tmp_path_factory.mktemp("beside") / "demo.duckdb"
    run = typer.main.get_command(program)
    for command in (
        "demo --headless --at {}",
        "evaluate retrieval {} --methods bm25 --rater sample-ana",
        "split {} v1 --policy majority --question pair.match",
        "views {} --save todo --kind pair --status open",
    ):
        run.main(arguments(command, path), standalone_mode=False)
    return path


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    with judged_workspace(tmp_path) as workspace:
        Desk(workspace).judge(1)
        return workspace.path


@pytest.fixture(autouse=True)
def _stands_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the commands of this process from lowering its priority for all later tests, too."""
    monkeypatch.setattr(os, "setpriority", lambda *_: None)


# -- what they answer ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_answers_the_same_beside_the_holder(demo: Path, workbench: Any, command: str) -> None:
    forms = [[*arguments(command, demo), "--json"]]
    if not command.startswith("report") or command.endswith("agreement"):
        # The text of a report is made of what the JSON is made of.
        forms.append(arguments(command, demo))
    alone = [workbench(*words) for words in forms]
    with held(demo) as opened:
        before = opened.native().execute("SELECT max(id) FROM judgment").fetchall()
        assert [workbench(*words) for words in forms] == alone
        assert opened.native().execute("SELECT max(id) FROM judgment").fetchall() == before


ODD = """
SELECT 170141183460469231731687303715884105727::HUGEINT AS h, sum(i) AS s, n.id AS u, n.at AS tz,
    TIMESTAMP '2020-01-01 01:02:03.123456' AS ts, DATE '2020-01-02' AS d, TIME '01:02:03' AS t,
    INTERVAL 3 DAYS AS iv, [1, NULL]::INT[] AS l, [n.id] AS lu, {'a': 1, 'b': n.id} AS st, MAP {'a': 1} AS mp,
    'x'::BLOB AS bl, 1.5::DECIMAL(10, 3) AS de, 1::UTINYINT AS ut, true AS bo, NULL AS nu,
    '{"a": 1}'::JSON AS js, 3::UBIGINT AS ub, '101'::BIT AS bi, [1, 2]::INT[2] AS ar, 1::FLOAT AS fl,
    'inf'::DOUBLE AS inf, '' AS "a name", 'ä\U0001f600' AS same, 2 AS same, NULL::UUID AS none
FROM (SELECT 5 AS i UNION ALL SELECT 6), (SELECT $id::UUID AS id, $at AS at) AS n GROUP BY ALL
"""


def test_what_is_fetched_has_the_values_and_types_of_a_cursor(judged: Path) -> None:
    values = {"id": UUID(int=2**100 + 7), "at": duckdb.execute("SELECT now()").fetchone()[0]}
    with held(judged) as opened, RemoteWorkspace(judged, WorkspaceLocked("", "")) as beside:
        for fetch in ("fetchall", "fetchone", "fetchmany", "fetchnumpy", "to_arrow_table"):
            told = []
            for cursor in (opened.native(), beside.native()):
                cursor.execute(ODD, values)
                described = [(column[0], str(column[1])) for column in cursor.description]
                told.append((described, getattr(cursor, fetch)()))
            local, remote = told
            assert remote[0] == local[0]
            assert repr(remote[1]) == repr(local[1]), fetch
        none = "SELECT 1::UTINYINT AS a, [uuid()] AS b WHERE false"
        for cursor in (opened.native(), beside.native()):
            cursor.execute(none)
            assert [str(column[1]) for column in cursor.description] == ["UTINYINT", "UUID[]"]
            assert cursor.fetchall() == []


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 7, 2**90, -0.5, "ä'\0", b"\0\xff", UUID(int=7), [1, None, 3], ["a", UUID(int=1)][1:]),
        *(duckdb.execute(f"SELECT {text}").fetchone()[0] for text in ("now()", "DATE '2020-01-02'", "1.50")),
        duckdb.execute("SELECT TIMESTAMP '2020-01-01 01:02:03.000004'").fetchone()[0],
    ],
)
def test_parameters_arrive_as_they_were_given(judged: Path, value: object) -> None:
    with held(judged) as opened, RemoteWorkspace(judged, WorkspaceLocked("", "")) as beside:
        cursors = (opened.native(), beside.native())
        local, remote = (
            cursor.execute("SELECT ?, typeof(?)", [value, value]).fetchall() for cursor in cursors
        )
        assert repr(remote) == repr(local)


def test_a_command_asks_as_the_apps_session(
    demo: Path, workbench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rater by default, and blind where either is."""
    asked = [arguments(one, demo) for one in ("items {} --json", "report {} progress", "report {} agreement")]
    told = {}
    for blind in (False, True):
        monkeypatch.setenv("WORKBENCH_RATER", "sample-ana")
        monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", str(blind).lower())
        told[blind] = [workbench(*words) for words in asked]
    assert told[True] != told[False]
    monkeypatch.setenv("WORKBENCH_RATER", "somebody")
    for own, apps in ((False, False), (False, True), (True, False), (True, True)):
        monkeypatch.setenv("WORKBENCH_SCREENS__BLIND", str(own).lower())
        with held(demo, "sample-ana", blind=apps):
            assert [but_who_decides(workbench(*words)) for words in asked] == [
                but_who_decides(one) for one in told[own or apps]
            ]
            if apps and not own:
                assert workbench(*asked[2]).says("The app that has demo.duckdb open")
    # Agents at work have no session, so that the command's own holds.
    monkeypatch.setenv("WORKBENCH_RATER", "sample-ana")
    with held(demo):
        assert [workbench(*words) for words in asked] == told[True]


def test_a_sealed_session_is_sealed_beside_the_app(
    tmp_path: Path, workbench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, path = study_pair(tmp_path)
    commands = (
        *("report {} agreement", "report {} labels --rater ben"),
        *("items {} --json", "items {} --rater ben", "items {} --run full", "splits {}", "replies {}"),
        *("sql {} 'SELECT * FROM judgments' --json", "sql {} 'SELECT * FROM items' --rater ben", "views {}"),
        *("study list {}", "study show {} rq2"),
    )
    asked = [arguments(one, path) for one in commands]
    monkeypatch.setenv("WORKBENCH_RATER", "ana")
    alone = [workbench(*words) for words in asked]
    assert alone[0].says("Sealed session")
    monkeypatch.setenv("WORKBENCH_RATER", "coordinator")
    assert [workbench(*words) for words in asked] != alone
    with held(path, "ana"):
        beside = [workbench(*words) for words in asked]
    assert [but_who_decides(one) for one in beside] == [but_who_decides(one) for one in alone]
    assert beside[0].says(f"The app that has {path.name} open (process {os.getpid()}) decides this.")


# -- what they cannot do ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO workspace_fact VALUES ('a', 'b')",
        "UPDATE judgment SET value = 0",
        "DELETE FROM judgment",
        "CREATE TABLE t (i INT)",
        "CREATE OR REPLACE VIEW v AS SELECT 1",
        "CREATE TEMP MACRO m() AS 1",
        "DROP TABLE judgment",
        "COPY judgment TO '{target}'",
        "COPY (SELECT 1) TO '{target}'",
        "ATTACH '{target}' AS other",
        "EXPORT DATABASE '{target}'",
        "SET threads = 1",
        "PRAGMA threads = 1",
        "INSTALL httpfs",
        "CHECKPOINT",
        "CALL force_checkpoint()",
        "PREPARE p AS SELECT 1",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{target}'",
        "COMMIT",
        "ROLLBACK; DELETE FROM judgment",
        "SELECT 1; SELECT 2",
        "CREATE TEMP TABLE t AS SELECT 1; DELETE FROM judgment",
        "",
    ],
)
def test_a_statement_that_does_not_only_read_is_refused(judged: Path, tmp_path: Path, statement: str) -> None:
    target = tmp_path / "target"
    with held(judged):
        connection = RemoteConnection(judged)
        with pytest.raises((duckdb.PermissionException, duckdb.TransactionException)):
            connection.execute(statement.format(target=target))
        connection.rollback()
        assert connection.execute("SELECT count(*) FROM judgment").fetchall() == [(1,)]
        connection.execute("CREATE OR REPLACE TEMP TABLE t AS SELECT 1 AS i")
        assert connection.execute("FROM t").fetchall() == [(1,)]
        connection.close()
    assert not target.exists()


def test_the_database_itself_refuses_to_write_for_a_command(judged: Path) -> None:
    """Whatever a SELECT may come to do: its transaction reads only."""
    with held(judged) as opened:
        cursor = opened.native()
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        with pytest.raises(duckdb.TransactionException):
            cursor.execute("DELETE FROM judgment")


@pytest.mark.parametrize(
    "command",
    [
        "report {} --all --study pilot --output never",
        "views {} --save mine",
        "views {} --delete todo",
        "splits {} v1 --delete",
        "study close {} pilot",
        "study status {} pilot --look",
    ],
)
def test_a_command_that_writes_is_refused_as_before(demo: Path, workbench: Any, command: str) -> None:
    with held(demo):
        refused = workbench(*arguments(command, demo))
    assert (refused.code, refused.says("Workspace in use")) == (2, True)


def test_where_nobody_answers_the_error_is_that_of_before(judged: Path, workbench: Any, hold: Any) -> None:
    with hold(judged) as process:
        refused = workbench("report", judged, "progress")
        assert (refused.code, refused.says(f"held by process {process.pid}")) == (2, True)


# -- bounds -------------------------------------------------------------------------------------------


def test_one_command_more_than_are_answered_is_told_so(judged: Path, workbench: Any) -> None:
    with held(judged):
        taken = [RemoteConnection(judged) for _ in range(server.MOST_CONNECTIONS)]
        refused = workbench("items", judged)
        assert (refused.code, refused.says("as many commands as it can")) == (2, True)
        for connection in taken:
            connection.close()
        connections_ended()
        assert workbench("items", judged).code == 0


def test_a_request_that_is_too_long_ends_the_connection(
    judged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_BYTES", 1_000)
    with held(judged):
        connection = RemoteConnection(judged)
        with pytest.raises(WorkspaceError, match="Connection lost"):
            connection.execute("SELECT " + "1" * 1_000)
        assert RemoteConnection(judged).execute("SELECT 1").fetchall() == [(1,)]


def test_a_command_that_stalls_holds_nothing(judged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with held(judged) as opened:
        connection = RemoteConnection(judged)
        connection.execute("SELECT count(*) FROM judgment")
        monkeypatch.setattr(server, "IDLE_SECONDS", 0.05)
        connection.execute("SELECT count(*) FROM judgment")
        connections_ended()
        Desk(opened).judge(2)
        opened.native().execute("CHECKPOINT")
        with pytest.raises(WorkspaceError, match="Connection lost"):
            connection.execute("SELECT 1")


@pytest.mark.parametrize("sent", [b"", b"x" * 40, b"j" + bytes(8), b"j" + (3).to_bytes(8, "big") + b"{}]"])
def test_nonsense_ends_the_connection_alone(judged: Path, sent: bytes) -> None:
    with held(judged):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(socket_path(judged)))
            peer.sendall(sent)
            peer.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                while peer.recv(1_000):
                    pass
        assert RemoteConnection(judged).execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "messages",
    [
        [(wire.JSON, b'["SELECT ?", [{"$UUID": 5}]]')],
        [(wire.JSON, rb'["SELECT ?", ["\ud800"]]')],
        [(wire.JSON, b'"mine"'), (wire.ROWS, b"\xff" * 8)],
    ],
)
def test_a_request_that_is_none_raises_nothing_in_the_program(
    judged: Path, monkeypatch: pytest.MonkeyPatch, messages: list[tuple[bytes, bytes]]
) -> None:
    """What a thread raises is printed, into the screen of the app."""
    raised: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    with held(judged):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(socket_path(judged)))
            for kind, body in messages:
                wire.send(peer, kind, body)
            with suppress(ConnectionResetError):
                while peer.recv(1_000):
                    pass
        connections_ended()
    assert raised == []


def test_where_no_thread_can_be_had_later_commands_are_answered(
    judged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "serving a command":
            raise RuntimeError("can't start new thread")
        start(thread)

    with held(judged):
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            with pytest.raises(wire.Closed):
                RemoteConnection(judged)
        assert RemoteConnection(judged).execute("SELECT 1").fetchall() == [(1,)]


# -- moments ------------------------------------------------------------------------------------------


def test_a_command_reads_one_moment_and_holds_up_no_judgment(judged: Path) -> None:
    count = "SELECT count(*) FROM judgment"
    with held(judged) as opened:
        connection = RemoteConnection(judged)
        assert connection.execute(count).fetchall() == [(1,)]
        Desk(opened).judge(2)
        assert opened.native().execute(count).fetchall() == [(2,)]
        assert connection.execute(count).fetchall() == [(1,)]
        connection.rollback()
        # No transaction is left that a checkpoint would wait for.
        assert connection.execute(count).fetchall() == [(2,)]
        connection.close()
        connections_ended()
        opened.native().execute("CHECKPOINT")


def test_two_commands_at_once(judged: Path, repository: Path) -> None:
    with held(judged):
        command = [sys.executable, "-m", "workbench", "items", str(judged), "--json"]
        both = [
            subprocess.Popen(
                command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(repository)}
            )
            for _ in range(2)
        ]
        told = [process.communicate(timeout=120)[0] for process in both]
        assert [process.returncode for process in both] == [0, 0]
    assert told[0] == told[1] != b""


# -- ends in the middle -------------------------------------------------------------------------------

ASKS = """
import sys
from pathlib import Path
from store.workspace.remote import RemoteConnection
connection = RemoteConnection(Path(sys.argv[1]))
connection.execute("SELECT 1")
print("connected", flush=True)
connection.execute(sys.argv[2])
"""


def test_a_killed_command_leaves_nothing_behind(judged: Path, repository: Path) -> None:
    with held(judged) as opened:
        with subprocess.Popen(
            [sys.executable, "-c", ASKS, str(judged), LONG],
            stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(repository)},
        ) as process:  # fmt: skip
            assert process.stdout is not None
            assert process.stdout.readline() == "connected\n"
            process.send_signal(signal.SIGKILL)
        connections_ended()
        Desk(opened).judge(2)
        opened.native().execute("CHECKPOINT")


def test_the_holder_ends_while_a_statement_runs(judged: Path) -> None:
    told: list[BaseException] = []
    connected = threading.Event()

    def ask() -> None:
        connection = RemoteConnection(judged)
        connected.set()
        try:
            connection.execute(LONG)
        except (WorkspaceError, duckdb.Error) as error:
            told.append(error)

    with held(judged):
        asking = threading.Thread(target=ask)
        asking.start()
        assert connected.wait(60)
    asking.join(60)
    assert [type(error) for error in told] in ([WorkspaceError], [duckdb.InterruptException])
    assert not socket_path(judged).exists()


def test_a_killed_holder_is_told_of_and_its_socket_replaced(
    judged: Path, repository: Path, workbench: Any
) -> None:
    alone = workbench("items", judged, "--json")
    with holder(judged, repository, DIES) as process:
        lost = workbench("items", judged, "--json")
        assert process.wait(60) == -signal.SIGKILL
    assert (lost.code, lost.json()["error"]["title"]) == (2, "Connection lost")
    assert "again" in lost.json()["error"]["hint"]
    assert socket_path(judged).is_socket()
    assert workbench("items", judged, "--json") == alone
    with held(judged):
        assert workbench("items", judged, "--json") == alone
    assert not socket_path(judged).exists()


# -- the socket ---------------------------------------------------------------------------------------


def test_the_socket_is_the_owners_alone(judged: Path) -> None:
    before = os.umask(0)
    try:
        with held(judged):
            found = socket_path(judged).stat()
            assert (stat.S_IMODE(found.st_mode), found.st_uid) == (0o600, os.getuid())
    finally:
        os.umask(before)


def test_a_file_of_that_name_is_left_alone(judged: Path, workbench: Any) -> None:
    socket_path(judged).write_text("mine", encoding="utf-8")
    with held(judged):
        refused = workbench("items", judged)
        assert (refused.code, refused.says("Workspace in use")) == (2, True)
    assert socket_path(judged).read_text(encoding="utf-8") == "mine"


def test_a_path_of_any_length(judged: Path, tmp_path: Path, workbench: Any) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    path = judged.rename(deep / "study.duckdb")
    with held(path):
        assert workbench("items", path).code == 0


def test_a_link_is_followed(judged: Path, tmp_path: Path, workbench: Any) -> None:
    link = tmp_path / "link.duckdb"
    link.symlink_to(judged)
    with held(judged):
        assert workbench("items", link).code == 0


def test_another_version_is_told(judged: Path, workbench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with held(judged):
        monkeypatch.setattr("store.workspace.remote.PROTOCOL", wire.PROTOCOL + 1)
        refused = workbench("items", judged)
        assert (refused.code, refused.says("another version")) == (2, True)


AS_NOBODY = """
import os, socket, sys
from pathlib import Path
from store.workspace.remote import RemoteConnection
from store.workspace.wire import Closed
os.chdir("/")
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
if sys.argv[2] == "ask":
    try:
        RemoteConnection(Path(sys.argv[1]))
        print("answered")
    except (OSError, Closed) as error:
        print(type(error).__name__)
else:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1] + ".sock")
    listener.listen()
    print("listening", flush=True)
    peer, _ = listener.accept()
    print(peer.recv(100))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize("mode", [0o600, 0o777])
def test_another_user_is_not_answered(judged: Path, repository: Path, mode: int) -> None:
    open_to_all(judged)
    with held(judged):
        socket_path(judged).chmod(mode)
        told = subprocess.check_output(
            [sys.executable, "-c", AS_NOBODY, str(judged), "ask"],
            text=True, timeout=60, env={**os.environ, "PYTHONPATH": str(repository)},
        )  # fmt: skip
        assert told == ("PermissionError\n" if mode == 0o600 else "Closed\n")
        assert RemoteConnection(judged).execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_users_socket_is_not_asked(judged: Path, repository: Path, workbench: Any) -> None:
    open_to_all(judged)
    with subprocess.Popen(
        [sys.executable, "-c", AS_NOBODY, str(judged), "listen"],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(repository)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "listening\n"
        with Workspace.open(judged):
            refused = workbench("items", judged)
        assert (refused.code, refused.says("Workspace in use")) == (2, True)
        # It was told nothing.
        assert process.stdout.readline() == "b''\n"


def open_to_all(path: Path) -> None:
    """Let anybody into the folder of a file."""
    path.parent.chmod(0o777)
    for parent in path.parents:
        if parent.stat().st_uid == 0 and str(parent).startswith(("/tmp/", "/dev/shm/")):
            parent.chmod(parent.stat().st_mode | 0o755)


def test_agents_at_work_are_asked_too(judged: Path, tmp_path: Path, workbench: Any, repository: Path) -> None:
    """`annotate` holds the workspace for as long as its agents work."""
    replies = tmp_path / "replies.jsonl"
    reply = {"assessment": "clear_match", "justification": "It doubles."}
    lines = [
        {"role": "screener", "subject": f"pair/{number}", "reply": reply, "delay_seconds": 600}
        for number in (1, 2, 3, 4)
    ]
    replies.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    command = ("annotate", str(judged), "--model", f"scripted:{replies}")
    with subprocess.Popen(
        [sys.executable, "-m", "workbench", *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(repository)},
    ) as process:  # fmt: skip
        while not socket_path(judged).exists():
            assert process.poll() is None
            time.sleep(0.01)
        runs: list[Any] = []
        while not runs:
            # Until the agents have begun there is no run.
            told = workbench("report", judged, "pipeline", "--json")
            runs = told.json()["runs"]
        process.terminate()
    assert [run["state"] for run in runs] == ["running"]
