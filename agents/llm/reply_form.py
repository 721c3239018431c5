"""The form of replies: the strictest schema mode that a service accepts, found once for each client.

Services that imitate another one refuse what they do not know, each in its own words: DeepSeek knows no
`json_schema`, older vLLM neither, llama.cpp's Python server takes the schema in another place, Ollama fails
on it for some models. The first request of a client finds out, alone, while the others wait, so that each
refusal is met once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Protocol

from agents.llm.errors import ModelError
from agents.llm.notices import WeakerForm, notify
from agents.llm.request_watch import leave, may_send
from agents.llm.structured import Answer

AUTO = "auto"

REFUSING = {400, 404, 422, 500, 501}
"""The statuses under which services refuse a way of asking; 500 is that of Ollama."""

_READ = 10_000
_SPEAKS_OF_IT = re.compile(
    r"response[_ ]?format|json[_ ]?(?:schema|object|mode)|structured[_ ]?outputs?|output_(?:config|format)"
    r"|guided_|grammar|(?:invalid|required for|ChatRequest\.)\s?format"
    r"|(?:unknown|unexpected|unrecogni[sz]ed|additional|extra)\b[^.]{0,60}\bschema\b",
    re.IGNORECASE,
)


def refuses_form(status: int, words: str) -> bool:
    """Return whether an HTTP error refuses the way in which the form of the reply was asked for.

    Args:
        status: The HTTP status.
        words: The service's text, with the name of the field that it complains of.
    """
    return status in REFUSING and _SPEAKS_OF_IT.search(words[:_READ]) is not None


class NamedService(Protocol):
    """A service as messages name it."""

    @property
    def place(self) -> str:
        """Its name and address."""
        ...

    @property
    def structure_setting(self) -> str:
        """The setting of the form of its replies."""
        ...


class ReplyForm:
    """The way in which one client asks for the form of replies; belongs to the loop of its requests.

    Args:
        setting: The user's choice: "auto", or one of the ways, which is then never changed.
        ways: All ways, the strongest first.
        model: The model's name.
        service: The service, for messages.
    """

    def __init__(self, setting: str, ways: Sequence[str], model: str, service: NamedService) -> None:
        self._ways = tuple(ways) if setting == AUTO else (setting,)
        self._model = model
        self._service = service
        self._at = 0
        self._unknown = len(self._ways) > 1
        self._alone = asyncio.Lock()

    async def ask(self, send: Callable[[str], Awaitable[Answer]]) -> Answer:
        """Send a request in the strongest way that the service is known to accept.

        Args:
            send: Sends it once in the way that it is given; raises ModelError.

        Returns:
            The answer, with the way in which it was asked for.

        Raises:
            ModelError: The failure of the request; where all ways were refused, that of the strongest.
        """
        if self._unknown:
            async with self._alone:
                if self._unknown:
                    try:
                        return await self._in_some_way(send, None)
                    finally:
                        # Also after a time-out: a service that is down is not asked by one after another.
                        self._unknown = False
        at = self._at
        try:
            return await self._send(send, at)
        except ModelError as error:
            if not error.refuses_form or at + 1 == len(self._ways) or not may_send():
                raise
            refused = error
        async with self._alone:
            if self._at <= at:
                return await self._in_some_way(send, refused)
        return await self._send(send, self._at)

    async def _in_some_way(
        self, send: Callable[[str], Awaitable[Answer]], refused: ModelError | None
    ) -> Answer:
        """Send a request in one way after another, and keep to the first that is accepted.

        Args:
            send: Sends it once.
            refused: The refusal of the present way, where that was tried.
        """
        strongest = self._at
        for at in range(strongest if refused is None else strongest + 1, len(self._ways)):
            try:
                answer = await self._send(send, at)
            except ModelError as error:
                refused = refused or error
                if not error.refuses_form:
                    raise
                if at + 1 == len(self._ways) or not may_send():
                    raise refused from error
            else:
                if at > strongest:
                    self._at = at
                    notify(
                        WeakerForm(
                            self._model,
                            self._service.place,
                            self._ways[strongest],
                            self._ways[at],
                            self._service.structure_setting,
                        )
                    )
                return answer
        raise AssertionError("one of the ways either answers or raises")

    async def _send(self, send: Callable[[str], Awaitable[Answer]], at: int) -> Answer:
        leave()
        return replace(await send(self._ways[at]), form=self._ways[at])
