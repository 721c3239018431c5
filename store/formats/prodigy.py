"""Prodigy's JSON lines: a task as one annotator answered it.

A task with options is answered by those in `accept`, any other one by `answer` alone: accept is a match,
reject is none.
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
    time_of,
)
from store.formats.protocol import JSON, CurrentLabel, Entity, Export, Format, WriteResult
from store.formats.record_reader import RecordReader, add_count
from store.formats.values import Refused
from store.kinds.pair import PAIR

_ANSWERS = ("accept", "reject", "ignore")
_OF_PRODIGY = ("_is_binary", "config", "html", "tokens", "spans", "label")
"""Fields of a task that say how Prodigy showed it."""


class ProdigyTasks(LabelledPairs):
    """Makes a pair of each task, and a label of its answer."""

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
        has_options = task.has("accept") or bool(options)
        accepted = task.anything("accept")
        comment = task.text(COMMENT) or ""
        provenance, stamp = task.anything(PROVENANCE), task.anything("_timestamp")
        made_at = time_of(provenance.get("judged_at")) if isinstance(provenance, dict) else None
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
        label: Any = answer == "accept"
        if has_options:
            if answer == "reject" or not isinstance(accepted, list) or len(accepted) != 1:
                add_count(self.counts, UNLABELLED)
                return [pair]
            (label,) = accepted
            label = _option(label, options)
        rater = annotator or session or f"{self.stem} labels"
        answered = int(label) if isinstance(label, bool) else label
        return [pair, *self.label(pair, rater, answered, comment, made_at or time_of(stamp))]


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
    inner_fields=INNER_FIELDS,
)
