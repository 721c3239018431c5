"""JSON of dataclasses by their fields. A field's metadata says where its JSON is another.

    name: str = field(metadata=json_name("rater"))      # under another name
    figures: Accuracy = field(metadata=SPREAD)          # its fields, in place of it
    items: tuple[int, ...] = field(metadata=NOT_IN_JSON)
    JSON_ALSO: ClassVar = ("mean",)                     # properties, after the fields

A class whose JSON has another shape than its fields has a method `to_dict`, which is asked instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

_KEY = "json"
NOT_IN_JSON: Mapping[str, str | None] = {_KEY: None}
SPREAD: Mapping[str, str | None] = {_KEY: "*"}


def json_name(name: str) -> Mapping[str, str | None]:
    """Return the metadata of a field that has another name in JSON."""
    return {_KEY: name}


def json_fields(found: Any) -> dict[str, Any]:
    """Return a dataclass as an object of JSON: lists, objects, and values that the printer knows.

    Args:
        found: An instance of a dataclass.
    """
    if hasattr(found, "to_dict"):
        own: dict[str, Any] = found.to_dict()
        return own
    whole: dict[str, Any] = {}
    for one in fields(found):
        name = one.metadata.get(_KEY, one.name)
        if name is not None:
            value = _plain(getattr(found, one.name))
            whole |= value if name == "*" else {name: value}
    return whole | {name: _plain(getattr(found, name)) for name in getattr(found, "JSON_ALSO", ())}


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return json_fields(value)
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
