"""Merges packets: what a rater recorded in them comes back under the ids, phases and names of the workspace.

Records keep their UUIDs, so that merging again adds nothing, partial work can be merged as it goes on, and a
merge that was ended on the way is finished by the next one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, select, update

from store.errors import WorkspaceError
from store.events import Progress, ReportProgress, silent
from store.formatting import pluralize
from store.policy.refusal import refuse_packet
from store.record.actions import journal_line, late_study
from store.record.checking import Record
from store.record.expert_runs import add_execution
from store.record.expert_runs import journal_line as run_line
from store.record.ids import now
from store.record.raters import guideline_number
from store.record.response_names import ResponseName, question_name
from store.record.supersession import ItemRecords
from store.studies.packet_records import LOOKED_UP, TABLES, ArrivedPacket, read_packet, stored_records
from store.studies.packets import undecided
from store.tables.appending import append_rows
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.people import Guideline, Packet, Question, StudyRater
from store.tables.record import Judgment, Mark
from store.tables.responses import ResponseRef
from store.tables.runs import Execution
from store.workspace.duckdb import Workspace
from store.workspace.journal import Journal, journal_path, member_line

_SHOWN = 5
_TOGETHER = 50
"""Records that are written at a time: those who judge meanwhile wait for no longer than for other writes."""


@dataclass(frozen=True, slots=True)
class PacketReport:
    """The result of merging a packet.

    Attributes:
        packet: The file.
        reveal: Whether it is the packet of the reveal.
        dry_run: Whether nothing was to be written.
        judgments: Judgments that were new.
        marks: Marks that were new.
        expert_runs: Tests that the rater ran that were new.
        known: Records that were here already.
        consent: Whether the rater's consent or experience was new.
        also_judged: Items of the packet that the rater also decided elsewhere, under the same assignment; the
            later decision counts.
        left_out: Why other records were not taken, by their ids; they stay in the file.
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
    left_out: Mapping[str, str] = field(default_factory=dict)
    left: int | None = None

    @property
    def adds(self) -> bool:
        """Whether anything is new."""
        return bool(self.judgments or self.marks or self.expert_runs or self.consent)


def merge_packet(
    workspace: Workspace, path: Path | str, *, dry_run: bool = False, progress: ReportProgress | None = None
) -> PacketReport:
    """Bring back what a rater recorded in a packet, some actions at a time.

    The packet is only read, and must be as it was made. Records that cannot be taken are left out, and named;
    all others come, under their own ids. Where a merge is ended on the way, the next one brings the rest. A
    label that somebody else gave in the rater's name is not noticed.

    Args:
        workspace: The workspace that the packet was made of, open.
        path: The packet.
        dry_run: Whether to do everything but write.
        progress: Receives the progress, in this thread; an exception from it ends the merge on the way.

    Returns:
        What was added, and what was left out.

    Raises:
        WorkspaceError: The file is no packet of this workspace, or not as it was made, or cannot be read;
            nothing was merged.
        WorkspaceLocked: Another process holds it, or this one does.
        WorkspaceTooNew: A newer version of the program wrote it.
    """
    refuse_packet(workspace, "Packets are merged")
    report = progress or silent
    report(Progress("checking the packet", 0, None))
    arrived = read_packet(workspace, Path(path))
    with workspace.reading() as connection:
        fresh = _fresh(connection, arrived)
        twice = _decided_elsewhere(connection, arrived.records)
    left = None
    if not dry_run:
        _write_all(workspace, arrived, fresh, [*twice], report)
        # Last, and in no transaction that keeps others from writing: it is most of the work.
        with workspace.reading() as connection:
            left = len(undecided(connection, arrived.study, arrived.member))
    return PacketReport(
        packet=str(arrived.path),
        id=arrived.fact.id,
        study=arrived.study.name,
        rater=arrived.member.rater.name,
        reveal=arrived.row.reveal,
        dry_run=dry_run,
        judgments=sum(isinstance(record, Judgment) for record in fresh),
        marks=sum(isinstance(record, Mark) for record in fresh),
        expert_runs=sum(isinstance(record, Execution) for record in fresh),
        known=len(arrived.records) - len(fresh),
        consent=bool(arrived.consent),
        also_judged=tuple(sorted(set(twice.values()))),
        left_out={str(number): why for number, why in sorted(arrived.left_out.items())},
        left=left,
    )


def _fresh(connection: Connection, arrived: ArrivedPacket) -> list[Record]:
    """Return the records that are not here yet.

    Raises:
        WorkspaceError: One is here with other content.
    """
    records = _superseding(connection, _with_guidelines(connection, arrived, arrived.records))
    stored = stored_records(connection, records)
    differing = [one.id for one in records if one.id in stored and not _is_same(stored[one.id], one)]
    if differing:
        raise _differ(arrived, differing)
    return [record for record in records if record.id not in stored]


def _is_same(stored: Record, arrived: Record) -> bool:
    if isinstance(stored, Execution) or isinstance(arrived, Execution):
        return stored == arrived
    # What a record supersedes follows from all that there are, and is another one where more have come.
    return stored == arrived.model_copy(update={"supersedes": stored.supersedes})


def _superseding(connection: Connection, records: Sequence[Record]) -> list[Record]:
    """Return the records with what each supersedes, among all of its assignment that are here or arrive."""
    keys = {one.assignment_id for one in records if not isinstance(one, Execution)}
    found = {one.id: one for one in _recorded_under(connection, sorted(filter(None, keys)))}
    found |= {one.id: one for one in records if not isinstance(one, Execution)}
    together: dict[UUID | None, list[Judgment | Mark]] = defaultdict(list)
    for one in found.values():
        together[one.assignment_id].append(one)
    known = {key: ItemRecords(of_key) for key, of_key in together.items()}
    return [
        one
        if isinstance(one, Execution)
        else one.model_copy(update={"supersedes": known[one.assignment_id].id_before(one)})
        for one in records
    ]


