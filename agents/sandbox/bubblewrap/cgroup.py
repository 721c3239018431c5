"""Limits the memory and the processes of a whole run, in a control group (cgroup) where one can be made.

Where none can be made, each process is limited by itself alone: that takes root, or on a system with cgroups
v2 a service whose cgroup is delegated to its user, with the controllers `memory` and `pids` enabled in it, as
in a terminal of a desktop session or in `systemd-run --user --scope`. Cgroups v1 work too, as root.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agents.sandbox.protocol import Limits

_NAME = "workbench-"
_PROCESSES = "cgroup.procs"
_numbers = itertools.count(1)
# How often a group whose processes have just ended is tried to be removed, and the seconds between.
_TRIES, _PAUSE = 50, 0.01


class ControlGroup:
    """A control group for one run: one folder in version 2, two in version 1.

    Attributes:
        entrances: Descriptors by which a process enters: it writes 0 to each.
    """

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self._folders = folders
        self.entrances = tuple(os.open(folder / _PROCESSES, os.O_WRONLY) for folder in folders)

    @classmethod
    def make(cls, memory: int, processes: int) -> ControlGroup | None:
        """Make one.

        Args:
            memory: Bytes that all its processes may use together, their temporary files in memory included.
            processes: How many processes and threads it may have at one time.

        Returns:
            The group, the caller's to `remove`; None where none can be made.
        """
        return _make(parents(), memory, processes)

    def ran_out_of_memory(self) -> bool:
        """Tell whether the kernel killed a process of it for want of memory."""
        for folder in self._folders:
            for name in ("memory.events", "memory.oom_control"):
                with suppress(OSError):
                    for line in (folder / name).read_text().splitlines():
                        if line.startswith("oom_kill ") and int(line.split()[1]):
                            return True
        return False

    async def remove(self) -> None:
        """Remove it; its processes have ended, or are about to."""
        for entrance in self.entrances:
            os.close(entrance)
        for folder in self._folders:
            for _ in range(_TRIES):
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:  # a process that was killed is in it until the kernel is done with it
                    await asyncio.sleep(_PAUSE)
                else:
                    break


def group_of(limits: Limits) -> ControlGroup | None:
    """Make a control group for a run within limits; None where none can be made."""
    return ControlGroup.make(limits.whole_memory_bytes, limits.whole_processes)


@cache
def parents() -> tuple[Path, ...]:
    """Find the folders in which this process can make control groups that limit memory and processes.

    A process is moved into one to see that it works. What workbenches that were killed left is removed.

    Returns:
        One folder, or one for memory and one for processes; empty where there are none.
    """
    for found in (_version_2(_own_groups(), _mounts()), _version_1(_own_groups(), _mounts())):
        group = _make(found, 1 << 28, 8)
        if group is None:
            continue
        paths = [str(folder / _PROCESSES) for folder in group._folders]
        enters = 'for each in "$@"; do echo 0 > "$each" || exit 1; done'
        moved = subprocess.run(["sh", "-c", enters, "sh", *paths], capture_output=True, check=False)
        for entrance in group.entrances:
            os.close(entrance)
        for folder in group._folders:
            with suppress(OSError):
                folder.rmdir()
        if moved.returncode == 0:
            _sweep(found)
            return found
    return ()


def _make(folders: tuple[Path, ...], memory: int, processes: int) -> ControlGroup | None:
    if not folders:
        return None
    name = f"{_NAME}{os.getpid()}-{next(_numbers)}"
    made: list[Path] = []
    values = {
        "memory.max": memory,
        "memory.swap.max": 0,
        "memory.limit_in_bytes": memory,
        "memory.memsw.limit_in_bytes": memory,
        "pids.max": processes,
    }
    try:
        for folder in folders:
            (folder / name).mkdir()
            made.append(folder / name)
        given = {file for folder in made for file in values if _set(folder / file, values[file])}
        if "pids.max" in given and given & {"memory.max", "memory.limit_in_bytes"}:
            return ControlGroup(tuple(made))
    except OSError:
        pass
    for folder in made:
        with suppress(OSError):
            folder.rmdir()
    return None


def _set(file: Path, value: int) -> bool:
    """Set a limit; False where this version of cgroups, or this kernel, does not have it."""
    if not file.exists():
        return False
    file.write_text(str(value))
    return True


def _version_2(own: dict[str, str], mounts: dict[str, tuple[str, Path]]) -> tuple[Path, ...]:
    """Find the nearest group around this process in which groups with limits can be made."""
    if "" not in own or "" not in mounts:
        return ()
    top = mounts[""][1]
    folder = _shown(own[""], *mounts[""])
    for each in (folder, *folder.parents):
        if not each.is_relative_to(top):
            break
        with suppress(OSError):
            passed_on = (each / "cgroup.subtree_control").read_text().split()
            if {"memory", "pids"} <= set(passed_on) and _can_write(each):
                return (each,)
    return ()


def _version_1(own: dict[str, str], mounts: dict[str, tuple[str, Path]]) -> tuple[Path, ...]:
    """Find this process's own groups for memory and for processes."""
    if not all(each in own and each in mounts for each in ("memory", "pids")):
        return ()
    found = tuple(_shown(own[each], *mounts[each]) for each in ("memory", "pids"))
    return found if all(_can_write(each) for each in found) else ()


def _shown(path: str, root: str, place: Path) -> Path:
    """Find the folder of a group, where not all of the hierarchy is shown."""
    below = os.path.relpath(path, root)
    return place if below.startswith("..") else place / below


def _can_write(folder: Path) -> bool:
    return os.access(folder, os.W_OK) and os.access(folder / _PROCESSES, os.W_OK)


def _own_groups() -> dict[str, str]:
    """Read in which group this process is, by controller; version 2 has the empty name."""
    found: dict[str, str] = {}
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            found |= dict.fromkeys(controllers.split(","), path)
    return found


def _mounts() -> dict[str, tuple[str, Path]]:
    """Read where the hierarchies are shown, and from which of their folders on, by controller."""
    found: dict[str, tuple[str, Path]] = {}
    with suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            root, place = before.split()[3:5]
            kind, _, options = after.split(" ", 2)
            if kind == "cgroup2":
                found.setdefault("", (root, Path(place)))
            elif kind == "cgroup":
                for each in options.split(","):
                    found.setdefault(each, (root, Path(place)))
    return found


def _sweep(folders: tuple[Path, ...]) -> None:
    """Remove the groups of workbenches that were killed, which nobody is in."""
    for folder in folders:
        for each in folder.glob(f"{_NAME}*"):
            owner = each.name.removeprefix(_NAME).partition("-")[0]
            if not Path("/proc", owner).exists():
                with suppress(OSError):
                    each.rmdir()
