"""Processes that wait for their programs: started beforehand, one program each, replaced behind."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

from agents.sandbox.child import finish
from agents.sandbox.errors import SandboxError
from agents.sandbox.pool import OLDEST

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agents.sandbox.child import StartedChild
    from agents.sandbox.protocol import Limits

# Processes that are started at the same time; what runs is to have the processors first.
_STARTING = 2


class WaitingChildren:
    """Keeps processes with one set of limits ready, in the event loop that it was made in.

    Args:
        size: How many.
        limits: What programs may use; a run with others, but for the wall time, takes none from here.
        start: Starts one; may raise SandboxError.
    """

    def __init__(self, size: int, limits: Limits, start: Callable[[Limits], Awaitable[StartedChild]]) -> None:
        self._size = size
        self._limits = limits
        self._start = start
        self._ready: list[StartedChild] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def fill(self) -> None:
        """Start what is missing, behind the caller; one that fails is not tried again before the next."""
        missing = self._size - len(self._ready) - len(self._tasks)
        for _ in range(min(missing, _STARTING - len(self._tasks))):
            task = asyncio.get_running_loop().create_task(self._start_one())
            self._tasks.add(task)

    def take(self, limits: Limits) -> StartedChild | None:
        """Hand out a process that waits for its program, and have another one started.

        Args:
            limits: What the program may use.

        Returns:
            The process, now the caller's to run; None when none is ready that fits.
        """
        if replace(limits, wall_seconds=self._limits.wall_seconds) != self._limits:
            return None
        found: StartedChild | None = None
        while self._ready and found is None:
            each = self._ready.pop(0)
            if each.waits and monotonic() - each.since < OLDEST:
                found = each
            else:
                self._behind(each.end())
        self.fill()
        return found

    def ready(self) -> int:
        """Return how many wait."""
        return len(self._ready)

    async def close(self) -> None:
        """End all that wait, those too that are being started."""
        self._closed = True
        left, self._ready = self._ready, []
        await finish(asyncio.gather(*(each.end() for each in left), *self._tasks))

    async def _start_one(self) -> None:
        child: StartedChild | None = None
        try:
            with suppress(SandboxError):  # whoever needs one meets the same failure, and tells it
                child = await self._start(self._limits)
                if not self._closed:
                    self._ready.append(child)
                else:
                    await child.end()
        finally:
            task = asyncio.current_task()
            if task is not None:
                self._tasks.discard(task)
        if child is not None and not self._closed:
            self.fill()

    def _behind(self, work: Awaitable[None]) -> None:
        async def awaited() -> None:
            try:
                await work
            finally:
                task = asyncio.current_task()
                if task is not None:
                    self._tasks.discard(task)

        self._tasks.add(asyncio.get_running_loop().create_task(awaited()))
