"""Shared by the formats of labelling tools: pairs of a task's fields, and the labels of its annotators."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

from store.errors import JudgmentRefused
from store.formats.protocol import Entity, FileContext
from store.formats.record_reader import RecordReader, add_count
from store.formats.table import TABLE
from store.formats.values import Refused, moment, short, short_text
from store.kinds.pair import MATCH, PAIR
from store.record.scales import scale_value

LABEL = "label"
"""The name of the question or control that our files have, and the field that says which one to read."""
COMMENT = "comment"
"""The name of the control or field with an annotator's comment."""
PROVENANCE = "provenance"
"""The name of the field with when and how labels were given, where the tools have none for it."""

COLUMNS = tuple(field.name for field in TABLE.fields if field.name in ("external_id", *PAIR.record.columns))
"""The fields of a pair that a task may have."""
INNER_FIELDS = frozenset({*COLUMNS, LABEL})
"""The fields that the user can map."""

WORDS: Mapping[float, str] = {known.value: known.word for known in MATCH.scale.values}
"""The label as the tools have it, by value."""

SKIPPED = "annotations skipped by their annotator, left out"
UNFINISHED = "annotations not finished, left out"
UNLABELLED = "annotations without a label, left out"
AGAIN = "annotations of a rater on a pair that they labelled before, left out"


class LabelledPairs:
    """Makes a pair of each task, and a label of each annotation.

    Attributes:
        columns: The names that the fields of a pair have in the tasks.
        counts: Notes that are reported of the file.
    """

    def __init__(self, known: FileContext) -> None:
        self.columns = known.columns
        self.counts: dict[str, int] = {}
        self.stem = known.stem
        self._given: set[tuple[str, str]] = known.shared.setdefault("labelled pairs", set())

    def pair(self, task: RecordReader, number: str, extra: Mapping[str, Any] | None = None) -> Entity:
        """Return the pair of a task.

        Args:
            task: Its fields; those that are none of a pair's are extra ones.
            number: Its id, where its fields have none.
            extra: More extra fields.

        Raises:
            Refused: It has no query or no code, or a field is of the wrong type.
        """
        names = {name: self.columns.get(name, _written(name)) for name in COLUMNS}
        missing = [name for name in PAIR.record.identity if not task.has(names[name])]
        if missing:
            lacking = " and no ".join(repr(names[name]) for name in missing)
            there = ", ".join(map(repr, task.names()[:10])) or "nothing"
            raise Refused(
                f"{repr(task.path) if task.path else 'the record'} has no {lacking}, but {there}; name the "
                "fields that hold query and code: --map query=FIELD --map code=FIELD"
            )
        fields: dict[str, Any] = {"external_id": task.identity(names["external_id"]) or number}
        for name, type_ in PAIR.record.columns.items():
            required = name in PAIR.record.identity
            fields[name] = (
                task.whole(names[name])
                if type_ == "integer"
                else task.text(names[name], filled=required, short=name in ("language", "repository"))
            )
        return Entity(PAIR.name, fields, {**task.rest(), **(extra or {})})

    def label(
        self, pair: Entity, rater: Any, answer: Any, comment: str = "", made_at: str | None = None
    ) -> list[Entity]:
        """Return the label of an annotation; none where the rater has labelled the pair before.

        Args:
            pair: The pair.
            rater: The annotator's name.
            answer: The word of a label, or its number.
            comment: What the annotator wrote.
            made_at: When, as `time_of` has it; None for the time of the import.

        Raises:
            Refused: The rater or the answer is none.
        """
        number = isinstance(rater, int) and not isinstance(rater, bool)
        name = short_text(str(rater) if number else rater, "annotator").strip()
        if not isinstance(answer, str | int | float) or isinstance(answer, bool):
            raise Refused(f"the label {short(answer)} is neither a text nor a number")
        try:
            value = scale_value(MATCH.scale, str(answer))
        except JudgmentRefused as refusal:
            raise Refused(f"the label {short(answer)} is none of {', '.join(WORDS.values())}") from refusal
        item = pair.fields["external_id"]
        if (item, name) in self._given:
            add_count(self.counts, AGAIN)
            return []
        self._given.add((item, name))
        fields = {
            "kind": PAIR.name,
            "item": item,
            "question": MATCH.name,
            "rater": name,
            "value": value,
            "comment": comment,
            "reason": "",
            "shown_as": "",
            "phase": None,
            "made_at": made_at,
        }
        return [Entity("label", fields, {})]


def _written(name: str) -> str:
    return "id" if name == "external_id" else name


def time_of(given: Any) -> str | None:
    """Return a time in ISO 8601 with its offset, or in seconds since 1970; None for anything else."""
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            given = datetime.fromtimestamp(given, UTC)
        return moment(given, "time")
    except (Refused, ValueError, OverflowError, OSError):
        return None


def task_fields(pair: Entity) -> dict[str, Any]:
    """Return the fields of a task: the columns of a pair that hold something, and its extra fields."""
    own = {_written(name): pair.fields[name] for name in COLUMNS if pair.fields[name] not in (None, "")}
    return {**pair.extra, **own}


def hashed(*texts: str) -> int:
    """Return a number of 31 bits that texts have in every export."""
    return crc32("\0".join(texts).encode("utf-8", "surrogatepass")) & 0x7FFFFFFF
