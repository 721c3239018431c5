"""A small workspace to judge in, and the actions that a rater's keys stand for, for tests of the record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

from small_workspace import GOOD, WRONG, pairs_workspace
from sqlalchemy import select

from store.queries.item import OwnLabel, OwnState
from store.record.actions import Action, Recorder
from store.record.evidence import as_json, cite
from store.record.ids import now
from store.record.raters import ensure_rater, question_number, register_kinds
from store.tables.columns import table_of
from store.tables.people import Rater
from store.tables.record import Judgment, JudgmentRow, Mark, MarkRow
from store.workspace.duckdb import Workspace
from store.workspace.journal import MEMBER, journal_path, read_journal

EVIDENCE = as_json(cite("code", GOOD, GOOD.splitlines(), [2], None))
"""What a judgment that cites a line of `GOOD` holds."""


def judged_workspace(folder: Path, count: int = 4) -> Workspace:
    """A new workspace with pairs 1 to `count`, two to a query, and the questions of every kind."""
    pairs = [
        (
            f"pair/{number}",
            f"double a number {(number + 1) // 2}",
            f"{GOOD if number % 2 else WRONG}# {number}\n",
        )
        for number in range(1, count + 1)
    ]
    workspace = pairs_workspace(folder, pairs)
    register_kinds(workspace)
    return workspace


class Desk:
    """One rater at work: makes actions with ids of the workspace's clock, and submits them."""

    def __init__(self, workspace: Workspace, name: str = "dana") -> None:
        self.workspace = workspace
        self.rater: Rater = ensure_rater(workspace, name)
        self.recorder = Recorder(workspace, self.rater)
        with workspace.reading() as connection:
            self.question = question_number(connection, "pair.match")

    def label(self, item: int, value: float | None = 1.0, **fields: Any) -> Action:
        """The action of labelling an item."""
        action = fields.pop("action", None) or self.workspace.ids.next()
        record = Judgment(
            id=self.workspace.ids.next(),
            action=action,
            item_id=item,
            question_id=self.question,
            rater_id=self.rater.id,
            value=value,
            created_at=now(),
            **fields,
        )
        return Action(action, (record,))

    def mark(self, item: int, kind: str, *, active: bool = True, text: str = "", **fields: Any) -> Action:
        """The action of marking an item."""
        action = fields.pop("action", None) or self.workspace.ids.next()
        record = Mark(
            id=self.workspace.ids.next(),
            action=action,
            item_id=item,
            rater_id=self.rater.id,
            kind=kind,
            active=active,
            text=text,
            created_at=now(),
            **fields,
        )
        return Action(action, (record,))

    def submit(self, action: Action) -> Action:
        """Record an action and wait for it."""
        return self.recorder.submit(action).result(60)

    def judge(self, item: int, value: float = 1.0, **fields: Any) -> Action:
        """Label an item and wait until that is on disk."""
        return self.submit(self.label(item, value, **fields))

    def say(self, item: int, kind: str, **fields: Any) -> Action:
        """Mark an item and wait until that is on disk."""
        return self.submit(self.mark(item, kind, **fields))

    def undo(self) -> Action | None:
        """Undo and wait."""
        return self.recorder.undo().result(60)

    def redo(self) -> Action | None:
        """Redo and wait."""
        return self.recorder.redo().result(60)


def only_label(own: OwnState) -> OwnLabel | None:
    """What stands of the rater's own where one question is asked; None for nothing."""
    assert len(own.labels) <= 1
    return next(iter(own.labels.values()), None)


def judgments(workspace: Workspace, **where: Any) -> list[Judgment]:
    """The stored judgments, the oldest first."""
    return _stored(workspace, Judgment, JudgmentRow, where)


def marks(workspace: Workspace, **where: Any) -> list[Mark]:
    """The stored marks, the oldest first."""
    return _stored(workspace, Mark, MarkRow, where)


def _stored(workspace: Workspace, model: type, row: type, where: dict[str, Any]) -> list[Any]:
    table = table_of(row)
    found = select(table).where(*(table.c[name].is_not_distinct_from(value) for name, value in where.items()))
    with workspace.reading() as connection:
        return [model(**one) for one in connection.execute(found.order_by(table.c.id)).mappings()]


def journaled(workspace: Workspace, cut_off: int = 0) -> list[dict[str, Any]]:
    """The records in the journal, in order, without what raters said of themselves.

    Fails at unreadable lines, but for so many that kills may have cut off: these stay, and were never acknowledged.
    """
    path = journal_path(workspace.path)
    lines = list(read_journal(path)) if path.exists() else []
    assert sum(line.record is None for line in lines) <= cut_off
    return [
        line.record["record"] for line in lines if line.record is not None and line.record["type"] != MEMBER
    ]


def journal_ids(workspace: Workspace, cut_off: int = 0) -> list[UUID]:
    """The ids of the records in the journal, in order (see `journaled`)."""
    return [UUID(record["id"]) for record in journaled(workspace, cut_off)]


def as_json(record: Judgment | Mark) -> dict[str, Any]:
    """A record as the journal holds it."""
    return json.loads(record.model_dump_json())


def identity_of(workspace):
    """The id that a workspace was given when it was made."""
    with workspace.native() as cursor:
        (found,) = cursor.execute("SELECT value::UUID FROM workspace_fact WHERE name = 'id'").fetchone()
    return found
