"""The protocol of sandboxes: one test program in, one execution report out.

The test executor of CoSQA+ (section IV.C) runs a generated test program in isolation and hands the
arbiter a structured report. Both are values here, so that every sandbox speaks of them alike.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, get_args

from store.json_fields import json_name
from store.outcome_counts import OutcomeCounts

if TYPE_CHECKING:
    from datetime import datetime

    from agents.sandbox.repair import RepairAction, RepairReport
    from store.cuts import Cut

ExitReason = Literal[
    "ok",  # every test passed, or a program without tests ran to its end
    "assertion",  # every test ran, at least one assertion failed, and nothing else went wrong
    "error",  # an exception other than an assertion, or a program that ended itself before its tests did
    "timeout",  # stopped at the wall clock's or the processor's limit
    "memory",  # asked for more memory than it may have
    "processes",  # asked for more processes or threads than it may have
    "output",  # wrote more to stdout or stderr than is kept
    "disk",  # wrote a file larger than it may, or filled its scratch folder
    "killed",  # ended by a signal that it caused or sent itself
    "infrastructure",  # the sandbox did not start or broke: it says nothing about the program
]
Outcome = Literal["passed", "failed", "error"]

Obstacle = Literal[
    "",  # nothing: it came to a result
    "environment",  # something that it needs is not there: a module, a name, a file, a library, a network
    "test",  # it was not run, or skipped, or its set-up failed: the tested code has shown nothing
    "limit",  # it met a limit, or the program was ended inside it
    "damaged",  # the program wrote into the report of its tests
]

Stub = Literal[
    "none",  # every function of the candidate does nothing
    "input",  # every function of the candidate returns its first input
]
STUBS: tuple[Stub, ...] = get_args(Stub)

_SCRATCH_FILES = 4
_SUPERVISOR_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TestProgram:
    """A candidate and the test that judges it.

    Attributes:
        candidate: Source of the module `candidate`, which the test imports.
        test: Source of the test program.
        edited: Whether a person changed the test after it was written. An edited test always needs a
            real sandbox, whatever its digest.
        stub: Which stub of the candidate replaces it (see `inside/stubs.py`); None for the candidate itself.
        hash_seed: PYTHONHASHSEED, from which the order of sets follows.
        snapshot: Name of the repaired environment that it runs in (see `repair.py`); empty for the sandbox's
            own, with nothing beside the standard library.
    """

    __test__: ClassVar[bool] = False

    candidate: str
    test: str
    edited: bool = False
    stub: Stub | None = None
    hash_seed: int = 0
    snapshot: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 in hex of both sources in UTF-8, with a NUL byte between them.

        A stub, another seed and a snapshot leave it as it is: they are ways to run the same program.
        """
        # surrogatepass: a source read from a damaged file must still have a digest.
        parts = (self.candidate, self.test)
        return hashlib.sha256(b"\0".join(part.encode("utf-8", "surrogatepass") for part in parts)).hexdigest()


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one execution.

    Attributes:
        wall_seconds: Seconds from its start to its end, whatever it waits for.
        cpu_seconds: Seconds of processor time of one process.
        memory_bytes: Bytes of address space of one process, and of the memory that all of them use together:
            in a container, and in bubblewrap where a control group can be made (`bubblewrap/cgroup.py`).
        processes: Processes and threads at one time. Only a sandbox that gives each run a user of its own
            can hold this; `process` does not.
        output_bytes: Bytes that it may write to stdout, and as many to stderr.
        kept_bytes: Bytes kept of stdout, and as many of stderr: half from its beginning, half from its end.
        file_bytes: Bytes of the largest file. The scratch folder of a sandbox that isolates holds four such.
        open_files: Open files of one process.
    """

    wall_seconds: float = 10.0
    cpu_seconds: int = 10
    memory_bytes: int = 512 * 1024 * 1024
    processes: int = 32
    output_bytes: int = 1024 * 1024
    file_bytes: int = 16 * 1024 * 1024
    open_files: int = 64
    kept_bytes: int = 64 * 1024

    @property
    def whole_memory_bytes(self) -> int:
        """Bytes of memory of all processes together, what their supervisor needs included."""
        return self.memory_bytes + _SUPERVISOR_BYTES

    @property
    def whole_processes(self) -> int:
        """Processes and threads at one time, their supervisor included."""
        return self.processes + 1

    @property
    def scratch_bytes(self) -> int:
        """Bytes of each scratch folder."""
        return self.file_bytes * _SCRATCH_FILES


def inodes_of(size: int) -> int:
    """Say how many files, folders and links a file system in memory of so many bytes may have.

    As many as it has pages, since an empty file takes about a kilobyte of the kernel's memory, which counts
    towards no size.
    """
    return max(size // 4096, 16)


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """The outcome of one test of a program.

    Attributes:
        name: The function's name, or `Class.method`.
        outcome: `passed`; `failed` by an assertion; `error` for any other way not to end well.
        message: Empty when passed, otherwise one line: the exception's type and text.
        seconds: How long it ran.
        discriminates: False when it passed and passes against a stub of the candidate as well; True when it
            passed and fails against both stubs; None when that is not known (see `trust.py`).
        flaky: Whether it came out otherwise under another hash seed; None when that is not known.
        trace: The traceback with the frames of candidate and test, its middle left out where it is long;
            empty when passed.
        obstacle: What kept it from a result, if anything. A test that passed, failed an assertion, or met an
            exception of the tested code came to one.
    """

    __test__: ClassVar[bool] = False

    name: str
    outcome: Outcome
    message: str
    seconds: float
    discriminates: bool | None = None
    flaky: bool | None = None
    trace: str = ""
    obstacle: Obstacle = ""


@dataclass(frozen=True, slots=True)
class ExecutionReport:
    r"""The report of one execution of a test program.

    Attributes:
        exit_reason: Why it ended, see `ExitReason`.
        exit_code: Exit status, 128 + N after signal N; None when nothing was started.
        stdout: The kept part of standard output, its beginning and its end; bytes that are not UTF-8 read
            as `\xNN`.
        stderr: The same of standard error.
        outcomes: The tests in the order they ran. They come from the harness, not from stdout.
        error: One line that says what kept the program, or the first such test of it, from a result, such as
            "ModuleNotFoundError: No module named 'dateutil'"; empty where nothing did.
        seconds: Wall time.
        environment: Short digest of Python version, sandbox and platform; empty when it never began.
        output_dropped: Bytes of stdout and stderr that were not kept.
        started_at: When it started, aware, in UTC.
        trace: The traceback of what ended the program outside its tests.
        image: Digest of the image that it ran in; empty where a sandbox has none.
        packages: Packages that it could import, as NAME==VERSION.
        stdout_cut: The missing part of stdout; None when it is whole.
        stderr_cut: The same of stderr.
        snapshot: Name of the repaired environment that it ran in; empty for the sandbox's own.
    """

    JSON: ClassVar = (
        *("exit_reason", "executable", "exit_code", "error"),
        *("passed", "failed", "errors", "not_discriminating", "flaky", "outcomes", "trace"),
        *("stdout", "stdout_cut", "stderr", "stderr_cut", "output_dropped", "seconds"),
        *("sandbox", "environment", "image", "snapshot", "packages", "started_at"),
    )

    exit_reason: ExitReason
    exit_code: int | None
    stdout: str
    stderr: str
    outcomes: tuple[TestOutcome, ...] = field(repr=False, metadata=json_name("tests"))
    error: str
    seconds: float
    sandbox: str
    environment: str
    output_dropped: int
    started_at: datetime
    trace: str = ""
    image: str = ""
    packages: tuple[str, ...] = ()
    stdout_cut: Cut | None = None
    stderr_cut: Cut | None = None
    snapshot: str = ""

    @property
    def executable(self) -> bool:
        """Whether the program was executed: the "Exec. rate" of CoSQA+, Table II.

        It was when it could be loaded and at least one of its tests came to a result: passed, failed an
        assertion, or met an exception that is a finding about the tested code (ValueError, SystemExit,
        UnboundLocalError, ...). No result is a test that lacks something in its environment, which is

        - a module (ImportError) or a name that nothing defines (NameError), most often a missing import;
        - a module that is no valid Python (SyntaxError);
        - a program to start, a file of the system (FileNotFoundError for an absolute path outside the scratch
          folder; any other file the program itself has to make), a library of the system, a network;
        - or that ended in an exception that one of these caused;

        nor one that was skipped or could not be run, or whose set-up failed; nor one at which a limit, a
        signal or the program itself ended it. A program without named tests was executed when nothing of this
        ended it.
        """
        if self.outcomes:
            return any(not test.obstacle for test in self.outcomes)
        return not self.error and self.exit_reason in ("ok", "assertion", "error")

    @property
    def counts(self) -> OutcomeCounts:
        """The counts of its tests by outcome."""
        return OutcomeCounts.of(self.outcomes)

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return self.counts.passed

    @property
    def failed(self) -> int:
        """How many tests failed by an assertion."""
        return self.counts.failed

    @property
    def errors(self) -> int:
        """How many tests ended in anything else."""
        return self.counts.errors

    @property
    def not_discriminating(self) -> int:
        """How many of the tests that passed are known to pass against a stub as well."""
        return self.counts.not_discriminating

    @property
    def flaky(self) -> int:
        """How many tests are known to come out otherwise under another hash seed."""
        return self.counts.flaky


@dataclass(frozen=True, slots=True)
class SandboxCheck:
    """Whether a sandbox works here.

    Attributes:
        works: Whether a small program ran in it just now.
        hint: How to mend it; empty when it works.
    """

    name: str
    works: bool
    detail: str
    hint: str = ""


class Sandbox(Protocol):
    """A place where a test program runs without harm to the machine around it.

    Attributes:
        name: Its name in the settings.
        repairs: Which commands a repair here can run, for the model that writes them; empty where
            nothing can be repaired.
    """

    name: str
    repairs: str

    async def open(self, programs: int) -> None:
        """Make ready for a job, behind the caller; without it every run works as well, if not as quickly.

        Args:
            programs: How many programs will run at the same time.
        """
        ...

    async def close(self) -> None:
        """Let go of all that it holds; nothing runs in it afterwards."""
        ...

    async def check(self) -> SandboxCheck:
        """Run a small program in it and say whether that works here, and why not."""
        ...

    async def run(self, program: TestProgram, limits: Limits | None = None) -> ExecutionReport:
        """Run one program.

        Args:
            program: Candidate and test.
            limits: Its limits; those of the settings by default.

        Returns:
            What happened. A sandbox that fails is a report too, with the reason `infrastructure`.

        Raises:
            SandboxError: The program was refused, the sandbox is not installed, or the snapshot is not there.
        """
        ...

    async def repair(self, action: RepairAction, after: str = "") -> RepairReport:
        """Change the environment of later runs, in a place of its own that reaches the package index.

        Args:
            action: The action. No program runs.
            after: Name of the snapshot that it starts from; empty for the sandbox's own environment.

        Returns:
            What happened, and the name of the snapshot that it left. What was made before is not made again.

        Raises:
            SandboxError: It could not begin, the snapshot is not there, or nothing can be repaired here.
        """
        ...
