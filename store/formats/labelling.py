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

COLUMNS = {
    field.name: field.columns[0]
    for field in TABLE.fields
    if field.name in ("external_id", *PAIR.record.columns)
}
"""The fields of a pair that a task may have, each with its name in a task."""
INNER_FIELDS = frozenset({*COLUMNS.values(), LABEL})
"""The fields that the user can map."""

_GRADES = "; ratings and other grades are read from a table: its column relevance"
WORDS: Mapping[float, str] = {known.value: known.word for known in MATCH.scale.values}
"""The label as the tools have it, by value."""

SKIPPED = "annotations skipped by their annotator, left out"
UNFINISHED = "annotations not finished, left out"
UNLABELLED = "annotations without a label, left out"
OTHER_ANSWERS = "answers to other questions than the label's, left out"
AGAIN = "annotations of a rater on a pair that they labelled before, left out"
NAMELESS = "labels without an annotator, given to a rater named after the file"
UNDATED = "labels whose time cannot be read, given the time of the import"


class LabelledPairs:
    """Makes a pair of each task, and a label of each annotation.

    Attributes:
        columns: The names that the fields of a pair have in the tasks.
        counts: Notes that are reported of the file.
        asked: The names of all questions of the file that a label may answer; collected before the first
            record is converted, since a record has only those that were answered.
    """

    def __init__(self, known: FileContext) -> None:
        self.columns = known.columns
        self.counts: dict[str, int] = {}
        self.asked: set[str] = set()
        self.stem = known.stem
        self._given: dict[tuple[str, str], datetime | None] = known.shared.setdefault("labelled pairs", {})

    def question(self) -> str:
        """Return the question whose answers are read: the one that is mapped, `label`, or the only one.

        Raises:
            Refused: There are several, or the one that is mapped is none of them.
        """
        wanted = self.columns.get(LABEL, LABEL)
        if wanted in self.asked or not self.asked:
            return wanted
        named = ", ".join(map(repr, sorted(self.asked)))
        if LABEL in self.columns:
            raise Refused(f"nothing is called {wanted!r} in the file that has a label, but {named}")
        if len(self.asked) > 1:
            raise Refused(f"the file has the labels {named}; say which one to read: --map label=NAME")
        return next(iter(self.asked))

    def pair(self, task: RecordReader, number: str, extra: Mapping[str, Any] | None = None) -> Entity:
        """Return the pair of a task.

        Args:
            task: Its fields; those that are none of a pair's are extra ones.
            number: Its id, where its fields have none.
            extra: More extra fields.

        Raises:
            Refused: It has no query, no code or no field that is mapped, or a field is of the wrong type.
        """
        names = {name: self.columns.get(written, written) for name, written in COLUMNS.items()}
        there = task.names()
        missing = [
            names[name]
            for name, written in COLUMNS.items()
            if (name in PAIR.record.identity and not task.has(names[name]))
            or (written in self.columns and names[name] not in there)
        ]
        if missing:
            where = repr(task.path) if task.path else "the record"
            raise Refused(
                f"{where} has no {' and no '.join(map(repr, missing))}, but "
                f"{', '.join(map(repr, there[:10])) or 'nothing'}; name the fields that are there: "
                "--map query=FIELD --map code=FIELD"
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
        self, pair: Entity, rater: Any, answer: Any, comment: str = "", time: Any = None
    ) -> list[Entity]:
        """Return the label of an annotation; none where the rater's label of the pair is not an earlier one.

        Args:
            pair: The pair.
            rater: The annotator's name; None or blank where nothing says who it was.
            answer: The word of a label, or its number.
            comment: What the annotator wrote.
            time: When, as the file has it; None for the time of the import.

        Raises:
            Refused: The rater or the answer is none.
        """
        if rater is None or (isinstance(rater, str) and not rater.strip()):
            rater = f"{self.stem} labels"
            add_count(self.counts, NAMELESS)
        number = isinstance(rater, int) and not isinstance(rater, bool)
        name = short_text(str(rater) if number else rater, "annotator").strip()
        if not isinstance(answer, str | int | float) or isinstance(answer, bool):
            raise Refused(f"the label {short(answer)} is neither a text nor a number")
        value = value_of(answer)
        if value is None:
            raise Refused(f"the label {short(answer)} is none of {', '.join(WORDS.values())}{_GRADES}")
        made_at = time_of(time)
        if made_at is None:
            add_count(self.counts, UNDATED, of=time not in (None, ""))
        item, when = pair.fields["external_id"], instant_of(made_at)
        if (item, name) in self._given:
            before = self._given[item, name]
            if when is None or before is None or when <= before:
                add_count(self.counts, AGAIN)
                return []
        self._given[item, name] = when
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


def value_of(answer: Any) -> float | None:
    """Return the value of a label, written as a word or a number (`NO_MATCH`, 0); None where it is none."""
    try:
        return scale_value(MATCH.scale, str(answer).replace("_", " "))
    except JudgmentRefused:
        return None


def instant_of(given: Any) -> datetime | None:
    """Return a time in ISO 8601, or in seconds since 1970, to be compared; one without offset is in UTC."""
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return datetime.fromtimestamp(given, UTC)
        found = datetime.fromisoformat(given)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def time_of(given: Any) -> str | None:
    """Return a time in ISO 8601 with its offset, or in seconds since 1970; None for anything else."""
    try:
        return moment(given if isinstance(given, str) else instant_of(given), "time")
    except Refused:
        return None


def task_fields(pair: Entity) -> dict[str, Any]:
    """Return the fields of a task: the columns of a pair that hold something, and its extra fields."""
    own = {written: pair.fields[name] for name, written in COLUMNS.items()}
    return {**pair.extra, **{name: value for name, value in own.items() if value not in (None, "")}}


def hashed(*texts: str) -> int:
    """Return a number of 31 bits that texts have in every export."""
    return crc32("\0".join(texts).encode("utf-8", "surrogatepass")) & 0x7FFFFFFF
