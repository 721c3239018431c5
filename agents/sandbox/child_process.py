"""Starts a sandbox's process, reads its output, and ends all of its processes.

Every sandbox that is a process runs through `ChildProcess`. It uses the event loop's own subprocess
protocol, since `Process.wait()` of asyncio waits for the pipes too on some versions of Python: a
background process that holds stdout would look like a test that still runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING

from agents.sandbox.output_capture import OutputCapture

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from io import FileIO

    from agents.sandbox.output_capture import ProcessResult, Stopped
    from agents.sandbox.protocol import Limits

# Seconds that the ends of a killed process's pipes may take to come.
GRACE = 2.0


def settle(future: asyncio.Future[None]) -> None:
    """Set a future's result, unless it is set."""
    if not future.done():
        future.set_result(None)


class PipeReader(asyncio.Protocol):
    """The reading end of a pipe, passed on piece by piece."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._take = take

    def data_received(self, data: bytes) -> None:
        """Pass on the data."""
        self._take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end of the data."""
        settle(self.closed)


class _ChildReader(asyncio.SubprocessProtocol):
    """Passes on what a child writes to stdout and stderr, and when it ends or floods."""

    def __init__(self, limits: Limits) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self.capture = OutputCapture(limits, lambda: settle(self.exited))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.capture.write(fd, data)

    def process_exited(self) -> None:
        settle(self.exited)

    def connection_lost(self, exc: Exception | None) -> None:
        settle(self.exited)
        settle(self.closed)


class ChildProcess:
    """A process that was started, and all that it writes from then on."""

    def __init__(self, limits: Limits) -> None:
        self.channel = -1
        """The report channel's file descriptor, as the process knows it."""
        self._child = _ChildReader(limits)
        self._records = PipeReader(self._child.capture.record)
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
    ) -> ChildProcess:
        """Start a command, with a session of its own.

        Args:
            command: Makes the command line from the number of the report channel's file descriptor.
            environment: All of the child's environment.
            folder: The child's working folder.
            limits: Output and time are held here, the others by the harness.
            files: Further file descriptors that the child inherits; they stay the caller's to close.
            listens: Whether it reads input on stdin.

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

    async def run(self, wall_seconds: float, stdin: bytes = b"") -> ProcessResult:
        """Wait for its end, or for the limit of wall time or of output, and see to it that nothing is left.

        When it ends, is stopped, or the task that waits for it is cancelled, every process of its session's
        group is killed before this returns.

        Args:
            wall_seconds: Seconds that it may take from now on.
            stdin: Its input.

        Returns:
            How it ended; a command that could not be started has no code.
        """
        started_at, start = datetime.now(UTC), monotonic()
        capture, transport = self._child.capture, self._transport
        stopped: Stopped = ""
        try:
            if transport is not None:
                if stdin:
                    transport.get_pipe_transport(0).write(stdin)  # type: ignore[union-attr]
                await asyncio.wait({self._child.exited}, timeout=wall_seconds)
                if capture.flooded:
                    stopped = "output"
                elif transport.get_returncode() is None:
                    stopped = "timeout"
            seconds = monotonic() - start
        finally:
            await finish(self.end())
        code = None if transport is None else transport.get_returncode()
        return capture.result(code, stopped, seconds, started_at, trouble=self._trouble)

    async def end(self) -> None:
        """Kill what is left of its process group and wait for the ends of its pipes."""
        transport, self._transport = self._transport, None
        if transport is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(transport.get_pid(), signal.SIGKILL)
            await asyncio.wait({self._child.closed, self._records.closed}, timeout=GRACE)
            transport.close()
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
) -> ProcessResult:
    """Run one command to its end, or to the limit of wall time or of output.

    Args:
        command: Makes the command line from the number of the report channel's file descriptor.
        environment: All of the child's environment.
        folder: The child's working folder.
        limits: Wall time and output are held here, the others by the harness.
        files: Further file descriptors that the child inherits; they stay the caller's to close.

    Returns:
        How it ended. A command that cannot be started is a result with no code.
    """
    child = await ChildProcess.start(
        command, environment=environment, folder=folder, limits=limits, files=files
    )
    return await child.run(limits.wall_seconds)


async def finish(work: Awaitable[object]) -> None:
    """Await something to its end even if the task is cancelled meanwhile, then let the cancellation go on.

    Args:
        work: The work to finish; its exceptions are raised, unless the task was cancelled.

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
