"""Runs a program of this machine on files that nobody trusts: isolated by bubblewrap, without network.

It sees the system and the folders that it is given, all of them read-only, and writes to memory alone.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agents.sandbox.bubblewrap.cgroup import ControlGroup
from agents.sandbox.bubblewrap.command import (
    OUTER,
    USER_IDS,
    common_contents,
    find_bubblewrap,
    memory_files,
    plain_command,
)
from agents.sandbox.child_process import finish, run_child
from agents.sandbox.interpreter import find_interpreter
from agents.sandbox.protocol import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agents.sandbox.output_capture import ProcessResult
    from agents.sandbox.settings import SandboxSettings

_USERS = itertools.cycle(USER_IDS)
_MEBIBYTE = 1 << 20
# What is limited before bubblewrap starts: the group is entered, then limits that all processes inherit.
_LIMITED = 'for each in $GROUP; do echo 0 > "/dev/fd/$each" || exit; done; {limits} && exec "$@"'


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """Limits of one run.

    Attributes:
        wall_seconds: Seconds by the clock; `cpu_seconds` of each process, by the processor.
        memory_bytes: Bytes of memory of all processes, where a control group can be made.
        address_bytes: Bytes of address space of one process; None for a program that reserves more than it
            uses.
        output_bytes: Bytes of output that are kept, and as many of the errors.
        scratch_bytes: Bytes of the scratch folder `/tmp`.
    """

    wall_seconds: float = 120.0
    cpu_seconds: int = 120
    memory_bytes: int = 2048 * _MEBIBYTE
    address_bytes: int | None = 2048 * _MEBIBYTE
    processes: int = 64
    output_bytes: int = 32 * _MEBIBYTE
    scratch_bytes: int = 256 * _MEBIBYTE


async def run_tool(
    settings: SandboxSettings,
    program: Path | None,
    arguments: Sequence[str],
    *,
    folders: Mapping[str, Path],
    limits: ToolLimits,
) -> ProcessResult:
    """Run a program.

    Args:
        settings: Where bubblewrap and the interpreter are.
        program: The program, with links resolved, in the system or in one of the folders as it is inside;
            None for the interpreter.
        arguments: Its arguments.
        folders: Folders and files of this machine that are shown read-only, by their paths inside.
        limits: Its limits.

    Raises:
        SandboxError: bubblewrap or the interpreter is not there.
    """
    bwrap = find_bubblewrap(settings)
    python, user = find_interpreter(settings.python), next(_USERS) if os.geteuid() == 0 else None
    kept = Limits(
        wall_seconds=limits.wall_seconds, kept_bytes=limits.output_bytes, output_bytes=limits.output_bytes
    )
    inherited = ["-c 0", f"-t {limits.cpu_seconds}", f"-f {limits.scratch_bytes // 512}"]
    if limits.address_bytes is not None:
        inherited.append(f"-v {limits.address_bytes // 1024}")
    group = ControlGroup.make(limits.memory_bytes, limits.processes)
    entrances = () if group is None else group.entrances
    memory = {"/tmp": limits.scratch_bytes, "/dev/shm": limits.scratch_bytes}
    shell = ["/bin/sh", "-c", _LIMITED.format(limits=" && ".join(f"ulimit {one}" for one in inherited)), "sh"]
    try:
        with memory_files(common_contents(user)) as files:
            line = plain_command(
                bwrap,
                python,
                user,
                files=files,
                memory=memory,
                folders=folders,
                program=None if program is None else str(program),
            )
            return await run_child(
                lambda _: [*shell, *line, *arguments],
                environment=OUTER | {"GROUP": " ".join(map(str, entrances))},
                folder="/",
                limits=kept,
                files=(*files.values(), *entrances),
            )
    finally:
        if group is not None:
            await finish(group.remove())
