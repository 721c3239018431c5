"""Twelve programs that mean harm, and the proof that a sandbox contained one of them and nothing of it is left."""

import asyncio
import contextlib
import gc
import os
import time
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from agents.sandbox.protocol import Limits, TestProgram

LIMITS = Limits(wall_seconds=60, cpu_seconds=60)

# The name that the kernel gives to the process, and to every one that it forks.
SIGN = "import ctypes\nctypes.CDLL(None).prctl(15, {marker!r}.encode())\n"

FORK_BOMB = "import os\ndef test_a():\n    while True:\n        os.fork()\n"
MEMORY_HOG = "def test_a():\n    kept = []\n    while True:\n        kept.append(bytes(10**6))\n"
ENDLESS = """
import signal
def test_a():
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        pass
"""
GIGABYTE = "import os\ndef test_a():\n    for _ in range(1000):\n        os.write(1, b'x' * 10**6)\n"
WRITE_ETC = "def test_a():\n    open('/etc/passwd', 'a').write('x')\n"
READ_HOME = "def test_a():\n    open({planted!r}).read()\n"
CONNECT = "import socket\ndef test_a():\n    socket.create_connection(('192.0.2.1', 80), 20)\n"
DAEMON = """
import os, signal, sys
def test_a():
    inside, outside = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.write(outside, b"alive")
            os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", {marker!r}])
        os._exit(0)
    assert os.read(inside, 5) == b"alive"
"""
KILL_ALL = """
import os, signal
def test_a():
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass  # a container has nobody else that could be killed
    os.kill(os.getpid(), signal.SIGKILL)
"""
FILL_TMP = """
def test_a():
    for number in range(100):
        with open(f"/tmp/{{number}}", "wb") as file:
            file.write(b"x" * 10**6)
"""
SEGFAULT = "def test_a():\n    ctypes.string_at(0)\n"
SYMLINK = """
import os
def test_a():
    os.symlink("/work", "way")
    os.symlink({planted!r}, "planted")
    os.symlink("/etc/passwd", "accounts")
    for write in (lambda: open("accounts", "a"), lambda: open("way/candidate.py", "a"), lambda: open("planted")):
        try:
            write()
        except OSError as error:
            last = error
        else:
            assert False, "it reached what is outside its folder"
    raise last
"""

PROGRAMS = {
    "fork bomb": (FORK_BOMB, "processes"),
    "memory hog": (MEMORY_HOG, "memory"),
    "endless loop that ignores signals": (ENDLESS, "timeout"),
    "1 GB of output": (GIGABYTE, "output"),
    "writing /etc": (WRITE_ETC, "error"),
    "reading the host's home": (READ_HOME, "error"),
    "connecting out": (CONNECT, "error"),
    "a daemon child": (DAEMON, "ok"),
    "kill(-1)": (KILL_ALL, "killed"),
    "filling /tmp": (FILL_TMP, "disk"),
    "segfault": (SEGFAULT, "killed"),
    "symlink out of the work folder": (SYMLINK, "error"),
}
SAYS = {
    "writing /etc": ("OSError: [Errno 30] Read-only", "PermissionError: [Errno 13]"),
    "reading the host's home": ("FileNotFoundError", "PermissionError: [Errno 13]"),
    "connecting out": ("OSError: [Errno 101] Network is unreachable",),
    "symlink out of the work folder": ("FileNotFoundError", "PermissionError: [Errno 13]"),
}


def running(marker):
    """The processes of this machine that have the marker as their name, or on their command line."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "comm").read_text().strip() == marker or marker.encode() in (
                entry / "cmdline"
            ).read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return found


def descriptors():
    """What this process has open, by number; without what earlier tests left for the collector of garbage to close."""
    gc.collect()
    found = {}
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found[number] = os.readlink(f"/proc/self/fd/{number}")
    return found


def containers(settings):
    from agents.sandbox.docker.containers import LABEL
    from agents.sandbox.docker.engine import connect

    client = connect(settings)
    try:
        return client.api.containers(all=True, filters={"label": LABEL})
    finally:
        client.close()


def assert_contained(sandbox, name, tmp_path, monkeypatch):
    """Run one of the programs: it ends for its own reason, reaches nothing, and leaves nothing."""
    text, reason = PROGRAMS[name]
    marker = f"m{uuid4().hex[:14]}"
    folder, planted = tmp_path / "temporary", tmp_path / "secret.txt"
    folder.mkdir()
    planted.write_text("secret")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    test = SIGN.format(marker=marker) + text.format(marker=marker, planted=str(planted))
    limits = replace(LIMITS, wall_seconds=2) if reason == "timeout" else LIMITS
    asyncio.run(sandbox.run(TestProgram("", "def test_a():\n    pass\n"), LIMITS))
    before, start = descriptors(), time.monotonic()

    report = asyncio.run(sandbox.run(TestProgram("", test), limits))

    assert report.exit_reason == reason, report
    assert time.monotonic() - start < 30
    assert [test.name for test in report.outcomes] == ["test_a"]
    assert all((test.outcome == "passed") == (reason == "ok") for test in report.outcomes)
    if name in SAYS:
        assert report.outcomes[0].message.startswith(SAYS[name])
    assert len(report.stdout) <= limits.output_bytes
    # A killed process has a name until the kernel is done with it, which is after its pipes were closed.
    end = time.monotonic() + 5
    while running(marker) and time.monotonic() < end:
        time.sleep(0.01)
    assert running(marker) == []
    assert os.listdir(folder) == []
    # Something that an earlier test left may be closed in between; nothing may be opened and left.
    while len(descriptors()) > len(before) and time.monotonic() < end:
        time.sleep(0.01)
    after = descriptors()
    assert len(after) <= len(before), (before, after)
    assert planted.read_text() == "secret"
