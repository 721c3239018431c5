"""Waits in a started interpreter for a program, reads it, and returns the supervisor's input.

Standard library only, Python 3.8 or newer. The interpreter is given this source by -c and behind it the call
(`interpreter.waiting_source`, `interpreter.forking_source`), so that it needs no file to begin with. While it
waits, all that a run needs has been imported. On stdin come parts, each behind four bytes of its length: the
program's files, each as its name and its content up to an empty name, and a line with hash seed and the
supervisor's arguments.
"""

from __future__ import annotations

import os
import sys

# No user site, no site-packages, no bytecode files. Not -I: it would ignore PYTHONHASHSEED.
FLAGS = ("-s", "-S", "-B")
SUPERVISE = "import sys; sys.path[0] = {folder!r}; import supervisor; supervisor.main(sys.argv)"
"""The program given to the interpreter with -c, followed by the arguments of `supervisor.main`."""
CALLS = "calls"
"""Among the files that a container reads first: the filter of system calls."""


def wait(harness: str, work: str) -> list[str]:
    """Serve one program in a container; stdin stays open, for the supervisor to end with.

    Args:
        harness: The folder that what runs inside goes to; it is read first.
        work: The folder that the program's files go to.
    """
    read_files(harness)
    load(harness)
    with open(os.path.join(harness, CALLS), "rb") as file:
        __import__("supervisor").refuse_calls(file.read())
    return for_seed(harness, read_program(work))


def serve(harness: str, work: str, control: int, seccomp: int, user: str) -> list[str]:
    """Fork a process for each program; returns in the process of a program alone.

    Args:
        harness: The folder of what runs inside.
        work: The folder that a program's files go to.
        control: Descriptor of the socket that programs arrive on.
        seccomp: Descriptor of the filter of system calls.
        user: Whom a trial becomes, as a number; - where forks stay who they are.
    """
    load(harness)
    with open(seccomp, "rb", buffering=0) as file:
        calls = file.read()
    try:
        __import__("fork_server").Server(control, calls, user).work()
    except OSError as error:
        sys.exit(str(error))
    arguments = read_program(work)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return for_seed(harness, arguments)


def load(harness: str) -> None:
    """Import what every run needs."""
    sys.path[0] = harness
    for name in ("_ctypes", "_socket", "resource", "site", "supervisor"):
        __import__(name)


def read_program(work: str) -> list[str]:
    """Read the program's files into a folder; return its hash seed and the supervisor's arguments."""
    read_files(work)
    seed, *arguments = read_part().decode().split()
    return [seed, work, *arguments]


def for_seed(harness: str, arguments: list[str]) -> list[str]:
    """Start the interpreter again where it needs another hash seed, since it took its own when it started."""
    seed, *rest = arguments
    if seed != os.environ["PYTHONHASHSEED"]:
        os.environ["PYTHONHASHSEED"] = seed
        again = [sys.executable, *FLAGS, "-c", SUPERVISE.format(folder=harness), *rest]
        os.execv(sys.executable, again)
    return ["", *rest]


def read_files(folder: str) -> None:
    """Read files into a folder, and close both to changes."""
    while True:
        name = read_part().decode()
        if not name:
            break
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(read_part())
        os.chmod(path, 0o444)
    os.chmod(folder, 0o555)


def read_part() -> bytes:
    """Read what comes next; end the process when nothing more does."""
    return read_bytes(int.from_bytes(read_bytes(4), "big"))


def read_bytes(count: int) -> bytes:
    """Read so many bytes from stdin."""
    taken = b""
    while len(taken) < count:
        piece = os.read(0, count - len(taken))
        if not piece:
            os._exit(0)
        taken += piece
    return taken
