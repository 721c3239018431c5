"""Repairs for bubblewrap: the machine's network or none, and nothing of the machine can be written.

All is memory: the folder that is repaired leaves as one archive, through a file that has no name, and
becomes a folder that later runs see read-only. Commands run as a user that is not root and can write to
/opt/repaired and /tmp alone, so that `apt-get`, and whatever else needs root or writes to the system, cannot
work here.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agents.sandbox.bubblewrap.command import OUTER, common_contents, memory_files, plain_command
from agents.sandbox.child_process import run_child
from agents.sandbox.inside.repairer import EARLIER, REPAIRED
from agents.sandbox.package_index import WHEELS, PackageSource, proxies
from agents.sandbox.protocol import Limits
from agents.sandbox.repair_runner import FOLDER, PROGRAM, repair_files, repair_report

if TYPE_CHECKING:
    from agents.sandbox.bubblewrap.snapshots import SnapshotFolder
    from agents.sandbox.interpreter import Interpreter
    from agents.sandbox.repair import RepairAction, RepairReport
    from agents.sandbox.settings import SandboxSettings

NOTES = (
    "Commands run as an ordinary user in a sandbox {reach}. pip installs into the environment "
    "of the test program; only that environment and /tmp can be written, and only the environment is kept. "
    "There is no root: apt-get and everything else that changes the system fails."
)

# What a name is looked up by; the index may be known by a name that only this machine has.
_LOOK_UP = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")


class BubblewrapRepairPlace:
    """Makes the snapshots that bubblewrap's runs start from (see `RepairPlace`).

    Args:
        snapshots: Where they are kept.
        settings: The limits of a repair, and where its packages come from.
        bwrap: Path of bubblewrap.
        python: The interpreter that test programs run with.
        user: The user that root drops to; None where it is not root who starts it.

    Raises:
        SandboxError: The folder of wheels that the settings name does not exist.
    """

    def __init__(
        self,
        snapshots: SnapshotFolder,
        settings: SandboxSettings,
        bwrap: str,
        python: Interpreter,
        user: int | None,
    ) -> None:
        self.source = PackageSource.of(settings)
        self._snapshots, self._limits = snapshots, settings.repair_limits
        self._bwrap, self._python, self._user = bwrap, python, user
        found = os.stat(python.program)  # another one after an update of the interpreter
        self.base = f"bubblewrap {python.program} {found.st_size} {found.st_mtime_ns}"

    async def find(self, name: str) -> Path | None:
        """Return the folder of a snapshot; None when it is not there."""
        return self._snapshots.find(name)

    async def make(self, action: RepairAction, base: str, start: Path | None) -> RepairReport:
        """Carry out a repair with nothing of the machine to write to."""
        limits, source = self._limits, self.source
        files = await asyncio.to_thread(repair_files, action, source)
        contents = {f"{FOLDER}/{name}": content for name, content in files.items()}
        contents |= _look_up_files() | common_contents(self._user)
        memory = {
            "/dev/shm": limits.scratch_bytes,
            "/tmp": limits.scratch_bytes,
            REPAIRED: limits.bytes,
        }
        shown_folders = {EARLIER: start, WHEELS: source.wheels}
        folders = {path: folder for path, folder in shown_folders.items() if folder is not None}
        options = {
            "file_bytes": limits.bytes,
            "memory_bytes": limits.memory_bytes,
            "processes": limits.processes,
            "core": 0,
        }
        with tempfile.TemporaryFile() as archive, memory_files(contents) as shown:
            line = plain_command(
                self._bwrap,
                self._python,
                self._user,
                files=shown,
                memory=memory,
                folders=folders,
                network=source.network,
            )
            words = [f"{name}={number}" for name, number in options.items()]
            result = await run_child(
                lambda _: [*line, "-s", "-B", PROGRAM, FOLDER, *words, f"archive={archive.fileno()}"],
                environment=OUTER | proxies(),
                folder="/",
                limits=Limits(wall_seconds=limits.wall_seconds, kept_bytes=limits.kept_bytes),
                files=(*shown.values(), archive.fileno()),
            )
            report = repair_report(action, result, base, network=source.network)
            if report.outcome == "done":
                await asyncio.to_thread(self._snapshots.store, report.snapshot, archive, limits.bytes)
        return report


def _look_up_files() -> dict[str, bytes]:
    """Return the files by which this machine looks names up, those that it has."""
    found = {}
    for path in _LOOK_UP:
        with suppress(OSError):
            found[path] = Path(path).read_bytes()
    return found
