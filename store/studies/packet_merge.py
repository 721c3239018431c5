"""Merges packets: what a rater recorded in them comes back under the ids, phases and names of the workspace.

All packets of a call are checked before anything is written, and all are written in one transaction. Records
keep their UUIDs, so that merging again adds nothing, and partial work can be merged as it goes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import duckdb
from pydantic import ValidationError
from sqlalchemy import Connection, Row, Table, select, update

from store.errors import JudgmentRefused, WorkspaceError
from store.events import Progress, Report, silent
from store.formatting import pluralize
from store.kinds.spec import TaskKind, task_kinds
from store.record.actions import journal_line, late_study
from store.record.evidence import BadEvidence, as_json, citations_of
from store.record.expert_runs import add_execution
from store.record.expert_runs import journal_line as run_line
from store.record.ids import is_ordered, now
from store.record.raters import guideline_number
from store.record.response_names import ResponseName, question_name
from store.record.revisions import REVISION, refused_mark
from store.record.scales import Scale
from store.record.supersession import ItemRecords
from store.studies.packet_contents import digests
from store.studies.packet_writer import RATER, study_digest
from store.studies.packets import undecided
from store.studies.studies import StudyDetails, StudyMember, find_study
from store.tables.appending import append_rows
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.people import Assignment, Guideline, Packet, Question, Study, StudyRater
from store.tables.record import MARK_KINDS, Judgment, JudgmentRow, Mark, MarkRow
from store.tables.responses import ResponseRef
from store.tables.runs import Execution, ExecutionRow, TestOutcomeRow
from store.workspace.attaching import OTHER, attached
from store.workspace.connecting import refusal
from store.workspace.duckdb import Workspace
from store.workspace.journal import Journal, journal_path
from store.workspace.packet_fact import SELECT_FACT, PacketFact, refuse_packet

_SHOWN = 5
_BATCH = 5_000
_ORIGINS = frozenset({"independent", "accept", "override", "withdraw", "undo", "redo"})

Record = Judgment | Mark | Execution
_TABLES: dict[type[Judgment | Mark | Execution], Table] = {
    Judgment: table_of(JudgmentRow),
    Mark: table_of(MarkRow),
    Execution: table_of(ExecutionRow),
}


@dataclass(frozen=True, slots=True)
class PacketReport:
    """The result of merging a packet.

    Attributes:
        packet: The file.
        id: Its key.
        study: The name of the study.
        rater: The rater's name.
        reveal: Whether it is the packet of the reveal.
        dry_run: Whether nothing was to be written.
        judgments: Judgments that were new.
        marks: Marks that were new.
        expert_runs: Tests that the rater ran that were new.
        known: Records that were here already.
        consent: Whether the rater's consent or experience was new.
        also_judged: Items of the packet that the rater also decided elsewhere, under the same assignment; the
            later decision counts.
        left: Items of the rater's whole list that are not decided now; None in a dry run.
    """

    packet: str
    id: UUID
    study: str
    rater: str
    reveal: bool
    dry_run: bool
    judgments: int
    marks: int
    expert_runs: int
    known: int
    consent: bool
    also_judged: tuple[str, ...]
    left: int | None = None

    @property
    def adds(self) -> bool:
        """Whether anything is new."""
        return bool(self.judgments or self.marks or self.expert_runs or self.consent)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON."""
        return asdict(self)


class _Assigned(NamedTuple):
    """What an assignment of a packet stands for, and what the packet says of it."""

    id: UUID
    item_id: int
    phase: str
    item: tuple[str, str, str]
    place: int
    packet_phase: str


@dataclass(slots=True)
class _Arrived:
    """A packet that was checked, with its records under the ids of the workspace."""

    path: Path
    fact: PacketFact
    row: Row[Any]
    study: StudyDetails
    member: StudyMember
    kind: TaskKind
    assigned: Mapping[UUID, _Assigned]
    records: list[Record] = field(default_factory=list)
    outcomes: dict[UUID, list[TestOutcomeRow]] = field(default_factory=dict)
    guidelines: dict[UUID, str] = field(default_factory=dict)
    consent: dict[str, Any] = field(default_factory=dict)


