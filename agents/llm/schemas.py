"""JSON schemas of reply types, in the form that structured replies accept.

Services that hold a model to a schema know only a part of JSON Schema, and not the same part. What is sent
is what they have in common: closed objects with every field required, and no constraints on values. What is
left out is added to the description, and checked here when the reply comes.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from pydantic import BaseModel

from agents.llm.fenced import fenced_field

_KEPT = ("type", "enum", "const", "title")
_OMITTED = {"default", "additionalProperties", "required", "discriminator", "examples"}


def schema_name(reply_type: type[BaseModel]) -> str:
    """Name a reply type in the letters that services allow.

    Returns:
        At most 64 of the characters a-z, A-Z, 0-9, underscore and dash.
    """
    return re.sub(r"[^a-zA-Z0-9_-]", "_", reply_type.__name__)[:64]


@cache
def strict_schema(reply_type: type[BaseModel]) -> dict[str, Any]:
    """Give a reply type's JSON schema in the form that constrained decoding accepts.

    Returns:
        A JSON schema in which every object is closed and every field required.

    Raises:
        TypeError: The type has a mapping with free keys, which no such schema can hold.
    """
    schema = reply_type.model_json_schema()
    definitions = schema.pop("$defs", {})
    strict = _strict(schema)
    if definitions:
        strict["$defs"] = {name: _strict(definition) for name, definition in definitions.items()}
    return strict


def describe_schema(reply_type: type[BaseModel], *, fences: bool = False) -> str:
    """Say in a prompt what the reply must look like, for services that take no schema.

    Args:
        reply_type: The type of the reply.
        fences: Whether a reply may be more than the object, so that a program can stand in a fenced block.

    Returns:
        A paragraph that ends with the JSON schema.
    """
    schema = json.dumps(reply_type.model_json_schema(), ensure_ascii=False)
    field = fenced_field(reply_type) if fences else None
    instead = ""
    if field is not None:
        instead = (
            f' "{field}" may be left out of the object and follow it as one fenced block: a line "```python",'
            ' the program as it is, a line "```".'
        )
    return (
        "Answer with one JSON object and nothing else. It must be valid against the JSON schema below."
        f"{instead}\n{schema}"
    )


def _strict(node: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        # Words beside a reference are not accepted, and the definition has its own.
        return {"$ref": node["$ref"]}
    if len(node.get("allOf", ())) == 1:
        node = {**node["allOf"][0], **{key: value for key, value in node.items() if key != "allOf"}}
        return _strict(node)
    strict = {key: node[key] for key in _KEPT if key in node}
    notes = [str(node["description"])] if "description" in node else []
    for key, value in node.items():
        if key == "properties":
            strict["properties"] = {name: _strict(field) for name, field in value.items()}
        elif key == "items":
            strict["items"] = _strict(value)
        elif key in {"anyOf", "oneOf"}:
            strict["anyOf"] = [_strict(option) for option in value]
        elif key not in _KEPT and key not in _OMITTED and key != "description":
            notes.append(f"({key}: {json.dumps(value, ensure_ascii=False)})")
    if node.get("type") == "object":
        if "properties" not in node and node.get("additionalProperties", True) is not False:
            raise TypeError("a mapping with free keys fits no strict schema; use a list of named pairs")
        strict["required"] = list(node.get("properties", {}))
        strict["additionalProperties"] = False
    if notes:
        strict["description"] = " ".join(notes)
    return strict
