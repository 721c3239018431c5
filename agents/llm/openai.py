"""Models behind OpenAI's chat completions: OpenAI itself, DeepSeek, vLLM, Ollama and the like."""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, cast

from agents.llm.errors import ModelError
from agents.llm.openai_connection import OpenAIConnection
from agents.llm.pacing import send_with_retries
from agents.llm.plain_text import (
    Continuation,
    PlainAnswer,
    continued,
    mean_of,
    seed_of,
    text_in_chat,
)
from agents.llm.protocol import LanguageModel, Message, ModelReply, ModelRequest, PlainText, Usage
from agents.llm.reply_form import ReplyForm
from agents.llm.request_watch import leave, may_send
from agents.llm.schemas import describe_schema, schema_name, strict_schema
from agents.llm.settings import ModelSettings, TokenLimit
from agents.llm.structured import ILL_SHAPED, UNREADABLE, Answer, converse, is_text, tokens, unreported

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import openai
    from openai.types.chat import ChatCompletionMessageParam
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming, ResponseFormat
    from pydantic import BaseModel

_FREE = ""
_WAYS = ("json_schema", "json_object_schema", "json_object", "text")
# What a service says that takes no samples, or reports no probabilities.
_OF_SAMPLES = re.compile(r"\blogprobs?\b|\bn\b|\bsamples?\b|\bchoices\b|probabilit", re.IGNORECASE)
_OPENAI_HOSTS = (".openai.com", ".openai.azure.com")


def create(model: str, settings: ModelSettings) -> LanguageModel:
    """Make a client of a chat-completions service; connects to nothing yet.

    Returns:
        The model, named "openai:" and its name.

    Raises:
        ModelError: No key is set, and no address of a service that may need none; or it is no key.
    """
    chat = OpenAIChat(model, settings)
    chat.connection.check()
    return chat


class OpenAIChat:
    """A model that answers through the openai SDK, which is imported by the first request."""

    def __init__(self, model: str, settings: ModelSettings) -> None:
        self.name = f"openai:{model}"
        self.knows_subjects = False
        self._model = model
        self._settings = settings
        self.connection = OpenAIConnection(settings, "the chat-completions service")
        self.service = self.connection.service
        self.address = self.connection.address
        self._samples = True
        self._form = ReplyForm(settings.openai_structured, _WAYS, self.name, self.service)

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Answer a request; see `LanguageModel.reply`."""
        import openai

        if request.plain is not None:
            return await self._continue(request, request.plain)
        client = self.connection.open()
        pacing, retries = self.connection.pacing, self._settings.max_retries

        async def ask(messages: tuple[Message, ...]) -> Answer:
            send = partial(self._ask, client, request, messages)
            if is_text(request):
                return await send_with_retries(partial(self._ask_freely, send), pacing, retries)
            return await send_with_retries(partial(self._form.ask, send), pacing, retries)

        return await converse(
            request, ask, name=self.name, clean=self.service.clean, sdk=f"openai {openai.__version__}"
        )

    async def close(self) -> None:
        """Close the connections, in the loop that opened them."""
        await self.connection.close()

    async def _continue(self, request: ModelRequest, plain: PlainText) -> ModelReply:
        import openai

        client = self.connection.open()

        async def ask(n: int) -> PlainAnswer:
            send = partial(self._ask_for_text, client, request, plain, n)
            pacing, retries = self.connection.pacing, self._settings.max_retries
            if plain.n > 1 and self._samples:
                try:
                    return await send_with_retries(partial(send, samples=True), pacing, retries)
                except ModelError as error:
                    refused = error.kind == "bad_request" and _OF_SAMPLES.search(error.message)
                    if not refused or not may_send():
                        raise
                    self._samples = False
            return await send_with_retries(send, pacing, retries)

        sdk = f"openai {openai.__version__}"
        return await continued(request, plain, ask, name=self.name, sdk=sdk, clean=self.service.clean)

    async def _ask_for_text(
        self,
        client: openai.AsyncOpenAI,
        request: ModelRequest,
        plain: PlainText,
        n: int,
        *,
        samples: bool = False,
    ) -> PlainAnswer:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": _to_wire(request.messages),
            token_limit_field(self._settings.openai_token_limit, client.base_url.host): plain.max_tokens,
        }
        if samples:
            body |= {"n": n, "logprobs": True}
        further = {
            "temperature": plain.temperature,
            "top_p": plain.top_p,
            "seed": seed_of(request, plain, n),
        }
        body |= {name: value for name, value in further.items() if value is not None}
        leave()
        completion = await self._post(client, body)
        try:
            choices = self._choices_of(completion)
            found = [
                Continuation(
                    text=text_in_chat(
                        choice.message.content or "", self.name, request.role, _declined(choice)
                    ),
                    log_probability=mean_of(
                        one.logprob for one in ((choice.logprobs and choice.logprobs.content) or ())
                    ),
                )
                for choice in choices
            ]
            usage = _usage_of(completion)
        except ILL_SHAPED as error:
            raise self.service.invalid_reply(completion) from error
        return PlainAnswer(found, usage, completion.model or self._model)

    async def _ask_freely(self, send: Callable[[str], Awaitable[Answer]]) -> Answer:
        """Ask without a form of the reply."""
        leave()
        return await send(_FREE)

    async def _post(self, client: openai.AsyncOpenAI, body: Any) -> Any:
        """Send a request for a completion.

        Raises:
            ModelError: It failed.
        """
        import aiohttp
        import openai
        from openai.types.chat import ChatCompletion

        try:
            # Not `client.chat.completions.create`: it takes half of a request's time to walk through the body
            # for fields that have another name on the wire, and there are none.
            return await client.post("/chat/completions", cast_to=ChatCompletion, body=body)
        except (openai.OpenAIError, aiohttp.ClientError, *UNREADABLE) as error:
            raise self.connection.explain(error) from error

    async def _ask(
        self, client: openai.AsyncOpenAI, request: ModelRequest, messages: tuple[Message, ...], form: str
    ) -> Answer:
        completion = await self._post(client, self._body(client, request, messages, form))
        try:
            return self._to_answer(completion)
        except ILL_SHAPED as error:
            raise self.service.invalid_reply(completion) from error

    def _body(
        self, client: openai.AsyncOpenAI, request: ModelRequest, messages: tuple[Message, ...], form: str
    ) -> CompletionCreateParamsNonStreaming:
        if form not in (_FREE, "json_schema"):
            words = describe_schema(request.reply_type, fences=form == "text")
            messages = _with_instruction(messages, words)
        body: CompletionCreateParamsNonStreaming = {"model": self._model, "messages": _to_wire(messages)}
        if form not in (_FREE, "text"):
            body["response_format"] = _response_format(form, request.reply_type)
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.seed is not None:
            body["seed"] = request.seed
        limit = token_limit_field(self._settings.openai_token_limit, client.base_url.host)
        body[limit] = request.max_output_tokens
        return body

    def _choices_of(self, completion: Any) -> list[Any]:
        """Return the choices of a completion, one at least, each with a message.

        Raises:
            ModelError: It has none, or holds an error.
        """
        from openai.types.chat import ChatCompletion

        if not isinstance(completion, ChatCompletion):  # a web page comes as a string
            raise self.service.invalid_reply(completion)
        # The error of a service that had accepted the request already, and of one behind it.
        part = completion.choices[0] if completion.choices else completion
        if error := self.connection.error_in(part):
            raise error
        if completion.choices is None and "choices" in completion.model_fields_set:
            raise self.service.reported(completion.to_dict())
        if not completion.choices or any(choice.message is None for choice in completion.choices):
            raise self.service.invalid_reply(completion.to_json(indent=None))
        return list(completion.choices)

    def _to_answer(self, completion: Any) -> Answer:
        """Read a completion field by field: services that imitate OpenAI leave some of them out."""
        choice = self._choices_of(completion)[0]
        usage = _usage_of(completion)
        answer = partial(Answer, choice.message.content or "", usage, completion.model or self._model)
        if (declined := _declined(choice)) is not None:
            return answer("refused", declined)
        return answer("truncated" if choice.finish_reason == "length" else "complete")


def _declined(choice: Any) -> str | None:
    """Return what was said where the model declined, or the service's filter did; None where neither did."""
    if choice.message.refusal:
        said: str = choice.message.refusal
        return said
    filtered = choice.finish_reason == "content_filter"
    return "the service's content filter stopped the reply" if filtered else None


