"""Test programs of every kind, really run in every sandbox."""

import ast
import asyncio
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import pytest
from forked_box import Forks
from small_workspace import SCAFFOLD, TESTS_CELL

from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.inside import harness
from agents.sandbox.inside.harness import decode, encode
from agents.sandbox.interpreter import SCRIPTS, scripts
from agents.sandbox.process import ProcessSandbox
from agents.sandbox.protocol import ExecutionReport, Limits, TestProgram
from agents.sandbox.settings import SandboxSettings
from agents.sandbox.trust import TrustedSandbox

ADD = "def add(a, b):\n    return a + b\n"
LIMITS = Limits(wall_seconds=60, cpu_seconds=60)  # far more than needed: nothing here may depend on speed


@cache
def why_not_bubblewrap():
    check = asyncio.run(BubblewrapSandbox(SandboxSettings(), None).check())
    return "" if check.works else f"bubblewrap does not work here: {check.detail}"


@pytest.fixture(params=["forks", "docker", "process"])
def sandbox(request):
    if request.param == "docker":
        return request.getfixturevalue("docker_sandbox")
    if request.param == "process":
        return ProcessSandbox(SandboxSettings(), None)
    if why_not_bubblewrap():
        pytest.skip(why_not_bubblewrap())
    return Forks()


def outcomes(report):
    return [(test.name, test.outcome) for test in report.outcomes]


async def test_a_program_whose_tests_pass(sandbox):
    before = datetime.now(UTC)
    report = await sandbox.run(
        TestProgram(
            ADD,
            "from candidate import add\n"
            "def test_small():\n    assert add(1, 2) == 3\n"
            "def test_large():\n    print('seen')\n    assert add(10**9, 1) == 10**9 + 1\n",
        ),
        LIMITS,
    )

    assert isinstance(report, ExecutionReport)
    assert (report.exit_reason, report.exit_code, report.error) == ("ok", 0, "")
    assert outcomes(report) == [("test_small", "passed"), ("test_large", "passed")]
    assert report.stdout == "PASS test_small\nseen\nPASS test_large\n"
    assert report.stderr == ""
    assert report.executable
    assert report.passed == 2
    assert report.sandbox == sandbox.name
    assert len(report.environment) == 12
    assert before <= report.started_at <= datetime.now(UTC)
    assert 0 < report.seconds < LIMITS.wall_seconds


async def test_a_failed_assertion_is_executed_and_shows_its_source(sandbox):
    report = await sandbox.run(
        TestProgram(
            ADD,
            "from candidate import add\n"
            "def test_wrong():\n    assert (\n        add(1, 2) == 4\n    )\n"
            "def test_told():\n    assert add(1, 1) == 3, 'one and one'\n"
            "def test_right():\n    assert add(0, 0) == 0\n",
        ),
        LIMITS,
    )

    assert (report.exit_reason, report.exit_code, report.executable) == ("assertion", 1, True)
    assert [test.message for test in report.outcomes] == [
        "AssertionError: assert ( add(1, 2) == 4 )",
        "AssertionError: one and one",
        "",
    ]
    assert "FAIL test_told: AssertionError: one and one\nPASS test_right\n" in report.stdout
    assert 'File "test_candidate.py", line 7, in test_told' in report.outcomes[1].trace
    assert report.stderr == report.trace == ""


async def test_a_trace_shows_the_frames_of_candidate_and_test_and_of_nothing_else(sandbox):
    report = await sandbox.run(
        TestProgram(
            "import json\n"
            "def f(text):\n"
            "    try:\n        return json.loads(text)\n"
            "    except ValueError as error:\n        raise KeyError('no JSON') from error\n"
            "def g(n):\n    return g(n + 1)\n",
            "import sys\nfrom candidate import f, g\n"
            "def test_cause():\n    f('x')\n"
            "def test_deep():\n    g(0)\n"
            "def test_good():\n    print('said', file=sys.stderr)\n",
        ),
        LIMITS,
    )

    cause, deep, good = (test.trace for test in report.outcomes)
    frames = [line.strip() for line in cause.split("\n") if line.startswith("  File ")]
    assert frames == [
        'File "candidate.py", line 4, in f',
        'File "test_candidate.py", line 4, in test_cause',
        'File "candidate.py", line 6, in f',
    ]
    assert "The above exception was the direct cause of the following exception:" in cause
    assert cause.endswith("\nKeyError: 'no JSON'")
    assert "Previous line repeated" in deep
    assert (good, report.trace, report.stderr) == ("", "", "said\n")


async def test_a_long_trace_keeps_its_beginning_and_its_end(sandbox):
    links = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n" for n in range(60))
    message = "'line\\n' * 40 + 'wide ' * 100 + '\\nlast'"
    candidate = links + f"def f60(x):\n    raise ValueError({message})\n"
    test = "import candidate\ndef test_a():\n    candidate.f0(1)\n"
    report = await sandbox.run(TestProgram(candidate, test), LIMITS)

    lines = report.outcomes[0].trace.split("\n")
    assert lines[:2] == [
        "Traceback (most recent call last):",
        '  File "test_candidate.py", line 3, in test_a',
    ]
    assert len(lines) == 41
    assert lines[10].startswith("… ")
    assert lines[10].endswith(" lines between …")
    assert lines[-1] == "last"
    assert max(map(len, lines)) == 200


async def test_what_ends_a_program_outside_its_tests_has_a_trace(sandbox):
    candidate = "def f():\n    return {}['x']\nf()\n"
    report = await sandbox.run(TestProgram(candidate, "import candidate\ndef test_a():\n    pass\n"), LIMITS)

    assert (report.error, report.outcomes) == ("KeyError: 'x'", ())
    assert [line.strip() for line in report.trace.split("\n") if line.startswith("  File ")] == [
        'File "test_candidate.py", line 1, in <module>',
        'File "candidate.py", line 3, in <module>',
        'File "candidate.py", line 2, in f',
    ]


@pytest.mark.parametrize("output_bytes", [10**6, 100_000])
async def test_of_a_long_output_beginning_and_end_are_kept_and_what_lies_between_is_counted(
    sandbox, output_bytes
):
    test = (
        "import sys\ndef test_a():\n    for n in range(20_000):\n        print('number', n)\n"
        "    print('\\u20ac' * 30_000, end='', file=sys.stderr)\n"
    )
    limits = replace(LIMITS, output_bytes=output_bytes, kept_bytes=20_000)
    report = await sandbox.run(TestProgram("", test), limits)

    assert report.exit_reason == ("output" if output_bytes < 200_000 else "ok")
    written = "".join(f"number {n}\n" for n in range(20_000)) + "PASS test_a\n"
    cut = report.stdout_cut
    assert (cut.at, len(report.stdout) - cut.at) == (10_000, 10_000)
    assert written.startswith(report.stdout[: cut.at])
    assert written.endswith(report.stdout[cut.at :])
    between = written[10_000:-10_000]
    assert (cut.bytes, cut.lines) == (len(between), between.count("\n"))
    euros = report.stderr_cut
    assert report.stderr == "\u20ac" * 6_666
    assert (euros.at, euros.bytes, euros.lines) == (3_333, 90_000 - 3 * 6_666, 0)
    assert report.output_dropped == cut.bytes + euros.bytes


