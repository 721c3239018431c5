"""The test program generator of Algorithm 1, in one question to the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.annotation.configurations import TEST_WRITER
from agents.annotation.replies import TestWriterReply
from agents.prompts import load_prompt

if TYPE_CHECKING:
    from agents.turns import Turns
    from store.queries.runs import PairTexts


class ModelTestWriter:
    """Asks for a reading of the query and a program that tests the code under it.

    Args:
        prompt: The name of its prompt.
    """

    def __init__(self, prompt: str) -> None:
        self._prompt = load_prompt(prompt)

    async def write(self, pair: PairTexts, doubt: str, turns: Turns) -> TestWriterReply:
        """Write a test program; see `protocols.TestWriter`."""
        messages = self._prompt.messages(query=pair.query, code=pair.code, doubt=doubt)
        return await turns.ask(TEST_WRITER, messages, TestWriterReply)
