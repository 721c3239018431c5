"""The full record, as jsonl, csv and parquet are written without a rater: every judgment and mark."""

from __future__ import annotations

from store.formats.fields import Field, FieldType, Layout
from store.formats.protocol import ANY, Format
from store.tables.record import ORIGINS

_OPTIONAL: dict[str, FieldType] = {
    "content_hash": "text",
    "question": "text",
    "assignment": "uuid",
    "phase": "text",
    "value": "number",
    "supersedes": "uuid",
    "target_action": "uuid",
    "restores": "uuid",
    "shown_verdict": "uuid",
    "shown_execution": "uuid",
    "guideline": "text",
    "blind": "boolean",
    "reason": "text",
    "comment": "text",
    "evidence": "text",
    "elapsed_ms": "integer",
    "active_ms": "integer",
    "active": "boolean",
    "query": "text",
    "code": "text",
    "name": "text",
    "language": "text",
    "repository": "text",
    "path": "text",
    "licence": "text",
    "rank": "integer",
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
    *(Field(name, (name,), type_) for name, type_ in _OPTIONAL.items()),
)
"""The fields of a judgment or mark, which are staged under the same names."""

_WORD = Field("word", ("word",))
"""The word of the value, for people; only the value itself is read."""

JUDGMENTS = Format(
    name="judgments",
    description="every judgment and mark with its provenance, as export writes it without --rater",
    containers=ANY,
    layouts=(Layout("judgment", (*RECORD_FIELDS, _WORD), extra=False),),
)
