"""Current judgments, marks and verdicts of items, as subqueries.

The record is append-only, so the current row of a key is the one with the highest id. Verdicts of different
runs are never mixed: those of one run for each kind are shown.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    ScalarSelect,
    Select,
    String,
    Subquery,
    Table,
    and_,
    case,
    cast,
    exists,
    func,
    or_,
    select,
)

from store.kinds.spec import task_kinds
from store.policy.rows import is_own, may, words_of
from store.policy.scope import ADJUDICATE, FIRST_PHASES, Scope, Shows
from store.queries.rows import NEEDS_SANDBOX
from store.tables.columns import among, table_of
from store.tables.people import Assignment, Question, Study, StudyRater
from store.tables.record import JudgmentRow, MarkRow
from store.tables.runs import Run, StepRow, VerdictRow


def texts_until(connection: Connection, scope: Scope) -> datetime | None:
    """Return until when rewritten texts count in a scope; None outside a study, where all of them do.

    The items of a study stay as they were when it was frozen.
    """
    until = frozen_at(scope)
    return None if until is None else connection.execute(select(until)).scalar()


def frozen_at(scope: Scope) -> ScalarSelect[datetime | None] | None:
    """Select when the study of a scope was frozen; None outside a study."""
    study = table_of(Study)
    if scope.sitting is None:
        return None
    return select(study.c.frozen_at).where(study.c.id == scope.sitting.study).scalar_subquery()


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
        scope: Whose, in which sitting or phase.
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
    phases: Collection[str] | None = None,
    item_ids: Collection[int] | None = None,
    questions: Questions = None,
) -> Subquery:
    """Return everybody's current judgments, one for each key of the record.

    Args:
        phases: In which phases; None for all.
        item_ids: Of which items; None for all.
        questions: To which questions.

    Returns:
        The columns of the judgment table; judgments without a value are left out, and those of raters who
        withdrew from their study.
    """
    judgment = table_of(JudgmentRow)
    return _values(item_ids, questions, not_withdrawn(judgment), *_in_phases(judgment, phases))


def not_withdrawn(records: FromClause) -> ColumnElement[bool]:
    """Return the condition that a judgment or mark is not of a rater who withdrew from its study."""
    return records.c.assignment_id.is_(None) | records.c.assignment_id.not_in(withdrawn_assignments())


def withdrawn_assignments() -> Select[tuple[UUID]]:
    """Select the assignments of raters who withdrew from their study."""
    assignment, member = table_of(Assignment), table_of(StudyRater)
    of_member = (member.c.study_id == assignment.c.study_id) & (member.c.rater_id == assignment.c.rater_id)
    return select(assignment.c.id).join(member, of_member).where(member.c.withdrawn_at.is_not(None))


def first_values(
    item_ids: Collection[int] | None = None,
    questions: Questions = None,
    *,
    phases: Collection[str] = FIRST_PHASES,
    study: int | None = None,
    condition: str | None = None,
) -> Subquery:
    """Return the labels that count in measures: of each rater, those of the first presentation of an item.

    Args:
        item_ids: Of which items; None for all.
        questions: To which questions.
        phases: In which phases.
        study: The study whose assignments count; None for all labels of the phases.
        condition: The condition of the assignments that count; None for all. The first presentation is
            chosen among all.

    Returns:
        The columns of the judgment table, a row for each item, question, response and rater.
    """
    judgment, assignment = table_of(JudgmentRow), table_of(Assignment)
    wanted = [not_withdrawn(judgment), *_in_phases(judgment, phases)]
    if study is not None:
        of_study = select(assignment.c.id).where(assignment.c.study_id == study)
        wanted.append(judgment.c.assignment_id.in_(of_study))
    labels = _values(item_ids, questions, *wanted, begun=True)
    key = [labels.c[name] for name in ("item_id", "question_id", "response_ref_id", "rater_id")]
    place = func.row_number().over(partition_by=key, order_by=labels.c.begun)
    ranked = select(labels, place.label("presentation")).subquery()
    columns = [ranked.c[column.name] for column in judgment.c]
    found = select(*columns).where(ranked.c.presentation == 1)
    if condition is not None:
        under = select(assignment.c.id).where(words_of(sides=False) == condition)
        found = found.where(ranked.c.assignment_id.in_(under))
    return found.subquery("first_label")


def ruling_values(
    item_ids: Collection[int] | None = None, questions: Questions = None, *, study: int | None = None
) -> Subquery:
    """Return the current rulings of adjudicators, one for each key of the record.

    Args:
        item_ids: On which items; None for all.
        questions: On which questions.
        study: The study under whose assignments they were made; None for all rulings.

    Returns:
        The columns of the judgment table; rulings that were taken back are left out.
    """
    judgment, assignment = table_of(JudgmentRow), table_of(Assignment)
    wanted = _in_phases(judgment, (*FIRST_PHASES, ADJUDICATE))
    if study is not None:
        of_study = select(assignment.c.id).where(assignment.c.study_id == study)
        wanted.append(judgment.c.assignment_id.in_(of_study))
    found = _values(item_ids, questions, *wanted)
    # One that a redo brought back has another origin.
    is_ruling = or_(found.c.origin == "ruling", found.c.phase == ADJUDICATE)
    return select(found).where(is_ruling).subquery("ruling")


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


def all_marks(kind: str, phases: Collection[str] = FIRST_PHASES, study: str | None = None) -> Subquery:
    """Return (item_id, rater_id) of everybody's current marks of a kind.

    Args:
        kind: One of `MARK_KINDS`.
        phases: In which phases.
        study: The name of the study whose assignments count; None for all marks of the phases.
    """
    mark = table_of(MarkRow)
    key = ("item_id", "rater_id", "assignment_id", "phase", "kind")
    wanted = [mark.c.kind == kind, not_withdrawn(mark), *_in_phases(mark, phases)]
    if study is not None:
        assignment, studies = table_of(Assignment), table_of(Study)
        of_study = select(assignment.c.id).join(studies, studies.c.id == assignment.c.study_id)
        wanted.append(mark.c.assignment_id.in_(of_study.where(studies.c.name == study)))
    latest = _latest(mark, key, *wanted)
    return select(latest.c.item_id, latest.c.rater_id).where(latest.c.active).distinct().subquery("marks")


def shown_runs(scope: Scope) -> Select[Any]:
    """Select the id of the run of each kind whose verdicts are the agents' labels.

    It is the one that the scope names, for its kind. Otherwise it is the newest of the runs with the fullest
    configuration; runs without a verdict come after all others. In the sitting of a study only runs count
    that took a step on an item of which it shows something, and only verdicts on these items.
    """
    return _shown_runs(None if scope.run is None else scope.run.id, None if scope.sitting is None else scope)


@lru_cache(maxsize=64)
def _shown_runs(chosen: UUID | None, study: Scope | None) -> Select[Any]:
    """Select `shown_runs`; `study` is the scope where that is a sitting.

    One object for all uses, so that a statement that names it several times computes it once (a page of
    412,080 pairs with two runs: 49 ms, and 225 ms otherwise).
    """
    run, verdict, step = table_of(Run), table_of(VerdictRow), table_of(StepRow)
    labelled, worked = select(verdict.c.run_id), select(step.c.run_id)
    if study is not None:
        labelled = labelled.where(_shows_runs(study, verdict.c.item_id))
        worked = worked.where(_shows_runs(study, step.c.item_id))
    order = [
        case((run.c.id.in_(labelled), 1), else_=0).desc(),
        run.c.fullness.desc(),
        run.c.started_at.desc(),
        run.c.id.desc(),
    ]
    if chosen is not None:
        order.insert(0, case((run.c.id == chosen, 1), else_=0).desc())
    place = func.row_number().over(partition_by=run.c.kind, order_by=order)
    # In a packet one of no kind stands for verdicts that are not shown.
    there = select(run.c.id, place.label("place")).where(run.c.kind != "")
    if study is not None:
        there = there.where(or_(run.c.id.in_(labelled), run.c.id.in_(worked)))
    ranked = there.subquery("ranked_run")
    shown = select(ranked.c.id).where(ranked.c.place == 1).cte("shown_run")
    return select(shown.c.id)


def _shows_runs(scope: Scope, item_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that something of the agents' runs is shown on an item: a label, or a test."""
    return or_(may(scope, Shows.AGENTS, item_id), may(scope, Shows.TESTS, item_id))


