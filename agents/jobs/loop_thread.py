"""A thread with an asyncio loop of its own, for work in the background."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines in one thread, which begins with the first of them; any thread may submit."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Event | None = None
        self._at_work: set[asyncio.Task[Any]] = set()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop, at work."""
        with self._starting:
            if self._loop is None:
                self._start()
            assert self._loop is not None
            return self._loop

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin a piece of work; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(self._listed(work), self.loop)

    async def _listed(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        self._at_work.add(task)
        try:
            return await work
        finally:
            self._at_work.discard(task)

    def close(self, seconds: float | None = None) -> None:
        """Cancel what is still at work, wait until that has ended, and end the thread.

        Args:
            seconds: How long it is waited for; None for as long as it takes.
        """
        if self._thread is None or self._loop is None or self._closing is None:
            return
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(seconds)

    def _start(self) -> None:
        ready = threading.Event()

        async def serve() -> None:
            self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
            ready.set()
            await self._closing.wait()
            # What was submitted, not what it awaits: `asyncio.run` would also cancel the start of a child,
            # whose end asyncio then never hears of.
            for task in (at_work := tuple(self._at_work)):
                task.cancel()
            await asyncio.gather(*at_work, return_exceptions=True)

        # What is still at work when `serve` ends is cancelled by `asyncio.run`, which waits for it.
        self._thread = threading.Thread(target=lambda: asyncio.run(serve()), name=self._name, daemon=True)
        self._thread.start()
        ready.wait()
