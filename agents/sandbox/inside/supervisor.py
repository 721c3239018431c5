"""The first script inside every sandbox: holds the report channel, and runs the tests in a child process.

Standard library only, Python 3.8 or newer, started as `boot.SUPERVISE` says, with WORK CHANNEL OPTIONS:
WORK holds `candidate.py`, `test_candidate.py` and, where a program has one, `scaffold.py`; CHANNEL is an
inherited file descriptor, OPTIONS are limits as NAME=NUMBER. Records for the workbench go to CHANNEL, one
JSON object a line:

    begin    python, platform                        the limits hold; from here on untrusted code runs
    packages names                                   the packages that are installed
    start    name                                    a test is about to run
    unrun    name, message                           what looks like a test was not run
    began    name                                    a check that nothing mentions was run; not passed on
    outcome  name, outcome, message, trace, seconds, category
    program  outcome, message, trace, category       the program itself ended badly, outside any test
    forged   (nothing)                               a record did not come from the harness
    dropped  bytes                                   of stdout and stderr, where they are mixed
    flooded  (nothing)                               it was stopped for writing without end
    oom      (nothing)                               the kernel killed some of it for want of memory
    exit     code                                    how the process of the tests ended; -N by signal N
    end                                              every test ran; an execution without it is incomplete

No line of the program runs in this process. The process of the tests has CHANNEL closed, and cannot open it
again, since the kernel shows the files of this one to nobody (it is not dumpable). The harness
sends its records through a socket, which cannot be reopened either, with a secret before each
record. A record without it, out of turn, of a test that the source does not define, or with other fields or
values than the harness gives (`FIELDS`) is a forgery, which ends the execution and is reported. The
tests are listed from the source before any of it runs, and they have ended only when each of them has an
outcome or is reported as not run. Time is measured here.

No harness can protect a test from the code that it imports: code that shares a process with a test can read
the harness's frames, its secret too, or change the test, and so make its own tests pass.

With the option `repaired`, the tests can import the packages that a repair installed; this process cannot.

With the option `mixed`, CHANNEL, stdout and stderr share one stream, for a sandbox with no more than one: a
letter, four bytes of length, and so many bytes. R is a record, O and E are output; S is a part of the output
that is not kept, as its letter, its length and its line ends, each of eight bytes; Z is the last, and empty.
When stdin closes, everything ends.

Every run pays for these imports: `json`, `signal`, `ctypes` and `contextlib` would double the interpreter's
start, so only the modules below them are used.
"""

from __future__ import annotations

import os
import select
import sys
import time

TYPE_CHECKING = False  # what type checkers know by this name; importing `typing` would cost each run 5 ms
if TYPE_CHECKING:
    import signal
    import types
else:
    import _signal as signal
if TYPE_CHECKING or __package__:
    from agents.sandbox.inside import harness, listing
else:  # in a sandbox they lie side by side, without the package
    import harness
    import listing

FLOOD = 64  # as in output_capture.py: output beyond the limit is dropped up to this multiple of it
PIECE = 65536
LONGEST_RECORD = 65536
# The records of the harness: the fields of each event, all of them texts.
FIELDS = {
    "packages": ("names",),
    "start": ("name",),
    "outcome": ("name", "outcome", "message", "trace", "category"),
    "unrun": ("name", "message"),
    "began": ("name",),
    "program": ("outcome", "message", "trace", "category"),
    "finished": (),
}
OUTCOMES = ("passed", "failed", "error")
# The categories of `harness.environment_refusal`, and of a test that could not be run.
CATEGORIES = ("", "memory", "processes", "disk", "environment", "test")
LONGEST_NAME = 1000
_DUMPABLE, _DEATH_SIGNAL, _SECCOMP, _FILTER = 4, 1, 22, 2
# Characters that a JSON text holds as they are, and those that it escapes.
_QUOTED = {number: f"\\u{number:04x}" for number in (*range(32), ord('"'), ord("\\"))}


class ForgedRecord(Exception):
    """A record did not come from the harness."""


def main(argv: list[str]) -> None:
    """Run the program below WORK and end the process: 0 when all went well, otherwise as the tests did."""
    work, channel, options = os.path.abspath(argv[1]), int(argv[2]), parse_options(argv[3:])
    mixed = bool(options.get("mixed"))
    die_with_parent(options.get("parent"))
    prctl(_DUMPABLE, 0)
    # The first process of a namespace gets no other signal from inside than those that it has a handler for.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_limits(options)
    reports = Channel(channel, mixed, options["output_bytes"], options["kept_bytes"])
    reports.send(
        event="begin",
        python=f"{sys.implementation.name} {sys.version.split()[0]}",
        platform=f"{sys.platform}-{os.uname().machine}",
    )
    tests = listing.read_tests(os.path.join(work, harness.TEST + ".py"))
    TestRun(reports, tests, bool(options.get("repaired"))).run(work)


