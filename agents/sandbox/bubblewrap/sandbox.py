"""Runs test programs with bubblewrap: namespaces of their own, a read-only system, no network, no home.

bubblewrap isolates an interpreter, which forks a process for each program (`inside/fork_server.py`): one
interpreter for all programs of a job (`open`), otherwise one for each. An ordinary user's programs get a user
namespace each. Root's do not, since a user made inside one is root to the kernel, for which no limit on
processes holds: there each program becomes a user that no one is, another one for each run, and gives up
every right before anything of it is read.

A filter of system calls (`system_calls.py`) closes what namespaces leave open, the making of further ones
too. A control group (`cgroup.py`) limits the program's memory as a whole, where one can be made.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING

from agents.sandbox.bubblewrap.cgroup import group_of, parents
from agents.sandbox.bubblewrap.command import (
    OUTER,
    USER_IDS,
    contents,
    find_bubblewrap,
    forking_command,
    memory_files,
    scratch_bytes,
)
from agents.sandbox.bubblewrap.fork_client import ForkServer, ServerFailed
from agents.sandbox.bubblewrap.repairs import NOTES, BubblewrapRepairPlace
from agents.sandbox.bubblewrap.snapshots import SnapshotFolder
from agents.sandbox.check import check_by_running
from agents.sandbox.child_process import finish
from agents.sandbox.errors import SandboxError
from agents.sandbox.inside.fork_server import DESCRIPTORS, NO_CHANGE_OF_USER
from agents.sandbox.inside.repairer import REPAIRED
from agents.sandbox.interpreter import find_interpreter, options, program_input
from agents.sandbox.output_capture import ProcessResult
from agents.sandbox.package_index import describe_reach
from agents.sandbox.repair import SnapshotMissing
from agents.sandbox.repair_runner import RepairRunner
from agents.sandbox.reports import make_report
from agents.sandbox.trust import SECOND_SEED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from agents.sandbox.interpreter import Interpreter
    from agents.sandbox.protocol import ExecutionReport, Limits, SandboxCheck, TestProgram
    from agents.sandbox.repair import RepairAction, RepairReport
    from agents.sandbox.settings import SandboxSettings

# The seeds that programs are run with, each of which needs an interpreter of its own to fork from.
_SEEDS = (0, SECOND_SEED)

# What a failed start says, and what mends it; the first that is found in the message.
_HINTS = (
    ("Unknown option", "bubblewrap 0.8 or newer is needed."),
    (NO_CHANGE_OF_USER, "As root, the user ids from 61184 on are needed: use another user, or Docker."),
    ("source path", "This user must be able to read the interpreter: set sandbox.python to one that it can."),
    ("execvp", "The interpreter could not be started: set sandbox.python to another one."),
    (
        "",
        "This system may forbid user namespaces: as root, sysctl -w kernel.unprivileged_userns_clone=1 or "
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 allows them; a container must be started "
        "with the right to make namespaces.",
    ),
)


class BubblewrapSandbox:
    """Runs any test program, isolated from the machine by bubblewrap.

    Args:
        settings: Limits, interpreter and the bubblewrap program.
        allowed: Not used: in isolation, any program may run.
    """

    name = "bubblewrap"

    def __init__(self, settings: SandboxSettings, allowed: frozenset[str] | None = None) -> None:
        del allowed
        self._settings = settings
        self.repairs = NOTES.format(reach=describe_reach(settings))
        # Runs that follow each other get different users, so that none is charged for another's processes.
        self._users = itertools.cycle(USER_IDS)
        for _ in range(os.getpid() % len(USER_IDS)):
            next(self._users)
        self._forking: dict[int, asyncio.Task[ForkServer | None]] | None = None
        self._snapshots = SnapshotFolder(settings.snapshots)
        self._repairs = RepairRunner()

    async def open(self, programs: int) -> None:
        """Start an isolated interpreter that forks programs (see `Sandbox.open`)."""
        if self._forking is None:
            self._forking = {}
            await self._server(_SEEDS[0])

    async def close(self) -> None:
        """End the interpreters (see `Sandbox.close`)."""
        started, self._forking = self._forking or {}, None
        await finish(_close(started.values()))

    async def check(self) -> SandboxCheck:
        """Run a small program inside, and say why not when that fails."""
        whole = "of the whole program", "of each process (no control group can be made)"
        return await check_by_running(
            self.name,
            self.run,
            found=lambda: f"namespaces, no network, read-only system, memory limited {whole[not parents()]}",
            hint=lambda report: next(hint for words, hint in _HINTS if words in report.error),
        )

    async def run(self, program: TestProgram, limits: Limits | None = None) -> ExecutionReport:
        """Run one program, whoever wrote it (see `Sandbox.run`)."""
        limits = limits or self._settings.limits
        folders: dict[str, Path] = {}
        if program.snapshot:  # what waits was started without it
            folder = self._snapshots.find(program.snapshot)
            if folder is None:
                raise SnapshotMissing(program.snapshot)
            folders[REPAIRED] = folder
        elif (server := await self._server(program.hash_seed)) is not None:
            result = await self._fork(server, program, limits)
            # Without a code it ended with its server, which says nothing about the program.
            if result.code is not None and (result.stopped or result.channel):
                return make_report(result, sandbox=self.name, limits=limits)
        result = await self._run_alone(program, limits, folders)
        return make_report(result, sandbox=self.name, limits=limits, snapshot=program.snapshot)

    async def repair(self, action: RepairAction, after: str = "") -> RepairReport:
        """Carry out a repair with nothing of the machine to write to (see `Sandbox.repair`)."""
        place = BubblewrapRepairPlace(self._snapshots, self._settings, *self._what_starts(), self._user())
        return await self._repairs.repair(action, after, place)

    async def _run_alone(
        self, program: TestProgram, limits: Limits, folders: Mapping[str, Path]
    ) -> ProcessResult:
        """Run a program in a fork of an interpreter that is started for it alone.

        Raises:
            SandboxError: bubblewrap or the interpreter is not there.
        """
        started_at, start = datetime.now(UTC), monotonic()
        try:
            server = await self._start_server(program.hash_seed, folders)
        except ServerFailed as error:
            return ProcessResult.not_started(str(error), started_at, start)
        try:
            return await self._fork(server, program, limits)
        finally:
            await finish(server.close())

    async def _server(self, seed: int) -> ForkServer | None:
        """Return the interpreter that forks programs with a seed; None where there is none."""
        if self._forking is None or seed not in _SEEDS:
            return None
        task = self._forking.get(seed)
        if task is None or (task.done() and not task.cancelled() and _is_lost(task)):
            task = self._forking[seed] = asyncio.create_task(self._start_waiting(seed, task))
        return await asyncio.shield(task)

    async def _start_waiting(
        self, seed: int, lost: asyncio.Task[ForkServer | None] | None
    ) -> ForkServer | None:
        if lost is not None:
            await _close([lost])
        # A run meets and reports what is missing here.
        with suppress(SandboxError, OSError, ServerFailed):
            return await self._start_server(seed, {})
        return None

    async def _start_server(self, seed: int, folders: Mapping[str, Path]) -> ForkServer:
        """Start an interpreter in isolation that forks.

        Raises:
            SandboxError: bubblewrap or the interpreter is not there.
            ServerFailed: It did not work.
        """
        (bwrap, python), user = self._what_starts(), self._user()
        with memory_files(contents()) as files:
            return await ForkServer.start(
                lambda control: forking_command(
                    bwrap, python, user, seed, control=control, files=files, folders=folders
                ),
                environment=OUTER,
                limits=self._settings.limits,
                files=tuple(files.values()),
            )

    async def _fork(self, server: ForkServer, program: TestProgram, limits: Limits) -> ProcessResult:
        further = {"repaired": 1} if program.snapshot else {}
        sent = program_input(program, DESCRIPTORS - 1, options(limits, **further))
        group = group_of(limits)
        entrances = () if group is None else group.entrances
        try:
            result = await server.run(
                sent, limits, user=self._user(), room=scratch_bytes(limits), entrances=entrances
            )
            if group is not None and group.ran_out_of_memory():
                return replace(result, out_of_memory=True)
            return result
        finally:
            if group is not None:
                await finish(group.remove())

    def _what_starts(self) -> tuple[str, Interpreter]:
        """Find bubblewrap and the interpreter."""
        return find_bubblewrap(self._settings), find_interpreter(self._settings.python)

    def _user(self) -> int | None:
        """Return the user that root's next run becomes."""
        return next(self._users) if os.geteuid() == 0 else None


def _is_lost(task: asyncio.Task[ForkServer | None]) -> bool:
    """Tell whether a server that did work has ended; one that never worked is not started again."""
    server = task.result()
    return server is not None and not server.works


async def _close(starting: Iterable[asyncio.Task[ForkServer | None]]) -> None:
    for server in await asyncio.gather(*starting, return_exceptions=True):
        if isinstance(server, ForkServer):
            await server.close()
