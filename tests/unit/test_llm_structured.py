import asyncio
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from agents.llm.errors import ModelError
from agents.llm.protocol import Message, ModelRequest, Usage
from agents.llm.request_watch import leave, tallied
from agents.llm.structured import Answer, MalformedReply, converse, parse_reply


class Ruling(BaseModel):
    verdict: Literal["match", "no match"]
    reason: str = Field(min_length=1)
    line: int = 0


GOOD = Ruling(verdict="match", reason="it {does}")


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict": "match", "reason": "it {does}"}',
        ' \n{"verdict": "match", "reason": "it {does}"}\n',
        '```json\n{"verdict": "match", "reason": "it {does}"}\n```',
        'Here it is:\n\n```\n{"verdict": "match",\n "reason": "it {does}", "line": 0}\n```\nAnything else?',
        'The set {x} matches, so {"verdict": "match", "reason": "it {does}"} (see {y}).',
    ],
)
def test_words_and_fences_around_the_object_do_no_harm(text: str) -> None:
    assert parse_reply(text, Ruling) == GOOD


def test_code_inside_a_string_is_kept_as_written() -> None:
    text = '{"verdict": "match", "reason": "```json\\n{\\"a\\": 1}\\n```\nnext\tline"}'
    assert parse_reply(text, Ruling).reason == '```json\n{"a": 1}\n```\nnext\tline'  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("match", "no JSON object"),
        ('[{"verdict": "match"', "not valid JSON"),
        ('{"verdict": "match", "reason": "r"', "not valid JSON"),
        ("{'verdict': 'match', 'reason': 'r'}", "not valid JSON"),
        ('{"verdict": "match", "reason": "r"} {"verdict": "no match", "reason": "r"}', "2 JSON objects"),
        ('{"outer": {"verdict": "match", "reason": "r"}', "unbalanced braces"),
        ('{"verdict": "maybe", "reason": "r"}', "verdict: Input should be 'match' or 'no match'"),
        ('{"verdict": "match"}', "reason: Field required"),
        ('{"verdict": "match", "reason": ""}', "reason: String should have at least 1 character"),
        ('{"verdict": "match", "reason": "r", "line": "3"}', "line: Input should be a valid integer"),
        ('{"verdict": "match", "reason": "\\ud800"}', "does not fit the schema"),
        ('{"a":' * 100_000, "not valid JSON"),
        ('{"verdict": "match", "reason": "r", "line": true}', "line: Input should be a valid integer"),
        ('{"verdict": "match", "verdict": "no match", "reason": "r"}', "'verdict' occurs more than once"),
        ('{"verdict": "match", "reason": "r", "sure": NaN}', "NaN is no finite number"),
        ('{"verdict": "match", "reason": "r", "sure": 1e999}', "1e999 is no finite number"),
        ('Let me see. <think>{"verdict": "match", "reason": "r"}', "the reply is thoughts alone"),
        ('{"verdict": "match", "reason": "r", "reason": "r"}', "'reason' occurs more than once"),
        ('{"verdict": "match",, "reason": "r"}', "not valid JSON"),
        ('{"verdict": "match", "reason": "r",,}', "not valid JSON"),
        ("{,}", "not valid JSON"),
    ],
)
def test_what_is_not_the_object_asked_for_is_malformed(text: str, why: str) -> None:
    with pytest.raises(MalformedReply) as caught:
        parse_reply(text, Ruling)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    "thoughts",
    [
        "<think>It matches, I think.</think>",
        '<think>{"verdict": "no match", "reason": "draft"}, or rather not.</think>\n',
        'Is it {"verdict": "no match", "reason": "draft"}?\n</think>\n\n',
        '{"verdict": "no match", "reason": "draft"}</think>',
        "<think>The form is {verdict, {reason: </think>",
        "<think>```python\nx = {</think>",
        '<think>They say "</think>", then {"verdict": "no match", "reason": "draft"}.</think>',
        '<think>{"verdict": "</think>", </think>',
        "<think>" + "{" * 5_000 + "</think>",
        "{</think>" * 5_000,
        "<think></think>",
    ],
)
def test_what_follows_a_models_thoughts_is_the_reply(thoughts: str) -> None:
    reply = '{"verdict": "match", "reason": "it {does}"}'
    assert parse_reply(thoughts + reply, Ruling) == GOOD
    assert parse_reply(f"{thoughts}\n```json\n{reply}\n```", Ruling) == GOOD