def current_verdicts(scope: Scope, item_ids: Collection[int] | None = None) -> Subquery:
    """Return the verdicts of the shown runs on the labels of items, with the columns of the verdict table.

    This is the one definition of "the agents' label of an item". An item has at most one.

    Args:
        scope: Which run is shown.
        item_ids: Of which items; None for all.
    """
    verdict = table_of(VerdictRow)
    conditions = [verdict.c.run_id.in_(shown_runs(scope)), on_label(verdict), *_among(verdict, item_ids)]
    return select(verdict).where(*conditions).subquery("current_verdict")


def on_label(verdict: Table) -> ColumnElement[bool]:
    """Return the condition that a verdict is on an item's label, not on another question or on a response."""
    question = table_of(Question)
    labels = select(question.c.id).where(question.c.name.in_(label_questions()))
    return verdict.c.response_ref_id.is_(None) & verdict.c.question_id.in_(labels)


def status_of(
    answered: ColumnElement[int], required: ColumnElement[int], marks: Subquery
) -> ColumnElement[str]:
    """Return judged, open, skipped or cannot_decide for an item outer-joined with its marks.

    Args:
        answered: How many of its questions have a value.
        required: How many questions it is asked.
        marks: See `own_marks`.
    """
    return case(
        (answered >= required, "judged"),
        (marks.c.cannot_decide, "cannot_decide"),
        (marks.c.skipped, "skipped"),
        else_="open",
    )