async def test_what_it_ran_in_and_could_import_is_told(sandbox):
    report = await sandbox.run(TestProgram(ADD, "def test_a():\n    pass\n"), LIMITS)

    assert report.packages == ()
    assert report.image.startswith("sha256:") == (sandbox.name == "docker")
    assert bool(report.image) == (sandbox.name == "docker")


def test_packages_are_named_by_what_installers_note(tmp_path, monkeypatch):
    for name in ("numpy-2.1.0.dist-info", "old_style-1.0-py3.11.egg-info", "numpy", "a.dist-info", "x-1.txt"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(tmp_path / "nowhere"), str(tmp_path)])

    assert harness.installed_packages() == ["numpy==2.1.0", "old_style==1.0"]


async def test_an_exception_of_the_candidate_is_a_finding_of_the_test(sandbox):
    report = await sandbox.run(
        TestProgram(
            "def f(x):\n    if x:\n        y = 1\n    return y\n",
            "from candidate import f\n"
            "def test_unbound():\n    f(0)\n"
            "def test_parse():\n    eval('1 +')\n"
            "def test_value():\n    int('x')\n",
        ),
        LIMITS,
    )

    assert (report.exit_reason, report.error, report.executable) == ("error", "", True)
    assert report.errors == 3
    assert report.outcomes[2].message == "ValueError: invalid literal for int() with base 10: 'x'"


@pytest.mark.parametrize(
    ("candidate", "test", "error"),
    [
        (
            "import dateutil\n",
            "import candidate\ndef test_a():\n    pass\n",
            "ModuleNotFoundError: No module",
        ),
        (ADD, "import pytest\ndef test_a():\n    pass\n", "ModuleNotFoundError: No module named 'pytest'"),
        ("def add(a b):\n", "from candidate import add\ndef test_a():\n    pass\n", "SyntaxError: "),
        (ADD, "from candidate import add\ndef test_a()\n    pass\n", "SyntaxError: "),
        (
            ADD,
            "from candidate import sub\ndef test_a():\n    pass\n",
            "ImportError: cannot import name 'sub'",
        ),
        ("x = '\ud800'\n", "import candidate\ndef test_a():\n    pass\n", "SyntaxError: "),
        ("x = '\0'\n", "import candidate\ndef test_a():\n    pass\n", ""),
        ("input()\n", "import candidate\ndef test_a():\n    pass\n", "EOFError: "),
        ("raise SystemExit(0)\n", "import candidate\ndef test_a():\n    pass\n", "SystemExit: 0"),
    ],
)
async def test_a_program_that_cannot_be_loaded_is_not_executed(sandbox, candidate, test, error):
    report = await sandbox.run(TestProgram(candidate, test), LIMITS)

    assert (report.exit_reason, report.exit_code, report.outcomes) == ("error", 1, ())
    assert report.error
    assert report.error.startswith(error)
    assert not report.executable
    assert f"ERROR {report.error}\n" in report.stdout


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("import dateutil", "ModuleNotFoundError: No module named 'dateutil'"),
        ("f(1)", "NameError: name 're' is not defined"),
        (
            "try:\n        import dateutil\n    except ImportError:\n        raise OSError('install it')",
            "ModuleNotFoundError: No module named 'dateutil'",
        ),
        ("open('/no/such')", "FileNotFoundError: [Errno 2] No such file or directory: '/no/such'"),
        (
            "import ctypes; ctypes.CDLL('libnone.so')",
            "OSError: libnone.so: cannot open shared object file: No such file or directory",
        ),
    ],
)
async def test_what_the_environment_lacks_inside_a_test_is_no_result_of_it(sandbox, body, error):
    lacks = f"from candidate import f\ndef test_a():\n    {body}\n"
    candidate = "def f(x):\n    return re.sub(x)\n"
    report = await sandbox.run(TestProgram(candidate, lacks), LIMITS)

    assert (report.exit_reason, report.error, report.executable) == ("error", error, False)
    assert [test.obstacle for test in report.outcomes] == ["environment"]

    # One other test that comes to a result makes the program executable.
    report = await sandbox.run(TestProgram(candidate, lacks + "def test_b():\n    assert not f\n"), LIMITS)
    assert (report.exit_reason, report.error, report.executable) == ("error", error, True)
    assert outcomes(report) == [("test_a", "error"), ("test_b", "failed")]
    assert [test.obstacle for test in report.outcomes] == ["environment", ""]


async def test_a_file_that_only_the_program_can_have_made_is_a_finding(sandbox):
    test = (
        "import os, subprocess, tempfile\n"
        "def test_beside():\n    open('none.txt')\n"
        "def test_scratch():\n    open(os.path.join(tempfile.gettempdir(), 'none.txt'))\n"
        "def test_own():\n    raise FileNotFoundError('no such file')\n"
        "def test_program():\n    subprocess.run(['no-such-program'])\n"
        "def test_system():\n    os.listdir(b'/usr/share/no-such-folder')\n"
    )
    report = await sandbox.run(TestProgram("", test), LIMITS)

    assert [test.outcome for test in report.outcomes] == ["error"] * 5
    assert [test.obstacle for test in report.outcomes] == ["", "", "", "environment", "environment"]


async def test_leaving_a_test_by_exit_is_no_success(sandbox):
    report = await sandbox.run(
        TestProgram("", "import sys\ndef test_a():\n    sys.exit(0)\ndef test_b():\n    exit()\n"), LIMITS
    )

    assert report.exit_reason == "error"
    assert outcomes(report) == [("test_a", "error"), ("test_b", "error")]
    assert report.outcomes[0].message == "SystemExit: 0"


async def test_ending_the_process_inside_a_test_is_no_success(sandbox):
    report = await sandbox.run(
        TestProgram("", "import os\ndef test_a():\n    pass\ndef test_b():\n    os._exit(0)\n"), LIMITS
    )

    assert (report.exit_reason, report.exit_code, report.error[:11]) == ("error", 0, "EndedEarly:")
    assert outcomes(report) == [("test_a", "passed"), ("test_b", "error")]
    assert [test.obstacle for test in report.outcomes] == ["", "limit"]


async def test_a_fork_that_comes_back_from_a_test_reports_nothing(sandbox):
    report = await sandbox.run(
        TestProgram("", "import os\ndef test_a():\n    os.fork() and os.wait()\ndef test_b():\n    pass\n"),
        LIMITS,
    )

    assert report.exit_reason == "ok"
    assert outcomes(report) == [("test_a", "passed"), ("test_b", "passed")]


async def test_printed_lines_are_never_outcomes(sandbox):
    fake = '{"event": "outcome", "name": "test_fake", "outcome": "passed", "message": "", "seconds": 0}'
    test = f"def test_a():\n    print('PASS test_fake')\n    print({fake!r})\n    assert False\n"
    report = await sandbox.run(TestProgram("", test), LIMITS)

    assert report.exit_reason == "assertion"
    assert outcomes(report) == [("test_a", "failed")]
    assert report.stdout.startswith("PASS test_fake\n")


