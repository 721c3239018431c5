"""The full record: every judgment and mark of all raters with its item, as JSON lines, CSV or Parquet."""

from __future__ import annotations

from store.formats.fields import Field, FieldType, Layout
from store.formats.protocol import ANY, Export, Format, WriteResult
from store.formats.table import form_of
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


def _write_record(export: Export) -> WriteResult:
    """Write the record; as CSV or Parquet where the file's name says so."""
    return export.record().copy(form_of(export.name, "jsonl"))


JUDGMENTS = Format(
    name="judgments",
    description="every judgment and mark with its provenance; also as jsonl is written without --rater",
    containers=ANY,
    layouts=(Layout("judgment", (*RECORD_FIELDS, *_FOR_PEOPLE), extra=False),),
    write=_write_record,
    carries="Every judgment and mark of all raters, with its item.",
    choices=frozenset({"sample", "study", "withdrawn"}),
)
