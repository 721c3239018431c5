"""Containers that wait for their programs: started beforehand, one program each, replaced behind.

Most of the time of a container goes into its making, its start and its removal. None of that need be waited
for: a pool keeps as many started as a job runs programs at the same time, hands each out once, and starts
another in its place. An engine's work would slow down what runs, so it is put off to a moment when nothing
does, unless few are left. What waits is on the same leash as what runs: it ends when the workbench does.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING

from agents.sandbox.docker.containers import bounds
from agents.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agents.sandbox.docker.container_run import ProgramContainer
    from agents.sandbox.protocol import Limits

# Seconds that a container may have waited: what it was made of may have changed since.
OLDEST = 600.0
# Containers that are started at the same time; more only wait for each other in the engine.
_STARTERS = 4
# Containers of four that are handed out before others are started beside what runs.
_FEW = 4
# Seconds without a program after which no other follows closely, and for which work is put off at most.
_QUIET, _LONGEST_REST = 0.1, 1.0


class ContainerPool:
    """Keeps containers of one image and with one set of limits ready.

    Args:
        size: How many.
        limits: The limits of programs; a run with other limits gets no container of this pool.
        start: Makes and starts one; may raise SandboxError.
        discard: Removes one, behind whoever calls it.
    """

    def __init__(
        self,
        size: int,
        limits: Limits,
        start: Callable[[], ProgramContainer],
        discard: Callable[[ProgramContainer], None],
    ) -> None:
        self._size = size
        self._bounds = bounds(limits)
        self._start = start
        self._discard = discard
        self._lock = threading.Condition()
        self._running = 0
        self._ended = 0.0
        self._ready: list[ProgramContainer] = []
        self._starting = 0
        self._closed = False
        self._starters = ThreadPoolExecutor(min(size, _STARTERS), "container-starter")

    def fill(self) -> None:
        """Start the missing containers in the background.

        One that fails is not tried again before the next call: an engine that fails is not asked without end.
        """
        with self._lock:
            if self._closed:
                return
            missing = self._size - len(self._ready) - self._starting
            self._starting += max(missing, 0)
            for _ in range(missing):
                self._starters.submit(self._start_one)

    def take(self, image: str, limits: Limits) -> ProgramContainer | None:
        """Return a waiting container of an image, by its id, and start another one.

        Returns:
            The container, now the caller's to remove; None when none is ready that fits.
        """
        if bounds(limits) != self._bounds:
            return None
        found: ProgramContainer | None = None
        stale = []
        with self._lock:
            while self._ready and found is None:
                each = self._ready.pop(0)
                young = monotonic() - each.since < OLDEST
                if each.image["Id"] == image and young and each.is_silent():
                    found = each
                else:
                    stale.append(each)
            self._lock.notify_all()
        for each in stale:
            self._discard(each)
        self.fill()
        return found

    @contextmanager
    def running(self) -> Iterator[None]:
        """Note that a program runs."""
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                self._ended = monotonic()
                self._lock.notify_all()

    def rest(self) -> None:
        """Put off work of the engine until nothing runs, or few containers are left, but not for long."""
        until = monotonic() + _LONGEST_REST
        with self._lock:
            while not self._closed and len(self._ready) > self._size // _FEW:
                now = monotonic()
                left = (until if self._running else min(self._ended + _QUIET, until)) - now
                if left <= 0:
                    return
                self._lock.wait(left)

    def ready(self) -> int:
        """Return how many wait."""
        with self._lock:
            return len(self._ready)

    def close(self) -> None:
        """Remove all waiting containers, those that are being started included; returns when none is left."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
            left, self._ready = self._ready, []
        for each in left:
            self._discard(each)
        self._starters.shutdown(wait=True, cancel_futures=True)

    def _start_one(self) -> None:
        container: ProgramContainer | None = None
        self.rest()
        try:
            with suppress(SandboxError):  # whoever needs one meets and reports the same failure
                container = self._start()
        finally:
            with self._lock:
                self._starting -= 1
                kept = container is not None and not self._closed
                if container is not None and kept:
                    self._ready.append(container)
        if container is not None and not kept:
            self._discard(container)
