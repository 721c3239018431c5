"""Rows that many items' turns record at the same time, written together: one insert for each table."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from store.appending import append_rows
from store.tables.columns import among, table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection
    from sqlmodel import SQLModel

    from store.lane import WriteLane

# Between two writes rows are gathered for as long as the first one took, within these bounds.
_GATHER_SECONDS = 0.02, 0.2

Rows = tuple[type["SQLModel"], "Sequence[SQLModel]"]


class _Batch:
    """Rows that are written together; once the lane has begun with them, none is added."""

    def __init__(self, replaced: frozenset[type[SQLModel]]) -> None:
        self._replaced = replaced
        self.rows: dict[type[SQLModel], list[dict[str, Any]]] = {}
        self.shared = False
        self.tasks: set[asyncio.Task[Any] | None] = set()
        self.written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._gate = threading.Lock()
        self._begun = False

    def take(self, rows: Sequence[Rows]) -> bool:
        """Take rows up, unless it is too late."""
        with self._gate:
            if self._begun:
                return False
            self.shared = bool(self.rows)
            for table, some in rows:
                self.rows.setdefault(table, []).extend(row.model_dump() for row in some)
            return True

    def settle(self, done: asyncio.Future[None]) -> None:
        """Tell those who wait how the write ended."""
        error = done.exception()
        if error is None:
            self.written.set_result(None)
        else:
            self.written.set_exception(error)

    def write(self, connection: Connection) -> None:
        """Write all rows; may be called again when the lane's transaction failed."""
        with self._gate:
            self._begun = True
        for model, rows in self.rows.items():
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


class Gathering:
    """Writes rows through a lane, together with those that come shortly before; used in one asyncio loop.

    The first of them are written at once. Then rows are gathered for as long as the write before took: to
    write many takes hardly longer than to write one, and while the lane works it takes the interpreter from
    the loop.

    A call that is cancelled leaves its rows queued; `written` waits for them.

    Args:
        lane: The workspace's lane.
        replaced: Tables in which a row takes the place of the one with the same `id`.
    """

    def __init__(self, lane: WriteLane, *, replaced: Sequence[type[SQLModel]] = ()) -> None:
        self._lane = lane
        self._replaced = frozenset(replaced)
        self._open: _Batch | None = None
        self._writing: _Batch | None = None
        self._again = 0.0

    async def add(self, *rows: Rows, after: asyncio.Task[None] | None = None) -> None:
        """Write rows of tables, all of them or none, and wait until they are on disk.

        Args:
            *rows: Of each table its rows; tables in the order in which they are written.
            after: Another such call, without whose rows these may not be on disk: they are written together
                with them, or when they are there.

        Raises:
            Exception: What the database refused; rows that others added at the same time are not concerned.
        """
        batch = self._open
        if after is not None and (batch is None or after not in batch.tasks):
            await after
            after, batch = None, self._open
        if batch is None or not batch.take(rows):
            if after is not None:
                await after
                return await self.add(*rows)
            batch = self._open = _Batch(self._replaced)
            batch.take(rows)
            if self._writing is None:
                self._submit_in_time(batch)
        batch.tasks.add(asyncio.current_task())
        try:
            await asyncio.shield(batch.written)
        except Exception:
            if not batch.shared:
                raise
            if after is not None:
                await after
            alone = _Batch(self._replaced)  # so that only the faulty ones fail
            alone.take(rows)
            self._submit(alone)
            await asyncio.shield(alone.written)

    async def written(self) -> None:
        """Wait until all rows are on disk, those too whose caller does not wait any more."""
        for batch in (self._writing, self._open):
            if batch is not None:
                await asyncio.wait({batch.written})

    def _submit_in_time(self, batch: _Batch) -> None:
        loop = asyncio.get_running_loop()
        self._writing = batch
        loop.call_at(max(loop.time(), self._again), self._submit, batch)

    def _submit(self, batch: _Batch) -> None:
        """Queue a batch; until the lane comes to it, it takes up further rows."""
        loop = asyncio.get_running_loop()
        began = loop.time()

        def ended(done: asyncio.Future[None]) -> None:
            batch.settle(done)
            if batch is not self._writing:
                return
            least, most = _GATHER_SECONDS
            self._again = loop.time() + max(least, min(loop.time() - began, most))
            self._writing = None
            if self._open is not None and self._open is not batch:
                self._submit_in_time(self._open)

        try:
            future = self._lane.submit(batch.write)
        except RuntimeError as error:  # the lane is closed
            batch.written.set_exception(error)
            return
        asyncio.wrap_future(future).add_done_callback(ended)
