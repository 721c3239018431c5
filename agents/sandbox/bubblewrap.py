"""Runs test programs with bubblewrap: namespaces of their own, a read-only system, no network, no home.

An ordinary user's run gets a user namespace. Root's does not, since a user made inside one is root to the
kernel, for which no limit on processes holds: there bubblewrap makes the other namespaces as root and
`setpriv` drops to a user id that no one has, one for each run, before any Python starts.

A filter of system calls (`syscalls.py`) closes what namespaces leave open, the making of further ones too:
the kernel's refusal of those in `--disable-userns` is there only where bubblewrap makes a user namespace.
"""

from __future__ import annotations

import itertools
import os
import shutil
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agents.sandbox.child import run_child
from agents.sandbox.errors import INSTALL_HINT, SandboxError
from agents.sandbox.interpreter import (
    BOOT,
    CHECK_PROGRAM,
    FLAGS,
    environment_variables,
    find_interpreter,
    options,
    scripts,
    sources,
)
from agents.sandbox.protocol import SandboxCheck
from agents.sandbox.reports import make_report
from agents.sandbox.syscalls import seccomp_filter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agents.sandbox.interpreter import Interpreter
    from agents.sandbox.protocol import ExecutionReport, Limits, Sandbox, TestProgram
    from agents.sandbox.settings import SandboxSettings

# The range that systemd keeps for users who exist only while a service runs.
_USER_IDS = range(61184, 65520)
_NOBODY = 65534
_SCRATCH_FILES = 4
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_PREFIX = Path("/opt/py")

# What a failed start says, and what mends it; the first that is found in the message.
_HINTS = (
    ("Unknown option", "bubblewrap 0.8 or newer is needed."),
    ("setpriv", "As root, setpriv (package util-linux) and the user ids from 61184 on are needed."),
    ("source path", "This user must be able to read the interpreter: set sandbox.python to one that it can."),
    ("execvp", "The interpreter could not be started: set sandbox.python to another one."),
    (
        "",
        "This system may forbid user namespaces: as root, sysctl -w kernel.unprivileged_userns_clone=1 or "
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 allows them; a container must be started "
        "with the right to make namespaces.",
    ),
)


def create(settings: SandboxSettings, allowed: frozenset[str] | None = None) -> Sandbox:
    """Make the bubblewrap sandbox.

    Args:
        settings: Limits, interpreter and the bubblewrap program.
        allowed: Not used: in isolation, any program may run.

    Returns:
        The sandbox.
    """
    del allowed
    return BubblewrapSandbox(settings)


class BubblewrapSandbox:
    """Runs any test program, isolated from the machine by bubblewrap."""

    name = "bubblewrap"

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        # Runs that follow each other get different users, so that none is charged for another's processes.
        self._users = itertools.cycle(_USER_IDS)
        for _ in range(os.getpid() % len(_USER_IDS)):
            next(self._users)

    async def open(self, programs: int) -> None:
        """Nothing can be made ready (see `Sandbox.open`)."""

    async def close(self) -> None:
        """Nothing is held between runs (see `Sandbox.close`)."""

    async def check(self) -> SandboxCheck:
        """Run a small program inside, and say why not when that fails."""
        try:
            report = await self.run(CHECK_PROGRAM)
        except SandboxError as error:
            return SandboxCheck(self.name, False, error.message, error.hint)
        if report.exit_reason == "ok":
            return SandboxCheck(self.name, True, "namespaces, no network, read-only system")
        hint = next(hint for words, hint in _HINTS if words in report.error)
        return SandboxCheck(self.name, False, report.error or report.exit_reason, hint)

    async def run(self, program: TestProgram, limits: Limits | None = None) -> ExecutionReport:
        """Run one program, whoever wrote it (see `Sandbox.run`)."""
        limits = limits or self._settings.limits
        bwrap = shutil.which(self._settings.bwrap)
        if bwrap is None:
            raise SandboxError(
                "bubblewrap is not installed",
                f"The program {self._settings.bwrap!r} was not found, so nothing isolates a program.",
                INSTALL_HINT,
            )
        python = find_interpreter(self._settings.python)
        user = next(self._users) if os.geteuid() == 0 else None
        contents = {f"/work/{name}": source for name, source in sources(program).items()}
        contents |= {f"/harness/{name}": content for name, content in scripts().items()}
        contents["/etc/passwd"] = f"tester:x:{user or _NOBODY}:{user or _NOBODY}::/tmp:/bin/sh\n".encode()
        contents["/etc/hosts"] = b"127.0.0.1 localhost\n::1 localhost\n"
        with ExitStack() as stack:
            # Files go in through memory: nothing is left on disk, even when the workbench is killed.
            files = {path: stack.enter_context(_in_memory(content)) for path, content in contents.items()}
            calls = seccomp_filter()
            filters = [] if calls is None else [stack.enter_context(_in_memory(calls))]
            ending = await run_child(
                lambda channel: [
                    bwrap,
                    *_isolation(user),
                    *(word for filtering in filters for word in ("--seccomp", str(filtering))),
                    *_system(python),
                    *_places(limits, files),
                    *_variables(python, program.hash_seed),
                    "--",
                    *_drop_to(user),
                    str(_inside(python)),
                    *FLAGS,
                    "-c",
                    BOOT.format(folder="/harness"),
                    "/work",
                    str(channel),
                    *options(limits),
                ],
                environment={"PATH": os.environ.get("PATH", os.defpath)},
                folder="/",
                limits=limits,
                files=(*files.values(), *filters),
            )
        return make_report(ending, sandbox=self.name, limits=limits)


def _isolation(user: int | None) -> list[str]:
    """Say what the program is cut off from."""
    separate = [f"--unshare-{what}" for what in ("ipc", "pid", "net", "uts", "cgroup-try")]
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
    return shown


def _places(limits: Limits, files: Mapping[str, int]) -> list[str]:
    """Lay out what is not the system's: devices, processes, scratch memory and the program's own files."""
    size = str(limits.file_bytes * _SCRATCH_FILES)
    places = ["--proc", "/proc", "--dev", "/dev"]
    for folder in ("/dev/shm", "/tmp"):
        places += ["--perms", "1777", "--size", size, "--tmpfs", folder]
    for path, descriptor in files.items():
        places += ["--perms", "0444", "--file", str(descriptor), path]
    return [*places, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]


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
