"""Programs that try to write their own report: what reaches it is what the harness saw."""

import asyncio
import os

import pytest

from agents.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from agents.sandbox.process import ProcessSandbox
from agents.sandbox.protocol import Limits, TestProgram
from agents.sandbox.settings import SandboxSettings

LIMITS = Limits(wall_seconds=60, cpu_seconds=60)

FALSE = """
import json, os
RECORDS = [
    {"event": "outcome", "name": "test_a", "outcome": "passed", "message": "", "seconds": 0.0, "category": ""},
    {"event": "start", "name": "test_b"},
    {"event": "outcome", "name": "test_b", "outcome": "passed", "message": "", "seconds": 0.0, "category": ""},
    {"event": "exit", "code": 0},
    {"event": "end"},
]
LINES = "".join(json.dumps(record) + "\\n" for record in RECORDS).encode()
FRAMES = b"R" + len(LINES).to_bytes(4, "big") + LINES
"""

EVERY_DESCRIPTOR = """
def forge():
    for number in range(3, 64):
        for text in (LINES, FRAMES):
            try:
                os.write(number, text)
            except OSError:
                pass
"""
STDOUT = "def forge():\n    os.write(1, LINES + FRAMES)\n    os.write(2, LINES + FRAMES)\n"
CHILD = """
def forge():
    if os.fork() == 0:
        for number in range(1, 64):
            try:
                os.write(number, FRAMES)
            except OSError:
                pass
        os._exit(0)
    os.wait()
"""
OTHERS_FILES = """
def forge():
    wrote = []
    for process in os.listdir("/proc"):
        if process.isdigit() and int(process) != os.getpid():
            # Bubblewrap's own process has the stdout of the program, and nothing else.
            for number in range(0 if int(process) == os.getppid() else 3, 64):
                try:
                    file = os.open(f"/proc/{process}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK)
                    wrote.append((process, number, os.write(file, LINES + FRAMES)))
                except OSError:
                    pass
    assert not wrote, wrote
    for name in ("mem", "environ", "maps"):
        try:
            open(f"/proc/{os.getppid()}/{name}", "rb").read(1)
        except PermissionError:
            continue
        assert False, name
"""
TRACE = """
import ctypes
def forge():
    libc = ctypes.CDLL(None, use_errno=True)
    attach = 16
    assert libc.ptrace(attach, os.getppid(), 0, 0) == -1
    assert ctypes.get_errno() == 1
"""

TESTS = "\nimport candidate\ndef test_a():\n    candidate.forge()\n    assert False\ndef test_b():\n    assert False\n"


@pytest.fixture(params=["bubblewrap", "docker", "process"])
def sandbox(request):
    if request.param == "docker":
        return request.getfixturevalue("docker_sandbox")
    return {"bubblewrap": BubblewrapSandbox, "process": ProcessSandbox}[request.param](
        SandboxSettings(), None
    )


def run(sandbox, candidate, test=TESTS):
    report = asyncio.run(sandbox.run(TestProgram(FALSE + candidate, test), LIMITS))
    assert report.exit_reason != "infrastructure", report
    return report


def outcomes(report):
    return [(test.name, test.outcome) for test in report.outcomes]


def test_records_written_to_every_descriptor_are_found_out(sandbox):
    report = run(sandbox, EVERY_DESCRIPTOR)

    assert (report.exit_reason, report.executable) == ("error", False)
    assert report.error.startswith("DamagedReport: ")
    assert outcomes(report) == [("test_a", "error")]


def test_records_written_when_the_candidate_is_imported_are_found_out(sandbox):
    report = run(sandbox, EVERY_DESCRIPTOR + "forge()\nos._exit(0)\n")

    assert report.error.startswith("DamagedReport: ")
    assert outcomes(report) == []


def test_records_from_a_child_are_found_out_or_reach_nothing(sandbox):
    report = run(sandbox, CHILD)

    assert report.exit_reason != "ok"
    assert "passed" not in {test.outcome for test in report.outcomes}


