"""What is asked of an item, and how much of it a rater has answered.

An item is asked every question of its kind; one that is asked of responses once for each response, and of
the item itself where there is none. What was answered otherwise, such as of an item to which responses came
later, is kept and does not count.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    FromClause,
    Select,
    String,
    Subquery,
    case,
    cast,
    exists,
    func,
    literal,
    null,
    select,
    union_all,
)

from store.kinds.instances import QUOTED, Instance
from store.kinds.protocol import TaskKind, task_kinds
from store.queries.current import REVIEW, current_values, label_questions
from store.tables.columns import among, table_of
from store.tables.imported import Item
from store.tables.people import Question
from store.tables.responses import Response


def _names(*, of_responses: bool) -> list[str]:
    return [
        spec.name
        for kind in task_kinds().values()
        for spec in kind.questions
        if spec.of_responses == of_responses
    ]


def _among(table: FromClause, item_ids: Collection[int] | None) -> list[ColumnElement[bool]]:
    # Said of each table, since neither an aggregate nor a window takes it over from its neighbour.
    return [] if item_ids is None else [among(table.c.item_id, item_ids)]


def response_names(item_ids: Collection[int] | None) -> Subquery:
    """Return what tells responses apart, as the names of questions say it: (id, item_id, place)."""
    response = table_of(Response)

    def quoted(column: ColumnElement[str]) -> ColumnElement[str]:
        return reduce(lambda text, sign: func.replace(text, *sign), QUOTED.items(), column)

    place = func.concat(
        "@",
        quoted(response.c.model),
        case((response.c.setting == "", ""), else_=func.concat("[", quoted(response.c.setting), "]")),
        case((response.c.trial == 0, ""), else_=func.concat("#", cast(response.c.trial, String))),
    )
    found = select(response.c.id, response.c.item_id, place.label("place")).where(*_among(response, item_ids))
    return found.subquery("responses")


def due_of(
    item: FromClause, item_ids: Collection[int] | None = None
) -> tuple[ColumnElement[int], Subquery | None]:
    """Return how many questions an item is asked.

    Args:
        item: The table of items.
        item_ids: Of which items; None for all.

    Returns:
        The number, and the counts of responses (item_id, number) that it needs outer-joined; None where no
        kind asks anything of responses.
    """
    of_responses = {
        kind.name: sum(spec.of_responses for spec in kind.questions) for kind in task_kinds().values()
    }
    counts: Subquery | None = None
    number: ColumnElement[int] = literal(1)
    if any(of_responses.values()):
        responses = response_names(item_ids)
        counts = (
            select(responses.c.item_id, func.count().label("number"))
            .group_by(responses.c.item_id)
            .subquery("response_count")
        )
        number = func.coalesce(counts.c.number, 1)
    whens: list[tuple[Any, Any]] = []
    for kind in task_kinds().values():
        many = of_responses[kind.name]
        once = literal(len(kind.questions) - many)
        whens.append((item.c.kind == kind.name, once + many * number if many else once))
    # Of a kind that nothing here knows, it is not known what is asked.
    return case(*whens, else_=1), counts


def given_by(
    rater_id: int | None,
    phase: str | None = REVIEW,
    item_ids: Collection[int] | None = None,
) -> Subquery:
    """Return how many of the questions that are due have a value: (item_id, rater_id, given, latest, value).

    Items without any are left out. `latest` is when the latest of these values was recorded; `value` is that
    of the question whose value queues show.

    Args:
        rater_id: Whose; None for everybody's, one row for each rater and item.
        phase: In which phase; None for all.
        item_ids: Of which items; None for all.
    """
    plain = current_values(rater_id, phase, item_ids, _names(of_responses=False))
    shown = select(table_of(Question).c.id).where(table_of(Question).c.name.in_(label_questions()))
    counted = _counted(plain, case((plain.c.question_id.in_(shown), plain.c.value)))
    by_response = _names(of_responses=True)
    if not by_response:
        return counted.subquery("given")
    # Apart, since most workspaces hold many items that are asked nothing of responses.
    both = union_all(counted, _given_of_responses(by_response, rater_id, phase, item_ids)).subquery("both")
    return (
        select(
            both.c.item_id,
            both.c.rater_id,
            func.sum(both.c.given).label("given"),
            func.max(both.c.latest).label("latest"),
            func.max(both.c.value).label("value"),
        )
        .group_by(both.c.item_id, both.c.rater_id)
        .subquery("given")
    )


def _counted(values: Subquery, shown: ColumnElement[float]) -> Select[Any]:
    columns = (values.c.item_id, values.c.rater_id)
    return select(
        *columns,
        func.count(values.c.question_id.distinct()).label("given"),
        func.max(values.c.created_at).label("latest"),
        func.max(shown).label("value"),
    ).group_by(*columns)


def _given_of_responses(
    names: list[str], rater_id: int | None, phase: str | None, item_ids: Collection[int] | None
) -> Select[Any]:
    """Return what is given to questions about responses, or about the item itself where it has none."""
    question, response, responses = table_of(Question), table_of(Response), response_names(item_ids)
    base = func.split_part(question.c.name, "@", 1)
    place = func.substr(question.c.name, func.length(base) + 1)
    asked = select(question.c.id, place.label("place")).where(base.in_(names)).subquery("asked")
    values = current_values(rater_id, phase, item_ids, select(asked.c.id))
    answers = exists().where(responses.c.item_id == values.c.item_id, responses.c.place == asked.c.place)
    any_response = exists().where(response.c.item_id == values.c.item_id, *_among(response, item_ids))
    return (
        _counted(values, cast(null(), Double))
        .join(asked, asked.c.id == values.c.question_id)
        .where(((asked.c.place == "") & ~any_response) | answers)
    )


def due_questions(connection: Connection, kind: TaskKind, item_id: int) -> tuple[str, ...]:
    """Return the names of the questions that an item is asked: of the item, then response by response.

    Args:
        connection: A reading connection.
        kind: The item's kind.
        item_id: The item.
    """
    names = [spec.name for spec in kind.questions if not spec.of_responses]
    of_responses = [spec.name for spec in kind.questions if spec.of_responses]
    if not of_responses:
        return tuple(names)
    response = table_of(Response)
    found = connection.execute(
        select(response.c.model, response.c.setting, response.c.trial)
        .where(response.c.item_id == item_id)
        .distinct()
        .order_by(response.c.model, response.c.setting, response.c.trial)
    ).all()
    if not found:
        return (*names, *of_responses)
    return (
        *names,
        *(
            Instance(name, model, setting, trial).name
            for model, setting, trial in found
            for name in of_responses
        ),
    )


def kind_of(connection: Connection, item_id: int) -> TaskKind | None:
    """Return the kind of an item; None where there is no such item, or nothing here knows its kind."""
    item = table_of(Item)
    name = connection.execute(select(item.c.kind).where(item.c.id == item_id)).scalar()
    return task_kinds().get(name or "")
