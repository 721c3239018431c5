"""Studies: made as drafts, frozen into assignments, joined by raters, closed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, delete, insert, select, update

from store.errors import UnknownName, WorkbenchError
from store.formatting import pluralize
from store.kinds.spec import task_kinds
from store.policy.refusal import refuse_packet
from store.policy.scope import GOLD, LABEL, REVEAL, TRAIN
from store.policy.sealing import packet_in
from store.policy.words import SWAPPED, condition_of
from store.queries.shown_texts import names_of_sets
from store.queries.studies import ChosenItem, StudyDetails, find_study, study_items
from store.record.ids import now
from store.record.protocol import StudyProtocol
from store.record.rater_ref import RaterRef, checked_name
from store.record.raters import next_number, rater_row
from store.studies.design import PlannedAssignment, RaterName, StudyItem, balance, design_study
from store.studies.sides import draw_sides
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.people import Assignment, Guideline, Study, StudyRater
from store.tables.people import StudyItem as StudyItemRow
from store.workspace.duckdb import Workspace
from store.workspace.journal import Journal, journal_path, member_line

GREATEST_STUDY = 1_000_000
"""The most assignments that a study may have."""


def new_study(
    workspace: Workspace,
    name: str,
    protocol: StudyProtocol,
    items: Sequence[ChosenItem],
    raters: Sequence[str],
) -> StudyDetails:
    """Make a study as a draft; an earlier draft of the name is replaced.

    Args:
        workspace: The open workspace.
        name: Its name.
        protocol: Its protocol.
        items: Its items, gold and training items among them.
        raters: The names of its raters, in an order that is published; pseudonyms R1, R2 ... are theirs.

    Raises:
        WorkbenchError: There is no such study, one of that name is frozen, or a rater's name is none.
    """
    refuse_packet(workspace, "Studies are made")
    name, raters = _checked_name(name), [checked_name(rater) for rater in raters]
    protocol = protocol.checked()
    # It brings Arrow, which no start needs.
    from store.tables.appending import append_rows

    # Refused before anything is stored.
    make_design(protocol, items, raters)

    def write(connection: Connection) -> StudyDetails:
        study, member, chosen = table_of(Study), table_of(StudyRater), table_of(StudyItemRow)
        row = connection.execute(select(study).where(study.c.name == name)).first()
        if row is not None and row.frozen_at is not None:
            raise WorkbenchError(
                "Study exists",
                f"A study called {name!r} is frozen already.",
                "Choose another name; a frozen study is not changed.",
            )
        if row is not None:
            _remove(connection, row.id)
        number = next_number(connection, study)
        connection.execute(
            insert(study).values(
                id=number, name=name, protocol=protocol.to_json(), created_at=now(), manifest="{}"
            )
        )
        for place, rater in enumerate(raters, 1):
            ref = rater_row(connection, rater, "human")
            connection.execute(
                insert(member).values(
                    study_id=number,
                    rater_id=ref.id,
                    pseudonym=f"R{place}",
                    position=place,
                    consent_version="",
                    experience="",
                )
            )
        append_rows(
            connection,
            chosen,
            [
                {
                    "study_id": number,
                    "item_id": one.item_id,
                    "role": one.role,
                    "position": place,
                    "stratum": one.stratum,
                    "inclusion": one.inclusion,
                    "gold": json.dumps(dict(one.gold or {}), sort_keys=True),
                }
                for place, one in enumerate(items, 1)
            ],
        )
        return find_study(connection, name)

    return workspace.lane.submit(write, urgent=True).result()


def _remove(connection: Connection, study_id: int) -> None:
    """Remove a draft."""
    study, member, chosen = table_of(Study), table_of(StudyRater), table_of(StudyItemRow)
    for table in (member, chosen):
        connection.execute(delete(table).where(table.c.study_id == study_id))
    connection.execute(delete(study).where(study.c.id == study_id))


def delete_draft(workspace: Workspace, name: str) -> None:
    """Delete a draft; the raters that it named stay in the workspace.

    Raises:
        UnknownName: There is no such study.
        WorkbenchError: It is frozen.
    """
    refuse_packet(workspace, "Studies are deleted")

    def write(connection: Connection) -> None:
        found = find_study(connection, name)
        if found.frozen_at is not None:
            raise WorkbenchError(
                "Not a draft",
                f"{name} is {found.state}; only a draft is deleted, since labels belong to a frozen study.",
                "Close it, if nothing more is to be judged in it: study close"
                if found.state == "open"
                else "Leave it: a closed study asks nothing of anybody.",
            )
        _remove(connection, found.id)

    workspace.lane.submit(write, urgent=True).result()


def _checked_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > 100 or not name.isprintable():
        raise WorkbenchError(
            "No name", "A study needs a name of 1 to 100 printable characters.", "Name it: rq2"
        )
    return name


def make_design(
    protocol: StudyProtocol, items: Sequence[ChosenItem], raters: Sequence[str]
) -> dict[RaterName, tuple[PlannedAssignment, ...]]:
    """Return the assignments that a freeze of a study makes, by rater.

    Raises:
        WorkbenchError: The study cannot be carried out; it says why.
    """
    overlap = len(raters) if protocol.overlap is None else protocol.overlap
    number = len(items) * overlap * (2 if protocol.reveal else 1)
    if number > GREATEST_STUDY:
        raise WorkbenchError(
            "Too large a study",
            f"It would have about {pluralize(number, 'assignment')}; at most {GREATEST_STUDY:,} can be made.",
            "Take a sample: --sample-pairs 400",
        )
    if protocol.kind not in task_kinds():
        raise UnknownName(
            "Unknown kind", f"No kind is called {protocol.kind!r}.", f"Kinds: {', '.join(task_kinds())}."
        )
    gold, training = ([one.item_id for one in items if one.role == role] for role in ("gold", "training"))
    return design_study(
        [StudyItem(one.item_id, one.stratum) for one in items if one.role == "item"],
        list(raters),
        overlap=protocol.overlap,
        conditions=protocol.conditions,
        block_size=protocol.block_size,
        repeats=protocol.repeats,
        repeat_distance=protocol.repeat_distance,
        gold=gold,
        training=training,
        reveal=protocol.reveal,
        seed=protocol.seed,
    )


def sittings(assignments: Iterable[PlannedAssignment]) -> Iterator[int]:
    """Yield the sitting of each assignment of a rater's list, from 1.

    A sitting ends where an item would come twice in it, after the training, and before the reveal.
    """
    number, there, stage = 1, set[Any](), None
    for one in assignments:
        this = one.phase if one.phase in (TRAIN, REVEAL) else LABEL
        if there and (this != stage or one.item in there):
            number, there = number + 1, set()
        stage = this
        there.add(one.item)
        yield number


def freeze_study(workspace: Workspace, name: str, at: datetime | None = None) -> StudyDetails:
    """Make the assignments of a draft, and its manifest; nothing of it changes after that.

    Args:
        workspace: The open workspace.
        name: The study's name.
        at: When it is frozen; None for now.

    Raises:
        UnknownName: There is no such study.
        WorkbenchError: It is frozen already, or cannot be carried out.
    """
    refuse_packet(workspace, "Studies are frozen")
    with workspace.reading() as connection:
        found = find_study(connection, name)
        items = study_items(connection, found.id)
        named = names_of_sets(connection, [one.item_id for one in items])
        if named:
            # Lists are drawn from the items in an order that tells nothing of that of import.
            hashes = _content_hashes(connection, [*named])
            items.sort(key=lambda one: hashes[one.item_id])
    _refuse_frozen(found)
    # It brings Arrow, which no start needs.
    from store.tables.appending import append_rows

    design = make_design(found.protocol, items, [one.rater.name for one in found.members])
    swapped = draw_sides(design, named, found.protocol.seed) if named else {}
    rows = [
        {
            # Not of the workspace's clock: an id tells nothing of the order.
            "id": uuid4(),
            "study_id": found.id,
            "rater_id": member.rater.id,
            "item_id": one.item,
            "phase": GOLD if one.gold and one.phase == LABEL else one.phase,
            "position": one.position,
            # Hashed in the manifest; the table has the columns below.
            "condition": words,
            **condition_of(words)._asdict(),
            "seed": found.protocol.seed,
            "sitting": sitting,
            "block": one.block,
        }
        for member in found.members
        for one, sitting in zip(design[member.rater.name], sittings(design[member.rater.name]), strict=True)
        for words in (
            f"{one.condition} {SWAPPED}" if swapped.get((member.rater.name, one.item)) else one.condition,
        )
    ]

    def write(connection: Connection) -> StudyDetails:
        study, current = table_of(Study), find_study(connection, name)
        _refuse_frozen(current)
        if current != found:
            raise WorkbenchError(
                "Draft changed", f"{name} was made again while it was being frozen.", "Freeze it again."
            )
        append_rows(connection, table_of(Assignment), rows)
        moment = at or now()
        manifest = _manifest(connection, found, items, rows, moment)
        manifest["balance"] = asdict(balance(design))
        connection.execute(
            update(study)
            .where(study.c.id == found.id)
            .values(frozen_at=moment, manifest=json.dumps(manifest, ensure_ascii=False, default=str))
        )
        return find_study(connection, name)

    return workspace.lane.submit(write, urgent=True).result()


def _content_hashes(connection: Connection, item_ids: Sequence[int]) -> dict[int, str]:
    item = table_of(Item)
    found = select(item.c.id, item.c.content_hash).where(among(item.c.id, item_ids))
    return dict(connection.execute(found).all())


def _refuse_frozen(study: StudyDetails) -> None:
    if study.frozen_at is not None:
        raise WorkbenchError(
            "Frozen already",
            f"{study.name} was frozen on {study.frozen_at:%Y-%m-%d}.",
            "Make another: study new",
        )


def _manifest(
    connection: Connection,
    found: StudyDetails,
    items: Sequence[ChosenItem],
    rows: Sequence[Mapping[str, Any]],
    at: datetime,
) -> dict[str, Any]:
    """Return what is frozen: the protocol, counts, and hashes of items, assignments and the guideline."""
    item = table_of(Item)
    of_study = [one.item_id for one in items]
    hashes = connection.execute(
        select(item.c.content_hash).where(item.c.id.in_(of_study)).order_by(item.c.content_hash)
    ).scalars()
    text = shown_guideline(connection, found.protocol).text
    return {
        "study": found.name,
        "protocol": json.loads(found.protocol.to_json()),
        "frozen_at": at.isoformat(),
        "raters": [one.pseudonym for one in found.members],
        "items": {role: sum(one.role == role for one in items) for role in ("item", "gold", "training")},
        "assignments": len(rows),
        "items_sha256": digest(hashes),
        "assignments_sha256": digest(sorted("\t".join(str(row[name]) for name in _HASHED) for row in rows)),
        "guideline_sha256": digest([text]),
    }


_HASHED = ("id", "rater_id", "item_id", "phase", "position", "condition", "sitting")


def digest(texts: Iterable[str]) -> str:
    """Return the SHA-256, in hex, of some texts, each with its length before it."""
    found = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        found.update(f"{len(encoded)}:".encode() + encoded)
    return found.hexdigest()


@dataclass(frozen=True, slots=True)
class ShownGuideline:
    """A version of a guideline.

    Attributes:
        id: Its key; None where it was never stored.
        version: Its version.
        text: The text.
    """

    id: int | None
    version: str
    text: str


def shown_guideline(
    connection: Connection, protocol: StudyProtocol, manifest: Mapping[str, Any] | None = None
) -> ShownGuideline:
    """Return the guideline that the raters of a study are shown: its own, or else that of the kind.

    A frozen study keeps the version of the kind's guideline that it was frozen with.

    Args:
        connection: A connection to the workspace.
        protocol: The study's protocol.
        manifest: What was frozen; none for a draft.
    """
    kind, table = task_kinds()[protocol.kind], table_of(Guideline)
    rows = connection.execute(
        select(table.c.id, table.c.version, table.c.text).where(table.c.task_kind == protocol.kind)
    )
    stored = {row.version: ShownGuideline(row.id, row.version, row.text) for row in rows}
    frozen = (manifest or {}).get("guideline_sha256")
    of_hash = next((one for one in stored.values() if frozen and digest([one.text]) == frozen), None)
    own = stored.get(kind.guideline_version)
    current = ShownGuideline(own.id if own else None, kind.guideline_version, kind.guideline)
    return stored.get(protocol.guideline) or of_hash or current


@dataclass(frozen=True, slots=True)
class StudyGuideline:
    """The guideline that the raters of a study are shown.

    Attributes:
        id: Its key; None where the kind's own was never stored.
        study: The study's name.
        kind: The kind of the study's items.
        version: Its version.
        text: The text.
    """

    id: int | None
    study: str
    kind: str
    version: str
    text: str


def study_guideline(connection: Connection, study_id: int) -> StudyGuideline:
    """Return the guideline that the raters of a study are shown, by the study's key."""
    study = table_of(Study)
    row = connection.execute(
        select(study.c.name, study.c.protocol, study.c.manifest).where(study.c.id == study_id)
    ).one()
    protocol = StudyProtocol.from_json(row.protocol)
    shown = shown_guideline(connection, protocol, json.loads(row.manifest))
    return StudyGuideline(shown.id, row.name, protocol.kind, shown.version, shown.text)


