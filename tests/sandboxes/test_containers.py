"""What Docker is asked for, what it is refused for, and what is left of a workbench that was killed."""

import asyncio
import gc
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from engine import Wire

from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.check import CHECK_PROGRAM
from agents.sandbox.docker import container_run, containers
from agents.sandbox.docker.engine import connect
from agents.sandbox.docker.sandbox import DockerSandbox
from agents.sandbox.errors import SandboxError
from agents.sandbox.protocol import Limits, TestProgram
from agents.sandbox.settings import SandboxSettings
from agents.sandbox.system_calls import seccomp_filter
from store.processes import start_of

REPOSITORY = Path(__file__).parents[2]
LIMITS = Limits(wall_seconds=60, cpu_seconds=60)
LOOP = TestProgram("", "def test_a():\n    while True:\n        pass\n")


@pytest.fixture
def client(docker_settings):
    opened = connect(docker_settings)
    yield opened
    opened.close()


def ours(client):
    return client.api.containers(all=True, filters={"label": containers.LABEL})


def until(state):
    end = time.monotonic() + 60
    while not (found := state()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def start_workbench(settings):
    """A workbench that runs an endless program, in a process of its own."""
    code = (
        "import asyncio\n"
        "from agents.sandbox.docker.sandbox import DockerSandbox\n"
        "from agents.sandbox.protocol import *\n"
        "from agents.sandbox.settings import SandboxSettings\n"
        f"box = DockerSandbox(SandboxSettings(docker_host={settings.docker_host!r}, image={settings.image!r}))\n"
        "print('up', flush=True)\n"
        f"asyncio.run(box.run(TestProgram('', {LOOP.test!r}), Limits(wall_seconds=300, cpu_seconds=300)))\n"
    )
    return subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY, stdout=subprocess.PIPE)


def test_the_check_tells_that_it_works(docker_sandbox):
    check = asyncio.run(docker_sandbox.check())

    assert (check.name, check.works, check.hint) == ("docker", True, "")


def test_a_container_is_bound_as_it_is_asked_to_be(client, docker_settings):
    image = client.api.inspect_image(docker_settings.image)
    made = client.api.create_container(**containers.container_options(client, image, LIMITS))["Id"]
    try:
        facts = client.api.inspect_container(made)
    finally:
        containers.remove(client, made)
    host = facts["HostConfig"]

    assert host["NetworkMode"] == "none"
    assert host["Memory"] == host["MemorySwap"] == LIMITS.memory_bytes + 32 * 2**20
    assert host["PidsLimit"] == LIMITS.processes + 1
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["LogConfig"]["Type"] == "none"
    assert {limit["Name"] for limit in host["Ulimits"]} == {"nofile", "nproc", "core", "fsize"}
    assert {"/tmp", "/run", "/var/tmp"} <= set(host["Tmpfs"])
    assert all("size=" in options for options in host["Tmpfs"].values())
    assert not host["Binds"]
    assert not host["Privileged"]
    assert facts["Config"]["User"] == "65534:65534"
    assert facts["Config"]["Labels"][containers.LABEL] == containers.owner()


def test_the_program_sees_no_more_than_that(docker_sandbox):
    test = (
        "import os, socket\n"
        "status = dict(line.split(':\\t', 1) for line in open('/proc/self/status') if ':\\t' in line)\n"
        "def test_who():\n    assert {os.getuid(), os.geteuid(), os.getgid(), os.getegid()} == {65534}\n"
        "def test_rights():\n"
        "    assert int(status['CapEff'], 16) == int(status['CapBnd'], 16) == 0\n"
        "    assert status['NoNewPrivs'].strip() == '1'\n"
        "    assert status['Seccomp'].strip() == '2'\n"
        "def test_network():\n    assert [name for _, name in socket.if_nameindex()] == ['lo']\n"
        "def test_disk():\n"
        "    for path in ('/x', '/etc/x', '/usr/x', '/sandbox/x/y', '/sandbox/work/x', '/var/x'):\n"
        "        try:\n            open(path, 'w')\n"
        "        except OSError:\n            continue\n"
        "        assert False, path\n"
        "def test_files():\n"
        "    assert sorted(int(n) for n in os.listdir('/proc/self/fd'))[:3] == [0, 1, 2]\n"
    )
    report = asyncio.run(docker_sandbox.run(TestProgram("", test), LIMITS))

    assert report.exit_reason == "ok", report


