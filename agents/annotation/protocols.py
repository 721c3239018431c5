"""The agents of Algorithm 1 as the pipeline sees them, so that each can be replaced by a deeper one.

Each takes its turns through `Turns`, which records them; an agent may take several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agents.annotation.replies import ArbiterReply, ScreenerReply, SimulationReply, TestWriterReply
    from agents.sandbox.protocol import ExecutionReport
    from agents.turns import Executed, Turns
    from store.queries.runs import PairTexts


class Screener(Protocol):
    """Says whether a pair's match is clear by reading alone (CoSQA+, section IV.C.a)."""

    async def screen(self, pair: PairTexts, turns: Turns) -> ScreenerReply:
        """Assess a pair.

        Raises:
            ModelError: There was no usable reply.
        """
        ...


class TestWriter(Protocol):
    """Writes a test program under one plausible interpretation of the query (section IV.C.b)."""

    async def write(self, pair: PairTexts, doubt: str, turns: Turns) -> TestWriterReply:
        """Write a test program.

        Args:
            pair: The pair.
            doubt: Why the screener could not decide.
            turns: Where turns are taken.

        Raises:
            ModelError: There was no usable reply.
        """
        ...


class Executor(Protocol):
    """Runs a test program against the code in isolation (section IV.C.c)."""

    async def execute(self, pair: PairTexts, test_program: str, turns: Turns, snapshot: str = "") -> Executed:
        """Run a test program.

        Args:
            pair: The pair.
            test_program: What tests its code.
            turns: Where turns are taken.
            snapshot: Name of the repaired environment that it runs in; empty for the sandbox's own.

        Raises:
            SandboxError: The sandbox refused it or broke, or the snapshot is not there.
        """
        ...


class Simulator(Protocol):
    """Predicts what a test program would do, in place of an executor (section V.D); runs nothing."""

    async def simulate(self, pair: PairTexts, test: TestWriterReply, turns: Turns) -> SimulationReply:
        """Predict the outcomes of a test program.

        Args:
            pair: The pair.
            test: What would test its code.
            turns: Where turns are taken.

        Raises:
            ModelError: There was no usable reply.
        """
        ...


class BugFixer(Protocol):
    """Repairs the environment of a program that could not be executed (section IV.C.c)."""

    async def fix(self, pair: PairTexts, test: TestWriterReply, executed: Executed, turns: Turns) -> Executed:
        """Repair and execute until the program is executable or is given up.

        Args:
            pair: The pair.
            test: The test program.
            executed: Its first execution.
            turns: Where turns are taken.

        Returns:
            Its last execution; the first, where there was nothing to repair or no way to.

        Raises:
            ModelError: There was no usable reply.
            SandboxError: The sandbox or the place of a repair broke, or the package index was out of reach.
        """
        ...


class Arbiter(Protocol):
    """Rules on a pair by what was found out about it (section IV.C.d)."""

    async def rule(
        self,
        pair: PairTexts,
        test: TestWriterReply | None,
        found: ExecutionReport | SimulationReply | None,
        turns: Turns,
    ) -> ArbiterReply:
        """Give the final label.

        Args:
            pair: The pair.
            test: The test program and its interpretation of the query; None where none is written.
            found: What its last execution showed, or what a model predicted of one; None where it was not
                run.
            turns: Where turns are taken.

        Raises:
            ModelError: There was no usable reply.
        """
        ...
