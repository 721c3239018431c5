"""MT-bench's single form (FastChat): a judge's rating of one model's answer, with the prompt it was given.

The question, the reference and the answer stand only within that prompt. They are taken out of it where the
marks of a known template are found: FastChat's own, for one turn and for two, and the Japanese ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from store.formats import values
from store.formats.fields import recognized_by
from store.formats.protocol import JSON, Entity, Export, FileContext, Format, WriteResult, nothing_to_write
from store.formats.record_reader import (
    RecordReader,
    add_count,
    attempt_fields,
    count_score,
    original_score,
    parse_score,
    put_back,
)
from store.formats.values import wrong

KEPT_WHOLE = "prompts without the marks of a known template, each kept whole as a question of its own"
DIFFERS = "scores that differ from the last [[n]] of their judgment"

_RATED = re.compile(r"\[\[(\d+(?:\.\d+)?)\]\]")
_RATING = "rating"
_DIGITS = 12
"""Digits of a prompt's hash that distinguish the prompts of one question."""


@dataclass(frozen=True, slots=True)
class _Marks:
    """The marks before the question, the answer and the end, and around a reference, in a prompt."""

    question: str
    answer: str
    end: str
    reference: str
    reference_end: str


_ENGLISH = _Marks(
    "[Question]\n",
    "\n\n[The Start of Assistant's Answer]\n",
    "\n[The End of Assistant's Answer]",
    "\n\n[The Start of Reference Answer]\n",
    "\n[The End of Reference Answer]",
)
_JAPANESE = _Marks(
    "[質問]\n",
    "\n\n[アシスタントの回答の開始]\n",
    "\n[アシスタントの回答の終了]",
    "\n\n[参考回答の開始]\n",
    "\n[参考回答の終了]",
)
_TALK = "<|The Start of Assistant A's Conversation with User|>\n\n### User:\n"
_TALK_END = "\n\n<|The End of Assistant A's Conversation with User|>"
_USER, _ASSISTANT = "\n\n### User:\n", "\n\n### Assistant A:\n"
_REFERENCES = "<|The Start of Reference Answer|>\n\n### User:\n"
_REFERENCE = "\n\n### Reference answer:\n"


def parts(prompt: str) -> tuple[str, str, str] | None:
    """Return the question, the reference and the answer that a judge was given.

    The answer of a second turn is the whole conversation after the first question, as the judge saw it.

    Returns:
        The three texts; None when the marks of no template are there, or leave it open where a part ends.
    """
    found = _talk(prompt) if _TALK in prompt else None
    for marks in (_ENGLISH, _JAPANESE):
        found = found or _turn(prompt, marks)
    return found if found and found[0] else None


def _turn(prompt: str, marks: _Marks) -> tuple[str, str, str] | None:
    _, begun, rest = ("\n" + prompt).partition("\n" + marks.question)
    if not begun or rest.count(marks.answer) != 1 or not rest.endswith(marks.end):
        return None
    question, answer = rest.removesuffix(marks.end).split(marks.answer)
    if marks.reference not in question:
        return question, "", answer
    if question.count(marks.reference) != 1 or not question.endswith(marks.reference_end):
        return None
    question, reference = question.removesuffix(marks.reference_end).split(marks.reference)
    return question, reference, answer


def _talk(prompt: str) -> tuple[str, str, str] | None:
    before, _, talk = prompt.partition(_TALK)
    if not talk.endswith(_TALK_END) or talk.count(_ASSISTANT) != 2 or talk.count(_USER) != 1:
        return None
    question, _, answer = talk.removesuffix(_TALK_END).partition(_ASSISTANT)
    given = _REFERENCES + question + _REFERENCE
    if _REFERENCES not in before:
        return question, "", answer
    references = before[before.index(_REFERENCES) :]
    reference, _, rest = references.removeprefix(given).partition(_USER)
    if not references.startswith(given) or rest.count(_REFERENCE) != 1 or _USER in rest:
        return None
    return question, reference, answer


