"""Reads the order of a queue, and keeps between sessions which one it was. Called in threads.

The queries are imported by the first read: the lines that a start shows are there without them.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from screens.queue.query import QueueQuery
from store.first_look import LINES, QUEUE_SESSION
from store.kinds.spec import task_kinds
from store.policy.scope import Shows
from store.queries.rows import QueueFilter, QueueRow, QueueSort
from store.record.session import load_session, save_session

if TYPE_CHECKING:
    from store.policy.scope import RunRef, Scope
    from store.queries.rows import Ids
    from store.queries.runs import LabelledRun
    from store.workspace.duckdb import Workspace


@dataclass(frozen=True, slots=True)
class LoadedQueue:
    """Items of a queue that were read.

    Attributes:
        ids: The items as they are listed, of shape (n,); only the first ones when not `complete`.
        complete: Whether these are all.
        starts: The place of the first item of each line, of shape (m,); None for a line an item.
        in_order: The items in the order of the queue, before they were grouped.
        rows: The first items as they are listed.
        kinds: The kinds of the items, those of the first ones where not all were looked at.
        here: How many items of each kind the workspace holds; None when they were not counted yet.
        runs: The run of the agents that is shown of each kind, by kind; None where that was not read.
    """

    ids: Ids
    complete: bool
    starts: Ids | None = None
    in_order: Ids | None = None
    rows: tuple[QueueRow, ...] = ()
    kinds: frozenset[str] = frozenset()
    here: Mapping[str, int] | None = None
    runs: Mapping[str, RunRef] | None = None


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """The progress of a list.

    Attributes:
        judged: How many of its items the rater has judged, by kind.
        listed: How many items it lists, by kind.
    """

    judged: Mapping[str, int]
    listed: Mapping[str, int]


class QueueLoader:
    """Reads orders for one rater.

    Args:
        scope: Whose labels count, and what of others' work is shown.
    """

    def __init__(self, workspace: Workspace, scope: Scope) -> None:
        self._workspace = workspace
        self._scope = scope

    def first(self, query: QueueQuery) -> LoadedQueue:
        """Return the first items of a queue with their lines."""
        return self.begun(self.rows(self._ids(query, LINES).tolist()), query)

    def begun(self, rows: Sequence[QueueRow], query: QueueQuery) -> LoadedQueue:
        """Return the first items of a queue, which were read already."""
        ids = array("q", [row.item_id for row in rows])
        starts = _starts_of(rows) if self.groups(query) else None
        kinds = frozenset(row.kind for row in rows)
        return LoadedQueue(ids, complete=False, starts=starts, rows=tuple(rows), kinds=kinds)

    def all(self, query: QueueQuery) -> LoadedQueue:
        """Return the items of a queue, and how many the workspace holds."""
        from store.queries.queue import items_by_kind

        here, wanted = items_by_kind(self._workspace, self._scope), query.wanted.kind
        kinds = frozenset(here) if wanted is None else frozenset((wanted,))
        ids = self._ids(query)
        found = LoadedQueue(ids, complete=True, in_order=ids, kinds=kinds, here=here, runs=self._runs())
        return self.regrouped(found, query)

    def regrouped(self, found: LoadedQueue, query: QueueQuery) -> LoadedQueue:
        """Return a queue that was read with its items in groups, or one by one, as a query has it."""
        from store.queries.groups import grouped

        assert found.in_order is not None, "only part of it was read"
        ids, starts = found.in_order, None
        if self.groups(query):
            ids, starts = grouped(self._workspace, ids)
        return replace(found, ids=ids, starts=starts)

    def groups(self, query: QueueQuery) -> bool:
        """Return whether a queue is grouped; the items of a study stay in the order that it gave them."""
        return query.grouped and self._scope.may(Shows.SURROUNDINGS)

    def progress(self, ids: Ids, kinds: Collection[str]) -> QueueProgress:
        """Count what is judged of a list, by kind."""
        import numpy

        listed = numpy.asarray(ids)
        judged = numpy.isin(listed, self._ids(QueueQuery(QueueFilter(status="judged"))), assume_unique=True)
        if len(kinds) == 1:
            return QueueProgress(dict.fromkeys(kinds, int(judged.sum())), dict.fromkeys(kinds, len(listed)))
        of_kind = {
            kind: numpy.isin(listed, self._ids(QueueQuery(QueueFilter(kind=kind))), assume_unique=True)
            for kind in kinds
        }
        return QueueProgress(
            {kind: int((judged & found).sum()) for kind, found in of_kind.items()},
            {kind: int(found.sum()) for kind, found in of_kind.items()},
        )

    def _runs(self) -> Mapping[str, RunRef]:
        from store.queries.runs import shown_by_kind

        if not self._scope.may(Shows.LISTS):
            return {}
        with self._workspace.reading() as connection:
            return shown_by_kind(connection, self._scope)

    def choices(self) -> tuple[list[LabelledRun], Mapping[str, RunRef]]:
        """Return the runs with labels, and the one of each kind that is shown where none is chosen."""
        from store.queries.runs import labelled_runs, shown_by_kind

        if not self._scope.may(Shows.LISTS):
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
        query = QueueQuery.of(value, self._scope)
        return query, item if isinstance(item, int) else None

    def keep(self, query: QueueQuery, item_id: int | None) -> None:
        """Keep a queue for the next session, through the write lane."""
        if self._scope.rater_id:
            value = {**query.kept, "item": item_id}
            save_session(self._workspace, self._scope.rater_id, QUEUE_SESSION, value)


def _starts_of(rows: Sequence[QueueRow]) -> array[int]:
    """Return where the first items of a queue begin a line: items of a group have the same title."""
    known = task_kinds()

    def together(row: QueueRow, following: QueueRow) -> bool:
        kind = known.get(row.kind)
        is_grouped = kind is not None and kind.record.group == kind.queue.title
        return is_grouped and (row.kind, row.title) == (following.kind, following.title)

    begins = [place for place, pair in enumerate(pairwise(rows), start=1) if not together(*pair)]
    return array("q", [0, *begins] if rows else [])