def test_memory_that_many_processes_take_together_is_memory(docker_sandbox):
    test = (
        "import os, time\ndef test_a():\n"
        "    for _ in range(6):\n"
        "        if os.fork() == 0:\n"
        "            kept = b'x' * (60 * 2**20)\n"
        "            time.sleep(2)\n            os._exit(0)\n"
        "    for _ in range(6):\n        os.wait()\n"
    )
    limits = replace(LIMITS, memory_bytes=128 * 2**20)
    report = asyncio.run(docker_sandbox.run(TestProgram("", test), limits))

    # The limit ended the children of the test, not the test: it came to a result, and the reason says under what.
    assert (report.exit_reason, report.executable) == ("memory", True)
    assert report.error.startswith("OutOfMemory: ")


def test_the_image_is_part_of_the_environment(docker_sandbox, docker_settings, client):
    first = asyncio.run(docker_sandbox.run(CHECK_PROGRAM, LIMITS)).environment
    other = client.api.create_container(docker_settings.image, ["true"])["Id"]
    try:
        client.api.commit(other, repository="workbench-other", changes="LABEL other=1")
        settings = docker_settings.model_copy(update={"image": "workbench-other"})
        second = asyncio.run(DockerSandbox(settings).run(CHECK_PROGRAM, LIMITS)).environment
    finally:
        containers.remove(client, other)
        client.api.remove_image("workbench-other")

    assert len(first) == len(second) == 12
    assert first != second


@pytest.mark.parametrize(
    ("loose", "says"),
    [
        ({"pids_limit": None, "ulimits": []}, "64 processes"),
        ({"mem_limit": None, "memswap_limit": None}, "256 MiB"),
    ],
)
def test_an_engine_whose_limits_do_not_bite_is_refused(docker_settings, monkeypatch, loose, says):
    def without(client, image, limits):
        make = client.api.create_host_config
        monkeypatch.setattr(client.api, "create_host_config", lambda **options: make(**(options | loose)))
        return containers.container_options(client, image, limits)

    monkeypatch.setattr(container_run, "container_options", without)
    sandbox = DockerSandbox(docker_settings)
    check = asyncio.run(sandbox.check())

    assert not check.works
    assert says in check.detail
    with pytest.raises(SandboxError, match="limits do not bite"):
        asyncio.run(sandbox.run(CHECK_PROGRAM, LIMITS))


def test_without_an_engine_or_an_image_it_says_what_to_do(docker_settings):
    nowhere = asyncio.run(DockerSandbox(SandboxSettings(docker_host="unix:///nowhere/d.sock")).check())
    no_image = docker_settings.model_copy(update={"image": "nobody-made-this"})

    assert (nowhere.works, "DOCKER_HOST" in nowhere.hint) == (False, True)
    check = asyncio.run(DockerSandbox(no_image).check())
    assert (check.works, "workbench sandbox build" in check.hint) == (False, True)
    assert "nobody-made-this" in check.detail


def test_a_container_that_does_not_start_is_the_sandboxs_failure(docker_settings, client, monkeypatch):
    sandbox = DockerSandbox(docker_settings)
    asyncio.run(sandbox.run(CHECK_PROGRAM, LIMITS))
    monkeypatch.setattr(
        container_run,
        "container_options",
        lambda *options: containers.container_options(*options) | {"entrypoint": ["/no/such/program"]},
    )
    report = asyncio.run(sandbox.run(CHECK_PROGRAM, LIMITS))

    assert (report.exit_reason, report.executable) == ("infrastructure", False)
    assert "/no/such/program" in report.error
    assert ours(client) == []


def test_a_cancelled_run_leaves_no_container(docker_sandbox, client):
    asyncio.run(docker_sandbox.run(CHECK_PROGRAM, LIMITS))
    assert ours(client) == []  # from here on this client has its connection
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))

    async def cancelled():
        task = asyncio.create_task(docker_sandbox.run(LOOP, LIMITS))
        while not (task.done() or ours(client)):  # noqa: ASYNC110 - the state is an engine's
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(cancelled(), 60))

    assert ours(client) == []
    gc.collect()  # an answer that was cut off is held by its exception's frames until then
    assert len(os.listdir("/proc/self/fd")) == before


def test_programs_run_beside_each_other(docker_sandbox):
    test = "import os, signal\ndef test_a():\n    for _ in range(20):\n        if os.fork() == 0:\n            signal.pause()\n"

    async def several():
        return await asyncio.gather(*(docker_sandbox.run(TestProgram("", test), LIMITS) for _ in range(4)))

    assert [report.exit_reason for report in asyncio.run(several())] == ["ok"] * 4


