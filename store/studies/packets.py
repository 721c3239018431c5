"""Packets: a rater's part of a study as a workspace file of its own, with only what the rater may see.

A packet has fresh ids: those of items follow the rater's list, all others are random, and what they stand for
stays in the workspace. Each presentation of an item is an item of its own, so that a repeat looks like any
other; the phase of all that is no training and no reveal is `label`. Of the agents' work a packet holds what
the condition of an item shows, of the run whose labels are shown by default, and nothing of other raters.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
from sqlalchemy import Connection, Row, delete, insert, select

from store.errors import WorkspaceError
from store.events import ReportProgress, silent
from store.formatting import pluralize
from store.policy.refusal import refuse_packet
from store.policy.rows import shown_by
from store.policy.scope import DISCUSS, LABEL, REVEAL, TRAIN, Scope, Shows, Sitting
from store.queries.queue import select_ids
from store.queries.rows import QueueFilter, QueueSort
from store.queries.studies import StudyDetails, StudyMember, find_study
from store.studies.packet_writer import Entry, PacketWriter, as_text
from store.tables.columns import table_of
from store.tables.people import Assignment, Packet
from store.workspace.copy_merge import check_target
from store.workspace.duckdb import Workspace
from store.workspace.protected_paths import own_files


@dataclass(frozen=True, slots=True)
class MadePacket:
    """A packet that was made.

    Attributes:
        packet: The file.
        reveal: Whether it is the packet of the reveal.
        bytes: The size of the file.
    """

    packet: str
    id: UUID
    study: str
    rater: str
    reveal: bool
    items: int
    sittings: int
    bytes: int


def make_packet(
    workspace: Workspace,
    name: str,
    rater: str,
    target: Path | str,
    *,
    again: bool = False,
    seed: int | None = None,
    progress: ReportProgress | None = None,
) -> MadePacket:
    """Write a packet: what is left for a rater in an open study; the reveal apart, and what was sent back.

    Args:
        workspace: The open workspace.
        name: The study's name.
        rater: The rater's name or pseudonym.
        target: Where the packet is made; nothing of a workspace may be there.
        again: Whether another packet of the same part is made although there is one.
        seed: The seed of the packet's ids, for tests; None draws them from the system.
        progress: Receives the progress.

    Raises:
        UnknownName: There is no such study, or it has no such rater.
        WorkspaceError: The study is not open, nothing is left, a packet is out, or the file cannot be
            written; nothing is left of it.
    """
    target = Path(target)
    refuse_packet(workspace, "Packets are made")
    check_target(target)
    with workspace.reading() as connection:
        study = find_study(connection, name)
        member = study.member(rater)
        _check_open(study, member)
        rows, reveal = _choose(connection, study, member, again=again)
        content = PacketWriter(connection, study, member, _entries(rows), seed)
    unfinished = target.with_name(target.name + ".part")
    check_target(unfinished)
    try:
        cursor = workspace.native()
        try:
            manifest, mapping = content.write(cursor, unfinished, progress or silent)
        finally:
            cursor.close()
        # Remembered first: a file that the workspace does not know could never be merged.
        _remember(workspace, study, member, manifest, mapping, reveal=reveal)
        try:
            unfinished.rename(target)
        except OSError:
            _forget(workspace, UUID(manifest["id"]))
            raise
    except BaseException as error:
        for path in own_files(unfinished):
            with suppress(OSError):
                path.unlink()
        if isinstance(error, (OSError, duckdb.Error)):
            raise WorkspaceError(
                "Packet not made",
                f"{target} could not be written: {error}.",
                "Make room there, or choose another place. The workspace is as it was.",
            ) from error
        raise
    return MadePacket(
        packet=str(target),
        id=UUID(manifest["id"]),
        study=study.name,
        rater=member.rater.name,
        reveal=reveal,
        items=len(rows),
        sittings=content.entries[-1].sitting,
        bytes=target.stat().st_size,
    )


def undecided(connection: Connection, study: StudyDetails, member: StudyMember) -> list[Row[Any]]:
    """Return the assignments of a rater that are not decided, in the order of their list.

    Beside its columns a row says whether it shows the agents and the models, under the values of these
    members of `Shows`.
    """
    assignment = table_of(Assignment)
    shown = (shown_by(one).label(one.value) for one in (Shows.AGENTS, Shows.MODELS))
    rows = connection.execute(
        select(assignment, *shown)
        .where(
            assignment.c.study_id == study.id,
            assignment.c.rater_id == member.rater.id,
            assignment.c.sitting > 0,
        )
        .order_by(assignment.c.position)
    ).all()
    left = {
        (sitting, item_id)
        for sitting in {row.sitting for row in rows}
        for status in ("open", "skipped")
        for item_id in connection.execute(
            select_ids(
                Scope(member.rater, Sitting(study.id, sitting)), QueueFilter(status=status), QueueSort()
            )
        ).scalars()
    }
    return [row for row in rows if (row.sitting, row.item_id) in left]


def _check_open(study: StudyDetails, member: StudyMember) -> None:
    if study.state != "open":
        hint = "Freeze it first: workbench study freeze WORKSPACE STUDY" if study.state == "draft" else ""
        raise WorkspaceError(
            "Not open", f"{study.name} is {study.state}; packets are made of an open study.", hint
        )
    if member.withdrawn_at is not None:
        raise WorkspaceError(
            "Withdrawn", f"{member.rater.name} withdrew from {study.name}.", "No packet is made for them."
        )


def _choose(
    connection: Connection, study: StudyDetails, member: StudyMember, *, again: bool
) -> tuple[list[Row[Any]], bool]:
    """Return the assignments of the next packet, and whether they are those of the reveal."""
    packet, name = table_of(Packet), member.rater.name
    left = undecided(connection, study, member)
    # What comes again, and tells something by that, comes when all before it is decided.
    parts = [[row for row in left if row.phase not in (REVEAL, DISCUSS)]]
    parts += [[row for row in left if row.phase == phase] for phase in (REVEAL, DISCUSS)]
    wanted = next((part for part in parts if part), [])
    reveal = bool(wanted) and wanted[0].phase == REVEAL
    if not wanted:
        raise WorkspaceError(
            "Nothing left", f"{name} has decided all of {study.name}.", "No packet is needed."
        )
    made = connection.execute(
        select(packet.c.mapping, packet.c.made_at, packet.c.merged_at)
        .where(packet.c.study_id == study.id, packet.c.rater_id == member.rater.id)
        .order_by(packet.c.made_at)
    ).all()
    keys = {str(row.id) for row in wanted}
    same = [row for row in made if any(real in keys for _, real in json.loads(row.mapping)["assignments"])]
    latest = same or made
    lost = "If the file is lost, --again makes one with what is left."
    if latest and not again and all(row.merged_at is None for row in latest):
        raise WorkspaceError(
            "Packet not merged",
            f"The packet of {study.name} made for {name} on {latest[-1].made_at:%Y-%m-%d} is not merged yet.",
            f"Merge it first: workbench packet merge WORKSPACE PACKET. {lost}",
        )
    if same and not again:
        are = "is" if len(wanted) == 1 else "are"
        first = wanted is parts[0] and study.protocol.reveal
        after = " The reveal comes when they are." if first else ""
        raise WorkspaceError(
            "Not decided yet",
            f"{name} has a packet, and {pluralize(len(wanted), 'item')} {are} not decided.{after}",
            f"Merge it again when {name} has decided them. {lost}",
        )
    return wanted, reveal


def _entries(rows: Sequence[Row[Any]]) -> list[Entry]:
    """Return the items of a packet: training is a sitting of its own, all else one."""
    trains = rows[0].phase == TRAIN
    return [
        Entry(
            place,
            row,
            row.phase if row.phase in (TRAIN, REVEAL, DISCUSS) else LABEL,
            2 if trains and row.phase != TRAIN else 1,
        )
        for place, row in enumerate(rows, 1)
    ]


def _remember(
    workspace: Workspace,
    study: StudyDetails,
    member: StudyMember,
    manifest: Mapping[str, Any],
    mapping: Mapping[str, Any],
    *,
    reveal: bool,
) -> None:
    """Store in the workspace what a packet holds, and what its ids stand for."""
    row = {
        "id": UUID(manifest["id"]),
        "study_id": study.id,
        "rater_id": member.rater.id,
        "reveal": reveal,
        "made_at": datetime.fromisoformat(manifest["made_at"]),
        "manifest": as_text(manifest),
        "mapping": json.dumps(mapping, default=str),
    }
    workspace.lane.submit(
        lambda connection: connection.execute(insert(table_of(Packet)).values(**row)), urgent=True
    ).result()


def _forget(workspace: Workspace, number: UUID) -> None:
    """Delete what was stored of a packet whose file could not be made."""
    packet = table_of(Packet)
    workspace.lane.submit(
        lambda connection: connection.execute(delete(packet).where(packet.c.id == number)), urgent=True
    ).result()
