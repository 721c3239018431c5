"""Recording a rater's actions: judgments and marks, undo and redo, each written once and journaled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    RowMapping,
    Subquery,
    Table,
    func,
    insert,
    select,
    union_all,
)

from store.errors import JudgmentRefused
from store.policy.rows import words_of
from store.policy.scope import ADJUDICATE, Sitting
from store.record.evidence import BadEvidence, citations_of
from store.record.ids import IdClock, following_id, now
from store.record.late_assignments import LATE_PHASES
from store.record.rater_ref import RaterRef
from store.record.response_names import ResponseName, question_name
from store.record.revisions import REVISION, refused_mark
from store.record.scales import Scale
from store.record.supersession import NO_LABEL, ItemRecords, key_of
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Assignment, Guideline, Question, Study
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow
from store.tables.responses import ResponseRef
from store.workspace.duckdb import Workspace
from store.workspace.journal import Journal, journal_path

Record = Judgment | Mark
R = TypeVar("R", bound=Record)
_MODELS: tuple[tuple[type[Judgment | Mark], Table], ...] = (
    (Judgment, table_of(JudgmentRow)),
    (Mark, table_of(MarkRow)),
)


@dataclass(frozen=True, slots=True)
class Action:
    """The records of one key press; they are written together and undone together.

    Attributes:
        id: The id that all its records carry.
        records: The records. Writing the same action again adds nothing.
        about: Of a stored undo or redo, the records of the action that it takes back or brings again.
    """

    id: UUID
    records: tuple[Record, ...]
    about: tuple[Record, ...] = ()

    @classmethod
    def of(cls, record: Record) -> Action:
        """Return the action of one record."""
        return cls(record.action, (record,))

    @property
    def item_id(self) -> int:
        """The item that it is about."""
        return self.records[0].item_id


def new_record(model: type[R], ids: IdClock, *, item_id: int, rater_id: int, phase: str, **fields: Any) -> R:
    """Return the first record of a new action."""
    action = ids.next()
    return model(
        id=ids.next(),
        action=action,
        item_id=item_id,
        rater_id=rater_id,
        phase=phase,
        created_at=now(),
        **fields,
    )


@dataclass(frozen=True, slots=True)
class UndoHistory:
    """A part of a rater's work whose actions are undone apart from those of all others.

    Attributes:
        sitting: A sitting of a study; None for what was done outside any.
        rulings: Whether it is the rater's adjudications, wherever they were made.
    """

    rater_id: int
    sitting: Sitting | None = None
    rulings: bool = False

    def holds(self, records: Table) -> ColumnElement[bool]:
        """Return the condition that a judgment or mark is of this part."""
        own = records.c.rater_id == self.rater_id
        if self.rulings:
            return own & (records.c.phase == ADJUDICATE)
        if self.sitting is None:
            return own & (records.c.phase != ADJUDICATE) & records.c.assignment_id.is_(None)
        assignment = table_of(Assignment)
        assigned = select(assignment.c.id).where(
            assignment.c.rater_id == self.rater_id,
            assignment.c.study_id == self.sitting.study,
            assignment.c.sitting == self.sitting.number,
        )
        return own & records.c.assignment_id.in_(assigned)


class Recorder:
    """Writes one rater's actions through the workspace's lane, ahead of everything else.

    Futures are done when the records are on disk, in the workspace and in the journal. When one fails,
    nothing of that action was stored, and the same action can be submitted again, also after later ones:
    ids tell which came first, and the later record counts.
    """

    def __init__(self, workspace: Workspace, rater: RaterRef) -> None:
        self._workspace = workspace
        self.rater = rater
        self._journal = Journal(journal_path(workspace.path))
        self._questions: dict[int, tuple[str, Scale]] = {}
        self._guidelines: dict[int, str] = {}
        self._responses: dict[int, ResponseName] = {}

    def submit(self, action: Action) -> Future[Action]:
        """Record an action.

        Args:
            action: Its records must be this rater's and of one item, with ids of the workspace's clock.

        Returns:
            A future of the action as it was stored, with what each record supersedes and the records that
            follow from it.

        Raises:
            JudgmentRefused: (from the future) A value is off its scale, or the item does not exist.
            ValueError: A mistake of the program: another rater's records, or several items' in one action.
        """
        self._check_action(action)
        return self._workspace.lane.submit(
            lambda connection: self._write(connection, [action])[0], urgent=True
        )

    def submit_all(self, actions: Sequence[Action]) -> Future[list[Action]]:
        """Record several actions, all of them or none; see `submit`."""
        for action in actions:
            self._check_action(action)
        return self._workspace.lane.submit(lambda connection: self._write(connection, actions), urgent=True)

    def drop(self, actions: Sequence[Action]) -> Future[None]:
        """Have no recovery bring back actions that could not be written, and that the rater has undone.

        Returns:
            A future done when the journal says so, where it holds any of their records.
        """
        ids = [record.id for action in actions for record in action.records]
        return self._workspace.lane.submit(lambda _: self._journal.take_back(ids), urgent=True)

    def _check_action(self, action: Action) -> None:
        if any(record.rater_id != self.rater.id for record in action.records):
            raise ValueError(f"the records of {action.id} are another rater's")
        if any(record.item_id != action.item_id for record in action.records):
            raise ValueError(f"the records of {action.id} are about several items")

    def undo(
        self,
        since: UUID | None = None,
        until: UUID | None = None,
        *,
        sitting: Sitting | None = None,
        rulings: bool = False,
    ) -> Future[Action | None]:
        """Take back the latest action of this rater that is not undone, of whichever session or program.

        Args:
            since: The oldest action that may be taken back; None for any.
            until: The id of the undo, where it was asked for earlier: only older actions are taken back.
            sitting: The sitting of a study whose actions may be taken back; None for those outside any.
            rulings: Whether it is one of the rater's adjudications, wherever it was made, and nothing else.

        Returns:
            A future of the recorded action, of None when there is no such action.
        """
        # The id is of the moment of the key: ids of judgments before the lane comes to it must be higher.
        action, made_in = until or self._workspace.ids.next(), UndoHistory(self.rater.id, sitting, rulings)
        future = self._workspace.lane.submit(
            lambda connection: self._undo(connection, action, since, until, made_in), urgent=True
        )
        return self._or_nothing(future, action)

    def redo(self, *, sitting: Sitting | None = None, rulings: bool = False) -> Future[Action | None]:
        """Bring back the action undone last; a future of the recorded action, None when there is none.

        Args:
            sitting: The sitting of a study whose actions may be brought back; None for those outside any.
            rulings: Whether it is one of the rater's adjudications, wherever it was made, and nothing else.
        """
        action, made_in = self._workspace.ids.next(), UndoHistory(self.rater.id, sitting, rulings)
        future = self._workspace.lane.submit(
            lambda connection: self._redo(connection, action, made_in), urgent=True
        )
        return self._or_nothing(future, action)

    def _or_nothing(self, future: Future[Action | None], action: UUID) -> Future[Action | None]:
        """Have no recovery bring back an undo or redo of which was said that it failed."""

        def ended(done: Future[Action | None]) -> None:
            if not done.cancelled() and done.exception() is not None:
                with suppress(RuntimeError):  # the lane is closed
                    self._workspace.lane.submit(lambda _: self._journal.take_back([action]), urgent=True)

        future.add_done_callback(ended)
        return future

    def _write(self, connection: Connection, actions: Sequence[Action]) -> list[Action]:
        """Store actions; their lines come last into the journal, so that refused records are not in it."""
        lines: list[dict[str, Any]] = []
        stored = [self._store(connection, action, lines) for action in actions]
        if lines:
            self._journal.append(lines)
        return stored

    def _store(self, connection: Connection, action: Action, lines: list[dict[str, Any]]) -> Action:
        """Store an action, and add the lines that it has in the journal."""
        item = _item(connection, action.item_id)
        records = _read(connection, action.item_id)
        written: list[Record] = []
        fresh: list[Record] = []
        for record in action.records:
            known = records.stored(record.id)
            if known is None:
                self._check(connection, record, item)
                known = _insert(connection, records, record)
                fresh.append(known)
            written.append(known)
        for record in tuple(fresh):
            for further in records.consequences(record):
                fresh.append(_insert(connection, records, further))
                written.append(fresh[-1])
        lines += [self._line(connection, record, item) for record in fresh]
        return Action(action.id, tuple(written))

    def _undo(
        self,
        connection: Connection,
        action: UUID,
        since: UUID | None,
        until: UUID | None,
        made_in: UndoHistory,
    ) -> Action | None:
        target = action_to_undo(connection, made_in, since, until)
        if target is None:
            return None
        # The state before the action is the record next older than its first one of each key. `supersedes`
        # names it, too, but not a record that was imported in between afterwards.
        earliest: dict[tuple[Any, ...], Record] = {}
        about = records_of(connection, target)
        for record in about:
            earliest.setdefault(key_of(record), record)
        records = _read(connection, about[0].item_id)
        before = [(record, records.stored(records.id_before(record))) for record in earliest.values()]
        return self._again(connection, action, before, "undo", about)

    def _redo(self, connection: Connection, action: UUID, made_in: UndoHistory) -> Action | None:
        target = action_to_redo(connection, made_in)
        if target is None:
            return None
        about = records_of(connection, target)
        latest = {key_of(record): record for record in about}
        again = [(record, record) for record in latest.values()]
        return self._again(connection, action, again, "redo", about)

    def _again(
        self,
        connection: Connection,
        action: UUID,
        wanted: Sequence[tuple[Record, Record | None]],
        origin: str,
        about: Sequence[Record],
    ) -> Action:
        """Record the content of each second one for the key of the first; None: no content."""
        records = []
        for place, (like, content) in enumerate(wanted, start=1):
            fresh = {
                "id": following_id(action, place),
                "action": action,
                "origin": origin,
                "target_action": about[0].action,
                "restores": None if content is None else content.restores or content.id,
                "created_at": now(),
            }
            if content is None:
                fresh |= {"active": False, "text": ""} if isinstance(like, Mark) else NO_LABEL
            records.append((content or like).model_copy(update=fresh))
        (written,) = self._write(connection, [Action(action, tuple(records))])
        return replace(written, about=tuple(about))

    def _check(self, connection: Connection, record: Record, item: RowMapping | None) -> None:
        """Refuse a record that is invalid; a restored one was valid before."""
        if record.origin in ("undo", "redo"):
            return
        if item is None:
            raise JudgmentRefused(
                "No such item", f"There is no item {record.item_id}.", "List them: workbench items WORKSPACE"
            )
        if isinstance(record, Judgment):
            scale = self._question(connection, record.question_id)[1]
            if record.value is not None:
                scale.check(record.value)
            try:
                citations_of(record.evidence)
            except BadEvidence as bad:
                raise JudgmentRefused(
                    "No evidence", f"{bad}.", "See docs/exporting.md for its form."
                ) from bad
        elif record.kind.startswith(REVISION) and record.active:
            refused = refused_mark(item["kind"], record.kind, record.text)
            if refused:
                raise JudgmentRefused("No revision", refused, "See docs/reviewing.md.")

    def _question(self, connection: Connection, number: int) -> tuple[str, Scale]:
        if number not in self._questions:
            table = table_of(Question)
            row = connection.execute(select(table.c.name, table.c.scale).where(table.c.id == number)).first()
            if row is None:
                raise JudgmentRefused(
                    "No such question", f"There is no question {number}.", "Update workbench."
                )
            self._questions[number] = (row.name, Scale.from_json(row.scale))
        return self._questions[number]

    def _response(self, connection: Connection, item_id: int, number: int | None) -> ResponseName | None:
        """Return the readable name of a response; None for a question about the item itself."""
        if number is None:
            return None
        if number not in self._responses:
            ref = table_of(ResponseRef)
            found = select(ref.c.model, ref.c.setting, ref.c.trial).where(
                ref.c.id == number, ref.c.item_id == item_id
            )
            row = connection.execute(found).first()
            if row is None:
                raise JudgmentRefused(
                    "No such response", f"There is no response {number}.", "Open the item again."
                )
            self._responses[number] = ResponseName(*row)
        return self._responses[number]

    def _guideline(self, connection: Connection, number: int | None) -> str | None:
        """Return the version of a guideline, None where none was shown."""
        if number is None:
            return None
        if number not in self._guidelines:
            table = table_of(Guideline)
            version = connection.execute(select(table.c.version).where(table.c.id == number)).scalar()
            if version is None:
                raise JudgmentRefused(
                    "No such guideline", f"There is no guideline {number}.", "Update workbench."
                )
            self._guidelines[number] = version
        return self._guidelines[number]

    def _line(self, connection: Connection, record: Record, item: RowMapping | None) -> dict[str, Any]:
        of_item = ("", "", "") if item is None else (item["kind"], item["external_id"], item["content_hash"])
        under = late_study(connection, record)
        if isinstance(record, Mark):
            return journal_line(record, self.rater.name, of_item, under=under)
        asked = question_name(
            self._question(connection, record.question_id)[0],
            self._response(connection, record.item_id, record.response_ref_id),
        )
        version = self._guideline(connection, record.guideline_id)
        return journal_line(record, self.rater.name, of_item, asked, version, under=under)


def late_study(connection: Connection, record: Record) -> dict[str, str]:
    """Return the study and the condition of a record whose assignment was made after the freeze."""
    if record.phase not in LATE_PHASES or record.assignment_id is None:
        return {}
    assignment, study = table_of(Assignment), table_of(Study)
    found = connection.execute(
        select(study.c.name.label("study"), words_of().label("condition"))
        .join(assignment, assignment.c.study_id == study.c.id)
        .where(assignment.c.id == record.assignment_id)
    ).mappings()
    return dict(found.first() or {})


def journal_line(
    record: Record,
    rater: str,
    item: tuple[str, str, str],
    question: str = "",
    guideline: str | None = None,
    *,
    under: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the journal line of a record.

    Args:
        record: The judgment or mark.
        rater: The rater's name.
        item: Kind, external id and content hash of the item.
        question: Of a judgment the readable name of the question.
        guideline: Of a judgment the version of the guideline; None where none was shown.
        under: Of a record whose assignment was made after the freeze the names of study and condition.
    """
    kind, external_id, content = item
    of_judgment = {"question": question, "guideline": guideline} if isinstance(record, Judgment) else {}
    return {
        "type": "judgment" if isinstance(record, Judgment) else "mark",
        "rater": rater,
        "kind": kind,
        "item": external_id,
        "content": content,
        **of_judgment,
        **(under or {}),
        "record": record.model_dump(mode="json"),
    }


