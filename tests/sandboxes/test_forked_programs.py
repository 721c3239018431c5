"""Programs as forks in bubblewrap: each by itself, as any other run reports, and none left whatever dies."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from forked_box import BOXES, Forks

from agents.sandbox.bubblewrap import command, fork_client
from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.check import CHECK_PROGRAM
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
HASHES = TestProgram("", "def test_a():\n    print(hash('a'), list({'b', 'c', 'd', 'e', 'f'}))\n")
DEPTH = TestProgram(
    "",
    "def deeper(levels):\n"
    "    try:\n"
    "        return deeper(levels + 1)\n"
    "    except RecursionError:\n"
    "        return levels\n"
    "def test_a():\n"
    "    print(deeper(0))\n",
)
SLEEP = TestProgram("", "import time\ndef test_a():\n    time.sleep(1)\n")
WRITES = TestProgram(
    "", "def test_a():\n    with open('/tmp/a', 'wb') as file:\n        file.write(b'x' * 2000)\n"
)
LEAVES = TestProgram(
    "",
    "import os\n"
    "def test_a():\n"
    "    places = {line.split()[4] for line in open('/proc/self/mountinfo')} | {'/etc', '/harness'}\n"
    "    for folder in filter(os.path.isdir, places):\n"
    "        assert 'left.pth' not in os.listdir(folder), folder\n"
    "        try:\n"
    "            os.chmod(folder, 0o777)\n"
    "        except OSError:\n"
    "            pass\n"
    "        try:\n"
    "            open(folder + '/left.pth', 'w').close()\n"
    "            print(folder)\n"
    "        except OSError:\n"
    "            pass\n",
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


async def until(state):
    end = time.monotonic() + SECONDS
    while not (found := state()):
        assert time.monotonic() < end
        await asyncio.sleep(0.02)
    return found


async def below(before):
    """The processes that this one has started since, once there are any."""
    return await until(lambda: [one for one in children(os.getpid()) if one not in before and alive(one)])


async def test_every_program_is_by_itself_and_nothing_is_left():
    before = set(children(os.getpid()))
    box = Forks()
    reports = [await box.run(WHO) for _ in range(2)]
    reports += await asyncio.gather(*(box.run(WHO) for _ in range(4)))

    assert [report.exit_reason for report in reports] == ["ok"] * 6, reports
    told = [report.stdout.split() for report in reports]
    assert {process for _, process, *_ in told} == {"2"}  # below its supervisor, the first of its namespace
    assert len({user for user, *_ in told}) == (6 if os.geteuid() == 0 else 1)
    await until(lambda: not set(children(os.getpid())) - before)


@pytest.mark.parametrize("make", BOXES.values(), ids=BOXES)
async def test_no_place_that_can_be_written_outlives_a_program(make):
    async with make() as box:
        reports = [await box.run(LEAVES) for _ in range(2)]

    assert [report.exit_reason for report in reports] == ["ok"] * 2, reports
    assert {"/tmp", "/dev/shm", "/sandbox"} <= set(reports[0].stdout.split())


@pytest.mark.parametrize("program", [HASHES, replace(HASHES, hash_seed=1), DEPTH])
async def test_a_fork_reports_as_a_program_that_was_started(program):
    expected = await BubblewrapSandbox(SandboxSettings()).run(program)
    report = await Forks().run(program)

    same = ("exit_reason", "exit_code", "stdout", "stderr", "error", "environment", "packages")
    assert [getattr(report, name) for name in same] == [getattr(expected, name) for name in same]
    assert [(test.name, test.outcome) for test in report.outcomes] == [("test_a", "passed")]


async def test_a_seed_without_a_server_is_kept_to():
    box = BubblewrapSandbox(SandboxSettings())
    await box.open(1)
    try:
        report = await box.run(replace(HASHES, hash_seed=7))
    finally:
        await box.close()

    assert (
        report.stdout == (await BubblewrapSandbox(SandboxSettings()).run(replace(HASHES, hash_seed=7))).stdout
    )


async def test_each_run_has_its_own_limits():
    limits = SandboxSettings().limits
    box = Forks()
    short = await box.run(LOOP, replace(limits, wall_seconds=0.5))
    little = await box.run(WRITES, replace(limits, file_bytes=1000))
    usual = await box.run(WRITES)

    assert [report.exit_reason for report in (short, little, usual)] == ["timeout", "disk", "ok"]


async def test_what_ends_the_server_costs_no_program_its_run():
    before = set(children(os.getpid()))
    box = BubblewrapSandbox(SandboxSettings())
    try:
        await box.open(1)
        first = await box._server(0)
        running = asyncio.create_task(box.run(SLEEP))
        inside = await until(lambda: [one for one in children(os.getpid()) if one not in before][4:])
        os.killpg(first._process._transport.get_pid(), signal.SIGKILL)
        assert (await running).exit_reason == "ok"  # it was run anew
        await until(lambda: not any(alive(one) for one in inside))
        assert (await box.run(CHECK_PROGRAM)).exit_reason == "ok"
        second = await box._server(0)
        assert second is not first
        assert second.works
    finally:
        await box.close()


async def test_a_server_that_hangs_is_ended_and_costs_no_program_its_run(monkeypatch):
    monkeypatch.setattr(fork_client, "PATIENCE", 0.5)
    before = set(children(os.getpid()))
    limits = replace(SandboxSettings().limits, wall_seconds=2)
    box = BubblewrapSandbox(SandboxSettings())
    try:
        await box.open(1)
        inside = await below(before)
        os.kill(inside[-1], signal.SIGSTOP)
        reports = await asyncio.gather(*(box.run(CHECK_PROGRAM, limits) for _ in range(3)))
        assert [report.exit_reason for report in reports] == ["ok"] * 3, reports
        assert not any(alive(one) for one in inside)
    finally:
        await box.close()


async def test_where_nothing_can_be_forked_no_program_runs_and_the_check_says_why(monkeypatch):
    monkeypatch.setattr(command, "FORKING_RIGHTS", ())
    box = BubblewrapSandbox(SandboxSettings())
    try:
        await box.open(1)
        assert await box._server(0) is None
        report, check = await box.run(CHECK_PROGRAM), await box.check()
    finally:
        await box.close()

    assert report.exit_reason == "infrastructure"
    assert "Operation not permitted" in report.error
    assert (check.works, check.detail) == (False, report.error)
    assert check.hint


async def test_a_server_without_room_for_descriptors_forks_nothing():
    before = set(children(os.getpid()))
    box = BubblewrapSandbox(SandboxSettings())
    await box.open(1)
    try:
        server = (await below(before))[-1]
        numbers = {int(name) for name in os.listdir(f"/proc/{server}/fd")}
        free = next(most for most in range(3, 256) if len(set(range(most)) - numbers) == 2)
        resource.prlimit(server, resource.RLIMIT_NOFILE, (free, free))
        ending = await box._fork(await box._server(0), CHECK_PROGRAM, SandboxSettings().limits)
        assert ending.code is None
        assert ending.stderr.startswith(b"2 descriptors came instead of ")
        assert {int(name) for name in os.listdir(f"/proc/{server}/fd")} == numbers
        assert (await box.run(CHECK_PROGRAM)).exit_reason == "ok"  # by an interpreter of its own
    finally:
        await box.close()


async def test_a_cancelled_run_ends_its_program():
    before = set(children(os.getpid()))  # an engine of other tests, for one
    box = BubblewrapSandbox(SandboxSettings())
    try:
        await box.open(1)
        waiting = set(children(os.getpid()))
        task = asyncio.create_task(box.run(LOOP))
        inside = await below(waiting)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not any(alive(one) for one in inside)
        assert (await box.run(CHECK_PROGRAM)).exit_reason == "ok"
    finally:
        await box.close()
    await until(lambda: not set(children(os.getpid())) - before)


async def test_more_at_a_time_than_its_socket_holds():
    box = Forks()
    reports = await asyncio.gather(*(box.run(CHECK_PROGRAM) for _ in range(64)))

    assert {report.exit_reason for report in reports} == {"ok"}


def test_a_killed_workbench_leaves_nothing_that_waits_or_runs():
    code = (
        "import asyncio\n"
        "from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox\n"
        "from agents.sandbox.protocol import TestProgram\n"
        "from agents.sandbox.settings import SandboxSettings\n"
        "async def main():\n"
        "    box = BubblewrapSandbox(SandboxSettings())\n"
        "    await box.open(1)\n"
        f"    task = asyncio.create_task(box.run(TestProgram('', {LOOP.test!r})))\n"
        "    await asyncio.sleep(0)\n"
        "    print('runs', flush=True)\n"
        "    await task\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY, stdout=subprocess.PIPE) as workbench:
        assert workbench.stdout.readline() == b"runs\n"
        end = time.monotonic() + SECONDS
        # bubblewrap, its reaper and the interpreter; of what runs its supervisor and the test's process.
        while len(inside := children(workbench.pid)) < 5:
            assert time.monotonic() < end
            time.sleep(0.02)
        os.kill(workbench.pid, signal.SIGKILL)
    while any(alive(one) for one in inside):
        assert time.monotonic() < end
        time.sleep(0.02)
