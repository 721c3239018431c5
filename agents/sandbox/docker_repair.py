"""Repairs for Docker: a container of their own that can be written to and has a network, kept as an image.

Its root is the container's own, so that `apt-get` works where the image has it. Nothing of the machine is
mounted: pip, its settings and the certificates are copied in, and lie in no layer of the image that is kept.
"""

from __future__ import annotations

import io
import tarfile
import threading
from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any

from agents.sandbox.containers import LABEL, OF_IMAGE, PYTHON_LABEL, kill, owner, remove
from agents.sandbox.engine import PATIENCE, one_line
from agents.sandbox.heard import Ending
from agents.sandbox.index import proxies
from agents.sandbox.kept import HeadAndTail
from agents.sandbox.repair import RepairBroken, SnapshotMissing
from agents.sandbox.repair_place import FOLDER, PROGRAM, began, made_before, read_ending, repair_files

if TYPE_CHECKING:
    from agents.sandbox.repair import RepairAction, RepairLimits, RepairReport
    from agents.sandbox.settings import SandboxSettings

SNAPSHOT_LABEL = "workbench.snapshot"
"""On an image that a repair left: the snapshot's name."""

NOTES = (
    "Commands run as root in a container of their own that has the network. pip installs into the "
    "environment of the test program. What else is written to the container's system is kept as well; of "
    "/tmp nothing is. apt-get works only where the image has it."
)

# What a package manager needs to change files of other owners and to give up its rights while it downloads.
_CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"]
# Seconds between two looks at how much room a repair takes.
_LOOK = 2.0
_HEAD = 8
_NETWORK_HINT = (
    "The engine has no such network: sandbox.repair_network names another. Without repairs: --no-repairs."
)


def snapshot_image(settings: SandboxSettings, name: str) -> str:
    """Name the image of a snapshot."""
    repository, colon, tag = settings.image.rpartition(":")
    base = repository if colon and "/" not in tag else settings.image
    return f"{base}-repaired:{name}"


class DockerRepairs:
    """Makes the snapshots that Docker's runs start from.

    Args:
        settings: The image's name, the network of repairs, and what they may use.
    """

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._making: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def find(self, client: Any, name: str) -> dict[str, Any]:
        """Return what the engine says of a snapshot's image.

        Raises:
            SnapshotMissing: It has none.
        """
        from docker.errors import ImageNotFound

        try:
            found: dict[str, Any] = client.api.inspect_image(snapshot_image(self._settings, name))
        except ImageNotFound as error:
            raise SnapshotMissing(name) from error
        return found

    def repair(
        self, client: Any, image: dict[str, Any], action: RepairAction, after: str, stop: RepairStop
    ) -> RepairReport:
        """Carry out a repair (see `Sandbox.repair`).

        Args:
            client: The engine's client.
            image: What the engine says of the image that programs run in without a repair.
            action: What is to be done.
            after: The snapshot that it starts from; empty for that image.
            stop: Ends it from another thread.
        """
        from docker.errors import DockerException

        base = after or image["Id"]
        name = action.snapshot(base)
        with self._lock:
            making = self._making[name]
        with making:  # one that is being made is waited for
            with suppress(SnapshotMissing):
                self.find(client, name)
                return made_before(action, base)
            start = self.find(client, after) if after else image
            try:
                return self._make(client, start, action, base, stop)
            except (DockerException, OSError, ValueError) as error:
                raise RepairBroken(one_line(error)) from error

    def _make(
        self, client: Any, image: dict[str, Any], action: RepairAction, base: str, stop: RepairStop
    ) -> RepairReport:
        limits = self._settings.repair_limits
        files = repair_files(action)
        container = str(client.api.create_container(**_options(self._settings, client, image, limits))["Id"])
        try:
            stop.of(client, container)
            client.api.put_archive(container, "/", _packed(files))
            ending, full = _run(client, container, limits)
            if not began(ending):
                said = (ending.stderr or ending.stdout).decode("utf-8", "replace").strip().splitlines()
                raise RepairBroken(said[-1] if said else "the container ended before it began")
            full = full or (ending.code == 0 and _room(client, container) > limits.bytes)
            report = read_ending(action, ending, base, full=full)
            if report.outcome == "done":
                repository, _, tag = snapshot_image(self._settings, report.snapshot).rpartition(":")
                labels = f'LABEL {SNAPSHOT_LABEL}="{report.snapshot}" {LABEL}="{OF_IMAGE}"'
                changes = [labels, "USER 65534:65534"]
                client.api.commit(container, repository=repository, tag=tag, changes=changes)
            return report
        finally:
            remove(client, container)


