"""The formats of completions, repository questions and what models made of either."""

from __future__ import annotations

from store.formats.crosscodeeval import Predictions, Tasks
from store.formats.fields import Field, FieldType, Layout
from store.formats.protocol import JSON, Format


def _told_by(makes: str, **columns: FieldType) -> Layout:
    """Return a layout by which a file is told: the fields that each of its records has."""
    return Layout(makes, tuple(Field(name, (name,), type_, required=True) for name, type_ in columns.items()))


CROSSCODEEVAL = Format(
    name="crosscodeeval",
    description="completion tasks: prompt, groundtruth, right_context, metadata, crossfile_context",
    containers=JSON,
    layouts=(_told_by("completion", prompt="text", groundtruth="text", metadata="object"),),
    converter=Tasks,
)
PREDICTIONS = Format(
    name="predictions",
    description="completions by models: task_id, pred; or groundtruth, prediction; and model, setting, trial",
    containers=JSON,
    layouts=(
        _told_by("response", task_id="id", pred="text"),
        _told_by("response", groundtruth="text", prediction="text"),
        _told_by("response", prompt="text", label="text", prediction="text"),
    ),
    unless=frozenset({"metadata"}),
    converter=Predictions,
)
