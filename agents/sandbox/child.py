"""Starts a sandbox's process, reads all that it writes, and sees to it that nothing of it is left.

Every sandbox that is a process runs through `StartedChild`. It uses the event loop's own subprocess
protocol, since `Process.wait()` of asyncio waits for the pipes too on some versions of Python: a
background process that holds stdout would look like a test that still runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Literal

from agents.sandbox.kept import HeadAndTail

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from io import FileIO

    from agents.sandbox.protocol import Limits
    from store.cuts import Cut

# A program that writes this many times what is kept is stopped; up to there it is read and dropped.
FLOOD = 64
# Bytes of the report channel: thousands of tests with the longest message.
CHANNEL_BYTES = 4 * 1024 * 1024
# Seconds that the ends of a killed process's pipes may take to come.
GRACE = 2.0

STDOUT, STDERR = 1, 2


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child process ended, and what it wrote.

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
    stopped: Literal["", "timeout", "output"]
    stdout: bytes
    stderr: bytes
    channel: bytes
    dropped: int
    seconds: float
    started_at: datetime
    out_of_memory: bool = False
    stdout_cut: Cut | None = None
    stderr_cut: Cut | None = None


class _Child(asyncio.SubprocessProtocol):
    """Collects what a child writes to stdout and stderr, and when it ends."""

    def __init__(self, limits: Limits) -> None:
        loop = asyncio.get_running_loop()
        room = min(limits.kept_bytes, limits.output_bytes)
        self.sinks = {STDOUT: HeadAndTail(room), STDERR: HeadAndTail(room)}
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.flooded = False
        self._most = limits.output_bytes * (1 + FLOOD)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        sink = self.sinks[fd]
        sink.take(data)
        if sink.total > self._most and not self.flooded:
            self.flooded = True
            _settle(self.exited)

    def process_exited(self) -> None:
        _settle(self.exited)

    def connection_lost(self, exc: Exception | None) -> None:
        _settle(self.exited)
        _settle(self.closed)


class _Channel(asyncio.Protocol):
    """Collects the harness's records."""

    def __init__(self) -> None:
        self.records = bytearray()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self.records += data[: CHANNEL_BYTES - len(self.records)]

    def connection_lost(self, exc: Exception | None) -> None:
        _settle(self.closed)


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class StartedChild:
    """A process that was started, and all that it writes from then on."""

    def __init__(self, limits: Limits) -> None:
        self.channel = -1
        """The report channel's file descriptor, as the process knows it."""
        self.since = monotonic()
        self._limits = limits
        self._child, self._records = _Child(limits), _Channel()
        self._transport: asyncio.SubprocessTransport | None = None
        self._pipe: FileIO | None = None
        self._reading: asyncio.ReadTransport | None = None
        self._trouble = b""

    @classmethod
    async def start(
        cls,
        command: Callable[[int], Sequence[str]],
        *,
        environment: Mapping[str, str],
        folder: str,
        limits: Limits,
        files: Sequence[int] = (),
        listens: bool = False,
    ) -> StartedChild:
        """Start a command, with a session of its own.

        Args:
            command: Makes the command line from the number of the report channel's file descriptor.
            environment: All of the child's environment.
            folder: The child's working folder.
            limits: Output and time are held here, the others by the harness.
            files: Further file descriptors that the child inherits; they stay the caller's to close.
            listens: Whether it is told on stdin what to do; otherwise there is nothing on it.

        Returns:
            The child, the caller's to `end`. Of one that could not be started `run` says so.
        """
        loop = asyncio.get_running_loop()
        child = cls(limits)
        reading, writing = os.pipe()
        child.channel = writing
        pipe, ours = os.fdopen(reading, "rb", buffering=0), os.fdopen(writing, "wb", buffering=0)
        child._pipe = pipe
        try:
            child._reading, _ = await loop.connect_read_pipe(lambda: child._records, pipe)
            starting = asyncio.ensure_future(
                loop.subprocess_exec(
                    lambda: child._child,
                    *command(writing),
                    stdin=asyncio.subprocess.PIPE if listens else asyncio.subprocess.DEVNULL,
                    pass_fds=(writing, *files),
                    start_new_session=True,
                    env=dict(environment),
                    cwd=folder,
                )
            )
            try:
                # Cancelled while it connects the pipes, asyncio may wait for the child's end for ever.
                await finish(starting)
            except OSError as error:
                child._trouble = str(error).encode()
            finally:
                if starting.done() and not starting.cancelled() and starting.exception() is None:
                    child._transport, _ = starting.result()
        except BaseException:
            ours.close()
            await finish(child.end())
            raise
        finally:
            ours.close()  # from here on only the child holds the writing end
        return child

    @property
    def waits(self) -> bool:
        """Whether it was started, and has neither ended nor said anything."""
        return (
            self._transport is not None
            and not self._child.exited.done()
            and not self._records.records
            and not any(sink.total for sink in self._child.sinks.values())
        )

    async def run(self, wall_seconds: float, told: bytes = b"") -> Ending:
        """Wait for its end, or for the limit of wall time or of output, and see to it that nothing is left.

        When it ends, is stopped, or the task that waits for it is cancelled, every process of its session's
        group is killed before this returns.

        Args:
            wall_seconds: Seconds that it may take from now on.
            told: What it reads on stdin, if it listens.

        Returns:
            How it ended; a command that could not be started has no code.
        """
        started_at, start = datetime.now(UTC), monotonic()
        child, transport = self._child, self._transport
        stopped: Literal["", "timeout", "output"] = ""
        try:
            if transport is not None:
                if told:
                    transport.get_pipe_transport(0).write(told)  # type: ignore[union-attr]
                await asyncio.wait({child.exited}, timeout=wall_seconds)
                if child.flooded:
                    stopped = "output"
                elif transport.get_returncode() is None:
                    stopped = "timeout"
            seconds = monotonic() - start
        finally:
            await finish(self.end())
        room = self._limits.output_bytes
        return Ending(
            code=None if transport is None else transport.get_returncode(),
            stopped=stopped,
            stdout=child.sinks[STDOUT].kept,
            stderr=self._trouble or child.sinks[STDERR].kept,
            channel=bytes(self._records.records),
            dropped=sum(max(sink.total - room, 0) for sink in child.sinks.values()),
            seconds=seconds,
            started_at=started_at,
            stdout_cut=child.sinks[STDOUT].cut,
            stderr_cut=child.sinks[STDERR].cut,
        )

    async def end(self) -> None:
        """Kill what is left of its process group and wait for the ends of its pipes."""
        if self._transport is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), signal.SIGKILL)
            await asyncio.wait({self._child.closed, self._records.closed}, timeout=GRACE)
            self._transport.close()
            self._transport = None
        if self._reading is not None:
            self._reading.close()  # which closes the pipe only later
        if self._pipe is not None:
            self._pipe.close()


async def run_child(
    command: Callable[[int], Sequence[str]],
    *,
    environment: Mapping[str, str],
    folder: str,
    limits: Limits,
    files: Sequence[int] = (),
) -> Ending:
    """Run one command to its end, or to the limit of wall time or of output.

    Args:
        command: Makes the command line from the number of the report channel's file descriptor.
        environment: All of the child's environment.
        folder: The child's working folder.
        limits: Wall time and output are held here, the others by the harness.
        files: Further file descriptors that the child inherits; they stay the caller's to close.

    Returns:
        How it ended. A command that cannot be started is an `Ending` with no code.
    """
    child = await StartedChild.start(
        command, environment=environment, folder=folder, limits=limits, files=files
    )
    return await child.run(limits.wall_seconds)


async def finish(work: Awaitable[object]) -> None:
    """Await something to its end even if the task is cancelled meanwhile, then let the cancellation go on.

    Args:
        work: What must not be left half done; what it raises is raised, unless the task was cancelled.

    Raises:
        asyncio.CancelledError: The task was cancelled while it waited.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()