@pytest.mark.parametrize(
    ("test", "reason", "executable"),
    [
        ("from candidate import add\nassert add(1, 2) == 3\nprint('done')\n", "ok", True),
        ("from candidate import add\nassert add(1, 2) == 4\n", "assertion", True),
        ("from candidate import add\nadd(1, None)\n", "error", True),
        ("import dateutil\n", "error", False),
        ("import sys\nsys.exit(0)\n", "ok", True),
        ("import sys\nsys.exit(3)\n", "error", True),
        ("import os\nos._exit(0)\n", "error", False),
    ],
)
async def test_a_program_without_tests_runs_as_a_script(sandbox, test, reason, executable):
    report = await sandbox.run(TestProgram(ADD, test), LIMITS)

    assert (report.exit_reason, report.executable, report.outcomes) == (reason, executable, ())


async def test_a_candidate_that_exits_does_not_end_a_script_well(sandbox):
    program = TestProgram(
        "def f():\n    raise SystemExit(0)\n", "import candidate\ncandidate.f()\nassert False\n"
    )

    assert (await sandbox.run(program, LIMITS)).exit_reason == "error"


async def test_async_tests_classes_and_generators(sandbox):
    test = (
        "import unittest\n"
        "async def test_async():\n    assert False\n"
        "def test_generator():\n    yield\n"
        "class TestPlain:\n    def setup_method(self):\n        self.x = 1\n"
        "    def test_it(self):\n        assert self.x == 1\n"
        "class Cases(unittest.TestCase):\n    def setUp(self):\n        self.x = 1\n"
        "    def test_it(self):\n        self.assertEqual(self.x, 2)\n"
    )
    report = await sandbox.run(TestProgram("", test), LIMITS)

    assert outcomes(report) == [
        ("test_async", "failed"),
        ("test_generator", "error"),
        ("TestPlain.test_it", "passed"),
        ("Cases.test_it", "failed"),
    ]


def obstacles(report):
    return [(test.name, test.obstacle) for test in report.outcomes]


async def in_process(test, candidate=ADD):
    """What the harness makes of a program; it is the same one in every sandbox."""
    return await ProcessSandbox(SandboxSettings(), None).run(TestProgram(candidate, test), LIMITS)


TESTS_OF_EVERY_KIND = """
import abc, functools, unittest
import candidate
from candidate import add

def test():
    assert add(1, 1) == 3

def testCamel():
    assert add(1, 1) == 2

def _sum(a, b, total):
    assert add(a, b) == total

test_partial = functools.partial(_sum, 1, 2, 4)
test_lambda = lambda: _sum(1, 2, 3)
test_data = [1, 2]
test_function = candidate.add

def made(total):
    def test_inner():
        _sum(0, 0, total)
    return test_inner

test_made = made(0)

class SumTests:
    def test_shared(self):
        self.assertEqual(add(*self.values), self.total)

class Threes(SumTests, unittest.TestCase):
    values, total = (1, 2), 3

class Wrong(Threes):
    total = 4
    test_assigned = lambda self: self.assertEqual(self.total, 4)

class TestOuter:
    class TestInner:
        def test_nested(self):
            assert add(0, 1) == 1

class Alone(unittest.TestCase):
    def runTest(self):
        self.assertEqual(add(1, 1), 3)

class TestAbstract(abc.ABC):
    @abc.abstractmethod
    def total(self): ...

    def test_total(self):
        assert add(1, 1) == self.total()

class TestTwo(TestAbstract):
    def total(self):
        return 2

class Holder:
    test_data = 1
    test_type = int

if add(1, 0) == 1:
    async def test_conditional():
        assert add(1, 0) == 0
"""


async def test_tests_of_every_kind_are_run(sandbox):
    report = await sandbox.run(TestProgram(ADD, TESTS_OF_EVERY_KIND), LIMITS)

    assert outcomes(report) == [
        ("test", "failed"),
        ("testCamel", "passed"),
        ("test_partial", "failed"),
        ("test_lambda", "passed"),
        ("test_made", "passed"),
        ("Threes.test_shared", "passed"),
        ("Wrong.test_shared", "failed"),
        ("Wrong.test_assigned", "passed"),
        ("TestOuter.TestInner.test_nested", "passed"),
        ("Alone.runTest", "failed"),
        ("TestTwo.test_total", "passed"),
        ("test_conditional", "failed"),
    ]
    assert (report.exit_reason, report.error) == ("assertion", "")
    assert {test.obstacle for test in report.outcomes} == {""}