def _item(connection: Connection, number: int) -> RowMapping | None:
    table = table_of(Item)
    names = select(table.c.kind, table.c.external_id, table.c.content_hash).where(table.c.id == number)
    return connection.execute(names).mappings().first()


def _read(connection: Connection, item_id: int) -> ItemRecords:
    """Read the records of all raters of an item."""
    # One condition alone, which DuckDB answers from its statistics of each block of rows.
    return ItemRecords(
        model(**row)
        for model, table in _MODELS
        for row in connection.execute(select(table).where(table.c.item_id == item_id)).mappings()
    )


def _insert(connection: Connection, records: ItemRecords, record: Record) -> Record:
    """Write a record; it is returned with the id of the record that it supersedes."""
    record = record.model_copy(update={"supersedes": records.id_before(record)})
    table = next(table for model, table in _MODELS if isinstance(record, model))
    connection.execute(insert(table).values(**record.model_dump()))
    records.add(record)
    return record


def records_of(connection: Connection, action: UUID) -> list[Record]:
    """Return the records of an action, judgments before marks, older before newer."""
    return [
        model(**row)
        for model, table in _MODELS
        for row in connection.execute(
            select(table).where(table.c.action == action).order_by(table.c.id)
        ).mappings()
    ]


def action_to_undo(
    connection: Connection, part: UndoHistory, since: UUID | None = None, until: UUID | None = None
) -> UUID | None:
    """Return the latest action of a part of a rater's work that is not undone.

    None when there is none that is not older than `since` and older than `until`.
    """
    made, undone = _made(part), _undone(part)
    # Undo and redo keep to the order of the actions, so the latest that is not undone is the one made last.
    # What was added to an action after it was undone makes it count again.
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


