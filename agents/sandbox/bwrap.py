"""The command line of bubblewrap: what is cut off, what is shown, what can be written, and who runs it."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agents.sandbox.interpreter import environment_variables
from agents.sandbox.syscalls import seccomp_filter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agents.sandbox.interpreter import Interpreter

_NOBODY = 65534
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_PREFIX = Path("/opt/py")


@dataclass(frozen=True, slots=True)
class Place:
    """A place that bubblewrap makes.

    Attributes:
        program: Path of bubblewrap.
        python: The interpreter that is started in it.
        user: Whom root drops to; None where it is not root who starts it.
        size: Bytes of /dev/shm, and as many of /tmp.
        contents: Files, by where each is shown.
        folders: Folders of this machine, by where each is shown, read-only.
        writable: Bytes of further places in memory that can be written, by their paths.
        network: Whether it has the machine's network.
        hash_seed: PYTHONHASHSEED.
    """

    program: str
    python: Interpreter
    user: int | None
    size: int = 0
    contents: Mapping[str, bytes] = field(default_factory=dict)
    folders: Mapping[str, Path] = field(default_factory=dict)
    writable: Mapping[str, int] = field(default_factory=dict)
    network: bool = False
    hash_seed: int = 0


@contextmanager
def confined(place: Place) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Give the command line that starts the place's interpreter, to be followed by its arguments.

    Args:
        place: The place.

    Yields:
        The words, and the descriptors that the process must inherit; they are closed afterwards.
    """
    number = place.user or _NOBODY
    account = f"tester:x:{number}:{number}::/tmp:/bin/sh\n".encode()
    contents = {**place.contents, "/etc/passwd": account}
    with ExitStack() as stack:
        # Files go in through memory: nothing is left on disk, even when the workbench is killed.
        files = {path: stack.enter_context(_in_memory(content)) for path, content in contents.items()}
        calls = seccomp_filter()
        filters = [] if calls is None else [stack.enter_context(_in_memory(calls))]
        line = [
            place.program,
            *_isolation(place.user, network=place.network),
            *(word for filtering in filters for word in ("--seccomp", str(filtering))),
            *_system(place.python),
            *_places(place, files),
            *_variables(place.python, place.hash_seed),
            "--",
            *_drop_to(place.user),
            str(_inside(place.python)),
        ]
        yield line, (*files.values(), *filters)


def outer_variables() -> dict[str, str]:
    """Return all that bubblewrap itself sees of this process's variables."""
    return {"PATH": os.environ.get("PATH", os.defpath)}


def _isolation(user: int | None, *, network: bool = False) -> list[str]:
    """Say what the program is cut off from; a repair keeps the network."""
    apart = ("ipc", "pid", "uts", "cgroup-try", *(() if network else ("net",)))
    separate = [f"--unshare-{what}" for what in apart]
    if user is None:
        nobody = str(_NOBODY)
        separate += ["--unshare-user", "--disable-userns", "--uid", nobody, "--gid", nobody]
        separate += ["--cap-drop", "ALL"]
    return ["--die-with-parent", "--new-session", "--clearenv", "--hostname", "sandbox", *separate]


def _system(python: Interpreter) -> list[str]:
    """Show the system and the interpreter read-only, without anybody's installed packages."""
    shown = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        folder = Path("/", name)
        if folder.is_symlink():
            shown += ["--symlink", os.readlink(folder), str(folder)]
        elif folder.is_dir():
            shown += ["--ro-bind", str(folder), str(folder)]
    for made in ("/etc", "/opt"):  # what bubblewrap makes by itself, root alone may look into
        shown += ["--perms", "0755", "--dir", made]
    shown += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    packages = [
        *Path("/usr").glob("lib/python3*/dist-packages"),
        *Path("/usr/local").glob("lib/python3*/*-packages"),
    ]
    if _is_moved(python):
        shown += ["--ro-bind", str(python.prefix), str(_PREFIX)]
        inner = python.prefix.glob("lib/python3*/site-packages")
        packages += [_PREFIX / folder.relative_to(python.prefix) for folder in inner]
    for folder in packages:
        shown += ["--perms", "0555", "--size", "4096", "--tmpfs", str(folder)]
    return shown


def _places(place: Place, files: Mapping[str, int]) -> list[str]:
    """Lay out what is not the system's: devices, processes, memory to write to, the program's files."""
    laid = ["--proc", "/proc", "--dev", "/dev"]
    for path, size in {"/dev/shm": place.size, "/tmp": place.size, **place.writable}.items():
        laid += ["--perms", "1777", "--size", str(size), "--tmpfs", path]
    for path, folder in place.folders.items():
        laid += ["--ro-bind", str(folder), path]
    for path, descriptor in files.items():
        laid += ["--perms", "0444", "--file", str(descriptor), path]
    return [*laid, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]


def _variables(python: Interpreter, hash_seed: int) -> list[str]:
    """Set the program's variables, and where a moved interpreter finds its own libraries."""
    values = environment_variables(home="/tmp", path="/usr/bin:/bin", hash_seed=hash_seed)
    if _is_moved(python):
        values["LD_LIBRARY_PATH"] = str(_PREFIX / "lib")
    return [word for name, value in values.items() for word in ("--setenv", name, value)]


def _drop_to(user: int | None) -> list[str]:
    """Begin the inner command with what gives up root, where root started it."""
    if user is None:
        return []
    who = ["--reuid", str(user), "--regid", str(user), "--clear-groups"]
    return ["setpriv", *who, "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--"]


def _is_moved(python: Interpreter) -> bool:
    """Tell whether the interpreter is no part of the system, and is shown at a place of its own."""
    return not python.program.is_relative_to("/usr") and python.prefix != Path("/")


def _inside(python: Interpreter) -> Path:
    """Find the interpreter as the program sees it."""
    return _PREFIX / python.program.relative_to(python.prefix) if _is_moved(python) else python.program


@contextmanager
def _in_memory(content: bytes) -> Iterator[int]:
    """Hold a file's content in memory, as a descriptor that bubblewrap reads from its beginning."""
    descriptor = os.memfd_create("workbench")
    try:
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
