"""Runs the tests of a program and reports each outcome, in a process that `supervisor.py` started.

Standard library only, Python 3.8 or newer. On stdout it writes one line per test for people to read. The
records for the workbench go to the supervisor, one a line after a secret (see `encode`), so that nothing a
test prints or writes to a file can be mistaken for an outcome.

Every run pays for these imports, so modules that only a failure needs are imported when there is one.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False  # what type checkers know by this name; importing `typing` would cost each run 5 ms
if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Sequence
    from typing import Any

    from agents.sandbox.inside.listing import Listing
if TYPE_CHECKING or __package__:
    from agents.sandbox.inside import cases
else:  # in a sandbox they lie side by side, without the package
    import cases

CANDIDATE = "candidate"
TEST = "test_candidate"
SCAFFOLD = "scaffold"
LONGEST_MESSAGE = 500
# Of a traceback so many lines of its beginning and its end, of each so many characters; and of all together.
TRACE_HEAD, TRACE_TAIL, TRACE_LINE, ALL_TRACES = 10, 30, 200, 256 * 1024
MOST_PACKAGES = 1000
SCRATCH = os.environ.get("TMPDIR", "/tmp")
REPAIRED = "/opt/repaired"  # as in repairer.py
MOST_FOUND = 100  # of what looks like a test and is found only once the program was run, so many are named
MADE = "it was made while the program was loaded, and only tests of the source are run"
NOT_THERE = "no function of this name is there once the program is loaded"
NEVER_BEGAN = "nothing that was run calls it"
ENDED = "the program ended itself before it"
NO_SPACE = (errno.EFBIG, errno.ENOSPC, errno.EDQUOT)

# A test may replace these for its own purposes (a mocked os.write): keep the real ones.
_write, _getpid, _exit = os.write, os.getpid, os._exit


def run(work: str, listing: Listing, channel: int, secret: bytes, *, repaired: bool = False) -> None:
    """Run the program below a folder and end the process: 0 when all went well, 1 otherwise."""
    if repaired:
        use_repaired_packages()
    for name in ("supervisor", "harness", "cases", "listing"):
        sys.modules.pop(name, None)  # the program may have modules of these names
    report = OutcomeReport(channel, secret, work)
    report.send(event="packages", names="\n".join(installed_packages()))
    # Tests import from here what a normal start of Python would offer: their folder, exit() and help().
    sys.path[0] = work
    import site

    site.setquit()
    site.sethelper()
    sys.argv = [os.path.join(work, TEST + ".py")]
    import builtins

    vars(builtins)["__began__"] = listing.began
    run_program(report, listing, work)
    flush()
    report.send(event="finished")
    _exit(1 if report.bad else 0)


class Loading:
    """Loads the candidate after its scaffold, in the same namespace, and the tests from their marked source.

    So the files stay as they are, the candidate finds the imports and definitions that it lacks, and the
    scopes of the tests note that they began.

    Attributes:
        tests: The module of the tests, as far as it was loaded.
    """

    def __init__(self, work: str, listing: Listing) -> None:
        self.tests: types.ModuleType | None = None
        self._work = work
        self._marked = listing.marked

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        """Find the candidate and the tests, and leave every other module to those that come next."""
        if name not in (CANDIDATE, TEST):
            return None
        from _frozen_importlib_external import PathFinder  # `importlib` itself is not loaded yet

        spec: Any = PathFinder.find_spec(name, [self._work])
        load = spec.loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            scaffold = os.path.join(self._work, SCAFFOLD + ".py")
            if name == TEST:
                self.tests = module
                if self._marked is not None:
                    execute(self._marked, spec.origin, module)
                else:
                    load(module)
                return
            if os.path.exists(scaffold):
                execute(read(scaffold), scaffold, module)
            load(module)

        spec.loader.exec_module = exec_module
        return spec


def read(path: str) -> bytes:
    """Return the content of a file."""
    with open(path, "rb") as file:
        return file.read()


def execute(source: Any, path: str, module: types.ModuleType) -> None:
    """Execute a source, or its syntax tree, as a module."""
    exec(compile(source, path, "exec", dont_inherit=True), vars(module))  # noqa: S102 - in a sandbox


class OutcomeReport:
    """The report of outcomes: records to the channel, readable lines to stdout."""

    def __init__(self, channel: int, secret: bytes, work: str) -> None:
        self.bad = False
        self._channel = channel
        self._secret = secret.decode()
        self._work = work + os.sep
        self._owner = _getpid()
        self._traces = ALL_TRACES

    def send(self, **record: str) -> None:
        """Write one record; a fork that came back from a test ends here and reports nothing."""
        if _getpid() != self._owner:
            _exit(0)
        write(self._channel, self._secret + encode(record) + "\n")

    def send_unrun(self, label: str, why: str) -> None:
        """Report what looks like a test and was not run."""
        self.bad = True
        message = describe(cases.NotRun(why))
        self.send(event="unrun", name=label[:LONGEST_MESSAGE], message=message)
        write(1, f"ERROR {label}: {message}\n")

    def trace(self, error: BaseException) -> str:
        """Write the traceback of an exception: the program's own frames, with short file names."""
        try:
            import traceback

            whole = traceback.TracebackException(type(error), error, error.__traceback__)
            todo = [whole]
            while todo:
                one = todo.pop()
                own = [frame for frame in one.stack if frame.filename.startswith(self._work)]
                one.stack = traceback.StackSummary.from_list(own)
                todo += [each for each in (one.__cause__, one.__context__) if each is not None]
                todo += getattr(one, "exceptions", None) or []
            text = "".join(whole.format())
        except Exception:  # noqa: BLE001 - __str__ of the program's own exception may raise anything
            text = type(error).__name__
        text = shorten_trace(text.replace(self._work, ""))[: self._traces]
        self._traces -= len(text)
        return text

    def own_line(self, error: BaseException) -> int:
        """Return the line of the tests' module, outside of its functions, through which an exception came."""
        place = error.__traceback__
        while place is not None and place.tb_frame.f_code.co_filename != self._work + TEST + ".py":
            place = place.tb_next
        return place.tb_lineno if place is not None else 0

    def in_candidate(self, error: BaseException) -> bool:
        """Tell whether an exception came through the candidate."""
        place = error.__traceback__
        while place is not None:
            if place.tb_frame.f_code.co_filename == self._work + CANDIDATE + ".py":
                return True
            place = place.tb_next
        return False


