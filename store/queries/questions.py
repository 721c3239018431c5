"""The number of questions of an item, and how many of them a rater has answered.

An item is asked every question of its kind; one that is asked of responses once for each response, and of
the item itself where it has none. Some are asked only where a judge gave a response a score, or agents gave
the item a verdict, and nothing more once a rater gave the value that ends an item, such as "drop". Other
answers, such as those to an item that got responses since, stay in the record and do not count.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    FromClause,
    ScalarSelect,
    Select,
    Subquery,
    Table,
    case,
    cast,
    func,
    literal,
    null,
    or_,
    select,
    union_all,
)

from store.kinds.spec import QuestionSpec, TaskKind, task_kinds
from store.policy.scope import EVERYTHING, Scope
from store.queries.current import frozen_at, label_questions, own_values
from store.record.response_names import ResponseName
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.people import Question
from store.tables.responses import Response, ResponseRef, Score
from store.tables.runs import VerdictRow


def _names(*, of_responses: bool) -> list[str]:
    return [
        spec.name
        for kind in task_kinds().values()
        for spec in kind.questions
        if spec.of_responses == of_responses
    ]


def refs_with_text(item_ids: Collection[int] | None) -> Select[Any]:
    """Select the references (id, item_id, model, setting, trial) of the responses whose text is there."""
    ref, response = table_of(ResponseRef), table_of(Response)
    found = select(ref).join(response, response.c.id == ref.c.id)
    return found if item_ids is None else found.where(among(ref.c.item_id, item_ids))


def required_count(
    item: FromClause,
    item_ids: Collection[int] | None = None,
    scope: Scope = EVERYTHING,
    answers: Subquery | None = None,
) -> tuple[ColumnElement[int], Subquery | None]:
    """Return how many questions an item is asked.

    Args:
        item: The table of items.
        item_ids: Of which items; None for all.
        scope: For whom; in a study the scores that there were at its freezing count.
        answers: The rater's answers (see `answered_count`), after some of which nothing more is asked.

    Returns:
        The number, and the counts of responses (item_id, number) that it needs outer-joined; None where no
        kind asks anything of responses.
    """
    of_responses = {
        kind.name: sum(spec.of_responses and not spec.only_scored for spec in kind.questions)
        for kind in task_kinds().values()
    }
    only_scored = only_scored_questions()
    counts: Subquery | None = None
    number: ColumnElement[int] = literal(1)
    scored: ColumnElement[int] = literal(0)
    if any(of_responses.values()) or only_scored:
        refs = refs_with_text(item_ids).subquery("responses")
        score = table_of(Score)
        measures = (
            select(score.c.response_ref_id, func.count(score.c.measure.distinct()).label("number"))
            .where(score.c.measure.in_([spec.title for spec in only_scored]), *_in_time(scope, score))
            .group_by(score.c.response_ref_id)
            .subquery("scored")
        )
        counts = (
            select(
                refs.c.item_id,
                func.count().label("number"),
                func.coalesce(func.sum(measures.c.number), 0).label("scored"),
            )
            .select_from(refs.outerjoin(measures, measures.c.response_ref_id == refs.c.id))
            .group_by(refs.c.item_id)
            .subquery("response_count")
        )
        number = func.coalesce(counts.c.number, 1)
        scored = func.coalesce(counts.c.scored, 0)
    whens: list[tuple[Any, Any]] = []
    for kind in task_kinds().values():
        many = of_responses[kind.name]
        asked: ColumnElement[int] = literal(
            sum(not spec.of_responses and not spec.only_claimed for spec in kind.questions)
        )
        for spec in kind.questions:
            if spec.only_claimed:
                asked = asked + case((item.c.id.in_(_claimed(spec, scope, item_ids)), 1), else_=0)
        asked = asked + many * number if many else asked
        if any(spec.only_scored for spec in kind.questions):
            asked = asked + scored
        if answers is not None and any(spec.last_value is not None for spec in kind.questions):
            asked = case((answers.c.ended, 1), else_=asked)
        whens.append((item.c.kind == kind.name, asked))
    # The questions of an unknown kind are unknown.
    return case(*whens, else_=1), counts


def answered_count(scope: Scope, item_ids: Collection[int] | None = None) -> Subquery:
    """Return how many of the questions have a value, with what these values say.

    Where one is such that nothing more is asked, it alone counts. The columns are item_id, answered, latest,
    value, reason, shown_as and ended. Items without any value are left out. `latest` is when the latest of
    these values was recorded; `value` is that of the question whose value queues show. `reason` and
    `shown_as` are those of the value where an item is asked one question. `ended` is whether nothing more is
    asked.

    Args:
        scope: Whose answers, in which sitting or phase.
        item_ids: Of which items; None for all.
    """
    plain = own_values(scope, item_ids, _names(of_responses=False))
    shown = select(table_of(Question).c.id).where(table_of(Question).c.name.in_(label_questions()))
    claimed = [spec for kind in task_kinds().values() for spec in kind.questions if spec.only_claimed]
    lasts = [
        (plain.c.question_id == _key(spec)) & (plain.c.value == spec.last_value)
        for kind in task_kinds().values()
        for spec in kind.questions
        if spec.last_value is not None
    ]
    label = case((plain.c.question_id.in_(shown), plain.c.value))
    counted = _counted(plain, label, or_(literal(False), *lasts)).where(
        *(
            # Where nobody stored the question, its key is NULL, which nothing is unequal to.
            or_(
                plain.c.question_id.is_distinct_from(_key(spec)),
                plain.c.item_id.in_(_claimed(spec, scope, item_ids)),
            )
            for spec in claimed
        )
    )
    by_response = _names(of_responses=True)
    if not by_response:
        return counted.subquery("answered")
    # Apart, since most workspaces hold many items that are asked nothing of responses.
    values, refs = (
        own_values(scope, item_ids, by_response),
        refs_with_text(item_ids).subquery("responses"),
    )
    of_response = values.c.response_ref_id.in_(select(refs.c.id))
    of_item = values.c.response_ref_id.is_(None) & values.c.item_id.not_in(select(refs.c.item_id))
    of_responses = _counted(values, cast(null(), Double), literal(False)).where(
        or_(of_response, of_item), *(_is_asked(values, spec, scope) for spec in only_scored_questions())
    )
    both = union_all(counted, of_responses).subquery("both")
    return (
        select(
            both.c.item_id,
            case((func.max(both.c.ended), 1), else_=func.sum(both.c.answered)).label("answered"),
            func.max(both.c.latest).label("latest"),
            *(func.max(both.c[name]).label(name) for name in ("value", "reason", "shown_as", "ended")),
        )
        .group_by(both.c.item_id)
        .subquery("answered")
    )


def only_scored_questions() -> list[QuestionSpec]:
    """Return the questions that are asked only of responses with a judge's score."""
    return [spec for kind in task_kinds().values() for spec in kind.questions if spec.only_scored]


