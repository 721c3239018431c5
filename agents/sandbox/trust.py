"""Checks how far the tests of an execution can be trusted: whether they discriminate, and which are flaky.

A test **discriminates** when it passes against the candidate and fails against both stubs of it: one whose
functions return None, and one whose functions return their first input (see `inside/stubs.py`).
A test that still passes against either does not: that it passes says nothing for the candidate. That catches
tests without assertions, tests that catch every exception, and tests of a copy of the code.

A test is **flaky** when it comes out otherwise (passed, failed, error) under another hash seed.

Both are found by running the whole program again, in the same sandbox and environment: once under the
second seed; and, where there is a candidate and a test passed, against the first stub, then against the
second unless all that passed are known not to discriminate. A program that a limit, a signal or the sandbox
ended is not run again, so that an endless one costs its time once; nor is one without named tests. What a
further run cannot say, since it was cut off itself or the stub could not be loaded, is not known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agents.sandbox.errors import SandboxError
from agents.sandbox.protocol import STUBS

if TYPE_CHECKING:
    from agents.sandbox.protocol import (
        ExecutionReport,
        Limits,
        Outcome,
        Sandbox,
        SandboxCheck,
        TestOutcome,
        TestProgram,
    )
    from agents.sandbox.repair import RepairAction, RepairReport
    from agents.sandbox.settings import SandboxSettings

SECOND_SEED = 1
"""PYTHONHASHSEED of the further run; that of the first is 0."""

# A stub does no work: one that takes longer than this many times the candidate, and so many seconds, hangs.
_TIMES, _SECONDS = 2.0, 5.0
_BY_ITSELF = ("ok", "assertion", "error")


class TrustedSandbox:
    """A sandbox whose reports say how far each test can be trusted."""

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self.name = sandbox.name
        self.repairs = sandbox.repairs
        self._sandbox = sandbox
        self._limits = limits

    async def open(self, programs: int) -> None:
        """Make the sandbox ready."""
        await self._sandbox.open(programs)

    async def close(self) -> None:
        """Close the sandbox."""
        await self._sandbox.close()

    async def check(self) -> SandboxCheck:
        """Say whether the sandbox works here."""
        return await self._sandbox.check()

    async def repair(self, action: RepairAction, after: str = "") -> RepairReport:
        """Have the sandbox carry out a repair."""
        return await self._sandbox.repair(action, after)

    async def run(self, program: TestProgram, limits: Limits | None = None) -> ExecutionReport:
        """Run one program, and run it again as far as its tests need it (see `Sandbox.run`)."""
        limits = limits or self._limits
        report = await self._sandbox.run(program, limits)
        if not report.outcomes or report.exit_reason not in _BY_ITSELF:
            return report
        again = await self._further(replace(program, hash_seed=SECOND_SEED), limits)
        against = await self._against_stubs(program, limits, report)
        tests = tuple(
            replace(test, discriminates=_discriminates(test, against), flaky=_is_flaky(test, again))
            for test in report.outcomes
        )
        return replace(report, outcomes=tests)

    async def _against_stubs(
        self, program: TestProgram, limits: Limits, report: ExecutionReport
    ) -> list[dict[str, Outcome]]:
        """Run a program against each stub; a test that passes against the first needs no second."""
        against: list[dict[str, Outcome]] = []
        if not program.candidate.strip():
            return against  # A stub of nothing is what the tests have passed with.
        limits = replace(limits, wall_seconds=min(limits.wall_seconds, _TIMES * report.seconds + _SECONDS))
        open_tests = {test.name for test in report.outcomes if test.outcome == "passed"}
        for stub in STUBS:
            if open_tests:
                known = _known(await self._further(replace(program, stub=stub), limits))
                open_tests -= {name for name, outcome in known.items() if outcome == "passed"}
                against.append(known)
        return against

    async def _further(self, program: TestProgram, limits: Limits) -> ExecutionReport | None:
        """Run a variant of a program; None where the sandbox fails, which does not affect the first run."""
        try:
            return await self._sandbox.run(program, limits)
        except SandboxError:
            return None


def _known(report: ExecutionReport | None) -> dict[str, Outcome]:
    """Return the outcomes by test; of a program that was cut off, only of tests that passed before."""
    if report is None:
        return {}
    whole = report.exit_reason in _BY_ITSELF
    return {test.name: test.outcome for test in report.outcomes if whole or test.outcome == "passed"}


def _discriminates(test: TestOutcome, against: list[dict[str, Outcome]]) -> bool | None:
    if test.outcome != "passed":
        return None
    found = [known.get(test.name) for known in against]
    if "passed" in found:
        return False
    return True if len(found) == len(STUBS) and None not in found else None


def _is_flaky(test: TestOutcome, again: ExecutionReport | None) -> bool | None:
    if again is None or again.exit_reason in ("timeout", "infrastructure"):
        return None
    return {other.name: other.outcome for other in again.outcomes}.get(test.name) != test.outcome


def with_trust_checks(sandbox: Sandbox, settings: SandboxSettings) -> Sandbox:
    """Return a sandbox that says how far tests can be trusted, where the settings ask for that."""
    return TrustedSandbox(sandbox, settings.limits) if settings.trust_checks else sandbox
