"""What stands now: the current judgment, marks and verdict of each item, as subqueries.

The record is append-only, so the current row of a key is the one with the highest id.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Select, String, Subquery, Table, and_, case, cast, func, select

from store.kinds.protocol import task_kinds
from store.tables.columns import among, table_of
from store.tables.people import Question
from store.tables.record import JudgmentRow, MarkRow
from store.tables.runs import VerdictRow

REVIEW = "review"
"""The phase of judgments made outside a study."""

STATUSES = ("judged", "open", "skipped", "cannot_decide")


def _latest(table: Table, key: tuple[str, ...], *conditions: ColumnElement[bool], name: str) -> Subquery:
    """Return the rows of a table with the highest id for each key."""
    place = func.row_number().over(
        partition_by=[table.c[column] for column in key], order_by=table.c.id.desc()
    )
    ranked = select(table, place.label("place")).where(*conditions).subquery()
    columns = [ranked.c[column.name] for column in table.c]
    return select(*columns).where(ranked.c.place == 1).subquery(name)


def label_questions() -> list[str]:
    """Return the names of the questions whose values queues show: at most one of every kind."""
    found = (kind.label_question for kind in task_kinds().values())
    return [spec.name for spec in found if spec is not None]


def _among(table: Table, item_ids: Collection[int] | None) -> list[ColumnElement[bool]]:
    """Return the condition that keeps some items; said inside, since a window hides it from outside."""
    return [] if item_ids is None else [among(table.c.item_id, item_ids)]


def current_values(
    rater_id: int | None,
    phase: str | None = REVIEW,
    item_ids: Collection[int] | None = None,
    questions: Collection[str] | Select[Any] | None = None,
) -> Subquery:
    """Return the standing judgments: (item_id, question_id, rater_id, value, ...), none without a value.

    Args:
        rater_id: Whose; None for everybody's, one row for each rater, item and question.
        phase: In which phase; None for all, one row for each.
        item_ids: Of which items; None for all.
        questions: The names of the questions, or a select of their keys; None for all.
    """
    judgment, question = table_of(JudgmentRow), table_of(Question)
    conditions = _among(judgment, item_ids)
    if isinstance(questions, Select):
        conditions.append(judgment.c.question_id.in_(questions))
    elif questions is not None:
        named = select(question.c.id).where(question.c.name.in_(questions))
        conditions.append(judgment.c.question_id.in_(named))
    if rater_id is not None:
        conditions.append(judgment.c.rater_id == rater_id)
    if phase is not None:
        conditions.append(judgment.c.phase == phase)
    key = ("item_id", "question_id", "rater_id", "assignment_id", "phase")
    latest = _latest(judgment, key, *conditions, name="latest_judgment")
    return select(latest).where(latest.c.value.is_not(None)).subquery("label")


def current_labels(
    rater_id: int | None, phase: str | None = REVIEW, item_ids: Collection[int] | None = None
) -> Subquery:
    """Return the standing labels, the values of the questions that queues show (see `current_values`)."""
    return current_values(rater_id, phase, item_ids, label_questions())


def current_marks(rater_id: int, phase: str = REVIEW, item_ids: Collection[int] | None = None) -> Subquery:
    """Return one row an item that has marks: (item_id, cannot_decide, skipped, flagged, commented)."""
    mark = table_of(MarkRow)
    latest = _latest(
        mark,
        ("item_id", "assignment_id", "kind"),
        mark.c.rater_id == rater_id,
        mark.c.phase == phase,
        *_among(mark, item_ids),
        name="latest_mark",
    )

    def has(kind: str) -> ColumnElement[bool]:
        return func.max(case((and_(latest.c.kind == kind, latest.c.active), 1), else_=0)) == 1

    return (
        select(
            latest.c.item_id,
            has("cannot_decide").label("cannot_decide"),
            has("skip").label("skipped"),
            has("flag").label("flagged"),
            has("comment").label("commented"),
            # As text, which sorts alike: PostgreSQL has no maximum of UUIDs.
            func.max(case((latest.c.kind == "skip", cast(latest.c.id, String)))).label("skipped_by"),
        )
        .group_by(latest.c.item_id)
        .subquery("marked")
    )


def current_verdicts(item_ids: Collection[int] | None = None) -> Subquery:
    """Return the latest verdict of any run for each item: (item_id, value, path, reason, ...)."""
    verdict = table_of(VerdictRow)
    return _latest(verdict, ("item_id",), *_among(verdict, item_ids), name="verdict_now")


def status_of(given: ColumnElement[int], due: ColumnElement[int], marks: Subquery) -> ColumnElement[str]:
    """Return one of `STATUSES` for an item outer-joined with its marks.

    Args:
        given: How many of the questions that are due have a value.
        due: How many are due.
        marks: See `current_marks`.
    """
    return case(
        (given >= due, "judged"),
        (marks.c.cannot_decide, "cannot_decide"),
        (marks.c.skipped, "skipped"),
        else_="open",
    )
