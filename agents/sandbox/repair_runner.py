"""Carries out repairs in any sandbox: each snapshot is made once, and the result is read in one way."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from typing import TYPE_CHECKING, Protocol, TypeVar

from agents.sandbox.inside.repairer import CANNOT_BEGIN
from agents.sandbox.interpreter import INSIDE
from agents.sandbox.package_index import certificates, packed_pip, pip_settings
from agents.sandbox.repair import RepairBroken, RepairReport, SnapshotMissing

if TYPE_CHECKING:
    from agents.sandbox.output_capture import ProcessResult
    from agents.sandbox.package_index import PackageSource
    from agents.sandbox.repair import RepairAction, RepairOutcome

FOLDER = "/opt/workbench"
"""The folder of a repair's files; they are no part of the snapshot."""
PROGRAM = f"{FOLDER}/repairer.py"

StartT = TypeVar("StartT")

# What pip, and what others, write when the network is not there.
_UNREACHABLE = (
    "connection broken by",
    "NewConnectionError",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
)


class RepairPlace(Protocol[StartT]):
    """Makes and stores the snapshots of a sandbox.

    Attributes:
        base: The digest of the sandbox's own environment.
        source: Where packages come from.
    """

    base: str
    source: PackageSource

    async def find(self, name: str) -> StartT | None:
        """Return a snapshot as a repair can start from it; None when it is not there."""
        ...

    async def make(self, action: RepairAction, base: str, start: StartT | None) -> RepairReport:
        """Carry out a repair, and keep the snapshot when it is done.

        Args:
            action: The action.
            base: Its start, as the snapshot's name needs it.
            start: The snapshot that it starts from; None for the sandbox's own environment.

        Raises:
            SandboxError: It could not begin, or the snapshot could not be kept.
        """
        ...


class RepairRunner:
    """Carries out the repairs of one sandbox; one that is being made is waited for."""

    def __init__(self) -> None:
        self._making: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def repair(self, action: RepairAction, after: str, place: RepairPlace[StartT]) -> RepairReport:
        """Carry out a repair unless its snapshot is there (see `Sandbox.repair`).

        Args:
            action: The action.
            after: Name of the snapshot that it starts from; empty for the sandbox's own environment.
            place: Where it is made.
        """
        base = (after or place.base) + place.source.key
        name = action.snapshot(base)
        async with self._making[name]:
            if await place.find(name) is not None:
                text = "(made before from the same base by the same action; nothing was run)"
                return RepairReport(action, "done", name, None, text, "", 0.0)
            start = await place.find(after) if after else None
            if after and start is None:
                raise SnapshotMissing(after)
            return await place.make(action, base, start)


def repair_files(action: RepairAction, source: PackageSource) -> dict[str, bytes]:
    """Return the files that a repair needs, by name below `FOLDER`.

    Raises:
        SandboxError: There is no pip to give it.
    """
    files = {
        "repairer.py": (INSIDE / "repairer.py").read_bytes(),
        "task.json": json.dumps({"kind": action.kind, "items": action.items}).encode(),
        "pip.zip": packed_pip(),
        "pip.conf": pip_settings(source),
        "ca.pem": certificates(),
    }
    return {name: content for name, content in files.items() if content}


def repair_report(
    action: RepairAction, result: ProcessResult, base: str, *, network: bool = True, full: bool = False
) -> RepairReport:
    """Say what became of a repair.

    Args:
        action: The action.
        result: How it ended; what it wrote is in its stdout.
        base: Its start.
        network: Whether it had a network; without one, no failure is due to it.
        full: Whether it took more room than it may.

    Returns:
        The report; with the outcome `done` it says how the snapshot is to be called that must now be kept.

    Raises:
        RepairBroken: The sandbox around it ended before the repair itself was reached.
    """
    if not result.stdout.startswith(b"$ ") or result.code == CANNOT_BEGIN:
        text = (result.stderr or result.stdout).decode("utf-8", "replace").strip().splitlines()
        raise RepairBroken(text[-1] if text else "the sandbox ended before the repair began")
    output = result.stdout.decode("utf-8", "backslashreplace")
    if result.stdout_cut is not None:
        left_out = f"\n… {result.stdout_cut.bytes} bytes left out …\n"
        at = len(result.stdout[: result.stdout_cut.at].decode("utf-8", "backslashreplace"))
        output = output[:at] + left_out + output[at:]
    output = output.rstrip("\n")
    outcome: RepairOutcome = "done"
    error = ""
    code = None if result.code is None else 128 - result.code if result.code < 0 else result.code
    if full:
        outcome, error = "full", "It took more room than a repair may (sandbox.repair_bytes)."
    elif result.stopped == "timeout":
        outcome, error = "timeout", f"Not done after {result.seconds:.0f} s (sandbox.repair_seconds)."
    elif code != 0:
        outcome, error = "failed", _last_words(output, code)
        if network and any(words in output for words in _UNREACHABLE):
            outcome = "unreachable"
    snapshot = action.snapshot(base) if outcome == "done" else ""
    return RepairReport(action, outcome, snapshot, code, output, error, round(result.seconds, 3))


def _last_words(output: str, code: int | None) -> str:
    """Return the last informative line: pip marks its own with ERROR."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("(exit")]
    marked = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
    return f"exit status {code}: {marked[-1][:300]}" if marked else f"exit status {code}"
