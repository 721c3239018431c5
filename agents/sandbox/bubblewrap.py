"""Runs test programs with bubblewrap: namespaces of their own, a read-only system, no network, no home.

An ordinary user's run gets a user namespace. Root's does not, since a user made inside one is root to the
kernel, for which no limit on processes holds: there bubblewrap makes the other namespaces as root, and the
interpreter inside, which starts with no right but those for that, becomes a user that no one is, another one
for each run, and gives up every right before it reads anything of a program (`boot.py`).

A filter of system calls (`syscalls.py`) closes what namespaces leave open, the making of further ones too:
the kernel's refusal of those in `--disable-userns` is there only where bubblewrap makes a user namespace.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from agents.sandbox.boot import NO_CHANGE_OF_USER, told_of
from agents.sandbox.bubblewrap_command import (
    OUTER,
    all_in_memory,
    command,
    contents,
    contents_for_forks,
    forking_command,
    scratch_bytes,
)
from agents.sandbox.bubblewrap_repair import NOTES, BubblewrapRepairs, Place
from agents.sandbox.child import StartedChild, finish
from agents.sandbox.errors import INSTALL_HINT, SandboxError
from agents.sandbox.fork_server import DESCRIPTORS
from agents.sandbox.forking import ForkServer
from agents.sandbox.interpreter import CHECK_PROGRAM, find_interpreter, options
from agents.sandbox.protocol import SandboxCheck, TestProgram
from agents.sandbox.repair import SnapshotMissing
from agents.sandbox.repairer import REPAIRED
from agents.sandbox.reports import make_report
from agents.sandbox.snapshots import SnapshotFolder
from agents.sandbox.trust import SECOND_SEED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from agents.sandbox.heard import Ending
    from agents.sandbox.protocol import ExecutionReport, Limits, Sandbox
    from agents.sandbox.repair import RepairAction, RepairReport
    from agents.sandbox.settings import SandboxSettings

# The range that systemd keeps for users who exist only while a service runs.
_USER_IDS = range(61184, 65520)
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


def create(settings: SandboxSettings, allowed: frozenset[str] | None = None) -> Sandbox:
    """Make the bubblewrap sandbox.

    Args:
        settings: Limits, interpreter and the bubblewrap program.
        allowed: Not used: in isolation, any program may run.

    Returns:
        The sandbox.
    """
    del allowed
    return BubblewrapSandbox(settings)


class BubblewrapSandbox:
    """Runs any test program, isolated from the machine by bubblewrap."""

    name = "bubblewrap"
    repairs = NOTES

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        # Runs that follow each other get different users, so that none is charged for another's processes.
        self._users = itertools.cycle(_USER_IDS)
        for _ in range(os.getpid() % len(_USER_IDS)):
            next(self._users)
        self._forking: dict[int, asyncio.Task[ForkServer | None]] | None = None
        self._snapshots = SnapshotFolder(settings.snapshots)
        self._repairs = BubblewrapRepairs(self._snapshots, settings.repair_limits)

    async def open(self, programs: int) -> None:
        """Have an interpreter started in isolation, of which programs are forked (see `Sandbox.open`)."""
        if self._forking is None:
            self._forking = {}
            await self._server(_SEEDS[0])

    async def close(self) -> None:
        """End what was started (see `Sandbox.close`)."""
        started, self._forking = self._forking or {}, None
        await finish(_close(started.values()))

    async def check(self) -> SandboxCheck:
        """Run a small program inside, and say why not when that fails."""
        try:
            report = await self.run(CHECK_PROGRAM)
        except SandboxError as error:
            return SandboxCheck(self.name, False, error.message, error.hint)
        if report.exit_reason == "ok":
            return SandboxCheck(self.name, True, "namespaces, no network, read-only system")
        hint = next(hint for words, hint in _HINTS if words in report.error)
        return SandboxCheck(self.name, False, report.error or report.exit_reason, hint)

    async def run(self, program: TestProgram, limits: Limits | None = None) -> ExecutionReport:
        """Run one program, whoever wrote it (see `Sandbox.run`)."""
        limits = limits or self._settings.limits
        if program.snapshot:  # what waits was started without it
            folder = self._snapshots.find(program.snapshot)
            if folder is None:
                raise SnapshotMissing(program.snapshot)
            ending = await _tell(await self._start(limits, {REPAIRED: folder}), program, limits)
            return make_report(ending, sandbox=self.name, limits=limits, snapshot=program.snapshot)
        server = await self._server(program.hash_seed)
        if server is not None:
            ending = await self._fork(server, program, limits)
            # Without a code it ended with its server, which says nothing about the program.
            if ending.code is not None and (ending.stopped or ending.channel):
                return make_report(ending, sandbox=self.name, limits=limits)
        ending = await _tell(await self._start(limits), program, limits)
        return make_report(ending, sandbox=self.name, limits=limits)

    async def repair(self, action: RepairAction, after: str = "") -> RepairReport:
        """Carry out a repair on the machine's network, with nothing of the machine to write to."""
        place = Place(self._program(), find_interpreter(self._settings.python), self._user())
        return await self._repairs.repair(action, after, place)

    async def _start(self, limits: Limits, folders: Mapping[str, Path] | None = None) -> StartedChild:
        """Start an interpreter in isolation, which waits for its one program.

        Raises:
            SandboxError: bubblewrap or the interpreter is not there.
        """
        bwrap = self._program()
        python = find_interpreter(self._settings.python)
        user = self._user()
        with all_in_memory(contents(user)) as files:
            return await StartedChild.start(
                lambda _: command(bwrap, python, limits, user, files=files, folders=folders),
                environment=OUTER,
                folder="/",
                limits=limits,
                files=tuple(files.values()),
                listens=True,
            )

    async def _server(self, seed: int) -> ForkServer | None:
        """Return the interpreter of which programs with a seed are forked; None where there is none."""
        if self._forking is None or seed not in _SEEDS:
            return None
        task = self._forking.get(seed)
        if task is None or (task.done() and not task.cancelled() and _is_lost(task)):
            task = self._forking[seed] = asyncio.create_task(self._start_server(seed, task))
        return await asyncio.shield(task)

    async def _start_server(
        self, seed: int, lost: asyncio.Task[ForkServer | None] | None
    ) -> ForkServer | None:
        if lost is not None:
            await _close([lost])
        held = contents_for_forks()
        if held is None:
            return None
        user = None if self._user() is None else 0
        # Whatever is missing here, a run meets and tells it.
        with suppress(SandboxError, OSError), all_in_memory(held) as files:
            bwrap, python = self._program(), find_interpreter(self._settings.python)
            return await ForkServer.start(
                lambda control: forking_command(bwrap, python, user, seed, control=control, files=files),
                environment=OUTER,
                limits=self._settings.limits,
                files=tuple(files.values()),
            )
        return None

    async def _fork(self, server: ForkServer, program: TestProgram, limits: Limits) -> Ending:
        told = told_of(program, DESCRIPTORS - 1, options(limits))
        return await server.run(told, limits, user=self._user(), room=scratch_bytes(limits))

    def _program(self) -> str:
        found = shutil.which(self._settings.bwrap)
        if found is None:
            raise SandboxError(
                "bubblewrap is not installed",
                f"The program {self._settings.bwrap!r} was not found, so nothing isolates a program.",
                INSTALL_HINT,
            )
        return found

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


async def _tell(child: StartedChild, program: TestProgram, limits: Limits) -> Ending:
    """Have an interpreter that waits run a program."""
    further = {"repaired": 1} if program.snapshot else {}
    return await child.run(limits.wall_seconds, told_of(program, child.channel, options(limits, **further)))