def _in_time(scope: Scope, table: Table) -> list[ColumnElement[bool]]:
    """Return the condition that a score or verdict counts: in a study, that it was there at the freezing."""
    until = frozen_at(scope)
    return [] if until is None else [table.c.created_at < until]


def _key(spec: QuestionSpec) -> ScalarSelect[Any]:
    question = table_of(Question)
    return select(question.c.id).where(question.c.name == spec.name).scalar_subquery()


def _claimed(spec: QuestionSpec, scope: Scope, item_ids: Collection[int] | None = None) -> Select[Any]:
    """Select the items for which agents gave a verdict on a question about the item."""
    verdict = table_of(VerdictRow)
    return select(verdict.c.item_id).where(
        verdict.c.question_id == _key(spec),
        verdict.c.response_ref_id.is_(None),
        *_in_time(scope, verdict),
        *([] if item_ids is None else [among(verdict.c.item_id, item_ids)]),
    )


def _is_asked(values: Subquery, spec: QuestionSpec, scope: Scope) -> ColumnElement[bool]:
    """Return the condition that a value is not of a question that is asked of its response no more."""
    score, question = table_of(Score), table_of(Question)
    of_spec = select(question.c.id).where(question.c.name == spec.name)
    scored = select(score.c.response_ref_id).where(score.c.measure == spec.title, *_in_time(scope, score))
    return or_(values.c.question_id.not_in(of_spec), values.c.response_ref_id.in_(scored))


