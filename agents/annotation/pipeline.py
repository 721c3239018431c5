"""Algorithm 1 of CoSQA+ for one pair: screen, and where that is unclear, test and rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.kinds import Annotation
from agents.llm.errors import ModelError
from agents.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from agents.annotation.protocols import Arbiter, Executor, Screener, TestWriter
    from agents.turns import Turns
    from store.queries.runs import PairTexts
    from store.tables.runs import Verdict

NAME = "ps-tpg-te-fa"
"""Preliminary screener, test program generator, test executor, final arbiter; no bug fixer yet."""

_CLEAR = {"clear_match": 1.0, "clear_nonmatch": 0.0}


@dataclass(slots=True)
class _Findings:
    """What has been found of one pair so far."""

    assessment: str = ""
    executable: bool | None = None


class PairAnnotator:
    """Labels query-code pairs, one after another or many at a time."""

    def __init__(
        self, screener: Screener, test_writer: TestWriter, executor: Executor, arbiter: Arbiter
    ) -> None:
        self._screener = screener
        self._test_writer = test_writer
        self._executor = executor
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
        # Lines 10 to 15 of Algorithm 1, the repair of a program that could not be executed, belong here.
        ruling = await self._arbiter.rule(pair, test, executed.report, turns)
        return await turns.conclude(float(ruling.label), "tested", ruling.reason, executed.id)