def store_guideline(workspace: Workspace, kind: str, text: str) -> str:
    """Store the guideline of a study and return its version: the first digits of its hash."""
    version = hashlib.sha256(text.encode()).hexdigest()[:12]

    def write(connection: Connection) -> None:
        table = table_of(Guideline)
        known = select(table.c.id).where(table.c.task_kind == kind, table.c.version == version)
        if connection.execute(known).first() is None:
            number = next_number(connection, table)
            connection.execute(insert(table).values(id=number, task_kind=kind, version=version, text=text))

    workspace.lane.submit(write, urgent=True).result()
    return version


def close_study(workspace: Workspace, name: str) -> StudyDetails:
    """Close an open study: its raters see everything again, and judge nothing more in it.

    Raises:
        UnknownName: There is no such study.
        WorkbenchError: It is not open.
    """
    refuse_packet(workspace, "Studies are closed")

    def write(connection: Connection) -> StudyDetails:
        study, found = table_of(Study), find_study(connection, name)
        if found.state != "open":
            raise WorkbenchError(
                "Not open",
                f"{name} is {'a draft' if found.state == 'draft' else f'{found.state} already'}.",
                "See: workbench study list WORKSPACE",
            )
        connection.execute(update(study).where(study.c.id == found.id).values(closed_at=now()))
        return find_study(connection, name)

    return workspace.lane.submit(write, urgent=True).result()