@pytest.mark.parametrize("comes_back", [True, False])
async def test_an_engine_that_breaks_off_is_the_sandboxs_failure(
    docker_settings, client, tmp_path, monkeypatch, comes_back
):
    monkeypatch.setattr("agents.sandbox.docker.sandbox._BACK", 60.0 if comes_back else 0.1)
    wire = Wire(docker_settings.docker_host, tmp_path / "wire")
    sandbox = DockerSandbox(docker_settings.model_copy(update={"docker_host": wire.address}))
    await sandbox.run(CHECK_PROGRAM, LIMITS)
    test = "import time\ndef test_a():\n    time.sleep(3)\n"
    task = asyncio.create_task(sandbox.run(TestProgram("", test), LIMITS))
    first = await asyncio.to_thread(until, lambda: [one for one in ours(client) if one["State"] == "running"])
    wire.cut()
    if comes_back:
        await asyncio.to_thread(until, lambda: not [one for one in ours(client) if one["State"] == "running"])
        wire.lay()
    report = await task

    if comes_back:
        assert [(test.name, test.outcome) for test in report.outcomes] == [("test_a", "passed")]
    else:
        assert (report.exit_reason, report.executable) == ("infrastructure", False)
        assert report.error.startswith("The Docker Engine broke off while a program ran")
        assert "did not answer again" in report.error
        wire.lay()
    until(lambda: not [one for one in ours(client) if one["State"] == "running"])
    assert {one["Id"] for one in ours(client)} == {one["Id"] for one in first}
    for each in first:  # no engine was there to remove it; a later workbench does
        containers.remove(client, each["Id"])
    await sandbox.close()


def test_what_a_killed_workbench_left_ends_and_is_removed_by_the_next(docker_settings, client):
    with start_workbench(docker_settings) as workbench:
        assert workbench.stdout.readline() == b"up\n"
        until(lambda: [one for one in ours(client) if one["State"] == "running"])
        time.sleep(0.5)  # past the trial of the limits, or inside it: both have to end
        workbench.kill()
    until(lambda: not [one for one in ours(client) if one["State"] == "running"])

    report = asyncio.run(DockerSandbox(docker_settings).run(CHECK_PROGRAM, LIMITS))

    assert report.exit_reason == "ok"
    assert ours(client) == []


def test_what_a_living_workbench_uses_is_left_alone(docker_settings, client):
    image = client.api.inspect_image(docker_settings.image)
    options = containers.container_options(client, image, LIMITS)
    with subprocess.Popen(["sleep", "600"]) as other:
        mine = client.api.create_container(**options)["Id"]
        host, boot, _, _ = containers.owner().split(" ")
        since = start_of(other.pid)
        label = {containers.LABEL: f"{host} {boot} {other.pid} {since}"}
        theirs = client.api.create_container(**(options | {"labels": label}))["Id"]
        try:
            assert containers.reap(client) == 0
            other.kill()
            other.wait()
            assert containers.reap(client) == 1
            assert [one["Id"] for one in ours(client)] == [mine]
        finally:
            for each in (mine, theirs):
                containers.remove(client, each)


@pytest.mark.parametrize("name", ["bubblewrap", "docker"])
def test_system_calls_are_filtered(name, request):
    test = (
        "import ctypes, errno, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "def refused(*call):\n"
        "    ctypes.set_errno(0)\n"
        "    return libc.syscall(*call) == -1 and ctypes.get_errno() == errno.EPERM\n"
        "def test_filtered():\n"
        "    status = dict(line.split(':\\t', 1) for line in open('/proc/self/status') if ':\\t' in line)\n"
        "    assert status['Seccomp'].strip() == '2'\n"
        "def test_namespaces():\n"
        "    assert libc.unshare(0) == -1 and ctypes.get_errno() == errno.EPERM\n"
        "    number = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]\n"
        "    assert refused(number, 0x10000000 | 17, 0, 0, 0, 0)\n"
        "def test_tracing():\n    assert libc.ptrace(0, 0, 0, 0) == -1 and ctypes.get_errno() == errno.EPERM\n"
        "def test_terminal():\n    assert libc.ioctl(0, 0x5412, b'x') == -1 and ctypes.get_errno() == errno.EPERM\n"
        "def test_threads_and_forks():\n"
        "    import threading\n"
        "    thread = threading.Thread(target=int)\n    thread.start()\n    thread.join()\n"
        "    if os.fork() == 0:\n        os._exit(0)\n    os.wait()\n"
    )
    sandbox = BubblewrapSandbox(SandboxSettings(), None)
    if name == "docker":
        sandbox = request.getfixturevalue("docker_sandbox")
    report = asyncio.run(sandbox.run(TestProgram("", test), LIMITS))

    assert report.exit_reason == "ok", report


def test_the_filter_is_whole_instructions_and_only_for_known_machines():
    with pytest.raises(SandboxError, match="riscv64"):
        seccomp_filter("riscv64")
    assert len(seccomp_filter("x86_64")) > len(seccomp_filter("aarch64")) > 0
    assert len(seccomp_filter("aarch64")) % 8 == 0
