"""Argilla's records: flat as by `records.to_list(flatten=True)`, or nested as by `records.to_json`.

Nested records do not say which responses were submitted, so all that have a value are labels.

Argilla knows users by UUIDs. Raters get UUIDs made of their names; the names are written as the field
`raters`, in the order of the responses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid5

from store.formats.fields import recognized_by
from store.formats.labelling import (
    INNER_FIELDS,
    LABEL,
    PROVENANCE,
    SKIPPED,
    UNFINISHED,
    UNLABELLED,
    WORDS,
    LabelledPairs,
    task_fields,
)
from store.formats.protocol import JSON, CurrentLabel, Entity, Export, Format, WriteResult
from store.formats.record_reader import RecordReader, add_count
from store.formats.values import Refused, wrong
from store.kinds.pair import PAIR

RATERS = "raters"
"""The field with the names of those who responded."""

_RESPONSES, _SUGGESTION = ".responses", ".suggestion"
_RESPONSE_FIELDS = (("", "value"), (".users", "user_id"), (".status", "status"))
_SUGGESTION_FIELDS = (("", "value"), (".score", "score"), (".agent", "agent"))
"""The endings of the columns of flat records, with the fields of nested ones."""

_SUBMITTED = "submitted"
_NO_STATUS = "labels of responses without a status, which may be drafts or discarded"

_USERS = UUID("5a1f4d1e-0f0b-5c39-8f3c-6d2f7f0f1d11")
"""The namespace of the UUIDs of raters."""


class ArgillaRecords(LabelledPairs):
    """Makes a pair of each record, and labels of its responses and its suggestion."""

    def scan(self, record: Mapping[str, Any]) -> None:
        """Collect the names of the questions that have a response or a suggestion in some record."""
        with suppress(Refused):
            self.asked.update(
                name.removesuffix(end)
                for name in _flat(record)
                for end in (_RESPONSES, _SUGGESTION)
                if name.endswith(end)
            )

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the pair and the labels of a record.

        Raises:
            Refused: A field is missing or of the wrong type, or a label is unknown.
        """
        whole = RecordReader(_flat(record))
        question = self.question()
        own = whole.identity("id") or str(number)
        for name in ("_server_id", "status", f"{question}{_SUGGESTION}.score"):
            whole.anything(name)
        responses = _taken(whole, question + _RESPONSES)
        # A response without a status, or without a user, has null; a file may have no column for them.
        users, statuses = (
            _taken(whole, f"{question}{_RESPONSES}{end}") or [None] * len(responses)
            for end in (".users", ".status")
        )
        names, how = whole.texts(RATERS), whole.texts(PROVENANCE)
        suggested, agent = (
            whole.anything(name) for name in (question + _SUGGESTION, f"{question}{_SUGGESTION}.agent")
        )
        if not len(responses) == len(users) == len(statuses):
            raise Refused(f"{question + _RESPONSES!r}, its users and its status differ in length")
        pair = self.pair(whole, own)
        made = [pair]
        named = names if len(names) == len(users) else users
        times = [_judged_at(one) for one in how] if len(how) == len(users) else [None] * len(users)
        for answer, rater, status, time in zip(responses, named, statuses, times, strict=True):
            if answer is None or status not in (None, _SUBMITTED):
                said = {"discarded": SKIPPED, "draft": UNFINISHED}
                add_count(self.counts, said.get(str(status), UNLABELLED))
                continue
            label = self.label(pair, rater, answer, time=time)
            add_count(self.counts, _NO_STATUS, of=len(label) if status is None else 0)
            made += label
        if suggested is not None:
            made += self.label(pair, agent or f"{self.stem} suggestions", suggested)
        return made


def _judged_at(provenance: str) -> Any:
    """Return when a label was given, out of the text that our exports have; None where it does not say."""
    try:
        found = json.loads(provenance)
    except (ValueError, RecursionError):
        return None
    return found.get("judged_at") if isinstance(found, dict) else None


