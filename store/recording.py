"""Recording what a rater does: judgments and marks, undo and redo, each written once and journaled."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Table, func, insert, literal, select, union_all

from store.errors import JudgmentRefused
from store.ids import now
from store.journal import Journal, journal_path
from store.scales import Scale
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Question, Rater
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow
from store.workspace import Workspace

Record = Judgment | Mark
T = TypeVar("T")

_JUDGMENT_KEY = ("item_id", "question_id", "rater_id", "assignment_id", "phase")
_MARK_KEY = ("item_id", "rater_id", "assignment_id", "phase", "kind")


@dataclass(frozen=True, slots=True)
class Action:
    """The records of one key press; they are written together and undone together.

    Attributes:
        id: The id that all its records carry.
        records: What is recorded. Writing the same action again adds nothing.
    """

    id: UUID
    records: tuple[Record, ...]

    @property
    def item_id(self) -> int:
        """The item that it is about."""
        return self.records[0].item_id


@dataclass(slots=True)
class _Stacks:
    """The actions of one rater that can be undone and redone, the next one last."""

    done: list[UUID] = field(default_factory=list)
    undone: list[UUID] = field(default_factory=list)

    def follow(self, action: UUID, origin: str, target: UUID | None) -> None:
        """Take one record into account; the further records of the same action change nothing."""
        if origin == "undo" and target is not None:
            if target in self.done:
                self.done.remove(target)
                self.undone.append(target)
        elif origin == "redo" and target is not None:
            if target in self.undone:
                self.undone.remove(target)
                self.done.append(target)
        else:
            if action not in self.done:
                self.done.append(action)
            self.undone.clear()


class Recorder:
    """Writes one rater's actions through the workspace's lane, ahead of everything else.

    Futures are done when the records are on disk, in the workspace and in the journal. When one fails,
    nothing of that action was stored, and the same action can be submitted again.
    """

    def __init__(self, workspace: Workspace, rater: Rater) -> None:
        self._workspace = workspace
        self.rater = rater
        self._journal = Journal(journal_path(workspace.path))
        self._stacks: _Stacks | None = None
        self._names: dict[int, tuple[str, Scale]] = {}

    def submit(self, action: Action) -> Future[Action]:
        """Record an action.

        Args:
            action: Its records must be this rater's, with ids of the workspace's clock.

        Returns:
            A future of the action as it was stored, with what each record supersedes.

        Raises:
            JudgmentRefused: (from the future) A value is off its scale, or the item does not exist.
        """
        if any(record.rater_id != self.rater.id for record in action.records):
            raise ValueError(f"the records of {action.id} are another rater's")
        return self._in_lane(lambda connection: self._write(connection, action))

    def undo(self) -> Future[Action | None]:
        """Take back the latest standing action; a future of what was recorded, None when none stands."""
        return self._in_lane(self._undo)

    def redo(self) -> Future[Action | None]:
        """Bring back the action undone last; a future of what was recorded, None when there is none."""
        return self._in_lane(self._redo)

    def _in_lane(self, write: Callable[[Connection], T]) -> Future[T]:
        future = self._workspace.lane.submit(write, urgent=True)
        future.add_done_callback(self._forget_after_failure)
        return future

    def _forget_after_failure(self, future: Future[Any]) -> None:
        # What was rolled back must not stay on the stacks; they are read anew from what is stored.
        if future.exception() is not None:
            self._stacks = None

    def _write(self, connection: Connection, action: Action) -> Action:
        stacks = self._stacks_of(connection)
        fresh = [record for record in action.records if not _is_stored(connection, record)]
        self._check(connection, fresh)
        written = tuple(
            record.model_copy(update={"supersedes": _current_id(connection, record)})
            for record in [*fresh, *self._consequences(connection, fresh)]
        )
        if written:
            self._journal.append([self._line(connection, record) for record in written])
            for record in written:
                connection.execute(insert(_table(record)).values(**record.model_dump()))
            stacks.follow(action.id, written[0].origin, written[0].target_action)
        return Action(action.id, written or action.records)

    def _consequences(self, connection: Connection, records: list[Record]) -> list[Record]:
        """Return what follows: judging ends skip and cannot decide; cannot decide withdraws a judgment."""
        more: list[Record] = []
        for record in records:
            if record.origin in ("undo", "redo"):
                continue
            if isinstance(record, Judgment) and record.value is not None:
                more += [
                    mark.model_copy(update={**self._next_to(record), "active": False, "restores": None})
                    for mark in _current_marks(connection, record, ("cannot_decide", "skip"))
                ]
            elif isinstance(record, Mark) and record.kind == "cannot_decide" and record.active:
                more += [
                    judgment.model_copy(
                        update={
                            **self._next_to(record),
                            "value": None,
                            "origin": "withdraw",
                            "reason": "",
                            "comment": "",
                            "evidence": "[]",
                            "restores": None,
                        }
                    )
                    for judgment in _current_judgments(connection, record)
                ]
        return more

    def _next_to(self, record: Record) -> dict[str, Any]:
        """Return the fields of a further record of the same action."""
        return {
            "id": self._workspace.ids.next(),
            "action": record.action,
            "origin": "independent",
            "target_action": None,
            "created_at": record.created_at,
        }

    def _undo(self, connection: Connection) -> Action | None:
        stacks = self._stacks_of(connection)
        if not stacks.done:
            return None
        target = stacks.done[-1]
        records = _records_of(connection, target)
        # What stood before the action is what its first record of each key superseded.
        earliest: dict[tuple[Any, ...], Record] = {}
        for record in records:
            earliest.setdefault(_key(record), record)
        restored = [
            self._again(connection, record, _stored(connection, record, record.supersedes), "undo", target)
            for record in earliest.values()
        ]
        return self._write(connection, self._one_action(restored))

    def _redo(self, connection: Connection) -> Action | None:
        stacks = self._stacks_of(connection)
        if not stacks.undone:
            return None
        target = stacks.undone[-1]
        latest = {_key(record): record for record in _records_of(connection, target)}
        restored = [self._again(connection, record, record, "redo", target) for record in latest.values()]
        return self._write(connection, self._one_action(restored))

    def _one_action(self, records: list[Record]) -> Action:
        action = self._workspace.ids.next()
        return Action(action, tuple(record.model_copy(update={"action": action}) for record in records))

    def _again(
        self, connection: Connection, like: Record, content: Record | None, origin: str, target: UUID
    ) -> Record:
        """Return a record that makes `content` (None: nothing) stand again for the key of `like`."""
        fresh = {
            "id": self._workspace.ids.next(),
            "origin": origin,
            "target_action": target,
            "created_at": now(),
        }
        if content is not None:
            return content.model_copy(update={**fresh, "restores": content.restores or content.id})
        nothing: dict[str, Any] = {"comment": "", "reason": "", "evidence": "[]", "value": None}
        if isinstance(like, Mark):
            nothing = {"active": False, "text": ""}
        return like.model_copy(update={**fresh, **nothing, "restores": None})

    def _check(self, connection: Connection, records: list[Record]) -> None:
        for record in records:
            item = table_of(Item)
            if connection.execute(select(item.c.id).where(item.c.id == record.item_id)).first() is None:
                raise JudgmentRefused(
                    "No such item",
                    f"There is no item {record.item_id}.",
                    "List them: workbench items WORKSPACE",
                )
            if isinstance(record, Judgment) and record.value is not None:
                self._question(connection, record.question_id)[1].check(record.value)

    def _question(self, connection: Connection, number: int) -> tuple[str, Scale]:
        if number not in self._names:
            table = table_of(Question)
            row = connection.execute(select(table.c.name, table.c.scale).where(table.c.id == number)).first()
            if row is None:
                raise JudgmentRefused(
                    "No such question", f"There is no question {number}.", "Update workbench."
                )
            self._names[number] = (row.name, Scale.from_json(row.scale))
        return self._names[number]

    def _line(self, connection: Connection, record: Record) -> dict[str, Any]:
        item = table_of(Item)
        named = connection.execute(
            select(item.c.kind, item.c.external_id, item.c.content_hash).where(item.c.id == record.item_id)
        ).one()
        line: dict[str, Any] = {
            "type": "judgment" if isinstance(record, Judgment) else "mark",
            "rater": self.rater.name,
            "kind": named.kind,
            "item": named.external_id,
            "content": named.content_hash,
        }
        if isinstance(record, Judgment):
            line["question"] = self._question(connection, record.question_id)[0]
        return {**line, "record": record.model_dump(mode="json")}

    def _stacks_of(self, connection: Connection) -> _Stacks:
        if self._stacks is None:
            self._stacks = _read_stacks(connection, self.rater.id)
        return self._stacks


def _table(record: Record) -> Table:
    return table_of(JudgmentRow if isinstance(record, Judgment) else MarkRow)


def _key(record: Record) -> tuple[Any, ...]:
    names = _JUDGMENT_KEY if isinstance(record, Judgment) else _MARK_KEY
    return (type(record).__name__, *(getattr(record, name) for name in names))


def _is_stored(connection: Connection, record: Record) -> bool:
    table = _table(record)
    found = select(table.c.id).where(table.c.item_id == record.item_id, table.c.id == record.id)
    return connection.execute(found).first() is not None


def _current_id(connection: Connection, record: Record) -> UUID | None:
    table = _table(record)
    names = _JUDGMENT_KEY if isinstance(record, Judgment) else _MARK_KEY
    same = [table.c[name].is_not_distinct_from(getattr(record, name)) for name in names]
    current: UUID | None = connection.execute(select(func.max(table.c.id)).where(*same)).scalar()
    return current


def _current_marks(connection: Connection, record: Record, kinds: tuple[str, ...]) -> list[Mark]:
    """Return the active marks of some kinds by the same rater on the same item."""
    table = table_of(MarkRow)
    found = select(table).where(*_same_place(table, record), table.c.kind.in_(kinds)).order_by(table.c.id)
    latest = {row["kind"]: Mark(**row) for row in connection.execute(found).mappings()}
    return [mark for mark in latest.values() if mark.active]


def _current_judgments(connection: Connection, record: Record) -> list[Judgment]:
    """Return the standing judgments by the same rater on the same item, one a question."""
    table = table_of(JudgmentRow)
    found = select(table).where(*_same_place(table, record)).order_by(table.c.id)
    latest = {row["question_id"]: Judgment(**row) for row in connection.execute(found).mappings()}
    return [judgment for judgment in latest.values() if judgment.value is not None]


def _same_place(table: Table, record: Record) -> list[ColumnElement[bool]]:
    names = ("item_id", "rater_id", "assignment_id", "phase")
    return [table.c[name].is_not_distinct_from(getattr(record, name)) for name in names]


def _stored(connection: Connection, like: Record, number: UUID | None) -> Record | None:
    if number is None:
        return None
    table = _table(like)
    found = select(table).where(table.c.item_id == like.item_id, table.c.id == number)
    row = connection.execute(found).mappings().one()
    return Judgment(**row) if isinstance(like, Judgment) else Mark(**row)


def _records_of(connection: Connection, action: UUID) -> list[Record]:
    judgment, mark = table_of(JudgmentRow), table_of(MarkRow)
    records: list[Record] = [
        Judgment(**row)
        for row in connection.execute(
            select(judgment).where(judgment.c.action == action).order_by(judgment.c.id)
        ).mappings()
    ]
    records += [
        Mark(**row)
        for row in connection.execute(
            select(mark).where(mark.c.action == action).order_by(mark.c.id)
        ).mappings()
    ]
    return records


def _read_stacks(connection: Connection, rater_id: int) -> _Stacks:
    """Rebuild what can be undone and redone from the whole record of one rater."""
    parts = []
    for table in (table_of(JudgmentRow), table_of(MarkRow)):
        parts.append(
            select(table.c.id, table.c.action, table.c.origin, table.c.target_action).where(
                table.c.rater_id == literal(rater_id), table.c.origin.not_in(("import", "ruling"))
            )
        )
    rows = union_all(*parts).subquery()
    stacks = _Stacks()
    for row in connection.execute(select(rows).order_by(rows.c.id)):
        stacks.follow(row.action, row.origin, row.target_action)
    return stacks
