"""Recovery: replaying a journal into a workspace that lacks its records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ValidationError
from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import DataError, IntegrityError

from store.errors import JudgmentRefused, WorkspaceError
from store.events import Progress, ReportProgress, silent
from store.kinds.spec import question_named
from store.policy.sealing import packet_in
from store.policy.words import BLIND
from store.record.checking import Record, record_fault
from store.record.expert_runs import TYPE as EXPERT_RUN
from store.record.expert_runs import add_execution
from store.record.ids import time_fault
from store.record.late_assignments import LATE_PHASES, assign_late, frozen_study_number
from store.record.rater_ref import name_fault
from store.record.raters import guideline_number, rater_row, register_kinds, response_ref_number
from store.record.response_names import split_question
from store.record.scales import Scale
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.people import Question, Rater, Study, StudyRater
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow
from store.tables.runs import Execution, ExecutionRow, TestOutcomeRow
from store.workspace.duckdb import Workspace
from store.workspace.journal import (
    MEMBER,
    TAKEN_BACK,
    VERSION,
    JournalLine,
    TakenBack,
    journal_path,
    read_journal,
    taken_back,
)

_BATCH = 200
_LOOKED_UP = 5_000
_CLASSES: dict[str, tuple[type[Judgment | Mark | Execution], type[JudgmentRow | MarkRow | ExecutionRow]]] = {
    "judgment": (Judgment, JudgmentRow),
    "mark": (Mark, MarkRow),
    EXPERT_RUN: (Execution, ExecutionRow),
}

# The errors of the database for a value that none of its columns can hold.
_REFUSED = (DataError, IntegrityError, RuntimeError, OverflowError, UnicodeError)


@dataclass(frozen=True, slots=True)
class RecoverReport:
    """The result of replaying a journal.

    Attributes:
        lines: How many lines it has, empty ones not counted.
        added: Records that the workspace lacked, now in it.
        known: Records that it had.
        taken_back: Records that their rater undid before they were in any workspace; they stay out.
        unreadable: The numbers of lines that are torn or are no journal lines.
        rejected: Records whose item, question or rater the workspace cannot take, as (line, reason).
        rejects: The file to which the lines of those were copied; None when there are none.
    """

    journal: str
    lines: int
    added: int
    known: int
    unreadable: tuple[int, ...]
    rejected: tuple[tuple[int, str], ...]
    rejects: str | None
    taken_back: int = 0


def recover(
    workspace: Workspace, journal: Path | str | None = None, *, progress: ReportProgress | None = None
) -> RecoverReport:
    """Replay a journal: every record that the workspace lacks is added under its own id.

    Items are found by kind and external id, and must have the content that was judged. Replaying again
    adds nothing. It is meant for a workspace in which nobody is judging.

    Args:
        workspace: The open workspace.
        journal: The journal; the one beside the workspace by default.
        progress: Receives the number of lines replayed.

    Raises:
        WorkspaceError: There is no such journal, or nothing of it can be read.
    """
    path = journal_path(workspace.path) if journal is None else Path(journal)
    packet = packet_in(workspace)
    if not path.is_file():
        raise WorkspaceError(
            "No journal", f"There is no journal {path}.", "Name it: workbench recover WORKSPACE FILE"
        )
    register_kinds(workspace)
    report = progress or silent
    try:
        replay = _Replay(dropped=taken_back(path), rater=packet.rater if packet else None)
        lines = read_journal(path)
        while batch := list(islice(lines, _BATCH)):
            _replay_batch(workspace, batch, replay)
            report(Progress("replaying the journal", replay.lines, None))
    except OSError as error:
        raise _cannot_read(path, error) from error
    if replay.lines and len(replay.unreadable) == replay.lines:
        raise WorkspaceError(
            "Not a journal", f"No line of {path} can be read.", "Name the journal: WORKSPACE.journal.jsonl"
        )
    rejects = _write_rejects(path, replay) if replay.rejected else None
    return RecoverReport(
        str(path),
        replay.lines,
        replay.added,
        replay.known,
        tuple(replay.unreadable),
        tuple((number, reason) for number, reason, _ in replay.rejected),
        None if rejects is None else str(rejects),
        replay.taken_back,
    )


def journal_ahead(workspace: Workspace) -> int:
    """Return how many records of the workspace's journal the workspace lacks.

    All of it is read: a record that was never committed may be followed by others that were.
    """
    path = journal_path(workspace.path)
    if not path.exists():
        return 0
    ahead = 0
    try:
        dropped = taken_back(path)
        with workspace.reading() as connection:
            for ids in _record_ids(read_journal(path)):
                for name, (_, row) in _CLASSES.items():
                    table = table_of(row)
                    stored = set(
                        connection.execute(select(table.c.id).where(among(table.c.id, ids[name]))).scalars()
                    )
                    ahead += sum(number not in dropped for number in ids[name] - stored)
    except OSError as error:
        raise _cannot_read(path, error) from error
    return ahead


def _cannot_read(path: Path, error: OSError) -> WorkspaceError:
    return WorkspaceError(
        "Cannot read journal",
        f"{path}: {error.strerror or error}.",
        "Mend its permissions, or move that file away.",
    )


def _type_of(line: dict[str, Any] | None) -> str | None:
    """Return the type of a line's record; None for a line without one."""
    name = (line or {}).get("type")
    return name if isinstance(name, str) and name in _CLASSES else None


