"""Label Studio's JSON: tasks with their annotations and predictions.

Label Studio names annotators by numbers, or by their e-mail; the names of raters that have none are written
as `created_username`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from store.formats.fields import recognized_by
from store.formats.labelling import (
    COMMENT,
    INNER_FIELDS,
    LABEL,
    SKIPPED,
    UNLABELLED,
    WORDS,
    LabelledPairs,
    hashed,
    task_fields,
    time_of,
)
from store.formats.protocol import JSON, CurrentLabel, Entity, Export, Format, WriteResult
from store.formats.record_reader import RecordReader, add_count
from store.formats.values import Refused, wrong
from store.kinds.pair import PAIR

CONFIG = f"""<View>
  <Header value="$query"/>
  <Text name="code" value="$code"/>
  <Choices name="{LABEL}" toName="code" choice="single">
{chr(10).join(f'    <Choice value="{word}"/>' for word in WORDS.values())}
  </Choices>
  <TextArea name="{COMMENT}" toName="code"/>
</View>
"""
"""The labelling interface that the files are for."""

_ANSWERS = {"choices": "choices", "rating": "rating", "number": "number"}
"""The field of a result that holds the label, by its type."""


class LabelStudioTasks(LabelledPairs):
    """Makes a pair of each task, and labels of its annotations and predictions."""

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the pair and the labels of a task.

        Raises:
            Refused: A field is missing or of the wrong type, or a label is unknown.
        """
        task = RecordReader(record)
        own = task.identity("id") or str(number)
        annotations, predictions = task.objects("annotations"), task.objects("predictions")
        data = task.object("data", required=True)
        pair = self.pair(data, own)
        made = [pair]
        # Of several by one annotator the latest counts.
        given = [(_moment(one), one) for one in annotations]
        for moment, one in sorted(given, key=itemgetter(0), reverse=True):
            made += self._annotated(pair, one, moment)
        for one in predictions:
            rater = one.text("model_version", short=True) or f"{self.stem} predictions"
            made += self._label(pair, rater, one)
        return made

    def _annotated(self, pair: Entity, annotation: RecordReader, moment: str) -> list[Entity]:
        if annotation.anything("was_cancelled"):
            add_count(self.counts, SKIPPED)
            return []
        return self._label(pair, _annotator(annotation), annotation, time_of(moment))

    def _label(
        self, pair: Entity, rater: str, annotation: RecordReader, made_at: str | None = None
    ) -> list[Entity]:
        answers: dict[str, Any] = {}
        comments = []
        for result in annotation.objects("result"):
            name, type_ = result.text("from_name") or "", result.text("type") or ""
            value = result.object("value")
            if type_ in _ANSWERS:
                answers[name] = value.there(_ANSWERS[type_])
            elif type_ == "textarea":
                comments += value.texts("text")
        asked = self.columns.get(LABEL, LABEL)
        if len(answers) > 1 and asked not in answers:
            raise Refused(
                f"{annotation.path!r} has the labels {', '.join(map(repr, answers))}; say which one to read: "
                "--map label=NAME"
            )
        answer = answers.get(asked, next(iter(answers.values()), None) if LABEL not in self.columns else None)
        if isinstance(answer, list) and len(answer) == 1:
            (answer,) = answer
        if answer is None:
            add_count(self.counts, UNLABELLED)
            return []
        return self.label(pair, rater, answer, "\n".join(comments), made_at)


def _moment(annotation: RecordReader) -> str:
    return annotation.text("updated_at") or annotation.text("created_at") or ""


def _annotator(annotation: RecordReader) -> str:
    """Return the name of an annotator: the e-mail, the name, or a number.

    Raises:
        Refused: There is none of them.
    """
    given = annotation.anything("completed_by")
    name = annotation.text("created_username")
    if isinstance(given, dict):
        given = given.get("email") or given.get("id")
    if name and name.strip():
        return name
    if isinstance(given, str) and given.strip():
        return given
    if isinstance(given, int) and not isinstance(given, bool):
        return f"annotator {given}"
    raise wrong(given, annotation.named("completed_by"), "an annotator")


def write_label_studio(export: Export) -> WriteResult:
    """Write pairs with the current labels of people as annotations, of a run as predictions."""
    written, items = export.labelled_items(PAIR.name)
    with export.target.open("w", encoding="utf-8", newline="\n") as file:
        for number, (pair, labels) in enumerate(items, 1):
            file.write("[\n" if number == 1 else ",\n")
            file.write(json.dumps(_task(number, pair, labels), ensure_ascii=False))
        file.write("\n]\n")
    return written


def _task(number: int, pair: Entity, labels: Sequence[CurrentLabel]) -> dict[str, Any]:
    annotations, predictions = [], []
    for label in labels:
        name = f"{pair.fields['external_id']} {label.rater}"
        result = list(_result(name, label))
        if label.by_agents:
            predictions.append({"model_version": label.rater, "result": result})
            continue
        annotations.append(
            {
                "id": hashed(name),
                "result": result,
                "completed_by": hashed(label.rater),
                "created_username": label.rater,
                "was_cancelled": False,
                "ground_truth": False,
                "lead_time": None if label.active_ms is None else label.active_ms / 1000,
                "created_at": label.made_at,
                "updated_at": label.made_at,
            }
        )
    return {"id": number, "data": task_fields(pair), "annotations": annotations, "predictions": predictions}


def _result(name: str, label: CurrentLabel) -> Iterator[dict[str, Any]]:
    same = {"to_name": "code"}
    yield {
        "id": f"{hashed(name, LABEL):08x}",
        "from_name": LABEL,
        **same,
        "type": "choices",
        "value": {"choices": [WORDS[label.value]]},
        "meta": dict(label.provenance),
    }
    if label.comment:
        yield {
            "id": f"{hashed(name, COMMENT):08x}",
            "from_name": COMMENT,
            **same,
            "type": "textarea",
            "value": {"text": [label.comment]},
        }


LABEL_STUDIO = Format(
    name="label-studio",
    description="Label Studio's JSON: tasks with data, annotations, predictions",
    containers=JSON,
    layouts=(
        recognized_by("pair", data="object", annotations="list"),
        recognized_by("pair", data="object", predictions="list"),
    ),
    converter=LabelStudioTasks,
    write=write_label_studio,
    carries="Pairs with the labels of all people, or of one rater, for Label Studio.",
    suffix=".json",
    holds=("label", "labels"),
    inner_fields=INNER_FIELDS,
)
