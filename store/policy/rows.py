"""Conditions on rows: the items and records that a viewer may see."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Select,
    String,
    Subquery,
    and_,
    false,
    func,
    literal_column,
    not_,
    or_,
    select,
    true,
)

from store.errors import HiddenData
from store.policy.scope import REVEAL, Scope, Shows
from store.policy.words import OWN_TEST, REVEALED, words_sql
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Assignment, Study, StudyRater


def may(scope: Scope, shows: Shows, item_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that a viewer may see something of an item.

    In the sitting of a study nothing is shown of the items that are not in it.

    Args:
        scope: The viewer.
        shows: What of the item: `AGENTS`, `MODELS` or `TESTS`.
        item_id: The item.
    """
    return false() if scope.blind else _shown(scope, shows, item_id)


def shown_on(connection: Connection, scope: Scope, item_id: int) -> frozenset[Shows]:
    """Return which of `AGENTS`, `MODELS` and `TESTS` a viewer sees of an item: as `may`, by one statement."""
    assignment = table_of(Assignment)
    agents, models, tests = (shown_by(one) for one in _OF_ITEMS)
    columns = func.count(), func.bool_and(agents), func.bool_and(models), func.bool_or(tests)
    of_item = _assignments(scope).with_only_columns(*columns).where(assignment.c.item_id == item_id)
    number, *shown = connection.execute(of_item).one()
    if scope.blind or (scope.sitting is not None and not number):
        return frozenset()
    if scope.sitting is None:
        # No assignment hides anything of most items, and none has to show tests.
        shown = [not number or one for one in shown[:2]]
        shown.append(shown[0])
    return frozenset(one for one, is_shown in zip(_OF_ITEMS, shown, strict=True) if is_shown)


def may_on_all(connection: Connection, scope: Scope, shows: Shows) -> bool:
    """Return whether no item of a scope hides something (see `may`)."""
    hidden = select(_assignments(scope).where(not_(shown_by(shows))).exists())
    return not scope.blind and not connection.execute(hidden).scalar()


def may_read(
    scope: Scope, records: FromClause, of_item: Collection[Shows] | None = None
) -> ColumnElement[bool]:
    """Return the condition that a judgment or a mark is in what a session sees of its item's history.

    Others' records are where the agents' work is shown. In a study the own ones are those of the sitting; on
    an item that comes again to be revealed all of them are.

    Args:
        scope: The viewer.
        records: The judgments or marks.
        of_item: What `shown_on` returned, where all of them are of one item.
    """
    if of_item is None:
        shown = may(scope, Shows.AGENTS, records.c.item_id)
    else:
        shown = true() if Shows.AGENTS in of_item else false()
    if scope.sitting is None:
        return or_(records.c.rater_id == scope.rater_id, shown)
    again = _assignments(scope).where(table_of(Assignment).c.phase == REVEAL)
    of_others = or_(records.c.rater_id != scope.rater_id, records.c.item_id.in_(again))
    return in_scope(scope, records.c.item_id) & or_(is_own(scope, records), and_(shown, of_others))


def may_read_run(scope: Scope, executions: FromClause) -> ColumnElement[bool]:
    """Return the condition that a session sees a run of a test: its own ones, outside a study those shown."""
    own = executions.c.rater_id.is_not(None) & (executions.c.rater_id == scope.rater_id)
    if scope.sitting is None:
        return or_(own, may(scope, Shows.AGENTS, executions.c.item_id))
    return own & executions.c.assignment_id.in_(_own_assignments(scope))


def refuse_hidden(connection: Connection, scope: Scope, listed: Select[Any]) -> None:
    """Refuse to list items by the agents' labels where one of the items hides them.

    Args:
        connection: A reading connection.
        scope: The viewer.
        listed: Selects from the table of items those that would be listed without asking for labels.

    Raises:
        HiddenData: One does.
    """
    # Hardly anybody hides anything, and the list itself takes up to 180 ms at 412,080 pairs.
    if may_on_all(connection, scope, Shows.AGENTS):
        return
    hidden = listed.where(~may(scope, Shows.AGENTS, table_of(Item).c.id)).limit(1)
    if scope.blind or connection.execute(hidden).first() is not None:
        raise HiddenData(
            "Blind review",
            "Some of these items are reviewed blind, and the agents' labels can tell nothing of them.",
            "Leave that filter or order out.",
        )


