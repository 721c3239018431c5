"""The test executor of Algorithm 1, over any sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.sandbox.protocol import TestProgram

if TYPE_CHECKING:
    from agents.sandbox.protocol import Limits, Sandbox
    from agents.turns import Executed, Turns
    from store.queries.runs import PairTexts

ROLE = "executor"


class SandboxExecutor:
    """Runs test programs in one sandbox, with the same limits for all."""

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._sandbox = sandbox
        self._limits = limits

    async def execute(self, pair: PairTexts, test_program: str, turns: Turns) -> Executed:
        """Run a test program; see `protocols.Executor`."""
        program = TestProgram(candidate=pair.code, test=test_program)
        return await turns.execute(ROLE, program, self._sandbox, self._limits)
