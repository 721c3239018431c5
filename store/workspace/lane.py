"""The single write lane of a workspace: one thread, in which a judgment overtakes batches."""

from __future__ import annotations

import atexit
import heapq
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from sqlalchemy import Connection

_log = logging.getLogger(__name__)

T = TypeVar("T")
Write = Callable[["Connection"], Any]

# In this order: writes that a person waits for, those of agents, a wait for both, the end of the lane.
# The last is none of these: it only has the lane look up.
URGENT, BATCH, _BARRIER, _END, _WAKE = 0, 1, 2, 3, 4

KEYS_WAIT_SECONDS = 0.25
"""For how long at most other work waits for keys at a time: a key that is held down does not stop it."""


@dataclass(order=True, slots=True)
class _Pending:
    priority: int
    number: int
    write: Write | None = field(compare=False)
    future: Future[Any] = field(compare=False)
    alone: bool = field(default=False, compare=False)


class WriteLane:
    """Runs writes one after another in one thread, each result on disk before its future is done.

    Urgent writes (judgments) have a transaction of their own and go first. Batch writes (agents' steps)
    share a transaction until `hold_seconds` have passed or an urgent one waits; when one of them fails,
    all of them are rolled back and run again one at a time, so that only the faulty one fails. A write
    may therefore run twice and must have no effect outside its connection.

    Batch writes that urgent ones without a pause have overtaken for `patience_seconds` get a turn, which
    lasts `hold_seconds` also while urgent ones wait: a script that judges cannot keep the agents waiting.

    What was submitted is written, whatever becomes of the one who waits for it: its future cannot be
    cancelled, and an interpreter that ends waits for it. The queue between the threads is one that a
    signal handler cannot leave locked by raising in the middle of it.

    Args:
        connect: Gives the lane its connection when there is something to write, and another one after a
            failure.
        hold_seconds: How long a batch takes up further writes; its last one and the commit come on top.
        patience_seconds: How long urgent writes may overtake batches without a pause.
        before: Called before every transaction; what it raises is what the transaction fails with.
        after_failure: Told of every error a transaction failed with, before it is reported.
        between: Called after every transaction, when nothing urgent waits; answers whether connections
            made before are of no use any more.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        *,
        hold_seconds: float = 0.05,
        patience_seconds: float = 0.25,
        before: Callable[[], object] = lambda: None,
        after_failure: Callable[[BaseException], object] = lambda _: None,
        between: Callable[[], bool] = lambda: False,
    ) -> None:
        self._connect = connect
        self._hold_seconds = hold_seconds
        self._patience_seconds = patience_seconds
        self._before = before
        self._after_failure = after_failure
        self._between = between
        self._arrivals: SimpleQueue[_Pending] = SimpleQueue()
        # What follows is touched by the lane's thread alone.
        self._urgent: deque[_Pending] = deque()
        self._ready: list[_Pending] = []
        self._overtaken_since: float | None = None
        self._in_turn = False
        self._still_until = self._held_until = 0.0
        self._connection: Connection | None = None
        self._gate = threading.Lock()
        self._numbers = itertools.count()
        self._closing = False
        self._submitted = self._settled = 0
        self._thread = threading.Thread(target=self._work, name="write-lane", daemon=True)
        self._thread.start()
        atexit.register(self.close)

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
        with self._gate:
            if self._closing:
                raise RuntimeError("the write lane is closed")
            self._submitted += 1
            return self._put(URGENT if urgent else BATCH, write)

    def give_way(self, seconds: float) -> None:
        """Begin no batch for a moment: a key is being handled, and shares the interpreter with the lane.

        Args:
            seconds: How long, from now; a batch that was kept waiting long enough goes nevertheless.
        """
        self._still_until = time.monotonic() + seconds

    def wait_for_keys(self) -> None:
        """Sleep while a key is being handled, for at most a quarter of a second.

        For Python code that works long beside the screens, which would share the interpreter with the key.
        """
        latest = time.monotonic() + KEYS_WAIT_SECONDS
        while (left := min(self._still_until, latest) - time.monotonic()) > 0:
            time.sleep(left)

    def hold(self, seconds: float) -> None:
        """Begin nothing for a moment, not even urgent writes: the screen is about to be painted.

        Args:
            seconds: How long, from now, unless `go_on` comes before; a hold is not made longer by another.
        """
        if (now := time.monotonic()) >= self._held_until:
            self._held_until = now + seconds

    def go_on(self) -> None:
        """End the pause of `hold`."""
        if self._held_until:
            self._held_until = 0.0
            self._put(_WAKE, None)

    @property
    def waiting(self) -> int:
        """How many writes are queued or being written."""
        return self._submitted - self._settled

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until every queued write is done; return whether that came about in `timeout` seconds."""
        with self._gate:
            barrier = None if self._closing else self._put(_BARRIER, None)
        if barrier is None:
            self._thread.join(timeout)
            return not self._thread.is_alive()
        try:
            barrier.result(timeout)
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Finish queued writes, then stop; nothing can be submitted afterwards. Closing twice is harmless."""
        with self._gate:
            if not self._closing:
                self._closing = True
                self._put(_END, None)
        self._thread.join()
        atexit.unregister(self.close)

    def _put(self, priority: int, write: Write | None) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        self._arrivals.put(_Pending(priority, next(self._numbers), write, future))
        return future

    def _work(self) -> None:
        while (pending := self._take()).priority != _END:
            if pending.priority == _BARRIER:
                pending.future.set_result(None)
                continue
            self._transact(pending)
            self._arrive()
            if not self._urgent and self._call(self._between):
                self._let_go()
        self._let_go()
        pending.future.set_result(None)

    def _take(self) -> _Pending:
        """Wait for the next write."""
        self._arrive()
        while True:
            if not (self._urgent or self._ready):
                self._sort_in(self._arrivals.get())
                self._arrive()
            now, was_waiting = time.monotonic(), self._overtaken_since is not None
            patience = self._patience(now)
            self._in_turn = was_waiting and patience is not None and patience <= 0
            still = self._held_until - now
            if still <= 0:
                if self._urgent and not self._in_turn:
                    return self._urgent.popleft()
                still = min(self._still_until - now, patience or 0.0)
            if still <= 0:
                if not self._ready:
                    continue
                self._overtaken_since = None
                return heapq.heappop(self._ready)
            with suppress(Empty):
                self._sort_in(self._arrivals.get(timeout=still))
                self._arrive()

    def _patience(self, now: float) -> float | None:
        """Return for how many seconds a waiting batch still waits, None when none is."""
        if not self._ready or self._ready[0].priority != BATCH:
            return None
        if self._overtaken_since is None:
            if not self._urgent and now >= self._still_until:
                return None
            self._overtaken_since = now
        return self._overtaken_since + self._patience_seconds - now

    def _arrive(self) -> None:
        """Take the writes that were submitted meanwhile."""
        with suppress(Empty):
            while True:
                self._sort_in(self._arrivals.get_nowait())

    def _sort_in(self, pending: _Pending) -> None:
        if pending.priority == URGENT:
            self._urgent.append(pending)
        elif pending.priority != _WAKE:
            heapq.heappush(self._ready, pending)

    def _transact(self, first: _Pending) -> None:
        """Write one urgent write, or a batch, and settle their futures."""
        deadline = time.monotonic() + self._hold_seconds
        taken: list[_Pending] = []
        results: list[Any] = []
        following: _Pending | None = first
        try:
            self._before()
            if self._connection is None:
                self._connection = self._connect()
            with self._connection.begin():
                while following is not None:
                    taken.append(following)
                    assert following.write is not None
                    results.append(following.write(self._connection))
                    following = self._another(following, deadline)
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the one who submitted it
            self._let_go()
            self._call(self._after_failure, error)
            if len(taken) > 1:
                for pending in taken:
                    pending.alone = True
                    heapq.heappush(self._ready, pending)
            else:
                self._settled += 1
                first.future.set_exception(error)
        else:
            self._settled += len(taken)
            for pending, result in zip(taken, results, strict=True):
                pending.future.set_result(result)

    def _another(self, before: _Pending, deadline: float) -> _Pending | None:
        """Return one more batch write for the open transaction, unless time is up or a judgment waits."""
        now = time.monotonic()
        if before.priority == URGENT or before.alone or now >= deadline:
            return None
        self._arrive()
        if (self._urgent or now < self._still_until) and not self._in_turn:
            return None
        if not self._ready or self._ready[0].priority != BATCH or self._ready[0].alone:
            return None
        return heapq.heappop(self._ready)

    def _call(self, hook: Callable[..., object], *errors: BaseException) -> object:
        try:
            return hook(*errors)
        except Exception:  # noqa: BLE001 - a mistake in keeping house must not end the lane
            _log.exception("after a write")
            return None

    def _let_go(self) -> None:
        """Give up the connection: its state after a failure is unknown."""
        connection, self._connection = self._connection, None
        if connection is not None:
            from sqlalchemy.exc import SQLAlchemyError

            with suppress(SQLAlchemyError):
                connection.invalidate()
            with suppress(SQLAlchemyError):
                connection.close()
