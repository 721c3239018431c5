"""Starts a sandbox's process, reads all that it writes, and sees to it that nothing of it is left.

Every sandbox that is a process runs through `run_child`. It uses the event loop's own subprocess
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

    from agents.sandbox.protocol import Limits
    from store.cuts import Cut

# A program that writes this many times what is kept is stopped; up to there it is read and dropped.
FLOOD = 64
# Bytes of the report channel: thousands of tests with the longest message.
CHANNEL_BYTES = 4 * 1024 * 1024
# Seconds that the ends of a killed process's pipes may take to come.
GRACE = 2.0

CHANNEL, STDOUT, STDERR = 0, 1, 2


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


async def run_child(
    command: Callable[[int], Sequence[str]],
    *,
    environment: Mapping[str, str],
    folder: str,
    limits: Limits,
    files: Sequence[int] = (),
) -> Ending:
    """Run one command to its end, or to the limit of wall time or of output.

    The command gets a session of its own. When it ends, is stopped, or the task that waits for it is
    cancelled, every process of that session's group is killed before this returns.

    Args:
        command: Makes the command line from the number of the report channel's file descriptor.
        environment: All of the child's environment.
        folder: The child's working folder.
        limits: Wall time and output are held here, the others by the harness.
        files: Further file descriptors that the child inherits; they stay the caller's to close.

    Returns:
        How it ended. A command that cannot be started is an `Ending` with no code.
    """
    loop = asyncio.get_running_loop()
    started_at, start = datetime.now(UTC), monotonic()
    reading, writing = os.pipe()
    pipe, ours = os.fdopen(reading, "rb", buffering=0), os.fdopen(writing, "wb", buffering=0)
    child, channel = _Child(limits), _Channel()
    transport: asyncio.SubprocessTransport | None = None
    stopped: Literal["", "timeout", "output"] = ""
    trouble = b""
    try:
        await loop.connect_read_pipe(lambda: channel, pipe)
        starting = asyncio.ensure_future(
            loop.subprocess_exec(
                lambda: child,
                *command(writing),
                stdin=asyncio.subprocess.DEVNULL,
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
            trouble = str(error).encode()
        finally:
            if starting.done() and not starting.cancelled() and starting.exception() is None:
                transport, _ = starting.result()
        ours.close()  # from here on only the child holds the writing end
        if transport is not None:
            await asyncio.wait({child.exited}, timeout=limits.wall_seconds)
            if child.flooded:
                stopped = "output"
            elif transport.get_returncode() is None:
                stopped = "timeout"
        seconds = monotonic() - start
    finally:
        ours.close()
        await finish(_end(transport, child, channel))
        pipe.close()
    return Ending(
        code=None if transport is None else transport.get_returncode(),
        stopped=stopped,
        stdout=child.sinks[STDOUT].kept,
        stderr=trouble or child.sinks[STDERR].kept,
        channel=bytes(channel.records),
        dropped=sum(max(sink.total - limits.output_bytes, 0) for sink in child.sinks.values()),
        seconds=seconds,
        started_at=started_at,
        stdout_cut=child.sinks[STDOUT].cut,
        stderr_cut=child.sinks[STDERR].cut,
    )


async def _end(transport: asyncio.SubprocessTransport | None, child: _Child, channel: _Channel) -> None:
    """Kill what is left of a child's process group and wait for the ends of its pipes."""
    if transport is None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(transport.get_pid(), signal.SIGKILL)
    await asyncio.wait({child.closed, channel.closed}, timeout=GRACE)
    transport.close()


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
