"""A layout compiled into a plan: one function a field, which fills a column of a batch of records.

A column is filled in one go; only where a value of it is refused are the others taken one by one, to say
which record it was.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from hashlib import blake2b
from typing import Any

from store.formats.fields import SCORE_PREFIX, SHORT, Field, Layout
from store.formats.protocol import Container
from store.formats.values import (
    LONGEST_ID,
    RULES,
    Refused,
    Rule,
    as_json,
    identity,
    rule_of_texts,
    short,
    short_text,
    text,
)
from store.formats.values import filled as filled_text

Record = Mapping[str, Any]

ROW = "row"
"""The extra field for the number of a record whose file has no ids."""

_DIGEST_BYTES = 6
"""Bytes of an id that is made of a content: of files of a million items one in 560 has two that are alike.
They are refused then, since they differ.
"""

_TEXT_RULES = (text, filled_text, identity)
_WRITTEN_NUMBER, _WRITTEN_OBJECT = rule_of_texts("number"), rule_of_texts("object")


@dataclass(slots=True)
class Columns:
    """The columns of a batch of records.

    Attributes:
        values: The values of each field, by our name for it.
        extra: The other fields of each record, as a JSON object.
        names: The names of these.
        refused: Why a record cannot be imported, by its place in the batch.
    """

    values: dict[str, list[Any]] = field(default_factory=dict)
    extra: list[str] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)


@cache
def plan_of(layout: Layout, container: Container) -> Plan:
    """Return the plan of a layout for files that store their records in one way."""
    return Plan(layout, container)


class Plan:
    """The conversion of each field of a layout.

    Args:
        layout: The fields.
        container: How the file stores its records: in CSV every value is a text, of which an empty one means
            none; in Parquet a missing number may be NaN.
    """

    def __init__(self, layout: Layout, container: Container) -> None:
        self._fields = layout.fields
        self._empty_is_none = container == "CSV"
        self._typed = container == "Parquet"
        self._texts = container in ("CSV", "Parquet")
        self._rules = {one.name: _rule(one, texts=self._texts) for one in layout.fields}
        self._content_id, self._joined_id = layout.content_id, layout.joined_id
        self._required = [one.name for one in layout.fields if one.required and one.filled]
        taken = [one for one in layout.fields if not one.kept]
        self._taken = frozenset(one.columns[0] for one in taken if len(one.columns) == 1)
        self._several = tuple(one for one in taken if len(one.columns) > 1)

    def one(self, record: Record) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the values of one record, and its extra fields.

        Raises:
            Refused: A field is missing or of the wrong type.
        """
        filled = self.fill([record])
        if filled.refused:
            raise Refused(filled.refused[0])
        return {name: values[0] for name, values in filled.values.items()}, json.loads(filled.extra[0])

    def fill(self, records: Sequence[Record], numbers: Sequence[int] = ()) -> Columns:
        """Return the columns of some records, those that are refused among them.

        Args:
            records: The records.
            numbers: Their places in the file, which are kept where their ids are made of their content.
        """
        filled = Columns()
        present: set[str] = set().union(*records)
        known = present <= self._taken
        extras: list[dict[str, Any]] = [{} if known else self._extra(record) for record in records]
        for one in self._fields:
            if not one.required and one.type != "scores" and present.isdisjoint(one.columns):
                filled.values[one.name] = [None] * len(records)
                continue
            names = {_name_in(record, one) for record in records} if len(one.columns) > 1 else one.columns
            name = next(iter(names)) if len(names) == 1 else None
            if name is not None:
                given = [record.get(name) for record in records]
            else:
                given = [record.get(_name_in(record, one)) for record in records]
            if self._empty_is_none:
                given = [None if value == "" else value for value in given]
            if one.type == "scores":
                given = [_with_columns(value, extra) for value, extra in zip(given, extras, strict=True)]
            filled.values[one.name] = self._column(one, name, given, records, filled)
        if self._joined_id:
            parts = zip(*(filled.values[name] for name in self._joined_id), strict=True)
            filled.values["external_id"] = [None if None in each else "/".join(each) for each in parts]
        if self._content_id:
            texts = zip(*(filled.values[name] for name in self._required), strict=True)
            filled.values["external_id"] = [f"{self._content_id}-{_digest(each)}" for each in texts]
            for number, extra in zip(numbers, extras, strict=True):
                extra.setdefault(ROW, number)
        self._keep(extras, filled)
        return filled

    def _column(
        self, one: Field, name: str | None, given: Sequence[Any], records: Sequence[Record], filled: Columns
    ) -> list[Any]:
        """Return a column, None for each value that is missing or refused."""
        rule = self._rules[one.name]
        if rule in _TEXT_RULES and _are_texts(given, rule):
            return list(given)
        if name is not None:
            with suppress(Refused):
                values = [None if value is None else rule(value, name) for value in given]
                if not (one.required and None in values):
                    return values
        values = []
        for place, (value, record) in enumerate(zip(given, records, strict=True)):
            found = None
            shown = name or _name_in(record, one)
            try:
                found = None if value is None else rule(value, shown)
                if found is None and one.required:
                    there = shown in record
                    raise Refused(f"no value in {shown!r}" if there else f"missing field {shown!r}")
            except Refused as refusal:
                filled.refused.setdefault(place, str(refusal))
            values.append(found)
        return values

    def _extra(self, record: Record) -> dict[str, Any]:
        extra = {name: value for name, value in record.items() if name not in self._taken}
        for one in self._several:
            extra.pop(_name_in(record, one), None)
        return extra

    def _keep(self, extras: Sequence[dict[str, Any]], filled: Columns) -> None:
        """Write the extra fields as JSON, together with those that an export wrote into one column."""
        stored = filled.values.pop("extra", None)
        for place, own in enumerate(extras):
            extra = own
            if stored is not None and stored[place] is not None:
                extra = {**json.loads(stored[place]), **own}
            if self._typed:
                extra = {name: _plain(value) for name, value in extra.items()}
            kept = "{}"
            if len(extra) == 1 and type(extra.get(ROW)) is int:
                kept = f'{{"{ROW}":{extra[ROW]}}}'  # of a file without ids, each record has it
                filled.names[ROW] = None
            elif extra:
                try:
                    kept = as_json(extra)
                except Refused as refusal:
                    filled.refused.setdefault(place, str(refusal))
                if place not in filled.refused:
                    filled.names.update(dict.fromkeys(extra))
            filled.extra.append(kept)