def _recorded_under(connection: Connection, assignments: Sequence[UUID]) -> list[Judgment | Mark]:
    """Return the judgments and marks under some assignments."""
    return [
        model(**row)
        for model in (Judgment, Mark)
        for start in range(0, len(assignments), LOOKED_UP)
        for row in connection.execute(
            select(TABLES[model]).where(
                among(TABLES[model].c.assignment_id, assignments[start : start + LOOKED_UP])
            )
        ).mappings()
    ]


def _with_guidelines(
    connection: Connection, arrived: ArrivedPacket, records: Sequence[Record]
) -> list[Record]:
    """Return records of a packet with the guideline's number here, None for an unknown version."""
    guideline = table_of(Guideline)
    keys = dict(
        connection.execute(
            select(guideline.c.version, guideline.c.id).where(guideline.c.task_kind == arrived.kind.name)
        ).all()
    )
    return [
        record.model_copy(update={"guideline_id": keys.get(arrived.guidelines[record.id])})
        if record.id in arrived.guidelines
        else record
        for record in records
    ]


def _differ(arrived: ArrivedPacket, ids: Sequence[UUID]) -> WorkspaceError:
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
        table = TABLES[model]
        for start in range(0, len(keys), LOOKED_UP):
            rows = connection.execute(
                select(table, item.c.external_id)
                .join(item, item.c.id == table.c.item_id)
                .where(among(table.c.assignment_id, keys[start : start + LOOKED_UP]))
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


# -- writing --------------------------------------------------------------------------------------------


def _write_all(
    workspace: Workspace,
    arrived: ArrivedPacket,
    fresh: list[Record],
    twice: list[UUID],
    report: ReportProgress,
) -> None:
    """Write what is new: each write is short, and goes behind those of a rater who judges here meanwhile."""
    journal = Journal(journal_path(workspace.path))
    versions = sorted({arrived.guidelines[one.id] for one in fresh if one.id in arrived.guidelines})

    def begin(connection: Connection) -> None:
        for version in versions:
            guideline_number(connection, arrived.kind.name, version)

    def write(records: Sequence[Record]) -> None:
        workspace.lane.submit(lambda connection: _write(connection, arrived, records, journal)).result()
        for one in records:
            workspace.ids.raise_floor(one.id)
            if not isinstance(one, Execution):
                workspace.ids.raise_floor(one.action)

    workspace.lane.submit(begin).result()
    parts = list(_parts(fresh))
    for done, part in enumerate(parts):
        report(Progress("merging", done * _TOGETHER, len(fresh)))
        write(part)
    for start in range(0, len(twice), _TOGETHER):
        with workspace.reading() as connection:
            further = _reconciled(connection, twice[start : start + _TOGETHER])
        write(further)
    workspace.lane.submit(lambda connection: _settle(connection, arrived, journal)).result()


def _parts(records: Sequence[Record]) -> Iterator[list[Record]]:
    """Yield records some at a time, those of an action together, and tests before what cites them."""
    actions: dict[UUID, list[Record]] = defaultdict(list)
    for one in records:
        actions[one.id if isinstance(one, Execution) else one.action].append(one)
    part: list[Record] = []
    for key in sorted(actions, key=lambda key: (not isinstance(actions[key][0], Execution), key)):
        part += actions[key]
        if len(part) >= _TOGETHER:
            yield part
            part = []
    if part:
        yield part


def _write(
    connection: Connection, arrived: ArrivedPacket, records: Sequence[Record], journal: Journal
) -> None:
    """Write some records that are new; their lines come last into the journal."""
    stored = stored_records(connection, records)
    fresh = _with_guidelines(connection, arrived, [one for one in records if one.id not in stored])
    for model in (Judgment, Mark):
        rows = [record.model_dump() for record in fresh if isinstance(record, model)]
        append_rows(connection, TABLES[model], rows)
    for record in fresh:
        if isinstance(record, Execution):
            add_execution(connection, record, arrived.outcomes.get(record.id, ()))
    if fresh:
        journal.append(_journal_lines(connection, arrived, fresh))


def _reconciled(connection: Connection, assignments: Sequence[UUID]) -> list[Judgment | Mark]:
    """Return the records that follow where a rater decided in a packet and elsewhere, as in one workspace."""
    known: dict[UUID | None, list[Judgment | Mark]] = defaultdict(list)
    for one in _recorded_under(connection, assignments):
        known[one.assignment_id].append(one)
    return [further for key in assignments for further in ItemRecords(known[key]).reconcile()]


def _settle(connection: Connection, arrived: ArrivedPacket, journal: Journal) -> None:
    """Remember that the packet was merged, and what its rater said of themselves."""
    packet, member = table_of(Packet), table_of(StudyRater)
    connection.execute(update(packet).where(packet.c.id == arrived.fact.id).values(merged_at=now()))
    if arrived.consent:
        own = (member.c.study_id == arrived.study.id) & (member.c.rater_id == arrived.member.rater.id)
        connection.execute(update(member).where(own).values(**arrived.consent))
        journal.append([member_line(arrived.study.name, arrived.member.rater.name, arrived.consent)])


def _journal_lines(
    connection: Connection, arrived: ArrivedPacket, fresh: Sequence[Record]
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
    for start in range(0, len(keys), LOOKED_UP):
        rows = connection.execute(select(ref).where(among(ref.c.id, keys[start : start + LOOKED_UP])))
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
