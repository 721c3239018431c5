"""The Python interpreter of every sandbox: its path, its environment variables, its files and its input."""

from __future__ import annotations

import importlib.util
import marshal
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from agents.sandbox.cells import split_cells
from agents.sandbox.errors import SandboxError
from agents.sandbox.inside.boot import FILTER_FILE
from agents.sandbox.system_calls import seccomp_filter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.sandbox.protocol import Limits, TestProgram
    from agents.sandbox.settings import SandboxSettings

INSIDE = Path(__file__).with_name("inside")
# What runs inside: the first is started, the others are imported by it.
SUPERVISOR = INSIDE / "supervisor.py"
SCRIPTS = (SUPERVISOR, *(INSIDE / f"{name}.py" for name in ("harness", "cases", "listing")))
# What starts them for many programs, where a sandbox has use for it.
FORK_SERVER = INSIDE / "fork_server.py"

_VERSION = re.compile(r"\d+\.\d+")
# What declares an encoding (PEP 263): a comment in the first line, or in the second after one without code.
_ENCODING = re.compile(
    r"\A(\ufeff?(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))??[ \t\f]*#[^\r\n]*?coding[:=][ \t]*)[-\w.]+",
    re.ASCII,
)
# The candidate.py of a stub: loads it by `stubs.py`, and adds no other name to the module.
_STUB = (
    "(lambda space: exec({stubs!r}, space) or space['load_stub'])({{}})(globals(), {source!r}, {kind!r})\n"
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python installation.

    Attributes:
        program: The interpreter itself, no link to it.
        prefix: The folder that holds its `bin` and its `lib`.
    """

    program: Path
    prefix: Path


def find_interpreter(chosen: str = "") -> Interpreter:
    """Find the interpreter that runs test programs.

    A virtual environment's interpreter is followed to the installation behind it, since only the standard
    library is used.

    Args:
        chosen: Name or path from the settings; empty for the one that runs the workbench.

    Returns:
        The interpreter and its prefix.

    Raises:
        SandboxError: There is no such program.
    """
    if chosen:
        found = shutil.which(chosen)
        if found is None:
            raise SandboxError(
                "The interpreter for test programs is not there",
                f"sandbox.python says {chosen!r}, and no such program can be run.",
                "Set it to the path of a Python 3.8 or newer, or leave it empty.",
            )
        program = Path(found).resolve()
    else:
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        program = Path(sys.base_prefix, "bin", version)
        program = (program if program.exists() else Path(sys.executable)).resolve()
    return Interpreter(program, program.parent.parent)


@cache
def python_version(settings: SandboxSettings) -> str:
    """Return the version of Python in which test programs run, as far as the settings tell.

    Args:
        settings: Without `python` and `base_image`, every sandbox has the version that runs the workbench.

    Returns:
        The version, such as "3.12"; for an image of the user's own, its name.
    """
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if settings.base_image:
        return f"of the image {settings.base_image}"
    if not settings.python:
        return own
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        command = [str(find_interpreter(settings.python).program), "-I", "-S", "-c", ask]
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (SandboxError, OSError, subprocess.SubprocessError):
        return own
    return said if _VERSION.fullmatch(said) else own


@cache
def scripts() -> dict[str, bytes]:
    """Return the files of what runs inside, by their names below its folder.

    With each goes its bytecode for this version of Python, since to compile them again takes half as long as
    to start the interpreter; another version leaves it alone.
    """
    files = {}
    for script in SCRIPTS:
        source = script.read_bytes()
        files[script.name] = source
        code = marshal.dumps(compile(source, script.name, "exec", dont_inherit=True))
        # Its form is PEP 552's, with the flag that says that the source need not be looked at.
        head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + importlib.util.source_hash(source)
        files[f"__pycache__/{script.stem}.{sys.implementation.cache_tag}.pyc"] = head + code
    return files


def options(limits: Limits, **further: int) -> list[str]:
    """Write the last arguments of `supervisor.main`.

    Args:
        limits: The limits of the program.
        further: Further arguments, or replacements of these.

    Returns:
        NAME=NUMBER for each.
    """
    numbers = {name: value for name, value in asdict(limits).items() if isinstance(value, int)}
    return [f"{name}={value}" for name, value in (numbers | further).items()]


def environment_variables(*, home: str, path: str, hash_seed: int = 0) -> dict[str, str]:
    """Make all the variables a test program sees, equal on every machine.

    Args:
        home: The writable folder, also for temporary files.
        path: Where programs are looked for.
        hash_seed: From which the order of sets follows.

    Returns:
        Variables by name.
    """
    return {
        "HOME": home,
        "LANG": "C.UTF-8",
        "PATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONUTF8": "1",
        "TMPDIR": home,
        "TZ": "UTC",
    }


def sources(program: TestProgram) -> dict[str, bytes]:
    """Name the files of a program as the harness looks for them."""
    candidate, scaffold, tests = map(_encode, (program.candidate, *split_cells(program.test)))
    if program.stub is not None:
        candidate = _STUB.format(stubs=_stubs(), source=candidate, kind=program.stub).encode()
    files = {"candidate.py": candidate, "test_candidate.py": tests}
    return files | ({"scaffold.py": scaffold} if scaffold else {})


def _encode(source: str) -> bytes:
    """Write a source as UTF-8; where it declares another encoding, which its file had once, it says so."""
    # surrogatepass: Python will refuse such a file with a SyntaxError, which is the right report of it.
    return _ENCODING.sub(r"\1utf-8", source, count=1).encode("utf-8", "surrogatepass")


@cache
def _stubs() -> str:
    return (INSIDE / "stubs.py").read_text(encoding="utf-8")


def waiting_source(*, harness: str, work: str) -> str:
    """Return the -c argument of an interpreter in a container: to serve one program (`boot.serve_one`).

    It reads `harness_input` first, and then `program_input`.

    Args:
        harness: The folder for the scripts of `inside`.
        work: The folder for the program's files.
    """
    return _boot_source(f"serve_one({harness!r}, {work!r})")


def forking_source(*, harness: str, work: str, control: int, seccomp: int, user: int | None) -> str:
    """Return the -c argument of an interpreter that forks a process for each program (`boot.serve_forks`).

    Args:
        harness: The folder of the scripts of `inside`.
        work: The folder for a program's files.
        control: Descriptor of the socket that programs arrive on.
        seccomp: Descriptor of the filter of system calls.
        user: The user of a trial; None where forks stay who they are.
    """
    who = "-" if user is None else str(user)
    return _boot_source(f"serve_forks({harness!r}, {work!r}, {control}, {seccomp}, {who!r})")


def _boot_source(call: str) -> str:
    # Called at the top, so that a program can recurse as far as in an interpreter of its own.
    source = (INSIDE / "boot.py").read_text(encoding="utf-8")
    return f"{source}\narguments = {call}\nimport supervisor\nsupervisor.main(arguments)\n"


def harness_input(machine: str) -> bytes:
    """Put together what an interpreter without a harness reads first, for an architecture.

    Raises:
        SandboxError: Its system calls are not known.
    """
    return _files({**scripts(), FILTER_FILE: seccomp_filter(machine)})


def program_input(program: TestProgram, channel: int, arguments: list[str]) -> bytes:
    """Put together what an interpreter reads of its program.

    Args:
        program: The program.
        channel: The report channel's file descriptor.
        arguments: How the supervisor is to run it (`options`).
    """
    line = " ".join((str(program.hash_seed), str(channel), *arguments))
    return _files(sources(program)) + _part(line.encode())


def _files(files: Mapping[str, bytes]) -> bytes:
    return b"".join(_part(name.encode()) + _part(content) for name, content in files.items()) + _part(b"")


def _part(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content
