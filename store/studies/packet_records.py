"""Reads packets that came back: each record is checked, and brought under the ids of the workspace."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import duckdb
from pydantic import ValidationError
from sqlalchemy import Connection, Row, Table, select

from store.errors import WorkspaceError
from store.kinds.spec import TaskKind, question_named, task_kinds
from store.policy.packet_fact import SELECT_FACT, PacketFact
from store.policy.rows import shown_by
from store.policy.scope import DISCUSS, REVEAL, Shows
from store.queries.studies import StudyDetails, StudyMember, find_study
from store.record.checking import Record, record_fault, with_followers
from store.record.evidence import as_json, citations_of
from store.record.ids import now, time_fault
from store.record.rater_ref import name_fault
from store.record.revisions import REVISION
from store.record.scales import Scale
from store.studies.packet_contents import digests
from store.studies.packet_writer import RATER, study_digest
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.people import Assignment, Packet, Question, Study
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow
from store.tables.runs import Execution, ExecutionRow, TestOutcomeRow
from store.workspace.attaching import OTHER, attached
from store.workspace.connecting import refusal
from store.workspace.duckdb import Workspace

_ORIGINS = frozenset({"independent", "accept", "override", "withdraw", "undo", "redo"})
LOOKED_UP = 5_000
"""Ids that are looked up in one statement."""
TABLES: dict[type[Judgment | Mark | Execution], Table] = {
    Judgment: table_of(JudgmentRow),
    Mark: table_of(MarkRow),
    Execution: table_of(ExecutionRow),
}

# A time that Python does not have is none, and its record cannot be read.
_TIME = "CASE WHEN {0} BETWEEN '1970-01-01' AND '9999-12-31' THEN {0} END AS {0}"
_TIMES = f"REPLACE ({_TIME.format('created_at')})"
_SAID = f"REPLACE ({_TIME.format('consented_at')}, {_TIME.format('withdrawn_at')})"

LATE = "came after the packet of the reveal or the discussion was made"


class Assigned(NamedTuple):
    """An assignment of the workspace, with its place and phase in a packet.

    Attributes:
        shows_agents: Whether it shows what agents and others said.
    """

    id: UUID
    item_id: int
    phase: str
    item: tuple[str, str, str]
    shows_agents: bool
    place: int
    packet_phase: str


@dataclass(slots=True)
class ArrivedPacket:
    """A packet that was looked through, with its records under the ids of the workspace.

    Attributes:
        fact: What it says of itself.
        row: What the workspace remembers of it.
        assigned: Its assignments, by their ids in it.
        records: The records that can be taken.
        outcomes: The tests of executions.
        guidelines: The version of the guideline under which judgments were given.
        consent: What the rater said of themselves that is new: consent, experience, that they withdraw.
        left_out: Why the other records are not taken, by their ids.
    """

    path: Path
    fact: PacketFact
    row: Row[Any]
    study: StudyDetails
    member: StudyMember
    kind: TaskKind
    assigned: Mapping[UUID, Assigned]
    records: list[Record] = field(default_factory=list)
    outcomes: dict[UUID, list[TestOutcomeRow]] = field(default_factory=dict)
    guidelines: dict[UUID, str] = field(default_factory=dict)
    consent: dict[str, Any] = field(default_factory=dict)
    left_out: dict[UUID, str] = field(default_factory=dict)


def read_packet(workspace: Workspace, path: Path) -> ArrivedPacket:
    """Read a packet, and check it and each of its records.

    The packet is only read.

    Raises:
        WorkspaceError: The file is no packet of this workspace, or not as it was made, or cannot be read.
        WorkspaceLocked: Another process holds it, or this one does.
        WorkspaceTooNew: A newer version of the program wrote it.
    """
    path = path.resolve() if path.is_symlink() else path
    cursor = workspace.native()
    try:
        with attached(workspace, cursor, path, "packet"):
            arrived, mapping = _checked(workspace, cursor, path)
            _Records(cursor, workspace, arrived, mapping).read()
            return arrived
    except duckdb.Error as error:
        raise refusal(path, error) from error
    finally:
        cursor.close()


def _checked(
    workspace: Workspace, cursor: duckdb.DuckDBPyConnection, path: Path
) -> tuple[ArrivedPacket, dict[str, Any]]:
    """Return the packet without its records, and the mapping of its ids."""
    text, fact = _fact(cursor, path)
    packet, assignment, item = table_of(Packet), table_of(Assignment), table_of(Item)
    with workspace.reading() as connection:
        row = connection.execute(select(packet).where(packet.c.id == fact.id)).first()
        if row is None:
            raise WorkspaceError(
                "Packet of another workspace",
                f"{path} is a packet of {fact.study} for {fact.rater} that was not made of "
                f"{workspace.path.name}. Nothing was merged.",
                "Name the workspace in which the packet was made.",
            )
        names = select(table_of(Study).c.name).where(table_of(Study).c.id == row.study_id)
        study = find_study(connection, str(connection.execute(names).scalar_one()))
        member = next(one for one in study.members if one.rater.id == row.rater_id)
        mapping = json.loads(row.mapping)
        given = {UUID(real): UUID(key) for key, real in mapping["assignments"]}
        rows = connection.execute(
            select(
                assignment,
                *(item.c.kind, item.c.external_id, item.c.content_hash),
                shown_by(Shows.AGENTS).label("shows_agents"),
            )
            .join(item, item.c.id == assignment.c.item_id)
            .where(assignment.c.study_id == study.id, assignment.c.rater_id == row.rater_id)
        ).all()
    kind = task_kinds()[study.protocol.kind]
    found = digests(cursor, OTHER, kind)
    expected = json.loads(row.manifest)["sha256"]
    changed = [] if text == row.manifest else ["manifest"]
    changed += [word for word, digest in expected.items() if found.get(word) != digest]
    if study_digest(study.manifest) != mapping["study_sha256"]:
        changed.append("study of the workspace")
    if changed:
        raise WorkspaceError(
            "Changed packet",
            f"{path} is not as it was made: other {', '.join(changed)}. Nothing was merged.",
            "Ask for the packet as the program left it, or make another: workbench packet make --again",
        )
    places = {
        key: (item_id, phase)
        for key, item_id, phase in cursor.execute(
            f"SELECT id, item_id, phase FROM {OTHER}.assignment"
        ).fetchall()
    }
    assigned = {
        given[one.id]: Assigned(
            one.id,
            one.item_id,
            one.phase,
            (one.kind, one.external_id, one.content_hash),
            one.shows_agents,
            *places[given[one.id]],
        )
        for one in rows
        if one.id in given
    }
    return ArrivedPacket(path, fact, row, study, member, kind, assigned), mapping


def _fact(cursor: duckdb.DuckDBPyConnection, path: Path) -> tuple[str, PacketFact]:
    row = cursor.execute(SELECT_FACT.replace("FROM ", f"FROM {OTHER}.")).fetchone()
    try:
        if row is not None:
            return row[0], PacketFact.from_json(row[0])
    except ValueError:
        pass
    raise WorkspaceError(
        "Not a packet",
        f"{path} is a workspace, but no packet. Nothing was merged.",
        "What agents did in a copy comes back by: workbench merge WORKSPACE COPY",
    )


def _is_late(connection: Connection, packet: Row[Any]) -> bool:
    """Return whether its rater has a later packet since, which shows what others said of the same items.

    From then on nobody can tell what of the first one was judged before.
    """
    made, assignment = table_of(Packet), table_of(Assignment)
    later = connection.execute(
        select(made.c.mapping).where(
            made.c.study_id == packet.study_id,
            made.c.rater_id == packet.rater_id,
            made.c.made_at > packet.made_at,
        )
    ).scalars()
    keys = {UUID(real) for mapping in later for _, real in json.loads(mapping)["assignments"]}
    phases = set(
        connection.execute(
            select(assignment.c.phase).where(
                assignment.c.study_id == packet.study_id,
                assignment.c.rater_id == packet.rater_id,
                among(assignment.c.id, sorted(keys)),
            )
        ).scalars()
    )
    return not phases.isdisjoint((REVEAL, DISCUSS))


class _Fault(Exception):
    """A record that cannot be taken; the message says why, as "is of another rater"."""


class _Records:
    """The records of a packet, checked and brought under the ids of the workspace.

    Args:
        cursor: A cursor of the workspace, to which the packet is attached.
        workspace: The workspace.
        arrived: The packet, whose records are filled in.
        mapping: The mapping of its ids.
    """

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        workspace: Workspace,
        arrived: ArrivedPacket,
        mapping: Mapping[str, Any],
    ) -> None:
        self._cursor, self._workspace, self._arrived = cursor, workspace, arrived
        self._by_place = {one.place: one for one in arrived.assigned.values()}
        self._responses: dict[int, int] = dict(mapping["responses"])
        self._verdicts = {UUID(key): UUID(real) for key, real in mapping["verdicts"]}
        self._executions = {UUID(key): UUID(real) for key, real in mapping["executions"]}
        self._guidelines = dict(
            cursor.execute(
                f"SELECT id, version FROM {OTHER}.guideline WHERE task_kind = ?", [arrived.kind.name]
            ).fetchall()
        )
        # What the packet shows of an item, by the item's place.
        self._shown: dict[UUID, int] = dict(
            cursor.execute(
                f"SELECT id, item_id FROM {OTHER}.verdict UNION ALL SELECT id, item_id FROM {OTHER}.execution"
            ).fetchall()
        )
        names = dict(cursor.execute(f"SELECT id, name FROM {OTHER}.question").fetchall())
        question = table_of(Question)
        with workspace.reading() as connection:
            here = {
                row.name: (row.id, Scale.from_json(row.scale))
                for row in connection.execute(
                    select(question).where(question.c.task_kind == arrived.kind.name)
                )
            }
        self._questions = {key: here[name] for key, name in names.items() if name in here}
        self._of_responses = {
            key for key, name in names.items() if (spec := question_named(name)) and spec.of_responses
        }
        self._answered: dict[int, int] = dict(
            cursor.execute(f"SELECT id, item_id FROM {OTHER}.response_ref").fetchall()
        )
        self._actions: set[UUID] = set()

    def read(self) -> None:
        """Fill in the records of the packet, and those that are left out."""
        arrived = self._arrived
        for outcome in self._rows(
            f"SELECT o.* FROM {OTHER}.test_outcome o JOIN {OTHER}.execution e ON e.id = o.execution_id "
            "WHERE e.step_id IS NULL ORDER BY o.execution_id, o.position"
        ):
            with self._taken(outcome, "execution_id"):
                row = _model(TestOutcomeRow, outcome)
                arrived.outcomes.setdefault(row.execution_id, []).append(row)
        # The runs before what cites them.
        for row in self._rows(f"SELECT * {_TIMES} FROM {OTHER}.execution WHERE step_id IS NULL ORDER BY id"):
            with self._taken(row):
                arrived.records.append(self._run(_model(Execution, row)))
        self._executions |= {record.id: record.id for record in arrived.records}
        for row in self._rows(f"SELECT * {_TIMES} FROM {OTHER}.judgment ORDER BY id"):
            with self._taken(row):
                arrived.records.append(self._judgment(_model(Judgment, row)))
        for row in self._rows(f"SELECT * {_TIMES} FROM {OTHER}.mark ORDER BY id"):
            with self._taken(row):
                arrived.records.append(self._mark(_model(Mark, row)))
        self._leave_out()
        self._consent()

    @contextmanager
    def _taken(self, row: Mapping[str, Any], key: str = "id") -> Iterator[None]:
        """Keep why a record is left out, and of which action it was."""
        try:
            yield
        except _Fault as fault:
            self._arrived.left_out.setdefault(row[key], str(fault))
            self._actions.update(filter(None, [row.get("action")]))

    def _leave_out(self) -> None:
        """Leave out what cannot be taken for what is in other records, or in the workspace."""
        arrived = self._arrived
        faults = dict(arrived.left_out)
        counts = Counter(record.id for record in arrived.records)
        faults |= {number: "has the id of another record" for number, count in counts.items() if count > 1}
        with self._workspace.reading() as connection:
            known = stored_records(connection, arrived.records)
            if _is_late(connection, arrived.row):
                faults |= {one.id: LATE for one in arrived.records if one.id not in known}
            others = _actions_of_others(connection, arrived)
        faults |= {
            one.id: "has the action of another rater"
            for one in arrived.records
            if not isinstance(one, Execution) and not others.isdisjoint((one.action, one.target_action))
        }
        fresh = [one for one in arrived.records if one.id not in known]
        arrived.left_out = with_followers(fresh, faults, self._actions)
        arrived.records = [one for one in arrived.records if one.id not in arrived.left_out]

    def _consent(self) -> None:
        """Take over what the rater said of themselves."""
        arrived = self._arrived
        (member,) = self._rows(f"SELECT * {_SAID} FROM {OTHER}.study_rater")
        ours, wanted = arrived.member, arrived.study.protocol.consent_version
        at, experience = member["consented_at"], member["experience"]
        agreed = member["consent_version"] == wanted != ours.consent_version
        if wanted and agreed and at is not None and not time_fault(at):
            arrived.consent |= {"consent_version": wanted, "consented_at": at}
        if experience and experience != ours.experience and name_fault(experience) is None:
            arrived.consent["experience"] = experience
        if ours.withdrawn_at is None and member["withdrawn_at"] is not None:
            arrived.consent["withdrawn_at"] = now()

    def _rows(self, statement: str) -> list[dict[str, Any]]:
        found = self._cursor.execute(statement)
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def _check(
        self, record: Record, scale: Scale | None = None, outcomes: Sequence[TestOutcomeRow] = ()
    ) -> None:
        """Refuse a record that is not the rater's, or that no program of ours would have written."""
        if record.rater_id != RATER:
            raise _Fault("is of another rater")
        if fault := record_fault(record, self._arrived.kind.name, scale, outcomes):
            raise _Fault(fault)

    def _assigned(self, record: Judgment | Mark) -> Assigned:
        """Return the assignment of a record, which must be the packet's."""
        under = self._arrived.assigned.get(record.assignment_id) if record.assignment_id else None
        if under is None or (record.item_id, record.phase) != (under.place, under.packet_phase):
            raise _Fault("is under no assignment of the packet")
        if record.origin not in _ORIGINS:
            raise _Fault(f"is of the origin {record.origin!r}")
        return under

    def _judgment(self, record: Judgment) -> Judgment:
        question_id, scale = self._questions.get(record.question_id, (None, None))
        self._check(record, scale)
        under = self._assigned(record)
        if not under.shows_agents and (
            not record.blind or record.origin in ("accept", "override") or record.shown_verdict
        ):
            raise _Fault("says that it was given in sight of what its condition hides")
        if record.guideline_id is not None:
            version = self._guidelines.get(record.guideline_id)
            if version is None or name_fault(version):
                raise _Fault("names a guideline that the packet does not have")
            self._arrived.guidelines[record.id] = version
        return record.model_copy(
            update={
                "item_id": under.item_id,
                "question_id": question_id,
                "rater_id": self._arrived.member.rater.id,
                "assignment_id": under.id,
                "phase": under.phase,
                "response_ref_id": self._response(record, under),
                "shown_verdict": self._shown_one(self._verdicts, record.shown_verdict, under, "verdict"),
                "shown_execution": self._shown_one(
                    self._executions, record.shown_execution, under, "execution"
                ),
                "guideline_id": None,
                "evidence": self._evidence(record.evidence),
            }
        )

    def _mark(self, record: Mark) -> Mark:
        self._check(record)
        if record.kind.startswith(REVISION):
            raise _Fault("revises a text, which nobody does in a packet")
        under = self._assigned(record)
        return record.model_copy(
            update={
                "item_id": under.item_id,
                "rater_id": self._arrived.member.rater.id,
                "assignment_id": under.id,
                "phase": under.phase,
            }
        )

    def _run(self, record: Execution) -> Execution:
        self._check(record, outcomes=self._arrived.outcomes.get(record.id, ()))
        if record.id in self._arrived.left_out:
            raise _Fault(self._arrived.left_out[record.id])
        under = self._by_place.get(record.item_id)
        if under is None:
            raise _Fault("is of no item of the packet")
        ours: dict[str, Any] = {"item_id": under.item_id, "rater_id": self._arrived.member.rater.id}
        if record.assignment_id is not None:
            # An item of a packet has one assignment.
            ours["assignment_id"] = under.id
        return record.model_copy(update=ours)

    def _response(self, record: Judgment, under: Assigned) -> int | None:
        """Return the response here that a judgment is about: one of its item, where one can be asked of."""
        key = record.response_ref_id
        if key is not None and record.question_id not in self._of_responses:
            raise _Fault("says of a response what is asked of the item")
        if key is not None and self._answered.get(key) != under.place:
            raise _Fault("names a response that is not of its item")
        found: int | None = _known(self._responses, key, "response")
        return found

    def _shown_one(self, known: Mapping[UUID, UUID], key: UUID | None, under: Assigned, word: str) -> Any:
        """Return the id here of a verdict or an execution that the packet shows with an item."""
        if key is not None and self._shown.get(key) != under.place:
            raise _Fault(f"names {_article(word)} that the packet does not show with its item")
        return _known(known, key, word)

    def _evidence(self, evidence: str) -> str:
        """Return evidence that names executions by their ids in the workspace."""
        citations = citations_of(evidence)
        if not any(one.execution in self._executions for one in citations):
            return evidence
        return as_json(
            one
            if one.execution is None
            else replace(one, execution=self._executions.get(one.execution, one.execution))
            for one in citations
        )


