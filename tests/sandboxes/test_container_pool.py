"""Containers that were started beforehand: one program each, none that does not fit, and none left."""

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

from agents.sandbox.check import CHECK_PROGRAM
from agents.sandbox.docker import containers, pool
from agents.sandbox.docker.engine import connect
from agents.sandbox.docker.sandbox import DockerSandbox
from agents.sandbox.protocol import TestProgram

REPOSITORY = Path(__file__).parents[2]
SECONDS = 60
LEAVES_MARK = TestProgram(
    "", "import os\ndef test_a():\n    assert os.listdir('/tmp') == []\n    open('/tmp/mark', 'w').close()\n"
)
LOOP = TestProgram("", "def test_a():\n    while True:\n        pass\n")


@pytest.fixture
def client(docker_settings):
    opened = connect(docker_settings)
    yield opened
    opened.close()


def ours(client):
    return {one["Id"] for one in client.api.containers(all=True, filters={"label": containers.LABEL})}


def until(state):
    end = time.monotonic() + SECONDS
    while not (found := state()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


@asynccontextmanager
async def opened(settings, programs=2):
    """A sandbox whose pool is full."""
    sandbox = DockerSandbox(settings)
    try:
        await sandbox.open(programs)
        await asyncio.to_thread(until, lambda: sandbox._pool.ready() == programs)
        yield sandbox
    finally:
        await sandbox.close()


async def test_every_program_has_a_container_of_its_own_and_none_is_left(docker_settings, client):
    async with opened(docker_settings) as sandbox:
        waiting = ours(client)
        assert len(waiting) == 2
        reports = [await sandbox.run(LEAVES_MARK) for _ in range(5)]
        until(lambda: sandbox._pool.ready() == 2)
        until(lambda: len(ours(client)) == 2)
        assert not waiting & ours(client)

    assert [report.exit_reason for report in reports] == ["ok"] * 5
    assert ours(client) == set()


async def test_a_pooled_run_takes_what_waits_and_reports_as_any_other(docker_settings, client, monkeypatch):
    alone = DockerSandbox(docker_settings)
    expected = await alone.run(CHECK_PROGRAM)
    await alone.close()
    async with opened(docker_settings) as sandbox:
        monkeypatch.setattr(sandbox, "_execute", None)  # nothing is made for a program that finds one waiting
        report = await sandbox.run(CHECK_PROGRAM)

    same = ("exit_reason", "exit_code", "stdout", "stderr", "error", "environment", "output_dropped")
    assert [getattr(report, name) for name in same] == [getattr(expected, name) for name in same]
    assert [(one.name, one.outcome) for one in report.outcomes] == [("test_add", "passed")]


@pytest.mark.parametrize("fixed", ["memory_bytes", "processes", "file_bytes", "open_files"])
async def test_other_limits_are_given_to_a_container_of_its_own(docker_settings, client, fixed):
    limits = docker_settings.limits
    async with opened(docker_settings) as sandbox:
        waiting = ours(client)
        other = replace(limits, **{fixed: getattr(limits, fixed) - 1})
        report = await sandbox.run(CHECK_PROGRAM, other)

        assert report.exit_reason == "ok"
        assert ours(client) == waiting
        assert (await sandbox.run(LOOP, replace(limits, wall_seconds=0.5))).exit_reason == "timeout"
        until(lambda: not waiting <= ours(client))


async def test_what_is_stale_is_discarded(docker_settings, client, monkeypatch):
    async with opened(docker_settings) as sandbox:
        for spoil in ("dead", "old", "another image"):
            until(lambda: sandbox._pool.ready() == 2)
            until(lambda: len(ours(client)) == 2)
            spoiled = ours(client)
            if spoil == "dead":
                for each in spoiled:
                    client.api.kill(each)
            elif spoil == "old":
                monkeypatch.setattr(pool, "OLDEST", 0.0)
            else:
                for each in sandbox._pool._ready:
                    each.image = {**each.image, "Id": "sha256:another"}
            report = await sandbox.run(CHECK_PROGRAM)
            monkeypatch.undo()

            assert report.exit_reason == "ok"
            until(lambda spoiled=spoiled: not spoiled & ours(client))
    assert ours(client) == set()


async def test_a_container_that_dies_as_it_is_taken_costs_no_result(docker_settings, client, monkeypatch):
    async with opened(docker_settings) as sandbox:
        for each in ours(client):
            client.api.kill(each)
        monkeypatch.setattr(
            "agents.sandbox.docker.container_run.ProgramContainer.is_silent", lambda self: True
        )
        report = await sandbox.run(CHECK_PROGRAM)

    assert report.exit_reason == "ok"
    assert ours(client) == set()


async def test_a_cancelled_run_ends_its_container_and_the_pool_is_filled_again(docker_settings, client):
    async with opened(docker_settings) as sandbox:
        waiting = ours(client)
        task = asyncio.create_task(sandbox.run(LOOP))
        await asyncio.to_thread(until, lambda: ours(client) - waiting)  # one was taken, so that another came
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(until, lambda: len(ours(client)) == 2 and sandbox._pool.ready() == 2)
        assert len(ours(client) & waiting) == 1
    assert ours(client) == set()


async def test_closing_while_it_is_being_filled_leaves_nothing(docker_settings, client):
    sandbox = DockerSandbox(docker_settings)
    await sandbox.open(6)
    await asyncio.to_thread(until, lambda: ours(client))
    await sandbox.close()

    assert ours(client) == set()


async def test_without_containers_kept_ready_none_waits(docker_settings, client):
    sandbox = DockerSandbox(docker_settings.model_copy(update={"ready_containers": 0}))
    await sandbox.open(4)
    report = await sandbox.run(CHECK_PROGRAM)

    assert (report.exit_reason, ours(client)) == ("ok", set())
    await sandbox.close()


async def test_an_engine_that_fails_is_not_asked_without_end(docker_settings, monkeypatch):
    asked = []

    def refuse(*_):
        asked.append(1)
        raise OSError("no room")

    monkeypatch.setattr("agents.sandbox.docker.sandbox.ProgramContainer", refuse)
    sandbox = DockerSandbox(docker_settings)
    sandbox._tried = True
    await sandbox.open(3)
    await asyncio.to_thread(until, lambda: sandbox._pool._starting == 0)
    report = await sandbox.run(CHECK_PROGRAM)

    assert report.exit_reason == "infrastructure"
    assert "no room" in report.error
    await sandbox.close()
    assert len(asked) <= 7  # three beforehand, three when one was missed, and the program's own


def test_a_killed_workbench_leaves_no_container_that_waits_or_runs(docker_settings, client):
    code = (
        "import asyncio, sys\n"
        "from agents.sandbox.docker.sandbox import DockerSandbox\n"
        "from agents.sandbox.protocol import TestProgram\n"
        "from agents.sandbox.settings import SandboxSettings\n"
        "async def main():\n"
        f"    box = DockerSandbox(SandboxSettings(**{docker_settings.model_dump()!r}))\n"
        "    await box.open(2)\n"
        "    while box._pool.ready() < 2:\n        await asyncio.sleep(0.02)\n"
        "    print('full', flush=True)\n"
        f"    await box.run(TestProgram('', {LOOP.test!r}))\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY, stdout=subprocess.PIPE) as workbench:
        assert workbench.stdout.readline() == b"full\n"
        until(lambda: len(ours(client)) == 3)  # one that runs, one that waits, one that comes
        os.kill(workbench.pid, signal.SIGKILL)
    running = {"status": ["running"], "label": containers.LABEL}
    until(lambda: not client.api.containers(filters=running))

    assert asyncio.run(DockerSandbox(docker_settings).check()).works  # it removes what others left
    assert ours(client) == set()
