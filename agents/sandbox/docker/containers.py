"""Options, start and removal of the containers in which programs run."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.sandbox.docker.engine import limits_files
from agents.sandbox.inside.boot import FLAGS
from agents.sandbox.interpreter import environment_variables, waiting_source
from agents.sandbox.package_index import WHEELS, proxies
from agents.sandbox.protocol import inodes_of
from agents.sandbox.repair_runner import FOLDER, PROGRAM
from store.processes import start_of

if TYPE_CHECKING:
    from agents.sandbox.protocol import Limits
    from agents.sandbox.repair import RepairLimits

LABEL = "workbench.sandbox"
"""On every container of ours: the process that made it, as `owner()` writes it."""
OF_IMAGE = "image"
"""The label of a kept image, so that no container of it is taken for one left behind."""
PYTHON_LABEL = "workbench.python"
"""On an image: the path of its interpreter."""

_MIB = 1024 * 1024
# The kernel counts a user's processes over all containers, so this only backs up the container's own.
_USER_PROCESSES = 8192
# Seconds after which a container of another machine's workbench is nobody's.
_ABANDONED = 3600.0
# What a package manager needs to change files of other owners and to give up its rights while it downloads.
_REPAIR_CAPABILITIES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"]
# How often an engine is asked to remove a container, and the seconds between.
_TRIES, _PAUSE = 5, 0.2
_PLACE = "/sandbox"


def bounds(limits: Limits) -> tuple[int, ...]:
    """Return the limits that are fixed when a container is created; a run with others needs another one."""
    return (limits.memory_bytes, limits.processes, limits.file_bytes, limits.open_files)


def container_options(client: Any, image: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Return the options of the container of one test program.

    `image` is the engine's description of the image.

    Returns:
        Arguments of the client's `create_container`.
    """
    counted = limits_files(client)

    def memory(execution: str, size: int) -> str:
        files = f",nr_inodes={inodes_of(size)}" if counted else ""
        return f"rw,{execution},nosuid,nodev,mode=1777,size={size}{files}"

    return _options(
        client,
        image,
        [*FLAGS, "-c", waiting_source(harness=f"{_PLACE}/harness", work=f"{_PLACE}/work")],
        {
            "network_mode": "none",
            "mem_limit": limits.whole_memory_bytes,
            "memswap_limit": limits.whole_memory_bytes,
            "pids_limit": limits.whole_processes,
            "read_only": True,
            "tmpfs": {
                "/tmp": memory("exec", limits.scratch_bytes),
                "/dev/shm": memory("noexec", limits.scratch_bytes),
                "/run": memory("noexec", _MIB),
                "/var/tmp": memory("noexec", _MIB),
                _PLACE: memory("noexec", 16 * _MIB),
            },
        },
        {
            "nofile": limits.open_files,
            "nproc": _USER_PROCESSES,
            "core": 0,
            "fsize": limits.file_bytes,
        },
        user="65534:65534",
        hostname="sandbox",
        working_dir="/tmp",
        environment=environment_variables(home="/tmp", path="/usr/local/bin:/usr/bin:/bin"),
        network_disabled=True,
    )


def repair_container_options(
    client: Any, image: dict[str, Any], limits: RepairLimits, network: str, wheels: Path | None
) -> dict[str, Any]:
    """Return the options of a repair's container, whose root may write to its system.

    Args:
        client: The engine's client.
        image: The engine's description of the image that it starts from.
        limits: The limits of the repair.
        network: The engine's network through which it reaches the package index; `none` for no network.
        wheels: Folder of wheels that it can read; None for none.

    Returns:
        Arguments of the client's `create_container`.
    """
    from docker.types import Mount

    return _options(
        client,
        image,
        ["-s", "-B", PROGRAM, FOLDER, "leash=1"],
        {
            "network_mode": network,
            "mem_limit": limits.memory_bytes,
            "memswap_limit": limits.memory_bytes,
            "pids_limit": limits.processes,
            "cap_add": _REPAIR_CAPABILITIES,
            "tmpfs": {"/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={limits.scratch_bytes}"},
            "mounts": [] if wheels is None else [Mount(WHEELS, str(wheels), "bind", read_only=True)],
        },
        {"core": 0, "fsize": limits.bytes},
        user="0:0",
        hostname="repair",
        working_dir="/",
        environment=proxies(),
    )


def _options(
    client: Any,
    image: dict[str, Any],
    arguments: list[str],
    host: dict[str, Any],
    highest: dict[str, int],
    **made_with: Any,
) -> dict[str, Any]:
    """Return the options of every container: no further capabilities, no log, and the image's Python.

    Args:
        client: The engine's client.
        image: The engine's description of the image.
        arguments: The arguments of its interpreter.
        host: Arguments of the client's `create_host_config`.
        highest: Limits of each process, by their names.
        made_with: Further arguments of the client's `create_container`.
    """
    from docker.types import LogConfig, Ulimit

    python = (image.get("Config", {}).get("Labels") or {}).get(PYTHON_LABEL, "python3")
    bound = client.api.create_host_config(
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        ulimits=[Ulimit(name=name, soft=value, hard=value) for name, value in highest.items()],
        log_config=LogConfig(type="none"),
        **host,
    )
    return {
        "image": image["Id"],
        "entrypoint": [python, *arguments],
        "command": [],
        "stdin_open": True,
        "labels": {LABEL: owner()},
        "host_config": bound,
        **made_with,
    }


def remove(client: Any, container: str) -> None:
    """Remove a container, whatever it does; one that is gone already is well."""
    from docker.errors import APIError, NotFound

    for left in reversed(range(_TRIES)):
        try:
            client.api.remove_container(container, force=True, v=True)
        except NotFound:
            return
        except APIError as error:
            if error.status_code == 409:  # somebody else is removing it
                return
            if left == 0 or not error.is_server_error():
                raise
            time.sleep(_PAUSE)  # podman does not remove one that is about to end by itself
        else:
            return


def owner() -> str:
    """Name this process so that it differs from every other one, also after a restart of the machine."""
    return " ".join((socket.gethostname(), _boot(), str(os.getpid()), start_of(os.getpid())))


def reap(client: Any) -> int:
    """Remove the containers whose owners are dead.

    Returns:
        How many were removed.
    """
    from docker.errors import APIError

    found = 0
    for container in client.api.containers(all=True, filters={"label": LABEL}):
        if _is_dead(container["Labels"][LABEL], _age(container)):
            with suppress(APIError):
                remove(client, container["Id"])
                found += 1
    return found


def _is_dead(name: str, age: float) -> bool:
    """Tell whether the owner of a container that is so many seconds old has ended."""
    if name == OF_IMAGE:
        return False
    parts = name.split(" ")
    if len(parts) != 4 or parts[0] != socket.gethostname():
        return age > _ABANDONED
    _, boot, process, since = parts
    return boot != _boot() or not process.isdigit() or start_of(int(process)) != since


def _age(container: dict[str, Any]) -> float:
    created = container.get("Created", 0)
    if isinstance(created, str):  # podman's form of it
        return time.time() - datetime.fromisoformat(created).timestamp()
    return time.time() - float(created)


def _boot() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return "-"
