"""The record of a work that is no run of the agents: what it is, its state, and from where it goes on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import Connection, insert, update

from agents.jobs.run_record import committed
from store.errors import WorkbenchError
from store.record.ids import now
from store.tables.columns import table_of
from store.tables.runs import WorkRow

if TYPE_CHECKING:
    from agents.jobs.work import Work
    from store.workspace.duckdb import Workspace

MOST_KEPT = 1_000_000
"""Characters that a work may keep."""


class WorkRecord:
    """The row of a work.

    Args:
        workspace: The open workspace.
        row: The row.
        is_new: Whether it is not in the workspace yet.
    """

    def __init__(self, workspace: Workspace, row: WorkRow, *, is_new: bool) -> None:
        self.row = row
        self._workspace = workspace
        self._is_new = is_new

    @classmethod
    def of(
        cls, workspace: Workspace, work: Work, description: Mapping[str, Any], again: WorkRow | None
    ) -> WorkRecord:
        """Return the record of a work, which is written when that begins.

        Args:
            workspace: The open workspace.
            work: The work.
            description: Its description.
            again: Its row, where it goes on; None for a new one.
        """
        row = again or WorkRow(
            id=workspace.ids.next(),
            kind=work.kind,
            name=work.name,
            description=json.dumps(description, sort_keys=True, ensure_ascii=False),
            state="running",
            started_at=now(),
        )
        return cls(workspace, row, is_new=again is None)

    @property
    def id(self) -> UUID:
        """Its key."""
        return self.row.id

    @property
    def kept(self) -> Mapping[str, Any]:
        """What it kept when it was stopped."""
        found: dict[str, Any] = json.loads(self.row.kept or "{}")
        return found

    async def begin(self) -> None:
        """Write that it is at work."""
        if self._is_new:
            row, table = self.row.model_dump(), table_of(WorkRow)

            def write(connection: Connection) -> None:
                connection.execute(insert(table).values(**row))

            await committed(self._workspace.lane.submit(write))
        else:
            await committed(self._change(state="running", ended_at=None, said=""))

    def note(self, state: str) -> None:
        """Write that it pauses, or goes on."""
        if state in ("running", "paused"):
            self._change(state=state)

    def keep(self, values: Mapping[str, Any]) -> None:
        """Write what it goes on from.

        Raises:
            WorkbenchError: It is too much.
        """
        text = json.dumps(values, ensure_ascii=False)
        if len(text) > MOST_KEPT:
            raise WorkbenchError(
                "Too much to keep",
                f"{self.row.name} keeps {len(text):,} characters, more than {MOST_KEPT:,}.",
                "Keep what grows in a table of the workspace, or in a file.",
            )
        if text != (self.row.kept or "{}"):
            self.row.kept = text
            self._change(kept=text)

    async def end(self, state: str, said: str) -> None:
        """Write how it ended.

        Args:
            state: "done", "stopped" or "failed".
            said: What came of it, or why it failed.
        """
        self.row.state, self.row.said = state, said
        await committed(self._change(state=state, said=said, ended_at=now()))

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
        update(table).where(table.c.state.in_(("running", "paused"))).values(state="stopped", ended_at=now())
    )

    def write(connection: Connection) -> None:
        connection.execute(change)

    return workspace.lane.submit(write)
