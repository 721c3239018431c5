"""The connection to a Docker Engine, or to another that speaks its API, and the error where there is none."""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Any

from agents.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from agents.sandbox.settings import SandboxSettings

# Seconds that an engine may take to answer, and a container to start.
PATIENCE = 60.0

ENGINE_HINT = "Start Docker, or say where it listens with sandbox.docker_host or DOCKER_HOST."
_RIGHTS_HINT = (
    "This user may not use the engine: add it to the group that owns the socket (sudo usermod -aG docker "
    "NAME, then log in again), or name an engine of its own with sandbox.docker_host."
)


def connect(settings: SandboxSettings, version: str = "auto") -> Any:
    """Open a client of the configured engine.

    Args:
        settings: Where it listens; empty for where DOCKER_HOST or its usual socket is.
        version: Version of the API, as an earlier client reported it; `auto` to ask the engine.

    Returns:
        The client, a `docker.DockerClient`, to be closed.

    Raises:
        SandboxError: No engine answers there, or this user may not use it.
    """
    import docker
    from docker.errors import DockerException

    try:
        if settings.docker_host:
            return docker.DockerClient(base_url=settings.docker_host, timeout=PATIENCE, version=version)
        return docker.from_env(timeout=PATIENCE, version=version)
    except (DockerException, OSError, ValueError) as error:
        place = settings.docker_host or os.environ.get("DOCKER_HOST") or "the usual socket"
        message = f"At {place}: {one_line(error)}"
        if "Permission denied" in message:
            raise SandboxError("The Docker Engine may not be used", message, _RIGHTS_HINT) from error
        raise SandboxError("No Docker Engine answers", message, ENGINE_HINT) from error


def find_image(client: Any, name: str) -> dict[str, Any] | None:
    """Return the engine's record of an image; None when it has none of that name.

    Raises:
        SandboxError: The engine failed.
    """
    from docker.errors import DockerException, ImageNotFound

    try:
        found: dict[str, Any] = client.api.inspect_image(name)
    except ImageNotFound:
        return None
    except (DockerException, OSError) as error:
        raise SandboxError("The Docker Engine failed", one_line(error), ENGINE_HINT) from error
    return found


@cache
def limits_files(client: Any) -> bool:
    """Tell whether an engine can limit the number of files of a file system in memory; podman cannot.

    There the memory of its empty files counts towards the container's own.
    """
    parts = client.api.version().get("Components") or []
    return not any("podman" in str(part.get("Name", "")).lower() for part in parts)


def one_line(error: BaseException) -> str:
    """Put an exception in one line."""
    return " ".join(str(error).split()) or type(error).__name__
