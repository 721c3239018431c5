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
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeVar

from agents.sandbox.check import check_by_running
from agents.sandbox.child_process import finish
from agents.sandbox.docker.container_run import ProgramContainer, Stop
from agents.sandbox.docker.containers import reap
from agents.sandbox.docker.engine import ENGINE_HINT, connect, find_image, one_line
from agents.sandbox.docker.limits_trial import CANARY, canary_limits, judge
from agents.sandbox.docker.pool import ContainerPool
from agents.sandbox.docker.repairs import NOTES, DockerRepairPlace
from agents.sandbox.docker.snapshots import snapshot_image
from agents.sandbox.errors import SandboxError
from agents.sandbox.output_capture import ProcessResult
from agents.sandbox.package_index import describe_reach
from agents.sandbox.repair import SnapshotMissing
from agents.sandbox.repair_runner import RepairRunner
from agents.sandbox.reports import make_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.sandbox.protocol import ExecutionReport, Limits, SandboxCheck, TestProgram
    from agents.sandbox.repair import RepairAction, RepairReport
    from agents.sandbox.settings import SandboxSettings

ResultT = TypeVar("ResultT")

# Programs that are run at the same time; more wait for one of them to end.
_RUNS = 64
# Containers that are ended or removed at the same time, behind or beside the runs.
_REMOVERS = 4
# How often a program is begun whose engine breaks off, the seconds that are waited for it, and those between.
_ATTEMPTS, _BACK, _PAUSE = 2, 10.0, 0.5
# Seconds for which an image's name is assumed to name the same image.
_FRESH = 2.0
_BUILD_HINT = "Make it with: workbench sandbox build"


@dataclass(frozen=True, slots=True)
class _InspectedImage:
    """The engine's answer about the image, and its time."""

    image: dict[str, Any]
    at: float


class _BrokenOff(Exception):
    """The engine ended, or was restarted, before a program had."""


