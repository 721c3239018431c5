"""What goes into the place of a repair, and how its end is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from agents.sandbox.heard import Ending
from agents.sandbox.index import certificates, packed_pip, pip_settings
from agents.sandbox.repair import RepairReport
from agents.sandbox.repairer import CANNOT_BEGIN

if TYPE_CHECKING:
    from agents.sandbox.repair import RepairAction, RepairOutcome

FOLDER = "/opt/workbench"
"""Where the files lie; they are no part of the snapshot."""
PROGRAM = f"{FOLDER}/repairer.py"

# What pip, and what others, write when the network is not there.
_UNREACHABLE = (
    "connection broken by",
    "NewConnectionError",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
)


def repair_files(action: RepairAction) -> dict[str, bytes]:
    """Return the files that a repair needs, by name below `FOLDER`.

    Raises:
        SandboxError: There is no pip to give it.
    """
    files = {
        "repairer.py": Path(__file__).with_name("repairer.py").read_bytes(),
        "task.json": json.dumps({"kind": action.kind, "items": action.items}).encode(),
        "pip.zip": packed_pip(),
        "pip.conf": pip_settings(),
        "ca.pem": certificates(),
    }
    return {name: content for name, content in files.items() if content}


def read_ending(action: RepairAction, ending: Ending, base: str, *, full: bool = False) -> RepairReport:
    """Say what became of a repair.

    Args:
        action: What was to be done.
        ending: How it ended; what it wrote is in its stdout.
        base: What it started from.
        full: Whether it was stopped for taking too much room.

    Returns:
        The report; with the outcome `done` it says how the snapshot is to be called that must now be kept.
    """
    output = ending.stdout.decode("utf-8", "backslashreplace")
    if ending.stdout_cut is not None:
        left_out = f"\n… {ending.stdout_cut.bytes} bytes left out …\n"
        at = len(ending.stdout[: ending.stdout_cut.at].decode("utf-8", "backslashreplace"))
        output = output[:at] + left_out + output[at:]
    output = output.rstrip("\n")
    outcome: RepairOutcome = "done"
    error = ""
    code = None if ending.code is None else 128 - ending.code if ending.code < 0 else ending.code
    if full:
        outcome, error = "full", "It took more room than a repair may (sandbox.repair_bytes)."
    elif ending.stopped == "timeout":
        outcome, error = "timeout", f"Not done after {ending.seconds:.0f} s (sandbox.repair_seconds)."
    elif code != 0:
        outcome, error = "failed", _last_words(output, code)
        if any(words in output for words in _UNREACHABLE):
            outcome = "unreachable"
    snapshot = action.snapshot(base) if outcome == "done" else ""
    return RepairReport(action, outcome, snapshot, code, output, error, round(ending.seconds, 3))


def began(ending: Ending) -> bool:
    """Tell whether the repair itself was reached, rather than only the sandbox around it."""
    return ending.stdout.startswith(b"$ ") and ending.code != CANNOT_BEGIN


def made_before(action: RepairAction, base: str) -> RepairReport:
    """Report a repair whose snapshot is there already."""
    said = "(made before from the same base by the same action; nothing was run)"
    return RepairReport(action, "done", action.snapshot(base), None, said, "", 0.0)


def _last_words(output: str, code: int | None) -> str:
    """Return the last line that tells something: pip marks its own with ERROR."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("(exit")]
    marked = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
    return f"exit status {code}: {marked[-1][:300]}" if marked else f"exit status {code}"
