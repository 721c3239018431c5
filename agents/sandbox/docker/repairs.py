"""Repairs for Docker: a container of their own that can be written to, kept as an image.

Its root is the container's own, so that `apt-get` works where the image has it and the container a network.
Nothing of the machine is mounted but a folder of wheels, read-only, where the settings name one: pip, its
settings and the certificates are copied in. None of this lies in a layer of the image that is kept.
"""

from __future__ import annotations

import io
import tarfile
from contextlib import closing
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any

from agents.sandbox.docker.container_run import Container, Stop
from agents.sandbox.docker.containers import LABEL, OF_IMAGE, repair_container_options
from agents.sandbox.docker.engine import find_image, one_line
from agents.sandbox.docker.snapshots import SNAPSHOT_LABEL, snapshot_image
from agents.sandbox.output_capture import STDOUT, OutputCapture
from agents.sandbox.package_index import PackageSource
from agents.sandbox.protocol import Limits
from agents.sandbox.repair import RepairBroken
from agents.sandbox.repair_runner import FOLDER, repair_files, repair_report

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from agents.sandbox.output_capture import ProcessResult
    from agents.sandbox.repair import RepairAction, RepairLimits, RepairReport
    from agents.sandbox.settings import SandboxSettings

NOTES = (
    "Commands run as root in a container of their own {reach}. pip installs into the "
    "environment of the test program. What else is written to the container's system is kept as well; of "
    "/tmp nothing is. apt-get works only where the image has it."
)

# Seconds between two looks at how much room a repair takes.
_LOOK = 2.0


class DockerRepairPlace:
    """Makes the snapshots that Docker's runs start from (see `RepairPlace`).

    Args:
        settings: The image's name, the network of repairs, and what they may use.
        image: The engine's description of the image that programs run in without a repair.
        connect: Opens a client of the engine.
        in_thread: Runs work in a thread, which a cancellation stops.

    Raises:
        SandboxError: The folder of wheels that the settings name does not exist.
    """

    def __init__(
        self,
        settings: SandboxSettings,
        image: dict[str, Any],
        connect: Callable[[], Any],
        in_thread: Callable[[Callable[[Stop], Any]], Awaitable[Any]],
    ) -> None:
        self.base: str = image["Id"]
        self.source = PackageSource.of(settings)
        self._settings, self._image = settings, image
        self._connect, self._in_thread = connect, in_thread

    async def find(self, name: str) -> dict[str, Any] | None:
        """Return the engine's record of a snapshot's image; None when it has none."""

        def look(_: Stop) -> dict[str, Any] | None:
            with closing(self._connect()) as client:
                return find_image(client, snapshot_image(self._settings, name))

        found: dict[str, Any] | None = await self._in_thread(look)
        return found

    async def make(self, action: RepairAction, base: str, start: dict[str, Any] | None) -> RepairReport:
        """Carry out a repair in a container of its own."""
        from docker.errors import DockerException

        def work(stop: Stop) -> RepairReport:
            with closing(self._connect()) as client:
                try:
                    return self._make(client, start or self._image, action, base, stop)
                except (DockerException, OSError, ValueError) as error:
                    raise RepairBroken(one_line(error)) from error

        report: RepairReport = await self._in_thread(work)
        return report

    def _make(
        self, client: Any, image: dict[str, Any], action: RepairAction, base: str, stop: Stop
    ) -> RepairReport:
        limits = self._settings.repair_limits
        files = _packed(repair_files(action, self.source))
        network, wheels = self._settings.repair_network, self.source.wheels
        made_with = repair_container_options(client, image, limits, network, wheels)
        container = Container(client, made_with)
        try:
            if not stop.may_go_on(container):
                raise OSError("it was stopped before it began")
            client.api.put_archive(container.id, "/", files)
            result, full = _run(container, limits)
            full = full or (result.code == 0 and _written_bytes(container) > limits.bytes)
            report = repair_report(action, result, base, network=self.source.network, full=full)
            if report.outcome == "done":
                repository, _, tag = snapshot_image(self._settings, report.snapshot).rpartition(":")
                labels = f'LABEL {SNAPSHOT_LABEL}="{report.snapshot}" {LABEL}="{OF_IMAGE}"'
                changes = [labels, "USER 65534:65534"]
                client.api.commit(container.id, repository=repository, tag=tag, changes=changes)
            return report
        finally:
            container.remove()


def _packed(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as packed:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"{FOLDER}/{name}".lstrip("/"))
            entry.size, entry.mode = len(data), 0o644
            packed.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def _run(container: Container, limits: RepairLimits) -> tuple[ProcessResult, bool]:
    """Start the container and read what it writes to its end; whether it had to be ended for want of room."""
    capture = OutputCapture(Limits(kept_bytes=limits.kept_bytes))
    started_at, start = datetime.now(UTC), monotonic()
    full, in_time, looked = False, True, start
    container.start()
    try:
        for _, piece in container.pieces(start + limits.wall_seconds, pause=_LOOK):
            capture.write(STDOUT, piece)
            if monotonic() - looked > _LOOK:
                # What was put in for the repair itself counts until it is removed.
                full, looked = _written_bytes(container) > limits.scratch_bytes, monotonic()
                if full:
                    break
    except TimeoutError:
        in_time = False
    if full or not in_time:
        container.kill()
    code = int(container.final_state()["ExitCode"])
    return capture.result(code, "" if in_time else "timeout", monotonic() - start, started_at), full


def _written_bytes(container: Container) -> int:
    """Return how many bytes a container has written to its system."""
    filters = {"id": container.id}
    (found,) = container.client.api.containers(all=True, filters=filters, size=True)
    return int(found.get("SizeRw") or 0)