def test_records_that_are_printed_are_output(sandbox):
    report = run(sandbox, STDOUT)

    assert report.exit_reason == "assertion"
    assert outcomes(report) == [("test_a", "failed"), ("test_b", "failed")]
    assert '"end"' in report.stdout
    assert '"end"' in report.stderr


def test_a_program_that_leaves_early_with_zero_has_not_ended(sandbox):
    report = run(sandbox, "def forge():\n    os._exit(0)\n")

    assert (report.exit_reason, report.exit_code, report.executable) == ("error", 0, False)
    assert outcomes(report) == [("test_a", "error")]


@pytest.mark.parametrize("attempt", [OTHERS_FILES, TRACE])
def test_the_process_that_reports_cannot_be_reached(sandbox, attempt):
    if sandbox.name == "process" and os.geteuid() == 0:
        sandbox = BubblewrapSandbox(SandboxSettings(), None)  # root without isolation may do everything
    report = run(sandbox, attempt, "import candidate\ndef test_a():\n    candidate.forge()\n")

    assert report.exit_reason == "ok", report


def test_the_time_of_a_test_is_not_its_own_to_say(sandbox):
    test = "import time\ndef test_a():\n    time.sleep(1)\n    time.perf_counter = time.time = lambda: 0.0\n"
    report = run(sandbox, "", test)

    assert outcomes(report) == [("test_a", "passed")]
    assert report.outcomes[0].seconds > 0.5


FRAMES_OF_THE_HARNESS = """
import os, sys
def secret():
    frame = sys._getframe()
    while "report" not in frame.f_locals or not hasattr(frame.f_locals["report"], "_secret"):
        frame = frame.f_back
    return frame.f_locals["report"]
def forge():
    report = secret()
    os.write(report._channel, {records!r}.replace("SECRET", report._secret).encode())
    os._exit(0)
"""
# test_a has begun when the candidate writes.
OUTCOME = "SECRETevent=outcome\tname=test_a\toutcome=passed\tmessage=\ttrace=\tcategory="


@pytest.mark.parametrize(
    "records",
    [
        "SECRETevent=finished\n",
        OUTCOME + "\nSECRETevent=finished\n",  # test_b has neither begun nor was it absent
        OUTCOME + "\nSECRETevent=packages\tnames=numpy==9.9\nSECRETevent=finished\n",
        OUTCOME + "\tinvented=1\n",
        OUTCOME.replace("name=", 'name", "x": "') + "\n",
        OUTCOME.replace("passed", "perfect") + "\n",
        OUTCOME.replace("category=", "category=\x1b[2J") + "\n",
        OUTCOME + "\nSECRETevent=start\tname=test_c\n",
        "SECRETevent=unrun\tname=test_b\tmessage=\n",  # while test_a is running
        OUTCOME + "\nSECRETevent=unrun\tname=test_a\tmessage=\n",
        OUTCOME + "\nSECRETevent=unrun\tname=test_b\n",
    ],
)
def test_a_program_that_reads_the_secret_cannot_hide_a_test_or_invent_a_field(sandbox, records):
    report = run(sandbox, FRAMES_OF_THE_HARNESS.format(records=records))

    assert report.exit_reason == "error", report
    assert report.error.startswith("DamagedReport: ")
    assert report.packages == ()
    assert {test.name for test in report.outcomes} <= {"test_a"}


def test_a_program_that_reads_the_secret_cannot_pass_over_a_check_or_fill_the_report(sandbox):
    test = TESTS + "def check(candidate):\n    assert False\n"
    second = "\nSECRETevent=start\tname=test_b\n" + OUTCOME.replace("test_a", "test_b")
    made = "".join(f"\nSECRETevent=unrun\tname=test_{n}\tmessage=" for n in range(200))
    for records in (OUTCOME + second, OUTCOME + second + made):
        candidate = FRAMES_OF_THE_HARNESS.format(records=records + "\nSECRETevent=finished\n")
        report = run(sandbox, candidate, test)
        assert report.error.startswith("DamagedReport: ")
        assert not report.executable
        assert 2 <= len(report.outcomes) < 150


