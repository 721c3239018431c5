"""By how much an action changes a rater's counts, and which of some items are still open to them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from store.queries.current import own_marks
from store.queries.due import answered_count, due_questions, kind_of, required_count
from store.record.actions import Action
from store.record.scope import Scope
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.people import Question
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow, QuestionTarget


@dataclass(frozen=True, slots=True)
class ProgressDelta:
    """By how much an action changed a rater's counts.

    Attributes:
        today: Items that are judged, and were given their latest value today.
        left: Items that are neither judged nor said to be undecidable.
        judged: Whether the action gave an item the last value that was due; a redo does not.
    """

    today: int
    left: int
    judged: bool


def open_among(connection: Connection, scope: Scope, item_ids: Collection[int]) -> set[int]:
    """Return those of some items that a rater has neither judged nor said to be undecidable."""
    if not item_ids:
        return set()
    item = table_of(Item)
    given, marks = answered_count(scope, item_ids), own_marks(scope, item_ids)
    due, responses = required_count(item, item_ids)
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


def skipped_in_order(connection: Connection, scope: Scope) -> list[int]:
    """Return the items that a rater put off and has not come back to, the one put off first first."""
    marks = own_marks(scope)
    put_off = select(marks.c.item_id).where(marks.c.skipped).order_by(marks.c.skipped_by)
    skipped = list(connection.execute(put_off).scalars())
    still_open = open_among(connection, scope, skipped)
    return [number for number in skipped if number in still_open]


def progress_delta(connection: Connection, action: Action) -> ProgressDelta:
    """Return by how much a stored action changed the counts of its rater.

    Args:
        connection: A reading connection.
        action: As it was stored.
    """
    first, last = (choose(record.id for record in action.records) for choose in (min, max))
    records = _records(connection, action.records[0])
    kind = kind_of(connection, action.item_id)
    due = [] if kind is None else due_questions(connection, kind, action.item_id)
    question = table_of(Question)
    named = select(question.c.name, question.c.id).where(question.c.name.in_([spec.name for spec, *_ in due]))
    keys = dict(connection.execute(named).all())
    targets = {QuestionTarget(keys[spec.name], ref) for spec, ref, _ in due if spec.name in keys}
    before = _state([record for record in records if record.id < first], targets, len(due))
    after = _state([record for record in records if record.id <= last], targets, len(due))
    return ProgressDelta(
        today=after.today - before.today,
        left=before.settled - after.settled,
        judged=after.judged and not before.judged and action.records[0].origin != "redo",
    )


@dataclass(frozen=True, slots=True)
class _ItemState:
    """What an item counted as for a rater at one time."""

    judged: bool
    today: bool
    settled: bool


def _state(records: list[Judgment | Mark], due: set[QuestionTarget], number: int) -> _ItemState:
    """Return what an item counts as for a rater.

    Args:
        records: What the rater had recorded, in order.
        due: The questions that the item is asked, of those that the workspace knows.
        number: How many questions it is asked.
    """
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    values = {
        record.target: record for record in records if isinstance(record, Judgment) and record.target in due
    }
    given = [record.created_at for record in values.values() if record.value is not None]
    undecided = [record.active for record in records if isinstance(record, Mark)][-1:] == [True]
    judged = bool(number) and len(given) >= number
    return _ItemState(judged, judged and max(given) >= midnight, judged or undecided)


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
