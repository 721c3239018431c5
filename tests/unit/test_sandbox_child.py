"""Starting and ending children: cancellation, threads, file descriptors, commands that do not start."""

import asyncio
import os
import sys
import threading
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest
from forked_box import Forks
from hostile import descriptors

from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.check import CHECK_PROGRAM
from agents.sandbox.child_process import run_child
from agents.sandbox.process import ProcessSandbox
from agents.sandbox.protocol import Limits, TestProgram
from agents.sandbox.settings import SandboxSettings

LIMITS = Limits(wall_seconds=60, cpu_seconds=60)

WAITING = """
import subprocess, sys
def test_a():
    subprocess.run([sys.executable, "-c", "import time; time.sleep(600)", "{marker}"])
"""


@cache
def why_not_bubblewrap():
    check = asyncio.run(BubblewrapSandbox(SandboxSettings(), None).check())
    return "" if check.works else f"bubblewrap does not work here: {check.detail}"


@pytest.fixture(params=["bubblewrap", "forks", "process"])
def sandbox(request):
    if request.param == "process":
        return ProcessSandbox(SandboxSettings(), None)
    if why_not_bubblewrap():
        pytest.skip(why_not_bubblewrap())
    return Forks() if request.param == "forks" else BubblewrapSandbox(SandboxSettings(), None)


def holders(marker):
    """The processes of this machine that have the marker on their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (entry / "cmdline").read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return found


def named(name):
    """The processes of this machine that call themselves by a name of at most 15 characters."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "comm").read_text().strip() == name:
                found.append(entry.name)
        except OSError:
            continue
    return found


async def until(state):
    while not state():  # noqa: ASYNC110 - the state is another process's
        await asyncio.sleep(0.01)


async def started(marker, task):
    async with asyncio.timeout(60):
        await until(lambda: task.done() or holders(marker))
    assert not task.done(), task.result()


async def test_a_cancelled_run_leaves_no_process_no_folder_and_no_descriptor(sandbox, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    await sandbox.run(CHECK_PROGRAM, LIMITS)  # what the loop opens once and for all
    before, marker = descriptors(), f"marker-{uuid4()}"
    task = asyncio.create_task(sandbox.run(TestProgram("", WAITING.format(marker=marker)), LIMITS))
    await started(marker, task)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert holders(marker) == []
    assert os.listdir(tmp_path) == []
    assert len(descriptors()) <= len(before)


async def test_a_run_cancelled_again_while_it_cleans_up_still_cleans_up(sandbox, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    marker = f"marker-{uuid4()}"
    task = asyncio.create_task(sandbox.run(TestProgram("", WAITING.format(marker=marker)), LIMITS))
    await started(marker, task)

    while not task.done():
        task.cancel()
        await asyncio.sleep(0)

    assert task.cancelled()
    assert holders(marker) == []
    assert os.listdir(tmp_path) == []


async def test_a_run_cancelled_before_it_starts_leaves_nothing(sandbox, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    await sandbox.run(CHECK_PROGRAM, LIMITS)
    before = descriptors()
    for turns in range(6):
        task = asyncio.create_task(sandbox.run(CHECK_PROGRAM, LIMITS))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert os.listdir(tmp_path) == []
    assert len(descriptors()) <= len(before)


async def test_a_run_cancelled_while_it_starts_always_ends(sandbox):
    # Threads in quick turns: what connects the pipes and what waits for the child then meet in every order.
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    try:
        async with asyncio.timeout(240):
            for turns in [*range(1, 10)] * 12:
                task = asyncio.create_task(sandbox.run(CHECK_PROGRAM, LIMITS))
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
    finally:
        sys.setswitchinterval(before)


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells a child of its parent's death"
)
async def test_a_workbench_that_is_killed_takes_its_program_with_it(sandbox, tmp_path):
    marker = f"marker-{uuid4()}"
    # The program itself carries the marker: what it starts is the kernel's business in `process`.
    test = f"import ctypes\ndef test_a():\n    assert not ctypes.CDLL(None).prctl(15, b'{marker[:15]}')\n"
    test += "    while True: pass\n"
    workbench = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import asyncio, sys\n"
        "from agents.sandbox.protocol import *\n"
        "from agents.sandbox.settings import SandboxSettings\n"
        "from agents.sandbox.registry import find_sandbox\n"
        "program = TestProgram('', sys.argv[1])\n"
        f"sandbox = find_sandbox({sandbox.name!r}, SandboxSettings(), None)\n"
        "asyncio.run(sandbox.run(program, Limits(300.0, 300)))\n",
        test,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    async with asyncio.timeout(60):
        await until(lambda: named(marker[:15]))
        workbench.kill()
        await workbench.wait()
        await until(lambda: not named(marker[:15]))


async def test_a_timed_out_run_leaves_no_process(sandbox):
    marker = f"marker-{uuid4()}"
    limits = Limits(wall_seconds=2)
    report = await sandbox.run(TestProgram("", WAITING.format(marker=marker)), limits)

    assert report.exit_reason == "timeout"
    assert report.exit_code == 137
    assert holders(marker) == []


def test_it_runs_on_a_loop_in_a_thread(sandbox):
    reports = []

    def work():
        async def several():
            return await asyncio.gather(*(sandbox.run(CHECK_PROGRAM, LIMITS) for _ in range(4)))

        reports.extend(asyncio.run(several()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert [report.exit_reason for report in reports] == ["ok"] * 4


async def test_many_runs_keep_no_descriptors(sandbox):
    await sandbox.run(CHECK_PROGRAM, LIMITS)
    before = descriptors()
    for _ in range(5):
        await sandbox.run(CHECK_PROGRAM, LIMITS)

    assert len(descriptors()) <= len(before)


async def test_a_command_that_cannot_start_is_an_ending(tmp_path):
    before = descriptors()
    missing = str(tmp_path / "missing")
    ending = await run_child(lambda channel: [missing], environment={}, folder="/", limits=LIMITS)

    assert ending.code is None
    assert b"No such file" in ending.stderr
    assert len(descriptors()) <= len(before)


async def test_a_process_that_left_the_group_and_holds_the_pipes_does_not_hold_the_run(tmp_path):
    leaver = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    open({str(tmp_path / 'new')!r}, 'w').write(str(os.getpid()))\n"
        f"    os.rename({str(tmp_path / 'new')!r}, {str(tmp_path / 'pid')!r})\n"
        "    print('held', flush=True)\n"
        "    time.sleep(600)\n"
        f"while not os.path.exists({str(tmp_path / 'pid')!r}): pass\n"
        "os._exit(7)\n"
    )
    ending = await run_child(
        lambda channel: [sys.executable, "-c", leaver], environment={}, folder="/", limits=LIMITS
    )
    os.kill(int((tmp_path / "pid").read_text()), 9)

    assert (ending.code, ending.stopped) == (7, "")
