"""How services are held to the form of a reply, and what is done where they refuse the way of asking."""

import asyncio
import json
import threading
from collections import Counter

import pytest
from loopback_models import LoopbackModels, Raw, Reply, Status

from agents.llm.errors import ModelError
from agents.llm.notices import WeakerForm, report_notices
from agents.llm.protocol import Message, ModelRequest
from agents.llm.registry import open_model
from agents.llm.reply_form import refuses_form
from agents.llm.request_watch import watch_requests
from agents.llm.settings import ModelSettings
from agents.pipelines.pair_annotation.reply_models import ScreenerReply

GOOD = {"justification": "The loop returns early.", "assessment": "clear_nonmatch"}


def said(code, body):
    """An error as a service words it: its whole body, which is not always OpenAI's."""
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    kind = "text/plain" if isinstance(body, str) else "application/json"
    return Raw(code, {"content-type": kind, "content-length": str(len(content))}, [content])


def openai_words(message, param=None):
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": None}}


VLLM = (
    "[{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text' "
    "or 'json_object'\", 'input': 'json_schema', 'ctx': {'expected': \"'text' or 'json_object'\"}}]"
)
NO_SCHEMA = {
    "DeepSeek": said(400, openai_words("This response_format type is unavailable now")),
    "DeepSeek in 2025": said(
        422,
        "Failed to deserialize the JSON body into the target type: response_format: response_format.type "
        "`json_schema` is unavailable now at line 1 column 12440",
    ),
    "vLLM before 0.6": said(
        400, {"object": "error", "message": VLLM, "type": "BadRequestError", "param": None, "code": 400}
    ),
    "an older model of OpenAI": said(
        400,
        openai_words("Invalid parameter: 'json_schema' is not supported with this model.", "response_format"),
    ),
    "an aggregator": said(404, {"error": {"message": "No endpoints found that support structured outputs"}}),
    "Ollama, the model's vocabulary": said(
        500, openai_words("failed to load model vocabulary required for format")
    ),
    "llama.cpp's Python server": said(
        500,
        openai_words(
            "1 validation error:\n  {'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), "
            "'msg': \"Input should be 'text' or 'json_object'\", 'input': 'json_schema'}"
        ),
    ),
    "a field alone": said(400, openai_words("Unknown value.", "response_format.type")),
}
NO_OBJECT = said(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})


NO_SCHEMA_BESIDE = {
    "a field of its own": said(400, openai_words("Unknown parameter: 'response_format.schema'.")),
    "vLLM before 0.6": said(
        400,
        {
            "object": "error",
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'response_format', 'schema'), "
            "'msg': 'Extra inputs are not permitted'}]",
            "code": 400,
        },
    ),
    "a strict reader": said(422, "unknown field `schema`, expected `type` at line 1 column 93"),
}


def form_of(seen):
    asked = seen.body.get("response_format") or {"type": "text"}
    return asked["type"] + ("_schema" if "schema" in asked else "")


def refusing(**refusals):
    """A script that refuses some ways of asking with the answers given."""
    return lambda seen, _number: refusals.get(form_of(seen))


def a_request(number=0):
    messages = (Message("system", "You screen. Reply in JSON."), Message("user", f"pair {number}"))
    return ModelRequest("screener", f"q/{number}", messages, ScreenerReply)


async def ask_all(settings, count=1, name="openai:deep"):
    """Ask so many questions at the same time; return replies or errors, and the notices."""
    heard = []
    model = open_model(name, settings)
    try:
        with report_notices(heard.append):
            asked = (model.reply(a_request(number)) for number in range(count))
            replies = await asyncio.gather(*asked, return_exceptions=True)
    finally:
        await model.close()
    return replies, heard


