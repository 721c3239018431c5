"""The command line of bubblewrap: namespaces, mounts and user of a program."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agents.sandbox.errors import INSTALL_HINT, SandboxError
from agents.sandbox.inside.boot import FLAGS
from agents.sandbox.inside.fork_server import NOBODY, SMALL_FOLDER_BYTES
from agents.sandbox.interpreter import FORK_SERVER, environment_variables, forking_source, scripts
from agents.sandbox.system_calls import seccomp_filter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agents.sandbox.interpreter import Interpreter
    from agents.sandbox.protocol import Limits
    from agents.sandbox.settings import SandboxSettings

_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_PREFIX = Path("/opt/py")
_HARNESS, _PLACE, _WORK = "/harness", "/sandbox", "/sandbox/work"
# Bytes of the program's own two files.
_SOURCES = 16 * 1024 * 1024
USER_IDS = range(61184, 65520)
"""Users that no one is, one of which root's programs become: the range that systemd keeps for such."""
RIGHTS = ("CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP")
"""Capabilities that a process needs to change its user and to drop all others."""
FORKING_RIGHTS = ("CAP_KILL", "CAP_NET_ADMIN", "CAP_SETFCAP", "CAP_SYS_ADMIN")
"""Further capabilities of the interpreter that makes the namespaces of its forks and ends them."""
SECCOMP = "seccomp"
"""Among `contents`: the filter of system calls, which is no file inside."""
OUTER = {"PATH": os.environ.get("PATH", os.defpath)}
"""All that bubblewrap itself sees of this process's variables."""


def find_bubblewrap(settings: SandboxSettings) -> str:
    """Return the path of bubblewrap.

    Raises:
        SandboxError: It is not installed.
    """
    found = shutil.which(settings.bwrap)
    if found is None:
        raise SandboxError(
            "bubblewrap is not installed",
            f"The program {settings.bwrap!r} was not found, so nothing isolates a program.",
            INSTALL_HINT,
        )
    return found


def contents() -> dict[str, bytes]:
    """Return what bubblewrap reads at its start: files by their paths inside, and the filter."""
    files = {f"{_HARNESS}/{name}": content for name, content in scripts().items()}
    files[f"{_HARNESS}/{FORK_SERVER.name}"] = FORK_SERVER.read_bytes()
    files[f"{_HARNESS}/empty"] = b""
    files["/etc/hosts"] = b"127.0.0.1 localhost\n::1 localhost\n"
    return files | common_contents(None)


def scratch_bytes(limits: Limits) -> tuple[int, int]:
    """Return how much each scratch folder may hold, and the folder of the program's own files."""
    return limits.scratch_bytes, _SOURCES


def common_contents(user: int | None) -> dict[str, bytes]:
    """Return those of the contents that a repair has too: who it runs as, and the filter."""
    number = user or NOBODY
    files = {"/etc/passwd": f"tester:x:{number}:{number}::/tmp:/bin/sh\n".encode()}
    return files | {SECCOMP: seccomp_filter()}


def forking_command(
    bwrap: str,
    python: Interpreter,
    user: int | None,
    seed: int,
    *,
    control: int,
    files: Mapping[str, int],
    folders: Mapping[str, Path],
) -> list[str]:
    """Write the command line of an interpreter that forks a process for each program (`boot.serve_forks`).

    Args:
        bwrap: Path of bubblewrap.
        python: The interpreter.
        user: The user of root's trial, as each program becomes a user; None for nobody in a user namespace.
        seed: Its PYTHONHASHSEED, and so that of every fork.
        control: Descriptor of the socket that programs arrive on.
        files: Descriptors of `contents`.
        folders: Folders of this machine that are shown read-only, by their paths inside.

    Returns:
        Program and arguments.
    """
    shown = {path: descriptor for path, descriptor in files.items() if path != SECCOMP}
    memory = {"/dev/shm": SMALL_FOLDER_BYTES, "/tmp": SMALL_FOLDER_BYTES, _PLACE: SMALL_FOLDER_BYTES}
    return [
        bwrap,
        # A fork gives up what it needs for its namespaces, and bubblewrap's filter would refuse them.
        *_isolation(user, forks=True),
        *(word for right in RIGHTS + FORKING_RIGHTS for word in ("--cap-add", right)),
        *_shown(python, shown, memory, folders),
        "--setenv",
        "PYTHONHASHSEED",
        str(seed),
        "--",
        _inside(python),
        *FLAGS,
        "-c",
        forking_source(harness=_HARNESS, work=_WORK, control=control, seccomp=files[SECCOMP], user=user),
    ]


