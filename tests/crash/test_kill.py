"""kill -9 at random moments while a rater judges and agents annotate: nothing acknowledged is lost."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from uuid import UUID

import pytest
from judging import Desk, journal_ids, judged_workspace, judgments, marks
from small_workspace import TEST, clear, rows, script_file, through_test, verdicts

from agents.jobs.runner import run_job
from agents.sandbox.settings import SandboxSettings
from agents.settings import JobSettings
from store.record.supersession import key_of
from store.tables.runs import ExecutionRow, ReplyRow, Run, StepRow, TestOutcomeRow, VerdictRow
from store.workspace.duckdb import Workspace

pytestmark = pytest.mark.crash

ITEMS, KILLS, STOPS = 260, 30, 8
# Seconds; only a child that does not end at all takes them.
LONGEST_END = 90


@pytest.fixture(scope="module")
def nursery():
    """A function that begins a child's life, and one that ends it."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{os.path.join(root, 'tests')}"}
    with subprocess.Popen(
        [sys.executable, "-m", "crash_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:

        def begin(**life):
            process.stdin.write(
                json.dumps(
                    {name: str(value) if name in ("path", "log") else value for name, value in life.items()}
                )
                + "\n"
            )
            process.stdin.flush()
            return int(process.stdout.readline())

        def ended():
            too_long = threading.Timer(LONGEST_END, os.killpg, (process.pid, signal.SIGKILL))
            too_long.start()
            try:
                code = process.stdout.readline()
            finally:
                too_long.cancel()
            assert code, f"the child did not end in {LONGEST_END} s"
            return int(code)

        yield begin, ended
        process.stdin.close()


class Noted:
    """What children noted in their log, over all their lives."""

    def __init__(self, path):
        self.lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def ids(self, *words):
        return [UUID(line[1]) for line in self.lines if line[0] in words]

    def asked_again(self):
        """Replies asked for after the step that holds them was acknowledged, as (external id, role)."""
        known, again = set(), []
        for word, *about in self.lines:
            if word == "ok":
                known.add((f"pair/{about[1]}", about[2]))
            elif word == "asked" and (about[0], about[1]) in known:
                again.append((about[0], about[1]))
        return again


def wait_for_opening(log, child):
    """Wait until this child has opened the workspace."""
    deadline = time.monotonic() + LONGEST_END
    while time.monotonic() < deadline:
        if ["opened", str(child)] in [list(line[:2]) for line in Noted(log).lines]:
            return
        time.sleep(0.01)
    raise TimeoutError(f"the child opened no workspace in {LONGEST_END} s")


def wait_for_step(log, child):
    """Wait until a step of this child is acknowledged."""
    deadline = time.monotonic() + LONGEST_END
    while time.monotonic() < deadline:
        words = [line[0] if line[0] != "opened" else line[1] for line in Noted(log).lines if len(line) > 1]
        if str(child) in words and "ok" in words[words.index(str(child)) :]:
            return
        time.sleep(0.01)
    raise TimeoutError(f"the child acknowledged no step in {LONGEST_END} s")


def replies(folder):
    """A script in which a part of the pairs is tested, and the rest is plain."""
    lines = []
    for number in range(1, ITEMS + 1):
        subject = f"pair/{number}"
        if number % 8 == 0:
            lines += through_test(subject, number // 8 % 2, TEST)
        else:
            lines.append(clear(subject, "clear_match" if number % 2 else "clear_nonmatch"))
    return script_file(folder, lines)


def only_once(keys):
    return [key for key, times in Counter(keys).items() if times > 1] == []


def check(workspace, noted):
    """Nothing acknowledged is missing, nothing is there twice, and what belongs together is together."""
    records = [*judgments(workspace), *marks(workspace)]
    # A kill in the middle of a write leaves a part of a line, once for each kill at most.
    stored, journaled = [record.id for record in records], journal_ids(workspace, KILLS)
    assert only_once(stored)
    assert only_once(journaled)
    assert set(noted.ids("saved")) <= set(stored)
    assert set(stored) <= set(journaled)
    chains = defaultdict(list)
    for record in sorted(records, key=lambda record: record.id):
        before = chains[key_of(record)]
        assert record.supersedes == (before[-1] if before else None)
        before.append(record.id)

    steps, executions = rows(workspace, StepRow), rows(workspace, ExecutionRow)
    assert only_once(step["id"] for step in steps)
    assert only_once((step["run_id"], step["item_id"], step["role"], step["attempt"]) for step in steps)
    assert set(noted.ids("ok", "failed")) <= {step["id"] for step in steps}
    ok = [(step["item_id"], step["role"]) for step in steps if step["outcome"] == "ok"]
    assert only_once(ok), "a reply or an execution that was recorded was asked for again"
    answered = {step["reply_id"] for step in steps if step["outcome"] == "ok" and step["reply_id"]}
    assert answered == {reply["id"] for reply in rows(workspace, ReplyRow)}
    executed = {step["id"] for step in steps if step["role"] == "executor" and step["outcome"] == "ok"}
    assert executed == {execution["step_id"] for execution in executions}
    outcomes = Counter(outcome["execution_id"] for outcome in rows(workspace, TestOutcomeRow))
    assert outcomes == {execution["id"]: 3 for execution in executions}
    assert set(noted.ids("verdict")) <= {verdict["id"] for verdict in rows(workspace, VerdictRow)}
    verdicts(workspace)
    assert len(rows(workspace, Run)) <= 1
    return len(journaled) - len(stored)


def undo_works(workspace):
    """The latest action is taken back and brought again."""
    desk = Desk(workspace)
    undone = desk.undo()
    if undone is None:
        return 0
    redone = desk.redo()
    assert redone.item_id == undone.item_id
    assert {record.origin for record in redone.records} == {"redo"}
    return 1


def test_killed_at_random_moments_nothing_acknowledged_is_lost(tmp_path, nursery, capsys):
    begin, ended = nursery
    model = replies(tmp_path)
    with judged_workspace(tmp_path, ITEMS) as workspace:
        path, log = workspace.path, tmp_path / "log"
    chance = random.Random(20260117)
    opened, ahead, undone = 0, 0, 0
    for number in range(KILLS):
        child = begin(path=path, log=log, model=model, delay=0.02, seed=number, items=ITEMS)
        # Some die while they open the workspace, the others after they did, or after a step, however fast the
        # machine is.
        if number % 4:
            wait_for_opening(log, child)
            if len(Noted(log).ids("verdict")) < ITEMS / 2:
                wait_for_step(log, child)
        time.sleep(chance.uniform(0.03, 0.9))
        os.kill(child, signal.SIGKILL)
        assert ended() == -signal.SIGKILL
        noted = Noted(log)
        with Workspace.open(path) as workspace:
            ahead = check(workspace, noted)
            undone += undo_works(workspace)
    noted = Noted(log)
    opened = sum(line[0] == "opened" for line in noted.lines)
    saved, taken = len(noted.ids("saved")), len(noted.ids("ok"))
    assert opened > KILLS / 2
    assert saved > KILLS
    assert taken > KILLS / 2
    assert undone > KILLS / 2
    assert noted.asked_again() == []

    begin(path=path, log=log, model=model, judging=False)
    assert ended() == 0
    noted = Noted(log)
    assert noted.asked_again() == []
    with Workspace.open(path) as workspace:
        ahead = check(workspace, noted)
        resumed = verdicts(workspace)
        assert [run["state"] for run in rows(workspace, Run)] == ["done"]
        # Another run that asks the same: whatever was acknowledged in any life is not paid for again.
        other_run = SandboxSettings(wall_seconds=SandboxSettings().wall_seconds + 1)
        free = JobSettings(model, sandbox="process", concurrency=4, sandboxes=other_run)
        report = run_job(workspace, free, lambda _: None)
        assert (report.done, report.counts.requests) == (ITEMS, 0)
        assert report.counts.from_cache == len(rows(workspace, ReplyRow))
    (tmp_path / "uninterrupted").mkdir()
    with judged_workspace(tmp_path / "uninterrupted", ITEMS) as other:
        run_job(other, JobSettings(model, sandbox="process", concurrency=4), lambda _: None)
        assert verdicts(other) == resumed
    assert len(resumed) == ITEMS
    with capsys.disabled():
        print(
            f"\n{KILLS} kills, {opened} after opening: {saved} records and {taken} steps acknowledged, none lost; "
            f"{ahead} unacknowledged records in the journal alone"
        )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_told_to_end_everything_submitted_is_written(tmp_path, nursery, number):
    begin, ended = nursery
    with judged_workspace(tmp_path, 20) as workspace:
        path, log = workspace.path, tmp_path / "log"
    chance = random.Random(number)
    for life in range(STOPS):
        child = begin(path=path, log=log, seed=life, items=20)
        before = len(Noted(log).ids("submitted"))
        while len(Noted(log).ids("submitted")) == before:
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, 0.2))
        os.kill(child, number)
        assert ended() == 128 + number
        with Workspace.open(path) as workspace:
            stored = {record.id for record in [*judgments(workspace), *marks(workspace)]}
            assert set(Noted(log).ids("submitted", "saved")) <= stored
            assert stored == set(journal_ids(workspace))
