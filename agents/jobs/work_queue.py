"""The items of a job one by one, read in pages, so that no job holds a whole workspace in memory."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.jobs.run_record import RecordedSteps
from store.queries.run_items import failed_items
from store.queries.runs import (
    count_done,
    count_without_outcome,
    items_without_outcome,
    select_without_outcome,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from agents.jobs.run_record import RunRecord
    from agents.pipelines.spec import AgentsPart, WorkItem
    from agents.settings import JobSettings
    from store.workspace.duckdb import Workspace

PAGE = 128


@dataclass(frozen=True, slots=True)
class QueuedItem:
    """An item, and the run's earlier steps on it."""

    item: WorkItem
    earlier: RecordedSteps


class WorkQueue:
    """The open items of a run: all of a kind by key that it can work on, or some in the order given.

    Where asked for, only those that no other run was done with either.
    """

    def __init__(
        self, workspace: Workspace, record: RunRecord, part: AgentsPart, settings: JobSettings
    ) -> None:
        self._workspace = workspace
        self._record = record
        self._part = part
        self._settings = settings
        self._chosen: Sequence[int] | None = settings.item_ids
        self._missing_at = settings.missing_at
        self._only_failed = settings.retry_failed
        self._left = settings.limit
        self._position = -1 if settings.item_ids is None else 0
        self._ready: deque[QueuedItem] = deque()
        self._ended = False
        self._loading = asyncio.Lock()

    @property
    def chosen(self) -> Sequence[int] | None:
        """The chosen items; None for all of the kind. Known after `count`."""
        return self._chosen

    async def count(self) -> tuple[int, int]:
        """Count the open items, and fix the queue to them: items imported later wait for the next job.

        Returns:
            How many items the job will get, and how many the run is done with already.
        """
        if self._chosen is None and self._part.eligible is not None:
            self._chosen, self._position = await asyncio.to_thread(self._eligible), 0
        if self._only_failed:
            self._chosen, self._position = await asyncio.to_thread(self._failed), 0
        total, done = await asyncio.to_thread(self._count)
        self._left = total if self._left is None else min(total, self._left)
        return self._left, done

    async def next(self) -> QueuedItem | None:
        """Return the next item; None at the end."""
        async with self._loading:
            while not self._ready and not self._ended:
                self._ready.extend(await asyncio.to_thread(self._load))
        return self._ready.popleft() if self._ready else None

    def _eligible(self) -> Sequence[int]:
        assert self._part.eligible is not None
        with self._workspace.reading() as connection:
            return self._part.eligible(connection, self._settings.configuration())

    def _failed(self) -> list[int]:
        with self._workspace.reading() as connection:
            failed = failed_items(connection, self._record.id)
        if self._chosen is None:
            return failed
        among_failed = set(failed)
        return [number for number in self._chosen if number in among_failed]

    def _count(self) -> tuple[int, int]:
        with self._workspace.reading() as connection:
            done = count_done(connection, self._record.id)
            if self._chosen is None:
                return self._count_all(connection), done
            total = 0
            for start in range(0, len(self._chosen), PAGE):
                page = self._chosen[start : start + PAGE]
                total += len(self._open_among(connection, page))
            return total, done

    def _count_all(self, connection: Connection) -> int:
        run_id, kind = self._record.id, self._part.kind
        return count_without_outcome(connection, run_id, kind, missing_at=self._missing_at)

    def _open_among(self, connection: Connection, page: Sequence[int]) -> list[int]:
        run_id, kind = self._record.id, self._part.kind
        return select_without_outcome(connection, run_id, kind, page, missing_at=self._missing_at)

    def _open_after(self, connection: Connection) -> list[int]:
        return items_without_outcome(
            connection,
            self._record.id,
            self._part.kind,
            after=self._position,
            count=PAGE,
            missing_at=self._missing_at,
        )

    def _load(self) -> list[QueuedItem]:
        """Read one page; an empty one can be followed by others when items were chosen."""
        with self._workspace.reading() as connection:
            if self._chosen is None:
                ids = self._open_after(connection)
                self._ended = len(ids) < PAGE
                self._position = ids[-1] if ids else self._position
            else:
                page = self._chosen[self._position : self._position + PAGE]
                self._position += len(page)
                self._ended = self._position >= len(self._chosen)
                ids = self._open_among(connection, page)
            if self._left is not None:
                ids = ids[: self._left]
                self._left -= len(ids)
                self._ended = self._ended or self._left == 0
            earlier = self._record.earlier(connection, ids) if ids else {}
            items = self._part.load(connection, ids) if ids else []
            return [QueuedItem(item, earlier.get(item.item_id, RecordedSteps())) for item in items]
