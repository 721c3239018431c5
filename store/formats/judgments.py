"""The full record, as jsonl, csv and parquet are written without a rater: every judgment and mark."""

from __future__ import annotations

from store.formats.fields import Field, FieldType, Layout
from store.formats.protocol import ANY, Format
from store.tables.record import ORIGINS

_OPTIONAL: dict[FieldType, tuple[str, ...]] = {
    "text": (
        *("content_hash", "question", "phase", "guideline", "reason", "comment", "evidence"),
        *("shown_as", "study", "condition", "query", "code", "name", "language", "repository", "path"),
        "licence",
    ),
    "uuid": ("assignment", "supersedes", "target_action", "restores", "shown_verdict", "shown_execution"),
    "number": ("value",),
    "boolean": ("blind", "active"),
    "integer": ("elapsed_ms", "active_ms", "rank"),
}

RECORD_FIELDS = (
    Field("record", ("record",), required=True, values=("judgment", "mark")),
    Field("id", ("id",), "uuid", required=True),
    Field("action", ("action",), "uuid", required=True),
    Field("kind", ("kind",), required=True, filled=True),
    Field("external_id", ("item",), "id", required=True),
    Field("rater", ("rater",), required=True, filled=True),
    Field("rater_kind", ("rater_kind",), values=("human", "agent", "import")),
    Field("origin", ("origin",), required=True, values=ORIGINS),
    Field("created_at", ("created_at",), "moment", required=True),
    Field("mark", ("mark",)),
    Field("scores", ("similarity",), "scores"),
    Field("item_extra", ("extra",), "object"),
    Field("content", ("content",), "object"),
    *(Field(name, (name,), type_) for type_, names in _OPTIONAL.items() for name in names),
)
"""The fields of a judgment or mark, which are staged under the same names."""

_FOR_PEOPLE = (
    Field("word", ("word",)),
    Field("favoured", ("of",)),
    Field("presentation", ("presentation",), "integer"),
    Field("pseudonym", ("pseudonym",)),
)
"""Columns for people, which follow from the others; an import ignores them."""

JUDGMENTS = Format(
    name="judgments",
    description="every judgment and mark with its provenance, as export writes it without --rater",
    containers=ANY,
    layouts=(Layout("judgment", (*RECORD_FIELDS, *_FOR_PEOPLE), extra=False),),
)
