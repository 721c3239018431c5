"""Makes the image that test programs run in: from a registry, or from this machine's Python."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agents.sandbox.docker.containers import PYTHON_LABEL
from agents.sandbox.docker.engine import connect, one_line
from agents.sandbox.docker.local_image import write_image
from agents.sandbox.errors import SandboxError
from agents.sandbox.interpreter import find_interpreter

if TYPE_CHECKING:
    from agents.sandbox.settings import SandboxSettings

Source = Literal["registry", "local"]

DOCKERFILE = Path(__file__).with_name("Dockerfile")
_BASE = f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"


@dataclass(frozen=True, slots=True)
class BuiltImage:
    """An image that was made.

    Attributes:
        digest: Its id, as the engine computes it from the content.
        python: Its interpreter: a path, or a name that is looked for in it.
        base: The image below it; empty where there is none.
        note: Why it was not made as it would have been at best; empty when it was.
    """

    name: str
    digest: str
    source: Source
    python: str
    base: str = ""
    note: str = ""


def build_image(settings: SandboxSettings, source: Source | None = None) -> BuiltImage:
    """Make the image and give it the configured name.

    Args:
        settings: Its name, what it is based on, and where the engine listens.
        source: `registry` for our Dockerfile on an image of Python; `local` for a copy of this machine's
            Python; None for the first where that can be had, and otherwise, on Linux, the second.

    Returns:
        What was made.

    Raises:
        SandboxError: No engine answers, or it could not be made.
    """
    from docker.errors import DockerException

    client = connect(settings)
    try:
        if source == "local":
            return _from_here(client, settings)
        base = settings.base_image or _BASE
        try:
            note = _fetch(client, base)
        except (DockerException, OSError) as error:
            trouble = f"The image {base} could not be had: {one_line(error)}"
            if source is None and sys.platform.startswith("linux"):
                return _from_here(client, settings, f"{trouble}. So it was made of this machine's Python.")
            hint = (
                "Name an image with Python that this engine can have in sandbox.base_image, or make it of "
                "this machine's Python: workbench sandbox build --from local"
            )
            raise SandboxError("The image could not be made", trouble, hint) from error
        return _from_dockerfile(client, settings, base, note)
    finally:
        client.close()


def _fetch(client: Any, base: str) -> str:
    """Fetch an image as it is now; where no registry has it, one that is here already does, with a note."""
    from docker.errors import DockerException, ImageNotFound

    try:
        client.api.pull(*_name_and_tag(base))
    except (DockerException, OSError) as error:
        try:
            client.api.inspect_image(base)
        except ImageNotFound:
            raise error from None
        return f"No registry gave {base} ({one_line(error)}), so the one that is here was taken."
    return ""


def _from_dockerfile(client: Any, settings: SandboxSettings, base: str, note: str) -> BuiltImage:
    from docker.errors import DockerException

    try:
        python = (client.api.inspect_image(base)["Config"].get("Labels") or {}).get(PYTHON_LABEL, "python3")
        with DOCKERFILE.open("rb") as file:
            client.images.build(
                fileobj=file,
                tag=settings.image,
                buildargs={"BASE": base, "PYTHON": python},
                network_mode="none",
                rm=True,
                forcerm=True,
            )
        return BuiltImage(settings.image, _digest(client, settings.image), "registry", python, base, note)
    except (DockerException, OSError) as error:
        hint = "The image that sandbox.base_image names needs Python 3.8 or newer, as python3, and /bin/sh."
        raise SandboxError("The image could not be made", one_line(error), hint) from error


def _from_here(client: Any, settings: SandboxSettings, note: str = "") -> BuiltImage:
    """Load a copy of an interpreter, its standard library, and the shared libraries they need."""
    from docker.errors import DockerException

    python = find_interpreter(settings.python).program
    try:
        with tempfile.TemporaryFile() as file:
            name = ":".join(_name_and_tag(settings.image))
            architecture = client.version()["Arch"]
            write_image(file, python, name, architecture, {PYTHON_LABEL: str(python)})
            file.seek(0)
            client.images.load(file)
        return BuiltImage(settings.image, _digest(client, settings.image), "local", str(python), note=note)
    except (DockerException, OSError, ValueError, subprocess.SubprocessError) as error:
        hint = "Set sandbox.python to the path of a Python 3.8 or newer that can be run."
        raise SandboxError("The image could not be made", one_line(error), hint) from error


def _name_and_tag(image: str) -> tuple[str, str]:
    """Take a name apart; a colon before a slash belongs to the registry's address."""
    repository, colon, tag = image.rpartition(":")
    return (repository, tag) if colon and "/" not in tag else (image, "latest")


def _digest(client: Any, image: str) -> str:
    return str(client.api.inspect_image(image)["Id"])
