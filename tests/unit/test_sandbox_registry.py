"""Finding, choosing, checking and refusing."""

import asyncio
import dataclasses
import shutil

import pytest

from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.check import CHECK_PROGRAM
from agents.sandbox.errors import SandboxError
from agents.sandbox.process import ProcessSandbox
from agents.sandbox.protocol import TestProgram
from agents.sandbox.registry import choose_sandbox, find_sandbox, sandboxes
from agents.sandbox.settings import SandboxSettings
from store.errors import WorkbenchError

WITHOUT_BUBBLEWRAP = SandboxSettings(
    bwrap="a-program-that-nobody-has", docker_host="unix:///nowhere/docker.sock"
)
OTHER = TestProgram("", "def test_a():\n    pass\n")


def test_our_own_sandboxes_are_found_through_the_registry():
    assert {"bubblewrap", "docker", "process"} <= set(sandboxes())
    assert [find_sandbox(name, SandboxSettings()).name for name in ("bubblewrap", "process")] == [
        "bubblewrap",
        "process",
    ]


def test_an_unknown_sandbox_is_refused_with_the_known_ones():
    with pytest.raises(SandboxError, match="bubblewrap, docker, process") as caught:
        find_sandbox("vault", SandboxSettings())

    assert isinstance(caught.value, WorkbenchError)
    assert "vault" in caught.value.message


async def test_without_bubblewrap_only_allowed_programs_run():
    sandbox = await choose_sandbox(WITHOUT_BUBBLEWRAP, None, frozenset({CHECK_PROGRAM.digest}))

    assert sandbox.name == "process"
    assert (await sandbox.run(CHECK_PROGRAM)).exit_reason == "ok"
    with pytest.raises(SandboxError, match="bubblewrap"):
        await sandbox.run(OTHER)


async def test_process_asked_for_by_name_runs_anything_but_an_edited_test():
    sandbox = await choose_sandbox(SandboxSettings(), "process", frozenset())

    assert (await sandbox.run(OTHER)).exit_reason == "ok"
    with pytest.raises(SandboxError, match="edited test"):
        await sandbox.run(dataclasses.replace(OTHER, edited=True))


async def test_an_edited_test_is_refused_even_when_its_digest_is_allowed():
    sandbox = ProcessSandbox(SandboxSettings(), frozenset({CHECK_PROGRAM.digest}))

    with pytest.raises(SandboxError, match="Needs a sandbox"):
        await sandbox.run(dataclasses.replace(CHECK_PROGRAM, edited=True))


async def test_process_allows_nothing_unless_told():
    with pytest.raises(SandboxError):
        await ProcessSandbox(SandboxSettings()).run(CHECK_PROGRAM)


async def test_a_requested_sandbox_that_does_not_work_is_refused():
    with pytest.raises(SandboxError, match="does not work here") as caught:
        await choose_sandbox(WITHOUT_BUBBLEWRAP, "bubblewrap", frozenset())

    assert "apt-get install bubblewrap" in caught.value.hint


async def test_bubblewrap_is_chosen_where_it_works():
    check = await BubblewrapSandbox(SandboxSettings()).check()
    settings = SandboxSettings(docker_host="unix:///nowhere/docker.sock")
    chosen = await choose_sandbox(settings, None, frozenset())

    assert chosen.name == ("bubblewrap" if check.works else "process")


async def test_a_missing_bubblewrap_is_said_with_how_to_install_it():
    sandbox = BubblewrapSandbox(WITHOUT_BUBBLEWRAP)
    check = await sandbox.check()

    assert not check.works
    assert "apt-get install bubblewrap" in check.hint
    with pytest.raises(SandboxError, match="apt-get install bubblewrap"):
        await sandbox.run(CHECK_PROGRAM)


@pytest.mark.parametrize(
    ("says", "hint"),
    [
        ("bwrap: Unknown option --disable-userns", "0.8 or newer"),
        ("bwrap: No permissions to create new namespace", "user namespaces"),
        ("no change of user: [Errno 22] Invalid argument", "61184"),
        ("bwrap: Can't find source path /home/x/py: Permission denied", "sandbox.python"),
    ],
)
async def test_a_bubblewrap_that_fails_is_told_apart_by_what_it_says(tmp_path, says, hint):
    failing = tmp_path / "bwrap"
    failing.write_text(f'#!/bin/sh\necho "{says}" >&2\nexit 1\n')
    failing.chmod(0o755)
    sandbox = BubblewrapSandbox(SandboxSettings(bwrap=str(failing)))
    check = await sandbox.check()

    assert (check.works, check.detail) == (False, says)
    assert hint in check.hint
    assert (await sandbox.run(CHECK_PROGRAM)).exit_reason == "infrastructure"


@pytest.mark.parametrize("create", [BubblewrapSandbox, ProcessSandbox])
async def test_an_interpreter_that_is_not_there_is_said(create):
    if create is BubblewrapSandbox and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    sandbox = create(SandboxSettings(python="/nowhere/python3"), None)

    with pytest.raises(SandboxError, match=r"sandbox\.python"):
        await sandbox.run(CHECK_PROGRAM)
    check = await sandbox.check()
    assert (check.works, check.name) == (False, sandbox.name)
    assert check.hint


async def test_the_check_of_a_plain_process_says_that_it_isolates_nothing():
    check = await ProcessSandbox(SandboxSettings()).check()

    assert check.works
    assert "isolates nothing" in check.detail


def test_checks_can_run_at_the_same_time():
    async def both():
        return await asyncio.gather(*(find_sandbox(name, SandboxSettings()).check() for name in sandboxes()))

    assert {check.name for check in asyncio.run(both())} == set(sandboxes())