def change_member(workspace: Workspace, study: int, rater: int, **values: Any) -> None:
    """Store changed columns of a rater in a study, such as `consented_at` or `experience`."""
    member = table_of(StudyRater)
    own = (member.c.study_id == study) & (member.c.rater_id == rater)
    workspace.lane.submit(
        lambda connection: connection.execute(update(member).where(own).values(**values)), urgent=True
    ).result()


def _say_of_oneself(
    workspace: Workspace, study: StudyDetails, rater: RaterRef, said: Mapping[str, Any]
) -> None:
    """Store what a rater says of themselves, in the workspace and in the journal."""
    member, journal = table_of(StudyRater), Journal(journal_path(workspace.path))
    own = (member.c.study_id == study.id) & (member.c.rater_id == rater.id)

    def write(connection: Connection) -> None:
        connection.execute(update(member).where(own).values(**said))
        journal.append([member_line(study.name, rater.name, said)])

    workspace.lane.submit(write, urgent=True).result()


def agree(workspace: Workspace, study: StudyDetails, rater: RaterRef, experience: str) -> None:
    """Store that a rater agrees to take part in a study, and the experience that they state."""
    version = study.protocol.consent_version
    said = {"consent_version": version, "consented_at": now(), "experience": experience}
    _say_of_oneself(workspace, study, rater, said)


def withdraw(workspace: Workspace, name: str, rater: str) -> StudyDetails:
    """Exclude a rater's records under a study from measures and exports; they stay in the workspace.

    In a packet its rater withdraws, and its merge brings that to the workspace.

    Raises:
        UnknownName: There is no such study, or the study has no such rater.
    """
    packet = packet_in(workspace)
    if packet is not None:
        rater = packet.check_rater(rater)
    with workspace.reading() as connection:
        found = find_study(connection, name)
    member = found.member(rater)
    if member.withdrawn_at is None:
        _say_of_oneself(workspace, found, member.rater, {"withdrawn_at": now()})
    with workspace.reading() as connection:
        return find_study(connection, name)
