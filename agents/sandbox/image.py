"""Makes the image that test programs run in: from a registry, or from this machine's Python."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agents.sandbox.containers import PYTHON_LABEL
from agents.sandbox.engine import connect
from agents.sandbox.errors import SandboxError
from agents.sandbox.interpreter import find_interpreter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agents.sandbox.settings import SandboxSettings

Source = Literal["registry", "local"]

# The parts of a standard library that no test program needs, and what is not of it.
_BALLAST = frozenset({"__pycache__", "test", "tests", "idlelib", "ensurepip", "lib2to3", "turtledemo"})
_PACKAGES = frozenset({"site-packages", "dist-packages"})
_PROGRAMS = ("/bin/sh", "/usr/bin/env", "/usr/bin/timeout", "/bin/sleep", "/bin/cat")
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# Some engines give memory that is mounted on a folder the folder's own rights, whatever they are asked for.
_FOLDERS = dict.fromkeys(("tmp", "run", "var/tmp"), 0o1777) | dict.fromkeys(
    ("proc", "sys", "dev", "sandbox"), 0o755
)
_ACCOUNTS = {
    "etc/passwd": "root:x:0:0::/root:/bin/sh\ntester:x:65534:65534::/tmp:/bin/sh\n",
    "etc/group": "root:x:0:\ntester:x:65534:\n",
}
_ASK = (
    "import json, sysconfig; "
    "print(json.dumps([sysconfig.get_path('stdlib'), sysconfig.get_path('platstdlib')]))"
)


@dataclass(frozen=True, slots=True)
class BuiltImage:
    """An image that was made.

    Attributes:
        name: Its name.
        digest: Its id, as the engine computes it from the content.
        source: What it was made from.
        python: Path of its interpreter.
    """

    name: str
    digest: str
    source: Source
    python: str


def build_image(settings: SandboxSettings, source: Source | None = None) -> BuiltImage:
    """Make the image and give it the configured name.

    Args:
        settings: Its name, and where the engine listens.
        source: `registry` for the official image of Python, `local` for a copy of this machine's; None for
            the first that works.

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
        try:
            return _from_registry(client, settings)
        except (DockerException, OSError) as error:
            if source is None and sys.platform.startswith("linux"):
                return _from_here(client, settings)
            hint = "Make it of this machine's Python instead: workbench sandbox build --from local"
            raise SandboxError("The image could not be made", " ".join(str(error).split()), hint) from error
    finally:
        client.close()


def _from_registry(client: Any, settings: SandboxSettings) -> BuiltImage:
    """Build a Dockerfile on top of the official image of this Python's version."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    python = "/usr/local/bin/python3"
    lines = [f"FROM python:{version}-slim", f"LABEL {PYTHON_LABEL}={python}", "USER 65534:65534", ""]
    client.images.build(
        fileobj=io.BytesIO("\n".join(lines).encode()), tag=settings.image, rm=True, forcerm=True, pull=True
    )
    return BuiltImage(settings.image, _digest(client, settings.image), "registry", python)


def _from_here(client: Any, settings: SandboxSettings) -> BuiltImage:
    """Import a copy of an interpreter, its standard library, and the shared libraries they need.

    Everything lies where it lies on this machine, so nothing has to be told where to find the rest.
    """
    from docker.errors import DockerException

    python = find_interpreter(settings.python).program
    try:
        library, platform_library = json.loads(_output([str(python), "-I", "-c", _ASK]))
        folders = sorted({Path(library), Path(platform_library)})
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w") as archive:
                _fill(archive, python, folders)
            file.seek(0)
            repository, tag = _name_and_tag(settings.image)
            changes = [f'LABEL {PYTHON_LABEL}="{python}"', "USER 65534:65534"]
            client.api.import_image_from_data(file, repository=repository, tag=tag, changes=changes)
    except (DockerException, OSError, ValueError, subprocess.SubprocessError) as error:
        hint = "Set sandbox.python to the path of a Python 3.8 or newer that can be run."
        raise SandboxError("The image could not be made", " ".join(str(error).split()), hint) from error
    return BuiltImage(settings.image, _digest(client, settings.image), "local", str(python))


def _name_and_tag(image: str) -> tuple[str, str]:
    """Take a name apart; a colon before a slash belongs to the registry's address."""
    repository, colon, tag = image.rpartition(":")
    return (repository, tag) if colon and "/" not in tag else (image, "latest")


def _digest(client: Any, image: str) -> str:
    return str(client.api.inspect_image(image)["Id"])


def _fill(archive: tarfile.TarFile, python: Path, folders: Iterable[Path]) -> None:
    """Write everything into the archive, each folder above it once and open to all."""
    made: set[Path] = set()
    programs = {Path(name) for name in _PROGRAMS if os.path.exists(name)} | {python}
    library = {path for folder in folders for path in _library(folder)}
    modules = {path for path in library if path.suffix == ".so"}
    files = programs | library | _shared_libraries(programs | modules)
    if os.path.exists(_CERTIFICATES):
        files.add(Path(_CERTIFICATES))
    for name, rights in _FOLDERS.items():
        _make(archive, Path("/", name), made, rights)
    for name, text in _ACCOUNTS.items():
        _make(archive, Path("/", name).parent, made)
        _add(archive, tarfile.TarInfo(name), text.encode())
    for path in sorted(files):
        _make(archive, path.parent, made)
        entry = tarfile.TarInfo(str(path).lstrip("/"))
        entry.mode = 0o755 if os.access(path, os.X_OK) else 0o644
        _add(archive, entry, path.read_bytes())


def _make(archive: tarfile.TarFile, folder: Path, made: set[Path], rights: int = 0o755) -> None:
    for each in (*reversed(folder.parents), folder):
        if each not in made and each != Path("/"):
            made.add(each)
            entry = tarfile.TarInfo(str(each).lstrip("/"))
            entry.type, entry.mode = tarfile.DIRTYPE, rights if each == folder else 0o755
            archive.addfile(entry)


def _add(archive: tarfile.TarFile, entry: tarfile.TarInfo, content: bytes) -> None:
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _library(folder: Path) -> Iterator[Path]:
    """List the files of a standard library that a test program may need."""
    for parent, names, files in os.walk(folder):
        names[:] = [name for name in names if name not in _BALLAST | _PACKAGES and "config-" not in name]
        paths = (Path(parent, name) for name in files if not name.endswith((".a", ".pyc")))
        yield from (path for path in paths if path.is_file())  # some links lead nowhere


def _shared_libraries(programs: Iterable[Path]) -> set[Path]:
    """Find what programs and modules are linked with, under the names that the loader looks for."""
    found: set[Path] = set()
    for program in programs:
        for line in _output(["ldd", str(program)], check=False).splitlines():
            for word in line.split():
                if word.startswith("/"):
                    found.add(Path(word))
                    break
    return {path for path in found if path.exists()}


def _output(command: list[str], *, check: bool = True) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=check, timeout=60).stdout