def _record_ids(lines: Iterable[JournalLine]) -> Iterator[dict[str, set[UUID]]]:
    """Yield the ids of journal lines' records by their type, some thousands at a time.

    A record whose write was tried again is in several lines, and counts once.
    """
    counted: set[UUID] = set()
    ids: dict[str, set[UUID]] = {name: set() for name in _CLASSES}
    for line in lines:
        found = line.record or {}
        record = found.get("record")
        if _type_of(found) is None or not isinstance(record, dict):
            continue
        with suppress(ValueError, TypeError, AttributeError):
            number = UUID(record.get("id"))
            if number not in counted:
                counted.add(number)
                ids[found["type"]].add(number)
        if sum(map(len, ids.values())) >= _LOOKED_UP:
            yield ids
            ids = {name: set() for name in _CLASSES}
    yield ids


@dataclass(slots=True)
class _Replay:
    """The result of the lines replayed so far, with the ids that were added."""

    lines: int = 0
    added: int = 0
    known: int = 0
    unreadable: list[int] = field(default_factory=list)
    rejected: list[tuple[int, str, dict[str, Any]]] = field(default_factory=list)
    ids: list[UUID] = field(default_factory=list)
    dropped: TakenBack = field(default_factory=TakenBack)
    rater: str | None = None
    taken_back: int = 0

    def extend(self, part: _Replay) -> None:
        """Add the result of further lines."""
        for name in ("lines", "added", "known", "taken_back", "unreadable", "rejected", "ids"):
            setattr(self, name, getattr(self, name) + getattr(part, name))


def _replay_batch(workspace: Workspace, batch: Sequence[JournalLine], replay: _Replay) -> None:
    """Write the records of a batch; where the database refuses one, all others."""

    def write(connection: Connection) -> _Replay:
        # Counted apart, since a write may be tried again.
        part = _Replay()
        for line in batch:
            _replay_line(connection, line, part, replay)
        return part

    try:
        part = workspace.lane.submit(write).result()
    except _REFUSED as refusal:
        if len(batch) > 1:
            for line in batch:
                _replay_batch(workspace, [line], replay)
            return
        (line,) = batch
        replay.lines += 1
        reason = str(getattr(refusal, "orig", None) or refusal).partition("\n")[0]
        replay.rejected.append((line.number, reason, line.record or {}))
        return
    replay.extend(part)
    for number in part.ids:
        workspace.ids.raise_floor(number)


def _replay_line(connection: Connection, line: JournalLine, part: _Replay, replay: _Replay) -> None:
    part.lines += 1
    entry = line.record
    if entry is not None and entry.get("type") == TAKEN_BACK:
        return
    if entry is not None and replay.rater is not None and entry.get("rater") != replay.rater:
        part.rejected.append((line.number, f"this packet is that of {replay.rater} alone", entry))
        return
    if entry is not None and entry.get("type") == MEMBER and entry.get("v") == VERSION:
        _replay_member(connection, line.number, entry, part)
        return
    name = _type_of(entry)
    if entry is None or name is None or entry.get("v") != VERSION:
        part.unreadable.append(line.number)
        return
    model, row = _CLASSES[name]
    try:
        # Half a surrogate pair is no text that the workspace could hold.
        json.dumps(entry, ensure_ascii=False).encode()
        record = model.model_validate(entry["record"])
        place = _Place.model_validate(entry)
        outcomes = [TestOutcomeRow.model_validate(one) for one in entry.get("outcomes", ())]
        if isinstance(record, Judgment) and not {"question", "guideline"} <= entry.keys():
            raise KeyError
    except (ValidationError, KeyError, TypeError, UnicodeEncodeError):
        part.unreadable.append(line.number)
        return
    table = table_of(row)
    if connection.execute(select(table.c.id).where(table.c.id == record.id)).first() is not None:
        part.known += 1
        return
    if record.id in replay.dropped:
        part.taken_back += 1
        return
    try:
        keys = _keys(connection, record, place, outcomes)
    except JudgmentRefused as refusal:
        part.rejected.append((line.number, refusal.message, entry))
        return
    record = record.model_copy(update=keys)
    if isinstance(record, Execution):
        own = [one.model_copy(update={"execution_id": record.id}) for one in outcomes]
        add_execution(connection, record, own)
    else:
        connection.execute(insert(table).values(**record.model_dump()))
        part.ids.append(record.action)
    part.added += 1
    part.ids.append(record.id)


class _Said(BaseModel):
    """What a rater of a study said of themselves."""

    consent_version: str = ""
    consented_at: AwareDatetime | None = None
    experience: str = ""
    withdrawn_at: AwareDatetime | None = None


