import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import anthropic
import pytest
from loopback_models import (
    Body,
    HangUp,
    LoopbackModels,
    NotHttp,
    Outcome,
    Refusal,
    Reply,
    Seen,
    Slow,
    Status,
    Truncated,
    WebPage,
)
from pydantic import BaseModel, Field

from agents.llm.anthropic import create
from agents.llm.errors import ModelError
from agents.llm.protocol import Message, ModelReply, ModelRequest, Usage
from agents.llm.settings import ModelSettings

QUICK = 0.001  # seconds; both SDKs wait for any positive Retry-After and fall back on half a second for 0


class Screening(BaseModel):
    verdict: Literal["clear match", "clear non-match", "unclear"]
    reason: str = Field(min_length=1)
    line: int | None = None


REQUEST = ModelRequest(
    role="screener",
    subject="pair-1",
    messages=(
        Message("system", "You screen."),
        Message("user", "Code: x: list[int]"),
        Message("system", "Be brief."),
    ),
    reply_type=Screening,
    seed=7,
)
GOOD: dict[str, Any] = {"verdict": "unclear", "reason": "needs a run", "line": None}
MODES = ["json_schema", "tool"]


@pytest.fixture(autouse=True)
def no_ambient_service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HOME", str(tmp_path))  # no profile of the SDK's there


@pytest.fixture
def serve() -> Iterator[Callable[..., LoopbackModels]]:
    servers: list[LoopbackModels] = []

    def start(script: Any = None, **others: Any) -> LoopbackModels:
        servers.append(LoopbackModels(script, **others).__enter__())
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


async def ask(settings: ModelSettings, name: str = "claude-haiku-4-5") -> ModelReply:
    model = create(name, settings)
    try:
        return await model.reply(REQUEST)
    finally:
        await model.close()


async def failure(settings: ModelSettings, name: str = "claude-haiku-4-5") -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(settings, name)
    return caught.value


def in_turn(*outcomes: Outcome) -> Callable[[Seen, int], Outcome]:
    return lambda seen, number: outcomes[min(number, len(outcomes)) - 1]


@pytest.mark.parametrize("mode", MODES)
async def test_a_reply_carries_value_cost_and_the_snapshot_that_answered(
    serve: Callable[..., LoopbackModels], mode: str
) -> None:
    server = serve(in_turn(Reply(GOOD, tokens_in=200, tokens_out=9, tokens_cached=128, tokens_written=16)))
    reply = await ask(server.settings(anthropic_structured=mode))
    assert reply.value == Screening(**GOOD)
    assert server.requests[0].schema_name == "Screening"
    # All input is counted as input, as OpenAI does, although Anthropic reports 56 + 128 + 16.
    assert (reply.usage, reply.requests) == (Usage(200, 9, 128, 16), 1)
    assert reply.model == "claude-haiku-4-5-20250301"
    assert reply.sdk == f"anthropic {anthropic.__version__}, {mode}"


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_sent(serve: Callable[..., LoopbackModels], mode: str) -> None:
    server = serve()
    await ask(server.settings(anthropic_structured=mode))
    [seen] = server.requests
    # The marker has the service keep the beginning that all requests of a role share.
    assert seen.body["system"] == [
        {"type": "text", "text": "You screen.\n\nBe brief.", "cache_control": {"type": "ephemeral"}}
    ]
    assert seen.body["messages"] == [{"role": "user", "content": "Code: x: list[int]"}]
    assert seen.body["max_tokens"] == 4096
    assert not {"temperature", "seed"} & seen.body.keys()
    if mode == "tool":
        forced = {"type": "tool", "name": "Screening", "disable_parallel_tool_use": True}
        assert seen.body["tool_choice"] == forced
        assert seen.schema == Screening.model_json_schema()
    else:
        assert seen.schema["properties"]["reason"]["description"] == "(minLength: 1)"


@pytest.mark.parametrize(
    "passing", [Status(429, retry_after=QUICK), Status(529, retry_after=QUICK), HangUp()]
)
async def test_what_passes_is_tried_again_and_counted(
    serve: Callable[..., LoopbackModels], passing: Outcome
) -> None:
    server = serve(in_turn(passing, GOOD))
    reply = await ask(server.settings())
    assert (reply.value, reply.requests, len(server.requests)) == (Screening(**GOOD), 2, 2)
    assert reply.usage == Usage(120, 30)