def _taken(record: RecordReader, name: str) -> list[Any]:
    value = record.anything(name) or []
    if not isinstance(value, list):
        raise wrong(value, name, "a list")
    return value


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with its fields, metadata, responses and suggestions beside each other.

    Raises:
        Refused: One of these is no object.
    """
    if not isinstance(record.get("fields"), dict):
        return dict(record)
    whole = RecordReader(record)
    flat = {
        name: value
        for part in ("vectors", "metadata", "fields")
        for name, value in whole.object(part).rest().items()
    }
    responses, suggestions = whole.object("responses"), whole.object("suggestions")
    for question in responses.names():
        given = responses.objects(question)
        for end, name in _RESPONSE_FIELDS:
            flat[question + _RESPONSES + end] = [one.anything(name) for one in given]
    for question in suggestions.names():
        one = suggestions.object(question)
        for end, name in _SUGGESTION_FIELDS:
            flat[question + _SUGGESTION + end] = one.anything(name)
    return {name: record[name] for name in ("id", "status", "_server_id") if name in record} | flat


def write_argilla(export: Export) -> WriteResult:
    """Write pairs with the current labels of people as responses, of a run as the suggestion.

    A file that ends in .json is one array of nested records, any other one has a flat record a line.
    """
    written, items = export.labelled_items(PAIR.name)
    if not export.name.lower().endswith(".json"):
        export.write_lines((_flat_record(pair, labels) for pair, labels in items), "current_label", "")
        return written
    with export.target.open("w", encoding="utf-8", newline="\n") as file:
        for number, (pair, labels) in enumerate(items):
            file.write(",\n" if number else "[\n")
            file.write(json.dumps(_nested_record(pair, labels), ensure_ascii=False))
        file.write("\n]\n")
    return written


def _nested_record(pair: Entity, labels: Sequence[CurrentLabel]) -> dict[str, Any]:
    people = [label for label in labels if not label.by_agents]
    suggestions = [
        {"value": WORDS[label.value], "score": None, "agent": label.rater}
        for label in labels
        if label.by_agents
    ]
    task = task_fields(pair)
    return {
        "id": task.pop("id"),
        "fields": {name: task.pop(name) for name in PAIR.record.identity},
        "metadata": {
            **task,
            RATERS: [label.rater for label in people],
            # Texts, since metadata of Argilla are numbers, texts and lists of texts.
            PROVENANCE: [json.dumps(label.provenance, ensure_ascii=False) for label in people],
        },
        "suggestions": {LABEL: suggestions[0]} if suggestions else {},
        "responses": {
            LABEL: [
                {
                    "value": WORDS[label.value],
                    "user_id": str(uuid5(_USERS, label.rater)),
                    "status": _SUBMITTED,
                }
                for label in people
            ]
        },
        "vectors": {},
        "status": "completed" if people else "pending",
        "_server_id": None,
    }


def _flat_record(pair: Entity, labels: Sequence[CurrentLabel]) -> dict[str, Any]:
    record = _nested_record(pair, labels)
    responses, suggestion = record["responses"][LABEL], record["suggestions"].get(LABEL, {})
    flat = {name: record[name] for name in ("id", "status", "_server_id")}
    flat |= record["fields"] | record["metadata"]
    for end, name in _RESPONSE_FIELDS:
        flat[f"{LABEL}{_RESPONSES}{end}"] = [one[name] for one in responses]
    for end, name in _SUGGESTION_FIELDS:
        flat[f"{LABEL}{_SUGGESTION}{end}"] = suggestion.get(name)
    return flat


ARGILLA = Format(
    name="argilla",
    description="Argilla's records: id, status, fields, and QUESTION.responses or responses",
    containers=JSON,
    layouts=(
        recognized_by("pair", id="id", status="text", _server_id="id"),
        recognized_by("pair", fields="object", responses="object"),
    ),
    converter=ArgillaRecords,
    write=write_argilla,
    carries="Pairs with the labels of all people, or of one rater, for Argilla.",
    suffix=".json",
    holds=("label", "labels"),
    inner_fields=INNER_FIELDS,
)
