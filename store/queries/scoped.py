"""Conditions of a scope: which records are its rater's own, and on which items others' work is hidden."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ColumnElement, Connection, FromClause, Select, func, or_, select, true

from store.record.scope import Scope
from store.tables.columns import table_of
from store.tables.people import BLIND, HIDDEN_MODELS, Assignment


def is_own(scope: Scope, records: FromClause) -> ColumnElement[bool]:
    """Return the condition that a judgment or a mark was made in a scope."""
    of_rater = (records.c.rater_id == scope.rater_id) & (records.c.phase == scope.phase)
    if scope.study is None:
        return of_rater & records.c.assignment_id.is_(None)
    return of_rater & records.c.assignment_id.in_(_assignments(scope).with_only_columns(_KEY))


def hides_agents(scope: Scope, item_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that the agents' and other raters' work on an item is hidden."""
    return true() if scope.blind else _says(scope, item_id, BLIND)


def hides_models(scope: Scope, item_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that the names of models are hidden on an item."""
    return true() if scope.blind else _says(scope, item_id, BLIND, HIDDEN_MODELS)


def hides_anything(scope: Scope, connection: Connection) -> bool:
    """Return whether any item hides the agents' work in a scope."""
    return scope.blind or bool(connection.execute(select(_assigned(scope, BLIND).exists())).scalar())


def assignment_of(connection: Connection, scope: Scope, item_id: int) -> UUID | None:
    """Return the key of the assignment under which an item is judged; None outside a study."""
    if scope.study is None:
        return None
    found = _assignments(scope).with_only_columns(_KEY).where(table_of(Assignment).c.item_id == item_id)
    key: UUID | None = connection.execute(found).scalar()
    return key


_KEY = table_of(Assignment).c.id


def _assignments(scope: Scope) -> Select[tuple[int]]:
    """Select the items that are assigned to the rater; outside a study those of every study."""
    assignment = table_of(Assignment)
    found = select(assignment.c.item_id).where(assignment.c.rater_id == scope.rater_id)
    if scope.study is not None:
        found = found.where(assignment.c.study_id == scope.study, assignment.c.phase == scope.phase)
    return found


def _assigned(scope: Scope, *words: str) -> Select[tuple[int]]:
    """Select the items whose assignment has one of some words in its condition."""
    padded = func.concat(" ", table_of(Assignment).c.condition, " ")
    return _assignments(scope).where(or_(*(func.strpos(padded, f" {word} ") > 0 for word in words)))


def _says(scope: Scope, item_id: ColumnElement[int], *words: str) -> ColumnElement[bool]:
    return item_id.in_(_assigned(scope, *words))