def merge_packets(
    workspace: Workspace,
    paths: Sequence[Path | str],
    *,
    dry_run: bool = False,
    progress: Report | None = None,
) -> list[PacketReport]:
    """Bring back what raters recorded in their packets: all packets, or none.

    The packets are only read. They must be as they were made: only records of the packet's rater, on its
    assignments, may have come to them. A label that somebody else gave in the rater's name is not noticed.

    Args:
        workspace: The workspace that the packets were made of, open.
        paths: The packets.
        dry_run: Whether to do everything but write.
        progress: Receives the progress, in this thread; an exception from it ends the merge unwritten.

    Returns:
        What was added, for each packet.

    Raises:
        WorkspaceError: A file is no packet of this workspace, or another one than was made, or cannot be
            read; nothing was merged.
        WorkspaceLocked: Another process holds a packet, or this one does.
        WorkspaceTooNew: A newer version of the program wrote a packet.
    """
    refuse_packet(workspace, "Packets are merged")
    report = progress or silent
    arrived = []
    for done, path in enumerate(paths):
        report(Progress("checking the packets", done, len(paths)))
        arrived.append(_Reading(workspace, Path(path)).read())
    report(Progress("merging", 0, None))
    if dry_run:
        with workspace.reading() as connection:
            return _merge(connection, arrived, None)
    journal = Journal(journal_path(workspace.path))
    reports = workspace.lane.submit(
        lambda connection: _merge(connection, arrived, journal), urgent=True
    ).result()
    for one in arrived:
        for record in one.records:
            workspace.ids.raise_floor(record.id)
            if not isinstance(record, Execution):
                workspace.ids.raise_floor(record.action)
    return reports