@pytest.mark.parametrize("service", NO_SCHEMA)
async def test_a_refused_schema_is_left_out_by_itself_once_for_all(service):
    script = refusing(json_schema=NO_SCHEMA[service])
    with LoopbackModels(script, replies={"ScreenerReply": GOOD}) as server:
        replies, heard = await ask_all(server.settings(), 12)
        forms = Counter(form_of(seen) for seen in server.requests)
    assert [reply.value for reply in replies] == [ScreenerReply(**GOOD)] * 12
    assert forms == {"json_schema": 1, "json_object_schema": 12}
    assert sorted(reply.requests for reply in replies) == [1] * 11 + [2]
    assert {reply.sdk.rpartition(", ")[2] for reply in replies} == {"json_object_schema"}
    (notice,) = heard
    assert isinstance(notice, WeakerForm)
    assert (notice.refused, notice.used) == ("json_schema", "json_object_schema")
    assert 'models.openai_structured = "json_object_schema"' in notice.text
    assert server.key not in notice.text


async def test_a_schema_beside_json_object_holds_the_model_before_json_object_alone():
    """As llama.cpp's Python server: its small model says something else where nothing holds it."""
    refused = NO_SCHEMA["llama.cpp's Python server"]

    def script(seen, _number):
        answers = {"json_schema": refused, "json_object_schema": GOOD}
        return answers.get(form_of(seen), '{"answer": "It may well match."}')

    with LoopbackModels(script) as server:
        replies, _ = await ask_all(server.settings(), 3)
        (alone,), _ = await ask_all(server.settings(openai_structured="json_object"))
        asked = server.requests[1].body
    assert [reply.value for reply in replies] == [ScreenerReply(**GOOD)] * 3
    schema = asked["response_format"]["schema"]
    assert asked["response_format"] == {"type": "json_object", "schema": schema}
    assert (list(schema["properties"]), schema["additionalProperties"]) == ([*GOOD], False)
    assert "valid against the JSON schema" in asked["messages"][0]["content"]
    assert alone.kind == "malformed"


@pytest.mark.parametrize("service", NO_SCHEMA_BESIDE)
async def test_a_refused_schema_beside_json_object_leads_to_json_object_alone(service):
    script = refusing(json_schema=NO_SCHEMA["DeepSeek"], json_object_schema=NO_SCHEMA_BESIDE[service])
    with LoopbackModels(script, replies={"ScreenerReply": GOOD}) as server:
        replies, heard = await ask_all(server.settings(), 3)
        forms = Counter(form_of(seen) for seen in server.requests)
    assert forms == {"json_schema": 1, "json_object_schema": 1, "json_object": 3}
    assert [reply.value for reply in replies] == [ScreenerReply(**GOOD)] * 3
    assert [(notice.refused, notice.used) for notice in heard] == [("json_schema", "json_object")]


async def test_words_are_the_last_way_and_a_program_may_stand_in_a_block():
    script = refusing(json_schema=NO_SCHEMA["DeepSeek"], json_object_schema=NO_OBJECT, json_object=NO_OBJECT)
    with LoopbackModels(script, replies={"ScreenerReply": GOOD}) as server:
        replies, heard = await ask_all(server.settings(), 3)
        ways = ["json_schema", "json_object_schema", "json_object", "text"]
        assert [form_of(seen) for seen in server.requests][:4] == ways
        assert server.requests[-1].schema["properties"].keys() == GOOD.keys()
    assert all(reply.sdk.endswith(", text") for reply in replies)
    assert [notice.used for notice in heard] == ["text"]


async def test_a_form_that_was_set_holds_and_fails_clearly():
    with LoopbackModels(refusing(json_schema=NO_SCHEMA["DeepSeek"])) as server:
        (error,), heard = await ask_all(server.settings(openai_structured="json_schema"))
        assert len(server.requests) == 1
    assert isinstance(error, ModelError)
    assert (error.kind, error.requests, heard) == ("bad_request", 1, [])
    assert error.title == "Form of the reply refused"
    assert "This response_format type is unavailable now" in error.message
    assert 'models.openai_structured = "auto"' in error.hint


async def test_where_every_way_is_refused_the_first_refusal_is_raised():
    everything = dict.fromkeys(("json_object_schema", "json_object", "text"), NO_OBJECT)
    with LoopbackModels(refusing(json_schema=NO_SCHEMA["DeepSeek"], **everything)) as server:
        (error,), heard = await ask_all(server.settings())
        assert [form_of(seen) for seen in server.requests] == ["json_schema", *everything]
    assert "unavailable now" in error.message
    assert (error.requests, heard) == (4, [])


