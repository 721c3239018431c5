"""The trial of an engine: a program that must not get the processes and the memory that it asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agents.sandbox.docker.engine import ENGINE_HINT, PATIENCE
from agents.sandbox.errors import SandboxError
from agents.sandbox.protocol import TestProgram

if TYPE_CHECKING:
    from agents.sandbox.protocol import ExecutionReport, Limits

_HINT = "Use an engine that limits processes and memory (with cgroups), or bubblewrap."

CANARY = TestProgram(
    "",
    """
import os, signal

def test_processes():
    children = []
    try:
        for _ in range(64):
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    except BlockingIOError:
        return
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert False, "it let a program start 64 processes where 8 are allowed"

def test_memory():
    child = os.fork()
    if child == 0:
        kept = []
        for _ in range(256):
            kept.append(b"x" * 2**20)
        os._exit(0)
    ended = os.waitpid(child, 0)[1]
    assert ended != 0, "it let a program take 256 MiB of memory where 64 are allowed"
""",
)


def canary_limits(limits: Limits) -> Limits:
    """Return the limits that the canary must run into: those of the settings with less room."""
    return replace(limits, processes=8, memory_bytes=64 * 1024 * 1024, wall_seconds=PATIENCE)


def judge(report: ExecutionReport) -> None:
    """Check the result of the canary.

    Raises:
        SandboxError: A limit does not bite, or the canary did not run.
    """
    wrong = [
        test.message.removeprefix("AssertionError: ") for test in report.outcomes if test.outcome != "passed"
    ]
    if wrong:
        raise SandboxError("The engine's limits do not bite", "; ".join(wrong), _HINT)
    if len(report.outcomes) != CANARY.test.count("def test_"):
        message = report.error or f"the trial of its limits ended with {report.exit_reason}"
        raise SandboxError("The engine runs no containers", message, ENGINE_HINT)
