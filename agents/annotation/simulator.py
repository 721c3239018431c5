"""The simulated executor of CoSQA+ (section V.D), in one question to the model: nothing is executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.annotation.configurations import SIMULATOR
from agents.annotation.replies import SimulationReply
from agents.prompts import load_prompt

if TYPE_CHECKING:
    from agents.annotation.replies import TestWriterReply
    from agents.turns import Turns
    from store.queries.runs import PairTexts


class ModelSimulator:
    """Asks what running a test program would show. The query is not told: it predicts and does not judge.

    Args:
        prompt: The name of its prompt.
    """

    def __init__(self, prompt: str) -> None:
        self._prompt = load_prompt(prompt)

    async def simulate(self, pair: PairTexts, test: TestWriterReply, turns: Turns) -> SimulationReply:
        """Predict the outcomes of a test program; see `protocols.Simulator`."""
        messages = self._prompt.messages(code=pair.code, test_program=test.test_program)
        return await turns.ask(SIMULATOR, messages, SimulationReply)
