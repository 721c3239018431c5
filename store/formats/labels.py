"""Labels in long form: one line for each item, question and rater, on items of any kind."""

from __future__ import annotations

from collections.abc import Set

from store.formats.fields import Field, Layout
from store.formats.protocol import ANY, LABEL_CHOICES, Export, Format, WriteResult
from store.formats.table import form_of


def write_labels(export: Export) -> WriteResult:
    """Write current labels, of one rater or of all; as JSON or Parquet where the file's name says so."""
    return export.long_labels().copy(form_of(export.name, "csv"))


STUDY_FIELDS = (
    Field("phase", ("phase",)),
    Field("study", ("study",)),
    Field("condition", ("condition",)),
    Field("presentation", ("presentation",), "integer"),
    Field("pseudonym", ("pseudonym",)),
)
"""What a label says of the assignment under which it was given, for people; an import reads nothing of it."""

HOW_FIELDS = (
    Field("made_at", ("judged_at",), "moment"),
    Field("origin", ("origin",)),
    Field("blind", ("blind",), "boolean"),
    Field("saw_label", ("saw_label",), "boolean"),
    Field("seconds", ("seconds",), "number"),
)
"""When and how it was given, of which an import reads the time."""

_EXPORTED = (
    frozenset({"item", "kind", "question", "rater", "value", "word", "comment"}),
    frozenset({"unit", "item", "question", "rater", "value", "missing"}),
)
"""Columns that every version wrote in `labels` and in `matrix-long`."""


def is_export(columns: Set[str]) -> bool:
    """Return whether a file of labels with these columns was exported by this program."""
    return any(own <= columns for own in _EXPORTED)


def is_earlier_export(columns: Set[str]) -> bool:
    """Return whether an exported file does not name the candidates that values of comparisons favour.

    Its values are from the view of the first candidate here, whatever the file of the comparison lists first.
    """
    return "of" not in columns and is_export(columns)


LABELS = Format(
    name="labels",
    description="labels of items of any kind: item, rater, value, and kind, question, of (the candidate that "
    "the value of a comparison favours), word, comment",
    containers=ANY,
    layouts=(
        Layout(
            "label",
            (
                Field("external_id", ("item",), "id", required=True),
                Field("rater", ("rater",), required=True, filled=True),
                Field("value", ("value",), "number", required=True),
                Field("kind", ("kind",)),
                Field("question", ("question",)),
                Field("favoured", ("of",)),
                Field("word", ("word",)),
                Field("comment", ("comment",)),
                *STUDY_FIELDS,
                *HOW_FIELDS,
            ),
            extra=False,
        ),
    ),
    unless=frozenset({"record", "action"}),
    write=write_labels,
    carries="One line for each item, question and rater: the labels that count, of items of every kind.",
    suffix=".csv",
    holds=("label", "labels"),
    choices=LABEL_CHOICES | {"comments"},
)
