"""The record of a work that is no run of the agents: what it is, its state, and from where it goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import Connection, insert, select, update

from agents.jobs.run_record import committed
from store.errors import WorkbenchError
from store.record.ids import now
from store.tables.columns import table_of
from store.tables.runs import WorkRow, kept

if TYPE_CHECKING:
    from store.workspace.duckdb import Workspace

INTERRUPTED = "It was interrupted"
"""The words about a work whose process died."""

MOST_KEPT = 1_000_000
"""Characters that a work may keep."""


class WorkRecord:
    """The row of a work.

    Args:
        workspace: The open workspace.
        row: The row, which need not be in the workspace yet.
    """

    def __init__(self, workspace: Workspace, row: WorkRow) -> None:
        self.row = row
        self._workspace = workspace

    @classmethod
    def new(cls, workspace: Workspace, kind: str, name: str, description: str) -> WorkRecord:
        """Return the record of a new work, which is written when that begins.

        The description is JSON.
        """
        row = WorkRow(
            id=workspace.ids.next(),
            kind=kind,
            name=name,
            description=description,
            state="running",
            started_at=now(),
        )
        return cls(workspace, row)

    @property
    def id(self) -> UUID:
        """Its key."""
        return self.row.id

    def is_of(self, kind: str, description: str) -> bool:
        """Tell whether it is of the work of this kind and description."""
        return (self.row.kind, self.row.description) == (kind, description)

    @property
    def kept(self) -> Mapping[str, Any]:
        """What it kept when it was stopped."""
        return kept(self.row)

    async def begin(self) -> None:
        """Write that it is at work."""
        self.row.state, self.row.ended_at, self.row.said = "running", None, ""
        row, table = self.row.model_dump(), table_of(WorkRow)

        def write(connection: Connection) -> None:
            if connection.execute(select(table.c.id).where(table.c.id == row["id"])).first() is None:
                connection.execute(insert(table).values(**row))
            else:
                again = {name: row[name] for name in ("state", "ended_at", "said")}
                connection.execute(update(table).where(table.c.id == row["id"]).values(**again))

        await committed(self._workspace.lane.submit(write))

    def note(self, state: str) -> None:
        """Write that it pauses, or goes on."""
        if state in ("running", "paused"):
            self._change(state=state)

    def keep(self, values: Mapping[str, Any], done: tuple[int, int]) -> None:
        """Write what it goes on from, and how much is done.

        The values are JSON. `done` is how much of its step is done, out of how much.

        Raises:
            WorkbenchError: It is too much, or no JSON.
        """
        try:
            text = json.dumps(values, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError) as problem:
            raise WorkbenchError(
                "Cannot be kept",
                f"What {self.row.name} keeps is no JSON: {problem}.",
                "Keep words, numbers, lists and dictionaries of them.",
            ) from problem
        if len(text) > MOST_KEPT:
            raise WorkbenchError(
                "Too much to keep",
                f"{self.row.name} keeps {len(text):,} characters, more than {MOST_KEPT:,}.",
                "Keep what grows in a table of the workspace, or in a file.",
            )
        if text != (self.row.kept or "{}"):
            self.row.kept, (self.row.done, self.row.total) = text, done
            self._change(kept=text, done=done[0], total=done[1])

    async def end(self, state: str, said: str, done: tuple[int, int]) -> None:
        """Write how it ended.

        The state is "done", "stopped" or "failed". `done` is how much of its step is done, out of how much.
        """
        self.row.state, self.row.said, (self.row.done, self.row.total) = state, said, done
        change = self._change(state=state, said=said, done=done[0], total=done[1], ended_at=now())
        await committed(change)

    def _change(self, **values: Any) -> Future[None]:
        table = table_of(WorkRow)
        change = update(table).where(table.c.id == self.id).values(**values)

        def write(connection: Connection) -> None:
            connection.execute(change)

        return self._workspace.lane.submit(write)


def stop_interrupted_works(workspace: Workspace) -> Future[None]:
    """Mark works as stopped that were at work when a process died (see `stop_interrupted_runs`)."""
    table = table_of(WorkRow)
    change = (
        update(table)
        .where(table.c.state.in_(("running", "paused")))
        .values(state="stopped", said=INTERRUPTED, ended_at=now())
    )

    def write(connection: Connection) -> None:
        connection.execute(change)

    return workspace.lane.submit(write)