def _values(
    item_ids: Collection[int] | None,
    questions: Questions,
    *conditions: ColumnElement[bool],
    begun: bool = False,
) -> Subquery:
    judgment, question = table_of(JudgmentRow), table_of(Question)
    wanted = [*conditions, *_among(judgment, item_ids)]
    if questions is not None:
        if not isinstance(questions, Select):
            questions = select(question.c.id).where(question.c.name.in_(questions))
        wanted.append(judgment.c.question_id.in_(questions))
    key = ("item_id", "question_id", "response_ref_id", "rater_id", "assignment_id", "phase")
    latest = _latest(judgment, key, *wanted, begun=begun, name="latest_judgment")
    return select(latest).where(latest.c.value.is_not(None)).subquery("label")


def _in_phases(records: Table, phases: Collection[str] | None) -> list[ColumnElement[bool]]:
    """Return the condition that records are of some phases; none for all phases."""
    return [] if phases is None else [records.c.phase.in_(phases)]


def _latest(
    table: Table,
    key: tuple[str, ...],
    *conditions: ColumnElement[bool],
    begun: bool = False,
    name: str = "latest",
) -> Subquery:
    """Return the rows of a table with the highest id for each key; `begun` adds the lowest one."""
    part = [table.c[column] for column in key]
    place = func.row_number().over(partition_by=part, order_by=table.c.id.desc())
    first = [func.first_value(table.c.id).over(partition_by=part, order_by=table.c.id).label("begun")]
    ranked = select(table, place.label("place"), *(first if begun else [])).where(*conditions).subquery()
    columns = [ranked.c[column.name] for column in table.c] + ([ranked.c.begun] if begun else [])
    return select(*columns).where(ranked.c.place == 1).subquery(name)


def _among(table: Table, item_ids: Collection[int] | None) -> list[ColumnElement[bool]]:
    """Return the condition that selects some items; inside the window, which hides it from outside."""
    return [] if item_ids is None else [among(table.c.item_id, item_ids)]


def items_that_need_a_sandbox(scope: Scope, item_ids: Collection[int] | None = None) -> Select[Any]:
    """Return the select of the items without a verdict whose last step was refused for want of a sandbox.

    Only the steps and verdicts of the shown runs count.

    Args:
        scope: Which run is shown.
        item_ids: Of which items; None for all.
    """
    step, verdict = table_of(StepRow), table_of(VerdictRow)
    later, runs = step.alias("later"), shown_runs(scope)

    def asked(table: FromClause) -> list[ColumnElement[bool]]:
        # Said of each table, since neither an aggregate nor a negation takes it over from its neighbour.
        of_run: list[ColumnElement[bool]] = [table.c.run_id.in_(runs)]
        return of_run if item_ids is None else [*of_run, among(table.c.item_id, item_ids)]

    refused = (
        select(step.c.item_id, func.max(step.c.id).label("id"))
        .where(
            step.c.outcome == "failed",
            step.c.error.startswith(NEEDS_SANDBOX + ": ", autoescape=True),
            *asked(step),
        )
        .group_by(step.c.item_id)
        .subquery("refused")
    )
    return select(refused.c.item_id).where(
        ~exists().where(later.c.item_id == refused.c.item_id, later.c.id > refused.c.id, *asked(later)),
        ~exists().where(verdict.c.item_id == refused.c.item_id, *asked(verdict)),
    )
