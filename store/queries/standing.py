"""What a record changed of a rater's standing, and which of a few items are still open to them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from store.queries.current import REVIEW, current_marks
from store.queries.due import due_of, due_questions, given_by, kind_of
from store.recording import Action
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.people import Question
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow


@dataclass(frozen=True, slots=True)
class StandingChange:
    """By how much an action changed a rater's counts.

    Attributes:
        today: Items that are judged, and were given their latest value today.
        left: Items that are neither judged nor said to be undecidable.
        judged: Whether the action gave an item the last value that was due; a redo does not.
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
    item = table_of(Item)
    given, marks = given_by(rater_id, phase, item_ids), current_marks(rater_id, phase, item_ids)
    due, responses = due_of(item, item_ids)
    found = (
        select(item.c.id)
        .select_from(item)
        .outerjoin(given, given.c.item_id == item.c.id)
        .outerjoin(marks, marks.c.item_id == item.c.id)
        .where(
            among(item.c.id, item_ids),
            func.coalesce(given.c.given, 0) < due,
            func.coalesce(marks.c.cannot_decide, False).is_(False),
        )
    )
    if responses is not None:
        found = found.outerjoin(responses, responses.c.item_id == item.c.id)
    return set(connection.execute(found).scalars())


def skipped_in_order(connection: Connection, rater_id: int, phase: str = REVIEW) -> list[int]:
    """Return the items that a rater put off and has not come back to, the one put off first first."""
    marks = current_marks(rater_id, phase)
    put_off = select(marks.c.item_id).where(marks.c.skipped).order_by(marks.c.skipped_by)
    skipped = list(connection.execute(put_off).scalars())
    still_open = open_among(connection, rater_id, skipped, phase)
    return [number for number in skipped if number in still_open]


def change_of(connection: Connection, action: Action) -> StandingChange:
    """Return what a stored action changed, from what its rater has recorded of the item.

    Args:
        connection: A reading connection.
        action: As it was stored.
    """
    first, last = (choose(record.id for record in action.records) for choose in (min, max))
    records = _records(connection, action.records[0])
    kind = kind_of(connection, action.item_id)
    names = due_questions(connection, kind, action.item_id) if kind is not None else ()
    question = table_of(Question)
    due = set(connection.execute(select(question.c.id).where(question.c.name.in_(names))).scalars())
    # Of a question that nobody ever answered, the workspace need not have a row.
    before = _standing([record for record in records if record.id < first], due, len(names))
    after = _standing([record for record in records if record.id <= last], due, len(names))
    return StandingChange(
        today=after.today - before.today,
        left=before.settled - after.settled,
        judged=after.judged and not before.judged and action.records[0].origin != "redo",
    )


@dataclass(frozen=True, slots=True)
class _Standing:
    """How a rater stood with an item at one time."""

    judged: bool
    today: bool
    settled: bool


def _standing(records: list[Judgment | Mark], due: set[int], number: int) -> _Standing:
    """Return how a rater stood with an item.

    Args:
        records: What the rater had recorded, in order.
        due: The keys of the questions that the item is asked, of those that the workspace knows.
        number: How many questions it is asked.
    """
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    values = {
        record.question_id: record
        for record in records
        if isinstance(record, Judgment) and record.question_id in due
    }
    given = [record.created_at for record in values.values() if record.value is not None]
    undecided = [record.active for record in records if isinstance(record, Mark)][-1:] == [True]
    judged = bool(number) and len(given) >= number
    return _Standing(judged, judged and max(given) >= midnight, judged or undecided)


def _records(connection: Connection, like: Judgment | Mark) -> list[Judgment | Mark]:
    """Return the judgments and the "cannot decide" of an item, of the rater and phase of one of them."""
    judgment, mark = table_of(JudgmentRow), table_of(MarkRow)
    found: list[Judgment | Mark] = []
    for table, model, conditions in (
        (judgment, Judgment, ()),
        (mark, Mark, (mark.c.kind == "cannot_decide",)),
    ):
        rows = connection.execute(
            select(table).where(
                table.c.item_id == like.item_id,
                table.c.rater_id == like.rater_id,
                table.c.phase == like.phase,
                table.c.assignment_id.is_not_distinct_from(like.assignment_id),
                *conditions,
            )
        )
        found += [model(**row) for row in rows.mappings()]
    return sorted(found, key=lambda record: record.id)