def _counted(values: Subquery, shown: ColumnElement[float], ends: ColumnElement[bool]) -> Select[Any]:
    return select(
        values.c.item_id,
        func.count().label("answered"),
        func.max(values.c.created_at).label("latest"),
        func.max(shown).label("value"),
        *(func.max(values.c[name]).label(name) for name in ("reason", "shown_as")),
        func.max(ends).label("ended"),
    ).group_by(values.c.item_id)


def item_questions(
    connection: Connection, kind: TaskKind, item_id: int, scope: Scope = EVERYTHING
) -> list[tuple[QuestionSpec, int | None, ResponseName | None]]:
    """Return the questions that an item is asked, of the item first, then response by response.

    In a study the scores and verdicts that there were at its freezing count.

    Returns:
        Each question with the key and the name of the response that it is asked of; None for the item.
    """
    of_responses = [spec for spec in kind.questions if spec.of_responses]
    of_item: list[tuple[QuestionSpec, int | None, ResponseName | None]] = [
        (spec, None, None) for spec in kind.questions if is_asked_of_item(connection, spec, item_id, scope)
    ]
    if not of_responses:
        return of_item
    refs = refs_with_text([item_id]).subquery("responses")
    found = connection.execute(select(refs).order_by(refs.c.model, refs.c.setting, refs.c.trial)).all()
    responses: list[tuple[int | None, ResponseName | None]] = [
        (row.id, ResponseName(row.model, row.setting, row.trial)) for row in found
    ]
    asked = scored_measures(connection, [row.id for row in found], scope)
    return of_item + [
        (spec, *one)
        for one in responses or [(None, None)]
        for spec in of_responses
        if not spec.only_scored or spec.title in asked.get(one[0], ())
    ]


def is_asked_of_item(connection: Connection, spec: QuestionSpec, item_id: int, scope: Scope) -> bool:
    """Return whether a question is about an item itself, and asked of it."""
    if spec.of_responses or not spec.only_claimed:
        return not spec.of_responses
    return connection.execute(_claimed(spec, scope, [item_id])).first() is not None


def last_answered(connection: Connection, kind: TaskKind, item_id: int, scope: Scope) -> QuestionSpec | None:
    """Return the question whose answer by the rater is such that nothing more is asked of an item."""
    for spec in kind.questions:
        if spec.last_value is None or not is_asked_of_item(connection, spec, item_id, scope):
            continue
        given = own_values(scope, [item_id], [spec.name])
        if connection.execute(select(given.c.value).where(given.c.value == spec.last_value)).first():
            return spec
    return None


def scored_measures(
    connection: Connection, response_ids: Collection[int], scope: Scope = EVERYTHING
) -> dict[int | None, set[str]]:
    """Return the measures under which judges scored some responses, by response; those that questions need.

    In a study the scores that there were at its freezing count.
    """
    score = table_of(Score)
    found: dict[int | None, set[str]] = {}
    if response_ids:
        needed = [spec.title for spec in only_scored_questions()]
        scores = select(score.c.response_ref_id, score.c.measure).distinct()
        scores = scores.where(score.c.measure.in_(needed), *_in_time(scope, score))
        for row in connection.execute(scores.where(among(score.c.response_ref_id, response_ids))):
            found.setdefault(row.response_ref_id, set()).add(row.measure)
    return found


def kind_of(connection: Connection, item_id: int) -> TaskKind | None:
    """Return the kind of an item; None where there is no such item, or its kind is not installed."""
    return task_kinds().get(kind_name(connection, item_id))


def kind_name(connection: Connection, item_id: int) -> str:
    """Return the name of an item's kind, installed or not; empty where there is no such item."""
    item = table_of(Item)
    return connection.execute(select(item.c.kind).where(item.c.id == item_id)).scalar() or ""