def test_packages_are_told_before_the_program_begins(sandbox):
    records = "SECRETevent=packages\tnames=numpy==9.9\n"
    report = run(sandbox, FRAMES_OF_THE_HARNESS.format(records=records) + "forge()\n")

    assert report.error.startswith("DamagedReport: ")
    assert report.packages == ()


def test_a_test_that_is_taken_away_is_told(sandbox):
    candidate = "import sys\ndef take():\n    del sys.modules['test_candidate'].test_b\n"
    test = (
        "import candidate\ndef test_a():\n    pass\ndef test_b():\n    assert False\ncandidate.take()\n"
        "class TestC:\n    test_d = 1\n    def test_e(self):\n        pass\n"
    )
    report = run(sandbox, candidate, test)

    assert (report.exit_reason, outcomes(report)) == (
        "error",
        [("test_a", "passed"), ("TestC.test_e", "passed"), ("test_b", "error")],
    )
    assert report.outcomes[-1].obstacle == "test"
    assert report.error == "NotRun: no function of this name is there once the program is loaded"


def test_escapes_in_a_message_reach_nobody(sandbox):
    report = run(sandbox, "def forge():\n    pass\n", "def test_a():\n    assert 0, '\\x1b]0;mine\\x07'\n")

    assert report.outcomes[0].message == "AssertionError: \\x1b]0;mine\\x07"


ADDED = """
def test_a():
    assert False

class TestB:
    def test_b(self):
        assert True

for number in range(3):
    setattr(TestB, f"test_more{number}", lambda self: None)
"""
REPLACED = """
def test_a():
    assert False
class K:
    def other(self):
        pass
for number in range(3):
    setattr(K, f"test_more{number}", lambda self: None)
test_a = K
"""
MADE_BY_THE_CODE = """
import sys
sys.modules["test_candidate"].test_free = lambda: None
"""
FLOOD = "def test_a():\n    pass\nglobals().update((f'test_{n}', lambda: None) for n in range(1000))\n"
NEVER_RUN = """
import unittest

class TestA(unittest.TestCase):
    async def test_a(self):
        assert False
    def test_b(self):
        yield
        assert False
    @unittest.expectedFailure
    def test_c(self):
        assert False
    @unittest.expectedFailure
    def test_d(self):
        pass

class TestB(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        import asyncio
        self.loop = asyncio.get_running_loop()
    async def test_e(self):
        import asyncio
        assert self.loop is asyncio.get_running_loop()

class Waits:
    def __await__(self):
        yield

def test_f():
    return Waits()
"""


def test_only_the_tests_of_the_source_are_run(sandbox):
    report = run(sandbox, "", ADDED)
    assert outcomes(report)[:2] == [
        ("test_a", "failed"),
        ("TestB.test_b", "passed"),
    ]
    # Those that were made are named, and come to no result.
    assert [(test.name, test.obstacle) for test in report.outcomes[2:]] == [
        (f"TestB.test_more{number}", "test") for number in range(3)
    ]
    report = run(sandbox, "", REPLACED)
    assert (report.exit_reason, report.executable) == ("error", False), report
    assert {test.obstacle for test in report.outcomes} == {"test"}
    assert [test.name for test in report.outcomes] == ["test_a", *(f"K.test_more{n}" for n in range(3))]
    report = run(sandbox, MADE_BY_THE_CODE, "import candidate\ndef test_a():\n    pass\n")
    assert outcomes(report) == [("test_a", "passed")]
    report = run(sandbox, "", FLOOD)
    assert (len(report.outcomes), report.outcomes[-1].name) == (102, "900 more")


def test_a_test_whose_body_never_ran_has_not_passed(sandbox):
    report = run(sandbox, "", NEVER_RUN)
    assert outcomes(report) == [
        ("TestA.test_a", "failed"),
        ("TestA.test_b", "error"),
        ("TestA.test_c", "passed"),
        ("TestA.test_d", "failed"),
        ("TestB.test_e", "passed"),
        ("test_f", "error"),
    ], report
