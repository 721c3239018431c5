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
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeVar

from agents.sandbox.canary import CANARY, canary_limits, judge
from agents.sandbox.child import finish
from agents.sandbox.containers import reap
from agents.sandbox.docker_repair import NOTES, DockerRepairs, RepairStop
from agents.sandbox.engine import ENGINE_HINT, connect, one_line
from agents.sandbox.errors import SandboxError
from agents.sandbox.heard import Ending
from agents.sandbox.interpreter import CHECK_PROGRAM
from agents.sandbox.pool import ContainerPool
from agents.sandbox.protocol import SandboxCheck
from agents.sandbox.reports import make_report
from agents.sandbox.started import StartedContainer, Stop, arguments

if TYPE_CHECKING:
    from agents.sandbox.protocol import ExecutionReport, Limits, Sandbox, TestProgram
    from agents.sandbox.repair import RepairAction, RepairReport
    from agents.sandbox.settings import SandboxSettings

ReportT = TypeVar("ReportT")

# Programs that are run at the same time; more wait for one of them to end.
_RUNS = 64
# Containers that are ended or removed at the same time, behind or beside the runs.
_REMOVERS = 4
# How often a program is begun whose engine breaks off, the seconds that are waited for it, and those between.
_ATTEMPTS, _BACK, _PAUSE = 2, 10.0, 0.5
# Seconds for which an image's name is taken to stand for the same image.
_FRESH = 2.0
_BUILD_HINT = "Make it with: workbench sandbox build"


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


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the engine said of the image, and when."""

    image: dict[str, Any]
    at: float


class _BrokenOff(Exception):
    """The engine ended, or was restarted, before a program had."""


class DockerSandbox:
    """Runs any test program in a container of its own."""

    name = "docker"
    repairs = NOTES

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._tried = False
        self._version = "auto"
        self._pool: ContainerPool | None = None
        self._repairs = DockerRepairs(settings)
        self._seen: _Seen | None = None
        self._runs = ThreadPoolExecutor(_RUNS, "container-run")
        self._removers = ThreadPoolExecutor(_REMOVERS, "container-remover")

    async def open(self, programs: int) -> None:
        """Have containers started beforehand (see `Sandbox.open`)."""
        size = min(programs, self._settings.ready_containers)
        if size > 0 and self._pool is None:
            self._pool = ContainerPool(size, self._settings.limits, self._start_ahead, self._remove_behind)
            self._pool.fill()

    async def close(self) -> None:
        """Remove what waits and end the threads (see `Sandbox.close`)."""
        await finish(asyncio.to_thread(self._close))

    async def check(self) -> SandboxCheck:
        """Try the engine's limits out, run a small program, and say why not when that fails."""
        try:
            report = await self.run(CHECK_PROGRAM)
        except SandboxError as error:
            return SandboxCheck(self.name, False, error.message, error.hint)
        if report.exit_reason == "ok":
            return SandboxCheck(self.name, True, "containers without network, limits of memory and processes")
        return SandboxCheck(self.name, False, report.error or report.exit_reason, ENGINE_HINT)

    async def run(self, program: TestProgram, limits: Limits | None = None) -> ExecutionReport:
        """Run one program, whoever wrote it (see `Sandbox.run`)."""
        stop = Stop()
        work = self._runs.submit(self._run, program, limits or self._settings.limits, stop)
        return await self._ended(work, stop)

    async def _ended(self, work: Future[ReportT], stop: Stop | RepairStop) -> ReportT:
        """Wait for what a thread does; a cancelled task has it stopped before the cancellation goes on."""
        ended = asyncio.wrap_future(work)
        try:
            return await asyncio.shield(ended)
        except asyncio.CancelledError:
            if not work.cancel():  # it has begun
                await finish(self._stopped(ended, stop))
            raise

    async def _stopped(self, ended: asyncio.Future[ReportT], stop: Stop | RepairStop) -> None:
        await asyncio.get_running_loop().run_in_executor(self._removers, stop.stop)
        await asyncio.wait({ended})
        if not ended.cancelled():
            ended.exception()  # nobody else will ask

    def _run(self, program: TestProgram, limits: Limits, stop: Stop) -> ExecutionReport:
        pool = self._pool
        if pool is None or program.snapshot:  # the pool has containers of the image alone
            return self._run_in_its_own(program, limits, stop)
        with pool.running():
            seen = self._seen
            if seen is None or monotonic() - seen.at > _FRESH:
                seen = self._look()
            ready = pool.take(seen.image["Id"], limits)
            report = None if ready is None else self._use(ready, program, limits, stop)
            return report or self._run_in_its_own(program, limits, stop)

    def _run_in_its_own(self, program: TestProgram, limits: Limits, stop: Stop) -> ExecutionReport:
        """Run one program in a new container; once more where the engine broke off and soon answers again."""
        started_at, start = datetime.now(UTC), monotonic()
        trouble = ""
        for _ in range(_ATTEMPTS):
            try:
                client = self._connect() if not trouble else self._connect_again(stop)
                try:
                    image = self._tried_out(client)
                    if program.snapshot:
                        image = self._repairs.find(client, program.snapshot)
                    return self._execute(client, image, program, limits, stop)
                finally:
                    client.close()
            except _BrokenOff as error:
                trouble = f"The Docker Engine broke off while a program ran: {error}"
            except SandboxError as error:
                if not trouble:
                    raise
                trouble += f" It did not answer again in {_BACK:g} s: {error.message}"
                break
        ending = Ending(None, "", b"", trouble.encode(), b"", 0, monotonic() - start, started_at)
        return make_report(ending, sandbox=self.name, limits=limits, snapshot=program.snapshot)

    def _connect_again(self, stop: Stop) -> Any:
        """Wait for an engine that broke off, as it does when it is restarted."""
        self._version = "auto"
        until = monotonic() + _BACK
        while True:
            try:
                return self._connect()
            except SandboxError:
                if monotonic() > until or stop.asked:
                    raise
                sleep(_PAUSE)

    def _look(self) -> _Seen:
        """See which image has the name now; programs that follow each other closely need not ask again."""
        client = self._connect()
        try:
            self._seen = _Seen(self._tried_out(client), monotonic())
            return self._seen
        finally:
            client.close()

    async def repair(self, action: RepairAction, after: str = "") -> RepairReport:
        """Carry out a repair in a container of its own (see `Sandbox.repair`)."""
        stop = RepairStop()
        return await self._ended(self._runs.submit(self._repair, action, after, stop), stop)

    def _repair(self, action: RepairAction, after: str, stop: RepairStop) -> RepairReport:
        client = self._connect()
        try:
            return self._repairs.repair(client, self._tried_out(client), action, after, stop)
        finally:
            client.close()

    def _connect(self) -> Any:
        client = connect(self._settings, self._version)
        self._version = client.api.api_version
        return client

    def _tried_out(self, client: Any) -> dict[str, Any]:
        """Return the image as it is now, once the engine is known to hold to its limits.

        Raises:
            SandboxError: There is no image, or the limits do not bite.
        """
        image = self._find_image(client)
        with self._lock:
            if not self._tried:
                reap(client)
                limits = canary_limits(self._settings.limits)
                judge(self._execute(client, image, CANARY, limits, Stop(), per_process=False))
                self._tried = True
        return image

    def _find_image(self, client: Any) -> dict[str, Any]:
        from docker.errors import DockerException, ImageNotFound

        try:
            found: dict[str, Any] = client.api.inspect_image(self._settings.image)
        except ImageNotFound as error:
            name = self._settings.image
            message = f"The engine has no image called {name!r}."
            raise SandboxError("No image for test programs", message, _BUILD_HINT) from error
        except (DockerException, OSError) as error:
            # It is asked anew which version it speaks: another one may listen there by then.
            self._version = "auto"
            raise SandboxError("The Docker Engine failed", one_line(error), ENGINE_HINT) from error
        return found

    def _execute(
        self,
        client: Any,
        image: dict[str, Any],
        program: TestProgram,
        limits: Limits,
        stop: Stop,
        *,
        per_process: bool = True,
    ) -> ExecutionReport:
        """Run one program in a container that is made for it, and gone when this returns."""
        import requests
        from docker.errors import DockerException

        started_at, start = datetime.now(UTC), monotonic()
        try:
            container = StartedContainer(client, image, limits)
            try:
                if not stop.may_go_on(container):
                    raise OSError("it was stopped before it began")
                container.start()
                told = arguments(limits, per_process=per_process, repaired=bool(program.snapshot))
                ending = container.run(program, limits, told)
            finally:
                self._remove_now(container)
        except (ConnectionError, requests.ConnectionError) as error:
            raise _BrokenOff(one_line(error)) from error
        except (DockerException, OSError, ValueError) as error:
            trouble = one_line(error).encode()
            ending = Ending(None, "", b"", trouble, b"", 0, monotonic() - start, started_at)
        return make_report(
            ending, sandbox=self.name, limits=limits, image=image["Id"], snapshot=program.snapshot
        )

    def _use(
        self, ready: StartedContainer, program: TestProgram, limits: Limits, stop: Stop
    ) -> ExecutionReport | None:
        """Run one program in a container that waited for it; None when it did not begin there."""
        from docker.errors import DockerException

        try:
            if not stop.may_go_on(ready):
                return None
            ending = ready.run(program, limits, arguments(limits))
        except (DockerException, OSError, ValueError):
            return None
        finally:
            self._remove_behind(ready)
        if not ending.channel and not ending.stopped:
            return None
        return make_report(ending, sandbox=self.name, limits=limits, image=ready.image["Id"])

    def _start_ahead(self) -> StartedContainer:
        """Make and start a container, with a client of its own."""
        from docker.errors import DockerException

        client = self._connect()
        container: StartedContainer | None = None
        try:
            container = StartedContainer(client, self._tried_out(client), self._settings.limits)
            container.start()
        except (DockerException, OSError, SandboxError) as error:
            if container is not None:
                self._remove_behind(container)
            else:
                client.close()
            raise SandboxError("No container could be started", one_line(error), ENGINE_HINT) from error
        return container

    def _remove_behind(self, container: StartedContainer) -> None:
        self._removers.submit(self._remove, container)

    def _remove_now(self, container: StartedContainer) -> None:
        from docker.errors import DockerException

        with suppress(DockerException, OSError):  # what a program showed is not lost for what it left
            container.remove()

    def _remove(self, container: StartedContainer) -> None:
        from docker.errors import DockerException

        if self._pool is not None:
            self._pool.rest()
        with suppress(DockerException, OSError):  # the reaper of the next start tries again
            container.remove()
            container.client.close()

    def _close(self) -> None:
        if self._pool is not None:
            self._pool.close()
        self._runs.shutdown(wait=True, cancel_futures=True)
        self._removers.shutdown(wait=True)