def parse_options(options: list[str]) -> dict[str, int]:
    """Read arguments of the form NAME=NUMBER."""
    return {name: int(number) for name, _, number in (option.partition("=") for option in options)}


def prctl(option: int, value: int) -> None:
    """Ask the kernel for a property of this process; elsewhere than on Linux there is none to ask for."""
    if not sys.platform.startswith("linux"):
        return
    import _ctypes  # what `ctypes` is made of, in a fifth of its time

    function = _ctypes.dlsym(_ctypes.dlopen(None, 2), "prctl")  # type: ignore[arg-type]
    if _ctypes.call_function(function, (option, value, 0, 0, 0)) != 0:
        os.write(2, b"the kernel refused to protect the report of the tests\n")
        os._exit(1)


def filter_system_calls(instructions: bytes) -> None:
    """Have the kernel refuse system calls to this process, and to all that it starts, for good.

    Args:
        instructions: The filter (`syscalls.seccomp_filter`).

    Raises:
        OSError: The kernel does not take it.
    """
    import _ctypes

    class Count(_ctypes._SimpleCData):  # type: ignore[type-arg]
        _type_ = "H"

    class First(_ctypes._SimpleCData):  # type: ignore[type-arg]
        _type_ = "z"

    class Filter(_ctypes.Structure):
        _fields_ = (("count", Count), ("first", First))

    function = _ctypes.dlsym(_ctypes.dlopen(None, 2), "prctl")  # type: ignore[arg-type]
    program = Filter(len(instructions) // 8, instructions)
    if _ctypes.call_function(function, (_SECCOMP, _FILTER, _ctypes.byref(program), 0, 0)) != 0:
        raise OSError("the kernel takes no filter of system calls")


def die_with_parent(parent: int | None) -> None:
    """Have the kernel kill this process when the one that made it dies, where the kernel can."""
    prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:  # it died before the call
        os._exit(1)


def set_limits(options: dict[str, int]) -> None:
    """Set the kernel's limits for this process and its children."""
    import resource

    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: options["file_bytes"],
        resource.RLIMIT_NOFILE: options["open_files"],
    }
    if sys.platform.startswith("linux") and options["memory_bytes"]:  # elsewhere it cannot be limited
        wanted[resource.RLIMIT_AS] = options["memory_bytes"]
    if options.get("processes"):
        wanted[resource.RLIMIT_NPROC] = options["processes"] + 1  # this one is not the program's
    for kind, value in wanted.items():
        set_limit(resource, kind, value, value)
    # One second between SIGXCPU and SIGKILL, to distinguish the first from other kills.
    set_limit(resource, resource.RLIMIT_CPU, options["cpu_seconds"], options["cpu_seconds"] + 1)


def set_limit(resource: types.ModuleType, kind: int, soft: int, hard: int) -> None:
    """Set one limit, never above the one already in force."""
    ceiling = resource.getrlimit(kind)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))


