import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import openai
import pytest
from loopback_models import (
    Body,
    Filtered,
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

from agents.llm.errors import ModelError
from agents.llm.openai import create, token_limit_field
from agents.llm.protocol import LanguageModel, Message, ModelReply, ModelRequest, Usage
from agents.llm.settings import ModelSettings

QUICK = 0.001  # seconds; both SDKs wait for any positive Retry-After and fall back on half a second for 0


class Screening(BaseModel):
    verdict: Literal["clear match", "clear non-match", "unclear"]
    reason: str = Field(min_length=1)
    line: int | None = None


REQUEST = ModelRequest(
    role="screener",
    subject="pair-1",
    messages=(Message("system", "You screen."), Message("user", "Code: x: list[int]")),
    reply_type=Screening,
    seed=7,
)
GOOD: dict[str, Any] = {"verdict": "unclear", "reason": "needs a run", "line": None}
GOOD_TEXT = json.dumps(GOOD)


@pytest.fixture(autouse=True)
def no_ambient_service(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ADMIN_KEY", "OPENAI_CUSTOM_HEADERS"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def serve() -> Iterator[Callable[..., LoopbackModels]]:
    servers: list[LoopbackModels] = []

    def start(script: Any = None, **others: Any) -> LoopbackModels:
        servers.append(LoopbackModels(script, **others).__enter__())
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


@asynccontextmanager
async def opened(settings: ModelSettings, name: str = "gpt-4o-mini") -> AsyncIterator[LanguageModel]:
    model = create(name, settings)
    try:
        yield model
    finally:
        await model.close()


async def ask(settings: ModelSettings, request: ModelRequest = REQUEST) -> ModelReply:
    async with opened(settings) as model:
        return await model.reply(request)


async def failure(settings: ModelSettings, request: ModelRequest = REQUEST) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(settings, request)
    return caught.value


def in_turn(*outcomes: Outcome) -> Callable[[Seen, int], Outcome]:
    return lambda seen, number: outcomes[min(number, len(outcomes)) - 1]


async def test_a_reply_carries_value_cost_and_the_snapshot_that_answered(
    serve: Callable[..., LoopbackModels],
) -> None:
    server = serve(in_turn(Reply(GOOD, tokens_in=200, tokens_out=9, tokens_cached=128)))
    reply = await ask(server.settings())
    assert reply.value == Screening(**GOOD)
    assert (reply.usage, reply.requests) == (Usage(200, 9, 128), 1)
    assert reply.model == "gpt-4o-mini-2025-03-01"
    assert reply.sdk == f"openai {openai.__version__}, json_schema"
    assert reply.seconds > 0


async def test_what_is_sent(serve: Callable[..., LoopbackModels]) -> None:
    server = serve()
    await ask(server.settings())
    [seen] = server.requests
    assert seen.headers["authorization"] == "Bearer loopback-key"
    assert seen.schema_name == "Screening"
    assert seen.body["response_format"]["json_schema"]["strict"] is True
    assert {
        name: seen.body.get(name) for name in ("model", "temperature", "seed", "max_tokens", "messages")
    } == {
        "model": "gpt-4o-mini",
        "temperature": 0.0,
        "seed": 7,
        "max_tokens": 4096,
        "messages": [
            {"role": "system", "content": "You screen."},
            {"role": "user", "content": "Code: x: list[int]"},
        ],
    }


async def test_what_a_model_does_not_take_can_be_left_out(serve: Callable[..., LoopbackModels]) -> None:
    server = serve()
    bare = ModelRequest("screener", "a", REQUEST.messages, Screening, temperature=None)
    await ask(server.settings(openai_token_limit="max_completion_tokens"), bare)
    [seen] = server.requests
    assert seen.body["max_completion_tokens"] == 4096
    assert not {"temperature", "seed", "max_tokens"} & seen.body.keys()


def test_the_token_limit_is_named_as_the_service_knows_it() -> None:
    hosts = [
        "api.openai.com",
        "eu.api.openai.com",
        "lab.openai.azure.com",
        "api.deepseek.com",
        "notopenai.com",
    ]
    assert [token_limit_field("auto", host) for host in hosts] == (
        ["max_completion_tokens"] * 3 + ["max_tokens"] * 2
    )
    assert token_limit_field("max_tokens", "api.openai.com") == "max_tokens"


@pytest.mark.parametrize("mode", ["json_object", "text"])
async def test_services_without_schemas_get_it_in_the_prompt(
    serve: Callable[..., LoopbackModels], mode: str
) -> None:
    server = serve(
        replies={"Screening": f"Here you are:\n```json\n{Screening(**GOOD).model_dump_json()}\n```"}
    )
    reply = await ask(server.settings(openai_structured=mode))
    assert reply.value == Screening(**GOOD)
    [seen] = server.requests
    assert seen.body.get("response_format") == ({"type": "json_object"} if mode == "json_object" else None)
    assert [message["role"] for message in seen.body["messages"]] == ["system", "user"]
    assert seen.schema["properties"].keys() == {"verdict", "reason", "line"}


@pytest.mark.parametrize(
    "passing", [Status(429, retry_after=QUICK), Status(500, retry_after=QUICK), HangUp()]
)
async def test_what_passes_is_tried_again_and_counted(
    serve: Callable[..., LoopbackModels], passing: Outcome
) -> None:
    server = serve(in_turn(passing, GOOD))
    reply = await ask(server.settings())
    assert (reply.value, reply.requests, len(server.requests)) == (Screening(**GOOD), 2, 2)
    assert reply.usage == Usage(120, 30)


async def test_one_of_each_trouble_in_a_single_reply(serve: Callable[..., LoopbackModels]) -> None:
    server = serve(
        in_turn(Status(429, retry_after=QUICK), Status(500, retry_after=QUICK), "no JSON here", GOOD)
    )
    reply = await ask(server.settings())
    assert (reply.value, reply.requests, reply.usage) == (Screening(**GOOD), 4, Usage(240, 60))
    corrected = server.requests[3].body["messages"]
    assert corrected[2] == {"role": "assistant", "content": "no JSON here"}
    assert "no JSON object" in corrected[3]["content"]


async def test_malformed_twice_keeps_the_cost(serve: Callable[..., LoopbackModels]) -> None:
    server = serve(in_turn({**GOOD, "verdict": "perhaps"}, {**GOOD, "reason": ""}))
    error = await failure(server.settings())
    assert (error.kind, error.requests, error.usage) == ("malformed", 2, Usage(240, 60))
    assert "reason: String should have at least 1 character" in error.message
    assert '"reason": ""' in error.text


@pytest.mark.parametrize(
    ("outcome", "kind", "said"),
    [
        (Refusal("I will not."), "refused", "I will not."),
        (Filtered(), "refused", "content filter"),
        (Status(400, "Filtered.", name="content_filter"), "refused", "Filtered."),
        (Truncated(), "truncated", "4096 output tokens"),
        (Status(429, "Slow down.", retry_after=QUICK), "rate_limited", "Slow down."),
        (Status(503, "Overloaded.", retry_after=QUICK), "unavailable", "Overloaded."),
        (Status(403, "Not yours."), "unauthorised", "Not yours."),
        (Status(402, "Insufficient Balance"), "unauthorised", "Insufficient Balance"),
        (Status(404, "No such model."), "bad_request", "No such model."),
        (Status(400, "Unsupported value: 'temperature'."), "bad_request", "temperature"),
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


def _completion(content: Any = GOOD_TEXT, **others: Any) -> Body:
    message = {"role": "assistant", "content": content}
    return Body({"object": "chat.completion", "choices": [{"index": 0, "message": message}], **others})


@pytest.mark.parametrize(
    "outcome",
    [
        _completion(5),
        _completion([{"type": "text", "text": "{}"}]),
        _completion(choices=5),
        _completion(choices=["x"]),
        _completion(choices=[{"message": "x"}]),
        _completion(model=7),
        _completion(usage="much"),
        Body(b""),
        Body(b"[" * 200_000),
        Body(b'{"a":' * 900 + b"1" + b"}" * 900),
        Body(b'{"created": ' + b"1" * 5_000 + b"}"),
    ],
    ids=lambda outcome: str(outcome.content)[-60:],
)
async def test_a_reply_of_other_types_than_it_should_have_is_no_bug_of_ours(
    serve: Callable[..., LoopbackModels], outcome: Body
) -> None:
    server = serve(in_turn(outcome))
    error = await failure(server.settings(max_retries=0))
    assert (error.kind, error.title) == ("unavailable", "Unexpected answer")
    str(error).encode()  # or it could not be recorded


def _error(**error: Any) -> Body:
    return Body({"error": error})


_CHOICE_ERROR = {"message": "The provider \ud800 went away.", "code": 502}
_HALF = {"index": 0, "finish_reason": "error", "message": {"role": "assistant", "content": '{"ver'}}


@pytest.mark.parametrize(
    "passing",
    [
        _error(message="overloaded", code=503),
        _error(message="slow down", code="429"),
        _error(message="slow down", type="requests", code="rate_limit_exceeded"),
        _error(message="an error of ours", type="server_error", code=None),
        Body({"id": None, "choices": None, "error": {"message": "exhausted", "code": 429}}),
        Body({"choices": None, "code": 500, "message": "The worker died."}),
        Body({"object": "chat.completion", "choices": [{**_HALF, "error": _CHOICE_ERROR}]}),
    ],
    ids=lambda outcome: str(outcome.content)[:60],
)
async def test_an_error_under_status_200_that_passes_is_tried_again(
    serve: Callable[..., LoopbackModels], passing: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.llm.pacing.FIRST_WAIT_SECONDS", QUICK)
    server = serve(in_turn(passing, GOOD))
    reply = await ask(server.settings())
    assert (reply.value, reply.requests, reply.usage) == (Screening(**GOOD), 2, Usage(120, 30))


@pytest.mark.parametrize(
    ("outcome", "kind", "said"),
    [
        (_error(message="No such model.", code=404), "bad_request", "(404): No such model."),
        (_error(message="Not yours.", code="invalid_request_error"), "bad_request", "Not yours."),
        (_error(message="You have no credits.", code=402), "unauthorised", "You have no credits."),
        (_error(message="Used up.", code="insufficient_quota"), "rate_limited", "Used up."),
        (_error(message="Flagged.", code="content_policy_violation"), "refused", "Flagged."),
        (_error(message="It is odd.", code=1302), "unavailable", "It is odd."),
        (_error(message="It is odd.", code="9" * 5_000), "unavailable", "It is odd."),
        (_error(code=["x"], type=True), "unavailable", "['x']"),
        (Body({"error": "the runner has stopped \ud800"}), "unavailable", "the runner has stopped"),
        (Body({"choices": None, "msg": "Too many."}), "unavailable", "Too many."),
    ],
    ids=lambda value: str(getattr(value, "content", value))[:60],
)
async def test_another_error_under_status_200_fails_in_the_words_of_the_service(
    serve: Callable[..., LoopbackModels], outcome: Body, kind: str, said: str
) -> None:
    server = serve(in_turn(outcome))
    error = await failure(server.settings())
    assert (error.kind, error.requests, error.usage) == (kind, 1, Usage())
    assert said in error.message
    assert "web page" not in error.hint
    str(error).encode()  # or it could not be recorded


async def test_a_form_that_is_refused_under_status_200_leads_to_a_weaker_one(
    serve: Callable[..., LoopbackModels],
) -> None:
    refused = _error(message="response_format: json_schema is not supported by this model", code=400)
    server = serve(in_turn(refused, GOOD))
    reply = await ask(server.settings())
    assert (reply.requests, reply.sdk.rpartition(", ")[2]) == (2, "json_object_schema")


async def test_an_answer_beside_which_an_error_is_null_is_an_answer(
    serve: Callable[..., LoopbackModels],
) -> None:
    server = serve(in_turn(_completion(error=None)))
    assert (await ask(server.settings())).value == Screening(**GOOD)


@pytest.mark.parametrize("said", ["cut \ud800 in half", {"text": "no"}, 5], ids=str)
async def test_an_error_in_words_that_are_none_is_told_all_the_same(
    serve: Callable[..., LoopbackModels], said: Any
) -> None:
    server = serve(in_turn(Status(400, said, name=["x"])))
    error = await failure(server.settings(max_retries=0))
    assert error.kind == "bad_request"
    str(error).encode()


async def test_the_name_of_what_answered_can_be_recorded(serve: Callable[..., LoopbackModels]) -> None:
    server = serve(in_turn(_completion(model="gpt \ud800")))
    assert (await ask(server.settings())).model == "gpt \\ud800"


async def test_a_cost_that_is_no_number_of_tokens_is_not_told(
    serve: Callable[..., LoopbackModels],
) -> None:
    usage = {
        "prompt_tokens": -5,
        "completion_tokens": 10**30,
        "prompt_tokens_details": {"cached_tokens": [3]},
    }
    server = serve(in_turn(_completion(usage=usage)))
    reply = await ask(server.settings())
    assert (reply.value, reply.usage) == (Screening(**GOOD), Usage(unreported=1))


async def test_an_answer_in_the_wrong_form_is_explained(serve: Callable[..., LoopbackModels]) -> None:
    server = serve()
    error = await failure(server.settings(openai_base_url=f"{server.openai_url}/elsewhere"))
    assert (error.kind, error.requests) == ("bad_request", 1)
    assert "models.openai_base_url" in error.hint


async def test_a_wrong_key_is_refused_and_not_repeated_to_the_user(
    serve: Callable[..., LoopbackModels],
) -> None:
    server = serve()
    error = await failure(server.settings(openai_api_key="sk-very-secret"))
    assert (error.kind, error.requests) == ("unauthorised", 1)
    assert "OPENAI_API_KEY" in error.hint
    assert "sk-very-secret" not in str(error)


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
    assert server.openai_url in error.message


def test_no_key_is_said_before_anything_is_asked() -> None:
    with pytest.raises(ModelError) as caught:
        create("gpt-4o-mini", ModelSettings())
    assert caught.value.kind == "unauthorised"
    assert caught.value.hint == "Set OPENAI_API_KEY or models.openai_api_key."


async def test_a_service_of_ones_own_needs_no_key(serve: Callable[..., LoopbackModels]) -> None:
    server = serve(key="no-key-needed")
    assert (await ask(ModelSettings(openai_base_url=server.openai_url))).requests == 1


async def test_the_sdks_own_variables_are_enough(
    serve: Callable[..., LoopbackModels], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    monkeypatch.setenv("OPENAI_API_KEY", server.key)
    monkeypatch.setenv("OPENAI_BASE_URL", server.openai_url)
    assert (await ask(ModelSettings())).requests == 1


async def test_replies_asked_for_together_count_their_own_requests(
    serve: Callable[..., LoopbackModels],
) -> None:
    troubled: set[str] = set()

    def script(seen: Seen, number: int) -> Outcome:
        subject = seen.body["messages"][1]["content"]
        if subject == "troubled" and subject not in troubled:
            troubled.add(subject)
            return Status(500, retry_after=QUICK)
        return None

    server = serve(script)
    subjects = ["calm", "troubled", "calm", "calm"]
    requests = [
        ModelRequest("screener", name, (REQUEST.messages[0], Message("user", name)), Screening)
        for name in subjects
    ]
    async with opened(server.settings()) as model:
        replies = await asyncio.gather(*(model.reply(request) for request in requests))
    assert [reply.requests for reply in replies] == [1, 2, 1, 1]


def test_a_model_made_here_works_and_closes_in_the_loop_of_another_thread(
    serve: Callable[..., LoopbackModels],
) -> None:
    model = create("gpt-4o-mini", serve(replies={"Screening": GOOD}).settings())
    replies: list[ModelReply] = []

    async def work() -> None:
        replies.append(await model.reply(REQUEST))
        await model.close()

    thread = threading.Thread(target=asyncio.run, args=(work(),))
    thread.start()
    thread.join()
    assert [reply.value for reply in replies] == [Screening(**GOOD)]


@pytest.mark.parametrize("key", ["sk-1\n", "sk-é"], ids=ascii)
def test_what_no_request_can_carry_is_no_key(key: str) -> None:
    with pytest.raises(ModelError) as caught:
        create("a-model", ModelSettings(openai_api_key=key))
    assert (caught.value.kind, caught.value.title) == ("unauthorised", "Not a key")
    assert key not in str(caught.value)
