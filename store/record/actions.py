"""Recording what a rater does: judgments and marks, undo and redo, each written once and journaled."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, RowMapping, select

from store.errors import JudgmentRefused
from store.record.evidence import NONE, BadEvidence, citations_of
from store.record.ids import beside, now
from store.record.rater_ref import RaterRef
from store.record.response_names import ResponseName, question_name
from store.record.revisions import REVISION, refused_mark
from store.record.scales import Scale
from store.record.supersession import (
    ItemRecords,
    Record,
    action_to_redo,
    action_to_undo,
    key_of,
    records_of,
)
from store.tables.columns import table_of
from store.tables.imported import Item
from store.tables.people import Guideline, Question
from store.tables.record import Judgment, Mark
from store.tables.responses import ResponseRef
from store.workspace.duckdb import Workspace
from store.workspace.journal import Journal, journal_path

_NO_LABEL: dict[str, Any] = {"value": None, "reason": "", "comment": "", "evidence": NONE}


@dataclass(frozen=True, slots=True)
class Action:
    """The records of one key press; they are written together and undone together.

    Attributes:
        id: The id that all its records carry.
        records: What is recorded. Writing the same action again adds nothing.
        about: Of a stored undo or redo, the records of the action that it takes back or brings again.
    """

    id: UUID
    records: tuple[Record, ...]
    about: tuple[Record, ...] = ()

    @property
    def item_id(self) -> int:
        """The item that it is about."""
        return self.records[0].item_id


class Recorder:
    """Writes one rater's actions through the workspace's lane, ahead of everything else.

    Futures are done when the records are on disk, in the workspace and in the journal. When one fails,
    nothing of that action was stored, and the same action can be submitted again, also after later ones:
    ids tell which came first, and what was done later stands.
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
        if any(record.rater_id != self.rater.id for record in action.records):
            raise ValueError(f"the records of {action.id} are another rater's")
        if any(record.item_id != action.item_id for record in action.records):
            raise ValueError(f"the records of {action.id} are about several items")
        return self._workspace.lane.submit(lambda connection: self._write(connection, action), urgent=True)

    def undo(self, since: UUID | None = None, until: UUID | None = None) -> Future[Action | None]:
        """Take back the latest standing action of this rater, whichever session or program it came from.

        Args:
            since: The oldest action that may be taken back; None for any.
            until: The id of the undo, where it was asked for earlier: only older actions are taken back.

        Returns:
            A future of what was recorded, of None when no such action stands.
        """
        # The id is of the moment of the key: what is judged before the lane comes to it must be higher.
        action = until or self._workspace.ids.next()
        return self._workspace.lane.submit(
            lambda connection: self._undo(connection, action, since, until), urgent=True
        )

    def redo(self) -> Future[Action | None]:
        """Bring back the action undone last; a future of what was recorded, None when there is none."""
        action = self._workspace.ids.next()
        return self._workspace.lane.submit(lambda connection: self._redo(connection, action), urgent=True)

    def _write(self, connection: Connection, action: Action) -> Action:
        item = _item(connection, action.item_id)
        records = ItemRecords(connection, action.item_id)
        written: list[Record] = []
        fresh: list[Record] = []
        for record in action.records:
            known = records.stored(record.id)
            if known is None:
                self._check(connection, record, item)
                known = records.insert(record)
                fresh.append(known)
            written.append(known)
        for record in tuple(fresh):
            for further in self._consequences(records, record):
                fresh.append(records.insert(further))
                written.append(fresh[-1])
        if fresh:
            # Last, so that what the database refuses is not in it.
            self._journal.append([self._line(connection, record, item) for record in fresh])
        return Action(action.id, tuple(written))

    def _consequences(self, records: ItemRecords, record: Record) -> list[Record]:
        """Return what follows: judging ends skip and cannot decide; cannot decide withdraws judgments.

        Whichever was done later wins, also when it was stored first because the other had to be retried.
        """
        if record.origin in ("undo", "redo") or not records.is_newest(record):
            return []
        further: list[Record] = []
        if isinstance(record, Judgment) and record.value is not None:
            for mark in records.standing_marks(record, ("cannot_decide", "skip")):
                if mark.kind == "cannot_decide" and mark.id > record.id:
                    further.append(_withdrawn(record, mark))
                else:
                    further.append(_ended(mark, record))
        elif isinstance(record, Mark) and record.active and record.kind in ("cannot_decide", "skip"):
            judgments = records.standing_judgments(record)
            later = [judgment for judgment in judgments if judgment.id > record.id]
            if later:
                further.append(_ended(record, later[0]))
            elif record.kind == "cannot_decide":
                further += [_withdrawn(judgment, record) for judgment in judgments]
        return [
            one.model_copy(update={"id": beside(record.id, place)})
            for place, one in enumerate(further, start=1)
        ]

    def _undo(
        self, connection: Connection, action: UUID, since: UUID | None, until: UUID | None
    ) -> Action | None:
        target = action_to_undo(connection, self.rater.id, since, until)
        if target is None:
            return None
        # What stood before the action is what is next older than its first record of each key. `supersedes`
        # names it, too, but not what an import brought in between afterwards.
        earliest: dict[tuple[Any, ...], Record] = {}
        about = records_of(connection, target)
        for record in about:
            earliest.setdefault(key_of(record), record)
        records = ItemRecords(connection, about[0].item_id)
        before = [(record, records.stored(records.id_before(record))) for record in earliest.values()]
        return self._again(connection, action, before, "undo", about)

    def _redo(self, connection: Connection, action: UUID) -> Action | None:
        target = action_to_redo(connection, self.rater.id)
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
        """Record, for the key of each first one, that the content of the second one stands; None: nothing."""
        records = []
        for place, (like, content) in enumerate(wanted, start=1):
            fresh = {
                "id": beside(action, place),
                "action": action,
                "origin": origin,
                "target_action": about[0].action,
                "restores": None if content is None else content.restores or content.id,
                "created_at": now(),
            }
            if content is None:
                fresh |= {"active": False, "text": ""} if isinstance(like, Mark) else _NO_LABEL
            records.append((content or like).model_copy(update=fresh))
        return replace(self._write(connection, Action(action, tuple(records))), about=tuple(about))

    def _check(self, connection: Connection, record: Record, item: RowMapping | None) -> None:
        """Refuse what does not belong into the record; what stood in it before may stand in it again."""
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
        line: dict[str, Any] = {
            "type": "judgment" if isinstance(record, Judgment) else "mark",
            "rater": self.rater.name,
            "kind": item["kind"] if item else "",
            "item": item["external_id"] if item else "",
            "content": item["content_hash"] if item else "",
        }
        if isinstance(record, Judgment):
            line["question"] = question_name(
                self._question(connection, record.question_id)[0],
                self._response(connection, record.item_id, record.response_ref_id),
            )
            line["guideline"] = self._guideline(connection, record.guideline_id)
        return {**line, "record": record.model_dump(mode="json")}


def _item(connection: Connection, number: int) -> RowMapping | None:
    table = table_of(Item)
    names = select(table.c.kind, table.c.external_id, table.c.content_hash).where(table.c.id == number)
    return connection.execute(names).mappings().first()


def _ended(mark: Mark, cause: Record) -> Mark:
    """Return the record that takes a mark away, as a part of the action of its cause."""
    return mark.model_copy(update={**_because_of(cause), "active": False})


def _withdrawn(judgment: Judgment, cause: Record) -> Judgment:
    """Return the record that takes a judgment's value away, as a part of the action of its cause."""
    return judgment.model_copy(update={**_because_of(cause), **_NO_LABEL, "origin": "withdraw"})


def _because_of(cause: Record) -> dict[str, Any]:
    return {
        "action": cause.action,
        "origin": "independent",
        "target_action": None,
        "restores": None,
        "created_at": cause.created_at,
    }
