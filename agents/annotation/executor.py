"""The test executor of Algorithm 1, over any sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.annotation.configurations import EXECUTOR
from agents.sandbox.protocol import TestProgram
from agents.sandbox.trust import trusted

if TYPE_CHECKING:
    from agents.sandbox.protocol import Sandbox
    from agents.sandbox.settings import SandboxSettings
    from agents.turns import Executed, Turns
    from store.queries.runs import PairTexts


class SandboxExecutor:
    """Runs test programs in one sandbox, with the same limits for all.

    Args:
        sandbox: Where they run.
        settings: What they may use, and whether it is to be found out how far their tests can be trusted.
    """

    def __init__(self, sandbox: Sandbox, settings: SandboxSettings) -> None:
        self._limits = settings.limits
        self._sandbox = trusted(sandbox, settings)

    async def execute(self, pair: PairTexts, test_program: str, turns: Turns, snapshot: str = "") -> Executed:
        """Run a test program; see `protocols.Executor`."""
        program = TestProgram(candidate=pair.code, test=test_program, snapshot=snapshot)
        return await turns.execute(EXECUTOR, program, self._sandbox, self._limits)