IMPORTS = "import functools, unittest\nfrom candidate import add\n"
UNRUN = {
    "check(candidate)": ("def check(candidate):\n    assert candidate(1, 1) == 3\n", ["check"]),
    "a check that raises": (
        "def check(candidate):\n    if candidate(1, 1) != 3:\n        raise AssertionError('no')\n",
        ["check"],
    ),
    "a check that is exported and described": (
        "'check'\n__all__ = ['check']\ndef check(candidate):\n    'check'\n    assert candidate(1, 1) == 3\n",
        ["check"],
    ),
    "a check that others do for it": (
        "def same(a, b):\n    assert a == b\ndef check(candidate):\n    same(candidate(1, 1), 3)\n",
        ["same"],
    ),
    "checks in a list": (
        "def check_a():\n    assert add(1, 1) == 3\nCHECKS = [check_a]\ndef test_a():\n    pass\n",
        ["check_a"],
    ),
    "a partial, a thread and a map that nobody starts": (
        "import threading\ndef check(n):\n    assert add(n, n) == 3\ndef verify(n):\n    assert False\n"
        "def is_valid(n):\n    assert False\nlater = functools.partial(check, 1)\n"
        "thread = threading.Thread(target=verify)\neach = map(is_valid, [1, 2])\n",
        ["check", "verify", "is_valid"],
    ),
    "a coroutine and a generator that nobody runs": (
        "async def check():\n    assert False\ndef check_each():\n    yield 1\n    assert False\n"
        "def test_a():\n    check().close()\n    check_each()\n",
        ["check", "check_each"],
    ),
    "more than the tests, by who runs them": (
        "def test_a():\n    assert True\ndef run_all():\n    test_a()\n    assert add(1, 1) == 3\n"
        "if __name__ == '__main__':\n    run_all()\n",
        ["run_all"],
    ),
    "a check of the cases in a list": (
        "test_cases = [(1, 1, 3)]\ndef check_add():\n    for a, b, c in test_cases:\n        assert add(a, b) == c\n",
        ["check_add"],
    ),
    "a check that uses a class": (
        "class Boom(Exception):\n    pass\ndef run_tests():\n    try:\n        assert add(1, 1) == 3\n"
        "    except Boom:\n        pass\n",
        ["run_tests"],
    ),
    "a class of tests in a function": (
        "def build():\n    class TestAdd(unittest.TestCase):\n        def test_a(self):\n"
        "            self.assertEqual(add(1, 1), 3)\n    return TestAdd\ndef test_b():\n    build()\n",
        ["TestAdd.test_a"],
    ),
    "an assertion of unittest behind the guard": (
        "def test_a():\n    pass\nif __name__ == '__main__':\n    unittest.TestCase().assertEqual(add(1, 1), 3)\n",
        ["__main__ (line 5)"],
    ),
    "a static method that nothing mentions": (
        "class Sums:\n    @staticmethod\n    def small():\n        assert add(1, 1) == 3\n",
        ["Sums.small"],
    ),
    "a test that its decorator does not call": (
        "def skip_unless(needed):\n    return lambda test: test if needed else lambda: None\n"
        "@skip_unless(False)\ndef test_a():\n    assert False\ndef test_b():\n    pass\n",
        ["test_a"],
    ),
    "only auxiliary assertions": ("def assert_even(n):\n    assert n % 2 == 0\n", ["assert_even"]),
    "a script that ends itself before": (
        "import sys\nprint(add(1, 1))\nif add:\n    sys.exit()\nassert add(1, 1) == 3\n",
        ["line 7"],
    ),
    "behind the guard of one": (
        "import sys\nif __name__ == '__main__':\n    sys.exit(0)\n    assert add(1, 1) == 3\n",
        ["line 6"],
    ),
    "tests after the end": (
        "def test_a():\n    pass\ntest_a()\nraise SystemExit\ndef test_b():\n    assert False\n",
        ["test_b"],
    ),
    "two that call each other": (
        "def check(n):\n    assert add(n, n) == 3\n    more(n)\ndef more(n):\n    assert n\n    check(n - 1)\n",
        ["check", "more"],
    ),
    "a decorated check": (
        "@functools.lru_cache(maxsize=None)\ndef check(n):\n    assert add(n, n) == 3\n",
        ["check"],
    ),
    "a check in a class": (
        "class TestAdd(unittest.TestCase):\n    def test_a(self):\n        pass\n"
        "    def check_more(self):\n        self.assertEqual(add(1, 1), 3)\n",
        ["TestAdd.check_more"],
    ),
    "a class of checks that nothing uses": (
        "class Checks:\n    def check_a(self):\n        assert add(1, 1) == 3\n",
        ["Checks.check_a"],
    ),
    "a test class in a class": (
        "class Sums:\n    class TestAdd:\n        def test_a(self):\n            assert False\n",
        ["Sums.TestAdd"],
    ),
    "tests behind the main guard": (
        "def test_a():\n    pass\nif __name__ == '__main__':\n    def test_b():\n        assert False\n"
        "    class TestC:\n        def test_c(self):\n            assert False\n",
        ["test_b", "TestC"],
    ),
    "behind the main guard, beside tests": (
        "def test_a():\n    pass\ndef more():\n    assert add(1, 1) == 3\n"
        "if __name__ == '__main__':\n    test_a()\n    more()\n",
        ["more"],
    ),
    "in a function": ("def tests():\n    def test_a():\n        assert False\n", ["test_a"]),
    "in a loop": (
        "for n in range(2):\n    def one(n=n):\n        assert add(n, n) == 9\n"
        "    globals()[f'test_{n}'] = one\n",
        ["test_0", "test_1"],
    ),
    "on a class": (
        "class T(unittest.TestCase):\n    pass\n"
        "for n in range(2):\n    setattr(T, f'test_{n}', lambda self: self.fail())\n",
        ["T.test_0", "T.test_1"],
    ),
    "by partialmethod": (
        "class T(unittest.TestCase):\n    def check(self, n):\n        self.fail()\n"
        "setattr(T, 'test_' + 'a', functools.partialmethod(T.check, 1))\n",
        ["T.test_a"],
    ),
    "in a class of its own": (
        "class Checks:\n    def test_a(self):\n        assert False\n"
        "Made = type('Made', (Checks, unittest.TestCase), {})\n"
        "class More(Checks, unittest.TestCase):\n    test_a = None\n",
        ["Made.test_a"],
    ),
    "by exec": ("for n in range(2):\n    exec(f'def test_{n}(): assert False')\n", ["test_0", "test_1"]),
    "deleted": ("def test_a():\n    assert False\ndel test_a\n", ["test_a"]),
    "replaced": ("def test_a():\n    assert False\ndef test_a():\n    pass\n", ["test_a (line 3)"]),
    "assertions behind the main guard": (
        "def test_a():\n    pass\nif __name__ == '__main__':\n    assert add(1, 1) == 3\n",
        ["__main__ (line 5)"],
    ),
    "a TestCase without tests": (
        "class TestAdd(unittest.TestCase):\n    def check_a(self):\n        self.assertEqual(add(1, 1), 3)\n",
        ["TestAdd.check_a"],
    ),
    "replaced under a condition": (
        "def test_a():\n    assert False\nif True:\n    def test_a():\n        pass\n",
        ["test_a (line 3)"],
    ),
    "of a class that was replaced": (
        "class TestA:\n    def test_a(self):\n        assert False\nclass TestA:\n    pass\n",
        ["TestA (line 3)"],
    ),
    "load_tests": ("def load_tests(loader, tests, pattern):\n    return tests\n", ["load_tests"]),
}


@pytest.mark.parametrize("name", UNRUN)
async def test_what_looks_like_a_test_and_was_not_run_is_named_and_has_no_result(name):
    program, names = UNRUN[name]
    report = await in_process(IMPORTS + program)

    unrun = [test for test in report.outcomes if test.obstacle]
    assert [test.name for test in unrun] == names
    assert {(test.outcome, test.obstacle) for test in unrun} == {("error", "test")}
    assert report.exit_reason == "error"
    assert report.error.startswith("NotRun: ")
    assert f"ERROR {names[0]}: {report.error}\n" in report.stdout
    assert report.executable == (len(unrun) < len(report.outcomes))


