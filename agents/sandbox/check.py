"""Checks whether a sandbox works here by running a small program in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.sandbox.errors import SandboxError
from agents.sandbox.protocol import SandboxCheck, TestProgram

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agents.sandbox.protocol import ExecutionReport

CHECK_PROGRAM = TestProgram(
    candidate="def add(a, b):\n    return a + b\n",
    test="from candidate import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
)


async def check_by_running(
    name: str,
    run: Callable[[TestProgram], Awaitable[ExecutionReport]],
    found: Callable[[], str],
    hint: Callable[[ExecutionReport], str],
) -> SandboxCheck:
    """Run a small program in a sandbox, and say why not when that fails.

    Args:
        name: The sandbox's name.
        run: Runs a program in it.
        found: Says what a sandbox that works does.
        hint: Says what mends one that does not, from the report of the program.
    """
    try:
        report = await run(CHECK_PROGRAM)
    except SandboxError as error:
        return SandboxCheck(name, False, error.message, error.hint)
    if report.exit_reason == "ok":
        return SandboxCheck(name, True, found())
    return SandboxCheck(name, False, report.error or report.exit_reason, hint(report))
