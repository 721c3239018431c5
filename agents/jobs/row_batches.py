"""Writes the rows that several items record at the same time together: one insert for each table."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from store.tables.appending import append_rows
from store.tables.columns import among, table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection
    from sqlmodel import SQLModel

    from store.workspace.lane import WriteLane

Rows = tuple[type["SQLModel"], "Sequence[SQLModel]"]


class _Batch:
    """Rows that are written together; once the lane has begun with them, none is added."""

    def __init__(self, lane: WriteLane, rows: Sequence[Rows], replaced: frozenset[type[SQLModel]]) -> None:
        self._replaced = replaced
        self._gate = threading.Lock()
        self._begun = False
        self._rows: dict[type[SQLModel], list[dict[str, Any]]] = {}
        self.shared = False
        self.tasks: set[asyncio.Task[Any] | None] = set()
        self.take(rows)
        self.written = asyncio.wrap_future(lane.submit(self._write))

    def take(self, rows: Sequence[Rows]) -> bool:
        """Add rows, unless the batch is being written."""
        with self._gate:
            if self._begun:
                return False
            self.shared = bool(self._rows)
            for table, some in rows:
                self._rows.setdefault(table, []).extend(row.model_dump() for row in some)
            return True

    def _write(self, connection: Connection) -> None:
        """Write all rows; may be called again when the lane's transaction failed."""
        with self._gate:
            self._begun = True
        for model, rows in self._rows.items():
            new = _replace(connection, model, rows) if model in self._replaced else rows
            append_rows(connection, table_of(model), new)


def _replace(
    connection: Connection, model: type[SQLModel], rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Put rows in the place of those with the same `id`; return the others, of several the last."""
    table, by_id = table_of(model), {row["id"]: row for row in rows}
    there = set(connection.execute(select(table.c.id).where(among(table.c.id, list(by_id)))).scalars())
    for key in there:
        values = {name: value for name, value in by_id[key].items() if name != "id"}
        connection.execute(update(table).where(table.c.id == key).values(**values))
    return [row for key, row in by_id.items() if key not in there]


class RowBatcher:
    """Writes rows through a lane, together with those that come before it begins with them.

    To write many takes hardly longer than to write one, and the lane writes one at a time. A call that is
    cancelled leaves its rows queued; `written` waits for them. It is used in one asyncio loop.

    Args:
        lane: The workspace's lane.
        replaced: Tables in which a row takes the place of the one with the same `id`.
    """

    def __init__(self, lane: WriteLane, *, replaced: Sequence[type[SQLModel]] = ()) -> None:
        self._lane = lane
        self._replaced = frozenset(replaced)
        self._open: _Batch | None = None
        self._unwritten: set[asyncio.Future[None]] = set()

    async def add(self, *rows: Rows, after: asyncio.Task[None] | None = None) -> None:
        """Write rows of tables, all of them or none, and wait until they are on disk.

        Args:
            *rows: Of each table its rows; tables in the order in which they are written.
            after: Another such call, without whose rows these may not be on disk: they are written together
                with them, or when they are there.

        Raises:
            RuntimeError: The lane is closed.
            Exception: The database refused the rows; those that others added at the same time are written.
        """
        if after is not None and (self._open is None or after not in self._open.tasks):
            await after
            after = None
        batch = self._open
        if batch is None or not batch.take(rows):
            if after is not None:
                await after
                return await self.add(*rows)
            batch = self._open = self._submitted(rows)
        batch.tasks.add(asyncio.current_task())
        try:
            await asyncio.shield(batch.written)
        except Exception:
            if not batch.shared:
                raise
            if after is not None:
                await after
            await asyncio.shield(self._submitted(rows).written)  # alone, so that only the faulty ones fail

    async def written(self) -> None:
        """Wait until all rows are on disk, those too whose caller does not wait any more."""
        while self._unwritten:
            await asyncio.wait(self._unwritten)

    def _submitted(self, rows: Sequence[Rows]) -> _Batch:
        """Queue a batch; until the lane comes to it, it takes up further rows."""
        batch = _Batch(self._lane, rows, self._replaced)
        self._unwritten.add(batch.written)
        batch.written.add_done_callback(self._unwritten.discard)
        return batch
