"""Algorithm 1 of CoSQA+ for one pair: screen, and where that is unclear, test and rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.kinds import Annotation
from agents.llm.errors import ModelError
from agents.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from agents.annotation.protocols import Arbiter, BugFixer, Executor, Screener, TestWriter
    from agents.turns import Turns
    from store.queries.runs import PairTexts
    from store.tables.runs import Verdict

NAME = "ps-tpg-te-bf-fa"
"""Preliminary screener, test program generator, test executor, bug fixer, final arbiter (Table VI)."""

_CLEAR = {"clear_match": 1.0, "clear_nonmatch": 0.0}


@dataclass(slots=True)
class _Findings:
    """What has been found of one pair so far."""

    assessment: str = ""
    executable: bool | None = None


class PairAnnotator:
    """Labels query-code pairs, one after another or many at a time.

    Args:
        screener: Says which pairs are clear.
        test_writer: Writes test programs for the others.
        executor: Runs them.
        bug_fixer: Repairs what kept one from running; None for a pipeline without it.
        arbiter: Rules on what was found.
    """

    def __init__(
        self,
        screener: Screener,
        test_writer: TestWriter,
        executor: Executor,
        bug_fixer: BugFixer | None,
        arbiter: Arbiter,
    ) -> None:
        self._screener = screener
        self._test_writer = test_writer
        self._executor = executor
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
        screening = await self._screener.screen(pair, turns)
        found.assessment = screening.assessment
        if screening.assessment != "unclear":
            return await turns.conclude(_CLEAR[screening.assessment], "screened", screening.justification)
        test = await self._test_writer.write(pair, screening.justification, turns)
        executed = await self._executor.execute(pair, test.test_program, turns)
        found.executable = executed.report.executable
        if self._bug_fixer is not None:
            executed = await self._bug_fixer.fix(pair, test, executed, turns)
            found.executable = executed.report.executable
        ruling = await self._arbiter.rule(pair, test, executed.report, turns)
        path = "repaired" if executed.report.snapshot and executed.report.executable else "tested"
        return await turns.conclude(float(ruling.label), path, ruling.reason, executed.id)
