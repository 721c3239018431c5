"""What a program in bubblewrap cannot do, each beside the proof that it can be done without isolation."""

import asyncio
import os
import socket
from dataclasses import replace
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest
from forked_box import BOXES, Forks

from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.process import ProcessSandbox
from agents.sandbox.protocol import Limits, TestProgram
from agents.sandbox.settings import SandboxSettings

LIMITS = Limits(wall_seconds=60, cpu_seconds=60)

DAEMON = """
import os, sys, time
def test_a():
    inside, outside = os.pipe()
    if os.fork() == 0:
        {detach}
        if os.fork() == 0:
            os.write(outside, b"alive")
            os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", "{marker}"])
        os._exit(0)
    assert os.read(inside, 5) == b"alive"
"""


@cache
def why_not_bubblewrap():
    check = asyncio.run(BubblewrapSandbox(SandboxSettings(), None).check())
    return "" if check.works else f"bubblewrap does not work here: {check.detail}"


@pytest.fixture(params=BOXES)
def isolated(request):
    if why_not_bubblewrap():
        pytest.skip(why_not_bubblewrap())
    return BOXES[request.param]()


@pytest.fixture(params=["forks"])
def bounded():
    """Where no program has root's own user or group: the kernel counts its processes, and hides others' files."""
    if why_not_bubblewrap():
        pytest.skip(why_not_bubblewrap())
    return Forks()


@pytest.fixture
def open_process():
    return ProcessSandbox(SandboxSettings(), None)


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


def failing(body, *imports):
    """A program whose one test passes when the body raises OSError."""
    lines = "".join(f"import {name}\n" for name in imports)
    test = f"def test_a():\n    try:\n        {body}\n    except OSError:\n        return\n    assert 0\n"
    return TestProgram("", lines + test)


async def test_the_hosts_files_are_not_there(isolated, open_process, tmp_path):
    planted = tmp_path / "secret.txt"
    planted.write_text("secret")
    program = failing(f"open({str(planted)!r})")

    assert (await isolated.run(program, LIMITS)).exit_reason == "ok"
    assert (await open_process.run(program, LIMITS)).exit_reason == "assertion"


async def test_the_home_folders_are_not_there(isolated):
    paths = ["/home", "/root", "/etc/shadow", "/var", "/srv", "/mnt", "/run"]
    program = TestProgram(
        "", f"import os\ndef test_a():\n    assert not [p for p in {paths!r} if os.path.exists(p)]\n"
    )

    assert (await isolated.run(program, LIMITS)).exit_reason == "ok"


@pytest.mark.parametrize(
    "path",
    [
        "/etc/x",
        "/x",
        "/usr/x",
        "/sandbox/work/x",
        "/sandbox/work/candidate.py",
        "/dev/x",
        "/harness/harness.py",
        "/opt/x",
    ],
)
async def test_nothing_outside_the_scratch_folder_can_be_written(isolated, path):
    assert (await isolated.run(failing(f"open({path!r}, 'a')"), LIMITS)).exit_reason == "ok"


async def test_the_host_cannot_be_reached_over_the_network(isolated, open_process):
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = failing(f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))", "socket")

        assert (await isolated.run(program, LIMITS)).exit_reason == "ok"
        assert (await open_process.run(program, LIMITS)).exit_reason == "assertion"


@pytest.mark.parametrize("place", ["('192.0.2.1', 80)", "('example.invalid', 80)"])
async def test_a_program_that_needs_the_network_lacks_its_environment(isolated, place):
    program = TestProgram("", f"import socket\ndef test_a():\n    socket.create_connection({place})\n")
    report = await isolated.run(program, LIMITS)

    assert report.exit_reason == "error"
    assert report.error
    assert not report.executable


async def test_the_program_is_nobody_and_cannot_become_root(isolated):
    test = (
        "import os, signal\n"
        "def test_a():\n"
        "    assert 0 not in (os.getuid(), os.geteuid(), os.getgid(), os.getegid())\n"
        "    status = dict(line.split(':\\t', 1) for line in open('/proc/self/status') if ':\\t' in line)\n"
        "    rights = [int(status[name], 16) for name in ('CapEff', 'CapPrm', 'CapInh', 'CapBnd', 'CapAmb')]\n"
        "    assert not any(rights), rights\n"
        "    assert set(status['Uid'].split() + status['Gid'].split()) == {str(os.getuid())}\n"
        "    assert status['Groups'].split() in ([], [str(os.getgid())])\n"
        "    assert status['NoNewPrivs'].strip() == '1'\n"
        "def test_processes():\n"
        "    assert len([name for name in os.listdir('/proc') if name.isdigit()]) <= 3\n"
    )

    assert (await isolated.run(TestProgram("", test), LIMITS)).exit_reason == "ok"


