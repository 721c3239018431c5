"""What stands between a job's turns: open, closed while the job is paused, or the end of the job."""

from __future__ import annotations

import asyncio


class Halted(Exception):
    """The job is stopping: no further turn may begin."""


class Gate:
    """Awaited before every turn, in the job's own loop."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self.stopping = False

    @property
    def paused(self) -> bool:
        """Whether turns wait here."""
        return not self._open.is_set()

    def close(self) -> None:
        """Let every further turn wait."""
        self._open.clear()

    def open(self) -> None:
        """Let waiting turns go on."""
        self._open.set()

    def stop(self) -> None:
        """Let no further turn begin; those that wait are told."""
        self.stopping = True
        self._open.set()

    async def passing(self) -> None:
        """Wait until a turn may begin.

        Raises:
            Halted: None may any more.
        """
        await self._open.wait()
        if self.stopping:
            raise Halted