class Channel:
    """The way out of the sandbox for records and, with `mixed`, for the program's output."""

    def __init__(self, descriptor: int, mixed: bool, output_bytes: int, kept_bytes: int) -> None:
        self.descriptor = descriptor
        self.mixed = mixed
        self.dropped = 0
        self._most = output_bytes * FLOOD
        self._room = {b"O": output_bytes, b"E": output_bytes}
        self._last = max(min(kept_bytes, output_bytes) // 2, 1)
        self._end: dict[bytes, bytes] = {}
        self._skipped = {b"O": (0, 0), b"E": (0, 0)}

    def send(self, **record: object) -> None:
        """Send one record; end the process when nobody reads it."""
        line = to_json(record)
        if self.mixed:
            self._frame(b"R", line)
        else:
            self._write(line)

    def forward(self, kind: bytes, piece: bytes) -> bool:
        """Send the program's output up to the limit; False when it has written far too much.

        The end of the output beyond the limit is kept for `close`.
        """
        sent, rest = piece[: self._room[kind]], piece[self._room[kind] :]
        self._room[kind] -= len(sent)
        if sent:
            self._frame(kind, sent)
        if rest:
            self.dropped += len(rest)
            end = self._end.get(kind, b"") + rest
            skipped, self._end[kind] = end[: -self._last], end[-self._last :]
            count, lines = self._skipped[kind]
            self._skipped[kind] = count + len(skipped), lines + skipped.count(b"\n")
        return self.dropped <= self._most

    def close(self) -> None:
        """Send the end of the output, and that it is complete."""
        for kind, end in self._end.items():
            self._frame(b"S", kind + b"".join(number.to_bytes(8, "big") for number in self._skipped[kind]))
            self._frame(kind, end)
        if self.mixed:
            self._frame(b"Z", b"")

    def _frame(self, kind: bytes, content: bytes) -> None:
        self._write(kind + len(content).to_bytes(4, "big") + content)

    def _write(self, rest: bytes) -> None:
        try:
            while rest:
                rest = rest[os.write(self.descriptor, rest) :]
        except OSError:
            os._exit(1)


class TestRun:
    """One run of the tests in a child process: starts it, checks its records, and reports its end."""

    def __init__(self, channel: Channel, tests: listing.Listing, repaired: bool = False) -> None:
        self._channel = channel
        self._tests = tests
        self._awaited = {*tests.labels, *tests.unrun, *tests.unmentioned}
        self._reported: set[str] = set()
        self._found = 0
        self._repaired = repaired
        self._secret = os.urandom(16).hex().encode() + b" "
        self._line = b""
        self._running = ""
        self._since = 0.0
        self._bad = False
        self._packages_reported = False
        self._finished = False
        self._stopped = False

    def run(self, work: str) -> None:
        """Run the tests below a folder to their end, and end this process."""
        import _socket  # a pipe could be opened again by its name in /proc, and read

        ours, theirs = (end.detach() for end in _socket.socketpair())
        awake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker)
        outputs = {os.pipe(): kind for kind in (b"O", b"E")} if self._channel.mixed else {}
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._run_harness(work, theirs, [writing for _, writing in outputs], parent)
        os.close(theirs)
        kinds = {reading: kind for (reading, _), kind in outputs.items()}
        for _, writing in outputs:
            os.close(writing)
        code = self._listen(pid, ours, awake, kinds)
        self._finish(code)

    def _run_harness(self, work: str, channel: int, outputs: list[int], parent: int) -> None:
        """Run the harness in a fresh fork, which keeps nothing of this process but its socket."""
        die_with_parent(parent)
        prctl(_DUMPABLE, 1)
        try:
            with open("/proc/self/oom_score_adj", "w") as file:
                file.write("1000")  # when memory is short, it goes first
        except OSError:
            pass
        for place, writing in enumerate(outputs, 1):
            os.dup2(writing, place)
        if outputs:
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
        os.closerange(3, channel)
        os.closerange(channel + 1, 256)
        harness.run(work, self._tests, channel, self._secret, repaired=self._repaired)

    def _listen(self, pid: int, results: int, awake: int, kinds: dict[int, bytes]) -> int:
        """Read records and output until the child process has ended; return its exit code."""
        poll = select.poll()
        for descriptor in (results, awake, *kinds):
            os.set_blocking(descriptor, False)
            poll.register(descriptor, select.POLLIN)
        if self._channel.mixed:
            poll.register(0, select.POLLIN)
        code: int | None = None
        while code is None:
            for descriptor, _ in poll.poll():
                if descriptor == awake:
                    code = reap(pid)
                    read_available(awake)
                elif descriptor == 0:
                    if not os.read(0, PIECE):
                        os._exit(1)
                elif (piece := read_available(descriptor)) == b"":
                    poll.unregister(descriptor)
                elif piece:
                    self._handle(descriptor, kinds, piece)
            if self._stopped and code is None:
                os.kill(pid, signal.SIGKILL)  # not reaped yet, so the number is still its own
        for descriptor in (results, *kinds):
            for _ in range(16):  # what a pipe holds; a process left behind may go on writing
                piece = read_available(descriptor)
                if not piece:
                    break
                self._handle(descriptor, kinds, piece)
        return code

    def _handle(self, descriptor: int, kinds: dict[int, bytes], piece: bytes) -> None:
        """Handle a piece of output or of records; after a stop it is dropped."""
        if self._stopped:
            return
        if descriptor in kinds:
            if not self._channel.forward(kinds[descriptor], piece):
                self._stopped = True
                self._channel.send(event="flooded")
            return
        lines = (self._line + piece).split(b"\n")
        self._line = lines.pop()
        try:
            for line in lines:
                self._check_line(line)
            if len(self._line) > LONGEST_RECORD:
                raise ForgedRecord
        except (ForgedRecord, ValueError, TypeError, KeyError, RecursionError, AttributeError):
            self._stopped = True
            self._channel.send(event="forged")

    def _check_line(self, line: bytes) -> None:
        """Check one line and send its record on; raises `ForgedRecord` or another error when it is none."""
        if not line.startswith(self._secret) or self._finished:
            raise ForgedRecord
        record: dict[str, object] = {**check_record(harness.decode(line[len(self._secret) :]))}
        event = record["event"]
        # The packages are reported first, before untrusted code runs.
        if (event == "packages") is self._packages_reported:
            raise ForgedRecord
        self._packages_reported = True
        if event in ("start", "unrun"):
            name = str(record["name"])
            if self._running or name in self._reported:
                raise ForgedRecord
            if event == "start":
                if not self._tests.may_run(name):
                    raise ForgedRecord
                self._running, self._since = name, time.perf_counter()
            else:
                self._bad = True
                self._found += name not in self._awaited
                if self._found > harness.MOST_FOUND + 1:
                    raise ForgedRecord
            self._reported.add(name)
            self._awaited.discard(name)
        elif event == "outcome":
            if not self._running or record["name"] != self._running:
                raise ForgedRecord
            record["seconds"] = time.perf_counter() - self._since
            self._running = ""
            self._bad = self._bad or record["outcome"] != "passed"
        elif event == "began":
            self._awaited.discard(record["name"])
            return
        elif event == "program":
            self._bad = True
            self._awaited.clear()  # it could not be loaded, or has none
        elif event == "finished":
            if self._running or self._awaited:
                raise ForgedRecord
            self._finished = True
            return
        self._channel.send(**record)

    def _finish(self, code: int) -> None:
        """Report the end, and exit with the same code."""
        if self._line and not self._stopped and not self._line.startswith(self._secret[: len(self._line)]):
            self._channel.send(event="forged")
        if self._channel.dropped:
            self._channel.send(event="dropped", bytes=self._channel.dropped)
        if self._channel.mixed and count_oom_kills():
            self._channel.send(event="oom")
        self._channel.send(event="exit", code=code)
        if self._finished and not self._stopped:
            self._channel.send(event="end")
            code = 1 if self._bad else 0
        self._channel.close()
        os._exit(128 - code if code < 0 else code)


