"""Programs that stand in a fenced block beside the JSON object of a reply."""

import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agents.llm.schemas import describe_schema, strict_schema
from agents.llm.structured import MalformedReply, parse_reply
from agents.pipelines.pair_annotation.reply_models import ScreenerReply, TestWriterReply

PROGRAM = 'from candidate import f\n\n\ndef test_f():\n    assert f({"a": {1}}) == {"a": 1}  # it\'s "fine"\n'
OBJECT = '{"interpretation": "doubles a number"}'


def program_of(text):
    reply = parse_reply(text, TestWriterReply)
    assert reply.interpretation == "doubles a number"
    return reply.test_program


def fenced(program, opening="```python", closing="```"):
    return f"{opening}\n{program}{closing}"


@pytest.mark.parametrize(
    "text",
    [
        f"{OBJECT}\n{fenced(PROGRAM)}",
        f"{fenced(PROGRAM)}\n{OBJECT}",
        f"```json\n{OBJECT}\n```\n\nThe program:\n\n{fenced(PROGRAM)}\nThat is all.",
        f"```\n{OBJECT}\n```\n{fenced(PROGRAM, '```')}",
        f"{OBJECT}\n{fenced(PROGRAM, '~~~py', '~~~')}",
        f"{OBJECT}\n{fenced(PROGRAM, '````Python', '`````')}",
        f"{OBJECT}\n{fenced(PROGRAM)}\n```bash\npip install {{numpy}}\n```\n",
        f'{{"interpretation": "doubles a number", "test_program": ""}}\n{fenced(PROGRAM)}',
        f'{{"interpretation": "doubles a number", "test_program": null}}\n{fenced(PROGRAM)}',
        json.dumps({"interpretation": "doubles a number", "test_program": PROGRAM}),
        json.dumps({"interpretation": "doubles a number", "test_program": PROGRAM}) + f"\n{fenced(PROGRAM)}",
        "```python\n" + json.dumps({"interpretation": "doubles a number", "test_program": PROGRAM}) + "\n```",
        f"<think>A draft:\n```python\nx = {{1\n{OBJECT}</think>\n{OBJECT}\n{fenced(PROGRAM)}",
        f"{OBJECT}\n{fenced(PROGRAM)}".replace("\n", "\r\n"),
        f"```json\n{OBJECT}\n```\n{fenced(PROGRAM)}\n".replace("\n", "\r\n"),
    ],
)
def test_a_program_may_stand_beside_the_object(text):
    assert program_of(text).strip() == PROGRAM.strip()


@pytest.mark.parametrize(
    "program",
    [
        '"""Tests.\n\n```\nf(2)\n```\n"""\nfrom candidate import f\n',
        "'''Tests.\n\n```python\nf(2)\n```\n'''\nx = 1\n",
        'MARK = """\n```"""\n',
        'r = r"""\\"""" + "`"\ny = 2\n',
        "a = '\\\n```'\nb = 3\n",
        "# it's a comment with a quote\nx = '\"'\n",
        'def f():\n    """\n    ```\n    indented\n    ```\n    """\n',
        "x = '''a'''\ny = \"\"\nz = ''\n",
    ],
)
def test_fences_inside_strings_belong_to_the_program(program):
    assert program_of(f"{OBJECT}\n{fenced(program)}\nDone.") == program


def test_a_fence_in_a_string_of_the_object_is_no_block():
    program = '"""\n```python\nx\n```\n"""\n'
    escaped = json.dumps({"interpretation": "doubles a number", "test_program": program})
    assert program_of(escaped) == program
    assert program_of(escaped.replace("\\n", "\n")) == program  # line breaks as models write them


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (OBJECT, "test_program: Field required"),
        (f"{OBJECT}\n{fenced(PROGRAM)}\n{fenced(PROGRAM)}", "2 fenced blocks"),
        (f"{OBJECT}\n{fenced('a = 1' + chr(10))}\n{fenced('a = 2' + chr(10), '```')}", "2 fenced blocks"),
        (f"{OBJECT}\n```python\n{PROGRAM}", "is not closed"),
        (f"{OBJECT}\n{fenced('x = 1' + chr(10), '````python', '```')}", "is not closed"),
        (f"{OBJECT}\n{fenced(chr(34) * 3 + 'never closed' + chr(10))}", "is not closed"),
        (f"{OBJECT}\n```python\nx = 1\n```python\ny = 2\n```", "is not closed"),
        (fenced(PROGRAM), "no JSON object"),
        (f"{OBJECT}\n```python\n  \n```", "test_program: Field required"),
        (
            f'{{"interpretation": "doubles a number", "test_program": "see below"}}\n{fenced(PROGRAM)}',
            "there is another program beside it",
        ),
        (f"{OBJECT} {OBJECT}\n{fenced(PROGRAM)}", "2 JSON objects"),
        (f'{{"interpretation": "unended\n{fenced(PROGRAM)}', "not valid JSON"),
    ],
)
def test_what_is_ambiguous_is_malformed(text, why):
    with pytest.raises(MalformedReply, match=why):
        parse_reply(text, TestWriterReply)


def test_types_without_a_program_know_no_blocks():
    text = '{"justification": "read", "assessment": "unclear"}\n```python\nx = 1\n```'
    assert parse_reply(text, ScreenerReply).assessment == "unclear"


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param("```python\n" * 100_000, id="opened"),
        pytest.param('"""\\' * 200_000, id="quotes"),
        pytest.param("```\n```python\n" * 50_000, id="empty blocks"),
        pytest.param("#" * 1_000_000, id="comment"),
        pytest.param("~~~\n{" * 50_000, id="braces"),
        pytest.param("```python\n" + '"""\\"""\\' * 100_000, id="strings"),
        pytest.param("```python\n" + "'\\" * 300_000, id="escapes"),
        pytest.param("```x\n" * 2_000, id="other languages"),
        pytest.param("```x\ny\n" * 100_000, id="many other languages"),
    ],
)
def test_hostile_fences_take_no_time(hostile):
    started = time.perf_counter()
    for text in (hostile, f"{OBJECT}\n{hostile}", f"{hostile}\n{OBJECT}"):
        with pytest.raises(MalformedReply):
            parse_reply(text, TestWriterReply)
    assert time.perf_counter() - started < 20


@given(st.lists(st.sampled_from(['"""', "'''", "```", "```python", "\n", "{", "}", '"', "\\", "#", OBJECT])))
def test_any_mixture_is_a_program_or_malformed(parts):
    with suppress(MalformedReply):
        assert isinstance(parse_reply("".join(parts), TestWriterReply), BaseModel)


def test_the_block_is_offered_only_where_a_reply_may_be_more_than_json():
    assert "```python" in describe_schema(TestWriterReply, fences=True)
    assert "```" not in describe_schema(TestWriterReply)
    assert "```" not in describe_schema(ScreenerReply, fences=True)
    assert strict_schema(TestWriterReply)["required"] == ["interpretation", "test_program"]
