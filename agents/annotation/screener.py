"""The preliminary screener of Algorithm 1, in one question to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.annotation.configurations import SCREENER
from agents.annotation.replies import ScreenerReply
from agents.prompts import load_prompt

if TYPE_CHECKING:
    from agents.turns import Turns
    from store.queries.runs import PairTexts


class ModelScreener:
    """Asks whether the code fully addresses the query's functional requirements.

    Args:
        prompt: The name of its prompt.
    """

    def __init__(self, prompt: str) -> None:
        self._prompt = load_prompt(prompt)

    async def screen(self, pair: PairTexts, turns: Turns) -> ScreenerReply:
        """Assess a pair; see `protocols.Screener`."""
        messages = self._prompt.messages(query=pair.query, code=pair.code)
        return await turns.ask(SCREENER, messages, ScreenerReply)