@pytest.mark.parametrize("mode", MODES)
async def test_one_of_each_trouble_in_a_single_reply(serve: Callable[..., LoopbackModels], mode: str) -> None:
    bad: dict[str, Any] = {**GOOD, "verdict": "perhaps"}
    server = serve(in_turn(Status(429, retry_after=QUICK), Status(500, retry_after=QUICK), bad, GOOD))
    reply = await ask(server.settings(anthropic_structured=mode))
    assert (reply.value, reply.requests, reply.usage) == (Screening(**GOOD), 4, Usage(240, 60))
    _, shown, correction = server.requests[3].body["messages"]
    assert shown["role"] == "assistant"
    assert '"perhaps"' in shown["content"]
    assert "verdict: Input should be" in correction["content"]


async def test_malformed_twice_keeps_the_cost(serve: Callable[..., LoopbackModels]) -> None:
    server = serve(in_turn("", "still nothing"))
    error = await failure(server.settings(anthropic_structured="tool"))
    assert (error.kind, error.requests, error.usage) == ("malformed", 2, Usage(240, 60))
    assert error.text == "still nothing"


@pytest.mark.parametrize(
    ("outcome", "kind", "said"),
    [
        (Refusal("Not about this."), "refused", "Not about this."),
        (Truncated(), "truncated", "4096 output tokens"),
        (Status(429, "Slow down.", retry_after=QUICK), "rate_limited", "Slow down."),
        (Status(529, "Overloaded", retry_after=QUICK), "unavailable", "Overloaded"),
        (Status(403, "Not yours."), "unauthorised", "Not yours."),
        (Status(404, "model: claude-none"), "bad_request", "claude-none"),
        (Status(413, "Too large."), "bad_request", "Too large."),
        (WebPage(), "unavailable", "Welcome"),
    ],
)
async def test_failures_are_told_apart(
    serve: Callable[..., LoopbackModels], outcome: Outcome, kind: str, said: str
) -> None:
    server = serve(in_turn(outcome))
    error = await failure(server.settings(max_retries=1))
    assert error.kind == kind
    assert said in error.message
    assert error.hint
    paid = not isinstance(outcome, Status | WebPage)
    # What may pass is sent again; a reply that cannot be used is asked for again, with what is wrong.
    again = paid or (kind in {"rate_limited", "unavailable"} and not isinstance(outcome, WebPage))
    assert error.requests == len(server.requests) == (2 if again else 1)
    assert error.usage == (Usage(240, 60) if paid else Usage())
    if paid:
        *_, shown, correction = server.requests[1].body["messages"]
        assert (shown["role"], correction["role"]) == ("assistant", "user")
        assert {"refused": "declined", "truncated": "cut off at the limit"}[kind] in correction["content"]


@pytest.mark.parametrize("content", [[{"type": "text", "text": 5}], [5], {"type": "text"}], ids=str)
async def test_a_reply_of_other_types_than_it_should_have_is_no_bug_of_ours(
    serve: Callable[..., LoopbackModels], content: Any
) -> None:
    server = serve(in_turn(Body({"type": "message", "role": "assistant", "model": "m", "content": content})))
    error = await failure(server.settings(max_retries=0))
    assert (error.kind, error.title) == ("unavailable", "Unexpected answer")


