"""How far tests can be trusted: stubs and a second hash seed, really run in every sandbox."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.errors import SandboxError
from agents.sandbox.inside.stubs import load_stub
from agents.sandbox.interpreter import sources
from agents.sandbox.process import ProcessSandbox
from agents.sandbox.protocol import ExecutionReport, Limits, TestOutcome, TestProgram
from agents.sandbox.settings import SandboxSettings
from agents.sandbox.trust import SECOND_SEED, TrustedSandbox

LIMITS = Limits(wall_seconds=60, cpu_seconds=60)

ADD = "def add(a, b):\n    return a + b\n"
USELESS = """
from candidate import add

def test_good():
    assert add(1, 2) == 3

def test_without_assertions():
    add(1, 2)

def test_that_catches_everything():
    try:
        assert add(1, 2) == 3
    except BaseException:
        pass

def test_of_a_copy():
    def add(a, b):
        return a + b
    assert add(1, 2) == 3

def test_of_what_the_input_shows():
    assert add(3, 0) == 3

def test_that_fails():
    assert add(1, 2) == 4
"""

STACK = '''
from __future__ import annotations

import contextlib
import functools
import operator

def logged(function):
    return function

def limit():
    return 3

LIMIT = limit() + 1

class Stack:
    """A stack."""

    size = limit() * 2

    def __init__(self, *items):
        self.items = list(items)
        self._seen = 0

    @property
    def top(self):
        return self.items[-1]

    @top.setter
    def top(self, item):
        self.items[-1] = item

    @logged
    def push(self, item):
        self.items.append(item)
        return len(self.items)

    @staticmethod
    def join(first, second):
        return [first, second]

    @classmethod
    def of(cls, text):
        return cls(*text.split())

    async def later(self, item):
        return item * 2

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False

@contextlib.contextmanager
def opened(item):
    yield [item]

def pairs(items):
    for item in items:
        yield item, item

double = lambda x: x * 2
second = operator.itemgetter(1)
one_more = functools.partial(operator.add, 1)
'''
STACK_TESTS = """
import asyncio
import candidate
from candidate import Stack, double, one_more, opened, pairs, second

def test_push():
    assert Stack().push(5) == 1

def test_push_unchecked():
    stack = Stack(1)
    stack.push(2)
    print(stack.items)

def test_top():
    assert Stack(1, 2).top == 2

def test_set_top():
    stack = Stack(1, 2)
    stack.top = 5
    assert stack.items == [1, 5]

def test_set_top_unchecked():
    stack = Stack(1, 2)
    stack.top = 5

def test_join():
    assert Stack.join(1, 2) == [1, 2]

def test_of():
    assert Stack.of("a b").items == ["a", "b"]

def test_later():
    assert asyncio.run(Stack().later(2)) == 4

def test_later_unchecked():
    asyncio.run(Stack().later(2))

def test_with():
    with Stack(1) as stack:
        assert stack.push(5) == 2

def test_with_unchecked():
    with Stack(1) as stack:
        stack.push(2)

def test_opened():
    with opened(1) as items:
        assert items == [1]

def test_opened_unchecked():
    with opened(1):
        pass

def test_pairs():
    assert list(pairs([1])) == [(1, 1)]

def test_pairs_unchecked():
    for pair in pairs([1]):
        print(pair)

def test_double():
    assert double(2) == 4

def test_second():
    assert second([1, 2]) == 2

def test_one_more():
    assert one_more(2) == 3

def test_constant():
    assert candidate.LIMIT == 4

def test_attribute():
    assert Stack.size == 6