def run_program(report: OutcomeReport, listing: Listing, work: str) -> None:
    """Load the program, run its tests in the order of their definition, and name those that cannot be run.

    A program whose source defines no test is run as `python test_candidate.py` would; what it has bound to
    the name of a test is one nevertheless.
    """
    module, ended = load_program(report, listing, work)
    if module is None:
        return
    groups = cases.find_cases(module, listing)
    whole = cases.Shared(module, cases.MODULE_HOOKS)
    for kind, group in groups:
        shared = [whole] if kind is None else [whole, cases.Shared(kind, cases.CLASS_HOOKS)]
        ending = [*shared[1:], whole] if group is groups[-1][1] else shared[1:]
        for place, (label, call) in enumerate(group, 1):
            body = listing.bodies.get(label)
            attempted = call if body is None else cases.began_by(call, body, listing.began)
            run_case(report, label, attempted, shared, ending if place == len(group) else [])
    ran = {label for _, group in groups for label, _ in group}
    unrun = {label: NOT_THERE for label in listing.labels if label not in ran}
    unrun.update(listing.unrun)
    found = dict.fromkeys(listing.never_began(bad=report.bad), NEVER_BEGAN)
    found.update(dict.fromkeys(listing.unreached(ended) if ended else (), ENDED))
    classes = bool(listing.labels) or not ended  # unittest may have run those of a script that it ended
    made = cases.made_tests(module, listing, classes=classes)
    found.update((label, MADE) for label in made if label not in ran)
    names = [label for label in found if label not in unrun]
    unrun.update((label, found[label]) for label in names[:MOST_FOUND])
    if len(names) > MOST_FOUND:
        unrun[f"{len(names) - MOST_FOUND} more"] = found[names[-1]]
    for label, why in unrun.items():
        report.send_unrun(label, why)
    for label in listing.unmentioned:
        if label not in unrun:
            report.send(event="began", name=label[:LONGEST_MESSAGE])


def load_program(report: OutcomeReport, listing: Listing, work: str) -> tuple[types.ModuleType | None, int]:
    """Execute the test module: as an import does, or without tests as a start of `python test_candidate.py`.

    Returns:
        The module, None if it did not end well; and its line at which the program ended itself, or 0.
        `sys.exit(0)` ends a program well (unittest.main does it), but not when the candidate calls it.
    """
    loading = Loading(work, listing)
    sys.meta_path.insert(0, loading)
    unittest: Any = __import__("unittest") if listing.uses_unittest and listing.labels else None
    main = getattr(unittest, "main", None)
    if main is not None:
        unittest.main = pass_over(main)
    try:
        if listing.labels or listing.error:
            module = __import__(TEST)
            if listing.error is not None:
                raise listing.error
            return module, 0
        script = sys.modules["__main__"] = type(sys)("__main__")
        script.__file__ = sys.argv[0]
        loading.tests = script
        execute(listing.marked or read(sys.argv[0]), sys.argv[0], script)
        return script, 0
    except BaseException as error:  # noqa: BLE001 - SystemExit of a module must not end the report
        if isinstance(error, SystemExit) and not error.code and not report.in_candidate(error):
            # A failed import takes the module away, which its classes name.
            assert loading.tests is not None
            sys.modules[loading.tests.__name__] = loading.tests
            return loading.tests, report.own_line(error)
        report_program_error(report, error, loading=bool(listing.labels or listing.error))
        return None, 0
    finally:
        if main is not None:
            unittest.main = main


