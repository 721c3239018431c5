"""A rater's session in a study: which study is open for them, which sitting, and what it may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection, func, select

from store.errors import HiddenData, UnknownName
from store.policy.scope import REVEAL, Scope, Sitting
from store.policy.sealing import open_studies, packet_of
from store.queries.progress import progress
from store.queries.studies import StudyDetails, find_study
from store.record.rater_ref import RaterRef
from store.tables.columns import table_of
from store.tables.people import Assignment


@dataclass(frozen=True, slots=True)
class StudySession:
    """Where a rater is in an open study.

    Attributes:
        sitting: The number of the sitting that is worked on.
        done: How many items of all sittings are decided.
        total: How many items they have.
        left: How many items of the sitting are not decided.
    """

    study: StudyDetails
    rater: RaterRef
    sitting: int
    sittings: int
    done: int
    total: int
    left: int

    @property
    def scope(self) -> Scope:
        """The scope of the sitting."""
        return Scope(self.rater, Sitting(self.study.id, self.sitting), sealed=True)

    @property
    def needs_consent(self) -> bool:
        """Whether the rater has yet to agree to the consent text."""
        wanted = self.study.protocol.consent_version
        return bool(wanted) and self.study.member(self.rater.name).consent_version != wanted

    @property
    def finished(self) -> bool:
        """Whether every item is decided."""
        return self.done >= self.total


def study_session(
    connection: Connection, rater: RaterRef | None, name: str | None = None
) -> StudySession | None:
    """Return the session of a rater in an open study; None where they are in none.

    Args:
        connection: A reading connection.
        rater: Who judges; None for nobody.
        name: The study; None for the first one in which something is left to do, or else the first one.

    Raises:
        UnknownName: There is no such study, or the rater is not in it, or it is not open.
        HiddenData: It is that of a packet, from which its rater withdrew.
    """
    names = [] if rater is None else open_studies(connection, rater.id)
    if not names and (packet := packet_of(connection)) is not None:
        raise HiddenData(
            "Withdrawn",
            f"{packet.rater} has withdrawn from {packet.study}. Nothing is judged in this packet any more.",
            "Send it back: its merge tells the coordinator.",
        )
    if name is not None and names and name not in names:
        # The same whether there is such a study or not, and whatever became of it.
        raise UnknownName(
            "Not your study",
            f"{name!r} is no study that is open for you.",
            f"Open for you: {', '.join(names)}.",
        )
    if name is not None and not names:
        state = find_study(connection, name).state
        raise UnknownName(
            "Not your study",
            f"{rater.name if rater else 'Nobody'} is no rater of {name}, or it is not open (it is {state}).",
            "Open for you: no study.",
        )
    if rater is None or not names:
        return None
    sessions = (_session(connection, rater, one) for one in ([name] if name is not None else names))
    first: StudySession | None = None
    for session in sessions:
        if not session.finished:
            return session
        first = first or session
    return first


def _session(connection: Connection, rater: RaterRef, name: str) -> StudySession:
    study, assignment = find_study(connection, name), table_of(Assignment)
    counts = connection.execute(
        select(assignment.c.sitting, func.count())
        .where(
            assignment.c.study_id == study.id,
            assignment.c.rater_id == rater.id,
            assignment.c.sitting > 0,
        )
        .group_by(assignment.c.sitting)
        .order_by(assignment.c.sitting)
    ).all()
    total = sum(number for _, number in counts)
    session = StudySession(study, rater, 1, len(counts), 0, total, 0)
    for sitting, number in counts:
        session = replace(session, sitting=sitting)
        left = progress(connection, session.scope).left
        session = replace(session, left=left, done=session.done + number - left)
        if left:
            break
    return session


@dataclass(frozen=True, slots=True)
class SittingProgress:
    """How far a rater is, for the rater: nothing of it rests on others.

    Attributes:
        session: The session with the first sitting in which something is left.
        items: How many items the sitting has that is on the screens.
        left: How many of these are not decided.
        reveals: Whether the session's sitting shows items again with what was hidden.
        others: How many items are left in each other open study of the rater.
    """

    session: StudySession
    items: int
    left: int
    reveals: bool
    others: Mapping[str, int]


def sitting_progress(connection: Connection, shown: StudySession) -> SittingProgress:
    """Return how far a rater is in the sitting that is on the screens, in the study, and in other ones.

    Raises:
        UnknownName: The study is not open any more.
    """
    found = study_session(connection, shown.rater, shown.study.name)
    assert found is not None
    counts, assignment = progress(connection, shown.scope), table_of(Assignment)
    reveals = select(assignment.c.id).where(
        assignment.c.study_id == found.study.id,
        assignment.c.rater_id == found.rater.id,
        assignment.c.sitting == found.sitting,
        assignment.c.phase == REVEAL,
    )
    others = {}
    for name in open_studies(connection, shown.rater.id):
        if name != found.study.name:
            other = _session(connection, shown.rater, name)
            others[name] = other.total - other.done
    return SittingProgress(
        found, counts.total, counts.left, connection.execute(reveals).first() is not None, others
    )
