"""The connection to a service that speaks OpenAI's interface: its address, pace and errors."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agents.llm.errors import ModelError
from agents.llm.failures import Service
from agents.llm.pacing import Pacing, pacing_of, until_reset
from agents.llm.request_watch import CONNECT_SECONDS, broken_off
from agents.llm.settings import ModelSettings

if TYPE_CHECKING:
    import httpx2
    import openai

_OWN_ADDRESS = "https://api.openai.com/v1"
_NO_KEY_NEEDED = "no-key-needed"


class OpenAIConnection:
    """Opens a client of the openai SDK, which is imported by the first request.

    Attributes:
        service: The service, for messages.
        address: Its address; empty for OpenAI's own.
    """

    def __init__(self, settings: ModelSettings, name: str) -> None:
        """Create a connection; nothing is sent yet.

        Args:
            settings: Address, key and limits.
            name: What the service is called where it is not OpenAI.
        """
        self._settings = settings
        key = settings.openai_api_key
        self.service = Service(
            name=name if settings.openai_base_url else "OpenAI",
            address=settings.openai_base_url or os.environ.get("OPENAI_BASE_URL", ""),
            key_variable="OPENAI_API_KEY",
            key_setting="models.openai_api_key",
            url_setting="models.openai_base_url",
            structure_setting="models.openai_structured",
            secret=key.get_secret_value() if key else os.environ.get("OPENAI_API_KEY", ""),
        )
        self.address = self.service.other_than(_OWN_ADDRESS)
        self._client: openai.AsyncOpenAI | None = None

    def check(self) -> None:
        """Refuse settings that cannot work.

        Raises:
            ModelError: No key is set, and no address of a service that may need none; or it is no key.
        """
        if self.service.address == "" and not self.service.secret:
            raise self.service.no_key()
        self.service.check_key()

    @property
    def pacing(self) -> Pacing:
        """The pace of the service in the loop that is running."""
        return pacing_of(f"openai {self.address}")

    def open(self) -> openai.AsyncOpenAI:
        """Return the client, which is made once."""
        import openai

        if self._client is None:
            from agents.llm.transport import client_options

            seconds = self._settings.timeout_seconds
            self._client = openai.AsyncOpenAI(
                # Services of one's own, such as Ollama, need no key; the SDK does.
                api_key=self.service.secret or _NO_KEY_NEEDED,
                base_url=self.service.address or None,
                max_retries=0,  # `send_with_retries` sends again, at the pace of all
                timeout=openai.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
                # The SDK's default transport looks at every idle connection whenever one is needed.
                http_client=openai.DefaultAioHttpClient(
                    **client_options(self._settings.max_reply_bytes, self._on_response)
                ),
            )
        return self._client

    async def close(self) -> None:
        """Close the connections, in the loop that opened them."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _on_response(self, response: httpx2.Response) -> None:
        """Pause while the service's limits are used up; an event hook of the HTTP client."""
        if (seconds := until_reset(response.headers)) > 0:
            self.pacing.pause(seconds)

    def explain(self, error: Exception) -> ModelError:
        """Return the error to raise for one of the SDK, or of what it rests on."""
        import aiohttp
        import openai

        from agents.llm.transport import AnswerTooLarge, Encoded, caused_by

        if caused_by(error, AnswerTooLarge):
            return self.service.too_large(self._settings.max_reply_bytes)
        if caused_by(error, Encoded):
            return self.service.encoded_reply()
        if isinstance(error, openai.APITimeoutError) and not broken_off(error):
            return self.service.timed_out(self._settings.timeout_seconds)
        if isinstance(error, openai.APIConnectionError | aiohttp.ClientError):
            return self.service.unreachable(str(error.__cause__ or error))
        if isinstance(error, openai.APIStatusError):
            return self.service.status(
                error.status_code, _words_of(error), error.code, error.response.headers, error.param
            )
        return self.service.invalid_reply(error)

    def error_in(self, part: object) -> ModelError | None:
        """Return the error to raise for a part of an answer that holds one though its status is 200.

        Args:
            part: The answer, or a choice of it, as the SDK read it.
        """
        error = (getattr(part, "model_extra", None) or {}).get("error")
        return self.service.reported(error) if error else None


def _words_of(error: openai.APIStatusError) -> object:
    """Return a service's own words: in OpenAI's form, in FastAPI's, or as a text (LM Studio, DeepSeek)."""
    body = error.body
    if isinstance(body, dict):
        return body.get("message") or body.get("detail") or error.message
    return body if isinstance(body, str) and body.strip() and not body.startswith("<") else error.message
