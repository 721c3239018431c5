"""What holds memory, files and signals beyond one process: each is limited, refused, or reaches nothing."""

import asyncio
import contextlib
import os
from dataclasses import replace
from pathlib import Path

import pytest
from forked_box import BOXES

from agents.sandbox.bubblewrap import cgroup
from agents.sandbox.bubblewrap.cgroup import ControlGroup
from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.protocol import Limits, TestProgram
from agents.sandbox.settings import SandboxSettings

LIMITS = Limits(wall_seconds=60, cpu_seconds=60)

SHARED_MEMORY = """
import ctypes
def test_a():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    for _ in range(32):
        number = libc.shmget(0, 100 << 20, 0o1600)
        if number < 0:
            raise OSError(ctypes.get_errno(), "shmget")
        place = libc.shmat(number, None, 0)
        ctypes.memset(place, 1, 100 << 20)
        libc.shmdt(ctypes.c_void_p(place))
"""
MEMORY_FILES = """
import os
def test_a():
    kept = [os.memfd_create(str(number)) for number in range(10)]
    for file in kept:
        for _ in range(100):
            os.write(file, bytes(1 << 20))
"""
QUEUES = """
import ctypes, os
def test_a():
    libc = ctypes.CDLL(None, use_errno=True)
    opened = getattr(libc, "mq_open", None) or ctypes.CDLL("librt.so.1", use_errno=True).mq_open
    if opened(b"/workbench", os.O_CREAT | os.O_RDWR, 0o600, None) < 0:
        raise OSError(ctypes.get_errno(), "mq_open")
"""
HOST_SOCKET = "import socket\ndef test_a():\n    socket.socket(40, socket.SOCK_STREAM)  # AF_VSOCK\n"
CHILDREN = """
import os, time
def test_a():
    for _ in range(6):
        if os.fork() == 0:
            kept = bytearray(200 << 20)
            time.sleep(30)
            os._exit(0)
    os.wait()
"""
EMPTY_FILES = """
def test_a():
    for folder in ("/tmp", "/dev/shm"):
        made = 0
        try:
            while True:
                open(f"{folder}/{made}", "w").close()
                made += 1
        except OSError as error:
            last = error
        assert made < 20_000, made
    raise last
"""
LIMIT_OF_THE_SUPERVISOR = """
import os, resource
def test_a():
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE):
        try:
            resource.prlimit(os.getppid(), kind, (0, 0))
        except PermissionError:
            continue
        assert False, kind
def test_b():
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
    assert len(bytes(10**6)) == 10**6
"""
SIGNALS = """
import os, signal
def test_a():
    for number in range(1, 65):
        for _ in range(3):
            try:
                os.kill(os.getppid(), number)
            except OSError:
                pass
def test_b():
    assert os.getppid() == 1
"""
# Its own Ctrl-C still ends a test.
INTERRUPTED = "import os, signal\ndef test_a():\n    os.kill(os.getpid(), signal.SIGINT)\n"


@pytest.fixture(params=[*BOXES, "docker"])
def sandbox(request):
    if request.param == "docker":
        return request.getfixturevalue("docker_sandbox")
    return BOXES[request.param]()


def run(sandbox, test, limits=LIMITS):
    report = asyncio.run(sandbox.run(TestProgram("", test), limits))
    assert report.exit_reason != "infrastructure", report
    return report


@pytest.mark.parametrize(
    "test",
    [SHARED_MEMORY, MEMORY_FILES, QUEUES, HOST_SOCKET],
    ids=["shared memory", "memory files", "queues", "host socket"],
)
def test_memory_of_no_process_and_the_host_are_refused(sandbox, test):
    report = run(sandbox, test)

    assert report.outcomes[0].message.startswith("PermissionError: [Errno 1]"), report


def test_empty_files_are_limited_too(sandbox):
    report = run(sandbox, EMPTY_FILES)

    assert (report.exit_reason, report.error[:21]) == ("disk", "OSError: [Errno 28] N"), report


@pytest.mark.parametrize("test", [LIMIT_OF_THE_SUPERVISOR, SIGNALS], ids=["limits", "signals"])
def test_a_test_does_nothing_to_its_supervisor(sandbox, test):
    report = run(sandbox, test)

    assert report.exit_reason == "ok", report
    assert [test.outcome for test in report.outcomes] == ["passed", "passed"]


def test_a_test_can_interrupt_itself(sandbox):
    report = run(sandbox, INTERRUPTED)

    assert (report.exit_reason, report.outcomes[0].message) == ("error", "KeyboardInterrupt"), report


