"""Interpreters that wait for their programs in bubblewrap: one program each, none that does not fit, none left."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agents.sandbox import bubblewrap, waiting
from agents.sandbox.interpreter import CHECK_PROGRAM
from agents.sandbox.protocol import TestProgram
from agents.sandbox.settings import SandboxSettings

REPOSITORY = Path(__file__).parents[2]
SECONDS = 60
WHO = TestProgram(
    "",
    "import os\n"
    "def test_a():\n"
    "    assert os.listdir('/tmp') == []\n"
    "    open('/tmp/mark', 'w').close()\n"
    "    assert os.read(0, 1) == b''\n"
    "    print(os.getuid(), os.getpid())\n",
)
LOOP = TestProgram("", "def test_a():\n    while True:\n        pass\n")


def children(of):
    """The processes below another one, whatever namespace they are in."""
    found, below = [], {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        below.setdefault(parent, []).append(int(entry.name))
    todo = [of]
    while todo:
        new = below.get(todo.pop(), [])
        found += new
        todo += new
    return found


def alive(process):
    """Whether a process is there that is not only waited for."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_the_end_of(processes):
    """Wait for their ends, one inside bubblewrap a moment after it; the event loop sees nothing of them yet."""
    end = time.monotonic() + SECONDS
    while any(map(alive, processes)):
        assert time.monotonic() < end
        time.sleep(0.01)


async def until(state):
    end = time.monotonic() + SECONDS
    while not (found := state()):
        assert time.monotonic() < end
        await asyncio.sleep(0.02)
    return found


@asynccontextmanager
async def opened(programs=1):
    """A sandbox in which all wait that are to wait."""
    sandbox = bubblewrap.create(SandboxSettings())
    try:
        await sandbox.open(programs)
        await until(lambda: sandbox._waiting.ready() == programs * bubblewrap._AHEAD)
        yield sandbox
    finally:
        await sandbox.close()


async def test_every_program_has_an_interpreter_of_its_own_and_none_is_left(monkeypatch):
    before = set(children(os.getpid()))
    async with opened() as sandbox:
        taken = [sandbox._waiting._ready[0], sandbox._waiting._ready[1]]
        reports = [await sandbox.run(WHO) for _ in range(4)]
        await until(lambda: sandbox._waiting.ready() == 2)
        assert not set(taken) & set(sandbox._waiting._ready)

    assert [report.exit_reason for report in reports] == ["ok"] * 4, reports
    if os.geteuid() == 0:
        assert len({report.stdout.split()[0] for report in reports}) == 4
    await until(lambda: not set(children(os.getpid())) - before)


async def test_a_run_that_found_one_waiting_reports_as_any_other(monkeypatch):
    expected = await bubblewrap.create(SandboxSettings()).run(CHECK_PROGRAM)
    async with opened() as sandbox:
        monkeypatch.setattr(
            sandbox, "_start", None
        )  # nothing is started for a program that finds one waiting
        monkeypatch.setattr(sandbox._waiting, "fill", lambda: None)
        report = await sandbox.run(CHECK_PROGRAM)
        other_seed = await sandbox.run(replace(CHECK_PROGRAM, hash_seed=1))

    same = ("exit_reason", "exit_code", "stdout", "stderr", "error", "environment", "output_dropped")
    assert [getattr(report, name) for name in same] == [getattr(expected, name) for name in same]
    assert [getattr(other_seed, name) for name in same] == [getattr(expected, name) for name in same]


async def test_only_a_run_with_the_same_limits_takes_one(monkeypatch):
    async with opened() as sandbox:
        kept = list(sandbox._waiting._ready)
        limits = SandboxSettings().limits
        other = await sandbox.run(CHECK_PROGRAM, replace(limits, file_bytes=limits.file_bytes - 1))
        assert (other.exit_reason, sandbox._waiting._ready) == ("ok", kept)
        short = await sandbox.run(LOOP, replace(limits, wall_seconds=0.5))
        assert (short.exit_reason, sandbox._waiting._ready[0]) == ("timeout", kept[1])


async def test_what_died_or_is_old_is_replaced(monkeypatch):
    async with opened() as sandbox:
        waiting_ones = [each._transport.get_pid() for each in sandbox._waiting._ready]
        inside = [one for each in waiting_ones for one in (each, *children(each))]
        for each in waiting_ones:
            os.killpg(each, signal.SIGKILL)
        wait_for_the_end_of(inside)
        assert (await sandbox.run(CHECK_PROGRAM)).exit_reason == "ok"
        await until(lambda: sandbox._waiting.ready() == 2)
        kept = list(sandbox._waiting._ready)
        monkeypatch.setattr(waiting, "OLDEST", 0.0)
        assert (await sandbox.run(CHECK_PROGRAM)).exit_reason == "ok"
        assert not set(kept) & set(sandbox._waiting._ready)


async def test_a_cancelled_run_ends_its_program():
    before = set(children(os.getpid()))  # an engine of other tests, for one
    async with opened() as sandbox:
        task = asyncio.create_task(sandbox.run(LOOP))
        await asyncio.sleep(0)
        inside = await until(
            lambda: [one for one in children(os.getpid()) if one not in before and alive(one)]
        )
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await until(lambda: not any(alive(one) for one in inside))


def test_a_killed_workbench_leaves_no_interpreter_that_waits_or_runs():
    code = (
        "import asyncio\n"
        "from agents.sandbox import bubblewrap\n"
        "from agents.sandbox.protocol import TestProgram\n"
        "from agents.sandbox.settings import SandboxSettings\n"
        "async def main():\n"
        "    box = bubblewrap.create(SandboxSettings())\n"
        "    await box.open(1)\n"
        "    while box._waiting.ready() < 2:\n        await asyncio.sleep(0.02)\n"
        f"    task = asyncio.create_task(box.run(TestProgram('', {LOOP.test!r})))\n"
        "    await asyncio.sleep(0)\n"
        "    print('runs', flush=True)\n"
        "    await task\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY, stdout=subprocess.PIPE) as workbench:
        assert workbench.stdout.readline() == b"runs\n"
        end = time.monotonic() + SECONDS
        # Of each that waits bubblewrap, its reaper and the interpreter; of what runs the test's process too.
        while len(inside := children(workbench.pid)) < 7:
            assert time.monotonic() < end
            time.sleep(0.02)
        os.kill(workbench.pid, signal.SIGKILL)
    while any(alive(one) for one in inside):
        assert time.monotonic() < end
        time.sleep(0.02)
