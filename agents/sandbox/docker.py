"""Runs test programs in containers of a Docker Engine, or of another that speaks its API.

A container serves one program. It has no network, no capability, a read-only root, memory for scratch files,
and the user 65534; program, harness and limits go in over stdin, which is also its leash: when the workbench
dies, the engine closes it, and the supervisor in the container ends everything. Output and records come out
over the attached stream, and nothing of it is logged. What a killed workbench left behind is removed by the
next one.

Before the first program, a canary tries out whether the engine holds to its limits: some say that they do.
"""

from __future__ import annotations

import asyncio
import os
import threading
from dataclasses import replace
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any

from agents.sandbox.child import Ending, finish
from agents.sandbox.containers import container_options, kill, reap, remove, told_first, told_of
from agents.sandbox.errors import SandboxError
from agents.sandbox.interpreter import CHECK_PROGRAM, options
from agents.sandbox.protocol import SandboxCheck, TestProgram
from agents.sandbox.reports import make_report
from agents.sandbox.stream import MixedStream

if TYPE_CHECKING:
    from agents.sandbox.protocol import ExecutionReport, Limits, Sandbox
    from agents.sandbox.settings import SandboxSettings

# Seconds that an engine may take to answer, and a container to start.
_PATIENCE = 60.0
_PIECE = 65536
_MIB = 1024 * 1024

_ENGINE_HINT = (
    "Start Docker, or say where it listens with sandbox.docker_host or DOCKER_HOST; "
    "this user must be allowed to use it."
)
_BUILD_HINT = "Make it with: workbench sandbox build"
_CANARY_HINT = "Use an engine that limits processes and memory (with cgroups), or bubblewrap."

_CANARY = TestProgram(
    "",
    """
import os, signal

def test_processes():
    children = []
    try:
        for _ in range(64):
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    except BlockingIOError:
        return
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert False, "it let a program start 64 processes where 8 are allowed"

def test_memory():
    child = os.fork()
    if child == 0:
        kept = []
        for _ in range(256):
            kept.append(b"x" * 2**20)
        os._exit(0)
    ended = os.waitpid(child, 0)[1]
    assert ended != 0, "it let a program take 256 MiB of memory where 64 are allowed"
""",
)


def create(settings: SandboxSettings, allowed: frozenset[str] | None = None) -> Sandbox:
    """Make the Docker sandbox.

    Args:
        settings: Limits, image, and where the engine listens.
        allowed: Not used: in isolation, any program may run.

    Returns:
        The sandbox.
    """
    del allowed
    return DockerSandbox(settings)


def connect(settings: SandboxSettings) -> Any:
    """Open a client of the configured engine.

    Args:
        settings: Where it listens; empty for where DOCKER_HOST or its usual socket is.

    Returns:
        The client, a `docker.DockerClient`, to be closed.

    Raises:
        SandboxError: No engine answers there.
    """
    import docker
    from docker.errors import DockerException

    try:
        if settings.docker_host:
            return docker.DockerClient(base_url=settings.docker_host, timeout=_PATIENCE, version="auto")
        return docker.from_env(timeout=_PATIENCE, version="auto")
    except (DockerException, OSError, ValueError) as error:
        place = settings.docker_host or os.environ.get("DOCKER_HOST") or "the usual socket"
        message = f"At {place}: {_one_line(error)}"
        raise SandboxError("No Docker Engine answers", message, _ENGINE_HINT) from error


