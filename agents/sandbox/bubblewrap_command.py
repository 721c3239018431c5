"""The command line of bubblewrap: what a program is cut off from, what it sees, and as whom it runs."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agents.sandbox.boot import RIGHTS, waiting
from agents.sandbox.interpreter import FLAGS, environment_variables, scripts
from agents.sandbox.syscalls import seccomp_filter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agents.sandbox.interpreter import Interpreter
    from agents.sandbox.protocol import Limits

_NOBODY = 65534
_SCRATCH_FILES = 4
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_PREFIX = Path("/opt/py")
_HARNESS, _PLACE = "/harness", "/sandbox"
# Bytes of the program's own two files.
_SOURCES = 16 * 1024 * 1024
SECCOMP = "seccomp"
"""Among `contents`: the filter of system calls, which is no file inside."""


def contents(user: int | None) -> dict[str, bytes]:
    """Return what bubblewrap reads at its start: files by their paths inside, and the filter.

    Args:
        user: The id that the program runs as; None for nobody in a user namespace.
    """
    files = {f"{_HARNESS}/{name}": content for name, content in scripts().items()}
    files["/etc/passwd"] = f"tester:x:{user or _NOBODY}:{user or _NOBODY}::/tmp:/bin/sh\n".encode()
    files["/etc/hosts"] = b"127.0.0.1 localhost\n::1 localhost\n"
    calls = seccomp_filter()
    return files if calls is None else files | {SECCOMP: calls}


def command(
    bwrap: str, python: Interpreter, limits: Limits, user: int | None, files: Mapping[str, int]
) -> list[str]:
    """Write the command line of an interpreter that waits for its program (`boot.waiting`).

    Args:
        bwrap: Path of bubblewrap.
        python: The interpreter.
        limits: What the program may use; of these only the size of its scratch folders is held here.
        user: The id that the program runs as; None for nobody in a user namespace.
        files: Descriptors of `contents`.

    Returns:
        Program and arguments.
    """
    shown = {path: descriptor for path, descriptor in files.items() if path != SECCOMP}
    return [
        bwrap,
        *_isolation(user),
        *(("--seccomp", str(files[SECCOMP])) if SECCOMP in files else ()),
        *_system(python),
        *_places(limits, shown),
        *_variables(python),
        "--",
        str(_inside(python)),
        *FLAGS,
        "-c",
        waiting(harness=_HARNESS, work=f"{_PLACE}/work", own_files=False, leash=False, user=user),
    ]


def _isolation(user: int | None) -> list[str]:
    """Say what the program is cut off from."""
    separate = [f"--unshare-{what}" for what in ("ipc", "pid", "net", "uts", "cgroup-try")]
    if user is None:
        nobody = str(_NOBODY)
        separate += ["--unshare-user", "--disable-userns", "--uid", nobody, "--gid", nobody]
    separate += ["--cap-drop", "ALL"]
    if user is not None:
        separate += [word for right in RIGHTS for word in ("--cap-add", right)]
    return [
        "--die-with-parent",
        "--new-session",
        "--clearenv",
        "--hostname",
        "sandbox",
        *separate,
    ]


@cache
def _system(python: Interpreter) -> tuple[str, ...]:
    """Show the system and the interpreter read-only, without anybody's installed packages."""
    shown = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        folder = Path("/", name)
        if folder.is_symlink():
            shown += ["--symlink", os.readlink(folder), str(folder)]
        elif folder.is_dir():
            shown += ["--ro-bind", str(folder), str(folder)]
    shown += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    shown += ["--perms", "0755", "--dir", "/opt"]
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
    return tuple(shown)


def _places(limits: Limits, files: Mapping[str, int]) -> list[str]:
    """Lay out what is not the system's: devices, processes, scratch memory and the program's own files."""
    size = str(limits.file_bytes * _SCRATCH_FILES)
    places = ["--proc", "/proc", "--dev", "/dev"]
    for folder, bytes_of_it in (("/dev/shm", size), ("/tmp", size), (_PLACE, str(_SOURCES))):
        places += ["--perms", "1777", "--size", bytes_of_it, "--tmpfs", folder]
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
def _inside(python: Interpreter) -> Path:
    """Find the interpreter as the program sees it."""
    return _PREFIX / python.program.relative_to(python.prefix) if _is_moved(python) else python.program


@contextmanager
def in_memory(content: bytes) -> Iterator[int]:
    """Hold a file's content in memory, as a descriptor that bubblewrap reads from its beginning."""
    descriptor = os.memfd_create("workbench")
    try:
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)
