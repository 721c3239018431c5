"""An item as one JSON object, as the full record carries it.

The object holds `fields` (the kind's columns), `chunks`, and `responses` with their `scores`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from store.formats.fields import Field, FieldType, Layout
from store.formats.protocol import Entity
from store.formats.values import Refused
from store.kinds.spec import task_kinds
from store.reading.layout import plan_of


def _layout(sort: str, required: Mapping[str, FieldType], optional: Mapping[str, FieldType]) -> Layout:
    fields = [Field(name, (name,), type_, required=True) for name, type_ in required.items()]
    fields += [Field(name, (name,), type_) for name, type_ in optional.items()]
    return Layout(sort, tuple(fields))


_CHUNK = _layout(
    "chunk",
    {"rank": "integer", "text": "text"},
    {"setting": "text", "path": "text", "score": "number", "extra": "object"},
)
_RESPONSE = _layout(
    "response",
    {"model": "text", "text": "text"},
    {"setting": "text", "trial": "integer", "extra": "object", "scores": "list"},
)
_SCORE = _layout(
    "score",
    {"judge": "text", "measure": "text"},
    {"id": "uuid", "value": "number", "raw": "text", "reason": "text", "extra": "object"},
)
_CONTENT = Layout(
    "content",
    (
        Field("fields", ("fields",), "object", required=True),
        Field("chunks", ("chunks",), "list"),
        Field("responses", ("responses",), "list"),
    ),
)


def content_entities(kind: str, external_id: str, extra: str | None, content: str) -> Iterator[Entity]:
    """Yield the item in a record's content, its chunks, responses and scores.

    Of an unknown kind nothing is made. Extra fields and content are JSON objects.

    Raises:
        Refused: Something in it is missing or of the wrong type.
    """
    if kind not in task_kinds():
        return
    whole, _ = _values(json.loads(content), _CONTENT)
    fields, _ = _values(json.loads(whole["fields"]), _layout(kind, {}, task_kinds()[kind].record.columns))
    yield Entity(kind, {"external_id": external_id, **fields}, json.loads(extra or "{}"))
    placed = {"kind": kind, "item": external_id}
    for chunk in _each(whole["chunks"]):
        found, own = _values(chunk, _CHUNK)
        yield Entity("chunk", {**placed, **found}, own)
    for one in _each(whole["responses"]):
        response, own = _values(one, _RESPONSE)
        scores = _each(response.pop("scores"))
        yield Entity("response", {**placed, **response}, own)
        key = {name: response[name] for name in ("model", "setting", "trial")}
        for score in scores:
            found, own = _values(score, _SCORE)
            yield Entity("score", {**placed, **key, **found}, own)


def _each(text: str | None) -> list[Any]:
    found: list[Any] = json.loads(text) if text else []
    return found


def _values(record: Any, layout: Layout) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of a part of the content, and its extra fields."""
    if not isinstance(record, dict):
        raise Refused(f"the content's {layout.sort} is no JSON object")
    return plan_of(layout, "json lines").one(record)
