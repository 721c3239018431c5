"""The protocol of repairs: an action in, the name of a snapshot out.

A program that misses something is repaired in a place of its own, which is writable and reaches the package
index, and never runs the program. What that leaves is a **snapshot**: every later run starts from it,
read-only and without a network. Its name is the hash of what was done, on which base, so that the same
repair is made once.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from agents.sandbox.errors import SandboxError

RepairKind = Literal[
    "install",  # distributions from the package index, as wheels only, so that none of their code runs
    "commands",  # commands of a shell, which may run anything
]
RepairOutcome = Literal[
    "done",  # a snapshot was made, or was there
    "failed",  # a command failed: nothing of it is kept
    "timeout",  # it was stopped at its limit of time
    "full",  # it was stopped for taking more room than it may
    "unreachable",  # the package index could not be reached, which says nothing about the program
]


class SnapshotMissing(SandboxError):
    """A program is to run in a snapshot that is not here any more."""

    def __init__(self, name: str, why: str = "") -> None:
        super().__init__(
            "The repaired environment is gone",
            f"The snapshot {name[:12]} of this program is not here, or not in this sandbox. {why}".rstrip(),
            "A new run of the agents on the item makes another one.",
        )


class RepairBroken(SandboxError):
    """The place of a repair failed, which says nothing about the repair."""

    def __init__(self, message: str) -> None:
        super().__init__(
            "The repair could not begin",
            message,
            "See: workbench sandbox check. Without repairs: --no-repairs. The next job tries the item again.",
        )


@dataclass(frozen=True, slots=True)
class RepairAction:
    """One repair.

    Attributes:
        items: Of an installation, requirements as pip takes them; of commands, each as a shell takes it, in
            the order in which they run. The first that fails ends the repair.
    """

    kind: RepairKind
    items: tuple[str, ...]

    def snapshot(self, base: str) -> str:
        """Name the environment that this action leaves.

        Args:
            base: Its start: a snapshot's name, or the digest of the sandbox's own environment.

        Returns:
            64 hexadecimal digits.
        """
        text = json.dumps([base, self.kind, self.items], ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class RepairReport:
    """The report of a repair.

    Attributes:
        outcome: One of `RepairOutcome`.
        snapshot: The name of the environment that it left; empty unless it is done.
        exit_code: Exit status of the last command; None where nothing ran.
        output: The output of the commands, stdout and stderr together, each after a line "$ COMMAND"; the
            middle of a long text is left out.
        error: Empty when it is done, else one line that says why not.
        seconds: Wall time.
    """

    action: RepairAction
    outcome: RepairOutcome
    snapshot: str
    exit_code: int | None
    output: str
    error: str
    seconds: float


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot that is stored on this machine.

    Attributes:
        name: Its name, 64 hexadecimal digits.
        bytes: Bytes that it takes by itself, without what it starts from.
    """

    sandbox: str
    name: str
    bytes: int
    made_at: datetime


@dataclass(frozen=True, slots=True)
class RepairLimits:
    """Limits of one repair.

    Attributes:
        wall_seconds: Seconds from its start to its end.
        bytes: Bytes of what it leaves, and of the largest file.
        processes: Processes and threads at one time.
        kept_bytes: Bytes kept of what it writes.
    """

    wall_seconds: float
    bytes: int
    memory_bytes: int = 2 * 1024 * 1024 * 1024
    processes: int = 256
    kept_bytes: int = 32 * 1024

    @property
    def scratch_bytes(self) -> int:
        """Bytes of a place that holds pip and the like beside what is repaired."""
        return self.bytes + 64 * 1024 * 1024
