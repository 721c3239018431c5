"""Runs test programs with bubblewrap: namespaces of their own, a read-only system, no network, no home.

An ordinary user's run gets a user namespace. Root's does not, since a user made inside one is root to the
kernel, for which no limit on processes holds: there bubblewrap makes the other namespaces as root and
`setpriv` drops to a user id that no one has, one for each run, before any Python starts.

A filter of system calls (`syscalls.py`) closes what namespaces leave open, the making of further ones too:
the kernel's refusal of those in `--disable-userns` is there only where bubblewrap makes a user namespace.
"""

from __future__ import annotations

import itertools
import os
import shutil
from typing import TYPE_CHECKING

from agents.sandbox.bubblewrap_repair import NOTES, BubblewrapRepairs
from agents.sandbox.bwrap import Place, confined, outer_variables
from agents.sandbox.child import run_child
from agents.sandbox.errors import INSTALL_HINT, SandboxError
from agents.sandbox.interpreter import (
    BOOT,
    CHECK_PROGRAM,
    FLAGS,
    find_interpreter,
    options,
    scripts,
    sources,
)
from agents.sandbox.protocol import SandboxCheck
from agents.sandbox.repair import SnapshotMissing
from agents.sandbox.repairer import REPAIRED
from agents.sandbox.reports import make_report
from agents.sandbox.snapshots import SnapshotFolder

if TYPE_CHECKING:
    from agents.sandbox.protocol import ExecutionReport, Limits, Sandbox, TestProgram
    from agents.sandbox.repair import RepairAction, RepairReport
    from agents.sandbox.settings import SandboxSettings

# The range that systemd keeps for users who exist only while a service runs.
_USER_IDS = range(61184, 65520)
_SCRATCH_FILES = 4

# What a failed start says, and what mends it; the first that is found in the message.
_HINTS = (
    ("Unknown option", "bubblewrap 0.8 or newer is needed."),
    ("setpriv", "As root, setpriv (package util-linux) and the user ids from 61184 on are needed."),
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
        self._snapshots = SnapshotFolder(settings.snapshots)
        self._repairs = BubblewrapRepairs(self._snapshots, settings.repair_limits)

    async def open(self, programs: int) -> None:
        """Nothing can be made ready (see `Sandbox.open`)."""

    async def close(self) -> None:
        """Nothing is held between runs (see `Sandbox.close`)."""

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
        folders, further = {}, {}
        if program.snapshot:
            folder = self._snapshots.find(program.snapshot)
            if folder is None:
                raise SnapshotMissing(program.snapshot)
            folders, further = {REPAIRED: folder}, {"repaired": 1}
        place = Place(
            self._program(),
            find_interpreter(self._settings.python),
            self._user(),
            limits.file_bytes * _SCRATCH_FILES,
            {
                **{f"/work/{name}": source for name, source in sources(program).items()},
                **{f"/harness/{name}": content for name, content in scripts().items()},
                "/etc/hosts": b"127.0.0.1 localhost\n::1 localhost\n",
            },
            folders,
            hash_seed=program.hash_seed,
        )
        start = [*FLAGS, "-c", BOOT.format(folder="/harness"), "/work"]
        with confined(place) as (line, descriptors):
            ending = await run_child(
                lambda channel: [*line, *start, str(channel), *options(limits, **further)],
                environment=outer_variables(),
                folder="/",
                limits=limits,
                files=descriptors,
            )
        return make_report(ending, sandbox=self.name, limits=limits, snapshot=program.snapshot)

    async def repair(self, action: RepairAction, after: str = "") -> RepairReport:
        """Carry out a repair on the machine's network, with nothing of the machine to write to."""
        place = Place(self._program(), find_interpreter(self._settings.python), self._user())
        return await self._repairs.repair(action, after, place)

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
        """Return the user that root's next run drops to."""
        return next(self._users) if os.geteuid() == 0 else None
