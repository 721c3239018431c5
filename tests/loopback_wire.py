"""What the loopback service says: the bodies of both wire formats, and what the services refuse.

Part of `loopback_models`, which tests import.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Reply:
    """An answer; a dict is written as JSON, a string word for word."""

    value: dict[str, Any] | str
    tokens_in: int = 120
    tokens_out: int = 30
    tokens_cached: int = 0
    tokens_written: int = 0  # to Anthropic's cache


@dataclass(frozen=True)
class Status:
    """An HTTP error in the service's own words; a wait asked for in seconds."""

    code: int
    message: str = ""
    retry_after: float | None = None
    name: str | None = None  # OpenAI's `code`, Anthropic's `error_code`


@dataclass(frozen=True)
class Raw:
    """An answer as it is told, its body piece by piece, as long as somebody reads."""

    code: int
    headers: Mapping[str, str]
    pieces: Iterable[bytes] = ()


@dataclass(frozen=True)
class Refusal:
    """The model declines."""

    text: str = "I'm sorry, I can't help with that."


@dataclass(frozen=True)
class Filtered:
    """OpenAI's content filter stops the reply."""


@dataclass(frozen=True)
class Truncated:
    """The reply runs into the limit of output tokens."""

    text: str = '{"verdict": "cle'


@dataclass(frozen=True)
class Slow:
    """An outcome that takes its time; stopping the server ends the wait."""

    seconds: float
    outcome: Outcome = None


@dataclass(frozen=True)
class HangUp:
    """The connection is closed without an answer."""


@dataclass(frozen=True)
class NotHttp:
    """An answer of another protocol, as at a wrong port."""


@dataclass(frozen=True)
class WebPage:
    """An HTML page under status 200, as a wrong address gives."""


@dataclass(frozen=True)
class Body:
    """A body of one's own under status 200, as a service sends that only imitates another one.

    Bytes are sent as they are, in the name of JSON.
    """

    content: Any


@dataclass(frozen=True)
class Texts:
    """Continuations, each with the logarithm of its tokens' probability; None where the service is silent."""

    found: Sequence[tuple[str, float | None]]


Outcome = (
    Reply
    | Texts
    | Status
    | Raw
    | Refusal
    | Filtered
    | Truncated
    | Slow
    | HangUp
    | NotHttp
    | WebPage
    | Body
    | dict[str, Any]
    | str
    | None
)


@dataclass(frozen=True)
class Seen:
    """One request as it came in."""

    number: int
    api: Literal["openai", "anthropic"]
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """All words of the conversation, system prompt first."""
        if "prompt" in self.body:
            return str(self.body["prompt"])
        system = [block["text"] for block in self.body.get("system", [])]
        return "\n".join(system + [str(message.get("content")) for message in self.body["messages"]])

    @property
    def schema(self) -> dict[str, Any]:
        """The schema that the reply must fit, wherever it was put; empty where there is none."""
        body = self.body
        if "tools" in body:
            return dict(body["tools"][0]["input_schema"])
        asked = (body.get("output_config") or {}).get("format") or body.get("response_format") or {}
        if asked.get("type") == "json_schema":
            return dict(asked["json_schema"]["schema"] if self.api == "openai" else asked["schema"])
        if "schema" in asked:
            return dict(asked["schema"])
        for start in (at for at, letter in enumerate(self.text) if letter == "{"):
            try:
                found, _ = json.JSONDecoder().raw_decode(self.text, start)
            except ValueError:
                continue
            if "properties" in found:
                return dict(found)
        return {}

    @property
    def schema_name(self) -> str:
        """The name of the reply type: that of the tool or schema, or the schema's title."""
        if "tools" in self.body:
            return str(self.body["tools"][0]["name"])
        asked = self.body.get("response_format") or {}
        return str(asked.get("json_schema", {}).get("name") or self.schema.get("title", ""))


