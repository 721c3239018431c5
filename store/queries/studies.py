"""Studies as they are stored: their protocols, items and raters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from store.errors import UnknownName
from store.json_fields import fields_of
from store.record.protocol import StudyProtocol
from store.record.rater_ref import RaterRef
from store.tables.columns import table_of
from store.tables.people import Rater, Study, StudyRater
from store.tables.people import StudyItem as StudyItemRow


@dataclass(frozen=True, slots=True)
class ChosenItem:
    """An item chosen for a study.

    Attributes:
        role: `item`, `gold` or `training`.
        stratum: Its stratum in the sample; None without strata.
        inclusion: The probability with which the sample holds it.
        gold: The right answers by question; empty where they are not known.
    """

    item_id: int
    role: str = "item"
    stratum: str | None = None
    inclusion: float = 1.0
    gold: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class StudyMember:
    """A rater of a study.

    Attributes:
        pseudonym: Their name in what is published of the study.
        consent_version: The version of the consent text that they agreed to; empty for none yet.
        consented_at: When they did.
        experience: Their experience, in their own words.
        withdrawn_at: When they withdrew; None where they take part.
    """

    rater: RaterRef
    pseudonym: str
    consent_version: str = ""
    consented_at: datetime | None = None
    experience: str = ""
    withdrawn_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StudyDetails:
    """A study.

    Attributes:
        created_at: When it was made.
        frozen_at: When its assignments were made; None for a draft.
        closed_at: When it was closed; None while it is open.
        manifest: What was frozen, as JSON-able fields; empty for a draft.
        members: Its raters in order.
        items: How many items of each role.
    """

    id: int
    name: str
    protocol: StudyProtocol
    created_at: datetime
    frozen_at: datetime | None
    closed_at: datetime | None
    manifest: Mapping[str, Any]
    members: tuple[StudyMember, ...]
    items: Mapping[str, int]

    @property
    def state(self) -> str:
        """One of `draft`, `open`, `closed`."""
        return "draft" if self.frozen_at is None else "open" if self.closed_at is None else "closed"

    def to_dict(self, *, sealed: bool = False) -> dict[str, Any]:
        """Return it as JSON-able fields; a sealed session gets the name and the state alone."""
        if sealed:
            return {"study": self.name, "state": self.state}
        return {
            "study": self.name,
            "state": self.state,
            **fields_of(self, "created_at", "frozen_at", "closed_at"),
            "protocol": json.loads(self.protocol.to_json()),
            "items": dict(self.items),
            "raters": [{"rater": one.rater.name, **fields_of(one, *_OF_MEMBERS)} for one in self.members],
            "manifest": dict(self.manifest),
        }

    def member(self, name: str) -> StudyMember:
        """Return the rater of a name or pseudonym.

        Raises:
            UnknownName: The study has none.
        """
        # A name comes before a pseudonym: somebody may be called R1.
        known_as = {one.pseudonym: one for one in self.members}
        known_as |= {one.rater.name: one for one in self.members}
        if name in known_as:
            return known_as[name]
        known = ", ".join(one.rater.name for one in self.members)
        raise UnknownName("Unknown rater", f"{name!r} is no rater of {self.name}.", f"Its raters: {known}.")


_OF_MEMBERS = ("pseudonym", "consent_version", "consented_at", "experience", "withdrawn_at")


def list_studies(connection: Connection) -> list[StudyDetails]:
    """Return all studies in the order in which they were made."""
    study = table_of(Study)
    rows = connection.execute(select(study).order_by(study.c.id)).all()
    return [_details(connection, row) for row in rows]


def open_studies_note(connection: Connection) -> str:
    """Return that figures of all labels include those of studies that are open; empty where none is."""
    study = table_of(Study)
    is_open = study.c.frozen_at.is_not(None), study.c.closed_at.is_(None)
    names = connection.execute(select(study.c.name).where(*is_open).order_by(study.c.id)).scalars().all()
    return f"with those of open studies: {', '.join(names)}" if names else ""


def find_study(connection: Connection, name: str) -> StudyDetails:
    """Return the study of a name.

    Raises:
        UnknownName: There is none.
    """
    study = table_of(Study)
    row = connection.execute(select(study).where(study.c.name == name)).first()
    if row is None:
        names = list(connection.execute(select(study.c.name).order_by(study.c.id)).scalars())
        known = f"Studies: {', '.join(names)}." if names else "The workspace has no study yet."
        raise UnknownName("Unknown study", f"No study is called {name!r}.", known)
    return _details(connection, row)


def _details(connection: Connection, row: Row[Any]) -> StudyDetails:
    member, rater, chosen = table_of(StudyRater), table_of(Rater), table_of(StudyItemRow)
    members = connection.execute(
        select(member, rater.c.kind, rater.c.name)
        .join(rater, rater.c.id == member.c.rater_id)
        .where(member.c.study_id == row.id)
        .order_by(member.c.position)
    )
    counts = select(chosen.c.role, func.count()).where(chosen.c.study_id == row.id).group_by(chosen.c.role)
    return StudyDetails(
        id=row.id,
        name=row.name,
        protocol=StudyProtocol.from_json(row.protocol),
        created_at=row.created_at,
        frozen_at=row.frozen_at,
        closed_at=row.closed_at,
        manifest=json.loads(row.manifest),
        members=tuple(
            StudyMember(
                RaterRef(one.rater_id, one.kind, one.name),
                one.pseudonym,
                one.consent_version,
                one.consented_at,
                one.experience,
                one.withdrawn_at,
            )
            for one in members
        ),
        items=dict(connection.execute(counts).all()),
    )


def study_items(connection: Connection, study_id: int) -> list[ChosenItem]:
    """Return the items of a study in their order."""
    chosen = table_of(StudyItemRow)
    rows = connection.execute(select(chosen).where(chosen.c.study_id == study_id).order_by(chosen.c.position))
    return [
        ChosenItem(row.item_id, row.role, row.stratum, row.inclusion, json.loads(row.gold)) for row in rows
    ]