def _model(model: type[Any], row: Mapping[str, Any]) -> Any:
    try:
        return model.model_validate(dict(row))
    except ValidationError as error:
        raise _Fault("cannot be read") from error


def _known(known: Mapping[Any, Any], key: Any, word: str) -> Any:
    if key is None:
        return None
    if key not in known:
        raise _Fault(f"names {_article(word)} that the packet does not have")
    return known[key]


def _article(word: str) -> str:
    return f"{'an' if word.startswith('e') else 'a'} {word}"


def stored_records(connection: Connection, records: Sequence[Record]) -> dict[UUID, Record]:
    """Return those of some records that are here already, as they are here."""
    found: dict[UUID, Record] = {}
    for model, table in TABLES.items():
        ids = [record.id for record in records if isinstance(record, model)]
        for start in range(0, len(ids), LOOKED_UP):
            wanted = select(table).where(among(table.c.id, ids[start : start + LOOKED_UP]))
            for row in connection.execute(wanted).mappings():
                found[row["id"]] = model.model_validate(dict(row))
    return found


def _actions_of_others(connection: Connection, arrived: ArrivedPacket) -> set[UUID]:
    """Return the actions that a packet's records name, but that others than its rater made here."""
    records = [one for one in arrived.records if not isinstance(one, Execution)]
    named = sorted({key for one in records for key in (one.action, one.target_action) if key is not None})
    found: set[UUID] = set()
    for model in (Judgment, Mark):
        table = TABLES[model]
        for start in range(0, len(named), LOOKED_UP):
            found |= set(
                connection.execute(
                    select(table.c.action).where(
                        among(table.c.action, named[start : start + LOOKED_UP]),
                        table.c.rater_id != arrived.member.rater.id,
                    )
                ).scalars()
            )
    return found
