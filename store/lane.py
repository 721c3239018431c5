"""The single write lane of a workspace: one thread, in which a judgment overtakes batches."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

T = TypeVar("T")
Write = Callable[[Connection], Any]

URGENT, BATCH = 0, 1


@dataclass(order=True, slots=True)
class _Pending:
    priority: int
    number: int
    write: Write = field(compare=False)
    future: Future[Any] = field(compare=False)


class WriteLane:
    """Runs writes one after another in one thread, each result on disk before its future is done.

    Urgent writes (judgments) have a transaction of their own and go first. Batch writes (agents' steps)
    share a transaction until `hold_seconds` have passed or an urgent one waits; when one of them fails,
    all of them are rolled back and run again one at a time, so that only the faulty one fails. A write
    may therefore run twice and must have no effect outside its connection. A write whose future is
    cancelled before its turn is left out; once its turn has come it cannot be cancelled.
    """

    def __init__(self, engine: Engine, *, hold_seconds: float = 0.05) -> None:
        self._engine = engine
        self._hold_seconds = hold_seconds
        self._pending: list[_Pending] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._closing = False
        self._running = 0
        self._thread = threading.Thread(target=self._work, name="write-lane", daemon=True)
        self._thread.start()

    def submit(self, write: Callable[[Connection], T], *, urgent: bool = False) -> Future[T]:
        """Queue a write.

        Args:
            write: Called with a connection in an open transaction, in the lane's thread.
            urgent: Whether it goes before every batch write; for what a person waits for.

        Returns:
            A future done when the transaction is committed, or failed when it is rolled back.

        Raises:
            RuntimeError: The lane is closed.
        """
        future: Future[T] = Future()
        with self._changed:
            if self._closing:
                raise RuntimeError("the write lane is closed")
            pending = _Pending(URGENT if urgent else BATCH, next(self._numbers), write, future)
            heapq.heappush(self._pending, pending)
            self._changed.notify_all()
        return future

    @property
    def waiting(self) -> int:
        """How many writes are queued or being written."""
        with self._changed:
            return len(self._pending) + self._running

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until every queued write is done; return whether that came about in `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._pending and not self._running, timeout)

    def close(self) -> None:
        """Write what is queued, then stop; nothing can be submitted afterwards."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def _work(self) -> None:
        with self._engine.connect() as connection:
            while (pending := self._take()) is not None:
                if pending.priority == URGENT:
                    self._write_alone(connection, pending)
                else:
                    self._write_batch(connection, pending)
                with self._changed:
                    self._running = 0
                    self._changed.notify_all()

    def _take(self) -> _Pending | None:
        """Wait for the next write; None when the lane is closing and empty."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._pending or self._closing)
                if not self._pending:
                    return None
                pending = heapq.heappop(self._pending)
                if pending.future.set_running_or_notify_cancel():
                    self._running = 1
                    return pending
                self._changed.notify_all()

    def _take_another_batch(self, deadline: float) -> _Pending | None:
        """Return one more batch write for the open transaction, unless time is up or a judgment waits."""
        with self._changed:
            while self._pending and self._pending[0].priority == BATCH and time.monotonic() < deadline:
                pending = heapq.heappop(self._pending)
                if pending.future.set_running_or_notify_cancel():
                    self._running += 1
                    return pending
            return None

    def _write_alone(self, connection: Connection, pending: _Pending) -> None:
        try:
            with connection.begin():
                result = pending.write(connection)
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the one who submitted it
            pending.future.set_exception(error)
        else:
            pending.future.set_result(result)

    def _write_batch(self, connection: Connection, first: _Pending) -> None:
        deadline = time.monotonic() + self._hold_seconds
        taken: list[_Pending] = []
        results: list[Any] = []
        following: _Pending | None = first
        try:
            with connection.begin():
                while following is not None:
                    taken.append(following)
                    results.append(following.write(connection))
                    following = self._take_another_batch(deadline)
        except Exception as error:  # noqa: BLE001 - one faulty write must not fail its neighbours
            if len(taken) == 1:
                taken[0].future.set_exception(error)
            else:
                for pending in taken:
                    self._write_alone(connection, pending)
        else:
            for pending, result in zip(taken, results, strict=True):
                pending.future.set_result(result)
