"""Recovery: replaying a journal into a workspace that lacks what it tells of."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import Connection, Table, insert, select

from store.errors import JudgmentRefused, WorkspaceError
from store.events import Progress, Report, silent
from store.journal import VERSION, JournalLine, journal_path, last_record, read_journal
from store.raters import rater_row, register_kinds
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Guideline, Question
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow
from store.workspace import Workspace

_BATCH = 200
_CLASSES: dict[str, tuple[type[Judgment | Mark], type[JudgmentRow | MarkRow]]] = {
    "judgment": (Judgment, JudgmentRow),
    "mark": (Mark, MarkRow),
}


@dataclass(frozen=True, slots=True)
class RecoverReport:
    """What came of replaying a journal.

    Attributes:
        journal: The file.
        lines: How many lines it has, empty ones not counted.
        added: Records that the workspace lacked, now in it.
        known: Records that it had.
        unreadable: The numbers of lines that are torn or are no journal lines.
        homeless: Records whose item, question or rater the workspace cannot take, as (line, reason).
        aside: Where the lines of those were copied; None when there are none.
    """

    journal: str
    lines: int
    added: int
    known: int
    unreadable: tuple[int, ...]
    homeless: tuple[tuple[int, str], ...]
    aside: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain values for JSON."""
        return asdict(self)


def recover(
    workspace: Workspace, journal: Path | str | None = None, *, progress: Report | None = None
) -> RecoverReport:
    """Replay a journal: every record that the workspace lacks is added under its own id.

    Items are found by kind and external id, and must have the content that was judged. Replaying again
    adds nothing. It is meant for a workspace in which nobody is judging.

    Args:
        workspace: The open workspace.
        journal: The journal; the one beside the workspace by default.
        progress: Is told the lines replayed.

    Raises:
        WorkspaceError: There is no such journal, or it cannot be read.
    """
    path = journal_path(workspace.path) if journal is None else Path(journal)
    if not path.is_file():
        raise WorkspaceError(
            "No journal", f"There is no journal {path}.", "Name it: workbench recover WORKSPACE FILE"
        )
    register_kinds(workspace)
    replay = _Replay()
    report = progress or silent
    try:
        for batch in _batches(read_journal(path)):
            workspace.lane.submit(_writer(batch, replay)).result().follow(workspace)
            report(Progress("replaying the journal", replay.lines, None))
    except OSError as error:
        raise WorkspaceError("Cannot read journal", f"{path}: {error.strerror or error}.", "") from error
    aside = _put_aside(path, replay) if replay.homeless else None
    return RecoverReport(
        str(path),
        replay.lines,
        replay.added,
        replay.known,
        tuple(replay.unreadable),
        tuple((number, reason) for number, reason, _ in replay.homeless),
        None if aside is None else str(aside),
    )


def journal_ahead(workspace: Workspace) -> int:
    """Return how many records the workspace's journal holds that the workspace lacks.

    The whole journal is read only when its last record is missing, so this is quick on every opening.
    """
    path = journal_path(workspace.path)
    last = last_record(path)
    if last is None:
        return 0
    with workspace.reading() as connection:
        if not _lacking(connection, [last]):
            return 0
        lines = (line.record for line in read_journal(path) if line.record is not None)
        return len(set(_lacking(connection, lines)))


def _lacking(connection: Connection, lines: Iterable[dict[str, Any]]) -> list[str]:
    """Return the ids of the journal's records that are not in their table."""
    ids: dict[str, list[str]] = {name: [] for name in _CLASSES}
    for line in lines:
        record = line.get("record")
        if line.get("type") in ids and isinstance(record, dict) and isinstance(record.get("id"), str):
            ids[line["type"]].append(record["id"])
    lacking: list[str] = []
    for name, (_, row) in _CLASSES.items():
        if not ids[name]:
            continue
        table = table_of(row)
        if len(ids[name]) == 1:
            stored = set(
                connection.execute(select(table.c.id).where(table.c.id == UUID(ids[name][0]))).scalars()
            )
        else:
            stored = set(connection.execute(select(table.c.id)).scalars())
        lacking += [number for number in ids[name] if UUID(number) not in stored]
    return lacking


