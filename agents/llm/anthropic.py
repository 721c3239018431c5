"""Models behind Anthropic's messages."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agents.llm.errors import ModelError
from agents.llm.failures import Service
from agents.llm.pacing import pacing_of, send_with_retries, until_reset
from agents.llm.plain_text import Continuation, PlainAnswer, continued, text_in_chat
from agents.llm.protocol import LanguageModel, Message, ModelReply, ModelRequest, PlainText, Usage
from agents.llm.reply_form import ReplyForm
from agents.llm.request_watch import CONNECT_SECONDS, broken_off, leave
from agents.llm.schemas import schema_name, strict_schema
from agents.llm.settings import ModelSettings
from agents.llm.structured import ILL_SHAPED, UNREADABLE, Answer, converse, is_text, tokens, unreported

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import anthropic
    import httpx2
    from anthropic.types import MessageParam, TextBlockParam

_OWN_ADDRESS = "https://api.anthropic.com"
_NO_KEY_NEEDED = "no-key-needed"
_FREE = ""
_WAYS = ("json_schema", "tool")


def create(model: str, settings: ModelSettings) -> LanguageModel:
    """Make a client of a messages service; connects to nothing yet.

    Returns:
        The model, named "anthropic:" and its name. Where no key can be found, its first request says so:
        the SDK has more sources of keys than can be looked at without it.

    Raises:
        ModelError: The key is none.
    """
    messages = AnthropicMessages(model, settings)
    messages.service.check_key()
    return messages


class AnthropicMessages:
    """A model that answers through the anthropic SDK, which is imported by the first request.

    The interface has no temperature and no seed (since its version 2026-10-21), so a request's are not
    sent. `Usage.tokens_in` is all input: what was read from the cache, written to it, and neither.
    """

    decodes_itself = True

    def __init__(self, model: str, settings: ModelSettings) -> None:
        self.name = f"anthropic:{model}"
        self.knows_subjects = False
        self._model = model
        self._settings = settings
        key = settings.anthropic_api_key
        self.service = Service(
            name="the messages service" if settings.anthropic_base_url else "Anthropic",
            address=settings.anthropic_base_url or os.environ.get("ANTHROPIC_BASE_URL", ""),
            key_variable="ANTHROPIC_API_KEY",
            key_setting="models.anthropic_api_key",
            url_setting="models.anthropic_base_url",
            structure_setting="models.anthropic_structured",
            secret=key.get_secret_value() if key else os.environ.get("ANTHROPIC_API_KEY", ""),
        )
        self.address = self.service.other_than(_OWN_ADDRESS)
        self._form = ReplyForm(settings.anthropic_structured, _WAYS, self.name, self.service)
        self._client: anthropic.AsyncAnthropic | None = None

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Answer a request; see `LanguageModel.reply`."""
        import anthropic

        client = self._open()
        pacing, retries = pacing_of(self._place), self._settings.max_retries
        if request.plain is not None:
            if request.plain.n > 1:
                raise ModelError(
                    "bad_request",
                    "No sampling",
                    f"{self.name} takes no temperature and reports no probabilities: the best of "
                    f"{request.plain.n} samples cannot be taken.",
                    "Leave --decoding out, or name another model.",
                )
            plain = replace(request.plain, temperature=None, top_p=None)

            async def ask_for_text(_n: int) -> PlainAnswer:
                send = partial(self._ask_for_text, client, request, plain)
                return await send_with_retries(send, pacing, retries)

            sdk = f"anthropic {anthropic.__version__}"
            return await continued(
                request, plain, ask_for_text, name=self.name, sdk=sdk, clean=self.service.clean
            )

        async def ask(messages: tuple[Message, ...]) -> Answer:
            send = partial(self._ask, client, request, messages)
            if is_text(request):
                return await send_with_retries(partial(self._ask_freely, send), pacing, retries)
            return await send_with_retries(partial(self._form.ask, send), pacing, retries)

        return await converse(
            request, ask, name=self.name, clean=self.service.clean, sdk=f"anthropic {anthropic.__version__}"
        )

    async def _ask_freely(self, send: Callable[[str], Awaitable[Answer]]) -> Answer:
        """Ask without a form of the reply."""
        leave()
        return await send(_FREE)

    @property
    def _place(self) -> str:
        return f"anthropic {self.address}"

    async def _on_response(self, response: httpx2.Response) -> None:
        """Pause while the service's limits are used up; an event hook of the HTTP client."""
        if (seconds := until_reset(response.headers)) > 0:
            pacing_of(self._place).pause(seconds)

    async def close(self) -> None:
        """Close the connections, in the loop that opened them."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _open(self) -> anthropic.AsyncAnthropic:
        import anthropic

        if self._client is None:
            from agents.llm.transport import client_options

            seconds = self._settings.timeout_seconds
            key = self.service.secret
            if not key and self._settings.anthropic_base_url and "ANTHROPIC_AUTH_TOKEN" not in os.environ:
                # Without any key the SDK would send the user's Anthropic login to this other address.
                key = _NO_KEY_NEEDED
            try:
                client = anthropic.AsyncAnthropic(
                    api_key=key or None,
                    base_url=self.service.address or None,
                    max_retries=0,  # `send_with_retries` sends again, at the pace of all
                    timeout=anthropic.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
                    # The SDK's default transport looks at every idle connection whenever one is needed.
                    http_client=anthropic.DefaultAioHttpClient(
                        **client_options(self._settings.max_reply_bytes, self._on_response)
                    ),
                )
            except anthropic.AnthropicError as error:
                raise self.service.no_key(str(error)) from error
            if client.api_key is None and client.auth_token is None and client.credentials is None:
                raise self.service.no_key()
            found = (each for each in (client.api_key, client.auth_token) if isinstance(each, str))
            self.service = replace(self.service, further_secrets=tuple(found))
            self._client = client
        return self._client

    async def _ask(
        self,
        client: anthropic.AsyncAnthropic,
        request: ModelRequest,
        messages: tuple[Message, ...],
        form: str,
    ) -> Answer:
        import anthropic

        create = partial(
            client.messages.create,
            model=self._model,
            max_tokens=request.max_output_tokens,
            messages=_to_wire(messages),
            system=_system_of(messages),
        )
        name = schema_name(request.reply_type)
        try:
            if form == _FREE:
                reply: Any = await create()
            elif form == "tool":
                reply = await create(
                    tools=[
                        {
                            "name": name,
                            "description": "Give the answer, in the form that is asked for.",
                            "input_schema": request.reply_type.model_json_schema(),
                        }
                    ],
                    tool_choice={"type": "tool", "name": name, "disable_parallel_tool_use": True},
                )
            else:
                schema = strict_schema(request.reply_type)
                reply = await create(output_config={"format": {"type": "json_schema", "schema": schema}})
        except (anthropic.AnthropicError, *UNREADABLE) as error:
            raise self._explain(error) from error
        try:
            return self._to_answer(reply)
        except ILL_SHAPED as error:
            raise self.service.invalid_reply(reply) from error

    async def _ask_for_text(
        self, client: anthropic.AsyncAnthropic, request: ModelRequest, plain: PlainText
    ) -> PlainAnswer:
        """Ask for one continuation: the interface has no samples, temperature or probabilities."""
        import anthropic

        leave()
        try:
            reply: Any = await client.messages.create(
                model=self._model,
                max_tokens=plain.max_tokens,
                messages=_to_wire(request.messages),
                system=_system_of(request.messages),
            )
        except (anthropic.AnthropicError, *UNREADABLE) as error:
            raise self._explain(error) from error
        try:
            answer = self._to_answer(reply)
        except ILL_SHAPED as error:
            raise self.service.invalid_reply(reply) from error
        declined = answer.detail if answer.stopped == "refused" else None
        text = text_in_chat(answer.text, self.name, request.role, declined)
        return PlainAnswer([Continuation(text=text)], answer.usage, answer.model)

    def _to_answer(self, reply: Any) -> Answer:
        from anthropic.types import Message as AnthropicMessage

        if isinstance(reply, AnthropicMessage) and (error := (reply.model_extra or {}).get("error")):
            raise self.service.reported(error)
        if not isinstance(reply, AnthropicMessage) or not isinstance(reply.content, list):
            raise self.service.invalid_reply(reply)
        # The text of a tool call is its input; thinking blocks are not part of the answer.
        calls = [block.input for block in reply.content if block.type == "tool_use"]
        texts = [block.text for block in reply.content if block.type == "text"]
        text = json.dumps(calls[0], ensure_ascii=False) if calls else "".join(texts)
        usage = Usage(unreported=1)
        if reply.usage is not None:
            cached = tokens(reply.usage.cache_read_input_tokens)
            written = tokens(reply.usage.cache_creation_input_tokens)
            usage = Usage(
                tokens_in=tokens(reply.usage.input_tokens) + cached + written,
                tokens_out=tokens(reply.usage.output_tokens),
                tokens_cached=cached,
                tokens_written=written,
                unreported=unreported(reply.usage.input_tokens, reply.usage.output_tokens),
            )
        answer = partial(Answer, text, usage, reply.model or self._model)
        if reply.stop_reason == "refusal":
            details = reply.stop_details
            return answer("refused", (details.explanation or details.category or "") if details else "")
        if reply.stop_reason in {"max_tokens", "model_context_window_exceeded"}:
            return answer("truncated")
        return answer()

    def _explain(self, error: Exception) -> ModelError:
        import anthropic

        from agents.llm.transport import AnswerTooLarge, Encoded, caused_by

        if caused_by(error, AnswerTooLarge):
            return self.service.too_large(self._settings.max_reply_bytes)
        if caused_by(error, Encoded):
            return self.service.encoded_reply()
        if isinstance(error, anthropic.APITimeoutError) and not broken_off(error):
            return self.service.timed_out(self._settings.timeout_seconds)
        if isinstance(error, anthropic.APIConnectionError):
            return self.service.unreachable(str(error.__cause__ or error))
        if isinstance(error, anthropic.APIStatusError):
            words = error.api_message or error.message
            return self.service.status(error.status_code, words, error.error_code, error.response.headers)
        return self.service.invalid_reply(error)


def _system_of(messages: tuple[Message, ...]) -> list[TextBlockParam] | anthropic.Omit:
    import anthropic

    system = "\n\n".join(message.content for message in messages if message.role == "system")
    return _fixed(system) if system else anthropic.omit


def _fixed(system: str) -> list[TextBlockParam]:
    """Have the service keep the beginning that every request of a role shares.

    What it keeps is everything up to the marker: the schema or tool, and the instructions. Beginnings below
    its model's minimum (1,024 to 4,096 tokens) it does not keep, and ignores the marker.
    """
    return [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]


def _to_wire(messages: tuple[Message, ...]) -> list[MessageParam]:
    wire: list[MessageParam] = []
    for message in messages:
        if message.role == "user":
            wire.append({"role": "user", "content": message.content})
        elif message.role == "assistant":
            wire.append({"role": "assistant", "content": message.content})
    return wire
