"""The write lane: order, transactions, failures, and that whatever was submitted is written or reported."""

import asyncio
import itertools
import logging
import subprocess
import sys
import threading
import time
from concurrent.futures import Future

import duckdb
import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from store.workspace.duckdb import Workspace
from store.workspace.lane import WriteLane


@pytest.fixture
def workspace(tmp_path):
    with Workspace.create(tmp_path / "lane.duckdb") as opened:
        yield opened


@pytest.fixture
def lane(workspace):
    return workspace.lane


def note(number, key="key"):
    """A write of one row; answers its number."""

    def write(connection):
        connection.execute(
            text("INSERT INTO sessionstate VALUES (:number, :key, '', now())"), {"number": number, "key": key}
        )
        return number

    return write


def notes(workspace):
    with workspace.reading() as connection:
        return list(connection.execute(text("SELECT rater_id FROM sessionstate ORDER BY rowid")).scalars())


class Block:
    """A write that holds the lane until it is let go."""

    def __init__(self):
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, connection):
        self.begun.set()
        assert self.go.wait(60)


@pytest.fixture
def block(lane):
    """The lane, held by an urgent write until the test lets it go."""
    held = Block()
    lane.submit(held, urgent=True)
    assert held.begun.wait(60)
    yield held
    held.go.set()


def commits_of(workspace):
    counted = []
    event.listen(workspace.engine, "commit", counted.append)
    return counted


def test_a_result_comes_when_it_is_on_disk(workspace, lane):
    assert lane.submit(note(7)).result(60) == 7
    assert notes(workspace) == [7]


def test_judgments_overtake_batches_and_each_kind_keeps_its_order(workspace, lane, block):
    for number in (1, 2, 3):
        lane.submit(note(number))
    for number in (11, 12):
        lane.submit(note(number), urgent=True)
    block.go.set()
    assert lane.drain(60)
    assert notes(workspace) == [11, 12, 1, 2, 3]


def test_a_judgment_ends_the_batch_that_is_being_written(workspace, lane):
    """It waits for the write under way, not for those queued behind it."""
    inside, order = Block(), []
    inside.go.set()

    def first(connection):
        order.append(1)
        lane.submit(lambda _: order.append("judgment"), urgent=True)

    held = Block()
    lane.submit(held, urgent=True)
    lane.submit(first)
    for number in (2, 3):
        lane.submit(lambda _, number=number: order.append(number))
    held.go.set()
    assert lane.drain(60)
    assert order == [1, "judgment", 2, 3]


def test_batches_share_a_transaction_and_judgments_do_not(workspace, lane, block, monkeypatch):
    monkeypatch.setattr(lane, "_hold_seconds", 60.0)  # on a busy machine a batch may take longer than usual
    commits = commits_of(workspace)
    futures = [lane.submit(note(number)) for number in range(20)]
    futures += [lane.submit(note(number), urgent=True) for number in range(20, 23)]
    block.go.set()
    assert [future.result(60) for future in futures] == list(range(23))
    assert len(commits) == 5  # the block's, three judgments', one for the batch


def test_a_batch_takes_up_no_more_when_its_time_is_over(workspace):
    commits = commits_of(workspace)
    lane = WriteLane(workspace.engine.connect, hold_seconds=0.0)
    for number in range(5):
        lane.submit(note(number))
    lane.close()
    assert notes(workspace) == [0, 1, 2, 3, 4]
    assert len(commits) == 5


@pytest.mark.parametrize(
    ("patience", "hold", "order"),
    [
        (60.0, 60.0, [11, 12, 13, 14, 1, 2, 3]),
        (0.0, 60.0, [11, 1, 2, 3, 12, 13, 14]),
        (0.0, 0.0, [11, 1, 12, 2, 13, 3, 14]),
    ],
)
def test_batches_get_a_turn_of_their_usual_length_when_judgments_make_no_pause(
    workspace, patience, hold, order
):
    lane = WriteLane(workspace.engine.connect, hold_seconds=hold, patience_seconds=patience)
    held = Block()
    lane.submit(held, urgent=True)
    assert held.begun.wait(60)
    for number in (1, 2, 3):
        lane.submit(note(number))
    for number in (11, 12, 13, 14):
        lane.submit(note(number), urgent=True)
    held.go.set()
    lane.close()
    assert notes(workspace) == order


def test_judgments_without_a_pause_do_not_keep_batches_waiting_for_ever(workspace, lane):
    """Each judgment is submitted before the one before it is done, until the batches are written or time is up."""
    written = threading.Event()
    deadline = time.monotonic() + 30
    judged = itertools.count(100)
    ended = threading.Semaphore(0)

    def judge(_):
        if written.is_set() or time.monotonic() > deadline:
            ended.release()
        else:
            lane.submit(note(next(judged)), urgent=True).add_done_callback(judge)

    # Two at a time, so that one waits whenever one is written.
    judge(None)
    judge(None)
    futures = [lane.submit(note(number)) for number in range(10)]
    futures[-1].add_done_callback(lambda _: written.set())
    assert written.wait(60)
    for _ in range(2):
        assert ended.acquire(timeout=60)
    assert [future.result(60) for future in futures] == list(range(10))
    assert time.monotonic() < deadline


