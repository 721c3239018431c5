"""Reads the order of a queue, and keeps between sessions which one it was. Called in threads.

The queries are imported by the first read: the lines that a start shows are there without them.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from screens.queue.query import QueueQuery
from screens.widgets.item_list.rows import AT_ONCE
from store.first_look import QUEUE_SESSION
from store.queries.rows import QueueFilter, QueueRow, QueueSort
from store.record.session import load_session, save_session

if TYPE_CHECKING:
    from store.queries.rows import Ids
    from store.queries.runs import LabelledRun
    from store.record.scope import RunRef, Scope
    from store.workspace.duckdb import Workspace


@dataclass(frozen=True, slots=True)
class LoadedQueue:
    """Items of a queue that were read.

    Attributes:
        ids: The items in their order, of shape (n,); only the first ones when not `complete`.
        complete: Whether these are all.
        rows: The first lines.
        total: How many items the workspace holds; None when they were not counted yet.
        kinds: The kinds of the items, those of the first lines where not all were looked at.
        runs: The run of the agents that is shown of each kind, by kind; None where that was not read.
    """

    ids: Ids
    complete: bool
    rows: tuple[QueueRow, ...] = ()
    total: int | None = None
    kinds: frozenset[str] = frozenset()
    runs: Mapping[str, RunRef] | None = None


class QueueLoader:
    """Reads orders for one rater.

    Args:
        workspace: The open workspace.
        scope: Whose labels count, and what of others' work is shown.
    """

    def __init__(self, workspace: Workspace, scope: Scope) -> None:
        self._workspace = workspace
        self._scope = scope

    def first(self, query: QueueQuery) -> LoadedQueue:
        """Return the first items of a queue with their lines."""
        ids = self._ids(query, AT_ONCE)
        rows = tuple(self.rows(ids.tolist()))
        return LoadedQueue(ids, complete=len(ids) < AT_ONCE, rows=rows, kinds=_kinds_of(rows))

    @staticmethod
    def begun(rows: Sequence[QueueRow]) -> LoadedQueue:
        """Return the first items of the queue of all items, whose lines were read already."""
        ids = array("q", [row.item_id for row in rows])
        return LoadedQueue(ids, complete=False, rows=tuple(rows), kinds=_kinds_of(rows))

    def all(self, query: QueueQuery) -> LoadedQueue:
        """Return the items of a queue, and how many the workspace holds."""
        from store.queries.queue import items_by_kind

        items, wanted = items_by_kind(self._workspace, self._scope), query.wanted.kind
        kinds = frozenset(items) if wanted is None else frozenset((wanted,))
        ids, total = self._ids(query), sum(items.values())
        return LoadedQueue(ids, complete=True, total=total, kinds=kinds, runs=self._runs())

    def _runs(self) -> Mapping[str, RunRef]:
        from store.queries.runs import shown_by_kind

        if self._scope.hides_lists:
            return {}
        with self._workspace.reading() as connection:
            return shown_by_kind(connection, self._scope)

    def choices(self) -> tuple[list[LabelledRun], Mapping[str, RunRef]]:
        """Return the runs with labels, and the one of each kind that is shown where none is chosen."""
        from store.queries.runs import labelled_runs, shown_by_kind

        if self._scope.hides_lists:
            return [], {}
        with self._workspace.reading() as connection:
            default = shown_by_kind(connection, replace(self._scope, run=None))
            return labelled_runs(connection, self._scope), default

    def first_unjudged(self, query: QueueQuery) -> int | None:
        """Return the first item of a queue that the rater has not judged, None where there is none."""
        if query.wanted.status not in (None, "open"):
            return None
        ids = self._ids(replace(query, wanted=replace(query.wanted, status="open")), limit=1)
        return int(ids[0]) if len(ids) else None

    def count(self, wanted: QueueFilter) -> int:
        """Return how many items a filter lets through."""
        return len(self._ids(QueueQuery(wanted, QueueSort())))

    def total(self) -> int:
        """Return how many items there are: in a study those of the sitting, else all of the workspace."""
        from store.queries.queue import items_by_kind

        return sum(items_by_kind(self._workspace, self._scope).values())

    def rows(self, item_ids: list[int] | tuple[int, ...]) -> list[QueueRow]:
        """Return the lines of some items."""
        from store.queries.queue import queue_rows

        return queue_rows(self._workspace, self._scope, item_ids)

    def _ids(self, query: QueueQuery, limit: int | None = None) -> Ids:
        from store.queries.queue import queue_ids

        return queue_ids(self._workspace, self._scope, query.wanted, query.sort, limit=limit)

    def kept(self) -> tuple[QueueQuery, int | None]:
        """Return the queue of the session before, and the item that was under the cursor."""
        rater = self._scope.rater_id
        return self.of(load_session(self._workspace, rater, QUEUE_SESSION) if rater else {})

    def of(self, value: Mapping[str, Any]) -> tuple[QueueQuery, int | None]:
        """Return what `kept` returns, of a value that was read already."""
        item = value.get("item")
        return QueueQuery.of(value, blind=self._scope.hides_lists), item if isinstance(item, int) else None

    def keep(self, query: QueueQuery, item_id: int | None) -> None:
        """Keep a queue for the next session, through the write lane."""
        if self._scope.rater_id:
            value = {**query.kept, "item": item_id}
            save_session(self._workspace, self._scope.rater_id, QUEUE_SESSION, value)


def _kinds_of(rows: Sequence[QueueRow]) -> frozenset[str]:
    return frozenset(row.kind for row in rows)