def smallest(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """Make up the smallest value that fits a schema: first choice, shortest text, no optional entries."""
    root = schema if root is None else root
    if "$ref" in schema:
        return smallest(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    for choices in (schema.get("anyOf"), schema.get("oneOf"), schema.get("allOf")):
        if choices:
            return smallest(choices[0], root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: smallest(field, root) for name, field in schema.get("properties", {}).items()}
        case "array":
            return [smallest(schema["items"], root) for _ in range(schema.get("minItems", 0))]
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "null":
            return None
    return "x" * max(1, schema.get("minLength", 1))


def snapshot(model: str) -> str:
    """Name the dated snapshot that answers for a model's alias."""
    return model if model[-2:].isdigit() and model.count("-20") else f"{model}-2025-03-01"


def text_completion(seen: Seen, outcome: Any) -> dict[str, Any]:
    """The answer of the older completions."""
    reply = outcome if isinstance(outcome, Reply) else Reply("")
    found = outcome.found if isinstance(outcome, Texts) else [(str(reply.value), None)]
    return {
        "id": f"cmpl-{uuid.uuid4().hex[:29]}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": snapshot(seen.body["model"]),
        "choices": [
            {
                "index": index,
                "text": text,
                "logprobs": None
                if probability is None
                else {"tokens": ["a", "b"], "token_logprobs": [probability] * 2, "text_offset": [0, 1]},
                "finish_reason": "length",
            }
            for index, (text, probability) in enumerate(found)
        ],
        "usage": {"prompt_tokens": reply.tokens_in, "completion_tokens": reply.tokens_out, "total_tokens": 0},
    }


def completion(seen: Seen, outcome: Any) -> dict[str, Any]:
    if "prompt" in seen.body:
        return text_completion(seen, outcome)
    if isinstance(outcome, Texts):
        whole = completion(seen, "")
        (choice,) = whole["choices"]
        whole["choices"] = [
            {
                **choice,
                "index": index,
                "message": {**choice["message"], "content": text},
                "logprobs": None
                if probability is None
                else {
                    "content": [{"token": "a", "logprob": probability, "top_logprobs": []}],
                    "refusal": None,
                },
            }
            for index, (text, probability) in enumerate(outcome.found)
        ]
        return whole
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None, "annotations": []}
    reason = "stop"
    spent = outcome if isinstance(outcome, Reply) else Reply("")
    match outcome:
        case Reply(value=value):
            message["content"] = value if isinstance(value, str) else json.dumps(value)
        case Truncated(text=text):
            message["content"], reason = text, "length"
        case Refusal(text=text):
            message["refusal"] = text
        case Filtered():
            message["content"], reason = "", "content_filter"
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex[:29]}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": snapshot(seen.body["model"]),
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": spent.tokens_in,
            "completion_tokens": spent.tokens_out,
            "total_tokens": spent.tokens_in + spent.tokens_out,
            "prompt_tokens_details": {"cached_tokens": spent.tokens_cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": "fp_loopback",
    }


def message_body(seen: Seen, outcome: Any) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    reason, details = "end_turn", None
    spent = outcome if isinstance(outcome, Reply) else Reply("")
    match outcome:
        case Reply(value=dict() as value) if "tools" in seen.body:
            name = seen.body["tools"][0]["name"]
            content = [
                {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", "name": name, "input": value}
            ]
            reason = "tool_use"
        case Reply(value=value):
            # Models of today think first; what they thought is left out by default.
            content = [
                {"type": "thinking", "thinking": "", "signature": "c2lnbmF0dXJl"},
                {"type": "text", "text": value if isinstance(value, str) else json.dumps(value)},
            ]
        case Truncated(text=text):
            content, reason = [{"type": "text", "text": text}], "max_tokens"
        case Refusal(text=text):
            reason = "refusal"
            details = {"type": "refusal", "category": "general_harms", "explanation": text}
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": snapshot(seen.body["model"]).replace("-2025-03-01", "-20250301"),
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "stop_details": details,
        "usage": {
            # Unlike OpenAI's count, this one leaves out what the cache had or took.
            "input_tokens": spent.tokens_in - spent.tokens_cached - spent.tokens_written,
            "cache_creation_input_tokens": spent.tokens_written,
            "cache_read_input_tokens": spent.tokens_cached,
            "output_tokens": spent.tokens_out,
            "service_tier": "standard",
        },
    }


_OPENAI_TYPES = {429: "requests", 401: "invalid_request_error", 400: "invalid_request_error"}
_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def openai_error(outcome: Status) -> dict[str, Any]:
    name = outcome.name or {429: "rate_limit_exceeded", 401: "invalid_api_key"}.get(outcome.code)
    message = outcome.message or f"Scripted status {outcome.code}."
    kind = _OPENAI_TYPES.get(outcome.code, "server_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": name}}


