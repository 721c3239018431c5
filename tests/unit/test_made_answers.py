"""Repository questions, models' answers and judges' scores as neutral records, and back."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import spoilt, taken

from store.formats.answers import Answers, write_answer
from store.formats.crosscodeeval import Tasks, write_task
from store.formats.mt_bench import Single, parts, write_judgment
from store.formats.protocol import Entity, FileContext
from store.formats.questions import Questions, write_question
from store.formats.record_reader import original_score, parse_score
from store.formats.values import Refused

QUESTION = {
    "id": 12,
    "repository": "shop/till",
    "commit": "1a2b3c",
    "language": "python",
    "question": "Where is the drawer opened?",
    "answer": "In `till/drawer.py`.",
    "issue": {
        "number": 3,
        "title": "The drawer stays shut",
        "body": "It does.",
        "url": "https://code.example/shop/till/issues/3",
        "labels": ["bug"],
        "created_at": "2026-01-02T03:04:05Z",
        "comments": [
            {
                "by": "participant 2",
                "created_at": "2026-01-02T04:04:05Z",
                "body": "Oil it.",
                "reactions": {"+1": 2},
            },
            {"body": "Done.", "edited": True},
        ],
        "pinned": True,
    },
    "chunks": [
        {"file": "till/drawer.py", "text": "def open():", "score": 2.5},
        {"file": "till/a.py", "text": "", "setting": "dense"},
        {"text": "x", "seen": 1},
    ],
    "kind": "where",
}
ANSWER = {
    "question_id": "till-1",
    "model": "m",
    "setting": "rg1",
    "trial": 1,
    "answer": "In the drawer.",
    "scores": [
        {"judge": "j", "measure": "accuracy", "score": 7, "reason": "Mostly.", "tokens": 9},
        {"judge": "j", "measure": "clarity", "score": -1},
        {"judge": "j", "measure": "relevance", "score": "eight"},
        {"judge": "j", "measure": "completeness", "score": None},
    ],
    "seconds": 1.5,
}
INSTRUCTION = '[Instruction]\nRate it, for example: "Rating: [[5]]".\n\n'
ONE_TURN = (
    "[Question]\nWhat is a till?\n\n[The Start of Assistant's Answer]\nA box.\n[Question]\n"
    "[The End of Assistant's Answer]"
)
WITH_REFERENCE = (
    "[Question]\nWhat is a till?\n\n[The Start of Reference Answer]\nA drawer.\n[The End of Reference Answer]\n\n"
    "[The Start of Assistant's Answer]\n\n[The End of Assistant's Answer]"
)
TALK = (
    "<|The Start of Assistant A's Conversation with User|>\n\n### User:\nWhat is a till?\n\n### Assistant A:\nA box.\n\n"
    "### User:\nAnd a drawer?\n\n### Assistant A:\nThe same.\n\n<|The End of Assistant A's Conversation with User|>"
)
REFERENCES = (
    "<|The Start of Reference Answer|>\n\n### User:\nWhat is a till?\n\n### Reference answer:\nA drawer.\n\n"
    "### User:\nAnd a drawer?\n\n### Reference answer:\nA part.\n\n<|The End of Reference Answer|>\n\n\n"
)
TALKED = "A box.\n\n### User:\nAnd a drawer?\n\n### Assistant A:\nThe same."
JUDGMENT = {
    "question_id": 81,
    "model": "m",
    "judge": ["gpt-4", "single-v1"],
    "user_prompt": INSTRUCTION + ONE_TURN,
    "judgment": "Short. Rating: [[4]]",
    "score": 4,
    "turn": 1,
    "tstamp": 1.5,
}


def test_a_question_its_issue_and_its_chunks():
    question, *chunks = Questions(FileContext("till", setting="sparse")).convert(QUESTION, 1)
    assert question.fields["external_id"] == "12"
    assert question.fields["comments"] == [
        {
            "by": "participant 2",
            "created_at": "2026-01-02T04:04:05Z",
            "body": "Oil it.",
            "reactions": {"+1": 2},
        },
        {"by": "", "created_at": None, "body": "Done.", "reactions": {}},
    ]
    assert [(chunk.fields["setting"], chunk.fields["rank"], chunk.fields["path"]) for chunk in chunks] == [
        ("sparse", 1, "till/drawer.py"),
        ("dense", 1, "till/a.py"),
        ("sparse", 2, None),
    ]
    assert question.extra == {
        "kind": "where",
        "issue": {"pinned": True, "comments": [{}, {"edited": True}]},
    }
    assert [chunk.extra for chunk in chunks] == [{}, {}, {"seen": 1}]


def test_a_question_alone_is_called_after_its_file_and_number():
    (made,) = Questions(FileContext("requests")).convert({"question": "Why?", "answer": None}, 7)
    assert (made.fields["external_id"], made.fields["reference"]) == ("requests-7", "")
    assert write_question(made, []) == {"id": "requests-7", "question": "Why?", "answer": ""}


@settings(deadline=None)
@given(spoilt(QUESTION))
def test_a_question_is_refused_with_a_reason_or_comes_back(record):
    known = FileContext("till")
    if made := taken(Questions(known), record):
        assert Questions(known).convert(write_question(made[0], made[1:]), 1) == made


@settings(deadline=None)
@given(spoilt(ANSWER))
def test_an_answer_is_refused_with_a_reason_or_comes_back(record):
    known = FileContext("till", model="given", setting="given")
    if made := taken(Answers(known), record):
        assert Answers(known).convert(write_answer(made[0], made[1:]), 1) == made


def test_scores_that_are_no_number_stay_as_they_stood():
    converter = Answers(FileContext("answers"))
    response, *scores = converter.convert(ANSWER, 1)
    assert response.fields["trial"] == "1"
    assert [(score.fields["value"], score.fields["raw"]) for score in scores] == [
        (7.0, "7"),
        (None, "-1"),
        (None, "eight"),
        (None, ""),
    ]
    assert scores[0].extra == {"tokens": 9}
    assert response.extra == {"seconds": 1.5}
    assert list(converter.counts.values()) == [3]
    assert write_answer(response, scores) == {**ANSWER, "trial": "1"}


def test_an_answer_needs_a_model_of_its_own_or_of_the_users():
    record = {"question_id": 1, "answer": ""}
    with pytest.raises(Refused, match="missing field 'model'"):
        Answers(FileContext("m")).convert(record, 1)
    (made,) = Answers(FileContext("answers", model="m", setting="s")).convert(record, 1)
    assert [made.fields[name] for name in ("item", "model", "setting")] == ["1", "m", "s"]


@given(st.one_of(st.none(), st.text(), st.integers(-2, 11), st.floats(allow_nan=False, allow_infinity=False)))
def test_every_score_comes_back(value):
    again = original_score(*parse_score(value, "score"))
    assert parse_score(again, "score") == parse_score(value, "score")


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (INSTRUCTION + ONE_TURN, ("What is a till?", "", "A box.\n[Question]")),
        (ONE_TURN, ("What is a till?", "", "A box.\n[Question]")),
        (INSTRUCTION + WITH_REFERENCE, ("What is a till?", "A drawer.", "")),
        (TALK, ("What is a till?", "", TALKED)),
        (REFERENCES + TALK, ("What is a till?", "A drawer.", TALKED)),
        (ONE_TURN + "\n", None),
        (ONE_TURN.replace("A box.", "\n\n[The Start of Assistant's Answer]\n"), None),
        (TALK.replace("A box.", "\n\n### User:\n"), None),
        (REFERENCES.replace("What", "Why") + TALK, None),
        (ONE_TURN.replace("What is a till?", ""), None),
        ("Rate this: 2 + 2 = 4", None),
    ],
)
def test_the_parts_of_a_prompt(prompt, expected):
    assert parts(prompt) == expected


def test_a_judgment_makes_a_question_an_answer_and_a_score():
    converter = Single(FileContext("gpt-4_single"))
    question, response, score = converter.convert(JUDGMENT, 1)
    assert (question.fields["external_id"], question.fields["question"]) == ("81", "What is a till?")
    assert (response.fields["item"], response.fields["setting"]) == ("81", "")
    named = ("judge", "measure", "value", "raw", "reason")
    assert [score.fields[name] for name in named] == ["gpt-4", "rating", 4.0, "4", "Short. Rating: [[4]]"]
    assert converter.counts == {}
    assert write_judgment(question, response, score) == {**JUDGMENT, "question_id": "81"}


def test_what_is_told_of_judgments():
    converter = Single(FileContext("gpt-4_single"))
    for change in (
        {"score": -1},
        {"score": -1, "judgment": "None."},
        {"score": 5.0},
        {"judgment": "[[9]], no: [[4.0]]"},
        {"user_prompt": "Rate this."},
    ):
        converter.convert(JUDGMENT | change, 1)
    assert converter.counts == {
        "scores that the judge's reply did not tell (-1, none, or no number)": 2,
        "scores that differ from the last [[n]] of their judgment": 2,
        "prompts without the marks of a known template, each kept whole as a question of its own": 1,
    }


def test_a_second_turn_is_of_the_same_question_in_a_setting_of_its_own():
    first, second = (
        Single(FileContext("x")).convert(JUDGMENT | {"turn": turn, "user_prompt": prompt}, 1)
        for turn, prompt in [(1, ONE_TURN), (2, TALK)]
    )
    assert first[0] == second[0]
    assert (second[1].fields["setting"], second[2].fields["setting"]) == ("turn 2", "turn 2")
    assert second[1].fields["text"] == TALKED


def test_a_score_that_never_had_a_prompt_is_given_one():
    question, response, score = Single(FileContext("x")).convert(JUDGMENT, 1)
    bare = Entity("score", score.fields, {})
    written = write_judgment(question, response, bare)
    assert Single(FileContext("x")).convert(written, 1)[:2] == [question, response]


@settings(deadline=None)
@given(
    st.sampled_from([ONE_TURN, WITH_REFERENCE, TALK, REFERENCES + TALK, "Rate this."]).flatmap(
        lambda prompt: spoilt(JUDGMENT | {"user_prompt": prompt, "turn": 2})
    )
)
def test_a_judgment_is_refused_with_a_reason_or_comes_back(record):
    known = FileContext("gpt-4_single")
    if made := taken(Single(known), record):
        assert Single(known).convert(write_judgment(*made), 1) == made


def test_what_the_documents_show_is_read_and_written_back(repository):
    page = (repository / "docs" / "importing.md").read_text(encoding="utf-8")
    task, question, answer = (
        json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    )
    made = Tasks(FileContext("tasks")).convert(task, 1)
    assert write_task(made[0], made[1:]) == task
    made = Questions(FileContext("questions")).convert(question, 1)
    assert write_question(made[0], made[1:]) == question
    made = Answers(FileContext("answers")).convert(answer, 1)
    assert write_answer(made[0], made[1:]) == answer
