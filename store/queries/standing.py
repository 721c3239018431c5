"""What a record changed of a rater's standing, and which of a few items are still open to them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, select

from store.queries.current import REVIEW, current_labels, current_marks
from store.recording import Action
from store.tables.columns import table_of
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow


@dataclass(frozen=True, slots=True)
class StandingChange:
    """By how much an action changed a rater's counts.

    Attributes:
        today: Items whose standing label was given today.
        left: Items that have neither a label nor a "cannot decide".
        judged: Whether the action is a judgment that gave an item a label it had not before; a redo is none.
    """

    today: int
    left: int
    judged: bool


def open_among(
    connection: Connection, rater_id: int, item_ids: Collection[int], phase: str = REVIEW
) -> set[int]:
    """Return those of some items that a rater has neither judged nor said to be undecidable."""
    if not item_ids:
        return set()
    labels = current_labels(rater_id, phase, item_ids)
    marks = current_marks(rater_id, phase, item_ids)
    settled = set(connection.execute(select(labels.c.item_id)).scalars())
    settled |= set(connection.execute(select(marks.c.item_id).where(marks.c.cannot_decide)).scalars())
    return set(item_ids) - settled


def skipped_in_order(connection: Connection, rater_id: int, phase: str = REVIEW) -> list[int]:
    """Return the items that a rater put off and has not come back to, the one put off first first."""
    marks = current_marks(rater_id, phase)
    labels = current_labels(rater_id, phase)
    found = (
        select(marks.c.item_id)
        .outerjoin(labels, labels.c.item_id == marks.c.item_id)
        .where(marks.c.skipped, labels.c.value.is_(None))
        .order_by(marks.c.skipped_by)
    )
    return list(connection.execute(found).scalars())


def change_of(connection: Connection, action: Action) -> StandingChange:
    """Return what a stored action changed, from its records and from what they supersede.

    Args:
        connection: A reading connection.
        action: As it was stored: its records name what they supersede.
    """
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    labelled = {False: False, True: False}
    undecided = {False: False, True: False}
    today = {False: False, True: False}
    seen: set[str] = set()
    for record in action.records:
        if isinstance(record, Judgment):
            before = _superseded(connection, record, record.supersedes)
            if "label" not in seen:
                labelled[False] = isinstance(before, Judgment) and before.value is not None
                today[False] = labelled[False] and before is not None and before.created_at >= midnight
            labelled[True] = record.value is not None
            today[True] = labelled[True] and record.created_at >= midnight
            seen.add("label")
        elif record.kind == "cannot_decide":
            before = _superseded(connection, record, record.supersedes)
            if "mark" not in seen:
                undecided[False] = isinstance(before, Mark) and before.active
            undecided[True] = record.active
            seen.add("mark")
    settled_before = labelled[False] or undecided[False]
    settled_after = labelled[True] or undecided[True]
    return StandingChange(
        today=today[True] - today[False],
        left=settled_before - settled_after,
        judged=labelled[True] and not labelled[False] and action.records[0].origin != "redo",
    )


def _superseded(
    connection: Connection, record: Judgment | Mark, number: UUID | None
) -> Judgment | Mark | None:
    if number is None:
        return None
    table = table_of(JudgmentRow if isinstance(record, Judgment) else MarkRow)
    row = (
        connection.execute(select(table).where(table.c.item_id == record.item_id, table.c.id == number))
        .mappings()
        .first()
    )
    if row is None:
        return None
    return Judgment(**row) if isinstance(record, Judgment) else Mark(**row)
