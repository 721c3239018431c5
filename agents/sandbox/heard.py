"""What a run's process writes, read as it comes and kept as far as it may, and how the run ended."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agents.sandbox.kept import HeadAndTail

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from agents.sandbox.protocol import Limits
    from store.cuts import Cut

# A program that writes this many times what is kept is stopped; up to there it is read and dropped.
FLOOD = 64
# Bytes of the report channel: thousands of tests with the longest message.
CHANNEL_BYTES = 4 * 1024 * 1024

STDOUT, STDERR = 1, 2

Stopped = Literal["", "timeout", "output"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run's process ended, and what it wrote.

    Attributes:
        code: Exit status; -N after signal N; None when it could not be started or did not end.
        stopped: Why it was killed from here, or empty.
        stdout: What is kept of standard output: beginning and end.
        stderr: The same of standard error; the reason when it could not be started.
        channel: The harness's records.
        dropped: Bytes of stdout and stderr beyond what may be written.
        seconds: Wall time.
        started_at: Aware, in UTC.
        out_of_memory: Whether the sandbox saw the kernel kill some of it for want of memory.
        stdout_cut: What is missing in stdout, its place counted in bytes.
        stderr_cut: The same of stderr.
    """

    code: int | None
    stopped: Stopped
    stdout: bytes
    stderr: bytes
    channel: bytes
    dropped: int
    seconds: float
    started_at: datetime
    out_of_memory: bool = False
    stdout_cut: Cut | None = None
    stderr_cut: Cut | None = None


class Heard:
    """All that one process and those below it write: stdout, stderr, the harness's records.

    Attributes:
        exited: Set when the process has ended, and when it must be ended since it floods.
        flooded: Whether it wrote far more than it may.
    """

    def __init__(self, limits: Limits) -> None:
        room = min(limits.kept_bytes, limits.output_bytes)
        self.exited: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.flooded = False
        self._sinks = {STDOUT: HeadAndTail(room), STDERR: HeadAndTail(room)}
        self._records = bytearray()
        self._may_write = limits.output_bytes

    def output(self, descriptor: int, piece: bytes) -> None:
        """Take what was written to stdout or stderr."""
        sink = self._sinks[descriptor]
        sink.take(piece)
        if sink.total > self._may_write * (1 + FLOOD) and not self.flooded:
            self.flooded = True
            settle(self.exited)

    def record(self, piece: bytes) -> None:
        """Take what the harness recorded."""
        self._records += piece[: CHANNEL_BYTES - len(self._records)]

    def ending(
        self, code: int | None, stopped: Stopped, seconds: float, started_at: datetime, trouble: bytes = b""
    ) -> Ending:
        """Put together how it ended.

        Args:
            code: Exit status, as `Ending` has it.
            stopped: Why it was killed from here, or empty.
            seconds: Wall time.
            started_at: Aware, in UTC.
            trouble: Why it could not be started.
        """
        stdout, stderr = self._sinks[STDOUT], self._sinks[STDERR]
        return Ending(
            code=code,
            stopped=stopped,
            stdout=stdout.kept,
            stderr=trouble or stderr.kept,
            channel=bytes(self._records),
            dropped=sum(max(sink.total - self._may_write, 0) for sink in (stdout, stderr)),
            seconds=seconds,
            started_at=started_at,
            stdout_cut=stdout.cut,
            stderr_cut=stderr.cut,
        )


class Pipe(asyncio.Protocol):
    """The reading end of a pipe, passed on piece by piece."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._take = take

    def data_received(self, data: bytes) -> None:
        """Pass on what came."""
        self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Say that nothing more will come."""
        settle(self.closed)


def settle(future: asyncio.Future[None]) -> None:
    """Say that what is waited for has come, however often."""
    if not future.done():
        future.set_result(None)
