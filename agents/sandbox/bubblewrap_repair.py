"""Repairs for bubblewrap: the machine's network, but nothing of the machine can be written.

All is memory: the folder that is repaired leaves as one archive, through a file that has no name, and
becomes a folder that later runs see read-only. Commands run as a user that is not root and can write to
/opt/repaired and /tmp alone, so that `apt-get`, and whatever else needs root or writes to the system, cannot
work here.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agents.sandbox.bubblewrap_command import OUTER, all_in_memory, of_every_run, repair_command
from agents.sandbox.child import run_child
from agents.sandbox.index import proxies
from agents.sandbox.protocol import Limits
from agents.sandbox.repair import RepairBroken, SnapshotMissing
from agents.sandbox.repair_place import FOLDER, PROGRAM, began, made_before, read_ending, repair_files
from agents.sandbox.repairer import EARLIER, REPAIRED

if TYPE_CHECKING:
    from agents.sandbox.interpreter import Interpreter
    from agents.sandbox.repair import RepairAction, RepairLimits, RepairReport
    from agents.sandbox.snapshots import SnapshotFolder

NOTES = (
    "Commands run as an ordinary user in a sandbox that has the network. pip installs into the environment "
    "of the test program; only that environment and /tmp can be written, and only the environment is kept. "
    "There is no root: apt-get and everything else that changes the system fails."
)

# What a name is looked up by; the index may be known by a name that only this machine has.
_LOOK_UP = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf")


@dataclass(frozen=True, slots=True)
class Place:
    """What a repair is made with.

    Attributes:
        bwrap: Path of bubblewrap.
        python: The interpreter that test programs run with.
        user: Whom root drops to; None where it is not root who starts it.
    """

    bwrap: str
    python: Interpreter
    user: int | None


class BubblewrapRepairs:
    """Makes the snapshots that bubblewrap's runs start from.

    Args:
        snapshots: Where they are kept.
        limits: What a repair may use.
    """

    def __init__(self, snapshots: SnapshotFolder, limits: RepairLimits) -> None:
        self._snapshots = snapshots
        self._limits = limits
        self._making: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def repair(self, action: RepairAction, after: str, place: Place) -> RepairReport:
        """Carry out a repair (see `Sandbox.repair`).

        Args:
            action: What is to be done.
            after: The snapshot that it starts from; empty for the sandbox's own environment.
            place: What it is made with.
        """
        base = after or _name_of(place.python)
        name = action.snapshot(base)
        async with self._making[name]:  # one that is being made is waited for
            if self._snapshots.find(name) is not None:
                return made_before(action, base)
            earlier = self._snapshots.find(after) if after else None
            if after and earlier is None:
                raise SnapshotMissing(after)
            return await self._make(action, base, earlier, place)

    async def _make(
        self, action: RepairAction, base: str, earlier: Path | None, place: Place
    ) -> RepairReport:
        limits = self._limits
        files = await asyncio.to_thread(repair_files, action)
        contents = {f"{FOLDER}/{name}": content for name, content in files.items()}
        contents |= _looked_up() | of_every_run(place.user)
        memory = {
            "/dev/shm": limits.scratch_bytes,
            "/tmp": limits.scratch_bytes,
            REPAIRED: limits.bytes,
        }
        folders = {} if earlier is None else {EARLIER: earlier}
        options = {
            "file_bytes": limits.bytes,
            "memory_bytes": limits.memory_bytes,
            "processes": limits.processes,
            "core": 0,
        }
        with tempfile.TemporaryFile() as archive, all_in_memory(contents) as shown:
            line = repair_command(
                place.bwrap, place.python, place.user, files=shown, memory=memory, folders=folders
            )
            words = [f"{name}={number}" for name, number in options.items()]
            ending = await run_child(
                lambda _: [*line, "-s", "-B", PROGRAM, FOLDER, *words, f"archive={archive.fileno()}"],
                environment=OUTER | proxies(),
                folder="/",
                limits=Limits(wall_seconds=limits.wall_seconds, kept_bytes=limits.kept_bytes),
                files=(*shown.values(), archive.fileno()),
            )
            if not began(ending):
                said = (ending.stderr or ending.stdout).decode("utf-8", "replace").strip().splitlines()
                raise RepairBroken(said[-1] if said else "bubblewrap did not start it")
            report = read_ending(action, ending, base)
            if report.outcome == "done":
                await asyncio.to_thread(self._snapshots.keep, report.snapshot, archive, limits.bytes)
        return report


def _looked_up() -> dict[str, bytes]:
    """Return the files by which this machine looks names up, those that it has."""
    found = {}
    for path in _LOOK_UP:
        with suppress(OSError):
            found[path] = Path(path).read_bytes()
    return found


def _name_of(python: Interpreter) -> str:
    """Tell the environment of an interpreter from that of any other, also after an update of it."""
    found = os.stat(python.program)
    return f"bubblewrap {python.program} {found.st_size} {found.st_mtime_ns}"
