"""Judges a comparison: one model, asked once in each order (CoReQA, pairwise evaluation)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from agents.jobs.outcome import Verdict
from agents.pipelines.pairwise_judging.configurations import (
    CONSISTENT,
    INCONSISTENT,
    JUDGE,
    JUDGE_SWAPPED,
    LEVELS,
)
from store.kinds.comparison import AS_LISTED, SAME, SWAPPED
from store.record.response_names import ResponseName

if TYPE_CHECKING:
    from agents.jobs.step_recorder import StepRecorder
    from agents.pipelines.spec import Configuration
    from agents.sandbox.protocol import Sandbox
    from agents.sandbox.settings import SandboxSettings
    from store.queries.judged_comparisons import CandidateTexts


class JudgeReply(BaseModel):
    """A judge's verdict on candidate A compared with candidate B, after the reason for it."""

    model_config = ConfigDict(frozen=True)

    reason: str = Field(min_length=1)
    verdict: Literal["much better", "better", "equal", "worse", "much worse"]


class PairwiseJudging:
    """Judges comparisons, one after another or many at a time.

    Args:
        configuration: The prompts.
        sandbox: Not used; nothing is executed.
        settings: Not used.
    """

    def __init__(
        self, configuration: Configuration, sandbox: Sandbox | None, settings: SandboxSettings
    ) -> None:
        self._prompts = configuration.load_prompts()

    async def run(self, item: CandidateTexts, recorder: StepRecorder) -> tuple[Verdict, ...]:
        """Judge a comparison in both orders; see `agents.pipelines.spec.Pipeline`.

        Returns:
            The verdict on the comparison, and those in each order, all from the view of the first candidate.
        """
        listed = await self._ask(JUDGE, item, (item.first, item.second), recorder)
        swapped = await self._ask(JUDGE_SWAPPED, item, (item.second, item.first), recorder)
        values = LEVELS[listed.verdict], -LEVELS[swapped.verdict]
        value, path = combined(*values)
        reasons = f"The first as A: {listed.reason}\nThe second as A: {swapped.reason}"
        return (
            Verdict(value, path, reasons),
            Verdict(values[0], path, listed.reason, response=ResponseName(AS_LISTED)),
            Verdict(values[1], path, swapped.reason, response=ResponseName(SWAPPED)),
        )

    async def _ask(
        self, role: str, item: CandidateTexts, candidates: tuple[str, str], recorder: StepRecorder
    ) -> JudgeReply:
        messages = self._prompts[role].messages(
            about=item.about or "texts",
            prompt=item.prompt,
            reference=item.reference or "none",
            candidate_a=candidates[0],
            candidate_b=candidates[1],
        )
        return await recorder.ask(role, messages, JudgeReply)


def combined(listed: float, swapped: float) -> tuple[float, str]:
    """Return the verdict of two orders, and its path.

    With the same winner in both it is the milder level, else a tie, which is inconsistent unless both say so.

    Args:
        listed: The value in the order in which the candidates are listed.
        swapped: The value in the other order, from the view of the first candidate, too.
    """
    if listed * swapped > 0:
        return min(listed, swapped, key=abs), CONSISTENT
    return SAME, CONSISTENT if listed == swapped else INCONSISTENT