@pytest.mark.parametrize(
    "program",
    [
        "def check(n):\n    assert n\ndef test_a():\n    check(1)\n",
        "def check(n):\n    assert n\ncheck(1)\n",
        "def check(n):\n    assert n\nif __name__ == '__main__':\n    check(1)\n",
        "def check(n):\n    assert n\nglobals()['check'](1)\n",
        "def check(n):\n    assert n\ndef test_a():\n    pass\nif test_a.__name__ == 'test_a':\n    check(1)\n",
        "def test_add(a, b, total):\n    assert add(a, b) == total\ntest_add(1, 2, 3)\n",
        "def test_equal(got, wanted):\n    assert got == wanted\ndef test_add():\n    test_equal(add(1, 1), 2)\n",
        "def check_a():\n    assert add(1, 1) == 2\nfor n, f in list(globals().items()):\n"
        "    if n.startswith('check_'):\n        f()\n",
        "class T(unittest.TestCase):\n    def check_1(self):\n        self.assertTrue(add)\n"
        "    def test_a(self):\n        getattr(self, f'check_{1}')()\n",
        "def test_a():\n    assert True\ndef main():\n    found = [f for n, f in globals().items() if n[:5] == 'test_']\n"
        "    assert found\nif __name__ == '__main__':\n    main()\n",
        "def assert_even(n):\n    assert n % 2 == 0\nassert add(1, 1) == 2\n",  # auxiliary by its name
        "def test_a():\n    assert True\ntest_a()\nraise SystemExit(0)\n",
        "def never(error):\n    raise AssertionError(error)\ndef test_a():\n    add.on_error = never\n",
        "class TestAdd:\n    def test_a(self):\n        assert __name__ == 'test_candidate'\n        import pickle\n"
        "        assert pickle.loads(pickle.dumps(TestAdd)) is TestAdd\nraise SystemExit\n",
        "@functools.lru_cache\ndef test_func(n):\n    return n * 2\nassert test_func(2) == 4\n",
        "test_func = lambda n: n + 1\nassert test_func(add(1, 1)) == 3\n",
        "def test_add(a, b, total):\n    assert add(a, b) == total\ndef run(call, *values):\n    call(*values)\n"
        "run(test_add, 1, 2, 3)\n",
        "def test(*row):\n    assert sum(row[:2]) == row[2]\ntest(1, 2, 3)\n",
        "def test_empty():\n    def check(n):\n        raise AssertionError(n)\n    assert list(map(check, [])) == []\n",
        "if add:\n    def check():\n        assert True\nelse:\n    def check():\n        assert False\ncheck()\n",
        "class Base:\n    class Sums(unittest.TestCase):\n        def test_a(self):\n"
        "            self.assertEqual(add(1, 1), self.two)\nclass TestAdd(Base.Sums):\n    two = 2\n",
        "def test_a():\n    assert True\ndef main():\n    import sys\n"
        "    suite = unittest.TestLoader().loadTestsFromModule(sys.modules[__name__])\n"
        "    assert unittest.TextTestRunner().run(suite).wasSuccessful()\n"
        "if __name__ == '__main__':\n    main()\n",
        "class Rule:\n    def test(self, value):\n        return value > 1\ndef test_a():\n    assert Rule().test(add(1, 1))\n",
        "def test_cases():\n    yield 1, 1, 2\ndef test_a():\n    for a, b, total in test_cases():\n"
        "        assert add(a, b) == total\n",
        "class Fake:\n    def validate(self):\n        assert False\ndef test_a():\n    assert Fake()\n",
        "class TestSums:\n    def test_a(self):\n        self.assertEqual(add(1, 1), 2)\n"
        "class AddTest(TestSums, unittest.TestCase):\n    pass\n",
        "try:\n    from functools import check\nexcept ImportError:\n    check = None\ntry:\n"
        "    from functools import reduce as check\nexcept ImportError:\n    def check(*each):\n        assert each\n"
        "def test_a():\n    check(add, [1, 2])\n",
        "def test_a():\n    pass\nprogram = unittest.main(exit=False)\nassert program.result.wasSuccessful()\n",
        "def greatest(ns):\n    assert ns\nlargest = [greatest]\n",
        "import multiprocessing\ndef check():\n    assert add(1, 1) == 2\ndef test_a():\n"
        "    process = multiprocessing.get_context('fork').Process(target=check)\n    process.start()\n"
        "    process.join()\n    assert process.exitcode == 0\n",
        "class Stand:\n    def write(self, text):\n        assert text\nadd.out = Stand()\n",  # the code may call it
        "def check(n):\n    assert n\ndef test_a():\n    pass\nif __name__ != '__main__':\n    check(1)\n",
        "def check(n):\n    assert n\ndef test_a():\n    pass\nif __name__ == '__main__':\n    pass\nelse:\n    check(1)\n",
        "def run(f):\n    f()\n    return f\n@run\ndef check():\n    assert add(1, 1) == 2\n",
        "class T(unittest.TestCase):\n    def setUp(self):\n        self.assertTrue(add)\n"
        "    def check(self):\n        self.assertTrue(add)\n    def test_a(self):\n        self.check()\n",
        "if add:\n    def test_a():\n        pass\nelse:\n    def test_a():\n        assert False\n",
        "class Base(unittest.TestCase):\n    def test_a(self):\n        self.make()\n"
        "class TestB(Base):\n    def make(self):\n        pass\ndel Base\n",
        "class T(unittest.TestCase):\n    pass\nsetattr(T, 'test_0', lambda self: None)\n"
        "if __name__ == '__main__':\n    unittest.main()\n",
        "test_cases = [(1, 1, 2)]\nfor a, b, total in test_cases:\n    assert add(a, b) == total\n",
    ],
)
async def test_what_is_used_is_no_test_that_was_not_run(program):
    report = await in_process(IMPORTS + program)
    assert (report.exit_reason, report.executable) == ("ok", True), report


async def test_a_test_that_a_decorator_of_the_code_makes_is_run():
    candidate = "def twice(f):\n    def run():\n        f()\n        f()\n    return run\n"
    test = (
        "from candidate import twice\nseen = []\ntest_a = twice(lambda: seen.append(1))\n"
        "@twice\ndef test_b():\n    assert len(seen) == 2\n"
    )
    assert outcomes(await in_process(test, candidate)) == [("test_a", "passed"), ("test_b", "passed")]


@pytest.mark.parametrize("call", ["unittest.main()", "main(verbosity=2)", "unittest.main(exit=False)"])
async def test_an_unguarded_main_of_unittest_lets_the_tests_be_run(sandbox, call):
    test = (
        "import unittest\nfrom unittest import main\nfrom candidate import add\n"
        "class T(unittest.TestCase):\n"
        "    def test_a(self):\n        self.assertEqual(add(1, 1), 2)\n"
        "    def test_b(self):\n        self.assertEqual(add(1, 1), 3)\n"
        f"{call}\n"
    )
    report = await sandbox.run(TestProgram(ADD, test), LIMITS)
    assert (report.exit_reason, outcomes(report)) == (
        "assertion",
        [("T.test_a", "passed"), ("T.test_b", "failed")],
    )


async def test_a_main_of_unittest_in_the_candidate_ends_it():
    report = await in_process(
        "import unittest, candidate\ndef test_a():\n    pass\n", "import unittest\nunittest.main()\n"
    )
    assert (report.error.partition(":")[0], report.executable) == ("SystemExit", False)


SET_UPS = """
import unittest
LOG = []

def note(*words):
    LOG.append(" ".join(words))
    print(*words)

def setUpModule():
    note("module up")
    unittest.addModuleCleanup(note, "module clean")

def tearDownModule():
    note("module down")

def setup_function(function):
    note("up", function.__name__)

def teardown_function():
    note("down")

def test_function():
    assert LOG == ["module up", "up test_function"]

class TestPlain:
    @classmethod
    def setup_class(cls):
        note("class up", cls.__name__)

    def teardown_class(cls):
        note("class down", cls.__name__)

    def setup_method(self, method):
        note("up", method.__name__)

    def teardown_method(self):
        note("down")

    def test_one(self):
        pass

    def test_two(self):
        assert LOG.count("class up TestPlain") == 1

class TestOfUnittest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(note, "class clean")
        note("class up")

    @classmethod
    def tearDownClass(cls):
        note("class down")

    def setUp(self):
        self.addCleanup(note, "clean")
        note("up")

    def tearDown(self):
        note("down")

    def test_three(self):
        pass

    def test_four(self):
        for n in range(2):
            with self.subTest(n=n):
                self.assertEqual(n, 0)

    def test_five(self):
        self.addCleanup(lambda: 1 / 0)

class TestInLoop(unittest.IsolatedAsyncioTestCase):
    def setup_method(self, method):
        self.seen = [method.__name__]

    async def asyncSetUp(self):
        self.seen.append("up")

    def test_six(self):
        self.assertEqual(self.seen, ["test_six", "up"])

    async def test_seven(self):
        self.assertEqual(self.seen, [])
"""