def test_memory_of_all_processes_together_is_limited(sandbox):
    if sandbox.name == "bubblewrap" and not cgroup.parents():
        assert os.geteuid() != 0, "root can make control groups here"
        pytest.skip("this user can make no control group here")
    report = run(sandbox, CHILDREN)

    assert report.exit_reason == "memory", report
    assert report.error == f"OutOfMemory: used more than {LIMITS.memory_bytes} bytes"


def left(process):
    return [str(each) for parent in cgroup.parents() for each in parent.glob(f"workbench-{process}-*")]


def test_no_control_group_outlives_its_run():
    box = BOXES["forks"]()
    for limits in (LIMITS, replace(LIMITS, wall_seconds=0.5)):
        asyncio.run(box.run(TestProgram("", CHILDREN), limits))
    assert left(os.getpid()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make control groups on every machine")
def test_what_a_killed_workbench_left_is_removed():
    parents = cgroup.parents()
    assert parents
    for parent in parents:
        (parent / "workbench-4194305-1").mkdir()  # no process has so high a number
    cgroup.parents.cache_clear()
    assert cgroup.parents() == parents
    assert left(4194305) == []


@pytest.fixture
def hierarchy(tmp_path):
    """Cgroups of version 2 as files, since few machines have a delegated one: what is read and written there."""
    own = tmp_path / "user.slice" / "app.slice" / "terminal.scope"
    own.mkdir(parents=True)
    for folder, passed_on in (
        (own, ""),
        (own.parent, "cpu memory pids\n"),
        (own.parent.parent, "memory pids\n"),
    ):
        (folder / "cgroup.subtree_control").write_text(passed_on)
        (folder / "cgroup.procs").write_text("")
    return tmp_path


def test_in_version_2_the_nearest_group_that_passes_its_controllers_on_is_used(hierarchy):
    found = cgroup._version_2({"": "/user.slice/app.slice/terminal.scope"}, {"": ("/", hierarchy)})
    assert found == (hierarchy / "user.slice" / "app.slice",)
    # A container sees the hierarchy from its own group on.
    assert cgroup._version_2({"": "/"}, {"": ("/docker/1", hierarchy)}) == ()


def test_in_version_2_a_group_gets_both_limits_and_tells_when_it_ran_out_of_memory(hierarchy, monkeypatch):
    parent = hierarchy / "user.slice" / "app.slice"
    mkdir = Path.mkdir

    def with_files(folder, *args, **kwargs):
        mkdir(folder, *args, **kwargs)
        for name in ("cgroup.procs", "memory.max", "memory.swap.max", "pids.max"):
            (folder / name).write_text("max\n")
        (folder / "memory.events").write_text("low 0\nmax 3\noom 1\noom_kill 0\n")

    monkeypatch.setattr(Path, "mkdir", with_files)
    group = cgroup._make((parent,), 1000, 9)
    (folder,) = [each for each in parent.iterdir() if each.name.startswith("workbench-")]
    said = {name: (folder / name).read_text() for name in ("memory.max", "memory.swap.max", "pids.max")}
    assert said == {"memory.max": "1000", "memory.swap.max": "0", "pids.max": "9"}
    assert not group.ran_out_of_memory()
    (folder / "memory.events").write_text("oom 1\noom_kill 2\n")
    assert group.ran_out_of_memory()
    for entrance in group.entrances:
        os.close(entrance)


def test_without_a_control_group_each_process_is_limited(monkeypatch):
    monkeypatch.setattr(ControlGroup, "make", lambda *_: None)
    monkeypatch.setattr("agents.sandbox.bubblewrap.sandbox.parents", lambda: ())
    box = BubblewrapSandbox(SandboxSettings())
    report = run(box, "def test_a():\n    kept = bytearray(600 << 20)\n")

    assert report.exit_reason == "memory"
    assert "no control group can be made" in asyncio.run(box.check()).detail


def test_the_machines_own_facts_are_hidden(tmp_path):
    test = (
        "import os\n"
        "def test_a():\n"
        "    for path in ('/proc/cmdline', '/proc/sys/kernel/random/boot_id'):\n"
        "        assert open(path).read() == '', path\n"
        "def test_b():\n"
        "    assert not os.path.isdir('/usr/local/etc') or os.listdir('/usr/local/etc') == []\n"
    )
    for make in BOXES.values():
        assert run(make(), test).exit_reason == "ok"
    with contextlib.suppress(FileNotFoundError):
        assert Path("/proc/sys/kernel/random/boot_id").read_text()
