"""Reads a program in an interpreter that was started before, and returns the supervisor's arguments.

Standard library only, Python 3.8 or newer. The interpreter gets this source by -c, with the call at its end
(`interpreter.waiting_source`, `interpreter.forking_source`), so that it needs no file to start. It imports
the modules of a run before the program comes. Stdin holds parts, each after four bytes with its length: the
program's files, each as name and content, up to an empty name, and a line with the hash seed and the
supervisor's arguments.
"""

from __future__ import annotations

import os
import sys

# No user site, no site-packages, no bytecode files. Not -I: it would ignore PYTHONHASHSEED.
FLAGS = ("-s", "-S", "-B")
SUPERVISE = "import sys; sys.path[0] = {folder!r}; import supervisor; supervisor.main(sys.argv)"
"""The program given to the interpreter with -c, followed by the arguments of `supervisor.main`."""
FILTER_FILE = "calls"
"""The name of the file with the filter of system calls, among those that a container reads first."""


def serve_one(harness: str, work: str) -> list[str]:
    """Serve one program in a container; stdin stays open, for the supervisor to end with.

    Args:
        harness: The folder for the scripts of this package, which are read first.
        work: The folder for the program's files.
    """
    read_files(harness)
    import_modules(harness)
    with open(os.path.join(harness, FILTER_FILE), "rb") as file:
        __import__("supervisor").filter_system_calls(file.read())
    return restart_for_seed(harness, read_program(work))


def serve_forks(harness: str, work: str, control: int, seccomp: int, user: str) -> list[str]:
    """Fork a process for each program; returns in the process of a program alone.

    Args:
        harness: The folder of the scripts of this package.
        work: The folder for a program's files.
        control: Descriptor of the socket that programs arrive on.
        seccomp: Descriptor of the filter of system calls.
        user: The user of a trial fork, as a number; - where forks do not change it.
    """
    import_modules(harness)
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
    return restart_for_seed(harness, arguments)


def import_modules(harness: str) -> None:
    """Import the modules that every run needs."""
    sys.path[0] = harness
    for name in ("_ctypes", "_socket", "resource", "site", "supervisor"):
        __import__(name)


def read_program(work: str) -> list[str]:
    """Read the program's files into a folder; return its hash seed and the supervisor's arguments."""
    read_files(work)
    seed, *arguments = read_part().decode().split()
    return [seed, work, *arguments]


def restart_for_seed(harness: str, arguments: list[str]) -> list[str]:
    """Start the interpreter again where it needs another hash seed, which is fixed at its start."""
    seed, *rest = arguments
    if seed != os.environ["PYTHONHASHSEED"]:
        os.environ["PYTHONHASHSEED"] = seed
        again = [sys.executable, *FLAGS, "-c", SUPERVISE.format(folder=harness), *rest]
        os.execv(sys.executable, again)
    return ["", *rest]


def read_files(folder: str) -> None:
    """Read files into a folder, and make both read-only."""
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
    """Read the next part; end the process at the end of stdin."""
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
