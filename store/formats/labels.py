"""Labels in long form: one line for each item, rater and question."""

from __future__ import annotations

from store.formats.fields import Field, Layout
from store.formats.protocol import ANY, Format

LABELS = Format(
    name="labels",
    description="labels of items that are there: item, rater, value, and question, comment",
    containers=ANY,
    layouts=(
        Layout(
            "label",
            (
                Field("external_id", ("item",), "id", required=True),
                Field("rater", ("rater",), required=True, filled=True),
                Field("value", ("value",), "number", required=True),
                Field("question", ("question",)),
                Field("comment", ("comment",)),
            ),
            extra=False,
        ),
    ),
    unless=frozenset({"record", "action"}),
)