def _replay_member(connection: Connection, number: int, entry: dict[str, Any], part: _Replay) -> None:
    """Restore what a rater said of themselves, where the workspace does not have it."""
    try:
        study, rater, said = str(entry["study"]), str(entry["rater"]), _Said.model_validate(entry["record"])
        json.dumps(entry, ensure_ascii=False).encode()
    except (ValidationError, KeyError, TypeError, UnicodeEncodeError):
        part.unreadable.append(number)
        return
    of_study, member, person = table_of(Study), table_of(StudyRater), table_of(Rater)
    found = connection.execute(
        select(member)
        .join(of_study, of_study.c.id == member.c.study_id)
        .join(person, person.c.id == member.c.rater_id)
        .where(of_study.c.name == study, person.c.name == rater)
    ).first()
    faults = [time_fault(moment) for moment in (said.consented_at, said.withdrawn_at) if moment is not None]
    faults += [name_fault(name) or "" for name in (said.consent_version, said.experience) if name]
    if found is None:
        part.rejected.append((number, f"{rater[:40]!a} is no rater of a study {study[:40]!a} here", entry))
        return
    if fault := next(filter(None, faults), ""):
        part.rejected.append((number, f"what {rater[:40]!a} said of themselves {fault}", entry))
        return
    given = said.model_dump(exclude_unset=True)
    older = said.consented_at is not None and found.consented_at is not None
    if older and said.consented_at <= found.consented_at:
        given = {}
    if found.withdrawn_at is not None:
        given.pop("withdrawn_at", None)
    if not given:
        part.known += 1
        return
    own = (member.c.study_id == found.study_id) & (member.c.rater_id == found.rater_id)
    connection.execute(update(member).where(own).values(**given))
    part.added += 1


class _Place(BaseModel):
    """The names in a line: item, rater, question and version of the guideline."""

    kind: str
    item: str
    content: str
    rater: str
    question: str = ""
    guideline: str | None = None
    study: str = ""
    condition: str = BLIND


def _keys(
    connection: Connection, record: Record, place: _Place, outcomes: Sequence[TestOutcomeRow]
) -> dict[str, Any]:
    """Return the keys of the names in a line.

    Raises:
        JudgmentRefused: It has no such item or question, the name is an agent's, or no program of ours would
            have written it.
    """
    item, question = table_of(Item), table_of(Question)
    found = connection.execute(
        select(item.c.id, item.c.content_hash).where(
            item.c.kind == place.kind, item.c.external_id == place.item
        )
    ).first()
    if found is None:
        raise JudgmentRefused("No such item", f"no {place.kind} {place.item!r} in the workspace")
    if found.content_hash != place.content:
        raise JudgmentRefused(
            "Other content", f"{place.kind} {place.item!r} has other content than the judged one"
        )
    keys: dict[str, Any] = {"item_id": found.id}
    scale, response = None, None
    if isinstance(record, Judgment):
        base, response = split_question(place.question)
        asked = connection.execute(
            select(question.c.id, question.c.scale).where(question.c.name == base)
        ).first()
        spec = question_named(base)
        if asked is None or (response is not None and spec is not None and not spec.of_responses):
            raise JudgmentRefused("No such question", f"no question {place.question!r} in the workspace")
        keys |= {"question_id": asked.id, "response_ref_id": None}
        scale = Scale.from_json(asked.scale)
    if fault := record_fault(record, place.kind, scale, outcomes):
        raise JudgmentRefused("Not a record", f"{record.id} {fault}")
    for name, what in (
        (place.rater, "the rater"),
        (place.guideline or "none", "the version of the guideline"),
    ):
        if refused := name_fault(name):
            raise JudgmentRefused("Not a name", f"{name[:40]!a}, which is {what}, {refused}")
    if response is not None:
        # The response itself may be imported later.
        keys["response_ref_id"] = response_ref_number(connection, found.id, response)
    keys["rater_id"] = rater_row(connection, place.rater, "human").id
    if isinstance(record, (Judgment, Mark)) and record.phase in LATE_PHASES and record.assignment_id:
        study = frozen_study_number(connection, place.study)
        if study is not None:
            keys["assignment_id"] = assign_late(
                connection,
                study,
                keys["rater_id"],
                found.id,
                phase=record.phase,
                condition=place.condition,
                key=record.assignment_id,
            )
    if isinstance(record, Judgment) and place.guideline is not None:
        keys["guideline_id"] = guideline_number(connection, place.kind, place.guideline)
    return keys


def _write_rejects(path: Path, replay: _Replay) -> Path:
    """Copy the lines that could not be replayed to a file beside the journal, to be replayed later."""
    target = path.with_name(path.name.removesuffix(".jsonl") + ".rejects.jsonl")
    partial = target.with_name(f".{target.name}.part")
    with partial.open("w", encoding="utf-8") as file:
        for _, _, entry in replay.rejected:
            file.write(json.dumps(entry) + "\n")
    os.replace(partial, target)
    return target
