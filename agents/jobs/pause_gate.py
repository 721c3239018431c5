"""Lets the workers of a job wait: while it is paused, and while its budget of items is in use."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any


class Halted(Exception):
    """The job is stopping: no further turn may begin."""


class PauseGate:
    """Awaited before every turn, in the jobs' loop, or passed by a thread beside it."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open_for_threads = threading.Event()
        self._stop = asyncio.Event()
        self.stopping = False
        self.open()

    @property
    def paused(self) -> bool:
        """Whether turns wait here."""
        return not self._open.is_set()

    @property
    def is_open(self) -> bool:
        """Whether a turn may begin."""
        return self._open.is_set() and not self.stopping

    def close(self) -> None:
        """Let every further turn wait."""
        self._open.clear()
        self._open_for_threads.clear()

    def open(self) -> None:
        """Let waiting turns go on."""
        self._open.set()
        self._open_for_threads.set()

    def stop(self) -> None:
        """Let no further turn begin; those that wait raise `Halted`."""
        self.stopping = True
        self._stop.set()
        self.open()

    def pass_by(self) -> None:
        """Wait, in a thread, until it may go on.

        Raises:
            Halted: It may not any more.
        """
        self._open_for_threads.wait()
        if self.stopping:
            raise Halted

    async def passing(self) -> None:
        """Wait until a turn may begin.

        Raises:
            Halted: None may any more.
        """
        await self._open.wait()
        if self.stopping:
            raise Halted

    async def until(self, done: asyncio.Future[Any]) -> None:
        """Wait for what others do.

        Raises:
            Halted: It was stopped before that was done.
        """
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((done, stop), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
        if not done.done():
            raise Halted


class IdleWorkers:
    """Lets workers wait that may begin no further item, until the others have ended theirs.

    Args:
        workers: How many there are.
        all_wait: Called when none of them is at work any more, and some wait here.
    """

    def __init__(self, workers: int, all_wait: Callable[[], None]) -> None:
        self._workers = workers
        self._all_wait = all_wait
        self._waiting = 0
        self._again = asyncio.Event()

    async def wait(self) -> None:
        """Wait until another item may be started."""
        self._waiting += 1
        try:
            # What is called then may open at once, for this one too.
            asyncio.get_running_loop().call_soon(self._look)
            await self._again.wait()
        finally:
            self._waiting -= 1

    def leave(self) -> None:
        """A worker has ended."""
        self._workers -= 1
        self._look()

    def open(self) -> None:
        """Wake all who wait."""
        self._again.set()
        self._again.clear()

    def _look(self) -> None:
        if self._waiting and self._waiting == self._workers:
            self._all_wait()
