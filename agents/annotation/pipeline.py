"""Algorithm 1 of CoSQA+ for one pair: screen, and where that is unclear, test and rule.

Any agent but the one that rules can be left out (section V.D); the others then work with what there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.kinds import Annotation
from agents.llm.errors import ModelError
from agents.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from agents.annotation.protocols import Arbiter, BugFixer, Executor, Screener, Simulator, TestWriter
    from agents.turns import Turns
    from store.queries.runs import PairTexts
    from store.tables.runs import Verdict

_CLEAR = {"clear_match": 1.0, "clear_nonmatch": 0.0}


@dataclass(slots=True)
class _Findings:
    """What has been found of one pair so far."""

    assessment: str = ""
    executable: bool | None = None


class PairAnnotator:
    """Labels query-code pairs, one after another or many at a time.

    Args:
        screener: Says which pairs are clear; without it none is.
        test_writer: Writes test programs for the others.
        executor: Runs them.
        simulator: Predicts what they would do, in place of an executor.
        bug_fixer: Repairs what kept one from running.
        arbiter: Rules on what was found.
    """

    def __init__(
        self,
        *,
        screener: Screener | None,
        test_writer: TestWriter | None,
        executor: Executor | None,
        simulator: Simulator | None,
        bug_fixer: BugFixer | None,
        arbiter: Arbiter,
    ) -> None:
        self._screener = screener
        self._test_writer = test_writer
        self._executor = executor
        self._simulator = simulator
        self._bug_fixer = bug_fixer
        self._arbiter = arbiter

    async def annotate(self, item: PairTexts, turns: Turns) -> Annotation:
        """Work on one pair to its verdict, or to a failure with a reason.

        Args:
            item: The pair.
            turns: Where the agents take their turns; every turn and the verdict are on disk when this
                returns.

        Returns:
            How it ended. A pair that failed can be annotated again, and goes on at the turn that failed.
        """
        found = _Findings()
        verdict: Verdict | None = None
        failure: ModelError | SandboxError | None = None
        try:
            verdict = await self._label(item, turns, found)
        except (ModelError, SandboxError) as error:
            failure = error
        return Annotation(item.item_id, verdict, found.assessment, found.executable, failure)

    async def _label(self, pair: PairTexts, turns: Turns, found: _Findings) -> Verdict:
        doubt = ""
        if self._screener is not None:
            screening = await self._screener.screen(pair, turns)
            found.assessment, doubt = screening.assessment, screening.justification
            if screening.assessment != "unclear":
                return await turns.conclude(_CLEAR[screening.assessment], "screened", doubt)
        if self._test_writer is None:
            ruling = await self._arbiter.rule(pair, None, None, turns)
            return await turns.conclude(ruling.label, "read", ruling.reason)
        test = await self._test_writer.write(pair, doubt, turns)
        if self._simulator is not None:
            predicted = await self._simulator.simulate(pair, test, turns)
            ruling = await self._arbiter.rule(pair, test, predicted, turns)
            return await turns.conclude(ruling.label, "simulated", ruling.reason)
        if self._executor is None:
            ruling = await self._arbiter.rule(pair, test, None, turns)
            return await turns.conclude(ruling.label, "read", ruling.reason)
        executed = await self._executor.execute(pair, test.test_program, turns)
        found.executable = executed.report.executable
        if self._bug_fixer is not None:
            executed = await self._bug_fixer.fix(pair, test, executed, turns)
            found.executable = executed.report.executable
        ruling = await self._arbiter.rule(pair, test, executed.report, turns)
        path = "repaired" if executed.report.snapshot and executed.report.executable else "tested"
        return await turns.conclude(ruling.label, path, ruling.reason, executed.id)