def pass_over(main: Callable[..., object]) -> Callable[..., object]:
    """Make a `unittest.main` that does nothing for the test module, whose tests are run once it is loaded."""

    def call(*arguments: object, **options: object) -> object:
        if sys._getframe(1).f_globals.get("__name__") == TEST:
            import types

            # As of a run without tests: a program may look at what came of it.
            return types.SimpleNamespace(result=sys.modules["unittest"].TestResult())
        return main(*arguments, **options)

    return call


def report_program_error(report: OutcomeReport, error: BaseException, loading: bool) -> None:
    """Report an exception that ended the program outside any test."""
    report.bad = True
    flush()
    failed = isinstance(error, AssertionError)
    category, cause = ("", error) if failed else environment_refusal(error)
    category = category or ("environment" if loading and not failed else "")
    message = describe(cause)
    write(1, "{} {}\n".format("FAIL" if failed else "ERROR", message))
    outcome, trace = "failed" if failed else "error", report.trace(error)
    report.send(event="program", outcome=outcome, message=message, trace=trace, category=category)


def run_case(
    report: OutcomeReport,
    label: str,
    call: Callable[[cases.Attempt], None],
    shared: Sequence[cases.Shared],
    ending: Sequence[cases.Shared],
) -> None:
    """Run one test, print its line and report it.

    Args:
        report: Where to.
        label: Its label.
        call: Runs it between its own set-up and tear-down.
        shared: What it has in common with others.
        ending: What ends with it.
    """
    report.send(event="start", name=label)
    attempt = cases.Attempt()

    def perform() -> None:
        for each in shared:
            each.enter()
        call(attempt)

    attempt.guard(perform)
    attempt.began = True
    for each in ending:
        attempt.guard(each.leave)
    outcome, message, trace, category = "passed", "", "", ""
    error = attempt.error
    if error is not None:
        if isinstance(error, MemoryError):
            clear_frames(error)
        unrun = isinstance(error, cases.NotRun) or cases.is_skip(error)
        outcome = "failed" if isinstance(error, AssertionError) and not attempt.in_set_up else "error"
        category, cause = ("", error) if outcome == "failed" else environment_refusal(error)
        message = describe(cause)
        if not category and (unrun or attempt.in_set_up):
            category = "test"
            message = message if unrun else ("SetUpFailed: " + message)[:LONGEST_MESSAGE]
        trace = report.trace(error)
        report.bad = True
    flush()
    report.send(event="outcome", name=label, outcome=outcome, message=message, trace=trace, category=category)
    word = {"passed": "PASS", "failed": "FAIL", "error": "ERROR"}[outcome]
    write(1, "{} {}{}\n".format(word, label, ": " + message if message else ""))


def environment_refusal(error: BaseException) -> tuple[str, BaseException]:
    """Return which refusal of the environment caused an exception, and the exception that reports it.

    The category is "" where the environment refused nothing.
    """
    for cause in causes(error):
        number = cause.errno if isinstance(cause, OSError) else None
        if isinstance(cause, MemoryError):
            return "memory", cause
        if number in NO_SPACE:
            return "disk", cause
        if isinstance(cause, BlockingIOError) and number == errno.EAGAIN:
            return "processes", cause
        if isinstance(cause, RuntimeError) and "can't start new thread" in str(cause):
            return "processes", cause
        if is_missing(cause) or number == errno.ENETUNREACH or type(cause).__name__ == "gaierror":
            return "environment", cause
    return "", error


def is_missing(error: BaseException) -> bool:
    """Tell whether an exception says that a module, a name, a file or a library is not there."""
    if isinstance(error, SyntaxError):  # of a module; of a text that the program parsed, it is a finding
        return bool(error.filename) and not str(error.filename).startswith("<")
    if isinstance(error, UnboundLocalError):
        return False
    if isinstance(error, (ImportError, NameError)):
        return True
    if isinstance(error, FileNotFoundError):
        return is_of_system(error)
    return isinstance(error, OSError) and "cannot open shared object file" in str(error)