def plain_command(
    bwrap: str,
    python: Interpreter,
    user: int | None,
    *,
    files: Mapping[str, int],
    memory: Mapping[str, int],
    folders: Mapping[str, Path],
    network: bool = False,
    program: str | None = None,
) -> list[str]:
    """Write the command line of a program, to be followed by its arguments.

    Args:
        bwrap: Path of bubblewrap.
        python: The interpreter, which is shown.
        user: The user that root drops to before it starts; None for nobody in a user namespace.
        files: Descriptors of what is shown, by their paths inside, and of the filter.
        memory: Bytes of the places that can be written, by their paths.
        folders: Folders of this machine that are shown read-only, by their paths inside.
        network: Whether it has the machine's network.
        program: Its path inside; None for the interpreter.

    Returns:
        Program and arguments. It has nothing of the machine to write to.
    """
    drop: list[str] = []
    if user is not None:
        who = ["--reuid", str(user), "--regid", str(user), "--clear-groups"]
        drop = ["setpriv", *who, "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--"]
    return [
        bwrap,
        *_isolation(user, network=network),
        *_rights(user),
        *_shown(python, files, memory, folders),
        "--",
        *drop,
        program or _inside(python),
    ]


def _rights(user: int | None) -> list[str]:
    """Change from root to another user, and drop every capability."""
    return [] if user is None else [word for right in RIGHTS for word in ("--cap-add", right)]


def _isolation(user: int | None, *, network: bool = False, forks: bool = False) -> list[str]:
    """Return the options of isolation; a repair keeps the network, forks are isolated further."""
    apart = ("ipc", "pid", "uts", "cgroup-try", *(() if network else ("net",)))
    separate = [f"--unshare-{what}" for what in apart]
    if user is None:
        nobody = str(NOBODY)
        if forks:  # as anybody but 0, bubblewrap would put it into a namespace below that of its processes
            nobody = "0"
        separate += ["--unshare-user", "--uid", nobody, "--gid", nobody]
        separate += [] if forks else ["--disable-userns"]
    return [
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        "--hostname",
        "sandbox",
        *separate,
        "--cap-drop",
        "ALL",
    ]


def _shown(
    python: Interpreter, files: Mapping[str, int], memory: Mapping[str, int], folders: Mapping[str, Path]
) -> list[str]:
    """Return the options of the file system: read-only folders, files, memory to write to, variables."""
    read = {path: descriptor for path, descriptor in files.items() if path != SECCOMP}
    return [
        *(("--seccomp", str(files[SECCOMP])) if SECCOMP in files else ()),
        *_system(python),
        *_places(read, memory, folders),
        *_variables(python),
    ]


@cache
def _system(python: Interpreter) -> tuple[str, ...]:
    """Mount the system and the interpreter read-only, without installed packages."""
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
    if Path("/usr/local/etc").is_dir():
        packages.append(Path("/usr/local/etc"))  # settings of the machine
    for folder in packages:  # what forks share must not be written by the user that owns it
        shown += ["--perms", "0555", "--size", "4096", "--tmpfs", str(folder), "--remount-ro", str(folder)]
    return tuple(shown)


def _places(files: Mapping[str, int], memory: Mapping[str, int], folders: Mapping[str, Path]) -> list[str]:
    """Mount the rest: devices, processes, memory to write to, folders and files."""
    places = ["--proc", "/proc", "--dev", "/dev"]
    for path, size in memory.items():
        places += ["--perms", "1777", "--size", str(size), "--tmpfs", path]
    for parent in sorted({str(Path(path).parent) for path in folders} - {"/"}):
        places += ["--perms", "0755", "--dir", parent]  # see `_system`
    for path, folder in folders.items():
        places += ["--ro-bind", str(folder), path]
    for path, descriptor in files.items():
        places += ["--perms", "0444", "--file", str(descriptor), path]
    return [*places, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]


@cache
def _variables(python: Interpreter) -> tuple[str, ...]:
    """Set the program's variables, and where a moved interpreter finds its own libraries."""
    values = environment_variables(home="/tmp", path="/usr/bin:/bin")
    if _is_moved(python):
        values["LD_LIBRARY_PATH"] = str(_PREFIX / "lib")
    return tuple(word for name, value in values.items() for word in ("--setenv", name, value))


def _is_moved(python: Interpreter) -> bool:
    """Tell whether the interpreter is no part of the system, and is shown at a place of its own."""
    return not python.program.is_relative_to("/usr") and python.prefix != Path("/")


@cache
def _inside(python: Interpreter) -> str:
    """Find the interpreter as the program sees it."""
    moved = _is_moved(python)
    return str(_PREFIX / python.program.relative_to(python.prefix) if moved else python.program)


@contextmanager
def memory_files(contents: Mapping[str, bytes]) -> Iterator[dict[str, int]]:
    """Hold contents in memory: nothing is left on disk, even when the workbench is killed."""
    with ExitStack() as stack:
        yield {path: stack.enter_context(_in_memory(content)) for path, content in contents.items()}


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