class RepairStop:
    """Ends a repair from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: tuple[Any, str] | None = None
        self._asked = False

    def of(self, client: Any, container: str) -> None:
        """Take note of the container that a stop must end.

        Raises:
            OSError: It was asked to stop already.
        """
        with self._lock:
            self._running = client, container
            if self._asked:
                raise OSError("it was stopped before it began")

    def stop(self) -> None:
        """Have the repair end."""
        with self._lock:
            self._asked = True
            if self._running is not None:
                kill(*self._running)


def _options(
    settings: SandboxSettings, client: Any, image: dict[str, Any], limits: RepairLimits
) -> dict[str, Any]:
    """Say what the container of a repair is made with."""
    from docker.types import LogConfig, Ulimit

    python = (image.get("Config", {}).get("Labels") or {}).get(PYTHON_LABEL, "python3")
    host = client.api.create_host_config(
        network_mode=settings.repair_network,
        mem_limit=limits.memory_bytes,
        memswap_limit=limits.memory_bytes,
        pids_limit=limits.processes,
        cap_drop=["ALL"],
        cap_add=_CAPABILITIES,
        security_opt=["no-new-privileges"],
        ulimits=[
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="fsize", soft=limits.bytes, hard=limits.bytes),
        ],
        tmpfs={"/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={limits.scratch_bytes}"},
        log_config=LogConfig(type="none"),
    )
    return {
        "image": image["Id"],
        "entrypoint": [python, "-s", "-B", PROGRAM, FOLDER, "leash=1"],
        "command": [],
        "user": "0:0",
        "hostname": "repair",
        "working_dir": "/",
        "environment": proxies(),
        "stdin_open": True,
        "labels": {LABEL: owner()},
        "host_config": host,
    }


def _packed(files: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as packed:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"{FOLDER}/{name}".lstrip("/"))
            entry.size, entry.mode = len(data), 0o644
            packed.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def _run(client: Any, container: str, limits: RepairLimits) -> tuple[Ending, bool]:
    """Start the container and read what it writes to its end; whether it had to be ended for want of room."""
    way = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
    attached = client.api.attach_socket(container, params=way)  # before the start, to lose nothing
    line = getattr(attached, "_sock", attached)
    written, raw = HeadAndTail(limits.kept_bytes), bytearray()
    started_at, start = datetime.now(UTC), monotonic()
    full, looked, ended = False, start, False
    try:
        client.api.start(container)
        while not ended and (left := start + limits.wall_seconds - monotonic()) > 0 and not full:
            line.settimeout(min(left, _LOOK))
            try:
                piece = line.recv(65536)
                ended = not piece
                raw += piece
            except TimeoutError:
                pass
            while len(raw) >= _HEAD and len(raw) >= (end := _HEAD + int.from_bytes(raw[4:_HEAD], "big")):
                written.take(bytes(raw[_HEAD:end]))
                del raw[:end]
            if not ended and monotonic() - looked > _LOOK:
                # What was put in for the repair itself counts until it is removed.
                full, looked = _room(client, container) > limits.scratch_bytes, monotonic()
        if not ended:
            kill(client, container)
        state = client.api.wait(container, timeout=PATIENCE)
    finally:
        for each in (attached, line):
            with suppress(OSError):
                each.close()
    ending = Ending(
        code=int(state["StatusCode"]),
        stopped="" if ended or full else "timeout",
        stdout=written.kept,
        stderr=b"",
        channel=b"",
        dropped=0,
        seconds=monotonic() - start,
        started_at=started_at,
        stdout_cut=written.cut,
    )
    return ending, full


def _room(client: Any, container: str) -> int:
    """Return how many bytes a container has written to its system."""
    (found,) = client.api.containers(all=True, filters={"id": container}, size=True)
    return int(found.get("SizeRw") or 0)
