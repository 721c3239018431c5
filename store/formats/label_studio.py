"""Label Studio's JSON: tasks with their annotations and predictions.

Label Studio names annotators by numbers, or by their e-mail; the names of raters that have none are written
as `created_username`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from store.formats.fields import recognized_by
from store.formats.labelling import (
    COMMENT,
    INNER_FIELDS,
    LABEL,
    OTHER_ANSWERS,
    SKIPPED,
    UNFINISHED,
    UNLABELLED,
    WORDS,
    LabelledPairs,
    hashed,
    instant_of,
    task_fields,
)
from store.formats.protocol import JSON, LABEL_CHOICES, CurrentLabel, Entity, Export, Format, WriteResult
from store.formats.record_reader import RecordReader, add_count
from store.formats.values import Refused, wrong
from store.kinds.pair import PAIR

_ANSWERS = {"choices": "choices", "rating": "rating", "number": "number"}
"""The field of a result that holds the label, by its type."""

_NUMBERS = "annotations and predictions of which the file has only the number, left out"

_NEVER = datetime.min.replace(tzinfo=UTC)
"""Before every time."""


class LabelStudioTasks(LabelledPairs):
    """Makes a pair of each task, and labels of its annotations and predictions."""

    def scan(self, record: Mapping[str, Any]) -> None:
        """Collect the names of the controls that hold a label in some annotation or prediction."""
        with suppress(Refused):
            task = RecordReader(_without_numbers(record)[0])
            for one in [*_annotations(task), *task.objects("predictions")]:
                for result in one.objects("result"):
                    if result.text("type") in _ANSWERS:
                        self.asked.add(result.text("from_name") or "")

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the pair and the labels of a task.

        Raises:
            Refused: A field is missing or of the wrong type, or a label is unknown.
        """
        whole, left_out = _without_numbers(record)
        add_count(self.counts, _NUMBERS, of=left_out)
        task = RecordReader(whole)
        own = task.identity("id") or str(number)
        annotations, predictions = _annotations(task), task.objects("predictions")
        drafts, meta = task.anything("drafts"), task.anything("meta")
        add_count(self.counts, UNFINISHED, of=len(drafts) if isinstance(drafts, list) else 0)
        pair = self.pair(task.object("data", required=True), own, {"meta": meta} if meta else None)
        made = [pair]
        for one, time in _latest_first(annotations):
            if one.anything("was_cancelled") or one.anything("skipped"):
                add_count(self.counts, SKIPPED)
            else:
                made += self._label(pair, _annotator(one), one, time)
        for one, time in _latest_first(predictions):
            rater = one.text("model_version", short=True) or f"{self.stem} predictions"
            made += self._label(pair, rater, one, time)
        return made

    def _label(self, pair: Entity, rater: str | None, annotation: RecordReader, time: Any) -> list[Entity]:
        answers: dict[str, list[Any]] = {}
        comments, others = [], 0
        for result in annotation.objects("result"):
            name, type_ = result.text("from_name") or "", result.text("type") or ""
            value = result.object("value")
            if type_ in _ANSWERS:
                given = value.there(_ANSWERS[type_])
                answers.setdefault(name, []).extend(given if isinstance(given, list) else [given])
            elif type_ == "textarea":
                comments += value.texts("text")
            else:
                others += 1
        labels = answers.pop(self.question(), []) if answers else []
        add_count(self.counts, OTHER_ANSWERS, of=others + len(answers))
        if labels in ([], [None]):
            add_count(self.counts, UNLABELLED)
            return []
        return self.label(pair, rater, labels[0] if len(labels) == 1 else labels, "\n".join(comments), time)


def _without_numbers(record: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Return a task without annotations and predictions that are only numbers, and how many these are."""
    whole = dict(record)
    left_out = 0
    for name in ("annotations", "completions", "predictions"):
        if isinstance(given := record.get(name), list):
            whole[name] = [one for one in given if type(one) is not int]
            left_out += len(given) - len(whole[name])
    return whole, left_out


def _annotations(task: RecordReader) -> list[RecordReader]:
    """Return the annotations of a task, which versions before 1.0 call completions."""
    return [*task.objects("annotations"), *task.objects("completions")]


def _latest_first(given: Sequence[RecordReader]) -> list[tuple[RecordReader, Any]]:
    """Return annotations or predictions with their times, since of several by one rater the latest counts."""
    timed = [(one, one.anything("updated_at") or one.anything("created_at")) for one in given]
    return sorted(timed, key=lambda each: instant_of(each[1]) or _NEVER, reverse=True)


def _annotator(annotation: RecordReader) -> str | None:
    """Return the name of an annotator: the e-mail, else `created_username`, else a number; None for none.

    `created_username` is "FIRST LAST E-MAIL, NUMBER" where Label Studio wrote it.

    Raises:
        Refused: It is something else.
    """
    given = annotation.anything("completed_by")
    if isinstance(given, dict):
        given = given.get("email") or given.get("id")
    if isinstance(given, str) and given.strip():
        return given
    name = (annotation.text("created_username") or "").strip()
    person, _, number = name.rpartition(", ")
    if isinstance(given, int) and number == str(given):
        words = person.split()
        name = words[-1] if words and "@" in words[-1] else ""
    if name or given in (None, ""):
        return name or None
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
        recognized_by("pair", data="object", completions="list"),
        recognized_by("pair", data="object", predictions="list"),
    ),
    converter=LabelStudioTasks,
    write=write_label_studio,
    carries="Pairs with the labels of all people, or of one rater, for Label Studio.",
    suffix=".json",
    holds=("label", "labels"),
    choices=LABEL_CHOICES | {"comments"},
    inner_fields=INNER_FIELDS,
)