async def test_the_set_ups_of_pytest_and_unittest_are_run(sandbox):
    report = await sandbox.run(TestProgram(ADD, SET_UPS), LIMITS)

    passed = {"test_function", "TestPlain.test_one", "TestPlain.test_two", "TestOfUnittest.test_three"}
    passed.add("TestInLoop.test_six")
    assert [(test.name, test.outcome == "passed") for test in report.outcomes] == [
        (name, name in passed)
        for name in (
            *("test_function", "TestPlain.test_one", "TestPlain.test_two"),
            *(f"TestOfUnittest.test_{number}" for number in ("three", "four", "five")),
            *("TestInLoop.test_six", "TestInLoop.test_seven"),
        )
    ]
    assert [test.obstacle for test in report.outcomes] == [""] * 8
    assert [line for line in report.stdout.splitlines() if ":" not in line and "PASS" not in line] == [
        *("module up", "up test_function", "down"),
        *("class up TestPlain", "up test_one", "down", "up test_two", "down", "class down TestPlain"),
        *("class up", "up", "down", "clean", "up", "down", "clean", "up", "down", "clean"),
        *("class down", "class clean", "module down", "module clean"),
    ]


@pytest.mark.parametrize(
    ("test", "theirs_alone"),
    # What is bound to a function of the code is none of the program's tests.
    [(TESTS_OF_EVERY_KIND, {"test_function": False}), (SET_UPS, {})],
    ids=["kinds", "set_ups"],
)
def test_pytest_finds_and_decides_the_same(tmp_path, test, theirs_alone):
    (tmp_path / "candidate.py").write_text(ADD)
    (tmp_path / "test_candidate.py").write_text(test)
    options = ["-p", "no:cacheprovider", "-o", "addopts=", "-c", "/dev/null", "--rootdir", ".", "-rA", "-q"]
    command = [sys.executable, "-m", "pytest", *options, "test_candidate.py"]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    passed = {}
    for line in output.splitlines():
        word, _, rest = line.partition(" test_candidate.py::")
        if rest and word in ("PASSED", "FAILED", "ERROR"):
            label = rest.partition(" - ")[0].replace("::", ".")
            passed[label] = word == "PASSED" and passed.get(label, True)

    report = asyncio.run(in_process(test))
    ours = {one.name: one.outcome == "passed" for one in report.outcomes}
    assert ours | theirs_alone == passed, output


NO_RESULT = {
    "a fixture": (
        "def test_a(tmp_path):\n    assert add(1, 1) == 3\n",
        "NotRun: test_a() missing 1 required",
    ),
    "a fixture of a method": (
        "class TestA:\n    def test_a(self, capsys):\n        pass\n",
        "NotRun: TestA.test_a() missing",
    ),
    "a fixture of a TestCase": (
        "class A(unittest.TestCase):\n    def test_a(self, capsys):\n        pass\n",
        "NotRun: A.test_a() missing",
    ),
    "a keyword": ("def test_a(*, capsys):\n    pass\n", "NotRun: test_a() missing"),
    "a fixture behind a decorator": (
        "def twice(test):\n    @functools.wraps(test)\n    def run(*given):\n        test(*given)\n"
        "    return run\n@twice\ndef test_a(capsys):\n    pass\n",
        "NotRun: test_a() missing",
    ),
    "no self": ("class TestA:\n    def test_a():\n        pass\n", "NotRun: TestA.test_a() takes 0"),
    "a generator": ("def test_a():\n    yield\n    assert False\n", "NotRun: the test is a generator"),
    "skipped": ("@unittest.skip('not now')\ndef test_a():\n    pass\n", "SkipTest: not now"),
    "skips itself": (
        "class A(unittest.TestCase):\n    def test_a(self):\n        self.skipTest('not here')\n",
        "SkipTest: not here",
    ),
    "of a skipped class": (
        "@unittest.skip('none of them')\nclass A(unittest.TestCase):\n"
        "    def setUpClass():\n        1 / 0\n    def test_a(self):\n        pass\n",
        "SkipTest: none of them",
    ),
    "of a skipped plain class": (
        "@unittest.skip('none of them')\nclass TestA:\n    def test_a(self):\n        pass\n",
        "SkipTest: none of them",
    ),
    "skipped by its set-up": (
        "class A(unittest.TestCase):\n    def setUp(self):\n        self.skipTest('')\n"
        "    def test_a(self):\n        pass\n",
        "SkipTest",
    ),
    "a set-up that fails": (
        "class A(unittest.TestCase):\n    def setUp(self):\n        self.assertEqual(add(1, 1), 3)\n"
        "    def test_a(self):\n        pass\n",
        "SetUpFailed: AssertionError: 2 != 3",
    ),
    "a set-up of the class": (
        "class A(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n        add(1, None)\n"
        "    def test_a(self):\n        pass\n",
        "SetUpFailed: TypeError: ",
    ),
    "a set-up of the module": (
        "def setup_module(module):\n    raise KeyError(module.__name__)\ndef test_a():\n    pass\n",
        "SetUpFailed: KeyError: 'test_candidate'",
    ),
    "an object that cannot be made": (
        "class TestA:\n    def __init__(self, n):\n        pass\n    def test_a(self):\n        pass\n",
        "SetUpFailed: TypeError: ",
    ),
}


@pytest.mark.parametrize("name", NO_RESULT)
async def test_a_test_that_could_not_be_run_is_no_finding(name):
    test, error = NO_RESULT[name]
    report = await in_process(IMPORTS + test)

    assert (report.exit_reason, report.executable) == ("error", False)
    assert report.error.startswith(error), report.error
    assert [(test.outcome, test.obstacle) for test in report.outcomes] == [("error", "test")]

    # A set-up of the module is one for all tests; otherwise another test may come to a result.
    report = await in_process(IMPORTS + test + "def test_b():\n    assert add(1, 1) == 3\n")
    whole = name == "a set-up of the module"
    assert report.outcomes[-1].outcome == ("error" if whole else "failed")
    assert report.executable == (not whole)


async def test_a_set_up_that_lacks_something_says_what_is_missing():
    report = await in_process("def setup_function():\n    import dateutil\ndef test_a():\n    pass\n")
    assert report.error == "ModuleNotFoundError: No module named 'dateutil'"
    assert obstacles(report) == [("test_a", "environment")]