def check_record(record: dict[str, str]) -> dict[str, str]:
    """Return a record of the harness, its texts with characters that do not print escaped.

    Raises:
        ForgedRecord: The harness writes no such record.
        KeyError: It has no event.
    """
    event = record["event"]
    if tuple(record) != ("event", *FIELDS.get(event, ("",))):
        raise ForgedRecord
    if len(record.get("name", "")) > LONGEST_NAME or len(record.get("message", "")) > harness.LONGEST_MESSAGE:
        raise ForgedRecord
    if record.get("outcome", "passed") not in OUTCOMES or record.get("category", "") not in CATEGORIES:
        raise ForgedRecord
    if event == "packages" and not all(is_package(line) for line in record["names"].split("\n") if line):
        raise ForgedRecord
    return {name: escape_unprintable(text) for name, text in record.items()}


def is_package(text: str) -> bool:
    """Tell whether a text is NAME==VERSION, or a name."""
    return len(text) <= LONGEST_NAME and all(one.isalnum() or one in "._-+!=" for one in text)


def escape_unprintable(text: str) -> str:
    """Escape the characters that do not print, but for line ends and tabs."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else ascii(one)[1:-1] for one in text)


def read_available(descriptor: int) -> bytes | None:
    """Read without waiting: empty at the end, None where nothing has come yet."""
    try:
        return os.read(descriptor, PIECE)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def reap(pid: int) -> int | None:
    """Reap every process that ended; return the exit code of one of them, if it is among them."""
    code = None
    while True:
        try:
            found, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if found == 0:
            return code
        if found == pid:
            code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def count_oom_kills() -> int:
    """Count the processes of this sandbox that the kernel killed for want of memory; 0 if unknown."""
    for path in ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"):
        try:
            with open(path) as file:
                return sum(int(line.split()[1]) for line in file if line.startswith("oom_kill "))
        except (OSError, ValueError, IndexError):
            continue
    return 0


def to_json(record: dict[str, object]) -> bytes:
    """Write a record of texts and numbers as a line of JSON."""
    values = [
        f'"{name}": ' + (f'"{value.translate(_QUOTED)}"' if isinstance(value, str) else repr(value))
        for name, value in record.items()
    ]
    return ("{" + ", ".join(values) + "}\n").encode("utf-8", "backslashreplace")
