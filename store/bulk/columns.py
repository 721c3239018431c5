"""The columns of the staging tables, one table for each sort of record."""

from __future__ import annotations

from store.formats.fields import FieldType, Makes
from store.formats.judgments import RECORD_FIELDS

STAGE: dict[Makes, dict[str, FieldType]] = {
    "pair": {
        "external_id": "id",
        "query_ref": "id",
        "code_ref": "id",
        "query": "text",
        "code": "text",
        "name": "text",
        "language": "text",
        "repository": "text",
        "path": "text",
        "licence": "text",
        "rank": "integer",
        "label": "number",
        "scores": "scores",
    },
    "query": {"ref": "id", "query": "text"},
    "code": {"ref": "id", "code": "text"},
    "label": {
        "kind": "text",
        "external_id": "id",
        "question": "text",
        "rater": "text",
        "value": "number",
        "comment": "text",
    },
    "judgment": {field.name: field.type for field in RECORD_FIELDS},
}
"""What is staged of each sort of record, beside its place in its file and its extra fields."""
