"""Assignments that are made after a study was frozen: those of rulings, and of items that are sent back."""

from __future__ import annotations

from uuid import UUID, uuid4

from sqlalchemy import Connection, func, insert, select

from store.policy.scope import ADJUDICATE, DISCUSS
from store.policy.words import condition_of
from store.tables.columns import table_of
from store.tables.people import Assignment, Study

LATE_PHASES = (ADJUDICATE, DISCUSS)
"""The phases whose assignments no freeze makes, so that their records name study and condition."""


def frozen_study_number(connection: Connection, name: str) -> int | None:
    """Return the key of a frozen study, open or closed; None where there is none of that name."""
    study = table_of(Study)
    found = select(study.c.id).where(study.c.name == name, study.c.frozen_at.is_not(None))
    number: int | None = connection.execute(found).scalar()
    return number


def assign_late(
    connection: Connection,
    study_id: int,
    rater_id: int,
    item_id: int,
    *,
    phase: str,
    condition: str,
    key: UUID | None = None,
) -> UUID:
    """Return the assignment of an item to a rater in a phase, made where there is none; in the lane.

    Rulings are in sitting 0. What is sent back comes after all else of a rater's list, in one sitting.

    Args:
        connection: The lane's.
        study_id: The study.
        rater_id: The rater or adjudicator.
        item_id: The item.
        phase: One of `LATE_PHASES`.
        condition: The condition of a new assignment, in words.
        key: The key of a new assignment; None for a fresh one.
    """
    assignment = table_of(Assignment)
    own = [assignment.c.study_id == study_id, assignment.c.rater_id == rater_id]
    of_phase = [*own, assignment.c.phase == phase]
    known: UUID | None = connection.execute(
        select(assignment.c.id).where(*of_phase, assignment.c.item_id == item_id)
    ).scalar()
    if known is not None:
        return known
    rulings = phase == ADJUDICATE
    last, position = connection.execute(
        select(func.max(assignment.c.sitting), func.max(assignment.c.position)).where(
            *own, (assignment.c.sitting == 0) if rulings else (assignment.c.sitting > 0)
        )
    ).one()
    begun = connection.execute(select(func.max(assignment.c.sitting)).where(*of_phase)).scalar()
    sitting = 0 if rulings else begun or (last or 0) + 1
    key = key or uuid4()
    connection.execute(
        insert(assignment).values(
            id=key,
            study_id=study_id,
            rater_id=rater_id,
            item_id=item_id,
            phase=phase,
            position=(position or 0) + 1,
            **condition_of(condition)._asdict(),
            seed=0,
            sitting=sitting,
        )
    )
    return key