def is_own(scope: Scope, records: FromClause) -> ColumnElement[bool]:
    """Return the condition that a judgment or a mark was made in a scope."""
    of_rater = records.c.rater_id == scope.rater_id
    if scope.sitting is None:
        return of_rater & (records.c.phase == scope.phase) & records.c.assignment_id.is_(None)
    return of_rater & records.c.assignment_id.in_(_own_assignments(scope))


def in_scope(scope: Scope, item_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that an item is in a scope: in its sitting, any item outside a study."""
    return true() if scope.sitting is None else item_id.in_(_assignments(scope))


def of_scope(scope: Scope, study_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Return the condition that a study is the one of a scope; outside a study every one is."""
    return true() if scope.sitting is None else study_id == scope.sitting.study


def in_sitting(scope: Scope) -> ColumnElement[bool]:
    """Return the condition that an assignment is in the sitting of a scope; outside a study none is."""
    assignment, part = table_of(Assignment), scope.sitting
    if part is None:
        return false()
    of_part = (assignment.c.study_id == part.study) & (assignment.c.sitting == part.number)
    return of_part & (assignment.c.rater_id == scope.rater_id)


def assignment_of(connection: Connection, scope: Scope, item_id: int) -> Row[Any] | None:
    """Return the assignment under which an item is judged, and what it asks; None outside a study.

    Returns:
        The columns `id`, `phase`, `own_test` (whether the rater writes a test program) and `swapped`.
    """
    if scope.sitting is None:
        return None
    assignment = table_of(Assignment)
    columns = (assignment.c.id, assignment.c.phase, writes_test().label("own_test"), assignment.c.swapped)
    found: Select[Any] = _assignments(scope).with_only_columns(*columns)
    found = found.where(assignment.c.item_id == item_id)
    return connection.execute(found).first()


def positions(scope: Scope) -> Subquery | None:
    """Return (item_id, position) of the items of a scope's sitting; None outside a study."""
    if scope.sitting is None:
        return None
    assignment = table_of(Assignment)
    columns = (assignment.c.item_id, assignment.c.position)
    return _assignments(scope).with_only_columns(*columns).subquery("positions")


def writes_test() -> ColumnElement[bool]:
    """Return the condition that an assignment has the rater write a test program."""
    return table_of(Assignment).c.mode == OWN_TEST


def shown_by(shows: Shows) -> ColumnElement[bool]:
    """Return the condition that an assignment shows something of its item: `AGENTS`, `MODELS` or `TESTS`."""
    assignment = table_of(Assignment)
    revealed = assignment.c.mode == REVEALED
    return {
        Shows.AGENTS: revealed,
        Shows.MODELS: revealed & not_(assignment.c.hides_models),
        Shows.TESTS: assignment.c.shows_tests,
    }[shows]


def words_of(*, sides: bool = True) -> ColumnElement[str]:
    """Return the words of an assignment's condition (see `words_sql`)."""
    return literal_column(words_sql(table_of(Assignment).name, sides=sides), String)


_OF_ITEMS = (Shows.AGENTS, Shows.MODELS, Shows.TESTS)


def _shown(scope: Scope, shows: Shows, item_id: ColumnElement[int]) -> ColumnElement[bool]:
    if shows is Shows.TESTS:
        # Outside a study no assignment has to show them.
        there = item_id.in_(_assignments(scope).where(shown_by(shows)))
        return _shown(scope, Shows.AGENTS, item_id) if scope.sitting is None else there
    shown = item_id.not_in(_assignments(scope).where(not_(shown_by(shows))))
    return shown if scope.sitting is None else and_(in_scope(scope, item_id), shown)


def _own_assignments(scope: Scope) -> Select[tuple[UUID]]:
    return _assignments(scope).with_only_columns(table_of(Assignment).c.id)


def _assignments(scope: Scope) -> Select[tuple[int]]:
    """Select the items that are assigned to the rater; outside a study those of every open study."""
    assignment, study = table_of(Assignment), table_of(Study)
    found = select(assignment.c.item_id)
    if scope.sitting is not None:
        return found.where(in_sitting(scope))
    found = found.where(assignment.c.rater_id == scope.rater_id)
    over, member = select(study.c.id).where(study.c.closed_at.is_not(None)), table_of(StudyRater)
    left = select(member.c.study_id).where(
        member.c.rater_id == scope.rater_id, member.c.withdrawn_at.is_not(None)
    )
    # What an adjudicator may not see outlasts a withdrawal.
    kept = (assignment.c.sitting == 0) | assignment.c.study_id.not_in(left)
    return found.where(assignment.c.study_id.not_in(over), kept)