async def test_the_process_that_reports_cannot_be_touched(bounded):
    test = (
        "import os\n"
        "def test_a():\n"
        "    place, reached = f'/proc/{os.getppid()}/', []\n"
        "    for name in ('clear_refs', 'comm', 'coredump_filter', 'fd/3', 'mem', 'oom_score_adj'):\n"
        "        try:\n"
        "            os.close(os.open(place + name, os.O_WRONLY))\n"
        "        except OSError:\n"
        "            continue\n"
        "        reached.append(name)\n"
        "    assert reached == []\n"
        "def test_b():\n"
        "    try:\n"
        "        found = os.listdir(f'/proc/{os.getppid()}/fd')\n"
        "    except OSError:\n"
        "        return\n"
        "    assert found == []\n"
    )
    report = await bounded.run(TestProgram("", test), LIMITS)

    assert report.exit_reason == "ok", report


async def test_installed_packages_are_not_there(isolated):
    test = (
        "import glob, os, subprocess, sys\n"
        "def test_a():\n"
        "    for path in glob.glob(os.path.dirname(os.__file__) + '/*-packages'):\n"
        "        assert os.listdir(path) == []\n"
        "def test_child():\n"
        "    assert subprocess.run([sys.executable, '-c', 'import pip']).returncode == 1\n"
    )

    assert (await isolated.run(TestProgram("", test), LIMITS)).exit_reason == "ok"


@pytest.mark.parametrize("detach", ["pass", "os.setsid()"])
async def test_a_daemon_ends_with_its_program(isolated, detach):
    marker = f"marker-{uuid4()}"
    report = await isolated.run(TestProgram("", DAEMON.format(marker=marker, detach=detach)), LIMITS)

    assert report.exit_reason == "ok"
    assert holders(marker) == []


async def test_a_background_process_ends_with_its_program_in_a_plain_process_too(open_process):
    marker = f"marker-{uuid4()}"
    report = await open_process.run(TestProgram("", DAEMON.format(marker=marker, detach="pass")), LIMITS)

    assert report.exit_reason == "ok"
    assert holders(marker) == []


async def test_more_threads_or_processes_than_allowed_end_as_processes(bounded):
    threads = (
        "import threading\ndef test_a():\n    go = threading.Event()\n    for _ in range(50):\n"
        "        threading.Thread(target=go.wait, daemon=True).start()\n"
    )
    forks = (
        "import os, signal\ndef test_a():\n    for _ in range(50):\n"
        "        if os.fork() == 0:\n            signal.pause()\n"
    )
    for test in (threads, forks):
        report = await bounded.run(TestProgram("", test), replace(LIMITS, processes=8))
        assert (report.exit_reason, report.executable) == ("processes", False)


async def test_runs_beside_each_other_do_not_share_their_processes(isolated):
    # Three and what the sandbox needs itself are well below the limit; those of all four together are above it.
    test = (
        "import os, signal\ndef test_a():\n    for _ in range(3):\n"
        "        if os.fork() == 0:\n            signal.pause()\n"
    )
    program = TestProgram("", test)
    reports = await asyncio.gather(*(isolated.run(program, replace(LIMITS, processes=8)) for _ in range(4)))

    assert [report.exit_reason for report in reports] == ["ok"] * 4


async def test_filling_the_scratch_folder_ends_as_disk(isolated):
    test = (
        "def test_a():\n    for number in range(20):\n"
        "        with open(str(number), 'wb') as file:\n            file.write(b'x' * 900_000)\n"
    )
    report = await isolated.run(TestProgram("", test), replace(LIMITS, file_bytes=1_000_000))

    assert (report.exit_reason, report.executable) == ("disk", False)


@pytest.mark.skipif(not os.access("/usr/bin/python3", os.X_OK), reason="the system has no Python of its own")
async def test_an_interpreter_of_the_systems_own_works_too(isolated):
    assert isolated.name == "bubblewrap"
    sandbox = BubblewrapSandbox(SandboxSettings(python="/usr/bin/python3"), None)
    report = await sandbox.run(
        TestProgram("", "import sys\ndef test_a():\n    print(sys.executable)\n"), LIMITS
    )

    assert report.exit_reason == "ok"
    assert report.stdout.startswith("/usr/bin/python3")


async def test_nothing_is_left_in_the_temporary_folder(isolated, open_process, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    locked = (
        "import os\ndef test_a():\n    os.makedirs('a/b')\n    os.chmod('a/b', 0)\n    os.chmod('a', 0)\n"
    )
    for sandbox in (isolated, open_process):
        assert (await sandbox.run(TestProgram("", locked), LIMITS)).exit_reason == "ok"
        assert os.listdir(tmp_path) == []
