"""Models' answers to repository questions, and judges' scores of them: JSON lines of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from store.formats.fields import recognized_by
from store.formats.protocol import JSON, Entity, Export, FileContext, Format, WriteResult, nothing_to_write
from store.formats.record_reader import (
    RecordReader,
    attempt_fields,
    count_score,
    original_score,
    parse_score,
    put_back,
)
from store.formats.values import Refused


class Answers:
    """Makes responses of models' answers, and their scores."""

    def __init__(self, known: FileContext) -> None:
        self.counts: dict[str, int] = {}
        self._known = known

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return an answer and its scores.

        Raises:
            Refused: A field is missing or of the wrong type.
        """
        whole = RecordReader(record)
        item = whole.identity("question_id", required=True)
        model = whole.text("model", filled=True, short=True) or self._known.model
        if not model:
            raise Refused("missing field 'model'")
        of = {"kind": "answer", "item": item, "model": model, **attempt_fields(whole, self._known.setting)}
        text = whole.text("answer", required=True)
        scores = [self._score(score, of) for score in whole.objects("scores")]
        response = Entity("response", {**of, "reference": None, "text": text}, whole.rest())
        for score in scores:
            count_score(self.counts, score.fields["value"])
        return [response, *scores]

    def _score(self, score: RecordReader, of: Mapping[str, Any]) -> Entity:
        fields = {
            "judge": score.text("judge", required=True, filled=True, short=True),
            "measure": score.text("measure", required=True, filled=True, short=True),
            "reason": score.text("reason") or "",
        }
        value, raw = parse_score(score.there("score"), score.named("score"))
        return Entity("score", {**of, **fields, "value": value, "raw": raw}, score.take_rest())


def write_answer(response: Entity, scores: Sequence[Entity]) -> dict[str, Any]:
    """Return the record of an answer with its scores."""
    fields = response.fields
    record: dict[str, Any] = {
        "question_id": fields["item"],
        "model": fields["model"],
        "setting": fields["setting"],
        "answer": fields["text"],
    }
    if fields["trial"]:
        record["trial"] = fields["trial"]
    if scores:
        record["scores"] = [_score(score) for score in scores]
    return put_back(record, response.extra)


def _score(score: Entity) -> dict[str, Any]:
    fields = score.fields
    record = {name: fields[name] for name in ("judge", "measure")}
    record["score"] = original_score(fields["value"], fields["raw"])
    if fields["reason"]:
        record["reason"] = fields["reason"]
    return put_back(record, score.extra)


def write_answers(export: Export) -> WriteResult:
    """Write models' answers with judges' scores, pending ones at the end."""

    def records() -> Iterator[Mapping[str, Any]]:
        for response, scores in export.responses("answer"):
            yield write_answer(response, scores)

    return export.write_lines(records(), "response", nothing_to_write("answers by models", export.setting))


ANSWERS = Format(
    name="answers",
    description="models' answers to questions: question_id, model, answer; and setting, trial, scores",
    containers=JSON,
    layouts=(recognized_by("response", question_id="id", model="text", answer="text"),),
    converter=Answers,
    write=write_answers,
    carries="Models' answers to repository questions, with judges' scores.",
    choices=frozenset({"setting"}),
    holds=("answer", "answers"),
)
