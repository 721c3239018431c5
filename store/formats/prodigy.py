"""Prodigy's JSON lines: a task as one annotator answered it.

A task with options is answered by those in `accept`. Any other one shows its `label`, which `answer` accepts
or rejects. A label that is no word of the scale means a match where the file has no other one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from store.formats.fields import recognized_by
from store.formats.labelling import (
    COMMENT,
    INNER_FIELDS,
    LABEL,
    PROVENANCE,
    SKIPPED,
    UNLABELLED,
    WORDS,
    LabelledPairs,
    hashed,
    task_fields,
    value_of,
)
from store.formats.protocol import (
    JSON,
    LABEL_CHOICES,
    CurrentLabel,
    Entity,
    Export,
    FileContext,
    Format,
    WriteResult,
)
from store.formats.record_reader import RecordReader, add_count
from store.formats.values import Refused, short
from store.kinds.pair import PAIR

_MATCH = 1
_ANSWERS = ("accept", "reject", "ignore")
_OF_PRODIGY = ("_is_binary", "config", "html", "tokens", "spans")
"""Fields of a task that say how Prodigy showed it."""


class ProdigyTasks(LabelledPairs):
    """Makes a pair of each task, and a label of its answer."""

    def __init__(self, known: FileContext) -> None:
        super().__init__(known)
        self._name = self.columns.get(LABEL) or ("" if LABEL in self.columns.values() else LABEL)
        self._shown: set[str] = set()

    def scan(self, record: Mapping[str, Any]) -> None:
        """Collect the labels that tasks without options show."""
        label = record.get(self._name)
        if label is not None and not _has_options(record):
            self._shown.add(str(label))

    def convert(self, record: Mapping[str, Any], number: int) -> list[Entity]:
        """Return the pair and the label of a task.

        Raises:
            Refused: A field is missing or of the wrong type, or an answer is unknown.
        """
        task = RecordReader(record)
        answer = task.text("answer", required=True)
        if answer not in _ANSWERS:
            raise Refused(f"'answer' is {answer!r}, and none of {', '.join(_ANSWERS)}")
        hashes = [task.whole(name) for name in ("_input_hash", "_task_hash")]
        session, annotator = task.text("_session_id"), task.text("_annotator_id")
        task.text("_view_id")
        options = {
            option.identity("id", required=True): option.text("text") or ""
            for option in task.objects("options")
        }
        has_options = _has_options(record)
        accepted = task.anything("accept")
        shown = task.anything(self._name)
        comment = task.text(COMMENT) or ""
        provenance, stamp = task.anything(PROVENANCE), task.anything("_timestamp")
        judged_at = provenance.get("judged_at") if isinstance(provenance, dict) else None
        if "text" not in self.columns.values():
            # What was shown: query and code in one.
            task.text("text")
        for name in _OF_PRODIGY:
            if name not in self.columns.values():
                task.anything(name)
        pair = self.pair(task, str(number if hashes[0] is None else hashes[0]))
        if answer == "ignore":
            add_count(self.counts, SKIPPED)
            return [pair]
        if has_options:
            if answer == "reject" or not isinstance(accepted, list) or len(accepted) != 1:
                add_count(self.counts, UNLABELLED)
                return [pair]
            label = _option(accepted[0], options)
        else:
            label = self._binary(shown, accept=answer == "accept")
        return [pair, *self.label(pair, annotator or session, label, comment, judged_at or stamp)]

    def _binary(self, shown: Any, *, accept: bool) -> float:
        """Return the value that accepting or rejecting a label means.

        Raises:
            Refused: The label is none of the scale, and not the only one of the file.
        """
        value = _MATCH if shown is None else value_of(shown)
        if value is None:
            if len(self._shown) > 1:
                raise Refused(
                    f"the label {short(shown)} is none of {', '.join(WORDS.values())}, and one of several in "
                    "the file; write these words in its place"
                )
            add_count(self.counts, f"tasks whose label {short(shown)} was taken for a match")
            value = _MATCH
        return value if accept else next(other for other in WORDS if other != value)


def _has_options(task: Mapping[str, Any]) -> bool:
    return task.get("accept") is not None or bool(task.get("options"))


def _option(accepted: Any, options: Mapping[str, str]) -> Any:
    """Return an accepted option: its id where that is a label, else its text."""
    text = options.get(str(accepted), "")
    return text if text.lower() in WORDS.values() else accepted


def write_prodigy(export: Export) -> WriteResult:
    """Write each current label as an answered task."""
    written, items = export.labelled_items(PAIR.name)

    def records() -> Iterator[Mapping[str, Any]]:
        for pair, labels in items:
            for label in labels:
                yield _task(pair, label)

    export.write_lines(records(), "current_label", "")
    return written


def _task(pair: Entity, label: CurrentLabel) -> dict[str, Any]:
    fields = pair.fields
    task = {
        **task_fields(pair),
        "text": f"{fields['query']}\n\n{fields['code']}",
        "options": [{"id": word, "text": word} for word in WORDS.values()],
        "accept": [WORDS[label.value]],
        "answer": "accept",
        "_input_hash": hashed(fields["external_id"]),
        "_task_hash": hashed(fields["external_id"], LABEL),
        "_view_id": "choice",
        "_session_id": label.rater,
        "_annotator_id": label.rater,
        PROVENANCE: dict(label.provenance),
    }
    if label.made_at is not None:
        task["_timestamp"] = int(datetime.fromisoformat(label.made_at).timestamp())
    if label.comment:
        task[COMMENT] = label.comment
    return task


PRODIGY = Format(
    name="prodigy",
    description="Prodigy's JSON lines: answer, accept, options, and query, code",
    containers=JSON,
    layouts=(recognized_by("pair", answer="text", _input_hash="integer", _task_hash="integer"),),
    converter=ProdigyTasks,
    write=write_prodigy,
    carries="Pairs with the labels of all people, or of one rater, for Prodigy.",
    holds=("label", "labels"),
    choices=LABEL_CHOICES | {"comments"},
    inner_fields=INNER_FIELDS,
)
