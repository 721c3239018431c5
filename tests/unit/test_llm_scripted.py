import json
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel

from agents.llm.errors import ModelError
from agents.llm.protocol import LanguageModel, Message, ModelRequest, Usage
from agents.llm.scripted import create
from agents.llm.settings import ModelSettings


class Screening(BaseModel):
    verdict: Literal["clear match", "clear non-match", "unclear"]


def ask(subject: str, role: str = "screener") -> ModelRequest:
    return ModelRequest(role, subject, (Message("user", "Screen."),), Screening)


def script(folder: Path, *lines: object) -> Path:
    file = folder / "replies.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def line(subject: str, reply: object, **others: object) -> dict[str, object]:
    return {"role": "screener", "subject": subject, "reply": reply, **others}


def open_script(file: Path) -> LanguageModel:
    return create(str(file), ModelSettings())


async def test_answers_by_role_and_subject_in_turn_and_then_the_last(tmp_path: Path) -> None:
    model = open_script(
        script(
            tmp_path,
            line("a", {"verdict": "unclear"}, usage={"tokens_in": 7, "tokens_out": 2, "tokens_cached": 1}),
            line("b", {"verdict": "clear match"}),
            line("a", {"verdict": "clear non-match"}, delay_seconds=0.001),
        )
    )
    first = await model.reply(ask("a"))
    assert (first.value, first.usage, first.requests) == (Screening(verdict="unclear"), Usage(7, 2, 1), 1)
    assert (first.model, first.sdk) == (model.name, "scripted")
    assert (await model.reply(ask("b"))).value == Screening(verdict="clear match")
    rest = [(await model.reply(ask("a"))).value for _ in range(2)]
    assert rest == [Screening(verdict="clear non-match")] * 2
    await model.close()


async def test_a_line_answers_only_requests_with_its_text(tmp_path: Path) -> None:
    model = open_script(
        script(
            tmp_path,
            line("a", {"verdict": "unclear"}),
            line("a", {"verdict": "clear match"}, when="Screen"),
            line("b", {"verdict": "clear match"}, when="ModuleNotFoundError"),
        )
    )
    assert (await model.reply(ask("a"))).value == Screening(verdict="clear match")
    with pytest.raises(ModelError, match="no reply"):
        await model.reply(ask("b"))


async def test_a_string_is_taken_word_for_word_and_may_be_malformed(tmp_path: Path) -> None:
    usage = {"tokens_in": 5, "tokens_out": 1}
    model = open_script(
        script(
            tmp_path,
            line("a", "I think it matches.", usage=usage),
            line("a", 'Sure: {"verdict": "clear match"}', usage=usage),
            line("b", "I think it matches.", usage=usage),
        )
    )
    reply = await model.reply(ask("a"))
    assert (reply.value, reply.requests, reply.usage) == (Screening(verdict="clear match"), 2, Usage(10, 2))
    with pytest.raises(ModelError) as caught:
        await model.reply(ask("b"))
    assert (caught.value.kind, caught.value.requests, caught.value.usage) == ("malformed", 2, Usage(10, 2))


@pytest.mark.parametrize("kind", ["rate_limited", "unavailable", "refused", "truncated"])
async def test_failures_can_be_scripted(tmp_path: Path, kind: str) -> None:
    failing = {"role": "screener", "subject": "a", "error": kind, "usage": {"tokens_in": 3}}
    asked_again = kind in {"refused", "truncated"}
    failures = [failing] * (1 + asked_again)
    model = open_script(script(tmp_path, *failures, line("a", {"verdict": "unclear"})))
    with pytest.raises(ModelError) as caught:
        await model.reply(ask("a"))
    assert (caught.value.kind, caught.value.requests) == (kind, 1 + asked_again)
    assert caught.value.usage == (Usage(6) if asked_again else Usage())
    assert (await model.reply(ask("a"))).value == Screening(verdict="unclear")


async def test_no_reply_names_role_subject_and_file(tmp_path: Path) -> None:
    file = script(tmp_path, line("a", {"verdict": "unclear"}))
    model = open_script(file)
    with pytest.raises(ModelError) as caught:
        await model.reply(ask("a", role="arbiter"))
    assert caught.value.kind == "no_reply"
    assert all(part in caught.value.message for part in ('"arbiter"', '"a"', str(file)))
    assert caught.value.requests == 0


def test_the_name_changes_with_what_is_in_the_file(tmp_path: Path) -> None:
    before = open_script(script(tmp_path, line("a", {"verdict": "unclear"}))).name
    after = open_script(script(tmp_path, line("a", {"verdict": "clear match"}))).name
    assert before.startswith("scripted:replies.jsonl@")
    assert before != after


GOOD_LINE = json.dumps(line("a", {"verdict": "unclear"})).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD_LINE + b"\n\n" + b'{"role": "screener",\n', "line 3: Invalid JSON"),
        (
            GOOD_LINE + b'\n{"role": "screener", "subject": "b"}',
            "line 2: Value error, give either a reply or an error",
        ),
        (
            b'{"role": "screener", "subject": 7, "reply": {}}',
            "line 1: subject: Input should be a valid string",
        ),
        (b'{"role": "screener", "subject": "a", "reply": {}, "repyl": 1}', "line 1: repyl: Extra inputs"),
        (b'{"role": "screener", "subject": "a", "error": "bored"}', "line 1: error: Input should be"),
        (b'{"role": "screener", "subject": "a", "reply": {}, "delay_seconds": -1}', "line 1: delay_seconds"),
        (b'{"role": "screener", "subject": "a", "reply": "\xff"}', "line 1: not UTF-8"),
        (b"\n \n", "has no line"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        open_script(file)
    assert str(file) in caught.value.message
    assert said in caught.value.message
    assert caught.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.jsonl: No such file"):
        open_script(tmp_path / "none.jsonl")


async def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD_LINE + b"\r\n")
    assert (await open_script(file).reply(ask("a"))).value == Screening(verdict="unclear")
