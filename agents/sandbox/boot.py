"""How an interpreter is started before its program is known: what it does until then, and what it is told.

It reads parts from stdin: the program's files, each as its name and its content up to an empty name, and a
line with hash seed and the supervisor's arguments. While it waits, all that a run needs has been imported. It
serves that one program and no other; one that forks (`inside/fork_server.py`) has each fork serve one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.sandbox.interpreter import BOOT, FLAGS, scripts, sources
from agents.sandbox.system_calls import seccomp_filter

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
_FILTER = """
with open({harness!r} + "/" + {name!r}, "rb") as file:
    supervisor.refuse_calls(file.read())
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


_CALLS = "calls"


def waiting(*, harness: str, work: str) -> str:
    """Write what an interpreter in a container is told by -c, which waits for its one program.

    It reads what runs inside first (`told_first`). Its stdin stays open, for the supervisor to end with.

    Args:
        harness: The folder that what runs inside goes to.
        work: The folder that the program's files go to.

    Returns:
        Source code.
    """
    own = _OWN_FILES.format(harness=harness)
    refuse = _FILTER.format(harness=harness, name=_CALLS)
    return _READ + own + _IMPORT.format(harness=harness) + refuse + _run(harness, work)


def forking(*, harness: str, work: str, user: str, control: int, seccomp: int) -> str:
    """Write what an interpreter is told by -c that forks a process for each program.

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
    return _READ + _IMPORT.format(harness=harness) + serve + _run(harness, work, _NO_INPUT)


def _run(harness: str, work: str, between: str = "") -> str:
    go = _GO.format(flags=FLAGS, again=BOOT.format(folder=harness))
    return _PROGRAM.format(work=work) + between + go


def told_first(machine: str) -> bytes:
    """Put together what an interpreter that has no harness is told as soon as it is started.

    Args:
        machine: The architecture that it runs on.

    Raises:
        SandboxError: Its system calls are not known.
    """
    return _files({**scripts(), _CALLS: seccomp_filter(machine)})


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