class DockerSandbox:
    """Runs any test program in a container of its own.

    Args:
        settings: Limits, image, and where the engine listens.
        allowed: Not used: in isolation, any program may run.
    """

    name = "docker"

    def __init__(self, settings: SandboxSettings, allowed: frozenset[str] | None = None) -> None:
        del allowed
        self._settings = settings
        self.repairs = NOTES.format(reach=describe_reach(settings))
        self._lock = threading.Lock()
        self._tried = False
        self._version = "auto"
        self._pool: ContainerPool | None = None
        self._repairs = RepairRunner()
        self._seen: _InspectedImage | None = None
        self._runs = ThreadPoolExecutor(_RUNS, "container-run")
        self._removers = ThreadPoolExecutor(_REMOVERS, "container-remover")

    async def open(self, programs: int) -> None:
        """Start containers in advance (see `Sandbox.open`)."""
        size = min(programs, self._settings.ready_containers)
        if size > 0 and self._pool is None:
            self._pool = ContainerPool(
                size, self._settings.limits, self._start_waiting, self._remove_in_background
            )
            self._pool.fill()

    async def close(self) -> None:
        """Remove waiting containers, and end the threads (see `Sandbox.close`)."""
        await finish(asyncio.to_thread(self._close))

    async def check(self) -> SandboxCheck:
        """Try the engine's limits out, run a small program, and say why not when that fails."""
        return await check_by_running(
            self.name,
            self.run,
            found=lambda: "containers without network, limits of memory and processes",
            hint=lambda _: ENGINE_HINT,
        )

    async def run(self, program: TestProgram, limits: Limits | None = None) -> ExecutionReport:
        """Run one program, whoever wrote it (see `Sandbox.run`)."""
        limits = limits or self._settings.limits
        return await self._in_thread(lambda stop: self._run(program, limits, stop))

    async def repair(self, action: RepairAction, after: str = "") -> RepairReport:
        """Carry out a repair in a container of its own (see `Sandbox.repair`)."""
        image = (await self._in_thread(lambda _: self._look())).image
        place = DockerRepairPlace(self._settings, image, self._connect, self._in_thread)
        return await self._repairs.repair(action, after, place)

    async def _in_thread(self, work: Callable[[Stop], ResultT]) -> ResultT:
        """Wait for what a thread does; a cancelled task has it stopped before the cancellation goes on."""
        stop = Stop()
        submitted = self._runs.submit(work, stop)
        ended = asyncio.wrap_future(submitted)
        try:
            return await asyncio.shield(ended)
        except asyncio.CancelledError:
            if not submitted.cancel():  # it has begun
                await finish(self._stopped(ended, stop))
            raise

    async def _stopped(self, ended: asyncio.Future[ResultT], stop: Stop) -> None:
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
                with closing(self._connect() if not trouble else self._connect_again(stop)) as client:
                    image = self._tried_out(client)
                    if program.snapshot:
                        found = find_image(client, snapshot_image(self._settings, program.snapshot))
                        if found is None:
                            raise SnapshotMissing(program.snapshot)
                        image = found
                    return self._execute(client, image, program, limits, stop)
            except _BrokenOff as error:
                trouble = f"The Docker Engine broke off while a program ran: {error}"
            except SandboxError as error:
                if not trouble:
                    raise
                trouble += f" It did not answer again in {_BACK:g} s: {error.message}"
                break
        result = ProcessResult.not_started(trouble, started_at, start)
        return make_report(result, sandbox=self.name, limits=limits, snapshot=program.snapshot)

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

    def _look(self) -> _InspectedImage:
        """See which image has the name now; programs that follow each other closely need not ask again."""
        with closing(self._connect()) as client:
            self._seen = _InspectedImage(self._tried_out(client), monotonic())
            return self._seen

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
        name = self._settings.image
        try:
            found = find_image(client, name)
        except SandboxError:
            self._version = "auto"  # another version may listen there by the next time
            raise
        if found is None:
            raise SandboxError(
                "No image for test programs", f"The engine has no image called {name!r}.", _BUILD_HINT
            )
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
            container = ProgramContainer(client, image, limits)
            try:
                if not stop.may_go_on(container):
                    raise OSError("it was stopped before it began")
                container.start()
                result = container.run(
                    program, limits, per_process=per_process, repaired=bool(program.snapshot)
                )
            finally:
                self._remove_now(container)
        except (ConnectionError, requests.ConnectionError) as error:
            raise _BrokenOff(one_line(error)) from error
        except (DockerException, OSError, ValueError) as error:
            result = ProcessResult.not_started(one_line(error), started_at, start)
        return make_report(
            result, sandbox=self.name, limits=limits, image=image["Id"], snapshot=program.snapshot
        )

    def _use(
        self, ready: ProgramContainer, program: TestProgram, limits: Limits, stop: Stop
    ) -> ExecutionReport | None:
        """Run one program in a container that waited for it; None when it did not begin there."""
        from docker.errors import DockerException

        try:
            if not stop.may_go_on(ready):
                return None
            result = ready.run(program, limits)
        except (DockerException, OSError, ValueError):
            return None
        finally:
            self._remove_in_background(ready)
        if not result.channel and not result.stopped:
            return None
        return make_report(result, sandbox=self.name, limits=limits, image=ready.image["Id"])

    def _start_waiting(self) -> ProgramContainer:
        """Make and start a container, with a client of its own."""
        from docker.errors import DockerException

        client = self._connect()
        container: ProgramContainer | None = None
        try:
            container = ProgramContainer(client, self._tried_out(client), self._settings.limits)
            container.start()
        except (DockerException, OSError, SandboxError) as error:
            if container is not None:
                self._remove_in_background(container)
            else:
                client.close()
            raise SandboxError("No container could be started", one_line(error), ENGINE_HINT) from error
        return container

    def _remove_in_background(self, container: ProgramContainer) -> None:
        self._removers.submit(self._remove, container)

    def _remove_now(self, container: ProgramContainer) -> None:
        from docker.errors import DockerException

        with suppress(DockerException, OSError):  # what a program showed is not lost for what it left
            container.remove()

    def _remove(self, container: ProgramContainer) -> None:
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
