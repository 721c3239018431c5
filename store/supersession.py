"""What a rater's records supersede, what of them stands, and which actions are undone and redone next.

Everything is read from the tables each time, so nothing has to be kept in step with what was rolled back,
imported or recorded by another session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, CompoundSelect, Connection, Subquery, Table, func, select, union_all

from store.tables.columns import table_of
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow

Record = Judgment | Mark
RecordT = TypeVar("RecordT", Judgment, Mark)

_TABLES: dict[type[Record], Table] = {Judgment: table_of(JudgmentRow), Mark: table_of(MarkRow)}

_PLACE = ("item_id", "rater_id", "assignment_id", "phase")
_JUDGMENT_KEY = (*_PLACE, "question_id")
_MARK_KEY = (*_PLACE, "kind")


def row_table(record: Record) -> Table:
    """Return the table that a record is a row of."""
    return _TABLES[type(record)]


def key_of(record: Record) -> tuple[Any, ...]:
    """Return what a record supersedes within; a judgment and a mark never share a key."""
    names = _JUDGMENT_KEY if isinstance(record, Judgment) else _MARK_KEY
    return (type(record).__name__, *(getattr(record, name) for name in names))


def stored(connection: Connection, like: Record, number: UUID | None) -> Record | None:
    """Return the record of some id on the item of another one; None where there is none."""
    if number is None:
        return None
    return next((record for record in _on_item(connection, like) if record.id == number), None)


def id_before(connection: Connection, record: Record) -> UUID | None:
    """Return the id of what a record supersedes: the newest of its key that is older than itself."""
    older = [one.id for one in _of_key(connection, record) if one.id < record.id]
    return older[-1] if older else None


def is_newest(connection: Connection, record: Record) -> bool:
    """Return whether a stored record is the current one of its key; one that came late is not."""
    return _of_key(connection, record)[-1].id == record.id


def standing_marks(connection: Connection, record: Record, kinds: tuple[str, ...]) -> list[Mark]:
    """Return the active marks of some kinds by the rater of a record on its item."""
    latest = {
        mark.kind: mark for mark in _rows(connection, Mark, record.item_id) if _same_place(mark, record)
    }
    return [mark for mark in latest.values() if mark.active and mark.kind in kinds]


def standing_judgments(connection: Connection, record: Record) -> list[Judgment]:
    """Return the judgments with a value by the rater of a record on its item, one a question."""
    judgments = _rows(connection, Judgment, record.item_id)
    latest = {one.question_id: one for one in judgments if _same_place(one, record)}
    return [judgment for judgment in latest.values() if judgment.value is not None]


def records_of(connection: Connection, action: UUID) -> list[Record]:
    """Return the records of an action, judgments before marks, older before newer."""
    judgment, mark = table_of(JudgmentRow), table_of(MarkRow)
    judgments = select(judgment).where(judgment.c.action == action).order_by(judgment.c.id)
    marks = select(mark).where(mark.c.action == action).order_by(mark.c.id)
    records: list[Record] = [Judgment(**row) for row in connection.execute(judgments).mappings()]
    records += [Mark(**row) for row in connection.execute(marks).mappings()]
    return records


def action_to_undo(connection: Connection, rater_id: int, since: UUID | None = None) -> UUID | None:
    """Return the rater's latest action that stands, none older than `since`; None when none does."""
    made, undone = _made(rater_id), _undone(rater_id)
    # Undo and redo keep to the order of the actions, so the latest that stands is the one made last.
    # What was added to an action after it was undone makes it stand again.
    found = (
        select(made.c.action)
        .outerjoin(undone, undone.c.target_action == made.c.action)
        .where(undone.c.id.is_(None) | (made.c.id > undone.c.id))
        .order_by(made.c.action.desc())
    )
    if since is not None:
        found = found.where(made.c.action >= since)
    action: UUID | None = connection.execute(found.limit(1)).scalar()
    return action


def action_to_redo(connection: Connection, rater_id: int) -> UUID | None:
    """Return the action undone last, unless another one was made since; None when there is none."""
    made, undone = _made(rater_id), _undone(rater_id)
    newest = connection.execute(select(made.c.id).order_by(made.c.id.desc()).limit(1)).scalar()
    found = select(undone.c.target_action).order_by(undone.c.id.desc())
    if newest is not None:
        found = found.where(undone.c.id > newest)
    action: UUID | None = connection.execute(found.limit(1)).scalar()
    return action


def _on_item(connection: Connection, like: Record) -> Sequence[Record]:
    if isinstance(like, Judgment):
        return _rows(connection, Judgment, like.item_id)
    return _rows(connection, Mark, like.item_id)


def _of_key(connection: Connection, record: Record) -> list[Record]:
    key = key_of(record)
    return [one for one in _on_item(connection, record) if key_of(one) == key]


def _same_place(one: Record, other: Record) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in _PLACE)


def _rows(connection: Connection, model: type[RecordT], item_id: int) -> list[RecordT]:
    """Return all judgments or marks of an item, the oldest first.

    One condition alone lets DuckDB use the index on it; with further ones it reads the whole table.
    """
    table = _TABLES[model]
    found = select(table).where(table.c.item_id == item_id).order_by(table.c.id)
    return [model(**row) for row in connection.execute(found).mappings()]


def _made(rater_id: int) -> Subquery:
    """Select what a rater did by hand, undo and redo left out."""
    return _records(rater_id, lambda origin: origin.not_in(("import", "ruling", "undo", "redo"))).subquery(
        "made"
    )


def _undone(rater_id: int) -> Subquery:
    """Select the last undo of each action that was not redone after it."""
    changes = _records(rater_id, lambda origin: origin.in_(("undo", "redo"))).subquery("changes")
    place = func.row_number().over(partition_by=changes.c.target_action, order_by=changes.c.id.desc())
    ranked = select(changes, place.label("place")).subquery("ranked")
    last = (ranked.c.place == 1) & (ranked.c.origin == "undo")
    return select(ranked.c.id, ranked.c.target_action).where(last).subquery("undone")


def _records(
    rater_id: int, wanted: Callable[[ColumnElement[str]], ColumnElement[bool]]
) -> CompoundSelect[Any]:
    """Select a rater's judgments and marks of some origins."""
    return union_all(
        *(
            select(table.c.id, table.c.action, table.c.origin, table.c.target_action).where(
                table.c.rater_id == rater_id, wanted(table.c.origin)
            )
            for table in _TABLES.values()
        )
    )
