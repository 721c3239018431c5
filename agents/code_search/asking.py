"""Asks a model for the turns of a code search, and counts what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from pydantic import BaseModel

from agents.llm.errors import ModelError
from agents.llm.prices import price_of
from agents.llm.protocol import LanguageModel, Message, ModelRequest, Usage

if TYPE_CHECKING:
    from agents.llm.settings import ModelSettings

ReplyT = TypeVar("ReplyT", bound=BaseModel)


class Ask(Protocol):
    """Asks the model of a role."""

    async def __call__(self, role: str, messages: tuple[Message, ...], reply_type: type[ReplyT]) -> ReplyT:
        """Return the reply.

        Raises:
            ModelError: No usable reply came.
        """
        ...


class PlainAsk:
    """Asks one model in all roles, without a record; see `Ask`.

    Args:
        model: The model.
        settings: How it is asked, and what it costs.
        subject: What scripted models answer by: the query.

    Attributes:
        requests: The requests that were sent.
        usage: The tokens that they took.
    """

    def __init__(self, model: LanguageModel, settings: ModelSettings, subject: str) -> None:
        self._model, self._settings, self._subject = model, settings, subject
        self.requests = 0
        self.usage = Usage()

    @property
    def money(self) -> float | None:
        """The cost of the requests in US dollars; None where the price or the number of tokens is unknown."""
        price = price_of(self._settings.prices, self._model.name)
        if not self.requests:
            return 0.0
        return None if price is None else price.money(self.usage)

    async def __call__(self, role: str, messages: tuple[Message, ...], reply_type: type[ReplyT]) -> ReplyT:
        """See `Ask`."""
        request = ModelRequest(
            role=role,
            subject=self._subject,
            messages=messages,
            reply_type=reply_type,
            temperature=self._settings.temperature,
            max_output_tokens=self._settings.max_output_tokens,
            seed=self._settings.seed,
        )
        try:
            reply = await self._model.reply(request)
        except ModelError as error:
            self._count(error.requests, error.usage)
            raise
        self._count(reply.requests, reply.usage)
        if not isinstance(reply.value, reply_type):
            raise TypeError(
                f"{self._model.name} returned {type(reply.value).__name__} for {reply_type.__name__}"
            )
        return reply.value

    def _count(self, requests: int, usage: Usage) -> None:
        self.requests += requests
        self.usage += usage