class _Stop:
    """Ends an execution from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._container: tuple[Any, str] | None = None
        self.asked = False

    def may_go_on(self, client: Any, container: str) -> bool:
        """Take note of the container that a stop must end; False when it was asked to stop already."""
        with self._lock:
            self._container = client, container
            return not self.asked

    def stop(self) -> None:
        """Have the execution end, at once when its container runs."""
        with self._lock:
            self.asked = True
            if self._container is not None:
                remove(*self._container)


class DockerSandbox:
    """Runs any test program in a container of its own."""

    name = "docker"

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._image: dict[str, Any] | None = None

    async def check(self) -> SandboxCheck:
        """Try the engine's limits out, run a small program, and say why not when that fails."""
        try:
            report = await self.run(CHECK_PROGRAM)
        except SandboxError as error:
            return SandboxCheck(self.name, False, error.message, error.hint)
        if report.exit_reason == "ok":
            return SandboxCheck(self.name, True, "containers without network, limits of memory and processes")
        return SandboxCheck(self.name, False, report.error or report.exit_reason, _ENGINE_HINT)

    async def run(self, program: TestProgram, limits: Limits | None = None) -> ExecutionReport:
        """Run one program, whoever wrote it (see `Sandbox.run`)."""
        stop = _Stop()
        work = asyncio.ensure_future(
            asyncio.to_thread(self._run, program, limits or self._settings.limits, stop)
        )
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await finish(_stopped(work, stop))
            raise

    def _run(self, program: TestProgram, limits: Limits, stop: _Stop) -> ExecutionReport:
        client = connect(self._settings)
        try:
            image = self._tried_out(client)
            return self._execute(client, image, program, limits, stop)
        finally:
            client.close()

    def _tried_out(self, client: Any) -> dict[str, Any]:
        """Return the image, once an engine is known to hold to its limits.

        Raises:
            SandboxError: There is no image, or the limits do not bite.
        """
        with self._lock:
            if self._image is None:
                image = self._find_image(client)
                reap(client)
                self._try_limits(client, image)
                self._image = image
            return self._image

    def _find_image(self, client: Any) -> dict[str, Any]:
        from docker.errors import DockerException, ImageNotFound

        try:
            found: dict[str, Any] = client.api.inspect_image(self._settings.image)
        except ImageNotFound as error:
            name = self._settings.image
            message = f"The engine has no image called {name!r}."
            raise SandboxError("No image for test programs", message, _BUILD_HINT) from error
        except (DockerException, OSError) as error:
            raise SandboxError("The Docker Engine failed", _one_line(error), _ENGINE_HINT) from error
        return found

    def _try_limits(self, client: Any, image: dict[str, Any]) -> None:
        limits = replace(self._settings.limits, processes=8, memory_bytes=64 * _MIB, wall_seconds=_PATIENCE)
        report = self._execute(client, image, _CANARY, limits, _Stop(), per_process=False)
        wrong = [test.message for test in report.outcomes if test.outcome != "passed"]
        if wrong:
            raise SandboxError("The Docker Engine's limits do not bite", "; ".join(wrong), _CANARY_HINT)
        if len(report.outcomes) != _CANARY.test.count("def test_"):
            message = report.error or f"the trial of its limits ended with {report.exit_reason}"
            raise SandboxError("The Docker Engine runs no containers", message, _ENGINE_HINT)

    def _execute(
        self,
        client: Any,
        image: dict[str, Any],
        program: TestProgram,
        limits: Limits,
        stop: _Stop,
        *,
        per_process: bool = True,
    ) -> ExecutionReport:
        """Run one program in a container that is gone when this returns."""
        from docker.errors import DockerException

        started_at, start = datetime.now(UTC), monotonic()
        try:
            container = client.api.create_container(**container_options(client, image, limits))["Id"]
            try:
                if not stop.may_go_on(client, container):
                    raise OSError("it was stopped before it began")
                ending = _attend(client, container, _sent(program, limits, per_process), limits)
            finally:
                remove(client, container)
        except (DockerException, OSError, ValueError) as error:
            trouble = _one_line(error).encode()
            ending = Ending(None, "", b"", trouble, b"", 0, monotonic() - start, started_at)
        return make_report(ending, sandbox=self.name, limits=limits, image=image["Id"])


async def _stopped(work: asyncio.Future[ExecutionReport], stop: _Stop) -> None:
    await asyncio.to_thread(stop.stop)
    await asyncio.wait({work})
    if not work.cancelled():
        work.exception()  # nobody else will ask


def _sent(program: TestProgram, limits: Limits, per_process: bool) -> bytes:
    """Put together what a container is told over stdin."""
    # Processes are counted by the container: the user's other processes are those of other containers.
    further = {"processes": 0, "mixed": 1} if per_process else {"processes": 0, "mixed": 1, "memory_bytes": 0}
    return told_first() + told_of(program, options(limits, **further))


def _attend(client: Any, container: str, sent: bytes, limits: Limits) -> Ending:
    """Start a container, tell it what to run, and read all it says until it ends or has to be ended."""
    way = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
    attached = client.api.attach_socket(container, params=way)  # before the start, to lose nothing
    stream = MixedStream(limits.output_bytes)
    line = getattr(attached, "_sock", attached)  # the socket itself, which alone has a time limit
    try:
        line.settimeout(_PATIENCE)
        client.api.start(container)
        line.sendall(sent)
        started_at, start = datetime.now(UTC), monotonic()
        in_time = _listen(line, stream, start + limits.wall_seconds)
        seconds = monotonic() - start
        if not in_time:
            kill(client, container)
        client.api.wait(container, timeout=_PATIENCE)
        state = client.api.inspect_container(container)["State"]
    finally:
        for each in (attached, line):
            each.close()
    return Ending(
        code=state["ExitCode"],
        stopped="" if in_time else "timeout",
        stdout=bytes(stream.stdout),
        stderr=bytes(stream.stderr or stream.trouble) or state.get("Error", "").encode(),
        channel=bytes(stream.channel),
        dropped=0,
        seconds=seconds,
        started_at=started_at,
        out_of_memory=in_time and bool(state.get("OOMKilled")),
    )


def _listen(line: Any, stream: MixedStream, until: float) -> bool:
    """Read a container's stream to its end; False when its time is over before."""
    while (left := until - monotonic()) > 0:
        line.settimeout(left)
        try:
            piece = line.recv(_PIECE)
        except TimeoutError:
            return False
        if not piece:
            return True
        stream.take(piece)
    return False


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
