"""The columns of the staging tables, one table for each sort of record."""

from __future__ import annotations

from functools import cache

from store.formats.fields import FieldType, Makes
from store.formats.judgments import RECORD_FIELDS
from store.kinds.protocol import TaskKind, task_kinds

SEQUENCE = "sequence"
"""The column of records that are counted as they are made: several of one record stand in an order."""

_PLACED: dict[str, FieldType] = {"kind": "text", "external_id": "id"}
_OF_A_RESPONSE: dict[str, FieldType] = {
    **_PLACED,
    "joined_by": "text",
    "model": "text",
    "setting": "text",
    "trial": "integer",
}

_PAIRS: dict[Makes, dict[str, FieldType]] = {
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
}

_RECORDS: dict[Makes, dict[str, FieldType]] = {
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

_OF_ITEMS: dict[Makes, dict[str, FieldType]] = {
    "chunk": {
        **_PLACED,
        "setting": "text",
        "rank": "integer",
        "path": "text",
        "text": "text",
        "score": "number",
    },
    "response": {**_OF_A_RESPONSE, "text": "text"},
    "score": {
        **_OF_A_RESPONSE,
        "id": "uuid",
        "judge": "text",
        "measure": "text",
        "value": "number",
        "raw": "text",
        "reason": "text",
        SEQUENCE: "integer",
    },
}

READ_FAST = frozenset({*_PAIRS, *_RECORDS})
"""The sorts of record that come by the hundred thousand, and for which there is a fast reader."""


@cache
def entry_kinds() -> dict[str, TaskKind]:
    """Return the kinds whose items are kept in a table of the kind's own columns, by name."""
    return {name: kind for name, kind in task_kinds().items() if kind.table}


@cache
def stage_columns() -> dict[Makes, dict[str, FieldType]]:
    """Return what is staged of each sort of record, beside its place in its file and its extra fields."""
    entries: dict[Makes, dict[str, FieldType]] = {
        name: {"external_id": "id", **kind.content} for name, kind in entry_kinds().items()
    }
    return {**_PAIRS, **_RECORDS, **_OF_ITEMS, **entries}