def is_of_system(error: FileNotFoundError) -> bool:
    """Tell whether the environment should have had a file: a program to start, or a path that is absolute.

    What would lie in the scratch folder, which is empty at the start, or beside it by a path that is not
    absolute, only the program itself can have made: that it looks for it in vain is a finding.
    """
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    starting = place is not None and os.path.basename(place.tb_frame.f_code.co_filename) == "subprocess.py"
    path = error.filename
    if starting or not isinstance(path, (str, bytes)):
        return starting
    path = os.fsdecode(path)
    return os.path.isabs(path) and not (path + os.sep).startswith(os.path.join(SCRATCH, ""))


def causes(error: BaseException) -> list[BaseException]:
    """List an exception and those that led to it, as a traceback would show them."""
    found: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in found and len(found) < 20:
        found.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return found


def describe(error: BaseException) -> str:
    """Put an exception in one line; an assertion without a message shows its own source."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - see Report.trace
        text = "(its message could not be made)"
    if not text and isinstance(error, AssertionError):
        text = assertion_source(error)
    line = " ".join(f"{type(error).__name__}: {text}".split()) if text else type(error).__name__
    return line if len(line) <= LONGEST_MESSAGE else line[: LONGEST_MESSAGE - 1] + "…"


def assertion_source(error: AssertionError) -> str:
    """Return the source of the assertion that failed: the statement, or else its line."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return ""
    try:
        import ast
        import linecache
    except Exception:  # noqa: BLE001 - the program may have used up all files or memory
        return ""
    path, number = last.tb_frame.f_code.co_filename, last.tb_lineno
    source = "".join(linecache.getlines(path))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return linecache.getline(path, number).strip()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and node.lineno <= number <= (node.end_lineno or node.lineno):
            return ast.get_source_segment(source, node) or ""
    return linecache.getline(path, number).strip()


def shorten_trace(trace: str) -> str:
    """Leave out the middle of a long traceback, and the end of its long lines."""
    lines = [line if len(line) <= TRACE_LINE else line[: TRACE_LINE - 1] + "…" for line in trace.splitlines()]
    between = len(lines) - TRACE_HEAD - TRACE_TAIL
    if between > 0:
        note = "… {} {} between …".format(between, "line" if between == 1 else "lines")
        lines = [*lines[:TRACE_HEAD], note, *lines[-TRACE_TAIL:]]
    return "\n".join(lines)


def use_repaired_packages() -> None:
    """Let this process and its children import the packages of a repair, after the standard library."""
    import site

    folder = os.path.join(REPAIRED, "lib", "python{}.{}".format(*sys.version_info[:2]), "site-packages")
    site.addsitedir(folder)
    os.environ["PYTHONPATH"] = folder
    os.environ["PATH"] = os.path.join(REPAIRED, "bin") + os.pathsep + os.environ.get("PATH", os.defpath)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # they would start a thread for each processor, which the limits forbid


def installed_packages() -> list[str]:
    """List the installed packages as NAME==VERSION, by the metadata that installers write."""
    found = set()
    for folder in sys.path[1:]:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            stem, _, ending = name.rpartition(".")
            if ending in ("dist-info", "egg-info") and "-" in stem:
                found.add("==".join(stem.split("-")[:2]))
    return sorted(found)[:MOST_PACKAGES]


def flush() -> None:
    """Flush the output of a test, so that it comes before the line about the test."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # noqa: BLE001 - a test may have put anything in their place
            continue


def clear_frames(error: BaseException) -> None:
    """Clear the frames of an exception, which may hold all the memory there is."""
    place = error.__traceback__
    while place is not None:
        try:
            place.tb_frame.clear()
        except RuntimeError:  # it is still running
            pass
        place = place.tb_next


def encode(record: dict[str, str]) -> str:
    """Put a record of texts in one line: NAME=TEXT, separated by tabs."""
    texts = (text.replace("%", "%25").replace("\n", "%0A").replace("\t", "%09") for text in record.values())
    return "\t".join(name + "=" + text for name, text in zip(record, texts))  # noqa: B905 - of Python 3.10


def decode(line: bytes) -> dict[str, str]:
    """Read a record that `encode` wrote; raises ValueError when it is none."""
    pairs = [part.partition("=") for part in line.decode().split("\t")]
    if not all(mark for _, mark, _ in pairs):
        raise ValueError("not a record")
    return {
        name: text.replace("%09", "\t").replace("%0A", "\n").replace("%25", "%") for name, _, text in pairs
    }


def write(channel: int, text: str) -> None:
    """Write a text to a file descriptor whole; one that the test has closed takes nothing."""
    rest = text.encode("utf-8", "backslashreplace")
    while rest:
        try:
            rest = rest[_write(channel, rest) :]
        except OSError:
            return