def _usage_of(completion: Any) -> Usage:
    if completion.usage is None:
        return Usage(unreported=1)
    details = completion.usage.prompt_tokens_details
    return Usage(
        tokens_in=tokens(completion.usage.prompt_tokens),
        tokens_out=tokens(completion.usage.completion_tokens),
        tokens_cached=tokens(details.cached_tokens) if details else 0,
        unreported=unreported(completion.usage.prompt_tokens, completion.usage.completion_tokens),
    )


def token_limit_field(setting: TokenLimit, host: str) -> Literal["max_tokens", "max_completion_tokens"]:
    """Choose the request field that limits output tokens.

    Args:
        setting: `ModelSettings.openai_token_limit`.
        host: The service's host name.

    Returns:
        "max_completion_tokens", which OpenAI's reasoning models insist on, or "max_tokens", which is all
        that most other services know.
    """
    if setting != "auto":
        return setting
    return "max_completion_tokens" if f".{host}".endswith(_OPENAI_HOSTS) else "max_tokens"


def _with_instruction(messages: tuple[Message, ...], words: str) -> tuple[Message, ...]:
    # Into the first system message, since some chat templates take no more than one.
    if messages and messages[0].role == "system":
        return (Message("system", f"{messages[0].content}\n\n{words}"), *messages[1:])
    return (Message("system", words), *messages)


def _to_wire(messages: tuple[Message, ...]) -> list[ChatCompletionMessageParam]:
    wire: list[ChatCompletionMessageParam] = []
    for message in messages:
        if message.role == "system":
            wire.append({"role": "system", "content": message.content})
        elif message.role == "user":
            wire.append({"role": "user", "content": message.content})
        else:
            wire.append({"role": "assistant", "content": message.content})
    return wire


@cache
def _response_format(form: str, reply_type: type[BaseModel]) -> ResponseFormat:
    if form == "json_object":
        return {"type": "json_object"}
    schema = strict_schema(reply_type)
    if form == "json_object_schema":
        # Not OpenAI's: llama.cpp's Python server and some hosted services hold a model to it.
        return cast("ResponseFormat", {"type": "json_object", "schema": schema})
    return {
        "type": "json_schema",
        "json_schema": {"name": schema_name(reply_type), "schema": schema, "strict": True},
    }