@pytest.mark.parametrize("tags", ["drops </think>", "<think> and </think>, then </think>"])
@pytest.mark.parametrize("before", ["", "Here it is: ", "<think>Is it {so}?</think>\n"])
def test_a_tag_within_the_object_is_a_part_of_it(before: str, tags: str) -> None:
    text = f'{before}{{"verdict": "match", "reason": "{tags}"}} That is all.'
    assert parse_reply(text, Ruling) == Ruling(verdict="match", reason=tags)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('<think>{"verdict": "match", "reason": "r"}', "thoughts alone"),
        ('\n<think>so</think> <think>{"verdict": "match", "reason": "r"}', "thoughts alone"),
        ('<think>{"verdict": "match", "reason": "r"}</think>\n', "no JSON object"),
        ('{"verdict": "match", "reason": "r"}</think> I cannot say.', "no JSON object"),
    ],
)
def test_thoughts_alone_are_no_reply(text: str, why: str) -> None:
    with pytest.raises(MalformedReply, match=why):
        parse_reply(text, Ruling)


class Listing(BaseModel):
    items: list[dict[str, int]]
    word: str = ""
    last: list[int] = []


@pytest.mark.parametrize(
    "text",
    [
        '{"items": [{"a": 1,},], "word": ",}", "last": [1, 2,],}',
        '```json\n{\n  "items": [\n    {"a": 1},\n  ],\n  "word": ",}",\n  "last": [1, 2 , ]\n ,\n}\n```',
    ],
)
def test_a_trailing_comma_is_read(text: str) -> None:
    assert parse_reply(text, Listing) == Listing(items=[{"a": 1}], word=",}", last=[1, 2])


def test_a_reply_of_trailing_commas_is_not_read_to_the_end() -> None:
    with pytest.raises(MalformedReply, match="too many"):
        parse_reply('{"last": [' + "[1,]," * 200_000 + "]}", Listing)


class Choice(BaseModel):
    label: Literal[0, 1]
    sure: Literal[True, "no"] = True
    parts: tuple[Literal[1, 2], ...] = ()


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ('"label": true', "label"),
        ('"label": false', "label"),
        ('"label": 1, "sure": 1', "sure"),
        ('"label": 1, "parts": [2, true]', "parts.1"),
    ],
)
def test_a_boolean_is_no_number_and_a_number_no_boolean(fields: str, place: str) -> None:
    with pytest.raises(MalformedReply, match=f"{place}: "):
        parse_reply(f"{{{fields}}}", Choice)
    assert parse_reply('{"label": 1, "sure": true, "parts": [2]}', Choice).model_dump() == {
        "label": 1,
        "sure": True,
        "parts": (2,),
    }


def test_a_model_that_writes_braces_without_end_is_not_read_to_the_end() -> None:
    with pytest.raises(MalformedReply, match="too many braces"):
        parse_reply("{" * 2_000_000, Ruling)  # an hour, were each of them tried


def test_many_problems_are_told_in_short() -> None:
    class Wide(BaseModel):
        a: int
        b: int
        c: int
        d: int
        e: int
        f: int
        g: int
        h: int
        i: int
        j: int

    with pytest.raises(MalformedReply, match="and 2 more"):
        parse_reply("{}", Wide)


REQUEST = ModelRequest("arbiter", "pair-1", (Message("user", "Decide."),), Ruling)


class Speaker:
    """Gives prepared answers in turn, and remembers what it was asked."""

    def __init__(self, *answers: Answer | ModelError) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Message, ...]] = []

    async def __call__(self, messages: tuple[Message, ...]) -> Answer:
        leave()
        self.asked.append(messages)
        answer = self.answers[len(self.asked) - 1]
        if isinstance(answer, ModelError):
            raise answer
        return answer


def said(text: str, stopped: Literal["complete", "truncated", "refused"] = "complete") -> Answer:
    return Answer(text, Usage(10, 1, 5), "m-1", stopped, "not this" if stopped == "refused" else "")


