"""Current judgments, marks and verdicts of items, as subqueries.

The record is append-only, so the current row of a key is the one with the highest id.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Select, String, Subquery, Table, and_, case, cast, func, select

from store.kinds.spec import task_kinds
from store.queries.scoped import is_own
from store.record.scope import Scope
from store.tables.columns import among, table_of
from store.tables.people import Question
from store.tables.record import JudgmentRow, MarkRow
from store.tables.runs import VerdictRow

STATUSES = ("judged", "open", "skipped", "cannot_decide")

Questions = Collection[str] | Select[Any] | None
"""Questions by name, as a select of their keys, or all of them (None)."""


def label_questions() -> list[str]:
    """Return the names of the questions whose values queues show: at most one of every kind."""
    found = (kind.label_question for kind in task_kinds().values())
    return [spec.name for spec in found if spec is not None]


def own_values(
    scope: Scope, item_ids: Collection[int] | None = None, questions: Questions = None
) -> Subquery:
    """Return the current judgments of a scope, one for each item, question and response.

    Args:
        scope: Whose, in which study and phase.
        item_ids: Of which items; None for all.
        questions: To which questions.

    Returns:
        The columns of the judgment table; judgments without a value are left out.
    """
    return _values(item_ids, questions, is_own(scope, table_of(JudgmentRow)))


def own_labels(scope: Scope, item_ids: Collection[int] | None = None) -> Subquery:
    """Return the current values of the questions that queues show (see `own_values`)."""
    return own_values(scope, item_ids, label_questions())


def all_values(
    phase: str | None = None, item_ids: Collection[int] | None = None, questions: Questions = None
) -> Subquery:
    """Return everybody's current judgments, one for each key of the record.

    Args:
        phase: In which phase; None for all.
        item_ids: Of which items; None for all.
        questions: To which questions.

    Returns:
        The columns of the judgment table; judgments without a value are left out.
    """
    return _values(item_ids, questions, *([] if phase is None else [table_of(JudgmentRow).c.phase == phase]))


def own_marks(scope: Scope, item_ids: Collection[int] | None = None) -> Subquery:
    """Return (item_id, cannot_decide, skipped, flagged, commented, skipped_by), a row a marked item."""
    mark = table_of(MarkRow)
    latest = _latest(mark, ("item_id", "kind"), is_own(scope, mark), *_among(mark, item_ids))

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
    """Return the latest verdict of any run on the label of each item, with the columns of the verdict table.

    This is the one definition of "the agents' label of an item".

    Args:
        item_ids: Of which items; None for all.
    """
    verdict = table_of(VerdictRow)
    return _latest(
        verdict, ("item_id",), on_label(verdict), *_among(verdict, item_ids), name="current_verdict"
    )


def on_label(verdict: Table) -> ColumnElement[bool]:
    """Return the condition that a verdict is on an item's label, not on another question or on a response."""
    question = table_of(Question)
    labels = select(question.c.id).where(question.c.name.in_(label_questions()))
    return verdict.c.response_ref_id.is_(None) & verdict.c.question_id.in_(labels)


def status_of(given: ColumnElement[int], due: ColumnElement[int], marks: Subquery) -> ColumnElement[str]:
    """Return one of `STATUSES` for an item outer-joined with its marks.

    Args:
        given: How many of the questions that are due have a value.
        due: How many are due.
        marks: See `own_marks`.
    """
    return case(
        (given >= due, "judged"),
        (marks.c.cannot_decide, "cannot_decide"),
        (marks.c.skipped, "skipped"),
        else_="open",
    )


def _values(
    item_ids: Collection[int] | None, questions: Questions, *conditions: ColumnElement[bool]
) -> Subquery:
    judgment, question = table_of(JudgmentRow), table_of(Question)
    wanted = [*conditions, *_among(judgment, item_ids)]
    if questions is not None:
        if not isinstance(questions, Select):
            questions = select(question.c.id).where(question.c.name.in_(questions))
        wanted.append(judgment.c.question_id.in_(questions))
    key = ("item_id", "question_id", "response_ref_id", "rater_id", "assignment_id", "phase")
    latest = _latest(judgment, key, *wanted, name="latest_judgment")
    return select(latest).where(latest.c.value.is_not(None)).subquery("label")


def _latest(
    table: Table, key: tuple[str, ...], *conditions: ColumnElement[bool], name: str = "latest"
) -> Subquery:
    """Return the rows of a table with the highest id for each key."""
    place = func.row_number().over(
        partition_by=[table.c[column] for column in key], order_by=table.c.id.desc()
    )
    ranked = select(table, place.label("place")).where(*conditions).subquery()
    columns = [ranked.c[column.name] for column in table.c]
    return select(*columns).where(ranked.c.place == 1).subquery(name)


def _among(table: Table, item_ids: Collection[int] | None) -> list[ColumnElement[bool]]:
    """Return the condition that keeps some items; inside the window, which hides it from outside."""
    return [] if item_ids is None else [among(table.c.item_id, item_ids)]