async def test_a_shared_set_up_that_failed_is_run_once_and_not_torn_down():
    test = (
        "class TestA:\n    def setup_class(cls):\n        print('up')\n        raise ValueError\n"
        "    def teardown_class(cls):\n        print('down')\n"
        "    def test_a(self):\n        pass\n    def test_b(self):\n        pass\n"
    )
    report = await in_process(test)
    assert obstacles(report) == [("TestA.test_a", "test"), ("TestA.test_b", "test")]
    assert (report.stdout.count("up\n"), report.stdout.count("down\n")) == (1, 0)


MARKED = """
import sys, types
class Mark:
    def __init__(self, name):
        self.name = name
    def __call__(self, test):
        test.pytestmark = [self]
        return test
sys.modules["pytest"] = types.ModuleType("pytest")  # as a repair would install it
"""


async def test_a_mark_of_pytest_that_is_not_obeyed_is_no_finding():
    marked = "@Mark('skipif')\ndef test_a():\n    assert False\n@Mark('slow')\ndef test_b():\n    pass\n"
    assert obstacles(await in_process(MARKED + marked)) == [("test_a", "test"), ("test_b", "")]

    automatic = "def data():\n    pass\ndata._pytestfixturefunction = types.SimpleNamespace(autouse=True)\n"
    assert {each for _, each in obstacles(await in_process(MARKED + automatic + marked))} == {"test"}


@pytest.mark.parametrize(
    "cookie", ["# -*- coding: latin-1 -*-", "#!x\n# vim: fileencoding=no-such", "# coding=ascii"]
)
async def test_a_declared_encoding_of_a_text_is_that_of_its_file_before(sandbox, cookie):
    candidate = f"{cookie}\ndef letter():\n    return '\u00e9'\n"
    test = "from candidate import letter\ndef test_a():\n    assert letter() == '\u00e9', letter()\n"
    report = await sandbox.run(TestProgram(candidate, f"{cookie}\n{test}"), LIMITS)
    assert report.exit_reason == "ok", report
    assert "test_candidate" not in report.stderr

    stubbed = TestProgram(f"\ufeff{candidate}", f"{cookie}\n{test}", stub="none")
    report = await sandbox.run(stubbed, LIMITS)
    assert report.outcomes[0].message == "AssertionError: None"

    failing = f"{cookie}\ndef test_a():\n    assert '\u00e9' == 'e'\n"
    report = await sandbox.run(TestProgram("", failing), LIMITS)
    assert report.outcomes[0].message == "AssertionError: assert '\u00e9' == 'e'"


async def test_a_source_that_is_nested_too_deeply_to_be_read_has_no_result():
    report = await in_process("def test_a():\n    assert 1 < " + " + ".join("1" * 5000) + "\n")
    assert (report.exit_reason, report.executable) in {("error", False), ("memory", False)}, report


async def test_tests_of_the_candidate_are_not_the_programs_tests(sandbox):
    candidate = "def test_connection():\n    raise ValueError\n"
    report = await sandbox.run(
        TestProgram(candidate, "from candidate import *\ndef test_a():\n    pass\n"), LIMITS
    )

    assert outcomes(report) == [("test_a", "passed")]


async def test_an_exception_that_cannot_be_described_is_still_reported(sandbox):
    candidate = "class Odd(Exception):\n    def __str__(self):\n        raise KeyError\n"
    test = "import candidate\ndef test_a():\n    raise candidate.Odd\ndef test_b():\n    pass\n"
    report = await sandbox.run(TestProgram(candidate, test), LIMITS)

    assert outcomes(report) == [("test_a", "error"), ("test_b", "passed")]


async def test_an_endless_loop_is_stopped_and_named(sandbox):
    endless = "def test_b():\n    while True:\n        pass\n"
    report = await sandbox.run(
        TestProgram("", "def test_a():\n    pass\n" + endless), replace(LIMITS, wall_seconds=2)
    )

    assert (report.exit_reason, report.error) == ("timeout", "Timeout: not done after 2 s")
    assert outcomes(report) == [("test_a", "passed"), ("test_b", "error")]
    assert [test.obstacle for test in report.outcomes] == ["", "limit"]
    assert report.executable  # one test came to a result

    alone = await sandbox.run(TestProgram("", endless), replace(LIMITS, wall_seconds=2))
    assert (alone.exit_reason, alone.executable) == ("timeout", False)


async def test_the_processors_limit_is_a_timeout_too(sandbox):
    program = TestProgram("", "def test_a():\n    while True:\n        pass\n")
    report = await sandbox.run(program, replace(LIMITS, cpu_seconds=1))

    assert (report.exit_reason, report.error) == ("timeout", "Timeout: used 1 s of processor time")


async def test_a_program_that_ignores_the_processors_limit_is_killed_as_a_timeout(sandbox):
    test = (
        "import signal\ndef test_a():\n"
        "    signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n    while True:\n        pass\n"
    )
    report = await sandbox.run(TestProgram("", test), replace(LIMITS, cpu_seconds=1))

    assert report.exit_reason == "timeout"


@pytest.mark.parametrize("hog", ["bytearray(10**9)", "[bytes(10**6) for _ in range(10**6)]"])
async def test_a_memory_hog_ends_as_memory(sandbox, hog):
    test = f"def test_a():\n    kept = {hog}\ndef test_b():\n    pass\n"
    report = await sandbox.run(TestProgram("", test), replace(LIMITS, memory_bytes=128 * 1024 * 1024))

    assert (report.exit_reason, report.executable) == ("memory", True)
    assert outcomes(report) == [("test_a", "error"), ("test_b", "passed")]
    assert [test.obstacle for test in report.outcomes] == ["limit", ""]


async def test_fifty_megabytes_of_output_are_read_and_mostly_dropped(sandbox):
    test = "import os\ndef test_a():\n    for _ in range(50):\n        os.write(1, b'x' * 10**6)\n"
    report = await sandbox.run(TestProgram("", test), LIMITS)

    assert (report.exit_reason, report.executable) == ("output", True)
    assert outcomes(report) == [("test_a", "passed")]
    assert len(report.stdout) == LIMITS.kept_bytes
    assert report.stdout.endswith("xPASS test_a\n")
    assert len(report.stdout) + report.output_dropped == 50 * 10**6 + len("PASS test_a\n")


async def test_endless_output_is_stopped_before_the_clock_stops_it(sandbox):
    test = "import os\ndef test_a():\n    while True:\n        os.write(2, b'x' * 10**5)\n"
    report = await sandbox.run(TestProgram("", test), replace(LIMITS, output_bytes=10_000))

    assert report.exit_reason == "output"
    assert len(report.stderr) == 10_000
    assert report.seconds < LIMITS.wall_seconds


async def test_a_file_too_large_ends_as_disk(sandbox):
    test = "def test_a():\n    open('big', 'wb').write(b'x' * 3_000_000)\n"
    report = await sandbox.run(TestProgram("", test), replace(LIMITS, file_bytes=1_000_000))

    assert report.exit_reason == "disk"