@dataclass(slots=True)
class _Replay:
    """What came of the lines replayed so far."""

    lines: int = 0
    added: int = 0
    known: int = 0
    unreadable: list[int] = field(default_factory=list)
    homeless: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)


@dataclass(slots=True)
class _Batch:
    """What came of one batch, which may be written twice before it counts."""

    into: _Replay
    part: _Replay = field(default_factory=_Replay)
    highest: list[UUID] = field(default_factory=list)

    def follow(self, workspace: Workspace) -> None:
        """Count the batch, and raise the clock above its ids."""
        for name in ("lines", "added", "known"):
            setattr(self.into, name, getattr(self.into, name) + getattr(self.part, name))
        self.into.unreadable += self.part.unreadable
        self.into.homeless += self.part.homeless
        for number in self.highest:
            workspace.ids.raise_floor(number)


def _batches(lines: Iterator[JournalLine]) -> Iterator[list[JournalLine]]:
    batch: list[JournalLine] = []
    for line in lines:
        batch.append(line)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _writer(batch: Sequence[JournalLine], replay: _Replay) -> Callable[[Connection], _Batch]:
    def write(connection: Connection) -> _Batch:
        done = _Batch(replay)
        for line in batch:
            _replay_line(connection, line, done)
        return done

    return write


def _replay_line(connection: Connection, line: JournalLine, done: _Batch) -> None:
    done.part.lines += 1
    told = line.record
    if told is None or told.get("v") != VERSION or told.get("type") not in _CLASSES:
        done.part.unreadable.append(line.number)
        return
    model, row = _CLASSES[told["type"]]
    try:
        record = model.model_validate(told["record"])
        place = (told["kind"], told["item"], told["content"], told["rater"], told.get("question"))
    except (ValidationError, KeyError):
        done.part.unreadable.append(line.number)
        return
    table = table_of(row)
    if connection.execute(select(table.c.id).where(table.c.id == record.id)).first() is not None:
        done.part.known += 1
        return
    try:
        keys = _keys(connection, record, place)
    except JudgmentRefused as refusal:
        done.part.homeless.append((line.number, refusal.message, told))
        return
    connection.execute(insert(table).values(**record.model_copy(update=keys).model_dump()))
    done.part.added += 1
    done.highest += [record.id, record.action]


def _keys(
    connection: Connection, record: Judgment | Mark, place: tuple[str, str, str, str, str | None]
) -> dict[str, Any]:
    """Return the keys that this workspace has for what a line names.

    Raises:
        JudgmentRefused: It has no such item or question, or the name is an agent's.
    """
    kind, external_id, content, rater, question = place
    item = table_of(Item)
    found = connection.execute(
        select(item.c.id, item.c.content_hash).where(item.c.kind == kind, item.c.external_id == external_id)
    ).first()
    if found is None:
        raise JudgmentRefused("No such item", f"no {kind} {external_id!r} in the workspace")
    if found.content_hash != content:
        raise JudgmentRefused(
            "Other content", f"{kind} {external_id!r} has other content than the judged one"
        )
    keys: dict[str, Any] = {"item_id": found.id, "rater_id": rater_row(connection, rater, "human").id}
    if isinstance(record, Judgment):
        number = _id_of(connection, table_of(Question), "name", question)
        if number is None:
            raise JudgmentRefused("No such question", f"no question {question!r} in the workspace")
        keys["question_id"] = number
        keys["guideline_id"] = _id_of(connection, table_of(Guideline), "id", record.guideline_id)
    return keys


def _id_of(connection: Connection, table: Table, column: str, value: object) -> int | None:
    if value is None:
        return None
    number: int | None = connection.execute(select(table.c.id).where(table.c[column] == value)).scalar()
    return number


def _put_aside(path: Path, replay: _Replay) -> Path:
    """Copy the lines without a home beside the journal, to be replayed when their items are there."""
    aside = path.with_name(path.name.removesuffix(".jsonl") + ".aside.jsonl")
    partial = aside.with_name(f".{aside.name}.part")
    with partial.open("w", encoding="utf-8") as file:
        for _, _, told in replay.homeless:
            file.write(json.dumps(told) + "\n")
    os.replace(partial, aside)
    return aside
