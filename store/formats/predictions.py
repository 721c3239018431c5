"""Models' completions of CrossCodeEval's tasks: JSON lines, in each of the forms in which they are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from store.formats.crosscodeeval import parse_stem
from store.formats.fields import recognized_by
from store.formats.protocol import (
    JSON,
    Entity,
    Export,
    FileContext,
    Format,
    WriteResult,
    bare_name,
    nothing_to_write,
)
from store.formats.record_reader import RecordReader, add_count, attempt_fields, put_back
from store.measures.completion import LANGUAGES

WITHIN = "language"
"""The field of a row that names no task which says among whose tasks its reference is looked for."""

FROM_NAME = "completions whose model comes from the file's name"


def language_of(stem: str) -> str:
    """Return the language that the name of a results file begins with, empty where it tells none."""
    first, _, rest = stem.partition(".")
    return first if rest and first in LANGUAGES else ""


class Predictions:
    """Makes responses of models' completions, in each of the three forms in which they are found.

    `{task_id, pred}`; `{groundtruth, prediction, ...}` and `{prompt, label, prediction}`, which name no task
    and are joined by their reference.
    """

    def __init__(self, known: FileContext) -> None:
        self.counts: dict[str, int] = {}
        self._known = known

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the response that a row makes.

        Raises:
            Refused: A field is missing or of the wrong type.
        """
        row = RecordReader(record)
        item = row.identity("task_id")
        reference = None
        if item is None:
            name = "groundtruth" if row.has("groundtruth") or not row.has("label") else "label"
            reference = row.text(name, required=True, filled=True)
        text = row.text(
            "pred" if row.has("pred") or not row.has("prediction") else "prediction", required=True
        )
        model, setting = parse_stem(self._known.stem)
        own = row.text("model", filled=True, short=True) or self._known.model
        fields = {
            "kind": "completion",
            "item": item,
            "reference": reference,
            "model": own or model,
            **attempt_fields(row, self._known.setting or setting),
            "text": text,
        }
        extra = row.rest()
        if item is None and extra.get(WITHIN) == "":
            del extra[WITHIN]
        elif item is None and (of_file := language_of(self._known.stem)):
            # The same reference may stand in tasks of several languages.
            extra.setdefault(WITHIN, of_file)
        if not own:
            add_count(self.counts, f"{FROM_NAME}: {model}")
        return [Entity("response", fields, extra)]


def write_prediction(response: Entity, stem: str = "") -> dict[str, Any]:
    """Return the row of a response: `task_id, pred`, or `groundtruth, prediction` where it has no task.

    The stem is the file's name without endings, which may tell a language.
    """
    fields = response.fields
    if fields["item"] is not None:
        row = {"task_id": fields["item"], "pred": fields["text"]}
    else:
        name = "pred" if "prediction" in response.extra else "prediction"
        row = {"groundtruth": fields["reference"], name: fields["text"]}
        if language_of(stem) and WITHIN not in response.extra:
            # A row that says no language has none, whatever the file's name says.
            row[WITHIN] = ""
    row |= {"model": fields["model"], "setting": fields["setting"]}
    if fields["trial"]:
        row["trial"] = fields["trial"]
    return put_back(row, response.extra)


def write_predictions(export: Export) -> WriteResult:
    """Write models' completions, pending ones at the end."""
    stem = bare_name(export.name)

    def rows() -> Iterator[Mapping[str, Any]]:
        for response, _ in export.responses("completion"):
            yield write_prediction(response, stem)

    return export.write_lines(rows(), "response", nothing_to_write("completions by models", export.setting))


PREDICTIONS = Format(
    name="predictions",
    description="completions by models: task_id, pred; or groundtruth, prediction; and model, setting, trial",
    containers=JSON,
    layouts=(
        recognized_by("response", task_id="id", pred="text"),
        recognized_by("response", groundtruth="text", prediction="text"),
        recognized_by("response", prompt="text", label="text", prediction="text"),
    ),
    unless=frozenset({"metadata"}),
    converter=Predictions,
    write=write_predictions,
    carries="Completions by models.",
    choices=frozenset({"setting"}),
    holds=("completion by a model", "completions by models"),
)
