"""JSON of dataclasses by their fields. A field's metadata says where its JSON is another.

    name: str = field(metadata=json_name("rater"))      # under another name
    figures: Accuracy = field(metadata=SPREAD)          # its fields, in place of it
    items: tuple[int, ...] = field(metadata=NOT_IN_JSON)
    seconds: float = field(metadata=ROUNDED)            # to the thousandth
    JSON_ALSO: ClassVar = ("mean",)                     # properties, after the fields
    JSON: ClassVar = ("n", "mean", "name")              # these fields and properties alone, in this order

A class whose JSON has another shape than its fields has a method `to_dict`, which is asked instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

_KEY = "json"
NOT_IN_JSON: Mapping[str, str | None] = {_KEY: None}
SPREAD: Mapping[str, str | None] = {_KEY: "*"}
ROUNDED: Mapping[str, int] = {"digits": 3}


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
    metadata = {one.name: one.metadata for one in fields(found)}
    whole: dict[str, Any] = {}
    for attribute in getattr(found, "JSON", (*metadata, *getattr(found, "JSON_ALSO", ()))):
        told: Mapping[Any, Any] = metadata.get(attribute, {})
        name, value = told.get(_KEY, attribute), _plain(getattr(found, attribute))
        if name is not None:
            value = round(value, told["digits"]) if "digits" in told else value
            whole |= value if name == "*" else {name: value}
    return whole


def fields_of(found: Any, *names: str) -> dict[str, Any]:
    """Return some attributes of a value as an object of JSON, in the order given."""
    return {name: _plain(getattr(found, name)) for name in names}


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return json_fields(value)
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
