"""Packs this machine's Python into an image: interpreter, standard library, and what they are linked with.

The same files make the same image, to the digest: nothing of the machine's time, users or names goes in, and
everything is in one order. So the archive is one for `docker load`, which takes an image's whole
configuration from it; `docker import` writes the time into it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from agents.sandbox.interpreter import INSIDE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# The parts of a standard library that no test program needs, and what is not of it.
_BALLAST = frozenset({"__pycache__", "test", "tests", "idlelib", "ensurepip", "lib2to3", "turtledemo"})
_PACKAGES = frozenset({"site-packages", "dist-packages"})
_PROGRAMS = ("/bin/sh", "/usr/bin/env", "/usr/bin/timeout", "/bin/sleep", "/bin/cat")
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# Some engines give memory that is mounted on a folder the folder's own rights, whatever they are asked for.
_FOLDERS = dict.fromkeys(("tmp", "run", "var/tmp", "sandbox"), 0o1777) | dict.fromkeys(
    ("proc", "sys", "dev"), 0o755
)
_ACCOUNTS = {
    "etc/passwd": "root:x:0:0::/root:/bin/sh\ntester:x:65534:65534::/tmp:/bin/sh\n",
    "etc/group": "root:x:0:\ntester:x:65534:\n",
}
_ASK = (
    "import json, sys, sysconfig; "
    "print(json.dumps([sysconfig.get_path('stdlib'), sysconfig.get_path('platstdlib'), "
    "sys.implementation.cache_tag]))"
)
_COMPILING = INSIDE / "compiling.py"
_LONG_AGO = "1970-01-01T00:00:00Z"


def write_image(
    place: IO[bytes], python: Path, name: str, architecture: str, labels: Mapping[str, str]
) -> None:
    """Write an image as `docker load` takes it.

    Everything lies where it lies on this machine, so nothing needs a path to find the rest.

    Args:
        place: A binary file, written from its position.
        python: The interpreter.
        name: The image's name, with its tag.
        architecture: The engine's, as it names it.
        labels: The labels of the image.

    Raises:
        OSError: A file cannot be read, or there is no room.
        subprocess.SubprocessError: The interpreter cannot be run.
        ValueError: Its description cannot be read.
    """
    with tempfile.TemporaryFile() as layer:
        with tarfile.open(fileobj=layer, mode="w") as archive:
            _fill(archive, python)
        layer.seek(0)
        digest = hashlib.file_digest(layer, "sha256").hexdigest()
        configuration = {
            "architecture": architecture,
            "os": "linux",
            "created": _LONG_AGO,
            "config": {"User": "65534:65534", "Labels": dict(labels)},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
            "history": [{"created": _LONG_AGO, "created_by": "workbench sandbox build"}],
        }
        written = json.dumps(configuration, sort_keys=True).encode()
        config = f"{hashlib.sha256(written).hexdigest()}.json"
        manifest = [{"Config": config, "RepoTags": [name], "Layers": ["layer.tar"]}]
        with tarfile.open(fileobj=place, mode="w") as archive:
            _add(archive, config, written)
            entry = tarfile.TarInfo("layer.tar")
            entry.size = layer.seek(0, os.SEEK_END)
            layer.seek(0)
            archive.addfile(entry, layer)
            _add(archive, "manifest.json", json.dumps(manifest).encode())


def _fill(archive: tarfile.TarFile, python: Path) -> None:
    """Write everything into the archive, each folder above it once and open to all."""
    folders, tag = _places(python)
    programs = {Path(name) for name in _PROGRAMS if os.path.exists(name)} | {python}
    library = {path for folder in folders for path in _library(folder)}
    modules = {path for path in library if path.suffix == ".so"}
    files = programs | library | _shared_libraries(programs | modules)
    if os.path.exists(_CERTIFICATES):
        files.add(Path(_CERTIFICATES))
    made: set[Path] = set()
    for name, rights in _FOLDERS.items():
        _make(archive, Path("/", name), made, rights)
    for name, text in _ACCOUNTS.items():
        _make(archive, Path("/", name).parent, made)
        _add(archive, name, text.encode())
    for path in sorted(files):
        _make(archive, path.parent, made)
        rights = 0o755 if os.access(path, os.X_OK) else 0o644
        _add(archive, str(path).lstrip("/"), path.read_bytes(), rights)
    sources = sorted(path for path in library if path.suffix == ".py")
    for path, compiled in zip(sources, _compiled(python, sources), strict=True):
        if compiled:
            folder = path.parent / "__pycache__"
            _make(archive, folder, made)
            _add(archive, str(folder / f"{path.stem}.{tag}.pyc").lstrip("/"), compiled)


def _make(archive: tarfile.TarFile, folder: Path, made: set[Path], rights: int = 0o755) -> None:
    for each in (*reversed(folder.parents), folder):
        if each not in made and each != Path("/"):
            made.add(each)
            entry = tarfile.TarInfo(str(each).lstrip("/"))
            entry.type, entry.mode = tarfile.DIRTYPE, rights if each == folder else 0o755
            archive.addfile(entry)


def _add(archive: tarfile.TarFile, name: str, content: bytes, rights: int = 0o644) -> None:
    """Add a file; its time and its owner are 0."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), rights
    archive.addfile(entry, io.BytesIO(content))


def _places(python: Path) -> tuple[list[Path], str]:
    """Ask an interpreter where its standard library is, and what marks the modules that it compiled."""
    library, platform_library, tag = json.loads(_output([str(python), "-I", "-c", _ASK]))
    return sorted({Path(library), Path(platform_library)}), str(tag)


def _library(folder: Path) -> Iterator[Path]:
    """List the files of a standard library that a test program may need."""
    for parent, names, files in os.walk(folder):
        names[:] = [name for name in names if name not in _BALLAST | _PACKAGES and "config-" not in name]
        paths = (Path(parent, name) for name in files if not name.endswith((".a", ".pyc")))
        yield from (path for path in paths if path.is_file())  # some links lead nowhere


def _compiled(python: Path, sources: list[Path]) -> Iterator[bytes]:
    """Have an interpreter compile modules; the same interpreter, in the same order, with the same seed."""
    asked = b"".join(os.fsencode(path) + b"\n" for path in sources)
    command = [str(python), "-s", "-S", "-B", str(_COMPILING)]
    data = subprocess.run(
        command, input=asked, capture_output=True, check=True, timeout=600, env={"PYTHONHASHSEED": "0"}
    ).stdout
    at = 0
    while at < len(data):
        end = at + 8 + int.from_bytes(data[at : at + 8], "big")
        yield data[at + 8 : end]
        at = end


def _shared_libraries(programs: Iterable[Path]) -> set[Path]:
    """Find what programs and modules are linked with, under the names that the loader looks for."""
    found: set[Path] = set()
    for program in sorted(programs):
        for line in _output(["ldd", str(program)], check=False).splitlines():
            for word in line.split():
                if word.startswith("/"):
                    found.add(Path(word))
                    break
    return {path for path in found if path.exists()}


def _output(command: list[str], *, check: bool = True) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=check, timeout=60).stdout