def test_one_faulty_write_fails_alone_and_a_judgment_overtakes_the_repetition(workspace, lane, block):
    def faulty(connection):
        note(99)(connection)
        lane.submit(note(11), urgent=True)
        raise ValueError("this one")

    futures = [lane.submit(note(1)), lane.submit(faulty), lane.submit(note(3))]
    block.go.set()
    assert (futures[0].result(60), futures[2].result(60)) == (1, 3)
    with pytest.raises(ValueError, match="this one"):
        futures[1].result(60)
    lane.drain(60)
    # The judgment was submitted in the first attempt and again in the second, each before what was left.
    assert notes(workspace) == [11, 1, 11, 3]


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()]
)
@pytest.mark.parametrize("urgent", [True, False])
def test_no_error_ends_the_lane(workspace, lane, error, urgent):
    def faulty(_):
        raise error

    futures = [lane.submit(note(1)), lane.submit(faulty, urgent=urgent), lane.submit(note(2))]
    with pytest.raises(type(error)):
        futures[1].result(60)
    assert [futures[0].result(60), futures[2].result(60)] == [1, 2]
    assert sorted(notes(workspace)) == [1, 2]


@pytest.mark.parametrize("urgent", [True, False])
def test_a_failed_commit_is_reported_and_leaves_nothing_behind(workspace, lane, urgent):
    """Another connection takes the same key after the write and before its commit."""
    rater = "INSERT INTO rater VALUES (7, 'human', :name, '', now())"

    def write(connection):
        connection.execute(text(rater), {"name": "ours"})
        note(1)(connection)
        with workspace.native() as other:
            other.execute(rater.replace(":name", "'theirs'"))

    future = lane.submit(write, urgent=urgent)
    with pytest.raises(DBAPIError, match=r"[Cc]onstraint"):
        future.result(60)
    assert notes(workspace) == []
    assert lane.submit(note(2), urgent=urgent).result(60) == 2
    with workspace.reading() as connection:
        assert connection.execute(text("SELECT name FROM rater")).scalars().all() == ["theirs"]


def test_a_refused_write_leaves_the_lane_usable(workspace, lane):
    bad = lane.submit(lambda c: c.execute(text("INSERT INTO sessionstate VALUES (1, NULL, '', now())")))
    with pytest.raises(IntegrityError):
        bad.result(60)
    assert lane.submit(note(2)).result(60) == 2


def test_what_was_submitted_cannot_be_taken_back(workspace, lane, block):
    future = lane.submit(note(1))
    assert not future.cancel()
    block.go.set()
    assert future.result(60) == 1
    assert notes(workspace) == [1]


async def test_whoever_stops_waiting_takes_nothing_with_him(workspace, lane, block):
    waits = [asyncio.ensure_future(asyncio.wrap_future(lane.submit(note(number)))) for number in range(50)]
    await asyncio.sleep(0)
    for wait in waits:
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)
    block.go.set()
    assert await asyncio.to_thread(lane.drain, 60)
    assert notes(workspace) == list(range(50))


def test_a_callback_that_fails_ends_nothing(workspace, lane, caplog):
    caplog.set_level(logging.CRITICAL, "concurrent.futures")

    def broken(_: Future):
        raise ValueError("in a callback")

    lane.submit(note(1)).add_done_callback(broken)
    assert lane.submit(note(2)).result(60) == 2


def test_drain_tells_whether_everything_is_written(workspace, lane):
    held = Block()
    lane.submit(held)
    assert held.begun.wait(60)
    lane.submit(note(1))
    assert not lane.drain(0.01)
    assert lane.waiting == 2
    held.go.set()
    assert lane.drain(60)
    assert lane.waiting == 0
    assert notes(workspace) == [1]


def test_drain_waits_for_what_is_submitted_meanwhile_ahead_of_it(workspace, lane):
    def more(connection):
        note(1)(connection)
        lane.submit(note(2))

    lane.submit(more)
    assert lane.drain(60)
    assert lane.drain(60)
    assert notes(workspace) == [1, 2]


def test_closing_writes_what_is_queued_and_takes_no_more(tmp_path):
    with Workspace.create(tmp_path / "closed.duckdb") as workspace:
        lane = workspace.lane
        futures = [lane.submit(note(number)) for number in range(30)]
        lane.close()
        assert all(future.done() for future in futures)
        with pytest.raises(RuntimeError, match="closed"):
            lane.submit(note(31))
        assert lane.drain(0)
        lane.close()
        assert notes(workspace) == list(range(30))