async def test_a_segfault_is_a_kill(sandbox):
    test = "import ctypes\ndef test_a():\n    pass\ndef test_b():\n    ctypes.string_at(0)\n"
    report = await sandbox.run(TestProgram("", test), LIMITS)

    assert (report.exit_reason, report.exit_code) == ("killed", 139)
    assert report.error == "Killed: ended by SIGSEGV"
    assert outcomes(report) == [("test_a", "passed"), ("test_b", "error")]


async def test_the_scratch_folder_is_writable_empty_and_the_working_folder(sandbox):
    test = (
        "import os, tempfile\n"
        "def test_a():\n"
        "    assert os.listdir() == []\n"
        "    open('note', 'w').write('x')\n"
        "    assert tempfile.gettempdir() == os.getcwd() == os.environ['HOME']\n"
    )

    assert (await sandbox.run(TestProgram("", test), LIMITS)).exit_reason == "ok"


async def test_hashes_and_variables_are_the_same_in_every_run(sandbox, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    program = TestProgram("", "import os\ndef test_a():\n    print(hash('a'), sorted(os.environ))\n")
    first, second = await sandbox.run(program, LIMITS), await sandbox.run(program, LIMITS)

    assert first.stdout == second.stdout
    assert first.environment == second.environment
    assert "OPENAI_API_KEY" not in first.stdout
    assert "PYTHONHASHSEED" in first.stdout


async def test_bytes_that_are_no_text_are_shown_as_bytes(sandbox):
    program = TestProgram(
        "", "import os\ndef test_a():\n    os.write(1, b'\\xff\\n')\n    raise ValueError('\\ud800')\n"
    )
    report = await sandbox.run(program, LIMITS)

    assert report.stdout.startswith("\\xff\n")
    assert report.outcomes[0].message == "ValueError: \\ud800"


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_runs_inside_is_python_3_8(script):
    ast.parse(script.read_text(), feature_version=(3, 8))


async def test_modules_of_the_program_may_be_named_as_those_that_run_it(sandbox):
    for name in ("supervisor", "harness", "cases", "listing"):
        report = await sandbox.run(TestProgram(f"import {name}\n", "import candidate\n"), LIMITS)
        assert report.error == f"ModuleNotFoundError: No module named '{name}'"


async def test_a_run_imports_little_before_the_program(sandbox):
    test = (
        "import sys\nearly = set(sys.modules)\n"
        "def test_a():\n"
        "    assert not early & {'json', 're', 'enum', 'collections', 'ctypes', 'signal', 'traceback', 'ast'}\n"
    )

    assert (await sandbox.run(TestProgram("", test), LIMITS)).exit_reason == "ok"


def test_what_runs_inside_comes_compiled(tmp_path):
    for name, content in scripts().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    for script in SCRIPTS:
        (tmp_path / script.name).write_text("raise SystemExit('the source was read')\n")
    command = [sys.executable, "-S", "-B", "-c", "import supervisor"]

    subprocess.run(command, cwd=tmp_path, check=True)


async def test_a_failure_is_told_when_no_file_can_be_opened(sandbox):
    test = (
        "kept = []\n"
        "def test_a():\n"
        "    try:\n        while True:\n            kept.append(open('/dev/null'))\n"
        "    except OSError:\n        pass\n"
        "    assert False\n"
        "def test_b():\n    raise ValueError('seen')\n"
    )
    report = await sandbox.run(TestProgram("", test), LIMITS)

    assert [(one.name, one.outcome) for one in report.outcomes] == [("test_a", "failed"), ("test_b", "error")]
    assert [one.message for one in report.outcomes] == ["AssertionError", "ValueError: seen"]


@pytest.mark.parametrize("text", ["", "a=b", "a\tb\nc", "%0A%09%25", "100 % \N{EURO SIGN}"])
def test_a_record_reads_as_it_was_written(text):
    record = {"event": "outcome", "message": text}

    assert "\n" not in encode(record)
    assert decode(encode(record).encode()) == record


LACKING = "def biggest(items: List[int]) -> int:\n    return functools.reduce(larger, items)\n"


async def test_a_scaffold_gives_the_candidate_what_it_lacks(sandbox):
    report = await sandbox.run(TestProgram(LACKING, SCAFFOLD + TESTS_CELL), LIMITS)
    assert outcomes(report) == [("test_three", "passed"), ("test_wrong", "failed")]
    assert (report.exit_reason, report.error, report.executable) == ("assertion", "", True)
    assert 'File "test_candidate.py", line 19, in test_wrong' in report.outcomes[1].trace


async def test_a_scaffold_that_fails_says_where(sandbox):
    program = "# %% scaffold\nimport functools\nimport no_such_module\n# %% tests\n" + TESTS_CELL
    report = await sandbox.run(TestProgram(LACKING, program), LIMITS)
    assert (report.error, report.executable) == (
        "ModuleNotFoundError: No module named 'no_such_module'",
        False,
    )
    assert 'File "scaffold.py", line 3' in report.trace


async def test_definitions_of_the_candidate_stand_and_its_source_is_its_own(sandbox):
    program = (
        "# %% scaffold\nfrom __future__ import annotations\ndef double(x):\n    return 'not this one'\n"
        "# %% tests\nimport inspect, candidate\n"
        "def test_own():\n    assert candidate.double(2) == 4\n"
        "def test_source():\n    assert inspect.getsource(candidate.double) == 'def double(x):\\n    return 2 * x\\n'\n"
    )
    report = await sandbox.run(TestProgram("def double(x):\n    return 2 * x\n", program), LIMITS)
    assert outcomes(report) == [("test_own", "passed"), ("test_source", "passed")], report


async def test_a_program_without_tests_has_a_scaffold_too(sandbox):
    program = (
        SCAFFOLD + "# %% tests\nfrom candidate import biggest\nassert biggest([1, 2]) == 2\nprint('seen')\n"
    )
    report = await sandbox.run(TestProgram(LACKING, program), LIMITS)
    assert (report.exit_reason, report.stdout) == ("ok", "seen\n")


async def test_stubs_of_the_candidate_have_its_scaffold():
    if why_not_bubblewrap():
        pytest.skip(why_not_bubblewrap())
    weak = "def test_weak():\n    biggest([1])\n"
    report = await TrustedSandbox(Forks(), Limits(wall_seconds=60)).run(
        TestProgram(LACKING, SCAFFOLD + TESTS_CELL + weak), LIMITS
    )
    assert [test.discriminates for test in report.outcomes] == [True, None, False]


async def test_an_interpreter_of_its_own_reads_a_scaffold_as_a_fork_does(tmp_path):
    if why_not_bubblewrap():
        pytest.skip(why_not_bubblewrap())
    alone = BubblewrapSandbox(SandboxSettings(snapshots=str(tmp_path)), None)
    report = await alone.run(replace(TestProgram(LACKING, SCAFFOLD + TESTS_CELL), hash_seed=1), LIMITS)
    assert outcomes(report) == [("test_three", "passed"), ("test_wrong", "failed")]
