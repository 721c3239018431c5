"""Asks a model for the turns of a code search."""

from __future__ import annotations

from typing import Protocol, TypeVar

from pydantic import BaseModel

from agents.llm.protocol import Message

ReplyT = TypeVar("ReplyT", bound=BaseModel)


class Ask(Protocol):
    """Asks the model of a role."""

    async def __call__(self, role: str, messages: tuple[Message, ...], reply_type: type[ReplyT]) -> ReplyT:
        """Return the reply.

        Raises:
            ModelError: No usable reply came.
        """
        ...


async def no_model(role: str, messages: tuple[Message, ...], reply_type: type[ReplyT]) -> ReplyT:
    """Refuse: a search without a model has only streams that ask for nothing."""
    raise RuntimeError(f"a search without a model asked the {role}")
