"""Vectors that a service makes which speaks OpenAI's interface for embeddings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agents.llm.openai_connection import OpenAIConnection
from agents.llm.pacing import send_with_retries
from agents.llm.settings import ModelSettings
from agents.llm.structured import ILL_SHAPED, UNREADABLE
from agents.retrieval.encoder import Encoded, ReportCount, Role, ignore_count

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]

TEXTS_OF_A_REQUEST = 64
REQUESTS_AT_ONCE = 8
LONGEST_CHARACTERS = 16_000
"""The characters of a text that are sent; services refuse more than 8,191 tokens."""
REPORT_SECONDS = 0.2
"""Seconds between two reports of the progress."""


class ApiEncoder:
    """A model behind a service; see `agents.retrieval.encoder.Encoder`."""

    def __init__(self, name: str, model: str, settings: ModelSettings) -> None:
        """Create an encoder; nothing is sent yet.

        Args:
            name: See `Encoder`.
            model: The model's name, as the service knows it.
            settings: Address, key and limits.

        Raises:
            ModelError: There is no key.
        """
        self.name = name
        self.warning = ""
        self._model = model
        self._retries = settings.max_retries
        self._connection = OpenAIConnection(settings, "the embeddings service")
        self._connection.check()

    def identity(self, role: Role) -> Mapping[str, str]:
        """Return the model and the address; see `Encoder`. Queries and codes are sent alike."""
        return {"model": self._model, "service": self._connection.address, "prompt": ""}

    def encode(self, texts: Sequence[str], role: Role, report: ReportCount = ignore_count) -> Encoded:
        """Return the vectors of texts; see `Encoder`."""
        import numpy

        sent = [text[:LONGEST_CHARACTERS] for text in texts]
        found = numpy.array(asyncio.run(self._all(sent, report)), dtype=numpy.float32)
        lengths = numpy.linalg.norm(found, axis=1, keepdims=True)
        # What is not of numbers stays so, for the cache to refuse.
        vectors = found / numpy.where(lengths == 0, 1, lengths)
        return Encoded(vectors, numpy.array([len(text) > LONGEST_CHARACTERS for text in texts], dtype=bool))

    async def _all(self, texts: Sequence[str], report: ReportCount) -> list[list[float]]:
        """Ask for the vectors of all texts, some requests at a time."""
        turns = asyncio.Semaphore(REQUESTS_AT_ONCE)
        may_ask = asyncio.Event()
        done = 0

        async def keep_reporting() -> None:
            while True:
                # In a thread, where a pause may wait while the requests under way end.
                may_ask.clear()
                await asyncio.to_thread(report, done)
                may_ask.set()
                await asyncio.sleep(REPORT_SECONDS)

        async def ask(start: int) -> list[list[float]]:
            nonlocal done
            part = texts[start : start + TEXTS_OF_A_REQUEST]
            async with turns:
                await may_ask.wait()
                found = await send_with_retries(
                    lambda: self._ask(part), self._connection.pacing, self._retries
                )
            done += len(part)
            return found

        try:
            async with asyncio.TaskGroup() as group:
                reporting = group.create_task(keep_reporting())
                tasks = [group.create_task(ask(start)) for start in range(0, len(texts), TEXTS_OF_A_REQUEST)]
                await asyncio.wait(tasks)
                reporting.cancel()
        except ExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        finally:
            await self._connection.close()
        return [vector for task in tasks for vector in task.result()]

    async def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        """Send one request.

        Raises:
            ModelError: The service refuses, or gives something else than a vector for each text.
        """
        import aiohttp
        import openai
        from openai.types import CreateEmbeddingResponse

        client = self._connection.open()
        # Not base64, the SDK's default, which most services that imitate OpenAI do not know.
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        try:
            answer: Any = await client.post("/embeddings", cast_to=CreateEmbeddingResponse, body=body)
        except (openai.OpenAIError, aiohttp.ClientError, *UNREADABLE) as error:
            raise self._connection.explain(error) from error
        if reported := self._connection.error_in(answer):
            raise reported
        try:
            vectors = {one.index: [_number(value) for value in one.embedding] for one in answer.data}
            if sorted(vectors) != list(range(len(texts))) or len({len(one) for one in vectors.values()}) != 1:
                raise ValueError("not a vector of one width for each text")
            return [vectors[place] for place in range(len(texts))]
        except ILL_SHAPED as error:
            raise self._connection.service.invalid_reply(error) from error


def _number(value: Any) -> float:
    """Return a number of a vector; JSON has no other word than null for one that is none."""
    return float("nan") if value is None else float(value)
