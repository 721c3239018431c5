"""Runs programs in forks of an interpreter that is started once, in isolation (`inside/fork_server.py`)."""

from __future__ import annotations

import array
import asyncio
import itertools
import os
import socket
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from agents.sandbox.child_process import GRACE, ChildProcess, PipeReader, finish, settle
from agents.sandbox.inside.fork_server import DESCRIPTORS, PACKET
from agents.sandbox.output_capture import STDERR, STDOUT, OutputCapture

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agents.sandbox.output_capture import ProcessResult, Stopped
    from agents.sandbox.protocol import Limits

    Pipes = list[tuple[PipeReader, asyncio.ReadTransport]]

# Seconds that the interpreter may take to start and to make its trial, which on a busy machine is long.
START_PATIENCE = 60.0
# Seconds that it may take to read a request, and to end a program. One that takes longer does not work,
# and is ended with all that it started.
PATIENCE = 10.0


class ServerFailed(Exception):
    """The interpreter that programs are forked of could not be started; its text says why."""


class Fork:
    """One program's process.

    Attributes:
        status: How it ended, as waitpid reports it; None until then, and where that cannot be known.
        trouble: Why there was none.
        gone: Done when nothing of it is left.
        exited: Done then too, and when it must be ended since it floods.
    """

    def __init__(self, limits: Limits) -> None:
        loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[None] = loop.create_future()
        self.gone: asyncio.Future[None] = loop.create_future()
        self.capture = OutputCapture(limits, lambda: settle(self.exited))
        self.status: int | None = None
        self.trouble = ""

    def end(self, status: int | None, trouble: str = "") -> None:
        """Record its end, once."""
        if self.gone.done():
            return
        self.status, self.trouble = status, trouble
        settle(self.gone)
        settle(self.exited)