def anthropic_error(outcome: Status) -> dict[str, Any]:
    error: dict[str, Any] = {
        "type": _ANTHROPIC_TYPES.get(outcome.code, "api_error"),
        "message": outcome.message or f"Scripted status {outcome.code}.",
    }
    if outcome.name:
        error["details"] = {"error_code": outcome.name}
    return {"type": "error", "error": error, "request_id": f"req_{uuid.uuid4().hex[:24]}"}


def embeddings(seen: Seen) -> dict[str, Any]:
    """Vectors that follow from the texts, the last text first: what counts is the index."""
    texts = seen.body["input"]
    vectors = [[byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()] for text in texts]
    data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)]
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    return {"object": "list", "model": seen.body["model"], "data": data[::-1], "usage": usage}


def openai_refuses(seen: Seen, key: str) -> Status | None:
    sent = seen.headers.get("authorization", "").removeprefix("Bearer ")
    if sent != key:
        return Status(401, f"Incorrect API key provided: {sent}. You can find your API key in your account.")
    if "input" in seen.body:
        texts = seen.body["input"]
        if seen.body.get("encoding_format") != "float" or len(texts) > 2048 or not all(texts):
            return Status(400, "Invalid 'input', or an encoding_format that is not known here.")
        return None
    asked = seen.body.get("response_format") or {"type": "text"}
    if asked["type"] == "json_object" and "json" not in seen.text.lower():
        return Status(400, "'messages' must contain the word 'json' in some form, to use 'json_object'.")
    if asked["type"] == "json_schema" and (fault := _not_strict(asked["json_schema"]["schema"])):
        name = asked["json_schema"]["name"]
        return Status(400, f"Invalid schema for response_format '{name}': {fault}")
    if {"max_tokens", "max_completion_tokens"} <= seen.body.keys():
        return Status(
            400, "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        )
    return None


def anthropic_refuses(seen: Seen, key: str) -> Status | None:
    body = seen.body
    sent = seen.headers.get("x-api-key") or seen.headers.get("authorization", "").removeprefix("Bearer ")
    if sent != key:
        return Status(401, "invalid x-api-key" if "x-api-key" in seen.headers else "invalid bearer token")
    version = seen.headers.get("anthropic-version")
    if version is None:
        return Status(400, "anthropic-version: header is required")
    if "max_tokens" not in body:
        return Status(400, "max_tokens: Field required")
    for field in ("temperature", "top_p", "top_k", "seed", "response_format"):
        if field in body and (field not in {"temperature", "top_p", "top_k"} or version >= "2026-10-21"):
            return Status(400, f"{field}: Extra inputs are not permitted")
    messages = body["messages"]
    if not messages:
        return Status(400, "messages: at least one message is required")
    for at, message in enumerate(messages):
        if message["role"] not in {"user", "assistant"}:
            return Status(400, f"messages.{at}: role '{message['role']}' is not supported on this model")
        if not message["content"]:
            return Status(400, f"messages.{at}: {message['role']} messages must have non-empty content")
    if messages[-1]["role"] != "user":
        return Status(400, "This model does not support assistant message prefill.")
    if "5-5" in body["model"] and (body.get("tool_choice") or {}).get("type") in {"tool", "any"}:
        return Status(400, "tool_choice: forcing tool use is not supported on this model.")
    asked = (body.get("output_config") or {}).get("format")
    if asked and (fault := _not_strict(asked["schema"], every=False)):
        return Status(400, f"output_config.format.schema: {fault}")
    return None


_CONSTRAINTS = {"minLength", "maxLength", "minimum", "maximum", "multipleOf", "maxItems", "default", "oneOf"}


def _not_strict(node: Any, *, every: bool = True) -> str | None:
    """Find what constrained decoding does not accept; `every` says that each field must be required."""
    if isinstance(node, list):
        return next((fault for item in node if (fault := _not_strict(item, every=every))), None)
    if not isinstance(node, dict):
        return None
    if "$ref" in node and len(node) > 1:
        return "$ref cannot have keywords beside it."
    if found := _CONSTRAINTS & node.keys():
        return f"'{min(found)}' is not permitted."
    if node.get("type") == "object":
        if node.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false."
        if every and set(node.get("required", [])) != set(node.get("properties", {})):
            return "'required' is required to be supplied and to include every key in properties."
    parts = [*node.get("properties", {}).values(), *node.get("$defs", {}).values(), node.get("items")]
    return _not_strict([*parts, *node.get("anyOf", []), *node.get("allOf", [])], every=every)