@pytest.mark.parametrize(
    ("type_", "kind", "requests"),
    [
        ("overloaded_error", "unavailable", 2),
        ("rate_limit_error", "rate_limited", 2),
        ("api_error", "unavailable", 2),
        ("not_found_error", "bad_request", 1),
        ("authentication_error", "unauthorised", 1),
        ("an_error_of_tomorrow", "unavailable", 1),
    ],
)
async def test_an_error_under_status_200_is_treated_as_its_type_says(
    serve: Callable[..., LoopbackModels],
    type_: str,
    kind: str,
    requests: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agents.llm.pacing.FIRST_WAIT_SECONDS", QUICK)
    server = serve(in_turn(Body({"type": "error", "error": {"type": type_, "message": "So it is."}})))
    error = await failure(server.settings(max_retries=1))
    assert (error.kind, error.requests, len(server.requests)) == (kind, requests, requests)
    assert "So it is." in error.message


@pytest.mark.parametrize("body", [b"", b"[" * 200_000, b'{"id": ' + b"1" * 5_000 + b"}"], ids=len)
async def test_a_body_that_cannot_be_read_is_no_bug_of_ours(
    serve: Callable[..., LoopbackModels], body: bytes
) -> None:
    server = serve(in_turn(Body(body)))
    error = await failure(server.settings(max_retries=0))
    assert (error.kind, error.title) == ("unavailable", "Unexpected answer")


@pytest.mark.parametrize("said", ["cut \ud800 in half", {"text": "no"}, 5], ids=str)
async def test_an_error_in_words_that_are_none_is_told_all_the_same(
    serve: Callable[..., LoopbackModels], said: Any
) -> None:
    server = serve(in_turn(Status(400, said, name=["x"])))
    error = await failure(server.settings(max_retries=0))
    assert error.kind == "bad_request"
    str(error).encode()  # or it could not be recorded


@pytest.mark.parametrize("usage", [{"input_tokens": 120.5, "output_tokens": 30}, {"output_tokens": 30}])
async def test_a_cost_that_is_no_number_of_tokens_is_not_told(
    serve: Callable[..., LoopbackModels], usage: dict[str, Any]
) -> None:
    content = [{"type": "text", "text": json.dumps(GOOD)}]
    answer = {"type": "message", "role": "assistant", "model": "m", "content": content, "usage": usage}
    server = serve(in_turn(Body(answer)))
    assert (await ask(server.settings())).usage == Usage(tokens_out=30, unreported=1)


async def test_a_spending_limit_is_told_from_haste(serve: Callable[..., LoopbackModels]) -> None:
    server = serve(
        in_turn(Status(429, "Limit reached.", retry_after=QUICK, name="enforced_spend_limit_reached"))
    )
    error = await failure(server.settings(max_retries=0))
    assert error.kind == "rate_limited"
    assert "billing" in error.hint


async def test_models_that_refuse_a_forced_tool_lead_to_the_other_setting(
    serve: Callable[..., LoopbackModels],
) -> None:
    server = serve()
    error = await failure(server.settings(anthropic_structured="tool"), "claude-opus-5-5")
    assert (error.kind, error.requests) == ("bad_request", 1)
    assert "models.anthropic_structured" in error.hint
    assert (await ask(server.settings(), "claude-opus-5-5")).requests == 1


async def test_a_wait_of_many_minutes_is_an_answer_and_no_hang(serve: Callable[..., LoopbackModels]) -> None:
    server = serve(in_turn(Status(429, "Come back later.", retry_after=3600)))
    async with asyncio.timeout(20):  # or the test would wait for that hour
        error = await failure(server.settings())
    assert (error.kind, error.requests) == ("rate_limited", 1)


async def test_silence_ends_at_the_timeout(serve: Callable[..., LoopbackModels]) -> None:
    server = serve(in_turn(Slow(60)))
    error = await failure(server.settings(timeout_seconds=0.05, max_retries=0))
    assert (error.kind, error.requests) == ("timeout", 1)
    assert "0.05 seconds" in error.message


async def test_a_service_of_another_protocol(serve: Callable[..., LoopbackModels]) -> None:
    server = serve(in_turn(NotHttp()))
    error = await failure(server.settings(max_retries=1))
    assert (error.kind, error.title, error.requests) == ("unavailable", "Service unreachable", 2)


async def test_a_service_that_is_not_there() -> None:
    with LoopbackModels() as server:
        settings = server.settings(max_retries=0)
    error = await failure(settings)
    assert (error.kind, error.requests, error.usage) == ("unavailable", 1, Usage())
    assert server.anthropic_url in error.message


async def test_a_wrong_key_is_refused(serve: Callable[..., LoopbackModels]) -> None:
    error = await failure(serve().settings(anthropic_api_key="sk-other"))
    assert (error.kind, error.requests) == ("unauthorised", 1)
    assert "ANTHROPIC_API_KEY" in error.hint


async def test_no_key_is_said_without_a_request() -> None:
    error = await failure(ModelSettings())
    assert (error.kind, error.requests) == ("unauthorised", 0)
    assert error.hint == "Set ANTHROPIC_API_KEY or models.anthropic_api_key."


async def test_a_login_of_the_sdks_that_cannot_be_read_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path / "no-profiles"))
    error = await failure(ModelSettings())
    assert (error.kind, error.requests) == ("unauthorised", 0)
    assert "no-profiles" in error.message


async def test_a_service_of_ones_own_needs_no_key(serve: Callable[..., LoopbackModels]) -> None:
    server = serve(key="no-key-needed")
    assert (await ask(ModelSettings(anthropic_base_url=server.anthropic_url))).requests == 1


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
async def test_the_sdks_own_variables_are_enough(
    serve: Callable[..., LoopbackModels], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    server = serve()
    monkeypatch.setenv(variable, server.key)
    assert (await ask(ModelSettings(anthropic_base_url=server.anthropic_url))).requests == 1
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.anthropic_url)
    assert (await ask(ModelSettings())).requests == 1


@pytest.mark.parametrize("key", ["sk-1\n", "sk-é"], ids=ascii)
def test_what_no_request_can_carry_is_no_key(key: str) -> None:
    with pytest.raises(ModelError) as caught:
        create("a-model", ModelSettings(anthropic_api_key=key))
    assert (caught.value.kind, caught.value.title) == ("unauthorised", "Not a key")
    assert key not in str(caught.value)