def test_threads_that_submit_while_it_closes_are_served_or_refused(tmp_path):
    with Workspace.create(tmp_path / "race.duckdb") as workspace:
        served, begun = [], threading.Barrier(5)

        def submit(start):
            begun.wait()
            for number in range(start, start + 200):
                try:
                    served.append((number, workspace.lane.submit(note(number), urgent=number % 2 == 0)))
                except RuntimeError:
                    return

        threads = [threading.Thread(target=submit, args=(1_000 * place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        begun.wait()
        served_before = workspace.lane.submit(note(-1))
        served_before.result(60)
        workspace.lane.close()
        for thread in threads:
            thread.join()
        assert all(future.done() and future.result() == number for number, future in served)
        assert sorted(notes(workspace)) == sorted([-1, *(number for number, _ in served)])


CHILD = """
import signal, sys, threading
from sqlalchemy import text
from store.workspace.duckdb import Workspace

def note(number):
    return lambda c: c.execute(text("INSERT INTO sessionstate VALUES (:n, 'k', '', now())"), {"n": number})

workspace = Workspace.create(sys.argv[1])
begun, go = threading.Event(), threading.Event()
def hold(connection):
    begun.set()
    assert go.wait(60)
workspace.lane.submit(hold, urgent=True)
assert begun.wait(60)
for number in range(40):
    workspace.lane.submit(note(number), urgent=number % 3 == 0)
"""

ENDINGS = {
    "falls off its end": "threading.Timer(0.2, go.set).start()",
    "raises": "threading.Timer(0.2, go.set).start()\nraise ValueError('unhandled')",
    "exits": "threading.Timer(0.2, go.set).start()\nsys.exit(5)",
    "is interrupted while it waits": (
        "threading.Timer(0.3, go.set).start()\n"
        "threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGINT)).start()\n"
        "workspace.lane.drain()"
    ),
    "is interrupted while it closes": (
        "threading.Timer(0.3, go.set).start()\n"
        "import _thread\n"
        "threading.Timer(0.1, _thread.interrupt_main).start()\n"
        "workspace.close()"
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_interpreter_that_ends_writes_what_was_submitted(tmp_path, ending):
    path = tmp_path / "child.duckdb"
    done = subprocess.run(
        [sys.executable, "-c", CHILD + ENDINGS[ending], str(path)],
        timeout=60,
        check=False,
        capture_output=True,
    )
    with duckdb.connect(str(path)) as connection:
        rows = connection.execute("SELECT rater_id FROM sessionstate").fetchall()
    assert sorted(row[0] for row in rows) == list(range(40)), done.stderr.decode()


def test_no_batch_begins_while_a_key_is_handled_and_a_judgment_does(workspace):
    lane = WriteLane(workspace.engine.connect, patience_seconds=600)
    lane.give_way(600)
    batch = lane.submit(note(1))
    assert lane.submit(note(2), urgent=True).result(60) is not None
    assert lane.submit(note(3), urgent=True).result(60) is not None
    assert not batch.done()
    lane.give_way(0)
    # The lane looks up when something arrives.
    lane.submit(note(4), urgent=True).result(60)
    batch.result(60)
    lane.close()
    assert notes(workspace) == [2, 3, 4, 1]


def test_nothing_begins_while_the_screen_is_painted(workspace):
    lane = WriteLane(workspace.engine.connect, patience_seconds=600)
    lane.hold(600)
    written = [lane.submit(note(1)), lane.submit(note(2), urgent=True)]
    lane.hold(6000)
    with pytest.raises(TimeoutError):
        written[1].result(0.1)
    lane.go_on()
    for future in written:
        future.result(60)
    lane.close()
    assert notes(workspace) == [2, 1]


def test_a_hold_ends_by_itself_and_is_not_made_longer(workspace):
    lane = WriteLane(workspace.engine.connect)
    lane.hold(0.05)
    written = lane.submit(note(1), urgent=True)
    lane.hold(600)
    assert written.result(60) is not None
    lane.close()


def test_a_lane_that_was_told_to_go_on_waits_for_work(workspace):
    lane = WriteLane(workspace.engine.connect)
    lane.hold(600)
    lane.go_on()
    lane.go_on()
    assert lane.waiting == 0
    assert lane.submit(note(1)).result(60) is not None
    lane.close()


def test_keys_without_a_pause_hold_a_batch_up_for_a_moment_only(workspace):
    lane = WriteLane(workspace.engine.connect, patience_seconds=0.05)
    lane.give_way(600)
    assert lane.submit(note(1)).result(60) is not None
    lane.close()


def test_a_lane_that_gives_way_still_ends(workspace):
    lane = WriteLane(workspace.engine.connect)
    lane.give_way(600)
    batch = lane.submit(note(1))
    lane.close()
    assert batch.done()


def test_other_work_waits_while_a_key_is_handled(tmp_path):
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        workspace.lane.wait_for_keys()
        handled = time.monotonic() + 0.05
        workspace.lane.give_way(0.05)
        workspace.lane.wait_for_keys()
        assert time.monotonic() >= handled


def test_other_work_goes_on_under_a_key_that_is_held_down(tmp_path):
    with Workspace.create(tmp_path / "w.duckdb") as workspace:
        workspace.lane.give_way(3600)
        waiting = threading.Thread(target=workspace.lane.wait_for_keys, daemon=True)
        waiting.start()
        waiting.join(60)
        assert not waiting.is_alive()