class Single:
    """Makes a question, an answer to it and a score of each judgment."""

    def __init__(self, known: FileContext) -> None:
        self.counts: dict[str, int] = {}
        self._known = known

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the question, the answer and the score of a judgment.

        Raises:
            Refused: A field is missing or of the wrong type.
        """
        whole = RecordReader(record)
        item = whole.identity("question_id", required=True)
        model = whole.text("model", required=True, filled=True, short=True)
        judge, judge_extra = _judge(whole)
        prompt = whole.text("user_prompt", required=True, filled=True)
        reason = whole.text("judgment") or ""
        value, raw = parse_score(whole.there("score"), whole.named("score"))
        turn = whole.whole("turn")
        if turn is not None and turn < 1:
            raise wrong(turn, "turn", "a number from 1")
        setting = " ".join(filter(None, (self._known.setting, f"turn {turn}" if (turn or 1) > 1 else "")))
        attempted = attempt_fields(whole, setting)
        measure = whole.text("measure", short=True) or _RATING
        extra = {**whole.rest(), **judge_extra, "user_prompt": prompt}
        if turn is not None:
            extra["turn"] = turn
        found = parts(prompt)
        if found is None:
            # Neither the model nor the judge may stand in an id, which is shown where both are hidden.
            extra["question_id"] = item
            item = f"{item} {sha256(prompt.encode()).hexdigest()[:_DIGITS]}"
        question, reference, answer = found or (prompt, "", "")
        of = {"kind": "answer", "item": item, "model": model, **attempted}
        self._tell(found is not None, value, reason)
        score = {"judge": judge, "measure": measure, "value": value, "raw": raw, "reason": reason}
        return [
            Entity("answer", _question(item, question, reference), {}),
            Entity("response", {**of, "reference": None, "text": answer}, {}),
            Entity("score", {**of, **score}, extra),
        ]

    def _tell(self, known: bool, value: float | None, reason: str) -> None:
        if not known:
            add_count(self.counts, KEPT_WHOLE)
        count_score(self.counts, value)
        rated = _RATED.findall(reason)
        if rated and (value is None or float(rated[-1]) != value):
            add_count(self.counts, DIFFERS)


def _judge(record: RecordReader) -> tuple[str, dict[str, Any]]:
    """Take the judge: its name, or a list of its name and of its prompt's, which stays among the extra."""
    value = record.there("judge")
    if not isinstance(value, list):
        return values.short_text(values.filled(value, "judge"), "judge"), {}
    names = [values.text(name, f"judge[{place}]") for place, name in enumerate(value)]
    if not names:
        raise wrong(value, "judge", "a name, or a list that begins with one,")
    return values.short_text(values.filled(names[0], "judge[0]"), "judge[0]"), {"judge_prompts": names[1:]}


def _question(item: str, question: str, reference: str) -> dict[str, Any]:
    return {
        "external_id": item,
        **dict.fromkeys(("repository", "revision", "language", "url")),
        "question": question,
        "reference": reference,
        **dict.fromkeys(("issue_number", "issue_title", "issue_body")),
        "comments": [],
        "labels": [],
        **dict.fromkeys(("created_at", "closed_at")),
    }


def _prompt(question: str, reference: str, answer: str) -> str:
    marks = _ENGLISH
    given = marks.reference + reference + marks.reference_end if reference else ""
    return marks.question + question + given + marks.answer + answer + marks.end


def write_judgment(item: Entity, response: Entity, score: Entity) -> dict[str, Any]:
    """Return the record of a score; where no prompt was kept, one of the known form is made."""
    fields, extra = score.fields, dict(score.extra)
    turn = extra.pop("turn", None)
    prompts = extra.pop("judge_prompts") if isinstance(extra.get("judge_prompts"), list) else None
    record: dict[str, Any] = {
        "question_id": extra.pop("question_id", item.fields["external_id"]),
        "model": fields["model"],
        "judge": fields["judge"] if prompts is None else [fields["judge"], *prompts],
        "user_prompt": extra.pop("user_prompt", None)
        or _prompt(item.fields["question"], item.fields["reference"], response.fields["text"]),
        "judgment": fields["reason"],
        "score": original_score(fields["value"], fields["raw"]),
    }
    if turn is not None:
        record["turn"] = turn
    if fields["setting"] != (f"turn {turn}" if isinstance(turn, int) and turn > 1 else ""):
        record["setting"] = fields["setting"]
    if fields["trial"]:
        record["trial"] = fields["trial"]
    if fields["measure"] != _RATING:
        record["measure"] = fields["measure"]
    return put_back(record, extra)


def write_judgments(export: Export) -> WriteResult:
    """Write judges' scores of answers as MT-bench has them; answers that nobody scored are left out."""

    def records() -> Iterator[Mapping[str, Any] | None]:
        for entry in export.items("answer", responses=True):
            for response, scores in entry.responses:
                if not export.wanted(response):
                    continue
                if not scores:
                    yield None
                for score in scores:
                    yield write_judgment(entry.item, response, score)

    return export.write_lines(records(), "score", nothing_to_write("scores of answers", export.setting))


MT_BENCH = Format(
    name="mt-bench",
    description="MT-bench's single form: question_id, model, judge, user_prompt, judgment, score, turn",
    containers=JSON,
    layouts=(
        recognized_by(
            "answer", question_id="id", model="text", judge="list", judgment="text", score="number"
        ),
    ),
    converter=Single,
    write=write_judgments,
    carries="Judges' scores of answers, in MT-bench's single form.",
    choices=frozenset({"setting"}),
    holds=("score of an answer", "scores of answers"),
    leaves_out=("answer without a score", "answers without a score"),
)
