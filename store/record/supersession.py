"""What a rater's records supersede, what of them stands, and which actions are undone and redone next.

Everything is read from the tables each time, so nothing has to be kept in step with what was rolled back,
imported or recorded by another session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Subquery,
    Table,
    func,
    insert,
    select,
    union_all,
)

from store.tables.columns import table_of
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow

Record = Judgment | Mark
RecordT = TypeVar("RecordT", Judgment, Mark)

_TABLES: dict[type[Record], Table] = {Judgment: table_of(JudgmentRow), Mark: table_of(MarkRow)}

_PLACE = ("item_id", "rater_id", "assignment_id", "phase")
_JUDGMENT_KEY = (*_PLACE, "question_id", "response_ref_id")
_MARK_KEY = (*_PLACE, "kind")


def key_of(record: Record) -> tuple[Any, ...]:
    """Return what a record supersedes within; a judgment and a mark never share a key."""
    names = _JUDGMENT_KEY if isinstance(record, Judgment) else _MARK_KEY
    return (type(record).__name__, *(getattr(record, name) for name in names))


class ItemRecords:
    """What all raters recorded of one item, read once for the action that is being written.

    Args:
        connection: The lane's; nobody else writes while it is used.
        item_id: The item. Records of another one are no concern of it.
    """

    def __init__(self, connection: Connection, item_id: int) -> None:
        self._connection = connection
        self._records: list[Record] = [*self._rows(Judgment, item_id), *self._rows(Mark, item_id)]

    def insert(self, record: Record) -> Record:
        """Write a record; it is returned with the id of what it supersedes."""
        record = record.model_copy(update={"supersedes": self.id_before(record)})
        self._connection.execute(insert(_TABLES[type(record)]).values(**record.model_dump()))
        self._records.append(record)
        return record

    def stored(self, number: UUID | None) -> Record | None:
        """Return the record of some id; None where there is none."""
        return next((record for record in self._records if record.id == number), None)

    def id_before(self, record: Record) -> UUID | None:
        """Return the id of what a record supersedes: the newest of its key that is older than itself."""
        return max((one.id for one in self._of_key(record) if one.id < record.id), default=None)

    def is_newest(self, record: Record) -> bool:
        """Return whether a stored record is the current one of its key; one that came late is not."""
        return max(one.id for one in self._of_key(record)) == record.id

    def standing_marks(self, record: Record, kinds: tuple[str, ...]) -> list[Mark]:
        """Return the active marks of some kinds by the rater of a record."""
        latest = [one for one in self._latest(record) if isinstance(one, Mark)]
        return [mark for mark in latest if mark.active and mark.kind in kinds]

    def standing_judgments(self, record: Record) -> list[Judgment]:
        """Return the judgments with a value by the rater of a record, one a question."""
        latest = [one for one in self._latest(record) if isinstance(one, Judgment)]
        return [judgment for judgment in latest if judgment.value is not None]

    def _of_key(self, record: Record) -> list[Record]:
        key = key_of(record)
        return [one for one in self._records if key_of(one) == key]

    def _latest(self, record: Record) -> list[Record]:
        """Return the current record of each key of the same rater, assignment and phase."""
        place = _place_of(record)
        found = [one for one in self._records if _place_of(one) == place]
        return list({key_of(one): one for one in sorted(found, key=lambda one: one.id)}.values())

    def _rows(self, model: type[RecordT], item_id: int) -> list[RecordT]:
        # One condition alone, which DuckDB answers from what it knows of each block of rows.
        table = _TABLES[model]
        found = select(table).where(table.c.item_id == item_id)
        return [model(**row) for row in self._connection.execute(found).mappings()]


def records_of(connection: Connection, action: UUID) -> list[Record]:
    """Return the records of an action, judgments before marks, older before newer."""
    judgment, mark = table_of(JudgmentRow), table_of(MarkRow)
    judgments = select(judgment).where(judgment.c.action == action).order_by(judgment.c.id)
    marks = select(mark).where(mark.c.action == action).order_by(mark.c.id)
    records: list[Record] = [Judgment(**row) for row in connection.execute(judgments).mappings()]
    records += [Mark(**row) for row in connection.execute(marks).mappings()]
    return records


def action_to_undo(
    connection: Connection, rater_id: int, since: UUID | None = None, until: UUID | None = None
) -> UUID | None:
    """Return the rater's latest action that stands, none older than `since`, all older than `until`.

    None when none does.
    """
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
    if until is not None:
        found = found.where(made.c.action < until)
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


def _place_of(record: Record) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name in _PLACE)


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