def _digest(texts: Sequence[str | None]) -> str:
    """Return the hash of texts that follow each other; those of a record that is refused may be None."""
    whole = "\0".join(text or "" for text in texts)
    return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


def _are_texts(values: Sequence[Any], rule: Rule) -> bool:
    """Return whether a rule takes all values as they are, without a look at each of them."""
    try:
        "".join(values).encode("utf-8")
    except (TypeError, UnicodeEncodeError):
        return False
    if rule is identity and max(map(len, values), default=0) > LONGEST_ID:
        return False
    return rule is text or "" not in values


def _name_in(record: Record, one: Field) -> str:
    """Return the name of a field in a record: the first name with a value, else the first that is there."""
    names = one.columns
    found = next((name for name in names if record.get(name) is not None), None)
    return found or next((name for name in names if name in record), names[0])


def _rule(one: Field, *, texts: bool) -> Rule:
    """Return the rule that checks and converts a value of a field."""
    if one.type == "scores":
        return partial(_scores, texts=texts)
    rule = rule_of_texts(one.type) if texts else RULES[one.type]
    if one.filled and one.type == "text":
        rule = filled_text
    if one.name in SHORT:
        rule = _then(rule, short_text)
    if one.words:
        rule = _worded(rule, dict(one.words))
    if not one.values:
        return rule
    allowed = frozenset(one.values)
    shown = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in one.values)

    def on_scale(value: Any, name: str) -> Any:
        if (found := rule(value, name)) is not None and found not in allowed:
            hint = one.hint.format(name=name)
            raise Refused(f"{name!r} is {short(value)}, which is off the scale: {shown}{hint}")
        return found

    return on_scale


def _worded(rule: Rule, words: Mapping[str, float | None]) -> Rule:
    """Return a rule that takes words, too, in any case; a word for no value gives None."""

    def read(value: Any, name: str) -> Any:
        given = str(value).lower() if isinstance(value, bool) else value
        if not isinstance(given, str):
            return rule(value, name)
        word = given.strip().lower()
        for one in (word, word.replace("_", " ").replace("-", " ")):
            if one in words:
                return words[one]
        try:
            return rule(given, name)
        except Refused:
            meaning = f"; --label-words {shlex.quote(f'{word}=1')} (or 0, or nothing) says what it means"
            raise Refused(
                f"{name!r} is {short(given)}, which is none of {', '.join(words)}{meaning * (len(word) < 30)}"
            ) from None

    return read


def _then(first: Rule, second: Rule) -> Rule:
    return lambda value, name: second(first(value, name), name)


def _with_columns(value: Any, extra: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
    """Return the scores of a record with those that have a column for each model, taken out of the others."""
    own = [name for name in extra if name.startswith(SCORE_PREFIX)] if extra else []
    if value is None and not own:
        return None
    return value, {name.removeprefix(SCORE_PREFIX): extra.pop(name) for name in own} if own else {}


def _scores(given: tuple[Any, dict[str, Any]], name: str, *, texts: bool) -> dict[str, float] | None:
    """Return scores by model: they stand as one number, as an object, and in a column for each model."""
    value, by_column = given
    if texts and isinstance(value, str) and value.lstrip().startswith("{"):
        value = json.loads(_WRITTEN_OBJECT(value, name))
    if isinstance(value, list) and all(isinstance(part, tuple) and len(part) == 2 for part in value):
        value = dict(value)  # a map in Parquet
    scores = value if isinstance(value, dict) else {} if value is None else {name: value}
    if by_column:
        scores = scores | by_column
    number = _WRITTEN_NUMBER if texts else RULES["number"]
    found = {}
    for model, score in scores.items():
        if score is not None and not (texts and score == ""):
            of_model, shown = _model(model, name)
            found[of_model] = number(score, shown)
    return found or None


@lru_cache(maxsize=4_096)
def _model(model: Any, name: str) -> tuple[str, str]:
    """Return a model's name, and the name of its score in reasons."""
    return short_text(text(model, name), f"{name}'s model"), f"{name} of {model}"


def _plain(value: Any) -> Any:
    """Return a value of a typed file with NaN, which means a missing number there, as None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.decode("utf-8", errors="backslashreplace") if isinstance(value, bytes) else value