class _Reading:
    """Reads and checks a packet.

    Args:
        workspace: The workspace.
        path: The packet.
    """

    def __init__(self, workspace: Workspace, path: Path) -> None:
        self._workspace = workspace
        self._path = path.resolve() if path.is_symlink() else path

    def read(self) -> _Arrived:
        """Return the packet's records under the ids of the workspace.

        Raises:
            WorkspaceError: It is refused.
        """
        cursor = self._workspace.native()
        try:
            with attached(self._workspace, cursor, self._path, "packet"):
                arrived, mapping = self._check(cursor)
                _Records(cursor, self._workspace, arrived, mapping).read()
                return arrived
        except duckdb.Error as error:
            raise refusal(self._path, error) from error
        finally:
            cursor.close()

    def _check(self, cursor: duckdb.DuckDBPyConnection) -> tuple[_Arrived, dict[str, Any]]:
        """Return the packet without its records, and the mapping of its ids."""
        text, fact = self._fact(cursor)
        packet, assignment, item = table_of(Packet), table_of(Assignment), table_of(Item)
        with self._workspace.reading() as connection:
            row = connection.execute(select(packet).where(packet.c.id == fact.id)).first()
            if row is None:
                raise WorkspaceError(
                    "Packet of another workspace",
                    f"{self._path} is a packet of {fact.study} for {fact.rater} that was not made of "
                    f"{self._workspace.path.name}. Nothing was merged.",
                    "Name the workspace in which the packet was made.",
                )
            names = select(table_of(Study).c.name).where(table_of(Study).c.id == row.study_id)
            study = find_study(connection, str(connection.execute(names).scalar_one()))
            member = next(one for one in study.members if one.rater.id == row.rater_id)
            mapping = json.loads(row.mapping)
            given = {UUID(real): UUID(key) for key, real in mapping["assignments"]}
            rows = connection.execute(
                select(assignment, item.c.kind, item.c.external_id, item.c.content_hash)
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
                f"{self._path} is not as it was made: other {', '.join(changed)}. Nothing was merged.",
                "Ask for the packet as the program left it, or make another: workbench packet make --again",
            )
        places = {
            key: (item_id, phase)
            for key, item_id, phase in cursor.execute(
                f"SELECT id, item_id, phase FROM {OTHER}.assignment"
            ).fetchall()
        }
        assigned = {
            given[one.id]: _Assigned(
                one.id,
                one.item_id,
                one.phase,
                (one.kind, one.external_id, one.content_hash),
                *places[given[one.id]],
            )
            for one in rows
            if one.id in given
        }
        return _Arrived(self._path, fact, row, study, member, kind, assigned), mapping

    def _fact(self, cursor: duckdb.DuckDBPyConnection) -> tuple[str, PacketFact]:
        row = cursor.execute(SELECT_FACT.replace("FROM ", f"FROM {OTHER}.")).fetchone()
        try:
            if row is not None:
                return row[0], PacketFact.from_json(row[0])
        except ValueError:
            pass
        raise WorkspaceError(
            "Not a packet",
            f"{self._path} is a workspace, but no packet. Nothing was merged.",
            "What agents did in a copy comes back by: workbench merge WORKSPACE COPY",
        )


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
        arrived: _Arrived,
        mapping: Mapping[str, Any],
    ) -> None:
        self._cursor, self._arrived = cursor, arrived
        self._by_place = {one.place: one for one in arrived.assigned.values()}
        self._responses: dict[int, int] = dict(mapping["responses"])
        self._verdicts = {UUID(key): UUID(real) for key, real in mapping["verdicts"]}
        self._executions = {UUID(key): UUID(real) for key, real in mapping["executions"]}
        self._guidelines = dict(
            cursor.execute(
                f"SELECT id, version FROM {OTHER}.guideline WHERE task_kind = ?", [arrived.kind.name]
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

    def read(self) -> None:
        """Fill in the records of the packet.

        Raises:
            WorkspaceError: One of them is not the packet's.
        """
        arrived = self._arrived
        for outcome in self._rows(
            f"SELECT o.* FROM {OTHER}.test_outcome o JOIN {OTHER}.execution e ON e.id = o.execution_id "
            "WHERE e.step_id IS NULL ORDER BY o.execution_id, o.position"
        ):
            row = self._model(TestOutcomeRow, outcome)
            arrived.outcomes.setdefault(row.execution_id, []).append(row)
        # The runs before what cites them.
        runs = self._rows(f"SELECT * FROM {OTHER}.execution WHERE step_id IS NULL ORDER BY id")
        arrived.records += [self._run(self._model(Execution, row)) for row in runs]
        self._executions |= {record.id: record.id for record in arrived.records}
        for row in self._rows(f"SELECT * FROM {OTHER}.judgment ORDER BY id"):
            arrived.records.append(self._judgment(self._model(Judgment, row)))
        for row in self._rows(f"SELECT * FROM {OTHER}.mark ORDER BY id"):
            arrived.records.append(self._mark(self._model(Mark, row)))
        (member,) = self._rows(f"SELECT * FROM {OTHER}.study_rater")
        ours, wanted = arrived.member, arrived.study.protocol.consent_version
        if wanted and member["consent_version"] == wanted != ours.consent_version:
            arrived.consent |= {name: member[name] for name in ("consent_version", "consented_at")}
        if member["experience"] and member["experience"] != ours.experience:
            arrived.consent["experience"] = member["experience"]

    def _rows(self, statement: str) -> list[dict[str, Any]]:
        found = self._cursor.execute(statement)
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def _model(self, model: type[Any], row: Mapping[str, Any]) -> Any:
        try:
            return model.model_validate(dict(row))
        except ValidationError as error:
            raise self._refused(row.get("id"), "cannot be read") from error

    def _refused(self, key: object, why: str) -> WorkspaceError:
        return WorkspaceError(
            "Records are not the packet's",
            f"{self._arrived.path}: the record {key} {why}. Nothing was merged.",
            f"Only what {self._arrived.fact.rater} recorded in the packet can be merged.",
        )

    def _check(self, record: Record, ids: Iterable[UUID | None]) -> None:
        if record.rater_id != RATER:
            raise self._refused(record.id, "is of another rater")
        if not all(is_ordered(one) for one in ids if one is not None):
            raise self._refused(record.id, "has an id that is no UUID of version 7")

    def _assigned(self, record: Judgment | Mark) -> _Assigned:
        """Return the assignment of a record, which must be the packet's."""
        self._check(
            record, (record.id, record.action, record.supersedes, record.target_action, record.restores)
        )
        under = self._arrived.assigned.get(record.assignment_id) if record.assignment_id else None
        if under is None or (record.item_id, record.phase) != (under.place, under.packet_phase):
            raise self._refused(record.id, "is under no assignment of the packet")
        if record.origin not in _ORIGINS:
            raise self._refused(record.id, f"is of the origin {record.origin!r}")
        return under

    def _judgment(self, record: Judgment) -> Judgment:
        under = self._assigned(record)
        question_id, scale = self._questions.get(record.question_id, (None, None))
        if question_id is None or scale is None:
            raise self._refused(record.id, "answers no question of the study")
        try:
            if record.value is not None:
                scale.check(record.value)
            evidence = self._evidence(record.evidence)
        except JudgmentRefused as refused:
            raise self._refused(record.id, f"is off the scale: {refused.message}") from refused
        except BadEvidence as bad:
            raise self._refused(record.id, f"has no evidence that can be read: {bad}") from bad
        if record.guideline_id is not None:
            version = self._guidelines.get(record.guideline_id)
            if version is None:
                raise self._refused(record.id, "names a guideline that the packet does not have")
            self._arrived.guidelines[record.id] = version
        return record.model_copy(
            update={
                "item_id": under.item_id,
                "question_id": question_id,
                "rater_id": self._arrived.member.rater.id,
                "assignment_id": under.id,
                "phase": under.phase,
                "response_ref_id": self._known(record, self._responses, record.response_ref_id, "response"),
                "shown_verdict": self._known(record, self._verdicts, record.shown_verdict, "verdict"),
                "shown_execution": self._known(record, self._executions, record.shown_execution, "execution"),
                "guideline_id": None,
                "evidence": evidence,
            }
        )

    def _mark(self, record: Mark) -> Mark:
        under = self._assigned(record)
        if record.kind.startswith(REVISION):
            why = refused_mark(self._arrived.kind.name, record.kind, record.text) if record.active else ""
            if why:
                raise self._refused(record.id, f"is no revision: {why}")
        elif record.kind not in MARK_KINDS:
            raise self._refused(record.id, f"is an unknown mark {record.kind!r}")
        return record.model_copy(
            update={
                "item_id": under.item_id,
                "rater_id": self._arrived.member.rater.id,
                "assignment_id": under.id,
                "phase": under.phase,
            }
        )

    def _run(self, record: Execution) -> Execution:
        self._check(record, (record.id,))
        under = self._by_place.get(record.item_id)
        if under is None:
            raise self._refused(record.id, "is of no item of the packet")
        ours: dict[str, Any] = {"item_id": under.item_id, "rater_id": self._arrived.member.rater.id}
        if getattr(record, "assignment_id", None) is not None:
            # An item of a packet has one assignment.
            ours["assignment_id"] = under.id
        return record.model_copy(update=ours)

    def _known(self, record: Judgment, known: Mapping[Any, Any], key: Any, word: str) -> Any:
        if key is None:
            return None
        if key not in known:
            raise self._refused(record.id, f"names a {word} that the packet does not have")
        return known[key]

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


def _merge(
    connection: Connection, arrived: Sequence[_Arrived], journal: Journal | None
) -> list[PacketReport]:
    """Write what is new of some packets and report it; without a journal nothing is written."""
    reports: list[PacketReport] = []
    lines: list[dict[str, Any]] = []
    before: dict[UUID, Record] = {}
    for one in arrived:
        records = _with_guidelines(connection, one, write=journal is not None)
        stored = before | _stored(connection, records)
        differing = [record.id for record in records if stored.get(record.id, record) != record]
        if differing:
            raise _differ(one, differing)
        fresh = [record for record in records if record.id not in stored]
        before |= {record.id: record for record in fresh}
        twice = _decided_elsewhere(connection, records)
        report = PacketReport(
            packet=str(one.path),
            id=one.fact.id,
            study=one.study.name,
            rater=one.member.rater.name,
            reveal=one.row.reveal,
            dry_run=journal is None,
            judgments=sum(isinstance(record, Judgment) for record in fresh),
            marks=sum(isinstance(record, Mark) for record in fresh),
            expert_runs=sum(isinstance(record, Execution) for record in fresh),
            known=len(records) - len(fresh),
            consent=bool(one.consent),
            also_judged=tuple(sorted(set(twice.values()))),
        )
        if journal is not None:
            _write(connection, one, fresh)
            further = _reconciled(connection, twice)
            _append(connection, further)
            lines += _journal_lines(connection, one, [*fresh, *further])
            report = replace(report, left=len(undecided(connection, one.study, one.member)))
        reports.append(report)
    if journal is not None and lines:
        # Last, so that what was not written is not in it.
        journal.append(lines)
    return reports


def _with_guidelines(connection: Connection, arrived: _Arrived, *, write: bool) -> list[Record]:
    """Return the records of a packet with the keys of the guidelines; a new version is stored on a write."""
    guideline, kind = table_of(Guideline), arrived.kind.name
    if write:
        for version in sorted(set(arrived.guidelines.values())):
            guideline_number(connection, kind, version)
    keys = dict(
        connection.execute(
            select(guideline.c.version, guideline.c.id).where(guideline.c.task_kind == kind)
        ).all()
    )
    return [
        record.model_copy(update={"guideline_id": keys.get(arrived.guidelines[record.id])})
        if record.id in arrived.guidelines
        else record
        for record in arrived.records
    ]


def _stored(connection: Connection, records: Sequence[Record]) -> dict[UUID, Record]:
    """Return those of some records that are here already, as they are here."""
    found: dict[UUID, Record] = {}
    for model, table in _TABLES.items():
        ids = [record.id for record in records if isinstance(record, model)]
        for start in range(0, len(ids), _BATCH):
            wanted = select(table).where(among(table.c.id, ids[start : start + _BATCH]))
            for row in connection.execute(wanted).mappings():
                found[row["id"]] = model.model_validate(dict(row))
    return found


def _differ(arrived: _Arrived, ids: Sequence[UUID]) -> WorkspaceError:
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    return WorkspaceError(
        "Conflicting records",
        f"{pluralize(len(ids), 'record')} of {arrived.path} came before with other content: "
        f"{', '.join(map(str, ids[:_SHOWN]))}{more}. Nothing was merged.",
        "Records never change, so the packet was changed by another program. Ask for another copy of it.",
    )


def _decided_elsewhere(connection: Connection, records: Sequence[Record]) -> dict[UUID, str]:
    """Return the items that were decided under a packet's assignments outside it, too, by the assignment."""
    item = table_of(Item)
    own = [record for record in records if not isinstance(record, Execution) and _decides(record)]
    ids = {record.id for record in records}
    keys = sorted({record.assignment_id for record in own if record.assignment_id is not None})
    found: dict[UUID, str] = {}
    for model in (Judgment, Mark):
        table = _TABLES[model]
        for start in range(0, len(keys), _BATCH):
            rows = connection.execute(
                select(table, item.c.external_id)
                .join(item, item.c.id == table.c.item_id)
                .where(among(table.c.assignment_id, keys[start : start + _BATCH]))
            ).mappings()
            found |= {
                row["assignment_id"]: row["external_id"]
                for row in rows
                if row["id"] not in ids and _decides(model.model_validate(dict(row)))
            }
    return found


def _decides(record: Judgment | Mark) -> bool:
    """Return whether a record is a label, or says that there is none."""
    return isinstance(record, Judgment) or record.kind in ("cannot_decide", "skip")


def _reconciled(connection: Connection, assignments: Iterable[UUID]) -> list[Judgment | Mark]:
    """Return the records that follow where a rater decided in a packet and elsewhere, as in one workspace."""
    found: list[Judgment | Mark] = []
    for key in assignments:
        known = ItemRecords(
            model(**row)
            for model in (Judgment, Mark)
            for row in connection.execute(
                select(_TABLES[model]).where(_TABLES[model].c.assignment_id == key)
            ).mappings()
        )
        found += known.reconcile()
    return found


def _append(connection: Connection, records: Sequence[Record]) -> None:
    """Append judgments and marks."""
    for model in (Judgment, Mark):
        rows = [record.model_dump() for record in records if isinstance(record, model)]
        append_rows(connection, _TABLES[model], rows)


def _write(connection: Connection, arrived: _Arrived, fresh: Sequence[Record]) -> None:
    _append(connection, fresh)
    for record in fresh:
        if isinstance(record, Execution):
            add_execution(connection, record, arrived.outcomes.get(record.id, ()))
    packet, member = table_of(Packet), table_of(StudyRater)
    connection.execute(update(packet).where(packet.c.id == arrived.fact.id).values(merged_at=now()))
    if arrived.consent:
        own = (member.c.study_id == arrived.study.id) & (member.c.rater_id == arrived.member.rater.id)
        connection.execute(update(member).where(own).values(**arrived.consent))


def _journal_lines(
    connection: Connection, arrived: _Arrived, fresh: Sequence[Record]
) -> list[dict[str, Any]]:
    """Return the lines of records, as the recorder writes them."""
    ref, question = table_of(ResponseRef), table_of(Question)
    items = {one.item_id: one.item for one in arrived.assigned.values()}
    names = dict(connection.execute(select(question.c.id, question.c.name)).all())
    guideline = table_of(Guideline)
    versions = dict(connection.execute(select(guideline.c.id, guideline.c.version)).all())
    asked_of = {record.response_ref_id for record in fresh if isinstance(record, Judgment)}
    keys = sorted(key for key in asked_of if key is not None)
    responses: dict[int | None, ResponseName | None] = {None: None}
    for start in range(0, len(keys), _BATCH):
        rows = connection.execute(select(ref).where(among(ref.c.id, keys[start : start + _BATCH])))
        responses |= {row.id: ResponseName(row.model, row.setting, row.trial) for row in rows}
    rater = arrived.member.rater.name
    lines = []
    for record in fresh:
        item = items[record.item_id]
        if isinstance(record, Execution):
            lines.append(run_line(rater, item, record, arrived.outcomes.get(record.id, ())))
        elif isinstance(record, Mark):
            lines.append(journal_line(record, rater, item, under=late_study(connection, record)))
        else:
            asked = question_name(names[record.question_id], responses[record.response_ref_id])
            version = versions.get(record.guideline_id)
            under = late_study(connection, record)
            lines.append(journal_line(record, rater, item, asked, version, under=under))
    return lines
