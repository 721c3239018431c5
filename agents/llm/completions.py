"""Models behind OpenAI's older completions, which continue a text: vLLM, llama.cpp, Ollama and the like."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from agents.llm.openai_connection import OpenAIConnection
from agents.llm.pacing import send_with_retries
from agents.llm.plain_text import Continuation, PlainAnswer, continued, cut, mean_of, plain_of, seed_of
from agents.llm.protocol import LanguageModel, ModelReply, ModelRequest, PlainText, Usage
from agents.llm.request_watch import leave
from agents.llm.settings import ModelSettings
from agents.llm.structured import ILL_SHAPED, UNREADABLE, tokens, unreported

if TYPE_CHECKING:
    import openai


def create(model: str, settings: ModelSettings) -> LanguageModel:
    """Make a client of a completions service; connects to nothing yet.

    Returns:
        The model, named "completions:" and its name.

    Raises:
        ModelError: No key is set, and no address of a service that may need none; or it is no key.
    """
    found = OpenAICompletions(model, settings)
    found.connection.check()
    return found


class OpenAICompletions:
    """A model that continues texts, asked through the openai SDK."""

    def __init__(self, model: str, settings: ModelSettings) -> None:
        self.name = f"completions:{model}"
        self.knows_subjects = False
        self._model = model
        self._settings = settings
        self.connection = OpenAIConnection(settings, "the completions service")
        self.address = self.connection.address

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Continue the plain text of a request; see `LanguageModel.reply`."""
        import openai

        plain = plain_of(request, self.name, "Name a model of chat completions: openai:NAME")
        client = self.connection.open()

        async def ask(n: int) -> PlainAnswer:
            send = partial(self._ask, client, request, plain, n)
            return await send_with_retries(send, self.connection.pacing, self._settings.max_retries)

        clean = self.connection.service.clean
        sdk = f"openai {openai.__version__}"
        return await continued(request, plain, ask, name=self.name, sdk=sdk, clean=clean)

    async def close(self) -> None:
        """Close the connections, in the loop that opened them."""
        await self.connection.close()

    async def _ask(
        self, client: openai.AsyncOpenAI, request: ModelRequest, plain: PlainText, n: int
    ) -> PlainAnswer:
        import aiohttp
        import openai
        from openai.types import Completion

        context, prompt, suffix = cut(plain)
        body: dict[str, Any] = {
            "model": self._model,
            "prompt": context + prompt,
            "max_tokens": plain.max_tokens,
        }
        if plain.n > 1:
            body |= {"n": n, "logprobs": 1}
        further = {
            "temperature": plain.temperature,
            "top_p": plain.top_p,
            "suffix": suffix or None,
            "seed": seed_of(request, plain, n),
        }
        body |= {name: value for name, value in further.items() if value is not None}
        leave()
        try:
            answer: Any = await client.post("/completions", cast_to=Completion, body=body)
        except (openai.OpenAIError, aiohttp.ClientError, *UNREADABLE) as error:
            raise self.connection.explain(error) from error
        try:
            return self._to_answer(answer)
        except ILL_SHAPED as error:
            raise self.connection.service.invalid_reply(answer) from error

    def _to_answer(self, answer: Any) -> PlainAnswer:
        from openai.types import Completion

        if not isinstance(answer, Completion):  # a web page comes as a string
            raise self.connection.service.invalid_reply(answer)
        if error := self.connection.error_in(answer):
            raise error
        found = []
        for choice in answer.choices or ():
            reported = None if choice.logprobs is None else choice.logprobs.token_logprobs
            found.append(Continuation(text=choice.text, log_probability=mean_of(reported)))
        usage = Usage(unreported=1)
        if answer.usage is not None:
            numbers = answer.usage.prompt_tokens, answer.usage.completion_tokens
            usage = Usage(tokens(numbers[0]), tokens(numbers[1]), unreported=unreported(*numbers))
        return PlainAnswer(found, usage, answer.model or self._model)
