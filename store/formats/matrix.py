"""Agreement matrices: the labels of a question, a column for each rater, or a row for each label."""

from __future__ import annotations

from functools import partial

from store.formats.protocol import ANY, Export, Format, WriteResult


def write_matrix(export: Export, *, wide: bool) -> WriteResult:
    """Write the matrix as CSV; the raters are those that the true labels rest on, or people."""
    return export.matrix(wide=wide).copy("csv")


MATRIX = Format(
    name="matrix",
    description="an agreement matrix as CSV: unit, and a column for each rater, empty without a label",
    containers=ANY,
    layouts=(),
    write=partial(write_matrix, wide=True),
    carries="A column for each rater, a row for each item: the input of agreement measures.",
    suffix=".csv",
    opened_by="workbench measure agreement {path}",
    choices=frozenset({"policy", "question", "sample", "study", "split"}),
    undecided=True,
    holds=("unit", "units"),
)
MATRIX_LONG = Format(
    name="matrix-long",
    description="the same, a row for each unit and rater, with study, condition and why a value is missing",
    containers=ANY,
    layouts=(),
    write=partial(write_matrix, wide=False),
    carries="A row for each item and rater, with the reason where a label is missing.",
    suffix=".csv",
    choices=frozenset({"policy", "question", "sample", "study", "split"}),
    undecided=True,
    holds=("label", "labels"),
)