@pytest.mark.parametrize(
    "other",
    [
        said(400, openai_words("Unsupported value: 'temperature' does not support 0 with this model.")),
        said(404, openai_words("The model `deep` does not exist or you do not have access to it.")),
        said(400, openai_words("This model's maximum context length is 8192 tokens.")),
        said(401, openai_words("response_format is for paying customers; your key is not")),
    ],
)
async def test_other_errors_change_nothing(other):
    with LoopbackModels(lambda *_: other) as server:
        (error,), heard = await ask_all(server.settings())
        assert len(server.requests) == 1
    assert error.title != "Form of the reply refused"
    assert heard == []


async def test_a_service_that_is_down_is_not_asked_by_one_after_another():
    """Only the first request is sent alone: after it has failed the others go together."""
    together = threading.Barrier(5)

    def script(_seen, number):
        if number > 1:
            together.wait(20)  # broken unless five are under way at the same time
        return Status(503, retry_after=0.001) if number <= 6 else None

    with LoopbackModels(script, replies={"ScreenerReply": GOOD}) as server:
        replies, _ = await ask_all(server.settings(max_retries=0), 6)
    assert [isinstance(reply, ModelError) for reply in replies] == [True] * 6


async def test_a_refusal_that_comes_late_is_met_by_the_same_way():
    """Such as a schema that this service cannot compile, after another one that it could."""
    late = said(400, openai_words("The grammar of this schema is not supported"))

    def script(seen, number):
        return late if number > 1 and form_of(seen) == "json_schema" else None

    with LoopbackModels(script, replies={"ScreenerReply": GOOD}) as server:
        model = open_model("openai:deep", server.settings())
        heard = []
        try:
            with report_notices(heard.append):
                first = await model.reply(a_request(1))
                others = await asyncio.gather(*(model.reply(a_request(n)) for n in range(2, 6)))
        finally:
            await model.close()
    forms = [each.sdk.rpartition(", ")[2] for each in (first, *others)]
    assert forms == ["json_schema"] + ["json_object_schema"] * 4
    assert len(heard) == 1


async def test_a_budget_of_requests_is_not_exceeded_by_weaker_ways():
    class OneOnly:
        sent_requests = 0

        def sent(self):
            self.sent_requests += 1

        def may_begin(self):
            return True

        def may_send(self):
            return self.sent_requests < 1

    with LoopbackModels(refusing(json_schema=NO_SCHEMA["DeepSeek"])) as server:
        model = open_model("openai:deep", server.settings())
        with watch_requests(OneOnly()), pytest.raises(ModelError, match="unavailable now"):
            await model.reply(a_request())
        await model.close()
        assert len(server.requests) == 1


async def test_anthropic_falls_back_to_the_tool():
    def script(seen, _number):
        if "output_config" in seen.body:
            return Status(400, "output_config: Extra inputs are not permitted")
        return Reply(GOOD)

    with LoopbackModels(script) as server:
        replies, heard = await ask_all(server.settings(), 5, "anthropic:claude-older")
        assert sum("output_config" in seen.body for seen in server.requests) == 1
    assert {reply.sdk.rpartition(", ")[2] for reply in replies} == {"tool"}
    assert [notice.setting for notice in heard] == ["models.anthropic_structured"]


async def test_a_service_that_ignores_the_schema_is_checked_all_the_same():
    """Older Ollama takes a schema and answers as it likes: the reply is asked for once more."""
    answers = {1: "I think that it does not match.", 2: GOOD}
    with LoopbackModels(lambda _seen, number: answers[number]) as server:
        (reply,), heard = await ask_all(server.settings())
    assert (reply.value, reply.requests, heard) == (ScreenerReply(**GOOD), 2, [])


def test_the_default_is_to_find_out():
    assert (ModelSettings().openai_structured, ModelSettings().anthropic_structured) == ("auto", "auto")


def test_only_some_statuses_can_refuse_a_form():
    assert refuses_form(400, "response_format")
    assert not refuses_form(429, "response_format")
    assert not refuses_form(400, "messages: too long" + " x" * 20_000 + "response_format")
