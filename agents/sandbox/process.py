"""A plain subprocess with the kernel's limits: no isolation, so it runs only trusted programs.

It is for the shipped sample programs, whose digests are known, and for a user who asks for it by name.
A program in it can read and write whatever the user can, reach the network, and leave behind a process
that makes a session of its own.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agents.sandbox.check import check_by_running
from agents.sandbox.child_process import finish, run_child
from agents.sandbox.errors import INSTALL_HINT, NeedsSandbox, SandboxError
from agents.sandbox.inside.boot import FLAGS, SUPERVISE
from agents.sandbox.interpreter import (
    SUPERVISOR,
    environment_variables,
    find_interpreter,
    options,
    sources,
)
from agents.sandbox.repair import SnapshotMissing
from agents.sandbox.reports import make_report

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from agents.sandbox.protocol import ExecutionReport, Limits, SandboxCheck, TestProgram
    from agents.sandbox.repair import RepairAction, RepairReport
    from agents.sandbox.settings import SandboxSettings


class ProcessSandbox:
    """Runs trusted test programs as subprocesses in a temporary folder.

    Args:
        settings: Limits and interpreter.
        allowed: Digests (`TestProgram.digest`) of the programs it may run; None for any, which only the
            user's own `--sandbox process` may ask for.
    """

    name = "process"
    repairs = ""

    def __init__(self, settings: SandboxSettings, allowed: frozenset[str] | None = frozenset()) -> None:
        self._settings = settings
        self._allowed = allowed

    async def open(self, programs: int) -> None:
        """Nothing can be made ready (see `Sandbox.open`)."""

    async def close(self) -> None:
        """Nothing is held between runs (see `Sandbox.close`)."""

    async def check(self) -> SandboxCheck:
        """Run a small program."""
        return await check_by_running(
            self.name,
            lambda program: self._execute(program, self._settings.limits),
            found=lambda: "limits of time and memory only: it isolates nothing",
            hint=lambda _: "Set sandbox.python to a Python 3.8 or newer that can be run.",
        )

    async def run(self, program: TestProgram, limits: Limits | None = None) -> ExecutionReport:
        """Run one program that may be trusted (see `Sandbox.run`)."""
        if program.edited:
            raise NeedsSandbox(
                "A plain subprocess isolates nothing, and an edited test is in no list of known programs."
            )
        if self._allowed is not None and program.digest not in self._allowed:
            raise NeedsSandbox(
                "This program is not one of the shipped samples, and a plain subprocess isolates nothing.",
                INSTALL_HINT + " To run it without one all the same, ask for --sandbox process.",
            )
        if program.snapshot:
            raise SnapshotMissing(program.snapshot)
        return await self._execute(program, limits or self._settings.limits)

    async def repair(self, action: RepairAction, after: str = "") -> RepairReport:
        """Refuse: whatever was installed here would be installed on the machine."""
        raise SandboxError(
            "A plain process repairs nothing",
            "What a repair installs or runs would be installed and run on this machine.",
            INSTALL_HINT,
        )

    async def _execute(self, program: TestProgram, limits: Limits) -> ExecutionReport:
        # Counted per user, not per run: a limit on processes would count the user's other programs too.
        arguments = options(limits, processes=0, parent=os.getpid())
        python = find_interpreter(self._settings.python)
        async with _folder(program) as folder:
            scratch = str(folder / "scratch")
            ending = await run_child(
                lambda channel: (
                    str(python.program),
                    *FLAGS,
                    "-c",
                    SUPERVISE.format(folder=str(SUPERVISOR.parent)),
                    str(folder / "work"),
                    str(channel),
                    *arguments,
                ),
                environment=environment_variables(home=scratch, path=os.defpath, hash_seed=program.hash_seed),
                folder=scratch,
                limits=limits,
            )
        return make_report(ending, sandbox=self.name, limits=limits)


@asynccontextmanager
async def _folder(program: TestProgram) -> AsyncIterator[Path]:
    """Make a folder with the program in `work` and an empty `scratch`, and remove it whatever happens."""
    folder = _fill(program)
    try:
        yield folder
    finally:
        await finish(asyncio.to_thread(_remove, folder))


def _fill(program: TestProgram) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="workbench-"))
    (folder / "scratch").mkdir()
    (folder / "work").mkdir()
    for name, source in sources(program).items():
        (folder / "work" / name).write_bytes(source)
    return folder


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():  # the program took away its own right to look into a folder
        for parent, names, _ in os.walk(folder):
            for name in names:
                inner = Path(parent, name)
                if not inner.is_symlink():
                    inner.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)