"""

# What stands first in a set of so many words depends on the hash seed.
WORDS = [f"word {number}" for number in range(64)]
FIRST = "def first(words):\n    return next(iter(set(words)))\n"


def first_word(seed):
    """What the function above returns under a seed, on the interpreter that the sandboxes run too."""
    done = subprocess.run(
        [sys.executable, "-c", f"{FIRST}print(first({WORDS!r}))"],
        env={"PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture(params=["bubblewrap", "docker", "process"])
def sandbox(request):
    if request.param == "docker":
        return request.getfixturevalue("docker_sandbox")
    return {"bubblewrap": BubblewrapSandbox, "process": ProcessSandbox}[request.param](
        SandboxSettings(), None
    )


class Counting:
    """A sandbox that notes what it ran."""

    def __init__(self, sandbox):
        self.name = sandbox.name
        self.repairs = sandbox.repairs
        self.ran = []
        self._sandbox = sandbox

    async def open(self, programs):
        raise NotImplementedError

    async def close(self):
        raise NotImplementedError

    async def check(self):
        return await self._sandbox.check()

    async def run(self, program, limits=None):
        self.ran.append((program.stub, program.hash_seed))
        return await self._sandbox.run(program, limits)


def run_with_checks(sandbox, program, limits=LIMITS):
    counting = Counting(sandbox)
    return asyncio.run(TrustedSandbox(counting, limits).run(program)), counting.ran


def discriminates(report):
    return {test.name.removeprefix("test_"): test.discriminates for test in report.outcomes}


def test_tests_that_say_nothing_are_marked_and_good_ones_are_not(sandbox):
    report, ran = run_with_checks(sandbox, TestProgram(ADD, USELESS))

    assert (report.exit_reason, report.executable) == ("assertion", True)
    assert discriminates(report) == {
        "good": True,
        "without_assertions": False,
        "that_catches_everything": False,
        "of_a_copy": False,
        "of_what_the_input_shows": False,
        "that_fails": None,
    }
    assert report.not_discriminating == 4
    assert {test.flaky for test in report.outcomes} == {False}
    assert ran == [(None, 0), (None, SECOND_SEED), ("none", 0), ("input", 0)]


def test_classes_generators_and_values_of_the_module_are_stubbed_too(sandbox):
    report, _ = run_with_checks(sandbox, TestProgram(STACK, STACK_TESTS))

    assert report.exit_reason == "ok", report
    expected = {name: not name.endswith("_unchecked") for name in discriminates(report)}
    assert discriminates(report) == expected


def test_an_outcome_that_depends_on_the_hash_seed_is_flaky(sandbox):
    assert first_word(0) != first_word(SECOND_SEED)
    test = (
        f"from candidate import first\nWORDS = {WORDS!r}\n"
        f"def test_first():\n    assert first(WORDS) == {first_word(0)!r}\n"
        f"def test_other():\n    assert first(WORDS) == {first_word(SECOND_SEED)!r}\n"
        "def test_member():\n    assert first(WORDS) in WORDS and first(WORDS[:1]) == WORDS[0]\n"
    )
    report, _ = run_with_checks(sandbox, TestProgram(FIRST, test))

    assert [(one.name, one.outcome, one.flaky) for one in report.outcomes] == [
        ("test_first", "passed", True),
        ("test_other", "failed", True),
        ("test_member", "passed", False),
    ]
    assert report.flaky == 2


def test_a_hash_seed_reaches_the_program(sandbox):
    program = TestProgram(
        "", "import os\ndef test_a():\n    print(os.environ['PYTHONHASHSEED'], hash('a'))\n"
    )
    reports = [asyncio.run(sandbox.run(replace(program, hash_seed=seed), LIMITS)) for seed in (0, 1, 1, 7)]

    printed = [report.stdout.split("\n")[0] for report in reports]
    assert [line.split()[0] for line in printed] == ["0", "1", "1", "7"]
    assert printed[1] == printed[2]
    assert len(set(printed)) == 3
    assert len({report.environment for report in reports}) == 1


@pytest.fixture
def plain():
    return ProcessSandbox(SandboxSettings(), None)


@pytest.mark.parametrize(
    ("test", "runs"),
    [
        ("def test_a():\n    while True:\n        pass\n", 1),  # a limit ended it
        ("import os, signal\ndef test_a():\n    os.kill(os.getpid(), signal.SIGKILL)\n", 1),
        ("print('no tests')\n", 1),
        ("import nothing_of_that_name\ndef test_a():\n    pass\n", 1),
        ("def test_a():\n    assert False\n", 2),  # no test passed
        ("def test_a():\n    pass\n", 3),  # the first stub has said everything
        ("from candidate import add\ndef test_a():\n    assert add(1, 2) == 3\n", 4),
    ],
)
def test_no_program_is_run_oftener_than_it_tells_something(plain, test, runs):
    report, ran = run_with_checks(plain, TestProgram(ADD, test), replace(LIMITS, wall_seconds=3))

    assert len(ran) == runs
    if runs == 1:
        assert {(one.discriminates, one.flaky) for one in report.outcomes} <= {(None, None)}


def test_a_test_that_hangs_on_a_stub_is_not_known(plain):
    test = "from candidate import ready\ndef test_a():\n    while not ready([]):\n        pass\n"
    report, _ = run_with_checks(
        plain, TestProgram("def ready(x):\n    return not x\n", test), replace(LIMITS, wall_seconds=2)
    )

    assert (report.exit_reason, discriminates(report)) == ("ok", {"a": None})


def test_without_anything_to_stub_it_is_not_known(plain):
    program = TestProgram("X = 1\n", "import candidate\ndef test_a():\n    assert candidate.X == 1\n")
    report, _ = run_with_checks(plain, program)

    assert discriminates(report) == {"a": None}


def test_a_stub_of_a_shipped_program_may_run_where_the_program_may():
    program = TestProgram(ADD, USELESS)
    only = ProcessSandbox(SandboxSettings(), frozenset({program.digest}))

    assert run_with_checks(only, program)[0].not_discriminating == 4
    with pytest.raises(SandboxError):
        run_with_checks(only, replace(program, candidate=ADD + "\n"))


class Breaking:
    """A sandbox that runs the first program, and no further one."""

    name = "breaking"
    repairs = ""

    def __init__(self, error):
        self._error = error

    async def open(self, programs):
        raise NotImplementedError

    async def close(self):
        raise NotImplementedError

    async def check(self):
        raise NotImplementedError

    async def run(self, program, limits=None):
        reason = "ok"
        if program.stub or program.hash_seed:
            if self._error:
                raise self._error
            reason = "infrastructure"
        outcomes = (TestOutcome("test_a", "passed", "", 0.1),) if reason == "ok" else ()
        return ExecutionReport(reason, 0, "", "", outcomes, "", 0.1, self.name, "e", 0, datetime.now(UTC))


@pytest.mark.parametrize("error", [None, SandboxError("The engine is gone", "", "")])
def test_a_sandbox_that_breaks_later_takes_nothing_from_the_report(error):
    report, ran = run_with_checks(Breaking(error), TestProgram(ADD, USELESS))

    assert (report.exit_reason, report.passed, len(ran)) == ("ok", 1, 4)
    assert (report.outcomes[0].discriminates, report.outcomes[0].flaky) == (None, None)


def test_a_stub_leaves_no_name_behind_and_keeps_those_of_the_candidate():
    file = sources(TestProgram("x = 1\ndef f(a):\n    return x\n", "", stub="input"))["candidate.py"]
    space = {"__name__": "candidate", "__file__": "candidate.py"}
    exec(compile(file, "candidate.py", "exec"), space)

    assert {name for name in space if not name.startswith("__")} == {"x", "f"}
    assert (space["x"], space["f"](5)) == (1, 5)


@pytest.mark.parametrize(
    ("source", "call", "given"),
    [
        ("def f(*a): return 1", "f(4, 5)", 4),
        ("def f(*a): return 1", "f()", None),
        ("def f(**k): return 1", "f(x=4)", 4),
        ("def f(*, x): return 1", "f(x=4)", 4),
        ("def f(self, x): return 1", "f(None, 4)", 4),
        ("def f(): return 1", "f()", None),
        ("def f(x=print(1)): return 1", "f()", None),
        ("f = lambda *a: 1", "f(4)", 4),
        ("class A:\n    def __new__(cls, x): return 1\nf = A", "type(f(4)).__name__", "A"),
        ("class A:\n    def f(self): return 1", "A().f()", None),
        ("class A:\n    def f(*all): return 1\nA.f", "A.f(4)", 4),
        (
            "try:\n    import json\nexcept ImportError:\n    json = None\ndef f(x): return 1",
            "f(json) is json",
            True,
        ),
        ("def f(x): return 1\nif f(0):\n    y = f(1) + f(2)", "f(4)", 4),
        ("def f(x): return [1]\nY = f(2)[0]", "Y", None),
        ("def deco(g): return g\n@deco\ndef f(x): return 1", "f(4)", 4),
        ("import functools\n@functools.lru_cache\ndef f(x): return 1\nf.cache_clear()", "f(4)", 4),
        ("async def f(x):\n    yield x\n    yield 1", "type(f(4)).__name__", "async_generator"),
    ],
)
def test_what_a_function_returns_is_its_first_input(source, call, given):
    space = {"__name__": "candidate"}
    load_stub(space, source.encode(), "input")

    assert eval(call, space) == given
    load_stub({"__name__": "candidate"}, source.encode(), "none")


def test_a_docstring_stays_since_its_examples_are_tests():
    space = {"__name__": "candidate"}
    load_stub(space, b'"""Module."""\ndef f(x):\n    """>>> f(1)\n    2\n    """\n    return 2\n', "none")

    assert space["__doc__"] == "Module."
    assert ">>> f(1)" in space["f"].__doc__
    assert space["f"](1) is None
