"""How an interpreter is started before its program is known: what it does until then, and what it is told.

It reads parts from stdin: the program's files, each as its name and its content up to an empty name, and a
line with hash seed and the supervisor's arguments. While it waits, all that a run needs has been imported. It
serves that one program and no other; one that forks (`fork_server.py`) has each fork serve one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.sandbox.interpreter import BOOT, FLAGS, scripts, sources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.sandbox.protocol import TestProgram

_READ = """
import os, sys
def part():
    return take(int.from_bytes(take(4), "big"))
def take(count):
    taken = b""
    while len(taken) < count:
        piece = os.read(0, count - len(taken))
        if not piece:
            os._exit(0)
        taken += piece
    return taken
def files(folder):
    while True:
        name = part().decode()
        if not name:
            return
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(part())
        os.chmod(path, 0o444)
"""
_OWN_FILES = """
files({harness!r})
os.chmod({harness!r}, 0o555)
"""
_DROP = """
import _ctypes
library = _ctypes.dlopen(None, 2)
def call(name, *values):
    if _ctypes.call_function(_ctypes.dlsym(library, name), values):
        raise OSError(name + " was refused")
try:
    # prctl(PR_CAPBSET_DROP), for every right that the kernel knows; without CAP_SETPCAP it is refused.
    with open("/proc/sys/kernel/cap_last_cap") as file:
        for right in range(int(file.read()) + 1):
            call("prctl", 24, right, 0, 0, 0)
    os.setgroups([])
    os.setresgid({user}, {user}, {user})
    os.setresuid({user}, {user}, {user})
    call("capset", (0x20080522).to_bytes(4, sys.byteorder) + bytes(4), bytes(24))
except OSError as error:
    sys.exit("{refused}: " + str(error))
"""
_IMPORT = """
sys.path[0] = {harness!r}
import _ctypes, _socket, resource, site, supervisor
"""
_PROGRAM = """
files({work!r})
os.chmod({work!r}, 0o555)
seed, *arguments = part().decode().split()
arguments.insert(0, {work!r})
"""
_NO_INPUT = """
nothing = os.open(os.devnull, os.O_RDONLY)
os.dup2(nothing, 0)
os.close(nothing)
"""
_GO = """
if seed != os.environ["PYTHONHASHSEED"]:
    # The interpreter took its seed when it started, so another one needs another start.
    os.environ["PYTHONHASHSEED"] = seed
    os.execv(sys.executable, [sys.executable, *{flags!r}, "-c", {again!r}, *arguments])
supervisor.main(["", *arguments])
"""
_SERVE = """
import fork_server
with open({seccomp}, "rb", buffering=0) as file:
    seccomp = file.read()
try:
    fork_server.Server({control}, seccomp, {user!r}).work()
except OSError as error:
    sys.exit(str(error))
"""


RIGHTS = ("CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP")
"""What an interpreter needs that becomes another user, and gives up every right."""
NO_CHANGE_OF_USER = "no change of user"
"""How the last line begins of one that could not."""


def waiting(*, harness: str, work: str, own_files: bool, leash: bool, user: int | None = None) -> str:
    """Write what the interpreter is told by -c.

    Args:
        harness: The folder of what runs inside.
        work: The folder that the program's files go to.
        own_files: Whether the harness comes over stdin too, before everything else (`told_first`).
        leash: Whether stdin stays open for the supervisor to end with; otherwise it ends up empty.
        user: Who it becomes for good, without any right, before it reads anything; until then it needs
            `RIGHTS`. None where it is already who it shall be.

    Returns:
        Source code.
    """
    drop = "" if user is None else _DROP.format(user=user, refused=NO_CHANGE_OF_USER)
    own = _OWN_FILES.format(harness=harness) if own_files else ""
    return _READ + drop + own + _IMPORT.format(harness=harness) + _run(harness, work, leash=leash)


def forking(*, harness: str, work: str, user: str, control: int, seccomp: int) -> str:
    """Write what an interpreter is told by -c that forks a process for each program (`fork_server.py`).

    Args:
        harness: The folder of what runs inside.
        work: The folder that a program's files go to.
        user: Whom a trial becomes, as a number; - where forks stay who they are.
        control: Descriptor of the socket by which it is told of programs.
        seccomp: Descriptor of the filter of system calls.

    Returns:
        Source code.
    """
    serve = _SERVE.format(user=user, control=control, seccomp=seccomp)
    return _READ + _IMPORT.format(harness=harness) + serve + _run(harness, work, leash=False)


def _run(harness: str, work: str, *, leash: bool) -> str:
    go = _GO.format(flags=FLAGS, again=BOOT.format(folder=harness))
    return _PROGRAM.format(work=work) + ("" if leash else _NO_INPUT) + go


def told_first() -> bytes:
    """Put together what an interpreter that has no harness is told as soon as it is started."""
    return _files(scripts())


def told_of(program: TestProgram, channel: int, arguments: list[str]) -> bytes:
    """Put together what an interpreter is told of its program.

    Args:
        program: The program.
        channel: The report channel's file descriptor.
        arguments: How the supervisor is to run it (`interpreter.options`).

    Returns:
        What follows on `told_first`.
    """
    line = " ".join((str(program.hash_seed), str(channel), *arguments))
    return _files(sources(program)) + _part(line.encode())


def _files(files: Mapping[str, bytes]) -> bytes:
    return b"".join(_part(name.encode()) + _part(content) for name, content in files.items()) + _part(b"")


def _part(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content
