"""The request to a language model and its reply, whichever service answers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from pydantic import BaseModel

# Part of every digest: raise it when the same request would be put to a model in other words.
_DIGEST_VERSION = 1


@cache
def schema_of(reply_type: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a reply's type; making it takes longer than all else in a question."""
    return reply_type.model_json_schema()


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text to continue (CrossCodeEval, section 3.3), in place of a question.

    Attributes:
        prompt: What is continued; its beginning is cut off where it is too long.
        context: What stands before it; its end is cut off beyond `context_tokens`.
        suffix: What follows the gap, to fill in the middle; likewise. Empty to continue.
        longest: The tokens that the model reads and writes, all together.
        max_tokens: The tokens that it writes at most.
        n: How many continuations are wanted.
        temperature: The sampling temperature; 0 for the most probable token each time, None to leave it to
            the service.
        top_p: The share of probability from which tokens are drawn; None for all.
    """

    prompt: str
    context: str = ""
    suffix: str = ""
    longest: int = 8192
    context_tokens: int = 512
    max_tokens: int = 50
    n: int = 1
    temperature: float | None = 0.0
    top_p: float | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model, whose answer must be a value of `reply_type`.

    `role` is the pipeline's role ("screener", "test_writer", "arbiter") and `subject` the external id of
    the item it is about. A `temperature` of None leaves the choice to the service, since some models
    refuse any other. `seed` and `temperature` are sent only to services that take them. The same question can
    be put several times: `sample` numbers these, from 0, so that each gets a reply of its own.

    With `plain` the text is to be continued, and the answer is `agents.llm.plain_text.Continuations`; a model
    that only chats gets the messages, which ask for the same, and answers with the continuation alone.
    """

    role: str
    subject: str
    messages: tuple[Message, ...]
    reply_type: type[BaseModel]
    temperature: float | None = 0.0
    max_output_tokens: int = 4096
    seed: int | None = None
    plain: PlainText | None = None
    sample: int = 0

    def digest(self, model: str) -> str:
        """Name what is asked of which model, so that a reply already paid for can be found again.

        Role and subject are not part of it: two items with the same text get the same reply.

        Args:
            model: The model's name, as in `LanguageModel.name`.

        Returns:
            The SHA-256, in hexadecimal, of the canonical JSON of model, parameters, messages and the
            reply type's JSON schema.
        """
        asked = {
            "version": _DIGEST_VERSION,
            "model": model,
            "temperature": None if self.temperature is None else float(self.temperature),
            "max_output_tokens": self.max_output_tokens,
            "seed": self.seed,
            "messages": [[message.role, message.content] for message in self.messages],
            "schema": schema_of(self.reply_type),
        }
        if self.plain is not None:
            asked["plain"] = asdict(self.plain)
        if self.sample:
            asked["sample"] = self.sample
        canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens spent: all input tokens, and output tokens.

    Of the input, `tokens_cached` were read from the service's cache and `tokens_written` put into it.
    `unreported` counts the answers whose cost the service did not report.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    tokens_written: int = 0
    unreported: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.tokens_cached + other.tokens_cached,
            self.tokens_written + other.tokens_written,
            self.unreported + other.unreported,
        )


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's answer and its cost.

    `text` is the reply as it was written (for a tool call, its input as JSON). `model` is the snapshot that
    the service says answered. `requests` counts the HTTP requests sent for it, retried and malformed ones
    included, and `usage` sums over them. `seconds` is the wall time of all of it. `sdk` names the library,
    its version and the way in which it asked for the form of the reply, such as "openai 2.8.1, json_object".
    """

    value: BaseModel
    text: str
    usage: Usage
    model: str
    seconds: float
    requests: int
    sdk: str


class LanguageModel(Protocol):
    """A model that answers requests; used from one asyncio loop, and closed in it.

    Making one does nothing but look at its settings: connections are opened in the loop by the first
    request.
    """

    @property
    def name(self) -> str:
        """The provider and the model, such as "openai:gpt-4o-mini"."""
        ...

    @property
    def address(self) -> str:
        """The service's address, a part of what names a run; empty for the provider's own."""
        ...

    @property
    def knows_subjects(self) -> bool:
        """Whether a reply depends on role and subject too, and not on the messages alone."""
        ...

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Answer a request.

        Raises:
            ModelError: No usable reply came; the error carries what was spent.
        """
        ...

    async def close(self) -> None:
        """Close the connections, in the loop that opened them."""
        ...
