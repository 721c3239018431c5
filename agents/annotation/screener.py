"""The preliminary screener of Algorithm 1, in one question to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.annotation.replies import ScreenerReply
from agents.prompts import load_prompt

if TYPE_CHECKING:
    from agents.turns import Turns
    from store.queries.runs import PairTexts

ROLE = "screener"


class ModelScreener:
    """Asks whether the code fully addresses the query's functional requirements."""

    async def screen(self, pair: PairTexts, turns: Turns) -> ScreenerReply:
        """Assess a pair; see `protocols.Screener`."""
        messages = load_prompt(ROLE).messages(query=pair.query, code=pair.code)
        return await turns.ask(ROLE, messages, ScreenerReply)
