"""Services that send too much, send us elsewhere, or repeat the key."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pytest
from loopback_models import LoopbackModels, Outcome, Raw, Refusal, Reply, Status
from loopback_wire import Seen
from pydantic import BaseModel
from small_workspace import GOOD, Told, pairs_workspace, rows

from agents.jobs.runner import run_job
from agents.llm.errors import ModelError
from agents.llm.protocol import Message, ModelRequest
from agents.llm.registry import open_model
from agents.llm.scrub import scrubbed
from agents.settings import JobSettings
from store.tables.runs import ReplyRow, StepRow, VerdictRow

KEY = "sk-loopback/key+with=all~signs-0123456789"
JSON = {"content-type": "application/json"}
MODELS = ("openai:gpt-4o-mini", "anthropic:claude-5")


class Screening(BaseModel):
    verdict: Literal["clear match", "unclear"]


REQUEST = ModelRequest("screener", "pair-1", (Message("user", "Code: secret_of_ours()"),), Screening)


async def failure(name: str, settings: Any) -> ModelError:
    """How asking a model fails."""
    model = open_model(name, settings)
    try:
        with pytest.raises(ModelError) as caught:
            await model.reply(REQUEST)
    finally:
        await model.close()
    return caught.value


class Endless:
    """A body without an end; counts what was taken of it."""

    def __init__(self) -> None:
        self.taken = 0

    def __iter__(self) -> Iterator[bytes]:
        yield b'{"id": "x", "choices": "'
        while self.taken < 1 << 30:
            self.taken += 1 << 16
            yield b"x" * (1 << 16)


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("model", MODELS)
async def test_an_answer_without_end_is_given_up_at_the_limit(model: str, status: int) -> None:
    body = Endless()
    with LoopbackModels(lambda *_: Raw(status, JSON, body)) as server:
        settings = server.settings(max_reply_bytes=1 << 20, max_retries=0)
        error = await failure(model, settings)
    assert (error.kind, error.title) == ("malformed", "Answer too large")
    assert "1,048,576 bytes" in error.message
    # Beside the limit there is only what was on its way.
    assert body.taken < 64 << 20


@pytest.mark.parametrize("model", MODELS)
async def test_an_answer_that_is_compressed_is_not_unpacked(model: str) -> None:
    bomb = gzip.compress(b"x" * (64 << 20))
    with LoopbackModels(lambda *_: Raw(200, {**JSON, "content-encoding": "gzip"}, [bomb])) as server:
        error = await failure(model, server.settings(max_retries=0))
        assert server.requests[0].headers["accept-encoding"] == "identity"
    assert (error.kind, error.title) == ("malformed", "Compressed answer")


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("model", MODELS)
async def test_a_redirect_is_refused_and_its_address_named(model: str, code: int) -> None:
    with LoopbackModels() as elsewhere:
        where = f"{elsewhere.anthropic_url}/v1/{'messages' if model[0] == 'a' else 'chat/completions'}"
        with LoopbackModels(lambda *_: Raw(code, {"location": where, "content-length": "0"})) as server:
            error = await failure(model, server.settings(max_retries=2))
            assert len(server.requests) == 1
        assert elsewhere.requests == []
    assert (error.title, error.kind) == ("Redirect refused", "bad_request")
    assert where in error.message


def forms() -> list[str]:
    """The key in forms that a service may repeat it in."""
    data = KEY.encode()
    coded = [
        base64.b64encode(b"x" * before + data + b"y" * after).decode()
        for before in (0, 1, 2, 7)
        for after in (0, 1, 2)
    ]
    coded += [one.replace("+", "-").replace("/", "_").rstrip("=") for one in coded]
    return [
        KEY,
        json.dumps(KEY)[1:-1],
        quote(KEY, safe=""),
        data.hex(),
        data.hex().upper(),
        f"Bearer {KEY}",
        *coded,
    ]


def remains() -> list[str]:
    """What must be found nowhere: the key, and what base64 makes of its middle."""
    middle = KEY[6:-6].encode()
    coded = [base64.b64encode(b"x" * before + middle)[4:-4].decode() for before in range(3)]
    return [KEY, KEY.encode().hex(), quote(KEY, safe=""), *coded]


@pytest.mark.parametrize("form", forms())
def test_every_form_of_a_key_is_taken_out(form: str) -> None:
    found = scrubbed(f"before {form} after", KEY)
    assert "before " in found
    assert " after" in found
    assert not any(one in found for one in remains())
    assert scrubbed("a reply that says nothing of it", KEY) == "a reply that says nothing of it"
    assert scrubbed("short keys are words: key", "key") == "short keys are words: key"


@pytest.mark.parametrize("model", MODELS)
def test_a_key_that_a_service_repeats_is_stored_nowhere(tmp_path: Path, model: str) -> None:
    said = " ".join(forms())
    headers = {"x-request-id": KEY, "request-id": KEY, "retry-after": KEY, "x-said": KEY}

    def hostile(seen: Seen, number: int) -> Outcome:
        if number == 1:
            return Status(400, f"invalid key {said}", name=KEY)
        if number in (2, 3):
            return Refusal(f"No: {said}")
        if number in (4, 5):
            return f"not json {said}"
        if number == 6:
            return Raw(307, {**headers, "location": f"http://{KEY}.example/{KEY}", "content-length": "0"})
        if number == 7:
            return Raw(500, {**headers, **JSON, "content-length": "2"}, [b"{}"])
        return Reply({"assessment": "clear_match", "justification": said})

    pairs = [(f"p{number}", f"query {number}", GOOD) for number in range(8)]
    with pairs_workspace(tmp_path, pairs) as workspace, LoopbackModels(hostile, key=KEY) as server:
        settings = JobSettings(model, concurrency=1, sandbox="process", models=server.settings(max_retries=0))
        told = Told()
        report = run_job(workspace, settings, told)
        assert report.done >= 2
        assert report.failed >= 4
        stored = json.dumps(
            [rows(workspace, table) for table in (StepRow, ReplyRow, VerdictRow)],
            default=str,
            ensure_ascii=False,
        )
        assert "…" in stored
        spoken = " ".join(map(repr, told.events))
    for one in remains():
        assert one not in stored
        assert one not in spoken
        for file in tmp_path.iterdir():
            assert one.encode() not in file.read_bytes(), file


async def test_a_key_in_an_address_is_not_told(tmp_path: Path) -> None:
    with LoopbackModels(lambda *_: Status(404)) as server:
        address = server.openai_url.replace("//", f"//user:{KEY.replace('/', '')}@")
        error = await failure("openai:m", server.settings(openai_base_url=address, max_retries=0))
    assert KEY.replace("/", "") not in f"{error.message} {error.hint}"