def action_to_redo(connection: Connection, part: UndoHistory) -> UUID | None:
    """Return the action undone last, unless another one was made since; None when there is none."""
    made, undone = _made(part), _undone(part)
    newest = connection.execute(select(made.c.id).order_by(made.c.id.desc()).limit(1)).scalar()
    found = select(undone.c.target_action).order_by(undone.c.id.desc())
    if newest is not None:
        found = found.where(undone.c.id > newest)
    action: UUID | None = connection.execute(found.limit(1)).scalar()
    return action


def _made(part: UndoHistory) -> Subquery:
    """Select the actions of a part of a rater's work but undo and redo."""
    # Labels of a file have one action together, and are no actions of their rater.
    return _records(part, lambda origin: origin.not_in(("import", "undo", "redo"))).subquery("made")


def _undone(part: UndoHistory) -> Subquery:
    """Select the last undo of each action that was not redone after it."""
    changes = _records(part, lambda origin: origin.in_(("undo", "redo"))).subquery("changes")
    place = func.row_number().over(partition_by=changes.c.target_action, order_by=changes.c.id.desc())
    ranked = select(changes, place.label("place")).subquery("ranked")
    last = (ranked.c.place == 1) & (ranked.c.origin == "undo")
    return select(ranked.c.id, ranked.c.target_action).where(last).subquery("undone")


def _records(
    part: UndoHistory, wanted: Callable[[ColumnElement[str]], ColumnElement[bool]]
) -> CompoundSelect[Any]:
    """Select the judgments and marks of some origins in a part of a rater's work."""
    return union_all(
        *(
            select(table.c.id, table.c.action, table.c.origin, table.c.target_action).where(
                part.holds(table), wanted(table.c.origin)
            )
            for _, table in _MODELS
        )
    )