class ForkServer:
    """An interpreter in isolation that forks a process for each program; it belongs to one event loop."""

    def __init__(self, process: ChildProcess, control: socket.socket) -> None:
        self._process = process
        self._control = control
        self._numbers = itertools.count(1)
        self._forks: dict[str, Fork] = {}
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sending = asyncio.Lock()
        self._ended = False
        asyncio.get_running_loop().add_reader(control, self._receive)

    @classmethod
    async def start(
        cls,
        command: Callable[[int], Sequence[str]],
        *,
        environment: Mapping[str, str],
        limits: Limits,
        files: Sequence[int],
    ) -> ForkServer:
        """Start the interpreter and wait for its trial.

        Args:
            command: Makes the command line from the number of the descriptor of its socket.
            environment: All of its environment.
            limits: The limits of its output; those of programs come with each.
            files: Further file descriptors that it inherits; they stay the caller's to close.

        Returns:
            The server, the caller's to `close`.

        Raises:
            ServerFailed: It did not start, or its trial failed.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        try:
            process = await ChildProcess.start(
                lambda _: command(theirs.fileno()),
                environment=environment,
                folder="/",
                limits=limits,
                files=(theirs.fileno(), *files),
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        server = cls(process, ours)
        try:
            await asyncio.wait({server._ready}, timeout=START_PATIENCE)
        except BaseException:
            await finish(server.close())
            raise
        if server.works:
            return server
        server._lose()
        ending = await process.run(GRACE)  # what it says comes before its end
        message = ending.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
        raise ServerFailed(
            message[-1] if message else f"the sandbox did not start within {START_PATIENCE:g} s"
        )

    @property
    def works(self) -> bool:
        """Whether it takes programs."""
        return self._ready.done() and not self._ended

    async def run(
        self,
        program_input: bytes,
        limits: Limits,
        *,
        user: int | None,
        room: tuple[int, int],
        entrances: Sequence[int] = (),
    ) -> ProcessResult:
        """Run a program in a fork, and end all of its processes.

        When it ends, is stopped, or the task that waits for it is cancelled, every process that it started is
        killed before this returns.

        Args:
            program_input: The program (`interpreter.program_input`).
            limits: Wall time and output are held here, the others by the harness.
            user: Its user; None for the user of the server.
            room: Bytes of each scratch folder, and of the folder of the program's own files.
            entrances: Descriptors by which it enters its control group.

        Returns:
            How it ended; one that could not be forked has no code.
        """
        started_at, start = datetime.now(UTC), monotonic()
        number, fork = str(next(self._numbers)), Fork(limits)
        self._forks[number] = fork
        pipes: Pipes = []
        stopped: Stopped = ""
        try:
            who, count = "-" if user is None else user, DESCRIPTORS + len(entrances)
            words = f"run {number} {who} {room[0]} {room[1]} {count}"
            await self._begin(words, program_input, entrances, fork, pipes)
            await asyncio.wait({fork.exited}, timeout=limits.wall_seconds)
            if fork.capture.flooded:
                stopped = "output"
            elif not fork.gone.done():
                stopped = "timeout"
            seconds = monotonic() - start
        finally:
            await finish(self._end(number, fork, pipes))
        code = None if fork.status is None else os.waitstatus_to_exitcode(fork.status)
        return fork.capture.result(code, stopped, seconds, started_at, trouble=fork.trouble.encode())

    async def close(self) -> None:
        """End the interpreter and with it all that runs."""
        self._lose()
        await self._process.end()

    async def _begin(
        self,
        words: str,
        program_input: bytes,
        entrances: Sequence[int],
        fork: Fork,
        pipes: Pipes,
    ) -> None:
        """Open the pipes of a program, and fork it; an error ends it."""
        try:
            loop, capture = asyncio.get_running_loop(), fork.capture
            with ExitStack() as stack:
                source = os.memfd_create("workbench")
                stack.callback(os.close, source)
                os.write(source, program_input)
                os.lseek(source, 0, os.SEEK_SET)
                given = [source]
                takes = (
                    partial(capture.write, STDOUT),
                    partial(capture.write, STDERR),
                    capture.record,
                )
                for take in takes:
                    reading, writing = os.pipe()
                    stack.callback(os.close, writing)
                    given.append(writing)
                    pipe = PipeReader(take)
                    transport, _ = await loop.connect_read_pipe(
                        lambda pipe=pipe: pipe,  # type: ignore[misc]
                        os.fdopen(reading, "rb", buffering=0),
                    )
                    pipes.append((pipe, transport))
                await self._send(words, [*given, *entrances])
        except OSError as error:
            fork.end(None, str(error))
        except BaseException:
            fork.end(None)
            raise

    async def _end(self, number: str, fork: Fork, pipes: Pipes) -> None:
        """Kill what is left of a program, and wait for the ends of its pipes."""
        if not fork.gone.done():
            with suppress(OSError):
                await self._send(f"kill {number}")
            await asyncio.wait({fork.gone}, timeout=PATIENCE)
            if not fork.gone.done():
                await self.close()
        self._forks.pop(number, None)
        open_ones = [pipe.closed for pipe, _ in pipes if not pipe.closed.done()]
        if open_ones:
            await asyncio.wait(open_ones, timeout=GRACE)
        for _, transport in pipes:
            transport.close()

    async def _send(self, text: str, given: Sequence[int] = ()) -> None:
        """Send a packet, and descriptors with it; raises OSError when nobody takes it."""
        end = monotonic() + PATIENCE
        further = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", given))] if given else []
        async with self._sending:
            while not self._ended:
                try:
                    self._control.sendmsg([text.encode()], further)
                    return
                except BlockingIOError:  # it takes one after another
                    if monotonic() > end:
                        await finish(self.close())
                    await asyncio.sleep(0.001)
        raise ConnectionResetError("the interpreter that forks has ended")

    def _receive(self) -> None:
        try:
            received = self._control.recv(PACKET)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if not received:
            self._lose()
            return
        what, _, rest = received.decode("utf-8", "replace").partition(" ")
        number, _, detail = rest.partition(" ")
        if what == "ready":
            settle(self._ready)
        elif (fork := self._forks.get(number)) is not None:
            if what == "ended":
                fork.end(int(detail))
            else:
                fork.end(None, detail)

    def _lose(self) -> None:
        """Record that the server has ended, and its programs with it."""
        if self._ended:
            return
        self._ended = True
        asyncio.get_running_loop().remove_reader(self._control)
        self._control.close()
        settle(self._ready)
        for fork in self._forks.values():
            fork.end(None, "the interpreter that forks has ended")
