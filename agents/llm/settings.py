"""The settings of the language-model clients: the section `models` of the configuration."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    SecretStr,
    TypeAdapter,
    field_validator,
)

from agents.llm.prices import Price

TokenLimit = Literal["auto", "max_tokens", "max_completion_tokens"]


def _checked(address: str) -> str:
    # Kept as it is written. The SDKs would take "localhost:11434", and fail after all their retries.
    TypeAdapter(HttpUrl).validate_python(address)
    return address


Address = Annotated[str, AfterValidator(_checked)]
"""The address of a service, with its protocol."""


class ModelSettings(BaseModel):
    """How language models are reached."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    openai_base_url: Address | None = None
    """Address of a service that speaks OpenAI's chat completions (DeepSeek, vLLM, Ollama), with its `/v1`.
    Unset: the variable OPENAI_BASE_URL, and without it OpenAI itself."""

    openai_api_key: SecretStr | None = None
    """Key for that service. Unset: the variable OPENAI_API_KEY. A service of your own may need none. Give
    this one explicitly where OPENAI_API_KEY holds a key that the service at `openai_base_url` should not
    see."""

    openai_structured: Literal["auto", "json_schema", "json_object_schema", "json_object", "text"] = "auto"
    """The response format that is asked for: `json_schema`; `json_object` with the schema beside it, for
    llama.cpp's Python server; `json_object` alone; or none. All but the first put the schema into the prompt.
    `auto` takes the first that the service accepts and says which; any other setting fails where the service
    refuses it."""

    openai_token_limit: TokenLimit = "auto"
    """Name of the request field that limits output tokens. OpenAI's own models take `max_completion_tokens`,
    most other services only `max_tokens`; `auto` goes by the address."""

    anthropic_base_url: Address | None = None
    """Address of a service that speaks Anthropic's messages, without `/v1`. Unset: the variable
    ANTHROPIC_BASE_URL, and without it Anthropic itself."""

    anthropic_api_key: SecretStr | None = None
    """Key for that service. Unset: the variable ANTHROPIC_API_KEY and the SDK's other sources."""

    anthropic_structured: Literal["auto", "json_schema", "tool"] = "auto"
    """How the service is held to the form of a reply: by a JSON schema, or by a tool that the model must
    call. Claude 5.5 and some earlier models refuse a forced tool; older services know nothing else. `auto`
    takes the first of them that the service does not refuse, and says so."""

    timeout_seconds: float = Field(default=60.0, gt=0)
    """Longest silence, in seconds, before a request is given up and tried again."""

    max_retries: int = Field(default=4, ge=0, le=20)
    """How often a request is sent again after a timeout, a lost connection, 408, 409, 429 or 5xx. It waits
    for as long as the service asks, otherwise twice as long each time, and after 429 so do all others."""

    temperature: float | None = Field(default=0.0, ge=0, le=2)
    """Sampling temperature; "default" leaves it to the service, which OpenAI's reasoning models insist on.
    Anthropic's interface has none since its version 2026-10-21, so it is never sent there."""

    max_output_tokens: int = Field(default=4096, ge=1)
    """Most tokens that one reply may have, a model's own reasoning included."""

    max_reply_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    """Most bytes that are read of one answer of a service; a longer one fails its turn."""

    prices: dict[str, Price] = Field(default_factory=dict)
    """Prices of models, in US dollars per million tokens, by the model's name with its provider; `*` matches
    any letters, and the longest name that fits counts. Each has `input` and `output`, and may have
    `cached` and `written` for input that the service's cache had or took. Without one, money is unknown."""

    seed: int | None = None
    """Seed for services that take one (OpenAI's chat completions and most that imitate them)."""

    @field_validator("temperature", mode="before")
    @classmethod
    def _default_is_none(cls, value: object) -> object:
        # TOML has no null, and an environment variable neither.
        return None if isinstance(value, str) and value.strip().lower() in {"default", ""} else value

    def unasked(self) -> ModelSettings:
        """Return them for models that are named and never asked, which need no key."""
        return self.model_copy(update={"openai_api_key": self.openai_api_key or SecretStr("not needed")})
