"""The output of a program, up to its limit, and the exit of its process."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Literal

from store.cuts import Cut

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from agents.sandbox.protocol import Limits

# A program that writes this many times what it may is stopped; up to there it is read and dropped.
FLOOD = 64
# Bytes of the report channel: thousands of tests with the longest message.
CHANNEL_BYTES = 4 * 1024 * 1024

STDOUT, STDERR = 1, 2

Stopped = Literal["", "timeout", "output"]


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """The exit of a process and its output.

    Attributes:
        code: Exit status; -N after signal N; None when it could not be started or did not end.
        stopped: Why it was killed from here, or empty.
        stdout: The kept part of standard output: beginning and end.
        stderr: The same of standard error; the reason when it could not be started.
        channel: The harness's records.
        dropped: Bytes of stdout and stderr beyond what may be written.
        seconds: Wall time.
        started_at: Aware, in UTC.
        out_of_memory: Whether the sandbox saw the kernel kill some of it for want of memory.
        stdout_cut: The missing part of stdout, its place counted in bytes.
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

    @classmethod
    def not_started(cls, why: str, started_at: datetime, start: float) -> ProcessResult:
        """Say that a process could not be started.

        Args:
            why: The reason.
            started_at: When it was tried, aware, in UTC.
            start: The same moment on the monotonic clock.
        """
        stderr = why.encode("utf-8", "backslashreplace")
        return cls(None, "", b"", stderr, b"", 0, monotonic() - start, started_at)


class OutputBuffer:
    """One output of a program: its beginning and its end are kept, what lies between is counted.

    Args:
        room: How many bytes are kept: half of them from the beginning, the others from the end.
    """

    def __init__(self, room: int) -> None:
        self.total = 0
        """The number of bytes written."""
        self._lines = 0
        self._head, self._tail = bytearray(), bytearray()
        self._room = max(room // 2, 1)

    def write(self, piece: bytes) -> None:
        """Add what was written next."""
        self.skip(len(piece), piece.count(b"\n"))
        free = self._room - len(self._head)
        self._head += piece[:free]
        self._tail += piece[free:]
        if len(self._tail) > 2 * self._room:
            del self._tail[: -self._room]

    def skip(self, count: int, lines: int) -> None:
        """Count bytes that were written and not passed on, and the line ends among them."""
        self.total += count
        self._lines += lines

    @property
    def kept(self) -> bytes:
        """The bytes that were kept, without a mark where some are missing."""
        return bytes(self._head + self._tail[-self._room :])

    @property
    def cut(self) -> Cut | None:
        """The missing part, its place counted in bytes; None for nothing."""
        missing = self.total - len(self.kept)
        return Cut(len(self._head), missing, self._lines - self.kept.count(b"\n")) if missing else None


class OutputCapture:
    """All that one program writes: stdout, stderr, and the harness's records.

    Args:
        limits: How much is kept, and how much may be written.
        on_flood: Called once, when far more was written than may be.
    """

    def __init__(self, limits: Limits, on_flood: Callable[[], None] = lambda: None) -> None:
        room = min(limits.kept_bytes, limits.output_bytes)
        self.flooded = False
        """Whether far more was written than may be."""
        self._outputs = {STDOUT: OutputBuffer(room), STDERR: OutputBuffer(room)}
        self._records = bytearray()
        self._may_write = limits.output_bytes
        self._on_flood = on_flood

    def write(self, descriptor: int, piece: bytes) -> None:
        """Add what was written to stdout or stderr."""
        output = self._outputs[descriptor]
        output.write(piece)
        if output.total > self._may_write * (1 + FLOOD) and not self.flooded:
            self.flooded = True
            self._on_flood()

    def skip(self, descriptor: int, count: int, lines: int) -> None:
        """Count what was written and not passed on."""
        self._outputs[descriptor].skip(count, lines)

    def record(self, piece: bytes) -> None:
        """Add what the harness recorded."""
        self._records += piece[: CHANNEL_BYTES - len(self._records)]

    def result(
        self,
        code: int | None,
        stopped: Stopped,
        seconds: float,
        started_at: datetime,
        *,
        trouble: bytes = b"",
        out_of_memory: bool = False,
    ) -> ProcessResult:
        """Put together how the program ended.

        Args:
            code: Exit status, as `ProcessResult` has it.
            stopped: Why it was killed from here, or empty.
            seconds: Wall time.
            started_at: Aware, in UTC.
            trouble: Why it could not be started.
            out_of_memory: Whether the kernel killed some of it for want of memory.
        """
        stdout, stderr = self._outputs[STDOUT], self._outputs[STDERR]
        return ProcessResult(
            code=code,
            stopped=stopped,
            stdout=stdout.kept,
            stderr=stderr.kept or trouble,
            channel=bytes(self._records),
            dropped=sum(max(output.total - self._may_write, 0) for output in (stdout, stderr)),
            seconds=seconds,
            started_at=started_at,
            out_of_memory=out_of_memory,
            stdout_cut=stdout.cut,
            stderr_cut=stderr.cut,
        )
