"""Honest programs beside hostile ones, through the interpreters that wait: they report what they report alone."""

import asyncio
import os
import random
from dataclasses import replace

from forked_box import Forks
from hostile import LIMITS, PROGRAMS, SIGN, running

from agents.sandbox.protocol import TestProgram

PROGRAMS_IN_ALL = 200
AT_A_TIME = 4
HONEST = {
    "passes": "def test_a():\n    assert sorted([3, 1, 2]) == [1, 2, 3]\ndef test_b():\n    print('b')\n",
    "fails": "def test_a():\n    assert 1 + 1 == 3, 'sums'\ndef test_b():\n    pass\n",
    "raises": "def test_a():\n    {}['missing']\n",
    "does not load": "import a_module_that_nobody_has\ndef test_a():\n    pass\n",
    "exits": "import sys\ndef test_a():\n    sys.exit(3)\n",
    "uses memory": "def test_a():\n    kept = bytearray(100 * 2**20)\n    print(len(kept))\n",
    "uses threads": (
        "import threading\n"
        "def test_a():\n"
        "    found = []\n"
        "    threads = [threading.Thread(target=found.append, args=(n,)) for n in range(8)]\n"
        "    [thread.start() for thread in threads]\n"
        "    [thread.join() for thread in threads]\n"
        "    print(sorted(found))\n"
    ),
    "starts a process": (
        "import subprocess, sys\n"
        "def test_a():\n"
        "    print(subprocess.check_output([sys.executable, '-c', 'print(6 * 7)']))\n"
    ),
    "writes a file": (
        "import os\n"
        "def test_a():\n"
        "    assert os.listdir('/tmp') == []\n"
        "    with open('/tmp/own', 'wb') as file:\n"
        "        file.write(b'x' * 10**6)\n"
        "    print(os.path.getsize('/tmp/own'))\n"
    ),
    "orders a set": "def test_a():\n    print(list({'a', 'b', 'c', 'd', 'e'}), hash('a'))\n",
}


def told(report):
    """What a report says of the program, without what differs from run to run: time, and numbers of processes."""
    tests = [(test.name, test.outcome, test.message) for test in report.outcomes]
    return (report.exit_reason, report.exit_code, tests, report.error, report.stdout, report.stderr)


async def test_200_programs_of_both_kinds_do_not_disturb_each_other(tmp_path):
    marker = f"mixed{os.getpid()}"
    planted = tmp_path / "secret.txt"
    planted.write_text("secret")
    drawn = random.Random(14)
    names = [*HONEST] * 11 + [*PROGRAMS] * 7
    names += drawn.choices([*HONEST], k=PROGRAMS_IN_ALL - len(names))
    drawn.shuffle(names)
    turns = asyncio.Semaphore(AT_A_TIME)

    async def run(name):
        async with turns:
            if name in HONEST:
                return await box.run(TestProgram("", HONEST[name]), LIMITS)
            text, reason = PROGRAMS[name]
            test = SIGN.format(marker=marker) + text.format(marker=marker, planted=str(planted))
            limits = replace(LIMITS, wall_seconds=2) if reason == "timeout" else LIMITS
            return await box.run(TestProgram("", test), limits)

    async with Forks() as box:
        alone = {name: told(await run(name)) for name in HONEST}
        reports = await asyncio.gather(*map(run, names))

    assert len(reports) == PROGRAMS_IN_ALL
    for name, report in zip(names, reports, strict=True):
        if name in HONEST:
            assert told(report) == alone[name], name
        else:
            assert report.exit_reason == PROGRAMS[name][1], (name, report)
    unlike = {"fails": "assertion", "raises": "error", "does not load": "error", "exits": "error"}
    assert {name: reason for name, (reason, *_) in alone.items() if reason != "ok"} == unlike
    assert running(marker) == []
    assert planted.read_text() == "secret"
