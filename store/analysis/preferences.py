"""The votes on the comparisons of a workspace: of people, imported raters, judges and agents' runs."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from typing import Any

from sqlalchemy import ColumnElement, Connection, Subquery, func, null, select

from store.analysis.labels import equal_texts
from store.kinds.comparison import (
    BOTH_BAD,
    COMPARISON,
    FIRST_LEFT,
    ORDERS,
    PREFERENCE,
    listed_second_first,
    shown_order,
)
from store.kinds.listing import relation
from store.measures.votes import Pairing, Vote, Votes, group_values
from store.policy.scope import RunRef
from store.queries.current import all_values, first_values
from store.queries.studies import find_study
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Assignment, Question, Rater, StudyItem
from store.tables.responses import ResponseRef
from store.tables.runs import Run, VerdictRow


def preference_votes(
    connection: Connection,
    *,
    study: str | None = None,
    run: RunRef | None = None,
    group_by: str | None = None,
) -> Votes:
    """Return the votes on comparisons, in the order in which they were recorded.

    The verdict of an agents' run on a comparison is its label. Its verdicts on the references `as-listed` and
    `swapped` of the comparison are those in one order alone.

    Args:
        connection: A reading connection.
        study: The study whose items and assignments count; None for all labels.
        run: The only run of the agents that counts; None for all of them.
        group_by: The column of the comparisons, or the field of their extras, by which they are grouped.

    Raises:
        UnknownName: No study is called so, or no comparison has such a field.
    """
    study_id = None if study is None else find_study(connection, study).id
    items = _items(connection, study_id, group_by)
    orders, judges = _orders(connection)
    labels = _labels(connection, study_id, judges)
    of_runs, runs_orders, runs = _runs(connection, run)
    return Votes(
        items,
        [one for one in (*labels, *of_runs) if one.item in items],
        [one for one in (*orders, *runs_orders) if one.item in items],
        frozenset(judges | runs),
    )


def _items(connection: Connection, study: int | None, group_by: str | None) -> dict[Hashable, Pairing]:
    item, found = table_of(Item), relation(COMPARISON)
    names = ("first_name", "second_name", "file_order")
    group: ColumnElement[Any] = null()
    is_column = group_by in COMPARISON.record.columns
    if group_by is not None:
        group = found.columns[group_by] if is_column else item.c.extra
    statement = (
        select(
            found.item_id,
            item.c.group_id,
            group.label("grouped"),
            *(found.columns[name].label(name) for name in names),
            *(func.length(found.columns[name]).label(f"{name}_length") for name in ("first", "second")),
            found.item_id.in_(equal_texts()).label("alike"),
        )
        .select_from(found.source.join(item, item.c.id == found.item_id))
        .order_by(found.item_id)
    )
    if study is not None:
        chosen = table_of(StudyItem)
        of_study = select(chosen.c.item_id).where(chosen.c.study_id == study, chosen.c.role == "item")
        statement = statement.where(found.item_id.in_(of_study))
    rows = connection.execute(statement).all()
    values = [row.grouped for row in rows]
    if group_by is not None:
        if not is_column:
            values = [json.loads(value).get(group_by) for value in values]
        values = group_values(values, group_by)
    return {
        row.item_id: Pairing(
            row.group_id,
            row.first_name,
            row.second_name,
            (row.first_length, row.second_length) if row.first_length or row.second_length else None,
            listed_second_first(row.file_order, row.first_name, row.second_name),
            value or "",
            row.alike,
        )
        for row, value in zip(rows, values, strict=True)
    }


def _orders(connection: Connection) -> tuple[list[Vote], set[str]]:
    """Return the verdicts of imported judges in one order alone, and the judges' names."""
    rater = table_of(Rater)
    values = all_values(ORDERS, questions=[PREFERENCE.name])
    rows = connection.execute(
        select(values.c.item_id, values.c.value, values.c.phase, rater.c.name)
        .join(rater, rater.c.id == values.c.rater_id)
        .order_by(values.c.id)
    )
    found = [Vote(row.item_id, row.name, row.value, first_left=FIRST_LEFT.get(row.phase)) for row in rows]
    return found, {one.rater for one in found}


def _labels(connection: Connection, study: int | None, judges: set[str]) -> list[Vote]:
    """Return the labels of people and imported raters: under a study, and those of judges beside it."""
    every = first_values(questions=[PREFERENCE.name], study=study)
    found = [*_labels_of(connection, every)]
    if study is not None and judges:
        beside = first_values(questions=[PREFERENCE.name])
        found += [one for one in _labels_of(connection, beside) if one.rater in judges]
    return found


def _labels_of(connection: Connection, labels: Subquery) -> Iterator[Vote]:
    """Yield labels as votes."""
    rater, assignment = table_of(Rater), table_of(Assignment)
    rows = connection.execute(
        select(
            *(labels.c[name] for name in ("item_id", "value", "reason", "shown_as", "shown_verdict")),
            rater.c.name,
            assignment.c.swapped,
        )
        .join(rater, rater.c.id == labels.c.rater_id)
        .outerjoin(assignment, assignment.c.id == labels.c.assignment_id)
        .where(labels.c.origin != "ruling")
        .order_by(labels.c.id)
    )
    for row in rows:
        side = FIRST_LEFT.get(shown_order(row.shown_as) or "")
        if side is None and row.swapped is not None:
            side = not row.swapped
        revealed = row.shown_verdict is not None
        yield Vote(row.item_id, row.name, row.value, row.reason == BOTH_BAD, side, revealed)


def _runs(connection: Connection, only: RunRef | None) -> tuple[list[Vote], list[Vote], set[str]]:
    """Return the verdicts of the agents' runs: their labels, those in one order, and the runs' names."""
    run, verdict, question, ref = (table_of(one) for one in (Run, VerdictRow, Question, ResponseRef))
    statement = (
        select(verdict.c.item_id, verdict.c.value, verdict.c.response_ref_id, run.c.name, ref.c.model)
        .join(run, run.c.id == verdict.c.run_id)
        .join(question, question.c.id == verdict.c.question_id)
        .outerjoin(ref, ref.c.id == verdict.c.response_ref_id)
        .where(question.c.name == PREFERENCE.name)
        .order_by(verdict.c.id)
    )
    if only is not None:
        statement = statement.where(run.c.id == only.id)
    labels: dict[tuple[Hashable, str], Vote] = {}
    orders: dict[tuple[Hashable, str, str], Vote] = {}
    for row in connection.execute(statement):
        if row.response_ref_id is None:
            labels[row.item_id, row.name] = Vote(row.item_id, row.name, row.value)
        elif row.model in FIRST_LEFT:
            vote = Vote(row.item_id, row.name, row.value, first_left=FIRST_LEFT[row.model])
            orders[row.item_id, row.name, row.model] = vote
    found = [*labels.values()], [*orders.values()]
    return *found, {one.rater for some in found for one in some}