async def test_a_malformed_reply_is_shown_to_the_model_once_and_paid_for() -> None:
    speaker = Speaker(said(""), said('{"verdict": "match", "reason": "r"}'))
    reply = await converse(REQUEST, speaker, name="x:m", sdk="x 1")
    assert reply.value == Ruling(verdict="match", reason="r")
    assert (reply.requests, reply.usage, reply.model, reply.sdk) == (2, Usage(20, 2, 10), "m-1", "x 1")
    first, bad, correction = speaker.asked[1]
    assert (first, bad) == (Message("user", "Decide."), Message("assistant", "(nothing)"))
    assert correction.role == "user"
    assert "there is no JSON object in the reply" in correction.content


async def test_malformed_twice_is_an_error_that_keeps_the_cost() -> None:
    speaker = Speaker(said("what?"), said("a lone \ud800"))
    with pytest.raises(ModelError) as caught:
        await converse(REQUEST, speaker, name="x:m", sdk="x 1")
    error = caught.value
    assert (error.kind, error.requests, error.usage) == ("malformed", 2, Usage(20, 2, 10))
    assert error.text == "a lone \\ud800"
    assert "x:m" in error.message


@pytest.mark.parametrize("kind", ["truncated", "refused"])
async def test_cut_off_and_declined_are_told_apart_and_not_asked_again(kind: str) -> None:
    speaker = Speaker(said("{}"), said('{"verdict": "match", "reason": "r"}', kind))  # type: ignore[arg-type]
    with pytest.raises(ModelError) as caught:
        await converse(REQUEST, speaker, name="x:m", sdk="x 1")
    assert (caught.value.kind, caught.value.requests, caught.value.usage) == (kind, 2, Usage(20, 2, 10))
    assert ("not this" in caught.value.message) == (kind == "refused")


async def test_a_failure_after_a_malformed_reply_keeps_the_cost_of_that() -> None:
    speaker = Speaker(said("{}"), ModelError("unavailable", "Gone", "It is gone."))
    with pytest.raises(ModelError) as caught:
        await converse(REQUEST, speaker, name="x:m", sdk="x 1")
    assert (caught.value.kind, caught.value.requests, caught.value.usage) == (
        "unavailable",
        2,
        Usage(10, 1, 5),
    )


class Even(BaseModel):
    number: int

    def form_problem(self) -> str:
        return "the number is odd" if self.number % 2 else ""


ODD, EVEN = said('{"number": 1}'), said('{"number": 2}')


@pytest.mark.parametrize(
    ("answers", "number"),
    [
        ((EVEN,), 2),
        ((ODD, EVEN), 2),
        ((ODD, said('{"number": 3}')), 3),  # the second is taken, whatever its form
        ((ODD, said("what?")), 1),  # and the first where the second cannot be used
        ((ODD, said("", "refused")), 1),
        ((said("what?"), said('{"number": 5}')), 5),
    ],
)
async def test_a_reply_of_another_form_is_asked_for_once_more_and_then_taken(
    answers: tuple[Answer, ...], number: int
) -> None:
    speaker = Speaker(*answers)
    request = ModelRequest("writer", "pair-1", (Message("user", "Decide."),), Even)
    reply = await converse(request, speaker, name="x:m", sdk="x 1")
    assert (reply.value, reply.text) == (Even(number=number), f'{{"number": {number}}}')
    assert (reply.requests, reply.usage) == (
        len(answers),
        Usage(10 * len(answers), len(answers), 5 * len(answers)),
    )
    if answers[0] is ODD:
        assert speaker.asked[1][1] == Message("assistant", ODD.text)
        assert "cannot be used: the number is odd." in speaker.asked[1][2].content


async def test_a_service_that_is_lost_while_a_better_form_is_asked_for_is_a_failure() -> None:
    speaker = Speaker(ODD, ModelError("unavailable", "Gone", "It is gone."))
    request = ModelRequest("writer", "pair-1", (Message("user", "Decide."),), Even)
    with pytest.raises(ModelError) as caught:
        await converse(request, speaker, name="x:m", sdk="x 1")
    assert (caught.value.kind, caught.value.requests) == ("unavailable", 2)


async def test_replies_asked_for_at_the_same_time_count_their_own_requests() -> None:
    async def count(times: int) -> int:
        with tallied() as tally:
            for _ in range(times):
                leave()
                await asyncio.sleep(0)  # the others' turn
            return tally.requests

    counts: list[int] = list(await asyncio.gather(count(3), count(1), count(2)))
    assert counts == [3, 1, 2]
